"""Page-locked memory for batches on their way to a GPU (torch/utils/data/_utils/pin_memory.py)."""

from collections.abc import Mapping, Sequence
from typing import Any

import minitorch
from minitorch.utils.data.collate import is_namedtuple, rebuild


def accelerator_available() -> bool:
    return minitorch.cuda.is_available()


def pin_memory(data: Any) -> Any:
    """The same containers with every tensor (and whatever has a method `pin_memory`) in page-locked memory."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return rebuild(data, {key: pin_memory(value) for key, value in data.items()})
    if is_namedtuple(data):
        return type(data)(*(pin_memory(value) for value in data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return rebuild(data, [pin_memory(value) for value in data])
    return data
