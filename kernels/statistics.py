"""Running extrema, the most frequent value, the median of what is not NaN.

Arrays in, arrays out; see kernels/__init__.py.
"""

import numpy as np

from .shape import check_dim


def _running(ufunc):
    def kernel(input, dim):
        if not input.ndim:
            check_dim(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        d = check_dim(dim, input.ndim)
        values = ufunc.accumulate(input, axis=d)
        places = np.arange(input.shape[d]).reshape([-1 if i == d else 1 for i in range(input.ndim)])
        attained = (input == values) | (input != input)  # the last place that attains it, or is NaN
        return values, np.maximum.accumulate(np.where(attained, places, 0), axis=d)

    return kernel


cummax, cummin = _running(np.maximum), _running(np.minimum)


def _rows(input, dim, keepdim, choose):
    """(values, indices) of the place that `choose(row)` names in each row along dim."""
    if not input.ndim:
        check_dim(dim, 0)
        return input.copy(), np.zeros((), np.int64)
    d = check_dim(dim, input.ndim)
    rows = np.moveaxis(input, d, -1)
    if not rows.shape[-1]:
        raise IndexError(f"Expected reduction dim {d} to have non-zero size.")
    indices = np.empty(rows.shape[:-1], np.int64)
    for place in np.ndindex(indices.shape):
        indices[place] = choose(rows[place])
    values = np.take_along_axis(rows, indices[..., None], -1)[..., 0]
    return (np.expand_dims(values, d), np.expand_dims(indices, d)) if keepdim else (values, indices)


def mode(input, dim=-1, keepdim=False):
    """The most frequent value along dim, the least among equals, and its last place."""

    def choose(row):
        order = np.argsort(row, kind="stable")
        ends = np.flatnonzero(np.append(row[order][1:] != row[order][:-1], True))  # of equals; no NaN equals another
        return order[ends[np.argmax(np.diff(ends, prepend=-1))]]

    return _rows(input, dim, keepdim, choose)


def nanmedian(input, dim, keepdim=False):
    """The lower median of what is not NaN, and its place."""

    def choose(row):
        order = np.argsort(row, kind="stable")  # NaN last
        return order[max(0, (int(np.sum(row == row)) - 1) // 2)]

    return _rows(input, dim, keepdim, choose)
