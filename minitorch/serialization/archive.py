"""The zip archive that a checkpoint is (mirrors caffe2/serialize/inline_container.cc).

An archive is a row of uncompressed *records* (data.pkl, data/0, data/1 ...) and a directory of them at its end. Each
record has a header before its bytes, padded so that the bytes begin at a multiple of 64 and can be mapped into memory
as they lie, and its CRC after them, so that it can be written in one pass. The writer lays records out exactly as
torch does. The reader is stricter than a general unzip: it takes only what a writer of checkpoints writes.
"""

import os
import pickle
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from .files import one_thread

ALIGNMENT = 64
LARGEST = 0xFFFFFFFF  # what a 32-bit field says when the number is in the 64-bit extra field
SMALL = 1 << 16  # bytes of a record that are written together with its header
CHUNK = 1 << 24  # bytes read at a time, so that their CRC is computed while the next ones are read
LOCAL = struct.Struct("<4s5H3I2H")  # signature version flags method time date | crc size size | name extra
CENTRAL = struct.Struct("<4s6H3I5H2I")  # ... and comment disk attributes attributes | offset of the local header
END = struct.Struct("<4s4H2IH")  # signature disk disk entries entries | directory size offset | comment
END64 = struct.Struct("<4sQ2H2I4Q")
LOCATOR = struct.Struct("<4sIQI")
DESCRIPTOR = struct.Struct("<4s3I")  # signature | crc size size
DESCRIPTOR64 = struct.Struct("<4sI2Q")
DESCRIBED = 0x0808  # flags: the name is UTF-8, sizes and CRC come after the bytes


class CheckpointError(RuntimeError, pickle.UnpicklingError):
    """The file is no checkpoint, is damaged, or asks for something that loading does not do.

    One class for what torch raises as RuntimeError (the archive) and as UnpicklingError (the objects in it)."""


def crc_of(pool: Any, data: Any, before: Callable[[], int] = lambda: 0) -> Callable[[], int]:
    """A function that gives the CRC of bytes that follow those whose CRC `before` gives. It is computed on another
    thread (zlib lets go of the interpreter's lock) where that pays."""
    if len(data) >= 1 << 20:
        return pool.submit(lambda: zlib.crc32(data, before())).result
    crc = zlib.crc32(data, before())
    return lambda: crc


class Writer:
    """Writes records one after the other with `write`, a function of bytes; `close` writes the directory."""

    def __init__(self, write: Callable[[Any], Any], folder: str):
        self._write = write
        self._folder = folder
        self._at = 0
        self._directory: list[bytes] = []
        self._checks: list[int] = []
        self._pool = one_thread()

    def _put(self, data: Any) -> None:
        self._write(data)
        self._at += len(data)

    def add(self, name: str, data: Any) -> None:
        """One record; `data` is bytes or a flat memoryview of bytes, written straight from where it lies."""
        path = f"{self._folder}/{name}".encode()
        size, at = len(data), self._at
        crc = crc_of(self._pool, data)
        flags = DESCRIBED if size else 0x0800
        large = _extra64(size, size, at)
        room = -(at + LOCAL.size + len(path) + len(large) + 4) % ALIGNMENT
        header = (
            LOCAL.pack(b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(path), len(large) + 4 + room)
            + path + (large and _extra64(size, 0, at)) + b"FB" + room.to_bytes(2, "little") + b"Z" * room
        )
        for part in (b"".join((header, data)),) if size < SMALL else (header, data):
            self._put(part)
        if size:
            self._put((DESCRIPTOR64 if large else DESCRIPTOR).pack(b"PK\7\10", crc(), size, size))
        self._directory.append(
            CENTRAL.pack(
                b"PK\1\2", 0, 0, flags, 0, 0, 0, crc(), min(size, LARGEST), min(size, LARGEST),
                len(path), len(large), 0, 0, 0, 0, min(at, LARGEST),
            ) + path + large
        )
        self._checks.append(crc())

    def close(self) -> None:
        self.add("version", b"3\n")
        # torch tells checkpoints apart by these 40 digits in its logs; ours follow from the content alone
        digest = zlib.crc32(struct.pack(f"<{len(self._checks)}I", *self._checks))
        self.add(".data/serialization_id", f"{digest:020d}{sum(self._checks):020d}".encode())
        start, count, directory = self._at, len(self._directory), b"".join(self._directory)
        size = len(directory)
        self._put(
            directory
            + END64.pack(b"PK\6\6", END64.size - 12, 0x031E, 45, 0, 0, count, count, size, start)
            + LOCATOR.pack(b"PK\6\7", 0, start + size, 1)
            + END.pack(b"PK\5\6", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), min(size, LARGEST),
                       min(start, LARGEST), 0)
        )
        self._pool.shutdown()


def _extra64(size: int, packed: int, at: int) -> bytes:
    """The extra field that holds the numbers too large for 32 bits; empty when there is none."""
    numbers = ([size, packed] if size >= LARGEST else []) + ([at] if at >= LARGEST else [])
    return struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


@dataclass
class Record:
    name: str
    header: int  # offset of the local header
    size: int
    crc: int
    kind: str = ""  # "compressed" or "encrypted": not as checkpoints are stored
    start: int = 0  # offset of the bytes


class Reader:
    """The records of an archive that lies in `file` between its present position and its end.

    `read` gives a record's bytes, checked; `read_into` fills an array and checks it on another thread: `verify` waits
    for that, and nothing may be believed before. Every failure is a CheckpointError that names the file and the record.
    """

    def __init__(self, file: IO[bytes], name: str):
        self.file, self.name = file, name
        self.base = file.tell()
        self.size = file.seek(0, os.SEEK_END) - self.base
        self._pool = one_thread()
        self._unchecked: list[tuple[Record, Callable[[], int]]] = []
        try:
            records = self._directory()
        except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
            raise self.error(f"its directory is damaged ({error})") from error
        self.folder = records[0].name.partition("/")[0] + "/" if records else ""
        self.records = {r.name.removeprefix(self.folder): r for r in records}

    def error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self.name}: {what}")

    # ---- the directory ----------------------------------------------------------------------------------------------

    def _bytes(self, at: int, count: int) -> bytes:
        self.file.seek(self.base + at)
        data = self.file.read(count)
        if len(data) != count:
            raise self.error(f"ends at byte {at + len(data)} where {count - len(data)} bytes more were expected")
        return data

    def _directory(self) -> list[Record]:
        end = self.size - END.size
        found = self._bytes(end, END.size) if end >= 0 else b""
        if not found.startswith(b"PK\5\6") or found[-2:] != b"\0\0":
            raise self.error(self._why_no_directory())
        _, disk, disk2, _, count, size, start, _ = END.unpack(found)
        if end >= LOCATOR.size and (locator := self._bytes(end - LOCATOR.size, LOCATOR.size)).startswith(b"PK\6\7"):
            end = LOCATOR.unpack(locator)[2]
            signature, _, _, _, disk, disk2, _, count, size, start = END64.unpack(self._bytes(end, END64.size))
            if signature != b"PK\6\6":
                raise self.error("the end of its directory is damaged")
        if disk or disk2 or start + size != end or count * CENTRAL.size > size:
            raise self.error("the end of its directory is damaged")
        records = self._entries(self._bytes(start, size), count)
        names = {r.name for r in records}
        if len(names) != len(records):
            raise self.error("its directory lists a record twice")
        # Records may not overlap: a small file could else stand for any amount of data.
        free = 0
        for r in sorted(records, key=lambda r: r.header):
            if r.header < free:
                raise self.error(f"record {r.name} overlaps another")
            self._locate(r)
            free = r.start + r.size
            if free > start:
                raise self.error(f"truncated at entry {r.name}: {r.size} bytes expected, {start - r.start} left")
        return records

    def _entries(self, data: bytes, count: int) -> list[Record]:
        records, at = [], 0
        for _ in range(count):
            (signature, _, _, flags, method, _, _, crc, packed, size, n_name, n_extra, n_comment, disk, _, _,
             header) = CENTRAL.unpack_from(data, at)
            at += CENTRAL.size
            name = data[at : at + n_name].decode()
            extra = data[at + n_name : at + n_name + n_extra]
            at += n_name + n_extra + n_comment
            if signature != b"PK\1\2" or at > len(data) or disk:
                raise self.error("its directory is damaged")
            size, packed, header = _widen(extra, size, packed, header)
            if size != packed and not method:
                raise self.error(f"record {name} has two sizes, {size} and {packed}")
            kind = "encrypted" if flags & 1 else "compressed" if method else ""
            records.append(Record(name, header, packed, crc, kind))
        if at != len(data):
            raise self.error("its directory is damaged")
        return records

    def _locate(self, record: Record) -> None:
        signature, _, flags, method, *_, n_name, n_extra = LOCAL.unpack(self._bytes(record.header, LOCAL.size))
        name = self._bytes(record.header + LOCAL.size, n_name)
        stored = not (method or flags & 1)
        if signature != b"PK\3\4" or name != record.name.encode() or stored != (not record.kind):
            raise self.error(f"the header of record {record.name} is damaged")
        record.start = record.header + LOCAL.size + n_name + n_extra

    def _why_no_directory(self) -> str:
        """The directory is at the end, so a file cut short has none: find the record that the cut went through."""
        block, at = 1 << 20, self.size
        while at > 0:
            first = max(at - block, 0)
            data = self._bytes(first, min(at + 300, self.size) - first)
            place = len(data)
            while (place := data.rfind(b"PK\3\4", 0, place)) >= 0:
                header = data[place : place + LOCAL.size]
                if len(header) == LOCAL.size:
                    n_name = LOCAL.unpack(header)[-2]
                    name = data[place + LOCAL.size : place + LOCAL.size + n_name]
                    if len(name) == n_name and b"/" in name and name.isascii():
                        return f"truncated at entry {name.decode()}: failed finding central directory"
            at = first
        return "not a checkpoint: failed finding central directory"

    # ---- the records ------------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def size_of(self, name: str) -> int:
        return self._record(name).size

    def offset_of(self, name: str) -> int:
        """Where in the file the record's bytes begin."""
        return self.base + self._record(name).start

    def read(self, name: str) -> bytes:
        record = self._record(name)
        data = self._bytes(record.start, record.size)
        self._check(record, zlib.crc32(data))
        return data

    def read_into(self, name: str, out: memoryview) -> None:
        """Fill `out`, exactly as long as the record."""
        record = self._record(name)
        self.file.seek(self.base + record.start)
        fill = getattr(self.file, "readinto", None)
        crc: Callable[[], int] = lambda: 0
        done = 0
        while done < len(out):
            chunk = out[done : done + CHUNK]
            if fill is not None:
                count = fill(chunk)
            else:
                data = self.file.read(len(chunk))
                count = len(data)
                chunk[:count] = data
            if not count:
                raise self.error(f"truncated at entry {record.name}: {record.size} bytes expected, {done} found")
            crc = crc_of(self._pool, chunk[:count], crc)
            done += count
        self._unchecked.append((record, crc))

    def verify(self) -> None:
        for record, crc in self._unchecked:
            self._check(record, crc())
        self._unchecked.clear()

    def _record(self, name: str) -> Record:
        if name not in self.records:
            raise self.error(f"record {self.folder}{name} is missing")
        record = self.records[name]
        if record.kind:
            raise self.error(f"record {record.name} is {record.kind}; those of a checkpoint are stored as they are")
        return record

    def _check(self, record: Record, crc: int) -> None:
        if crc != record.crc:
            raise self.error(f"record {record.name} is damaged: its CRC is {crc:08x}, {record.crc:08x} expected")

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *exc: Any) -> None:
        self._pool.shutdown()


def _widen(extra: bytes, *fields: int) -> list[int]:
    """The fields of a directory entry, those that say LARGEST replaced by the 64-bit ones of the extra field."""
    wide: list[int] = []
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        if kind == 1:
            wide = list(struct.unpack_from(f"<{size // 8}Q", extra, 4))
        extra = extra[4 + size :]
    return [wide.pop(0) if x == LARGEST and wide else x for x in fields]
