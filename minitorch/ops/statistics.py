"""Order and spread: quantiles, the most frequent value, running extrema, covariance, distances
(ATen/native/{Sorting,ReduceOps,Correlation,Distance}.cpp).
"""

from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..dtypes import float32, float64, get_default_dtype
from ..kernels import statistics as kernels
from ..tensor import check_dim, wrap
from .elementwise import clamp, isnan, where, zeros_like
from .index import _place, sort
from .linalg import matmul
from .reduce import mean, share_evenly, sum
from .scatter import gather, scatter_add
from .shape import diagonal, movedim, reshape, squeeze, unsqueeze, zeros

# ---- along a dimension --------------------------------------------------------------------------------------------


def _spread(grads: Any, indices: Any, input: Any, dim: int) -> Any:
    """Each element's gradient at the place it came from."""
    return scatter_add(zeros(tuple(input.shape), grads[0]), dim, indices, grads[0]) if input.ndim else grads[0]


cummax = op("cummax", kernels.cummax, returns=("values", "indices"),
            input=lambda grads, input, indices, dim: _spread(grads, indices, input, dim))
cummin = op("cummin", kernels.cummin, returns=("values", "indices"),
            input=lambda grads, input, indices, dim: _spread(grads, indices, input, dim))
mode = op("mode", kernels.mode, returns=("values", "indices"),
          input=lambda grad, indices, input_shape, dim, keepdim: _place(grad, indices, input_shape, dim, keepdim))
_nanmedian_dim = op("nanmedian", kernels.nanmedian, function=False, as_method=False, returns=("values", "indices"),
                    input=lambda grad, indices, input_shape, dim, keepdim:
                    _place(grad, indices, input_shape, dim, keepdim))
_nanmedian_all = op("nanmedian_all", lambda input: kernels.nanmedian(input.reshape(-1), 0)[0], function=False,
                    node="NanmedianBackward0",
                    input=lambda grad, input, result: share_evenly(grad, input, result))


@composite()
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of what is not NaN: of all elements, or (values, indices) along dim."""
    return _nanmedian_all(input) if dim is None else _nanmedian_dim(input, dim, keepdim)


@composite()
def msort(input: Any) -> Any:
    """Sorted along the first dimension."""
    return sort(input, 0)[0]


def _quantile(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:
    if input.dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = wrap(np.asarray(q, input._array.dtype))
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if np.any((q._array < 0) | (q._array > 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    kept = [1] * input.ndim
    if dim is None:
        rows = reshape(input, (-1,))
    else:
        rows = movedim(input, dim, -1) if input.ndim else reshape(input, (-1,))
        kept = list(input.shape)
        if kept:
            kept[check_dim(dim, input.ndim)] = 1
    rows = sort(rows, -1)[0]
    missing = isnan(rows)
    if ignore_nan:  # the last place that holds a number
        last = clamp(sum(~missing, -1, True) - 1, min=0).to(input.dtype)
    else:  # where NaN is among them, the result is NaN, which is sorted last
        last = wrap(np.asarray(rows.shape[-1] - 1, input._array.dtype))
    ranks = reshape(q, (-1,)) * last
    if not ignore_nan:
        spoiled = missing._array.any(-1, keepdims=True)
        if spoiled.any():
            ranks = where(wrap(spoiled), zeros_like(ranks) + last, ranks)
    ranks = ranks.expand(*rows.shape[:-1], ranks.shape[-1])
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": Tensor.floor, "higher": Tensor.ceil, "nearest": Tensor.round}[interpolation](ranks)
    below = ranks.detach().to(wrap(np.zeros((), np.int64)).dtype)
    result = gather(rows, -1, below)
    if interpolation in ("linear", "midpoint"):
        above = gather(rows, -1, ranks.detach().ceil().to(below.dtype))
        weights = zeros_like(ranks) + 0.5 if interpolation == "midpoint" else ranks - below.to(ranks.dtype)
        result = result.lerp(above, weights)
    if not q.ndim:
        result = squeeze(result, -1)
        return reshape(result, tuple(kept)) if keepdim else result
    result = movedim(result, -1, 0)
    return reshape(result, (q.shape[0], *kept)) if keepdim else result


@composite()
def quantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """The value below which a fraction q lies; NaN where there is one."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite()
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The quantile of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# ---- several variables --------------------------------------------------------------------------------------------


@composite()
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance of the rows; fweights count columns, aweights weigh them."""
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    rows = reshape(input, (1, -1)) if input.ndim < 2 else input
    if not rows.dtype.is_floating_point:
        rows = rows.to(get_default_dtype())
    n = rows.shape[1]
    w = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if weights.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
            )
        if weights.numel() != n:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations, but got {weights.numel()} != {n}"
            )
        kind = {"fweights": "integral", "aweights": "floating point"}[name]
        if weights.dtype.is_floating_point != (name == "aweights"):
            raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype} dtype")
        if (weights._array < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
        w = weights if w is None else w * weights
    total = n if w is None else sum(w)
    if w is not None and total.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    average = mean(rows, 1, True) if w is None else sum(rows * w, 1, True) / total
    if w is None or aweights is None or correction == 0:
        freedom = total - correction
    else:
        freedom = total - correction * sum(w * aweights) / total
    centred = rows - average
    product = matmul(centred, (centred if w is None else centred * w).t())
    freedom = clamp(freedom, min=0) if isinstance(freedom, Tensor) else max(freedom, 0)
    return squeeze(product / freedom)


@composite()
def corrcoef(input: Any) -> Any:
    """The correlation of the rows: their covariance over their deviations."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = diagonal(c).sqrt()
    return clamp(c / unsqueeze(deviation, 1) / unsqueeze(deviation, 0), -1, 1)
