"""float16 and bfloat16: computed in float32, rounded once.  Mirrors ATen's `opmath_t` and its reduced-precision BLAS paths.

NumPy computes float16 element by element in scalar code and accumulates sums and products *in float16*: a 1024x1024
product takes minutes, and `np.ones(70000, np.float16).sum()` is inf.  bfloat16 is ml_dtypes' type, of which NumPy knows
even less.  So every kernel that does arithmetic widens such arrays to float32 and rounds its result back once, which is
also what torch's CPU kernels do.
"""

import functools

import numpy as np
from ml_dtypes import bfloat16

FLOAT16, BFLOAT16, FLOAT32 = np.dtype(np.float16), np.dtype(bfloat16), np.dtype(np.float32)
HALVES = (FLOAT16, BFLOAT16)


def is_half(array):
    """True for float16 and bfloat16 arrays; False for all else, arrays or not."""
    return getattr(array, "dtype", None) in HALVES


def widen(array):
    """The float32 copy of a float16 or bfloat16 array; anything else as it is."""
    return array.astype(np.float32) if is_half(array) else array


def narrow(array, dtype):
    """`array` (float32) rounded to `dtype`, half to even."""
    return array if array.dtype == dtype else array.astype(dtype)


def in_float32(kernel=None, *, keep=()):
    """Let a kernel for float32 and float64 serve float16 and bfloat16 too: widen its arrays, run it, round what it returns.

    The type of the results is that of the kernel's first argument.  `keep` lists the positions in a tuple of results that
    stay float32 (statistics that a backward pass will use).
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
