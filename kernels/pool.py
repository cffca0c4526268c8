"""Pooling: each window of an image reduced to one number, by maximum or by mean.

Mirrors `aten/src/ATen/native/Pool.h`, `MaxPooling.cpp`, `AveragePool*.cpp`, `AdaptiveAveragePooling*.cpp`, `AdaptiveMaxPooling*.cpp` and
`MaxUnpooling.cpp`, in one text for one, two and three spatial dimensions: `nd`, the first argument of every function here. Arrays are
(N, C, *size) or, unbatched, (C, *size).

A window is a product of one interval per dimension, and dimension d's windows are three things: where each starts, where it ends, and the
step (dilation) between its places. Ordinary, adaptive and fractional pooling differ in nothing else.
"""

import itertools
import math

import numpy as np

from .unfold import pad_spatial, tap_slices, tuple_of

_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


def _size_of_output(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows: as for a convolution; `ceil_mode` adds one that hangs over the end, if it starts inside the image or its left border."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    out = -(-reach // stride) + 1 if ceil_mode else reach // stride + 1
    return out - 1 if ceil_mode and (out - 1) * stride >= size + padding else out


def check_arguments(name, nd, input, kernel_size, stride, padding, dilation, ceil_mode):
    """The spatial arguments as tuples, and the size of the output; RuntimeError, in torch's words, where they do not fit."""
    arguments = {"kernel_size": kernel_size, "stride": kernel_size if stride is None or stride == () or stride == [] else stride,
                 "padding": padding, "dilation": dilation}
    for argument, value in arguments.items():
        arguments[argument] = value = tuple_of(value, nd)
        if len(value) != nd:
            omitted = "be omitted, " if argument == "stride" else "be "
            raise RuntimeError(f"{name}: {argument} must either {omitted}a single int, or a tuple of {_WORDS[nd]}")
    kernel, stride, padding, dilation = arguments.values()
    shape = list(input.shape)
    if input.ndim not in (nd + 1, nd + 2) or 0 in shape[input.ndim - nd - 1:]:
        raise RuntimeError(f"{name}: Expected {nd + 1}D or {nd + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}")
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got kernel_size={kernel}")
    if min(stride) <= 0:
        raise RuntimeError(f"{name}: stride should not be zero, but got stride={stride}")
    if min(dilation) <= 0:
        raise RuntimeError(f"{name}: dilation should be greater than zero, but got dilation={dilation}")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(f"{name}: pad should be at most half of effective kernel size, "
                               f"but got pad={p}, kernel_size={k} and dilation={d}")
    out = tuple(_size_of_output(*each, ceil_mode) for each in zip(shape[-nd:], kernel, stride, padding, dilation))
    if min(out) < 1:
        planes = shape[-nd - 1]
        sizes = ["x".join(map(str, (planes, *of))) for of in (shape[-nd:], out)]
        raise RuntimeError(f"{name}: Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small")
    return kernel, stride, padding, dilation, out


def _planes(x, nd):
    """(N, C, *size) or (C, *size) as (1, planes, *size): pooling does not look across planes."""
    return x.reshape(1, math.prod(x.shape[:-nd]), *x.shape[-nd:])


def _reach(size, out, kernel, stride, padding, dilation):
    """`x` padded so that every window, also one hanging over the end, lies inside: the border before and after each dimension."""
    return [(p, max(0, (o - 1) * st + d * (k - 1) + 1 - p - s))
            for s, o, k, st, p, d in zip(size, out, kernel, stride, padding, dilation)]


def max_pool(nd, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The maximum of each window, and where it was: (values, indices), both (N, C, *out).

    An index counts along the flattened spatial plane of `input`, as torch's do. The first of equal maxima wins; nan counts as the largest.
    """
    kernel, stride, padding, dilation, out = check_arguments(
        f"max_pool{nd}d", nd, input, kernel_size, stride, padding, dilation, ceil_mode)
    x, size = _planes(input, nd), input.shape[-nd:]
    lowest = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    border = _reach(size, out, kernel, stride, padding, dilation)
    if any(map(any, border)):
        x = np.pad(x, [(0, 0), (0, 0), *border], constant_values=lowest)
    # Where each window begins, along each dimension, at its first place inside the image: the index of a window that holds only -inf.
    steps = [math.prod(size[d + 1:]) for d in range(nd)]
    places = [np.arange(o) * st - p for o, st, p in zip(out, stride, padding)]
    first = [place + -(-np.maximum(-place, 0) // d) * d for place, d in zip(places, dilation)]
    shape = input.shape[:-nd] + out
    values = np.full_like(x, lowest, shape=(1, x.shape[1], *out))
    indices = np.empty_like(x, shape=values.shape, dtype=np.int64)
    indices[...] = _plane_index(first, steps)
    corner = _plane_index(places, steps)
    for tap in itertools.product(*map(range, kernel)):
        candidate = x[(..., *tap_slices(tap, out, stride, dilation))]
        better = candidate > values
        if x.dtype.kind not in "iu":
            better |= candidate != candidate
        np.copyto(values, candidate, where=better)
        np.copyto(indices, corner + sum(t * d * s for t, d, s in zip(tap, dilation, steps)), where=better)
    return values.reshape(shape), indices.reshape(shape)


def _plane_index(places, steps):
    """One index array per dimension as a single array of flat indices: their outer sum, weighted by the plane's strides."""
    nd = len(places)
    return sum(place.reshape(-1, *[1] * (nd - d - 1)) * step for d, (place, step) in enumerate(zip(places, steps)))


def max_pool_grad(nd, grad, indices, input_shape):
    """The gradient of every pooling that returned `indices`: each element of `grad` added, in its plane, at its index."""
    planes, plane = math.prod(input_shape[:-nd]), math.prod(input_shape[-nd:])
    out = np.zeros_like(grad, shape=planes * plane)
    flat = indices.reshape(planes, -1) + np.arange(0, planes * plane, plane).reshape(planes, 1) if planes else indices
    np.add.at(out, flat.ravel(), grad.ravel())
    return out.reshape(input_shape)


def max_pool_gather(nd, input, indices):
    """The adjoint of `max_pool_grad`: of each plane of `input`, the elements at `indices`, of the indices' shape."""
    planes = math.prod(input.shape[:-nd])
    flat = input.reshape(planes, math.prod(input.shape[-nd:]))
    return np.take_along_axis(flat, indices.reshape(planes, math.prod(indices.shape[-nd:])), 1).reshape(indices.shape)


def _divisors(size, out, kernel, stride, padding, count_include_pad, divisor_override, dtype):
    """What each window's sum is divided by, broadcastable to `out`: the places it covers, in the image or also in its border."""
    if divisor_override is not None:
        return np.asarray(divisor_override, dtype)
    result = np.ones((), dtype)
    for d, (s, o, k, st, p) in enumerate(zip(size, out, kernel, stride, padding)):
        start = np.arange(o) * st - p
        end = np.minimum(start + k, s + p)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, s)
        result = result * (end - start).astype(dtype).reshape(-1, *[1] * (len(size) - d - 1))
    return result


def avg_pool(nd, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window, (N, C, *out): its sum divided by the number of places it covers, or by `divisor_override`."""
    kernel, stride, padding, dilation, out = check_arguments(f"avg_pool{nd}d", nd, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    x, size = _wide(_planes(input, nd)), input.shape[-nd:]
    border = _reach(size, out, kernel, stride, padding, dilation)
    if any(map(any, border)):
        x = np.pad(x, [(0, 0), (0, 0), *border])
    total = np.zeros_like(x, shape=(1, x.shape[1], *out))
    for tap in itertools.product(*map(range, kernel)):
        total += x[(..., *tap_slices(tap, out, stride, dilation))]
    divisor = _divisors(size, out, kernel, stride, padding, count_include_pad, divisor_override, total.dtype)
    total = total // divisor if total.dtype.kind in "iu" else np.divide(total, divisor, out=total)
    return total.reshape(input.shape[:-nd] + out).astype(input.dtype, copy=False)


def avg_pool_grad(nd, grad, input_shape, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The gradient of `avg_pool`, of shape `input_shape`: each element of `grad`, divided as the mean was, added to its whole window."""
    kernel = tuple_of(kernel_size, nd)
    stride = kernel if stride is None or stride == () or stride == [] else tuple_of(stride, nd)
    padding, dilation, size, out = tuple_of(padding, nd), (1,) * nd, tuple(input_shape[-nd:]), grad.shape[-nd:]
    g = _wide(_planes(grad, nd))
    g = g / _divisors(size, out, kernel, stride, padding, count_include_pad, divisor_override, g.dtype)
    border = _reach(size, out, kernel, stride, padding, dilation)
    x = np.zeros_like(g, shape=g.shape[:2] + tuple(before + s + after for s, (before, after) in zip(size, border)))
    for tap in itertools.product(*map(range, kernel)):
        x[(..., *tap_slices(tap, out, stride, dilation))] += g
    x = x[(..., *(slice(p, p + s) for p, s in zip(padding, size)))]
    return x.reshape(input_shape).astype(grad.dtype, copy=False)


def _wide(array):
    """float16 and bfloat16 as float32: sums in half precision need a wider accumulator."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind not in "iu" else array
