"""Putting tensors together and taking them apart: grids, diagonals, stacks, differences, and the `_scatter` forms of
views (ATen/native/TensorShape.cpp, torch/functional.py)."""

import itertools
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import reduce as reductions
from ..kernels.shape import check_dim
from ..tensor import wrap
from .copies import cat, contiguous, flip, stack
from .elementwise import cast_like, isnan
from .index import masked_select
from .reduce import _norm_gradient, restore, sum
from .shape import (
    _unsafe_view,
    broadcast_tensors,
    diagonal,
    expand,
    narrow,
    reshape,
    select,
    slice_,
    tensor_split,
    transpose,
    unsqueeze,
    zeros,
)


def _listed(tensors: Any) -> list:
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)


# ---- diagonals ----------------------------------------------------------------------------------------------------


def _diag_embed_kernel(input, offset=0, dim1=-2, dim2=-1):
    n = input.ndim + 1
    a, b = check_dim(dim1, n), check_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + int(np.abs(offset))
    out = np.zeros((*input.shape[:-1], size, size), input.dtype)
    rows = np.arange(input.shape[-1])
    out[(..., rows + (-offset if offset < 0 else 0), rows + (offset if offset > 0 else 0))] = input
    return np.moveaxis(out, (-2, -1), (a, b))


diag_embed = op("diag_embed", _diag_embed_kernel,
                input=lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2))


@composite()
def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with a vector on its diagonal, or a matrix's diagonal (a copy)."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim == 2:
        return _diagonal(input, diagonal, 0, 1).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


_diagonal = diagonal


@composite()
def diagflat(input: Any, offset: int = 0) -> Any:
    """A matrix with all elements of the input on its diagonal."""
    return diag_embed(reshape(input, (-1,)), offset)


@composite(autocast="fp32_cpu")
def trace(input: Any) -> Any:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix, but got tensor with dim " + str(input.ndim))
    return sum(diagonal(input, 0, 0, 1))


# ---- views written into a copy ------------------------------------------------------------------------------------


def _scattered(name: str, view: Any) -> Any:
    def function(input: Any, src: Any, *args: Any, **kwargs: Any) -> Any:
        result = input.clone()
        part = view(result, *args, **kwargs)
        if part.shape != src.shape:
            raise RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
                f"{list(part.shape)}"
            )
        part.copy_(src)
        return result

    function.__name__ = name
    function.__doc__ = f"A copy of input in which the view that `{name.removesuffix('_scatter')}` gives is src."
    return composite()(function)


select_scatter = _scattered("select_scatter", select)
diagonal_scatter = _scattered("diagonal_scatter", lambda x, offset=0, dim1=0, dim2=1: diagonal(x, offset, dim1, dim2))
slice_scatter = _scattered(
    "slice_scatter", lambda x, dim=0, start=None, end=None, step=1: slice_(x, dim, start, end, step)
)

# ---- stacks and grids ---------------------------------------------------------------------------------------------


def _at_least(n: int) -> Any:
    def one(x: Any) -> Any:
        if n == 1:
            return reshape(x, (1,)) if x.ndim == 0 else x
        if n == 2:
            return reshape(x, (1, 1)) if x.ndim == 0 else unsqueeze(x, 0) if x.ndim == 1 else x
        if x.ndim == 0:
            return reshape(x, (1, 1, 1))
        return unsqueeze(unsqueeze(x, 0), -1) if x.ndim == 1 else unsqueeze(x, -1) if x.ndim == 2 else x

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
            return one(tensors[0])
        return tuple([one(x) for x in _listed(tensors)])

    function.__name__ = f"atleast_{n}d"
    function.__doc__ = f"Tensors with dimensions of size 1 added until they have {n}."
    return composite(as_method=False)(function)


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (1, 2, 3))


@composite(as_method=False, aliases=())
def hstack(tensors: Any) -> Any:
    """Side by side along dimension 1 (0 for vectors)."""
    xs = [atleast_1d(x) for x in tensors]
    return cat(xs, 0 if xs[0].ndim == 1 else 1)


@composite(as_method=False, aliases=("row_stack",))
def vstack(tensors: Any) -> Any:
    """On top of each other along dimension 0."""
    return cat([atleast_2d(x) for x in tensors], 0)


@composite(as_method=False)
def dstack(tensors: Any) -> Any:
    """Behind each other along dimension 2."""
    return cat([atleast_3d(x) for x in tensors], 2)


@composite(as_method=False)
def column_stack(tensors: Any) -> Any:
    """As columns of a matrix."""
    return cat([reshape(x, (-1, 1)) if x.ndim <= 1 else x for x in tensors], 1)


def _split_along(name: str, dim: int, least: int) -> Any:
    def function(input: Any, indices_or_sections: Any) -> Any:
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a "
                f"tensor with {input.ndim} dimensions!"
            )
        d = 0 if name == "hsplit" and input.ndim == 1 else dim
        if isinstance(indices_or_sections, int) and (
            indices_or_sections <= 0 or input.shape[d] % indices_or_sections
        ):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                f"{input.shape[d]} is "
                f"not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, d)

    function.__name__ = name
    function.__doc__ = f"tensor_split along dimension {dim}, into equal parts."
    return composite()(function)


hsplit, vsplit, dsplit = _split_along("hsplit", 1, 1), _split_along("vsplit", 0, 2), _split_along("dsplit", 2, 3)


@composite(as_method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Coordinate tensors of a grid; indexing "ij" (matrix, torch's default) or "xy" (Cartesian)."""
    xs = _listed(tensors)
    if not xs:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in xs:
        if x.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
        if x.dtype is not xs[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=3
        )
    swap = indexing == "xy" and len(xs) >= 2
    if swap:
        xs[:2] = xs[1], xs[0]
    shape = tuple([x.numel() for x in xs])
    grids = [
        expand(reshape(x, (*[1] * i, x.numel(), *[1] * (len(xs) - 1 - i))), shape) for i, x in enumerate(xs)
    ]
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


@composite(as_method=False)
def cartesian_prod(*tensors: Any) -> Any:
    """All tuples of elements, one a row."""
    xs = _listed(tensors)
    for x in xs:
        if x.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(xs) == 1:
        return xs[0]
    return stack([reshape(g, (-1,)) for g in meshgrid(*xs, indexing="ij")], 1)


@composite()
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements, one a row."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    n = input.numel()
    places = np.meshgrid(*[np.arange(n)] * r, indexing="ij")
    pairs = [(a <= b if with_replacement else a < b) for a, b in itertools.pairwise(places)]
    chosen = wrap(np.logical_and.reduce(pairs) if pairs else np.ones(n, bool))
    return stack([masked_select(grid, chosen) for grid in meshgrid(*[input] * r, indexing="ij")], 1)


@composite(as_method=False, autocast="apart")
def block_diag(*tensors: Any) -> Any:
    """The matrices along the diagonal of a larger one."""
    xs = [reshape(x, (1, -1)) if x.ndim < 2 else x for x in _listed(tensors)]
    for i, x in enumerate(xs):
        if x.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x.ndim} dimensions"
            )
    width = 0
    for x in xs:
        width += x.shape[1]
    rows, left = [], 0
    from .. import dtypes

    kind = dtypes.result_dtype(*xs)
    for x in xs:
        n, m = x.shape
        x = x.to(kind)
        rows.append(cat([zeros((n, left), x), x, zeros((n, width - left - m), x)], 1))
        left += m
    return cat(rows, 0)


@composite()
def kron(input: Any, other: Any) -> Any:
    """The Kronecker product."""
    n = input.ndim if input.ndim > other.ndim else other.ndim
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = _unsafe_view(contiguous(input), tuple([k for m in a for k in (m, 1)]))
    right = _unsafe_view(contiguous(other), tuple([k for m in b for k in (1, m)]))
    return _unsafe_view(left * right, tuple([p * q for p, q in zip(a, b, strict=True)]))


@composite()
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Rotated by k quarter turns in the plane of two dimensions."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = dims
    if a == b or abs_int(a - b) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    for d in dims:
        if not -input.ndim <= d < input.ndim:
            raise RuntimeError(f"Rotation dim0 out of range, dim0 = {d}")
    k %= 4
    if k == 1:
        return transpose(flip(input, (b,)), a, b)
    if k == 2:
        return flip(input, tuple(dims))
    if k == 3:
        return transpose(flip(input, (a,)), a, b)
    return input.clone()


def abs_int(n: int) -> int:
    return n if n >= 0 else -n


# ---- differences and integrals ------------------------------------------------------------------------------------


@composite()
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th difference of neighbours along dim."""
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return input.clone()
    parts = [x for x in (prepend, input, append) if x is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    d = check_dim(dim, x.ndim)
    for _ in range(n if n < x.shape[d] else x.shape[d]):
        m = x.shape[d]
        if m == 0:
            break
        a, b = narrow(x, d, 1, m - 1), narrow(x, d, 0, m - 1)
        x = a ^ b if x.dtype.category == 0 else a - b
    return x


def _spacing(x: Any, dx: Any, input: Any, dim: int) -> Any:
    if x is None:
        return dx if dx is not None else 1
    if x.ndim == 1 and input.ndim > 1:
        step = diff(x)
        shape = [1] * input.ndim
        shape[dim] = step.numel()
        return reshape(step, tuple(shape))
    return diff(x, dim=dim)


def _areas(y: Any, x: Any, dx: Any, dim: int) -> Any:
    d = check_dim(dim, y.ndim)
    n = y.shape[d]
    return (narrow(y, d, 1, n - 1) + narrow(y, d, 0, n - 1)) * _spacing(x, dx, y, d) / 2.0 if n else None


@composite(as_method=False)
def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The integral along dim by the trapezoidal rule, over points x or steps dx."""
    d = check_dim(dim, y.ndim)
    if y.shape[d] == 0:
        return sum(y, d) * 1.0
    return sum(_areas(y, x, dx, dim), d)


@composite(as_method=False)
def trapz(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """trapezoid."""
    return trapezoid(y, x, dx=dx, dim=dim)


@composite(as_method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The running integral along dim by the trapezoidal rule."""
    from .reduce import cumsum

    return cumsum(_areas(y, x, dx, dim), dim)


# ---- questions about values ---------------------------------------------------------------------------------------


def _isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    if rtol < 0 or atol < 0:
        name, value = ("rtol", rtol) if rtol < 0 else ("atol", atol)
        raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    if input.dtype != other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if input.dtype.kind in "iub":
        allowed = atol + np.abs(rtol * other.astype(np.float64))
        return np.abs(input.astype(np.float64) - other.astype(np.float64)) <= allowed
    near = np.abs(input - other) <= atol + np.abs(rtol * other)
    close = (input == other) | (np.isfinite(input) & np.isfinite(other) & near)
    return close | (np.isnan(input) & np.isnan(other)) if equal_nan else close


isclose = op("isclose", _isclose)


@composite()
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite()
def equal(input: Any, other: Any) -> bool:
    """Whether shape and all elements are the same."""
    if not isinstance(other, Tensor):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return input.shape == other.shape and bool(np.array_equal(input._array, other._array))


count_nonzero = op("count_nonzero", lambda input, dim=None: np.asarray(
    np.count_nonzero(input, axis=tuple(dim) if isinstance(dim, (list, tuple)) else dim)))


@composite()
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements are among test_elements."""
    array = lambda x: x._array if isinstance(x, Tensor) else np.asarray(x)
    return wrap(np.asarray(np.isin(array(elements), array(test_elements), assume_unique=assume_unique, invert=invert)))


Tensor.isin = isin  # type: ignore[attr-defined]

# ---- distances ----------------------------------------------------------------------------------------------------


def _dist(input, other, p=2.0):
    """The p-norm of the difference."""
    return reductions.norm(input - other, p)


def _dist_slope(grad: Any, input: Any, other: Any, p: float, result: Any) -> Any:
    return _norm_gradient(grad, input - other, p, None, False, result)


dist = op("dist", _dist, promote=("input", "other"),
          input=lambda grad, input, other, p, result: _dist_slope(grad, input, other, p, result),
          other=lambda grad, input, other, p, result: -_dist_slope(grad, input, other, p, result))


@composite(as_method=False, autocast="apart")
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along dim (the first of size 3, where none is named)."""
    a, b = broadcast_tensors(input, other) if input.shape != other.shape else (input, other)
    if dim is None:
        dim = next((d for d, n in enumerate(a.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    d = check_dim(dim, a.ndim)
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and {other.shape[d]}"
        )
    x, y = [select(a, d, k) for k in range(3)], [select(b, d, k) for k in range(3)]
    return stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], d)


Tensor.cross = cross  # type: ignore[attr-defined]

# ---- ignoring NaN -------------------------------------------------------------------------------------------------


def _nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of what is not NaN."""
    if input.dtype.kind in "fV":
        input = np.where(np.isnan(input), np.zeros((), input.dtype), input)
    return reductions.sum(input, dim, keepdim, dtype=dtype)


nansum = op("nansum", _nansum, input=lambda grad, input, dim, keepdim:
            restore(grad, input.shape, dim, keepdim) * cast_like(~isnan(input), grad))


@composite()
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of what is not NaN."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    factor = (~isnan(input)).sum(dim, keepdim) if dim is not None else (~isnan(input)).sum()
    return nansum(input, dim, keepdim, dtype=dtype) / factor


