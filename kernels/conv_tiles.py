"""Convolution compiled: the image laid out so that the columns of im2col are shifts of it, and need not be made.

Written one row after the other with a pitch P, a zero-padded image has the value that output place (h, w) sees through tap (kh, kw) at
`(h + kh) P + (w + kw) = (h P + w) + (kh P + kw)`: a tap's column is the image itself, shifted by a number that depends on the tap only. So

    y[o, l] = sum_{c, tap} w[o, c, tap] x[c, l + shift(tap)]             l = h P + w

is a matrix product whose second factor is a table of offsets, and `simd.outer_tile` computes it without im2col's copies. Three things make it general:
- Places l between the end of one row and the start of the next are computed too, and dropped. To have few of them, the zeros after a row and
  before the next one are the same, and so for planes of a volume and samples of a batch: all are dimensions of one long row.
- With a stride s the image is split into s *phases* (for s = 2 the even and the odd places): within its phase each tap is again a shift.
- The input's gradient is such a sum as well, `dx[c, q] = sum_{o, tap} w[o, c, tap] g[o, q - shift(tap)]`, where now the result has the phases:
  places of dx of one residue modulo the stride see only the taps of that residue. The weight's gradient is `simd.dot_tile` of the same rows.

One and two dimensions are three with sizes of one. `conv.py` has the same three products in NumPy.
"""

import functools
import itertools
import math

import numpy as np

from . import simd
from .parallel import compiled, get_num_threads, pays, run_slices
from .simd import dot_tile, outer_tile  # noqa: F401 - looked up by name when the loops below are compiled

FROM = 1 << 21  # multiply-adds from which loading Numba is repaid
CHUNK = 1 << 18  # bytes of packed image that a thread works on at a time: they should stay in its second-level cache


@functools.lru_cache(maxsize=512)
def _forward_plan(size, kernel, stride, padding, dilation, out):
    """(pack, pitch, rows, shifts, dests): where the phases of an image lie, and which row and shift each tap is.

    pack (phases, 3, 4): along each dimension the first place of the image, the step, how many, and where they go.
    pitch (3,): the sizes of the box in which a phase lies. rows, shifts (taps,): the phase that a tap looks in, and how far along.
    """
    phases, pitch = [], []
    for s, k, st, p, d, o in zip(size, kernel, stride, padding, dilation, out):
        along = {}
        for residue in sorted({t * d % st for t in range(k)}):
            before = max(0, -(-(p - residue) // st))  # zeros, then `count` places of the image from `first`, then zeros again
            first = before * st + residue - p
            reach = o + max(t * d // st for t in range(k) if t * d % st == residue)
            count = max(0, min(-(-(s - first) // st), reach - before))
            along[residue] = (first, st, count, before), count + max(before, reach - before - count)
        phases.append({residue: entry for residue, (entry, _) in along.items()})
        pitch.append(max(o, *(width for _, width in along.values())))
    names = list(itertools.product(*phases))
    pack = np.array([[phases[d][r] for d, r in enumerate(name)] for name in names], np.int64)
    rows, shifts = [], []
    for tap in itertools.product(*map(range, kernel)):
        places = [t * d for t, d in zip(tap, dilation)]
        rows.append(names.index(tuple(place % st for place, st in zip(places, stride))))
        shifts.append(_linear([place // st for place, st in zip(places, stride)], pitch))
    return pack, np.array(pitch, np.int64), np.array(rows), np.array(shifts), None


@functools.lru_cache(maxsize=512)
def _input_grad_plan(size, kernel, stride, padding, dilation, out):
    """As `_forward_plan`, for the gradient of an image of `size`; here one phase is packed, and the results are in phases.

    dests (phases, 3, 3) says, along each dimension, at which place of the image a phase's results begin, their step, and how many they are.
    taps, a list for each phase, are those that reach it; rows and shifts are for the taps in this order.
    """
    along, pack, pitch = [], [], []
    for s, k, st, p, d, o in zip(size, kernel, stride, padding, dilation, out):
        phases = {}
        for residue in sorted({t * d % st for t in range(k)}):
            q = max(0, -(-(p - residue) // st))
            first = q * st + residue - p
            count = -(-(s - first) // st)
            if count > 0:
                phases[residue] = (first, st, count), {t: q - t * d // st for t in range(k) if t * d % st == residue}
        lowest = [shift for _, shifts in phases.values() for shift in shifts.values()]
        highest = [dest[2] + shift for dest, shifts in phases.values() for shift in shifts.values()]
        before, after = max(0, -min(lowest, default=0)), max(0, max(highest, default=0) - o)
        for _, shifts in phases.values():
            for t in shifts:
                shifts[t] += before
        along.append(phases)
        pack.append((0, 1, o, before))
        pitch.append(max(o + max(before, after), *(dest[2] for dest, _ in phases.values()), 1))
    dests, taps, shifts = [], [], []
    for name in itertools.product(*along):
        phase = [along[d][r] for d, r in enumerate(name)]
        dests.append([dest for dest, _ in phase])
        taps.append([])
        for tap in itertools.product(*(by_tap for _, by_tap in phase)):
            taps[-1].append(_linear(tap, kernel))
            shifts.append(_linear([by_tap[t] for t, (_, by_tap) in zip(tap, phase)], pitch))
    return np.array([pack], np.int64), np.array(pitch, np.int64), taps, np.array(shifts, np.int64), np.array(dests, np.int64)


def _linear(index, sizes):
    """The place of a multi-index in a row-major box of `sizes`."""
    place = 0
    for i, s in zip(index, sizes):
        place = place * s + i
    return place


@compiled
def _pack(x, n0, n1, group, first_channel, channels, pack, pitch, packed, sample_rows):
    """Write samples n0 .. n1 of x (N, G, C, D, H, W) where `pack` says: packed (C, phases, sample_rows, *pitch), flat.

    The zeros that end a plane are those before the next. Phases begin with unlike numbers of zeros: there a whole sample of zeros parts them.
    """
    plane = pitch[0] * pitch[1] * pitch[2]
    for c in range(channels):
        for phase in range(len(pack)):
            d0, dn, dc, dq = pack[phase, 0]
            h0, hn, hc, hq = pack[phase, 1]
            w0, wn, wc, wq = pack[phase, 2]
            for n in range(n1 - n0):
                start = ((c * len(pack) + phase) * sample_rows + n) * plane
                for d in range(dc):
                    for h in range(hc):
                        source = x[n0 + n, group, first_channel + c, d0 + d * dn, h0 + h * hn]
                        at = start + ((dq + d) * pitch[1] + hq + h) * pitch[2] + wq
                        target = packed[at:at + wc]
                        if wn == 1:
                            source = source[w0:w0 + wc]
                            for w in range(wc):
                                target[w] = source[w]
                        else:
                            for w in range(wc):
                                target[w] = source[w0 + w * wn]


@compiled
def _correlate(start, stop, x, y, w, bias, pack, pitch, offsets, dests, tap_counts, chunk, splits, lanes, vectors, length):
    """Items start .. stop of (chunk of samples, group, split of the output's channels).

    x (N, G, C, D, H, W), y (N, G, O, D', H', W'), w (G, rows, O), bias (G, O) or empty. dests as above, y's phase j summing over
    `tap_counts[j]` taps of each channel: rows of w and offsets are by phase, then channel, then tap.
    """
    samples, groups, channels = x.shape[0], x.shape[1], x.shape[2]
    outputs = y.shape[2]
    blocks = (outputs + 3) // 4
    plane = pitch[0] * pitch[1] * pitch[2]
    packed = np.zeros(length, x.dtype)
    sums_pitch = chunk * plane + lanes
    sums = np.empty(4 * sums_pitch, x.dtype)
    flat_w = w.reshape(w.size)
    for item in range(start, stop):
        split, group, n0 = item % splits, item // splits % groups, item // (splits * groups) * chunk
        n1 = min(samples, n0 + chunk)
        _pack(x, n0, n1, group, 0, channels, pack, pitch, packed, chunk + (len(pack) > 1))
        r0 = 0
        for j in range(len(dests)):
            d0, dn, dc = dests[j, 0]
            h0, hn, hc = dests[j, 1]
            w0, wn, wc = dests[j, 2]
            rows = tap_counts[j] * channels
            last = ((((n1 - n0 - 1) * pitch[0] + dc - 1) * pitch[1]) + hc - 1) * pitch[2] + wc
            wide = (last + lanes - 1) // lanes
            tiles = (wide + vectors - 1) // vectors
            for block in range(split * blocks // splits, (split + 1) * blocks // splits):
                o = block * outputs // blocks
                m = (block + 1) * outputs // blocks - o
                for tile in range(tiles):
                    v0 = tile * wide // tiles
                    v = (tile + 1) * wide // tiles - v0
                    outer_tile(m, v, (sums, v0 * lanes, sums_pitch, packed, v0 * lanes, offsets, r0, rows,
                                      flat_w, (group * w.shape[1] + r0) * outputs + o, outputs))
                for i in range(m):
                    shift = bias[group, o + i] if bias.size else x.dtype.type(0)
                    for n in range(n1 - n0):
                        for d in range(dc):
                            for h in range(hc):
                                at = i * sums_pitch + ((n * pitch[0] + d) * pitch[1] + h) * pitch[2]
                                source = sums[at:at + wc]
                                target = y[n0 + n, group, o + i, d0 + d * dn, h0 + h * hn]
                                if wn == 1:
                                    target = target[w0:w0 + wc]
                                    for q in range(wc):
                                        target[q] = source[q] + shift
                                else:
                                    for q in range(wc):
                                        target[w0 + q * wn] = source[q] + shift
            r0 += rows


@compiled
def _weight_dots(start, stop, g, x, parts, pack, pitch, g_pack, offsets, chunk, splits, lanes, vectors, length):
    """Items start .. stop of (part of the samples, group, split of g's channels): parts[part, group] (O, rows) += g rows^T.

    A part is summed by one thread, however many there are, so that the result does not depend on their number.
    """
    samples, groups, channels = x.shape[0], x.shape[1], x.shape[2]
    outputs, rows = parts.shape[2], parts.shape[3]
    blocks = (outputs + 3) // 4
    plane = pitch[0] * pitch[1] * pitch[2]
    chunks = (samples + chunk - 1) // chunk
    packed = np.zeros(length, x.dtype)
    g_length = (chunk * plane + lanes - 1) // lanes * lanes
    # As for x, the samples of a channel follow each other, and a channel's row ends in zeros.
    g_rows = np.zeros(((outputs + splits - 1) // splits + 4) * g_length, x.dtype)
    flat = parts.reshape(parts.size)
    rest = (rows + vectors - 1) // vectors
    for item in range(start, stop):
        split, group, part = item % splits, item // splits % groups, item // (splits * groups)
        first_block, last_block = split * blocks // splits, (split + 1) * blocks // splits
        o_first, o_last = first_block * outputs // blocks, last_block * outputs // blocks
        for piece in range(part * chunks // parts.shape[0], (part + 1) * chunks // parts.shape[0]):
            n0, n1 = piece * chunk, min(samples, (piece + 1) * chunk)
            _pack(x, n0, n1, group, 0, channels, pack, pitch, packed, chunk + (len(pack) > 1))
            for o in range(o_last - o_first):
                _pack(g, n0, n1, group, o_first + o, 1, g_pack, pitch, g_rows[o * g_length:], chunk)
                g_rows[o * g_length + (n1 - n0) * plane:(o + 1) * g_length] = 0  # what a longer chunk before left there
            wide = ((n1 - n0) * plane + lanes - 1) // lanes
            for block in range(first_block, last_block):
                o = block * outputs // blocks
                m = (block + 1) * outputs // blocks - o
                for tile in range(rest):
                    r0 = tile * rows // rest
                    v = (tile + 1) * rows // rest - r0
                    dot_tile(m, v, (flat, ((part * groups + group) * outputs + o) * rows + r0, rows, packed, 0, offsets, r0, wide,
                                    g_rows, (o - o_first) * g_length, g_length))


def _as_3d(*tuples):
    """Tuples of one, two or three values as three: dimensions in front with the first argument's value."""
    return [(fill,) * (3 - len(value)) + tuple(value) for fill, value in tuples]


def _geometry(size, kernel, stride, padding, dilation, out):
    return _as_3d((1, size), (1, kernel), (1, stride), (0, padding), (1, dilation), (1, out))


def serves(macs, *arrays):
    """Does a convolution of `macs` multiply-adds take the compiled version?"""
    return macs > 0 and pays(macs, *arrays, floor=FROM)


def _chunk(samples, channels, phases, plane, itemsize, shares):
    """How many samples to work on at a time: as many as the cache holds, and few enough that there are `shares` of them."""
    return max(1, min(CHUNK // max(1, channels * phases * plane * itemsize), -(-samples // shares)))


def _run_correlate(x, w, y, bias, groups, pack, pitch, offsets, dests, tap_counts):
    samples, outputs = len(x), y.shape[1] // groups
    x = x.reshape(samples, groups, x.shape[1] // groups, *_as_3d((1, x.shape[2:]))[0])
    plane, lanes, vectors = int(pitch.prod()), simd.lanes(x.itemsize), simd.vectors()
    threads = get_num_threads()
    chunk = _chunk(samples, x.shape[2], len(pack), plane, x.itemsize, -(-threads // groups))
    rows, shifts = offsets
    samples_apart = chunk + (len(pack) > 1)  # see _pack
    offsets = rows * (samples_apart * plane) + shifts
    items = -(-samples // chunk) * groups
    splits = min(-(-outputs // 4), -(-threads // items)) if items < threads else 1
    length = x.shape[2] * len(pack) * samples_apart * plane + int(shifts.max(initial=0)) + lanes
    bias = np.empty((0, 0), x.dtype) if bias is None else bias.reshape(groups, outputs)
    work = offsets.size * outputs * chunk * plane
    run_slices(_correlate, items * splits, x, y.reshape(samples, groups, outputs, *_as_3d((1, y.shape[2:]))[0]), w, bias, pack, pitch,
               offsets, dests, tap_counts, chunk, splits, lanes, vectors, length, grain=max(1, SLICE // work))
    return y


SLICE = 1 << 19  # multiply-adds worth handing to a thread


def forward(x, w, bias, shape, stride, padding, dilation, groups):
    """`y = conv(x, w) + bias`, of `shape`; everything C-contiguous and of one floating type."""
    size, kernel, stride, padding, dilation, out = _geometry(x.shape[2:], w.shape[2:], stride, padding, dilation, shape[2:])
    pack, pitch, rows, shifts, _ = _forward_plan(size, kernel, stride, padding, dilation, out)
    channels = w.shape[1]
    rows = (np.arange(channels)[:, None] * len(pack) + rows).ravel()
    w = np.ascontiguousarray(w.reshape(groups, -1, channels * len(shifts)).swapaxes(1, 2))
    dests = np.array([[(0, 1, o) for o in out]], np.int64)
    return _run_correlate(x, w, np.empty(shape, x.dtype), bias, groups, pack, pitch, (rows, np.tile(shifts, channels)), dests,
                          np.array([len(shifts)], np.int64))


def input_grad(g, w, shape, stride, padding, dilation, groups):
    """The gradient for an input of `shape`."""
    size, kernel, stride, padding, dilation, out = _geometry(shape[2:], w.shape[2:], stride, padding, dilation, g.shape[2:])
    pack, pitch, taps, shifts, dests = _input_grad_plan(size, kernel, stride, padding, dilation, out)
    channels, outputs = w.shape[0] // groups, w.shape[1]
    w = w.reshape(groups, channels, outputs, -1)
    counts = np.array([len(group) for group in taps], np.int64)
    # Rows by phase of the result, then channel of g, then tap.
    parts = [w[..., group].transpose(0, 1, 3, 2).reshape(groups, -1, outputs) for group in taps]
    w = np.ascontiguousarray(np.concatenate(parts, 1) if len(parts) > 1 else parts[0])
    ends = np.cumsum(counts)
    shifts = np.concatenate([np.tile(shifts[end - count:end], channels) for end, count in zip(ends, counts)])
    rows = np.concatenate([np.repeat(np.arange(channels), count) for count in counts])
    whole = dests[:, :, 2].prod(1).sum() == math.prod(size)
    y = (np.empty if whole else np.zeros)(shape, g.dtype)
    return _run_correlate(g, w, y, None, groups, pack, pitch, (rows, shifts), dests, counts)


def weight_grad(g, x, shape, stride, padding, dilation, groups):
    """The gradient for a weight of `shape`. (A nan or inf in x may reach entries that it should not: places between rows meet it with zero.)"""
    size, kernel, stride, padding, dilation, out = _geometry(x.shape[2:], shape[2:], stride, padding, dilation, g.shape[2:])
    pack, pitch, rows, shifts, _ = _forward_plan(size, kernel, stride, padding, dilation, out)
    samples, outputs, channels = len(x), shape[0] // groups, shape[1]
    plane, lanes, vectors = int(pitch.prod()), simd.lanes(x.itemsize), simd.vectors()
    chunk = _chunk(samples, channels, len(pack), plane, x.itemsize, PARTS)
    parts = max(1, min(PARTS // groups, -(-samples // chunk)))
    splits = max(1, min(PARTS // (parts * groups), -(-outputs // 4)))
    samples_apart = chunk + (len(pack) > 1)
    offsets = ((np.arange(channels)[:, None] * len(pack) + rows) * (samples_apart * plane) + shifts).ravel()
    sums = np.zeros((parts, groups, outputs, channels * len(shifts)), x.dtype)
    g_pack = np.array([[(0, 1, o, 0) for o in out]], np.int64)
    length = channels * len(pack) * samples_apart * plane + int(shifts.max(initial=0)) + lanes
    work = samples * plane * outputs * channels * len(shifts)
    run_slices(_weight_dots, parts * groups * splits, g.reshape(samples, groups, outputs, *out), x.reshape(samples, groups, channels, *size),
               sums, pack, pitch, g_pack, offsets, chunk, splits, lanes, vectors, length, grain=max(1, SLICE * parts * splits // work))
    return (sums.sum(0) if parts > 1 else sums).reshape(shape)


PARTS = 8  # into how many sums a weight's gradient is split, that threads may work on them side by side
