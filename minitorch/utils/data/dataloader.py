"""The DataLoader: a dataset, in batches, in an order, from this process or from workers (torch's dataloader.py).

    sampler  --indices-->  batch sampler  --lists of indices-->  fetch  --samples-->  collate_fn  --batch-->  the loop

Reading order: dataset.py (what), sampler.py (in which order), collate.py (into what), worker.py (`Source.fetcher`:
how a batch is fetched), iterator.py (in one process); then, for processes, channel.py, memory.py, the rest of
worker.py, and parallel.py.
"""

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from minitorch.utils.data.collate import default_collate, default_convert
from minitorch.utils.data.dataset import IterableDataset
from minitorch.utils.data.iterator import LoaderIterator, SerialIterator
from minitorch.utils.data.parallel import ParallelIterator
from minitorch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from minitorch.utils.data.worker import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T = TypeVar("T", covariant=True)

FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless(Sampler):
    """The sampler of an iterable dataset, which has its own order: as many meaningless indices as one wants."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T]):
    """An iterable over the batches of a dataset.

    dataset          map-style (`__getitem__`, `__len__`) or an IterableDataset
    batch_size       samples per batch; None gives single samples, converted but not collated
    shuffle          a new random order every epoch
    sampler          any iterable of indices instead; `batch_sampler` any iterable of lists of indices
    num_workers      processes that load; 0 loads in the loop
    collate_fn       from a list of samples to a batch; default_collate if None
    pin_memory       batches in page-locked memory, where there is a GPU
    drop_last        leave out a last batch that is not full
    timeout          seconds to wait for a batch of the workers; 0 waits as long as they live
    worker_init_fn   called with the worker's number in each worker, after seeding
    multiprocessing_context  "fork", "spawn", "forkserver" or a context; None is Python's default
    generator        draws the order and the workers' seeds; None is the default generator
    prefetch_factor  batches that each worker has under way (2)
    persistent_workers  keep the workers from one epoch to the next
    in_order         give the batches in the sampler's order, not in that of their arrival

    Raises ValueError for settings that contradict each other, RuntimeError from the loop when a worker dies or the
    timeout passes, and what a dataset raises, with the worker's number and its traceback.
    """

    _initialized = False
    _iterator: ParallelIterator | None = None
    _promised_length: int | None = None  # what len() said about an iterable dataset

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
                f" Got num_workers={num_workers}"
            )
        if timeout < 0:
            raise ValueError(f"timeout option should be non-negative, but got timeout={timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError(f"prefetch_factor option should be non-negative, but got {prefetch_factor}")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            if self._iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                    f"but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                        f"but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start"
                    f" method, but got multiprocessing_context={context}"
                )
        self._context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> LoaderIterator:
        if self.num_workers == 0:
            return SerialIterator(self)
        if not self.persistent_workers:
            return ParallelIterator(self)
        if self._iterator is None or self._iterator._closed:
            self._iterator = ParallelIterator(self)
        else:
            self._iterator.resume(self)
        return self._iterator

    def __len__(self) -> int:
        """The number of batches. Of an iterable dataset: what its own `__len__` suggests."""
        if not self._iterable:
            return len(self._index_sampler)
        length = self._promised_length = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return length

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than processors that this process may use."""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of"
                f" worker in current system is {processors}, which is smaller than what this DataLoader is going to"
                " create. Please be aware that excessive worker creation might get DataLoader running slow or even"
                " freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )
