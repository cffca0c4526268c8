"""Picking and placing along a dimension: gather, scatter and index_*, and their reductions
(ATen/native/TensorAdvancedIndexing.cpp, ScatterGather in torch/csrc/autograd/FunctionsManual.cpp)."""

import warnings
from typing import Any

from ..dispatch import Tensor, composite, either, op
from ..kernels import index as kernels
from ..kernels import scatter as reductions
from ..tensor import method
from .elementwise import cast_like, ones_like, where, zeros_like
from .shape import as_strided, reshape, sum_to, zeros

gather = op("gather", kernels.gather,
            input=lambda grad, input, dim, index: _gather_zeros(grad, tuple(input.shape), dim, index))


def _gather_zeros(grad: Any, shape: tuple, dim: int, index: Any) -> Any:
    return scatter_add(zeros(shape, grad), dim, index, grad)


def scatter_into_zeros(grad: Any, dim: int, index: Any, shape: tuple) -> Any:
    """For formulas: zeros of a shape with `grad` placed by index (indices that don't repeat)."""
    return _scatter(zeros(shape, grad), dim, index, grad)


_scatter_number = op("scatter_value", kernels.scatter, inplace=True, function=False, node="ScatterBackward1",
                     inputs=("input",), input=lambda grad, dim, index: _scatter_number(grad, dim, index, 0))
_scatter = op("scatter_src", kernels.scatter, inplace=True, function=False, node="ScatterBackward0",
              inputs=("input", "src"),
              input=lambda grad, dim, index: _scatter_number(grad, dim, index, 0),
              src=lambda grad, dim, index: gather(grad, dim, index))


scatter_add = op("scatter_add", kernels.scatter_add, inplace=True,
                 input=lambda grad: grad,
                 src=lambda grad, dim, index: gather(grad, dim, index))


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
    return (_scatter_number if isinstance(value, (int, float)) else _scatter).in_place(self, dim, index, value)


index_select = op("index_select", kernels.index_select,
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


def _fill(name: str, node: str, **formula: Any) -> Any:
    return op(name, kernels.index_fill, inplace=True, function=False, node=node, inputs=("input", *formula), overlaps=True,
              input=lambda grad, dim, index: _index_fill_number(grad, dim, index, 0), **formula)


_index_fill_number = _fill("index_fill_number", "IndexFillBackward0")
_index_fill_tensor = _fill("index_fill_tensor", "IndexFillBackward1", value=lambda grad, dim, index:
                           sum_to(grad - _index_fill_number(grad, dim, index, 0), ()))
index_fill = either("index_fill", _index_fill_number, _index_fill_tensor, "value", 3,
                    doc="A copy of input whose slices at the indices along dim hold `value` (a number or 0-d tensor).")
put = op("put", reductions.put, inplace=True, inputs=("input", "source"),
         input=lambda grad, index, source_shape, accumulate:
         grad if accumulate else put(grad, index, zeros(source_shape, grad), False),
         source=lambda grad, index, source: reshape(_take(grad, index), source.shape))


def _take(grad: Any, index: Any) -> Any:
    from .index import take

    return take(grad, index)


# ---- several elements into one place ------------------------------------------------------------------------------


def _reduced_slopes(
    grad: Any, input: Any, source: Any, result: Any, reduce: str, include_self: bool, pick: Any, add: Any, clear: Any,
    again: Any,
) -> list:
    """The gradients of `input` and `source`, of which the latter's elements were reduced into the former's places.

    pick(x): what lies at the places of source; add(x, y): y added at its places to x; clear(x): x with zeros at the
    places; again(input, source): the same reduction of other operands."""
    if reduce == "sum":
        for_input, for_source = grad, pick(grad)
    elif reduce == "mean":
        ones, filled = ones_like(grad), ones_like(source)
        number = add(ones if include_self else clear(ones), filled)
        number = where(number == 0, ones, number)
        for_input = grad / number
        for_source = pick(for_input)
    elif reduce == "prod":
        nonzero = where(input == 0, ones_like(input), input)
        for_input = grad * again(nonzero, source) / nonzero
        missing = cast_like(source == 0, source)
        alone = (source == 0) & (pick(add(zeros_like(input), missing)) == 1)  # the only zero of its place
        others = again(input, where(alone, ones_like(source), source))
        divisor = where(source == 0, ones_like(source), source)
        for_source = where(alone, pick(grad * others), pick(grad * result) / divisor)
    else:  # amax, amin: shared evenly among those that attain it
        own, theirs = cast_like(input == result, input), cast_like(source == pick(result), source)
        share = grad / add(own, theirs)
        for_input, for_source = own * share, theirs * pick(share)
    return [for_input if include_self else clear(for_input), for_source]


def _scatter_reduce_slopes(
    grad: Any, needs: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> list:
    if src.shape != index.shape:
        raise RuntimeError(
            f"scatter_reduce: no gradient of an src of {list(src.shape)}, larger than the index of {list(index.shape)}"
        )
    return _reduced_slopes(
        grad, input, src, result, reduce, include_self,
        lambda x: gather(x, dim, index),
        lambda x, y: scatter_add(x, dim, index, y),
        lambda x: _scatter_number(x, dim, index, 0),
        lambda x, y: scatter_reduce(x, dim, index, y, reduce, include_self=include_self),
    )


def _index_reduce_slopes(
    grad: Any, needs: Any, input: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, result: Any
) -> list:
    return _reduced_slopes(
        grad, input, source, result, reduce, include_self,
        lambda x: index_select(x, dim, index),
        lambda x, y: index_add(x, dim, index, y),
        lambda x: _index_fill_number(x, dim, index, 0),
        lambda x, y: index_reduce(x, dim, index, y, reduce, include_self=include_self),
    )


scatter_reduce = op("scatter_reduce", reductions.scatter_reduce, inplace=True, inputs=("input", "src"),
                    joint=_scatter_reduce_slopes)
def _index_reduce(input, dim, index, source, reduce, *, include_self=True):
    warnings.warn("index_reduce() is in beta and the API may change at any time.", UserWarning, stacklevel=2)
    return reductions.index_reduce(input, dim, index, source, reduce, include_self=include_self)


index_reduce = op("index_reduce", _index_reduce, inplace=True, inputs=("input", "source"), joint=_index_reduce_slopes,
                  doc=reductions.index_reduce.__doc__)


@method()
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal, in place; with `wrap`, of a tall matrix again after each square."""
    shape, strides = self._array.shape, self.stride()
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    start, step, length = self.storage_offset(), sum(strides), min(shape)
    as_strided(self, (length,), (step,), start).fill_(fill_value)
    height, width = shape[0], shape[1]
    if wrap and len(shape) == 2 and height > width + 1:
        for top in range(width + 1, height, width + 1):
            n = min(width, height - top)
            as_strided(self, (n,), (step,), start + top * strides[0]).fill_(fill_value)
    return self

