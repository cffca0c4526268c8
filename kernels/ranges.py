"""Evenly spaced numbers, rounded as torch rounds them.  Mirrors ATen/native/cpu/RangeFactoriesKernel.cpp.

torch multiplies and adds in one rounding, and counts `arange` of floating dtypes in vectors: only the first of each
vector is computed from `start`, the others from that one.
"""

import math
from functools import partial

import numpy as np

from .box_muller import fma, mapped

f4, f8 = np.float32, np.float64


def arange(start, step, n, dtype):
    """start, start + step, ...: `n` numbers."""
    if dtype.kind in "iub":
        start, step = int(start), int(step)
        return np.arange(start, start + n * step, step).astype(dtype, copy=False) if step else np.full(n, start, dtype)
    number = f4 if dtype.itemsize == 2 else f8
    i = np.arange(n, dtype=number)
    start, step = number(start), number(step)
    lanes = 32 // dtype.itemsize  # of a 256-bit vector; they come in pairs, what is left is done one by one
    whole = n - n % (2 * lanes)
    out = fma(i, step, start)
    if whole:
        first = cast(out[:whole:lanes], dtype).astype(number)
        out[:whole] = fma(i[:lanes], step, first[:, None]).reshape(-1)
    return cast(out, dtype)


def linspace(start, end, n, dtype, fused=True):
    """`n` numbers from start to end, the first half counted from the start, the second from the end.

    fused: multiply and add in one rounding."""
    if dtype.kind in "iub":
        start, end = int(start), int(end)
    if n < 2:
        return cast(np.full(n, start), dtype)
    number = f8 if dtype.kind in "iub" else dtype.type
    start, end = cast(np.array([start, end], f8), np.dtype(number))
    i, half = np.arange(n), n // 2
    step = (end - start) / i[-1:].astype(number)
    i[half:] = i[-1] - i[half:]
    i = i.astype(number)
    if not fused or i.dtype.itemsize == 2:  # 16-bit numbers are rounded after each operation
        return np.concatenate([start + step * i[:half], end - step * i[half:]])
    return np.concatenate([fma(i[:half], step, start), fma(i[half:], -step, end)]).astype(dtype)


def logspace(start, end, n, dtype, base=10.0):
    """base ** linspace(start, end, n): as torch in float64, to a few units in the last place in the others."""
    wide = dtype.kind in "iub" or dtype == f8
    if dtype.kind in "iub":
        start, end = int(start), int(end)
    elif not wide:
        start, end = cast(np.array([start, end], f8), dtype).tolist()
    exponents = linspace(start, end, n, np.dtype(f8 if wide else f4), fused=False).astype(f8)
    power = mapped(partial(_power, base), exponents) if dtype == f8 and base > 0 else np.power(base, exponents)
    return cast(power, dtype)


def _power(base, x):
    try:
        return math.pow(base, x)
    except OverflowError:
        return math.inf


def cast(array, dtype):
    """To the dtype, into 16 bits by way of float32, as in C++."""
    return (array.astype(f4) if dtype.itemsize == 2 and dtype.kind not in "iu" else array).astype(dtype)
