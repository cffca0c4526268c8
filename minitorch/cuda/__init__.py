"""NVIDIA GPUs (torch.cuda), served by CuPy.

Without CuPy or without a GPU everything that only asks (`is_available`, `device_count`, `memory_allocated`) answers,
and everything that needs one raises torch's AssertionError.
"""

import functools
from typing import Any

from .. import devices
from ..devices import device as _device


class OutOfMemoryError(RuntimeError):
    """The GPU's memory is exhausted."""


@functools.cache
def _cupy() -> Any:
    """CuPy, if it is installed and sees a GPU, else None."""
    try:
        import cupy

        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # not installed, or no driver: both mean that there is no GPU to use
        return None


def _need() -> Any:
    cupy = _cupy()
    if cupy is None:
        devices.namespace("cuda")  # explains a missing CuPy
        raise AssertionError("Torch not compiled with CUDA enabled: CuPy finds no NVIDIA GPU; use device='cpu'")
    return cupy


def is_available() -> bool:
    return _cupy() is not None


def device_count() -> int:
    return _cupy().cuda.runtime.getDeviceCount() if is_available() else 0


def is_initialized() -> bool:
    return is_available()


def init() -> None:
    _need()


def _index(device: Any) -> int:
    if device is None:
        return current_device()
    index = device if isinstance(device, int) else _device(device).index
    return current_device() if index is None else index


def current_device() -> int:
    return _need().cuda.runtime.getDevice()


def set_device(device: Any) -> None:
    _need().cuda.runtime.setDevice(_index(device))


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has done what it was asked to."""
    _need().cuda.Device(_index(device)).synchronize()


def get_device_properties(device: Any = None) -> dict:
    return _need().cuda.runtime.getDeviceProperties(_index(device))


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device)["name"].decode()


def get_device_capability(device: Any = None) -> tuple:
    properties = get_device_properties(device)
    return properties["major"], properties["minor"]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return is_available()


def empty_cache() -> None:
    if is_available():
        _cupy().get_default_memory_pool().free_all_blocks()


def memory_allocated(device: Any = None) -> int:
    return _cupy().get_default_memory_pool().used_bytes() if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    return _cupy().get_default_memory_pool().total_bytes() if is_available() else 0


# CuPy keeps no high-water mark: the pool's size is the nearest thing to it
max_memory_allocated = max_memory_reserved = memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    empty_cache()


def mem_get_info(device: Any = None) -> tuple:
    """(free, total) bytes."""
    with _need().cuda.Device(_index(device)):
        return _need().cuda.runtime.memGetInfo()


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator (nothing happens without a GPU, as in torch)."""
    if is_available():
        _cupy().random.seed(seed & 0xFFFFFFFF)


manual_seed_all = manual_seed


def __getattr__(name: str) -> Any:
    if name == "amp":
        import importlib

        return importlib.import_module("minitorch.cuda.amp")
    from .. import legacy

    if name in legacy.CUDA_TYPES:
        return legacy.CUDA_TYPES[name]
    raise AttributeError(
        f"module 'minitorch.cuda' has no attribute '{name}': minitorch drives GPUs through CuPy and offers only what "
        "training programs ask for; see dir(minitorch.cuda)"
    )
