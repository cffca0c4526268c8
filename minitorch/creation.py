"""Tensors made from sizes and numbers: zeros, ones, full, arange, ... (ATen/native/TensorFactories.cpp).

Three families share their options: `zeros(2, 3)` takes everything from its arguments, `zeros_like(t)` what is not
given from `t`, and `t.new_zeros(2, 3)` dtype and device from `t`. `factory` adds torch's options to each of them.
"""

import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import devices, dtypes
from .autograd.grad_mode import thread
from .dispatch import FUNCTIONS
from .kernels import ranges
from .kernels.shape import as_strided
from .output import legacy_scalar, refuse_gradient, resize_out
from .tensor import Tensor, method, strided, wrap

_PYTHON_TYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_}
_C_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t", "float32": "float",
    "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
}

# the smallest and the largest number of each dtype
LIMITS: dict = {dtypes.bool_: (0, 1)}
for _d in dtypes.ALL[:-1]:
    _info: Any = dtypes.finfo(_d) if _d.is_floating_point else dtypes.iinfo(_d)
    LIMITS[_d] = (_info.min, _info.max)


# ---- arguments ----------------------------------------------------------------------------------------------------


def size_of(name: str, size: tuple) -> tuple[int, ...]:
    """The shape given as `f(2, 3)`, `f((2, 3))` or `f([2, 3])`. TypeError and RuntimeError in torch's words."""
    spread = len(size) != 1 or not isinstance(size[0], (tuple, list))
    if not spread:
        size = tuple(size[0])
    if not size and spread:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    shape = []
    for i, n in enumerate(size):
        if type(n) is not int:
            if isinstance(n, (bool, np.ndarray)):
                _no_size(name, n, i, spread)
            try:
                n = operator.index(n)
            except TypeError:
                _no_size(name, n, i, spread)
        if n < 0:
            if name == "zeros":
                raise RuntimeError("zeros: Dimension size must be non-negative.")
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
        shape.append(n)
    return tuple(shape)


def _no_size(name: str, n: Any, i: int, spread: bool) -> Any:
    kind = type(n).__name__
    if i:
        raise TypeError(
            f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error "
            f'"type must be tuple of ints,but got {kind}"'
        )
    found = f"not {kind}" if spread else f"but found element of type {kind} at pos 0"
    raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, {found}")


def strict_size(name: str, size: Any) -> tuple[int, ...]:
    """A shape that must be given as a tuple or list."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    return size_of(name, (size,))


def dtype_of(name: str, dtype: Any, default: dtypes.dtype | None = None) -> dtypes.dtype:
    """The dtype asked for, also by a Python type; `default`, or the default dtype, for None."""
    if isinstance(dtype, dtypes.dtype):
        return dtype
    if dtype is None:
        return default or dtypes.get_default_dtype()
    found = _PYTHON_TYPES.get(dtype) if isinstance(dtype, type) else None
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return found


def number_of(name: str, argument: str, position: int, value: Any) -> Any:
    """A Python number; also from a NumPy scalar or a tensor of one element."""
    if isinstance(value, Tensor) and value.ndim == 0:
        value = value.detach().item()
    if isinstance(value, (bool, int, float)):
        if type(value) is int and not -(1 << 63) <= value < 1 << 64:
            raise OverflowError("int too big to convert")
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, complex):
        raise TypeError(f"{name}(): minitorch has no complex dtypes, but argument '{argument}' is complex")
    raise TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be Number, not {type(value).__name__}"
    )


def int_of(name: str, argument: str, position: int, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be int, not {type(value).__name__}"
        ) from None


def fitting(value: Any, dtype: dtypes.dtype, c_name: bool = True) -> Any:
    """A number as the dtype holds it: floats lose their fraction in integers, -1 becomes 255 in uint8.

    RuntimeError, in torch's words, for a number beyond the dtype's range."""
    if dtype is dtypes.bool_:
        return bool(value)
    low, high = LIMITS[dtype]
    if dtype.is_floating_point:
        fits = not math.isfinite(value) or abs(value) <= high
    elif not math.isfinite(value):
        fits = False
    else:
        value = int(value)
        fits = (low if dtype.is_signed else -high) <= value <= high
        value = value + high + 1 if fits and value < low else value
    if not fits:
        name = _C_NAMES[dtype.name] if c_name else dtype.name
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return value


def check_options(name: str, layout: Any, pin_memory: Any) -> None:
    if layout is not None and layout is not strided:
        if type(layout) is not type(strided):
            raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
        raise NotImplementedError(f"{name}(): minitorch has the strided layout only, not {layout}")
    if pin_memory:
        raise RuntimeError(f"{name}(): minitorch has no pinned memory; leave out pin_memory=True")


# ---- what all of them do ------------------------------------------------------------------------------------------


def factory(f: Callable | None = None, *, name: str = "", as_method: bool = False) -> Callable:
    """Decorator: `f` makes the array for a new tensor from its own arguments, `dtype` (None: not given) and `device`.

    What it becomes, a function of the package or (as_method) a method of Tensor, also takes `out`, `requires_grad`,
    `layout` and `pin_memory`; the last two only where they ask for nothing special."""
    if f is None:
        return functools.partial(factory, name=name, as_method=as_method)
    name = name or f.__name__
    f.__name__ = f.__qualname__ = name  # which Python names when arguments are missing

    @functools.wraps(f)
    def create(
        *args: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False,
        requires_grad: Any = False, **kwargs: Any,
    ) -> Tensor:
        if layout is not None or pin_memory:
            check_options(name, layout, pin_memory)
        if dtype is not None and type(dtype) is not dtypes.dtype:
            dtype = dtype_of(name, dtype)
        if out is not None:
            dtype = _dtype_of_out(name, out, dtype)
        array = f(*args, dtype=dtype, device=device, **kwargs)
        return finish(name, array, requires_grad) if out is None else _fill(out, array, name)

    create.__module__ = "minitorch"
    if as_method:
        return method(name)(create)
    FUNCTIONS[name] = create
    return create


def on(device: Any, make: Callable) -> Any:
    """What `make` makes of the array library of a device, in that device's memory. None: the default device."""
    library = devices.namespace(device)
    if library is np:
        return make(np)
    where = devices.get_default_device() if device is None else devices.device(device)
    with library.cuda.Device(where.index or 0):
        return make(library)


def finish(name: str, array: Any, requires_grad: Any = False) -> Tensor:
    """The new tensor around an array."""
    t = wrap(array)
    if requires_grad is not False:
        if type(requires_grad) is not bool:
            raise TypeError(f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        if array.dtype.kind not in "fV":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t._requires_grad = True
    if thread.inference:
        t._inference = True
    return t


def _dtype_of_out(name: str, out: Any, dtype: dtypes.dtype | None) -> dtypes.dtype:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(
            f"dtype {legacy_scalar(dtype)} does not match dtype of out parameter ({legacy_scalar(out.dtype)})"
        )
    return out.dtype


def _fill(out: Tensor, array: Any, name: str) -> Tensor:
    refuse_gradient(out, name)
    if name == "arange" and out._array.size not in (0, array.size):
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out._array.size} which does not "
            f"match the computed number of elements {array.size}. Note that this may occur as a result of rounding error. "
            f"The out tensor will be resized to a tensor of shape ({array.size},).",
            UserWarning,
            stacklevel=3,
        )
    resize_out(out, array.shape, False)
    if out._array.shape == array.shape:
        out._array[...] = array
    else:
        out._array = array
    out._bump()
    return out


# ---- without contents, or all zeros or ones -----------------------------------------------------------------------


def _channels_last(array: Any, name: str) -> Any:
    """A new contiguous array with its dimensions reordered in memory; what it contains does not matter yet."""
    rank = 5 if name == "channels_last_3d" else 4
    if array.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {name} format")
    shape = array.shape
    return array.reshape(shape[0], *shape[2:], shape[1]).transpose(0, rank - 1, *range(1, rank - 1))


def array_like(name: str, input: Any, dtype: Any, device: Any, memory_format: Any = None) -> Any:
    """An empty array for `name(input)`: dimensions keep their order in memory, unless a memory format is asked for."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    like = input._array
    shape, numpy = like.shape, like.dtype if dtype is None else dtype.numpy
    order = getattr(memory_format, "name", "preserve_format")
    if order == "preserve_format" and not like.flags.c_contiguous and 0 not in like.strides:
        dims = sorted(range(like.ndim), key=lambda d: -like.strides[d])
        array = on(device or input.device, lambda library: library.empty([shape[d] for d in dims], numpy))
        return array.transpose(np.argsort(dims))
    array = on(device or input.device, lambda library: library.empty(shape, numpy))
    return _channels_last(array, order) if order.startswith("channels_last") else array


def _family(name: str, value: int | None, what: str) -> None:
    """`zeros`, `zeros_like` and `new_zeros`; likewise `ones` and (value None) `empty`."""

    @factory(name=name)
    def create(*size: Any, dtype: Any, device: Any, memory_format: Any = None, **keyword: Any) -> Any:
        shape = size_of(name, (_size_keyword(name, size, keyword),) if keyword else size)
        array = on(device, lambda library: getattr(library, name)(shape, (dtype or dtypes.get_default_dtype()).numpy))
        order = getattr(memory_format, "name", "contiguous_format")
        if order == "preserve_format":
            raise RuntimeError("unsupported memory format Preserve")
        return _channels_last(array, order) if order != "contiguous_format" else array

    @factory(name=f"{name}_like")
    def like(input: Any, *, dtype: Any, device: Any, memory_format: Any = None) -> Any:
        array = array_like(f"{name}_like", input, dtype, device, memory_format)
        if value is not None:
            array.fill(value)
        return array

    @factory(name=f"new_{name}", as_method=True)
    def new(self: Tensor, *size: Any, dtype: Any, device: Any, **keyword: Any) -> Any:
        shape = size_of(f"new_{name}", (_size_keyword(f"new_{name}", size, keyword),) if keyword else size)
        numpy = self._array.dtype if dtype is None else dtype.numpy
        return on(device or self.device, lambda library: getattr(library, name)(shape, numpy))

    create.__doc__ = f"A tensor of the given shape, {what}."
    like.__doc__ = f"A tensor of the shape, dtype, device and memory order of `input`, {what}."
    new.__doc__ = f"A tensor of the given shape in this tensor's dtype and on its device, {what}."


def _size_keyword(name: str, size: tuple, keyword: dict) -> Any:
    unknown = next((key for key in keyword if key != "size"), None)
    if unknown is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    if size:
        raise TypeError(f"{name}() got multiple values for argument 'size'")
    return keyword["size"]


_family("empty", None, "with whatever the memory held")
_family("zeros", 0, "all zeros")
_family("ones", 1, "all ones")


@factory
def empty_strided(size: Any, stride: Any, *, dtype: Any, device: Any) -> Any:
    """A tensor of the given shape and strides (in elements), with whatever the memory held."""
    return _strided("empty_strided", size, stride, dtype or dtypes.get_default_dtype(), device)


@factory(as_method=True)
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any, device: Any) -> Any:
    """`empty_strided` in this tensor's dtype and on its device."""
    return _strided("new_empty_strided", size, stride, dtype or self.dtype, device or self.device)


def _strided(name: str, size: Any, stride: Any, dtype: Any, device: Any) -> Any:
    shape, strides = strict_size(name, size), tuple(stride)
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}")
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    memory = on(device, lambda library: library.empty(extent, dtype.numpy))
    return as_strided(memory, shape, strides, 0)


@factory
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any, device: Any) -> Any:
    """A tensor whose dimensions lie in memory in the order `physical_layout`, outermost first."""
    shape, order = strict_size("empty_permuted", size), tuple(physical_layout)
    if len(order) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for d in order:
        if not 0 <= d < len(shape):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d})")
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    numpy = (dtype or dtypes.get_default_dtype()).numpy
    return on(device, lambda library: library.empty([shape[d] for d in order], numpy)).transpose(np.argsort(order))


# ---- filled with numbers ------------------------------------------------------------------------------------------


@factory
def full(size: Any, fill_value: Any, *, dtype: Any, device: Any) -> Any:
    """A tensor of shape `size` filled with one number, which also decides the dtype unless that is given."""
    shape = strict_size("full", size)
    value = number_of("full", "fill_value", 2, fill_value)
    dtype = dtype or dtypes.of_number(value)
    return on(device, lambda library: library.full(shape, fitting(value, dtype), dtype.numpy))


@factory
def full_like(input: Any, fill_value: Any, *, dtype: Any, device: Any, memory_format: Any = None) -> Any:
    """A tensor like `input` filled with one number."""
    array = array_like("full_like", input, dtype, device, memory_format)
    array.fill(fitting(number_of("full_like", "fill_value", 2, fill_value), dtypes.of(array)))
    return array


@factory(as_method=True)
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any, device: Any) -> Any:
    """A tensor of shape `size` in this tensor's dtype and on its device, filled with one number."""
    shape, dtype = strict_size("new_full", size), dtype or self.dtype
    value = fitting(number_of("new_full", "fill_value", 2, fill_value), dtype)
    return on(device or self.device, lambda library: library.full(shape, value, dtype.numpy))


@factory
def scalar_tensor(s: Any, *, dtype: Any, device: Any) -> Any:
    """A number as a 0-d tensor of the default dtype."""
    dtype = dtype or dtypes.get_default_dtype()
    value = fitting(number_of("scalar_tensor", "s", 1, s), dtype)
    return on(device, lambda library: library.full((), value, dtype.numpy))


@factory
def eye(n: Any, m: Any = None, *, dtype: Any, device: Any) -> Any:
    """The identity matrix of `n` rows and `m` (or `n`) columns."""
    n = int_of("eye", "n", 1, n)
    m = n if m is None else int_of("eye", "m", 2, m)
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return on(device, lambda library: library.eye(n, m, dtype=(dtype or dtypes.get_default_dtype()).numpy))


def _triangle(name: str, lower: bool, side: str) -> None:
    @factory(name=name)
    def indices(row: Any, col: Any, offset: Any = 0, *, dtype: Any, device: Any) -> Any:
        for argument, value in (("row", row), ("col", col)):
            if value < 0:
                raise RuntimeError(f"{argument} must be non-negative, got{value}")
        if dtype not in (None, dtypes.int32, dtypes.int64):
            raise NotImplementedError(f"\"{name}\" not implemented for '{legacy_scalar(dtype)}'")
        mask = np.tri(row, col, offset if lower else offset - 1, dtype=bool)
        array = np.stack(np.nonzero(mask if lower else ~mask)).astype((dtype or dtypes.int64).numpy)
        return on(device, lambda library: library.asarray(array))

    indices.__doc__ = f"{side} the diagonal of a (row, col) matrix: the row and column numbers, int64 (2, n)."


_triangle("tril_indices", True, "On and below")
_triangle("triu_indices", False, "On and above")


# ---- ranges -------------------------------------------------------------------------------------------------------


def _range(name: str, start: Any, end: Any, step: Any, dtype: Any, device: Any, inclusive: bool = False) -> Any:
    integral = not inclusive and not any(isinstance(x, float) for x in (start, end, step))
    dtype = dtype or (dtypes.int64 if integral else dtypes.get_default_dtype())
    if dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is dtypes.int64:  # (of the integer dtypes only this one counts its steps in integers)
        if not integral or max(start, end, step) >> 63 or min(start, end, step) < -(1 << 63):
            start, end, step = (fitting(x, dtype) for x in (start, end, step))
        integral = not inclusive
        if not step:
            raise ValueError("step must be nonzero")
    if inclusive:
        n = math.floor((end - start) / step) + 1
    elif integral:
        n = -((start - end) // step)
    else:
        n = math.ceil((float(end) - float(start)) / float(step))
    array = ranges.arange(start, step, n, dtype.numpy)
    return on(device, lambda library: library.asarray(array))


@factory
def arange(*args: Any, dtype: Any, device: Any, **keywords: Any) -> Any:
    """start, start + step, ... below `end`: arange(end), arange(start, end) or arange(start, end, step).

    int64 when all of them are integers, else the default dtype."""
    if keywords:
        names = ("end",) if len(args) == 1 and "end" not in keywords else ("start", "end", "step")
        given = {**dict(zip(names, args, strict=False)), **keywords}
        if len(given) == len(args) + len(keywords) and set(given) in _ARANGE:
            args = tuple(given[n] for n in ("start", "end", "step") if n in given)
        else:
            args = ()
    if not 1 <= len(args) <= 3:
        kinds = [f"{k}={type(v).__name__}" for k, v in keywords.items()]
        raise TypeError(
            f"arange() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of:\n"
            " * (Number end)\n * (Number start, Number end)\n * (Number start, Number end, Number step)"
        )
    names = ("end",) if len(args) == 1 else ("start", "end", "step")
    numbers = [x if type(x) is int else number_of("arange", n, i + 1, x)
               for i, (n, x) in enumerate(zip(names, args, strict=False))]
    start, end, step = (0, *numbers, 1) if len(args) == 1 else (*numbers, 1)[:3]
    return _range("arange", start, end, step, dtype, device)


_ARANGE = ({"end"}, {"start", "end"}, {"start", "end", "step"})  # what may be given


@factory(name="range")
def _inclusive(start: Any, end: Any, step: Any = 1, *, dtype: Any, device: Any) -> Any:
    """Deprecated: like `arange`, but `end` belongs to it."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    start, end, step = (number_of("range", n, i + 1, x) for i, (n, x) in enumerate(
        (("start", start), ("end", end), ("step", step))))
    return _range("range", start, end, step, dtype, device, inclusive=True)


@factory
def linspace(start: Any, end: Any, steps: Any, *, dtype: Any, device: Any) -> Any:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    return _spaced("linspace", start, end, steps, ranges.linspace, dtype, device)


@factory
def logspace(start: Any, end: Any, steps: Any, base: Any = 10.0, *, dtype: Any, device: Any) -> Any:
    """`steps` numbers from base ** start to base ** end, evenly spaced in the exponent."""
    make = functools.partial(ranges.logspace, base=float(base))
    return _spaced("logspace", start, end, steps, make, dtype, device)


def _spaced(name: str, start: Any, end: Any, steps: Any, make: Callable, dtype: Any, device: Any) -> Any:
    for argument, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {argument} with {value.ndim} "
                "dimension(s)."
            )
    start, end = number_of(name, "start", 1, start), number_of(name, "end", 2, end)
    steps = int_of(name, "steps", 3, steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    dtype = dtype or dtypes.get_default_dtype()
    if dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    with np.errstate(invalid="ignore"):
        array = make(start, end, steps, dtype=dtype.numpy)
    return on(device, lambda library: library.asarray(array))
