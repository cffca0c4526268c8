"""`assert_close`: two values are equal up to a tolerance, or an AssertionError that says where not
(torch/testing/_comparison.py).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor, wrap

# dtype -> (relative, absolute) tolerance; what is not floating point must be equal.
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that ``|actual - expected| <= atol + rtol * |expected|`` everywhere, and that infinities are equal.

    Compares tensors, NumPy arrays, numbers, None, and sequences and mappings of these. By default the tolerances follow
    the dtype (the larger of the two where they differ). `msg` replaces the message, or is called with it.

    Raises AssertionError where the values differ (in shape, dtype, device, stride if asked, or value), TypeError where
    they cannot be compared, ValueError where only one of `rtol` and `atol` is given.
    """
    if (rtol is None) is not (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, "
            f"but got no {'rtol' if rtol is None else 'atol'}."
        )
    compare = _Comparison(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_stride)
    found = compare(actual, expected)
    if found is not None:
        message, place = found
        if place:
            message += f"\n\nThe failure occurred for item {place}"
        raise AssertionError(message if msg is None else msg(message) if callable(msg) else msg)


class _Comparison:
    """Each method returns None where the two are close, else (message, place inside the containers)."""

    def __init__(self, rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_stride):
        self.rtol, self.atol, self.equal_nan, self.allow_subclasses = rtol, atol, equal_nan, allow_subclasses
        self.check_device, self.check_dtype, self.check_stride = check_device, check_dtype, check_stride

    def __call__(self, actual: Any, expected: Any) -> tuple[str, str] | None:
        if actual is None or expected is None:
            return None if actual is expected else (f"None mismatch: {actual} is not {expected}", "")
        kinds = [_kind(x) for x in (actual, expected)]
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if (
            not kinds[0]
            or kinds[0] != kinds[1]
            or (kinds[0] == "tensor" and not (type(actual) is type(expected) or (self.allow_subclasses and related)))
        ):
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
            )
        return getattr(self, kinds[0])(actual, expected)

    def boolean(self, actual, expected):
        return None if actual is expected else (f"Booleans mismatch: {actual} is not {expected}", "")

    def number(self, actual, expected):
        if self.check_dtype and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}.", ""
        kinds = [dtypes.float64 if isinstance(x, float) else dtypes.int64 for x in (actual, expected)]
        return self.values(np.asarray(actual), np.asarray(expected), kinds)

    def mapping(self, actual, expected):
        missing, additional = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
        if missing or additional:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}"
            ), ""
        return self.items(actual, expected, expected)

    def sequence(self, actual, expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", ""
        return self.items(actual, expected, range(len(expected)))

    def items(self, actual, expected, keys):
        for key in keys:
            if (found := self(actual[key], expected[key])) is not None:
                return found[0], f"[{key!r}]{found[1]}"
        return None

    def tensor(self, actual, expected):
        actual, expected = (x if isinstance(x, Tensor) else wrap(np.asarray(x)) for x in (actual, expected))
        checks = [
            ("shape", "shape", True),
            ("device", "device", self.check_device),
            ("dtype", "dtype", self.check_dtype),
        ]
        for attribute, label, wanted in checks:
            if wanted and getattr(actual, attribute) != getattr(expected, attribute):
                return _mismatch(label, getattr(actual, attribute), getattr(expected, attribute))
        if self.check_stride and actual.stride() != expected.stride():
            return _mismatch("stride()", actual.stride(), expected.stride())
        arrays = [x.detach().cpu()._array for x in (actual, expected)]
        return self.values(*arrays, [actual.dtype, expected.dtype])

    def values(self, actual, expected, kinds):
        pairs = [TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        rtol = self.rtol if self.rtol is not None else max(r for r, _ in pairs)
        atol = self.atol if self.atol is not None else max(a for _, a in pairs)
        exact = all(kind not in TOLERANCES for kind in kinds)
        actual, expected = (x.astype(np.int64 if exact else np.float64) for x in (actual, expected))
        with np.errstate(all="ignore"):
            gap = np.abs(actual - expected)
            close = (actual == expected) | (np.isfinite(gap) & (gap <= atol + rtol * np.abs(expected)))
            if self.equal_nan:
                close |= np.isnan(actual) & np.isnan(expected)
            if np.all(close):
                return None
            gap = np.where(close, 0, gap)
            ratio = np.where(close, 0, gap / np.abs(expected))
        equal = "equal" if rtol == atol == 0 else "close"
        if gap.ndim == 0:
            return (
                f"Scalars are not {equal}!\n\nExpected {expected.item()} but got {actual.item()}.\n"
                f"Absolute difference: {gap.item()}{_allowed(atol, equal)}\n"
                f"Relative difference: {ratio.item()}{_allowed(rtol, equal)}"
            ), ""
        wrong, total = int(np.sum(~close)), gap.size
        return (
            f"Tensor-likes are not {equal}!\n\n"
            f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})\n"
            f"Greatest absolute difference: {_greatest(gap)}{_allowed(atol, equal)}\n"
            f"Greatest relative difference: {_greatest(ratio)}{_allowed(rtol, equal)}"
        ), ""


def _kind(value: Any) -> str:
    if isinstance(value, Tensor | np.ndarray):
        return "tensor"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | float | np.number):
        return "number"
    if isinstance(value, Mapping):
        return "mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "sequence"
    return ""


def _mismatch(attribute: str, actual: Any, expected: Any) -> tuple[str, str]:
    return f"The values for attribute '{attribute}' do not match: {actual} != {expected}.", ""


def _greatest(gap: np.ndarray) -> str:
    place = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return f"{gap[place].item()} at index {tuple(int(i) for i in place)}"


def _allowed(tolerance: float, equal: str) -> str:
    return "" if equal == "equal" else f" (up to {tolerance if tolerance else 0} allowed)"
