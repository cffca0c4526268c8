"""Softmax, its logarithm, and the losses on classes.  Mirrors ATen/native/SoftMax.cpp and LossNLL.cpp."""

import numpy as np

from .half import in_float32


def _axis(dim, ndim):
    return dim % ndim if ndim else 0


def _whole(input):
    """A 0-d array has a softmax too (over its only element): give it the axis that it lacks."""
    return input if input.ndim else input.reshape(1)


@in_float32
def softmax(input, dim):
    """`exp(x - max) / sum(exp(x - max))` along `dim`; the maximum only keeps exp from overflowing."""
    x = _whole(input)
    if x.size == 0:
        return input.copy()
    result = np.exp(x - x.max(axis=dim, keepdims=True))
    result /= result.sum(axis=dim, keepdims=True)
    return result.reshape(input.shape)


@in_float32
def softmax_backward(grad, result, dim):
    """`y * (g - sum(g * y))`: the softmax's Jacobian is `diag(y) - y y^T`."""
    g, y = _whole(grad), _whole(result)
    product = g * y
    return (product - y * product.sum(axis=dim, keepdims=True)).reshape(grad.shape)


@in_float32
def log_softmax(input, dim):
    """`x - max - log(sum(exp(x - max)))` along `dim`."""
    x = _whole(input)
    if x.size == 0:
        return input.copy()
    result = x - x.max(axis=dim, keepdims=True)
    result -= np.log(np.exp(result).sum(axis=dim, keepdims=True))
    return result.reshape(input.shape)


@in_float32
def log_softmax_backward(grad, result, dim):
    """`g - softmax * sum(g)`."""
    g, y = _whole(grad), _whole(result)
    dx = np.exp(y)
    dx *= g.sum(axis=dim, keepdims=True)
    return np.subtract(g, dx, out=dx).reshape(grad.shape)


@in_float32
def logsumexp(input, dim, keepdim=False):
    """`log(sum(exp(x)))` along `dim` (an int or a tuple), shifted by the maximum where that is finite."""
    if not input.ndim:
        return input.copy()
    if input.size == 0:
        return np.log(np.exp(input).sum(axis=dim, keepdims=keepdim))
    top = input.max(axis=dim, keepdims=True)
    top = np.where(np.isinf(top), np.zeros_like(top), top)
    result = np.log(np.exp(input - top).sum(axis=dim, keepdims=True)) + top
    return result if keepdim else result.squeeze(dim)


# -- losses on classes ------------------------------------------------------------------------------------------------
# Scores are (C,), (N, C) or (N, C, d1, ...) and targets () , (N,) or (N, d1, ...).  All are worked on as (N, C, D).


def _as_ncd(input, target):
    if input.ndim == 1:
        return input.reshape(1, -1, 1), target.reshape(1, 1)
    n, c = input.shape[:2]
    depth = int(np.prod(input.shape[2:]))
    return input.reshape(n, c, depth), target.reshape(n, depth)


def _picked(target, weight, ignore_index, classes, dtype):
    """What each target weighs (zero where ignored), and the targets with the ignored ones moved to class 0.

    Raises IndexError for a target outside [0, C).
    """
    keep = target != ignore_index
    safe = np.where(keep, target, 0)
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        bad = safe[(safe < 0) | (safe >= classes)].ravel()[0]
        raise IndexError(f"Target {bad} is out of bounds.")
    weights = keep.astype(dtype) if weight is None else np.where(keep, weight[safe], weight.dtype.type(0))
    return weights, safe


@in_float32(keep=(1,))
def nll_loss(input, target, weight=None, reduction="mean", ignore_index=-100):
    """`-w[t] * x[t]` for log-probabilities x and class indices t: returns (loss, total_weight).

    `input` (N, C, ...), `target` (N, ...) or (C,) with a 0-d target; `reduction` "none", "sum" or "mean", the last divided by the
    summed weight of the targets that are not ignored (nan when there is none, as in torch).
    """
    x, t = _as_ncd(input, target)
    weights, safe = _picked(t, weight, ignore_index, x.shape[1], x.dtype)
    chosen = np.take_along_axis(x, safe[:, None, :], axis=1)[:, 0, :]
    # An ignored target adds nothing, even where its score is inf or nan.
    losses = np.where(weights != 0, -chosen * weights, np.zeros_like(chosen)) if weight is None else np.where(
        t != ignore_index, -chosen * weights, np.zeros_like(chosen))
    total = weights.sum()
    if reduction == "none":
        return losses.reshape(target.shape), total
    loss = losses.sum()
    return np.asarray(loss / total if reduction == "mean" else loss), total


@in_float32
def nll_loss_backward(grad, input, target, weight=None, reduction="mean", ignore_index=-100, total_weight=None):
    """`-w[t] * g` at each target's place and 0 elsewhere, divided by the total weight for "mean"."""
    x, t = _as_ncd(input, target)
    weights, safe = _picked(t, weight, ignore_index, x.shape[1], x.dtype)
    if reduction == "none":
        values = -weights * grad.reshape(t.shape)
    else:
        values = -weights * (grad / weights.sum() if reduction == "mean" else grad)
    dx = np.zeros_like(x)
    np.put_along_axis(dx, safe[:, None, :], values[:, None, :].astype(x.dtype, copy=False), axis=1)
    return dx.reshape(input.shape)
