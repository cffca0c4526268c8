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
from .parallel import COMPILE_FROM, GRAIN, pays, run_slices
from .reductions import sum_over

ALL = (True, True, True)


def _moments(x, axes, eps):
    """Mean, centred x, rstd and variance over `axes`, kept as axes of size one. Two passes: one would cancel."""
    mean = sum_over(x, axes, True)
    count = x.dtype.type(x.size // mean.size if x.size else math.nan)
    mean /= count
    centred = x - mean
    var = sum_over(np.square(centred), axes, True)
    var /= count
    return mean, centred, 1 / np.sqrt(var + x.dtype.type(eps)), var


def _normalised_grad(d, xhat, rstd, axes):
    """dx of the docstring above."""
    average = sum_over(d, axes, True)
    count = d.dtype.type(d.size // max(average.size, 1))
    average /= count
    dx = d - average
    slope = sum_over(d * xhat, axes, True)
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
        run_slices(loops.layer_norm, rows, x, *loops.affine(weight, bias, columns, x), eps, out, mean, rstd,
                   grain=GRAIN // columns + 1)
    else:
        mean, out, rstd, _ = _moments(x, (1,), eps)
        out *= rstd
        _scaled(out, weight, bias, -1)
    stats = outer + (1,) * len(normalized_shape)
    return out.reshape(input.shape), mean.reshape(stats), rstd.reshape(stats)


@in_float32(keep=(1, 2))  # scale and shift may be float32 beside a half-precision input
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
                   loops.affine(weight, None, columns, x)[0], dx, sums, grain=1)
        dweight, dbias = sum_over(sums, (0,))
    else:
        xhat = x - mean[:, None]
        xhat *= rstd[:, None]
        product = g * xhat
        dweight = sum_over(product, (0,)) if mask[1] else None
        dbias = sum_over(g, (0,)) if mask[2] else None
        if mask[0]:
            w = loops.affine(weight, None, columns, x)[0]
            dx = g * w
            dx -= (g.dot(w) / x.dtype.type(columns))[:, None]
            xhat *= (product.dot(w) / x.dtype.type(columns))[:, None]
            dx -= xhat
            dx *= rstd[:, None]
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
        run_slices(loops.rms_norm, rows, x, loops.affine(weight, None, columns, x)[0], float(eps), out, rstd,
                   grain=GRAIN // columns + 1)
    else:
        mean = sum_over(np.square(x), (1,), True) / x.dtype.type(columns)
        rstd = 1 / np.sqrt(mean + x.dtype.type(eps))
        out = _scaled(x * rstd, weight, None, -1)
    return out.reshape(input.shape), rstd.reshape(outer + (1,) * len(normalized_shape))


@in_float32(keep=(1,))
def rms_norm_backward(grad, input, normalized_shape, rstd, weight=None, mask=(True, True)):
    """The gradients (dinput, dweight) of `rms_norm`: `dx = rstd * (d - xhat * mean(d * xhat))`."""
    columns = math.prod(normalized_shape)
    rows = math.prod(input.shape[:input.ndim - len(normalized_shape)])
    g, x, rstd = grad.reshape(rows, columns), input.reshape(rows, columns), rstd.reshape(rows, 1)
    xhat = x * rstd
    dx = dweight = None
    if mask[0]:
        d = g if weight is None else g * weight.reshape(-1)
        slope = sum_over(d * xhat, (1,), True) / x.dtype.type(columns)
        dx = (rstd * (d - xhat * slope)).reshape(input.shape)
    if mask[1] and weight is not None:
        dweight = sum_over(g * xhat, (0,)).reshape(normalized_shape)
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
        run_slices(loops.group_norm, len(x), x, *loops.affine(weight, bias, c, x), eps, out, mean, rstd,
                   grain=GRAIN // (depth * x.shape[2]) + 1)
    else:
        mean, out, rstd, _ = _moments(x, (1, 2), eps)
        out *= rstd
        out = _scaled(out.reshape(n, c, x.shape[2]), weight, bias, (1, c, 1))
    return out.reshape(input.shape), mean.reshape(n, num_groups), rstd.reshape(n, num_groups)


@in_float32(keep=(1, 2))
def group_norm_backward(grad, input, mean, rstd, weight, num_groups, mask=ALL):
    """The gradients (dinput, dweight, dbias) of `group_norm`; None where `mask` is False."""
    n, c = input.shape[:2]
    depth, inner = c // num_groups, math.prod(input.shape[2:])
    g, x = grad.reshape(n * num_groups, depth, inner), input.reshape(n * num_groups, depth, inner)
    if pays(x.size, grad, input, mean, rstd, weight):
        dx, sums = np.empty_like(x), np.empty((2, n * num_groups, depth), x.dtype)
        run_slices(loops.group_norm_backward, len(x), g, x, mean.reshape(-1), rstd.reshape(-1),
                   loops.affine(weight, None, c, x)[0], dx, *sums, grain=GRAIN // (depth * inner) + 1)
    else:
        rstd = rstd.reshape(-1, 1, 1)
        xhat = (x - mean.reshape(-1, 1, 1)) * rstd
        d = g if weight is None else (g.reshape(n, c, inner) * weight.reshape(1, c, 1)).reshape(g.shape)
        dx = _normalised_grad(d, xhat, rstd, (1, 2)) if mask[0] else None
        sums = (sum_over(g * xhat, (2,)) if mask[1] else None, sum_over(g, (2,)) if mask[2] else None)
    dweight, dbias = (sum_over(part.reshape(n, c), (0,)) if want else None
                      for part, want in zip(sums, mask[1:], strict=True))
    return dx.reshape(input.shape) if mask[0] else None, dweight, dbias


# -- batch norm -------------------------------------------------------------------------------------------------------
# On arrays the input is a matrix (N, C * inner), and what each channel has one of is spread over its columns: NumPy's
# loops are long then. The compiled loops go through it channel by channel.


def _channels(input):
    """N, C and the number of elements that an example has in each channel."""
    return *input.shape[:2], math.prod(input.shape[2:])


def _spread(per_channel, inner):
    return per_channel if inner == 1 else np.repeat(per_channel, inner)


def _channel_sums(matrix, c):
    if not matrix.size:
        return np.zeros(c, matrix.dtype, like=matrix)
    return sum_over(sum_over(matrix, (0,)).reshape(c, -1), (1,))


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
    n, c, inner = _channels(input)
    count = n * inner
    if inner >= 8 and pays(input.size, input, weight, bias):
        x = input.reshape(n, c, inner)
        out, (mean, rstd, var) = np.empty_like(x), np.empty((3, c), x.dtype)
        run_slices(loops.batch_norm, c, x, *loops.affine(weight, bias, c, x), eps, out, mean, rstd, var,
                   grain=GRAIN // count + 1)
    else:
        x = input.reshape(n, c * inner)
        number = x.dtype.type(count if count else math.nan)
        mean = _channel_sums(x, c) / number
        out = x - _spread(mean, inner)
        var = _channel_sums(np.square(out), c) / number
        rstd = 1 / np.sqrt(var + x.dtype.type(eps))
        out *= _spread(rstd if weight is None else rstd * weight, inner)
        if bias is not None:
            out += _spread(bias, inner)
    if running_mean is not None:
        running_mean += (mean - running_mean) * momentum
    if running_var is not None:
        running_var += (var * (count / (count - 1) if count > 1 else math.nan) - running_var) * momentum
    return out.reshape(input.shape), mean, rstd


def _scale_and_shift(input, weight, bias, mean, rstd):
    """`(x - mean) * rstd * weight + bias` with constant statistics: one multiplication and one addition."""
    scale = rstd if weight is None else rstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    n, c, inner = _channels(input)
    if inner >= 8 and pays(input.size, input, scale, shift, floor=4 * COMPILE_FROM):  # NumPy's two passes are not bad
        out = np.empty_like(input)
        run_slices(loops.scale_and_shift, n * c, input.reshape(n * c, inner), scale, shift, out.reshape(n * c, inner),
                   grain=GRAIN // inner + 1)
        return out
    out = input.reshape(n, c * inner) * _spread(scale, inner)
    out += _spread(shift, inner)
    return out.reshape(input.shape)


@in_float32(keep=(1, 2))
def batch_norm_backward(grad, input, weight, mean, rstd, training=True, mask=ALL):
    """The gradients (dinput, dweight, dbias) of `batch_norm` with these statistics; None where `mask` is False.

    Without `training` they are constants: `dinput = grad * weight * rstd`.
    """
    n, c, inner = _channels(input)
    if inner >= 8 and pays(input.size, grad, input, weight, mean, rstd):
        x = input.reshape(n, c, inner)
        dx, (dweight, dbias) = np.empty_like(x), np.empty((2, c), x.dtype)
        run_slices(loops.batch_norm_backward, c, grad.reshape(x.shape), x, loops.affine(weight, None, c, x)[0],
                   mean, rstd, bool(training), dx, dweight, dbias, grain=GRAIN // (n * inner) + 1)
    else:
        g = grad.reshape(n, c * inner)
        centred = input.reshape(g.shape) - _spread(mean, inner)
        dweight, dbias = _channel_sums(g * centred, c) * rstd, _channel_sums(g, c)
        scale = rstd if weight is None else rstd * weight
        if training:
            count = g.dtype.type(max(n * inner, 1))
            centred *= _spread(dweight * rstd / count, inner)
            dx = g - _spread(dbias / count, inner)
            dx -= centred
            dx *= _spread(scale, inner)
        else:
            dx = g * _spread(scale, inner)
    return tuple(gradient if want else None
                 for want, gradient in zip(mask, (dx.reshape(input.shape), dweight, dbias), strict=True))
