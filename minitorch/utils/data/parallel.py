"""The iterator of a DataLoader with worker processes (torch/utils/data/dataloader.py, _MultiProcessingDataLoaderIter).

Batch i is made by worker i modulo their number (exhausted workers of an iterable dataset are passed over), and each
worker has up to `prefetch_factor` batches under way. The loader waits for all workers at once, on their channels; the
end of a channel is the death of its worker.
"""

import itertools
import multiprocessing
import os
import pickle
import selectors
import signal
import time
import warnings
import weakref
from collections import deque
from typing import Any

from minitorch.utils.data import channel as channels
from minitorch.utils.data.iterator import LoaderIterator
from minitorch.utils.data.memory import HELD, Receiver
from minitorch.utils.data.worker import BATCH, END, ERROR, RESUMED, SHORTAGE, run_worker

CHECK = 0.5  # seconds between looks at the processes, should one have died without its channel ending
GRACE = 2.0  # seconds that a worker may take to finish its sample when the iterator ends; then it is terminated

SELECTOR = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no descriptor of its own

class _Worker:
    """The loader's view of one worker process."""

    def __init__(self, process: Any, channel: channels.Channel, hold: int):
        self.process = process
        self.channel = channel
        self.memory = Receiver(hold)
        self.active = True  # has samples left in this epoch
        self.heard = False  # has ever sent a message
        self.tasks = 0  # under way

    def post(self, number: int | None, index: Any) -> None:
        self.channel.post(pickle.dumps((number, index, *self.memory.released()), protocol=5))


class _Team:
    """The workers of an iterator, and their end; with the iterator (whose cycles are collected in any order) or the
    program. It does not know the iterator, so that it is whole when it is closed."""

    def __init__(self) -> None:
        self.workers: list[_Worker] = []
        self.selector = SELECTOR()
        self.owner = os.getpid()
        self.closed = False

    def close(self, grace: float = GRACE) -> None:
        """End the workers; in bounded time, whatever they are doing."""
        if self.closed or os.getpid() != self.owner:
            return
        self.closed = True
        for worker in self.workers:
            worker.channel.close()  # a worker ends when it next reads or writes
            worker.memory.close()
        self.selector.close()
        deadline = time.monotonic() + grace
        for end in (None, "terminate", "kill"):
            for worker in self.workers:
                if end and worker.process.is_alive():
                    getattr(worker.process, end)()
            for worker in self.workers:
                worker.process.join(max(deadline - time.monotonic(), 0))
            deadline = time.monotonic() + GRACE
        for worker in self.workers:
            if not worker.process.is_alive():
                worker.process.close()  # gives back its descriptors now, not at some later collection


class ParallelIterator(LoaderIterator):
    def __init__(self, loader: Any):
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for a DataLoader with workers,"
                f" but got prefetch_factor={loader.prefetch_factor}"
            )
        self._max_tasks = loader.prefetch_factor * loader.num_workers
        self._in_order = loader.in_order
        self._timeout = loader.timeout
        self._persistent = loader.persistent_workers
        self._context = loader.multiprocessing_context or multiprocessing.get_context()
        self._failure: str | None = None
        self._warned = False
        self._team = _Team()
        self._workers, self._selector = self._team.workers, self._team.selector
        weakref.finalize(self, self._team.close)
        self._ready: dict[int, tuple[str, Any]] = {}  # batch that came early: its message
        self._inbox: deque[tuple[int, str, int | None, Any]] = deque()
        try:
            for worker_id in range(loader.num_workers):
                self._start(worker_id, loader)
        except BaseException:
            self.close()
            raise
        self._begin_epoch(loader)

    # -- processes

    def _start(self, worker_id: int, loader: Any) -> None:
        channel, theirs = channels.pair()
        process = self._context.Process(
            target=run_worker,
            args=(theirs, self._source, worker_id, loader.num_workers, self._base_seed, loader.worker_init_fn),
            name=f"DataLoader worker {worker_id}",
            daemon=True,
        )
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            channel.close()
            raise type(error)(
                f"DataLoader cannot send its dataset, collate_fn or worker_init_fn to a worker process: {error}. With"
                f" the start method {self._method!r} they are pickled: make them instances of classes and functions"
                " defined at the top level of a module (no lambda, no local class or function, no open file),"
                " or use multiprocessing_context='fork'"
            ) from error
        except (BrokenPipeError, EOFError) as error:
            channel.close()
            process.join(1)
            raise RuntimeError(f"DataLoader worker {worker_id} ended while it was started. {self._advice}") from error
        finally:
            theirs.close()
        self._workers.append(_Worker(process, channel, max(HELD // loader.num_workers, 1)))
        self._selector.register(channel, selectors.EVENT_READ, worker_id)

    @property
    def _method(self) -> str:
        return self._context.get_start_method()

    @property
    def _advice(self) -> str:
        return (
            f"With the start method {self._method!r} a worker imports the main program again: everything that runs"
            " there must stand under `if __name__ == \"__main__\":`, and the dataset must be importable from a module"
        )

    @property
    def _closed(self) -> bool:
        return self._team.closed

    def close(self, grace: float = GRACE) -> None:
        """End the workers, and give no more batches."""
        self._team.close(grace)
        self._ready.clear()
        self._inbox.clear()

    def _fail(self, worker_id: int) -> None:
        """A worker is gone: say which, and why; end the others."""
        process = self._workers[worker_id].process
        process.join(1)
        pid, code = process.pid, process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            cause = f"is killed by signal: {signal.strsignal(-code)} ({name})"
            if name == "SIGKILL":
                cause += "; the system does that when memory runs out"
            elif name == "SIGBUS":
                cause += "; it may have run out of shared memory"
        else:
            cause = f"exited with code {code}"
        message = f"DataLoader worker (pid(s) {pid}) exited unexpectedly: worker {worker_id} (pid {pid}) {cause}."
        if not self._workers[worker_id].heard and self._method != "fork":
            message += " " + self._advice
        self._failure = message
        self.close(grace=0.1)  # the loop should hear of it now, not after a long sample of another worker
        raise RuntimeError(message)

    # -- an epoch

    def _begin_epoch(self, loader: Any) -> None:
        self._restart(loader)
        self._sent = 0  # the number of the next batch to ask for
        self._wanted = 0  # the number of the next batch to give
        self._assigned: dict[int, int] = {}  # batch under way: its worker
        self._ready.clear()
        self._inbox.clear()
        self._turns = itertools.cycle(range(len(self._workers)))
        for worker in self._workers:
            worker.active = True
            worker.tasks = 0
        for _ in range(self._max_tasks):
            self._ask()

    def resume(self, loader: Any) -> None:
        """A new epoch with the same (persistent) workers; what is left of the old one is thrown away."""
        for worker in self._workers:
            worker.post(None, None)
        waiting = len(self._workers)
        while waiting:
            waiting -= self._receive()[1] == RESUMED
        self._begin_epoch(loader)

    def _ask(self) -> None:
        """Send the next batch's indices to the worker whose turn it is."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        share = self._max_tasks // max(sum(worker.active for worker in self._workers), 1)
        for worker_id in itertools.islice(self._turns, len(self._workers)):
            worker = self._workers[worker_id]
            if worker.active and (self._in_order or worker.tasks < share):
                break
        else:
            return
        worker.post(self._sent, index)
        self._watch(worker_id)
        self._assigned[self._sent] = worker_id
        worker.tasks += 1
        self._sent += 1

    def _next_data(self) -> Any:
        if self._failure:
            raise RuntimeError(self._failure)
        while True:
            while self._wanted < self._sent and self._wanted not in self._ready:
                owner = self._assigned.get(self._wanted)
                if owner is not None and self._workers[owner].active:
                    break
                self._assigned.pop(self._wanted, None)  # its worker has no more samples, or it was given out of order
                self._wanted += 1
            if self._wanted == self._sent or self._closed:
                if not self._persistent:
                    self.close()
                raise StopIteration
            if self._wanted in self._ready:
                return self._give(self._wanted, *self._ready.pop(self._wanted))
            worker_id, kind, number, content = self._receive()
            assert number is not None
            if kind == END:
                self._workers[worker_id].active = False
                self._ask()
            elif number != self._wanted and self._in_order:
                self._ready[number] = (kind, content)
            else:
                return self._give(number, kind, content)

    def _give(self, number: int, kind: str, content: Any) -> Any:
        self._workers[self._assigned.pop(number)].tasks -= 1
        self._ask()
        if kind == ERROR:
            content.reraise()
        return content

    # -- messages

    def _watch(self, worker_id: int) -> None:
        """Wait for this channel to become writable as well, as long as there is something unsent."""
        channel = self._workers[worker_id].channel
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.unsent else 0)
        if self._selector.get_key(channel).events != events:
            self._selector.modify(channel, events, worker_id)

    def _receive(self) -> tuple[int, str, int | None, Any]:
        """The next message of any worker. Raises RuntimeError at a worker's death, or after the timeout."""
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        try:
            while not self._inbox:
                wait = CHECK if deadline is None else min(CHECK, deadline - time.monotonic())
                if wait <= 0:
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
                events = self._selector.select(wait)
                for key, mask in events:
                    if mask & selectors.EVENT_WRITE:
                        self._workers[key.data].channel.flush()
                        self._watch(key.data)
                    if mask & selectors.EVENT_READ:
                        self._read(key.data)
                if not events:
                    for worker_id, worker in enumerate(self._workers):
                        if not worker.process.is_alive():
                            self._fail(worker_id)
        except BaseException as error:
            if not isinstance(error, Exception):  # Ctrl-C: the traceback may keep this iterator alive for long
                self.close()
            raise
        return self._inbox.popleft()

    def _read(self, worker_id: int) -> None:
        worker = self._workers[worker_id]
        for message, descriptor in worker.channel.receive():
            worker.heard = True
            kind, number, *content = pickle.loads(message)
            if kind == SHORTAGE:
                self._warn_shortage(worker_id, content[0])
                continue
            value: Any = None
            if kind == BATCH:
                value = worker.memory.unpack(content[0], descriptor)
            elif kind == ERROR:
                value = pickle.loads(content[0])
            self._inbox.append((worker_id, kind, number, value))
        if worker.channel.ended:
            self._fail(worker_id)

    def _warn_shortage(self, worker_id: int, shortage: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"DataLoader worker {worker_id}: {shortage}. It sends its batches through a socket now, which is"
                " slower; give the program more shared memory (in a container: --shm-size, or its memory limit), or"
                " use smaller batches, fewer workers or a smaller prefetch_factor",
                RuntimeWarning,
                stacklevel=6,
            )
