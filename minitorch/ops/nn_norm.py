"""Normalisation over a batch, a layer, groups, instances or a root mean square
(ATen/native/{batch,layer,group}_norm.cpp).

Each is a fused row: one kernel forward and one backward. When the backward pass is itself recorded, its gradients are
composed of ordinary operators instead (`_gradients`), with the statistics recomputed from the input so that they are
differentiated too. All norms but the last become one by reshaping: normalise over `dims`, scale over the others.
"""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import norm as kernels
from ..tensor import wrap
from .elementwise import rsqrt
from .nn_common import floating


def _gradients(
    grad: Any, x: Any, weight: Any, needs: tuple, dims: tuple, others: tuple, eps: float, stats: Any = None
) -> list:
    """The gradients for x, weight and bias of `xhat * weight + bias`; `stats`: constant (mean, rstd) instead of x's
    own."""
    if stats is None:
        centred = x - x.mean(dims, True)
        rstd = rsqrt((centred * centred).mean(dims, True) + eps)
    else:
        centred, rstd = x - stats[0], stats[1]
    xhat = centred * rstd
    dx = None
    if needs[0]:
        d = grad if weight is None else grad * weight
        if stats is None:
            d = d - d.mean(dims, True) - xhat * (d * xhat).mean(dims, True)
        dx = d * rstd
    return [dx, (grad * xhat).sum(others) if needs[1] else None, grad.sum(others) if needs[2] else None]


def _reshaped(gradients: list, *shapes: Any) -> list:
    return [None if g is None else g.reshape(shape) for g, shape in zip(gradients, shapes, strict=True)]


# ---- layer norm ---------------------------------------------------------------------------------------------------


def _layer_norm_backward(
    grad: Any, needs: tuple, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, mean: Any, rstd: Any
) -> Any:
    if not isinstance(grad, Tensor):
        return kernels.layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, bias, needs)
    columns = math.prod(normalized_shape)
    flat = None if weight is None else weight.reshape(columns)
    gradients = _gradients(grad.reshape(-1, columns), input.reshape(-1, columns), flat, needs, (1,), (0,), eps)
    return _reshaped(gradients, input.shape, normalized_shape, normalized_shape)


native_layer_norm = op(
    "native_layer_norm", floating(kernels.layer_norm, "LayerNormKernelImpl"), function=False, hidden=("mean", "rstd"),
    inputs=("input", "weight", "bias"), joint=_layer_norm_backward, autocast="fp32_cuda",
)


@composite(as_method=False)
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """`(x - mean) / sqrt(var + eps) * weight + bias` over the last dimensions, whose sizes are `normalized_shape`."""
    shape = _check_normalized_shape(input, normalized_shape, weight=weight, bias=bias)
    return native_layer_norm(input, shape, weight, bias, eps)


def _check_normalized_shape(input: Any, normalized_shape: Any, **affine: Any) -> tuple:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, value in affine.items():
        if value is not None and tuple(value.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(value.shape)} and normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    return shape


# ---- root mean square ---------------------------------------------------------------------------------------------


def _rms_norm_backward(
    grad: Any, needs: tuple, input: Any, normalized_shape: Any, weight: Any, eps: Any, rstd: Any
) -> Any:
    if not isinstance(grad, Tensor):
        return kernels.rms_norm_backward(grad, input, normalized_shape, rstd, weight, needs)
    dims = tuple(range(-len(normalized_shape), 0))
    eps = np.finfo(input._array.dtype).eps if eps is None else eps
    rstd = rsqrt((input * input).mean(dims, True) + float(eps))
    xhat = input * rstd
    d = grad if weight is None else grad * weight
    dx = rstd * (d - xhat * (d * xhat).mean(dims, True)) if needs[0] else None
    lead = tuple(range(input.dim() - len(normalized_shape)))
    dweight = grad * xhat if needs[1] else None
    return [dx, dweight.sum(lead) if dweight is not None and lead else dweight]


fused_rms_norm = op(
    "fused_rms_norm", floating(kernels.rms_norm, "rms_norm"), function=False, hidden=("rstd",),
    inputs=("input", "weight"), joint=_rms_norm_backward, autocast="fp32_cuda",
)


@composite(as_method=False)
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """`x / sqrt(mean(x^2) + eps) * weight` over the last dimensions; eps None: the dtype's machine epsilon."""
    shape = _check_normalized_shape(input, normalized_shape, weight=weight)
    return fused_rms_norm(input, shape, weight, eps)


# ---- group norm ---------------------------------------------------------------------------------------------------


def _group_norm_backward(
    grad: Any, needs: tuple, input: Any, num_groups: int, weight: Any, eps: float, mean: Any, rstd: Any
) -> Any:
    if not isinstance(grad, Tensor):
        return kernels.group_norm_backward(grad, input, mean, rstd, weight, num_groups, needs)
    n, c = input.shape[:2]
    shape = (n, num_groups, c // num_groups, math.prod(input.shape[2:]))
    w = None if weight is None else weight.reshape(1, num_groups, -1, 1)
    gradients = _gradients(grad.reshape(shape), input.reshape(shape), w, needs, (2, 3), (0, 3), eps)
    return _reshaped(gradients, input.shape, c, c)


native_group_norm = op(
    "native_group_norm", floating(kernels.group_norm, "GroupNormKernelImpl"), function=False, hidden=("mean", "rstd"),
    inputs=("input", "weight", "bias"), joint=_group_norm_backward, autocast="fp32_cuda",
)


@composite(as_method=False)
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    """Each of `num_groups` groups of channels of (N, C, ...) normalised by itself."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    channels = input.shape[1]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(value.shape)} and input of shape {list(input.shape)}"
            )
    return native_group_norm(input, num_groups, weight, bias, eps)


# ---- batch and instance norm --------------------------------------------------------------------------------------


def _batch_norm_backward(
    grad: Any, needs: tuple, input: Any, weight: Any, training: bool, eps: float, mean: Any, rstd: Any,
    running_mean: Any, running_var: Any,
) -> Any:
    if not isinstance(grad, Tensor):
        return kernels.batch_norm_backward(grad, input, weight, mean, rstd, training, needs)
    n, c = input.shape[:2]
    w = None if weight is None else weight.reshape(1, c, 1)
    stats = None if training else (wrap(mean.reshape(1, c, 1)), wrap(rstd.reshape(1, c, 1)))
    gradients = _gradients(grad.reshape(n, c, -1), input.reshape(n, c, -1), w, needs, (0, 2), (0, 2), eps, stats)
    return _reshaped(gradients, input.shape, c, c)


native_batch_norm = op(
    "native_batch_norm", floating(kernels.batch_norm, "batch_norm"), function=False, hidden=("mean", "rstd"),
    inputs=("input", "weight", "bias"), joint=_batch_norm_backward,
)


@composite(as_method=False)
def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Any:
    """Each channel of (N, C, ...) normalised by the batch's statistics, or (not `training`) by the running ones.

    In training the running statistics, where given, are moved towards the batch's, in place, by `momentum`."""
    if input.numel() == 0:  # no statistics: as torch, only a connection to scale and shift
        out = input.clone()
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    if input.dim() < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    channels = input.shape[1]
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, value in named.items():
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    running = [s for s in (running_mean, running_var) if s is not None] if training else []
    wide = [s._array.astype(np.float32) if s._array.dtype.itemsize == 2 else s._array for s in running]
    mean, var = (*wide, None, None)[:2] if running_mean is not None else (None, *wide, None)[:2]
    if not training or all(array is stat._array for stat, array in zip(running, wide, strict=True)):
        mean, var = running_mean, running_var
    out = native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)
    for stat, array in zip(running, wide, strict=True):
        if array is not stat._array:
            stat._array[...] = array
    return out


@composite(as_method=False)
def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Any:
    """Each channel of each sample of (N, C, ...) normalised by itself: a batch norm with N * C channels."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats=False")
    n, c = input.shape[:2]

    def each(t: Any) -> Any:
        return None if t is None else t.repeat(n)

    mean, var = each(running_mean), each(running_var)
    flat = input.contiguous().view(1, n * c, *input.shape[2:])
    out = batch_norm(flat, each(weight), each(bias), mean, var, use_input_stats, momentum, eps)
    if use_input_stats:
        for stat, moved in ((running_mean, mean), (running_var, var)):
            if stat is not None:
                stat.copy_(moved.view(n, c).mean(0))
    return out.view(input.shape)


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
