"""Matrix products by the fastest way that NumPy has.  Mirrors ATen/native/LinearAlgebra.cpp and BlasKernel.cpp.

`np.matmul` of batches calls BLAS once for each matrix. That is right for large ones, which BLAS itself computes on all
threads; of small ones our own threads take a share of the batch each. A batch times *one* matrix is one large product.
"""

import math

import numpy as np

from .half import in_float32, narrow, widen
from .parallel import run_slices

# OpenBLAS computes products of up to this many multiplications on one thread, and with code of its own, in which a
# transposed second operand costs double.
SMALL = 1 << 18
SHARED_FROM = 1 << 21  # multiplications in a batch that are worth sharing among threads


@in_float32
def matmul(input, other):
    """`input @ other` by torch's rules: vectors, matrices, and broadcast batches of them."""
    if input.dtype.kind in "iu" and input.size * other.shape[-1] > SMALL:
        return _integer_matmul(input, other)
    if other.ndim <= 2:
        if input.ndim <= 2:
            return np.asarray(input.dot(other))
        if other.size:
            return input.reshape(-1, input.shape[-1]).dot(other).reshape(input.shape[:-1] + other.shape[1:])
    if input.ndim < 3 or other.ndim < 3 or type(input) is not np.ndarray or type(other) is not np.ndarray:
        return np.matmul(input, other)
    return _batched(input, other)


def _batched(input, other):
    m, k, n = *input.shape[-2:], other.shape[-1]
    if m * n * k > SMALL or other.shape[-2] != k or not n:
        return np.matmul(input, other)
    if m >= 16 and other.strides[-2] == other.itemsize:
        other = np.ascontiguousarray(other)
    batch = np.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    if math.prod(batch) * m * n * k < SHARED_FROM:
        return np.matmul(input, other)
    out = np.empty((*batch, m, n), input.dtype)
    input, other = (x.reshape((1,) * (out.ndim - x.ndim) + x.shape) for x in (input, other))
    axis = batch.index(max(batch))

    def product(start, stop):
        share = (slice(None),) * axis + (slice(start, stop),)
        np.matmul(*(x[share] if x.shape[axis] > 1 else x for x in (input, other)), out=out[share])

    run_slices(product, batch[axis], grain=SHARED_FROM * batch[axis] // (out.size * k * 2) + 1)
    return out


def _integer_matmul(input, other):
    """NumPy's own is a plain loop. While no sum can reach 2^53, float64 holds every one exactly."""
    size = [max(-int(x.min()), int(x.max())) if x.size else 0 for x in (input, other)]
    if input.shape[-1] * size[0] * size[1] >= 1 << 53:
        return np.matmul(input, other)
    return matmul(input.astype(np.float64), other.astype(np.float64)).astype(np.int64).astype(input.dtype, copy=False)


@in_float32
def addmm(input, mat1, mat2, beta=1, alpha=1):
    """`beta * input + alpha * (mat1 @ mat2)`; with beta 0 the input's nan and inf are not propagated. Among integers
    beta and alpha lose their fractions.
    """
    out = matmul(mat1, mat2)
    if out.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        out *= alpha
    if beta != 0:
        out += input if beta == 1 else input * beta
    return out


baddbmm = addmm  # the same, for batches: input (b, n, p), mat1 (b, n, m), mat2 (b, m, p)


def euclidean_dist(x1, x2):
    """The distances between the rows of matrices (..., P, M) and (..., R, M) by one product: |a|^2 - 2 a.b + |b|^2.

    torch composes it of its operators, and so half precisions are rounded after each.
    """

    def rounded(array):
        return widen(narrow(array, x1.dtype))

    a, b = widen(x1), widen(x2)
    (a2, one_a), (b2, one_b) = (
        (rounded(rounded(x * x).sum(-1, keepdims=True)), np.ones((*x.shape[:-1], 1), x.dtype)) for x in (a, b)
    )
    product = matmul(np.concatenate([-2 * a, a2, one_a], -1), np.swapaxes(np.concatenate([b, one_b, b2], -1), -1, -2))
    return narrow(np.sqrt(np.maximum(rounded(product), 0)), x1.dtype)
