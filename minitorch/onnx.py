"""Where torch.onnx would be: programs import it; exporting is not supported (mirrors the names of torch/onnx)."""

from typing import Any

__all__ = ["export", "is_in_onnx_export"]


def export(model: Any, *args: Any, **kwargs: Any) -> None:
    """Refused: NotImplementedError."""
    raise NotImplementedError(
        "minitorch does not write ONNX files. minitorch.save(model.state_dict(), path) writes a file that torch.load "
        "reads: load it into the same model there and use torch.onnx.export"
    )


def is_in_onnx_export() -> bool:
    """Whether an export is going on: never."""
    return False
