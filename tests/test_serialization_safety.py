"""No file runs code, crashes, hangs, grows without bound or gives wrong numbers: it loads, or is refused by name."""

import collections
import io
import pickle
import re
import resource
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch
from test_serialization import CORPUS, bytes_of, describe, rewritten

from minitorch import serialization
from minitorch.serialization import CheckpointError, load, save
from minitorch.serialization.archive import Writer
from minitorch.tensor import wrap


def archive(pickled, **storages):
    """A well-formed archive around any pickle; `s0=...` are the bytes of storage 0."""
    file = io.BytesIO()
    writer = Writer(file.write, "archive")
    writer.add("data.pkl", pickled)
    for name, data in storages.items():
        writer.add(f"data/{name[1:]}", data)
    writer.close()
    return file.getvalue()


def refused(data, words, seconds=2.0, factor=100):
    """`load` refuses in little time and memory; both kinds of exception that torch has catch it."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(CheckpointError, match=words) as info:
            load(io.BytesIO(data))
        assert time.perf_counter() - start < seconds
        assert tracemalloc.get_traced_memory()[1] < 2**20 + factor * len(data)
    finally:
        tracemalloc.stop()
    assert isinstance(info.value, RuntimeError) and isinstance(info.value, pickle.UnpicklingError)


def assemble(*parts):
    """A pickle of protocol 2 from opcodes and Python values (strings, ints, floats, and tuples of these)."""

    def constant(value):
        file = io.BytesIO()
        pickler = pickle.Pickler(file, 2)
        pickler.fast = True  # without a memo
        pickler.dump(value)
        return file.getvalue()[2:-1]

    return b"\x80\x02" + b"".join(p if isinstance(p, bytes) else constant(p) for p in parts) + b"."


def global_(name):
    module, _, name = name.rpartition(".")
    return f"c{module}\n{name}\n".encode()


def storage(numel, kind="torch.FloatStorage", key="0", location="cpu"):
    kind = global_(kind) if isinstance(kind, str) else kind
    return b"(" + assemble("storage", kind, key, location, numel)[2:-1] + b"tQ"


def tensor(offset, size, stride, requires_grad=False, **kind):
    function = global_("torch._utils._rebuild_tensor_v2")
    rest = assemble(offset, size, stride, requires_grad, global_("collections.OrderedDict"), b")R")[2:-1]
    return assemble(function, b"(", storage(3, **kind), rest, b"tR")


# A tuple that is small in memory, and takes an age to hash, to compare or to show.
NESTED = b")" + b"q\0h\0\x86" * 60
FLOATS = np.arange(3, dtype=np.float32).tobytes()


def test_the_tools_of_this_file_work():
    assert load(io.BytesIO(archive(tensor(1, (2,), (1,)), s0=FLOATS))).tolist() == [1, 2]
    assert torch.load(io.BytesIO(archive(tensor(1, (2,), (1,)), s0=FLOATS))).tolist() == [1, 2]


# ---- code -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "builtins.eval", "builtins.exec", "builtins.getattr", "builtins.__import__", "builtins.open", "builtins.print",
        "builtins.type", "builtins.object", "subprocess.Popen", "subprocess.getoutput", "importlib.import_module",
        "torch.load", "torch.hub.load", "torch.nn.modules.linear.Linear", "minitorch.nn.modules.linear.Linear",
        "minitorch.serialization.storage.rebuild_tensor", "numpy._core.multiarray._reconstruct", "numpy.ndarray",
        "pickle.loads", "operator.attrgetter", "functools.partial", "collections.OrderedDict.__init__",
        "collections.defaultdict", "torch.Size.__new__", "__main__.Anything", "shutil.rmtree", "codecs.decode",
    ],
)
def test_no_name_but_the_allowed_ones(name):
    words = "(?s)Weights only load failed.*was not an allowed global by default.*add_safe_globals"
    module, _, last = name.partition(".") if name.startswith("collections.Ordered") else name.rpartition(".")
    for word in (f"c{module}\n{last}\n".encode(), assemble(module, last)[2:-1] + pickle.STACK_GLOBAL):
        for data in (assemble(word), assemble(word, b")R"), assemble(word, ("x",), b"R"), assemble(word, b")\x81")):
            refused(archive(data), words)


def test_the_refusal_says_what_torch_says():
    for load_ in (torch.load, load):
        with pytest.raises(pickle.UnpicklingError) as info:
            load_(io.BytesIO(bytes_of(collections.defaultdict(list))))
        for words in (
            "Weights only load failed. This file can still be loaded, to do so you have two options",
            "do those steps only if you trust the source of the checkpoint",
            "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
            "arbitrary code execution. Do it only if you got the file from a trusted source.",
            "WeightsUnpickler error: Unsupported global: GLOBAL collections.defaultdict was not an allowed global",
            "`torch.serialization.add_safe_globals([collections.defaultdict])`",
        ):
            assert words in str(info.value)


def test_blocked_modules_stay_blocked():
    import os

    data = archive(assemble(global_("posix.system"), ("true",), b"R"))
    refused(data, "whose module posix is blocked")
    with serialization.safe_globals([os.system, (os.system, "posix.system")]):
        refused(data, "whose module posix is blocked")


@pytest.mark.parametrize(
    "program, words",
    [
        (assemble(1, (), b"R"), "reduce for unrecognized function"),
        (assemble("print", ("x",), b"R"), "reduce for unrecognized function"),
        (assemble(global_("torch.float32"), (), b"R"), "reduce for unrecognized function"),
        (assemble(global_("torch.FloatStorage"), (), b"R"), "reduce for unrecognized function"),
        (assemble(global_("torch.Tensor"), (), b"R"), "reduce for unrecognized function"),
        (assemble(global_("torch.Tensor"), (), b"\x81"), "Can only create new object"),
        (assemble(global_("collections.OrderedDict"), b"]R"), "arguments of a call must be a tuple"),
        (assemble(global_("collections.OrderedDict"), (1,), b"R"), "OrderedDict cannot be made of int"),
        (assemble(global_("torch.Size"), ("ab",), b"R"), "Size is made of a tuple of ints"),
        (assemble(global_("torch.device"), ("nowhere",), b"R"), "device"),
        (assemble(global_("_codecs.encode"), ("a", "rot13"), b"R"), "latin1 only"),
        (assemble(b"}", {"a": 1}, b"b"), "Can only build"),
        (assemble(b"\x8f", {"a": 1}, b"b"), "Can only build"),
        (assemble(b"}", 1, b"a"), "Can only append to lists"),
        (assemble(b"]", 1, 2, b"s"), "Can only SETITEMS for dict"),
        (assemble(b"}]", 1, b"s"), "unhashable"),
        (b"\x80\x02ios\nsystem\n.", "Unsupported operand 105"),
        (b"\x80\x02(cos\nsystem\no.", "whose module os is blocked"),
        (b"\x80\x02\x82\x01.", "Unsupported operand 130"),
        (b"\x80\x02S'a'\n.", "Unsupported operand 83"),
        (b"\x80\x01N.", "protocol 1"),
        (b"\x80\x02.", "not enough values"),
        (b"\x80\x02NN.", "too many values"),
        (b"\x80\x02", "ends before its end"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "ends before its end"),
        (b"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.", "ends before its end"),
        (b"\x80\x02h\x05.", "KeyError"),
        (b"\x80\x02t.", "pop from empty list"),
        (b"\x80\x02r\xff\xff\xff\xff.", "IndexError"),
        (b"\x80\x02X\x01\0\0\0\xff.", "codec can't decode"),
        (b"\x80\x02(K\x01u.", "IndexError|argument"),
        (b"\x80\x02}(K\x01u.", "argument"),
        (b"\x80\x02ctorch", "subsection not found|substring not found|ends before"),
        (assemble(("module", 1), b"Q"), "Only persistent_load of storage is allowed"),
        (assemble(5, b"Q"), "Only persistent_load of storage is allowed"),
    ],
)
def test_wrong_programs(program, words):
    refused(archive(program), words)


def test_what_the_user_declares_safe_is_made_and_called():
    class Point:
        def __init__(self, x):
            self.x = x

    globals()["Point"], Point.__qualname__ = Point, "Point"
    data = bytes_of([Point(1), Point(2)], save)
    assert sorted(serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))) == [f"{__name__}.Point"]
    refused(data, f"{__name__}.Point was not an allowed global")
    with serialization.safe_globals([Point]):
        assert serialization.get_safe_globals() == [Point]
        assert [p.x for p in load(io.BytesIO(data))] == [1, 2]
        assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
    assert serialization.get_safe_globals() == []
    refused(data, "not an allowed global")
    serialization.add_safe_globals([(Point, "elsewhere.Pixel")])
    other = archive(assemble(b"]", global_("elsewhere.Pixel"), b")\x81}", "x", 3, b"sba"))
    assert [p.x for p in load(io.BytesIO(other))] == [3]
    serialization.clear_safe_globals()
    refused(other, "elsewhere.Pixel was not an allowed global")
    assert [p.x for p in load(io.BytesIO(data), weights_only=False)] == [1, 2]


def test_trusting_loads_name_minitorchs_things():
    """A file that names a class of torch gets minitorch's of that name, or an error; torch is not imported."""
    with pytest.raises((AttributeError, ImportError), match="Nowhere|nowhere"):
        load(io.BytesIO(archive(assemble(global_("torch.nowhere.Nowhere")))), weights_only=False)
    found = load(io.BytesIO(archive(assemble(global_("torch.optim.sgd.SGD")))), weights_only=False)
    assert found.__module__.startswith("minitorch.")


def test_numpy_as_torch():
    """Refused by default; an array declared safe comes back."""
    data = bytes_of(np.arange(3.0), save)
    for load_ in (torch.load, load):
        with pytest.raises(pickle.UnpicklingError, match="numpy._core.multiarray._reconstruct was not an allowed"):
            load_(io.BytesIO(data))
    allowed = [np._core.multiarray._reconstruct, np.ndarray, np.dtype, type(np.dtype(float))]
    with serialization.safe_globals(allowed), torch.serialization.safe_globals(allowed):
        assert load(io.BytesIO(data)).tolist() == torch.load(io.BytesIO(data)).tolist() == [0, 1, 2]


# ---- tensors that lie -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, words",
    [
        (tensor(0, (4,), (1,)), "storage has 12 bytes, 16 expected"),
        (tensor(1, (3,), (1,)), "storage has 12 bytes, 16 expected"),
        (tensor(0, (2, 2), (2, 1)), "storage has 12 bytes, 16 expected"),
        (tensor(4, (0,), (1,)), "storage has 12 bytes, 16 expected"),
        (tensor(-1, (1,), (1,)), "of zero or more"),
        (tensor(2, (3,), (-1,)), "of zero or more"),
        (tensor(0, (-1,), (1,)), "of zero or more"),
        (tensor(0, (True,), (1,)), "of zero or more"),
        (tensor(0, (1.0,), (1,)), "of zero or more"),
        (tensor(0, (1,), (1, 1)), "of zero or more"),
        (tensor(0, (10**30,), (0,)), "dimension exceeded"),
        (tensor(0, (2**40, 2**40), (0, 0)), "too big"),
        (tensor(0, (1,) * 65, (1,) * 65), "maximum supported dimension"),
        (tensor(0, 3, 1), "TypeError"),
        (tensor(0, (3,), (1,), kind="torch.DoubleStorage"), "storage 0 has 12 bytes, 24 of torch.float64 expected"),
        (tensor(0, (3,), (1,), kind="torch.IntStorage", requires_grad=True), "floating"),
        (tensor(0, (3,), (1,), key="1"), "record archive/data/1 is missing"),
        (tensor(0, (3,), (1,), key=0), "must be str, str and int"),
        (tensor(0, (3,), (1,), kind="torch.ComplexFloatStorage"), "torch.ComplexFloatStorage was not an allowed"),
        (tensor(0, (3,), (1,), kind="torch.float32"), "a storage of unknown type"),
        (tensor(0, (3,), (1,), kind="collections.OrderedDict"), "a storage of unknown type"),
        (assemble(storage(3), storage(3, "torch.IntStorage"), b"\x86"), "storage 0 has 12 bytes of torch.float32"),
        (tensor(0, (3,), (1,), kind=NESTED), "a storage of unknown type"),
        (tensor(0, NESTED, (1,)), "of zero or more"),
        (tensor(NESTED, (1,), (1,)), "of zero or more"),
        (tensor(0, (1,), (1,), NESTED), "hooks|bool|tuple|TypeError"),
        (tensor(0, (3,), (1,), key=NESTED), "must be str, str and int"),
        (tensor(0, (3,), (1,), location=NESTED), "must be str, str and int"),
        (assemble(global_("torch.device"), NESTED, b"\x85R"), "device"),
        (assemble(global_("_codecs.encode"), "a", NESTED, b"\x86R"), "latin1"),
        (assemble(global_("torch.serialization._get_layout"), NESTED, b"\x85R"), "strided"),
        (assemble(global_("torch.Size"), NESTED, b"\x85R"), "tuple of ints"),
        (assemble(NESTED, b")R"), "unrecognized function"),
        (assemble(NESTED, b"Q"), "Only persistent_load of storage"),
        (assemble(NESTED, b"}b"), "Can only build"),
        (assemble(NESTED, NESTED, b"\x81"), "Can only create|tuple"),
        (assemble(storage(10**12)), "storage 0 has 12 bytes, 4000000000000 of torch.float32 expected"),
        (assemble(storage(-3)), "storage 0 has 12 bytes, -12 of torch.float32 expected"),
    ],
)
def test_tensors_that_lie(program, words):
    refused(archive(program, s0=FLOATS), words)


def test_attributes_that_lie():
    inner = tensor(0, (3,), (1,))[2:-1].replace(b"(ctorch._utils\n_rebuild_tensor_v2\n", b"")
    arguments = inner[inner.index(b"(") : -1]  # the tuple of _rebuild_tensor_v2's arguments
    function = global_("torch._utils._rebuild_tensor_v2")
    rebuild = global_("torch._tensor._rebuild_from_type_v2")

    def program(function, cls, state):
        return archive(assemble(rebuild, b"(", function, cls, arguments, state, b"tR"), s0=FLOATS)

    plain = global_("torch.Tensor")
    back = load(io.BytesIO(program(function, plain, {"mark": 5})))
    assert back.mark == 5 and back.tolist() == [0, 1, 2]
    for name in ("_array", "_requires_grad", "shape", "__class__", "__dict__", "add"):
        refused(program(function, plain, {name: 5}), "is not an attribute that a file may set")
    refused(program(function, global_("collections.OrderedDict"), {}), "must be on the list")
    refused(program(global_("torch.Tensor"), plain, {}), "must be on the list")


# ---- bombs ----------------------------------------------------------------------------------------------------------


def repeat(n, *parts):
    return assemble(*parts)[2:-1] * n


SEVERAL = repeat(1000, b"h\0h\1\x85R")  # call what memo 0 names with what memo 1 holds, a thousand times


@pytest.mark.parametrize(
    "program, words",
    [
        (assemble(global_("builtins.bytearray"), (10**10,), b"R"), "bytearray cannot be made of int"),
        (assemble(global_("builtins.bytes"), (10**10,), b"R"), "bytes"),
        (assemble(global_("builtins.set"), b"q\0", list(range(10000)), b"q\1", SEVERAL), "beyond its own size"),
        (
            assemble(global_("builtins.bytearray"), b"q\0", b"B" + struct.pack("<I", 50000) + bytes(50000),
                     b"q\1", SEVERAL),
            "beyond its own size",
        ),
        (
            assemble(global_("_codecs.encode"), b"q\0", "x" * 50000, b"q\1",
                     repeat(1000, b"h\0", b"h\1", "latin1", b"\x86", b"R")),
            "beyond its own size",
        ),
        (assemble(b"]", b")", repeat(40, b"q\0h\0\x86"), b"})", repeat(40, b"q\0h\0\x86"), b"Ns"),
         "beyond its own size"),
        (assemble(global_("builtins.set"), b"]", b")", repeat(40, b"q\0h\0\x86"), b"a\x85R"), "beyond its own size"),
        (assemble(b"}(", *[x for i in range(200) for x in (i * (2**61 - 1), b"N")], b"u"), "the same hash"),
        (assemble(global_("builtins.set"), [i * (2**61 - 1) for i in range(200)], b"\x85R"), "the same hash"),
        (assemble(global_("collections.Counter"), [i * (2**61 - 1) for i in range(200)], b"\x85R"), "the same hash"),
        (assemble(global_("collections.OrderedDict"), [[i * (2**61 - 1), 0] for i in range(200)], b"\x85R"),
         "the same hash"),
    ],
)
def test_bombs(program, words):
    refused(archive(program), words)


def test_deep_nesting():
    """Many lists in each other load, and go away, without recursion."""
    n = 200_000
    nested = load(io.BytesIO(archive(b"\x80\x02" + b"]" * n + b"a" * (n - 1) + b".")))
    assert type(nested) is list
    del nested
    nested = load(io.BytesIO(archive(b"\x80\x02)" + b"\x85" * n + b".")))
    assert type(nested) is tuple
    del nested


def test_cycles():
    x = []
    x.append(x)
    y = load(io.BytesIO(bytes_of(x, save)))
    assert y[0] is y


def test_a_view_may_be_larger_than_its_storage():
    """Strides of zero are honest (`expand`): nothing is allocated until somebody computes."""
    x = load(io.BytesIO(archive(tensor(0, (2**30, 2**10), (0, 0)), s0=FLOATS)))
    assert x.shape == (2**30, 2**10)


# ---- archives that lie ----------------------------------------------------------------------------------------------


def zipped(*records, **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as z:
        for name, data in records:
            z.writestr(name, data)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_lie():
    good = ("archive/data.pkl", b"\x80\x02N."), ("archive/version", b"3\n")
    assert load(io.BytesIO(zipped(*good))) is None
    refused(zipped(*good, good[0]), "lists a record twice")
    refused(zipped(*good, compression=zipfile.ZIP_DEFLATED), "is compressed")
    refused(zipped(good[1]), "no record data.pkl")
    refused(zipped(("archive/data.pkl", b"\x80\x02N."), ("archive/version", b"11\n")), "file with version b'11")
    refused(zipped(("archive/data.pkl", b"\x80\x02N."), ("archive/byteorder", b"middle")), "Unknown endianness type")
    refused(zipped(*good, ("archive/constants.pkl", b"")), "a TorchScript archive")
    refused(zipped(*good, ("archive/code/a.py", b"")), "a TorchScript archive")
    refused(zipped(*good) + b"more", "not a checkpoint|truncated")
    refused(zipped(), "no zip archive")


def test_overlapping_records():
    """Many records of one piece of the file: a small file would stand for much memory."""
    data = bytearray(zipped(("a/data.pkl", b"\x80\x02N."), ("a/data/0", bytes(1000)), ("a/data/1", bytes(1000))))
    entries = [m.start() for m in re.finditer(b"PK\1\2", data)]
    first = struct.unpack_from("<I", data, entries[1] + 42)
    struct.pack_into("<I", data, entries[2] + 42, *first)
    refused(bytes(data), "overlaps|damaged")


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_torchscript(tmp_path):
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), tmp_path / "script.pt")
    refused((tmp_path / "script.pt").read_bytes(), "a TorchScript archive, which holds a program")


def test_foreign_files(tmp_path):
    legacy = bytes_of([torch.ones(2)], _use_new_zipfile_serialization=False)
    refused(legacy, "a checkpoint in the legacy format, from before torch 1.6")
    refused(b"", "not a checkpoint: it is empty")
    refused(b"hello", "not a checkpoint: no zip archive")
    refused(b"\x89HDF\r\n\x1a\n" + bytes(100), "not a checkpoint: an HDF5 file")
    refused(pickle.dumps([1]), "not a checkpoint: no zip archive")
    np.savez(tmp_path / "a.npz", np.ones(3))
    refused((tmp_path / "a.npz").read_bytes(), "no record data.pkl")
    for name in ("a.npz", "a.bin"):
        (tmp_path / "a.bin").write_bytes(b"hello")
        with pytest.raises(CheckpointError, match=re.escape(str(tmp_path / name))):
            load(tmp_path / name)


def test_truncated_files_say_where():
    theirs = {"a": torch.arange(100.0), "b": torch.arange(1000.0)}
    data = bytes_of(theirs)
    for at in range(len(data)):
        with pytest.raises(CheckpointError) as info:
            load(io.BytesIO(data[:at]))
        assert "truncated" in str(info.value) or at < 60
    assert "truncated at entry archive/data/1" in str(
        pytest.raises(CheckpointError, load, io.BytesIO(data[: data.index(np.float32(999).tobytes())])).value
    )


def test_every_flipped_byte():
    """Of a small file, one after the other: torch would give wrong numbers for many of these."""
    data = bytearray(bytes_of([torch.arange(5.0), {"a": 1}]))
    expected = describe(load(io.BytesIO(data)))
    equal = 0
    for i in range(len(data)):
        for bit in (1, 128):
            data[i] ^= bit
            try:
                assert describe(load(io.BytesIO(data))) == expected
                equal += 1
            except CheckpointError:
                pass
            data[i] ^= bit
    assert equal < len(data)


# ---- mutations ------------------------------------------------------------------------------------------------------


def mutate(data, other, rng):
    """One of the things that happen to files, at a random place."""
    data = bytearray(data)
    at, to = sorted(rng.integers(0, len(data), 2))
    size = int(min(to - at, rng.integers(1, 200)))
    match rng.integers(0, 9):
        case 0:
            data[at] ^= 1 << rng.integers(0, 8)
        case 1:
            for i in rng.integers(0, len(data), rng.integers(1, 9)):
                data[i] = rng.integers(0, 256)
        case 2:
            del data[at:]
        case 3:
            del data[at : at + size]
        case 4:
            data[at:at] = rng.bytes(size)
        case 5:
            data[at : at + size] = bytes(size)
        case 6:
            data[to:to] = data[at : at + size]
        case 7:
            data[at : at + size] = other[at : at + size]
        case 8:  # a number that matters: make it large, or small
            i = int(rng.integers(0, max(len(data) - 8, 1)))
            data[i : i + 4] = struct.pack("<I", int(rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x10000, 64])))
    return bytes(data)


def mutate_pickle(data, rng):
    """The pickle alone is changed, and its CRC made right: what a careful liar would do."""
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        pickled = bytearray(z.read("archive/data.pkl"))
    for i in rng.integers(0, len(pickled), rng.integers(1, 4)):
        if rng.integers(0, 3):
            pickled[i] = rng.choice(bytearray(b"()RQqhtuesb}].K\x85\x86\x87\x88\x89NcX0\x81\x8f\x90\x94"))
        else:
            pickled[i] = rng.integers(0, 256)
    if rng.integers(0, 4) == 0:
        at, to = sorted(rng.integers(0, len(pickled), 2))
        pickled[to:to] = pickled[at : at + 50]
    return rewritten(data, lambda name, record: bytes(pickled) if name == "data.pkl" else record)


def ten_files():
    files = [bytes_of(make()) for make in CORPUS.values()]
    x = torch.arange(6.0)
    files += [
        bytes_of({"x": x, "y": x[1:], "n": [1, (2.5, "a")]}),
        rewritten(bytes_of([x, torch.ones(3, dtype=torch.float64)]), lambda n, d: b"big" if n == "byteorder" else d),
        zipped(("a/data.pkl", assemble({"a": [1] * 50})), ("a/version", b"3\n")),
    ]
    assert len(files) == 10
    return files


@pytest.mark.parametrize("count", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutations(count):
    """Equal, or refused: nothing else comes of a damaged file."""
    rng = np.random.default_rng(count)
    files = ten_files()
    expected = [describe(load(io.BytesIO(f))) for f in files]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusals = slowest = 0
    for i in range(count):
        which = i % len(files)
        data = mutate(files[which], files[which - 1], rng)
        start = time.perf_counter()
        try:
            loaded = load(io.BytesIO(data))
        except CheckpointError as error:
            assert len(str(error)) < 3000
            refusals += 1
        else:
            assert describe(loaded) == expected[which], (i, which)
        slowest = max(slowest, time.perf_counter() - start)
    assert refusals > count / 3
    assert slowest < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize("count", [300, pytest.param(5_000, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_mutated_pickles_with_right_crcs(count):
    """These may well load, as something else; but nothing worse than a refusal happens."""
    rng = np.random.default_rng(count)
    files = [f for f in ten_files() if b"archive/data.pkl" in f]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loaded = 0
    for i in range(count):
        data = mutate_pickle(files[i % len(files)], rng)
        start = time.perf_counter()
        try:
            load(io.BytesIO(data))
            loaded += 1
        except CheckpointError as error:
            assert len(str(error)) < 3000
        except RuntimeError as error:  # a location that is none
            assert "restore data location" in str(error) or "CUDA" in str(error)
        assert time.perf_counter() - start < 5
    assert 0 < loaded < count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_a_limit_on_memory():
    """The same in a process that may not use much memory: bombs are refused before they go off."""
    program = """
import io, resource, sys, minitorch
from minitorch.serialization import load, CheckpointError
file = sys.stdin.buffer.read()
size = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + 2**28, resource.RLIM_INFINITY))
try:
    load(io.BytesIO(file))
except CheckpointError as error:
    print("refused", error)
"""
    bomb = archive(assemble(global_("builtins.bytearray"), (10**10,), b"R"))
    done = subprocess.run([sys.executable, "-c", program], input=bomb, capture_output=True, timeout=60)
    assert done.stdout.startswith(b"refused"), done


def test_crcs_are_checked_when_loading():
    data = bytearray(bytes_of({"big": torch.arange(2.0**19), "small": torch.arange(3.0)}))
    at = data.index(np.float32(123456).tobytes())
    data[at] ^= 1
    refused(bytes(data), r"record archive/data/0 is damaged: its CRC is [0-9a-f]{8}, [0-9a-f]{8} expected", factor=3)


def test_saving_refuses_what_torch_refuses():
    for save_ in (torch.save, save):
        with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
            save_(lambda: 0, io.BytesIO())
    with pytest.raises(NotImplementedError, match="zip format only"):
        save([], io.BytesIO(), _use_new_zipfile_serialization=False)
    for load_ in (torch.load, load):
        with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
            load_(io.BytesIO(bytes_of([])), pickle_module=pickle, weights_only=True)
        assert load_(io.BytesIO(bytes_of([1])), pickle_module=pickle) == [1]
    assert load(io.BytesIO(bytes_of(wrap(np.ones(2)), save))).tolist() == [1, 1]
