"""safetensors files: read and written on both sides."""

import numpy as np
import pytest
import torch

import minitorch
from minitorch.tensor import wrap
from minitorch.utils import safetensors

theirs = pytest.importorskip("safetensors.torch")
DTYPES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


def tensors():
    made = {d: torch.arange(6).reshape(2, 3).to(getattr(torch, d)) for d in DTYPES}
    return made | {"scalar": torch.tensor(3.5), "empty": torch.zeros(0, 3), "é": torch.ones(1)}


def describe(state):
    return [
        (k, str(v.dtype), tuple(v.shape), v.to(torch.float64).tolist() if isinstance(v, torch.Tensor) else v.tolist())
        for k, v in state.items()
    ]


def test_both_ways(tmp_path):
    metadata = {"format": "pt", "step": "12"}
    theirs.save_file(tensors(), tmp_path / "theirs.safetensors", metadata)
    ours = safetensors.load_file(tmp_path / "theirs.safetensors")
    assert describe(ours) == describe(theirs.load_file(tmp_path / "theirs.safetensors"))
    assert describe(ours) == describe(minitorch.serialization.load(tmp_path / "theirs.safetensors"))
    safetensors.save_file(ours, tmp_path / "ours.safetensors", metadata)
    assert describe(theirs.load_file(tmp_path / "ours.safetensors")) == describe(ours)
    assert safetensors.save(ours) == theirs.save(tensors())
    assert sorted(describe(safetensors.load(theirs.save(tensors())))) == sorted(describe(ours))
    for x in (*ours.values(), *safetensors.load(theirs.save(tensors())).values()):
        x._array[...] = 1  # they may be written to
    with safetensors.safe_open(tmp_path / "ours.safetensors") as f:
        assert f.metadata() == metadata
        assert sorted(f.keys()) == sorted(tensors())
        assert f.get_tensor("int16").tolist() == [[0, 1, 2], [3, 4, 5]]
        assert f.get_slice("float32")[:, 1].tolist() == [1, 4]


def test_what_the_format_cannot_say(tmp_path):
    path = tmp_path / "a.safetensors"
    for m, make in ((theirs, torch.from_numpy), (safetensors, wrap)):
        x = make(np.arange(6.0))
        halves = make(np.arange(6.0)[:3]), make(np.arange(6.0)[3:])
        m.save_file({"a": halves[0], "b": halves[1]}, path)
        for wrong, kind, words in (
            ({"a": x, "b": x}, RuntimeError, "share memory"),
            ({"a": make(np.ones((2, 3)).T)}, ValueError, "non contiguous tensor: `a`"),
            ({"a": 1}, ValueError, "Key `a` is invalid, expected torch.Tensor"),
            ([x], ValueError, "Expected a dict of .str, torch.Tensor. but received <class 'list'>"),
        ):
            with pytest.raises(kind, match=words):
                m.save_file(wrong, path)
        with pytest.raises(FileNotFoundError):
            m.load_file(tmp_path / "nowhere")


def test_overlap_of_views(tmp_path):
    base = np.arange(6.0)
    safetensors.save_file({"a": wrap(base[:3]), "b": wrap(base[3:])}, tmp_path / "a.safetensors")
    assert safetensors.load_file(tmp_path / "a.safetensors")["b"].tolist() == [3, 4, 5]
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save({"a": wrap(base[:4]), "c": wrap(np.ones(1)), "b": wrap(base[3:])})


def test_dtypes_that_are_not_here():
    data = theirs.save({"x": torch.ones(2, dtype=torch.uint16)})
    with pytest.raises(TypeError, match="tensor x has dtype U16, which minitorch has not"):
        safetensors.load(data)
