"""Joining, rearranging, copying and casting (ATen/native/{TensorShape,TensorTransformations,TensorConversions}.cpp)."""

import mmap
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..dispatch import FUNCTIONS, Tensor, composite, ndarray, op
from ..kernels import shape as kernels
from ..tensor import channels_last, channels_last_3d, is_channels_last, method, storage_of
from .elementwise import zeros_like
from .shape import _array, expand, flatten, reshape, sizes, slice_, sum_to, unbind, unsqueeze, zeros

# ---- joining ------------------------------------------------------------------------------------------------------


def _cat_kernel(tensors, dim=0):
    return kernels.cat(_same_dtype(tensors), dim)


def _same_dtype(arrays: Any) -> Any:
    first = arrays[0].dtype if len(arrays) else None
    for a in arrays:
        if a.dtype != first:
            target = dtypes.result_dtype(*arrays).numpy
            return [a.astype(target, copy=False) for a in arrays]
    return arrays


cat = op("cat", _cat_kernel, autocast="widest", lists=("tensors",), aliases=("concat", "concatenate"), as_method=False,
         tensors=lambda grad, tensors_shape, dim: _cut(grad, tensors_shape, dim))


def _cut(grad: Any, shapes: list, dim: int) -> list:
    start, parts = 0, []
    for shape in shapes:
        if shape == (0,) and grad.ndim != 1:
            parts.append(zeros((0,), grad))
            continue
        n = shape[dim]
        parts.append(slice_(grad, dim, start, start + n, 1))
        start += n
    return parts


stack = op("stack", lambda tensors, dim=0: kernels.stack(_same_dtype(tensors), dim), lists=("tensors",), autocast="widest",
           as_method=False, tensors=lambda grad, dim: list(unbind(grad, dim)))

# ---- rearranging copies -------------------------------------------------------------------------------------------

_flip = op("flip", kernels.flip, function=False, as_method=False, input=lambda grad, dims: _flip(grad, dims))


@composite()
def flip(input: Any, *args: Any, dims: Any = None) -> Any:
    """The elements in reverse order along dims (a copy)."""
    return _flip(input, sizes(args if dims is None else (dims,)))


@composite()
def fliplr(input: Any) -> Any:
    """Reverse dimension 1."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@composite()
def flipud(input: Any) -> Any:
    """Reverse dimension 0."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


roll = op("roll", kernels.roll, input=lambda grad, shifts, dims: roll(grad, _negated(shifts), dims))


def _negated(shifts: Any) -> Any:
    return -shifts if isinstance(shifts, int) else tuple([-s for s in shifts])


tril = op("tril", kernels.tril, inplace=True, input=lambda grad, diagonal: tril(grad, diagonal))
triu = op("triu", kernels.triu, inplace=True, input=lambda grad, diagonal: triu(grad, diagonal))
_repeat = op("repeat", kernels.repeat, function=False, as_method=False,
             input=lambda grad, input_shape, repeats: _unrepeat(grad, tuple(input_shape), repeats))


def _unrepeat(grad: Any, shape: tuple, repeats: tuple) -> Any:
    from .reduce import sum

    padded = (1,) * (len(repeats) - len(shape)) + shape
    if 0 in repeats:
        return zeros(shape, grad)
    split_shape = [k for r, n in zip(repeats, padded, strict=True) for k in (r, n)]
    grad = reshape(grad, tuple(split_shape))
    return reshape(sum(grad, tuple(range(0, len(split_shape), 2))), shape) if repeats else grad


@method()
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Copies side by side along each dimension."""
    return _repeat(self, sizes(repeats))


@composite()
def tile(input: Any, *args: Any, dims: Any = None) -> Any:
    """repeat, with missing leading repeats taken as 1."""
    dims = sizes(args if dims is None else (dims,))
    return _repeat(input, (1,) * (input.ndim - len(dims)) + dims)


@composite()
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: Any = None) -> Any:
    """Each element (or slice along dim) repeated: as often as an int says, or each its own number of times."""
    from ..tensor import wrap
    from .scatter import index_select

    if repeats is None:
        return wrap(_repeated(_array(input)))
    if dim is None:
        input, dim = flatten(input), 0
    d = kernels.check_dim(dim, input.ndim)
    if input.ndim == 0:
        input = reshape(input, (1,))
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        shape = input.shape
        spread = expand(unsqueeze(input, d + 1), (*shape[: d + 1], repeats, *shape[d + 1 :]))
        return reshape(clone(spread, memory_format="contiguous"), (*shape[:d], shape[d] * repeats, *shape[d + 1 :]))
    counts = _array(repeats)
    if counts.ndim == 0 or counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (input.shape[d],))
    if counts.size != input.shape[d]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({d}) = {input.shape[d]}"
        )
    return index_select(input, d, wrap(_repeated(counts)))


def _repeated(counts: Any) -> Any:
    """0 as often as the first count says, 1 as the second, ..."""
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.dtype.kind not in "iu":
        raise RuntimeError("repeats has to be Long or Int tensor")
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(counts.size), counts)


# ---- copies and casts ---------------------------------------------------------------------------------------------


def _clone_kernel(input, memory_format=None):
    name = getattr(memory_format, "name", memory_format)
    if name in (None, "preserve_format"):
        if 0 in input.strides and input.size:  # overlapping: the copy is contiguous
            return np.array(input, order="C")
        return input.copy("K")
    if name in ("channels_last", "channels_last_3d"):
        return _channels_last(input)
    return np.array(input, order="C")


def _channels_last(array: Any) -> Any:
    order = (0, *range(2, array.ndim), 1)
    back = (0, array.ndim - 1, *range(1, array.ndim - 1))
    return np.array(array.transpose(order), order="C").transpose(back)


_clone = op("clone", _clone_kernel, input=lambda grad: grad)
clone = _clone


@method()
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in order, else a copy that is."""
    if memory_format in (channels_last, channels_last_3d):
        return self if is_channels_last(self._array) else _clone(self, memory_format)
    if self._array.flags.c_contiguous or self._array.size == 0:
        return self
    return _clone(self, "contiguous")


def _to_kernel(input, dtype, device=None, copy=False):
    array = input if device is None else devices.transfer(input, device)
    if dtype is None or array.dtype == dtype.numpy:
        return array.copy("K") if copy or array is input else array
    target = dtype.numpy
    if array.dtype.kind in "fV" and target.kind in "iu":
        return _float_to_integer(array, target)
    return array.astype(target)


def _float_to_integer(array: Any, target: Any) -> Any:
    """As C on this platform: through int32 for the narrower kinds, so that values wrap around. What int32 or int64
    can't hold becomes its lowest number."""
    return array.astype(np.int32).astype(target, copy=False) if target.itemsize <= 4 else array.astype(target)


_to_copy = op("to_copy", _to_kernel, function=False, node="ToCopyBackward0", input=lambda grad: grad)


@method()
def to(
    self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
    memory_format: Any = None, other: Any = None,
) -> Tensor:
    """Convert dtype and device: to(dtype), to(device), to(device, dtype), to(other)."""
    for i, a in enumerate(args):
        if isinstance(a, dtypes.dtype):
            dtype = a
        elif isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, bool):
            if i == len(args) - 1 and i >= 2:
                copy = a
            pass  # non_blocking: every copy is synchronous
        elif a is not None:
            device = a
    if other is not None:
        dtype, device = other.dtype, other.device
    if device is not None:
        device = devices.device(device) if not isinstance(device, devices.device) else device
        here = self.device
        if here.type == device.type and device.index in (None, here.index):
            device = None
        else:
            devices.namespace(device)
    if memory_format in (channels_last, channels_last_3d) and not is_channels_last(self._array):
        return _clone(self if dtype is None else self.to(dtype), memory_format)
    same = dtype is None or self._array.dtype == dtype.numpy
    if same and device is None and not copy:
        return self
    if same and device is None:
        return _clone(self) if not self.requires_grad else _to_copy(self, dtype, device, True)
    return _to_copy(self, dtype, device, copy)


def _casts() -> None:
    for name, d in {**dtypes.ALIASES, "bfloat16": dtypes.bfloat16, "byte": dtypes.uint8, "char": dtypes.int8}.items():

        def cast(self: Tensor, memory_format: Any = None, d: Any = d) -> Tensor:
            return to(self, d)

        cast.__doc__ = f"The tensor as {d}."
        cast.__name__ = name
        method(name)(cast)


_casts()


@method()
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in the CPU's memory."""
    return to(self, "cpu")


@method()
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in a GPU's memory."""
    return to(self, "cuda" if device is None else devices.device(device))


@method("type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type's name ("torch.FloatTensor"), or the tensor cast to a dtype or legacy type."""
    from ..autograd.graph import legacy_name

    if dtype is None:
        return "torch." + legacy_name(self._array)
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removeprefix("cuda.").removesuffix("Tensor")
        if name not in dtypes.LEGACY:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = dtypes.LEGACY[name]
    elif not isinstance(dtype, dtypes.dtype):
        dtype = dtype.dtype  # a legacy constructor such as FloatTensor
    return to(self, dtype)


@method()
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of `other`."""
    return to(self, other)


def _copy_kernel(input, src):
    if src.dtype != input.dtype:
        src = _to_kernel(src, dtypes.of(input))
    return np.broadcast_to(src, np.broadcast_shapes(src.shape, input.shape))


_copy = op("copy", _copy_kernel, inplace=True, function=False, as_method=False, node="CopyBackwards",
           input=lambda grad: zeros_like(grad), src=lambda grad: grad)


@method()
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite with `src` (broadcast, cast to the tensor's dtype and moved to its device)."""
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {src.__class__.__name__}")
    if src is self:
        return self
    return _copy.in_place(self, src)


def _fill_kernel(input, value):
    return np.broadcast_to(_cast_number(value, input), input.shape)


def _fill(name: str, node: str, node_in_place: str, **formula: Any) -> Any:
    return op(name, _fill_kernel, function=False, node=node, inplace={"node": node_in_place}, overlaps=True,
              input=lambda grad: zeros_like(grad), **formula)


_fill_number = _fill("fill_number", "FillBackward0", "FillBackward2")
_fill_tensor = _fill("fill_tensor", "FillBackward1", "FillBackward3", value=lambda grad: sum_to(grad, ()))


@composite()
def fill(input: Any, value: Any) -> Any:
    """A tensor like input with every element `value` (a number or a 0-d tensor)."""
    return (_fill_tensor if isinstance(value, Tensor) else _fill_number)(input, value).clone()


@method()
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element, in place."""
    return (_fill_tensor if isinstance(value, Tensor) else _fill_number).in_place(self, value)


FUNCTIONS["fill_"] = fill_
zero = op("zero", lambda input: np.zeros_like(input), inplace=True, function=False, as_method=False, overlaps=True,
          input=lambda grad: zeros_like(grad))
method("zero_")(zero.in_place)


def _cast_number(value: Any, input: Any) -> Any:
    from ..dispatch import number

    if isinstance(value, (ndarray, np.generic)):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return value.astype(input.dtype)
    if input.dtype.kind in "iu" and isinstance(value, float):
        value = int(value)
    return number(value, input.dtype)

# ---- Python functions, element by element -------------------------------------------------------------------------


def _by_python(name: str, others: int) -> None:
    def call(self: Tensor, *args: Any) -> Tensor:
        *tensors, function = args
        if any(t.requires_grad for t in (self, *tensors)):
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
        if not callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
        arrays = [self._array, *[np.broadcast_to(t._array, self._array.shape) for t in tensors]]
        flat = [a.reshape(-1).tolist() for a in arrays]
        values = [function(*each) for each in zip(*flat, strict=True)]
        self._array[...] = np.array(values, self._array.dtype).reshape(self._array.shape)
        return self

    call.__name__ = name
    call.__doc__ = f"Each element replaced by what a Python function makes of it ({others} further tensors beside it)."
    method(name)(call)


for _name, _others in (("apply_", 0), ("map_", 1), ("map2_", 2)):
    _by_python(_name, _others)


# ---- memory shared with other processes ---------------------------------------------------------------------------


@method()
def share_memory_(self: Tensor) -> Tensor:
    """Move to memory that processes forked from now on share. Views of the old memory stay behind."""
    if not self.is_shared():
        array = self._array
        shared = np.frombuffer(mmap.mmap(-1, max(array.nbytes, 1)), array.dtype, array.size).reshape(array.shape)
        shared[...] = array
        self._array = shared
    return self


@method()
def is_shared(self: Tensor) -> bool:
    """Whether forked processes share the memory."""
    return isinstance(getattr(storage_of(self._array).base, "obj", storage_of(self._array).base), mmap.mmap)
