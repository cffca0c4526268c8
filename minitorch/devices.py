"""Devices, and which array library serves which (c10/core/Device.h).

A tensor's device follows from the type of its array: NumPy arrays live on the "cpu", CuPy arrays on "cuda:i".
Asking for "cuda" imports CuPy, at that moment and not before.
"""

import functools
import re
from typing import Any

import numpy as np

_TYPES = ("cpu", "cuda", "mps", "xpu", "meta", "mkldnn", "ipu", "hpu", "xla", "vulkan", "privateuseone")


class device:
    """`device("cuda:1")`, `device("cuda", 1)`, `device(1)` or `device(another_device)`."""

    __slots__ = ("type", "index")

    def __init__(self, type: Any = "cpu", index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index  # type: ignore[has-type]
        elif isinstance(type, int):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, int or device, not {type.__class__.__name__}")
        elif ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not re.fullmatch(r"[a-z_]+:(0|[1-9]\d*)", type):
                raise RuntimeError(f"Invalid device string: '{type}'")
            type, number = type.split(":")
            index = int(number)
        if type not in _TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type}"
            )
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.type, self.index = type, index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + ("" if self.index is None else f", index={self.index}") + ")"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self):
        _stack.append(self)
        return self

    def __exit__(self, *exc):
        _stack.pop()


CPU = device("cpu")
_stack: list[device] = []  # `with device(...)` and `set_default_device`


def get_default_device() -> device:
    return _stack[-1] if _stack else CPU


def set_default_device(d: Any) -> None:
    _stack.clear()
    if d is not None:
        _stack.append(device(d))


@functools.cache
def _cuda(index: int | None) -> device:
    return device("cuda", index)


def of(array: Any) -> device:
    """The device an array lives on."""
    if isinstance(array, (np.ndarray, np.generic)):
        return CPU
    return _cuda(getattr(array.device, "id", 0))


def namespace(where: Any) -> Any:
    """The array library (`numpy` or `cupy`) that makes arrays for a device.

    RuntimeError for a device that minitorch does not serve; AssertionError, as torch, for CUDA that is not there."""
    where = get_default_device() if where is None else where if isinstance(where, device) else device(where)
    if where.type == "cpu":
        return np
    if where.type != "cuda":
        raise RuntimeError(f"minitorch serves the devices cpu and cuda, not {where}; move the tensor to one of these")
    try:
        import cupy
    except ImportError:
        raise AssertionError(
            "Torch not compiled with CUDA enabled: install CuPy (pip install 'minitorch[cuda12]' or [cuda13]) "
            "or use device='cpu'"
        ) from None
    return cupy


def transfer(array: Any, where: device) -> Any:
    """The array on another device; itself where it is there already."""
    here = of(array)
    if here.type == where.type and where.index in (None, here.index):
        return array
    if where.type == "cpu":
        return array.get()
    cupy = namespace(where)
    with cupy.cuda.Device(where.index or 0):
        return cupy.asarray(array)
