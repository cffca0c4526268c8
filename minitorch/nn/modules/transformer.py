"""The Transformer: encoders and decoders of attention and feed-forward blocks (torch/nn/modules/transformer.py)."""

import copy

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.functional.attention import additive
from minitorch.nn.modules.activation import MultiheadAttention
from minitorch.nn.modules.container import ModuleList
from minitorch.nn.modules.dropout import Dropout
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.normalization import LayerNorm
from minitorch.nn.parameter import empty

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    """-inf above the diagonal, 0 elsewhere: added to scores it hides what comes later."""
    mask = empty((sz, sz), device, dtype)
    return mask.fill_(float("-inf")).triu(1)


def _is_causal(mask, is_causal, size):
    """Whether `mask` hides exactly what comes later; a hint that was given is believed."""
    if is_causal is None and mask is not None:
        causal = _generate_square_subsequent_mask(size, mask.device, mask.dtype)
        return mask.shape == causal.shape and bool((mask == causal).all())
    return is_causal is True


def _length(source, batch_first):
    return source.shape[0] if source.dim() == 2 else source.shape[1 if batch_first else 0]


class _Layer(Module):
    """What encoder and decoder layers share: attention blocks, the feed-forward block, residuals and norms."""

    __constants__ = ["norm_first"]

    def __init__(
        self, attentions, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
        bias, device, dtype,
    ):
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory)
        self.norm_first = norm_first
        blocks = range(1, len(attentions) + 2)
        for i in blocks:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **factory))
        for i in blocks:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _residual(self, x, norm, block):
        """`x + block(x)`, normalised before the block or after the sum."""
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    @staticmethod
    def _attend(attention, x, memory, attn_mask, key_padding_mask, is_causal):
        return attention(
            x, memory, memory, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )[0]

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a feed-forward block, each with a residual and a layer norm (Vaswani et al. 2017)."""

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
        batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):
        super().__init__(
            ["self_attn"], d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        padding = additive("src_key_padding_mask", src_key_padding_mask, src)
        mask = additive("src_mask", src_mask, src)
        x = self._residual(
            src, self.norm1,
            lambda x: self.dropout1(self._attend(self.self_attn, x, x, mask, padding, is_causal)),
        )
        return self._residual(x, self.norm2, lambda x: self.dropout2(self._feed_forward(x)))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, then a feed-forward block."""

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
        batch_first=False, norm_first=False, bias=True, device=None, dtype=None,
    ):
        super().__init__(
            ["self_attn", "multihead_attn"], d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
            batch_first, norm_first, bias, device, dtype,
        )

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=False, memory_is_causal=False,
    ):
        x = self._residual(
            tgt, self.norm1,
            lambda x: self.dropout1(
                self._attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            ),
        )
        x = self._residual(
            x, self.norm2,
            lambda x: self.dropout2(
                self._attend(self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
            ),
        )
        return self._residual(x, self.norm3, lambda x: self.dropout3(self._feed_forward(x)))


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer in a row, then `norm`."""

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        padding = additive("src_key_padding_mask", src_key_padding_mask, src)
        mask = additive("mask", mask, src)
        is_causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer in a row, then `norm`."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(decoder_layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=None, memory_is_causal=False,
    ):
        is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, is_causal,
                memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder (Vaswani et al. 2017): `transformer(src, tgt)`, src (S, N, E), tgt (T, N, E)."""

    def __init__(
        self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
        activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
        norm_first=False, bias=True, device=None, dtype=None,
    ):
        super().__init__()
        shared = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype,
        )

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*shared), num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*shared), num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
        tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
        memory_is_causal=False,
    ):
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The mask (sz, sz) that hides what comes later."""
        return _generate_square_subsequent_mask(sz, device, dtype)
