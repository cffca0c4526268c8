"""Values as sets and as bins: which there are, how often, and between which bounds each lies.

Mirrors ATen/native/{Unique, Bucketization, SummaryOps}.cpp and cpu/HistogramKernel.cpp. Arrays in, arrays out.
"""

import math

import numpy as np

from .half import narrow, widen


def unique(input, consecutive=False):
    """The different elements, in ascending order (or, `consecutive`, one for each run of equal ones, as they come):
    returns (output, inverse of input's shape, counts). No nan equals another.
    """
    flat = widen(input.reshape(-1))
    output, inverse, counts = _distinct(flat[:, None], consecutive)
    return narrow(output[:, 0], input.dtype), inverse.reshape(input.shape), counts


def unique_dim(input, dim, consecutive=False):
    """`unique` of the slices along `dim`: returns (output, inverse of length n, counts)."""
    slices = np.moveaxis(input, dim, 0)
    output, inverse, counts = _distinct(widen(slices.reshape(len(slices), math.prod(slices.shape[1:]))), consecutive)
    output = narrow(output, input.dtype).reshape(len(output), *slices.shape[1:])
    return np.ascontiguousarray(np.moveaxis(output, 0, dim)), inverse, counts


def _distinct(rows, consecutive):
    """The different rows of a matrix in lexicographic order, which of them each row is, and how often each occurs."""
    n = len(rows)
    order = np.arange(n) if consecutive else np.lexsort(rows.T[::-1])
    rows = rows[order]
    first = np.ones(n, bool)  # of a run of equal rows
    first[1:] = (rows[1:] != rows[:-1]).any(1)
    inverse = np.empty(n, np.int64)
    inverse[order] = np.cumsum(first) - 1
    return rows[first], inverse, np.diff(np.append(np.flatnonzero(first), n))


def searchsorted(sorted_sequence, input, right=False, sorter=None):
    """For each value the place in its ascending sequence before which it would be put; after equals, with `right`.

    Sequences lie along the last dimension: one for all values, or one for each row of `input`.
    """
    side, bounds, values = "right" if right else "left", widen(sorted_sequence), widen(input)
    if bounds.ndim == 1:
        return np.asarray(np.searchsorted(bounds, values, side, sorter)).astype(np.int64)
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(values.shape[:-1]):
        out[row] = np.searchsorted(bounds[row], values[row], side, None if sorter is None else sorter[row])
    return out


def bincount(input, weights=None, minlength=0):
    """How often each of 0, 1, 2, ... occurs; with weights, the sum of the weights of its occurrences."""
    if weights is not None:
        dtype = np.float32 if weights.dtype == np.float32 else np.float64
        return np.bincount(input, weights.astype(np.float64), minlength).astype(dtype)
    return np.bincount(input, minlength=minlength).astype(np.int64)


def histc(input, bins, low, high):
    """How many elements lie in each of `bins` equal parts of [low, high], of the input's dtype."""
    x = input.reshape(-1)  # in half precision every step is rounded, as torch has it
    x = x[(x >= low) & (x <= high)]
    kind = x.dtype.type
    places = ((x - kind(low)) * kind(bins) / (kind(high) - kind(low))).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(input.dtype)
