"""Parameter and Buffer: tensors that a module registers when they are assigned to it (mirrors
torch/nn/parameter.py)."""

from minitorch import devices, dtypes
from minitorch.tensor import Tensor, wrap

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]


class _ParameterMeta(type):
    """Lets `isinstance(t, Parameter)` accept a tensor of another subclass that was made a parameter."""

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and "_is_param" in instance.__dict__
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor to be learned: assigned to a module it becomes one of its parameters.

    It shares the memory of `data`, is a leaf, and requires a gradient unless told otherwise, also under `no_grad`.
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = empty()
        elif not isinstance(data, Tensor):
            raise TypeError(f"Parameter() argument 'data' must be Tensor, not {type(data).__name__}")
        elif type(data) not in (Tensor, Parameter):  # a subclass stays what it is, marked as a parameter
            param = data.detach().requires_grad_(requires_grad)
            param._is_param = True
            return param
        return share(cls, data, requires_grad)

    def __init__(self, data=None, requires_grad=True):
        pass  # made whole by __new__

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **options):
        return "Parameter containing:\n" + super().__repr__(**options)


def share(cls, data, requires_grad):
    """A leaf of class `cls` on the memory of `data`, with the same version counter."""
    tensor = object.__new__(cls)
    tensor._array = data._array
    tensor._counter = data._version_counter()
    if requires_grad:
        tensor.requires_grad = True  # refuses integers
    return tensor


def attributes_of(tensor):
    """What a program hung on a tensor besides what every tensor has."""
    return {k: v for k, v in tensor.__dict__.items() if k != "_array" and not hasattr(Tensor, k)}


class _BufferMeta(type):
    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (
            cls is Buffer and isinstance(instance, Tensor) and "_is_buffer" in instance.__dict__
        )


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is state but not learned. Assigned to a module it becomes a buffer, saved with it if `persistent`.

    `Buffer(data)` returns a plain Tensor with a mark on it, as torch's does.
    """

    def __new__(cls, data=None, *, persistent=True):
        buffer = empty() if data is None else data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def empty(shape=(0,), device=None, dtype=None):
    """A tensor with undefined values."""
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return wrap(devices.namespace(device).empty(shape, (dtype or dtypes.get_default_dtype()).numpy))


# ---- parameters whose shape is not known yet ---------------------------------------------------------------------


class UninitializedTensorMixin:
    """A tensor without a shape: it can be cast and moved, and `materialize`d once the shape is known (Lazy modules)."""

    cls_to_become: type

    def materialize(self, shape, device=None, dtype=None):
        """Become an ordinary parameter or buffer of `shape`, with undefined values."""
        blank = self.data
        self.data = blank.new_empty(shape, device=device or blank.device, dtype=dtype or blank.dtype)
        self.__class__ = self.cls_to_become

    # `_array` is what every operator asks for first, so this is where use is refused.
    @property
    def _array(self):
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    @_array.setter
    def _array(self, array):
        self.__dict__["_array"] = array

    @property
    def data(self):
        return wrap(self.__dict__["_array"])

    @data.setter
    def data(self, data):
        self.__dict__["_array"] = data.__dict__["_array"]  # which may be another blank's

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    dtype = property(lambda self: self.data.dtype)
    device = property(lambda self: self.data.device)

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def detach(self):
        return self

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


def _on_the_blank(name):
    def convert(self, *args, **kwargs):
        blank = object.__new__(type(self))
        blank.__dict__.update(self.__dict__)
        blank.data = getattr(self.data, name)(*args, **kwargs)
        return blank

    convert.__name__ = name
    return convert


for _name in ("to", "cpu", "cuda", "half", "float", "double", "bfloat16", "char", "short", "int", "long", "type"):
    setattr(UninitializedTensorMixin, _name, _on_the_blank(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter without a shape."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        param = object.__new__(cls)
        param._array = empty((0,), device, dtype)._array
        param._requires_grad = requires_grad
        return param

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        buffer = object.__new__(cls)
        buffer._array = empty((0,), device, dtype)._array
        buffer._requires_grad = requires_grad
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param):
    """Whether `param` is still without a shape."""
    return isinstance(param, UninitializedTensorMixin)
