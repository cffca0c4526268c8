"""In which order the samples of a dataset are visited (torch/utils/data/sampler.py and distributed.py).

A sampler is an iterable of indices, a batch sampler an iterable of lists of indices. What is drawn at random, and when,
follows torch draw by draw, so that a seed gives the same order in both: a shuffling sampler without a generator takes
one 64-bit seed from the default generator and draws from a fresh generator, one with a generator draws from that.
"""

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import minitorch

T = TypeVar("T", covariant=True)


def draw_seed(generator: Any = None) -> int:
    """One draw of 63 bits: torch's `empty((), dtype=int64).random_()`."""
    return int(minitorch.empty((), dtype=minitorch.int64).random_(generator=generator).item())


def require_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[T]):
    """Base of all samplers: `__iter__` gives the indices. There is no default `__len__`: a sampler may be endless."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, ..., len(data_source) - 1."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A random order; with `replacement` each of the `num_samples` indices is drawn anew from all of them."""

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples  # the source may grow

    def __iter__(self) -> Iterator[int]:
        n, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = minitorch.Generator()
            generator.manual_seed(draw_seed())
        if self.replacement:
            # blocks of 32, as torch draws them: another loop drawing from the same generator sees the same stream
            for size in [32] * (count // 32) + [count % 32]:
                yield from minitorch.randint(n, (size,), generator=generator).tolist()
        else:
            for _ in range(count // n):
                yield from minitorch.randperm(n, generator=generator).tolist()
            yield from minitorch.randperm(n, generator=generator).tolist()[: count % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None):
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in minitorch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices, each drawn with a probability proportional to its weight."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ):
        require_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = minitorch.as_tensor(weights, dtype=minitorch.float64)
        if self.weights.ndim != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = minitorch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`; with `drop_last` a shorter last list is left out."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool):
        require_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        smallest = self.batch_size if self.drop_last else 1
        while len(batch := list(islice(indices, self.batch_size))) >= smallest:
            yield batch

    def __len__(self) -> int:
        n: int = len(self.sampler)  # type: ignore[arg-type]  # asked for only where the sampler has a length
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedSampler(Sampler[int]):
    """The share of process `rank` among `num_replicas`: every num_replicas-th index of one common order.

    The order is drawn from `seed + epoch`, hence `set_epoch` before each epoch. The list is filled up from its start
    (or, with `drop_last`, cut) so that every process gets the same number of samples.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "Requires distributed package to be available: minitorch has none, so num_replicas and rank must be"
                f" given, but got num_replicas={num_replicas}, rank={rank}"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        if self.shuffle:
            generator = minitorch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = minitorch.randperm(n, generator=generator).tolist()
        else:
            indices = list(range(n))
        indices = (indices * math.ceil(self.total_size / max(n, 1)))[: self.total_size]
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the coming epoch; the same on every process."""
        self.epoch = epoch
