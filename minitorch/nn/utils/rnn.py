"""Sequences of unequal length, padded to one shape or packed without padding (torch/nn/utils/rnn.py)."""

from collections import namedtuple
from collections.abc import Iterable

import numpy as np

from minitorch.tensor import Tensor, wrap

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]


class PackedSequence(namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """Sequences, longest first, without padding: `data` holds step 0 of all, then step 1 of those that have one, ...

    `batch_sizes[t]` (int64, on the CPU) says how many have a step t; `sorted_indices` and `unsorted_indices`, where
    given, how they were sorted by length, and back. Made by `pack_padded_sequence` and `pack_sequence`.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """Cast or move the data (and with them the permutations)."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = (None if p is None else p.to(data.device) for p in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *moved)

    def cuda(self, device="cuda"):
        return self.to(device=device)

    def cpu(self):
        return self.to(device="cpu")

    def pin_memory(self):
        return self

    def double(self):
        return type(self)(self.data.double(), *self[1:])

    def float(self):
        return type(self)(self.data.float(), *self[1:])

    def half(self):
        return type(self)(self.data.half(), *self[1:])

    @property
    def is_cuda(self):
        return self.data.is_cuda

    def is_pinned(self):
        return False


def invert_permutation(permutation):
    """The permutation that undoes `permutation`; None for None."""
    return None if permutation is None else wrap(np.argsort(permutation._array))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack padded sequences (T, N, *), or (N, T, *) with `batch_first`, of the given lengths.

    With `enforce_sorted` they must come longest first; without, they are sorted and the result remembers how."""
    if not isinstance(lengths, Tensor):
        lengths = wrap(np.asarray([int(n) for n in lengths], np.int64))
    elif lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} tensor"
        )
    sorted_indices = None
    counts = lengths._array.astype(np.int64)
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
        counts, sorted_indices = counts[order], wrap(order)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps_first = input.transpose(0, 1) if batch_first else input
    if len(counts) != steps_first.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={steps_first.shape[1]})"
        )
    if counts.size == 0 or counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (counts[:-1] < counts[1:]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    alive = np.arange(counts[0])[:, None] < counts
    steps, which = np.nonzero(alive)
    return PackedSequence(steps_first[wrap(steps), wrap(which)], wrap(alive.sum(1)), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Undo `pack_padded_sequence`: returns (padded (T, N, *) or (N, T, *), lengths), in the original order."""
    sizes = sequence.batch_sizes._array
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    alive = np.arange(sizes[0]) < sizes[:, None]
    lengths = alive.sum(0)
    at = np.nonzero(alive)
    data = sequence.data
    padded = data.new_full((steps, int(sizes[0]), *data.shape[1:]), padding_value)
    padded = padded.index_put(tuple(wrap(i) for i in at), data)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices._array]
    return padded.transpose(0, 1) if batch_first else padded, wrap(lengths)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences (L_i, *) of unequal length as (T, N, *), or (N, T, *) with `batch_first`, filling up."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side must be one of 'left' or 'right', got {padding_side}")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.shape[0] for s in sequences)
    first = sequences[0]
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out = first.new_full((*shape, *first.shape[1:]), padding_value)
    for i, sequence in enumerate(sequences):
        n = sequence.shape[0]
        places = slice(0, n) if padding_side == "right" else slice(longest - n, longest)
        out[(i, places) if batch_first else (places, i)] = sequence
    return out


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences, without their padding, of a padded batch."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences (L_i, *)."""
    return pack_padded_sequence(pad_sequence(sequences), [s.shape[0] for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of sequences of a packed batch, in the original order."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
