"""Linear algebra by factors: inverses, determinants, Cholesky, QR, eigenvalues, singular values, and what is made of them
(ATen/native/BatchLinearAlgebra.cpp). All work on batches of matrices (..., m, n).

The formulas are those of M. Giles, *An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation* (2008), and for QR of S. Walter and L. Lehmann, *Algorithmic differentiation of linear
algebra functions* (2010). A gradient is that of the entries as torch takes it: for a matrix that must be symmetric, half
of it for either side.
"""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import decompositions as kernels
from ..tensor import check_dim, wrap
from .assembly import cross, diag_embed
from .copies import cat, tril, triu
from .elementwise import abs, ones_like, where, zeros_like
from .linalg import matmul
from .nn_common import scalar_name
from .reduce import amax, amin, cumprod, sum, vector_norm
from .shape import diagonal, movedim, narrow, reshape, squeeze, transpose, unsqueeze, zeros


def _t(x: Any) -> Any:
    return transpose(x, -2, -1)


def _matrices(x: Any) -> Any:
    """Numbers of a batch, beside its matrices."""
    return unsqueeze(unsqueeze(x, -1), -1)


# ---- inverses, determinants, systems ------------------------------------------------------------------------------

_inv = op("linalg_inv", kernels.inv, as_method=False, function=False, node="LinalgInvExBackward0",
          input=lambda grad, result: -matmul(_t(result), matmul(grad, _t(result))))


def _cofactors(input: Any, result: Any) -> Any:
    """The derivative of a determinant: for arrays by singular values, so that the matrix may be singular."""
    if input.shape[-1] == 1:
        return zeros_like(input) + 1
    if isinstance(input, Tensor):
        return _matrices(result) * _t(_inv(input))
    u, s, vh = np.linalg.svd(input)
    n = s.shape[-1]
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(n)], -1) if n else s
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return (u * (others * sign[..., None])[..., None, :]) @ vh


linalg_inv_ex = op("linalg_inv_ex", kernels.inv_ex, as_method=False, returns=("inverse", "info"),
                   node="LinalgInvExBackward0",
                   input=lambda grads, inverse: -matmul(_t(inverse), matmul(grads[0], _t(inverse))))
_det = op("linalg_det", kernels.det, as_method=False, function=False, node="LinalgDetBackward0",
          input=lambda grad, input, result: _matrices(grad) * _cofactors(input, result))
_slogdet = op("linalg_slogdet", kernels.slogdet, as_method=False, function=False, returns=("sign", "logabsdet"),
              node="LinalgSlogdetBackward0",
              input=lambda grads, input: None if grads[1] is None else _matrices(grads[1]) * _t(_inv(input)))
_solve = op("linalg_solve", kernels.solve, as_method=False, function=False, node="LinalgSolveExBackward0",
            input=lambda grad, input, result: -matmul(_solve(_t(input), grad), _t(result)),
            other=lambda grad, input: _solve(_t(input), grad))


def _half(x: Any, upper: bool, unitriangular: bool) -> Any:
    return triu(x, int(unitriangular)) if upper else tril(x, -int(unitriangular))


_solve_triangular = op(
    "linalg_solve_triangular", kernels.solve_triangular, as_method=False, function=False,
    node="LinalgSolveTriangularBackward0", inputs=("input", "other"),
    input=lambda grad, input, result, upper, unitriangular: _half(
        -matmul(_solve_triangular(_t(input), grad, not upper, unitriangular), _t(result)), upper, unitriangular),
    other=lambda grad, input, upper, unitriangular: _solve_triangular(_t(input), grad, not upper, unitriangular))


@composite(aliases=("inverse",))
def linalg_inv(A: Any) -> Any:
    """The inverse."""
    return _inv(A)


@composite(aliases=("det",))
def linalg_det(A: Any) -> Any:
    """The determinant."""
    return _det(A)


@composite(as_method=False)
def linalg_slogdet(A: Any) -> Any:
    """(sign, logarithm of the absolute value) of the determinant."""
    return _slogdet(A)


@composite()
def logdet(input: Any) -> Any:
    """The logarithm of the determinant: NaN where it is negative."""
    sign, logarithm = _slogdet(input)
    return logarithm + sign.log()


def _columns(A: Any, B: Any) -> tuple:
    """B as matrices of columns, and whether it was one column for each matrix."""
    vector = kernels.is_vector(A._array, B._array)
    return (unsqueeze(B, -1), True) if vector else (B, False)


@composite(as_method=False)
def linalg_solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A @ X = B, or with X @ A = B."""
    kernels.check("linalg.solve", A._array, True)
    B, vector = _columns(A, B)
    result = _solve(A, B) if left else _t(_solve(_t(A), _t(B)))
    return squeeze(result, -1) if vector else result


@composite(as_method=False)
def linalg_solve_triangular(input: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with input @ X = B, or with X @ input = B, for a triangular matrix."""
    if left:
        return _solve_triangular(input, B, upper, unitriangular)
    return _t(_solve_triangular(_t(input), _t(B), not upper, unitriangular))


@composite(aliases=("matrix_power",))
def linalg_matrix_power(A: Any, n: int) -> Any:
    """A @ A @ ..., n times; of the inverse for a negative n."""
    kernels.check("linalg.matrix_power", A._array, True)
    if n == 0:
        return A * 0 + wrap(np.eye(A.shape[-1], dtype=A._array.dtype))
    if n < 0:
        A, n = _inv(A), -n
    result = None
    while True:  # by squares
        if n % 2:
            result = A if result is None else matmul(result, A)
        n //= 2
        if not n:
            return result
        A = matmul(A, A)


@composite(as_method=False)
def linalg_tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of tensordot(A, ., ind)."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(columns)} != {math.prod(rows)}"
        )
    return reshape(_inv(reshape(A, (math.prod(rows), -1))), (*columns, *rows))


@composite(as_method=False)
def linalg_tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim:]
    if math.prod(shape) != math.prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {math.prod(shape)} != {math.prod(A.shape[: B.ndim])}"
        )
    columns = reshape(B, (-1, 1))
    return reshape(_solve(reshape(A, (-1, math.prod(shape))), columns), tuple(shape))


# ---- factors ------------------------------------------------------------------------------------------------------

_cholesky = op("linalg_cholesky", kernels.cholesky, as_method=False, function=False, node="LinalgCholeskyExBackward0",
               input=lambda grad, result, upper: _cholesky_slope(_t(grad) if upper else grad,
                                                                 _t(result) if upper else result))


def _cholesky_slope(grad: Any, lower: Any) -> Any:
    inner = matmul(_t(lower), grad)
    inner = (tril(inner) + _t(tril(inner, -1))) * 0.5
    half = _solve_triangular(_t(lower), inner, True, False)  # L^-T inner
    return _t(_solve_triangular(_t(lower), _t(half), True, False))  # ... L^-1


linalg_cholesky_ex = op("linalg_cholesky_ex", kernels.cholesky_ex, as_method=False, returns=("L", "info"),
                        node="LinalgCholeskyExBackward0",
                        input=lambda grads, L, upper: _cholesky_slope(*map(_t, (grads[0], L))) if upper
                        else _cholesky_slope(grads[0], L))


@composite(as_method=False)
def linalg_cholesky(A: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L.mT = A, or its transpose."""
    return _cholesky(A, upper=upper)


@composite()
def cholesky(input: Any, upper: bool = False) -> Any:
    """linalg.cholesky, as it was called before."""
    return _cholesky(input, upper=upper)


def _twice(change: Any, factor: Any, upper: bool) -> Any:
    """The gradient of a factor L that occurs as L @ L.mT (or L.mT @ L), from minus the product's; torch gives that of all
    entries, also of those that are not read."""
    change = change + _t(change)
    return -(matmul(factor, change) if upper else matmul(change, factor))


cholesky_inverse = op("cholesky_inverse", kernels.cholesky_inverse, input=lambda grad, input, result, upper:
                      _twice(matmul(result, matmul(grad, result)), input, upper))
cholesky_solve = op("cholesky_solve", kernels.cholesky_solve,
                    input=lambda grad, L, upper: cholesky_solve(grad, L, upper),
                    L=lambda grad, L, result, upper:
                    _twice(matmul(cholesky_solve(grad, L, upper), _t(result)), L, upper))


_qr = op("linalg_qr", kernels.qr, as_method=False, function=False, returns=("Q", "R"), node="LinalgQrBackward0",
         input=lambda grads, input, Q, R, mode: _qr_slope(grads, input, Q, R, mode))


def _qr_slope(grads: Any, input: Any, Q: Any, R: Any, mode: str) -> Any:
    m, n = input.shape[-2:]
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced') if you are going to require gradients.")
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    for_q, for_r = (zeros(x.shape, x) if g is None else g for g, x in zip(grads, (Q, R), strict=True))
    if m >= n:
        return _square_qr_slope(for_q, for_r, Q, R)
    rest = narrow(for_r, -1, m, n - m)
    for_q = for_q + matmul(narrow(input, -1, m, n - m), _t(rest))
    left = _square_qr_slope(for_q, narrow(for_r, -1, 0, m), Q, narrow(R, -1, 0, m))
    return cat([left, matmul(Q, rest)], -1)


def _square_qr_slope(for_q: Any, for_r: Any, Q: Any, R: Any) -> Any:
    inner = matmul(R, _t(for_r)) - matmul(_t(for_q), Q)
    inner = tril(inner) + _t(tril(inner, -1))
    return _t(_solve_triangular(R, _t(for_q + matmul(Q, inner)), True, False))


@composite(as_method=False)
def linalg_qr(A: Any, mode: str = "reduced") -> Any:
    """(Q, R): orthonormal columns, upper triangular."""
    return _qr(A, mode)


@composite()
def qr(input: Any, some: bool = True) -> Any:
    """linalg.qr, as it was called before."""
    return _qr(input, "reduced" if some else "complete")


_eigh = op("linalg_eigh", kernels.eigh, as_method=False, function=False, returns=("eigenvalues", "eigenvectors"),
           node="LinalgEighBackward0",
           input=lambda grads, eigenvalues, eigenvectors: _eigh_slope(*grads, eigenvalues, eigenvectors))


def _off_diagonal(x: Any) -> np.ndarray:
    return ~np.eye(x.shape[-1], dtype=bool)


def _eigh_slope(for_values: Any, for_vectors: Any, values: Any, vectors: Any) -> Any:
    inner = zeros(vectors.shape, vectors) if for_values is None else diag_embed(for_values)
    if for_vectors is not None:
        off = _off_diagonal(vectors)
        gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
        turned = matmul(_t(vectors), for_vectors)
        inner = inner + _masked(off, (turned - _t(turned)) * 0.5 / _masked_one(off, gaps))
    return matmul(vectors, matmul(inner, _t(vectors)))


def _masked(keep: np.ndarray, x: Any) -> Any:
    """x where `keep`, else 0."""
    return where(wrap(keep) if isinstance(x, Tensor) else keep, x, zeros_like(x))


def _masked_one(keep: np.ndarray, x: Any) -> Any:
    """x where `keep`, else 1."""
    return where(wrap(keep) if isinstance(x, Tensor) else keep, x, zeros_like(x) + 1)


@composite(as_method=False)
def linalg_eigh(A: Any, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of a symmetric matrix, of which one half is read."""
    return _eigh(A, UPLO)


@composite(as_method=False)
def linalg_eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of a symmetric matrix."""
    return _eigh(A, UPLO)[0]


_svd = op("linalg_svd", kernels.svd, as_method=False, function=False, returns=("U", "S", "Vh"),
          node="LinalgSvdBackward0",
          input=lambda grads, U, S, Vh: _svd_slope(*grads, U, S, Vh))


def _svd_slope(for_u: Any, for_s: Any, for_vh: Any, U: Any, S: Any, Vh: Any) -> Any:
    k = S.shape[-1]
    m, n = U.shape[-2], Vh.shape[-1]
    U, Vh = narrow(U, -1, 0, k), narrow(Vh, -2, 0, k)
    inner = zeros((*S.shape, k), S) if for_s is None else diag_embed(for_s)
    off = _off_diagonal(inner)
    squares = S * S
    gaps = _masked_one(off, unsqueeze(squares, -2) - unsqueeze(squares, -1))
    result = None
    if for_u is not None:
        for_u = narrow(for_u, -1, 0, k)
        turned = matmul(_t(U), for_u)
        inner = inner + _masked(off, (turned - _t(turned)) / gaps) * unsqueeze(S, -2)
        if m > k:
            result = matmul((for_u - matmul(U, turned)) / unsqueeze(S, -2), Vh)
    if for_vh is not None:
        for_vh = narrow(for_vh, -2, 0, k)
        turned = matmul(Vh, _t(for_vh))
        inner = inner + unsqueeze(S, -1) * _masked(off, (turned - _t(turned)) / gaps)
        if n > k:  # then m is k
            result = matmul(U, (for_vh - matmul(_t(turned), Vh)) / unsqueeze(S, -1))
    inside = matmul(U, matmul(inner, Vh))
    return inside if result is None else result + inside


@composite(as_method=False)
def linalg_svd(A: Any, full_matrices: bool = True) -> Any:
    """(U, S, Vh) with A = U @ diag(S) @ Vh, the singular values falling."""
    return _svd(A, full_matrices)


@composite(as_method=False)
def linalg_svdvals(A: Any) -> Any:
    """The singular values, falling."""
    kernels.check("linalg.svdvals", A._array)
    return _svd(A, False)[1]


svd = op("svd", kernels.svd_transposed, returns=("U", "S", "V"), node="LinalgSvdBackward0",
         input=lambda grads, U, S, V:
         _svd_slope(grads[0], grads[1], grads[2] if grads[2] is None else _t(grads[2]), U, S, _t(V)))


# ---- norms --------------------------------------------------------------------------------------------------------


@composite(as_method=False)
def linalg_vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """(sum of |x|^ord) ^ (1/ord) over dim; its limits for an infinite ord, the count of nonzeros for 0."""
    return vector_norm(x, ord, dim, keepdim, dtype=dtype)


def _singular_norm(A: Any, ord: Any, keepdim: bool) -> Any:
    values = linalg_svdvals(A)
    result = sum(values, -1) if ord == "nuc" else amax(values, -1) if ord == 2 else amin(values, -1)
    return _matrices(result) if keepdim else result


@composite(as_method=False)
def linalg_matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices over two dimensions: "fro", "nuc", inf and 1 (of rows, of columns), 2 (of singular values), and
    the least of these with a negative sign."""
    if A.ndim < 2:
        raise RuntimeError(f"linalg.matrix_norm: The input tensor A must have at least 2 dimensions. Got {A.ndim}")
    if dtype is not None:
        A = A.to(dtype)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(dim)}")
    rows, columns = (check_dim(d, A.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        result = _singular_norm(movedim(A, (rows, columns), (-2, -1)), ord, keepdim)
        return movedim(result, (-2, -1), (rows, columns)) if keepdim else result
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    along, over = (rows, columns) if math.fabs(ord) == 1 else (columns, rows)
    totals = sum(abs(A), along, True)
    if ord > 0 and not totals.shape[over]:
        result = sum(totals, over, True)
    else:
        result = amax(totals, over, True) if ord > 0 else amin(totals, over, True)
    if keepdim:
        return result
    return squeeze(result, (rows, columns))


@composite(as_method=False)
def linalg_norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """That of vectors or of matrices, as `ord` and `dim` say."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    of_matrices = isinstance(ord, str) or (A.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2)
    if of_matrices:
        return linalg_matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@composite(as_method=False)
def linalg_cond(A: Any, p: Any = None) -> Any:
    """The norm of a matrix times that of its inverse."""
    if p in (None, 2, -2):
        kernels.check("linalg.cond", A._array)
        values = linalg_svdvals(A)
        large, small = narrow(values, -1, 0, 1), narrow(values, -1, values.shape[-1] - 1, 1)
        return squeeze(small / large if p == -2 else large / small, -1)
    return linalg_matrix_norm(A, p) * linalg_matrix_norm(_inv(A), p)


def _threshold(values: np.ndarray, shape: Any, atol: Any, rtol: Any) -> np.ndarray:
    """Below which singular values (falling, or of any order) count as zero."""
    number = lambda x: x._array if isinstance(x, Tensor) else np.asarray(x)
    if rtol is None:
        rtol = 0.0 if atol is not None and np.any(number(atol) > 0) else np.finfo(values.dtype).eps * max(shape[-2:])
    largest = values.max(-1) if values.shape[-1] else np.zeros(values.shape[:-1], values.dtype)
    return np.maximum(number(0.0 if atol is None else atol), number(rtol) * largest)


@composite(as_method=False)
def linalg_matrix_rank(A: Any, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The number of singular values above the larger of atol and rtol times the largest."""
    kernels.check("linalg.matrix_rank", A._array, hermitian)
    array = A._array
    values = np.abs(np.linalg.eigvalsh(array)) if hermitian else np.linalg.svd(array, compute_uv=False)
    if tol is not None:
        atol, rtol = tol, 0.0
    return wrap(np.asarray((values > _threshold(values, array.shape, atol, rtol)[..., None]).sum(-1)))


@composite(as_method=False)
def linalg_pinv(A: Any, rcond: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse: singular values that count as zero stay zero."""
    kernels.check("linalg.pinv", A._array, hermitian)
    rtol = rcond if rtol is None else rtol
    if not A._array.size:
        return _t(A).clone()
    return _pinv(A, atol, rtol, hermitian)


def _pinv_kernel(input, atol=None, rtol=None, hermitian=False):
    if hermitian:
        s, u = np.linalg.eigh(input)
        vh = np.swapaxes(u, -1, -2)
    else:
        u, s, vh = np.linalg.svd(input, full_matrices=False)
    large = np.abs(s) > _threshold(np.abs(s), input.shape, atol, rtol)[..., None]
    inverse = np.where(large, 1 / np.where(large, s, 1), 0)
    return ((np.swapaxes(vh, -1, -2) * inverse[..., None, :]) @ np.swapaxes(u, -1, -2)).astype(input.dtype, copy=False)


def _pinv_slope(grad: Any, A: Any, P: Any) -> Any:
    """For a rank that stays the same (Golub and Pereyra 1973)."""
    g, p = _t(grad), _t(P)
    left, right = matmul(g, matmul(P, p)), matmul(matmul(p, P), g)
    return (left - matmul(A, matmul(P, left))) + (right - matmul(matmul(right, P), A)) - matmul(p, matmul(grad, p))


_pinv = op("linalg_pinv", _pinv_kernel, as_method=False, function=False, node="LinalgPinvBackward0",
           input=lambda grad, input, result: _pinv_slope(grad, input, result))


@composite()
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """linalg.pinv, as it was called before."""
    return linalg_pinv(input, rtol=rcond)


@composite(as_method=False, autocast="lower")
def linalg_vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The sum of products along dim."""
    return sum(x * y, dim)


@composite(as_method=False, autocast="apart")
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The vector product along dim."""
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions. Got {input.ndim} and {other.ndim}"
        )
    return cross(input, other, dim)


@composite(as_method=False)
def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonal, by default of the last two dimensions."""
    return diagonal(A, offset, dim1, dim2)


@composite(as_method=False)
def linalg_vander(x: Any, *, N: int | None = None) -> Any:
    """The powers 0 to N - 1 of each number, along a new last dimension."""
    word = scalar_name(x._array)
    if word in ("Half", "BFloat16", "Bool"):
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {word}")
    x = x if x.ndim else reshape(x, (1,))
    N = x.shape[-1] if N is None else N
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    column = unsqueeze(x, -1)
    return cumprod(cat([ones_like(column), column.expand(*x.shape, N - 1)], -1), -1)


@composite(as_method=False)
def linalg_multi_dot(tensors: Any) -> Any:
    """The product of several matrices; the first and last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    result = tensors[0]
    for x in tensors[1:]:
        result = matmul(result, x)
    return result


_matrix_exp = op("matrix_exp", kernels.matrix_exp, node="LinalgMatrixExpBackward0", aliases=(),
                 input=lambda grad, input: _matrix_exp_slope(grad, input))


def _matrix_exp_slope(grad: Any, input: Any) -> Any:
    """The upper right block of exp([[A.mT, grad], [0, A.mT]]) (Najfeld and Havel 1995)."""
    turned = _t(input)
    n = input.shape[-1]
    above, below = cat([turned, grad], -1), cat([zeros(tuple(turned.shape), turned), turned], -1)
    whole = _matrix_exp(cat([above, below], -2))
    return narrow(narrow(whole, -2, 0, n), -1, n, n)


@composite(as_method=False)
def linalg_matrix_exp(A: Any) -> Any:
    """The exponential series of a matrix."""
    return _matrix_exp(A)
