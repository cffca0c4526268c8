"""Pooling: each window of an image reduced to one number, by maximum or by mean.

Mirrors `aten/src/ATen/native/Pool.h`, `MaxPooling.cpp`, `AveragePool*.cpp`, `AdaptiveAveragePooling*.cpp`,
`AdaptiveMaxPooling*.cpp` and `MaxUnpooling.cpp`, in one text for one, two and three spatial dimensions: `nd`, the first
argument of every function here. Arrays are (N, C, *size) or, unbatched, (C, *size).

A window is a product of one interval per dimension, and dimension d's windows are three things: where each starts,
where it ends, and the step (dilation) between its places. Ordinary, adaptive and fractional pooling differ in nothing
else.
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from . import pool_loops
from .half import narrow, widen
from .parallel import GRAIN, pays, run_slices
from .unfold import tap_slices, tuple_of

_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


class _Windows(NamedTuple):
    """Where windows lie, worked out once for a size and its arguments, and kept."""

    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    size: tuple  # of the image
    out: tuple  # how many windows along each dimension
    border: tuple  # how far windows reach out of the image, before and after it
    taps: tuple  # for each place in a window, what slice of the image, its border included, all windows see there


def _size_of_output(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows: as for a convolution; `ceil_mode` adds one that hangs over the end, if it starts inside the
    image or its left border.
    """
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    out = -(-reach // stride) + 1 if ceil_mode else reach // stride + 1
    return out - 1 if ceil_mode and (out - 1) * stride >= size + padding else out


@functools.lru_cache(maxsize=512)
def _windows(name, nd, shape, kernel_size, stride, padding, dilation, ceil_mode):
    """`_Windows` on an image of `shape`; RuntimeError, in torch's words, where the arguments do not fit."""
    arguments = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    for argument, value in arguments.items():
        arguments[argument] = value = tuple_of(value, nd)
        if len(value) != nd:
            omitted = "be omitted, " if argument == "stride" else "be "
            raise RuntimeError(f"{name}: {argument} must either {omitted}a single int, or a tuple of {_WORDS[nd]}")
    kernel, stride, padding, dilation = arguments.values()
    if len(shape) not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"{name}: non-empty {nd + 1}D or {nd + 2}D (batch mode) tensor expected for input, but got {list(shape)}"
        )
    if 0 in shape[len(shape) - nd - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {nd + 1}D or {nd + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{list(shape)}"
        )
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got kernel_size={kernel}")
    if min(stride) <= 0:
        raise RuntimeError(f"{name}: stride should not be zero, but got stride={stride}")
    if min(dilation) <= 0:
        raise RuntimeError(f"{name}: dilation should be greater than zero, but got dilation={dilation}")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, "
                f"but got pad={p}, kernel_size={k} and dilation={d}"
            )
    size = shape[-nd:]
    out = tuple(_size_of_output(*each, ceil_mode) for each in zip(size, kernel, stride, padding, dilation, strict=True))
    if min(out) < 1:
        sizes = ["x".join(map(str, (shape[-nd - 1], *of))) for of in (size, out)]
        raise RuntimeError(
            f"{name}: Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small"
        )
    border = tuple(
        (p, max(0, (o - 1) * st + d * (k - 1) + 1 - p - s))
        for s, o, k, st, p, d in zip(size, out, kernel, stride, padding, dilation, strict=True)
    )
    taps = tuple((..., *tap_slices(tap, out, stride, dilation)) for tap in itertools.product(*map(range, kernel)))
    return _Windows(kernel, stride, padding, dilation, size, out, border, taps)


def _arguments(name, nd, input_shape, kernel_size, stride, padding, dilation, ceil_mode):
    kernel_size, stride, padding, dilation = (
        tuple(value) if isinstance(value, list) else value for value in (kernel_size, stride, padding, dilation)
    )
    if stride is None or stride == ():
        stride = kernel_size
    return _windows(name, nd, tuple(input_shape), kernel_size, stride, padding, dilation, bool(ceil_mode))


def _planes(x, nd):
    """(N, C, *size) or (C, *size) as (planes, *size): pooling does not look across planes."""
    return x.reshape(math.prod(x.shape[:-nd]), *x.shape[-nd:])


def _with_border(x, windows, value):
    if not any(map(any, windows.border)):
        return x
    return np.pad(x, [(0, 0), *windows.border], constant_values=value)


def _plane_index(places, size):
    """One index array per dimension as a single array of indices in a flattened plane of `size`."""
    nd = len(size)
    return sum(place.reshape(-1, *[1] * (nd - d - 1)) * math.prod(size[d + 1 :]) for d, place in enumerate(places))


@functools.lru_cache(maxsize=128)
def _tap_indices(kernel, stride, padding, dilation, size, out):
    """Which place of the plane each window sees, at each tap; and the first of these inside the image."""
    corners = [np.arange(o) * st - p for o, st, p in zip(out, stride, padding, strict=True)]
    corner = _plane_index(corners, size)
    shifts = _plane_index([np.arange(k) * d for k, d in zip(kernel, dilation, strict=True)], size)
    inside = [place + -(-np.maximum(-place, 0) // d) * d for place, d in zip(corners, dilation, strict=True)]
    return [corner + shift for shift in shifts.ravel().tolist()], _plane_index(inside, size)


def _compiled(loop, slices, windows, *arrays):
    """Run one of `pool_loops` over planes, with one and two dimensions as three."""
    nd = len(windows.out)
    table = tuple(
        (fill,) * (3 - nd) + value
        for fill, value in zip(
            (1, 1, 0, 1), (windows.kernel, windows.stride, windows.padding, windows.dilation), strict=True
        )
    )
    arrays = [array.reshape(len(array), *[1] * (3 - nd), *array.shape[1:]) for array in arrays]
    work = math.prod(windows.out) * len(windows.taps)
    run_slices(loop, slices, *arrays, table, grain=max(1, GRAIN // work))


def _pays(x, windows):
    return pays(len(x) * math.prod(windows.out) * len(windows.taps), x)


def max_pool(nd, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The maximum of each window, and where it was: (values, indices), both (N, C, *out).

    An index counts along the flattened spatial plane of `input`, as torch's do. The first of equal maxima wins; nan
    counts as the largest.
    """
    windows = _arguments(f"max_pool{nd}d", nd, input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    x, shape = widen(_planes(input, nd)), input.shape[:-nd] + windows.out
    if _pays(x, windows):
        values, indices = np.empty((len(x), *windows.out), x.dtype), np.empty((len(x), *windows.out), np.int64)
        _compiled(pool_loops.max_rows, len(x), windows, x, values, indices)
        return narrow(values.reshape(shape), input.dtype), indices.reshape(shape)
    floating = x.dtype.kind not in "iu"
    lowest = -np.inf if floating else np.iinfo(x.dtype).min
    tap_indices, first = _tap_indices(*windows[:6])
    x = _with_border(x, windows, lowest)
    values = _greatest(x, windows)
    indices = np.empty_like(x, shape=values.shape, dtype=np.int64)
    if floating and x.size and bool(np.isnan(values.max())):
        indices[...] = first
        best = np.full_like(values, lowest)
        for tap, index in zip(windows.taps, tap_indices, strict=True):
            candidate = x[tap]
            better = (candidate > best) | (candidate != candidate)
            np.copyto(best, candidate, where=better)
            np.copyto(indices, np.asarray(index, like=indices), where=better)
    else:
        *others, last = zip(windows.taps, tap_indices, strict=True)
        indices[...] = last[1]
        for tap, index in reversed(others):  # backwards, so that the first of equals has the last word
            np.copyto(indices, np.asarray(index, like=indices), where=x[tap] == values)
        if any(map(any, windows.border)):  # a window that holds nothing but what the border is made of
            np.copyto(indices, np.asarray(first, like=indices), where=values == lowest)
    return narrow(values.reshape(shape), input.dtype), indices.reshape(shape)


def _greatest(x, windows):
    """The maximum of each window of planes with their border; nan counts as the largest."""
    first, *others = windows.taps
    values = np.array(x[first], like=x)
    for tap in others:
        np.maximum(values, x[tap], out=values)
    return values


def max_pool_values(nd, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The first result of `max_pool` alone: what a program that takes no gradient needs."""
    windows = _arguments(f"max_pool{nd}d", nd, input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    x = _planes(input, nd)
    if x.dtype.itemsize == 2 or _pays(x, windows):
        return max_pool(nd, input, kernel_size, stride, padding, dilation, ceil_mode)[0]
    x = _with_border(x, windows, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)
    return _greatest(x, windows).reshape(input.shape[:-nd] + windows.out)


def max_pool_grad(nd, grad, indices, input_shape):
    """The gradient of every pooling that returned `indices`: each element of `grad` added, in its plane, at its index."""
    planes, plane = math.prod(input_shape[:-nd]), math.prod(input_shape[-nd:])
    g, i = (
        widen(grad).reshape(planes, -1) if grad.size else widen(grad),
        indices.reshape(planes, -1) if grad.size else indices,
    )
    out = np.zeros_like(g, shape=(planes, plane))
    if pays(grad.size, g):
        run_slices(pool_loops.scatter, planes, g, np.ascontiguousarray(i), out, grain=max(1, GRAIN // g.shape[1]))
    elif grad.size:
        offsets = np.arange(0, planes * plane, plane, like=i).reshape(planes, 1)
        np.add.at(out.reshape(-1), (i + offsets).ravel(), g.ravel())
    return narrow(out.reshape(input_shape), grad.dtype)


def max_pool_gather(nd, input, indices):
    """The adjoint of `max_pool_grad`: of each plane of `input`, the elements at `indices`, of the indices' shape."""
    planes = math.prod(input.shape[:-nd])
    flat = input.reshape(planes, math.prod(input.shape[-nd:]))
    return np.take_along_axis(flat, indices.reshape(planes, math.prod(indices.shape[-nd:])), 1).reshape(indices.shape)


def _divisors(windows, count_include_pad, divisor_override, like):
    """What each window's sum is divided by, broadcastable to `out`: the places it covers, in the image or also in its
    border.
    """
    if divisor_override is not None:
        return divisor_override
    if not any(map(any, windows.border)):
        return len(windows.taps)
    counts = []
    for s, o, k, st, p in zip(windows.size, windows.out, windows.kernel, windows.stride, windows.padding, strict=True):
        start = np.arange(o) * st - p
        end = np.minimum(start + k, s + p)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, s)
        counts.append(end - start)
    return np.asarray(functools.reduce(np.multiply.outer, counts), like.dtype, like=like)


def avg_pool(
    nd, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window, (N, C, *out): its sum divided by the number of places it covers, or by
    `divisor_override`.
    """
    windows = _arguments(f"avg_pool{nd}d", nd, input.shape, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if input.dtype.kind in "iub" and input.dtype != np.int64:
        raise NotImplementedError(f'"avg_pool{nd}d" not implemented for an input of {input.dtype}')
    x = widen(_planes(input, nd))
    if _pays(x, windows):
        total = np.empty((len(x), *windows.out), x.dtype)
        _compiled(pool_loops.sum_rows, len(x), windows, x, total)
    else:
        x = _with_border(x, windows, 0)
        total = np.zeros_like(x, shape=(len(x), *windows.out))
        for tap in windows.taps:
            total += x[tap]
    divisor = _divisors(windows, count_include_pad, divisor_override, total)
    if total.dtype.kind in "iu":
        total = np.trunc(total / divisor).astype(total.dtype)
    else:
        np.divide(total, divisor, out=total)
    return narrow(total.reshape(input.shape[:-nd] + windows.out), input.dtype)


def avg_pool_grad(
    nd,
    grad,
    input_shape,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The gradient of `avg_pool`, of shape `input_shape`: each element of `grad`, divided as the mean was, added to its
    whole window.
    """
    windows = _arguments(f"avg_pool{nd}d", nd, input_shape, kernel_size, stride, padding, 1, ceil_mode)
    g = widen(_planes(grad, nd))
    g = g / _divisors(windows, count_include_pad, divisor_override, g)
    if _pays(g, windows):
        x = np.zeros((len(g), *windows.size), g.dtype)
        _compiled(pool_loops.spread_rows, len(g), windows, g, x)
        return narrow(x.reshape(input_shape), grad.dtype)
    x = np.zeros_like(
        g,
        shape=(len(g), *(before + s + after for s, (before, after) in zip(windows.size, windows.border, strict=True))),
    )
    for tap in windows.taps:
        window = x[tap]
        window += g
    x = x[(..., *(slice(p, p + s) for p, s in zip(windows.padding, windows.size, strict=True)))]
    return narrow(x.reshape(input_shape), grad.dtype)


# -- adaptive pooling: window i of `out` over a dimension of `size` reaches from floor(i size / out) to ceil((i + 1)
# size / out) --


def _adaptive_arguments(name, nd, input, output_size, leading):
    """`output_size` as a tuple, None meaning the input's own size; RuntimeError where the two do not fit."""
    size, shape = input.shape[-nd:], list(input.shape)
    out = (output_size,) * nd if output_size is None or not hasattr(output_size, "__len__") else tuple(output_size)
    out = out * nd if len(out) == 1 else out
    if len(out) != nd:
        raise RuntimeError(f"{name}: output_size must be {nd}")
    if input.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(f"{name}(): Expected {nd + 1}D or {nd + 2}D tensor, but got {shape}")
    for d in range(input.ndim - nd - leading, input.ndim):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but input has sizes {shape} with dimension {d} being empty"
            )
    out = tuple(s if o is None else int(o) for s, o in zip(size, out, strict=True))
    if min(out) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 "
            f"but received {{{', '.join(map(str, out))}}}"
        )
    return out


def _adaptive_windows(size, out):
    """Where each window along one dimension starts and ends: two arrays (out,)."""
    i = np.arange(out)
    return i * size // max(out, 1), -(-(i + 1) * size // max(out, 1))


def adaptive_avg_pool(nd, input, output_size):
    """The means of windows chosen to give `output_size`: (N, C, *output_size)."""
    out = _adaptive_arguments(f"adaptive_avg_pool{nd}d", nd, input, output_size, 0 if nd < 3 else 1)
    x = widen(input)
    if set(out) == {1}:
        means = x.reshape(*x.shape[:-nd], math.prod(x.shape[-nd:])).mean(-1)
        return narrow(means.reshape(*x.shape[:-nd], *out), input.dtype)
    for axis, (s, o) in zip(range(-nd, 0), zip(input.shape[-nd:], out, strict=True), strict=True):
        x = np.moveaxis(x, axis, 0)
        means = np.empty_like(x, shape=(o, *x.shape[1:]))
        for i, (start, end) in enumerate(zip(*_adaptive_windows(s, o), strict=True)):
            means[i] = x[start:end].mean(0)
        x = np.moveaxis(means, 0, axis)
    return narrow(np.ascontiguousarray(x), input.dtype)


def adaptive_avg_pool_grad(nd, grad, input_shape):
    """The gradient of `adaptive_avg_pool`, of shape `input_shape`."""
    g = widen(grad)
    if set(grad.shape[-nd:]) == {1}:
        spread = np.broadcast_to(g / math.prod(input_shape[-nd:]), input_shape)
        return narrow(np.ascontiguousarray(spread), grad.dtype)
    for axis, (s, o) in zip(range(-nd, 0), zip(input_shape[-nd:], grad.shape[-nd:], strict=True), strict=True):
        g = np.moveaxis(g, axis, 0)
        spread = np.zeros_like(g, shape=(s, *g.shape[1:]))
        for i, (start, end) in enumerate(zip(*_adaptive_windows(s, o), strict=True)):
            spread[start:end] += g[i] / (end - start)
        g = np.moveaxis(spread, 0, axis)
    return narrow(np.ascontiguousarray(g), grad.dtype)


def adaptive_max_pool(nd, input, output_size):
    """The maxima of windows chosen to give `output_size`, and where they were: (values, indices). Gradient:
    `max_pool_grad`.
    """
    out = _adaptive_arguments(f"adaptive_max_pool{nd}d", nd, input, output_size, 1)
    return _max_of_windows(nd, input, [_adaptive_windows(s, o) for s, o in zip(input.shape[-nd:], out, strict=True)])


def fractional_max_pool(nd, input, kernel_size, output_size, random_samples):
    """The maxima of windows of one size at pseudo-random places: (values, indices). Gradient: `max_pool_grad`.

    `random_samples` (N, C, nd), in [0, 1), decides where each plane's windows lie, as in "Fractional max-pooling"
    (Graham 2015): window i starts at `floor((i + u) a) - floor(u a)` with `a = (size - kernel) / (out - 1)`, and the
    last one ends with the image. torch's three-dimensional form takes the samples as depth, height, width, its
    two-dimensional one as width, height.
    """
    kernel, out, size = tuple_of(kernel_size, nd), tuple_of(output_size, nd), input.shape[-nd:]
    for k, o, s in zip(kernel, out, size, strict=True):
        if o + k - 1 + (nd == 3) > s:  # torch asks for one place more in three dimensions
            raise RuntimeError(f"fractional_max_pool{nd}d(): pool size {k} too large relative to input size {s}")
    planes = input.reshape(-1, *size) if input.size else input.reshape(0, *size)
    samples = random_samples.reshape(-1, nd)
    results = []
    for plane, u in zip(planes, samples, strict=False):  # a plane without a batch asks for one row more (torch does)
        windows = []
        for d, (s, o, k) in enumerate(zip(size, out, kernel, strict=True)):
            a = (s - k) / (o - 1) if o > 1 else 0.0
            sample = u[d if nd == 3 else nd - 1 - d]
            start = np.array([int((i + sample) * a) - int(sample * a) for i in range(o - 1)] + [s - k], dtype=np.int64)
            windows.append((start, start + k))
        results.append(_max_of_windows(nd, plane[None], windows))
    shape = input.shape[:-nd] + out
    if not results:
        return np.empty_like(input, shape=shape), np.empty_like(input, shape=shape, dtype=np.int64)
    return tuple(np.stack(part).reshape(shape) for part in zip(*results, strict=True))


def _max_of_windows(nd, input, windows):
    """`max_pool` for windows of unequal sizes: `windows` holds, for each dimension, where they start and end."""
    size, out = input.shape[-nd:], tuple(len(start) for start, _ in windows)
    flat = input.reshape(math.prod(input.shape[:-nd]), math.prod(size))
    indices = np.broadcast_to(np.asarray(_plane_index([start for start, _ in windows], size)), (len(flat), *out)).copy()
    values = np.take(flat, indices[0], axis=1) if len(flat) else np.empty_like(flat, shape=indices.shape)
    for tap in itertools.product(*(range(int((end - start).max(initial=0))) for start, end in windows)):
        # Past its end a short window looks at its last place again, which changes nothing.
        index = np.asarray(
            _plane_index([np.minimum(start + t, end - 1) for t, (start, end) in zip(tap, windows, strict=True)], size)
        )
        candidate = np.take(flat, index, axis=1)
        better = (candidate > values) | (candidate != candidate)
        np.copyto(values, candidate, where=better)
        np.copyto(indices, index, where=better)
    shape = input.shape[:-nd] + out
    return values.reshape(shape), indices.reshape(shape)


def max_unpool(nd, input, indices, output_size):
    """Each element of `input` put, in its plane, at its index, and zeros elsewhere: (N, C, *output_size). RuntimeError
    for an index outside.
    """
    if indices.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if input.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"Input to max_unpooling{nd}d should be a {nd + 1}d or {nd + 2}d Tensor, "
            f"but got a tensor with {input.ndim} dimensions."
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) "
            f"but got indices tensor with shape: {list(indices.shape)}"
        )
    size = tuple_of(output_size, nd)
    if len(size) != nd:
        raise RuntimeError(f"There should be exactly {nd} elements in output_size, but got {len(size)} elements.")
    planes, plane = math.prod(input.shape[:-nd]), math.prod(size)
    wrong = (indices < 0) | (indices >= plane)
    if wrong.any():
        raise RuntimeError(
            f"Found an invalid max index: {int(indices[wrong][0])} (output volumes are of size {'x'.join(map(str, size))})"
        )
    out = np.zeros_like(input, shape=(planes, plane), order="C")
    np.put_along_axis(out, indices.reshape(planes, -1), input.reshape(planes, -1), 1)
    return out.reshape(input.shape[:-nd] + size)
