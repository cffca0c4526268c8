"""The CPU as a device (torch.cpu)."""

from . import amp  # noqa: F401


def is_available() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def synchronize(device: object = None) -> None:
    """Nothing to wait for."""
