"""Where the compiled convolution finds everything: tables worked out once for each combination of shapes, and kept.

Written one row after the other with a pitch P, a zero-padded image has the value that output place (h, w) sees through
tap (kh, kw) at `(h + kh) P + (w + kw) = (h P + w) + (kh P + kw)`: a tap's column is the image itself, shifted by a
number that depends on the tap only. So

    y[o, l] = sum_{c, tap} w[o, c, tap] x[c, l + shift(tap)]             l = h P + w

is a matrix product whose second factor is a table of offsets, and none of im2col's copies need be made. Three things
make it general:
- Places l between the end of one row and the start of the next are no results. To have few of them, the zeros after a
  row and before the next one are the same, and so for planes of a volume and samples of a batch: all are dimensions of
  one long row.
- With a stride s the image is split into s *phases* (for s = 2 the even and the odd places): within its phase each tap
  is again a shift.
- The input's gradient is such a sum as well, `dx[c, q] = sum_{o, tap} w[o, c, tap] g[o, q - shift(tap)]`, where now the
  result has the phases: places of dx of one residue modulo the stride see only the taps of that residue.

One and two dimensions are three with sizes of one, in front.
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from . import simd

CHUNK = 1 << 18  # bytes of packed image that a thread works on at a time: they should stay in its second-level cache
DOT_PLACES = 1 << 10  # how long, at least, a weight gradient's sums should be before they leave the registers
PARTS = 8  # into how many pieces a weight's gradient is split, that threads may work on them side by side


class Packing(NamedTuple):
    """How an image is laid out: `phases` (phases, 3, 4) says, along each dimension, the first place of the image, the
    step, how many, and where they go in a box of `pitch` (3,); `row` is the distance from one phase of one channel,
    with all its samples, to the next.
    """

    phases: np.ndarray
    pitch: np.ndarray
    row: int


class Products(NamedTuple):
    """The matrix product of `conv_tiles._correlate`. For each phase of the result, one after the other:

    dests (phases, 3, 3): along each dimension, at which place of the result its places begin, their step, and how many
    they are; offsets: one for each channel and tap; places and lines: see `_places`; of (3, phases + 1): where its
    share of these three begins.
    """

    packing: Packing
    dests: np.ndarray
    offsets: np.ndarray
    places: np.ndarray
    lines: np.ndarray
    of: np.ndarray
    chunk: int
    splits: int
    length: int


def _int64(values):
    return np.array(values, np.int64)


def _blocks(outputs):
    return -(-outputs // simd.rows())


def _linear(index, sizes):
    """The place of a multi-index in a row-major box of `sizes`."""
    place = 0
    for i, s in zip(index, sizes, strict=True):
        place = place * s + i
    return place


def _along(size, kernel, stride, padding, dilation, out):
    """One dimension of an image: for each residue of a tap's place modulo the stride, (first, step, count, before), and
    the pitch they need.

    In this phase lie `before` zeros, then `count` places of the image from `first` on, then zeros again.
    """
    phases, pitch = {}, out
    for residue in sorted({t * dilation % stride for t in range(kernel)}):
        before = max(0, -(-(padding - residue) // stride))
        first = before * stride + residue - padding
        reach = out + max(t * dilation // stride for t in range(kernel) if t * dilation % stride == residue)
        count = max(0, min(-(-(size - first) // stride), reach - before))
        phases[residue] = first, stride, count, before
        pitch = max(pitch, count + max(before, reach - before - count))
    return phases, pitch


def _image(size, kernel, stride, padding, dilation, out):
    """(phases, pitch, taps): the phases of an image as in `Packing`, and for each tap the phase it looks in and its
    shift.
    """
    along = [_along(*dimension) for dimension in zip(size, kernel, stride, padding, dilation, out, strict=True)]
    pitch = [pitch for _, pitch in along]
    names = list(itertools.product(*(phases for phases, _ in along)))
    taps = []
    for tap in itertools.product(*map(range, kernel)):
        places = [(t * d, st) for t, d, st in zip(tap, dilation, stride, strict=True)]
        phase = names.index(tuple(place % st for place, st in places))
        taps.append((phase, _linear([place // st for place, st in places], pitch)))
    return [[along[d][0][residue] for d, residue in enumerate(name)] for name in names], pitch, taps


def _gradient_image(size, kernel, stride, padding, dilation, out):
    """The same for the result's gradient `g`, of size `out`, which has one phase: (phase, pitch, dests, taps).

    taps[j] lists (tap, shift) of the taps that reach the places dests[j] of an input of `size`.
    """
    along, phase, pitch = [], [], []
    for s, k, st, p, d, o in zip(size, kernel, stride, padding, dilation, out, strict=True):
        phases = {}
        for residue in sorted({t * d % st for t in range(k)}):
            q = max(0, -(-(p - residue) // st))
            first = q * st + residue - p
            count = -(-(s - first) // st)
            if count > 0:
                phases[residue] = (first, st, count), {t: q - t * d // st for t in range(k) if t * d % st == residue}
        lowest = min((shift for _, shifts in phases.values() for shift in shifts.values()), default=0)
        highest = max((dest[2] + shift for dest, shifts in phases.values() for shift in shifts.values()), default=0)
        before, after = max(0, -lowest), max(0, highest - o)
        along.append([(dest, {t: shift + before for t, shift in shifts.items()}) for dest, shifts in phases.values()])
        phase.append((0, 1, o, before))
        pitch.append(max(o + max(before, after), *(dest[2] for dest, _ in phases.values())))
    dests, taps = [], []
    for product in itertools.product(*along):
        dests.append([dest for dest, _ in product])
        tap_tuples = itertools.product(*(shifts for _, shifts in product))
        taps.append(
            [
                (_linear(tap, kernel), _linear([shifts[t] for t, (_, shifts) in zip(tap, product, strict=True)], pitch))
                for tap in tap_tuples
            ]
        )
    return phase, pitch, dests, taps


def _places(pitch, counts, samples, lanes):
    """(places, lines): where the vectors begin that cover the results, and where in their sequence each line of results
    begins.

    Results are `counts` places along each dimension of a box of `pitch`, for `samples` of them; a line is along the
    last dimension. Between lines, and between samples, a vector that would hold no result is left out.
    """
    n, d, h = (np.arange(count) for count in (samples, *counts[:2]))
    starts = (((n[:, None, None] * pitch[0] + d[:, None]) * pitch[1]) + h).ravel() * pitch[2]
    places, lines, covered = [], [], 0
    for start in starts.tolist():
        if start >= covered:
            lines.append(len(places) * lanes)
        else:
            lines.append((len(places) - 1) * lanes + start - places[-1])
        more = range(max(covered, start), start + counts[2], lanes)
        places += more
        if more:
            covered = more[-1] + lanes
    return places, lines


def _packing(phases, pitch, chunk, lanes):
    """Where the zeros that end a plane are those before the next; but phases begin with unlike numbers of zeros: a
    whole sample of them parts these.

    A row is an odd number of vectors long, or rows of 4096 bytes would all compete for the same lines of the
    first-level cache.
    """
    row = (chunk + (len(phases) > 1)) * math.prod(pitch)
    return Packing(_int64(phases), _int64(pitch), (-(-row // lanes) | 1) * lanes)


def _chunk(samples, bytes_each, shares):
    """How many samples to work on at a time: as many as the cache holds, in a number of chunks that `shares` divides."""
    chunks = -(-samples // max(1, CHUNK // bytes_each))
    return -(-samples // (-(-chunks // shares) * shares))


def _products(shape, phases, pitch, dests, taps, itemsize, threads):
    """`Products` for taps[j] = (phase, shift) of each tap that the j-th phase of the result sums over."""
    samples, groups, channels, outputs = shape
    lanes = simd.lanes(itemsize)
    chunk = _chunk(samples, channels * len(phases) * math.prod(pitch) * itemsize, -(-threads // groups))
    splits = min(_blocks(outputs), -(-threads // (-(-samples // chunk) * groups)))
    packing = _packing(phases, pitch, chunk, lanes)
    offsets = [
        [(c * len(phases) + phase) * packing.row + shift for c in range(channels) for phase, shift in of] for of in taps
    ]
    places, lines = map(
        list, zip(*(_places(pitch, [count for _, _, count in dest], chunk, lanes) for dest in dests), strict=True)
    )
    shares = [[0, *itertools.accumulate(map(len, table))] for table in (offsets, places, lines)]
    length = channels * len(phases) * packing.row + max(shift for of in taps for _, shift in of) + lanes
    places.append([0] * 2 * simd.VECTORS)  # the last tile may read on
    return Products(
        packing,
        _int64(dests),
        *(_int64(list(itertools.chain(*table))) for table in (offsets, places, lines)),
        _int64(shares),
        chunk,
        splits,
        length,
    )


@functools.lru_cache(maxsize=256)
def forward(shape, size, kernel, stride, padding, dilation, out, itemsize, threads):
    """The products of `convolution`; shape is (samples, groups, input channels, output channels of a group)."""
    phases, pitch, taps = _image(size, kernel, stride, padding, dilation, out)
    return _products(shape, phases, pitch, [[(0, 1, o) for o in out]], [taps], itemsize, threads)


@functools.lru_cache(maxsize=256)
def input_grad(shape, size, kernel, stride, padding, dilation, out, itemsize, threads):
    """(the products of `convolution_input_grad`, for each phase of the result the taps it sums over, do the phases fill
    the result?).
    """
    phase, pitch, dests, taps = _gradient_image(size, kernel, stride, padding, dilation, out)
    filled = sum(math.prod(count for _, _, count in dest) for dest in dests) == math.prod(size)
    products = _products(
        shape, [phase], pitch, dests, [[(0, shift) for _, shift in of] for of in taps], itemsize, threads
    )
    return products, [np.array([tap for tap, _ in of]) for of in taps], filled


class Dots(NamedTuple):
    """The sums of `conv_tiles._weight_dots`, over samples cut in `parts`, output channels cut in `splits`."""

    packing: Packing
    offsets: np.ndarray
    places: np.ndarray
    lines: np.ndarray
    chunk: int
    parts: int
    splits: int
    length: int


@functools.lru_cache(maxsize=256)
def weight_grad(shape, size, kernel, stride, padding, dilation, out, itemsize, threads):
    """The sums of `convolution_weight_grad`; shape as above. `parts` does not depend on the number of threads, as the
    result depends on it.
    """
    samples, groups, channels, outputs = shape
    lanes = simd.lanes(itemsize)
    phases, pitch, taps = _image(size, kernel, stride, padding, dilation, out)
    plane = math.prod(pitch)
    parts = 1
    while 2 * parts * groups <= PARTS and 2 * parts * DOT_PLACES <= samples * plane:
        parts *= 2
    chunk = max(1, min(-(-samples // parts), 4 * CHUNK // (channels * len(phases) * plane * itemsize)))
    splits = min(_blocks(outputs), -(-threads // (parts * groups)))
    packing = _packing(phases, pitch, chunk, lanes)
    offsets = [(c * len(phases) + phase) * packing.row + shift for c in range(channels) for phase, shift in taps]
    length = channels * len(phases) * packing.row + max(shift for _, shift in taps) + lanes
    offsets += [0] * (-len(offsets) % simd.VECTORS)  # whole tiles only
    return Dots(packing, _int64(offsets), *map(_int64, _places(pitch, out, chunk, lanes)), chunk, parts, splits, length)
