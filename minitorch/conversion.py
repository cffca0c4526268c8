"""Tensors made from data: tensor, as_tensor, asarray, from_numpy (torch/csrc/utils/tensor_new.cpp, tensor_numpy.cpp).

`tensor` copies; `as_tensor` and `asarray` share memory with arrays and tensors where dtype and device allow, and
`from_numpy` always does. Nested lists are taken apart level by level: their shape first, then the dtype that holds
all their numbers, then the numbers.
"""

import warnings
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from . import devices, dtypes
from .creation import LIMITS, check_options, dtype_of, finish
from .dispatch import FUNCTIONS, legacy_scalar
from .ops import copies as _casts  # noqa: F401 - Tensor.to
from .tensor import Tensor, method, storage_of, wrap

f8 = np.float64
_MAX_DIMS = 128


def public(f: Callable) -> Callable:
    """Decorator: a function of the package."""
    f.__module__ = "minitorch"
    FUNCTIONS[f.__name__] = f
    return f


# ---- nested sequences ---------------------------------------------------------------------------------------------


def _is_sequence(data: Any) -> bool:
    return isinstance(data, (list, tuple, str, bytes)) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__")
        and not isinstance(data, (Tensor, dict, np.generic, set))
    )


def _shape_of(data: Any) -> list[int]:
    """The shape as the first elements tell it."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if len(shape) > _MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        data = data[0]
    return shape


def _flatten(data: Any, shape: list[int]) -> list:
    """The elements in a row. ValueError or TypeError, in torch's words, for a sequence that is not of `shape`."""
    flat = [data]
    for dim, n in enumerate(shape):
        for item in flat:
            if not isinstance(item, (list, tuple)):
                if isinstance(item, (str, bytes)):
                    raise TypeError(f"new(): invalid data type '{type(item).__name__}'")
                if not _is_sequence(item):
                    _dtype_of_numbers([item])  # which objects to what is no number either
                    raise TypeError("not a sequence")
            if len(item) != n:
                raise ValueError(f"expected sequence of length {n} at dim {dim} (got {len(item)})")
        flat = list(chain.from_iterable(flat))
    return flat


def _dtype_of_numbers(flat: list) -> dtypes.dtype:
    """The dtype that holds all of them; the default dtype for none."""
    found: dtypes.dtype | None = None
    numbers = set(map(type, flat))
    for kind in numbers:
        if kind is float:
            d = dtypes.get_default_dtype()
        elif kind is int:
            d = dtypes.int64
        elif kind is bool:
            d = dtypes.bool_
        elif issubclass(kind, Tensor):
            d = _dtype_of_tensors([t for t in flat if type(t) is kind])
        elif issubclass(kind, np.generic):
            d = dtypes.of(np.dtype(kind))
        elif issubclass(kind, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{kind.__name__}'")
        elif issubclass(kind, (int, float)):
            d = dtypes.of_number(kind())
        elif issubclass(kind, complex):
            raise TypeError("minitorch has no complex dtypes; represent a complex tensor by two real ones")
        elif issubclass(kind, (list, tuple)):  # deeper than the first element: refused when it is used as a number
            d = _dtype_of_numbers(list(chain.from_iterable(x for x in flat if type(x) is kind)))
        else:
            raise RuntimeError(f"Could not infer dtype of {kind.__name__}")
        found = d if found is None else dtypes.promote_types(found, d)
    return found or dtypes.get_default_dtype()


def _dtype_of_tensors(tensors: list) -> dtypes.dtype:
    found = tensors[0].dtype
    for t in tensors:
        found = dtypes.promote_types(found, t.dtype)
    return found


def _array_of(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """A number or a nested sequence as an array."""
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    shape = _shape_of(data)
    flat = _flatten(data, shape)
    if dtype is None:
        dtype = _dtype_of_numbers(flat)
    kinds = set(map(type, flat))
    for kind in kinds:
        if issubclass(kind, Tensor):
            flat = [_item(x, dtype) if isinstance(x, Tensor) else x for x in flat]
        elif issubclass(kind, (list, tuple, np.ndarray)):
            if dtype.is_floating_point:
                raise TypeError(f"must be real number, not {kind.__name__}")
            raise TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
    return _numbers(flat, dtype, not kinds <= {int, bool}).reshape(shape)


def _item(t: Tensor, dtype: dtypes.dtype) -> Any:
    if t._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if not dtype.is_floating_point and t.dtype.is_floating_point:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    if t.requires_grad:
        warnings.warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first.",
            UserWarning,
            stacklevel=2,
        )
    return t.detach().item()


def _numbers(flat: list, dtype: dtypes.dtype, truncate: bool) -> np.ndarray:
    """Numbers as an array.  truncate: there may be floats among them, of which an integer dtype takes the integer."""
    if dtype is dtypes.bool_:
        return np.array([bool(x) for x in flat], bool)
    if dtype.is_floating_point:
        values = np.array(flat, f8)
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(dtype.numpy) if dtype.itemsize < 4 else values.astype(dtype.numpy)
    overflow = RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    if truncate:
        try:
            flat = [int(x) for x in flat]
        except (OverflowError, ValueError):  # inf, nan
            raise overflow from None
        if any(not -(2**63) <= x < 2**63 for x in flat):
            raise overflow
    try:
        values = np.array(flat, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if dtype.itemsize < 8 and values.size:
        low, high = LIMITS[dtype]
        if values.max() > high or values.min() < (low if dtype.is_signed else -high):
            raise overflow
    return values.astype(dtype.numpy)


# ---- arrays -------------------------------------------------------------------------------------------------------


def checked(array: np.ndarray) -> np.ndarray:
    """The array, if a tensor can share its memory; ValueError or TypeError in torch's words if not."""
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    dtypes.of(array)
    for n, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0 and n > 1:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your array  with "
                "array.copy().) "
            )
        if stride % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
                "the memory."
            )
    return array


@public
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor around a NumPy array: both share the memory. TypeError for anything else."""
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"expected np.ndarray (got {name})")
    checked(ndarray)
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return finish("from_numpy", ndarray.view(np.ndarray))


def _place(t: Tensor, dtype: dtypes.dtype | None, device: Any) -> Tensor:
    """The tensor with the dtype and on the device asked for; itself where it already is."""
    if device is None:
        device = devices.get_default_device()
    return t.to(dtype=dtype, device=device)


@public
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new leaf with a copy of `data`: numbers in nested sequences, an array, or a tensor (which warns).

    The dtype follows from the data: int64 for ints, the default dtype for floats, an array's own."""
    if pin_memory:
        check_options("tensor", None, pin_memory)
    dtype = None if dtype is None else dtype_of("tensor", dtype)
    if isinstance(data, Tensor):
        _warn_copy("torch.tensor(sourceTensor)")
    return _new("tensor", data, dtype, device, requires_grad)


def _warn_copy(call: str) -> None:
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {call}.",
        UserWarning,
        stacklevel=3,
    )


def _new(name: str, data: Any, dtype: dtypes.dtype | None, device: Any, requires_grad: Any) -> Tensor:
    """A copy of the data as a new leaf."""
    if isinstance(data, Tensor):
        t = data.detach().to(dtype=dtype, device=device, copy=True)
    elif isinstance(data, np.ndarray):
        t = _place(wrap(checked(data).view(np.ndarray).copy("K")), dtype, device)
    elif isinstance(data, np.generic):
        t = _place(wrap(np.array(data)), dtype, device)
        dtypes.of(t._array)
    elif hasattr(data, "__cuda_array_interface__"):
        cupy = devices.namespace("cuda")
        t = _place(wrap(cupy.array(data)), dtype, devices.device("cuda") if device is None else device)
    else:
        if isinstance(data, (list, tuple)) and any(type(x) is np.ndarray and x.ndim for x in data):
            warnings.warn(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                "list to a single numpy.ndarray with numpy.array() before converting to a tensor.",
                UserWarning,
                stacklevel=3,
            )
        t = _place(wrap(_array_of(data, dtype)), None, device)
    return finish(name, t._array, requires_grad)


@public
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself, or sharing an array's memory, unless dtype or device must change."""
    dtype = None if dtype is None else dtype_of("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if isinstance(data, np.ndarray):
        return _place(wrap(checked(data).view(np.ndarray)), dtype, device)
    return _new("as_tensor", data, dtype, device, False)


@public
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """`obj` as a tensor.  copy: True always copies, False never does (ValueError if it must), None as needed."""
    dtype = None if dtype is None else dtype_of("asarray", dtype)
    if isinstance(obj, Tensor):
        source = obj
    elif isinstance(obj, np.ndarray):
        source = wrap(checked(obj).view(np.ndarray))
    elif hasattr(obj, "__dlpack__"):
        source = from_dlpack(obj)
    elif isinstance(obj, (bytearray, memoryview)):
        source = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _new("asarray", obj, dtype, device, requires_grad)
    result = source.to(dtype=dtype, device=device, copy=bool(copy))
    if copy is False and result is not source:
        if dtype is not None and dtype is not source.dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{legacy_scalar(source.dtype)}' into dtype '{legacy_scalar(dtype)}'."
            )
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{device}'.")
    if requires_grad:
        return result.detach().requires_grad_()
    return result.detach() if result.requires_grad else result


@public
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of an object with a buffer, such as a bytearray.

    `count` elements (-1: all) of `dtype` from byte `offset` on. ValueError where the buffer does not hold them."""
    dtype = dtype_of("frombuffer", dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = view.nbytes, dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) - 1"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
                f"size ({size})"
            )
        count = (length - offset) // size
    if offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
            "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
            "buffer to protect its data or make it writable before converting it to a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return finish("frombuffer", np.frombuffer(buffer, dtype.numpy, count, offset), requires_grad)


@public
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, handed over by the DLPack protocol."""
    if isinstance(ext_tensor, Tensor):
        array = ext_tensor._array
    elif ext_tensor.__dlpack_device__()[0] == 1:  # kDLCPU
        array = np.from_dlpack(ext_tensor)
    else:
        array = devices.namespace("cuda").from_dlpack(ext_tensor)
    t = finish("from_dlpack", array)
    return t if device is None and not copy else t.to(device=device, copy=bool(copy))


@method()
def __dlpack__(self: Tensor, **options: Any) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return self._array.__dlpack__(**options)


@method()
def __dlpack_device__(self: Tensor) -> tuple:
    return self._array.__dlpack_device__()


@method()
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked, so that a GPU can fetch it while the program goes on."""
    if device is not None:
        _warn_device("is_pinned")
    memory = storage_of(self._array).base if self.device.type == "cpu" else None
    return type(getattr(memory, "obj", memory)).__name__ == "PinnedMemoryPointer"  # CuPy's; seen through a memoryview


@method()
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in page-locked memory: itself where it lies there already. RuntimeError where there is no GPU."""
    if device is not None:
        _warn_device("pin_memory")
    if self.is_pinned():
        return self
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin a tensor on {self.device}: only dense CPU tensors can be pinned")
    try:
        devices.namespace("cuda")
    except AssertionError:
        raise RuntimeError("Cannot access accelerator device when none is available.") from None
    import cupyx

    pinned = cupyx.empty_pinned(self._array.shape, self._array.dtype)
    pinned[...] = self._array
    return wrap(pinned)


def _warn_device(name: str) -> None:
    warnings.warn(
        f"The argument 'device' of Tensor.{name}() is deprecated. Please do not pass this argument.",
        DeprecationWarning, stacklevel=3,
    )


@method()
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of `data` in this tensor's dtype and on its device."""
    check_options("new_tensor", layout, pin_memory)
    if isinstance(data, Tensor):
        _warn_copy("tensor.new_tensor(sourceTensor)")
    wanted = dtype_of("new_tensor", dtype, self.dtype)
    return _new("new_tensor", data, wanted, device or self.device, requires_grad)
