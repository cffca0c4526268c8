"""What all iterators of a DataLoader do, and the one that loads in the loop's own process (torch's _BaseDataLoaderIter
and _SingleProcessDataLoaderIter)."""

import warnings
from typing import Any

from minitorch.utils.data.pin_memory import accelerator_available, pin_memory
from minitorch.utils.data.sampler import draw_seed
from minitorch.utils.data.worker import Source


class LoaderIterator:
    def __init__(self, loader: Any):
        self._source = Source(
            loader.dataset, loader._iterable, loader._auto_collation, loader.collate_fn, loader.drop_last
        )
        if loader.pin_memory and not accelerator_available():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
                stacklevel=4,
            )
        self._pin_memory = loader.pin_memory and accelerator_available()
        self._restart(loader)
        self._base_seed = draw_seed(loader.generator)  # also where there are no workers: torch draws it

    def _restart(self, loader: Any) -> None:
        self._indices = iter(loader._index_sampler)
        self._index_sampler = loader._index_sampler
        self._promised = loader._promised_length
        self._workers_used = loader.num_workers
        self._yielded = 0

    def _next_index(self) -> Any:
        return next(self._indices)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> "LoaderIterator":
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._yielded += 1
        if self._promised is not None and self._yielded > self._promised:
            self._warn_length()
        return pin_memory(data) if self._pin_memory else data

    def _warn_length(self) -> None:
        message = (
            f"Length of IterableDataset {self._source.dataset} was reported to be {self._promised} (when accessing"
            f" len(dataloader)), but {self._yielded} samples have been fetched. "
        )
        if self._workers_used > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the"
                " IterableDataset replica at each worker: see get_worker_info."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class SerialIterator(LoaderIterator):
    def __init__(self, loader: Any):
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError(f"a DataLoader without workers requires timeout == 0, but got {loader.timeout}")
        self._fetch = self._source.fetcher()

    def _next_data(self) -> Any:
        return self._fetch(self._next_index())


