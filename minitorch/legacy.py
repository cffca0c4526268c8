"""The constructors of torch's first years: `Tensor(...)`, `FloatTensor(...)` (torch/csrc/tensor/python_tensor.cpp).

Given integers they make a tensor of that shape, with whatever the memory held; given a sequence or an array, a copy in
their own dtype; given a tensor, another tensor on the same memory. `isinstance(t, FloatTensor)` asks for dtype and
device. New programs use `tensor` and `empty`.
"""

import warnings
from typing import Any

import numpy as np

from . import devices, dtypes
from .conversion import _new
from .creation import on, size_of
from .tensor import Size, Tensor, method, strided, wrap

_object_new = object.__new__


def construct(dtype: dtypes.dtype, device: Any, args: tuple, any_dtype: bool = False) -> Tensor:
    """What a legacy constructor makes of its arguments."""
    args = args or (0,)
    first = args[0]
    if len(args) == 1 and not isinstance(first, (int, Size)):
        if isinstance(first, Tensor):
            if first.dtype is not dtype and not any_dtype:
                raise TypeError(f"expected a tensor of dtype {dtype} (got one of dtype {first.dtype})")
            return first.detach()
        if isinstance(first, str):
            raise TypeError("new(): invalid data type 'str'")
        if isinstance(first, (np.generic, float)) or not hasattr(first, "__len__"):
            kind = type(first)
            name = f"numpy.{kind.__name__}" if isinstance(first, np.generic) else kind.__name__
            raise TypeError(f"new(): data must be a sequence (got {name})")
        return _new("new", first, dtype, device, False)
    shape = size_of("new", (tuple(first),) if isinstance(first, Size) else args)
    return wrap(on(device, lambda library: library.empty(shape, dtype.numpy)))


def _keywords(args: tuple, keywords: dict) -> tuple[tuple, Any]:
    """The arguments with those given by name, and the device."""
    device = keywords.pop("device", None)
    for name in ("data", "other"):
        if name in keywords:
            args = (*args, keywords.pop(name))
    if "size" in keywords:
        args = (*args, Size(keywords.pop("size")))
    if keywords:
        raise TypeError(
            "new() received an invalid combination of arguments: some of the keywords were incorrect: "
            + ", ".join(keywords)
        )
    return args, device


def _tensor_new(cls: type, *args: Any, **keywords: Any) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor(array)`: of the default dtype."""
    args, device = _keywords(args, keywords)
    t = construct(dtypes.get_default_dtype(), device, args, any_dtype=True)
    if cls is Tensor:
        return t
    result: Tensor = _object_new(cls)
    result._array = t._array
    return result


Tensor.__new__ = _tensor_new  # type: ignore[method-assign, assignment]


@method()
def new(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """The legacy constructor of this tensor's dtype and device."""
    args, device = _keywords(args, keywords)
    return construct(self.dtype, device or self.device, args)


class TensorType:
    """`FloatTensor` and its like: a constructor, and a class for `isinstance`."""

    def __init__(self, name: str, dtype: dtypes.dtype, is_cuda: bool):
        self.__name__ = self.__qualname__ = f"{name}Tensor"
        self.__module__ = "torch.cuda" if is_cuda else "torch"
        self.dtype, self.layout, self.is_cuda, self.is_sparse = dtype, strided, is_cuda, False

    def __call__(self, *args: Any, **keywords: Any) -> Tensor:
        from . import cuda

        if self.is_cuda and not cuda.is_available():
            raise TypeError(
                f"type torch.cuda.{self.__name__} not available. Torch not compiled with CUDA enabled: install CuPy, or "
                f"use {self.__name__}"
            )
        args, device = _keywords(args, keywords)
        return construct(self.dtype, device or ("cuda" if self.is_cuda else "cpu"), args)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.dtype and instance.is_cuda == self.is_cuda

    def __repr__(self) -> str:
        return f"<class '{self.__module__}.{self.__name__}'>"

    def __reduce__(self):
        return _by_name, (self.__name__, self.is_cuda)


class _VariableType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """`autograd.Variable(data, requires_grad)`: since 2018 every tensor is one. A new tensor on the same memory."""

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return (Tensor() if data is None else data.detach()).requires_grad_(requires_grad)


# {"FloatTensor": ..., ...}, for the CPU and for CUDA
TYPES = {f"{name}Tensor": TensorType(name, d, False) for name, d in dtypes.LEGACY.items()}
CUDA_TYPES = {f"{name}Tensor": TensorType(name, d, True) for name, d in dtypes.LEGACY.items()}


def _by_name(name: str, is_cuda: bool) -> TensorType:
    return (CUDA_TYPES if is_cuda else TYPES)[name]


def set_default_tensor_type(t: Any) -> None:
    """Deprecated: set the default dtype by a legacy type, or by its name."""
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    if isinstance(t, str):
        name = t.rpartition(".")[2]
        if name not in TYPES:
            raise TypeError(f"invalid type object: {t}")
        t = (CUDA_TYPES if ".cuda." in t else TYPES)[name]
    if not isinstance(t, TensorType):
        raise TypeError("invalid type object")
    dtypes.set_default_dtype(t.dtype)
    if t.is_cuda:
        devices.set_default_device("cuda")
