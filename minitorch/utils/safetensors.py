"""Tensors in .safetensors files, through the package of that name (mirrors safetensors.torch).

A safetensors file is a header (names, dtypes, shapes, and a dict of strings: the metadata) followed by the elements. It
knows nothing of sharing, strides or gradients; many published models come in it.

    save_file(model.state_dict(), "model.safetensors", metadata={"epoch": "3"})
    model.load_state_dict(load_file("model.safetensors"))
    with safe_open("model.safetensors") as f:
        f.metadata(), f.keys(), f.get_tensor("weight")
"""

import os
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..serialization.storage import storage_behind
from ..tensor import Tensor, address, wrap


def _package() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            "reading and writing safetensors files needs the package safetensors: pip install safetensors"
        ) from None
    return safetensors


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Save tensors by name, with `metadata` in the header.

    ValueError for what is no dict of contiguous tensors, RuntimeError for tensors that share memory, which the format
    cannot express."""
    _package().numpy.save_file(_arrays(tensors), filename, metadata)


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """What `save_file` would write."""
    return _package().numpy.save(_arrays(tensors), metadata)


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file, by name. `safe_open` reads single ones, and the metadata."""
    with safe_open(filename, device) as f:
        return {name: f.get_tensor(name) for name in f.keys()}  # noqa: SIM118


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors that `save` put into bytes, by name."""
    tensors = {}
    for name, entry in _package().deserialize(data):
        array = np.frombuffer(bytearray(entry["data"]), _dtype(name, entry["dtype"]).numpy)
        tensors[name] = wrap(array.reshape(entry["shape"]))
    return tensors


class safe_open:
    """An open file: `keys`, `metadata`, and single tensors read when they are asked for."""

    def __init__(self, filename: str | os.PathLike, device: Any = "cpu"):
        if isinstance(device, dict) or (callable(device) and not isinstance(device, devices.device)):
            raise RuntimeError(
                "Loading safetensors file with dict or callable map_location is not supported. "
                "Use a device string or torch.device instead."
            )
        self._device = devices.device(device)
        self._file = _package().safe_open(os.fspath(filename), framework="np")

    def keys(self) -> list[str]:
        offset_keys = getattr(self._file, "offset_keys", self._file.keys)
        return list(offset_keys())

    def metadata(self) -> dict[str, str] | None:
        return self._file.metadata()

    def get_tensor(self, name: str) -> Tensor:
        _dtype(name, self._file.get_slice(name).get_dtype())
        return wrap(devices.transfer(self._file.get_tensor(name), self._device))

    def get_slice(self, name: str) -> Any:
        """Something that reads only the part of a tensor it is indexed with; the part is a NumPy array."""
        return self._file.get_slice(name)

    def __enter__(self) -> "safe_open":
        self._file.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._file.__exit__(*exc)


_DTYPES = {d.abbreviation.upper(): d for d in dtypes.ALL if d is not dtypes.bool_} | {"BOOL": dtypes.bool_}


def _dtype(name: str, code: str) -> dtypes.dtype:
    if code not in _DTYPES:
        raise TypeError(f"tensor {name} has dtype {code}, which minitorch has not; it has {', '.join(_DTYPES)}")
    return _DTYPES[code]


def _arrays(tensors: Any) -> dict[str, np.ndarray]:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you "
                "are trying to save tensors which are reference of each other in which case it's recommended to save "
                "only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to "
                "pack it before saving."
            )
        arrays[name] = devices.transfer(tensor._array, devices.CPU)
    _refuse_sharing(tensors)
    return arrays


def _refuse_sharing(tensors: dict[str, Tensor]) -> None:
    """Two tensors share memory when they are views of one storage and have an element in common."""
    places = [(storage_behind(t._array), address(t._array), name, t) for name, t in tensors.items() if t.numel()]
    places.sort(key=lambda place: (id(place[0]), place[1]))
    for (storage, start, name, tensor), (other, begin, second, _) in zip(places, places[1:], strict=False):
        if storage is other and begin < start + tensor.nbytes:
            raise RuntimeError(
                "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
                f"loading them again: [{{{name!r}, {second!r}}}]. Save one of them, or a clone of each."
            )
