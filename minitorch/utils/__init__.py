"""Helpers around the framework (torch/utils): `data` loads it with samples, `hooks` holds removable hooks."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """`minitorch.utils.data` and the like, imported when first asked for."""
    if not name.startswith("_"):
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
