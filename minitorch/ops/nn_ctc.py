"""Connectionist temporal classification (ATen/native/LossCTC.cpp)."""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, op
from ..kernels import ctc as kernels
from ..tensor import wrap
from .elementwise import where, zeros_like
from .nn_common import not_implemented, wide

_ctc_loss = op("ctc_loss_op", wide(kernels.ctc_loss, "ctc_loss_cpu"), function=False, node="CtcLossBackward0",
               hidden=("alpha",),
               log_probs=lambda grad, log_probs, targets, input_lengths, target_lengths, blank, result, alpha:
               _backward(grad, log_probs, targets, input_lengths, target_lengths, blank, result, alpha))
_backward = op("ctc_loss_backward", kernels.ctc_loss_backward, function=False,
               grad=not_implemented("_ctc_loss_backward"),
               log_probs=not_implemented("_ctc_loss_backward"))


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, zero_infinity: bool = False
) -> tuple:
    """The losses (N,) of log_probs (T, N, C), and the target lengths as a Tensor; without N where log_probs has
    none."""
    single = log_probs.dim() == 2
    if single:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    t, n, classes = log_probs.shape
    inputs, lengths = (_lengths(x) for x in (input_lengths, target_lengths))
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, found in (("input_lengths", inputs), ("target_lengths", lengths)):
        if len(found) != n:
            raise RuntimeError(f"{name} must be of size batch_size")
        if found.size and found.min() < 0:
            raise RuntimeError(f"{name} must be non-negative")
    if inputs.size and inputs.max() > t:
        raise RuntimeError(f"Expected input_lengths to have value at most {t}, but got value {inputs.max()}")
    padded = _padded(targets._array.astype(np.int64), lengths)
    losses = _ctc_loss(log_probs, padded, inputs, lengths, blank)
    if zero_infinity:
        losses = where(losses == math.inf, zeros_like(losses), losses)
    counts = wrap(lengths.astype(log_probs._array.dtype))
    return (losses.squeeze(0), counts.squeeze(0)) if single else (losses, counts)


def _lengths(lengths: Any) -> Any:
    return np.atleast_1d(lengths._array if isinstance(lengths, Tensor) else np.asarray(lengths, np.int64)).astype(
        np.int64
    )


def _padded(targets: Any, lengths: Any) -> Any:
    """Targets as (N, longest), whether they came so or one after the other."""
    if targets.ndim == 2:
        return targets[:, : max(int(lengths.max(initial=0)), 0)]
    result = np.zeros((len(lengths), int(lengths.max(initial=0))), np.int64)
    start = 0
    for row, length in zip(result, lengths, strict=True):
        row[:length] = targets[start : start + length]
        start += length
    return result
