"""Normalisation."""

from minitorch.nn.functional.pooling import avg_pool2d, avg_pool3d
from minitorch.ops import nn_norm as ops
from minitorch.ops.nn_norm import rms_norm
from minitorch.ops.nn_padding import pad

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm",
]


def _check_size(size):
    """A variance needs more than one value."""
    values = size[0]
    for n in size[2:]:
        values *= n
    if values == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    """Each channel of (N, C, ...) normalised by the batch's statistics in training, by the running ones otherwise.

    In training the running statistics, where given, move towards the batch's, in place, by `momentum`."""
    if training:
        _check_size(input.shape)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """Each channel of each sample of (N, C, ...) normalised by itself."""
    if use_input_stats:
        values = 1
        for n in input.shape[2:]:
            values *= n
        if values == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return ops.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """`(x - mean) / sqrt(var + eps) * weight + bias` over the last dimensions, whose sizes are `normalized_shape`."""
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Each of `num_groups` groups of channels of (N, C, ...) normalised by itself."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _check_size([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]])
    return ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """`x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta` (Krizhevsky et al. 2012)."""
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {dim} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if dim == 3:
        div = avg_pool2d(pad(squares.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2)), (size, 1), stride=1).squeeze(1)
    else:
        n, c, *rest = input.shape
        flat = pad(squares.view(n, 1, c, rest[0], -1), (0, 0, 0, 0, size // 2, (size - 1) // 2))
        div = avg_pool3d(flat, (size, 1, 1), stride=1).squeeze(1).view(input.shape)
    return input / div.mul(alpha).add(k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """`x / max(norm_p(x), eps)` along `dim`."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input.div(norm) if out is None else input.div(norm, out=out)
