"""Convolution in one, two or three dimensions, and its two adjoints.

Mirrors `aten/src/ATen/native/Convolution.cpp`. With `y = conv(x, w)` bilinear, the three functions

    convolution(x, w)                 y
    convolution_input_grad(g, w)      the x that `<g, conv(x, w)> = <x, dx>` defines
    convolution_weight_grad(g, x)     the w that `<g, conv(x, w)> = <w, dw>` defines

are a closed family: the derivative of each one is made of the other two, so gradients of any order need no further
kernel. A transposed convolution is nothing new either: it *is* the input gradient of an ordinary one, and the ordinary
one is its input gradient.

Arrays are (N, C, *size), weights (C_out, C_in / groups, *kernel), transposed (C_in, C_out / groups, *kernel), as in
torch. float16 and bfloat16 are computed in float32 and rounded once. The NumPy text below is the definition;
`conv_tiles.py` is faster where it pays.
"""

import functools
import math

import numpy as np

from . import conv_tiles
from .half import narrow, widen
from .unfold import col2im, im2col, tuple_of, window_count

_DIMENSIONS = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def _times(size):
    return " x ".join(map(str, size))


def _spatial(nd, **arguments):
    """The arguments as tuples of `nd` ints."""
    for name, value in arguments.items():
        value = tuple_of(value, nd)
        if len(value) != nd:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {nd} values to match the convolution "
                f"dimensions, but got {name}={list(value)}"
            )
        yield value


@functools.lru_cache(maxsize=1024)
def _check(xshape, wshape, bias_shape, stride, padding, dilation, transposed, output_padding, groups):
    """The four spatial arguments as tuples and the shape of the output; RuntimeError, in torch's words, where they do
    not fit together.

    Checking takes longer than convolving a small image, so what has passed once is remembered.
    """
    nd = len(wshape) - 2
    if nd < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if nd > 3:
        raise RuntimeError("unsupported ConvNd parameters")
    stride, padding, dilation, output_padding = _spatial(
        nd, stride=stride, padding=padding, dilation=dilation, output_padding=output_padding
    )
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(xshape) != len(wshape):
        raise RuntimeError(
            f"Expected {len(wshape)}-dimensional input for {len(wshape)}-dimensional weight {list(wshape)}, "
            f"but got {len(xshape)}-dimensional input of size {list(xshape)} instead"
        )
    if wshape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {list(wshape)} instead"
        )
    if wshape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(wshape)}] instead"
        )
    if min(wshape[2:]) == 0:
        sizes = " ".join(f"kernel_{name}: {k}" for name, k in zip(_DIMENSIONS[nd], wshape[2:], strict=True))
        raise RuntimeError(f"kernel size should be greater than zero, but got {sizes}")
    channels, outputs = (wshape[0], wshape[1] * groups) if transposed else (wshape[1] * groups, wshape[0])
    if xshape[1] != channels:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {list(wshape)}, expected input{list(xshape)} to have {channels} channels, "
            f"but got {xshape[1]} channels instead"
        )
    if bias_shape is not None and bias_shape != (outputs,):
        given = "transposed=1, weight" if transposed else "weight"
        raise RuntimeError(
            f"Given {given} of size {list(wshape)}, expected bias to be 1-dimensional with {outputs} elements, "
            f"but got bias of size {list(bias_shape)} instead"
        )
    if transposed:
        if any(op >= s and op >= d for op, s, d in zip(output_padding, stride, dilation, strict=True)):
            values = " ".join(
                f"{what}_{name}: {v}"
                for what, of in (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
                for name, v in zip(_DIMENSIONS[nd], of, strict=True)
            )
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {values}")
        out = tuple(
            (s - 1) * st - 2 * p + d * (k - 1) + op + 1
            for s, k, st, p, d, op in zip(
                xshape[2:], wshape[2:], stride, padding, dilation, output_padding, strict=True
            )
        )
        if min(out) < 1:
            raise RuntimeError(
                f"Given input size per channel: ({_times(xshape[2:])}). "
                f"Calculated output size per channel: ({_times(out)}). Output size is too small"
            )
    else:
        padded = [s + 2 * p for s, p in zip(xshape[2:], padding, strict=True)]
        spans = [d * (k - 1) + 1 for k, d in zip(wshape[2:], dilation, strict=True)]
        if any(p < s for p, s in zip(padded, spans, strict=True)):
            raise RuntimeError(
                f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(spans)}). "
                "Kernel size can't be greater than actual input size"
            )
        out = window_count(xshape[2:], wshape[2:], stride, padding, dilation)
    return stride, padding, dilation, (xshape[0], outputs, *out)


def _hashable(value):
    return tuple(value) if isinstance(value, list) else value


def convolution(
    input, weight, bias=None, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1
):
    """`y[n, o, p] = bias[o] + sum_{c, k} w[o, c, k] x[n, c, p * stride - padding + k * dilation]`, c over the channels
    of o's group.

    input (N, C, *size), weight (O, C / groups, *kernel), bias (O,) or None; the result is (N, O, *out), contiguous.
    Transposed: weight (C, O / groups, *kernel), and `output_padding` enlarges the result at its far side. RuntimeError
    where shapes do not fit.
    """
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype != input.dtype:
            raise RuntimeError(f"Input type ({input.dtype}) and {name} type ({other.dtype}) should be the same")
    stride, padding, dilation, shape = _check(
        input.shape,
        weight.shape,
        None if bias is None else bias.shape,
        _hashable(stride),
        _hashable(padding),
        _hashable(dilation),
        bool(transposed),
        _hashable(output_padding),
        groups,
    )
    x, w, bias = widen(input), widen(weight), widen(bias)
    if transposed:
        y = _input_grad(x, w, shape, stride, padding, dilation, groups)
        if bias is not None:
            y += bias.reshape(-1, *[1] * len(stride))
    else:
        y = _forward(x, w, shape, stride, padding, dilation, groups, bias)
    return narrow(y, input.dtype)


def convolution_input_grad(
    grad, weight, input_shape, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1
):
    """The gradient of `convolution` for its input, of shape `input_shape`; `grad` (N, O, *out) is the gradient of the
    result.
    """
    nd = weight.ndim - 2
    stride, padding, dilation = tuple_of(stride, nd), tuple_of(padding, nd), tuple_of(dilation, nd)
    kernel = _forward if transposed else _input_grad
    return narrow(kernel(widen(grad), widen(weight), tuple(input_shape), stride, padding, dilation, groups), grad.dtype)


def convolution_weight_grad(
    grad, input, weight_shape, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1
):
    """The gradient of `convolution` for its weight, of shape `weight_shape`; `grad` (N, O, *out) is the gradient of the
    result.
    """
    nd = len(weight_shape) - 2
    stride, padding, dilation = tuple_of(stride, nd), tuple_of(padding, nd), tuple_of(dilation, nd)
    g, x = widen(grad), widen(input)
    if transposed:
        g, x = x, g
    return narrow(_weight_grad(g, x, tuple(weight_shape), stride, padding, dilation, groups), grad.dtype)


# The three products, by matrix multiplication with the columns of `im2col`, each sample and group by itself:
#   y = W cols(x)        dcols = W^T g        dW = sum_n g cols(x)^T       (O/groups, C/groups * kernel) times (C/groups
# * kernel, out)


def _forward(x, w, shape, stride, padding, dilation, groups, bias=None):
    if conv_tiles.serves(math.prod(shape) * math.prod(w.shape[1:]), x, w):
        return conv_tiles.forward(*map(np.ascontiguousarray, (x, w)), bias, shape, stride, padding, dilation, groups)
    cols = im2col(x, w.shape[2:], stride, padding, dilation, shape[2:])
    cols = cols.reshape(len(x), groups, math.prod(w.shape[1:]), math.prod(shape[2:]))
    y = np.matmul(w.reshape(groups, w.shape[0] // groups, cols.shape[2]), cols).reshape(shape)
    if bias is not None:
        y += bias.reshape(-1, *[1] * len(stride))
    return y


def _input_grad(g, w, shape, stride, padding, dilation, groups):
    if conv_tiles.serves(math.prod(g.shape) * math.prod(w.shape[1:]), g, w):
        return conv_tiles.input_grad(*map(np.ascontiguousarray, (g, w)), shape, stride, padding, dilation, groups)
    outputs, inputs, kernel = w.shape[0] // groups, w.shape[1], w.shape[2:]
    around = [d * (k - 1) - p for k, d, p in zip(kernel, dilation, padding, strict=True)]
    # The adjoint of a sum over shifts is the sum over the opposite shifts: a convolution with the kernel mirrored.
    # (Where channels become many more, the columns of g would be too large, and the adjoint of im2col is cheaper.)
    if (
        outputs <= 4 * inputs
        and max(stride) == 1
        and min(around) >= 0
        and shape[2:] == tuple([o + a - p for o, a, p in zip(g.shape[2:], around, padding, strict=True)])
    ):
        mirrored = (
            w.reshape(groups, outputs, inputs, -1)[..., ::-1].swapaxes(1, 2).reshape(groups * inputs, outputs, *kernel)
        )
        return _forward(g, mirrored, shape, stride, around, dilation, groups)
    w = w.reshape(groups, outputs, inputs * math.prod(kernel))
    cols = np.matmul(w.swapaxes(1, 2), g.reshape(len(g), groups, outputs, math.prod(g.shape[2:])))
    return col2im(cols.reshape(shape[:2] + kernel + g.shape[2:]), shape[2:], kernel, stride, padding, dilation)


def _weight_grad(g, x, shape, stride, padding, dilation, groups):
    if conv_tiles.serves(math.prod(g.shape) * math.prod(shape[1:]), g, x):
        return conv_tiles.weight_grad(*map(np.ascontiguousarray, (g, x)), shape, stride, padding, dilation, groups)
    cols = im2col(x, shape[2:], stride, padding, dilation, g.shape[2:])
    cols = cols.reshape(len(x), groups, math.prod(shape[1:]), math.prod(g.shape[2:]))
    g = g.reshape(len(g), groups, shape[0] // groups, cols.shape[3])
    return np.matmul(g, cols.swapaxes(2, 3)).sum(0).reshape(shape)
