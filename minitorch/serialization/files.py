"""Writing a file so that it is there whole or not at all, whatever happens meanwhile."""

import os
import stat
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import IO, Any

CHUNK = 1 << 24  # bytes written between two looks at the flushing


def one_thread() -> Any:
    """A thread for what can be done meanwhile."""
    from concurrent.futures import ThreadPoolExecutor  # here, for it takes longer to import than all of this package

    return ThreadPoolExecutor(1)


def write_all(write: Callable[[Any], Any], data: Any) -> None:
    """Write all of `data`, also to a raw file, which takes what it can and returns how much that was."""
    while len(data):
        count = write(data)
        if not isinstance(count, int) or count >= len(data):
            return
        data = memoryview(data)[count:]


@contextmanager
def atomic_write(path: str | os.PathLike):
    """Yields a function that writes bytes to a file, which takes its name when the block ends, and never before.

    It is flushed to the disk before it takes the name. RuntimeError with the path when any of this fails; whatever had
    the name keeps it then, and nothing else is left behind."""
    path = os.fspath(path)
    target = os.path.realpath(path)  # the file itself, should `path` be a link to it
    parent, name = os.path.split(target)
    if not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {parent} does not exist.")
    temporary = os.path.join(parent, f".{name[:200]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        mode = os.stat(target).st_mode if os.path.exists(target) else None
        if mode is not None and not stat.S_ISREG(mode):  # a device, a pipe: there is nothing to replace
            with open(target, "wb") as file:
                yield lambda data: write_all(file.write, data)
            return
        handle = _open_unnamed(parent)
        named = handle is None
        if handle is None:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with open(handle, "wb") as file:
            with _Flushing(file) as flushing:
                yield flushing.write
            if mode is not None:
                os.chmod(handle if os.chmod in os.supports_fd else temporary, stat.S_IMODE(mode))
            os.fsync(handle)
            if not named:
                _give_name(handle, temporary)
        os.replace(temporary, target)
        _sync_folder(parent)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise RuntimeError(f"{path} could not be written: {error.strerror or error}") from error
        raise


class _Flushing:
    """Writes to a file while another thread brings what was written to the disk: flushing takes as long as writing."""

    def __init__(self, file: IO[bytes]):
        self.file = file
        self._pool = one_thread()
        self._flush: Any = None  # the Future of the flush that runs
        self._unflushed = 0

    def write(self, data: Any) -> None:
        for i in range(0, len(data), CHUNK):
            chunk = memoryview(data)[i : i + CHUNK]
            self.file.write(chunk)
            self._unflushed += len(chunk)
            if self._unflushed >= CHUNK and (self._flush is None or self._flush.done()):
                self._wait()
                self._flush = self._pool.submit(getattr(os, "fdatasync", os.fsync), self.file.fileno())
                self._unflushed = 0

    def _wait(self) -> None:
        if self._flush is not None:
            self._flush.result()  # a disk tells once that it is full, and perhaps to this thread

    def __enter__(self) -> "_Flushing":
        return self

    def __exit__(self, *exc: Any) -> None:
        try:
            if exc[0] is None:
                self.file.flush()
                self._wait()
        finally:
            self._pool.shutdown()


def _open_unnamed(folder: str) -> int | None:
    """A file without a name yet, which goes away by itself should this process be killed (Linux only)."""
    with suppress(OSError, AttributeError):
        if os.path.isdir("/proc/self/fd"):
            return os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o666)
    return None


def _give_name(handle: int, path: str) -> None:
    handles = os.open("/proc/self/fd", os.O_RDONLY)  # without a folder, os.link would link the link in it
    try:
        os.link(str(handle), path, src_dir_fd=handles, follow_symlinks=True)
    finally:
        os.close(handles)


def _sync_folder(folder: str) -> None:
    """Flush the renaming too, where folders can be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
