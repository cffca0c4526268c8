"""Dense linear algebra by LAPACK, over batches of matrices (..., m, n).

Arrays in, arrays out; see kernels/__init__.py. `Singular` says which matrix of a batch cannot be treated.
"""

import functools

import numpy as np

from .half import HALVES, in_float32


class Singular(RuntimeError):
    """A matrix that has no inverse, or no such factors (torch.linalg.LinAlgError)."""


# The routines that torch's CPU has not in half precision. Those of the first table are not called for empty matrices.
ROUTINES = {
    "linalg.cholesky": "cholesky_cpu", "linalg.cholesky_ex": "cholesky_cpu", "linalg.det": "lu_cpu",
    "linalg.solve": "lu_cpu", "linalg.svd": "linalg_svd_cpu", "svd": "linalg_svd_cpu", "linalg.eigh": "linalg_eigh_cpu",
    "linalg.svdvals": "linalg_svd_cpu", "linalg.cond": "linalg_svd_cpu", "linalg.matrix_exp": "", "linalg.matrix_power": "",
}
NEVER = {
    "linalg.qr": "geqrf_cpu", "linalg.solve_triangular": "triangular_solve_cpu", "cholesky_solve": "cholesky_solve_cpu",
    "cholesky_inverse": "cholesky_inverse_out_cpu",
}


def check(name, input, square=False):
    """RuntimeError unless `input` holds floating point matrices, square ones where they must be; NotImplementedError for
    half precision, in which there is no LAPACK."""
    if input.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if input.dtype in HALVES:
        word = "Half" if input.dtype == np.float16 else "BFloat16"
        routine = {**ROUTINES, **NEVER}.get(name)
        if routine is None:
            raise RuntimeError(f"{name.removesuffix('_ex')}: Low precision dtypes not supported. Got {word}")
        if routine and (input.size or name in NEVER):
            raise NotImplementedError(f"\"{routine}\" not implemented for '{word}'")
    elif input.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}: Expected a floating point tensor as input. Got {input.dtype}")


def of_matrices(name, square=False, keep=()):
    """A kernel of matrices that are checked first; see `in_float32` for `keep`."""

    def decorate(kernel):
        computed = in_float32(kernel, keep=keep)

        @functools.wraps(kernel)
        def checked(input, *args, **kwargs):
            check(name, input, square)
            return computed(input, *args, **kwargs)

        return checked

    return decorate


@of_matrices("linalg.inv", square=True)
def inv(input):
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


@of_matrices("linalg.inv_ex", square=True, keep=(1,))
def inv_ex(input, *, check_errors=False):
    """The inverses, and for each matrix whether it has none."""
    return (inv(input), np.zeros(input.shape[:-2], np.int32)) if check_errors else _of_each(inv, input)


@of_matrices("linalg.cholesky_ex", square=True, keep=(1,))
def cholesky_ex(input, *, upper=False, check_errors=False):
    """The Cholesky factors, and for each matrix whether it has none."""
    if check_errors:
        return cholesky(input, upper=upper), np.zeros(input.shape[:-2], np.int32)
    return _of_each(cholesky, input, upper=upper)


@of_matrices("linalg.det", square=True)
def det(input):
    return np.asarray(np.linalg.det(input))


@of_matrices("linalg.slogdet", square=True)
def slogdet(input):
    sign, logarithm = np.linalg.slogdet(input)
    return np.asarray(sign), np.asarray(logarithm)


def is_vector(input, other):
    """Whether `other` is one right side for each matrix, rather than several as columns."""
    return other.ndim == 1 or (input.ndim - 1 == other.ndim and other.shape == input.shape[:-1])


@of_matrices("linalg.solve", square=True)
def solve(input, other):
    """X with input @ X = other."""
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


@of_matrices("linalg.solve_triangular", square=True)
def solve_triangular(input, other, upper, unitriangular):
    """X with input @ X = other, `input` triangular: its other half is not read."""
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


@of_matrices("linalg.cholesky", square=True)
def cholesky(input, *, upper=False):
    """The lower triangular L with L @ L.T = input (or its transpose): only that half of `input` is read."""
    try:
        lower = np.linalg.cholesky(np.swapaxes(input, -1, -2) if upper else input)
    except np.linalg.LinAlgError:
        raise Singular(
            "linalg.cholesky: The factorization could not be completed because the input is not positive-definite."
        ) from None
    return np.ascontiguousarray(np.swapaxes(lower, -1, -2)) if upper else lower


@of_matrices("linalg.qr")
def qr(input, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if mode == "r":
        return np.empty(0, input.dtype), np.linalg.qr(input, "r")
    return tuple(np.linalg.qr(input, mode))


@of_matrices("linalg.eigh", square=True)
def eigh(input, UPLO="L"):
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return tuple(np.linalg.eigh(input, UPLO.upper()))


@of_matrices("linalg.svd")
def svd(input, full_matrices=True):
    return tuple(np.linalg.svd(input, full_matrices))


@of_matrices("svd")
def svd_transposed(input, some=True, compute_uv=True):
    """(U, S, V), with zeros for U and V where they are not asked for."""
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


@of_matrices("cholesky_inverse", square=True)
def cholesky_inverse(input, upper=False):
    """The inverse of L @ L.T (or L.T @ L)."""
    return cholesky_solve(np.broadcast_to(np.eye(input.shape[-1], dtype=input.dtype), input.shape), input, upper)


@of_matrices("linalg.matrix_exp", square=True)
def matrix_exp(input):
    from scipy import linalg

    return linalg.expm(input).astype(input.dtype, copy=False) if input.size else input.copy()
