"""What is loaded: collections of samples (torch/utils/data/dataset.py).

A *map-style* dataset gives the sample of an index (`__getitem__`, and `__len__`), an *iterable* one gives samples in
its own order (`__iter__`). Three levels of speed are open to a map-style dataset, the loader takes the best one
offered:

    dataset[i]                one sample; the loader collates a list of them
    dataset.__getitems__(is)  a list of samples at once; the loader collates it (torch's protocol)
    dataset._batch(is)        the very batch that default_collate would make of these samples, or None if it cannot
"""

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

import minitorch
from minitorch.tensor import wrap
from minitorch.utils.data.collate import empty_batch

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Base of all datasets. Subclasses give `__getitem__` and, for the samplers, `__len__`."""

    _batch: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # a subclass with its own way to get a sample must not inherit the short cut of its base
        if {"__getitem__", "__getitems__"} & vars(cls).keys() and "_batch" not in vars(cls):
            cls._batch = None

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T], Iterable[T]):
    """Base of the datasets that are streams. Every worker iterates a copy: see `get_worker_info` to share out."""

    def __add__(self, other: Dataset) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


def rows_of(indices: Any, length: int) -> np.ndarray | None:
    """The indices as one array, or None where they are not plain integers that all lie within `length`."""
    if not len(indices) or type(indices[0]) is not int:
        return None
    rows = np.asarray(indices)
    if rows.ndim != 1 or rows.dtype.kind != "i" or rows.min() < -length or rows.max() >= length:
        return None
    return rows


def take_rows(tensor: Any, rows: np.ndarray) -> Any:
    """`tensor[rows]`, straight into the shared memory of the batch when in a worker."""
    if tensor.device.type != "cpu":
        return tensor[minitorch.as_tensor(rows, device=tensor.device)]
    array = tensor._array
    # "wrap" only spares NumPy a buffered copy (and serves negative indices): the bounds have been checked
    out = empty_batch((len(rows), *array.shape[1:]), array.dtype)
    return wrap(np.take(array, rows, axis=0, out=out, mode="wrap"))


class TensorDataset(Dataset[tuple]):
    """Sample i is the tuple of the i-th entries of the given tensors."""

    def __init__(self, *tensors: Any):
        lengths = [tensor.size(0) for tensor in tensors]
        if len(set(lengths)) > 1:
            raise AssertionError(f"Size mismatch between tensors: their first dimensions are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def _batch(self, indices: Any) -> list | None:
        rows = rows_of(indices, len(self))
        if rows is None or any(tensor.requires_grad for tensor in self.tensors):
            return None
        return [take_rows(tensor, rows) for tensor in self.tensors]

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Several datasets side by side: samples are tuples, or dicts where the datasets are given by name."""

    def __init__(self, *args: Dataset, **kwargs: Dataset):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]  # type: ignore[arg-type]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _assemble(self, parts: Iterable) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def _parts(self) -> Sequence:
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        return self._assemble(dataset[index] for dataset in self._parts())

    def __getitems__(self, indices: list) -> list:
        columns = [samples_of(dataset, indices) for dataset in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                )
        return [self._assemble(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def samples_of(dataset: Any, indices: list) -> Any:
    """The samples of these indices, at once where the dataset knows how."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


class ConcatDataset(Dataset):
    """Several map-style datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable) -> list[int]:
        return list(itertools.accumulate(len(part) for part in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[part][idx - (self.cumulative_sizes[part - 1] if part else 0)]


class ChainDataset(IterableDataset):
    """Several iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset only supports IterableDataset, but got {type(dataset).__name__}")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[T]):
    """The samples of a dataset at the given indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset = dataset
        self.indices = indices
        if type(self).__getitem__ is not Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{type(self).__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and "
                "overriding __getitem__, you must also override __getitems__ to ensure DataLoader works correctly "
                "with your custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> T:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def _batch(self, indices: list[int]) -> Any:
        at_once = getattr(self.dataset, "_batch", None)
        return at_once([self.indices[i] for i in indices]) if at_once else None

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Any = None) -> list[Subset]:
    """Split at random into subsets of the given lengths, or of the given fractions of the whole.

    Fractions are rounded down; what is left over goes one by one to the first subsets.
    """
    n = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1: got {fraction}")
        counts = [math.floor(n * fraction) for fraction in lengths]
        for i in range(n - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
        lengths = counts
    if sum(lengths) != n:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!"
            f" Got {list(lengths)}, which sum to {sum(lengths)}; the dataset has {n} samples"
        )
    order = minitorch.randperm(n, generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, lengths, strict=True)]  # type: ignore
