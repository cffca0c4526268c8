"""Pooling over windows."""

from minitorch.dispatch import composite
from minitorch.ops import nn_pool as ops
from minitorch.ops.nn_pool import adaptive_avg_pool1d, avg_pool1d

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]


in_float32_on_the_cpu = composite(function=False, as_method=False, autocast="fp32_cpu")


def _max_pool(nd):
    row = {1: ops.max_pool1d_with_indices, **ops.max_pool}[nd]
    values = {1: ops.max_pool1d, 2: ops.max_pool2d, 3: in_float32_on_the_cpu(ops.max_pool3d)}[nd]

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return row(input, kernel_size, stride, padding, dilation, ceil_mode)

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            return tuple(row(input, kernel_size, stride, padding, dilation, ceil_mode))
        return values(input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__doc__ = "The maximum of each window; with `return_indices` also where it was, in the flattened image."
    return _named(f"max_pool{nd}d", pool, with_indices)


def _named(name, pool, with_indices):
    pool.__name__, with_indices.__name__ = name, name + "_with_indices"
    with_indices.__doc__ = "The maxima, and where they were in the flattened image."
    return pool, with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _fitting(input, output_size):
    """An output size, which must leave the input at least one dimension more."""
    if isinstance(output_size, tuple | list) and input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    return output_size


def _adaptive_max_pool(nd):
    row = {1: ops.adaptive_max_pool1d, **ops.adaptive_max_pool}[nd]

    def with_indices(input, output_size, return_indices=False):
        return row(input, _fitting(input, output_size))

    def pool(input, output_size, return_indices=False):
        result = row(input, _fitting(input, output_size))
        return tuple(result) if return_indices else result[0]

    pool.__doc__ = "The maxima of as many windows as `output_size` says; None keeps the input's size."
    return _named(f"adaptive_max_pool{nd}d", pool, with_indices)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


@composite(function=False, as_method=False)
def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of (N, C, H, W) or (C, H, W)."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@in_float32_on_the_cpu
def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W)."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _avg_pool(nd, input, *arguments):
    if arguments[-1] == 0:
        raise RuntimeError("divisor must be not zero")
    return ops.avg_pool[nd](input, *arguments)


def adaptive_avg_pool2d(input, output_size):
    """The means of as many windows as `output_size` says; None keeps the input's size."""
    return ops.adaptive_mean(2, input, _fitting(input, output_size))


@in_float32_on_the_cpu
def adaptive_avg_pool3d(input, output_size):
    """The means of as many windows as `output_size` says; None keeps the input's size."""
    return ops.adaptive_mean(3, input, _fitting(input, output_size))


def _fractional(nd):
    name = f"fractional_max_pool{nd}d"

    def with_indices(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratio = output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,) * nd
            output_size = [int(n * r) for n, r in zip(input.shape[-nd:], ratio, strict=True)]
        if _random_samples is None:
            batch = 1 if input.dim() == nd + 1 else input.shape[0]
            _random_samples = input.new_empty((batch, input.shape[-nd - 1], nd)).uniform_(0, 1)
        return ops.fractional_max_pool[nd](input, kernel_size, output_size, _random_samples)

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        result = with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
        return tuple(result) if return_indices else result[0]

    pool.__doc__ = "The maxima of windows at pseudo-random places (Graham 2015)."
    return _named(name, pool, with_indices)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)


def _lp_pool(nd):
    average = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}[nd]

    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        if isinstance(kernel_size, int):
            count = kernel_size**nd
        else:
            count = 1
            for k in kernel_size:
                count *= k
        out = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (out.sign() * out.abs().relu()).mul(count).pow(1.0 / norm_type)

    pool.__name__ = f"lp_pool{nd}d"
    pool.__doc__ = "The p-th root of the sum of p-th powers of each window, p = `norm_type`."
    return pool


lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))


def _max_unpool(nd):
    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        def each(value):
            return (value,) * nd if isinstance(value, int) else tuple(value)

        kernel = each(kernel_size)
        stride = each(stride) if stride is not None else kernel
        padding = each(padding)
        size = _unpool_size(input, kernel, stride, padding, output_size)
        if nd > 1:
            return ops.max_unpool[nd](input, indices, size)
        return ops.max_unpool[2](input.unsqueeze(-2), indices.unsqueeze(-2), (1, *size)).squeeze(-2)

    unpool.__name__ = f"max_unpool{nd}d"
    unpool.__doc__ = (
        "Each maximum put back where it was, zeros elsewhere; `output_size` settles what rounding left open."
    )
    return unpool


def _unpool_size(input, kernel, stride, padding, wanted):
    nd = len(kernel)
    default = [(input.shape[-nd + d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(nd)]
    if wanted is None:
        return tuple(default)
    wanted = list(wanted)
    if len(wanted) == nd + 2:
        wanted = wanted[2:]
    if len(wanted) != nd:
        raise ValueError(
            f"output_size should be a sequence containing {nd} or {nd + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d in range(nd):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {low} and {high})')
    return tuple(wanted)


max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))
