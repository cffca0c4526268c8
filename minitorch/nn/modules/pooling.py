"""Pooling layers (torch/nn/modules/pooling.py). Each holds the arguments of a function of `nn.functional`."""

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    """The maximum of each window; `return_indices` also gives where it was."""

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _pool(self, function, input):
        return function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of (N, C, L) or (C, L)."""

    def forward(self, input):
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return self._pool(F.max_pool3d, input)


class _MaxUnpoolNd(Module):
    """Puts each maximum back where its pooling found it, and zeros elsewhere."""

    nd: int

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        each = _ntuple(self.nd)
        self.kernel_size, self.padding = each(kernel_size), each(padding)
        self.stride = each(stride if stride is not None else kernel_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def forward(self, input, indices, output_size=None):
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self.nd - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    nd = 1


class MaxUnpool2d(_MaxUnpoolNd):
    nd = 2


class MaxUnpool3d(_MaxUnpoolNd):
    nd = 3


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (N, C, L) or (C, L)."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size, self.padding = _single(kernel_size), _single(padding)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_AvgPoolNd):
    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _pool(self, function, input):
        return function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPool):
    """The mean of each window of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPool):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input):
        return self._pool(F.avg_pool3d, input)


class _FractionalMaxPoolNd(Module):
    """The maxima of windows at pseudo-random places (Graham 2015)."""

    nd: int

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        name, each = type(self).__name__, _ntuple(self.nd)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size = each(kernel_size)
        if any(not isinstance(k, int) or k <= 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must greater than zero, but got {kernel_size}")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = each(output_size) if output_size is not None else None
        self.output_ratio = each(output_ratio) if output_ratio is not None else None
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        pool = (F.fractional_max_pool2d, F.fractional_max_pool3d)[self.nd - 2]
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    nd = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    nd = 3


class _LPPoolNd(Module):
    """The p-th root of the sum of p-th powers of each window."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def extra_repr(self):
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _pool(self, function, input):
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd):
    def forward(self, input):
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    def forward(self, input):
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    def forward(self, input):
        return self._pool(F.lp_pool3d, input)


class _AdaptiveMaxPoolNd(Module):
    """The maxima of as many windows as `output_size` says."""

    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    def forward(self, input):
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    """The means of as many windows as `output_size` says; None keeps a dimension's size."""

    __constants__ = ["output_size"]

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    def forward(self, input):
        return F.adaptive_avg_pool3d(input, self.output_size)
