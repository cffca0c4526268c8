"""Datasets, samplers, collating and the loader in one process, beside torch's."""

import collections
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
import torch.utils.data  # noqa: F401

import minitorch
import minitorch.utils.data  # noqa: F401
from minitorch.utils.data import profiling

BOTH = [torch, minitorch]


def plain(value):
    """Tensors as (dtype, nested lists), containers by type name: what can be compared across frameworks."""
    if hasattr(value, "numpy") and hasattr(value, "dtype"):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        return type(value).__name__, [plain(v) for v in value]
    return type(value).__name__, value


def same(function):
    """function(framework) gives the same under both, or raises the same class; the texts share torch's first words."""
    results = []
    for framework in BOTH:
        try:
            results.append(("value", plain(function(framework))))
        except Exception as error:
            results.append(("error", type(error).__name__, str(error)))
    theirs, ours = results
    if theirs[0] == "error":
        assert ours[:2] == theirs[:2]
        return theirs[2], ours[2]
    assert ours == theirs
    return ours[1]


# -- samplers

SEEDS = [0, 5, 123456789, 2**40]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_sampler_order(seed):
    def draw(t, **options):
        t.manual_seed(seed)
        sampler = t.utils.data.RandomSampler(range(37), **options)
        epochs = [list(sampler), list(sampler)]
        return epochs, len(sampler), t.rand(3).tolist()  # and the default generator has moved as far

    same(draw)
    same(lambda t: draw(t, num_samples=90))
    same(lambda t: draw(t, num_samples=5))
    same(lambda t: draw(t, replacement=True))
    same(lambda t: draw(t, replacement=True, num_samples=100))
    same(lambda t: draw(t, generator=t.Generator().manual_seed(seed + 1)))


@pytest.mark.parametrize("seed", SEEDS)
def test_other_samplers_order(seed):
    def subset(t):
        t.manual_seed(seed)
        sampler = t.utils.data.SubsetRandomSampler([3, 1, 4, 1, 5, 9, 2, 6])
        return list(sampler), list(sampler), len(sampler)

    def weighted(t, replacement, n):
        t.manual_seed(seed)
        sampler = t.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], n, replacement)
        return list(sampler), list(sampler), len(sampler)

    same(subset)
    same(lambda t: weighted(t, True, 25))
    same(lambda t: weighted(t, False, 5))
    same(lambda t: list(t.utils.data.SequentialSampler("abcd")))


@pytest.mark.parametrize("n", [0, 1, 3, 10, 11])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_distributed_sampler(n, drop_last, shuffle):
    def shares(t):
        found = []
        for rank in range(3):
            sampler = t.utils.data.DistributedSampler(range(n), 3, rank, shuffle, seed=3, drop_last=drop_last)
            found.append((len(sampler), list(sampler)))
            sampler.set_epoch(4)
            found.append(list(sampler))
        return found

    same(shares)


def test_batch_sampler():
    for drop_last in (False, True):
        for size in (1, 3, 5, 20):
            same(lambda t, s=size, d=drop_last: [
                list(t.utils.data.BatchSampler(range(10), s, d)), len(t.utils.data.BatchSampler(range(10), s, d))
            ])


@pytest.mark.parametrize("make", [
    lambda t: t.utils.data.RandomSampler(range(3), replacement=1),
    lambda t: t.utils.data.RandomSampler(range(3), num_samples=0),
    lambda t: t.utils.data.RandomSampler([]),
    lambda t: t.utils.data.WeightedRandomSampler([1.0], 0),
    lambda t: t.utils.data.WeightedRandomSampler([1.0], True),
    lambda t: t.utils.data.WeightedRandomSampler([1.0], 1, replacement=2),
    lambda t: t.utils.data.WeightedRandomSampler([[1.0]], 1),
    lambda t: t.utils.data.BatchSampler([1], 0, False),
    lambda t: t.utils.data.BatchSampler([1], 2, None),
    lambda t: t.utils.data.DistributedSampler([1], 2, 2),
    lambda t: iter(t.utils.data.Sampler()),
])
def test_sampler_errors(make):
    theirs, ours = same(make)
    assert ours == theirs


# -- datasets

class Squares:
    def __init__(self, t, n):
        self.t, self.n = t, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.t.tensor(float(i)) ** 2


class Stream:
    """Mixed into each framework's IterableDataset."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def stream(t, n, length=None):
    namespace = {"__len__": lambda self: length} if length is not None else {}
    return type("Numbers", (Stream, t.utils.data.IterableDataset), namespace)(n)


def test_tensor_dataset():
    def take(t):
        data = t.utils.data.TensorDataset(t.arange(12).reshape(6, 2), t.arange(6) * 1.5)
        return data[2], data[-1], data[1:3], len(data)

    same(take)
    same(lambda t: t.utils.data.TensorDataset(t.zeros(2), t.zeros(3)))


def test_containers_of_datasets():
    def build(t):
        data = t.utils.data
        a, b = data.TensorDataset(t.arange(4)), data.TensorDataset(t.arange(10, 13))
        both = data.ConcatDataset([a, b])
        assert isinstance(a + b, data.ConcatDataset)
        assert isinstance(stream(t, 2) + stream(t, 3), data.ChainDataset)
        chain = data.ChainDataset([stream(t, 2, 2), stream(t, 3, 3)])
        stack = data.StackDataset(a, a)
        named = data.StackDataset(x=a, y=a)
        subset = data.Subset(both, [6, 0, 3])
        return [
            [both[i] for i in range(-7, 7)], len(both), list(chain), len(chain), stack[1], named[2], len(named),
            stack.__getitems__([0, 3]), named.__getitems__([2, 1]), subset[0], len(subset), subset.__getitems__([2, 1]),
        ]

    same(build)


@pytest.mark.parametrize("make", [
    lambda t: t.utils.data.ConcatDataset([]),
    lambda t: t.utils.data.ConcatDataset([stream(t, 2)]),
    lambda t: t.utils.data.ConcatDataset([t.utils.data.TensorDataset(t.arange(3))])[-4],
    lambda t: t.utils.data.StackDataset(),
    lambda t: t.utils.data.StackDataset([1], a=[1]),
    lambda t: t.utils.data.StackDataset([1], [1, 2]),
    lambda t: list(t.utils.data.ChainDataset([[1]])),
    lambda t: t.utils.data.Dataset()[0],
    lambda t: t.utils.data.random_split(range(4), [1, 2]),
    lambda t: t.utils.data.random_split(range(4), [1.5, -0.5]),
    lambda t: type("Sub", (t.utils.data.Subset,), {"__getitem__": lambda self, i: i})([1], [0]),
])
def test_dataset_errors(make):
    theirs, ours = same(make)
    assert ours.startswith(theirs.rstrip(".!")[:40])


@pytest.mark.parametrize("lengths", [[3, 7], [10], [0, 10], [0.3, 0.3, 0.4], [0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])
@pytest.mark.parametrize("own_generator", [False, True])
def test_random_split(lengths, own_generator):
    def split(t):
        t.manual_seed(11)
        options = {"generator": t.Generator().manual_seed(42)} if own_generator else {}
        parts = t.utils.data.random_split(range(10), lengths, **options)
        return [part.indices for part in parts], [list(part) for part in parts], t.rand(2).tolist()

    same(split)


def test_random_split_warns_of_an_empty_part():
    with pytest.warns(UserWarning, match="Length of split at index 2 is 0"):
        minitorch.utils.data.random_split(range(2), [0.4, 0.5, 0.1])


# -- collate

Point = collections.namedtuple("Point", "x y")


class Registry(collections.UserDict):
    """A mapping with a life of its own."""


BATCHES = {
    "tensors": lambda t: [t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])],
    "scalars": lambda t: [t.tensor(1), t.tensor(2)],
    "empty tensors": lambda t: [t.zeros(0, 3), t.zeros(0, 3)],
    "bool": lambda t: [t.tensor([True]), t.tensor([False])],
    "half": lambda t: [t.tensor([1.5], dtype=t.float16), t.tensor([2.5], dtype=t.float16)],
    "bfloat16": lambda t: [t.tensor([1.5], dtype=t.bfloat16), t.tensor([2.5], dtype=t.bfloat16)],
    "mixed dtypes": lambda t: [t.tensor([1]), t.tensor([2.5])],
    "transposed": lambda t: [t.arange(6).reshape(2, 3).t(), t.arange(6).reshape(2, 3).t()],
    "int": lambda t: [1, 2, 3],
    "float": lambda t: [1.0, 2.5],
    "python bool": lambda t: [True, False],
    "int and float": lambda t: [1, 2.5],
    "float and int": lambda t: [1.0, 2],
    "bool and int": lambda t: [True, 2],
    "strings": lambda t: ["a", "bc"],
    "bytes": lambda t: [b"a", b"bc"],
    "dicts": lambda t: [{"a": 1, "b": [1.0, 2]}, {"a": 2, "b": [3.0, 4]}],
    "ordered": lambda t: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    "user dict": lambda t: [Registry(a=1), Registry(a=2)],
    "mapping proxy": lambda t: [types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})],
    "named tuples": lambda t: [Point(1, t.zeros(2)), Point(2, t.ones(2))],
    "tuples": lambda t: [(1, "x", 2.0), (3, "y", 4.0)],
    "lists": lambda t: [[1, 2], [3, 4]],
    "deque": lambda t: [collections.deque([1, 2]), collections.deque([3, 4])],
    "range": lambda t: [range(2), range(2)],
    "arrays": lambda t: [np.arange(3), np.arange(3) + 1],
    "array scalars": lambda t: [np.array(1.5), np.array(2.5)],
    "float32 scalars": lambda t: [np.float32(1.5), np.float32(2)],
    "float64 scalars": lambda t: [np.float64(1.5), np.float64(2)],
    "int16 scalars": lambda t: [np.int16(1), np.int16(2)],
    "bool scalars": lambda t: [np.bool_(True), np.bool_(False)],
    "nested": lambda t: [{"p": Point(np.ones(2), (i, {"k": t.ones(1)}))} for i in range(2)],
    "string arrays": lambda t: [np.array(["a"]), np.array(["b"])],
    "object arrays": lambda t: [np.array([None]), np.array([None])],
    "none": lambda t: [None, None],
    "sets": lambda t: [{1}, {2}],
    "unequal lists": lambda t: [[1, 2], [3]],
    "unequal tensors": lambda t: [t.zeros(2), t.zeros(3)],
    "missing key": lambda t: [{"a": 1}, {"b": 1}],
    "nothing": lambda t: [],
}


@pytest.mark.parametrize("name", BATCHES)
def test_default_collate(name):
    same(lambda t: t.utils.data.default_collate(BATCHES[name](t)))


@pytest.mark.parametrize("name", BATCHES)
def test_default_convert(name):
    same(lambda t: t.utils.data.default_convert(BATCHES[name](t)))


def test_collate_keeps_what_a_container_carries():
    first, second = Registry(a=1), Registry(a=2)
    first.source = "file"
    batch = minitorch.utils.data.default_collate([first, second])
    assert batch.source == "file" and batch["a"].tolist() == [1, 2]


def test_collate_error_names_position_and_shapes():
    zeros = minitorch.zeros
    samples = [{"image": zeros(1, 4, 4), "boxes": [zeros(2), zeros(n)]} for n in (3, 3, 5)]
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size") as caught:
        minitorch.utils.data.default_collate(samples)
    assert "sample['boxes'][1] has shape (3,) in entry 0 but (5,) in entry 2" in str(caught.value)
    with pytest.raises(KeyError, match="sample has the key 'a' in entry 0 but not in entry 1"):
        minitorch.utils.data.default_collate([{"a": 1}, {"b": 1}])
    with pytest.raises(RuntimeError, match=r"sample\[0\] has length 2 in entry 0 but 1 in entry 1"):
        minitorch.utils.data.default_collate([([1, 2],), ([1],)])


@pytest.mark.parametrize("numbers", [[2**63, 1], [-(2**63), 1], [-(2**63) - 1, 1]], ids=["large", "least", "less"])
def test_collate_of_numbers_at_the_limit(numbers):
    same(lambda t: t.utils.data.default_collate(numbers))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
@pytest.mark.parametrize("numbers", [[1, 2], [1.0, 2.0]], ids=str)
def test_collated_numbers_go_to_the_default_device(numbers):
    for t in BOTH:
        with t.device("cuda"), pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            t.utils.data.default_collate(numbers)


def test_collate_map_can_be_extended():
    class Graph:
        pass

    from minitorch.utils.data import collate

    graphs = [Graph(), Graph()]
    table = {Graph: lambda batch, *, collate_fn_map=None: tuple(batch), **collate.default_collate_fn_map}
    assert collate.collate(graphs, collate_fn_map=table) == tuple(graphs)


# -- the loader in one process

def epochs(t, dataset, count=2, seed=3, **options):
    t.manual_seed(seed)
    loader = t.utils.data.DataLoader(dataset, **options)
    return [list(loader) for _ in range(count)], t.rand(2).tolist()


@pytest.mark.parametrize("options", [
    {}, {"batch_size": 4}, {"batch_size": 4, "shuffle": True}, {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": None}, {"batch_size": None, "shuffle": True}, {"batch_size": 3, "sampler": [5, 2, 7, 7]},
    {"batch_sampler": [[1, 2], [9], [0, 0, 0]]}, {"batch_size": 20, "shuffle": True},
    {"batch_size": 4, "in_order": False},
], ids=str)
def test_batches_in_one_process(options):
    same(lambda t: epochs(t, t.utils.data.TensorDataset(t.arange(20).reshape(10, 2), t.arange(10.0)), **options))
    same(lambda t: epochs(t, Squares(t, 10), **options))
    same(lambda t: epochs(t, t.utils.data.Subset(t.utils.data.TensorDataset(t.arange(20)), range(2, 14)), **options))
    same(lambda t: len(t.utils.data.DataLoader(Squares(t, 10), **options)))


def test_own_generator():
    def run(t):
        generator = t.Generator().manual_seed(9)
        return epochs(t, Squares(t, 10), batch_size=3, shuffle=True, generator=generator), generator.initial_seed()

    same(run)


@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}])
@pytest.mark.parametrize("n", [0, 4, 10])
def test_iterable_dataset(options, n):
    same(lambda t: epochs(t, stream(t, n), **options))
    same(lambda t: len(t.utils.data.DataLoader(stream(t, n, n), **options)))


def test_iterable_dataset_longer_than_it_says():
    for t in BOTH:
        loader = t.utils.data.DataLoader(stream(t, 5, 2), batch_size=1)
        assert len(loader) == 2
        with pytest.warns(UserWarning, match="was reported to be 2.*but [345] samples have been fetched"):
            assert len(list(loader)) == 5


def test_collate_fn_gets_the_samples():
    same(lambda t: epochs(t, range(5), batch_size=2, collate_fn=lambda samples: sum(samples)))
    same(lambda t: epochs(t, range(5), batch_size=None, collate_fn=lambda sample: -sample))


@pytest.mark.parametrize("options", [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True}, {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "shuffle": True}, {"batch_sampler": [[1]], "sampler": [1]},
    {"batch_sampler": [[1]], "drop_last": True}, {"batch_size": None, "drop_last": True}, {"batch_size": 0},
    {"multiprocessing_context": "fork"}, {"num_workers": 1, "multiprocessing_context": "thread"},
    {"num_workers": 1, "multiprocessing_context": 3},
], ids=str)
def test_contradictory_arguments(options):
    theirs, ours = same(lambda t: t.utils.data.DataLoader(range(3), **options))
    assert ours.startswith(theirs[:55].rstrip(" ."))


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}], ids=str)
def test_contradictory_arguments_of_iterable_datasets(options):
    theirs, ours = same(lambda t: t.utils.data.DataLoader(stream(t, 3), **options))
    assert ours == theirs


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_settings_are_fixed_once_made(name):
    theirs, ours = same(lambda t: setattr(t.utils.data.DataLoader(range(3)), name, None))
    assert ours == theirs


def test_attributes():
    for t in BOTH:
        loader = t.utils.data.DataLoader(range(10), batch_size=4, num_workers=1)
        assert (loader.batch_size, loader.num_workers, loader.prefetch_factor, loader.drop_last) == (4, 1, 2, False)
        assert isinstance(loader.sampler, t.utils.data.SequentialSampler)
        assert isinstance(loader.batch_sampler, t.utils.data.BatchSampler)
        with pytest.raises(NotImplementedError):
            import pickle

            pickle.dumps(iter(t.utils.data.DataLoader(range(3))))


def test_pin_memory_without_an_accelerator_warns():
    loader = minitorch.utils.data.DataLoader(range(3), pin_memory=True)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(loader)) == 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
@pytest.mark.filterwarnings("ignore:The argument 'device' of Tensor:DeprecationWarning")
def test_pinned_memory_is_a_matter_of_accelerators():
    assert same(lambda t: t.ones(3).is_pinned()) == ("bool", False)
    assert same(lambda t: t.ones(3)[1:].is_pinned("cuda")) == ("bool", False)
    theirs, ours = same(lambda t: t.ones(3).pin_memory())
    assert ours == theirs


def test_pinned_memory_beside_a_stand_in_for_cupy(monkeypatch):
    """`pin_memory` asks CuPy for the memory, copies, keeps what is pinned, and `is_pinned` sees it through views."""

    class PinnedMemoryPointer(bytearray):
        pass

    def empty_pinned(shape, dtype):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.frombuffer(PinnedMemoryPointer(size), dtype).reshape(shape)

    cupyx = types.SimpleNamespace(empty_pinned=empty_pinned)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cupyx", cupyx)
    x = minitorch.arange(6.0).reshape(2, 3)
    pinned = x.t().pin_memory()
    assert pinned.tolist() == x.t().tolist() and not x.is_pinned()
    assert pinned.is_pinned() and pinned[1:].is_pinned() and pinned.pin_memory() is pinned
    assert not pinned.clone().is_pinned()


def test_too_many_workers_warn():
    for t in BOTH:
        with pytest.warns(UserWarning, match="will create 999 worker processes in total. Our suggested max number"):
            t.utils.data.DataLoader(range(3), num_workers=999)


# -- the ways to fetch a whole batch at once

def test_getitems_is_used():
    class Many:
        calls = 0

        def __len__(self):
            return 6

        def __getitems__(self, indices):
            self.calls += 1
            return [float(i) for i in indices]

    data = Many()
    batches = list(minitorch.utils.data.DataLoader(data, batch_size=3))
    assert data.calls == 2 and [b.tolist() for b in batches] == [[0, 1, 2], [3, 4, 5]]


def test_tensor_dataset_is_taken_row_by_row_only_if_it_must(monkeypatch):
    data = minitorch.utils.data.TensorDataset(minitorch.arange(10))
    monkeypatch.setattr(type(data), "__getitem__", lambda self, i: pytest.fail("one sample at a time"))
    batches = minitorch.utils.data.DataLoader(data, batch_size=5)
    assert [batch[0].tolist() for batch in batches] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_a_subclass_with_its_own_samples_is_not_short_cut():
    class Doubled(minitorch.utils.data.TensorDataset):
        def __getitem__(self, i):
            return tuple(2 * v for v in super().__getitem__(i))

    data = Doubled(minitorch.arange(4))
    assert next(iter(minitorch.utils.data.DataLoader(data, batch_size=4)))[0].tolist() == [0, 2, 4, 6]
    part = minitorch.utils.data.Subset(data, [3, 1])
    assert next(iter(minitorch.utils.data.DataLoader(part, batch_size=2)))[0].tolist() == [6, 2]


def test_changed_collate_table_is_not_short_cut(monkeypatch):
    from minitorch.utils.data import collate

    count = lambda batch, *, collate_fn_map=None: len(batch)
    monkeypatch.setitem(collate.default_collate_fn_map, minitorch.Tensor, count)
    data = minitorch.utils.data.TensorDataset(minitorch.arange(4))
    assert list(minitorch.utils.data.DataLoader(data, batch_size=4)) == [[4]]


def test_batch_is_a_copy_and_indices_are_checked():
    x = minitorch.arange(6.0)
    data = minitorch.utils.data.TensorDataset(x)
    batch = next(iter(minitorch.utils.data.DataLoader(data, batch_size=6)))[0]
    batch += 1
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    for sampler in ([0, 6], [-7, 0]):
        same(lambda t, s=sampler: list(
            t.utils.data.DataLoader(t.utils.data.TensorDataset(t.arange(6)), batch_size=2, sampler=s)
        ))
    same(lambda t: list(
        t.utils.data.DataLoader(t.utils.data.TensorDataset(t.arange(6)), batch_size=2, sampler=[-1, -6])
    ))


def test_differentiable_datasets_record():
    def run(t):
        x = t.arange(4.0).requires_grad_()
        (batch,) = next(iter(t.utils.data.DataLoader(t.utils.data.TensorDataset(x), batch_size=2)))
        batch.sum().backward()
        return x.grad

    same(run)


# -- benchmark

def test_benchmark_tells_the_two_kinds_of_loop_apart(capsys):
    import time

    class Slow(Squares):
        def __getitem__(self, i):
            time.sleep(0.002)
            return super().__getitem__(i)

    benchmark = minitorch.utils.data.benchmark
    report = benchmark(minitorch.utils.data.DataLoader(Slow(minitorch, 40), batch_size=4), step=lambda batch: None)
    assert report.loader_bound and report.batches == 10 and report.samples == 40
    printed = capsys.readouterr().out
    assert "samples/s" in printed and "Loader-bound" in printed and "Raise num_workers" in printed

    report = benchmark(
        minitorch.utils.data.DataLoader(Squares(minitorch, 20), batch_size=4), lambda batch: time.sleep(0.01), batches=4
    )
    assert not report.loader_bound and report.batches == 4 and "Compute-bound" in report.advice

    quick = minitorch.utils.data.TensorDataset(minitorch.arange(100))
    report = benchmark(minitorch.utils.data.DataLoader(quick, batch_size=10), quiet=True)
    assert "workers would not pay" in report.advice and capsys.readouterr().out.count("samples/s") == 1


def test_samples_are_counted_in_any_batch():
    for batch in (minitorch.zeros(3, 2), [minitorch.zeros(3, 2), 1], {"a": (minitorch.zeros(3),)}, ["a", "b", "c"]):
        assert profiling.count_samples(batch) == 3
    assert profiling.count_samples(7) == 1


def test_paths_that_programs_import():
    from minitorch.utils.data.dataloader import default_collate  # noqa: F401
    from minitorch.utils.data.dataset import random_split  # noqa: F401
    from minitorch.utils.data.sampler import RandomSampler  # noqa: F401

    pipes = {  # torch's abandoned attempt at composable pipelines
        "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "_DatasetKind", "argument_validation",
        "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
        "runtime_validation_disabled",
    }
    assert {name for name in torch.utils.data.__all__ if not hasattr(minitorch.utils.data, name)} == pipes


def test_torch_is_not_needed():
    code = "import sys; sys.modules['torch'] = None\nfrom minitorch import datasets, transforms, utils\nutils.data"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
