"""Over dimensions: sums, means, extrema, norms, scans (ATen/native/ReduceOps.cpp)."""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, ndarray, op
from ..kernels import reduce as kernels
from .elementwise import abs, cast_like, eq, exp, isnan, maximum, minimum, ones_like, sgn, where, zeros_like
from .shape import expand, unsqueeze_dims


def restore(grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """A reduction's gradient, spread over the input's shape again."""
    if not keepdim and len(shape):
        grad = unsqueeze_dims(grad, kernels.axes(dim, len(shape)))
    return expand(grad, tuple(shape))


def _keep(result: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """A reduction's result with the reduced dimensions kept, to compare with its input."""
    return result if keepdim or not input.ndim else unsqueeze_dims(result, kernels.axes(dim, input.ndim))


def count(shape: Any, dim: Any) -> int:
    n = 1
    for d in kernels.axes(dim, len(shape)):
        n *= shape[d]
    return n


_sum_all = op("sum_all", lambda input, *, dtype=None: kernels.sum(input, dtype=dtype), function=False,
              node="SumBackward0",
              input=lambda grad, input_shape: expand(grad, input_shape))
_sum_dim = op("sum_dim", kernels.sum, function=False, node="SumBackward1",
              input=lambda grad, input_shape, dim, keepdim: restore(grad, input_shape, dim, keepdim))
_mean_all = op("mean_all", lambda input, *, dtype=None: kernels.mean(input, dtype=dtype), function=False,
               node="MeanBackward0",
               input=lambda grad, input_shape: expand(grad / max_int(count(input_shape, None)), input_shape))
_mean_dim = op("mean_dim", kernels.mean, function=False, node="MeanBackward1",
               input=lambda grad, input_shape, dim, keepdim:
               restore(grad / max_int(count(input_shape, dim)), input_shape, dim, keepdim))


def max_int(n: int) -> int:
    return n if n > 1 else 1


@composite()
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over `dim` (an int, several, or all); of integers in int64."""
    if dim is None and not keepdim:
        return _sum_all(input) if dtype is None else _sum_all(input, dtype=dtype)
    return _sum_dim(input, dim, keepdim, dtype=dtype)


@composite()
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over `dim` (an int, several, or all)."""
    if dim is None and not keepdim:
        return _mean_all(input) if dtype is None else _mean_all(input, dtype=dtype)
    return _mean_dim(input, dim, keepdim, dtype=dtype)


_prod_all = op("prod_all", lambda input, *, dtype=None: kernels.prod(input, dtype=dtype), autocast="fp32", function=False,
               node="ProdBackward0",
               input=lambda grad, input, result: (grad * _others_product(input.reshape(-1), 0)).reshape(input.shape))
_prod_dim = op("prod_dim", kernels.prod, autocast="fp32", function=False, node="ProdBackward1",
               input=lambda grad, input, dim, keepdim, result:
               grad if input.ndim == 0 else
               restore(grad, input.shape, dim, keepdim) * _others_product(input, dim))


def _others_product(input: Any, dim: int) -> Any:
    """For each element the product of the others along dim, also where elements are zero."""
    from .copies import cat, flip
    from .shape import narrow

    n = input.shape[dim]
    if n == 0:
        return input
    first = narrow(ones_like(input), dim, 0, 1)
    before = cumprod(cat([first, narrow(input, dim, 0, n - 1)], dim), dim)
    after = flip(cumprod(cat([first, flip(narrow(input, dim, 1, n - 1), (dim,))], dim), dim), (dim,))
    return before * after


@composite()
def prod(input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over `dim`, or of all elements."""
    if dim is None:
        return _prod_all(input, dtype=dtype)
    return _prod_dim(input, dim, keepdim, dtype=dtype)


_var = op("var_", kernels.var, function=False, node="VarBackward0",
          input=lambda grad, input, dim, correction, keepdim: _var_slope(grad, input, dim, correction, keepdim))


def _var_slope(grad: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    freedom = np.float64(count(input.shape, dim) - correction)
    if freedom <= 0 and (dim in (None, (), []) or input.ndim == 0):  # the limit, as torch takes it
        infinite = zeros_like(input) + math.inf
        return grad * where(input == mean(input), infinite * 0, infinite)
    return restore(grad, input.shape, dim, keepdim) * ((input - mean(input, dim, True)) * (2.0 / freedom))


def _std(input: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return np.sqrt(kernels.var(input, dim, correction, keepdim))


_std_op = op("std_", _std, function=False, node="StdBackward0",
             input=lambda grad, input, dim, correction, keepdim, result: _std_gradient(
                 grad, input, dim, correction, keepdim, result))


def _std_gradient(grad: Any, input: Any, dim: Any, correction: Any, keepdim: bool, result: Any) -> Any:
    """That of the variance over twice the deviation; 0 where the deviation is."""
    slope = grad / (result * 2)
    slope = where(result == 0, zeros_like(slope), slope)
    return _var_slope(slope, input, dim, correction, keepdim)


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple:
    """torch's two ways to say it: `var(unbiased)`, `var(dim, unbiased)`, `var(dim, correction=...)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    return dim, 1 if correction is None else correction


@composite()
def var(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """The variance over `dim`, by default over count - 1."""
    dim, correction = _correction(dim, unbiased, correction)
    _refuse_integers(input, "var")
    return _var(input, dim, correction, keepdim)


@composite()
def std(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """The standard deviation over `dim`, by default over count - 1."""
    dim, correction = _correction(dim, unbiased, correction)
    _refuse_integers(input, "std")
    return _std_op(input, dim, correction, keepdim)


def _refuse_integers(input: Any, name: str) -> None:
    if getattr(input, "_array", input).dtype.kind in "iub":
        raise RuntimeError(f"{name}: only support floating point and complex dtypes")


@composite()
def var_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """(variance, mean)."""
    dim, correction = _correction(dim, unbiased, correction)
    return var(input, dim, keepdim=keepdim, correction=correction), mean(input, dim, keepdim)


@composite()
def std_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """(standard deviation, mean)."""
    dim, correction = _correction(dim, unbiased, correction)
    return std(input, dim, keepdim=keepdim, correction=correction), mean(input, dim, keepdim)


# ---- extrema ------------------------------------------------------------------------------------------------------


def _even_share(grad: Any, input: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of an extremum, divided evenly among the elements that attain it."""
    attained = cast_like(eq(input, _keep(result, input, dim, keepdim)), input)
    number = sum(attained, dim if dim != () else None, True) if input.ndim else attained
    return restore(grad, input.shape, dim, keepdim) * (attained / number)


def share_evenly(grad: Any, input: Any, result: Any) -> Any:
    """The same for one number picked from a whole tensor; nan equals nan here, and passes no nan to the others."""
    attained = (input == result) | (isnan(input) & isnan(result))
    return where(attained, grad / int(attained.sum()), zeros_like(grad))


amax = op("amax", kernels.amax, input=lambda grad, input, result, dim, keepdim:
          _even_share(grad, input, result, dim, keepdim))
amin = op("amin", kernels.amin, input=lambda grad, input, result, dim, keepdim:
          _even_share(grad, input, result, dim, keepdim))
_max_all = op("max_all", kernels.whole_max, function=False, node="MaxBackward1",
              input=lambda grad, input, result: share_evenly(grad, input, result))
_min_all = op("min_all", kernels.whole_min, function=False, node="MinBackward1",
              input=lambda grad, input, result: share_evenly(grad, input, result))


def place(grad: Any, indices: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of elements that were picked by index along `dim`."""
    from .index import scatter_into_zeros

    if not len(shape):
        return grad
    if not keepdim:
        d = kernels.axes(dim, len(shape))
        grad, indices = unsqueeze_dims(grad, d), unsqueeze_dims(indices, d)
    return scatter_into_zeros(grad, dim, indices, tuple(shape))


_max_dim = op("max", kernels.max_dim, function=False, as_method=False, returns=("values", "indices"),
              input=lambda grad, indices, input_shape, dim, keepdim:
              place(grad, indices, input_shape, dim, keepdim))
_min_dim = op("min", kernels.min_dim, function=False, as_method=False, returns=("values", "indices"),
              input=lambda grad, indices, input_shape, dim, keepdim:
              place(grad, indices, input_shape, dim, keepdim))


def _max_or_min(name: str, whole: Any, along: Any, elementwise: Any) -> Any:
    def function(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = dim if isinstance(dim, (Tensor, ndarray)) and other is None else other
        if other is not None:
            return elementwise(input, other)
        return whole(input) if dim is None else along(input, dim, keepdim)

    function.__name__ = name
    function.__doc__ = f"The {name}imum of all elements; (values, indices) along `dim`; or of two tensors elementwise."
    return composite()(function)


max = _max_or_min("max", _max_all, _max_dim, maximum)
min = _max_or_min("min", _min_all, _min_dim, minimum)
argmax = op("argmax", kernels.argmax)
argmin = op("argmin", kernels.argmin)
any = op("any", kernels.any)
all = op("all", kernels.all)


def _aminmax_slope(grads: Any, input: Any, least: Any, most: Any, dim: Any, keepdim: bool) -> Any:
    shares = [
        _even_share(grad, input, result, () if dim is None else dim, keepdim)
        for grad, result in zip(grads, (least, most), strict=True)
        if grad is not None
    ]
    return shares[0] if len(shares) == 1 else shares[0] + shares[1]


aminmax = op("aminmax", kernels.aminmax, returns=("min", "max"),
             input=lambda grads, input, min, max, dim, keepdim: _aminmax_slope(grads, input, min, max, dim, keepdim))

# ---- scans --------------------------------------------------------------------------------------------------------

cumsum = op("cumsum", kernels.cumsum, inplace=True,
            input=lambda grad, dim: _reverse_cumsum(grad, dim))
cumprod = op("cumprod", kernels.cumprod, inplace=True,
             input=lambda grad, input, dim, result: _cumprod_gradient(grad, input, dim, result))


def _reverse_cumsum(grad: Any, dim: int) -> Any:
    from .copies import flip

    return flip(cumsum(flip(grad, (dim,)), dim), (dim,)) if grad.ndim else grad


def _cumprod_gradient(grad: Any, input: Any, dim: int, result: Any) -> Any:
    """sum over k >= i of grad[k] * prod of input[j != i], j <= k: by division where that is exact to do."""
    if input.ndim == 0:
        return grad
    array = getattr(input, "_array", input)
    if not isinstance(input, Tensor) and np.all(array != 0):
        return _reverse_cumsum(grad * result, dim) / input
    from .copies import cat, stack
    from .shape import narrow

    n = input.shape[dim]
    if n == 0:
        return zeros_like(grad)
    columns = []
    for i in range(n):  # the products that leave element i out, and their sum
        head = narrow(input, dim, 0, i)
        left = prod(head, dim, True)
        rest = narrow(input, dim, i + 1, n - i - 1)
        products = left * cumprod(cat([ones_like(left), rest], dim), dim)
        columns.append(sum(narrow(grad, dim, i, n - i) * products, dim))
    return stack(columns, dim)


logsumexp = op("logsumexp", kernels.logsumexp, to_float=True, promote=("input",),
               input=lambda grad, input, result, dim, keepdim:
               restore(grad, input.shape, dim, keepdim)
               * exp(input - _keep(result, input, dim, keepdim)))

# ---- norms --------------------------------------------------------------------------------------------------------

_vector_norm = op("linalg_vector_norm", kernels.norm, as_method=False, function=False,
                  input=lambda grad, input, ord, dim, keepdim, result:
                  _norm_gradient(grad, input, ord, dim, keepdim, result))


def _norm_gradient(grad: Any, input: Any, ord: float, dim: Any, keepdim: bool, result: Any) -> Any:
    grad, norm = _keep(grad, input, dim, keepdim), _keep(result, input, dim, keepdim)
    if ord == 0:
        return None  # a count: no gradient, as in torch
    if ord == 1:
        return grad * sgn(input)
    if ord == 2:
        return grad * where(norm == 0, zeros_like(input), input / norm)
    if ord in (float("inf"), float("-inf")):
        attained = cast_like(abs(input) == norm, input)
        return sgn(input) * attained / (sum(attained, dim, True) if input.ndim else attained) * grad
    if ord < 1:
        scaled = sgn(input) * where(input == 0, zeros_like(input), abs(input) ** (ord - 1))
        return scaled * grad * norm ** (1 - ord)
    scaled = sgn(input) * abs(input) ** (ord - 1) if ord < 2 else input * abs(input) ** (ord - 2)
    return scaled * where(norm == 0, zeros_like(norm), grad / norm ** (ord - 1))


def _renorm(input, p, dim, maxnorm):
    """input, with each slice along dim scaled down to a p-norm of `maxnorm` where it is larger."""
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    (d,) = kernels.axes(dim, input.ndim)
    others = tuple([i for i in range(input.ndim) if i != d])
    norm = kernels.norm(input.astype(np.float32) if input.itemsize == 2 else input, p, others, True)
    return (input * np.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1).astype(norm.dtype)).astype(input.dtype)


def _renorm_gradient(grad: Any, input: Any, p: float, dim: int, maxnorm: float) -> Any:
    others = tuple([i for i in range(input.ndim) if i != dim % input.ndim])
    norm = _vector_norm(input, p, others, True)
    large = norm > maxnorm
    factor = where(large, maxnorm / (norm + 1e-7), ones_like(norm))
    by_norm = where(large, -maxnorm / ((norm + 1e-7) * (norm + 1e-7)), zeros_like(norm))
    return grad * factor + _norm_gradient(sum(grad * input, others, True) * by_norm, input, p, others, True, norm)


renorm = op("renorm", _renorm, inplace=True,
            input=lambda grad, input, p, dim, maxnorm: _renorm_gradient(grad, input, p, dim, maxnorm))


def vector_norm(input: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`linalg.vector_norm`."""
    if dtype is not None:
        input = input.to(dtype)
    return _vector_norm(input, ord, dim, keepdim)


@composite()
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The p-norm over `dim`; "fro" is the root of the sum of squares."""
    if p == "nuc":
        from .decompositions import linalg_matrix_norm

        return linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)
