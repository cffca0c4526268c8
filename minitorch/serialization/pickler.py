"""Writing the objects of a checkpoint: Python's pickler, with torch's names for our things."""

import functools
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..nn.parameter import Parameter
from ..tensor import Layout, Tensor
from . import storage
from .names import NAMES, STORAGE_TYPES, StorageType, encode, layout

_WRITTEN: dict[Any, tuple[str, str]] = {}
for _name, _thing in NAMES.items():
    _module, _, _last = _name.rpartition(".")
    if not isinstance(_thing, type) or not _thing.__module__.startswith(("collections", "builtins")):
        _WRITTEN.setdefault(_thing, (_module, _last))

_BYTES = [pickle.BININT1 + bytes([i]) for i in range(256)]
_PUTS = [pickle.BINPUT + bytes([i]) for i in range(256)]
_long_put = struct.Struct("<cI").pack
_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]


@functools.lru_cache(4096)
def _numbers(*numbers: int) -> bytes:
    return b"".join([pickle.dumps(n, 2)[2:-1] for n in numbers])


@functools.lru_cache(4096)
def _tuple(*numbers: int) -> bytes:
    short = (pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
    code = _numbers(*numbers)
    return code + short[len(numbers)] if len(numbers) <= 3 else pickle.MARK + code + pickle.TUPLE


class Pickler(_PythonPickler):
    """Python's own pickler, which names our things as torch does and hands the storages out to `persistent`.

    The one written in C imports what it names, to be sure that it is there; torch need not be there. A checkpoint has
    thousands of tensors: they, and what they are made of, take shorter ways than the inherited ones to the same bytes.
    """

    dispatch = dict(_PythonPickler.dispatch)

    def __init__(self, file: Any, protocol: int, persistent: Callable):
        super().__init__(file, protocol)
        self.persistent = persistent
        self._known: dict[dtypes.dtype, tuple] = {}  # how the tensors of a dtype begin and end, once one was written
        if protocol < 4:
            self.write = file.write  # there are no frames to collect

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        known = self.memo.get(id(obj))
        if known is not None:
            self.write(self.get(known[0]))
        elif (function := self.dispatch.get(type(obj))) is not None:
            function(self, obj)
        else:
            super().save(obj, save_persistent_id)

    def memoize(self, obj: Any) -> None:
        index = len(self.memo)
        self.memo[id(obj)] = index, obj
        if self.proto >= 4:
            self.write(pickle.MEMOIZE)
        else:
            self.write(_PUTS[index] if index < 256 else _long_put(pickle.LONG_BINPUT, index))

    def save_int(self, obj: int) -> None:
        if 0 <= obj < 256:
            self.write(_BYTES[obj])
        else:
            self.save_long(obj)

    def save_storage(self, obj: Any) -> None:
        typed = type(obj) is storage.TypedStorage
        memory = obj.storage if typed else obj
        kind = STORAGE_TYPES[obj.dtype] if typed else storage.UntypedStorage
        self.save(self.persistent(memory, kind, memory.nbytes() // (obj.dtype.itemsize if typed else 1)))
        self.write(pickle.BINPERSID)

    def save_tensor(self, tensor: Tensor) -> None:
        function, arguments = storage.reduce_tensor(tensor, self.proto)
        plain = function is storage.rebuild_tensor_v2
        if plain and (known := self._known.get(arguments[0].dtype)) is not None:
            return self._save_another(tensor, known, arguments)
        self.save_reduce(function, arguments, obj=tensor)
        if plain and self.proto < 4:
            dtype = arguments[0].dtype
            function, tag, kind, hooks = [
                self.get(self.memo[id(x)][0]) for x in (function, "storage", STORAGE_TYPES[dtype], OrderedDict)
            ]
            self._known[dtype] = (
                function + pickle.MARK + pickle.MARK + tag + kind, hooks + pickle.EMPTY_TUPLE + pickle.REDUCE
            )

    def _save_another(self, tensor: Tensor, known: tuple, arguments: tuple) -> None:
        """What `save_reduce` would write for a plain tensor when all that tensors have in common is in the memo."""
        (memory, dtype), offset, size, stride, requires_grad, hooks = arguments
        write, memoize = self.write, self.memoize
        write(known[0])
        saved_id = self.persistent(memory, STORAGE_TYPES[dtype], memory.nbytes() // dtype.itemsize)
        _, _, key, place, numel = saved_id
        self.save(key)
        self.save(place)
        write(_numbers(numel) + pickle.TUPLE)
        memoize(saved_id)
        write(pickle.BINPERSID + _numbers(offset))
        for numbers in (size, stride):
            write(_tuple(*numbers))
            if numbers:
                memoize(numbers)
        write((pickle.NEWTRUE if requires_grad else pickle.NEWFALSE) + known[1])
        memoize(hooks)
        write(pickle.TUPLE)
        memoize(arguments)
        write(pickle.REDUCE)
        memoize(tensor)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if obj not in _WRITTEN:
            return super().save_global(obj, name)
        module, name = _WRITTEN[obj]
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_layout(self, obj: Any) -> None:
        self.save_reduce(layout, (repr(obj),), obj=obj)

    for _type in (dtypes.dtype, StorageType, type(encode)):
        dispatch[_type] = save_global
    _short: dict[Any, Callable] = {
        Layout: save_layout, int: save_int, Tensor: save_tensor, Parameter: save_tensor,
        storage.TypedStorage: save_storage, storage.UntypedStorage: save_storage,
    }
    dispatch |= _short
