"""Activations made of pieces: each takes one branch or another depending on where its input lies.

Mirrors the rest of ATen/native/Activation.cpp.
"""

import numpy as np

from .half import in_float32


@in_float32
def threshold(input, threshold, value):
    """x above the threshold, else `value`."""
    return np.where(input <= threshold, np.asarray(value, input.dtype), input)


@in_float32
def hardsigmoid(input):
    """`min(max(x + 3, 0), 6) / 6`."""
    return np.minimum(np.maximum(input + 3, 0), 6) / 6


@in_float32
def hardswish(input):
    """`x * min(max(x + 3, 0), 6) / 6`."""
    return input * np.minimum(np.maximum(input + 3, 0), 6) / 6


@in_float32
def elu(input, alpha=1.0, scale=1.0, input_scale=1.0):
    """`scale * x` above 0, `scale * alpha * (exp(input_scale * x) - 1)` below."""
    negative = np.expm1(np.minimum(input, 0) * input_scale) * (alpha * scale)
    return np.where(input <= 0, negative, input * scale)


@in_float32
def leaky_relu(input, negative_slope=0.01):
    """x above 0, `negative_slope * x` below."""
    return np.where(input > 0, input, input * negative_slope)


@in_float32
def prelu(input, weight):
    """x above 0, `weight * x` below."""
    return np.where(input > 0, input, input * weight)


@in_float32
def log_sigmoid(input):
    """`log(1 / (1 + exp(-x)))`, without overflow on either side."""
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


@in_float32
def mish(input):
    """`x * tanh(log(1 + exp(x)))`."""
    return input * np.tanh(np.logaddexp(input, np.asarray(0, input.dtype)))


@in_float32
def glu(input, dim=-1):
    """`a * sigmoid(b)` of the two halves along `dim`."""
    a, b = np.split(input, 2, dim)
    return a / (1 + np.exp(-b))


@in_float32
def hardshrink(input, lambd=0.5):
    """0 within [-lambd, lambd], x outside."""
    return np.where((input >= -lambd) & (input <= lambd), np.asarray(0, input.dtype), input)


@in_float32
def softshrink(input, lambd=0.5):
    """0 within [-lambd, lambd], outside x moved towards 0 by lambd."""
    return np.where(input > lambd, input - lambd, np.where(input < -lambd, input + lambd, input * 0))


@in_float32
def normal_cdf(input):
    """The normal distribution function: what gelu multiplies x by."""
    from scipy import special  # imported late: it takes longer than all of NumPy

    return special.ndtr(input)
