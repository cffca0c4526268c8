"""Parameters computed from others on every access (torch/nn/utils/parametrize.py).

`register_parametrization(layer, "weight", f)` makes `layer.weight` a property: f of the tensor that is learned instead,
`layer.parametrizations.weight.original`. Where f has a `right_inverse`, assigning to `layer.weight` works as before.
"""

import contextlib
import copy
from collections.abc import Sequence

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.container import ModuleDict, ModuleList
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]

_caching = 0
_cache: dict = {}  # (id of the module, name) -> tensor


@contextlib.contextmanager
def cached():
    """Compute each parametrized tensor once inside this block, instead of at every access."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _inverted(modules, value, optional):
    """`value` taken back through the `right_inverse` of the modules, last to first."""
    for module in reversed([*modules]):
        if hasattr(module, "right_inverse"):
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                if not optional:
                    raise
        elif not optional:
            raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
    return value


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other, and the tensor or tensors they start from."""

    def __init__(self, modules, original, unsafe=False):
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = _inverted(self, original, optional=True)
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype is not dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            original.data = new.data
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            _check_same(self(), shape, dtype, "unparametrized {}", "parametrized {}", "`unsafe`")

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Give the originals the values for which this list computes `value`."""
        with no_grad():
            value = _inverted(self, value, optional=False)
            if self.is_tensor and not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            values = [value] if self.is_tensor else value
            if not isinstance(values, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
            if len(values) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(values)}."
                )
            for original, new in zip(self._originals(), values, strict=True):
                if new.dtype is not original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` has dtype "
                        f"{original.dtype}"
                    )
                original.data = new.data

    def forward(self):
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _check_same(tensor, shape, dtype, before, after, flag):
    if not isinstance(tensor, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(tensor).__name__}.")
    for what, old, new in (("dtype", dtype, tensor.dtype), ("shape", shape, tensor.shape)):
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless {flag} flag is "
                "enabled.\n"
                f"{before.format(what)}: {old}\n{after.format(what)}: {new}"
            )


def _own_class(module):
    """Give the module a class of its own, on which properties can be set."""
    cls = type(module)

    def refuse(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See the documentation on "
            "saving and loading models."
        )

    def deepcopy(self, memo):
        if id(self) not in memo:
            memo[id(self)] = replica = type(self).__new__(type(self))
            replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), {"__getstate__": refuse, "__deepcopy__": deepcopy})


def _make_property(cls, name):
    def read(self):
        parametrization = self.parametrizations[name]
        if not _caching:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    setattr(cls, name, property(read, lambda self, value: self.parametrizations[name].right_inverse(value)))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Let `parametrization` compute `module.<tensor_name>`; a second one is applied to the result of the first.

    `unsafe` allows it to change the shape or dtype. ValueError where there is no such tensor."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        if not unsafe:
            after = parametrization(before)
            name = f"module.{tensor_name}"
            _check_same(
                after, before.shape, before.dtype, f"{name}.{{}}", f"parametrization({name}).{{}}", "the `unsafe`"
            )
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        _make_property(type(module), tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def is_parametrized(module, tensor_name=None):
    """Whether anything, or the tensor of that name, is computed by a parametrization."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make the tensor an ordinary parameter again: with its present value, or with that of the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).data
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class of a module, without what parametrizations made of it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Register the parametrizations of one module, or of one tensor of it, on another, with their originals."""
    if is_parametrized(from_module):
        for name in [*from_module.parametrizations] if tensor_name is None else [tensor_name]:
            source = from_module.parametrizations[name]
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for parametrization in source:
                register_parametrization(to_module, name, parametrization)
            for key in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
                setattr(to_module.parametrizations[name], key, getattr(source, key))
    return to_module
