"""Scaled dot-product attention (ATen/native/transformers/attention.cpp)."""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import attention as kernels
from ..tensor import wrap
from .linalg import matmul
from .nn_activation import softmax, softmax_backward
from .nn_dropout import dropout


def _backward(
    grad: Any,
    needs: tuple,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    is_causal: bool,
    scale: float,
    weights: Any,
) -> Any:
    if not isinstance(grad, Tensor):
        return kernels.attention_backward(grad, query, key, value, weights, scale, needs)
    weights = _weights(query, key, attn_mask, is_causal, scale)
    d_scores = softmax_backward(matmul(grad, value.transpose(-2, -1)), weights, -1) * scale
    return [
        matmul(d_scores, key) if needs[0] else None,
        matmul(d_scores.transpose(-2, -1), query) if needs[1] else None,
        matmul(weights.transpose(-2, -1), grad) if needs[2] else None,
    ]


_attention = op("scaled_dot_product_attention", kernels.attention, function=False,
                node="ScaledDotProductFlashAttentionForCpuBackward0", hidden=("weights",),
                inputs=("query", "key", "value"), joint=_backward)


def _causal(length: int, source: int) -> Any:
    return np.arange(source) > np.arange(length)[:, None]


def _weights(query: Any, key: Any, attn_mask: Any, is_causal: bool, scale: float) -> Any:
    scores = matmul(query * scale, key.transpose(-2, -1))
    if is_causal:
        scores = scores.masked_fill(wrap(_causal(*scores.shape[-2:])), float("-inf"))
    if attn_mask is not None:
        if attn_mask._array.dtype == bool:
            scores = scores.masked_fill(~attn_mask, float("-inf"))
        else:
            scores = scores + attn_mask
    weights = softmax(scores, -1)
    if attn_mask is not None:  # a row that may look at nothing has no weights, rather than nan
        nothing = np.isneginf(scores._array).all(-1, keepdims=True)
        if nothing.any():
            weights = weights.masked_fill(wrap(nothing), 0.0)
    return weights


@composite(function=False, as_method=False, autocast="lower")
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:
    """`softmax(query @ key^T * scale + mask) @ value`: query (..., L, E), key (..., S, E), value (..., S, Ev).

    `attn_mask`: boolean (False: may not be looked at) or added to the scores; `is_causal`: place i looks at places up
    to i; `scale`: 1 / sqrt(E) unless given; `enable_gqa`: several query heads share a head of key and value."""
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() < 2:
            raise RuntimeError(
                "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 dimensional, but "
                f"got {name}.dim: {t.dim()} instead."
            )
        if t.dtype is not query.dtype:
            raise RuntimeError(
                "Expected query, key, and value to have the same dtype, but got query.dtype: "
                f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
            )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        if attn_mask._array.dtype != bool and attn_mask.dtype is not query.dtype:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{attn_mask.dtype} and  query.dtype: {query.dtype} instead."
            )
    if enable_gqa:
        heads = query.shape[-3]
        key = key.repeat_interleave(heads // key.shape[-3], -3)
        value = value.repeat_interleave(heads // value.shape[-3], -3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    plain = attn_mask is None or not attn_mask.requires_grad
    if dropout_p == 0.0 and plain and query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return _attention(query, key, value, attn_mask, is_causal, scale)
    dtype = query.dtype
    if dtype.itemsize == 2:  # half precisions in float32, from beginning to end
        query, key, value = query.float(), key.float(), value.float()
        attn_mask = attn_mask.float() if attn_mask is not None and attn_mask.is_floating_point() else attn_mask
    weights = _weights(query, key, attn_mask, is_causal, scale)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value).to(dtype)
