"""The accelerator of this machine, whatever its kind (torch.accelerator): CUDA or none."""

from typing import Any

from . import cuda
from .devices import device


def is_available() -> bool:
    return cuda.is_available()


def device_count() -> int:
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """`device("cuda")`, or None where there is no accelerator."""
    return device("cuda") if cuda.is_available() else None


def _need() -> None:
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    _need()
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    _need()
    cuda.set_device(device)


set_device_idx = set_device_index


def synchronize(device: Any = None) -> None:
    _need()
    cuda.synchronize(device)


empty_cache = cuda.empty_cache
memory_allocated, memory_reserved = cuda.memory_allocated, cuda.memory_reserved
max_memory_allocated, max_memory_reserved = cuda.max_memory_allocated, cuda.max_memory_reserved
reset_peak_memory_stats = cuda.reset_peak_memory_stats
