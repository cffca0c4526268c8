"""The formulas of norm.py as compiled loops over rows, groups or channels: each set of numbers stays in the cache.

Sums are taken in the arrays' own type, row by row; those over many rows by fixed blocks, so that the number of threads
does not change them.
"""

import numpy as np

from .parallel import compiled


def affine(weight, bias, size, like):
    """`weight` and `bias` as 1-d arrays; ones and zeros where there are none."""
    return (np.ones(size, like.dtype, like=like) if weight is None else weight.reshape(-1),
            np.zeros(size, like.dtype, like=like) if bias is None else bias.reshape(-1))


@compiled
def _total(row):
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += row[j]
    return total


@compiled
def _total_square(row, mean):
    """The sum of `(x - mean)^2`."""
    total = row.dtype.type(0)
    for j in range(len(row)):
        d = row[j] - mean
        total += d * d
    return total


@compiled
def _total_product(grad, row, mean):
    """The sum of `grad * (x - mean)`."""
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += grad[j] * (row[j] - mean)
    return total


@compiled
def layer_norm(start, stop, x, weight, bias, eps, out, mean, rstd):
    number = x.dtype.type
    count = number(x.shape[1])
    for i in range(start, stop):
        row, y = x[i], out[i]
        m = _total(row) / count
        r = number(1) / np.sqrt(_total_square(row, m) / count + number(eps))
        for j in range(len(row)):
            y[j] = (row[j] - m) * r * weight[j] + bias[j]
        mean[i] = m
        rstd[i] = r


@compiled
def layer_norm_backward(start, stop, block, grad, x, mean, rstd, weight, dx, sums):
    """Over blocks of `block` rows; `sums[b]` receives what block b adds to dweight and dbias."""
    number = x.dtype.type
    count = number(x.shape[1])
    for b in range(start, stop):
        dweight, dbias = sums[b, 0], sums[b, 1]
        dweight[:] = 0
        dbias[:] = 0
        for i in range(b * block, min(b * block + block, len(x))):
            g, row, d, m, r = grad[i], x[i], dx[i], mean[i], rstd[i]
            average = number(0)
            slope = number(0)
            for j in range(len(row)):
                w = g[j] * weight[j]
                average += w
                slope += w * (row[j] - m)
            average /= count
            slope *= r / count
            for j in range(len(row)):
                xhat = (row[j] - m) * r
                d[j] = (g[j] * weight[j] - average - xhat * slope) * r
                dweight[j] += g[j] * xhat
                dbias[j] += g[j]


@compiled
def rms_norm(start, stop, x, weight, eps, out, rstd):
    number = x.dtype.type
    for i in range(start, stop):
        row, y = x[i], out[i]
        r = number(1) / np.sqrt(_total_square(row, number(0)) / number(len(row)) + number(eps))
        for j in range(len(row)):
            y[j] = row[j] * r * weight[j]
        rstd[i] = r


@compiled
def group_norm(start, stop, x, weight, bias, eps, out, mean, rstd):
    """x (N * G, C / G, inner), and weight and bias (C,)."""
    number = x.dtype.type
    depth, inner = x.shape[1], x.shape[2]
    count = number(depth * inner)
    for i in range(start, stop):
        total = number(0)
        for k in range(depth):
            total += _total(x[i, k])
        m = total / count
        total = number(0)
        for k in range(depth):
            total += _total_square(x[i, k], m)
        r = number(1) / np.sqrt(total / count + number(eps))
        first = i * depth % len(weight)
        for k in range(depth):
            row, y = x[i, k], out[i, k]
            scale, shift = r * weight[first + k], bias[first + k]
            for j in range(inner):
                y[j] = (row[j] - m) * scale + shift
        mean[i] = m
        rstd[i] = r


@compiled
def group_norm_backward(start, stop, grad, x, mean, rstd, weight, dx, dweight, dbias):
    """dweight and dbias (N * G, C / G) are still to be summed over N."""
    number = x.dtype.type
    depth, inner = x.shape[1], x.shape[2]
    count = number(depth * inner)
    for i in range(start, stop):
        m, r = mean[i], rstd[i]
        first = i * depth % len(weight)
        average = number(0)
        slope = number(0)
        for k in range(depth):
            dbias[i, k] = _total(grad[i, k])
            dweight[i, k] = _total_product(grad[i, k], x[i, k], m) * r
            average += dbias[i, k] * weight[first + k]
            slope += dweight[i, k] * weight[first + k]
        average /= count
        slope *= r / count
        for k in range(depth):
            g, row, d, w = grad[i, k], x[i, k], dx[i, k], weight[first + k]
            for j in range(inner):
                d[j] = (g[j] * w - average - (row[j] - m) * slope) * r


@compiled
def batch_norm(start, stop, x, weight, bias, eps, out, mean, rstd, var):
    """x (N, C, inner); over channels."""
    number = x.dtype.type
    n, inner = x.shape[0], x.shape[2]
    count = number(n * inner)
    for c in range(start, stop):
        total = number(0)
        for i in range(n):
            total += _total(x[i, c])
        m = total / count
        total = number(0)
        for i in range(n):
            total += _total_square(x[i, c], m)
        v = total / count
        r = number(1) / np.sqrt(v + number(eps))
        scale, shift = r * weight[c], bias[c]
        for i in range(n):
            row, y = x[i, c], out[i, c]
            for j in range(inner):
                y[j] = (row[j] - m) * scale + shift
        mean[c] = m
        rstd[c] = r
        var[c] = v


@compiled
def batch_norm_backward(start, stop, grad, x, weight, mean, rstd, training, dx, dweight, dbias):
    number = x.dtype.type
    n, inner = x.shape[0], x.shape[2]
    count = number(n * inner)
    for c in range(start, stop):
        m, r = mean[c], rstd[c]
        average = number(0)
        slope = number(0)
        for i in range(n):
            average += _total(grad[i, c])
            slope += _total_product(grad[i, c], x[i, c], m)
        dbias[c] = average
        dweight[c] = slope * r
        scale = weight[c] * r
        if training:
            average /= count
            slope *= r * r / count
        else:
            average = slope = number(0)
        for i in range(n):
            g, row, d = grad[i, c], x[i, c], dx[i, c]
            for j in range(inner):
                d[j] = (g[j] - average - (row[j] - m) * slope) * scale


@compiled
def scale_and_shift(start, stop, x, scale, shift, out):
    """x (N * C, inner)."""
    for i in range(start, stop):
        row, y = x[i], out[i]
        a, b = scale[i % len(scale)], shift[i % len(scale)]
        for j in range(len(row)):
            y[j] = row[j] * a + b
