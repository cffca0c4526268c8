"""Sliding windows: an image laid out as columns (im2col), and the columns summed back into an image (col2im).

Mirrors `aten/src/ATen/native/Im2Col.cpp` and `Col2Im.cpp`, for any number of spatial dimensions. The two are linear and adjoint to each other,
`<im2col(x), c> = <x, col2im(c)>`, so each is the other's derivative. Convolution is a matrix product with such columns.
"""

import itertools

import numpy as np


def tuple_of(value, n):
    """`value` as a tuple of `n` ints: an int, and a sequence of one, stand for all `n` dimensions."""
    if not hasattr(value, "__len__"):
        return (int(value),) * n
    value = tuple(int(v) for v in value)
    return value * n if len(value) == 1 else value


def window_count(size, kernel, stride, padding, dilation):
    """How many windows fit along each dimension: `floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1`."""
    return tuple((s + 2 * p - d * (k - 1) - 1) // st + 1 for s, k, st, p, d in zip(size, kernel, stride, padding, dilation))


def tap_slices(tap, out, stride, dilation):
    """Where a kernel's one tap looks, in the padded image, as its window moves over all `out` places."""
    return tuple(slice(t * d, t * d + (o - 1) * st + 1, st) for t, o, st, d in zip(tap, out, stride, dilation))


def pad_spatial(x, padding, value=0):
    """`x` (N, C, *size) with a border of `value`: (N, C, *(size + 2 padding)). Without a border `x` itself."""
    if not any(padding):
        return x
    shape = x.shape[:2] + tuple(s + 2 * p for s, p in zip(x.shape[2:], padding))
    padded = np.full_like(x, value, shape=shape, order="C") if value else np.zeros_like(x, shape=shape, order="C")
    padded[(..., *(slice(p, p + s) for s, p in zip(x.shape[2:], padding)))] = x
    return padded


def im2col(x, kernel, stride, padding, dilation, out):
    """The windows of `x` (N, C, *size) at `out` places, as an array (N, C, *kernel, *out): a copy of the image for each tap of the kernel."""
    x = pad_spatial(x, padding)
    cols = np.empty_like(x, shape=x.shape[:2] + tuple(kernel) + out, order="C")
    for tap in itertools.product(*map(range, kernel)):
        cols[(slice(None), slice(None), *tap)] = x[(..., *tap_slices(tap, out, stride, dilation))]
    return cols


def col2im(cols, size, kernel, stride, padding, dilation):
    """The adjoint of `im2col`: windows (N, C, *kernel, *out) summed into an image (N, C, *size) where they overlap."""
    out = cols.shape[2 + len(kernel):]
    padded = tuple(s + 2 * p for s, p in zip(size, padding))
    x = np.zeros_like(cols, shape=cols.shape[:2] + padded, order="C")
    for tap in itertools.product(*map(range, kernel)):
        x[(..., *tap_slices(tap, out, stride, dilation))] += cols[(slice(None), slice(None), *tap)]
    return np.ascontiguousarray(x[(..., *(slice(p, p + s) for s, p in zip(size, padding)))])


def _pairs(**arguments):
    """Spatial arguments as pairs; RuntimeError, in torch's words, where one is not positive (a padding: not negative)."""
    for name, value in arguments.items():
        pair = tuple_of(value, 2)
        if len(pair) != 2:
            raise RuntimeError(f"{name} must be an int or a pair of ints, but got {len(pair)} values")
        if min(pair) < (name != "padding"):
            what = "be non-negative" if name == "padding" else "be greater than zero"
            raise RuntimeError(f"{name} should {what}, but got {name}_height: {pair[0]} {name}_width: {pair[1]}")
        yield pair
