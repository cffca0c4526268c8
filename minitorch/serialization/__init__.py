"""Checkpoints: `save` and `load`, in torch's own file format (mirrors torch/serialization.py).

A checkpoint is a zip archive (archive.py) of one pickle, data.pkl, and the memory of each storage, data/0, data/1 ...
The pickle names tensors as views of storages (storage.py) and everything else by the names that torch uses (names.py,
pickler.py); loading interprets it by an allow-list and runs nothing (unpickler.py). So torch reads what minitorch
writes and minitorch, without torch, what torch 1.6 and later wrote.

Besides tensors, a checkpoint holds numbers, strings, bytes, None, and lists, tuples, sets, dicts, OrderedDicts and
Counters of these. NumPy arrays are not on torch's list and not on ours: keep them as tensors, or as lists. A whole
random state, for example, is

    {"torch": torch.get_rng_state(), "python": random.getstate(),
     "numpy": [x.tolist() if isinstance(x, np.ndarray) else x for x in np.random.get_state()]}

and comes back with `torch.set_rng_state`, `random.setstate` and `np.random.set_state`.
"""

import io
import mmap as mmaps
import os
import pickle
import sys
import warnings
from contextlib import contextmanager, nullcontext
from typing import IO, Any

import numpy as np

from .. import dtypes
from ..devices import device
from .archive import CheckpointError, Reader, Writer
from .files import atomic_write, write_all
from .names import (
    CALLS,
    StorageType,
    add_safe_globals,
    clear_safe_globals,
    find,
    find_anything,
    full_name,
    get_safe_globals,
    is_allowed,
    is_safe,
    safe_globals,
)
from .pickler import Pickler
from .storage import TypedStorage, UntypedStorage
from .unpickler import Damaged, Refused, Unpickler, globals_of

__all__ = [
    "CheckpointError",
    "UntypedStorage",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

DEFAULT_PROTOCOL = 2
TRUST = (
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary "
    "code execution. Do it only if you got the file from a trusted source."
)


# ---- save -----------------------------------------------------------------------------------------------------------


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to `f`, a path or an object with `write`, in torch's format.

    A file appears under its name only when it is complete: it is written beside it, flushed to the disk, and renamed.
    RuntimeError with the path when that fails; what was there before is untouched then, and nothing is left behind."""
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("minitorch writes the zip format only, which torch reads since version 1.6")
    if pickle_module is not pickle:
        raise NotImplementedError("minitorch.save pickles with the module pickle only")
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    storages: dict[UntypedStorage, str] = {}
    types: dict[UntypedStorage, Any] = {}

    def persistent(storage: UntypedStorage, type: Any, numel: int) -> tuple:
        if storage.nbytes() and types.setdefault(storage, type) != type:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        place = "cpu" if storage.device.type == "cpu" else str(storage.device)
        return ("storage", type, storages.setdefault(storage, str(len(storages))), place, numel)

    data = io.BytesIO()
    Pickler(data, pickle_protocol, persistent).dump(obj)
    with _open_to_write(f) as (write, folder):
        archive = Writer(write, folder)
        archive.add("data.pkl", data.getbuffer())
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", b"64")
        if not _disable_byteorder_record:
            archive.add("byteorder", sys.byteorder.encode())
        for storage, key in storages.items():
            item = types[storage].dtype.itemsize if isinstance(types.get(storage), StorageType) else 1
            size = storage.nbytes() // item * item  # whole elements only: bytes left over belong to no tensor
            archive.add(f"data/{key}", storage.cpu().bytes.data[:size])
        archive.close()


@contextmanager
def _open_to_write(f: Any):
    """Yields a function that writes bytes, and the name of the archive's folder."""
    if isinstance(f, (str, os.PathLike)):
        folder = os.path.splitext(os.path.basename(os.fspath(f)))[0]
        with atomic_write(f) as write:
            yield write, folder if folder and folder.isascii() else "archive"
    else:
        yield (lambda data: write_all(f.write, data)), "archive"
        if hasattr(f, "flush"):
            f.flush()


# ---- load -----------------------------------------------------------------------------------------------------------


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:
    """Load what `save`, here or in torch, wrote to `f`, a path or a seekable object with `read`.

    - `map_location`: where tensors go that were saved on some device: a device or its name; a dict from the names
      saved to the names wanted; a function of a storage and the name saved, which returns the storage wanted or None.
    - `weights_only=False` unpickles like Python does, for files that you trust: it can run any code. The default is an
      interpreter with a small allow-list, to which `add_safe_globals` adds.
    - `mmap=True` maps the file instead of reading it (a path only): memory is read when a tensor is used and copied
      when it is written to. The CRCs of the storages are then not checked.

    CheckpointError, which is a RuntimeError and an UnpicklingError, for anything that is not a whole checkpoint."""
    weights_only = pickle_module is None if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    is_path = isinstance(f, (str, os.PathLike))
    if is_path and os.fspath(f).endswith(".safetensors"):
        from ..utils import safetensors

        return safetensors.load_file(f, "cpu" if map_location is None else map_location)
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    file = open(f, "rb") if is_path else _seekable(f)  # noqa: SIM115
    try:
        name = str(os.fspath(f)) if is_path else str(getattr(f, "name", "the file"))
        _recognise(file, name)
        with Reader(file, name) as archive:
            _refuse_other_archives(archive)
            storages = _Storages(archive, map_location, file if mmap else None)
            data = archive.read("data.pkl")
            if weights_only:
                result = _interpret(data, storages, archive)
            else:
                result = _unpickle(data, storages, pickle_module or pickle, pickle_load_args)
            archive.verify()
            return result
    finally:
        if is_path:
            file.close()


def _seekable(f: Any) -> IO[bytes]:
    try:
        f.seek(f.tell())
        f.read  # noqa: B018
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None
    return f


def _recognise(file: IO[bytes], name: str) -> None:
    """Refuse by name what is no zip archive."""
    start = file.tell()
    head = file.read(512)
    file.seek(start)
    if head.startswith(b"PK\3\4"):
        return
    if head.startswith(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.") or head[257:262] == b"ustar":
        raise CheckpointError(
            f"{name}: a checkpoint in the legacy format, from before torch 1.6 (or written with "
            "_use_new_zipfile_serialization=False). Load and save it again with torch to use it here"
        )
    kind = "it is empty" if not head else "an HDF5 file" if head.startswith(b"\x89HDF") else "no zip archive"
    raise CheckpointError(f"{name}: not a checkpoint: {kind}")


def _refuse_other_archives(archive: Reader) -> None:
    if "constants.pkl" in archive or any(name.startswith("code/") for name in archive.records):
        raise CheckpointError(
            f"{archive.name}: a TorchScript archive, which holds a program. Load it with torch.jit.load and save the "
            "state_dict to use it here"
        )
    if "data.pkl" not in archive:
        raise CheckpointError(f"{archive.name}: not a checkpoint: the archive has no record data.pkl")
    for record in ("version", ".data/version"):
        version = archive.read(record) if record in archive else b"1"
        if not version.strip().isdigit() or len(version) > 9 or int(version) > 10:
            raise archive.error(
                f"Attempted to read a PyTorch file with version {version!r:.20}, but the maximum supported version "
                "for reading is 10"
            )


class _Storages:
    """The storages of an archive, each read when the pickle first speaks of it, and once."""

    def __init__(self, archive: Reader, map_location: Any, mapped: IO[bytes] | None):
        self.archive, self.map_location = archive, map_location
        self.known: dict[str, TypedStorage] = {}
        order = archive.read("byteorder") if "byteorder" in archive else b"little"
        if order not in (b"little", b"big"):
            raise archive.error(f"Unknown endianness type: {order!r:.20}")
        self.swap = order != sys.byteorder.encode()
        self.map = mmaps.mmap(mapped.fileno(), 0, access=mmaps.ACCESS_COPY) if mapped is not None else None

    def __call__(self, saved_id: Any) -> TypedStorage:
        if type(saved_id) is not tuple or len(saved_id) != 5 or saved_id[0] != "storage":
            raise self.archive.error("Only persistent_load of storage is allowed")
        _, kind, key, location, numel = saved_id
        if not isinstance(kind, StorageType) and kind is not UntypedStorage:
            raise self.archive.error(f"a storage of unknown type, given by a {type(kind).__name__}")
        dtype = kind.dtype if isinstance(kind, StorageType) else dtypes.uint8
        if type(key) is not str or type(location) is not str or type(numel) is not int:
            raise self.archive.error("the name, place and length of a storage must be str, str and int")
        size = self.archive.size_of(f"data/{key}")
        known = self.known.get(key)
        if size != numel * dtype.itemsize or (known and size and known.dtype is not dtype):
            had = f" of {known.dtype}" if known else ""
            raise self.archive.error(
                f"storage {key} has {size} bytes{had}, {numel * dtype.itemsize} of {dtype} expected"
            )
        if known is None:
            known = self.known[key] = TypedStorage(self._load(f"data/{key}", size, dtype, location), dtype)
        return TypedStorage(known.storage, dtype)

    def _load(self, record: str, size: int, dtype: Any, location: str) -> UntypedStorage:
        at = self.archive.offset_of(record)
        if self.map is not None and size and at % dtype.itemsize == 0:
            data = np.frombuffer(self.map, np.uint8, size, at)
        else:
            data = np.empty(size, np.uint8)
            self.archive.read_into(record, data.data)
        if self.swap:
            self.archive.verify()
            data.view(dtype.numpy).byteswap(inplace=True)
        return self._place(UntypedStorage(data), location)

    def _place(self, storage: UntypedStorage, location: str) -> UntypedStorage:
        wanted = self.map_location
        if callable(wanted) and not isinstance(wanted, device):
            placed = wanted(storage, location)
            if placed is not None:
                if not isinstance(placed, UntypedStorage):
                    raise TypeError(f"map_location must return a storage or None, but got {type(placed).__name__}")
                return placed
        elif isinstance(wanted, dict):
            location = wanted.get(location, location)
        elif isinstance(wanted, (str, bytes, device)):
            location = wanted.decode() if isinstance(wanted, bytes) else str(wanted)
        elif wanted is not None:
            raise TypeError(f"map_location must be a device, str, dict or function, not {type(wanted).__name__}")
        return _move(storage, str(location))


def _move(storage: UntypedStorage, location: str) -> UntypedStorage:
    try:
        place = device(location)
    except RuntimeError:
        place = None
    if place is None or place.type not in ("cpu", "cuda"):
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location:.80})"
        )
    try:
        return storage.to(place)
    except AssertionError as error:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        ) from error


def _interpret(data: bytes, storages: _Storages, archive: Reader) -> Any:
    try:
        return Unpickler(data, find, CALLS, is_safe, storages).load()
    except Refused as error:
        options = (
            "This file can still be loaded, to do so you have two options, do those steps only if you trust the "
            f"source of the checkpoint.\n\t(1) {TRUST}\n\t(2) Alternatively, to load with `weights_only=True` please "
            "check the recommended steps in the following error message.\n\tWeightsUnpickler error: "
        )
        raise CheckpointError(f"{archive.name}: Weights only load failed. {options}{error}") from None
    except Damaged as error:
        raise archive.error(f"record {archive.folder}data.pkl: {error}") from error


def _unpickle(data: bytes, storages: _Storages, pickle_module: Any, options: dict) -> Any:
    class TrustingUnpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return find_anything(module, name)

        def persistent_load(self, saved_id: Any) -> Any:
            return storages(saved_id)

    return TrustingUnpickler(io.BytesIO(data), **{"encoding": "utf-8", **options}).load()


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a checkpoint that `load` would refuse, as "module.name"."""
    opened = open(f, "rb") if isinstance(f, (str, os.PathLike)) else nullcontext(f)  # noqa: SIM115
    with opened as file, Reader(file, str(f)) as archive:
        _refuse_other_archives(archive)
        data = archive.read("data.pkl")
    return sorted({full_name(*pair) for pair in globals_of(data) if not is_allowed(*pair)})
