"""Activations, and attention (mirrors torch/nn/modules/activation.py). Most are rows: see `_holding.py`."""

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules._holding import holding
from minitorch.nn.modules.linear import NonDynamicallyQuantizableLinear
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter, empty

__all__ = [
    "Threshold", "ReLU", "RReLU", "Hardtanh", "ReLU6", "Sigmoid", "Hardsigmoid", "Tanh", "SiLU", "Mish", "Hardswish",
    "ELU", "CELU", "SELU", "GLU", "GELU", "Hardshrink", "LeakyReLU", "LogSigmoid", "Softplus", "Softshrink",
    "MultiheadAttention", "PReLU", "Softsign", "Tanhshrink", "Softmin", "Softmax", "Softmax2d", "LogSoftmax",
]


def _row(name, function, **options):
    return holding(function, name, __name__, **options)


Threshold = _row("Threshold", F.threshold)
ReLU = _row("ReLU", F.relu)
Hardtanh = _row("Hardtanh", F.hardtanh)
Sigmoid = _row("Sigmoid", F.sigmoid, held=[])
Hardsigmoid = _row("Hardsigmoid", F.hardsigmoid, repr_nothing=True)
Tanh = _row("Tanh", F.tanh, held=[])
SiLU = _row("SiLU", F.silu)
Mish = _row("Mish", F.mish)
Hardswish = _row("Hardswish", F.hardswish, repr_nothing=True)
ELU = _row("ELU", F.elu)
CELU = _row("CELU", F.celu)
SELU = _row("SELU", F.selu)
GLU = _row("GLU", F.glu)
GELU = _row("GELU", F.gelu)
LeakyReLU = _row("LeakyReLU", F.leaky_relu)
LogSigmoid = _row("LogSigmoid", F.logsigmoid, held=[])
Softplus = _row("Softplus", F.softplus)
Hardshrink = _row("Hardshrink", F.hardshrink, repr_bare=True)
Softshrink = _row("Softshrink", F.softshrink, repr_bare=True)
Softsign = _row("Softsign", F.softsign)
Tanhshrink = _row("Tanhshrink", F.tanhshrink)
Softmin = _row("Softmin", F.softmin, held=["dim"])
Softmax = _row("Softmax", F.softmax, held=["dim"])
LogSoftmax = _row("LogSoftmax", F.log_softmax, held=["dim"])


class ReLU6(Hardtanh):
    """`min(max(0, x), 6)`."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """Leaky ReLU whose slope is drawn from [lower, upper] for each element in training, and is their mean otherwise."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class PReLU(Module):
    """Leaky ReLU whose slope is learned: one for all channels, or (`num_parameters`) one for each."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty((num_parameters,), device, dtype))
        self.reset_parameters()

    def reset_parameters(self):
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads side by side (Vaswani et al. 2017): see `F.multi_head_attention_forward`.

    query (L, N, E), key (S, N, Ek), value (S, N, Ev), batch in front with `batch_first`, or without N. Returns the
    output (like query) and, with `need_weights`, the weights (N, L, S), averaged over the heads unless told
    otherwise.
    """

    def __init__(
        self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
        vdim=None, batch_first=False, device=None, dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def weight(*shape):
            return Parameter(empty(shape, **factory))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = weight(3 * embed_dim, embed_dim)
            self.register_parameter("q_proj_weight", None)
            self.register_parameter("k_proj_weight", None)
            self.register_parameter("v_proj_weight", None)
        else:
            self.q_proj_weight = weight(embed_dim, embed_dim)
            self.k_proj_weight = weight(embed_dim, self.kdim)
            self.v_proj_weight = weight(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = weight(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **factory)
        self.bias_k = weight(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = weight(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
        is_causal=False,
    ):
        batched = query.dim() == 3
        if self.batch_first and batched:
            query, key, value = swap_once(query, key, value)
        separate = {} if self._qkv_same_embed_dim else {
            "use_separate_proj_weight": True, "q_proj_weight": self.q_proj_weight,
            "k_proj_weight": self.k_proj_weight, "v_proj_weight": self.v_proj_weight,
        }
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal, **separate,
        )
        return (output.transpose(1, 0) if self.batch_first and batched else output), weights

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """Both masks as one of shape (N, heads, L, S), and torch's number for its kind (0, 1, 2; None: no mask)."""
        if key_padding_mask is None:
            return attn_mask, (None if attn_mask is None else 0)
        if attn_mask is None:
            return key_padding_mask, 1
        n, length = query.shape[:2]
        attn = attn_mask.view(n, -1, length, length) if attn_mask.dim() == 3 else attn_mask.view(1, 1, length, length)
        attn = attn.expand(n, self.num_heads, -1, -1)
        return attn + key_padding_mask.view(n, 1, 1, length).expand(-1, self.num_heads, -1, -1), 2


def swap_once(query, key, value):
    """The three with their first two dimensions swapped; what was one tensor stays one, as packed projection asks."""
    if key is value:
        if query is key:
            query = key = value = query.transpose(1, 0)
        else:
            query, key = query.transpose(1, 0), key.transpose(1, 0)
            value = key
        return query, key, value
    return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
