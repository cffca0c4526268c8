"""Dense linear algebra by LAPACK, over batches of matrices (..., m, n).

Arrays in, arrays out; see kernels/__init__.py. `Singular` says which matrix of a batch cannot be treated.
"""

import numpy as np


class Singular(RuntimeError):
    """A matrix that has no inverse, or no such factors (torch.linalg.LinAlgError)."""


def check(name, input, square=False):
    """RuntimeError unless `input` holds floating point matrices, square ones where they must be."""
    if input.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if input.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}: Expected a floating point tensor as input. Got {input.dtype}")


def inv(input):
    check("linalg.inv", input, square=True)
    try:
        return np.linalg.inv(input)
    except np.linalg.LinAlgError:
        raise Singular(
            "linalg.inv: The diagonal element is zero, the inversion could not be completed because the input matrix is "
            "singular."
        ) from None


def _of_each(function, input, *args, **options):
    """(results, 0 or 1 for each matrix): where `function` refuses a matrix, NaN."""
    out, info = np.full_like(input, np.nan, order="C"), np.zeros(input.shape[:-2], np.int32)
    for place in np.ndindex(input.shape[:-2]):
        try:
            out[place] = function(input[place], *args, **options)
        except Singular:
            info[place] = 1
    return out, info


def inv_ex(input, *, check_errors=False):
    """The inverses, and for each matrix whether it has none."""
    check("linalg.inv_ex", input, square=True)
    return (inv(input), np.zeros(input.shape[:-2], np.int32)) if check_errors else _of_each(inv, input)


def cholesky_ex(input, *, upper=False, check_errors=False):
    """The Cholesky factors, and for each matrix whether it has none."""
    check("linalg.cholesky_ex", input, square=True)
    if check_errors:
        return cholesky(input, upper=upper), np.zeros(input.shape[:-2], np.int32)
    return _of_each(cholesky, input, upper=upper)


def det(input):
    check("linalg.det", input, square=True)
    return np.asarray(np.linalg.det(input))


def slogdet(input):
    check("linalg.slogdet", input, square=True)
    sign, logarithm = np.linalg.slogdet(input)
    return np.asarray(sign), np.asarray(logarithm)


def is_vector(input, other):
    """Whether `other` is one right side for each matrix, rather than several as columns."""
    return other.ndim == 1 or (input.ndim - 1 == other.ndim and other.shape == input.shape[:-1])


def solve(input, other):
    """X with input @ X = other."""
    check("linalg.solve", input, square=True)
    vector = is_vector(input, other)
    right = other[..., None] if vector else other
    if right.shape[-2] != input.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({input.shape[-2]}x{input.shape[-1]} "
            f"and {right.shape[-2]}x{right.shape[-1]})"
        )
    try:
        found = np.linalg.solve(input, right)
    except np.linalg.LinAlgError:
        raise Singular("linalg.solve: The solver failed because the input matrix is singular.") from None
    return found[..., 0] if vector else found


def solve_triangular(input, other, upper, unitriangular):
    """X with input @ X = other, `input` triangular: its other half is not read."""
    check("linalg.solve_triangular", input, square=True)
    from scipy import linalg  # imported late: it takes longer than all of NumPy

    batch = np.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (input, other))
    out = np.empty(b.shape, input.dtype)
    for place in np.ndindex(batch):
        if out[place].size:
            out[place] = linalg.solve_triangular(
                a[place], b[place], lower=not upper, unit_diagonal=unitriangular, check_finite=False
            )
    return out


def cholesky(input, *, upper=False):
    """The lower triangular L with L @ L.T = input (or its transpose): only that half of `input` is read."""
    check("linalg.cholesky", input, square=True)
    try:
        lower = np.linalg.cholesky(np.swapaxes(input, -1, -2) if upper else input)
    except np.linalg.LinAlgError:
        raise Singular(
            "linalg.cholesky: The factorization could not be completed because the input is not positive-definite."
        ) from None
    return np.ascontiguousarray(np.swapaxes(lower, -1, -2)) if upper else lower


def qr(input, mode="reduced"):
    check("linalg.qr", input)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if mode == "r":
        return np.empty(0, input.dtype), np.linalg.qr(input, "r")
    return tuple(np.linalg.qr(input, mode))


def eigh(input, UPLO="L"):
    check("linalg.eigh", input, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return tuple(np.linalg.eigh(input, UPLO.upper()))


def svd(input, full_matrices=True):
    check("linalg.svd", input)
    return tuple(np.linalg.svd(input, full_matrices))


def svd_transposed(input, some=True, compute_uv=True):
    """(U, S, V), with zeros for U and V where they are not asked for."""
    check("svd", input)
    if compute_uv:
        u, s, vh = np.linalg.svd(input, not some)
        return u, s, np.swapaxes(vh, -1, -2)
    m, n = input.shape[-2:]
    u, v = (np.zeros((*input.shape[:-2], k, k), input.dtype) for k in (m, n))
    return u, np.linalg.svd(input, compute_uv=False), v


def cholesky_solve(input, L, upper=False):
    """X with L @ L.T @ X = input (or L.T @ L, L upper triangular)."""
    check("cholesky_solve", L, square=True)
    lower = np.swapaxes(L, -1, -2) if upper else L
    half = solve_triangular(lower, input, False, False)
    return solve_triangular(np.swapaxes(lower, -1, -2), half, True, False)


def cholesky_inverse(input, upper=False):
    """The inverse of L @ L.T (or L.T @ L)."""
    check("cholesky_inverse", input, square=True)
    return cholesky_solve(np.broadcast_to(np.eye(input.shape[-1], dtype=input.dtype), input.shape), input, upper)


def matrix_exp(input):
    check("linalg.matrix_exp", input, square=True)
    from scipy import linalg

    return linalg.expm(input).astype(input.dtype, copy=False) if input.size else input.copy()
