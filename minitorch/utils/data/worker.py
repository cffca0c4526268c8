"""What runs in a worker process, and how a batch is fetched in any process (torch's worker.py and fetch.py).

A worker seeds itself, takes tasks (the number of a batch and the indices of its samples) from its channel, and sends
back batches, until the channel ends. Messages to the loader are pickled tuples `(kind, batch number, ...)`.
"""

import gc
import os
import pickle
import random
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

import minitorch
from minitorch.utils.data import collate
from minitorch.utils.data.channel import Channel
from minitorch.utils.data.dataset import samples_of
from minitorch.utils.data.memory import AVAILABLE, Sender

BATCH, ERROR, END, RESUMED, SHORTAGE = "batch", "error", "end", "resumed", "shortage"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this process is: its number, out of how many, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process, a WorkerInfo; None in the main process."""
    return _worker_info


@dataclass
class Source:
    """What a batch is made from: the part of a DataLoader's settings that a worker needs."""

    dataset: Any
    iterable: bool
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool

    def fetcher(self) -> Callable[[Any], Any]:
        """A function from a batch's indices to the batch. Raises StopIteration at the end of an iterable dataset."""
        return self._from_stream() if self.iterable else self._from_map()

    def _from_map(self) -> Callable[[Any], Any]:
        dataset, collate_fn = self.dataset, self.collate_fn
        at_once = getattr(dataset, "_batch", None) if collate.is_default(collate_fn) else None

        def fetch(index: Any) -> Any:
            if not self.auto_collation:
                return collate_fn(dataset[index])
            batch = at_once(index) if at_once else None
            return collate_fn(samples_of(dataset, index)) if batch is None else batch

        return fetch

    def _from_stream(self) -> Callable[[Any], Any]:
        samples = iter(self.dataset)
        ended = False

        def fetch(index: Any) -> Any:
            nonlocal ended
            if ended:
                raise StopIteration
            if not self.auto_collation:
                return self.collate_fn(next(samples))
            batch = list(islice(samples, len(index)))
            ended = len(batch) < len(index)
            if not batch or (ended and self.drop_last):
                raise StopIteration
            return self.collate_fn(batch)

        return fetch


class WorkerError:
    """An exception of a worker, as it travels to the loader: its class, its text with the traceback, and the place."""

    def __init__(self, error: BaseException, worker_id: int):
        self.kind: type = type(error)
        self.where = f"in DataLoader worker process {worker_id}"
        self.text = "".join(traceback.format_exception(error))

    def reraise(self) -> None:
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            raise KeyError(_Verbatim(message))
        try:
            error = self.kind(message)
        except Exception:  # a class that wants other arguments
            error = RuntimeError(message)
        raise error

    def pickled(self) -> bytes:
        try:
            return pickle.dumps(self)
        except Exception:  # a class without a name to import it by
            self.text = f"{self.kind.__qualname__}: {self.text}"
            self.kind = RuntimeError
            return pickle.dumps(self)


class _Verbatim(str):
    """A text that KeyError, which shows the repr of its argument, shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seed Python's, NumPy's and minitorch's generators as torch seeds a worker's; gives the seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    minitorch.manual_seed(seed)
    # NumPy's legacy generator is the same Mersenne twister as the other two: an unrelated seed keeps the streams apart
    words = np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4)
    np.random.seed(words)
    return seed


def run_worker(
    sock: socket.socket, source: Source, worker_id: int, num_workers: int, base_seed: int, init_fn: Any
) -> None:
    """The life of a worker process."""
    # Ctrl-C reaches every process of the terminal, but whether to stop is the main program's decision (it may want to
    # end its epoch): a worker ends when its loader does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what was inherited by fork stays shared with the parent: the collector need not touch it

    def prepare() -> None:
        global _worker_info
        minitorch.set_num_threads(1)
        seed = seed_worker(base_seed, worker_id)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, source.dataset)
        if init_fn is not None:
            init_fn(worker_id)

    channel = Channel(sock)
    try:
        _Service(channel, source, worker_id).run(prepare)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the loader is gone, or wants no more
    finally:
        collate.batch_memory = None
        channel.close()


class _Service:
    """Answers each task with a message: a batch, an error, or (of an iterable dataset) the end."""

    def __init__(self, channel: Channel, source: Source, worker_id: int):
        self.channel = channel
        self.source = source
        self.worker_id = worker_id
        self.memory = Sender(AVAILABLE)
        collate.batch_memory = self.memory.empty

    def run(self, prepare: Callable[[], None]) -> None:
        self._begin_epoch(prepare)
        while True:
            number, index, idle, dropped = pickle.loads(self.channel.wait())
            self.memory.release(idle, dropped)
            if number is None:  # persistent workers: a new epoch
                self._begin_epoch()
                self.channel.send(pickle.dumps((RESUMED, None)))
            elif not self.exhausted:
                self._answer(number, index)

    def _begin_epoch(self, prepare: Callable[[], None] | None = None) -> None:
        self.exhausted = False
        self.broken: WorkerError | None = None  # what prevents this epoch: the answer to all its tasks
        try:
            if prepare is not None:
                prepare()
            self.fetch = self.source.fetcher()
        except Exception as error:
            self.broken = WorkerError(error, self.worker_id)

    def _answer(self, number: int, index: Any) -> None:
        descriptor = None
        message: tuple[str, int, Any]
        try:
            if self.broken is not None:
                message = (ERROR, number, self.broken.pickled())
            else:
                packed, descriptor = self.memory.pack(self.fetch(index))
                message = (BATCH, number, packed)
        except Exception as error:
            if self.source.iterable and isinstance(error, StopIteration):
                self.exhausted = True
                message = (END, number, None)
            else:
                message = (ERROR, number, WorkerError(error, self.worker_id).pickled())
        if self.memory.shortage:
            self.channel.send(pickle.dumps((SHORTAGE, None, self.memory.shortage)))
            self.memory.shortage = None
        self.channel.send(pickle.dumps(message), descriptor)
        if descriptor is not None:
            os.close(descriptor)  # the loader has it
