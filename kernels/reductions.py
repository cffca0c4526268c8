"""Sums and what is made of them, where NumPy's own are slow or inexact.  Mirrors ATen/native/ReduceOps.cpp and SumKernel.cpp."""

import numpy as np

from .half import is_half, narrow


def sum_to(array, shape):
    """Undo broadcasting: the sum of `array` over the axes along which `shape` was stretched to `array.shape`."""
    if array.shape == shape:
        return array
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i for i, size in enumerate(shape) if size == 1 and array.shape[lead + i] != 1)
    if not axes:
        return array
    return sum_over(array, axes).reshape(shape)


def sum_over(array, axes, keepdims=False):
    """`array.sum(axes)`, half precisions accumulated in float32 and rounded once."""
    if is_half(array):
        return narrow(np.asarray(array.sum(axis=axes, keepdims=keepdims, dtype=np.float32)), array.dtype)
    return np.asarray(array.sum(axis=axes, keepdims=keepdims))


def var_mean(array, axes=None, correction=1, keepdims=False):
    """The variance, `sum((x - mean)^2) / max(0, n - correction)`, and the mean."""
    mean = array.mean(axis=axes, keepdims=True)
    squares = np.square(array - mean).sum(axis=axes, keepdims=keepdims)
    count = array.size // max(mean.size, 1)
    divisor = max(count - correction, 0)
    return np.asarray(squares / array.dtype.type(divisor)), mean if keepdims else np.asarray(mean.squeeze(axes))


def all_finite(arrays):
    """True when no array holds an inf or a nan."""
    return all(np.isfinite(array).all() for array in arrays)


def unscale(arrays, inv_scale):
    """Multiply each array by `inv_scale` in place; True when every product is finite (GradScaler's one pass over the gradients)."""
    for array in arrays:
        array *= array.dtype.type(inv_scale)
    return all_finite(arrays)
