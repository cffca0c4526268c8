"""Initial values of parameters, drawn from the generator's stream in torch's order (mirrors torch/nn/init.py).

Every function fills its tensor in place, records nothing, and returns it.
"""

import functools
import math
import warnings

from minitorch import devices
from minitorch.autograd.grad_mode import no_grad
from minitorch.sampling import randperm
from minitorch.tensor import wrap

__all__ = [
    "calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_",
    "uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform",
    "kaiming_normal", "orthogonal", "sparse",
]

_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "sigmoid": 1}
_LINEAR = {"linear", *(f"conv{transpose}{n}d" for n in (1, 2, 3) for transpose in ("", "_transpose"))}


def calculate_gain(nonlinearity, param=None):
    """By how much weights must be larger to keep the variance through a nonlinearity; `param`: leaky_relu's slope."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal with the given mean and standard deviation."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, redrawn until every value is within [a, b].

    Where [a, b] holds most of the mass, values outside are drawn again; where it does not, uniform candidates in [a, b]
    are accepted with probability proportional to the density (rejection sampling).
    """

    def cdf(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=3,
        )
    if cdf(b) - cdf(a) > 0.3:
        low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()  # as the tensor's dtype has them
        values = tensor.normal_(mean, std, generator=generator)
        while (outside := (values < low) | (values > high)).any():
            redrawn = tensor.new_empty(tensor.shape).normal_(mean, std, generator=generator)
            values = redrawn.where(outside, values)
        return tensor if values is tensor else tensor.copy_(values)

    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates, chance = tensor.new_empty(tensor.shape), tensor.new_empty(tensor.shape)
    values, pending = tensor, None
    while pending is None or pending.any():
        candidates.uniform_(a, b, generator=generator)
        values = candidates.clone() if pending is None else candidates.where(pending, values)
        candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)  # log of density over its peak
        rejected = chance.uniform_(0, 1, generator=generator).log_().gt(candidates)
        pending = rejected if pending is None else pending & rejected
    return tensor.copy_(values)


@no_grad()
def constant_(tensor, val):
    """`val` everywhere."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor):
    """One everywhere."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor):
    """Zero everywhere."""
    return tensor.zero_()


@no_grad()
def eye_(tensor):
    """The identity matrix: a linear layer that passes on as many inputs as it can."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


@no_grad()
def dirac_(tensor, groups=1):
    """One at the centre of kernel [i, i]: a convolution that passes on as many channels as it can, in every group."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out_channels, in_channels, *kernel = tensor.shape
    if out_channels % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = out_channels // groups
    centre = tuple(size // 2 for size in kernel)
    tensor.zero_()
    for group in range(groups):
        for i in range(min(per_group, in_channels)):
            tensor[(group * per_group + i, i, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs an output sums over, and how many outputs an input reaches, for a weight (out, in, *kernel)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    fan_out, fan_in, *kernel = tensor.shape
    return fan_in * math.prod(kernel), fan_out * math.prod(kernel)


def _calculate_correct_fan(tensor, mode):
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform with variance `gain**2 * 2 / (fan_in + fan_out)` (Glorot and Bengio 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with variance `gain**2 * 2 / (fan_in + fan_out)` (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor, gain):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform with variance `gain**2 / fan` (He et al. 2015); `a` is the negative slope of leaky_relu."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with variance `gain**2 / fan` (He et al. 2015); `a` is the negative slope of leaky_relu."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """A (semi) orthogonal matrix of shape (size(0), rest), times `gain` (Saxe et al. 2014)."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    gaussian = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)._array
    q, r = devices.namespace(tensor.device).linalg.qr(gaussian.T if rows < columns else gaussian)
    signs = (r.diagonal() > 0) * 2 - 1
    q = (q * signs).astype(gaussian.dtype)  # makes q uniform among the orthogonal matrices (Mezzadri 2007)
    return tensor.copy_(wrap(q.T if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal, with the fraction `sparsity` of each column set to zero (Martens 2010)."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function):
    """The name without underscore, which still works and says so."""
    name = function.__name__
    old = name[:-1]

    @functools.wraps(function)
    def renamed(*args, **kwargs):
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    renamed.__name__ = old
    return renamed


uniform, normal, constant, eye, dirac = map(_deprecated, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_deprecated, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_deprecated, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_deprecated, (orthogonal_, sparse_))
