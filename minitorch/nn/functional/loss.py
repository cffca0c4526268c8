"""Losses. `reduction`: "none" (one loss each), "sum" or "mean"; `size_average` and `reduce` are its old spelling."""

import math
import warnings

import numpy as np

from minitorch.dispatch import composite
from minitorch.nn.functional.activation import logsigmoid
from minitorch.nn.functional.distance import pairwise_distance
from minitorch.ops import nn_loss as ops
from minitorch.ops.elementwise import minimum, where, zeros_like
from minitorch.ops.nn_activation import _log_softmax, log_softmax
from minitorch.ops.nn_common import scalar_name
from minitorch.ops.nn_ctc import ctc_loss as _ctc_loss
from minitorch.ops.shape import broadcast_tensors

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]


in_float32_under_autocast = composite(function=False, as_method=False, autocast="fp32")


def reduction_of(size_average, reduce, reduction, valid=("none", "mean", "sum")):
    """The reduction asked for, in either spelling. ValueError for one that does not exist."""
    if size_average is not None or reduce is not None:
        reduction = ("none" if reduce is False else "sum" if size_average is False else "mean")
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    if reduction not in valid:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(losses, reduction):
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


def _same_size(input, target):
    """Both stretched to one shape; a warning where they were not of one."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    return broadcast_tensors(input, target)


def _weighted(losses, weight, reduction):
    """Element losses times `weight`; a mean is one over the weights."""
    if weight.shape != losses.shape:
        raise ValueError("Weights and input must have the same size.")
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """`(x - t)^2`."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = _same_size(input, target)
    if weight is not None:
        return _weighted(ops.mse_loss(input, target, "none"), weight, reduction)
    return ops.mse_loss(input, target, reduction)


@in_float32_under_autocast
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """`|x - t|`."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = _same_size(input, target)
    losses = (input - target).abs()
    return reduced(losses, reduction) if weight is None else _weighted(losses, weight, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """`d^2 / (2 beta)` where `d = |x - t| < beta`, else `d - beta / 2`."""
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = _same_size(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return (
        l1_loss(input, target, reduction=reduction) if beta == 0 else ops.smooth_l1_loss(input, target, reduction, beta)
    )


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """`d^2 / 2` where `d = |x - t| <= delta`, else `delta * (d - delta / 2)`."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _same_size(input, target)
    if weight is None:
        return ops.huber_loss(input, target, reduction, delta)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduced(ops.huber_loss(input, target, "none", delta) * weight, reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """`-w (t log x + (1 - t) log(1 - x))` for probabilities x."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_tensors(target, weight)[0].shape)
    return ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """`binary_cross_entropy(sigmoid(x), t)`, without overflow; `pos_weight` weighs the positive targets."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


@in_float32_under_autocast
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """`-w[t] * x[t]` for log-probabilities (N, C, ...) and classes (N, ...); a mean is one over the weights."""
    return _nll(input, target, weight, ignore_index, reduction_of(size_average, reduce, reduction))


def _nll(input, target, weight, ignore_index, reduction):
    dim = input.dim()
    if dim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {dim})")
    if dim != 1 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    classes = input.shape[0 if dim == 1 else 1]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if target._array.dtype not in (np.int64, np.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(target._array)}")
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(input._array)} but found {scalar_name(weight._array)}")
    if dim <= 2:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return ops.nll_loss(input, target, weight, reduction, ignore_index)
    if input.shape[2:] != target.shape[1:]:
        raise RuntimeError(f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")
    if dim == 4:
        return ops.nll_loss2d(input, target, weight, reduction, ignore_index)
    n, c = input.shape[:2]
    losses = ops.nll_loss2d(
        input.contiguous().view(n, c, 1, -1), target.reshape(n, 1, -1), weight, reduction, ignore_index
    )
    return losses.view(target.shape) if reduction == "none" else losses


@in_float32_under_autocast
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
    label_smoothing=0.0,
):
    """`-w[t] * log_softmax(x)[t]` for scores (N, C, ...); the target is classes (N, ...), or probabilities of input's
    shape.

    `label_smoothing` spreads that much of each target evenly over all classes. A mean is one over the weights of
    targets that are not `ignore_index`."""
    reduction = reduction_of(size_average, reduce, reduction)
    x, t = input._array, target._array
    if (
        x.ndim == 2
        and t.ndim == 1
        and len(x) == len(t)
        and weight is None
        and label_smoothing == 0
        and t.dtype.kind == "i"
    ):
        return ops.nll_loss(_log_softmax(input, 1), target, None, reduction, ignore_index)  # the ordinary classifier
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if input.dim() == 1 else 1
    if input.shape == target.shape:
        return _cross_entropy_of_probabilities(input, target, weight, axis, reduction, label_smoothing, ignore_index)
    scores = log_softmax(input, axis, input.dtype)
    loss = _nll(scores, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    classes = input.shape[axis]
    if weight is not None:
        scores = scores * weight.view(-1, *[1] * (input.dim() - axis - 1))
    smooth = -scores.sum(axis)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is None:
            smooth = smooth.sum() / (ignored.numel() - ignored.sum())
        else:  # over the weights of the targets, as in nll_loss
            kept = weight.gather(0, target.masked_fill(ignored, 0).flatten()).masked_fill(ignored.flatten(), 0)
            smooth = smooth.sum() / kept.sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def _cross_entropy_of_probabilities(input, target, weight, axis, reduction, label_smoothing, ignore_index):
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got "
            f"{str(target.dtype).removeprefix('torch.').capitalize()}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input.shape[axis]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = log_softmax(input, axis, input.dtype) * target
    if weight is not None:
        terms = terms * weight.view(-1, *[1] * (input.dim() - axis - 1))
    if reduction == "none":
        return -terms.sum(axis)
    if reduction == "sum":
        return -terms.sum()
    return -terms.sum() / max(input.numel() // classes, 0) if input.numel() else -terms.sum() / 0.0


@in_float32_under_autocast
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """`t (log t - x)` for log-probabilities x; the target is probabilities t, or (`log_target`) their logarithms."""
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    reduction = reduction_of(size_average, reduce, reduction, ("none", "mean", "sum", "batchmean"))
    losses = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0] if input.dim() else losses.sum()
    return reduced(losses, reduction)


@in_float32_under_autocast
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """`exp(x) - t x`, or without `log_input` `x - t log(x + eps)`; `full` adds Stirling's approximation of log t!."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """`(log var + (x - t)^2 / var) / 2`, var at least `eps`; `full` adds the constant `log(2 pi) / 2`."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * input.new_ones(input.shape)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        differing = [n for m, n in zip(input.shape, var.shape, strict=False) if m != n]
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.dim() == var.dim() and sum(differing) == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    var.data.clamp_(min=eps)  # the bound is no part of the function that is differentiated
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@in_float32_under_autocast
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """x where t = 1, `max(0, margin - x)` where t = -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    zeros = zeros_like(input)
    apart = where(target != 1, (input.new_full((), margin) - input).clamp_min(0), zeros)  # rounds margin, as torch
    return reduced(apart + where(target != -1, input, zeros), reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """`log(1 + exp(-t x))`."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.shape != input.shape:
        target, input = broadcast_tensors(target, input)
    return ops.soft_margin_loss(input, target, reduction)


@in_float32_under_autocast
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """`max(0, -t (x1 - x2) + margin)`."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@in_float32_under_autocast
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """`1 - cos(x1, x2)` where t = 1, `max(0, cos(x1, x2) - margin)` where t = -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != input2.dim() or input1.dim() != target.dim() + 1:
        which = "1D target tensor expects 2D" if target.dim() else "0D target tensor expects 1D"
        raise RuntimeError(
            f"{which} input tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    products = (input1 * input2).sum(target.dim())
    squares1, squares2 = (input1 * input1).sum(target.dim()) + 1e-12, (input2 * input2).sum(target.dim()) + 1e-12
    cosine = products / (squares1 * squares2).sqrt()
    zeros = zeros_like(cosine)
    losses = where(target == 1, 1 - cosine, zeros) + where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduced(losses, reduction)


@in_float32_under_autocast
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """`sum_i max(0, margin - x_t + x_i)^p / C` over the other classes i."""
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if input.dim() == 0:
        input = input.reshape(1)
    if input.dim() not in (1, 2) or 0 in input.shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    batch = input.shape[0] if input.dim() == 2 else 1
    if target.dim() > 1 or target.numel() != batch:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{batch}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}")
    if target.numel() and not 0 <= target.min().item() <= target.max().item() < input.shape[-1]:
        raise RuntimeError("target out of range")
    return ops.multi_margin_loss(input, target, p, margin, weight, reduction)


@in_float32_under_autocast
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """`sum max(0, 1 - x_y + x_i) / C` over classes y that the target lists (before its first -1) and i that it does
    not."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input.dim() > 2 or (input.dim() and input.shape[-1] == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    return ops.multilabel_margin_loss(input, target, reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of the logistic losses of (N, C) scores against 0/1 targets."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(-1) / input.shape[-1], reduction)


@in_float32_under_autocast
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """`max(0, |a - p| - |a - n| + margin)`; `swap`: the negative's distance is the smaller of those from a and from
    p."""
    reduction = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _triplet(anchor, positive, negative, lambda x, y: pairwise_distance(x, y, p, eps), margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """`triplet_margin_loss` with any distance of two tensors."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def _triplet(anchor, positive, negative, distance, margin, swap, reduction):
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


@in_float32_under_autocast
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification (Graves et al. 2006): minus the log of the total probability of all
    alignments.

    log_probs (T, N, C) or (T, C), targets (N, S) or concatenated, lengths (N,). A mean is one over losses divided by
    target lengths; `zero_infinity` replaces what cannot be aligned."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    losses, lengths = _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    if reduction == "mean":
        return (losses / lengths.clamp_min(1)).mean()
    return reduced(losses, reduction)
