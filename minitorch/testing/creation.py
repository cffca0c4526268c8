"""`make_tensor`: a tensor of random values for a test (torch/testing/_creation.py)."""

import math
from typing import Any

import minitorch

from .. import dtypes


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of `shape` with values uniform in ``[low, high)``.

    Where no bound is given: ``[-9, 9)`` for floating point, ``[-9, 10)`` for signed integers, ``[0, 10)`` for uint8,
    both truth values for bool. `exclude_zero` replaces zeros by one (integers) or the smallest positive number;
    `noncontiguous` gives a view of every second element of the last dimension.

    Raises ValueError where ``low >= high``, where a bound is NaN, or where contradicting layouts are asked for.
    """
    if len(shape) == 1 and isinstance(shape[0], list | tuple):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    low, high = _bounds(dtype, low, high)
    wide = noncontiguous and math.prod(shape) > 1
    if wide:
        shape = (*shape[:-1], 2 * shape[-1])
    if dtype.is_floating_point:
        result = minitorch.empty(shape, device=device, dtype=dtype).uniform_(low, high)
    else:
        result = minitorch.randint(math.floor(low), math.ceil(high), shape, device=device, dtype=dtype)
    if wide:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = minitorch.finfo(dtype).tiny if dtype.is_floating_point else 1
    return result.requires_grad_() if requires_grad else result


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """The bounds, with the defaults filled in, inside what the dtype can hold."""
    if dtype is dtypes.bool_:
        lowest, highest, default = 0.0, 2.0, (0, 2)
    elif dtype.is_floating_point:
        info = dtypes.finfo(dtype)
        lowest, highest, default = info.min, info.max, (-9, 9)
    else:
        whole = dtypes.iinfo(dtype)
        lowest, highest, default = whole.min, whole.max + 1, (0 if not dtype.is_signed else -9, 10)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if low >= highest or high < lowest:
        raise ValueError(
            f"The value interval [{low}, {high}) of `low` and `high` does not overlap with the values of {dtype!r}"
        )
    return min(max(low, lowest), highest), max(min(high, highest), lowest)
