"""Reducing elements into places given by index (ATen/native/cpu/ScatterGatherKernel.cpp).

Arrays in, arrays out; see kernels/__init__.py."""

import numpy as np

from .index import _along, check_gather
from .shape import check_dim

_REDUCE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _neutral(reduce, dtype):
    """What changes nothing when it is reduced with others."""
    if reduce in ("sum", "mean"):
        return np.zeros((), dtype)
    if reduce == "prod":
        return np.ones((), dtype)
    low = reduce == "amax"
    if dtype.kind == "b":
        return np.asarray(not low)
    if dtype.kind in "iu":
        return np.asarray(np.iinfo(dtype).min if low else np.iinfo(dtype).max, dtype)
    return np.asarray(-np.inf if low else np.inf, dtype)


def _reduce_at(input, key, values, reduce, include_self):
    """A copy of input in which the elements at the places `key` are reduced with the values."""
    out = np.array(input, order="K")
    if not include_self:
        out[key] = _neutral(reduce, input.dtype)
    _REDUCE[reduce].at(out, key, values)
    if reduce == "mean":
        number = np.full(input.shape, 1 if include_self else 0, np.int64)
        np.add.at(number, key, 1)
        number = np.maximum(number, 1)
        out = (out // number if input.dtype.kind in "iub" else out / number).astype(input.dtype)
    return out


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """out[index[i][j]][j] = that element (if include_self) reduced with all such src[i][j], for dim 0, and so on."""
    if reduce not in _REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.size == 0:
        return np.array(input, order="K")
    d = check_gather(input, dim, index, "scatter")
    if max(src.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for k, (n, m) in enumerate(zip(index.shape, src.shape, strict=False)):
        if n > m or (k != d and n > input.shape[k]):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension "
                f"{d} and to be no larger size than src {list(src.shape)}"
            )
    if input.ndim == 0 or index.ndim == 0:
        whole = input.reshape(1)
        return _reduce_at(whole, (index.reshape(-1),), src.reshape(-1)[: index.size], reduce, include_self).reshape(
            input.shape
        )
    values = src[tuple([slice(n) for n in index.shape])]
    return _reduce_at(input, _along(d, index, input.shape), values, reduce, include_self)


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """The slice of input at index[i] along dim (if include_self) reduced with all such slices i of source."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = check_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_reduce(): Index is supposed to be a vector")
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise IndexError("index_reduce(): Expected dtype int32/int64 for index")
    if source.dtype != input.dtype:
        raise RuntimeError("index_reduce(): self and source expected to have the same dtype")
    if index.size != (source.shape[d] if source.ndim else 1):
        raise IndexError(
            f"index_reduce(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[d] if source.ndim else 1}), for dim: {dim}"
        )
    n = input.shape[d] if input.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= n):
        raise RuntimeError("index out of range in self")
    if input.ndim == 0:
        key = (np.zeros(index.size, np.int64),)
        return _reduce_at(input.reshape(1), key, source.reshape(-1), reduce, include_self).reshape(())
    return _reduce_at(input, (slice(None),) * d + (np.atleast_1d(index),), source, reduce, include_self)


def put(input, index, source, accumulate=False):
    """A copy of input with the elements of source at the places `index` of input seen as one row."""
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if source.dtype != input.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype")
    if index.size != source.size:
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    if index.size and (index.min() < -input.size or index.max() >= input.size):
        bad = int(index.max()) if index.max() >= input.size else int(index.min())
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {input.size} elements.")
    out = np.array(input, order="C")
    flat = out.reshape(-1)
    if accumulate:
        np.add.at(flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return out
