"""Uniforms to normals, sixteen at a time, with the rounding of torch's own kernel.  Mirrors NormalFill16 in
ATen/native/cpu/DistributionTemplates.h.

Of every 16 uniforms the first 8 become radii and the last 8 angles (Box and Muller 1958):

    r = sqrt(-2 log(1 - u1)),  t = 2 pi u2,  out = (r cos t, r sin t) * std + mean

torch's float32 kernel computes log, sin and cos with the polynomials of the Cephes library (S. Moshier), in vectors of
8, and fuses each multiplication with the addition after it. So does this file: each `_fma` below is one rounding. The
text of these formulas stands here once; on arrays it is the NumPy version, inside a loop it is what Numba compiles.
Both give the same bits. In float64 torch calls the C library, and so do we, through Python's `math`: NumPy's own
vector functions differ in the last place.
"""

import math
from functools import partial

import numpy as np

from . import parallel

f4, f8, i4 = np.float32, np.float64, np.int32
BLOCK = 1 << 14  # pairs that the NumPy version works on at a time

# A loop in which every operation is rounded as it is written: nothing may be contracted or reordered.
exactly = partial(parallel.compiled, fastmath=False)


class formula(parallel.compiled):  # noqa: N801 - used as a decorator
    """Plain Python when it is called, compiled where a compiled loop uses it.

    plain: what is called, where that differs from what is compiled."""

    def __init__(self, python, plain=None, **options):
        super().__init__(python, **{"fastmath": False, **options})
        self.plain = plain or python

    def __call__(self, *args):
        return self.plain(*args)


_saved = 0.0


def compiles(seconds):
    """Should a call take its compiled loop, which saves so many seconds?

    Yes once Numba is there; and it is loaded, which takes about a second, when what it would have saved adds up to
    that. Unlike elsewhere in this room the answer may depend on what ran before: both ways draw the same bits."""
    global _saved
    if parallel._numba is None:
        _saved += seconds
        return (_saved > 1 or parallel.pays(0)) and bool(parallel._load())
    return bool(parallel._numba)


def fma(a, b, c):
    """a * b + c of arrays and numbers, rounded once, in the type of `a`.

    float32: the product is exact in float64. float64: the errors of product (Dekker 1971) and sum (Knuth) are computed
    and added last. Either way the result is rounded twice, first to more than twice the bits: that is noticed once in
    2^29 and in 2^50 times."""
    if a.dtype == f4:
        return (np.multiply(a, b, dtype=f8) + c).astype(f4)
    p = a * b
    a_high, b_high = (x * 134217729.0 - (x * 134217729.0 - x) for x in (a, b))  # 2^27 + 1 keeps the upper 26 bits
    a_low, b_low = a - a_high, b - b_high
    p_error = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
    s = p + c
    part = s - p
    return s + (((p - (s - part)) + (c - part)) + p_error)


@partial(formula, plain=fma, fastmath={"contract"})
def _fma(a, b, c):
    return a * b + c  # contracted: the machine's own fma


TWO_PI = f4(2 * math.pi)
FOUR_OVER_PI = f4(4 / math.pi)
SQRT_HALF = f4(math.sqrt(0.5))
HALF, ONE, MINUS_TWO = f4(0.5), f4(1), f4(-2)
# log(1 + x) = x - x^2/2 + x^3 P(x) for sqrt(1/2) <= 1 + x < sqrt(2); log 2 in two parts, the first with few bits
P0, P1, P2, P3, P4, P5, P6, P7, P8 = (f4(c) for c in (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1))
LOG2_HIGH, LOG2_LOW = f4(0.693359375), f4(-2.12194440e-4)
# sin x = x + x^3 S(x^2), cos x = 1 - x^2/2 + x^4 C(x^2) for |x| <= pi/4; pi/4 in three parts
S0, S1, S2 = f4(-1.9515295891e-4), f4(8.3321608736e-3), f4(-1.6666654611e-1)
C0, C1, C2 = f4(2.443315711809948e-5), f4(-1.388731625493765e-3), f4(4.166664568298827e-2)
PI_A, PI_B, PI_C = f4(-0.78515625), f4(-2.4187564849853515625e-4), f4(-3.77489497744594108e-8)


@formula
def _radius(bits):
    """sqrt(-2 log u) of a positive float32, given as its bits."""
    mantissa = f4(i4(bits & 0x7FFFFF)) * f4(2.0**-24) + HALF  # in [1/2, 1)
    low = f4(mantissa < SQRT_HALF)  # 1 or 0: then take twice the mantissa
    exponent = f4(i4((bits >> 23) - 126)) - low
    x = (mantissa - ONE) + mantissa * low
    z = x * x
    y = _fma(P0, x, P1)
    y = _fma(y, x, P2)
    y = _fma(y, x, P3)
    y = _fma(y, x, P4)
    y = _fma(y, x, P5)
    y = _fma(y, x, P6)
    y = _fma(y, x, P7)
    y = _fma(y, x, P8)
    y = _fma(y * x, z, exponent * LOG2_LOW) - z * HALF
    return np.sqrt(MINUS_TWO * ((x + y) + exponent * LOG2_HIGH))


@formula
def _cos_sin(t):
    """cos t and sin t of a float32 angle in [0, 2 pi)."""
    octant = i4((i4(t * FOUR_OVER_PI) + 1) & -2)  # the even number nearest to t / (pi/4)
    y = f4(octant)
    x = _fma(y, PI_C, _fma(y, PI_B, _fma(y, PI_A, t)))
    z = x * x
    c = _fma(_fma(C0, z, C1), z, C2) * z
    c = _fma(c, z, z * -HALF) + ONE
    s = _fma(_fma(_fma(S0, z, S1), z, S2) * z, x, x)
    swap = f4(i4((octant >> 1) & 1))  # 1 or 0
    keep = ONE - swap
    cos, sin = c * keep + s * swap, s * keep + c * swap
    return cos * f4(i4(1 - ((octant + 2 >> 1) & 2))), sin * f4(i4(1 - (octant >> 1 & 2)))


@exactly
def _blocks32(start, stop, x, mean, std):
    u, angle = np.empty((64, 8), f4), np.empty((64, 8), f4)  # 64 blocks at a time, each half in a row for the vectors
    bits, flat = u.reshape(-1).view(i4), angle.reshape(-1)
    first, second = np.empty((64, 8), f4), np.empty((64, 8), f4)
    flat_first, flat_second = first.reshape(-1), second.reshape(-1)
    for begin in range(start, stop, 64):
        count = min(64, stop - begin)
        for i in range(count):
            for j in range(8):
                u[i, j] = ONE - x[begin + i, 0, j]
                angle[i, j] = x[begin + i, 1, j] * TWO_PI
        for k in range(8 * count):
            r = _radius(bits[k])
            cos, sin = _cos_sin(flat[k])
            flat_first[k] = _fma(r * cos, std, mean)
            flat_second[k] = _fma(r * sin, std, mean)
        for i in range(count):
            for j in range(8):
                x[begin + i, 0, j], x[begin + i, 1, j] = first[i, j], second[i, j]


@exactly
def _blocks64(start, stop, x, mean, std):
    for i in range(start, stop):
        for j in range(8):
            r = math.sqrt(-2.0 * math.log(1.0 - x[i, 0, j]))
            angle = 2.0 * math.pi * x[i, 1, j]
            x[i, 0, j] = _fma(r * math.cos(angle), std, mean)
            x[i, 1, j] = _fma(r * math.sin(angle), std, mean)


def mapped(function, x):
    """A function of the C library over a float64 array."""
    return np.fromiter(map(function, x.ravel().tolist()), f8, x.size).reshape(x.shape)


@exactly
def _scale(x, factor, shift):
    for k in range(x.size):
        x[k] = _fma(x[k], factor, shift)


def scaled(x, factor, shift):
    """x * factor + shift, rounded once.  x: a flat array, may be overwritten; factor, shift: numbers of its type."""
    if shift == 0 or factor == 1:
        return x * factor + shift
    if compiles(x.size * 10e-9):
        _scale(x, factor, shift)
        return x
    return fma(x, factor, shift)


def box_muller(x, mean, std):
    """Turn uniforms into normals, in place.  x: float32 or float64 of shape (blocks, 2, 8); mean, std: floats."""
    number = x.dtype.type
    mean, std = number(mean), number(std)
    if compiles(100e-6 + x.size * (25e-9 if number is f4 else 100e-9)):
        parallel.run_slices(_blocks32 if number is f4 else _blocks64, len(x), x, mean, std, grain=1024)
        return
    for i in range(0, len(x), BLOCK // 8):
        part = x[i : i + BLOCK // 8]
        u, angle = (number(1) - part[:, 0]).ravel(), (part[:, 1] * number(2 * math.pi)).ravel()
        if number is f4:
            r = _radius(u.view(i4))
            values = [_fma(r * f, std, mean) for f in _cos_sin(angle)]
        else:
            r = np.sqrt(-2.0 * mapped(math.log, u))
            values = [scaled(r * mapped(f, angle), std, mean) for f in (math.cos, math.sin)]
        for half, value in enumerate(values):
            part[:, half] = value.reshape(-1, 8)
