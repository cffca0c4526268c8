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
SLICE = 1 << 19  # multiply-adds worth handing to a thread
PARTS = 8  # into how many sums a weight's gradient is split, that threads may work on them side by side
CHUNK = 1 << 18  # bytes of packed image that a thread works on at a time: they should stay in its second-level cache


@functools.lru_cache(maxsize=512)
def _forward_plan(size, kernel, stride, padding, dilation, out):
    """(pack, pitch, rows, shifts): where the phases of an image lie, and which row and shift each tap is.

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
    return pack, np.array(pitch, np.int64), np.array(rows), np.array(shifts)


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


@functools.lru_cache(maxsize=512)
def _places(pitch, counts, samples, lanes):
    """Where the vectors begin that cover the results: `counts` places along each dimension of a box of `pitch`, for `samples` of them.

    Between rows, and between samples, a vector that would hold no result is left out.
    """
    n, d, h = (np.arange(count) for count in (samples, *counts[:2]))
    rows = (((n[:, None, None] * pitch[0] + d[:, None]) * pitch[1]) + h).ravel() * pitch[2]
    places, covered = [], 0
    for row in rows.tolist():
        covered = max(covered, row)
        more = range(covered, row + counts[2], lanes)
        places += more
        if more:
            covered = more[-1] + lanes
    return np.array(places, np.int64)


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
def _unpack(sums, y, bias, dest, pitch):
    """The results that lie in `sums` with `pitch`, plus `bias`, to their places in y (N, D, H, W)."""
    d0, dn, dc = dest[0]
    h0, hn, hc = dest[1]
    w0, wn, wc = dest[2]
    for n in range(len(y)):
        for d in range(dc):
            for h in range(hc):
                at = ((n * pitch[0] + d) * pitch[1] + h) * pitch[2]
                source = sums[at:at + wc]
                target = y[n, d0 + d * dn, h0 + h * hn]
                if wn == 1:
                    target = target[w0:w0 + wc]
                    for q in range(wc):
                        target[q] = source[q] + bias
                else:
                    for q in range(wc):
                        target[w0 + q * wn] = source[q] + bias


@compiled
def _correlate(start, stop, x, y, w, bias, pack, pitch, offsets, dests, tap_counts, places, place_counts, chunk, splits, vectors, length):
    """Items start .. stop of (chunk of samples, group, split of the output's channels).

    x (N, G, C, D, H, W), y (N, G, O, D', H', W'), bias (G, O) or empty; w (G, blocks of O, rows, channels of the block), flat. dests as above,
    phase j of y summing over `tap_counts[j]` taps of each channel (rows of w and offsets are by phase, then channel, then tap), and
    computed at `place_counts[j]` of the places.
    """
    samples, groups, channels = x.shape[0], x.shape[1], x.shape[2]
    outputs = y.shape[2]
    blocks = (outputs + 3) // 4
    packed = np.zeros(length, x.dtype)
    sums_pitch = chunk * pitch[0] * pitch[1] * pitch[2] + 64
    sums = np.empty(4 * sums_pitch, x.dtype)
    for item in range(start, stop):
        split, group, n0 = item % splits, item // splits % groups, item // (splits * groups) * chunk
        n1 = min(samples, n0 + chunk)
        _pack(x, n0, n1, group, 0, channels, pack, pitch, packed, chunk + (len(pack) > 1))
        r0 = p0 = 0
        for j in range(len(dests)):
            rows = tap_counts[j] * channels
            dc, hc, wc = dests[j, :, 2]
            end = (((n1 - n0 - 1) * pitch[0] + dc - 1) * pitch[1] + hc - 1) * pitch[2] + wc
            here = np.searchsorted(places[p0:p0 + place_counts[j]], end)  # fewer in the last chunk
            tiles = (here + vectors - 1) // vectors
            for block in range(split * blocks // splits, (split + 1) * blocks // splits):
                o = block * outputs // blocks
                m = (block + 1) * outputs // blocks - o
                w0 = group * len(offsets) * outputs + len(offsets) * o + r0 * m
                for tile in range(tiles):
                    first = tile * here // tiles
                    v = (tile + 1) * here // tiles - first
                    outer_tile(m, v, (sums, 0, sums_pitch, packed, offsets, r0, rows, places, p0 + first, w, w0))
                for i in range(m):
                    shift = bias[group, o + i] if bias.size else x.dtype.type(0)
                    _unpack(sums[i * sums_pitch:], y[n0:n1, group, o + i], shift, dests[j], pitch)
            r0 += rows
            p0 += place_counts[j]


@compiled
def _weight_dots(start, stop, g, x, parts, pack, g_pack, pitch, offsets, places, chunk, splits, lanes, vectors, length):
    """Items start .. stop of (part of the samples, group, split of g's channels): parts[part, group] (O, rows) += g rows^T.

    A part is summed by one thread, however many there are, so that the result does not depend on their number.
    """
    samples, groups, channels = x.shape[0], x.shape[1], x.shape[2]
    outputs, rows = parts.shape[2], parts.shape[3]
    blocks = (outputs + 3) // 4
    tiles = (rows + vectors - 1) // vectors
    plane = pitch[0] * pitch[1] * pitch[2]
    chunks = (samples + chunk - 1) // chunk
    packed = np.zeros(length, x.dtype)
    g_pitch = chunk * plane + lanes
    g_rows = np.zeros(4 * g_pitch, x.dtype)
    flat = parts.reshape(parts.size)
    for item in range(start, stop):
        split, group, part = item % splits, item // splits % groups, item // (splits * groups)
        for piece in range(part * chunks // len(parts), (part + 1) * chunks // len(parts)):
            n0, n1 = piece * chunk, min(samples, (piece + 1) * chunk)
            _pack(x, n0, n1, group, 0, channels, pack, pitch, packed, chunk + (len(pack) > 1))
            end = (n1 - n0) * plane
            here = np.searchsorted(places, end)
            for block in range(split * blocks // splits, (split + 1) * blocks // splits):
                o = block * outputs // blocks
                m = (block + 1) * outputs // blocks - o
                for i in range(m):
                    row = g_rows[i * g_pitch:(i + 1) * g_pitch]
                    row[end:] = 0  # what a longer chunk before left there
                    _pack(g, n0, n1, group, o + i, 1, g_pack, pitch, row, chunk)
                for tile in range(tiles):
                    r0 = tile * rows // tiles
                    v = (tile + 1) * rows // tiles - r0
                    dot_tile(m, v, (flat, ((part * groups + group) * outputs + o) * rows + r0, rows, packed, offsets, r0,
                                    places, here, g_rows, 0, g_pitch))


def serves(macs, *arrays):
    """Does a convolution of `macs` multiply-adds take the compiled version?"""
    return macs > 0 and pays(macs, *arrays, floor=FROM)


def _three(values, fill):
    """One, two or three values as three: dimensions in front with the value `fill`."""
    return (fill,) * (3 - len(values)) + tuple(values)


def _geometry(size, kernel, stride, padding, dilation, out):
    return [_three(values, fill) for values, fill in ((size, 1), (kernel, 1), (stride, 1), (padding, 0), (dilation, 1), (out, 1))]


def _chunk(samples, bytes_each, shares):
    """How many samples to work on at a time: as many as the cache holds, in a number of chunks that `shares` divides."""
    chunks = -(-samples // max(1, CHUNK // bytes_each))
    return max(1, samples // (-(-chunks // shares) * shares))


def _run_correlate(x, w, y, bias, groups, pack, pitch, rows, shifts, dests, tap_counts):
    """`w` (G, rows, O) as a list of its phases; see `_correlate`."""
    samples, outputs = len(x), y.shape[1] // groups
    x = x.reshape(samples, groups, x.shape[1] // groups, *_three(x.shape[2:], 1))
    y_3d = y.reshape(samples, groups, outputs, *_three(y.shape[2:], 1))
    plane, channels = int(pitch.prod()), x.shape[2]
    threads = get_num_threads()
    chunk = _chunk(samples, channels * len(pack) * plane * x.itemsize, -(-threads // groups))
    items = -(-samples // chunk) * groups
    splits = min(-(-outputs // 4), -(-threads // items)) if items < threads else 1
    samples_apart = chunk + (len(pack) > 1)  # see _pack
    offsets = rows * (samples_apart * plane) + shifts
    length = channels * len(pack) * samples_apart * plane + int(shifts.max(initial=0)) + simd.lanes(x.itemsize)
    places = [_places(tuple(pitch.tolist()), tuple(dest[:, 2].tolist()), chunk, simd.lanes(x.itemsize)) for dest in dests]
    bias = np.empty((0, 0), x.dtype) if bias is None else bias.reshape(groups, outputs)
    work = offsets.size * outputs * chunk * plane
    run_slices(_correlate, items * splits, x, y_3d, _blocks(w, groups, outputs), bias, pack, pitch, offsets, dests, tap_counts,
               np.concatenate(places), np.array([len(p) for p in places]), chunk, splits, simd.vectors(), length, grain=max(1, SLICE // work))
    return y


def _blocks(parts, groups, outputs):
    """Phases of a weight, each (G, rows, O), as one flat array (G, blocks of O, rows, channels of the block)."""
    w = np.concatenate(parts, 1) if len(parts) > 1 else parts[0]
    blocks = -(-outputs // simd.ROWS)
    if outputs % blocks == 0:
        return w.reshape(groups, -1, blocks, outputs // blocks).transpose(0, 2, 1, 3).ravel()
    cuts = [block * outputs // blocks for block in range(blocks + 1)]
    return np.concatenate([w[:, :, start:stop].reshape(groups, -1) for start, stop in itertools.pairwise(cuts)], 1).ravel()


def forward(x, w, bias, shape, stride, padding, dilation, groups):
    """`y = conv(x, w) + bias`, of `shape`; everything C-contiguous and of one floating type."""
    size, kernel, stride, padding, dilation, out = _geometry(x.shape[2:], w.shape[2:], stride, padding, dilation, shape[2:])
    pack, pitch, rows, shifts = _forward_plan(size, kernel, stride, padding, dilation, out)
    channels = w.shape[1]
    rows = (np.arange(channels)[:, None] * len(pack) + rows).ravel()
    w = w.reshape(groups, -1, channels * len(shifts)).swapaxes(1, 2)
    dests = np.array([[(0, 1, o) for o in out]], np.int64)
    return _run_correlate(x, [w], np.empty(shape, x.dtype), bias, groups, pack, pitch, rows, np.tile(shifts, channels), dests,
                          np.array([len(shifts)], np.int64))


def input_grad(g, w, shape, stride, padding, dilation, groups):
    """The gradient for an input of `shape`."""
    size, kernel, stride, padding, dilation, out = _geometry(shape[2:], w.shape[2:], stride, padding, dilation, g.shape[2:])
    pack, pitch, taps, shifts, dests = _input_grad_plan(size, kernel, stride, padding, dilation, out)
    channels, outputs = w.shape[0] // groups, w.shape[1]
    w = w.reshape(groups, channels, outputs, -1)
    counts = np.array([len(phase) for phase in taps], np.int64)
    # Rows by phase of the result, then channel of g, then tap.
    w = [w[..., phase].transpose(0, 1, 3, 2).reshape(groups, -1, outputs) for phase in taps]
    shifts = np.concatenate([np.tile(shifts[end - count:end], channels) for end, count in zip(np.cumsum(counts), counts)])
    rows = np.concatenate([np.repeat(np.arange(channels), count) for count in counts])
    whole = dests[:, :, 2].prod(1).sum() == math.prod(size)
    y = (np.empty if whole else np.zeros)(shape, g.dtype)
    return _run_correlate(g, w, y, None, groups, pack, pitch, rows, shifts, dests, counts)


def weight_grad(g, x, shape, stride, padding, dilation, groups):
    """The gradient for a weight of `shape`. (A nan or inf in x may reach entries that it should not: places between rows meet it with zero.)"""
    size, kernel, stride, padding, dilation, out = _geometry(x.shape[2:], shape[2:], stride, padding, dilation, g.shape[2:])
    pack, pitch, rows, shifts = _forward_plan(size, kernel, stride, padding, dilation, out)
    samples, outputs, channels = len(x), shape[0] // groups, shape[1]
    plane, lanes = int(pitch.prod()), simd.lanes(x.itemsize)
    chunk = _chunk(samples, channels * len(pack) * plane * x.itemsize, min(samples, -(-PARTS // groups)))
    parts = max(1, min(PARTS // groups, -(-samples // chunk)))
    splits = max(1, min(PARTS // (parts * groups), -(-outputs // 4)))
    samples_apart = chunk + (len(pack) > 1)
    offsets = ((np.arange(channels)[:, None] * len(pack) + rows) * (samples_apart * plane) + shifts).ravel()
    places = _places(tuple(pitch.tolist()), out, chunk, lanes)
    sums = np.zeros((parts, groups, outputs, channels * len(shifts)), x.dtype)
    g_pack = np.array([[(0, 1, o, 0) for o in out]], np.int64)
    length = channels * len(pack) * samples_apart * plane + int(shifts.max(initial=0)) + lanes
    work = samples * plane * outputs * channels * len(shifts)
    run_slices(_weight_dots, parts * groups * splits, g.reshape(samples, groups, outputs, *out), x.reshape(samples, groups, channels, *size),
               sums, pack, g_pack, pitch, offsets, places, chunk, splits, lanes, simd.vectors(), length,
               grain=max(1, SLICE * parts * splits // work))
    return (sums.sum(0) if parts > 1 else sums).reshape(shape)
