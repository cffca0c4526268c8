"""How a batch crosses the process border: its arrays in shared memory, the rest in a short message.

A worker collates into a *segment* of shared memory and sends a pickle of the batch in which every array is only a place
in that segment (PEP 574: out-of-band buffers). The loader builds its arrays on the very same memory: nothing is copied.

Segments have no name. A file descriptor is passed once, when a segment is new; then both processes have it mapped,
and the kernel frees it with the last process, however that ends. Segments are used again: when the last array that
lies in a segment dies in the loader, its number travels back with the next task. So in the steady state no memory is
allocated, cleared or mapped, and no descriptor is passed, from one batch to the next.
"""

import copyreg
import io
import math
import mmap
import os
import pickle
import socket
import tempfile
import weakref
from typing import Any

import numpy as np

from minitorch.tensor import Tensor, wrap

ALIGN = 64  # of each array within a segment: a cache line
SMALL = 1024  # an array of fewer bytes travels in the message
HELD = 64  # so many batches of an iterator may stay in shared memory; those that a caller hoards beyond are copied

# whether the system can pass a file descriptor to another process; without, arrays are pickled into the message
AVAILABLE = hasattr(socket, "send_fds")


def anonymous_file(size: int) -> int:
    """A descriptor of `size` bytes of shared memory without a name. Raises OSError if there is not so much.

    On Linux the memory is not charged to /dev/shm, which containers tend to make small. Elsewhere it is a temporary
    file whose name is removed at once. Either way all of it is reserved here, where a lack is an exception: memory
    that turns out to be missing when it is first written to kills the process (SIGBUS).
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("minitorch-batch")
    else:
        directory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        descriptor, name = tempfile.mkstemp(dir=directory)
        os.unlink(name)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


# pickle, number of the segment (None: all is in the pickle), places of the arrays in it, segments given up
Packed = tuple[bytes, int | None, list[tuple[int, int]], list[int]]

# -- pickling

def _rebuild_tensor(array: np.ndarray, requires_grad: bool) -> Tensor:
    tensor = wrap(array)
    tensor._requires_grad = requires_grad
    return tensor


def _rebuild_view(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return array.view(dtype)


def _reduce_tensor(tensor: Tensor) -> tuple:
    if tensor.device.type != "cpu":
        raise RuntimeError(
            f"a worker cannot send a tensor on {tensor.device}: return it on the CPU, and move the batch in the loop"
        )
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support"
            " crossing process boundaries. If you just want to transfer the data, call detach() on the tensor"
        )
    return _rebuild_tensor, (tensor._array, tensor.requires_grad)


def _reduce_array(array: np.ndarray) -> Any:
    if array.dtype.isbuiltin == 2:  # bfloat16: a type that the buffer protocol has no name for
        return _rebuild_view, (array.view(f"u{array.itemsize}"), array.dtype)
    return array.__reduce_ex__(5)


class _Pickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table | {Tensor: _reduce_tensor, np.ndarray: _reduce_array}


def _address(buffer: Any) -> int:
    return np.frombuffer(buffer, np.uint8).__array_interface__["data"][0]


def _aligned(n: int) -> int:
    return -(-n // ALIGN) * ALIGN


class Sender:
    """The worker's side: owns the segments, and packs one batch after the other."""

    def __init__(self, shared: bool = AVAILABLE):
        self._shared = shared
        self._mapped: dict[int, mmap.mmap] = {}
        self._idle: set[int] = set()  # of these, the ones that the loader does not use
        self._lent: dict[int, weakref.ref] = {}  # the array that this process used last to fill a segment
        self._count = 0
        self.shortage: str | None = None  # why there is no shared memory, once that has happened
        self._start()

    def _start(self) -> None:
        """Choose the segment of the coming batch: the largest idle one that nothing in this process still uses."""
        usable = [n for n in self._idle if n not in self._lent or self._lent[n]() is None]
        self._segment = max(usable, key=lambda n: len(self._mapped[n]), default=None)
        self._used = 0
        self._whole = None if self._segment is None else self._borrow(self._segment)

    def _borrow(self, number: int) -> np.ndarray:
        whole = np.frombuffer(self._mapped[number], np.uint8)
        self._lent[number] = weakref.ref(whole)  # all arrays in the segment keep `whole` alive
        return whole

    def release(self, idle: list[int], dropped: list[int]) -> None:
        """The loader has no more use for these segments, or will never have one again."""
        self._idle.update(idle)
        for number in dropped:
            self._forget(number)
        if self._segment is None:
            self._start()

    def _forget(self, number: int) -> None:
        for record in (self._mapped, self._lent):
            record.pop(number, None)
        self._idle.discard(number)

    def empty(self, shape: tuple, dtype: np.dtype) -> np.ndarray | None:
        """An array for a part of the batch, in the segment; None where that has no room left."""
        size = math.prod(shape) * dtype.itemsize
        if self._whole is None or self._used + size > len(self._whole) or size == 0:
            return None
        array = np.ndarray(shape, dtype, buffer=self._whole, offset=self._used)
        self._used = _aligned(self._used + size)
        return array

    def pack(self, batch: Any) -> tuple[Packed, int | None]:
        """The batch, ready to be sent, and the descriptor of the segment if that is new."""
        buffers: list[memoryview] = []

        def out_of_band(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes == 0 or (raw.nbytes < SMALL and self._offset(raw) is None):
                return True  # into the message
            buffers.append(raw)
            return False

        message = io.BytesIO()
        _Pickler(message, protocol=5, buffer_callback=out_of_band if self._shared else None).dump(batch)
        if not buffers:
            return (message.getvalue(), None, [], []), None
        try:
            places, given_up, descriptor = self._place(buffers)
        except OSError as error:
            needed = sum(raw.nbytes for raw in buffers)
            self.shortage = f"{needed:,} bytes of shared memory could not be reserved ({error.strerror})"
            self._shared = False
            return self.pack(batch)
        segment = self._segment
        assert segment is not None
        self._idle.discard(segment)
        self._whole = None
        self._start()
        return (message.getvalue(), segment, places, given_up), descriptor

    def _offset(self, raw: memoryview) -> int | None:
        """Where in the segment this buffer lies, or None if it does not."""
        if self._whole is None:
            return None
        offset = _address(raw) - _address(self._whole)
        return offset if 0 <= offset < len(self._whole) else None

    def _place(self, buffers: list[memoryview]) -> tuple[list[tuple[int, int]], list[int], int | None]:
        """Bring all buffers into one segment: the present one, or a new one large enough."""
        offsets = [self._offset(raw) for raw in buffers]
        missing = sum(_aligned(raw.nbytes) for raw, offset in zip(buffers, offsets, strict=True) if offset is None)
        given_up: list[int] = []
        descriptor = None
        if self._whole is None or self._used + missing > len(self._whole):
            needed = sum(_aligned(raw.nbytes) for raw in buffers)
            size = _aligned(needed + needed // 8)  # batches differ a little in size
            descriptor = anonymous_file(size)
            if self._segment is not None:  # too small: there will be no more use for it
                given_up.append(self._segment)
                self._forget(self._segment)
            self._segment = self._count
            self._count += 1
            self._mapped[self._segment] = mmap.mmap(descriptor, size)
            self._whole = self._borrow(self._segment)
            self._used = 0
            offsets = [None] * len(buffers)
        places = []
        for raw, offset in zip(buffers, offsets, strict=True):
            if offset is None:
                offset, self._used = self._used, _aligned(self._used + raw.nbytes)
                self._whole[offset : offset + raw.nbytes] = np.frombuffer(raw, np.uint8)
            places.append((offset, offset + raw.nbytes))
        return places, given_up, descriptor


# Counts the forks of this process. A child goes on seeing the segments that were in use when it was forked, so these
# must not be filled again: it may have kept an array that the parent has dropped.
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_count_fork)


class Receiver:
    """The loader's side for one worker: builds batches on its segments, and notices when they are done with."""

    def __init__(self, hold: int = HELD):
        self._hold = hold
        self._mapped: dict[int, mmap.mmap] = {}
        self._leases: dict[int, weakref.ref] = {}  # segments in use
        self._idle: list[int] = []
        self._dropped: list[int] = []

    def released(self) -> tuple[list[int], list[int]]:
        """The segments that came free since the last call: to be filled again, and to be closed."""
        idle, dropped = self._idle[:], self._dropped[:]
        del self._idle[: len(idle)], self._dropped[: len(dropped)]  # arrays may die, in any thread, meanwhile
        return idle, dropped

    def unpack(self, packed: Packed, descriptor: int | None) -> Any:
        """The batch of `Sender.pack`."""
        pickled, segment, places, given_up = packed
        for number in given_up:
            self._mapped.pop(number, None)
        if segment is None:
            return pickle.loads(pickled)
        if descriptor is not None:
            self._mapped[segment] = mmap.mmap(descriptor, 0)
            os.close(descriptor)
        whole: Any = np.frombuffer(self._mapped[segment], np.uint8)
        if len(self._leases) >= self._hold:
            view = memoryview(whole[: max(end for _, end in places)].copy())
            self._idle.append(segment)
        else:
            view = memoryview(whole)
            self._lease(segment, whole)
        return pickle.loads(pickled, buffers=[view[start:end] for start, end in places])

    def close(self) -> None:
        """Let go of all segments but those that a batch still lies in."""
        self._mapped.clear()

    def _lease(self, segment: int, whole: np.ndarray) -> None:
        """The segment is in use until `whole`, which every array of the batch keeps alive, is gone."""
        leases, idle, dropped, mapped, forks = self._leases, self._idle, self._dropped, self._mapped, _forks

        def end(_: Any) -> None:
            del leases[segment]
            if forks == _forks:
                idle.append(segment)
            else:
                mapped.pop(segment, None)
                dropped.append(segment)

        leases[segment] = weakref.ref(whole, end)
