"""Several processes (torch.distributed): not available in minitorch; programs may ask."""

from typing import Any


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'minitorch.distributed' has no attribute '{name}': minitorch trains in one process; ask "
        "minitorch.distributed.is_available() first"
    )
