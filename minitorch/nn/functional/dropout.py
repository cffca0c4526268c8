"""Dropout: `p` is the probability of a zero, `training` False lets everything pass."""

import warnings

from minitorch.ops import nn_dropout as ops

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _drop(name, input, p, training, inplace):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return getattr(ops, name + "_" if inplace else name)(input, p, training)


def dropout(input, p=0.5, training=True, inplace=False):
    """Each element zero with probability p, the others times 1 / (1 - p)."""
    return _drop("dropout", input, p, training, inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean 0 and variance 1, for selu networks."""
    return _drop("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels."""
    return _drop("feature_alpha_dropout", input, p, training, inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Each channel of (N, C, L) or (C, L) zero with probability p."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input.")
    return _channels("dropout1d", input, p, training, inplace, 2)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Each channel of (N, C, H, W) zero with probability p."""
    _warn("dropout2d", input, (3, 4), 2)
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim.",
            stacklevel=2,
        )
    return _drop("feature_dropout", input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Each channel of (N, C, D, H, W) or (C, D, H, W) zero with probability p."""
    _warn("dropout3d", input, (4, 5), 3)
    return _channels("dropout3d", input, p, training, inplace, 4)


def _warn(name, input, dims, n):
    if input.dim() not in dims:
        warnings.warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
            f"future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            f"{name} exists to provide channel-wise dropout on inputs with {n} spatial dimensions, a channel "
            "dimension, and an optional batch dimension.",
            stacklevel=3,
        )


def _channels(name, input, p, training, inplace, unbatched):
    if input.dim() != unbatched:
        return _drop("feature_dropout", input, p, training, inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _drop("feature_dropout", batch, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)
