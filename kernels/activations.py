"""Activation functions and their derivatives.  Mirrors ATen/native/Activation.cpp."""

import math

import numpy as np

from .half import in_float32


def _erf(x):
    from scipy import special  # imported late: it takes longer than all of NumPy
    return special.erf(x)


@in_float32
def gelu(input, approximate="none"):
    """`x * Phi(x)`, Phi the normal distribution function; or its "tanh" approximation (Hendrycks & Gimpel, 2016)."""
    half = input.dtype.type(0.5)
    if approximate == "tanh":
        return half * input * (1 + np.tanh(_gelu_inner(input)))
    return input * half * (1 + _erf(input * math.sqrt(0.5)))


def _gelu_inner(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


@in_float32
def gelu_backward(grad, input, approximate="none"):
    """`g * (Phi(x) + x * phi(x))`, phi the normal density; or the derivative of the "tanh" approximation."""
    x = input
    if approximate == "tanh":
        t = np.tanh(_gelu_inner(x))
        slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    phi = np.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1 + _erf(x * math.sqrt(0.5))) + x * phi)


@in_float32
def sigmoid(input):
    """`1 / (1 + exp(-x))`."""
    out = np.exp(-input)
    out += 1
    return np.divide(1, out, out=out) if out.ndim else 1 / out


@in_float32
def sigmoid_backward(grad, result):
    """`g * y * (1 - y)`."""
    return grad * (1 - result) * result


@in_float32
def tanh_backward(grad, result):
    """`g * (1 - y^2)`."""
    return grad * (1 - result * result)


@in_float32
def silu(input):
    """`x * sigmoid(x)`."""
    return input / (1 + np.exp(-input))


@in_float32
def silu_backward(grad, input):
    """`g * s * (1 + x * (1 - s))` with s = sigmoid(x)."""
    s = 1 / (1 + np.exp(-input))
    return grad * s * (1 + input * (1 - s))


def threshold_backward(grad, result, threshold=0):
    """`g` where `result > threshold`, else 0: relu's backward pass, where a kink at 0 gives 0."""
    return np.where(result <= threshold, grad.dtype.type(0), grad)


@in_float32
def softplus(input, beta=1.0, threshold=20.0):
    """`log(1 + exp(beta * x)) / beta`, and x itself where `beta * x > threshold`."""
    scaled = input * beta
    return np.where(scaled > threshold, input, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


@in_float32
def softplus_backward(grad, input, beta=1.0, threshold=20.0):
    """`g * sigmoid(beta * x)`, and g where `beta * x > threshold`."""
    scaled = input * beta
    z = np.exp(np.minimum(scaled, threshold))
    return np.where(scaled > threshold, grad, grad * z / (z + 1))
