"""The Tensor: an array, and its life (torch/_tensor.py, c10/core/TensorImpl.h). No mathematics.

A Tensor holds an array (`_array`: NumPy on the CPU, CuPy on a GPU; the array owns shape, strides and memory) and what
autograd must know: whether it requires grad, the edge of the graph that made it, its gradient, the version of its
memory, the tensor it is a view of. What can be computed with tensors is attached from the operator table
(`minitorch.ops`), what can be differentiated from `minitorch.autograd`; nothing is listed here twice.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import devices, dtypes

_new = object.__new__


class Size(tuple):
    """A tensor's shape: a tuple of ints that says what it is."""

    __slots__ = ()

    def numel(self) -> int:
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, i: Any) -> Any:
        item = tuple.__getitem__(self, i)
        return Size(item) if type(i) is slice else item

    def __add__(self, other: Any) -> "Size":
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> "Size":
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: Any) -> "Size":
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


class VersionCounter:
    """Counts the in-place writes to one piece of memory; shared by a tensor and all its views.

    `multi_output` marks the memory of a base that was split by an operator with several outputs."""

    __slots__ = ("value", "__weakref__")

    def __init__(self) -> None:
        self.value = 0


class Tensor:
    """A multi-dimensional array of one dtype on one device, with an optional gradient."""

    # Every tensor carries `_array`; the rest are defaults that most tensors never override.
    _array: Any
    _requires_grad = False
    _edge: Any = None  # (node, output number) that made it; None for a leaf
    _accumulator: Any = None  # a leaf's weak reference to its AccumulateGrad node
    _grad: Any = None
    _counter: Any = None  # VersionCounter, made when first needed
    _base: Any = None  # the tensor that this one is a view of (never itself a view)
    _view_kind = 0  # how the view was made; see autograd/views.py
    _view_version = 0  # the version of the memory that `_edge` stands for
    _hooks: Any = None  # a leaf's tensor hooks, {id: hook}
    _post_accumulate_hooks: Any = None
    _retains_grad = False
    _inference = False
    _backward_hooks: Any = None
    __array_priority__ = 1000  # NumPy operators give way to ours
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # attached by autograd and from the tables
        requires_grad: bool
        grad: Any
        grad_fn: Any
        is_leaf: bool

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> "Tensor": ...
        def __radd__(self, other: Any) -> "Tensor": ...
        def __sub__(self, other: Any) -> "Tensor": ...
        def __rsub__(self, other: Any) -> "Tensor": ...
        def __mul__(self, other: Any) -> "Tensor": ...
        def __rmul__(self, other: Any) -> "Tensor": ...
        def __truediv__(self, other: Any) -> "Tensor": ...
        def __rtruediv__(self, other: Any) -> "Tensor": ...
        def __pow__(self, other: Any) -> "Tensor": ...
        def __matmul__(self, other: Any) -> "Tensor": ...
        def __neg__(self) -> "Tensor": ...
        def __invert__(self) -> "Tensor": ...
        def __and__(self, other: Any) -> "Tensor": ...
        def __or__(self, other: Any) -> "Tensor": ...
        def __lt__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __getitem__(self, index: Any) -> "Tensor": ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    # ---- shape and memory -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or its entry `dim`."""
        if dim is None:
            return Size(self._array.shape)
        return self._array.shape[check_dim(dim, self._array.ndim)]

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def dim(self) -> int:
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        return int(self._array.size)

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """The distance in elements between neighbours along each dimension, or along `dim`."""
        strides = strides_of(self._array)
        return strides if dim is None else strides[check_dim(dim, self._array.ndim)]

    def storage_offset(self) -> int:
        """The distance in elements from the start of the memory to the first element."""
        return (address(self._array) - address(storage_of(self._array))) // self._array.itemsize

    def is_contiguous(self, memory_format: Any = None) -> bool:
        if memory_format is not None and getattr(memory_format, "name", "contiguous_format") != "contiguous_format":
            return is_channels_last(self._array)
        return bool(self._array.flags.c_contiguous) or self._array.size == 0

    def element_size(self) -> int:
        return self._array.itemsize

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def data_ptr(self) -> int:
        return address(self._array) if self._array.size else 0

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.of(self._array)

    @property
    def device(self) -> devices.device:
        return devices.of(self._array)

    def get_device(self) -> int:
        return -1 if self.device.type == "cpu" else self.device.index or 0

    is_cpu = property(lambda self: isinstance(self._array, np.ndarray))
    is_cuda = property(lambda self: not isinstance(self._array, np.ndarray))
    # kinds of tensor that minitorch does not have, so that programs may ask
    is_sparse = is_quantized = is_meta = is_mkldnn = is_mps = is_xpu = is_nested = is_xla = is_ipu = is_vulkan = False
    is_sparse_csr = is_neg_ = False
    @property
    def layout(self) -> "Layout":
        return _layout("strided")


    def is_complex(self) -> bool:
        return False

    def is_conj(self) -> bool:
        return False

    def is_neg(self) -> bool:
        return False

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_set_to(self, tensor: "Tensor") -> bool:
        return (address(self._array), self.shape, self.stride()) == (
            address(tensor._array), tensor.shape, tensor.stride(),
        )

    # ---- versions ---------------------------------------------------------------------------------------------------

    def _version_counter(self) -> VersionCounter:
        counter = self._counter
        if counter is None:
            counter = self._counter = VersionCounter()
        return counter

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._counter is None else self._counter.value

    def _bump(self) -> None:
        """Count a write to the memory (whoever writes to `_array` in place calls this)."""
        counter = self._counter
        if counter is None:
            counter = self._counter = VersionCounter()
        counter.value += 1

    # ---- values that leave ------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The one element as a Python number. RuntimeError unless there is exactly one."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        value = self._array.item()
        return value if isinstance(value, (bool, int, float)) else float(value)

    def tolist(self) -> Any:
        array = devices.transfer(self._array, devices.CPU)
        return array.astype(np.float32).tolist() if array.dtype == dtypes.bfloat16.numpy else array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array itself: memory is shared. RuntimeError when the tensor requires grad (unless `force`)."""
        if force:
            return devices.transfer(self._array, devices.CPU)
        if self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if self.is_cuda:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        if self._array.dtype == dtypes.bfloat16.numpy:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __bool__(self) -> bool:
        if self._array.size != 1:
            if self._array.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._array.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self._array.size != 1 or self.dtype.is_floating_point:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, bool, int, float)):
            return bool((self == element).any().item())  # type: ignore[attr-defined]
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    def __dir__(self):
        return sorted(set(object.__dir__(self)))


def wrap(array: Any) -> Tensor:
    """A new leaf around an array, sharing its memory."""
    t = _new(Tensor)
    t._array = array
    return t


def method(*names: str) -> Callable:
    """Decorator: attach a function to Tensor under its own name, or under those given."""

    def attach(function: Any) -> Any:
        for name in names or (getattr(function, "__name__", None) or function.fget.__name__,):
            setattr(Tensor, name, function)
        return function

    return attach


class Layout:
    """How a tensor lies in memory; minitorch has the strided kind only."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self):
        return _layout, (self.name,)


strided = Layout("strided")


class MemoryFormat(Layout):
    """The order of a tensor's dimensions in memory."""


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
_LAYOUTS = {x.name: x for x in (strided, contiguous_format, preserve_format, channels_last, channels_last_3d)}


def _layout(name: str) -> Layout:
    return _LAYOUTS[name]


# ---- questions about arrays ---------------------------------------------------------------------------------------


def address(array: Any) -> int:
    """Where the first element lies in memory."""
    if isinstance(array, np.ndarray):
        return array.__array_interface__["data"][0]
    return array.data.ptr


def storage_of(array: Any) -> Any:
    """The array that owns the memory (torch's Storage): two arrays share memory when theirs is the same object."""
    while True:
        base = array.base
        if not isinstance(base, type(array)):
            base = getattr(base, "base", None)  # NumPy's as_strided puts an object of its own between view and owner
            if not isinstance(base, type(array)):
                return array
        array = base


def strides_of(array: Any) -> tuple[int, ...]:
    """Strides in elements. An array without elements has the strides of a contiguous one."""
    if array.size == 0:
        strides, step = [], 1
        for n in reversed(array.shape):
            strides.append(step)
            step *= max(n, 1)
        return tuple(reversed(strides))
    size = array.itemsize
    return tuple([s // size for s in array.strides])


def is_channels_last(array: Any) -> bool:
    return array.ndim in (4, 5) and bool(array.transpose(0, *range(2, array.ndim), 1).flags.c_contiguous)


def check_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError, in torch's words, when there is none such."""
    n = ndim or 1
    if -n <= dim < n:
        return dim + n if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
