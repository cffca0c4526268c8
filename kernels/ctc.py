"""Connectionist temporal classification: the probability of a label sequence, summed over all alignments with the
input.

Mirrors ATen/native/LossCTC.cpp (Graves et al. 2006). All of a batch and all places of the labels advance together;
the only loop is over time. Everything is in logarithms.
"""

import numpy as np


def _extended(targets, blank):
    """Labels with blanks between and around them, (N, 2 S + 1), and where a path may skip the blank before a label."""
    n, s = targets.shape
    labels = np.full((n, 2 * s + 1), blank, np.int64)
    labels[:, 1::2] = targets
    skip = np.zeros(labels.shape, bool)
    skip[:, 3::2] = targets[:, 1:] != targets[:, :-1]
    return labels, skip


def _step(before, skip, lowest):
    """log-sum over staying, coming from the place before, and (where allowed) from two before."""
    one, two = np.full_like(before, lowest), np.full_like(before, lowest)
    one[:, 1:] = before[:, :-1]
    two[:, 2:] = before[:, :-2]
    return np.logaddexp(np.logaddexp(before, one), np.where(skip, two, lowest))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0):
    """-log p(targets | log_probs) for log_probs (T, N, C), targets (N, S), lengths (N,): returns (losses (N,), alpha
    (T, N, 2 S + 1))."""
    t_max, n, _ = log_probs.shape
    labels, skip = _extended(targets, blank)
    lowest = log_probs.dtype.type(-np.inf)
    rows = np.arange(n)
    alpha = np.full((max(t_max, 1), n, labels.shape[1]), lowest, log_probs.dtype)
    if t_max:
        scores = np.take_along_axis(log_probs, np.broadcast_to(labels, (t_max, *labels.shape)), 2)
        alpha[0, :, :2] = scores[0, :, :2]
        for t in range(1, t_max):
            alpha[t] = scores[t] + _step(alpha[t - 1], skip, lowest)
    last = alpha[np.maximum(input_lengths - 1, 0), rows]
    end = last[rows, 2 * target_lengths]
    before_end = np.where(target_lengths > 0, last[rows, np.maximum(2 * target_lengths - 1, 0)], lowest)
    losses = -np.logaddexp(end, before_end)
    # no input: nothing but the empty sequence can be aligned
    return np.where(input_lengths > 0, losses, np.where(target_lengths > 0, np.inf, 0)).astype(log_probs.dtype), alpha


def ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, blank, losses, alpha):
    """The gradient, as torch defines it: that of the loss *after* a log-softmax, `exp(lp) - p(label at t)`; (T, N,
    C)."""
    t_max, n, _ = log_probs.shape
    labels, skip = _extended(targets, blank)
    lowest = log_probs.dtype.type(-np.inf)
    rows = np.arange(n)
    scores = np.take_along_axis(log_probs, np.broadcast_to(labels, (t_max, *labels.shape)), 2)
    ahead = np.zeros(skip.shape, bool)  # the skips of a path walked backwards, over the reversed labels
    ahead[:, 2:] = skip[:, ::-1][:, :-2]
    places = np.arange(labels.shape[1])
    ends = (places == 2 * target_lengths[:, None]) | (places == 2 * target_lengths[:, None] - 1)
    result = np.zeros_like(log_probs)
    beta = np.full(labels.shape, lowest, log_probs.dtype)
    for t in range(t_max - 1, -1, -1):
        moved = _step(beta[:, ::-1], ahead, lowest)[:, ::-1]
        starts = (input_lengths - 1 == t)[:, None]
        beta = scores[t] + np.where(starts, np.where(ends, 0, lowest), moved)
        through = np.full(log_probs.shape[1:], lowest, log_probs.dtype)
        np.logaddexp.at(through, (rows[:, None], labels), alpha[t] + beta)
        result[t] = np.exp(log_probs[t]) - np.exp(through + losses[:, None] - log_probs[t])
    result *= grad[:, None] * (np.arange(t_max)[:, None, None] < input_lengths[:, None])
    result[:, np.isinf(losses) & (grad == 0)] = 0  # what could not be aligned, and was replaced by zero
    return result
