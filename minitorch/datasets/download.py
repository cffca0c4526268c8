"""Fetching a dataset's file from the network: only when asked, resumed, checked, and never half there."""

import hashlib
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CHUNK = 1 << 20
TIMEOUT = 30.0  # seconds without a byte


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(urls: list[str], path: Path, sha256: str) -> None:
    """Bring a file to `path`, from the first of the addresses that has it. Nothing is done if it is there and whole.

    The file grows under the name `path`.part. A download that was cut off goes on from there the next time; only a
    complete file whose SHA-256 is the expected one is renamed to `path`. Raises RuntimeError naming file, expectation
    and finding.
    """
    if path.exists():
        if (found := sha256_of(path)) == sha256:
            return
        raise RuntimeError(
            f"{path}: not the expected file: SHA-256 should be {sha256}, but is {found}; remove it and download again"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    failures = []
    for url in urls:
        try:
            _fetch(url, part)
        except (OSError, RuntimeError) as error:  # URLError, timeouts and broken connections are OSErrors
            failures.append(f"  {url}: {error}")
            continue
        if (found := sha256_of(part)) == sha256:
            os.replace(part, path)
            return
        part.unlink()
        failures.append(f"  {url}: SHA-256 of what came should be {sha256}, but is {found}")
    raise RuntimeError(f"{path}: could not be downloaded; calling again resumes. Tried:\n" + "\n".join(failures))


def _fetch(url: str, part: Path) -> None:
    """Append what is missing of the file at `url` to `part`."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "minitorch"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:
            return  # nothing is missing
        raise RuntimeError(f"HTTP status {error.code} {error.reason}") from None
    with response:
        if response.status != 206:  # the server starts from the beginning
            have = 0
        rest = response.headers.get("Content-Length")
        total = have + int(rest) if rest else None
        with open(part, "ab" if have else "wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                have += len(chunk)
                _progress(part, have, total)
    if total is not None and have != total:
        raise RuntimeError(f"the connection ended after {have:,} of {total:,} bytes")


def _progress(part: Path, have: int, total: Any) -> None:
    if sys.stderr.isatty():
        whole = f" of {total / 1e6:.1f}" if total else ""
        end = "\n" if have == total else ""
        print(f"\r{part.stem}: {have / 1e6:.1f}{whole} MB", end=end, file=sys.stderr, flush=True)
