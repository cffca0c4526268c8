"""The loader with worker processes, beside torch's: the same batches, made by the same workers, with the same draws."""

import gc
import os
import random
import time

import numpy as np
import pytest
import torch
import torch.utils.data  # noqa: F401

import minitorch
from minitorch.utils.data import memory, parallel
from minitorch.utils.data.worker import WorkerError, seed_worker

data = minitorch.utils.data
BOTH = [torch, minitorch]
# from Python 3.12 on, forking a process that has threads (torch's, here) warns
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


class Witness:
    """Each sample says who made it, with which seed, and what the three generators gave."""

    def __init__(self, t, n=13):
        self.t, self.n = t, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        info = self.t.utils.data.get_worker_info()
        who = (info.id, info.num_workers, info.seed, info.dataset is self, len(info.dataset)) if info else None
        return i, who, self.t.rand(2).tolist(), random.random(), float(np.random.rand())


class Shards:
    """Mixed into each framework's IterableDataset: worker k gives k, k + workers, ...; the last ones fewer."""

    def __init__(self, t, n):
        self.t, self.n = t, n

    def __iter__(self):
        info = self.t.utils.data.get_worker_info()
        for i in range(info.id, self.n, info.num_workers + info.id):
            yield i, info.id, self.t.rand(1).item()


def shards(t, n):
    return type("Sharded", (Shards, t.utils.data.IterableDataset), {})(t, n)


def as_is(samples):
    return samples


def run(t, dataset, epochs=2, seed=5, **options):
    t.manual_seed(seed)
    loader = t.utils.data.DataLoader(dataset, collate_fn=as_is, **options)
    return [list(loader) for _ in range(epochs)], t.rand(2).tolist()


@pytest.mark.parametrize("options", [
    {"num_workers": 1}, {"num_workers": 2}, {"num_workers": 2, "batch_size": 3, "shuffle": True},
    {"num_workers": 2, "batch_size": 3, "shuffle": True, "persistent_workers": True},
    {"num_workers": 2, "batch_size": 3, "shuffle": True, "drop_last": True, "prefetch_factor": 1},
    {"num_workers": 2, "batch_size": 3, "prefetch_factor": 7}, {"num_workers": 2, "batch_size": None, "shuffle": True},
    {"num_workers": 2, "batch_sampler": [[3, 1], [4], [1, 5, 9], [2, 6]]},
], ids=str)
def test_same_batches_by_the_same_workers(options):
    theirs, ours = (run(t, Witness(t), **options) for t in BOTH)
    assert ours == theirs


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_more_workers_than_batches():
    theirs, ours = (run(t, Witness(t, 5), num_workers=3, batch_size=2) for t in BOTH)
    assert ours == theirs


def test_own_generator_seeds_order_and_workers():
    def go(t):
        generator = t.Generator().manual_seed(77)
        return run(t, Witness(t), num_workers=2, shuffle=True, generator=generator)

    assert go(minitorch) == go(torch)


@pytest.mark.parametrize("options", [
    {"num_workers": 2, "batch_size": 3}, {"num_workers": 2, "batch_size": 3, "drop_last": True},
    {"num_workers": 2, "batch_size": None}, {"num_workers": 2, "batch_size": 2, "persistent_workers": True},
], ids=str)
def test_iterable_datasets_in_workers(options):
    theirs, ours = (run(t, shards(t, 20), **options) for t in BOTH)
    assert ours == theirs


def test_out_of_order():
    class Uneven(Witness):
        def __getitem__(self, i):
            if i == 0:
                time.sleep(0.4)
            return i

    loader = data.DataLoader(Uneven(minitorch, 8), num_workers=2, in_order=False, collate_fn=as_is)
    found = [batch[0] for batch in loader]
    assert found[0] != 0 and sorted(found) == list(range(8))


def test_no_two_workers_draw_the_same_and_a_restart_draws_the_same_again():
    first, again, other = (run(minitorch, Witness(minitorch), num_workers=2, seed=s) for s in (5, 5, 6))
    assert first == again != other
    draws = [sample[2][0] for epoch in first[0] for batch in epoch for sample in batch]
    assert len(set(draws)) == len(draws)


@pytest.mark.parametrize("base_seed", [0, 7, 2**33 + 5, 2**63 - 1])
def test_seeds_of_the_three_generators(base_seed):
    from torch.utils.data._utils.worker import _generate_state

    states = random.getstate(), np.random.get_state(), minitorch.get_rng_state()
    try:
        for worker_id in (0, 1, 5):
            assert seed_worker(base_seed, worker_id) == base_seed + worker_id
            ours = random.random(), np.random.rand(), minitorch.rand(3).tolist()
            random.seed(base_seed + worker_id)
            torch.manual_seed(base_seed + worker_id)
            np.random.seed(_generate_state(base_seed, worker_id))
            assert ours == (random.random(), np.random.rand(), torch.rand(3).tolist())
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        minitorch.set_rng_state(states[2])


def test_worker_init_fn_and_worker_info():
    def init(worker_id):
        data.get_worker_info().dataset.offset = 100 * worker_id

    class Offset(Witness):
        offset = 0

        def __getitem__(self, i):
            return i + self.offset

    loader = data.DataLoader(Offset(minitorch, 6), num_workers=2, worker_init_fn=init, collate_fn=as_is)
    assert list(loader) == [[0], [101], [2], [103], [4], [105]]
    assert data.get_worker_info() is None


# -- transport

class Zoo:
    """Everything that may be in a batch."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        big = np.full((40, 50), i, np.float32)
        return {
            "big": minitorch.from_numpy(big),
            "double": minitorch.from_numpy(big.astype(np.float64)),
            "half": minitorch.tensor([i + 0.5] * 1000, dtype=minitorch.bfloat16),
            "small": minitorch.tensor(i),
            "empty": minitorch.zeros(0, 3),
            "transposed": minitorch.from_numpy(big.T),
            "grad": minitorch.ones(600).requires_grad_(),
            "numpy": big,
            "fortran": np.asfortranarray(big[:, :30]),
            "strided": big[::2, ::3],
            "text": "t" * 100_000,
            "nested": [(i, {"x": big})],
            "none": None,
        }


def test_whatever_is_in_a_batch_arrives(monkeypatch):
    reference = [[Zoo()[i]] for i in range(4)]
    for shared in (True, False):  # False: a system that cannot pass file descriptors
        monkeypatch.setattr("minitorch.utils.data.worker.AVAILABLE", shared)
        loader = data.DataLoader(Zoo(), num_workers=2, collate_fn=as_is, multiprocessing_context="fork")
        for expected, found in zip(reference, loader, strict=True):
            for name, value in expected[0].items():
                other = found[0][name]
                if isinstance(value, minitorch.Tensor):
                    assert other.dtype is value.dtype and other.requires_grad == value.requires_grad
                    value, other = value.detach(), other.detach()
                    assert other.shape == value.shape and (other == value).all()
                elif isinstance(value, np.ndarray):
                    assert other.dtype == value.dtype and (other == value).all()
                elif name == "nested":
                    assert other[0][0] == value[0][0] and (other[0][1]["x"] == value[0][1]["x"]).all()
                else:
                    assert other == value
            big = found[0]["big"]
            big[0] = found[0]["numpy"][1] = 9.0  # what arrives can be written to
            assert big[0, 0].item() == 9


def test_a_graph_does_not_cross():
    class Recorded(Witness):
        def __getitem__(self, i):
            return minitorch.ones(2).requires_grad_() * 2

    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        next(iter(data.DataLoader(Recorded(minitorch), num_workers=1, collate_fn=as_is)))


class Images:
    def __init__(self, n=120):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return minitorch.from_numpy(np.full((3, 32, 32), i, np.float32)), i


def test_batches_stay_what_they_are_while_segments_are_used_again():
    held = []
    for i, (images, numbers) in enumerate(data.DataLoader(Images(), batch_size=4, num_workers=2)):
        assert (images.numpy()[:, 0, 0, 0] == np.arange(4 * i, 4 * i + 4)).all()
        if i % 3 == 0:
            held.append((numbers, images[:, 1:, ::2].numpy()))  # a view must keep the whole segment
    del images
    for numbers, part in held:
        assert (part == numbers.numpy()[:, None, None, None]).all()


def test_segments_are_used_again():
    loader = data.DataLoader(Images(), batch_size=4, num_workers=2)
    iterator = iter(loader)
    for _ in range(29):
        next(iterator)
    assert all(len(worker.memory._mapped) <= 5 for worker in iterator._workers)


def test_hoarded_batches_are_copied_out_and_descriptors_are_bounded():
    before = len(os.listdir("/proc/self/fd"))
    batches = list(data.DataLoader(Images(400), batch_size=2, num_workers=2))
    assert len(os.listdir("/proc/self/fd")) - before <= memory.HELD + 4
    for i, (images, _) in enumerate(batches):
        assert (images.numpy()[:, 2, 5, 7] == [2 * i, 2 * i + 1]).all()
    del batches, images
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_a_segment_that_a_child_may_see_is_not_filled_again():
    receiver, sender = memory.Receiver(), memory.Sender()
    sent = []
    for value in (1, 2, 3):
        packed, descriptor = sender.pack(np.full(5000, value))
        batch = receiver.unpack(packed, descriptor)
        sent.append(packed[1])
        if value == 2:
            memory._count_fork()  # what os.fork does
        del batch
        sender.release(*receiver.released())
    assert sent == [0, 0, 1]


def test_an_array_that_the_worker_keeps_is_not_overwritten():
    """A dataset that caches what default_collate gave it."""
    sender, receiver = memory.Sender(), memory.Receiver()
    first = sender.pack(np.zeros(5000))
    del first
    sender.release([0], [])
    kept = sender.empty((5000,), np.dtype(np.float64))
    kept[:] = 7
    packed, _ = sender.pack(kept)
    assert packed[1] == 0
    sender.release([0], [])
    assert sender._segment is None
    sender.pack(np.full(5000, 9.0))
    assert (kept == 7).all()
    del receiver


def test_collate_writes_into_shared_memory():
    sender = memory.Sender()
    sender.pack(np.zeros(9000, np.float32))
    sender.release([0], [])
    from minitorch.utils.data import collate

    collate.batch_memory = sender.empty
    try:
        batch = collate.default_collate([minitorch.zeros(2000), minitorch.ones(2000)])
    finally:
        collate.batch_memory = None
    assert batch._array.base is sender._whole
    (pickled, segment, places, _), descriptor = sender.pack([batch])
    assert (segment, places, descriptor) == (0, [(0, 16000)], None) and len(pickled) < 500


def test_varying_batch_sizes():
    class Growing(Images):
        def __getitem__(self, i):
            return np.full((1 + (i * 37) % 23) * 500, i)

    loader = data.DataLoader(Growing(), num_workers=2, batch_size=1)
    for i, batch in enumerate(loader):
        assert batch.shape == (1, (1 + (i * 37) % 23) * 500) and (batch == i).all()


def test_large_messages_both_ways_do_not_block():
    text = "x" * 500_000

    class Texts(Images):
        def __getitem__(self, indices):
            return text

    indices = [[0] * 100_000 for _ in range(12)]  # each message larger than a socket's buffer
    loader = data.DataLoader(Texts(), batch_sampler=indices, num_workers=2, prefetch_factor=3, collate_fn=len)
    start = time.monotonic()
    assert list(loader) == [100_000] * 12
    loader = data.DataLoader(Texts(), sampler=indices, batch_size=None, num_workers=2, prefetch_factor=3)
    assert [len(text) for text in loader] == [500_000] * 12
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods(method):
    dataset = data.TensorDataset(minitorch.arange(20).reshape(10, 2), minitorch.arange(10.0))
    minitorch.manual_seed(1)
    loader = data.DataLoader(dataset, 4, shuffle=True, num_workers=1, multiprocessing_context=method)
    found = [[part.tolist() for part in batch] for batch in loader]
    torch.manual_seed(1)
    dataset = torch.utils.data.TensorDataset(torch.arange(20).reshape(10, 2), torch.arange(10.0))
    loader = torch.utils.data.DataLoader(dataset, 4, shuffle=True)
    assert found == [[part.tolist() for part in batch] for batch in loader]


# -- exceptions

class Picky(Witness):
    def __init__(self, error, n=12):
        super().__init__(minitorch, n)
        self.error = error

    def __getitem__(self, i):
        if i == 5:
            raise self.error
        return i


class Two(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize("persistent", [False, True])
def test_an_exception_in_a_worker(persistent):
    dataset = Picky(ValueError("five is bad"))
    loader = data.DataLoader(dataset, 2, num_workers=2, persistent_workers=persistent)
    found, iterator = [], iter(loader)
    with pytest.raises(ValueError) as caught:
        for batch in iterator:
            found.append(batch.tolist())
    text = str(caught.value)
    assert text.startswith("Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent")
    assert "in __getitem__" in text and "ValueError: five is bad" in text
    assert found == [[0, 1], [2, 3]]
    assert [batch.tolist() for batch in iterator] == [[6, 7], [8, 9], [10, 11]]  # torch's goes on, too
    for _ in range(2):
        with pytest.raises(ValueError, match="five is bad"):
            list(loader)


class Local:
    pass


def local_error():
    class Hidden(Exception):
        pass

    return Hidden("from a local class")


@pytest.mark.parametrize("error, kind, text", [
    (KeyError("k"), KeyError, "worker process 0.\nOriginal KeyError: 'k'"), (Two(1, 2), RuntimeError, "Caught Two in"),
    (local_error(), RuntimeError, "from a local class"), (StopIteration("stop"), StopIteration, "stop"),
    (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), RuntimeError, "bad"),
], ids=str)
def test_kinds_of_exceptions(error, kind, text):
    wrapped = __import__("pickle").loads(WorkerError(error, 0).pickled())
    with pytest.raises(kind, match=text):
        wrapped.reraise()


def test_exceptions_before_the_first_sample():
    def init(worker_id):
        raise OSError(f"no camera for {worker_id}")

    iterator = iter(data.DataLoader(range(9), num_workers=2, worker_init_fn=init))
    for worker_id in (0, 1, 0):
        with pytest.raises(OSError, match=f"(?s)worker process {worker_id}.*no camera for {worker_id}"):
            next(iterator)

    class NoStart(data.IterableDataset):
        def __iter__(self):
            raise LookupError("no start")

    with pytest.raises(LookupError, match="no start"):
        next(iter(data.DataLoader(NoStart(), num_workers=2)))


def test_what_cannot_be_pickled_arrives_as_an_error():
    class Lambdas(Witness):
        def __getitem__(self, i):
            return lambda: i

    with pytest.raises((AttributeError, TypeError, RuntimeError, __import__("pickle").PicklingError), match="pickle"):
        next(iter(data.DataLoader(Lambdas(minitorch), num_workers=2, collate_fn=as_is)))


# -- life and death of the iterator

def test_abandoned_iterators_leave_nothing():
    import multiprocessing

    before = len(os.listdir("/proc/self/fd"))
    loader = data.DataLoader(Images(), batch_size=2, num_workers=2)
    for _ in range(3):
        for _ in loader:
            break
        iterator = iter(loader)
        next(iterator)
        del iterator
    gc.collect()
    assert not [p for p in multiprocessing.active_children() if "DataLoader" in p.name]
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_an_iterator_in_a_cycle_is_closed_before_its_parts_are_collected():
    """The collector ends the objects of a cycle in any order, and an open socket among them complains."""
    found = []

    class End:
        def __del__(self):
            found.append(self.socket.fileno())

    first = End()
    first.iterator = iterator = iter(data.DataLoader(range(100), num_workers=2))
    iterator.ends = [first, End()]
    for end in iterator.ends:
        end.socket = iterator._workers[0].channel.sock
    next(iterator)
    del iterator, first, end
    gc.collect()
    assert found == [-1, -1]


def test_two_iterators_at_once():
    loader = data.DataLoader(range(6), batch_size=2, num_workers=2)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(loader, loader, strict=True)]
    assert pairs == [([i, i + 1], [i, i + 1]) for i in (0, 2, 4)]


def test_persistent_workers_persist():
    class Pid(Witness):
        def __getitem__(self, i):
            return os.getpid()

    loader = data.DataLoader(Pid(minitorch, 4), num_workers=2, persistent_workers=True)
    first, second = ([batch.item() for batch in loader] for _ in range(2))
    assert first == second and len(set(first)) == 2
    next(iter(loader))  # an epoch abandoned midway
    assert [batch.item() for batch in loader] == first
    other = data.DataLoader(Pid(minitorch, 4), num_workers=2)
    assert {b.item() for b in other}.isdisjoint({b.item() for b in other})
    loader._iterator.close()


def test_an_iterator_used_up_stays_so():
    iterator = iter(data.DataLoader(range(2), num_workers=1))
    assert len(list(iterator)) == 2
    assert next(iterator, None) is None


def test_fork_does_not_break_the_parents_iterator():
    iterator = iter(data.DataLoader(range(8), num_workers=2))
    next(iterator)
    pid = os.fork()
    if pid == 0:
        iterator.close()  # what garbage collection in the child may do
        os._exit(0)
    os.waitpid(pid, 0)
    assert [batch.item() for batch in iterator] == [1, 2, 3, 4, 5, 6, 7]


def level_after(epochs, warm_up):
    """The growth in memory (bytes) and in open files over `epochs` epochs of two workers."""
    loader = data.DataLoader(Images(8), batch_size=4, num_workers=2)

    def measure():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))

    for _ in range(warm_up):
        list(loader)
    before = measure()
    for _ in range(epochs):
        list(loader)
    after = measure()
    return after[0] - before[0], after[1] - before[1]


def test_memory_and_files_are_level():
    grown, files = level_after(40, warm_up=10)
    assert grown < 2 << 20 and files <= 0


@pytest.mark.slow
def test_memory_and_files_are_level_after_1000_epochs():
    grown, files = level_after(1000, warm_up=20)
    assert grown < 4 << 20 and files <= 0


def test_grace_is_short():
    assert parallel.GRACE <= 2 and parallel.CHECK <= 0.5
