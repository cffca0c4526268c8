"""Checkpoints made by torch are read by us, and ours by torch: values, structure, strides and sharing equal."""

import collections
import copy
import io
import pickle
import zipfile

import numpy as np
import pytest
import torch

import minitorch
from minitorch import serialization
from minitorch.nn.parameter import Parameter
from minitorch.serialization import load, save
from minitorch.tensor import Size, Tensor, strided, wrap

DTYPES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


# ---- one object, seen from both sides ------------------------------------------------------------------------------


def describe(x, storages=None):
    """A tree of plain values that says all of an object: two objects are equal when their descriptions are.

    Storages appear as the number of tensors seen before the first one that uses the same memory."""
    storages = {} if storages is None else storages
    if isinstance(x, (Tensor, torch.Tensor)):
        if isinstance(x, Tensor):
            memory, raw = x.untyped_storage(), np.ascontiguousarray(x._array).tobytes()
        else:
            memory = x.untyped_storage()
            raw = x.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""
        place = storages.setdefault(memory.data_ptr(), len(storages)) if memory.nbytes() else None
        attributes = {k: describe(v, storages) for k, v in vars(x).items() if not k.startswith("_")}
        return (
            type(x).__name__, str(x.dtype), tuple(x.shape), tuple(x.stride()), x.storage_offset(), x.requires_grad,
            str(x.device), memory.nbytes(), place, raw, attributes,
        )
    if isinstance(x, dict):
        state = {k: describe(v, storages) for k, v in getattr(x, "__dict__", {}).items()}
        return type(x).__name__, [(describe(k), describe(v, storages)) for k, v in x.items()], state
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [describe(v, storages) for v in x]
    if isinstance(x, (set, frozenset)):
        return type(x).__name__, sorted(map(repr, x))
    if isinstance(x, (torch.dtype, minitorch.dtypes.dtype, torch.device, minitorch.device)):
        return type(x).__name__, str(x)
    if x is torch.strided or x is strided:
        return str(x)
    return type(x).__name__, repr(x)


def bytes_of(obj, save=torch.save, **options):
    file = io.BytesIO()
    save(obj, file, **options)
    return file.getvalue()


def without_identity(data):
    """A file without the record in which torch puts a hash of its own."""
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        infos = [i for i in z.infolist() if "serialization_id" not in i.filename]
        return [(i.filename, i.header_offset, i.CRC, i.flag_bits, i.extra, z.read(i)) for i in infos], len(data)


# ---- the corpus ----------------------------------------------------------------------------------------------------


def values(dtype, *shape):
    g = torch.Generator().manual_seed(len(shape))
    return torch.randint(0, 100, shape, generator=g).to(getattr(torch, dtype))


def every_dtype():
    return {d: [values(d, *s) for s in ((), (1,), (3,), (2, 3), (0,), (2, 0, 3), (2, 3, 4, 5))] for d in DTYPES}


def sharing():
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = torch.arange(10, dtype=torch.bfloat16)
    return [
        x, x.permute(2, 0, 1), x[1], x[:, 1:, ::2], x.reshape(-1)[5:], x.as_strided((3, 3), (1, 1), 2), x[0, 0, 3],
        y[3:], y, y.expand(4, 10), y[4:4], torch.tensor(3.0).expand(2, 3), x, {"again": x},
        torch.arange(6).reshape(2, 3).t(), torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
    ]


def parameters():
    base = torch.arange(6.0)
    marked = torch.nn.Parameter(torch.ones(2))
    marked.group = "decay"
    named = torch.zeros(3)
    named.origin = {"a": torch.ones(1)}
    p = torch.nn.Parameter(torch.ones(3, 2).t())
    p.grad = torch.ones(2, 3)
    return [
        p, torch.nn.Parameter(base[2:], requires_grad=False), base, marked, named, torch.ones(2, requires_grad=True),
        torch.ones(2, requires_grad=True) * 2, p, torch.nn.Parameter(torch.ones(2, dtype=torch.float16)),
    ]


def containers():
    metadata = collections.OrderedDict(a=1, b=[2])
    metadata._metadata = {"version": 1}
    shared = [1, 2]
    return {
        "numbers": [0, -1, 255, 256, 65535, 65536, 2**31, -(2**31), 2**63, -(2**100), 0.1, float("inf"), -0.0, 1j],
        "words": ["", "é", "a" * 300, "\ud800", b"\x00\xff", bytearray(b"xy")],
        "none": None, "true": True, "false": False, 3: "int key", 2.5: "float key", (1, "a"): "tuple key", None: 0,
        "nested": [[[()]], ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)), {"a": {"b": {}}}, [[]] * 3],
        "set": {1, 2, 3}, "empty set": set(), "counter": collections.Counter("hello"), "ordered": metadata,
        "size": torch.Size([1, 2]), "no size": torch.Size([]), "dtypes": [getattr(torch, d) for d in DTYPES],
        "devices": [torch.device("cpu"), torch.device("cuda", 1), torch.device("cuda")], "layout": torch.strided,
        "shared": [shared, shared], "rng": torch.get_rng_state(), "many": list(range(2500)),
        "dict": {f"k{i}": i for i in range(1500)},
    }


def modules():
    torch.manual_seed(0)
    nets = [
        torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.PReLU()),
        torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
        torch.nn.TransformerEncoderLayer(8, 2, 16),
        torch.nn.Embedding(5, 3, padding_idx=0),
    ]
    tied = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
    tied["b"].weight = tied["a"].weight
    return [n.state_dict() for n in (*nets, tied)]


OPTIMIZERS = sorted(
    name for name, x in vars(torch.optim).items() if isinstance(x, type) and name not in ("Optimizer", "SparseAdam")
)


def state_of(m, name):
    """The state of an optimizer after two steps, with whatever it keeps: momentum, the maximum of the squares ..."""
    m.manual_seed(0)
    shapes = [(3, 2), (2, 2)] if name == "Muon" else [(3, 2), (2,)]
    parameters = [m.nn.Parameter(m.randn(s)) for s in shapes]
    options = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.9, "centered": True}, "Adam": {"amsgrad": True}}
    optimizer = getattr(m.optim, name)(parameters, lr=0.01, **options.get(name, {}))

    def closure():
        optimizer.zero_grad()
        loss = sum((p * p).sum() for p in parameters)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
    return optimizer.state_dict()


def optimizers():
    assert len(OPTIMIZERS) >= 13
    weight = torch.nn.Parameter(torch.ones(5, 3))
    sparse = torch.optim.SparseAdam([weight])
    torch.nn.functional.embedding(torch.tensor([1, 3]), weight, sparse=True).sum().backward()
    sparse.step()
    return {name: state_of(torch, name) for name in OPTIMIZERS} | {"SparseAdam": sparse.state_dict()}


def schedulers():
    s = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9)
    made = [
        s.StepLR(optimizer, 2), s.MultiStepLR(optimizer, [1, 3]), s.ExponentialLR(optimizer, 0.9),
        s.CosineAnnealingLR(optimizer, 5), s.LambdaLR(optimizer, lambda e: 0.5), s.LinearLR(optimizer),
        s.ReduceLROnPlateau(optimizer), s.OneCycleLR(optimizer, 0.1, total_steps=10), s.PolynomialLR(optimizer),
        s.CosineAnnealingWarmRestarts(optimizer, 3), s.ConstantLR(optimizer),
        s.SequentialLR(optimizer, [s.ConstantLR(optimizer), s.StepLR(optimizer, 1)], [2]),
    ]
    return [x.state_dict() for x in made]


CORPUS = {
    f.__name__: f for f in (every_dtype, sharing, parameters, containers, modules, optimizers, schedulers)
}


@pytest.fixture(params=CORPUS)
def theirs(request):
    return CORPUS[request.param]()


# ---- parity --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"weights_only": False}, {"mmap": True}], ids=str)
def test_we_read_what_torch_wrote(theirs, how, tmp_path):
    torch.save(theirs, tmp_path / "a.pt")
    expected = torch.load(tmp_path / "a.pt")
    assert describe(load(tmp_path / "a.pt", **how)) == describe(expected)


@pytest.mark.parametrize("how", [{"weights_only": True}, {"mmap": True}], ids=str)
def test_torch_reads_what_we_wrote(theirs, how, tmp_path):
    torch.save(theirs, tmp_path / "a.pt")
    ours = load(tmp_path / "a.pt")
    save(ours, tmp_path / "b.pt")
    assert describe(torch.load(tmp_path / "b.pt", **how)) == describe(torch.load(tmp_path / "a.pt"))
    assert describe(load(tmp_path / "b.pt")) == describe(ours)


def test_our_files_are_torchs_to_the_byte(theirs, tmp_path):
    theirs = torch.load(io.BytesIO(bytes_of(theirs)))  # so that both write the same object: graphs are gone
    (tmp_path / "ours").mkdir()
    torch.save(theirs, tmp_path / "name.more.pt")
    save(load(tmp_path / "name.more.pt"), tmp_path / "ours" / "name.more.pt")
    expected = without_identity((tmp_path / "name.more.pt").read_bytes())
    assert without_identity((tmp_path / "ours" / "name.more.pt").read_bytes()) == expected


def test_saving_twice_gives_the_same_bytes(theirs):
    ours = load(io.BytesIO(bytes_of(theirs)))
    assert bytes_of(ours, save) == bytes_of(ours, save) == bytes_of(load(io.BytesIO(bytes_of(ours, save))), save)


def test_torch_computes_the_offsets_of_our_storages(theirs, tmp_path, monkeypatch):
    from torch.utils.serialization import config

    monkeypatch.setenv("TORCH_SERIALIZATION_DEBUG", "1")  # compares them with those in the directory
    save(load(io.BytesIO(bytes_of(theirs))), tmp_path / "a.pt")
    with config.patch("load.calculate_storage_offsets", True):
        ours = torch.load(tmp_path / "a.pt", mmap=True)
    assert describe(ours) == describe(torch.load(io.BytesIO(bytes_of(theirs))))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_pickle_protocols(theirs, protocol):
    expected = describe(torch.load(io.BytesIO(bytes_of(theirs))))
    data = bytes_of(theirs, pickle_protocol=protocol)
    assert describe(load(io.BytesIO(data))) == expected
    ours = bytes_of(load(io.BytesIO(data)), save, pickle_protocol=protocol)
    assert describe(torch.load(io.BytesIO(ours), weights_only=False)) == expected


def rewritten(data, change):
    """An archive with its records changed: `change(name, data)` gives the new bytes, or None to leave it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            record = change(info.filename.partition("/")[2], old.read(info))
            if record is not None:
                new.writestr(info.filename, record)
    return out.getvalue()


class Widths(pickle.Unpickler):
    """Of a checkpoint's pickle only this: how many bytes an element of each storage has."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))
        self.widths = {}
        self.load()

    def find_class(self, module, name):
        if name.endswith("Storage"):
            return next((d.itemsize for d, kind in serialization.names.STORAGE_TYPES.items() if kind.name == name), 1)
        return (lambda *arguments: None) if module.startswith("torch") else super().find_class(module, name)

    def persistent_load(self, saved_id):
        self.widths[f"data/{saved_id[2]}"] = saved_id[1]


def test_big_endian(theirs):
    data = bytes_of(theirs)
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        widths = Widths(z.read("archive/data.pkl")).widths

    def swap(name, data):
        if name.startswith("data/"):
            return np.frombuffer(data, np.uint8).reshape(-1, widths[name])[:, ::-1].tobytes()
        return b"big" if name == "byteorder" else data

    swapped = rewritten(data, swap)
    expected = describe(torch.load(io.BytesIO(data)))
    assert describe(torch.load(io.BytesIO(swapped))) == expected
    assert describe(load(io.BytesIO(swapped))) == expected


def test_big_endian_mapped(tmp_path):
    changed = {"byteorder": b"big", "data/0": np.arange(5, dtype=">f4").tobytes()}
    data = rewritten(bytes_of(torch.arange(5.0)), lambda name, data: changed.get(name, data))
    (tmp_path / "big.pt").write_bytes(data)
    assert load(tmp_path / "big.pt", mmap=True).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert (tmp_path / "big.pt").read_bytes() == data


def test_files_of_torch_1_6(theirs):
    """It wrote neither the byte order nor a format version."""
    later = ("byteorder", ".format_version", ".storage_alignment", ".data/serialization_id")
    data = rewritten(bytes_of(theirs), lambda name, data: None if name in later else data)
    assert describe(load(io.BytesIO(data))) == describe(torch.load(io.BytesIO(data)))


def test_empty_bytes():
    """Which torch writes and does not read."""
    for protocol in (2, 4):
        assert load(io.BytesIO(bytes_of([b"", b""], save, pickle_protocol=protocol))) == [b"", b""]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_themselves():
    x = torch.arange(6.0)
    ours = load(io.BytesIO(bytes_of({"s": x.untyped_storage(), "x": torch.ones(2)})))
    assert ours["s"].dtype == minitorch.dtypes.uint8
    assert ours["s"].storage.tolist() == x.untyped_storage().tolist()
    back = torch.load(io.BytesIO(bytes_of({"s": ours["s"].storage}, save)))
    assert back["s"].untyped().tolist() == x.untyped_storage().tolist()


def test_two_dtypes_on_one_memory_are_refused_as_in_torch():
    x = torch.ones(4)
    ours = load(io.BytesIO(bytes_of(x)))
    for save_, both in ((torch.save, [x, x.view(torch.int32)]), (save, [ours, wrap(ours._array.view(np.int32))])):
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            save_(both, io.BytesIO())


# ---- arrays as NumPy makes them --------------------------------------------------------------------------------------


def numpy_views():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    fortran = np.asfortranarray(x)
    permuted = np.empty_like(x.transpose(1, 2, 0))
    permuted[...] = 1
    strided = np.lib.stride_tricks.as_strided(x, (2, 2), (16, 4))
    return [
        x, x.T, x[1, ::2], fortran, fortran[:, 1], permuted, permuted[0], np.array(3.0), x[0, 0, 0, ...], x[:0],
        np.broadcast_to(x[0, 0], (5, 4)), np.frombuffer(bytearray(16), np.int32), strided,
        np.frombuffer(b"12345678", np.uint8)[2:], np.zeros(10, np.uint8)[:8].view(np.float32),
    ]


def test_tensors_around_any_array():
    ours = [wrap(a) for a in numpy_views()]
    for back in (torch.load(io.BytesIO(bytes_of(ours, save))), load(io.BytesIO(bytes_of(ours, save)))):
        for a, b in zip(ours, back, strict=True):
            assert b.tolist() == a.tolist()
            assert tuple(b.shape) == a.shape and tuple(b.stride()) == a.stride()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle(protocol):
    ours = load(io.BytesIO(bytes_of(parameters() + sharing() + list(every_dtype().values()))))
    assert describe(pickle.loads(pickle.dumps(ours, protocol))) == describe(ours)
    assert [a.tolist() for a in map(wrap, numpy_views())] == [
        a.tolist() for a in pickle.loads(pickle.dumps([wrap(a) for a in numpy_views()], protocol))
    ]


def test_deepcopy_of_everything(theirs):
    ours, theirs = (load_(io.BytesIO(bytes_of(theirs))) for load_ in (load, torch.load))
    before = describe(ours)
    assert describe(copy.deepcopy(ours)) == describe(copy.deepcopy(theirs))  # a Parameter's takes only what it shows
    assert describe(ours) == before


def test_deepcopy():
    theirs = sharing() + list(every_dtype().values())
    ours = load(io.BytesIO(bytes_of(theirs)))
    copied = copy.deepcopy(ours)
    assert describe(copied) == describe(ours) == describe(copy.deepcopy(theirs))
    ours[0]._array[...] = -1
    assert describe(copied) == describe(theirs)
    assert copied[0] is copied[12]


def test_deepcopy_of_gradients_and_attributes():
    def make(tensor, ones):
        x = tensor([1.0, 2.0], requires_grad=True)
        x.grad = ones(2)
        x.mark = ["a"]
        y = copy.deepcopy(x)
        assert y.mark == ["a"] and y.mark is not x.mark and y.is_leaf
        return y.requires_grad, y.grad.tolist(), y.tolist()

    assert make(minitorch.tensor, minitorch.ones) == make(torch.tensor, torch.ones)


def test_views_of_every_kind_share():
    x = minitorch.arange(24.0).reshape(2, 3, 4)
    views = [
        x.permute(2, 0, 1), x.as_strided((3, 3), (1, 1), 2), x[:1].expand(5, 3, 4), x.diagonal(0, 1, 2), x.detach(),
        x.unfold(2, 2, 1), x.chunk(2)[1], x.unbind(1)[1], x.view(4, 6), x[1, 2], x[..., None], x.unfold(2, 2, 1)[0],
    ]
    assert all(v.untyped_storage() is x.untyped_storage() for v in views)
    assert len(bytes_of([x, *views], save)) < len(bytes_of(x, save)) + 3000
    assert [v.tolist() for v in load(io.BytesIO(bytes_of(views, save)))] == [v.tolist() for v in views]


def test_deepcopy_needs_a_leaf():
    for m in (torch, minitorch):
        x = m.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            copy.deepcopy(x)


def test_hooks_stay_behind():
    for m in (torch, minitorch):
        x = m.ones(2, requires_grad=True)
        x.register_hook(m.utils.hooks.unserializable_hook(lambda grad: grad))
        bytes_of(x, m.save)
        x.register_hook(lambda grad: grad)
        with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
            bytes_of(x, m.save)


def test_subclass():
    class Marked(Tensor):
        pass

    globals()["Marked"] = Marked  # so that pickle finds it
    Marked.__qualname__ = "Marked"
    x = object.__new__(Marked)
    x._array = np.ones(3)
    data = bytes_of(x, save)
    with pytest.raises(pickle.UnpicklingError, match="Marked was not an allowed global"):
        load(io.BytesIO(data))
    with serialization.safe_globals([Marked]):
        back = load(io.BytesIO(data))
    assert type(back) is Marked and back.tolist() == [1, 1, 1]
    assert type(pickle.loads(pickle.dumps(x))) is Marked
    assert type(copy.deepcopy(x)) is Marked


# ---- a run that moves from one framework to the other ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "Adamax", "Adagrad", "Adadelta", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop",
             "Adafactor"],
)
def test_a_run_changes_hands(name, tmp_path):
    """Trained a little by one, saved, loaded and trained on by the other: as if torch had done it all.

    (With the same saving and loading on the way: torch's NAdam keeps a number in single precision until it is loaded.)
    """
    data = [np.random.default_rng(i).standard_normal((4, 3)) for i in range(6)]

    class Run:
        def __init__(self, m):
            self.m = m
            make = m.nn.Sequential
            self.net = make(m.nn.Linear(3, 4, bias=False), m.nn.BatchNorm1d(4), m.nn.Tanh(), m.nn.Linear(4, 1)).double()
            options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
            self.optimizer = getattr(m.optim, name)(self.net.parameters(), lr=0.01, **options)
            self.scheduler = m.optim.lr_scheduler.MultiStepLR(self.optimizer, [2, 5])
            self.parts = {"net": self.net, "optimizer": self.optimizer, "scheduler": self.scheduler}

        def train(self, steps):
            for i in steps:
                self.optimizer.zero_grad()
                (self.net(self.m.from_numpy(data[i])) ** 2).mean().backward()
                self.optimizer.step()
                self.scheduler.step()

        def save(self, name="run.pt"):
            self.m.save({k: v.state_dict() for k, v in self.parts.items()}, tmp_path / name)

        def load_own(self):
            self.save("own.pt")
            self.load("own.pt")
            return self

        def load(self, name="run.pt"):
            state = self.m.load(tmp_path / name)
            for k, v in self.parts.items():
                v.load_state_dict(state[k])

    theirs, ours, back = Run(torch), Run(minitorch), Run(torch)
    theirs.train(range(2))
    theirs.save()
    ours.load()
    ours.train(range(2, 4))
    ours.save()
    back.load()
    back.train(range(4, 6))
    theirs.load_own().train(range(2, 4))
    theirs.load_own().train(range(4, 6))
    for a, b in zip(back.net.state_dict().values(), theirs.net.state_dict().values(), strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-14)
    for a, b in zip(theirs.parts.values(), back.parts.values(), strict=True):
        assert str(a.state_dict().keys()) == str(b.state_dict().keys())


def same_up_to_rounding(ours, theirs):
    """Two states of the same types, keys, dtypes and shapes, the numbers close."""
    assert type(ours) is type(theirs)
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same_up_to_rounding(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same_up_to_rounding(a, b)
    elif isinstance(theirs, torch.Tensor):
        assert ours.dtype == theirs.dtype and torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    else:
        assert ours == theirs or abs(ours - theirs) < 1e-5


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_torch_reads_the_states_of_our_optimizers(name):
    ours = torch.load(io.BytesIO(bytes_of(state_of(minitorch, name), save)))
    same_up_to_rounding(ours, state_of(torch, name))


# ---- whole modules ---------------------------------------------------------------------------------------------------


def test_modules_are_pickled_whole():
    from minitorch import nn

    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        load(io.BytesIO(bytes_of(net, save)))
    for back in (
        load(io.BytesIO(bytes_of(net, save)), weights_only=False),
        pickle.loads(pickle.dumps(net)),
        copy.deepcopy(net),
    ):
        assert repr(back) == repr(net)
        assert describe(back.state_dict()) == describe(net.state_dict())
        assert all(type(p) is Parameter for p in back.parameters())


def test_random_states():
    import random

    state = {
        "python": random.getstate(),
        "numpy": [x.tolist() if isinstance(x, np.ndarray) else x for x in np.random.get_state()],
        "minitorch": minitorch.get_rng_state(),
    }
    first = random.random(), np.random.rand(3).tolist(), minitorch.rand(3).tolist()
    back = load(io.BytesIO(bytes_of(state, save)))
    assert describe(torch.load(io.BytesIO(bytes_of(state, save)))) == describe(back)
    random.setstate(back["python"])
    np.random.set_state(back["numpy"])
    minitorch.set_rng_state(back["minitorch"])
    assert (random.random(), np.random.rand(3).tolist(), minitorch.rand(3).tolist()) == first


def test_size_is_a_size():
    back = load(io.BytesIO(bytes_of(torch.Size([2, 3]))))
    assert type(back) is Size and back.numel() == 6
