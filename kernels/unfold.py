"""Sliding windows: an image laid out as columns (im2col), and the columns summed back into an image (col2im).

Mirrors `aten/src/ATen/native/Im2Col.cpp` and `Col2Im.cpp`, for any number of spatial dimensions. The two are linear and
adjoint to each other, `<im2col(x), c> = <x, col2im(c)>`, so each is the other's derivative. Convolution is a matrix
product with such columns.
"""

import itertools

import numpy as np


def tuple_of(value, n):
    """`value` as a tuple of `n` ints: an int, and a sequence of one, stand for all `n` dimensions."""
    if not hasattr(value, "__len__"):
        return (int(value),) * n
    value = tuple(int(v) for v in value)
    return value * n if len(value) == 1 else value


def window_count(size, kernel, stride, padding, dilation):
    """How many windows fit along each dimension: `floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1`."""
    return tuple(
        (s + 2 * p - d * (k - 1) - 1) // st + 1
        for s, k, st, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def tap_slices(tap, out, stride, dilation):
    """Where a kernel's one tap looks, in the padded image, as its window moves over all `out` places."""
    return tuple(
        slice(t * d, t * d + (o - 1) * st + 1, st) for t, o, st, d in zip(tap, out, stride, dilation, strict=True)
    )


def pad_spatial(x, padding):
    """`x` (N, C, *size) with a border of zeros: (N, C, *(size + 2 padding)). Without a border `x` itself."""
    if not any(padding):
        return x
    size = x.shape[2:]
    padded = np.zeros(x.shape[:2] + tuple([s + 2 * p for s, p in zip(size, padding, strict=True)]), x.dtype, like=x)
    padded[(..., *[slice(p, p + s) for s, p in zip(size, padding, strict=True)])] = x
    return padded


def im2col(x, kernel, stride, padding, dilation, out):
    """The windows of `x` (N, C, *size) at `out` places, as an array (N, C, *kernel, *out): a copy of the image for each
    tap of the kernel.
    """
    x = pad_spatial(x, padding)
    if type(x) is np.ndarray:  # all copies at once, of an array that looks at each place as often as windows do
        x = np.ascontiguousarray(x)
        strides = [
            *x.strides[:2],
            *[s * d for s, d in zip(x.strides[2:], dilation, strict=True)],
            *[s * st for s, st in zip(x.strides[2:], stride, strict=True)],
        ]
        return np.ndarray(x.shape[:2] + tuple(kernel) + tuple(out), x.dtype, x, 0, strides).copy()
    cols = np.empty_like(x, shape=x.shape[:2] + tuple(kernel) + tuple(out), order="C")
    for tap in itertools.product(*map(range, kernel)):
        cols[(slice(None), slice(None), *tap)] = x[(..., *tap_slices(tap, out, stride, dilation))]
    return cols


def col2im(cols, size, kernel, stride, padding, dilation):
    """The adjoint of `im2col`: windows (N, C, *kernel, *out) summed into an image (N, C, *size) where they overlap."""
    out = cols.shape[2 + len(kernel) :]
    padded = tuple(s + 2 * p for s, p in zip(size, padding, strict=True))
    x = np.zeros(cols.shape[:2] + padded, cols.dtype, like=cols)
    for tap in itertools.product(*map(range, kernel)):
        seen = x[(..., *tap_slices(tap, out, stride, dilation))]  # `x[...] += ` would also copy it back to where it is
        seen += cols[(slice(None), slice(None), *tap)]
    return np.ascontiguousarray(x[(..., *(slice(p, p + s) for s, p in zip(size, padding, strict=True)))])


def _pairs(**arguments):
    """Spatial arguments as pairs; RuntimeError, in torch's words, where one is not positive (a padding: not negative)."""
    for name, value in arguments.items():
        pair = tuple_of(value, 2)
        if len(pair) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
        short, least, what = {
            "padding": ("pad", 0, "non-negative"),
            "output_size": ("output", -np.inf, ""),
            "kernel_size": ("kernel", 1, "greater than zero"),
        }.get(name, (name, 1, "greater than zero"))
        if min(pair) < least:
            raise RuntimeError(
                f"{name.replace('_', ' ')} should be {what}, but got {short}_height: {pair[0]} {short}_width: {pair[1]}"
            )
        yield pair


def _blocks(size, kernel, dilation, padding, stride):
    """How many blocks fit, and an error as torch words it where there would be none."""
    out = window_count(size, kernel, stride, padding, dilation)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(size)}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {out}, but its components must be at least one."
        )
    return out


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The sliding blocks of an image (N, C, H, W) or (C, H, W) as columns: (N, C * kernel places, blocks) or without N."""
    kernel, dilation, padding, stride = _pairs(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    out = _blocks(input.shape[-2:], kernel, dilation, padding, stride)
    cols = im2col(input.reshape(-1, *input.shape[-3:]) if len(input) else input, kernel, stride, padding, dilation, out)
    return cols.reshape(*input.shape[:-3], input.shape[-3] * kernel[0] * kernel[1], out[0] * out[1])


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The adjoint of `unfold`: columns (N, C * kernel places, blocks), or without N, summed into an image (N, C,
    *output_size).
    """
    size, kernel, dilation, padding, stride = _pairs(
        output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    rows, blocks = input.shape[-2:]
    if rows % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={kernel}."
        )
    out = window_count(size, kernel, stride, padding, dilation)
    if out[0] * out[1] != blocks or min(out) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {out[0]} * {out[1]} = "
            f"{out[0] * out[1]}, but got input.size(2)={blocks}."
        )
    channels = rows // (kernel[0] * kernel[1])
    cols = input.reshape(-1 if len(input) else 0, channels, *kernel, *out)
    return col2im(cols, size, kernel, stride, padding, dilation).reshape(*input.shape[:-2], channels, *size)
