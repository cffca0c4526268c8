"""By index: `x[...]` and its assignment, gather and scatter, masks, sorting (ATen/native/TensorAdvancedIndexing.cpp,
torch/csrc/autograd/python_variable_indexing.cpp)."""

from typing import Any

import numpy as np

from .. import dtypes
from ..dispatch import FUNCTIONS, Tensor, composite, ndarray, op
from ..kernels import index as kernels
from ..kernels.shape import check_dim
from ..tensor import method, wrap
from .copies import copy_
from .elementwise import where, zeros_like
from .shape import (
    alias,
    expand,
    reshape,
    select,
    slice_,
    sum_to,
    unsqueeze,
    unsqueeze_dims,
    zeros,
)

# ---- advanced indexing --------------------------------------------------------------------------------------------

_index = op("index", kernels.index, function=False, as_method=False, shaped=True,
            input=lambda grad, input_shape, indices: _index_zeros(grad, tuple(input_shape), indices))
_index_zeros = op("index_backward", kernels.index_zeros, function=False, node="IndexPutBackward0",
                  grad=lambda grad, indices: _index(grad, indices))
_index_put = op("index_put_op", kernels.index_put, inplace=True, function=False, as_method=False,
                node="IndexPutBackward0", inputs=("input", "values"),
                input=lambda grad, indices, accumulate: grad if accumulate else _cleared(grad, indices),
                values=lambda grad, indices, values: sum_to(_index(grad, indices), tuple(values.shape)))


def _cleared(grad: Any, indices: Any) -> Any:
    zero = zeros((), grad)
    return _index_put(grad, indices, zero, False)


def _as_index(x: Any) -> Any:
    """An index tensor as an integer array, or several for a mask."""
    array = x._array if isinstance(x, Tensor) else np.asarray(x)
    if array.size == 0 and not isinstance(x, (Tensor, ndarray)):
        array = array.astype(np.int64)
    if array.dtype == bool or array.dtype == np.uint8:
        return array.astype(bool)
    if array.dtype.kind not in "iu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return array


def _expand_masks(indices: list, shape: tuple) -> list:
    """Masks become the integer indices of their true elements, one per dimension they cover."""
    result: list = []
    for i in indices:
        if i is not None and i.dtype == bool:
            for k in range(i.ndim):
                d = len(result) + k
                if d >= len(shape) or i.shape[k] != shape[d]:
                    raise IndexError(
                        f"The shape of the mask {list(i.shape)} at index {k} does not match the shape of the indexed "
                        f"tensor {list(shape)} at index {d}"
                    )
            if i.ndim == 0:
                result.append(i)
            else:
                result.extend(np.nonzero(i))
        else:
            result.append(i)
    return result


def _has_sequence(key: tuple) -> bool:
    return any(isinstance(k, (list, tuple, Tensor, ndarray)) for k in key)


def resolve(self: Tensor, key: Any) -> tuple:
    """Apply the basic part of an index as views; return the view and the advanced indices left (or None)."""
    if not isinstance(key, tuple):
        key = (key,)
    specified = 0
    for k in key:
        if k is None or k is Ellipsis or k is True or k is False:
            continue
        if isinstance(k, (Tensor, ndarray)) and k.ndim and k.dtype in (dtypes.bool_, dtypes.uint8, np.bool_, np.uint8):
            specified += k.ndim
        else:
            specified += 1
    if specified > self._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self._array.ndim}")
    x, dim, advanced = self, 0, []
    for k in key:
        if type(k) is int or isinstance(k, np.integer):
            n = x._array.shape[dim]
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {n}")
            x = select(x, dim, int(k))
        elif type(k) is slice:
            n = x._array.shape[dim]
            step = 1 if k.step is None else int(k.step)
            if step <= 0:
                raise ValueError("step must be greater than zero")
            start, stop, _ = slice(_bound(k.start), _bound(k.stop), step).indices(n)
            if (start, stop, step) != (0, n, 1):
                x = slice_(x, dim, start, max(stop, start), step)
            dim += 1
        elif k is Ellipsis:
            dim += self._array.ndim - specified
        elif k is None:
            x = unsqueeze(x, dim)
            dim += 1
        elif k is True or k is False:
            x = unsqueeze(x, dim)
            advanced.extend([None] * (dim - len(advanced)))
            advanced.append(np.zeros(1 if k else 0, np.int64))
            dim += 1
        else:
            index = _as_index(k)
            if index.ndim == 0 and index.dtype != bool:
                # an integer tensor without dimensions selects, as an int does
                if isinstance(k, Tensor):
                    n = x._array.shape[dim]
                    if not -n <= int(index) < n:
                        raise IndexError(f"index {int(index)} is out of bounds for dimension {dim} with size {n}")
                x = select(x, dim, int(index))
                continue
            if index.ndim == 0:
                x = unsqueeze(x, dim)
                index = np.zeros(1 if index else 0, np.int64)
            advanced.extend([None] * (dim - len(advanced)))
            advanced.append(index)
            dim += index.ndim if index.dtype == bool else 1
    if not advanced:
        return x, None
    return x, _expand_masks(_align(advanced), x._array.shape)


def _align(advanced: list) -> list:
    """Masks cover several dimensions: drop the placeholders that counted them."""
    aligned: list = []
    covered = 0
    for i in advanced:
        if i is None and covered:
            covered -= 1
            continue
        aligned.append(i)
        covered = i.ndim - 1 if i is not None and i.dtype == bool and i.ndim else 0
    return aligned


def _bound(x: Any) -> Any:
    return x if x is None or type(x) is int else x.__index__()


@method("__getitem__")
def getitem(self: Tensor, key: Any) -> Tensor:
    """Basic indices give views; index tensors, lists and masks copies."""
    if type(key) is int and self._array.ndim:
        n = self._array.shape[0]
        if not -n <= key < n:
            raise IndexError(f"index {key} is out of bounds for dimension 0 with size {n}")
        return select(self, 0, key)
    if self._array.ndim == 0 and type(key) is int:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    if type(key) is slice and self._array.ndim:
        n = self._array.shape[0]
        step = 1 if key.step is None else int(key.step)
        if step <= 0:
            raise ValueError("step must be greater than zero")
        start, stop, _ = slice(_bound(key.start), _bound(key.stop), step).indices(n)
        return slice_(self, 0, start, max(stop, start), step)
    view, advanced = resolve(self, key)
    if advanced is not None:
        return _index(view, advanced)
    return alias(self) if view is self else view


@method("__setitem__")
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Write at an index: through a view, or by index_put_."""
    view, advanced = resolve(self, key)
    if not isinstance(value, Tensor):
        if isinstance(value, (int, float, np.number, np.bool_)):
            value = wrap(np.asarray(value))
            if value._array.dtype.kind in "fV" and self._array.dtype.kind in "fV":
                value._array = value._array.astype(self._array.dtype)
        elif isinstance(value, ndarray):
            value = wrap(value)
        else:
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{_legacy(self)}")
    if advanced is not None:
        if value._array.dtype != view._array.dtype:
            value = value.to(view.dtype)
        view.index_put_op_(advanced, value, False)
        return
    shape = value._array.shape
    while len(shape) > view._array.ndim and shape[0] == 1:  # leading dimensions of size 1 don't count
        shape = shape[1:]
    if shape != value._array.shape:
        value = reshape(value, shape)
    copy_(view, value)


def _legacy(t: Tensor) -> str:
    from ..autograd.graph import legacy_name

    return legacy_name(t._array)


@composite()
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy with values written (or added) at the indices."""
    return _index_put(input, _checked(input, indices, values), values, accumulate)


@method()
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write (or add) values at the indices, in place."""
    return self.index_put_op_(_checked(self, indices, values), values, accumulate)


def _checked(input: Any, indices: Any, values: Any) -> list:
    if isinstance(input, Tensor) and isinstance(values, Tensor) and input.dtype is not values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {_name(input)} for the destination and "
            f"{_name(values)} for the source."
        )
    return _expand_masks([None if i is None else _as_index(i) for i in indices], input.shape)


def _name(t: Tensor) -> str:
    from ..dispatch import legacy_scalar

    return legacy_scalar(t.dtype)


# ---- gather and scatter -------------------------------------------------------------------------------------------

gather = op("gather", kernels.gather, shaped=True,
            input=lambda grad, input_shape, dim, index: _gather_zeros(grad, tuple(input_shape), dim, index))


def _gather_zeros(grad: Any, shape: tuple, dim: int, index: Any) -> Any:
    return scatter_add(zeros(shape, grad), dim, index, grad)


def scatter_into_zeros(grad: Any, dim: int, index: Any, shape: tuple) -> Any:
    """For formulas: zeros of a shape with `grad` placed by index (indices that don't repeat)."""
    return _scatter(zeros(shape, grad), dim, index, grad)


_scatter_number = op("scatter_value", kernels.scatter, inplace=True, function=False, as_method=False,
                     node="ScatterBackward1", inputs=("input",),
                     input=lambda grad, dim, index: _scatter_number(grad, dim, index, 0))
_scatter = op("scatter_src", kernels.scatter, inplace=True, function=False, as_method=False, node="ScatterBackward0",
              inputs=("input", "src"),
              input=lambda grad, dim, index: _scatter_number(grad, dim, index, 0),
              src=lambda grad, dim, index, src: _padded(gather(grad, dim, index), src))


def _padded(grad: Any, src: Any) -> Any:
    """src may be larger than the index: what was not read has no gradient."""
    if not hasattr(src, "shape") or tuple(grad.shape) == tuple(src.shape):
        return grad
    from .copies import cat

    for d, (n, m) in enumerate(zip(grad.shape, src.shape, strict=True)):
        if n != m:
            rest = list(grad.shape)
            rest[d] = m - n
            grad = cat([grad, zeros(tuple(rest), grad)], d)
    return grad


scatter_add = op("scatter_add", kernels.scatter_add, inplace=True,
                 input=lambda grad: grad,
                 src=lambda grad, dim, index, src: _padded(gather(grad, dim, index), src))


def _scatter_arguments(src: Any, value: Any, reduce: Any) -> Any:
    if reduce is not None:
        raise NotImplementedError("scatter(reduce=...) is deprecated in torch; use scatter_reduce or scatter_add")
    return value if src is None else src


@composite()
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """A copy of input with out[index[i][j]][j] = src[i][j] (dim 0); src may be a number."""
    value = _scatter_arguments(src, value, reduce)
    return (_scatter_number if isinstance(value, (int, float)) else _scatter)(input, dim, index, value)


@method()
def scatter_(self: Tensor, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Tensor:
    """scatter, in place."""
    value = _scatter_arguments(src, value, reduce)
    return getattr(self, "scatter_value_" if isinstance(value, (int, float)) else "scatter_src_")(dim, index, value)


index_select = op("index_select", kernels.index_select, shaped=True,
                  input=lambda grad, input_shape, dim, index:
                  index_add(zeros(tuple(input_shape), grad), dim, index, grad))
index_add = op("index_add", kernels.index_add, inplace=True, inputs=("input", "source"),
               input=lambda grad: grad,
               source=lambda grad, dim, index, source, alpha:
               reshape(index_select(grad, dim, index) * alpha, source.shape))
index_copy = op("index_copy", kernels.index_copy, autocast="widest", inplace=True, inputs=("input", "source"),
                input=lambda grad, dim, index: index_fill(grad, dim, index, 0),
                source=lambda grad, dim, index, source:
                reshape(index_select(grad, dim, index), source.shape))
index_fill = op("index_fill", kernels.index_fill, inplace=True, inputs=("input", "value"),
                input=lambda grad, dim, index: index_fill(grad, dim, index, 0),
                value=lambda grad, dim, index: sum_to(grad - index_fill(grad, dim, index, 0), ()))

# ---- masks --------------------------------------------------------------------------------------------------------

_masked_fill = op("masked_fill_op", kernels.masked_fill, inplace=True, function=False, as_method=False,
                  node="MaskedFillBackward0", inputs=("input",),
                  input=lambda grad, mask: where(mask, zeros_like(grad), grad))
_masked_fill_tensor = op("masked_fill_tensor", kernels.masked_fill, inplace=True, function=False, as_method=False,
                         node="MaskedFillBackward1", inputs=("input", "value"),
                         input=lambda grad, mask: where(mask, zeros_like(grad), grad),
                         value=lambda grad, mask: where(mask, grad, zeros_like(grad)))


@composite()
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """input with `value` (a number or 0-d tensor) where the mask is true."""
    return (_masked_fill_tensor if isinstance(value, Tensor) else _masked_fill)(input, mask, value)


@method()
def masked_fill_(self: Tensor, mask: Any, value: Any) -> Tensor:
    """masked_fill, in place."""
    name = "masked_fill_tensor_" if isinstance(value, Tensor) else "masked_fill_op_"
    return getattr(self, name)(mask, value)


masked_select = op("masked_select", kernels.masked_select, shaped=True,
                   input=lambda grad, input_shape, mask: _masked_zeros(grad, tuple(input_shape), mask))


def _masked_zeros(grad: Any, shape: tuple, mask: Any) -> Any:
    array = mask._array if isinstance(mask, Tensor) else mask
    whole = np.broadcast_shapes(shape, array.shape)
    return sum_to(_index_zeros(grad, whole, list(np.nonzero(np.broadcast_to(array, whole)))), shape)


@composite()
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """input with the elements of source, in order, where the mask is true."""
    shape = np.broadcast_shapes(input.shape, mask.shape)
    places = list(np.nonzero(np.broadcast_to(mask._array, shape)))
    count = len(places[0]) if places else 0
    if source.numel() < count:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes and enough elements in source")
    return _index_put(expand(input, shape), places, reshape(source, (-1,))[:count], False)


@method()
def masked_scatter_(self: Tensor, mask: Any, source: Any) -> Tensor:
    """masked_scatter, in place."""
    return copy_(self, masked_scatter(self, mask, source))


take = op("take", kernels.take, shaped=True,
          input=lambda grad, input_shape, index:
          reshape(_index_zeros(reshape(grad, (-1,)), (count_of(input_shape),), [_array(index).reshape(-1)]),
                  input_shape))


def _array(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def count_of(shape: Any) -> int:
    return int(np.prod(shape, dtype=np.int64))


@composite()
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """gather, with input and indices broadcast against each other."""
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    d = check_dim(dim, input.ndim)
    shape = list(np.broadcast_shapes(
        [1 if i == d else n for i, n in enumerate(input.shape)], [1 if i == d else n for i, n in enumerate(indices.shape)]
    ))
    mine, theirs = list(shape), list(shape)
    mine[d], theirs[d] = input.shape[d], indices.shape[d]
    return gather(expand(input, tuple(mine)), d, expand(indices, tuple(theirs)))


_nonzero = op("nonzero_", kernels.nonzero, function=False)


@composite()
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
    rows = _nonzero(input)
    if as_tuple:
        from .shape import unbind

        return unbind(rows, 1) if input.ndim else (reshape(rows[:, :0].sum(1), (-1,)),)
    return rows



@composite()
def argwhere(input: Any) -> Any:
    """nonzero: one row of indices for each element that is not zero."""
    return nonzero(input)


# ---- order --------------------------------------------------------------------------------------------------------


def _place(grad: Any, indices: Any, shape: Any, dim: int, keepdim: bool = True) -> Any:
    if not len(shape):
        return grad
    if not keepdim:
        d = (check_dim(dim, len(shape)),)
        grad, indices = unsqueeze_dims(grad, d), unsqueeze_dims(indices, d)
    return scatter_into_zeros(grad, dim, indices, tuple(shape))


_sort = op("sort", kernels.sort, function=False, as_method=False, returns=("values", "indices"), shaped=True,
           input=lambda grad, indices, input_shape, dim: _place(grad, indices, input_shape, dim))


@composite()
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """(values, indices) in order along dim; NaN counts as the largest."""
    return _sort(input, dim, descending, stable)


@composite()
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The indices that sort along dim."""
    return _sort(input, dim, descending, stable)[1]


topk = op("topk", kernels.topk, returns=("values", "indices"), shaped=True,
          input=lambda grad, indices, input_shape, dim: _place(grad, indices, input_shape, dim))
kthvalue = op("kthvalue", kernels.kthvalue, returns=("values", "indices"), shaped=True,
              input=lambda grad, indices, input_shape, dim, keepdim:
              _place(grad, indices, input_shape, dim, keepdim))
_median_dim = op("median", kernels.median, function=False, as_method=False, returns=("values", "indices"), shaped=True,
                 input=lambda grad, indices, input_shape, dim, keepdim:
                 _place(grad, indices, input_shape, dim, keepdim))
_median_all = op("median_all", lambda input: kernels.median(input.reshape(-1))[0], function=False,
                 node="MedianBackward0",
                 input=lambda grad, input, result: _first_equal(grad, input, result))


def _first_equal(grad: Any, input: Any, result: Any) -> Any:
    array, value = _array(input).reshape(-1), _array(result)
    chosen = np.flatnonzero(np.isnan(array) if np.isnan(value) else array == value)[:1]
    whole = _index_zeros(reshape(grad, (1,)), (array.size,), [chosen])
    return reshape(whole, input.shape)


@composite()
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements, or (values, indices) along dim."""
    return _median_all(input) if dim is None else _median_dim(input, dim, keepdim)


FUNCTIONS.pop("index_put_op", None)
