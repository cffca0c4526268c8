"""Element by element: what NumPy's ufuncs do not already do as torch does (ATen/native/cpu/{Unary,Binary}OpsKernel.cpp).

Arrays in, arrays out; see kernels/__init__.py. Where a ufunc has torch's semantics the operator table uses it bare."""

import numpy as np

from .half import in_float32, is_half, narrow, widen


def add(input, other, *, alpha=1):
    return np.add(input, other if alpha == 1 else other * np.asarray(alpha, getattr(other, "dtype", None)))


def sub(input, other, *, alpha=1):
    return np.subtract(input, other if alpha == 1 else other * np.asarray(alpha, getattr(other, "dtype", None)))


def _refuse_zero(other):
    if not np.all(other):
        raise RuntimeError("ZeroDivisionError")


def div_trunc(input, other):
    """The quotient rounded towards zero (C's integer division)."""
    if input.dtype.kind in "iub":
        _refuse_zero(other)
        quotient = np.floor_divide(input, other)
        inexact = (quotient * other != input) & ((input < 0) != (other < 0))
        return (quotient + inexact).astype(input.dtype)
    return np.trunc(np.divide(input, other))


def div_floor(input, other):
    """The quotient rounded down; of floats as Python's `//` (c10::div_floor_floating)."""
    if input.dtype.kind in "iub":
        _refuse_zero(other)
        return np.floor_divide(input, other)
    quotient = np.divide(input, other)
    with np.errstate(all="ignore"):
        remainder = np.fmod(input, other)
        exact = (input - remainder) / other
        exact = np.where((remainder != 0) & ((other < 0) != (remainder < 0)), exact - 1, exact)
        floored = np.floor(exact)
        floored = np.where(exact - floored > 0.5, floored + 1, floored)
        floored = np.where(exact == 0, np.copysign(np.zeros_like(quotient), quotient), floored)
        return np.where(other == 0, quotient, floored).astype(quotient.dtype)


def remainder(input, other):
    """The remainder with the divisor's sign."""
    if input.dtype.kind in "iub":
        _refuse_zero(other)
        return np.remainder(input, other)
    result = np.fmod(input, other)
    return np.where((result != 0) & ((result < 0) != (other < 0)), result + other, result).astype(result.dtype)


def fmod(input, other):
    """The remainder with the dividend's sign."""
    if input.dtype.kind in "iub":
        _refuse_zero(other)
    return np.fmod(input, other)


def pow(input, exponent):
    """input to the power of exponent; integers to a negative power as torch: 0 but for 1 and -1."""
    if getattr(input, "dtype", exponent.dtype if hasattr(exponent, "dtype") else None).kind in "iu":
        negative = np.less(exponent, 0)
        if np.any(negative):
            positive = np.power(input, np.where(negative, 0, exponent))
            sign = np.where(np.asarray(exponent) % 2 == 0, 1, input)
            return np.where(negative, np.where(np.abs(input) == 1, sign, 0), positive).astype(positive.dtype)
    if type(exponent) in (int, float):  # the common small powers, exactly as products
        if exponent == 2:
            return np.multiply(input, input)
        if exponent == 3:
            return input * input * input
        if exponent == 0.5 and input.dtype.kind not in "iu":
            return np.sqrt(input)
        if exponent == -0.5 and input.dtype.kind not in "iu":
            return rsqrt(input)
    if is_half(input):  # NumPy takes a number beside a bfloat16 for a float32
        return narrow(np.power(widen(input), widen(exponent)), input.dtype)
    return np.power(input, exponent)


def reciprocal(input):
    return np.divide(np.asarray(1, input.dtype), input)


def rsqrt(input):
    return np.divide(np.asarray(1, input.dtype), np.sqrt(input))


@in_float32
def sigmoid(input):
    """1 / (1 + exp(-x)); exp never overflows to NaN: 1 / inf is 0."""
    out = np.negative(input)
    if not isinstance(out, np.ndarray):
        return 1 / (1 + np.exp(out))
    np.exp(out, out=out)
    out += np.asarray(1, out.dtype)
    return np.divide(np.asarray(1, out.dtype), out, out=out)


def relu(input):
    return np.maximum(input, 0 if input.dtype.kind == "f" else np.asarray(0, input.dtype))


def threshold_backward(grad, result, threshold):
    """grad where the forward result exceeded the threshold, else 0."""
    return np.where(result <= threshold, np.asarray(0, grad.dtype), grad)


def sign(input):
    """-1, 0 or 1 (0 for NaN)."""
    if input.dtype.kind == "b":
        return np.asarray(input).copy()
    result = np.sign(input)
    if input.dtype.kind in "fV":
        result = np.where(np.isnan(input), np.asarray(0, input.dtype), result)
    return result


def clamp(input, min=None, max=None):
    """Bounded below by min, then above by max; NaN stays."""
    result = input
    if is_half(input):  # NumPy takes a number beside a bfloat16 for a float32
        min, max = (bound if bound is None else np.asarray(bound, input.dtype) for bound in (min, max))
    if min is not None:
        result = np.maximum(result, min)
    if max is not None:
        result = np.minimum(result, max)
    return result.copy() if result is input else result


def round(input, *, decimals=0):
    """To the nearest, ties to even."""
    if input.dtype.kind in "iub":
        if decimals:
            raise NotImplementedError(f'"round" to decimals not implemented for {input.dtype}')
        return input.copy()
    if decimals == 0:
        return np.rint(input)
    scale = np.asarray(10.0 ** abs(decimals), input.dtype)
    return np.rint(input * scale) / scale if decimals > 0 else np.rint(input / scale) * scale


def _rounding(ufunc):
    def kernel(input):
        return input.copy() if input.dtype.kind in "iub" else ufunc(input)

    return kernel


floor, ceil, trunc = _rounding(np.floor), _rounding(np.ceil), _rounding(np.trunc)


def frac(input):
    return input - np.trunc(input)


def isnan(input):
    return np.zeros(input.shape, bool) if input.dtype.kind in "iub" else np.isnan(input)


def isinf(input):
    return np.zeros(input.shape, bool) if input.dtype.kind in "iub" else np.isinf(input)


def isfinite(input):
    return np.ones(input.shape, bool) if input.dtype.kind in "iub" else np.isfinite(input)


def where(condition, input, other):
    if condition.dtype != bool:
        if condition.dtype != np.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
            )
        condition = condition.astype(bool)
    return np.where(condition, input, other)


@in_float32
def lerp(input, end, weight):
    """input + weight * (end - input), from the nearer end, so that weight 1 gives end exactly."""
    weight = np.asarray(weight, input.dtype)
    return np.where(np.abs(weight) < 0.5, input + weight * (end - input), end - (end - input) * (1 - weight))


def neg(input):
    if input.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return np.negative(input)


def bitwise_not(input):
    if input.dtype.kind not in "iub":
        raise RuntimeError("ones_complement_cpu: bitwise_not is only supported on integer and bool tensors")
    return np.invert(input)


def _both_tensors(name, ufunc):
    def kernel(input, other):
        if not hasattr(other, "dtype"):
            raise TypeError(f"{name}(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
        return ufunc(input, other)

    return kernel


logical_and = _both_tensors("logical_and", np.logical_and)
logical_or = _both_tensors("logical_or", np.logical_or)
logical_xor = _both_tensors("logical_xor", np.logical_xor)


def square(input):
    return np.square(input.astype(np.int64) if input.dtype.kind == "b" else input)
