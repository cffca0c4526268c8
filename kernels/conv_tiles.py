"""Convolution compiled: the three products of `conv.py` by register tiles, without im2col. `conv_plan.py` explains how
and makes the tables.
"""

import itertools
import math

import numpy as np

from . import conv_plan, simd
from .parallel import FLOATS, compiled, get_num_threads, pays, run_slices
from .simd import VECTORS, copy_row, copy_row_plus, dot_tile, outer_tile

FROM = 1 << 21  # multiply-adds from which loading Numba is repaid
SLICE = 1 << 19  # multiply-adds worth handing to a thread
SEGMENT = 128  # vectors over which a weight gradient's tile sums at once: their rows should fit the first-level cache


@compiled
def _pack(x, n0, n1, group, phases, pitch, packed, row):
    """Write samples n0 .. n1 of x (N, G, C, D, H, W) as `conv_plan.Packing` says: packed (C, phases, n1 - n0 at least,
    *pitch), flat.
    """
    _, groups, channels, _, height, width = x.shape
    size, zero = x.itemsize, x.dtype.type(0)
    image = x.shape[3] * height * width
    flat, flat_at, packed_at = x.reshape(x.size), x.ctypes.data, packed.ctypes.data
    for c in range(channels):
        for phase in range(len(phases)):
            d0, dn, dc, dq = phases[phase, 0]
            h0, hn, hc, hq = phases[phase, 1]
            w0, wn, wc, wq = phases[phase, 2]
            for n in range(n1 - n0):
                start = (c * len(phases) + phase) * row + n * pitch[0] * pitch[1] * pitch[2]
                source = ((n0 + n) * groups + group) * channels * image + c * image
                for d in range(dc):
                    for h in range(hc):
                        at = start + ((dq + d) * pitch[1] + hq + h) * pitch[2] + wq
                        line = source + ((d0 + d * dn) * height + h0 + h * hn) * width + w0
                        if wn == 1:
                            copy_row(zero, (packed_at + at * size, flat_at + line * size, wc))
                        elif wn == 2:  # the commonest stride: a constant, it can be vectorised
                            target, from_line = packed[at : at + wc], flat[line : line + 2 * wc - 1]
                            for w in range(wc):
                                target[w] = from_line[2 * w]
                        else:
                            for w in range(wc):
                                packed[at + w] = flat[line + w * wn]


@compiled
def _unpack(sums, first, lines, bias, y, n0, n1, group, o, dest):
    """Results whose lines begin in `sums[first:]` at `lines`, plus `bias[0]`, to their places in y[n0:n1, group, o] (N,
    D, H, W).
    """
    _, groups, outputs, depth, height, width = y.shape
    size, zero = y.itemsize, y.dtype.type(0)
    flat, flat_at, sums_at = y.reshape(y.size), y.ctypes.data, sums.ctypes.data
    d0, dn, dc = dest[0]
    h0, hn, hc = dest[1]
    w0, wn, wc = dest[2]
    line = 0
    for n in range(n0, n1):
        image = ((n * groups + group) * outputs + o) * depth
        for d in range(dc):
            for h in range(hc):
                source = first + lines[line]
                target = ((image + d0 + d * dn) * height + h0 + h * hn) * width + w0
                line += 1
                if wn == 1:
                    copy_row_plus(zero, (flat_at + target * size, sums_at + source * size, wc, bias.ctypes.data))
                else:
                    for q in range(wc):
                        flat[target + q * wn] = sums[source + q] + bias[0]


@compiled
def _correlate(
    start,
    stop,
    x,
    y,
    w,
    bias,
    phases,
    pitch,
    row,
    dests,
    offsets,
    places,
    lines,
    of,
    chunk,
    splits,
    length,
    lanes,
    block_rows,
    wide_rows,
):
    """Items start .. stop of (chunk of samples, group, split of the output's channels); the tables are those of
    `conv_plan.Products`.

    x (N, G, C, D, H, W), y (N, G, O, D', H', W'), bias (G * O,) or empty; w is flat, made of (rows, channels) for each
    group and block of y's channels.
    """
    samples, groups, outputs = x.shape[0], x.shape[1], y.shape[2]
    size, zero = x.itemsize, x.dtype.type(0)
    blocks = (outputs + block_rows - 1) // block_rows
    packed = np.zeros(length, x.dtype)
    sums_row = len(places) * lanes
    sums = np.empty(block_rows * sums_row, x.dtype)
    no_bias = np.zeros(1, x.dtype)
    for item in range(start, stop):
        split, group, n0 = item % splits, item // splits % groups, item // (splits * groups) * chunk
        n1 = min(samples, n0 + chunk)
        _pack(x, n0, n1, group, phases, pitch, packed, row)
        for phase in range(len(dests)):
            r0, count = of[0, phase], of[0, phase + 1] - of[0, phase]
            lines_here = lines[of[2, phase] : of[2, phase + 1]]
            last = len(lines_here) * (n1 - n0) // chunk - 1  # the last chunk may be a shorter one
            vectors = (lines_here[last] + dests[phase, 2, 2] + lanes - 1) // lanes
            for block in range(split * blocks // splits, (split + 1) * blocks // splits):
                o = block * outputs // blocks
                m = (block + 1) * outputs // blocks - o
                weights = w.ctypes.data + (len(offsets) * (group * outputs + o) + r0 * m) * size
                widest = 2 * VECTORS if m <= wide_rows else VECTORS
                for begin in range(0, vectors, widest):
                    v = widest if vectors - begin > VECTORS else VECTORS
                    outer_tile(
                        m,
                        v,
                        zero,
                        (
                            sums.ctypes.data + begin * lanes * size,
                            sums_row,
                            packed.ctypes.data,
                            offsets.ctypes.data + r0 * 8,
                            count,
                            places.ctypes.data + (of[1, phase] + begin) * 8,
                            weights,
                        ),
                    )
                for i in range(m):
                    shift = bias[group * outputs + o + i :] if bias.size else no_bias
                    _unpack(sums, i * sums_row, lines_here, shift, y, n0, n1, group, o + i, dests[phase])
    packed[0] = sums[0]  # the tiles know these by address only: here they are used, and so alive, until the end


@compiled
def _weight_dots(
    start,
    stop,
    g,
    x,
    sums,
    phases,
    pitch,
    row,
    offsets,
    places,
    lines,
    chunk,
    splits,
    length,
    lanes,
    block_rows,
    wide_rows,
):
    """Items start .. stop of (part of the samples, group, split of g's channels): sums[part, group] (O, rows) += g
    rows^T.

    A part is summed by one thread, however many there are, so that the result does not depend on their number.
    """
    samples, groups, parts = x.shape[0], x.shape[1], sums.shape[0]
    _, _, outputs, depth, height, width = g.shape
    rows, size, zero = sums.shape[3], x.itemsize, x.dtype.type(0)
    blocks = (outputs + block_rows - 1) // block_rows
    chunks = (samples + chunk - 1) // chunk
    packed = np.zeros(length, x.dtype)
    g_row = len(places) * lanes
    g_packed = np.zeros(block_rows * g_row + lanes, x.dtype)
    g_packed = g_packed[
        -(g_packed.ctypes.data // size) % lanes :
    ]  # whole vectors are loaded from it: better within a cache line each
    for item in range(start, stop):
        split, group, part = item % splits, item // splits % groups, item // (splits * groups)
        for piece in range(part * chunks // parts, (part + 1) * chunks // parts):
            n0, n1 = piece * chunk, min(samples, (piece + 1) * chunk)
            _pack(x, n0, n1, group, phases, pitch, packed, row)
            end = lines[len(lines) * (n1 - n0) // chunk - 1] + width
            vectors = (end + lanes - 1) // lanes
            segments = (vectors + SEGMENT - 1) // SEGMENT
            for block in range(split * blocks // splits, (split + 1) * blocks // splits):
                o = block * outputs // blocks
                m = (block + 1) * outputs // blocks - o
                for i in range(m):
                    line = 0
                    for n in range(n0, n1):
                        image = ((n * groups + group) * outputs + o + i) * depth * height
                        for h in range(depth * height):
                            copy_row(
                                zero,
                                (
                                    g_packed.ctypes.data + (i * g_row + lines[line]) * size,
                                    g.ctypes.data + (image + h) * width * size,
                                    width,
                                ),
                            )
                            line += 1
                    g_packed[i * g_row + end : i * g_row + vectors * lanes] = 0  # what a longer chunk before left there
                widest = 2 * VECTORS if m <= wide_rows else VECTORS
                for segment in range(segments):
                    begin = segment * vectors // segments
                    count = (segment + 1) * vectors // segments - begin
                    for r0 in range(0, rows, widest):
                        v = min(widest, rows - r0)
                        dot_tile(
                            m,
                            v,
                            zero,
                            (
                                sums.ctypes.data + (((part * groups + group) * outputs + o) * rows + r0) * size,
                                rows,
                                packed.ctypes.data,
                                offsets.ctypes.data + r0 * 8,
                                places.ctypes.data + begin * 8,
                                count,
                                g_packed.ctypes.data + begin * lanes * size,
                                g_row,
                            ),
                        )
    packed[0] = g_packed[0]  # see above


def serves(macs, *arrays):
    """Does a convolution of `macs` multiply-adds take the compiled version?"""
    return (
        macs > 0
        and all(type(array) is np.ndarray and array.dtype in FLOATS for array in arrays)
        and pays(macs, floor=FROM)
    )


def _three(values, fill):
    """One, two or three values as three: dimensions in front with the value `fill`."""
    return (fill,) * (3 - len(values)) + tuple(values)


def _geometry(size, kernel, stride, padding, dilation, out):
    if size == out and set(kernel) == set(stride) == {1} and not any(padding):
        size = out = (math.prod(out),)  # one long line
        kernel = stride = dilation = (1,)
        padding = (0,)
    return [
        _three(values, fill)
        for values, fill in ((size, 1), (kernel, 1), (stride, 1), (padding, 0), (dilation, 1), (out, 1))
    ]


def _grouped(x, groups, size):
    """(N, C, *size) as (N, G, C of a group, D, H, W), with the D, H, W that `_geometry` has made of it."""
    return x.reshape(len(x), groups, x.shape[1] // groups, *size)


def _blocked(w, groups, outputs):
    """w (G, rows, O) flat, as the tile reads it: for each group and block of O, (rows, channels of the block)."""
    blocks = -(-outputs // simd.rows())
    if outputs % blocks == 0:
        return w.reshape(groups, -1, blocks, outputs // blocks).transpose(0, 2, 1, 3).ravel()
    cuts = [block * outputs // blocks for block in range(blocks + 1)]
    return np.concatenate(
        [w[:, :, start:stop].reshape(groups, -1) for start, stop in itertools.pairwise(cuts)], 1
    ).ravel()


def _run(plan, x, y, w, bias):
    samples, groups, outputs = y.shape[:3]
    items = -(-samples // plan.chunk) * groups * plan.splits
    grain = max(1, SLICE * items // (y.size * w.size // (groups * outputs)))
    bias = np.empty(0, x.dtype) if bias is None else np.ascontiguousarray(bias)
    run_slices(_correlate, items, x, y, w, bias, *plan.packing, *plan[1:], *simd.shape(x.itemsize), grain=grain)


def forward(x, w, bias, shape, stride, padding, dilation, groups):
    """`y = conv(x, w) + bias`, of `shape`; everything C-contiguous and of one floating type."""
    channels, outputs = w.shape[1], shape[1] // groups
    geometry = _geometry(x.shape[2:], w.shape[2:], stride, padding, dilation, shape[2:])
    plan = conv_plan.forward((len(x), groups, channels, outputs), *geometry, x.itemsize, get_num_threads())
    y = np.empty(shape, x.dtype)
    w = _blocked(w.reshape(groups, outputs, -1).swapaxes(1, 2), groups, outputs)
    _run(plan, _grouped(x, groups, geometry[0]), _grouped(y, groups, geometry[-1]), w, bias)
    return y


def input_grad(g, w, shape, stride, padding, dilation, groups):
    """The gradient for an input of `shape`."""
    channels, outputs = w.shape[0] // groups, w.shape[1]
    geometry = _geometry(shape[2:], w.shape[2:], stride, padding, dilation, g.shape[2:])
    plan, taps, filled = conv_plan.input_grad(
        (len(g), groups, channels, outputs), *geometry, g.itemsize, get_num_threads()
    )
    # Rows by phase of the result, then channel of g, then tap.
    w = w.reshape(groups, channels, outputs, -1)
    phases = [w[..., of].transpose(0, 1, 3, 2).reshape(groups, -1, outputs) for of in taps]
    w = _blocked(np.concatenate(phases, 1) if len(phases) > 1 else phases[0], groups, outputs)
    x = (np.empty if filled else np.zeros)(shape, g.dtype)
    _run(plan, _grouped(g, groups, geometry[-1]), _grouped(x, groups, geometry[0]), w, None)
    return x


def weight_grad(g, x, shape, stride, padding, dilation, groups):
    """The gradient for a weight of `shape`. (A nan or inf in x may reach entries that it should not: places between
    rows meet it with zero.)
    """
    channels, outputs = shape[1], shape[0] // groups
    geometry = _geometry(x.shape[2:], shape[2:], stride, padding, dilation, g.shape[2:])
    plan = conv_plan.weight_grad((len(x), groups, channels, outputs), *geometry, x.itemsize, get_num_threads())
    sums = np.zeros((plan.parts, groups, outputs, len(plan.offsets)), x.dtype)
    items = plan.parts * groups * plan.splits
    grain = max(1, SLICE * items // (g.size * len(plan.offsets)))
    run_slices(
        _weight_dots,
        items,
        _grouped(g, groups, geometry[-1]),
        _grouped(x, groups, geometry[0]),
        sums,
        *plan.packing,
        plan.offsets,
        plan.places,
        plan.lines,
        plan.chunk,
        plan.splits,
        plan.length,
        *simd.shape(x.itemsize),
        grain=grain,
    )
    sums = sums.sum(0) if plan.parts > 1 else sums[0]
    return np.ascontiguousarray(sums[..., : math.prod(shape[1:])]).reshape(shape)
