"""utils.tensorboard: what stands in the event files; and what of torch.onnx is there."""

import struct

import numpy as np
import pytest
from tensorboardX.proto import event_pb2

import minitorch
from minitorch.utils.tensorboard import SummaryWriter


def events(folder):
    """The events of the one file in a folder: records of length, its checksum, the bytes, their checksum."""
    (path,) = folder.iterdir()
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        found.append(event_pb2.Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    return found


def test_tensors_are_written(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", minitorch.tensor(0.5, requires_grad=True) * step, step)
        writer.add_scalar("half", minitorch.tensor(1.5, dtype=minitorch.bfloat16), global_step=7)
        writer.add_histogram("weights", minitorch.nn.Linear(4, 3).weight, 1)
        writer.add_image("picture", minitorch.rand(3, 5, 6), 1)
        writer.add_text("note", "hello", 2)
    written = [(e.step, v) for e in events(tmp_path) for v in e.summary.value]
    assert [(s, v.simple_value) for s, v in written if v.tag == "loss"] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    assert [(s, v.simple_value) for s, v in written if v.tag == "half"] == [(7, 1.5)]
    (histogram,) = [v.histo for _, v in written if v.tag == "weights"]
    assert histogram.num == 12 and np.isclose(sum(histogram.bucket), 12)
    (image,) = [v.image for _, v in written if v.tag == "picture"]
    assert (image.height, image.width, image.colorspace) == (5, 6, 3)
    assert any(v.tag.startswith("note") for _, v in written)


def test_what_is_not_there_says_so(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(minitorch.nn.Linear(2, 2), minitorch.ones(1, 2))
    from minitorch import onnx

    with pytest.raises(NotImplementedError, match="torch.load reads"):
        onnx.export(minitorch.nn.Linear(2, 2), minitorch.ones(1, 2), "model.onnx")
    assert onnx.is_in_onnx_export() is False
