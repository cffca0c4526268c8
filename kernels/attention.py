"""Scaled dot-product attention, forward and backward.  Mirrors ATen/native/cpu/FlashAttentionKernel.cpp in what it
computes."""

import numpy as np

from .half import in_float32
from .linalg import matmul
from .reductions import max_over, sum_over


@in_float32(keep=(1,))
def attention(query, key, value, attn_mask=None, is_causal=False, scale=1.0):
    """`softmax(query @ key^T * scale + mask) @ value`: returns (out (..., L, Ev), weights (..., L, S)).

    A row that may look at nothing has weights 0.
    """
    scores = matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if is_causal:
        later = np.arange(scores.shape[-1]) > np.arange(scores.shape[-2])[:, None]
        np.copyto(scores, -np.inf, where=later)
    if attn_mask is not None:
        if attn_mask.dtype == bool:
            np.copyto(scores, -np.inf, where=~attn_mask)
        else:
            scores = scores + attn_mask
    last = scores.ndim - 1
    top = max_over(scores, last) if scores.size else scores.max(-1, keepdims=True, initial=-np.inf)
    if is_causal or attn_mask is not None:
        np.copyto(top, 0, where=np.isneginf(top))
    scores -= top
    weights = np.exp(scores, out=scores)
    total = sum_over(weights, (last,), True)
    if attn_mask is not None:
        np.copyto(total, 1, where=total == 0)
    weights /= total
    return matmul(weights, value), weights


@in_float32
def attention_backward(grad, query, key, value, weights, scale, mask=(True, True, True)):
    """The gradients (dquery, dkey, dvalue) of `attention`; None where `mask` is False."""
    d_query = d_key = d_value = None
    if mask[2]:
        d_value = matmul(weights.swapaxes(-1, -2), grad)
    if mask[0] or mask[1]:
        d = matmul(grad, value.swapaxes(-1, -2))
        d -= sum_over(d * weights, (d.ndim - 1,), True)
        d *= weights
        d *= d.dtype.type(scale)
        if mask[0]:
            d_query = matmul(d, key)
        if mask[1]:
            d_key = matmul(d.swapaxes(-1, -2), query)
    return d_query, d_key, d_value
