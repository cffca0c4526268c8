"""Activations and softmax (ATen/native/{Activation,SoftMax}.cpp)."""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import activations as kernels
from ..kernels import elementwise, piecewise
from ..kernels import softmax as softmax_kernels
from ..tensor import check_dim
from .copies import cat
from .elementwise import exp, relu, relu_backward, sigmoid, tanh, where, zeros_like
from .nn_common import floating, fused, refuse, underivable
from .shape import chunk

# ---- made of pieces -----------------------------------------------------------------------------------------------


def _steps(name: str, slope: Any) -> Any:
    """The row of a derivative that is `grad` times a step function of the input: it is linear in `grad`, and its
    derivative by the input exists, and is zero."""
    return op(name, slope, function=False, grad_output=slope, input=lambda cotangent: zeros_like(cotangent))


threshold = op("threshold", piecewise.threshold, inplace={"node": "ThresholdBackward1"}, as_method=False,
               input=lambda grad, input, threshold: relu_backward(grad, input, threshold))


def _hardtanh(input, min_val=-1.0, max_val=1.0):
    """Among integers the bounds lose their fractions."""
    if input.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype.kind == "u" and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if input.dtype.kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    return elementwise.clamp(input, min_val, max_val)


hardtanh = op("hardtanh", _hardtanh, function=False, inplace=True,
              input=lambda grad, input, min_val, max_val:
              hardtanh_backward(grad, input, min_val, max_val))
hardtanh_backward = _steps("hardtanh_backward", lambda grad_output, input, min_val, max_val: where(
    (input > min_val) & (input < max_val), grad_output, zeros_like(grad_output)))
_SIXTH = float(np.float32(1) / np.float32(6))  # torch's constant, single precision also for doubles
hardsigmoid = op("hardsigmoid", floating(piecewise.hardsigmoid), function=False, inplace=True,
                 input=lambda grad, input: hardsigmoid_backward(grad, input))
hardsigmoid_backward = op("hardsigmoid_backward", lambda grad_output, input: where(
    (input > -3) & (input < 3), grad_output * _SIXTH, zeros_like(grad_output)), function=False,
                          grad_output=underivable("hardsigmoid_backward"), input=underivable("hardsigmoid_backward"))
hardswish = op("hardswish", floating(piecewise.hardswish), function=False, inplace=True,
               input=lambda grad, input:
               where(input <= -3, zeros_like(grad), where(input >= 3, grad, grad * (input / 3 + 0.5))))


def _negative(x: Any) -> Any:
    """x where it is negative or nan, else 0. At 0 its slope, and so the second derivative of what uses it, is 0."""
    return where(x >= 0, zeros_like(x), x)


def _elu_slope(grad: Any, input: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    below = exp(_negative(input) * input_scale) * (alpha * scale * input_scale)
    return where(input > 0, grad * scale, grad * below)


_SELU = (
    1.6732632423543772848170429916717,
    1.0507009873554804934193349852946,
)  # alpha and scale (Klambauer et al. 2017)


def _elu_slope_of_result(grad: Any, result: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    """The same from the result, where the input is no more. It tells the two sides apart only for alpha >= 0."""
    if alpha < 0:
        raise RuntimeError(_NEGATIVE.format("elu"))
    below = (_negative(result) + alpha * scale) * input_scale
    return where(result <= 0, grad * below, grad * scale)


def _leaky_slope_of_result(grad: Any, result: Any, negative_slope: Any) -> Any:
    if negative_slope < 0:
        raise RuntimeError(_NEGATIVE.format("leakyReLu"))
    return where(result > 0, grad, grad * negative_slope)


_NEGATIVE = (
    "In-place {} backward calculation is triggered with a negative slope which is not supported. This is caused by "
    "calling in-place forward function with a negative slope, please call out-of-place version instead."
)


def _inverse(alpha: float) -> float:
    """1 / alpha, in torch's derivative that of a float32, also for doubles."""
    return 1 / float(np.float32(alpha))


elu = op("elu", floating(piecewise.elu), function=False,
         inplace={"node": "EluBackward1", "input": lambda grad, result, alpha, scale, input_scale:
                  _elu_slope_of_result(grad, result, alpha, scale, input_scale)},
         input=lambda grad, input, alpha, scale, input_scale:
         _elu_slope(grad, input, alpha, scale, input_scale))
celu = op("celu", floating(lambda input, alpha=1.0: piecewise.elu(input, alpha, 1, 1 / alpha), "celu"),
          as_method=False,
          inplace={"node": "CeluBackward1", "input": lambda grad, result, alpha:
                   _elu_slope_of_result(grad, result, alpha, 1, _inverse(alpha))},
          input=lambda grad, input, alpha: _elu_slope(grad, input, alpha, 1, _inverse(alpha)))
selu = op("selu", floating(lambda input: piecewise.elu(input, *_SELU), "selu"), node="EluBackward0", as_method=False,
          inplace={"node": "EluBackward1", "input": lambda grad, result: _elu_slope_of_result(grad, result, *_SELU, 1)},
          input=lambda grad, input: _elu_slope(grad, input, *_SELU, 1))
leaky_relu = op("leaky_relu", floating(piecewise.leaky_relu), function=False,
                inplace={"node": "LeakyReluBackward1", "input": lambda grad, result, negative_slope:
                         _leaky_slope_of_result(grad, result, negative_slope)},
                input=lambda grad, input, negative_slope: leaky_relu_backward(grad, input, negative_slope))
leaky_relu_backward = _steps("leaky_relu_backward", lambda grad_output, input, negative_slope: where(
    input > 0, grad_output, grad_output * negative_slope))
prelu_kernel = op("prelu_kernel", floating(piecewise.prelu), function=False,
                  input=lambda grad, input, weight: _prelu_slope(grad, input, weight),
                  weight=lambda grad, input: where(input >= 0, zeros_like(grad), grad * input))
hardshrink = op("hardshrink", floating(piecewise.hardshrink),
                input=lambda grad, input, lambd: hardshrink_backward(grad, input, lambd))
softshrink = op("softshrink", floating(piecewise.softshrink), function=False,
                input=lambda grad, input, lambd: softshrink_backward(grad, input, lambd))
rrelu_with_noise = op("rrelu_with_noise", lambda input, noise: input * noise, function=False,
                      inplace={"node": "RreluWithNoiseBackward1"},
                      input=lambda grad, input, noise: grad * noise)


def _shrunk(grad_output: Any, input: Any, lambd: Any) -> Any:
    return where((input < -lambd) | (input > lambd), grad_output, zeros_like(grad_output))


hardshrink_backward = _steps("hardshrink_backward", _shrunk)
softshrink_backward = _steps("softshrink_backward", _shrunk)


# At the kink 0 the slope is the weight; but the second derivative there is torch's: that of the other side
_prelu_slope = op("prelu_slope", lambda grad_output, input, weight: where(input > 0, grad_output, grad_output * weight),
                  function=False, node="PreluKernelBackwardBackward0",
                  grad_output=lambda grad, input, weight: where(input >= 0, grad, grad * weight),
                  weight=lambda grad, grad_output, input: where(input >= 0, zeros_like(grad), grad * grad_output))


@composite(autocast="lower")
def prelu(input: Any, weight: Any) -> Any:
    """x above 0, `weight * x` below; one weight, or one for each channel (dimension 1)."""
    if weight.dim() not in (0, 1):
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.numel() != 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {weight.numel()} and channel size = {channels}."
            )
    if weight.dim() != input.dim():
        shape = [1] * input.dim()
        if input.dim() > 1:
            shape[1] = weight.numel()
        weight = weight.view(shape)
    return prelu_kernel(input, weight)


@composite(as_method=False)
def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Any:
    """Leaky ReLU with slopes drawn from [lower, upper] in training, and with their mean otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return rrelu_with_noise(input, _rrelu_noise(input, lower, upper, training))


@composite(as_method=False)
def rrelu_(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Any:
    """rrelu, in place."""
    return rrelu_with_noise.in_place(input, _rrelu_noise(input, lower, upper, training))


def _rrelu_noise(input: Any, lower: float, upper: float, training: bool) -> Any:
    """What each element is multiplied by. torch draws a double for each that is not positive, in their order."""
    below = input._array <= 0
    noise = np.ones_like(input._array)
    if training:
        if noise.dtype == np.float16:
            refuse("rrelu_with_noise_out_cpu", noise)
        drawn = Tensor()
        drawn._array = np.empty(int(below.sum()))
        noise[below] = drawn.uniform_(lower, upper)._array
    else:
        noise[below] = (lower + upper) / 2
    result = Tensor()
    result._array = noise
    return result


# ---- smooth -------------------------------------------------------------------------------------------------------

silu = op("silu", floating(kernels.silu, "silu_cpu"), function=False, inplace=True,
          input=lambda grad, input: silu_backward(grad, input))
mish = op("mish", floating(piecewise.mish), function=False, inplace=True,
          input=lambda grad, input: _mish_slope(grad, input))
softplus = op("softplus", floating(kernels.softplus, "softplus_cpu"), function=False,
              input=lambda grad, input, beta, threshold: softplus_backward(grad, input, beta, threshold))
log_sigmoid = op("log_sigmoid", floating(piecewise.log_sigmoid, "log_sigmoid_cpu"), function=False,
                 input=lambda grad, input: grad * sigmoid(-input))
gelu = op("gelu", floating(kernels.gelu, "GeluKernelImpl"), function=False, inplace=True,
          input=lambda grad, input, approximate: gelu_backward(grad, input, approximate))
glu_kernel = op("glu", floating(piecewise.glu), function=False,
                input=lambda grad, input, dim: _glu_grad(grad, input, dim))
normal_cdf = op("normal_cdf", piecewise.normal_cdf, function=False,
                input=lambda grad, input: grad * exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi)))


@fused(kernels.silu_backward)
def silu_backward(grad: Any, input: Any) -> Any:
    s = sigmoid(input)
    return grad * (s * (1 + input * (1 - s)))


@fused(kernels.softplus_backward)
def softplus_backward(grad: Any, input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    z = input * beta
    return where(z > threshold, grad, grad * sigmoid(where(z >= threshold, zeros_like(z) + threshold, z)))


@fused(kernels.gelu_backward)
def gelu_backward(grad: Any, input: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        density = exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))
        return grad * (normal_cdf(input) + input * density)
    inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
    t = tanh(inner)
    slope = (1 + input * input * (3 * 0.044715)) * math.sqrt(2 / math.pi)
    return grad * (0.5 * (1 + t) + 0.5 * input * (1 - t * t) * slope)


def _mish_slope(grad: Any, input: Any) -> Any:
    t = tanh(softplus(input))
    return grad * (t + input * sigmoid(input) * (1 - t * t))


def _glu_grad(grad: Any, input: Any, dim: int) -> Any:
    a, b = chunk(input, 2, dim)
    s = sigmoid(b)
    return cat([grad * s, grad * a * s * (1 - s)], dim)


def glu(input: Any, dim: int = -1) -> Any:
    """`a * sigmoid(b)`, a and b the two halves of the input along `dim`."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = input.shape[check_dim(dim, input.dim())]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    return glu_kernel(input, dim)


# ---- softmax ------------------------------------------------------------------------------------------------------

_softmax = op("_softmax", floating(softmax_kernels.softmax, "softmax_lastdim_kernel_impl"), function=False,
              node="SoftmaxBackward0", inputs=("input",),
              input=lambda grad, result, dim: softmax_backward(grad, result, dim))
_log_softmax = op("_log_softmax", floating(softmax_kernels.log_softmax, "log_softmax_lastdim_kernel_impl"),
                  fast=softmax_kernels.small_log_softmax, function=False, node="LogSoftmaxBackward0", inputs=("input",),
                  input=lambda grad, result, dim: log_softmax_backward(grad, result, dim))


@fused(softmax_kernels.softmax_backward)
def softmax_backward(grad: Any, result: Any, dim: int) -> Any:
    return result * (grad - (grad * result).sum(dim, True))


@fused(softmax_kernels.log_softmax_backward)
def log_softmax_backward(grad: Any, result: Any, dim: int) -> Any:
    return grad - exp(result) * grad.sum(dim, True)


def _cast(input: Any, dtype: Any) -> Any:
    return input if dtype is None or dtype is input.dtype else input.to(dtype)


@composite(autocast="fp32_cuda")
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """`exp(x) / sum(exp(x))` along `dim`, in `dtype` where that is given."""
    check_dim(dim, input.dim())
    return _softmax(_cast(input, dtype), dim)


@composite(autocast="fp32_cuda")
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """`x - log(sum(exp(x)))` along `dim`, in `dtype` where that is given."""
    check_dim(dim, input.dim())
    return _log_softmax(_cast(input, dtype), dim)


__all__ = [
    "celu", "elu", "gelu", "gelu_backward", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "log_sigmoid", "log_softmax", "mish", "prelu", "relu", "rrelu", "selu", "sigmoid", "silu", "softmax",
    "softplus", "softshrink", "tanh", "threshold",
]
