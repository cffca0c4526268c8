"""Losses of a prediction against a target, element by element.  Mirrors ATen/native/Loss.cpp, LossMulti*.cpp.

`reduction` is "none", "sum" or "mean".
"""

import numpy as np

from .half import in_float32, narrow, widen
from .piecewise import log_sigmoid


def reduced(losses, reduction):
    """`losses` as they are, their sum, or their mean."""
    if reduction == "none":
        return losses
    return np.asarray(losses.mean() if reduction == "mean" else losses.sum())


_reduced = in_float32(reduced)  # half precisions are accumulated in float32, and rounded once


@in_float32
def mse_loss(input, target, reduction="mean"):
    """`(x - t)^2`."""
    d = input - target
    if reduction == "none":
        return d * d
    flat = d.reshape(-1)
    total = np.dot(flat, flat) if flat.size < 1024 else (flat * flat).sum()
    return np.asarray(total / flat.dtype.type(flat.size) if reduction == "mean" else total, d.dtype)


@in_float32
def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    """`d^2 / (2 beta)` where `d = |x - t| < beta`, else `d - beta / 2`."""
    d = np.abs(input - target)
    return reduced(np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


@in_float32
def huber_loss(input, target, reduction="mean", delta=1.0):
    """`d^2 / 2` where `d = |x - t| <= delta`, else `delta * (d - delta / 2)`."""
    d = np.abs(input - target)
    return reduced(np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


@in_float32
def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """`-w (t log x + (1 - t) log(1 - x))`, the logarithms bounded below by -100."""
    if input.size and not ((input >= 0) & (input <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    losses = (target - 1) * np.maximum(np.log1p(-input), -100) - target * np.maximum(np.log(input), -100)
    return reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction="mean"):
    """`binary_cross_entropy(sigmoid(x), t)` without overflow; `pos_weight` multiplies the terms of positive targets."""
    one = np.asarray(1, input.dtype)  # of several operators, and so half precisions are rounded at each
    logarithm = log_sigmoid(input)
    if pos_weight is not None:
        logarithm = logarithm * ((pos_weight - one) * target + one)
    losses = (one - target) * input - logarithm
    return _reduced(losses if weight is None else losses * weight, reduction)


def soft_margin_loss(input, target, reduction="mean"):
    """`log(1 + exp(-t x))`: of four operators, so that it overflows, and is rounded, as they are."""
    exponent = -target * input
    power = narrow(np.exp(widen(exponent)), exponent.dtype)
    return _reduced(narrow(np.log1p(widen(power)), power.dtype), reduction)


@in_float32
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, reduction="mean"):
    """`sum_i max(0, w_y (margin - x_y + x_i))^p / C` over the classes i other than the target y; scores (N, C) or
    (C,)."""
    x, y = (input, target) if input.ndim == 2 else (input.reshape(1, -1), target.reshape(1))
    rows = np.arange(len(y))
    z = _positive_part(margin - x[rows, y][:, None] + x) ** p
    if weight is not None:
        z = z * weight[y][:, None]
    z[rows, y] = 0
    losses = (z.sum(1) / x.shape[1]).astype(input.dtype, copy=False)
    return reduced(losses if input.ndim == 2 else losses.reshape(()), reduction)


def _positive_part(z):
    """max(0, z), which of nan is 0 here."""
    return np.where(z > 0, z, np.zeros_like(z))


def label_sets(target):
    """Multi-label targets (N, C): which classes are listed before the first -1 (as a mask), and which places of
    `target` list them."""
    listed = np.cumprod(target >= 0, axis=1).astype(bool)
    member = np.zeros(target.shape, bool)
    rows, places = np.nonzero(listed)
    member[rows, target[rows, places]] = True
    return member, listed


@in_float32
def multilabel_margin_loss(input, target, reduction="mean"):
    """`sum_{y listed, i not} max(0, 1 - x_y + x_i) / C`; scores and targets (N, C) or (C,), a target's list ended by
    -1."""
    x, t = np.atleast_2d(input), np.atleast_2d(target)
    member, listed = label_sets(t)
    scores = np.take_along_axis(x, np.where(listed, t, 0), 1)
    z = _positive_part(1 - scores[:, :, None] + x[:, None, :])
    z[~(listed[:, :, None] & ~member[:, None, :])] = 0
    losses = (z.sum((1, 2)) / max(x.shape[1], 1)).astype(input.dtype, copy=False)
    return reduced(losses if input.ndim == 2 else losses.reshape(()), reduction)
