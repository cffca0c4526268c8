"""Data types and torch's promotion rules (c10/core/ScalarType.h, ATen/native/TypeProperties.cpp).

A `dtype` names what the elements of a tensor are. NumPy stores all of them; bfloat16 comes from `ml_dtypes`.
Promotion is torch's, never NumPy's: a tensor with dimensions outranks a 0-d tensor, which outranks a Python number,
unless the lower rank is of a higher category (bool < integer < floating point).
"""

import builtins
from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOATING = range(3)  # the categories, lowest first


class dtype:
    """The type of a tensor's elements; compared by identity, printed as torch prints it."""

    __slots__ = ("name", "numpy", "itemsize", "category", "is_floating_point", "is_signed", "abbreviation")
    is_complex = False

    def __init__(self, name: str, numpy: Any, category: int, abbreviation: str):
        self.name = name
        self.numpy = np.dtype(numpy)
        self.itemsize = self.numpy.itemsize
        self.category = category
        self.is_floating_point = category == FLOATING
        self.is_signed = name not in ("bool", "uint8")
        self.abbreviation = abbreviation

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self):
        return by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def to_complex(self):
        raise NotImplementedError("minitorch has no complex dtypes; represent a complex tensor by two real ones")

    def to_real(self):
        return self


float16 = dtype("float16", np.float16, FLOATING, "f16")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING, "bf16")
float32 = dtype("float32", np.float32, FLOATING, "f32")
float64 = dtype("float64", np.float64, FLOATING, "f64")
uint8 = dtype("uint8", np.uint8, INTEGER, "u8")
int8 = dtype("int8", np.int8, INTEGER, "i8")
int16 = dtype("int16", np.int16, INTEGER, "i16")
int32 = dtype("int32", np.int32, INTEGER, "i32")
int64 = dtype("int64", np.int64, INTEGER, "i64")
bool_ = dtype("bool", np.bool_, BOOL, "b8")

ALL = (float16, bfloat16, float32, float64, uint8, int8, int16, int32, int64, bool_)
# torch's other spellings of the same objects
ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64, "bool": bool_,
}
_BY_NAME = {t.name: t for t in ALL} | ALIASES
_BY_NUMPY = {t.numpy: t for t in ALL}
# legacy type strings (`Tensor.type()`): "torch.FloatTensor" and so on
LEGACY = {
    "Half": float16, "BFloat16": bfloat16, "Float": float32, "Double": float64, "Byte": uint8, "Char": int8,
    "Short": int16, "Int": int32, "Long": int64, "Bool": bool_,
}


def by_name(name: str) -> dtype:
    return _BY_NAME[name]


def of(array: Any) -> dtype:
    """The dtype of an array, or of a NumPy dtype. TypeError, in torch's words, for one that no tensor can have."""
    numpy = array if isinstance(array, np.dtype) else array.dtype
    found = _BY_NUMPY.get(numpy) or _BY_NUMPY.get(numpy.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {numpy}. The only supported types are: "
            "float64, float32, float16, int64, int32, int16, int8, uint8, and bool."
        )
    return found


_default = float32


def get_default_dtype() -> dtype:
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of tensors made from Python floats. TypeError unless it is a floating point dtype."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: expected a floating point dtype, got {type(d).__name__}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d


def of_number(value: Any) -> dtype:
    """The dtype that torch gives a Python number."""
    if isinstance(value, (builtins.bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    if isinstance(value, complex):
        raise TypeError("minitorch has no complex dtypes; represent a complex tensor by two real ones")
    raise TypeError(f"expected a number, got {type(value).__name__}")


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both (torch's table: like NumPy's, except that an integer never widens a float)."""
    if type1 is type2:
        return type1
    if type1.category != type2.category:
        return type1 if type1.category > type2.category else type2
    if type1.category == FLOATING:
        if type1.itemsize == type2.itemsize:  # float16 with bfloat16
            return float32
        return type1 if type1.itemsize > type2.itemsize else type2
    return _BY_NUMPY[np.promote_types(type1.numpy, type2.numpy)]


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if higher.category >= lower.category and higher is not bool_:
        return higher
    return promote_types(higher, lower)


def result_dtype(*operands: Any) -> dtype:
    """torch's result type of an operation on tensors, arrays and numbers (`torch.result_type` for two)."""
    ranks: list[dtype | None] = [None, None, None]  # tensors with dimensions, 0-d tensors, numbers
    for x in operands:
        if isinstance(x, (builtins.bool, int, float, complex)):
            rank, d = 2, of_number(x)
        else:
            array = getattr(x, "_array", x)
            rank, d = (0 if array.ndim else 1), of(array.dtype)
        ranks[rank] = d if ranks[rank] is None else promote_types(ranks[rank], d)  # type: ignore[arg-type]
    result = _combine(ranks[0], _combine(ranks[1], ranks[2]))
    assert result is not None
    return result


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    return result_dtype(tensor1, tensor2)


def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Whether torch lets a result of one dtype be written into another (never down a category)."""
    return from_.category <= to.category


class finfo:
    """Limits of a floating point dtype: bits eps max min tiny smallest_normal resolution dtype."""

    def __init__(self, type: dtype | None = None):
        d = type or get_default_dtype()
        if not isinstance(d, dtype) or not d.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle {d!r}")
        info = ml_dtypes.finfo(d.numpy)
        self.dtype = d.name
        self.bits = d.itemsize * 8
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(f"1e-{info.precision}")  # the decimal digits that survive (C++'s digits10)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: bits max min dtype."""

    def __init__(self, type: dtype):
        if not isinstance(type, dtype) or type.category != INTEGER:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle {type!r}")
        info = np.iinfo(type.numpy)
        self.dtype, self.bits, self.max, self.min = type.name, info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
