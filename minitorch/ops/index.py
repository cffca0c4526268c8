"""By index: `x[...]` and its assignment, masks, sorting (ATen/native/TensorAdvancedIndexing.cpp,
torch/csrc/autograd/python_variable_indexing.cpp)."""

from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.grad_mode import door, thread
from ..autograd.views import link, refresh
from ..dispatch import FUNCTIONS, Tensor, composite, either, ndarray, new, op
from ..kernels import index as kernels
from ..kernels.shape import check_dim
from ..tensor import method, wrap
from .copies import cat, copy_, fill_
from .elementwise import where, zeros_like
from .reduce import share_evenly
from .scatter import gather, scatter_into_zeros
from .shape import alias, expand, reshape, select, slice_, sum_to, unsqueeze, unsqueeze_dims, zeros

# ---- advanced indexing --------------------------------------------------------------------------------------------

_index = op("index", kernels.index, function=False, as_method=False, lists=("indices",), inputs=("input",),
            input=lambda grad, input_shape, indices: _index_zeros(grad, tuple(input_shape), indices))
_index_zeros = op("index_backward", kernels.index_zeros, function=False, node="IndexPutBackward0", lists=("indices",),
                  inputs=("grad",),
                  grad=lambda grad, indices: _index(grad, indices))
# the commonest case, one index, goes the short way through the door
_index_first = op("index_first", lambda input, index: kernels.index(input, [index]), function=False, as_method=False,
                  inputs=("input",), node="IndexBackward0",
                  input=lambda grad, input_shape, index: _index_zeros(grad, tuple(input_shape), [index]))
_index_put = op("index_put_op", kernels.index_put, inplace=True, function=False, as_method=False,
                node="IndexPutBackward0", inputs=("input", "values"), lists=("indices",), overlaps=True,
                input=lambda grad, indices, accumulate: grad if accumulate else _cleared(grad, indices),
                values=lambda grad, indices: _index(grad, indices))


def _cleared(grad: Any, indices: Any) -> Any:
    zero = zeros((), grad)
    return _index_put(grad, indices, zero, False)


def _as_index(x: Any) -> Any:
    """An index of integers or booleans: an array, or the Tensor itself, whose later writes the node must notice."""
    array = x._array if isinstance(x, Tensor) else np.asarray(x)
    if array.size == 0 and not isinstance(x, (Tensor, ndarray)):
        array = array.astype(np.int64)
    if array.dtype == np.uint8:
        return array.astype(bool)
    if array.dtype == bool:
        return x if isinstance(x, Tensor) else array
    if array.dtype.kind not in "iu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return x if isinstance(x, Tensor) else array


def _is_mask(index: Any) -> bool:
    return index is not None and (index._array if isinstance(index, Tensor) else index).dtype.kind == "b"


def _check_masks(indices: list, shape: tuple) -> list:
    """The indices; IndexError for a mask that is not of the shape of the dimensions that it covers."""
    covered = 0
    for i in indices:
        if _is_mask(i):
            for k in range(i.ndim):
                d = covered + k
                if d >= len(shape) or i.shape[k] != shape[d]:
                    raise IndexError(
                        f"The shape of the mask {list(i.shape)} at index {k} does not match the shape of the indexed "
                        f"tensor {list(shape)} at index {d}"
                    )
        covered += i.ndim if _is_mask(i) and i.ndim else 1
    return indices


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
            if index.ndim == 0 and not _is_mask(index):
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
            dim += index.ndim if _is_mask(index) else 1
    if not advanced:
        return x, None
    return x, _check_masks(_align(advanced), x._array.shape)


def _align(advanced: list) -> list:
    """Masks cover several dimensions: drop the placeholders that counted them."""
    aligned: list = []
    covered = 0
    for i in advanced:
        if i is None and covered:
            covered -= 1
            continue
        aligned.append(i)
        covered = i.ndim - 1 if _is_mask(i) and i.ndim else 0
    return aligned


def _bound(x: Any) -> Any:
    return x if x is None or type(x) is int else x.__index__()


_INT = {int}


def _plain_part(self: Tensor, key: Any) -> Tensor | None:
    """The short way: numbers or one plain slice, nothing to record. None where it does not apply, or fails."""
    kind = type(key)
    if kind is int or kind is np.int64 or (kind is slice and key.step is None):
        index = (key, ...)  # with the dots NumPy gives a view always, never a number
    elif kind is tuple and set(map(type, key)) == _INT:
        index = (*key, ...)
    else:
        return None
    if door.special:
        return None
    if self._base is not None:
        refresh(self)
    if self._requires_grad and thread.grad:
        return None
    try:
        array = self._array[index]
    except (IndexError, TypeError):
        return None
    view = new(Tensor)
    view._array = array
    link(view, self)
    return view


@method("__getitem__")
def getitem(self: Tensor, key: Any) -> Tensor:
    """Basic indices give views; index tensors, lists and masks copies."""
    part = _plain_part(self, key)
    if part is not None:
        return part
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
        return _index(view, advanced) if len(advanced) > 1 else _index_first(view, advanced[0])
    return alias(self) if view is self else view


@method("__setitem__")
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Write at an index: through a view, or by index_put_."""
    view, advanced = resolve(self, key)
    given_number = not isinstance(value, Tensor)
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
        if given_number and value._array.dtype != view._array.dtype:
            value = value.to(view.dtype)
        indices, shape = _checked(view, advanced, value), _without_leading_ones(value._array.shape)
        value = value if shape == value._array.shape else reshape(value, shape)
        _index_put.in_place(view, indices, value, False)
    elif value._array.shape == view._array.shape:
        copy_(view, value)
    elif value._array.ndim == 0:
        fill_(view, value)
    else:
        value = reshape(value, _without_leading_ones(value._array.shape))
        copy_(view, value if value._array.shape == view._array.shape else expand(value, view._array.shape))


def _without_leading_ones(shape: tuple) -> tuple:
    """Leading dimensions of size 1 of an assigned value don't count."""
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]


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
    return _index_put.in_place(self, _checked(self, indices, values), values, accumulate)


def _checked(input: Any, indices: Any, values: Any) -> list:
    if isinstance(input, Tensor) and isinstance(values, Tensor) and input.dtype is not values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {_name(input)} for the destination and "
            f"{_name(values)} for the source."
        )
    return _check_masks([None if i is None else _as_index(i) for i in indices], input.shape)


def _name(t: Tensor) -> str:
    from ..dispatch import legacy_scalar

    return legacy_scalar(t.dtype)


# ---- masks --------------------------------------------------------------------------------------------------------

_masked_fill = op("masked_fill_op", kernels.masked_fill, inplace=True, function=False, overlaps=True,
                  node="MaskedFillBackward0", inputs=("input",),
                  input=lambda grad, mask: where(mask, zeros_like(grad), grad))
_masked_fill_tensor = op("masked_fill_tensor", kernels.masked_fill, inplace=True, function=False, overlaps=True,
                         node="MaskedFillBackward1", inputs=("input", "value"),
                         input=lambda grad, mask: where(mask, zeros_like(grad), grad),
                         value=lambda grad, mask: where(mask, grad, zeros_like(grad)))


masked_fill = either("masked_fill", _masked_fill, _masked_fill_tensor, "value", 2,
                     doc="input with `value` (a number or 0-d tensor) where the mask is true.")


masked_select = op("masked_select", kernels.masked_select,
                   input=lambda grad, input, mask: _masked_zeros(grad, tuple(input.shape), mask))


def _masked_zeros(grad: Any, shape: tuple, mask: Any) -> Any:
    array = mask._array if isinstance(mask, Tensor) else mask
    whole = np.broadcast_shapes(shape, array.shape)
    if not whole:
        return sum_to(grad, ())
    return sum_to(_index_zeros(grad, whole, list(np.nonzero(np.broadcast_to(array, whole)))), shape)


def _masked_scatter(input, mask, source):
    if mask.dtype != bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtypes.of(mask)}")
    if source.dtype != input.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got "
                           f"{dtypes.of(input)} and {dtypes.of(source)}")
    shape = np.broadcast_shapes(input.shape, mask.shape)
    out, chosen = np.array(np.broadcast_to(input, shape)), np.broadcast_to(mask, shape)
    count = np.count_nonzero(chosen)
    if source.size < count:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes and enough elements in source")
    out[chosen] = source.reshape(-1)[:count]
    return out


masked_scatter = op("masked_scatter", _masked_scatter, inplace=True, inputs=("input", "source"),
                    input=lambda grad, mask: masked_fill(grad, mask, 0),
                    source=lambda grad, mask, source_shape: _first_elements(masked_select(grad, mask), source_shape))


def _first_elements(grad: Any, shape: tuple) -> Any:
    """The gradient of the elements of `source` that were used, which are its first: zeros for the rest."""
    rest = zeros((count_of(shape) - grad.shape[0],), grad)
    return reshape(cat([grad, rest], 0), shape)


take = op("take", kernels.take,
          input=lambda grad, input, index:
          reshape(_index_zeros(reshape(grad, (-1,)), (count_of(input.shape),), [_array(index).reshape(-1)]), input.shape))



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
    indices = where(indices < 0, indices + input.shape[d], indices)
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


def _sorted(name: str, node: str) -> Any:
    return op(name, kernels.sort, function=False, as_method=False, returns=("values", "indices"), node=node,
              input=lambda grad, indices, input_shape, dim: _place(grad, indices, input_shape, dim))


_sort, _sort_stable = _sorted("sort", "SortBackward0"), _sorted("sort_stable", "SortBackward1")
_sort_stable.row.tuple_type = _sort.row.tuple_type


@composite()
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    """(values, indices) in order along dim; NaN counts as the largest."""
    return (_sort if stable is None else _sort_stable)(input, dim, descending, bool(stable))


@composite()
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The indices that sort along dim."""
    return _sort(input, dim, descending, stable)[1]


topk = op("topk", kernels.topk, returns=("values", "indices"),
          input=lambda grad, indices, input_shape, dim: _place(grad, indices, input_shape, dim))
kthvalue = op("kthvalue", kernels.kthvalue, returns=("values", "indices"),
              input=lambda grad, indices, input_shape, dim, keepdim:
              _place(grad, indices, input_shape, dim, keepdim))
_median_dim = op("median", kernels.median, node="MedianBackward1", function=False, as_method=False,
                 returns=("values", "indices"),
                 input=lambda grad, indices, input_shape, dim, keepdim:
                 _place(grad, indices, input_shape, dim, keepdim))
_median_all = op("median_all", lambda input: kernels.median(input.reshape(-1))[0], function=False,
                 node="MedianBackward0",
                 input=lambda grad, input, result: share_evenly(grad, input, result))


@composite()
def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements, or (values, indices) along dim."""
    return _median_all(input) if dim is None else _median_dim(input, dim, keepdim)


FUNCTIONS.pop("index_put_op", None)
