"""What the names in a checkpoint stand for, and which of them loading may call: the allow-list.

A checkpoint names things as torch does ("torch._utils._rebuild_tensor_v2", "torch.FloatStorage"), whoever wrote it.
The table below says what each name is here. Writing (pickler.py) reads it backwards.
"""

import importlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import dtypes
from ..devices import device
from ..nn.parameter import Parameter
from ..tensor import Layout, Size, Tensor, strided
from . import storage
from .unpickler import Refused


class StorageType(NamedTuple):
    """The name that a file gives to the dtype of a storage: FloatStorage for float32."""

    name: str
    dtype: dtypes.dtype


STORAGE_TYPES = {d: StorageType(f"{name}Storage", d) for name, d in dtypes.LEGACY.items()}


def encode(text: str, encoding: str) -> bytes:
    """How pickles of protocol 2 write bytes."""
    if encoding != "latin1" or type(text) is not str:
        raise Refused("_codecs.encode is for a str and latin1 only")
    return text.encode("latin1")


def layout(name: str) -> Layout:
    if name != "torch.strided":
        raise Refused("minitorch has no tensors of any layout but torch.strided")
    return strided


def _bytes() -> bytes:
    return b""  # the only bytes written as a call of `bytes`


def _bytearray(data: bytes = b"") -> bytearray:
    if type(data) not in (bytes, bytearray):  # a number would be a length
        raise Refused(f"bytearray cannot be made of {type(data).__name__}")
    return bytearray(data)


def _size(numbers: tuple) -> Size:
    if type(numbers) is not tuple or any(type(n) is not int for n in numbers):
        raise Refused("torch.Size is made of a tuple of ints")
    return Size(numbers)


# name: the object that stands for it
NAMES: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.set": set,
    "builtins.bytes": bytes,
    "builtins.bytearray": bytearray,
    "builtins.complex": complex,
    "_codecs.encode": encode,
    "torch.Size": Size,
    "torch.device": device,
    "torch.Tensor": Tensor,
    "torch._tensor.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.serialization._get_layout": layout,
    "torch._utils._rebuild_tensor": storage.rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": storage.rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": storage.rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": storage.rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": storage.rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": storage.rebuild_from_type_v2,
    "torch.storage.UntypedStorage": storage.UntypedStorage,
    "torch.UntypedStorage": storage.UntypedStorage,
    **{f"torch.{d.name}": d for d in dtypes.ALL},
    **{f"torch.{s.name}": s for s in STORAGE_TYPES.values()},
}

# the functions and classes among them that a file may call, and what calling does (None: the thing itself)
_GUARDED: dict[Any, Callable | None] = {
    OrderedDict: None, Counter: None, set: None, complex: None, bytes: _bytes, bytearray: _bytearray, encode: None,
    Size: _size, device: None, layout: None, Parameter: None,
    storage.rebuild_tensor: None, storage.rebuild_tensor_v2: None, storage.rebuild_tensor_v3: None,
    storage.rebuild_parameter: None, storage.rebuild_parameter_with_state: None,
}
_NEVER = {"sys", "os", "posix", "nt"}  # modules that not even the user can declare safe
_safe: dict[str, Any] = {}


# ---- what the user declares safe ------------------------------------------------------------------------------------


def _full_names(items: list) -> dict[str, Any]:
    named = {}
    for item in items:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), "
                    f"but got tuple of length: {len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
                )
            named[item[1]] = item[0]
        else:
            named[f"{item.__module__}.{item.__qualname__}"] = item
    return named


def add_safe_globals(safe_globals: list) -> None:
    """Let `load` make and call these classes and functions, or pairs of one and the full name it has in the file."""
    _safe.update(_full_names(safe_globals))


def get_safe_globals() -> list:
    """What was declared safe."""
    return [x if f"{x.__module__}.{x.__qualname__}" == name else (x, name) for name, x in _safe.items()]


def clear_safe_globals() -> None:
    """Take back all that was declared safe."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: list):
    """Declare classes and functions safe for a `with` block."""
    added = {name: x for name, x in _full_names(safe_globals).items() if name not in _safe}
    _safe.update(added)
    try:
        yield
    finally:
        for name in added:
            _safe.pop(name, None)


def is_safe(thing: Any) -> bool:
    """Whether the user declared this very function or class safe."""
    return any(thing is x for x in _safe.values())


# ---- reading --------------------------------------------------------------------------------------------------------


def full_name(module: str, name: str) -> str:
    """The name in Python 3; protocol 2 writes the names of Python 2."""
    if module == "__builtin__":
        module = "builtins"
    return f"{module}.{name}"


def is_allowed(module: str, name: str) -> bool:
    full = full_name(module, name)
    return module not in _NEVER and (full in NAMES or full in _safe)


def find(module: str, name: str) -> Any:
    """The object that a name in a checkpoint stands for; Refused when it is not on the list. Imports nothing."""
    full = full_name(module, name)
    if module in _NEVER:
        raise Refused(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
    if full in NAMES:
        return NAMES[full]
    if full in _safe:
        return _safe[full]
    short = full.removeprefix("builtins.")[:200]
    raise Refused(
        f"Unsupported global: GLOBAL {short} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{short}])` or the `torch.serialization.safe_globals([{short}])` "
        "context manager to allowlist this global if you trust this class/function."
    )


def _rebuild_from_type(function: Any, cls: Any, arguments: Any, state: Any) -> Any:
    if function not in CALLS or not isinstance(cls, type) or not (cls in (Tensor, Parameter) or is_safe(cls)):
        raise Refused("a tensor's class and the function that rebuilds it must be on the list")
    return storage.rebuild_from_type_v2(CALLS[function], cls, arguments, state)


CALLS = {thing: guard or thing for thing, guard in _GUARDED.items()}
CALLS[storage.rebuild_from_type_v2] = _rebuild_from_type


def find_anything(module: str, name: str) -> Any:
    """For files that the user trusts: import what the file names; torch's things are minitorch's of that name."""
    full = full_name(module, name)
    if full in NAMES:
        return NAMES[full]
    if full in _safe:
        return _safe[full]
    if module.partition(".")[0] == "torch":
        module = "minitorch" + module.removeprefix("torch")
    thing = importlib.import_module("builtins" if module == "__builtin__" else module)
    try:
        for part in name.split("."):
            thing = getattr(thing, part)
    except AttributeError:
        raise AttributeError(f"Can't get attribute {name!r} on module {module!r}, which the checkpoint needs") from None
    return thing
