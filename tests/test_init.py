"""Initial values: drawn from torch's stream in torch's order, so that the same seed gives the same weights."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch  # noqa: E402

SHAPES = [(3, 5), (20, 30), (4, 3, 3), (8, 4, 3, 3), (7, 2, 2, 2, 3)]
DRAWS = {
    "uniform_": [{}, {"a": -2.0, "b": 3.0}],
    "normal_": [{}, {"mean": 1.0, "std": 0.02}],
    "trunc_normal_": [{}, {"std": 0.02, "a": -0.03, "b": 0.05}, {"mean": 3.0, "std": 2.0, "a": 4.5, "b": 5.0}],
    "xavier_uniform_": [{}, {"gain": 2.0}],
    "xavier_normal_": [{}, {"gain": 2.0}],
    "kaiming_uniform_": [{}, {"a": math.sqrt(5)}, {"mode": "fan_out", "nonlinearity": "relu"}],
    "kaiming_normal_": [{}, {"mode": "fan_out", "nonlinearity": "tanh"}],
    "orthogonal_": [{}, {"gain": 3.0}],
    "constant_": [{"val": 0.3}],
    "ones_": [{}],
    "zeros_": [{}],
}
EXACT = {"uniform_", "xavier_uniform_", "kaiming_uniform_", "constant_", "ones_", "zeros_"}


def filled(lib, name, shape, options, dtype="float32"):
    lib.manual_seed(3)
    tensor = lib.full(shape, 7.0, dtype=getattr(lib, dtype), requires_grad=True)
    result = getattr(lib.nn.init, name)(tensor, **options)
    assert result is tensor and tensor.is_leaf and tensor.requires_grad
    following = lib.rand(2).tolist()  # as much of the stream has been used
    return tensor.detach().numpy(), following


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_draws(name, shape, dtype):
    for options in DRAWS[name]:
        ours, our_next = filled(minitorch, name, shape, options, dtype)
        theirs, their_next = filled(torch, name, shape, options, dtype)
        assert our_next == their_next
        if name in EXACT:
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shape", [(4, 3, 3), (6, 2, 3, 5), (2, 4, 3, 1, 3)], ids=str)
def test_dirac(shape, groups):
    ours, theirs = (filled(lib, "dirac_", shape, {"groups": groups})[0] for lib in (minitorch, torch))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2)], ids=str)
def test_eye_and_sparse(shape):
    for name, options in (("eye_", {}), ("sparse_", {"sparsity": 0.4}), ("sparse_", {"sparsity": 0.9, "std": 2.0})):
        ours, theirs = (filled(lib, name, shape, options) for lib in (minitorch, torch))
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-7)
        assert ours[1] == theirs[1]


def test_gains():
    for name in ("linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"):
        assert minitorch.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert minitorch.nn.init.calculate_gain("leaky_relu", 0.3) == torch.nn.init.calculate_gain("leaky_relu", 0.3)


ERRORS = {
    "gain": lambda lib: lib.nn.init.calculate_gain("swish"),
    "slope": lambda lib: lib.nn.init.calculate_gain("leaky_relu", "x"),
    "fan": lambda lib: lib.nn.init.xavier_uniform_(lib.zeros(3)),
    "mode": lambda lib: lib.nn.init.kaiming_normal_(lib.zeros(3, 3), mode="fan"),
    "eye": lambda lib: lib.nn.init.eye_(lib.zeros(3)),
    "dirac": lambda lib: lib.nn.init.dirac_(lib.zeros(3, 3)),
    "dirac groups": lambda lib: lib.nn.init.dirac_(lib.zeros(3, 3, 3), 2),
    "orthogonal": lambda lib: lib.nn.init.orthogonal_(lib.zeros(3)),
    "sparse": lambda lib: lib.nn.init.sparse_(lib.zeros(3), 0.5),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    with pytest.raises(Exception) as theirs:  # noqa: B017, PT011
        ERRORS[name](torch)
    with pytest.raises(theirs.type) as ours:
        ERRORS[name](minitorch)
    assert str(ours.value) == str(theirs.value)


def test_warnings():
    for lib in (torch, minitorch):
        with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
            lib.nn.init.kaiming_uniform_(lib.zeros(0, 3))
        with pytest.warns(UserWarning, match="mean is more than 2 std"):
            lib.nn.init.trunc_normal_(lib.zeros(3), mean=5.0)
        with pytest.warns(FutureWarning, match="now deprecated in favor"):
            lib.nn.init.uniform(lib.zeros(3))


@pytest.mark.parametrize("kind, arguments", [
    ("Linear", (30, 20)), ("Conv2d", (3, 8, 3)), ("Embedding", (10, 6)), ("LSTM", (4, 5)), ("Bilinear", (3, 4, 5)),
    ("MultiheadAttention", (8, 2)), ("TransformerEncoderLayer", (8, 2, 16)), ("ConvTranspose2d", (3, 8, 3)),
    ("PReLU", (3,)), ("GRUCell", (4, 5)),
])
def test_layers_start_with_torchs_weights(kind, arguments):
    states = []
    for lib in (minitorch, torch):
        lib.manual_seed(11)
        states.append(getattr(lib.nn, kind)(*arguments).state_dict())
    for (name, ours), (_, theirs) in zip(states[0].items(), states[1].items(), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-7, err_msg=name)
        if kind != "Embedding":
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=name)
