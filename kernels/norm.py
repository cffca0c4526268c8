"""Normalisation over a batch, a layer, groups or a root mean square, forward and backward.

Mirrors ATen/native/{layer_norm,group_norm,batch_norm}.cpp.  All four do the same to a set of numbers (which set is what
tells them apart): `xhat = (x - mean) * rstd`, with `rstd = 1 / sqrt(var + eps)` and the biased variance, then
`out = xhat * weight + bias`.  Hence one formula for all backward passes, with the averages taken over the same set:

    dx = rstd * (d - mean(d) - xhat * mean(d * xhat)),      d = grad * weight
    dweight = sum(grad * xhat),      dbias = sum(grad)

Here it is in NumPy; norm_loops.py has it compiled, for large arrays.
"""

import math

import numpy as np

from . import norm_loops as loops
from .half import in_float32
from .parallel import GRAIN, pays, run_slices

ALL = (True, True, True)


def _moments(x, axis, eps):
    """Mean, centred x, rstd and variance over `axis`, kept as axes of size one. Two passes: one would cancel."""
    mean = x.sum(axis=axis, keepdims=True)
    count = x.dtype.type(x.size // max(mean.size, 1) if x.size else math.nan)
    mean /= count
    centred = x - mean
    var = np.square(centred).sum(axis=axis, keepdims=True)
    var /= count
    return mean, centred, 1 / np.sqrt(var + x.dtype.type(eps)), var


def _normalised_grad(d, xhat, rstd, axis):
    """dx of the docstring above."""
    average = d.sum(axis=axis, keepdims=True)
    count = d.dtype.type(d.size // max(average.size, 1))
    average /= count
    dx = d - average
    slope = (d * xhat).sum(axis=axis, keepdims=True)
    slope /= count
    dx -= xhat * slope
    dx *= rstd
    return dx


def _scaled(out, weight, bias, shape):
    """`out * weight + bias`, in place; both, where given, shaped so as to broadcast."""
    if weight is not None:
        out *= weight.reshape(shape)
    if bias is not None:
        out += bias.reshape(shape)
    return out


def _wanted(mask, *gradients):
    return tuple(gradient if want else None for want, gradient in zip(mask, gradients, strict=True))


# -- layer norm -------------------------------------------------------------------------------------------------------


@in_float32(keep=(1, 2))
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalise over the last `len(normalized_shape)` axes: returns (out, mean, rstd).

    `weight` and `bias` have `normalized_shape`; mean and rstd have the input's shape with ones at the end.
    """
    outer = input.shape[:input.ndim - len(normalized_shape)]
    rows, columns = math.prod(outer), math.prod(normalized_shape)
    x = input.reshape(rows, columns)
    if pays(x.size, input, weight, bias):
        out, mean, rstd = np.empty_like(x), np.empty(rows, x.dtype), np.empty(rows, x.dtype)
        run_slices(loops.layer_norm, rows, x, *loops.affine(weight, bias, columns, x.dtype), eps, out, mean, rstd,
                   grain=GRAIN // columns + 1)
    else:
        mean, out, rstd, _ = _moments(x, 1, eps)
        out *= rstd
        _scaled(out, weight, bias, -1)
    stats = outer + (1,) * len(normalized_shape)
    return out.reshape(input.shape), mean.reshape(stats), rstd.reshape(stats)


@in_float32
def layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight=None, bias=None, mask=ALL):
    """The gradients (dinput, dweight, dbias) of `layer_norm`; None where `mask` is False or the argument is missing."""
    columns = math.prod(normalized_shape)
    rows = math.prod(input.shape[:input.ndim - len(normalized_shape)])
    g, x, mean, rstd = grad.reshape(rows, columns), input.reshape(rows, columns), mean.reshape(rows), rstd.reshape(rows)
    mask = (mask[0], mask[1] and weight is not None, mask[2] and bias is not None)
    if pays(x.size, grad, input, mean, rstd, weight):
        block = max(64, GRAIN // columns)  # rows whose sums for dweight and dbias are collected by one thread
        dx, sums = np.empty_like(x), np.empty((-(-rows // block), 2, columns), x.dtype)
        run_slices(loops.layer_norm_backward, len(sums), block, g, x, mean, rstd,
                   loops.affine(weight, None, columns, x.dtype)[0], dx, sums, grain=1)
        dweight, dbias = sums.sum(axis=0)
    else:
        xhat = (x - mean[:, None]) * rstd[:, None]
        d = g if weight is None else g * weight.reshape(-1)
        dx = _normalised_grad(d, xhat, rstd[:, None], 1) if mask[0] else None
        dweight = (g * xhat).sum(axis=0) if mask[1] else None
        dbias = g.sum(axis=0) if mask[2] else None
    return (dx.reshape(input.shape) if mask[0] else None,
            dweight.reshape(normalized_shape) if mask[1] else None,
            dbias.reshape(normalized_shape) if mask[2] else None)


@in_float32(keep=(1,))
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """`x / sqrt(mean(x^2) + eps) * weight` over the last axes: returns (out, rstd). eps None is the type's own."""
    outer = input.shape[:input.ndim - len(normalized_shape)]
    rows, columns = math.prod(outer), math.prod(normalized_shape)
    x = input.reshape(rows, columns)
    eps = np.finfo(x.dtype).eps if eps is None else eps
    if pays(x.size, input, weight):
        out, rstd = np.empty_like(x), np.empty(rows, x.dtype)
        run_slices(loops.rms_norm, rows, x, loops.affine(weight, None, columns, x.dtype)[0], float(eps), out, rstd,
                   grain=GRAIN // columns + 1)
    else:
        mean = np.square(x).sum(axis=1, keepdims=True) / x.dtype.type(columns)
        rstd = 1 / np.sqrt(mean + x.dtype.type(eps))
        out = _scaled(x * rstd, weight, None, -1)
    return out.reshape(input.shape), rstd.reshape(outer + (1,) * len(normalized_shape))


@in_float32
def rms_norm_backward(grad, input, normalized_shape, rstd, weight=None, mask=(True, True)):
    """The gradients (dinput, dweight) of `rms_norm`: `dx = rstd * (d - xhat * mean(d * xhat))`."""
    columns = math.prod(normalized_shape)
    rows = math.prod(input.shape[:input.ndim - len(normalized_shape)])
    g, x, rstd = grad.reshape(rows, columns), input.reshape(rows, columns), rstd.reshape(rows, 1)
    xhat = x * rstd
    dx = dweight = None
    if mask[0]:
        d = g if weight is None else g * weight.reshape(-1)
        slope = (d * xhat).sum(axis=1, keepdims=True) / x.dtype.type(columns)
        dx = (rstd * (d - xhat * slope)).reshape(input.shape)
    if mask[1] and weight is not None:
        dweight = (g * xhat).sum(axis=0).reshape(normalized_shape)
    return dx, dweight


# -- group norm -------------------------------------------------------------------------------------------------------


@in_float32(keep=(1, 2))
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalise each of `num_groups` groups of channels of (N, C, ...) by itself: returns (out, mean, rstd).

    mean and rstd are (N, num_groups).
    """
    n, c = input.shape[:2]
    depth = c // num_groups
    x = input.reshape(n * num_groups, depth, -1) if input.size else input.reshape(n * num_groups, depth, 0)
    if pays(x.size, input, weight, bias):
        out, mean, rstd = np.empty_like(x), np.empty(len(x), x.dtype), np.empty(len(x), x.dtype)
        run_slices(loops.group_norm, len(x), x, *loops.affine(weight, bias, c, x.dtype), eps, out, mean, rstd,
                   grain=GRAIN // (depth * x.shape[2]) + 1)
    else:
        mean, out, rstd, _ = _moments(x, (1, 2), eps)
        out *= rstd
        out = _scaled(out.reshape(n, c, x.shape[2]), weight, bias, (1, c, 1))
    return out.reshape(input.shape), mean.reshape(n, num_groups), rstd.reshape(n, num_groups)


@in_float32
def group_norm_backward(grad, input, mean, rstd, weight, num_groups, mask=ALL):
    """The gradients (dinput, dweight, dbias) of `group_norm`; None where `mask` is False."""
    n, c = input.shape[:2]
    depth, inner = c // num_groups, math.prod(input.shape[2:])
    g, x = grad.reshape(n * num_groups, depth, inner), input.reshape(n * num_groups, depth, inner)
    if pays(x.size, grad, input, mean, rstd, weight):
        dx, sums = np.empty_like(x), np.empty((2, n * num_groups, depth), x.dtype)
        run_slices(loops.group_norm_backward, len(x), g, x, mean.reshape(-1), rstd.reshape(-1),
                   loops.affine(weight, None, c, x.dtype)[0], dx, *sums, grain=GRAIN // (depth * inner) + 1)
    else:
        rstd = rstd.reshape(-1, 1, 1)
        xhat = (x - mean.reshape(-1, 1, 1)) * rstd
        d = g if weight is None else (g.reshape(n, c, inner) * weight.reshape(1, c, 1)).reshape(g.shape)
        dx = _normalised_grad(d, xhat, rstd, (1, 2)) if mask[0] else None
        sums = ((g * xhat).sum(axis=2) if mask[1] else None, g.sum(axis=2) if mask[2] else None)
    dweight, dbias = (part.reshape(n, c).sum(axis=0) if want else None for part, want in zip(sums, mask[1:], strict=True))
    return dx.reshape(input.shape) if mask[0] else None, dweight, dbias


# -- batch norm -------------------------------------------------------------------------------------------------------


@in_float32(keep=(1, 2))
def batch_norm(
    input, weight=None, bias=None, running_mean=None, running_var=None, training=True, momentum=0.1, eps=1e-5
):
    """Normalise each channel of (N, C, ...): returns (out, mean, rstd), the last two (C,).

    In training the statistics are the batch's, and the running ones, where given, move towards them *in place* by
    `momentum` (the variance by its unbiased estimate); else the running statistics are used.
    """
    if not training:
        mean = running_mean.astype(input.dtype, copy=False)
        rstd = (1 / np.sqrt(running_var + running_var.dtype.type(eps))).astype(input.dtype, copy=False)
        return _scale_and_shift(input, weight, bias, mean, rstd), mean, rstd
    n, c = input.shape[:2]
    inner = math.prod(input.shape[2:])
    if inner >= 8 and pays(input.size, input, weight, bias):
        x = input.reshape(n, c, inner)
        out, (mean, rstd, var) = np.empty_like(x), np.empty((3, c), x.dtype)
        run_slices(loops.batch_norm, c, x, *loops.affine(weight, bias, c, x.dtype), eps, out, mean, rstd, var,
                   grain=GRAIN // (n * inner) + 1)
    else:
        x, axis, shape = _channels_apart(input)
        mean, out, rstd, var = _moments(x, axis, eps)
        out *= rstd if weight is None else rstd * weight.reshape(shape)
        _scaled(out, None, bias, shape)
    mean, rstd, var = mean.reshape(c), rstd.reshape(c), var.reshape(c)
    if running_mean is not None:
        running_mean += (mean - running_mean) * momentum
    if running_var is not None:
        count = n * inner
        running_var += (var * (count / (count - 1) if count > 1 else math.nan) - running_var) * momentum
    return out.reshape(input.shape), mean, rstd


def _channels_apart(input):
    """The input as (N, C) or (N, C, inner), the axes to average over, and the shape in which C numbers broadcast."""
    n, c = input.shape[:2]
    if input.ndim == 2:
        return input, 0, (1, c)
    return input.reshape(n, c, math.prod(input.shape[2:])), (0, 2), (1, c, 1)


def _scale_and_shift(input, weight, bias, mean, rstd):
    """`(x - mean) * rstd * weight + bias` with constant statistics: one multiplication and one addition."""
    scale = rstd if weight is None else rstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    n, c = input.shape[:2]
    inner = math.prod(input.shape[2:])
    if inner >= 8 and pays(input.size, input, scale, shift):
        out = np.empty_like(input)
        run_slices(loops.scale_and_shift, n * c, input.reshape(n * c, inner), scale, shift, out.reshape(n * c, inner),
                   grain=GRAIN // inner + 1)
        return out
    x, _, shape = _channels_apart(input)
    return _scaled(x * scale.reshape(shape), None, shift, shape).reshape(input.shape)


@in_float32
def batch_norm_backward(grad, input, weight, mean, rstd, training=True, mask=ALL):
    """The gradients (dinput, dweight, dbias) of `batch_norm` with these statistics; None where `mask` is False.

    Without `training` they are constants: `dinput = grad * weight * rstd`.
    """
    n, c = input.shape[:2]
    inner = math.prod(input.shape[2:])
    if inner >= 8 and pays(input.size, grad, input, weight, mean, rstd):
        x = input.reshape(n, c, inner)
        dx, (dweight, dbias) = np.empty_like(x), np.empty((2, c), x.dtype)
        run_slices(loops.batch_norm_backward, c, grad.reshape(x.shape), x, loops.affine(weight, None, c, x.dtype)[0],
                   mean, rstd, bool(training), dx, dweight, dbias, grain=GRAIN // (n * inner) + 1)
        return _wanted(mask, dx.reshape(input.shape), dweight, dbias)
    x, axis, shape = _channels_apart(input)
    g, rstd = grad.reshape(x.shape), rstd.reshape(shape)
    xhat = (x - mean.reshape(shape)) * rstd
    dx = None
    if mask[0]:
        d = g if weight is None else g * weight.reshape(shape)
        dx = (_normalised_grad(d, xhat, rstd, axis) if training else d * rstd).reshape(input.shape)
    return dx, (g * xhat).sum(axis=axis) if mask[1] else None, g.sum(axis=axis) if mask[2] else None
