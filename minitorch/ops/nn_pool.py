"""Pooling (ATen/native/{MaxPooling,AveragePool*,Adaptive*,FractionalMaxPool*,MaxUnpooling}.cpp).

All maxima share one derivative: the gradient goes where the maximum was (`_scatter`), and its own derivative gathers
from there (`_gather`). Every row here exists for one, two and three spatial dimensions, from one text.
"""

import functools
from typing import Any

from ..dispatch import Tensor, composite, op, thread
from ..kernels import pool as kernels
from .nn_common import tuple_of, wide

Table = dict[int, Any]  # by the number of spatial dimensions


def _for(nd: int, kernel: Any) -> Any:
    return functools.partial(kernel, nd)


def _scatter_row(nd: int) -> Any:
    return op(f"max_pool{nd}d_scatter", _for(nd, kernels.max_pool_grad), function=False,
              node=f"MaxPool{nd}DWithIndicesBackwardBackward0",
              grad=lambda cotangent, indices: _gather[nd](cotangent, indices))


def _gather_row(nd: int) -> Any:
    return op(f"max_pool{nd}d_gather", _for(nd, kernels.max_pool_gather), function=False,
              input=lambda grad, indices, input_shape: _scatter[nd](grad, indices, input_shape))


def _max_row(name: str, nd: int, kernel: Any, node: str, **results: tuple) -> Any:
    return op(name, _for(nd, kernel), function=False, node=node, **(results or _WITH_INDICES),
              autocast="fp32_cpu" if name == "adaptive_max_pool3d" or "fractional" in name else None,
              input=lambda grad, input, indices: _scatter[nd](grad, indices, input.shape))


_WITH_INDICES: dict[str, tuple] = {"returns": ("values", "indices")}
_scatter: Table = {nd: _scatter_row(nd) for nd in (1, 2, 3)}
_gather: Table = {nd: _gather_row(nd) for nd in (1, 2, 3)}
max_pool: Table = {
    nd: _max_row(f"max_pool{nd}d_with_indices", nd, kernels.max_pool, f"MaxPool{nd}DWithIndicesBackward0")
    for nd in (2, 3)
}
adaptive_max_pool: Table = {
    nd: _max_row(f"adaptive_max_pool{nd}d", nd, kernels.adaptive_max_pool, f"AdaptiveMaxPool{nd}DBackward0")
    for nd in (2, 3)
}
fractional_max_pool: Table = {
    nd: _max_row(f"fractional_max_pool{nd}d", nd, kernels.fractional_max_pool, f"FractionalMaxPool{nd}DBackward0")
    for nd in (2, 3)
}


def _unpool_row(nd: int) -> Any:
    return op(f"max_unpool{nd}d", _for(nd, kernels.max_unpool), function=False, node=f"MaxUnpool{nd}DBackward0",
              autocast="fp32_cpu",
              input=lambda grad, indices: _gather[nd](grad, indices))


max_unpool: Table = {nd: _unpool_row(nd) for nd in (2, 3)}


def _avg_row(nd: int) -> Any:
    kernel = _for(nd, kernels.avg_pool)
    return op(f"avg_pool{nd}d", kernel if nd == 2 else wide(kernel, "avg_pool3d_out_frame"), function=False,
              node=f"AvgPool{nd}DBackward0",
              input=lambda grad, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
              divisor_override: _avg_grad[nd](grad, input.shape, kernel_size, stride, padding, ceil_mode,
                                              count_include_pad, divisor_override))


def _avg_grad_row(nd: int) -> Any:
    return op(f"avg_pool{nd}d_grad", _for(nd, kernels.avg_pool_grad), function=False,
              node=f"AvgPool{nd}DBackwardBackward0",
              grad=lambda cotangent, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
              avg_pool[nd](cotangent, kernel_size, stride, padding, ceil_mode, count_include_pad,
                           divisor_override))


def _adaptive_row(nd: int) -> Any:
    return op(f"adaptive_avg_pool{nd}d", _for(nd, kernels.adaptive_avg_pool), function=False,
              node=f"AdaptiveAvgPool{nd}DBackward0",
              input=lambda grad, input: _adaptive_grad[nd](grad, input.shape))


def _adaptive_grad_row(nd: int) -> Any:
    return op(f"adaptive_avg_pool{nd}d_grad", _for(nd, kernels.adaptive_avg_pool_grad), function=False,
              node=f"AdaptiveAvgPool{nd}DBackwardBackward0",
              grad=lambda cotangent, grad: adaptive_avg_pool[nd](cotangent, grad.shape[-nd:]))


avg_pool: Table = {nd: _avg_row(nd) for nd in (2, 3)}
_avg_grad: Table = {nd: _avg_grad_row(nd) for nd in (2, 3)}
adaptive_avg_pool: Table = {nd: _adaptive_row(nd) for nd in (2, 3)}
_adaptive_grad: Table = {nd: _adaptive_grad_row(nd) for nd in (2, 3)}

# ---- what torch has among its functions ---------------------------------------------------------------------------


@composite(as_method=False)
def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The maximum of each window of input (N, C, L) or (C, L)."""
    return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@composite(as_method=False)
def max_pool1d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The maximum of each window, and where it was."""
    _check_1d("max_pool1d", input)
    flat = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    wide = {n: _in_a_row("max_pool1d", n, v, 0 if n == "padding" else 1) for n, v in flat.items()}
    values, indices = max_pool[2](input.unsqueeze(-2), **wide, ceil_mode=ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def _check_1d(name: str, input: Any) -> None:
    if input.dim() not in (2, 3):
        raise RuntimeError(f"{name}() Expected 2D or 3D input tensor, but got {list(input.shape)}")


def _in_a_row(name: str, argument: str, value: Any, other: int) -> Any:
    """A one-dimensional argument as the two-dimensional one of an image of height 1."""
    if value is None or value == ():
        return None
    (value,) = tuple_of(value, 1) if isinstance(value, int) or len(value) == 1 else (None,)
    if value is None:
        raise RuntimeError(f"{name}: {argument} must be one int")
    return (other, value)


def _max_pool(nd: int) -> Any:
    """Without asking for indices: kept for the backward pass where there will be one, else not even computed."""
    recorded = _max_row(f"max_pool{nd}d_recorded", nd, kernels.max_pool, f"MaxPool{nd}DWithIndicesBackward0",
                        hidden=("indices",))
    values = op(f"max_pool{nd}d_values", _for(nd, kernels.max_pool_values), function=False,
                autocast="fp32_cpu" if nd == 3 else None)

    def pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        row = recorded if thread.grad and input.requires_grad else values
        return row(input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__ = f"max_pool{nd}d"
    pool.__doc__ = "The maximum of each window of input (N, C, *size) or (C, *size)."
    return composite(as_method=False)(pool)


max_pool2d, max_pool3d = map(_max_pool, (2, 3))


@composite(as_method=False)
def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window of input (N, C, L) or (C, L)."""
    _check_1d("avg_pool1d", input)
    kernel_size = _in_a_row("avg_pool1d", "kernel_size", kernel_size, 1)
    stride, padding = _in_a_row("avg_pool1d", "stride", stride, 1), _in_a_row("avg_pool1d", "padding", padding, 0)
    return avg_pool[2](input.unsqueeze(-2), kernel_size, stride, padding, ceil_mode, count_include_pad).squeeze(-2)


def _one(name: str, output_size: Any) -> tuple:
    size = tuple_of(output_size, 1) if output_size is not None else (None,)
    if len(size) != 1:
        raise RuntimeError(f"{name}: output_size must be one int, got {output_size}")
    return (1, *size)


@composite(as_method=False)
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The means of `output_size` windows of input (N, C, L) or (C, L)."""
    _check_1d("adaptive_avg_pool1d", input)
    return adaptive_mean(2, input.unsqueeze(-2), _one("adaptive_avg_pool1d", output_size)).squeeze(-2)


@composite(as_method=False)
def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The maxima of `output_size` windows of input (N, C, L) or (C, L), and where they were."""
    _check_1d("adaptive_max_pool1d", input)
    values, indices = adaptive_max_pool[2](input.unsqueeze(-2), _one("adaptive_max_pool1d", output_size))
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_mean(nd: int, input: Any, output_size: Any) -> Any:
    """Adaptive average pooling; to one window it is a mean, which torch's graph shows as well."""
    size = tuple_of(output_size, nd) if output_size is not None else (None,) * nd
    if len(size) == nd and all(s == 1 for s in size) and input.dim() in (nd + 1, nd + 2) and isinstance(input, Tensor):
        return input.mean(tuple(range(-nd, 0)), True)
    return adaptive_avg_pool[nd](input, output_size)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool3d",
]
