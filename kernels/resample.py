"""Linear maps that act on each spatial dimension by itself: interpolation, and padding by what is already there.

Mirrors ATen/native/{UpSample*,ReflectionPad,ReplicationPadding}.cpp. Along one dimension every such map is a list of
taps: `out[o] = sum_k weights[o, k] * x[indices[o, k]]`. Nearest neighbour and reflection have one tap per output,
linear interpolation two, cubic four. `apply` and `adjoint` are each other's derivative.
"""

import math

import numpy as np

from .half import in_float32

# Taps of one dimension are a pair (indices (out, k), weights (out, k) or None for ones); None stands for the identity.


@in_float32
def apply(input, taps):
    """The map on the last `len(taps)` dimensions of `input`."""
    x = input
    for axis, tap in zip(range(-len(taps), 0), taps, strict=True):
        if tap is None:
            continue
        indices, weights = tap
        if weights is None:
            x = x.take(indices[:, 0], axis)
            continue
        shape = (-1, *[1] * (-axis - 1))
        total = 0
        for k in range(indices.shape[1]):
            total = total + x.take(indices[:, k], axis) * weights[:, k].astype(x.dtype).reshape(shape)
        x = total
    return np.ascontiguousarray(x)


@in_float32
def adjoint(grad, taps, input_shape):
    """The transposed map: each output's gradient added to the inputs that it was made of."""
    g = grad
    for axis, tap in zip(range(-len(taps), 0), taps, strict=True):
        if tap is None:
            continue
        indices, weights = tap
        size = input_shape[axis]
        g = np.moveaxis(g, axis, 0)
        spread = np.zeros((size, *g.shape[1:]), g.dtype)
        for k in range(indices.shape[1]):
            values = g if weights is None else g * weights[:, k].astype(g.dtype).reshape(-1, *[1] * (g.ndim - 1))
            np.add.at(spread, indices[:, k], values)
        g = np.moveaxis(spread, 0, axis)
    return np.ascontiguousarray(g)


# ---- the taps of one dimension --------------------------------------------------------------------------------------


def nearest(size, out, scale=None, exact=False):
    """Output o takes input `floor(o * size / out)`, or (exact) the one whose centre is nearest; `scale`: out / size
    as given."""
    step = np.float32(1 / scale if scale else size / out)
    places = np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum((places * step).astype(np.int64), size - 1)[:, None], None


def _places(size, out, align_corners, scale):
    """Where, between the inputs, each output lies."""
    o = np.arange(out, dtype=np.float64)
    if align_corners:
        return o * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return (o + 0.5) * (1 / scale if scale else size / out) - 0.5


def linear(size, out, align_corners=False, scale=None):
    """Each output lies between two inputs and is nearer to one of them."""
    places = np.maximum(_places(size, out, align_corners, scale), 0)
    low = np.minimum(places.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    t = np.clip(places - low, 0, 1)
    return np.stack([low, high], 1), np.stack([1 - t, t], 1)


def cubic(size, out, align_corners=False, scale=None):
    """Cubic convolution with a = -0.75 (Keys 1981); beyond the border the outermost value is repeated."""
    places = _places(size, out, align_corners, scale)
    low = np.floor(places).astype(np.int64)
    t = (places - low)[:, None]
    distance = np.abs(t - np.array([-1, 0, 1, 2]))
    return np.clip(low[:, None] + np.array([-1, 0, 1, 2]), 0, size - 1), cubic_weights(distance)


def cubic_weights(d, a=-0.75):
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d <= 1, near, far)


def antialiased(size, out, align_corners=False, scale=None, kind="linear"):
    """As `linear` or `cubic` (a = -0.5), the kernel widened to the step when shrinking, so that no input is skipped."""
    step = (size - 1) / (out - 1) if align_corners and out > 1 else (1 / scale if scale else size / out)
    if align_corners and out <= 1:
        step = 0.0
    half = (1.0 if kind == "linear" else 2.0) * max(step, 1.0)
    centres = step * (np.arange(out) + 0.5)
    low = np.maximum((centres - half + 0.5).astype(np.int64), 0)
    count = np.minimum((centres + half + 0.5).astype(np.int64), size) - low
    width = int(count.max(initial=1))
    places = low[:, None] + np.arange(width)
    d = np.abs((places - centres[:, None] + 0.5) / max(step, 1.0))
    weights = np.maximum(1 - d, 0) if kind == "linear" else np.where(d < 2, cubic_weights(d, -0.5), 0)
    weights = np.where(np.arange(width) < count[:, None], weights, 0)
    return np.minimum(places, size - 1), weights / weights.sum(1, keepdims=True)


def border(size, before, after, mode):
    """Padding by `before` and `after` (negative: cropping): "reflect" without the edge, "replicate" the edge, or
    "circular"."""
    places = np.arange(-before, size + after)
    if mode == "circular":  # what is cropped does not come back on the other side
        first, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
        return (first + np.arange(-max(before, 0), kept + max(after, 0)) % kept)[:, None], None
    if mode == "reflect":
        period = max(2 * (size - 1), 1)
        places = places % period
        places = np.where(places >= size, period - places, places)
    return np.clip(places, 0, size - 1)[:, None], None


def constant_pad(input, pad, value=0):
    """`input` with `pad` elements of `value` around it (negative: cropped); `pad` is (before, after) of the last
    dimension, then of the one before, ..."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    first = input.ndim - len(pairs)
    shape, source, target = list(input.shape), [slice(None)] * input.ndim, [slice(None)] * input.ndim
    for axis, (before, after) in zip(range(input.ndim - 1, first - 1, -1), pairs, strict=True):
        size = input.shape[axis]
        shape[axis] = size + before + after
        if shape[axis] < 0:
            raise RuntimeError(
                f"The input size {size}, plus negative padding {before} and {after}, resulted in a negative output "
                f"size, which is invalid. Check dimension {axis} of your input."
            )
        source[axis] = slice(max(-before, 0), size - max(-after, 0))
        target[axis] = slice(max(before, 0), shape[axis] - max(after, 0))
    out = np.full_like(input, value, shape=shape, order="C")
    if math.prod(shape):
        out[tuple(target)] = input[tuple(source)]
    return out
