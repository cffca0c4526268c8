"""Storages: the memory behind tensors, and how a tensor is taken apart and put together (torch/storage.py, _utils.py).

A tensor is written as its storage and a view of it: offset, size, strides. So tensors that share memory share it after
loading, pickling and `copy.deepcopy` too. `minitorch.save`, `pickle` and `deepcopy` all go through the functions here.
"""

import copy
import warnings
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from .. import devices, dtypes
from ..nn.parameter import Parameter
from ..tensor import Tensor, address, method, storage_of, strides_of, wrap


class UntypedStorage:
    """A run of bytes on one device, with tensors as its views. `bytes` is a flat uint8 array on the same memory."""

    def __init__(self, bytes: Any, owner: Any = None):
        self.bytes = bytes
        self._owner = owner

    device = property(lambda self: devices.of(self.bytes))
    is_cuda = property(lambda self: self.device.type == "cuda")

    def nbytes(self) -> int:
        return self.bytes.size

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        return address(self.bytes) if self.bytes.size else 0

    def to(self, device: Any) -> "UntypedStorage":
        """The storage on another device; itself where it is there already."""
        moved = devices.transfer(self.bytes, devices.device(device))
        return self if moved is self.bytes else UntypedStorage(moved)

    def cpu(self) -> "UntypedStorage":
        return self.to("cpu")

    def cuda(self, device: Any = None) -> "UntypedStorage":
        return self.to("cuda" if device is None else devices.device(device))

    def clone(self) -> "UntypedStorage":
        return UntypedStorage(self.bytes.copy())

    def tolist(self) -> list[int]:
        return self.cpu().bytes.tolist()

    def __getitem__(self, i: Any) -> Any:
        return self.bytes[i].item()

    def __deepcopy__(self, memo: dict) -> "UntypedStorage":
        return memo.setdefault(id(self), self.clone())

    def __reduce__(self):
        return UntypedStorage, (self.cpu().bytes,)

    def __repr__(self) -> str:
        return f"torch.UntypedStorage of {self.nbytes()} bytes on {self.device}"


class TypedStorage(NamedTuple):
    """A storage and the dtype of its elements: what the file format speaks of."""

    storage: UntypedStorage
    dtype: dtypes.dtype


class _Memory:
    """Stands for all the memory of an array, whatever its strides, so that NumPy makes a flat array of it."""

    def __init__(self, owner: np.ndarray):
        low, high = np.lib.array_utils.byte_bounds(owner)
        self.__array_interface__ = {
            "data": (low, not owner.flags.writeable), "shape": (high - low if owner.size else 0,),
            "typestr": "|u1", "version": 3,
        }
        self.base = owner  # keeps the memory alive


_storages: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


def storage_behind(array: Any) -> UntypedStorage:
    """The storage that an array is a view of: the same object for all views, as long as somebody holds it."""
    owner = storage_of(array)
    storage = _storages.get(id(owner))
    if storage is None:
        if type(owner) is np.ndarray and owner.flags.c_contiguous:
            flat = owner.reshape(-1).view(np.uint8)
        elif isinstance(owner, np.ndarray):
            flat = np.asarray(_Memory(owner))
        else:
            flat = owner.ravel(order="K").view(np.uint8)
        storage = _storages[id(owner)] = UntypedStorage(flat, owner)
    return storage


def offset_in(storage: UntypedStorage, array: Any) -> int:
    """How many elements of the storage lie before the array's first."""
    if array.base is None or (array.nbytes == storage.nbytes() and array.flags.c_contiguous):
        return 0  # it is the owner, or shows all of it
    return (address(array) - address(storage.bytes)) // array.itemsize


def view_of(storage: UntypedStorage, dtype: dtypes.dtype, offset: int, size: Any, stride: Any) -> Any:
    """The array with these elements of the storage. ValueError when one would lie outside."""
    size, stride = tuple(size), tuple(stride)
    if any(type(n) is not int or n < 0 for n in (offset, *size, *stride)) or len(size) != len(stride):
        raise ValueError("offset, sizes and strides must be numbers of zero or more, and as many strides as sizes")
    last = -1 if 0 in size else sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    needed = (offset + last + 1) * dtype.itemsize
    if needed > storage.nbytes():
        raise ValueError(
            f"storage has {storage.nbytes()} bytes, {needed} expected for a {dtype} tensor of "
            f"offset {offset}, size {list(size)} and strides {list(stride)}"
        )
    first, strides = offset * dtype.itemsize, tuple([step * dtype.itemsize for step in stride])
    if isinstance(storage.bytes, np.ndarray):
        return np.ndarray(size, dtype.numpy, storage.bytes, first, strides)
    return type(storage.bytes)(size, dtype.numpy, storage.bytes.data + first, strides)


# ---- putting together: the names that a checkpoint calls ------------------------------------------------------------


def rebuild_tensor(storage: TypedStorage, offset: int, size: Any, stride: Any) -> Tensor:
    return wrap(view_of(storage.storage, storage.dtype, offset, size, stride))


def rebuild_tensor_v2(
    storage: TypedStorage, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, metadata: Any = None
) -> Tensor:
    tensor: Any = rebuild_tensor(storage, offset, size, stride)
    if requires_grad is not False:
        tensor.requires_grad = requires_grad  # refuses integers, and what is no bool
    return tensor


def rebuild_tensor_v3(
    storage: TypedStorage, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, dtype: dtypes.dtype,
    metadata: Any = None,
) -> Tensor:
    return rebuild_tensor_v2(TypedStorage(storage.storage, dtype), offset, size, stride, requires_grad, hooks)


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


def rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Parameter:
    return _set_state(Parameter(data, requires_grad), state)


def rebuild_from_type_v2(function: Any, type: type, arguments: tuple, state: Any) -> Tensor:
    """A tensor of a subclass, or one with attributes that a program hung on it."""
    tensor = function(*arguments)
    if tensor.__class__ is not type:
        own: Any = object.__new__(type)
        own.__dict__.update(tensor.__dict__)
        tensor = own
    return _set_state(tensor, state)


def _set_state(tensor: Any, state: Any) -> Any:
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in (*attributes.items(), *(slots or {}).items()):
        if is_own(name):
            raise ValueError(f"a tensor's own {name} is not an attribute that a file may set")
        setattr(tensor, name, value)
    return tensor


# ---- taking apart ---------------------------------------------------------------------------------------------------


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """What a program hung on a tensor besides what every tensor has."""
    return {name: value for name, value in tensor.__dict__.items() if not is_own(name)}


def is_own(name: str) -> bool:
    """Whether an attribute belongs to every tensor."""
    return name == "_array" or hasattr(Tensor, name)


@method("__reduce_ex__")
def reduce_tensor(self: Tensor, protocol: Any) -> tuple:
    """A function and the arguments that rebuild the tensor: those of torch, so that torch reads what we pickle."""
    for hook in (self._hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
    state = attributes_of(self)
    if type(self) is Parameter:
        arguments: tuple = (self.data, self.requires_grad, OrderedDict())
        return (rebuild_parameter_with_state, (*arguments, state)) if state else (rebuild_parameter, arguments)
    array = self._array
    storage = storage_behind(array)
    plain: tuple = rebuild_tensor_v2, (
        TypedStorage(storage, self.dtype), offset_in(storage, array), tuple(array.shape), strides_of(array),
        self.requires_grad, OrderedDict(),
    )
    if type(self) is Tensor and not state:
        return plain
    return rebuild_from_type_v2, (plain[0], type(self), plain[1], state)


@method("__deepcopy__")
def deepcopy_tensor(self: Tensor, memo: dict) -> Tensor:
    """A copy with memory of its own; tensors that share memory do so after copying. Leaves only, as in torch."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    array = self._array
    old = storage_behind(array)
    new = copy.deepcopy(old, memo)
    tensor: Any = object.__new__(type(self))
    tensor._array = view_of(new, self.dtype, offset_in(old, array), array.shape, strides_of(array))
    tensor._requires_grad = self._requires_grad
    memo[id(self)] = tensor
    if self._grad is not None:
        tensor._grad = copy.deepcopy(self._grad, memo)
    tensor.__dict__.update(copy.deepcopy(attributes_of(self), memo))
    return tensor


@method()
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory behind the tensor, shared by all its views."""
    return storage_behind(self._array)
