"""Attention (ATen/native/transformers/attention.cpp, and `multi_head_attention_forward` of torch/nn/functional.py)."""

import math

from minitorch.nn.functional.activation import softmax
from minitorch.nn.functional.dropout import dropout
from minitorch.nn.functional.vision import pad
from minitorch.ops.copies import cat
from minitorch.ops.linalg import baddbmm, bmm
from minitorch.ops.nn_attention import scaled_dot_product_attention
from minitorch.ops.nn_conv import linear

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
    dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
    use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None,
    static_v=None, average_attn_weights=True, is_causal=False,
):
    """Attention of several heads side by side (Vaswani et al. 2017).

    query (L, N, E), key (S, N, Ek), value (S, N, Ev), or all without N; `key_padding_mask` (N, S) and `attn_mask` (L,
    S) or (N * heads, L, S) are boolean (True: may not be looked at) or added to the scores. Returns the output and,
    with `need_weights`, the attention weights (N, L, S), averaged over the heads unless told otherwise.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, n, embed_dim = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    key_padding_mask = additive("key_padding_mask", key_padding_mask, query)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = additive("attn_mask", attn_mask, query)
        is_causal = is_causal and key_padding_mask is None
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    compared = slice(2) if use_separate_proj_weight else slice(None)
    if key.shape[compared] != value.shape[compared]:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")

    if use_separate_proj_weight:
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    else:
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        expected = {2: (length, key.shape[0]), 3: (n * num_heads, length, key.shape[0])}.get(attn_mask.dim())
        if expected is None:
            raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {expected}."
            )
        if attn_mask.dim() == 2:
            attn_mask = attn_mask.unsqueeze(0)

    def one_more(mask):
        return None if mask is None else pad(mask, (0, 1))

    if bias_k is not None and bias_v is not None:  # one more key and value, learned
        k, v = cat([k, bias_k.repeat(1, n, 1)]), cat([v, bias_v.repeat(1, n, 1)])
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    q = q.view(length, n * num_heads, head_dim).transpose(0, 1)
    k = k.view(k.shape[0], n * num_heads, head_dim).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], n * num_heads, head_dim).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:  # and one of zeros
        k = cat([k, k.new_zeros((n * num_heads, 1, head_dim))], 1)
        v = cat([v, v.new_zeros((n * num_heads, 1, head_dim))], 1)
        attn_mask, key_padding_mask = one_more(attn_mask), one_more(key_padding_mask)
    source = k.shape[1]
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (n, source):
            raise AssertionError(
                f"Expected key_padded_mask.shape to be {(n, source)}, but got {key_padding_mask.shape}"
            )
        key_padding_mask = (
            key_padding_mask.view(n, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(n * num_heads, 1, source)
        )
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    dropout_p = dropout_p if training else 0.0

    if need_weights:
        q = q * math.sqrt(1.0 / head_dim)
        kt = k.transpose(-2, -1)
        weights = softmax(bmm(q, kt) if attn_mask is None else baddbmm(attn_mask, q, kt), -1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p)
        output = bmm(weights, v).transpose(0, 1).reshape(length * n, embed_dim)
        weights = weights.view(n, num_heads, length, source)
        if average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            weights = weights.squeeze(0)
    else:
        if attn_mask is not None:
            one = attn_mask.shape[0] == 1
            attn_mask = attn_mask.unsqueeze(0) if one else attn_mask.view(n, num_heads, -1, source)
        q, k, v = (x.view(n, num_heads, -1, head_dim) for x in (q, k, v))
        output = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        output = output.permute(2, 0, 1, 3).reshape(length * n, embed_dim)
        weights = None
    output = linear(output, out_proj_weight, out_proj_bias)
    output = output.view(length, n, output.shape[1])
    return (output if batched else output.squeeze(1)), weights


def _project(q, k, v, weight, bias):
    """Queries, keys and values from one packed weight (3 E, E): in one product where all three are one tensor."""
    size = q.shape[-1]
    if k is v and q is k:
        packed = linear(q, weight, bias)
        packed = packed.unflatten(-1, (3, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return packed[0], packed[1], packed[2]
    if k is v:
        w_q, w_kv = weight.split([size, 2 * size])
        b_q, b_kv = (None, None) if bias is None else bias.split([size, 2 * size])
        packed = linear(k, w_kv, b_kv)
        packed = packed.unflatten(-1, (2, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return linear(q, w_q, b_q), packed[0], packed[1]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True))


def additive(name, mask, query):
    """A mask as what is added to the scores: a boolean one becomes -inf where it is True."""
    if mask is None or mask.is_floating_point():
        return mask
    if str(mask.dtype) != "torch.bool":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask.new_zeros(mask.shape, dtype=query.dtype).masked_fill_(mask, float("-inf"))


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch dimension; AssertionError where the inputs disagree."""
    dim = query.dim()
    if dim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dim}-D query tensor")
    if key.dim() != dim or value.dim() != dim:
        raise AssertionError(
            f"For {'batched (3-D)' if dim == 3 else 'unbatched (2-D)'} `query`, expected `key` and `value` to be "
            f"{dim}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dim - 1:
        raise AssertionError(
            f"For {'batched (3-D)' if dim == 3 else 'unbatched (2-D)'} `query`, expected `key_padding_mask` to be "
            f"`None` or {dim - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {'batched (3-D)' if dim == 3 else 'unbatched (2-D)'} `query`, expected `attn_mask` to be `None`, "
            f"2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    return dim == 3
