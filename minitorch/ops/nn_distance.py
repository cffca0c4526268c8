"""Distances and similarities (ATen/native/Distance.cpp)."""

from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..dispatch import composite
from ..tensor import wrap
from .nn_common import refuse
from .reduce import norm
from .shape import broadcast_tensors


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
    distances = norm(difference, p, 1)
    # a count has no gradient; torch's pdist gives zeros all the same
    return distances + (difference * 0).sum(1) if p == 0 else distances


__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]
