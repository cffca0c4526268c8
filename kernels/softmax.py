"""Softmax, its logarithm, and the losses on classes.  Mirrors ATen/native/SoftMax.cpp and LossNLL.cpp.

Of softmax and its like there are two texts: on arrays, which is the reference and serves small ones, CuPy, float64 and
any `dim`; and compiled, for large float32 arrays along their last dim: a row stays in the cache between its passes.
"""

import functools
import math

import numpy as np

from .fused import BLOCK, FLOAT32, exp, from_order_key, minus_both, order_key
from .half import in_float32
from .parallel import COMPILE_FROM, FLOATS, GRAIN, compiled, pays, plain, run_slices
from .reductions import max_over, sum_over

ROWS_FROM = max(1, COMPILE_FROM // 2)  # NumPy needs more passes here than elsewhere: compiling pays earlier


def _along(dim, on_arrays, on_rows, first, *others):
    """The result of `on_arrays(*arrays, axis)` along `dim`; on large arrays by blocks, or by the loop `on_rows`."""
    if first.size < ROWS_FROM or not first.ndim or not plain(first, *others):
        if not first.size:
            return first.copy()
        if not first.ndim:  # a single number is a row of one
            return on_arrays(*(array.reshape(1) for array in (first, *others)), 0).reshape(())
        return on_arrays(first, *others, dim % first.ndim)
    dim %= first.ndim
    n, inner = first.shape[dim], math.prod(first.shape[dim + 1:])
    out = np.empty_like(first)
    arrays = [array.reshape(-1, n, inner) for array in (first, *others, out)]
    outer = len(arrays[0])
    if inner == 1 and pays(first.size, first, *others, floor=ROWS_FROM, dtypes=FLOAT32):
        run_slices(on_rows, outer, *(array[:, :, 0] for array in arrays), grain=GRAIN // n + 1)
    else:
        run_slices(_by_blocks, outer, on_arrays, arrays, max(1, BLOCK // (n * inner)), grain=GRAIN // (n * inner) + 1)
    return out


def _by_blocks(start, stop, on_arrays, arrays, step):
    *arguments, out = arrays
    for i in range(start, stop, step):
        j = min(i + step, stop)
        out[i:j] = on_arrays(*(array[i:j] for array in arguments), 1)


# -- softmax ----------------------------------------------------------------------------------------------------------


@in_float32
def softmax(input, dim):
    """`exp(x - max) / sum(exp(x - max))` along `dim`; the maximum only keeps exp from overflowing."""
    return _along(dim, _softmax, _softmax_rows, input)


def _softmax(x, axis):
    result = np.exp(x - max_over(x, axis))
    result /= sum_over(result, (axis,), True)
    return result


@compiled
def _greatest(row):
    key = order_key(row[0])
    for j in range(len(row)):
        key = max(key, order_key(row[j]))
    return from_order_key(key)


@compiled
def _softmax_rows(start, stop, x, out):
    for i in range(start, stop):
        row, result = x[i], out[i]
        top = _greatest(row)
        total = np.float32(0)
        for j in range(len(row)):
            e = exp(row[j] - top)
            result[j] = e
            total += e
        scale = np.float32(1) / total
        for j in range(len(row)):
            result[j] *= scale


@in_float32
def softmax_backward(grad, result, dim):
    """`y * (g - sum(g * y))`: the softmax's Jacobian is `diag(y) - y y^T`."""
    return _along(dim, _softmax_backward, _softmax_backward_rows, grad, result)


def _softmax_backward(g, y, axis):
    product = g * y
    product -= y * sum_over(product, (axis,), True)
    return product


@compiled
def _softmax_backward_rows(start, stop, grad, result, out):
    for i in range(start, stop):
        g, y, dx = grad[i], result[i], out[i]
        total = np.float32(0)
        for j in range(len(g)):
            total += g[j] * y[j]
        for j in range(len(g)):
            dx[j] = y[j] * (g[j] - total)


# -- its logarithm ----------------------------------------------------------------------------------------------------


@in_float32
def log_softmax(input, dim):
    """`x - max - log(sum(exp(x - max)))` along `dim`."""
    return _along(dim, _log_softmax, _log_softmax_rows, input)


def small_log_softmax(input, dim):
    """log_softmax, without looking further where the array is small and of floats."""
    if 0 < input.size < COMPILE_FROM and input.ndim and input.dtype in FLOATS:
        return _log_softmax(input, dim % input.ndim)
    return log_softmax(input, dim)


def _log_softmax(x, axis):
    result = x - max_over(x, axis)
    result -= np.log(sum_over(np.exp(result), (axis,), True))
    return result


@compiled
def _log_softmax_rows(start, stop, x, out):
    for i in range(start, stop):
        row, result = x[i], out[i]
        top = _greatest(row)
        total = np.float32(0)
        for j in range(len(row)):
            total += exp(row[j] - top)
        log_total = np.log(total)
        for j in range(len(row)):
            result[j] = minus_both(row[j], top, log_total)


@in_float32
def log_softmax_backward(grad, result, dim):
    """`g - softmax * sum(g)`."""
    return _along(dim, _log_softmax_backward, _log_softmax_backward_rows, grad, result)


def _log_softmax_backward(g, y, axis):
    dx = np.exp(y)
    dx *= sum_over(g, (axis,), True)
    return np.subtract(g, dx, out=dx)


@compiled
def _log_softmax_backward_rows(start, stop, grad, result, out):
    for i in range(start, stop):
        g, y, dx = grad[i], result[i], out[i]
        total = np.float32(0)
        for j in range(len(g)):
            total += g[j]
        for j in range(len(g)):
            dx[j] = g[j] - exp(y[j]) * total


@in_float32
def logsumexp(input, dim, keepdim=False):
    """`log(sum(exp(x)))` along `dim` (an int or a tuple), shifted by the maximum where that is finite."""
    if not input.ndim:
        return input.copy()
    if input.size == 0:
        return np.log(np.exp(input).sum(axis=dim, keepdims=keepdim))
    top = max_over(input, dim % input.ndim) if isinstance(dim, int) else input.max(axis=dim, keepdims=True)
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


_rows = functools.lru_cache(np.arange)


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _plain(input, target, weight, ignore_index):
    """The commonest case: a matrix of scores, a class for each row, none of them ignored or out of bounds."""
    return (
        weight is None and input.ndim == 2 and ignore_index < 0 and target.size > 0 and input.size > 0
        and target.view(_UNSIGNED[target.dtype.itemsize]).max() < input.shape[1]  # negative numbers are huge there
    )


@in_float32(keep=(1,))
def nll_loss(input, target, weight=None, reduction="mean", ignore_index=-100):
    """`-w[t] * x[t]` for log-probabilities x and class indices t: returns (loss, total_weight).

    `input` (N, C, ...), `target` (N, ...) or (C,) with a 0-d target; `reduction` "none", "sum" or "mean", the last
    divided by the summed weight of the targets that are not ignored (nan when there is none, as in torch).
    """
    if _plain(input, target, weight, ignore_index):
        chosen = input[_rows(len(target)), target]
        total = input.dtype.type(len(target))
        if reduction == "none":
            return -chosen, total
        loss = -np.add.reduce(chosen)
        return np.asarray(loss / total if reduction == "mean" else loss), total
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
    if weight is None and input.ndim == 2 and total_weight is not None and total_weight == len(target) > 0:
        dx = np.zeros_like(input)  # every target counts, and `nll_loss` has seen that all are in bounds
        dx[_rows(len(target)), target] = -(grad / input.dtype.type(len(target)) if reduction == "mean" else grad)
        return dx
    x, t = _as_ncd(input, target)
    weights, safe = _picked(t, weight, ignore_index, x.shape[1], x.dtype)
    if reduction == "none":
        values = -weights * grad.reshape(t.shape)
    else:
        values = -weights * (grad / weights.sum() if reduction == "mean" else grad)
    values[t == ignore_index] = 0  # also where nothing is left to divide by
    dx = np.zeros_like(x)
    np.put_along_axis(dx, safe[:, None, :], values[:, None, :].astype(x.dtype, copy=False), axis=1)
    return dx.reshape(input.shape)
