"""Linear algebra under torch.linalg's names: rows and composites of the operator table (torch/linalg)."""

from typing import Any

from .dispatch import FUNCTIONS
from .kernels.decompositions import Singular as LinAlgError

__all__ = ["LinAlgError"]
_ALIASES = {"matmul": "matmul"}


def __getattr__(name: str) -> Any:
    for key in (f"linalg_{name}", _ALIASES.get(name)):
        if key in FUNCTIONS:
            return FUNCTIONS[key]
    raise AttributeError(f"module 'minitorch.linalg' has no attribute '{name}': it is not implemented")


def __dir__() -> list[str]:
    return sorted([*(n.removeprefix("linalg_") for n in FUNCTIONS if n.startswith("linalg_")), *_ALIASES, *__all__])
