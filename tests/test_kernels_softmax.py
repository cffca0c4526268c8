"""kernels/softmax.py and kernels/activations.py beside torch: small (NumPy) and large (compiled) arrays."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from minitorch.kernels import activations as A  # noqa: E402
from minitorch.kernels import softmax as S  # noqa: E402

RTOL = {"float64": 1e-12, "float32": 3e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def numbers(shape, dtype, seed=0, scale=1.0):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, dtype)


def agree(got, expected, dtype, times=1):
    expected = expected.detach().numpy()
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=RTOL[dtype] * times, atol=RTOL[dtype] * times)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dim", [
    ((), 0), ((5,), 0), ((5, 7), 0), ((5, 7), -1), ((2, 3, 4), 1), ((4, 1), -1), ((3, 0), 1),
    ((300, 257), -1), ((300, 257), 0), ((70, 40, 30), 1), ((1, 100000), -1)])
def test_softmax(shape, dim, dtype):
    x, g = numbers(shape, dtype, 0, 3), numbers(shape, dtype, 1)
    for name in ("softmax", "log_softmax"):
        t = torch.tensor(x, requires_grad=True)
        y = getattr(torch, name)(t, dim)
        (dx,) = torch.autograd.grad(y, t, torch.tensor(g))
        result = getattr(S, name)(x, dim)
        agree(result, y, dtype)
        agree(getattr(S, name + "_backward")(g, result, dim), dx, dtype, 10)


@pytest.mark.parametrize("columns", [4, 70000])
def test_softmax_of_what_is_not_finite(columns):
    inf, nan = np.inf, np.nan
    for values in ([-inf] * 4, [inf, 0, 0, 0], [nan, 0, 0, 0], [-inf, 0, 1, -inf], [1e38, -1e38, 0, 1]):
        x = np.resize(np.array(values, np.float32), (1, columns))
        for name in ("softmax", "log_softmax"):
            expected = getattr(torch, name)(torch.tensor(x), -1).numpy()
            np.testing.assert_allclose(getattr(S, name)(x, -1), expected, rtol=5e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype):
    x = numbers((6, 50), np.float32, 0, 2)
    t = torch.tensor(x).to(getattr(torch, dtype))
    half = t.float().numpy().astype(S.np.dtype(dtype) if dtype == "float16" else "bfloat16")
    got = S.softmax(half, -1)
    assert got.dtype == half.dtype
    np.testing.assert_allclose(got.astype(np.float32), t.softmax(-1).float().numpy(), rtol=RTOL[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape, target_shape", [
    ((6, 5), (6,)), ((5,), ()), ((2, 5, 3, 4), (2, 3, 4)), ((20000, 5), (20000,))])
def test_nll_loss(shape, target_shape, weighted, ignore_index, reduction, dtype):
    x = numbers(shape, dtype)
    target = np.asarray(np.random.default_rng(3).integers(3, 5, target_shape))
    if target_shape:
        target.flat[0] = ignore_index
    weight = np.random.default_rng(4).random(5).astype(dtype) if weighted else None
    t = torch.tensor(x, requires_grad=True)
    y = F.nll_loss(t, torch.tensor(target), torch.tensor(weight) if weighted else None, ignore_index=ignore_index,
                   reduction=reduction)
    loss, total = S.nll_loss(x, target, weight, reduction, ignore_index)
    agree(loss, y, dtype)
    g = numbers(y.shape, dtype, 5)
    (dx,) = torch.autograd.grad(y, t, torch.tensor(g))
    agree(S.nll_loss_backward(g, x, target, weight, reduction, ignore_index, total), dx, dtype)


def test_nll_loss_refuses_a_class_that_is_not_there():
    for bad in (5, -1):
        with pytest.raises(IndexError, match=f"Target {bad} is out of bounds"):
            S.nll_loss(np.zeros((2, 5)), np.array([0, bad]))


FUNCTIONS = {
    "sigmoid": (torch.sigmoid, A.sigmoid, lambda g, x, y: A.sigmoid_backward(g, y)),
    "tanh": (torch.tanh, np.tanh, lambda g, x, y: A.tanh_backward(g, y)),
    "silu": (F.silu, A.silu, lambda g, x, y: A.silu_backward(g, x)),
    "relu": (F.relu, lambda x: np.maximum(x, 0), lambda g, x, y: A.threshold_backward(g, y)),
    "softplus": (F.softplus, A.softplus, lambda g, x, y: A.softplus_backward(g, x)),
    "softplus 2, 1": (lambda x: F.softplus(x, 2.0, 1.0), lambda x: A.softplus(x, 2.0, 1.0),
                      lambda g, x, y: A.softplus_backward(g, x, 2.0, 1.0)),
    "gelu": (F.gelu, A.gelu, lambda g, x, y: A.gelu_backward(g, x)),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda x: A.gelu(x, "tanh"),
                  lambda g, x, y: A.gelu_backward(g, x, "tanh")),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4), (400, 400)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations(name, shape, dtype):
    theirs, ours, backward = FUNCTIONS[name]
    x, g = numbers(shape, dtype, 0, 4), numbers(shape, dtype, 1)
    t = torch.tensor(x, requires_grad=True)
    y = theirs(t)
    (dx,) = torch.autograd.grad(y, t, torch.tensor(g))
    result = ours(x)
    agree(result, y, dtype)
    agree(backward(g, x, result), dx, dtype, 2)


def test_masked_gradients_are_zero_even_where_they_are_nan():
    g, y = np.array([np.nan, np.inf, 1, -np.inf, np.nan], np.float32), np.array([0, 0, 0, 1, np.nan], np.float32)
    for repeat in (1, 40000):
        got = A.threshold_backward(np.tile(g, repeat), np.tile(y, repeat))[:5]
        np.testing.assert_array_equal(got, [0, 0, 0, -np.inf, np.nan])
