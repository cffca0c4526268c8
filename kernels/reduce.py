"""Sums, means, extrema and their like over dimensions (ATen/native/ReduceOps.cpp).

Arrays in, arrays out; see kernels/__init__.py. `dim` is None (all), an int or a tuple of ints. Half precision
accumulates in float32 and is rounded once."""

import numpy as np

from .half import widen
from .parallel import FLOATS
from .reductions import max_over, sum_over


def axes(dim, ndim):
    """dim as a tuple of non-negative axes, all of them for None or (); IndexError or RuntimeError as torch."""
    if dim is None:
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, (int, np.integer)) else tuple(dim)
    if not dims:
        return tuple(range(ndim))
    n = ndim or 1
    found = []
    for d in dims:
        d = int(d)
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        d %= n
        if d in found:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        found.append(d)
    return tuple(found) if ndim else ()


def _half(dtype):
    return dtype.itemsize == 2 and dtype.kind in "fV"


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum; of integers and bools in int64."""
    result = np.dtype(np.int64) if input.dtype.kind in "iub" else input.dtype
    if dtype is not None:
        result = dtype.numpy
        if input.dtype != result:
            input = input.astype(result)
    if result.kind in "fV":
        return sum_over(input, None if dim is None else axes(dim, input.ndim), keepdim)
    return np.sum(input, axis=axes(dim, input.ndim), keepdims=keepdim, dtype=result)


def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over the count; NaN of nothing. RuntimeError for integers."""
    if dtype is not None:
        input = input.astype(dtype.numpy)
    if input.dtype.kind in "iub":
        name = {"b": "Bool"}.get(input.dtype.kind) or {1: "Char", 2: "Short", 4: "Int", 8: "Long"}[input.dtype.itemsize]
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {name}"
        )
    where = axes(dim, input.ndim)
    count = 1
    for d in where:
        count *= input.shape[d]
    total = sum_over(widen(input), where, keepdim)
    return np.asarray(total / total.dtype.type(count)).astype(input.dtype, copy=False)


def prod(input, dim=None, keepdim=False, *, dtype=None):
    result = np.dtype(np.int64) if input.dtype.kind in "iub" else input.dtype
    if dtype is not None:
        result = dtype.numpy
    work = np.float32 if _half(result) else result
    out = np.prod(input.astype(work, copy=False), axis=axes(dim, input.ndim), keepdims=keepdim, dtype=work)
    return np.asarray(out).astype(result, copy=False)


def var(input, dim=None, correction=1, keepdim=False):
    """The mean squared deviation, over count - correction."""
    where = axes(dim, input.ndim)
    x = input.astype(np.float32) if _half(input.dtype) else input
    count = 1
    for d in where:
        count *= x.shape[d]
    deviation = x - sum_over(x, where, True) / x.dtype.type(count)
    total = sum_over(np.square(deviation), where, keepdim)
    freedom = max(count - correction, 0) if count else np.nan
    return np.asarray(np.divide(total, np.asarray(freedom, x.dtype))).astype(input.dtype, copy=False)


def _refuse_empty(input, where, name, dim_given=True):
    for d in where:
        if input.shape[d] == 0:
            if dim_given:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )


def amax(input, dim=(), keepdim=False):
    where = axes(dim, input.ndim)
    _refuse_empty(input, where, "amax", dim not in (None, ()))
    if where == (input.ndim - 1,) and input.dtype in FLOATS:
        top = max_over(input, where[0])
        return top if keepdim else top.reshape(top.shape[:-1])
    return np.max(input, axis=where, keepdims=keepdim) if where else input.copy()


def amin(input, dim=(), keepdim=False):
    where = axes(dim, input.ndim)
    _refuse_empty(input, where, "amin", dim not in (None, ()))
    return np.min(input, axis=where, keepdims=keepdim) if where else input.copy()


def aminmax(input, *, dim=None, keepdim=False):
    """(minima, maxima) of all elements or along `dim`."""
    if dim is None and input.size == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if dim is not None and not isinstance(dim, int | np.integer):
        raise TypeError(f"aminmax(): argument 'dim' must be int, not {type(dim).__name__}")
    if dim is not None and input.ndim and input.shape[axes(dim, input.ndim)[0]] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    whole = () if dim is None else dim
    return amin(input, whole, keepdim), amax(input, whole, keepdim)


def whole_max(input):
    if input.size == 0:
        raise RuntimeError(
            "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    return np.max(input)


def whole_min(input):
    if input.size == 0:
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    return np.min(input)


def _arg(function, name):
    def kernel(input, dim=None, keepdim=False):
        if dim is None:
            if input.size == 0:
                raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            flat = np.asarray(function(input.reshape(-1)))
            return flat.reshape((1,) * input.ndim) if keepdim else flat
        if input.ndim == 0:
            axes(dim, 0)
            return np.zeros((), np.int64)
        (d,) = axes(dim, input.ndim)
        _refuse_empty(input, (d,), name)
        return np.asarray(function(input, axis=d, keepdims=keepdim))

    return kernel


def _argmax(x, axis=None, keepdims=False):
    return _ordered(x).argmax(axis=axis, keepdims=keepdims)


def _argmin(x, axis=None, keepdims=False):
    return _ordered(x).argmin(axis=axis, keepdims=keepdims)


def _ordered(x):
    """bfloat16 has no argmax of its own in NumPy; float32 holds it exactly."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


argmax, argmin = _arg(_argmax, "argmax"), _arg(_argmin, "argmin")


def _pick(input, index, dim, keepdim):
    d = axes(dim, input.ndim)[0] if input.ndim else None
    if d is None:
        return input.copy()
    values = np.take_along_axis(input, index if keepdim else np.expand_dims(index, d), d)
    return values if keepdim else np.squeeze(values, d)


def _with_index(arg, name):
    def kernel(input, dim, keepdim=False):
        if input.ndim:
            (d,) = axes(dim, input.ndim)
            if input.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
        index = arg(input, dim, keepdim)
        return _pick(input, index, dim, keepdim), index

    return kernel


max_dim, min_dim = _with_index(argmax, "max"), _with_index(argmin, "min")


def any(input, dim=None, keepdim=False):
    out = np.asarray(np.any(input, axis=axes(dim, input.ndim), keepdims=keepdim))
    return out.astype(np.uint8) if input.dtype == np.uint8 else out


def all(input, dim=None, keepdim=False):
    out = np.asarray(np.all(input, axis=axes(dim, input.ndim), keepdims=keepdim))
    return out.astype(np.uint8) if input.dtype == np.uint8 else out


def _scan(ufunc):
    def kernel(input, dim, *, dtype=None):
        result = np.dtype(np.int64) if input.dtype.kind in "iub" else input.dtype
        if dtype is not None:
            result = dtype.numpy
        work = np.float32 if _half(result) else result
        (d,) = axes(dim, input.ndim) or (None,)
        x = input.astype(work, copy=False)
        return input.astype(result) if d is None else ufunc.accumulate(x, axis=d, dtype=work).astype(result, copy=False)

    return kernel


cumsum, cumprod = _scan(np.add), _scan(np.multiply)


def logsumexp(input, dim, keepdim=False):
    """log of the sum of exponentials, about the maximum so that nothing overflows."""
    if input.dtype.kind in "iub":
        input = input.astype(np.float32)
    where = axes(dim, input.ndim)
    x = input.astype(np.float32) if _half(input.dtype) else input
    if x.size == 0:
        return np.log(np.sum(np.exp(x), axis=where, keepdims=keepdim)).astype(input.dtype)
    peak = np.max(x, axis=where, keepdims=True) if where else x
    peak = np.where(np.isinf(peak), np.asarray(0, x.dtype), peak)
    total = np.log(np.sum(np.exp(x - peak), axis=where, keepdims=True)) + peak
    total = total if keepdim else np.squeeze(total, where)
    return np.asarray(total).astype(input.dtype, copy=False)


def norm(input, ord=2, dim=None, keepdim=False):
    """(sum |x|^ord)^(1/ord); ord inf: the largest, 0: the count of non-zeros."""
    where = axes(dim, input.ndim)
    x = input.astype(np.float32) if _half(input.dtype) else input
    if (ord < 0 or ord == np.inf) and 0 in [input.shape[d] for d in where]:
        of = "an empty tensor" if dim is None else f"the dimension {where[0]}because this dimension is empty and"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on {of}{' because' * (dim is None)} the operation does "
            "not have an identity"
        )
    if ord == 2:
        out = np.sqrt(np.sum(np.square(x), axis=where, keepdims=keepdim))
    elif ord == 1:
        out = np.sum(np.abs(x), axis=where, keepdims=keepdim)
    elif ord == np.inf:
        out = np.max(np.abs(x), axis=where, keepdims=keepdim) if where else np.abs(x)
    elif ord == -np.inf:
        out = np.min(np.abs(x), axis=where, keepdims=keepdim) if where else np.abs(x)
    elif ord == 0:
        out = np.sum(x != 0, axis=where, keepdims=keepdim)
    else:
        out = np.power(np.sum(np.power(np.abs(x), ord), axis=where, keepdims=keepdim), 1 / ord)
    return np.asarray(out).astype(input.dtype, copy=False)
