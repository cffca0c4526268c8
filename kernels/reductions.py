"""Sums, where NumPy's own are slow or inexact, and what is made of them.  Mirrors ATen/native/
{ReduceOps.cpp, cpu/SumKernel.cpp}.

NumPy adds the rows of a matrix up one after the other, and each row's elements in short pieces: slow, and over many
rows inexact.  A matrix-vector product with a vector of ones is the same sum, by a BLAS library, four to ten times as
fast and with several running sums, which is also more exact.  inf and nan come out the same, since `1 * x` is x.
"""

import functools
import math

import numpy as np

from .half import is_half, narrow, widen
from .parallel import COMPILE_FROM, FLOATS, compiled, pays, run_slices

LONGEST = 1 << 14  # as long as one product is: longer sums are made of parts, and the parts summed, for exactness
_ones = {dtype: np.ones(LONGEST, dtype) for dtype in FLOATS}


def sum_to(array, shape):
    """Undo broadcasting: the sum of `array` over the axes along which `shape` was stretched to `array.shape`."""
    have = array.shape
    if have == shape:
        return array
    lead = len(have) - len(shape)
    if lead == 1 and have[1:] == shape:  # a bias
        axes = (0,)
    else:
        axes = tuple([i for i, size in enumerate(have) if i < lead or shape[i - lead] == 1 != size])
    return sum_over(array, axes).reshape(shape)


def sum_over(array, axes=None, keepdims=False):
    """`array.sum(axes)` of floats: `axes` is a tuple of non-negative numbers, None means all.

    Half precisions are accumulated in float32 and rounded once.
    """
    if array.dtype not in _ones or type(array) is not np.ndarray or not array.flags.c_contiguous or not array.size:
        if is_half(array):
            return narrow(sum_over(widen(array), axes, keepdims), array.dtype)
        return np.asarray(array.sum(axis=axes, keepdims=keepdims))
    shape = array.shape
    if axes is None or len(axes) == len(shape):
        n = array.size
        total = array.reshape(n).dot(_ones[array.dtype][:n]) if n <= LONGEST else _rows(array.reshape(1, n))[0]
        return np.asarray(total).reshape((1,) * len(shape) if keepdims else ())
    if not axes:
        return array.copy()
    if len(shape) == 2:
        if axes[0] == 0:
            return _columns(array)[None] if keepdims else _columns(array)
        return _rows(array)[:, None] if keepdims else _rows(array)
    total = _by_runs(array, axes)
    if keepdims:
        return total.reshape([1 if axis in axes else size for axis, size in enumerate(shape)])
    return total.reshape([size for axis, size in enumerate(shape) if axis not in axes])


def _by_runs(array, axes):
    """Neighbouring axes that are all summed, or all kept, are as good as one. What is left alternates."""
    runs = []
    for axis, size in enumerate(array.shape):
        summed = axis in axes
        if runs and runs[-1][1] == summed:
            runs[-1][0] *= size
        else:
            runs.append([size, summed])
    if runs[-1][1]:
        array = _rows(array.reshape(-1, runs.pop()[0]))
    if runs[0][1]:
        array = _columns(array.reshape(runs.pop(0)[0], -1))
    while len(runs) > 1:  # kept, summed, kept
        kept, summed = runs[0][0], runs[1][0]
        array = _middle(array.reshape(kept, summed, -1))
        runs[:2] = []
        runs[0][0] *= kept
    return array


def _rows(x):
    """The sum of each row."""
    m, n = x.shape
    if n <= LONGEST:
        return x.dot(_ones[x.dtype][:n])
    parts = n // LONGEST
    whole = _rows(x[:, :parts * LONGEST].reshape(m * parts, LONGEST)).reshape(m, parts)
    return _rows(whole) + _rows(np.ascontiguousarray(x[:, parts * LONGEST:]))


def _columns(x):
    """The sum of each column. Many short rows are first taken as fewer long ones."""
    m, n = x.shape
    if m <= 512:
        return _ones[x.dtype][:m].dot(x)
    fold = max(2, min(1024 // n, m // 32), m // LONGEST + 1)
    parts = m // fold
    total = _columns(_columns(x[:parts * fold].reshape(parts, fold * n)).reshape(fold, n))
    return total + _columns(x[parts * fold:]) if parts * fold < m else total


def _middle(x):
    """The sum over axis 1 of three."""
    a, r, b = x.shape
    out = np.empty((a, b), x.dtype)
    if r > LONGEST:
        return np.add.reduce(x, axis=1, out=out)
    run_slices(lambda start, stop: np.matmul(_ones[x.dtype][:r], x[start:stop], out=out[start:stop]),
               a, grain=COMPILE_FROM // (r * b) + 1)
    return out


def max_over(array, axis):
    """The maximum along an axis, which is kept; nan where there is one.

    NumPy finds the place of the greatest in short rows several times faster than the greatest itself."""
    if axis != array.ndim - 1 or type(array) is not np.ndarray or not array.flags.c_contiguous or not array.size:
        return np.maximum.reduce(array, axis, None, None, True)
    rows = array.reshape(-1, array.shape[-1])
    m, n = rows.shape
    places = rows.argmax(1)
    places += _starts(m, n) if m <= LONGEST else np.arange(0, m * n, n)
    return rows.reshape(-1).take(places).reshape(array.shape[:-1] + (1,))


@functools.lru_cache(maxsize=64)
def _starts(m, n):
    return np.arange(0, m * n, n)


def var_mean(array, axes=None, correction=1, keepdims=False):
    """The variance, `sum((x - mean)^2) / max(0, n - correction)`, and the mean."""
    mean = sum_over(array, axes, keepdims=True)
    count = array.size // max(mean.size, 1)
    mean = mean / array.dtype.type(count if array.size else math.nan)
    squares = sum_over(np.square(array - mean), axes, keepdims)
    divisor = max(count - correction, 0)
    return np.asarray(squares / array.dtype.type(divisor)), mean if keepdims else np.asarray(mean.squeeze(axes))


# -- for GradScaler ---------------------------------------------------------------------------------------------------


def unscale(arrays, factor):
    """Multiply each array by `factor` in place; True when all that was in them was finite. One pass over each."""
    finite = True
    for array in arrays:
        if pays(array.size, array):
            flags = np.zeros(-(-array.size // COMPILE_FROM), np.bool_)
            flat, number = array.reshape(-1), array.dtype.type(factor)
            run_slices(_unscale_blocks, len(flags), COMPILE_FROM, flat, number, flags, grain=1)
            finite &= not flags.any()
        else:
            wide = widen(array)  # the factor of a half-precision gradient is not rounded
            finite &= bool(np.isfinite(wide).all())
            np.multiply(wide, wide.dtype.type(factor), out=array, casting="same_kind")
    return finite


@compiled
def _unscale_blocks(start, stop, block, array, factor, found):
    zero = array.dtype.type(0)
    for b in range(start, stop):
        x = array[b * block:b * block + block]
        total = zero
        for i in range(len(x)):
            total += x[i] * zero  # nan, once there is an inf or a nan
            x[i] *= factor
        found[b] = total != zero


def all_finite(arrays):
    """True when no array holds an inf or a nan."""
    return all(bool(np.isfinite(array).all()) for array in arrays)
