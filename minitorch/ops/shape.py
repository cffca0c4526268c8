"""Views: other shapes of the same memory, and what changes a shape in place (ATen/native/TensorShape.cpp)."""

from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.grad_mode import thread
from ..autograd.graph import NO_EDGE, gradient_edge
from ..dispatch import FUNCTIONS, Tensor, composite, mismatch, ndarray, op, record
from ..kernels import reductions
from ..kernels import shape as kernels
from ..tensor import address, method, storage_of, strides_of
from .nn_common import underivable


def sizes(args: tuple) -> tuple:
    """`(2, 3)` however it was spelled: f(2, 3), f((2, 3)), f(size=...)."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    return tuple([n if type(n) is int else int(n) for n in args])


# ---- views --------------------------------------------------------------------------------------------------------

_view = op("view_shape", kernels.view, view=True, function=False, node="ViewBackward0",
           input=lambda grad, input_shape: reshape(grad, input_shape))
_unsafe_view = op("unsafe_view", kernels.view, function=False, node="UnsafeViewBackward0",
                  input=lambda grad, input_shape: reshape(grad, input_shape))


@method()
def view(self: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same memory in another shape (or dtype). RuntimeError when the strides cannot express it."""
    if dtype is not None or (shape and isinstance(shape[0], dtypes.dtype)):
        return _view_dtype(self, dtype if dtype is not None else shape[0])
    return _view(self, sizes(shape if size is None else (size,)))


def _view_dtype(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    from ..autograd.views import link
    from ..tensor import wrap

    if dtype is self.dtype:
        return alias(self)
    array = self._array
    if dtype.itemsize != array.itemsize and (array.ndim == 0 or not array.flags.c_contiguous):
        raise RuntimeError(f"self.stride(-1) must be 1 to view {self.dtype} as {dtype} (different element sizes)")
    t = wrap(array.view(dtype.numpy))
    link(t, self)
    return t


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of `other`."""
    return _view(self, other._array.shape)


_reshape_alias = op("reshape_alias", kernels.view, view=True, function=False, node="ReshapeAliasBackward0",
                    input=lambda grad, input_shape: reshape(grad, input_shape))


def _array(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def reshape(input: Any, *args: Any, shape: Any = None) -> Any:
    """The elements in another shape: a view where the strides allow it, else a copy."""
    shape = sizes(args if shape is None else (shape,))
    array = _array(input)
    if not isinstance(input, Tensor):
        return array.reshape(kernels.infer_size(shape, array.size))
    if array.flags.c_contiguous:
        return _view(input, shape)
    target = kernels.infer_size(shape, array.size)
    try:
        array.reshape(target, copy=False)
    except ValueError:
        from .copies import clone

        return _unsafe_view(clone(input, memory_format="contiguous"), target)
    return _reshape_alias(input, target)


FUNCTIONS["reshape"] = reshape
method()(reshape)


@method()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """reshape to the shape of `other`."""
    return reshape(self, other.shape)


@composite()
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions start_dim..end_dim as one."""
    shape = input.shape
    n = len(shape)
    if n == 0:
        return reshape(input, (1,))
    first, last = kernels.check_dim(start_dim, n), kernels.check_dim(end_dim, n)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    length = 1
    for k in shape[first : last + 1]:
        length *= k
    return reshape(input, (*shape[:first], length, *shape[last + 1 :]))


@composite()
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One dimension as several; one of `sizes` may be -1."""
    d = kernels.check_dim(dim, input.ndim)
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = kernels.infer_size(sizes, input.shape[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({input.shape[d]}) in "
            "the input tensor"
        ) from None
    return reshape(input, (*input.shape[:d], *inner, *input.shape[d + 1 :]))


@composite(as_method=False)
def ravel(input: Any) -> Any:
    """One dimension."""
    return reshape(input, (-1,))


method("ravel")(ravel)
transpose = op("transpose", kernels.transpose, view=True, aliases=("swapaxes", "swapdims"),
               input=lambda grad, dim0, dim1: transpose(grad, dim0, dim1))
t = op("t", kernels.t, view=True, input=lambda grad: t(grad))
_permute = op("permute", kernels.permute, view=True, function=False, as_method=False,
              input=lambda grad, dims: _permute(grad, _inverse(dims)))


def _inverse(dims: Any) -> tuple:
    order = [0] * len(dims)
    for i, d in enumerate(dims):
        order[d] = i
    return tuple(order)


@composite()
def permute(input: Any, *args: Any, dims: Any = None) -> Any:
    """The dimensions in another order (a view)."""
    return _permute(input, sizes(args if dims is None else (dims,)))


_expand = op("expand", kernels.expand, view=True, function=False, as_method=False,
             input=lambda grad, input_shape: sum_to(grad, input_shape))


def expand(input: Any, *args: Any, size: Any = None, implicit: bool = False) -> Any:
    """Repeat along dimensions of size 1, without copying."""
    if type(input) is ndarray:
        return kernels.expand(input, *args)
    return _expand(input, sizes(args if size is None else (size,)))


method()(expand)


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """expand to the shape of `other`."""
    return _expand(self, other._array.shape)


def sum_to(input: Any, shape: Any) -> Any:
    """Sum over what expanding from `shape` repeated."""
    shape = tuple(shape)
    if not isinstance(input, Tensor):
        return reductions.sum_to(input, shape)
    if input._array.shape == shape:
        return input
    from .reduce import sum

    have = input._array.shape
    extra = len(have) - len(shape)
    dims = tuple(range(extra)) + tuple([i + extra for i, n in enumerate(shape) if n == 1 and have[i + extra] != 1])
    if dims:
        input = sum(input, dims, True)
    return reshape(input, shape) if extra else input


@method()
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum over dimensions until the shape is `size`; RuntimeError when it cannot be expanded to this shape."""
    size = sizes(size)
    extra = self.ndim - len(size)
    if extra < 0 or any(n not in (1, m) for n, m in zip(size, self.shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    if not self.dtype.is_floating_point and (size != self.shape or not size):
        self = self.long()  # as every sum of integers
    return sum_to(self, size)


_squeeze = op("squeeze_all", lambda input: kernels.squeeze(input), view=True, function=False,
              node="SqueezeBackward0", input=lambda grad, input_shape: reshape(grad, input_shape))
_squeeze_dim = op("squeeze_dim", kernels.squeeze, view=True, function=False, node="SqueezeBackward1",
                  input=lambda grad, input_shape: reshape(grad, input_shape))
_squeeze_dims = op("squeeze_dims", kernels.squeeze, view=True, function=False, node="SqueezeBackward2",
                   input=lambda grad, input_shape: reshape(grad, input_shape))


@composite()
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without the dimensions of size 1 (all, or those named)."""
    if dim is None:
        return _squeeze(input)
    return _squeeze_dim(input, dim) if isinstance(dim, int) else _squeeze_dims(input, tuple(dim))


unsqueeze = op("unsqueeze", kernels.unsqueeze, view=True,
               input=lambda grad, input_shape: reshape(grad, input_shape))


def unsqueeze_dims(input: Any, dims: tuple) -> Any:
    """For formulas: size-1 dimensions at the given positions of the result."""
    if not isinstance(input, Tensor):
        return kernels.unsqueeze_dims(np.asarray(input), dims)
    for d in sorted(dims):
        input = unsqueeze(input, d)
    return input


def squeeze_dims(input: Any, dims: tuple) -> Any:
    """For formulas: without these size-1 dimensions."""
    return input.squeeze(dims) if not isinstance(input, Tensor) else squeeze(input, dims)


# The gradient of a part is zero outside it; each scatter's own gradient is the part again.
def _into_zeros(part: Any, name: str, node: str) -> Any:
    def kernel(grad, input_shape, *where):
        whole = np.zeros(input_shape, grad.dtype)
        part(whole, *where)[...] = grad
        return whole

    return kernel


def _zeros_and_part(name: str, kernel: Any, signature: str, node: str) -> Any:
    """Rows for `select`, `slice`, ...: the view, and the scatter of its gradient into zeros."""
    arguments = signature.split(", ")
    names = ", ".join(a.split("=")[0] for a in arguments)
    scope: dict = {"np": np, "kernel": kernel, "op": op}
    exec(  # noqa: S102  (the argument names decide what is saved, so they must be the operator's own)
        f"def scatter(grad, input_shape, {names}):\n"
        f"    whole = np.zeros(input_shape, grad.dtype)\n"
        f"    kernel(whole, {names})[...] = grad\n"
        f"    return whole\n"
        f"into = op('{name}_backward', scatter, function=False, node='{node}BackwardBackward0',\n"
        f"          grad=lambda grad, {names}: view(grad, {names}))\n"
        f"view = op('{name}', kernel, view=True, function=False, as_method=False, node='{node}Backward0',\n"
        f"          input=lambda grad, input_shape, {names}: into(grad, input_shape, {names}))\n",
        scope,
    )
    return scope["view"]


select = _zeros_and_part("select", kernels.select, "dim, index", "Select")
slice_ = _zeros_and_part("slice_", kernels.slice_, "dim, start, end, step", "Slice")
narrow_ = slice_
diagonal = _zeros_and_part("diagonal", kernels.diagonal, "offset, dim1, dim2", "Diagonal")
composite()(select)
composite()(diagonal)


@composite()
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """The part from `start`, of `length`, along dim (a view)."""
    array = _array(input)
    kernels.narrow(array, dim, start, length)
    n = array.shape[dim]
    start = int(start) + (n if start < 0 else 0)
    return slice_(input, dim, start, start + length, 1)


def geometry(array: Any) -> tuple:
    """(shape, strides, offset), in elements: how an array lies in its storage."""
    return array.shape, strides_of(array), (address(array) - address(storage_of(array))) // array.itemsize


def _strided_kernel(input, size, stride, storage_offset=None, own=None):
    return kernels.as_strided(input, size, stride, storage_offset)


_as_strided = op("as_strided", _strided_kernel, view=True, function=False, as_method=False, inputs=("input",),
                 input=lambda grad, own, size, stride, storage_offset:
                 _scatter_zeros(grad, own, tuple(size), tuple(stride), storage_offset))


@composite()
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """The view of the storage that has this shape, these strides and (by default the input's own) offset."""
    return _as_strided(input, size, stride, storage_offset, geometry(_array(input)))


def _strided_scatter(grad, geometry, size, stride, storage_offset):
    """Zeros of the input's geometry to which the gradient is added at every place that the view showed."""
    shape, strides, offset = geometry
    offset_in = offset if storage_offset is None else storage_offset
    low = min(offset, offset_in)

    def extent(size, stride, offset):
        return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0

    length = max(extent(shape, strides, offset), extent(size, stride, offset_in)) - low
    memory = np.zeros(max(length, 0), grad.dtype)
    if grad.size:
        places = kernels.as_strided(np.arange(len(memory)), size, stride, offset_in - low)
        np.add.at(memory, places, grad)
    if 0 in shape:
        return np.zeros(shape, grad.dtype)
    counts = np.zeros(len(memory), np.int64)
    own = kernels.as_strided(np.arange(len(memory)), shape, strides, offset - low)
    np.add.at(counts, own, 1)
    if counts.max(initial=0) > 1:  # the input itself shows a place more than once: its elements share the gradient
        memory /= np.maximum(counts, 1).astype(memory.dtype)
    return kernels.as_strided(memory, shape, strides, offset - low).copy()


def _strided_gather(grad, geometry, size, stride, storage_offset):
    shape, strides, offset = geometry
    offset_in = offset if storage_offset is None else storage_offset
    low = min(offset, offset_in)

    def extent(size, stride, offset):
        return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0

    memory = np.zeros(max(extent(shape, strides, offset), extent(size, stride, offset_in)) - low, grad.dtype)
    if grad.size:
        kernels.as_strided(memory, shape, strides, offset - low)[...] = grad
    return kernels.as_strided(memory, size, stride, offset_in - low).copy()


_scatter_zeros = op("as_strided_backward", _strided_scatter, function=False,
                    grad=lambda grad, geometry, size, stride, storage_offset:
                    _gather_strided(grad, geometry, size, stride, storage_offset))
_gather_strided = op("as_strided_gather", _strided_gather, function=False,
                     grad=lambda grad, geometry, size, stride, storage_offset:
                     _scatter_zeros(grad, geometry, size, stride, storage_offset))


def as_strided_like_base(grad: Any, shape: Any, strides: Any, view_shape: Any, view_strides: Any, offset: int) -> Any:
    """CopySlices, differentiably: the part of a base's gradient under a view."""
    return _gather_strided(grad, (shape, strides, 0), view_shape, view_strides, offset)


def as_strided_scatter_like_base(
    grad: Any, inside: Any, shape: Any, strides: Any, view_shape: Any, view_strides: Any, offset: int
) -> Any:
    """CopySlices, differentiably: a base's gradient with the part under a view replaced."""
    geometry = (shape, strides, 0)
    part = _gather_strided(grad, geometry, view_shape, view_strides, offset)
    return grad + _scatter_zeros(inside - part, geometry, view_shape, view_strides, offset)


alias = op("alias", lambda input: input[...], view=True, function=False, node="AliasBackward0",
           input=lambda grad: grad)
unfold = op("unfold", kernels.unfold, view=True, function=False, as_method=True,
            input=lambda grad, input_shape, dimension, size, step:
            unfold_backward(grad, input_shape, dimension, size, step))


def _fold(grad, input_shape, dim, size, step):
    whole = np.zeros(input_shape, grad.dtype)
    np.add.at(whole.reshape(-1), kernels.unfold(np.arange(whole.size).reshape(input_shape), dim, size, step), grad)
    return whole


unfold_backward = op("unfold_backward", _fold, function=False,
                     grad=lambda grad, dim, size, step: unfold(grad, dim, size, step))


def _swapped(name: str, doc: str, *dims: int) -> None:
    def get(self: Tensor) -> Tensor:
        if name in ("mT", "mH") and self.ndim < 2:
            raise RuntimeError(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
            )
        return transpose(self, *dims)

    setattr(Tensor, name, property(get, doc=doc))


_swapped("mT", "Matrices transposed.", -2, -1)
_swapped("mH", "Matrices transposed (there are no complex numbers to conjugate).", -2, -1)


def _reversed(self: Tensor) -> Tensor:
    return _permute(self, tuple(range(self.ndim))[::-1])


Tensor.T = property(_reversed, doc="The dimensions in reverse order.")  # type: ignore[attr-defined]
Tensor.H = property(lambda self: transpose(self, 0, 1) if self.ndim == 2 else _reversed(self), doc="A matrix transposed.")  # type: ignore[attr-defined]
Tensor.real = property(lambda self: self, doc="The tensor itself: there are no complex dtypes.")  # type: ignore[attr-defined]


@composite()
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest in their order."""
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    n = input.ndim
    source = tuple([kernels.check_dim(d, n) for d in source])
    destination = tuple([kernels.check_dim(d, n) for d in destination])
    for name, dims in (("source", source), ("destination", destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if n == 0:
        return input if not isinstance(input, Tensor) else alias(input)
    order = [d for d in range(n) if d not in source]
    for d, s in sorted(zip(destination, source, strict=True)):
        order.insert(d, s)
    return _permute(input, tuple(order))


FUNCTIONS["moveaxis"] = movedim
method("moveaxis")(movedim)

# ---- several views ------------------------------------------------------------------------------------------------


def _rejoin(grads: Any, like: Any, lengths: Any, dim: int) -> Any:
    """The gradients of the parts side by side, zeros where a part has none."""
    from .copies import cat

    known = next(g for g in grads if g is not None)
    shape = list(like)
    parts = []
    for g, n in zip(grads, lengths, strict=True):
        if g is None:
            part_shape = list(shape)
            part_shape[dim] = n
            g = zeros(tuple(part_shape), known)
        parts.append(g)
    return cat(parts, dim)


def zeros(shape: tuple, like: Any) -> Any:
    """For formulas: zeros in the dtype (and kind) of `like`."""
    array = np.zeros(shape, _array(like).dtype)
    if isinstance(like, Tensor):
        result = object.__new__(Tensor)
        result._array = array
        return result
    return array


_split = op("split_equal", kernels.split, view=True, function=False, node="SplitBackward0",
            input=lambda grads, input_shape, split_size, dim: _rejoin(
                grads, input_shape,
                [_chunk(input_shape[dim], split_size, i) for i in range(len(grads))], dim))


def _chunk(total: int, size: int, i: int) -> int:
    return min(size, total - i * size) if size else 0


_split_sizes = op("split_with_sizes", kernels.split_with_sizes, view=True,
                  input=lambda grads, input_shape, split_sizes, dim: _rejoin(
                      grads, input_shape, split_sizes, dim))


@composite()
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Views of equal size (the last may be smaller), or of the sizes listed, along dim."""
    if isinstance(split_size_or_sections, (tuple, list)):
        return _split_sizes(tensor, tuple(split_size_or_sections), dim)
    return _split(tensor, int(split_size_or_sections), dim)


@composite()
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """At most `chunks` views of equal size (the last may be smaller)."""
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.shape[kernels.check_dim(dim, input.ndim)]
    size = (n + chunks - 1) // chunks
    if size == 0:
        return _split_sizes(input, (0,) * chunks, dim)
    return _split(input, size, dim)


@composite()
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    """Views cut at the indices, or into sections whose sizes differ by one at most."""
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = input.shape[kernels.check_dim(dim, input.ndim)]
    where = indices_or_sections.tolist() if hasattr(indices_or_sections, "tolist") else indices_or_sections
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        base, extra = divmod(n, where)
        cuts = [i * base + min(i, extra) for i in range(1, where)]
    else:
        cuts = list(where)
    edges = [0, *cuts, n]
    return tuple([slice_(input, dim, a, b if i < len(cuts) else n, 1)
                  for i, (a, b) in enumerate(zip(edges[:-1], edges[1:], strict=True))])


def _restack(grads: Any, shape: Any, dim: int) -> Any:
    """The gradients of the slices in their places, zeros for a slice that has none."""
    from .copies import stack

    known = next(g for g in grads if g is not None)
    rest = tuple([n for i, n in enumerate(shape) if i != dim % len(shape)])
    return stack([zeros(rest, known) if g is None else g for g in grads], dim)


unbind = op("unbind", kernels.unbind, view=True,
            input=lambda grads, input_shape, dim: _restack(grads, input_shape, dim))


@method()
def __iter__(self: Tensor) -> Any:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


# ---- the shape changed in place ---------------------------------------------------------------------------------


def _reshaped_in_place(name: str, choose: Any) -> None:
    """`t_` and its like: the tensor itself takes the geometry that the view would have."""

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        from ..autograd.views import reshape_in_place

        return reshape_in_place(self, *choose(*args, **kwargs))

    in_place.__name__ = name
    in_place.__doc__ = f"{name.rstrip('_')}, in place: the same memory, the tensor's own geometry changed."
    method()(in_place)


def _inplace_node(row: Any, name: str) -> Any:
    """The same row under the node name that torch gives its in-place form."""
    return builtins_type(name, (row.row.node,), {})


builtins_type = __builtins__["type"] if isinstance(__builtins__, dict) else __builtins__.type
_T1 = _inplace_node(t, "TBackward1")
_UNSQUEEZE1 = _inplace_node(unsqueeze, "UnsqueezeBackward1")
_TRANSPOSE1 = _inplace_node(transpose, "TransposeBackward1")
_SQUEEZE3, _SQUEEZE4 = _inplace_node(_squeeze, "SqueezeBackward3"), _inplace_node(_squeeze_dim, "SqueezeBackward4")
_AS_STRIDED1 = _inplace_node(_as_strided, "AsStridedBackward1")
_SQUEEZE5 = _inplace_node(_squeeze_dims, "SqueezeBackward5")
_reshaped_in_place("t_", lambda: (t, _T1, ()))
_reshaped_in_place("unsqueeze_", lambda dim: (unsqueeze, _UNSQUEEZE1, (dim,)))
for _name in ("transpose_", "swapaxes_", "swapdims_"):
    _reshaped_in_place(_name, lambda dim0, dim1: (transpose, _TRANSPOSE1, (dim0, dim1)))
_reshaped_in_place(
    "squeeze_",
    lambda dim=None: (_squeeze, _SQUEEZE3, ()) if dim is None
    else (_squeeze_dim, _SQUEEZE4, (dim,)) if isinstance(dim, int) else (_squeeze_dims, _SQUEEZE5, (tuple(dim),)),
)


@method()
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """as_strided, in place: the same memory, the tensor's own geometry changed."""
    from ..autograd.views import reshape_in_place

    args = (size, stride, storage_offset, geometry(self._array))
    return reshape_in_place(self, _as_strided, _AS_STRIDED1, args)


@method()
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place; the memory grows (its new part is zero) or is kept."""
    shape = sizes(size)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if size and isinstance(size[0], float):
        raise TypeError("resize_(): argument 'size' (position 1) must be tuple of ints, not float")
    count = int(np.prod(shape, dtype=np.int64))
    old = np.ascontiguousarray(self._array).reshape(-1)
    self._bump()
    memory = old if count <= old.size else np.concatenate([old, np.zeros(count - old.size, old.dtype)])
    self._array = memory[:count].reshape(shape)
    return self


@method()
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """resize_ to the shape of another tensor."""
    return resize_(self, tuple(the_template.shape), memory_format=memory_format)


@method()
def set_(self: Tensor, source: Any = None) -> Tensor:
    """Take over the memory and the shape of `source`."""
    from ..autograd.views import check_inplace, rebase

    check_inplace(self, False)
    before = gradient_edge(self)
    self._array = np.empty((0,), self._array.dtype) if source is None else source._array
    self._bump()
    if before is not NO_EDGE and thread.grad:
        edges = (before,) if source is None else (before, gradient_edge(source))
        rebase(self, record(_set.row, [self, source], edges, (self._array,)))
    return self


_set = op("set", lambda input, source=None: source, function=False, as_method=False, node="NotImplemented",
          input=underivable("set_"))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that all of the shapes broadcast to; RuntimeError when there is none."""
    from ..tensor import Size

    try:
        return Size(np.broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape: "
            + " and ".join(str(list(s)) for s in shapes)
        ) from None


FUNCTIONS["broadcast_shapes"] = broadcast_shapes


@composite()
def broadcast_to(input: Any, size: Any) -> Any:
    """expand."""
    return expand(input, tuple(size))


@composite(as_method=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """All expanded to their common shape."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shapes = [tuple(x.shape) for x in tensors]
    wrong = mismatch(shapes)
    if wrong is not None:
        raise wrong
    return tuple([expand(x, tuple(broadcast_shapes(*shapes))) for x in tensors])
