"""Activations. `inplace=True` overwrites the input."""

import warnings

from minitorch.dispatch import composite
from minitorch.ops import nn_activation as ops
from minitorch.ops.elementwise import abs, sigmoid, tanh
from minitorch.ops.elementwise import relu as _relu
from minitorch.ops.nn_activation import glu, prelu
from minitorch.ops.nn_activation import log_sigmoid as logsigmoid

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6",
    "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]


def threshold(input, threshold, value, inplace=False):
    """x where x > threshold, else `value`."""
    return ops.threshold.in_place(input, threshold, value) if inplace else ops.threshold(input, threshold, value)


def relu(input, inplace=False):
    """`max(0, x)`."""
    return input.relu_() if inplace else _relu(input)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x bounded by [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return ops.hardtanh.in_place(input, min_val, max_val) if inplace else ops.hardtanh(input, min_val, max_val)


def relu6(input, inplace=False):
    """`min(max(0, x), 6)`."""
    return hardtanh(input, 0, 6, inplace)


def hardsigmoid(input, inplace=False):
    """`min(max(x + 3, 0), 6) / 6`."""
    return ops.hardsigmoid.in_place(input) if inplace else ops.hardsigmoid(input)


def hardswish(input, inplace=False):
    """`x * hardsigmoid(x)`."""
    return ops.hardswish.in_place(input) if inplace else ops.hardswish(input)


def elu(input, alpha=1.0, inplace=False):
    """x above 0, `alpha * (exp(x) - 1)` below."""
    return ops.elu.in_place(input, alpha) if inplace else ops.elu(input, alpha)


def celu(input, alpha=1.0, inplace=False):
    """x above 0, `alpha * (exp(x / alpha) - 1)` below."""
    return ops.celu.in_place(input, alpha) if inplace else ops.celu(input, alpha)


def selu(input, inplace=False):
    """elu with the scale and alpha that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return ops.selu.in_place(input) if inplace else ops.selu(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, `negative_slope * x` below."""
    return ops.leaky_relu.in_place(input, negative_slope) if inplace else ops.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU with slopes drawn from [lower, upper] in training, and with their mean otherwise."""
    if inplace:
        return ops.rrelu_with_noise.in_place(input, ops._rrelu_noise(input, lower, upper, training))
    return ops.rrelu(input, lower, upper, training)


def silu(input, inplace=False):
    """`x * sigmoid(x)`."""
    return ops.silu.in_place(input) if inplace else ops.silu(input)


def mish(input, inplace=False):
    """`x * tanh(softplus(x))`."""
    return ops.mish.in_place(input) if inplace else ops.mish(input)


@composite(function=False, as_method=False)
def gelu(input, approximate="none"):
    """`x * Phi(x)`, Phi the normal distribution function; or its "tanh" approximation."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return ops.gelu(input, approximate)


@composite(function=False, as_method=False)
def softplus(input, beta=1.0, threshold=20.0):
    """`log(1 + exp(beta x)) / beta`, and x itself where `beta x > threshold`."""
    return ops.softplus(input, beta, threshold)


@composite(function=False, as_method=False)
def hardshrink(input, lambd=0.5):
    """0 within [-lambd, lambd], x outside."""
    return ops.hardshrink(input, lambd)


@composite(function=False, as_method=False)
def softshrink(input, lambd=0.5):
    """0 within [-lambd, lambd], outside x moved towards 0 by lambd."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return ops.softshrink(input, lambd)


def threshold_(input, threshold, value):
    return ops.threshold.in_place(input, threshold, value)


def relu_(input):
    return input.relu_()


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    return hardtanh(input, min_val, max_val, True)


def elu_(input, alpha=1.0):
    return ops.elu.in_place(input, alpha)


def celu_(input, alpha=1.0):
    return ops.celu.in_place(input, alpha)


def selu_(input):
    return ops.selu.in_place(input)


def leaky_relu_(input, negative_slope=0.01):
    return ops.leaky_relu.in_place(input, negative_slope)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    return rrelu(input, lower, upper, training, True)


def softsign(input):
    """`x / (1 + |x|)`."""
    return input / (abs(input) + 1)


def tanhshrink(input):
    """`x - tanh(x)`."""
    return input - tanh(input)


def _implicit_dim(name, input, stacklevel):
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`exp(x) / sum(exp(x))` along `dim`, computed in `dtype` where that is given."""
    return ops.softmax(input, _implicit_dim("softmax", input, _stacklevel) if dim is None else dim, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """`softmax(-x)` along `dim`."""
    return ops.softmax(-input, _implicit_dim("softmin", input, _stacklevel) if dim is None else dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`log(softmax(x))` along `dim`, without its loss of precision."""
    return ops.log_softmax(input, _implicit_dim("log_softmax", input, _stacklevel) if dim is None else dim, dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample from the Gumbel-softmax distribution; `hard`: one-hot, differentiated as if it were soft."""
    gumbels = -logits.new_empty(logits.shape).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = logits.new_zeros(logits.shape).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
