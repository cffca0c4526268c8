"""An interpreter of pickles that runs nothing but a small allow-list (mirrors torch/_weights_only_unpickler.py).

A pickle is a program for a stack machine. Most of its instructions push a value or put values into a container; the
dangerous ones are three: GLOBAL names an object, REDUCE calls it, BUILD gives it state. Here GLOBAL looks the name up
in a table and never imports, REDUCE calls what stands in that table, BUILD knows two kinds of objects.

Time and memory are bounded by the length of the pickle. Single instructions are, but for three things: a call that
copies a long argument, a hash that walks a nested tuple once for each path through it, and keys chosen to have the same
hash. The first two are paid from a `budget`, the third is counted. (For the second reason no message shows a value.)
"""

import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

OPCODES: dict[int, Callable] = {}


def opcode(*codes: bytes) -> Callable:
    def register(function: Callable) -> Callable:
        for code in codes:
            OPCODES[code[0]] = function
        return function

    return register


class Refused(Exception):
    """The pickle asks for something that is not on the list."""


class Damaged(Exception):
    """The pickle is no program that a pickler wrote."""


class Unpickler:
    """`find(module, name)` gives the object that a name stands for, or raises Refused; `calls` says what each such
    object does when it is called with the pickle's arguments; `new` and `build` make and fill objects of the classes
    that the user declared safe; `persistent_load` gives the storage that an id stands for."""

    def __init__(self, data: bytes, find: Callable, calls: dict, user: Callable, persistent_load: Callable):
        self.data, self.at = data, 0
        self.find, self.calls, self.user, self.persistent_load = find, calls, user, persistent_load
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.budget = 4096 + 2 * len(data)  # bytes of a bytearray are paid twice, all else once
        self.hashes: dict[int, Any] = {}
        self.collisions = 0
        self.foreign: Exception | None = None

    def load(self) -> Any:
        """The object. Refused or Damaged when there is none; what `persistent_load` raises passes through."""
        code = -1
        try:
            while (code := self.data[self.at]) != pickle.STOP[0]:
                self.at += 1
                OPCODES[code](self)
            (result,) = self.stack
            return result
        except Exception as error:  # whatever a wrong program does to the stack, or to a function of the table
            if isinstance(error, Refused) or error is self.foreign:
                raise
            if self.at >= len(self.data):
                raise Damaged("it ends before its end") from error
            if code not in OPCODES and code != pickle.STOP[0]:
                raise Damaged(f"Unsupported operand {code} at byte {self.at - 1}") from error
            reason = f"{type(error).__name__}: {str(error):.500}" if str(error) else type(error).__name__
            raise Damaged(f"instruction {chr(code)!r} before byte {self.at}: {reason}") from error

    # ---- the machine ------------------------------------------------------------------------------------------------

    def read(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            self.at = len(self.data)
            raise EOFError
        data = self.data[self.at : end]
        self.at = end
        return data

    def number(self, format: str) -> Any:
        return struct.unpack(format, self.read(struct.calcsize(format)))[0]

    def line(self) -> str:
        end = self.data.index(b"\n", self.at)
        line = self.data[self.at : end].decode()
        self.at = end + 1
        return line

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def spend(self, amount: int) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise Refused("data.pkl would grow far beyond its own size")

    def check_key(self, key: Any) -> None:
        """Whether a value may be hashed: a key of a dict, a member of a set."""
        if isinstance(key, (str, bytes, float)) or (isinstance(key, int) and key.bit_length() <= 60):
            return
        pending = [key]
        while pending:
            part = pending.pop()
            if isinstance(part, tuple):
                self.spend(1 + len(part))
                pending.extend(part)
        first = self.hashes.setdefault(hash(key), key)
        if first is not key and first != key:
            self.collisions += 1
            if self.collisions > 100:
                raise Refused("data.pkl has too many keys with the same hash")

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise Refused(
                "Can only SETITEMS for dict, collections.OrderedDict, collections.Counter, "
                f"but got {type(target).__name__}"
            )
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.check_key(key)
            target[key] = value

    def check_call(self, arguments: Any) -> None:
        if type(arguments) is not tuple:
            raise Refused(f"the arguments of a call must be a tuple, but got {type(arguments).__name__}")
        for argument in arguments:
            if isinstance(argument, (str, bytes, bytearray, list, tuple, dict, set)):
                self.spend(len(argument))

    # ---- globals, calls, state: what can be dangerous ---------------------------------------------------------------

    @opcode(pickle.GLOBAL)
    def global_(self) -> None:
        module, name = self.line(), self.line()
        self.push(self.find(module, name))

    @opcode(pickle.STACK_GLOBAL)
    def stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            raise Refused("the name of a global must be a string")
        self.push(self.find(module, name))

    @opcode(pickle.REDUCE)
    def reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.check_call(arguments)
        if not callable(function):
            raise Refused(f"Trying to call reduce for unrecognized function {_short(function)}")
        if function in self.calls:
            for argument in arguments if function in (set, OrderedDict, Counter) else ():
                self._check_members(function, argument)
            self.push(self.calls[function](*arguments))
        elif self.user(function):
            self.push(function(*arguments))
        else:
            raise Refused(f"Trying to call reduce for unrecognized function {_short(function)}")

    def _check_members(self, kind: type, argument: Any) -> None:
        """The members of a set, the keys of a dict, before they are hashed."""
        if type(argument) not in (list, tuple, dict, set, str):
            raise Refused(f"{kind.__name__} cannot be made of {type(argument).__name__}")
        for member in argument:
            self.check_key(member[0] if kind is OrderedDict and type(argument) is not dict else member)

    @opcode(pickle.NEWOBJ)
    def new(self) -> None:
        arguments, cls = self.stack.pop(), self.stack.pop()
        self.check_call(arguments)
        if not (isinstance(cls, type) and self.user(cls)):
            raise Refused(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
                f"but got {_short(cls)}"
            )
        self.push(cls.__new__(cls, *arguments))

    @opcode(pickle.BUILD)
    def build(self) -> None:
        state = self.stack.pop()
        target: Any = self.stack[-1]
        if type(target) is OrderedDict:
            self.check_call((state,))
            target.__dict__.update(state)
        elif self.user(type(target)):
            if hasattr(target, "__setstate__"):
                target.__setstate__(state)
                return
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            target.__dict__.update(attributes or {})
            for name, value in (slots or {}).items():
                setattr(target, name, value)
        else:
            raise Refused(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(target).__name__}"
            )

    @opcode(pickle.BINPERSID)
    def persistent(self) -> None:
        saved_id = self.stack.pop()
        try:
            self.push(self.persistent_load(saved_id))
        except Exception as error:
            self.foreign = error
            raise

    # ---- containers -------------------------------------------------------------------------------------------------

    @opcode(pickle.MARK)
    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    @opcode(pickle.APPEND)
    def append(self) -> None:
        self._extend([self.stack.pop()])

    @opcode(pickle.APPENDS)
    def appends(self) -> None:
        self._extend(self.pop_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise Refused(f"Can only append to lists, but got {type(target).__name__}")
        target.extend(items)

    @opcode(pickle.ADDITEMS)
    def add_items(self) -> None:
        items = self.pop_mark()
        target = self.stack[-1]
        if type(target) is not set:
            raise Refused(f"Can only add to sets, but got {type(target).__name__}")
        for item in items:
            self.check_key(item)
            target.add(item)

    @opcode(pickle.SETITEM)
    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    @opcode(pickle.SETITEMS)
    def set_items_(self) -> None:
        self.set_items(self.pop_mark())

    @opcode(pickle.TUPLE)
    def tuple_(self) -> None:
        self.push(tuple(self.pop_mark()))

    @opcode(pickle.TUPLE1)
    def tuple_1(self) -> None:
        self.stack[-1] = (self.stack[-1],)

    @opcode(pickle.TUPLE2)
    def tuple_2(self) -> None:
        a, b = self.stack[-2:]
        self.stack[-2:] = [(a, b)]

    @opcode(pickle.TUPLE3)
    def tuple_3(self) -> None:
        a, b, c = self.stack[-3:]
        self.stack[-3:] = [(a, b, c)]

    # ---- the memo: values used more than once -----------------------------------------------------------------------

    @opcode(pickle.BINPUT)
    def put(self) -> None:
        self.memo[self.number("B")] = self.stack[-1]

    @opcode(pickle.LONG_BINPUT)
    def long_put(self) -> None:
        self.memo[self.number("<I")] = self.stack[-1]

    @opcode(pickle.MEMOIZE)
    def memoize(self) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    @opcode(pickle.BINGET)
    def get(self) -> None:
        self.push(self.memo[self.number("B")])

    @opcode(pickle.LONG_BINGET)
    def long_get(self) -> None:
        self.push(self.memo[self.number("<I")])

    @opcode(pickle.PROTO)
    def protocol(self) -> None:
        version = self.number("B")
        if not 2 <= version <= 5:
            raise Refused(f"pickle protocol {version} is not one of 2 to 5")

    @opcode(pickle.FRAME)
    def frame(self) -> None:
        self.number("<Q")  # how far to read ahead; all of it is here already


# ---- values ---------------------------------------------------------------------------------------------------------


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


# constants; numbers in the stream; runs of bytes in the stream, preceded by their length
for _code, _make in (
    (pickle.NONE, lambda: None), (pickle.NEWTRUE, lambda: True), (pickle.NEWFALSE, lambda: False),
    (pickle.EMPTY_TUPLE, tuple), (pickle.EMPTY_LIST, list), (pickle.EMPTY_DICT, dict), (pickle.EMPTY_SET, set),
):
    OPCODES[_code[0]] = lambda machine, make=_make: machine.push(make())
for _code, _format in (
    (pickle.BININT, "<i"), (pickle.BININT1, "B"), (pickle.BININT2, "<H"), (pickle.BINFLOAT, ">d"),
):
    OPCODES[_code[0]] = lambda machine, format=_format: machine.push(machine.number(format))
for _code, _length, _convert in (
    (pickle.BINUNICODE, "<I", _text), (pickle.SHORT_BINUNICODE, "B", _text), (pickle.BINUNICODE8, "<Q", _text),
    (pickle.SHORT_BINSTRING, "B", _text), (pickle.SHORT_BINBYTES, "B", bytes), (pickle.BINBYTES, "<I", bytes),
    (pickle.BINBYTES8, "<Q", bytes), (pickle.BYTEARRAY8, "<Q", bytearray),
    (pickle.LONG1, "B", _integer), (pickle.LONG4, "<I", _integer),
):
    OPCODES[_code[0]] = lambda machine, length=_length, convert=_convert: machine.push(
        convert(machine.read(machine.number(length)))
    )


def _short(value: Any) -> str:
    """A value's name or type, never its contents: those may be without end."""
    return getattr(value, "__qualname__", None) or f"a value of type {type(value).__name__}"


def globals_of(data: bytes) -> Iterator[tuple[str, str]]:
    """The (module, name) pairs that a pickle mentions, found without interpreting it."""
    import pickletools

    strings: list[str] = []
    for instruction, argument, _ in pickletools.genops(data):
        if instruction.name == "GLOBAL" and argument is not None:
            module, name = argument.split(" ", 1)
            yield module, name
        elif instruction.name == "STACK_GLOBAL" and len(strings) > 1:
            yield strings[-2], strings[-1]
        elif isinstance(argument, str):
            strings.append(argument)
