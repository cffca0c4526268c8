"""Formulas on arrays that are one loop when compiled: each is written once.  Mirrors ATen/native/cpu/Loops.h and vec/.

    @elementwise
    def silu(x):
        return x / (1.0 + exp(-x))

On arrays this text is NumPy (or CuPy): one temporary array per operation, the reference.  On large float32 arrays the
same text is the body of a compiled loop (see `parallel`): one pass over memory, on all threads.  There the literals are
float32 (which is what NumPy makes of a Python float beside a float32 array), and `exp` is the one written out below,
which the compiler can turn into vector instructions.
"""

import functools
import types

import numpy as np

from .half import narrow, widen
from .parallel import COMPILE_FROM, compiled, pays, plain, run_slices

FLOAT32 = (np.dtype(np.float32),)
BLOCK = 1 << 14  # elements


class inline(compiled):  # noqa: N801 - used as a decorator
    """A formula: compiled loops call it on float32 numbers, Python code on arrays (then `array` runs, where given)."""

    def __init__(self, python, array=None, **options):
        code = python.__code__
        typed = tuple(np.float32(c) if type(c) is float else c for c in code.co_consts)
        narrowed = types.FunctionType(code.replace(co_consts=typed), python.__globals__, python.__name__)
        functools.update_wrapper(narrowed, python)
        super().__init__(narrowed, forceinline=True, **options)
        self.on_arrays = array or python

    def __call__(self, *args):
        return self.on_arrays(*args)


class elementwise(inline):  # noqa: N801 - used as a decorator
    """A formula of one or two arrays, followed by numbers. Called on arrays it returns a new one, of the first's type.

    float16 and bfloat16 are widened to float32, and the result is rounded once.
    """

    def __init__(self, python, **options):
        super().__init__(python, **options)
        self.__wrapped__ = python  # whose signature is this one's
        names, defaults = python.__code__.co_varnames[:python.__code__.co_argcount], python.__defaults__ or ()
        self.arity = len(names) - len(defaults)
        self.numbers = dict(zip(names[self.arity:], defaults, strict=True))
        self.loop = None

    def __call__(self, *args, **named):
        if self.numbers and (named or len(args) < self.arity + len(self.numbers)):
            missing = list(self.numbers.items())[len(args) - self.arity:]
            args += tuple(named.get(name, default) for name, default in missing)
        first, last = args[0], args[self.arity - 1]
        if first.dtype.itemsize == 2:
            return narrow(self(*map(widen, args)), first.dtype)
        if first.size < COMPILE_FROM or first.shape != last.shape or not plain(first, last):
            return self.on_arrays(*args)
        out = np.empty_like(first)
        flat = [array.reshape(-1) for array in args[:self.arity]]
        if pays(first.size, first, last, dtypes=FLOAT32):
            numbers = [np.float32(number) for number in args[self.arity:]]
            run_slices(self.loop or self.make_loop(), first.size, out.reshape(-1), *flat, *numbers)
        else:
            run_slices(self._by_blocks, first.size, out.reshape(-1), flat, args[self.arity:])
        return out

    def _by_blocks(self, start, stop, out, flat, numbers):
        """The text on arrays, a block at a time: its temporary arrays stay in the cache."""
        for i in range(start, stop, BLOCK):
            j = min(i + BLOCK, stop)
            out[i:j] = self.on_arrays(*(array[i:j] for array in flat), *numbers)

    def make_loop(self):
        """The loop around this formula, under the formula's name: that is how Numba's cache tells it from others."""
        template, python = (_loop1, _loop2)[self.arity - 1], self.python
        code = template.__code__.replace(co_filename=python.__code__.co_filename, co_name=f"{python.__name__}_loop",
                                         co_firstlineno=python.__code__.co_firstlineno)
        loop = types.FunctionType(code, {"formula": self}, code.co_name)
        loop.__qualname__, loop.__module__ = code.co_name, python.__module__
        self.loop = compiled(loop)
        return self.loop


# The slices are cut out first: an index that counts from 0 needs no check whether it is negative, which would keep the
# compiler from using vector instructions.


def _loop1(start, stop, out, x, *numbers):
    out, x = out[start:stop], x[start:stop]
    for i in range(len(out)):
        out[i] = formula(x[i], *numbers)  # noqa: F821 - put in by make_loop


def _loop2(start, stop, out, x, y, *numbers):
    out, x, y = out[start:stop], x[start:stop], y[start:stop]
    for i in range(len(out)):
        out[i] = formula(x[i], y[i], *numbers)  # noqa: F821


# -- what formulas are made of ----------------------------------------------------------------------------------------

# These must be rounded as they are written (only a multiplication and the addition after it may become one operation).
_in_order = functools.partial(inline, fastmath={"contract"})


@functools.partial(inline, array=np.where)
def select(condition, yes, no):
    """`yes if condition else no`, without a branch."""
    return yes if condition else no


@functools.partial(inline, array=lambda x, low, high: np.minimum(np.maximum(x, low), high))
def clip(x, low, high):
    """x moved into [low, high]; nan stays."""
    return low if x < low else high if x > high else x


def _horner(s, *coefficients):
    *others, sum = coefficients
    sum = s * sum
    for c in reversed(others[1:]):
        sum += c
        sum *= s
    sum += others[0]
    return sum


@functools.partial(_in_order, array=_horner)
def quintic(s, c0, c1, c2, c3, c4, c5):
    """The polynomial `c0 + c1 s + ... + c5 s^5` by Horner's rule."""
    return c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))


@functools.partial(_in_order, array=np.exp)
def exp(x):
    """e^x = 2^k e^r with x = k log 2 + r, |r| <= log(2) / 2, and e^r by Taylor's series, exact to 0.1 ulp at r^7.

    log 2 is subtracted in two parts, the first with zeros at its end so that k times it is exact (Cody & Waite).
    """
    x = clip(x, -150.0, 150.0)
    k = np.rint(x * 1.44269504)
    r = (x - k * 0.693145752) - k * 1.42860677e-6
    series = quintic(r, 0.5, 1.66666667e-1, 4.16666667e-2, 8.33333333e-3, 1.38888889e-3, 1.98412698e-4)
    e = 1.0 + r * (1.0 + r * series)
    # 2^k by its bits, in two factors, of which neither can leave the exponent's range.
    whole = np.int32(k)
    half = whole >> np.int32(1)
    return e * _power_of_two(half) * _power_of_two(whole - half)


@inline
def _power_of_two(k):
    return np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@functools.partial(_in_order, array=np.log1p)
def log1p(x):
    """log(1 + x) for x >= 0: of u = 1 + x, and to it the x that u has lost to rounding, over u."""
    u = 1.0 + x
    return select(x > 3e38, x, log(u) + (x - (u - 1.0)) / u)


@functools.partial(_in_order, array=np.log)
def log(x):
    """log(x) = k log 2 + log(m) for positive normal x = 2^k m, m within sqrt(2) of 1, and
    log(m) = 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1)."""
    bits = np.float32(x).view(np.int32) - np.int32(0x3F3504F3)  # of sqrt(1/2)
    k = np.float32(bits >> np.int32(23))
    m = np.int32((bits & np.int32(0x7FFFFF)) + np.int32(0x3F3504F3)).view(np.float32)
    s = (m - 1.0) / (m + 1.0)
    series = quintic(s * s, 2.0, 0.666666667, 0.4, 0.285714286, 0.222222222, 0.181818182)
    return k * 0.693145752 + (s * series + k * 1.42860677e-6)


@_in_order
def erf(x):
    """The error function, to some 2e-7: for float32 only. `x P(x^2) / Q(x^2)` with the polynomials whose greatest error
    against scipy.special.erf is least, up to 3.92, where float32's erf becomes 1."""
    s = clip(x * x, 0.0, 15.4)
    p = quintic(s, 1.12837915, 0.190403088, 5.27482904e-2, 3.76547636e-3, 2.8488030e-4, 2.05012244e-6)
    q = quintic(s, 1.0, 0.502073085, 0.114107728, 1.4968934e-2, 1.16250283e-3, 3.80919537e-5)
    return clip(x * select(s < 15.36, p / q, 1.0), -1.0, 1.0)


@_in_order
def minus_both(x, a, b):
    """`(x - a) - b`, and not `x - (a + b)`, in which a large a may swallow b."""
    return (x - a) - b


@_in_order
def order_key(x):
    """An int32 that is ordered as the float32 x is, nan above all else (or below, by its sign).

    The compiler makes vector code of the greatest of a row of ints; of floats it does not, because of nan.
    """
    bits = np.float32(x).view(np.int32)
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@_in_order
def from_order_key(key):
    """The x of `order_key(x)`."""
    return np.int32(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))).view(np.float32)
