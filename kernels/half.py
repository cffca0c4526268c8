"""float16 and bfloat16: computed in float32, rounded once.  Mirrors ATen's `opmath_t` and its low-precision kernels.

NumPy computes float16 element by element in scalar code and accumulates sums and products *in float16*: a 1024x1024
product takes minutes, and `np.ones(70000, np.float16).sum()` is inf.  bfloat16 is ml_dtypes' type, of which NumPy knows
even less.  So every kernel that does arithmetic widens such arrays to float32 and rounds its result back once, which is
also what torch's CPU kernels do.
"""

import functools

import numpy as np
from ml_dtypes import bfloat16

from .parallel import COMPILE_FROM, compiled, pays, plain, run_slices

FLOAT16, BFLOAT16, FLOAT32 = np.dtype(np.float16), np.dtype(bfloat16), np.dtype(np.float32)
HALVES = (FLOAT16, BFLOAT16)


def is_half(array):
    """True for float16 and bfloat16 arrays; False for all else, arrays or not."""
    return getattr(array, "dtype", None) in HALVES


def widen(array):
    """The float32 copy of a float16 or bfloat16 array; anything else as it is."""
    return convert(array, FLOAT32) if is_half(array) else array


def narrow(array, dtype):
    """`array` (float32) rounded to `dtype`, half to even."""
    return array if array.dtype == dtype else convert(array, dtype)


def convert(array, dtype):
    """`array.astype(dtype)`, on large arrays by loops that are faster than NumPy's, and on all threads."""
    if array.size < COMPILE_FROM or not plain(array):
        return array.astype(dtype)
    out = np.empty(array.shape, dtype)
    source, target = array.reshape(-1), out.reshape(-1)
    loop = _loops.get((array.dtype, out.dtype))
    if loop is not None and pays(array.size, array, dtypes=_loops_from):
        source, target = (x.view(np.int16) if x.dtype in HALVES else x for x in (source, target))
        run_slices(loop, source.size, source, target)
    else:
        run_slices(_copy, source.size, source, target)
    return out


def _copy(start, stop, source, target):
    np.copyto(target[start:stop], source[start:stop], casting="unsafe")


def in_float32(kernel=None, *, keep=()):
    """Let a kernel for float32 and float64 serve the half precisions: widen its arrays, run it, round what it returns.

    The type of the results is that of the kernel's first argument. `keep` lists the positions in a tuple of results
    that stay float32.
    """
    if kernel is None:
        return functools.partial(in_float32, keep=keep)

    @functools.wraps(kernel)
    def wrapped(first, *args, **kwargs):
        dtype = first.dtype
        if dtype.itemsize != 2 or dtype not in HALVES:
            return kernel(first, *args, **kwargs)
        result = kernel(widen(first), *map(widen, args), **{name: widen(value) for name, value in kwargs.items()})
        if not isinstance(result, tuple):
            return narrow(result, dtype)
        return tuple(part if part is None or position in keep else narrow(part, dtype)
                     for position, part in enumerate(result))

    return wrapped


# -- the loops. Half precisions come as int16, of which each is one number's bits --------------------------------------


@compiled
def _widen_float16(start, stop, source, target):
    """Sign 1, exponent 5 (bias 15), fraction 10 bits, to 1, 8 (bias 127), 23."""
    source, target = source[start:stop], target[start:stop]
    for i in range(len(source)):
        h = np.int32(source[i])
        bits = np.int32(((h & np.int32(0x7FFF)) << np.int32(13)) + np.int32(112 << 23))
        exponent = h & np.int32(0x7C00)
        if exponent == np.int32(0x7C00):  # inf and nan keep the greatest exponent
            bits = np.int32(bits + np.int32(112 << 23))
        tiny = np.float32(np.int32(h & np.int32(0x3FF))) * np.float32(2.0**-24)
        value = tiny if exponent == np.int32(0) else np.int32(bits).view(np.float32)
        target[i] = -value if h < np.int32(0) else value


@compiled
def _narrow_float16(start, stop, source, target):
    source, target = source[start:stop], target[start:stop]
    for i in range(len(source)):
        bits = np.float32(source[i]).view(np.int32)
        size = bits & np.int32(0x7FFFFFFF)
        odd = (size >> np.int32(13)) & np.int32(1)
        half = (size - np.int32(112 << 23) + np.int32(0xFFF) + odd) >> np.int32(13)  # may carry up to inf: 0x7C00
        if size < np.int32(113 << 23):  # below 2^-14 there is no exponent: a multiple of 2^-24
            half = np.int32(np.rint(np.int32(size).view(np.float32) * np.float32(2.0**24)))
        if size >= np.int32(143 << 23):  # 65536 and above
            half = np.int32(0x7C00)
        if size > np.int32(0x7F800000):
            half = np.int32(0x7E00)
        target[i] = np.int16(half | ((bits >> np.int32(16)) & np.int32(-0x8000)))


@compiled
def _widen_bfloat16(start, stop, source, target):
    """bfloat16 is the upper half of a float32."""
    source, target = source[start:stop], target[start:stop]
    for i in range(len(source)):
        target[i] = np.int32(np.int32(source[i]) << np.int32(16)).view(np.float32)


@compiled
def _narrow_bfloat16(start, stop, source, target):
    source, target = source[start:stop], target[start:stop]
    for i in range(len(source)):
        bits = np.float32(source[i]).view(np.int32)
        odd = (bits >> np.int32(16)) & np.int32(1)
        rounded = (bits + np.int32(0x7FFF) + odd) >> np.int32(16)
        if (bits & np.int32(0x7FFFFFFF)) > np.int32(0x7F800000):
            rounded = np.int32(0x7FC0)
        target[i] = np.int16(rounded)


_loops = {(FLOAT16, FLOAT32): _widen_float16, (FLOAT32, FLOAT16): _narrow_float16,
          (BFLOAT16, FLOAT32): _widen_bfloat16, (FLOAT32, BFLOAT16): _narrow_bfloat16}
_loops_from = (FLOAT16, BFLOAT16, FLOAT32)
