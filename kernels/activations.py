"""Activation functions and their derivatives.  Mirrors ATen/native/Activation.cpp.

Each is a formula in the sense of `fused`: NumPy or CuPy on small arrays, one compiled loop on large float32 ones.
"""

import math

import numpy as np

from .fused import elementwise, erf, exp, log1p, select


@elementwise
def sigmoid(input):
    """`1 / (1 + exp(-x))`."""
    return 1.0 / (1.0 + exp(-input))


@elementwise
def sigmoid_backward(grad, result):
    """`g * y * (1 - y)`."""
    return grad * (1.0 - result) * result


@elementwise
def tanh_backward(grad, result):
    """`g * (1 - y^2)`."""
    return grad * (1.0 - result * result)


@elementwise
def silu(input):
    """`x * sigmoid(x)`."""
    return input / (1.0 + exp(-input))


@elementwise
def silu_backward(grad, input):
    """`g * s * (1 + x * (1 - s))` with s = sigmoid(x)."""
    s = 1.0 / (1.0 + exp(-input))
    return grad * s * (1.0 + input * (1.0 - s))


@elementwise
def softplus(input, beta=1.0, threshold=20.0):
    """`log(1 + exp(beta * x)) / beta`, and x itself where `beta * x > threshold`."""
    scaled = input * beta
    return select(scaled > threshold, input, log1p(exp(scaled)) / beta)


@elementwise
def softplus_backward(grad, input, beta=1.0, threshold=20.0):
    """`g * sigmoid(beta * x)`, and g where `beta * x > threshold`."""
    scaled = input * beta
    return select(scaled > threshold, grad, grad / (1.0 + exp(-scaled)))


# -- relu -------------------------------------------------------------------------------------------------------------


def keep(mask, array):
    """`array` where `mask`, else 0: `np.where(mask, array, 0)`, which NumPy computes with a slow branch per element.

    Made of the bits, not as a product: nan times 0 would be nan.
    """
    bits = np.dtype(f"i{array.dtype.itemsize}")
    all_ones = np.negative(mask.view(np.int8), dtype=bits)
    return (array.view(bits) & all_ones).view(array.dtype)


def _keep_positive(grad, result, threshold=0.0):
    return keep(~(result <= threshold), grad)


def threshold_backward(grad, output, threshold=0.0):
    """`g` where `output > threshold`, else 0: relu's backward pass, where the kink at 0 gives 0 and nan all of `g`."""
    if grad.dtype.itemsize < 4:
        return _keep_positive(grad, output, threshold)
    return _threshold_backward(grad, output, threshold)


@elementwise
def _threshold_backward(grad, result, threshold=0.0):
    return select(result <= threshold, 0.0, grad)


_threshold_backward.on_arrays = _keep_positive

# -- gelu -------------------------------------------------------------------------------------------------------------


def gelu(input, approximate="none"):
    """`x * Phi(x)`, Phi the normal distribution function; or its "tanh" approximation (Hendrycks & Gimpel, 2016)."""
    if approximate == "tanh":
        return _gelu_tanh64(input) if input.dtype == np.float64 else _gelu_tanh(input)
    return _gelu64(input) if input.dtype == np.float64 else _gelu(input)


def gelu_backward(grad, input, approximate="none"):
    """`g * (Phi(x) + x * phi(x))`, phi the normal density; or the derivative of the "tanh" approximation."""
    if approximate == "tanh":
        return _gelu_tanh_backward(grad, input)
    return _gelu64_backward(grad, input) if input.dtype == np.float64 else _gelu_backward(grad, input)


@elementwise
def _gelu(x):
    return 0.5 * x * (1.0 + erf(x * 0.707106781))


@elementwise
def _gelu_backward(grad, x):
    return grad * (0.5 * (1.0 + erf(x * 0.707106781)) + x * exp(-0.5 * x * x) * 0.398942280)


# `(1 + tanh u) / 2 = 1 / (1 + exp(-2u))`, here with u = sqrt(2 / pi) * (x + 0.044715 x^3).
@elementwise
def _gelu_tanh(x):
    return x / (1.0 + exp(x * (-1.5957691216057308 - 0.07135481627159965 * x * x)))


@elementwise
def _gelu_tanh_backward(grad, x):
    s = 1.0 / (1.0 + exp(x * (-1.5957691216057308 - 0.07135481627159965 * x * x)))
    return grad * s * (1.0 + x * (1.0 - s) * (1.5957691216057308 + 0.21406444881479896 * x * x))


# In float64 torch's own arrangement, which loses a little where the two terms cancel, and scipy's erf.
@elementwise
def _gelu64(x):
    return 0.5 * x * (1.0 + _erf64(x * math.sqrt(0.5)))


@elementwise
def _gelu64_backward(grad, x):
    phi = np.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return grad * (0.5 * (1.0 + _erf64(x * math.sqrt(0.5))) + x * phi)


@elementwise
def _gelu_tanh64(x):
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _erf64(x):
    from scipy import special  # imported late: it takes longer than all of NumPy

    return special.erf(x)
