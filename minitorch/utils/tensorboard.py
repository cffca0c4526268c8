"""Curves, images and texts for TensorBoard (torch/utils/tensorboard).

The files are written by the tensorboardX package (`pip install tensorboardX`; it is what torch's own writer grew out
of and has the same methods). Here tensors are made into arrays first.
"""

import functools
from typing import Any

from .. import dtypes
from ..tensor import Tensor

try:
    import tensorboardX
except ImportError as error:
    raise ImportError("minitorch.utils.tensorboard needs tensorboardX: pip install tensorboardX") from error

__all__ = ["SummaryWriter"]


def _array(x: Any) -> Any:
    """Tensors as arrays, in lists and dictionaries as well."""
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        return (x.float() if x.dtype is dtypes.bfloat16 else x).numpy()
    if isinstance(x, dict):
        return {key: _array(value) for key, value in x.items()}
    return type(x)(map(_array, x)) if type(x) in (list, tuple) else x


def _of_arrays(name: str) -> Any:
    write = getattr(tensorboardX.SummaryWriter, name)

    @functools.wraps(write)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return write(self, *map(_array, args), **_array(kwargs))

    return method


class SummaryWriter(tensorboardX.SummaryWriter):
    """Writes event files into `log_dir` (default `runs/DATE_HOST`); `tensorboard --logdir runs` shows them.

    `add_scalar(tag, value, global_step)`, `add_histogram`, `add_image` (C, H, W), `add_images`, `add_figure`, `add_text`,
    `add_hparams` and so on, as torch's."""

    def add_graph(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("add_graph needs a traced module, which minitorch does not have; log repr(model) as text")


for _name in (
    "add_scalar", "add_scalars", "add_histogram", "add_histogram_raw", "add_image", "add_images",
    "add_image_with_boxes", "add_video", "add_audio", "add_text", "add_pr_curve", "add_pr_curve_raw", "add_embedding",
    "add_mesh", "add_hparams",
):  # fmt: skip
    setattr(SummaryWriter, _name, _of_arrays(_name))
