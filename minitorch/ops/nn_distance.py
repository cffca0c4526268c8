"""Distances and similarities (ATen/native/Distance.cpp)."""

from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..dispatch import composite, op
from ..kernels.linalg import euclidean_dist
from ..tensor import wrap
from .elementwise import abs, ceil, clamp, where, zeros_like
from .linalg import matmul
from .nn_common import refuse
from .reduce import norm, sum, vector_norm
from .shape import broadcast_tensors, expand, transpose, unsqueeze


@composite(as_method=False)
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of `x1 - x2 + eps` along the last dimension."""
    last = max(x1.dim(), x2.dim()) - 1
    return norm(x1 - x2 + eps, p, last, keepdim)


@composite(as_method=False)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """`x1 . x2 / (max(|x1|, eps) * max(|x2|, eps))` along `dim`."""
    if not (x1.is_floating_point() or x2.is_floating_point()):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.dtype}")
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    n1, n2 = norm(x1, 2, dim, True).clone(), norm(x2, 2, dim, True).clone()
    with no_grad():  # as torch: the bound keeps the quotients finite, but the norms' gradients know nothing of it
        n1.clamp_min_(eps)
        n2.clamp_min_(eps)
    return ((x1 / n1) * (x2 / n2)).sum(dim)


@composite(as_method=False)
def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm distances between all pairs of rows of (N, d), as a vector: (0, 1), (0, 2), ..., (1, 2), ..."""
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.shape[0] > 1 and input.dtype.itemsize == 2:
        refuse("pdist", input._array)
    first, second = (wrap(i) for i in np.triu_indices(input.shape[0], 1))
    difference = input[first] - input[second]
    return norm(difference, p, 1) if p else differing(difference, 1)


def differing(difference: Any, dim: int) -> Any:
    """How many of the differences are not zero: the distance for p = 0, of which NaN makes NaN, and whose gradient is a
    tensor of zeros."""
    return clamp(ceil(abs(difference)), max=1).sum(dim)


_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True, "donot_use_mm_for_euclid_dist": False,
}


@composite(as_method=False)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The p-norm distances between the rows of two batches of matrices, (..., P, M) and (..., R, M): (..., P, R).

    Euclidean distances of more than 25 rows come from one matrix product, which is fast but loses digits where rows are
    near each other; `compute_mode` can demand the product ("use_mm_for_euclid_dist") or forbid it
    ("donot_use_mm_for_euclid_dist").
    """
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, X1 got: {x1.ndim}D, X2 got: {x2.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    demanded = None if compute_mode is None else _MODES[compute_mode]
    many = x1.shape[-2] > 25 or x2.shape[-2] > 25
    if p == 2 and (many if demanded is None else demanded):
        batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        return _euclidean_dist(*(x if x.shape[:-2] == batch else expand(x, batch + x.shape[-2:]) for x in (x1, x2)))
    if x1.dtype.itemsize == 2 and x1.numel() and x2.numel():
        refuse("cdist", x1._array)
    apart = unsqueeze(x1, -2) - unsqueeze(x2, -3)
    return vector_norm(apart, p, -1) if p else differing(apart, -1)


def _euclidean_slope(grad: Any, a: Any, b: Any, result: Any) -> Any:
    """By the rows of `a`; the quotient at distance 0 is 0."""
    ratio = where(result == 0, zeros_like(result), grad / result)
    return a * sum(ratio, -1, True) - matmul(ratio, b)


_euclidean_dist = op(
    "euclidean_dist", euclidean_dist, function=False, as_method=False,
    x1=lambda grad, x1, x2, result: _euclidean_slope(grad, x1, x2, result),
    x2=lambda grad, x1, x2, result: _euclidean_slope(transpose(grad, -1, -2), x2, x1, transpose(result, -1, -2)))


__all__ = ["cdist", "cosine_similarity", "pairwise_distance", "pdist"]
