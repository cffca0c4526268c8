"""Losses that are operators of their own
(ATen/native/{Loss,LossNLL,LossNLL2d,LossMultiMargin,LossMultiLabelMargin}.cpp).

`reduction` is "none", "sum" or "mean". What is a composition of other operators is in `minitorch.nn.functional.loss`.
"""

from typing import Any

import numpy as np

from ..dispatch import Tensor, op
from ..kernels import losses as kernels
from ..kernels import softmax as softmax_kernels
from .elementwise import abs, clamp, exp, log, log1p, sgn, sigmoid, where, zeros_like
from .nn_activation import log_sigmoid
from .nn_common import floating, wide


def each(grad: Any, reduction: str, like: Any) -> Any:
    """The gradient that reaches each element of `like` through the reduction."""
    if reduction != "mean":
        return grad
    return grad / (like.numel() if isinstance(like, Tensor) else like.size)


mse_loss = op("mse_loss", floating(kernels.mse_loss, "mse_cpu"), autocast="fp32", function=False,
              input=lambda grad, input, target, reduction: each(grad, reduction, input) * (2 * (input - target)),
              target=lambda grad, input, target, reduction: each(grad, reduction, input) * (2 * (target - input)),
              )
smooth_l1_loss = op("smooth_l1_loss", kernels.smooth_l1_loss, autocast="fp32", function=False,
                    node="SmoothL1LossBackward0",
                    input=lambda grad, input, target, reduction, beta:
                    each(grad, reduction, input) * _smooth_slope(input - target, beta),
                    target=lambda grad, input, target, reduction, beta:
                    each(grad, reduction, input) * _smooth_slope(target - input, beta))


def _smooth_slope(d: Any, beta: float) -> Any:
    return where(abs(d) >= beta, sgn(d), d / beta)


huber_loss = op("huber_loss", kernels.huber_loss, autocast="fp32", function=False,
                input=lambda grad, input, target, reduction, delta:
                each(grad, reduction, input) * clamp(input - target, -delta, delta),
                target=lambda grad, input, target, reduction, delta:
                each(grad, reduction, input) * clamp(target - input, -delta, delta))


def _weighted(grad: Any, weight: Any) -> Any:
    return grad if weight is None else grad * weight


binary_cross_entropy = op(
    "binary_cross_entropy", floating(kernels.binary_cross_entropy), function=False, autocast="banned",
    input=lambda grad, input, target, weight, reduction:
    _weighted(each(grad, reduction, input) * ((input - target) / clamp((1 - input) * input, min=1e-12)), weight),
    target=lambda grad, input, weight, reduction:
    _weighted(each(grad, reduction, input) * (log1p(-input) - log(input)), weight),
)


def _logits_slope(input: Any, target: Any, pos_weight: Any) -> Any:
    if pos_weight is None:
        return sigmoid(input) - target
    positive = pos_weight * target
    return (positive + 1 - target) * sigmoid(input) - positive


def _logits_target_slope(input: Any, pos_weight: Any) -> Any:
    return -input if pos_weight is None else log_sigmoid(-input) - pos_weight * log_sigmoid(input)


binary_cross_entropy_with_logits = op(
    "binary_cross_entropy_with_logits", kernels.binary_cross_entropy_with_logits, function=False, autocast="fp32",
    input=lambda grad, input, target, weight, pos_weight, reduction:
    _weighted(each(grad, reduction, input) * _logits_slope(input, target, pos_weight), weight),
    target=lambda grad, input, weight, pos_weight, reduction:
    _weighted(each(grad, reduction, input) * _logits_target_slope(input, pos_weight), weight),
)
soft_margin_loss = op("soft_margin_loss", kernels.soft_margin_loss, autocast="fp32", function=False,
                      input=lambda grad, input, target, reduction:
                      each(grad, reduction, input) * _soft_margin_slope(input, target))


def _soft_margin_slope(input: Any, target: Any) -> Any:
    if isinstance(input, Tensor):  # whose own derivative does not cancel
        return -target * sigmoid(-target * input)
    power = exp(-target * input)  # overflows where torch's does
    return -target * power / (power + 1)


# ---- losses on classes --------------------------------------------------------------------------------------------


def _nll(name: str, node: str) -> Any:
    return op(name, floating(softmax_kernels.nll_loss, "nll_loss_out_frame"), function=False, node=node,
              hidden=("total_weight",), autocast="fp32",
              input=lambda grad, input, target, weight, reduction, ignore_index, total_weight:
              nll_loss_backward(grad, input, target, weight, reduction, ignore_index, total_weight))


nll_loss = _nll("nll_loss", "NllLossBackward0")
nll_loss2d = _nll("nll_loss2d", "NllLoss2DBackward0")
# Linear in the gradient, and its adjoint is the loss itself
nll_loss_backward = op("nll_loss_backward", softmax_kernels.nll_loss_backward, function=False,
                       grad=lambda cotangent, target, weight, reduction, ignore_index:
                       nll_loss(cotangent, target, weight, reduction, ignore_index))


def _array(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def _constant(array: Any, like: Any) -> Any:
    """A mask or index computed from arrays, as a Tensor where Tensors are being computed with."""
    if not isinstance(like, Tensor):
        return array
    t = Tensor()
    t._array = array
    return t


def _multi_margin_slope(grad: Any, input: Any, target: Any, p: int, margin: float, weight: Any, reduction: str) -> Any:
    """d/dx of sum_i max(0, margin - x_y + x_i)^p: a slope for each i, and minus their sum at y."""
    y = np.atleast_1d(_array(target))
    classes = input.shape[-1]
    x = input.reshape(-1, classes)
    one_hot = np.zeros(x.shape, _array(input).dtype)
    one_hot[np.arange(len(y)), y] = 1
    others = 1 - one_hot
    if weight is not None:
        others = others * _array(weight)[y][:, None]
    one_hot, others = _constant(one_hot, x), _constant(others, x)
    z = margin - x[np.arange(len(y)), y][:, None] + x
    slope = where(z > 0, p * z ** (p - 1), zeros_like(z)) * others / classes
    g = grad / len(y) if reduction == "mean" else grad.reshape(-1, 1) if reduction == "none" else grad
    return (g * (slope - one_hot * slope.sum(1)[:, None])).reshape(input.shape)


def _multilabel_margin_slope(grad: Any, input: Any, target: Any, reduction: str) -> Any:
    t = np.atleast_2d(_array(target))
    member, listed = kernels.label_sets(t)
    classes = input.shape[-1] if input.ndim else 1
    x = input.reshape(-1, classes)
    values = _array(x)
    scores = np.take_along_axis(values, np.where(listed, t, 0), 1)
    # each pair (listed y, unlisted i) whose margin is violated pushes i up and y down by the same amount
    violated = (1 - scores[:, :, None] + values[:, None, :] > 0) & listed[:, :, None] & ~member[:, None, :]
    slope = violated.sum(1).astype(values.dtype)
    rows, places = np.nonzero(listed)
    np.add.at(slope, (rows, t[rows, places]), -violated.sum(2)[rows, places])
    g = grad / len(t) if reduction == "mean" else grad.reshape(-1, 1) if reduction == "none" else grad
    return (g * _constant(slope / classes, x)).reshape(input.shape)


multi_margin_loss = op("multi_margin_loss", floating(wide(kernels.multi_margin_loss, "multi_margin_loss_cpu_kernel")),
                       function=False,
                       input=lambda grad, input, target, p, margin, weight, reduction:
                       _multi_margin_slope(grad, input, target, p, margin, weight, reduction))
multilabel_margin_loss = op("multilabel_margin_loss",
                            floating(wide(kernels.multilabel_margin_loss, "multilabel_margin_loss_forward_out_frame")),
                            function=False,
                            input=lambda grad, input, target, reduction:
                            _multilabel_margin_slope(grad, input, target, reduction))
