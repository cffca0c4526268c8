"""Convolutions and transposed convolutions (torch/nn/modules/conv.py)."""

import inspect
import math

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.lazy import LazyModuleMixin
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.utils import _ntuple, _reverse_repeat_tuple
from minitorch.nn.parameter import Parameter, UninitializedParameter, empty

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]


class _ConvNd(Module):
    """What all convolutions share: arguments, the weight and its initialisation, and printing."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    ]

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups,
        bias, padding_mode, device=None, dtype=None,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.transposed, self.output_padding, self.groups = transposed, output_padding, groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):  # per dimension, the larger half at the far end
            total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size, strict=True)]
            self._reversed_padding_repeated_twice = [n for t in reversed(total) for n in (t // 2, t - t // 2)]
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*shape, *kernel_size), device, dtype))
        if bias:
            self.bias = Parameter(empty((out_channels,), device, dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        nd = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * nd:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * nd:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * nd:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    """A convolution of `nd` dimensions: see `F.conv2d`."""

    nd: int

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):
        each = _ntuple(self.nd)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride),
            padding if isinstance(padding, str) else each(padding), each(dilation), False, each(0), groups, bias,
            padding_mode, device, dtype,
        )

    def _conv_forward(self, input, weight, bias):
        conv = (F.conv1d, F.conv2d, F.conv3d)[self.nd - 1]
        if self.padding_mode == "zeros":
            return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return conv(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution of (N, C, L) or (C, L) with learned kernels; see `F.conv1d`."""

    nd = 1


class Conv2d(_Conv):
    """Convolution of (N, C, H, W) or (C, H, W) with learned kernels; see `F.conv2d`."""

    nd = 2


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W) or (C, D, H, W) with learned kernels; see `F.conv3d`."""

    nd = 3


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution for its input, as a layer; see `F.conv_transpose2d`."""

    nd: int

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self.nd)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride), each(padding), each(dilation), True,
            each(output_padding), groups, bias, padding_mode, device, dtype,
        )

    def _output_padding(self, input, output_size):
        """The output padding that makes the result of `output_size`; ValueError where none does."""
        if output_size is None:
            return self.output_padding
        nd = self.nd
        output_size = list(output_size)
        if len(output_size) == input.dim():
            output_size = output_size[-nd:]
        if len(output_size) != nd:
            raise ValueError(
                f"ConvTranspose{nd}D: for {input.dim()}D input, output_size must have {nd} or {input.dim()} elements "
                f"(got {len(output_size)})"
            )
        smallest = [
            (input.size(d - nd) - 1) * self.stride[d] - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1) + 1
            for d in range(nd)
        ]
        largest = [low + stride - 1 for low, stride in zip(smallest, self.stride, strict=True)]
        for size, low, high in zip(output_size, smallest, largest, strict=True):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} "
                    f"(for an input of {input.size()[2:]})"
                )
        return [size - low for size, low in zip(output_size, smallest, strict=True)]

    def forward(self, input, output_size=None):
        conv = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.nd - 1]
        output_padding = self._output_padding(input, output_size)
        return conv(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L) or (C, L); see `F.conv_transpose1d`."""

    nd = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W) or (C, H, W); see `F.conv_transpose2d`."""

    nd = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W) or (C, D, H, W); see `F.conv_transpose3d`."""

    nd = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution that takes `in_channels` from its first input."""

    def __init__(self, out_channels, kernel_size, *args, **kwargs):
        signature = inspect.signature(self.cls_to_become.__init__).bind(self, 0, 0, kernel_size, *args, **kwargs)
        given = {k: v for k, v in signature.arguments.items() if k not in ("self", "in_channels", "out_channels")}
        groups, bias = given.pop("groups", 1), given.pop("bias", True)
        device, dtype = given.get("device"), given.get("dtype")
        super().__init__(0, 0, groups=1, bias=False, **given)
        self.groups = groups
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        outer, inner = (self.in_channels, self.out_channels)
        if not self.transposed:
            outer, inner = inner, outer
        self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        nd = self.cls_to_become.nd
        if input.dim() not in (nd + 1, nd + 2):
            raise RuntimeError(
                f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {type(self).__name__}, but got input "
                f"of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == nd + 2 else input.shape[0]


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    cls_to_become = ConvTranspose3d
