"""kernels/norm.py beside torch: small (NumPy) and large (compiled) arrays, with and without weights."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from minitorch.kernels import norm as N  # noqa: E402

RTOL = {"float64": 1e-11, "float32": 2e-5}


def numbers(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def agree(got, expected, dtype, times=1):
    expected = expected.detach().numpy()
    assert got.shape == expected.shape and got.dtype == expected.dtype
    scale = max(1.0, float(np.abs(expected).max())) if expected.size else 1.0
    np.testing.assert_allclose(got, expected, rtol=RTOL[dtype] * times, atol=RTOL[dtype] * times * scale)


def setting(shape, parameters, affine, dtype):
    """Our arrays and torch's tensors: x, weight, bias, and a random cotangent."""
    ours = [numbers(shape, dtype, 0)] + [numbers(parameters, dtype, 1 + i) if affine else None for i in range(2)]
    theirs = [None if a is None else torch.tensor(a, requires_grad=True) for a in ours]
    return ours, theirs, numbers(shape, dtype, 9)


def gradients(y, tensors, g):
    found = iter(torch.autograd.grad(y, [t for t in tensors if t is not None], torch.tensor(g)))
    return [None if t is None else next(found) for t in tensors]


def all_agree(got, expected, dtype):
    for mine, theirs in zip(got, expected, strict=True):
        if theirs is not None:
            agree(mine, theirs, dtype, 5)


cases = pytest.mark.parametrize("dtype", ["float32", "float64"])
affine = pytest.mark.parametrize("affine", [False, True])


@cases
@affine
@pytest.mark.parametrize("shape, k", [((4, 6), 1), ((6,), 1), ((2, 3, 5), 2), ((1100, 128), 1), ((140, 10, 100), 2)])
def test_layer_norm(shape, k, affine, dtype):
    size = shape[len(shape) - k:]
    (x, w, b), tensors, g = setting(shape, size, affine, dtype)
    expected = torch.native_layer_norm(tensors[0], size, tensors[1], tensors[2], 1e-5)
    result = N.layer_norm(x, size, w, b)
    all_agree(result, expected, dtype)
    all_agree(N.layer_norm_backward(g, x, size, *result[1:], w, b), gradients(expected[0], tensors, g), dtype)
    alone = N.layer_norm_backward(g, x, size, *result[1:], w, b, (False, True, False))
    assert alone[0] is None and alone[2] is None and (alone[1] is None) is (not affine)


@cases
@affine
@pytest.mark.parametrize("shape", [(4, 6), (1100, 128)])
def test_rms_norm(shape, affine, dtype):
    (x, w, _), tensors, g = setting(shape, shape[-1:], affine, dtype)
    expected = F.rms_norm(tensors[0], shape[-1:], tensors[1], 1e-4)
    result, rstd = N.rms_norm(x, shape[-1:], w, 1e-4)
    agree(result, expected, dtype)
    all_agree(N.rms_norm_backward(g, x, shape[-1:], rstd, w), gradients(expected, tensors[:2], g), dtype)


@cases
@affine
@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 5, 4), (4, 6), (16, 32, 17, 17)])
def test_group_norm(shape, affine, dtype):
    (x, w, b), tensors, g = setting(shape, shape[1:2], affine, dtype)
    expected = F.group_norm(tensors[0], 2, tensors[1], tensors[2])
    result, mean, rstd = N.group_norm(x, 2, w, b)
    agree(result, expected, dtype)
    all_agree(N.group_norm_backward(g, x, mean, rstd, w, 2), gradients(expected, tensors, g), dtype)


@cases
@affine
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(7, 6), (2, 6, 5), (2, 6, 5, 4), (16, 32, 17, 17), (4096, 40)])
def test_batch_norm(shape, training, affine, dtype):
    (x, w, b), tensors, g = setting(shape, shape[1:2], affine, dtype)
    running = [numbers(shape[1:2], dtype, 5), np.abs(numbers(shape[1:2], dtype, 6))]
    theirs = [torch.tensor(r) for r in running]
    expected = F.batch_norm(tensors[0], *theirs, tensors[1], tensors[2], training, 0.3, 1e-4)
    result, mean, rstd = N.batch_norm(x, w, b, *running, training, 0.3, 1e-4)
    agree(result, expected, dtype)
    all_agree(running, theirs, dtype)
    all_agree(N.batch_norm_backward(g, x, w, mean, rstd, training), gradients(expected, tensors, g), dtype)


def test_a_large_mean_does_not_cancel():
    x = numbers((300, 256), "float32", 0) + 1000
    expected = torch.nn.functional.layer_norm(torch.tensor(x, dtype=torch.float64), (256,)).numpy()
    np.testing.assert_allclose(N.layer_norm(x, (256,))[0], expected, atol=5e-4)
