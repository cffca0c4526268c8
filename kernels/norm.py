"""Normalisation over a batch, a layer, groups or a root mean square, forward and backward.

Mirrors ATen/native/{layer_norm,group_norm,batch_norm}.cpp.  All four do the same to a set of numbers (which set is what
tells them apart): `xhat = (x - mean) * rstd`, with `rstd = 1 / sqrt(var + eps)` and the biased variance, then
`out = xhat * weight + bias`.  Hence one formula for all backward passes, with the averages taken over the same set:

    dx = rstd * (d - mean(d) - xhat * mean(d * xhat)),      d = grad * weight
    dweight = sum(grad * xhat),      dbias = sum(grad)
"""

import math

import numpy as np

from .half import in_float32


def _moments(x, axis, eps):
    """Mean, centred x and rstd over `axis`, kept as axes of size one.  Two passes: exact where one would cancel."""
    mean = x.mean(axis=axis, keepdims=True)
    centred = x - mean
    var = np.square(centred).mean(axis=axis, keepdims=True)
    return mean, centred, 1 / np.sqrt(var + x.dtype.type(eps)), var


def _normalised_grad(d, xhat, rstd, axis):
    """dx of the docstring above."""
    dx = d - d.mean(axis=axis, keepdims=True)
    dx -= xhat * (d * xhat).mean(axis=axis, keepdims=True)
    dx *= rstd
    return dx


@in_float32(keep=(1, 2))
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalise over the last `len(normalized_shape)` axes: returns (out, mean, rstd).

    `weight` and `bias` have `normalized_shape`; mean and rstd have the input's shape with ones at the end.
    """
    outer = input.shape[:input.ndim - len(normalized_shape)]
    columns = math.prod(normalized_shape)
    x = input.reshape(-1, columns) if input.size else input.reshape(math.prod(outer), columns)
    mean, out, rstd, _ = _moments(x, 1, eps)
    out *= rstd
    if weight is not None:
        out *= weight.reshape(-1)
    if bias is not None:
        out += bias.reshape(-1)
    stats = outer + (1,) * len(normalized_shape)
    return out.reshape(input.shape), mean.reshape(stats), rstd.reshape(stats)


@in_float32
def layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight=None, bias=None, mask=(True, True, True)):
    """The gradients (dinput, dweight, dbias) of `layer_norm`; None where `mask` is False or there is no such argument."""
    columns = math.prod(normalized_shape)
    rows = math.prod(input.shape[:input.ndim - len(normalized_shape)])
    g, x, rstd = grad.reshape(rows, columns), input.reshape(rows, columns), rstd.reshape(rows, 1)
    xhat = (x - mean.reshape(rows, 1)) * rstd
    dx = dweight = dbias = None
    if mask[0]:
        d = g if weight is None else g * weight.reshape(-1)
        dx = _normalised_grad(d, xhat, rstd, 1).reshape(input.shape)
    if mask[1] and weight is not None:
        dweight = (g * xhat).sum(axis=0).reshape(weight.shape)
    if mask[2] and bias is not None:
        dbias = g.sum(axis=0).reshape(bias.shape)
    return dx, dweight, dbias


@in_float32(keep=(1, 2))
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalise each of `num_groups` groups of channels of (N, C, ...) by itself: returns (out, mean, rstd), the last two (N, G)."""
    n, c = input.shape[:2]
    x = input.reshape(n, num_groups, c // num_groups, -1)
    mean, out, rstd, _ = _moments(x, (2, 3), eps)
    out *= rstd
    if weight is not None:
        out *= weight.reshape(1, num_groups, -1, 1)
    if bias is not None:
        out += bias.reshape(1, num_groups, -1, 1)
    return out.reshape(input.shape), mean.reshape(n, num_groups), rstd.reshape(n, num_groups)


@in_float32
def group_norm_backward(grad, input, mean, rstd, weight, num_groups, mask=(True, True, True)):
    """The gradients (dinput, dweight, dbias) of `group_norm`; None where `mask` is False."""
    n, c = input.shape[:2]
    g = grad.reshape(n, num_groups, c // num_groups, -1)
    rstd = rstd.reshape(n, num_groups, 1, 1)
    xhat = (input.reshape(g.shape) - mean.reshape(rstd.shape)) * rstd
    dx = dweight = dbias = None
    if mask[0]:
        d = g if weight is None else g * weight.reshape(1, num_groups, -1, 1)
        dx = _normalised_grad(d, xhat, rstd, (2, 3)).reshape(input.shape)
    if mask[1]:
        dweight = (g * xhat).sum(axis=(0, 3)).reshape(c)
    if mask[2]:
        dbias = g.sum(axis=(0, 3)).reshape(c)
    return dx, dweight, dbias


@in_float32(keep=(1, 2))
def batch_norm(input, weight=None, bias=None, running_mean=None, running_var=None, training=True, momentum=0.1, eps=1e-5):
    """Normalise each channel of (N, C, ...): returns (out, mean, rstd), the last two (C,).

    In training the statistics are the batch's, and the running ones, where given, move towards them *in place* by
    `momentum` (the variance by its unbiased estimate); else the running statistics are used.
    """
    n, c = input.shape[:2]
    x = input.reshape(n, c, -1)
    if training:
        mean, out, rstd, var = _moments(x, (0, 2), eps)
        count = x.size // c if c else 0
        if running_mean is not None:
            running_mean += (mean.reshape(c) - running_mean) * momentum
        if running_var is not None:
            unbiased = var.reshape(c) * (count / (count - 1) if count > 1 else math.nan)
            running_var += (unbiased - running_var) * momentum
    else:
        mean = running_mean.reshape(1, c, 1).astype(x.dtype, copy=False)
        rstd = (1 / np.sqrt(running_var + running_var.dtype.type(eps))).reshape(1, c, 1).astype(x.dtype, copy=False)
        out = x - mean
    out *= rstd if weight is None else rstd * weight.reshape(1, c, 1)
    if bias is not None:
        out += bias.reshape(1, c, 1)
    return out.reshape(input.shape), mean.reshape(c), rstd.reshape(c)


@in_float32
def batch_norm_backward(grad, input, weight, mean, rstd, training=True, mask=(True, True, True)):
    """The gradients (dinput, dweight, dbias) of `batch_norm` whose statistics were `mean` and `rstd`; None where `mask` is False.

    Without `training` the statistics are constants: `dinput = grad * weight * rstd`.
    """
    n, c = input.shape[:2]
    g, rstd = grad.reshape(n, c, -1), rstd.reshape(1, c, 1)
    xhat = (input.reshape(g.shape) - mean.reshape(1, c, 1)) * rstd
    dx = dweight = dbias = None
    if mask[0]:
        d = g if weight is None else g * weight.reshape(1, c, 1)
        dx = (_normalised_grad(d, xhat, rstd, (0, 2)) if training else d * rstd).reshape(input.shape)
    if mask[1]:
        dweight = (g * xhat).sum(axis=(0, 2))
    if mask[2]:
        dbias = g.sum(axis=(0, 2))
    return dx, dweight, dbias


@in_float32(keep=(1,))
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """`x / sqrt(mean(x^2) + eps) * weight` over the last axes: returns (out, rstd).  eps None is the type's own epsilon."""
    axis = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    eps = np.finfo(input.dtype).eps if eps is None else eps
    rstd = 1 / np.sqrt(np.square(input).mean(axis=axis, keepdims=True) + input.dtype.type(eps))
    out = input * rstd
    if weight is not None:
        out *= weight
    return out, rstd


@in_float32
def rms_norm_backward(grad, input, normalized_shape, rstd, weight=None, mask=(True, True)):
    """The gradients (dinput, dweight) of `rms_norm`: `dx = rstd * (d - xhat * mean(d * xhat))`."""
    lead = input.ndim - len(normalized_shape)
    axis = tuple(range(lead, input.ndim))
    xhat = input * rstd
    dx = dweight = None
    if mask[0]:
        d = grad if weight is None else grad * weight
        dx = rstd * (d - xhat * (d * xhat).mean(axis=axis, keepdims=True))
    if mask[1] and weight is not None:
        dweight = (grad * xhat).sum(axis=tuple(range(lead)))
    return dx, dweight
