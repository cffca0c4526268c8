"""Pooling compiled: one row of the result at a time, tap by tap, so that the innermost loop runs along a row. `pool.py`
is the definition.

Images are (planes, D, H, W); `windows` holds kernel, stride, padding and dilation, (4, 3). Slices are planes.
"""

import numpy as np

from .parallel import compiled
from .simd import max_row


@compiled
def _spans(size, out, kernel, stride, padding, dilation):
    """For each tap along a row: which of `out` windows see a place inside the image through it (the first, and how
    many), and the first's place.
    """
    spans = np.empty((kernel, 3), np.int64)
    for k in range(kernel):
        shift = k * dilation - padding
        first = max(0, -(shift // stride))
        spans[k, 0] = first
        spans[k, 1] = max(0, min(out, (size - 1 - shift) // stride + 1) - first)
        spans[k, 2] = first * stride + shift
    return spans


@compiled
def _firsts(out, stride, padding, dilation):
    """The first place inside the image that each window sees."""
    firsts = np.empty(out, np.int64)
    for i in range(out):
        place = i * stride - padding
        firsts[i] = place + max(0, -(place // dilation)) * dilation
    return firsts


@compiled
def max_rows(start, stop, x, values, indices, windows):
    """The greatest of each window and its place in the plane. The first of equals, but the last of nans, as torch's
    loop has it.
    """
    _, depth, height, width = x.shape
    _, out_depth, out_height, out_width = values.shape
    size, zero = x.itemsize, x.dtype.type(0)
    (kd, kh, kw), (sd, sh, sw), (pd, ph, pw), (dd, dh, dw) = windows
    spans = _spans(width, out_width, kw, sw, pw, dw)
    first_d, first_h, first_w = (
        _firsts(out_depth, sd, pd, dd),
        _firsts(out_height, sh, ph, dh),
        _firsts(out_width, sw, pw, dw),
    )
    for plane in range(start, stop):
        for d in range(out_depth):
            for h in range(out_height):
                best, at = values[plane, d, h], indices[plane, d, h]
                # A window of nothing but -inf reports its first place inside the image.
                row_first = (first_d[d] * height + first_h[h]) * width
                for w in range(out_width):
                    best[w] = -np.inf
                    at[w] = row_first + first_w[w]
                for i in range(kd):
                    from_d = d * sd - pd + i * dd
                    if from_d < 0 or from_d >= depth:
                        continue
                    for j in range(kh):
                        from_h = h * sh - ph + j * dh
                        if from_h < 0 or from_h >= height:
                            continue
                        row = x[plane, from_d, from_h]
                        row_at = (from_d * height + from_h) * width
                        for k in range(kw):
                            first, count, first_at = spans[k]
                            max_row(
                                zero,
                                (
                                    best.ctypes.data + first * size,
                                    at.ctypes.data + first * 8,
                                    row.ctypes.data + first_at * size,
                                    sw,
                                    count,
                                    row_at + first_at,
                                ),
                            )


@compiled
def scatter(start, stop, grad, indices, out):
    """Each element of grad (planes, n) added to its plane of out (planes, m) at its index."""
    for plane in range(start, stop):
        target = out[plane]
        for i in range(grad.shape[1]):
            target[indices[plane, i]] += grad[plane, i]


@compiled
def sum_rows(start, stop, x, out, windows):
    """The sum of each window."""
    _, depth, height, width = x.shape
    _, out_depth, out_height, out_width = out.shape
    (kd, kh, kw), (sd, sh, sw), (pd, ph, pw), _ = windows
    spans = _spans(width, out_width, kw, sw, pw, 1)
    for plane in range(start, stop):
        for d in range(out_depth):
            for h in range(out_height):
                total = out[plane, d, h]
                for w in range(out_width):
                    total[w] = 0
                for from_d in range(max(0, d * sd - pd), min(depth, d * sd - pd + kd)):
                    for from_h in range(max(0, h * sh - ph), min(height, h * sh - ph + kh)):
                        row = x[plane, from_d, from_h]
                        for k in range(kw):
                            first, count, first_at = spans[k]
                            total_here, row_here = total[first : first + count], row[first_at:]
                            if sw == 1:
                                for w in range(count):
                                    total_here[w] += row_here[w]
                            elif sw == 2:
                                for w in range(count):
                                    total_here[w] += row_here[2 * w]
                            else:
                                for w in range(count):
                                    total_here[w] += row_here[w * sw]


@compiled
def spread_rows(start, stop, grad, x, windows):
    """The adjoint of `sum_rows`: each element of grad added to all of its window in x, which begins as zeros."""
    _, depth, height, width = x.shape
    _, out_depth, out_height, out_width = grad.shape
    (kd, kh, kw), (sd, sh, sw), (pd, ph, pw), _ = windows
    spans = _spans(width, out_width, kw, sw, pw, 1)
    for plane in range(start, stop):
        for d in range(out_depth):
            for h in range(out_height):
                source = grad[plane, d, h]
                for from_d in range(max(0, d * sd - pd), min(depth, d * sd - pd + kd)):
                    for from_h in range(max(0, h * sh - ph), min(height, h * sh - ph + kh)):
                        row = x[plane, from_d, from_h]
                        for k in range(kw):
                            first, count, first_at = spans[k]
                            source_here, row_here = source[first : first + count], row[first_at:]
                            if sw == 1:
                                for w in range(count):
                                    row_here[w] += source_here[w]
                            elif sw == 2:
                                for w in range(count):
                                    row_here[2 * w] += source_here[w]
                            else:
                                for w in range(count):
                                    row_here[w * sw] += source_here[w]
