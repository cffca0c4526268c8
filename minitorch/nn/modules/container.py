"""Modules that hold modules or parameters: as a sequence, a list or a dictionary (torch/nn/modules/container.py)."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from minitorch.nn.modules.module import Module, indent, typename
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor

__all__ = ["Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def position(index, size):
    """A list index as a number from 0 to size - 1."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


def without_numbers(names):
    return [name for name in names if not name.isdigit()]


class ModuleSequence(Module):
    """What Sequential and ModuleList share: submodules named by their position, with the methods of a list."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return without_numbers(super().__dir__())

    def _name_at(self, index):
        return [*self._modules][position(index, len(self))]

    def __setitem__(self, index, module):
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        for name in [*self._modules][index] if isinstance(index, slice) else [self._name_at(index)]:
            delattr(self, name)
        self._modules = {str(i): module for i, module in enumerate(self)}

    def append(self, module):
        """Add `module` at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add every module of an iterable at the end; returns self."""
        if not isinstance(modules, Iterable):
            name = self._get_name()
            raise TypeError(f"{name}.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in [*modules]:
            self.append(module)
        return self

    def insert(self, index, module):
        """Put `module` before position `index`."""
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def pop(self, key):
        """Remove and return the module (or, for a slice, the modules) at `key`."""
        module = self[key]
        del self[key]
        return module


class Sequential(ModuleSequence):
    """Modules in a row: each gets the output of the one before.

    `Sequential(a, b, c)` numbers them; `Sequential(OrderedDict(first=a, second=b))` names them.
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict([*self._modules.items()][index]))
        return self._modules[self._name_at(index)]

    def insert(self, index, module):
        """Put `module` before position `index`; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index + size if index < 0 else index, module)
        return self

    def __add__(self, other):
        self._check_other(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_other(other)
        return self.extend(other)

    def __mul__(self, times):
        self._check_times(times)
        return Sequential(*[*self] * times)

    __rmul__ = __mul__

    def __imul__(self, times):
        self._check_times(times)
        return self.extend([*self] * (times - 1))

    def _check_other(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def _check_times(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")


class ModuleList(ModuleSequence):
    """A list of modules, registered as submodules. It has no forward: the owner decides how they are used."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([*self][index])
        return self._modules[str(position(index, len(self)))]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        """As every module's, but a run of equal modules takes one entry: `(0-11): 12 x Block(...)`."""
        runs = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            indent(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}")
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def pairs(values, what):
    """The key/value pairs of a mapping or of an iterable of pairs, with torch's refusals."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if isinstance(values, Mapping | ModuleDict | ParameterDict):
        return [*values.items()]
    result = []
    for i, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = [*pair]
        if len(pair) != 2:
            raise ValueError(f"{what} update sequence element #{i} has length {len(pair)}; 2 is required")
        result.append(pair)
    return result


class ModuleDict(Module):
    """A dictionary of modules, registered as submodules under their keys."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove and return the module at `key`."""
        return self._modules.pop(key)

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        """Add the modules of a mapping, or of an iterable of `(key, module)` pairs, in its order."""
        for key, module in pairs(modules, "ModuleDict"):
            self[key] = module


def as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def describe(entries, kind_of):
    """The lines by which a list or dictionary of parameters prints itself; `kind_of` names a tensor's dtype."""
    lines = []
    for key, value in entries:
        if isinstance(value, Tensor):
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            size = "x".join(map(str, value.shape))
            device = f" ({value.device})" if value.device.type == "cuda" else ""
            lines.append(f"  ({key}): {kind} containing: [{kind_of(value)} of size {size}{device}]")
        else:
            lines.append(f"  ({key}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(Module):
    """A list whose tensors are parameters, registered under their positions; other objects may be in it too."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __dir__(self):
        return without_numbers(super().__dir__())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(len(self))[index])
        return getattr(self, str(position(index, len(self))))

    def __setitem__(self, index, value):
        setattr(self, str(position(index, len(self))), as_parameter(value))

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Add `value` at the end; returns self."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values):
        """Add every entry of an iterable (not a tensor) at the end; returns self."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return describe(enumerate(self), lambda tensor: tensor.dtype)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary whose tensors are parameters, registered under their keys; other objects may be in it too."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, self._checked(key))

    def __setitem__(self, key, value):
        self._keys[self._checked(key)] = None
        setattr(self, key, as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def _checked(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')."
            )
        return key

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Another ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """The value at `key`, which becomes `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Remove all entries."""
        for key in [*self._keys]:
            del self[key]

    def pop(self, key):
        """Remove and return the value at `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove and return the last `(key, value)`."""
        key = [*self._keys][-1] if self._keys else self._keys.popitem()  # an empty dict's own KeyError
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value at `key`, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401 - this is `get`

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with `default` at every key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        return self._keys.keys()

    def items(self):
        return ((key, self[key]) for key in self._keys)

    def values(self):
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Add the entries of a mapping or of an iterable of pairs; a plain dict's are sorted by key, as in torch."""
        entries = pairs(parameters, "ParameterDict")
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(entries, key=lambda entry: entry[0]) if plain else entries:
            self[key] = value

    def extra_repr(self):
        return describe(self.items(), typename)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self
