"""kernels/reductions.py, linalg.py and embedding.py: sums and products, small and large."""

import itertools

import numpy as np
import pytest
from minitorch.kernels import embedding as E
from minitorch.kernels import linalg as L
from minitorch.kernels import reductions as R


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [
    (3,), (2, 3), (700, 5), (2, 1, 3, 4), (1, 1), (2, 3, 4, 5, 6), (40000, 3), (3, 40000),
    (5, 1000, 7), (1030, 1), (3, 0), ()])
def test_sum_over(shape, dtype):
    x = np.asarray(np.random.default_rng(0).random(shape), dtype)
    for count in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            for keepdims in (False, True):
                got = R.sum_over(x, axes, keepdims)
                expected = x.sum(axes, np.float64, keepdims=keepdims)
                assert type(got) is np.ndarray and got.dtype == x.dtype and got.shape == expected.shape
                np.testing.assert_allclose(got, expected, rtol=1e-13 if dtype == "float64" else 2e-6)


def test_sums_are_exact_where_numpy_s_are_not():
    x = np.random.default_rng(0).random((100000, 10)).astype(np.float32)
    np.testing.assert_allclose(R.sum_over(x, (0,)), x.sum(0, np.float64), rtol=5e-7)
    assert R.sum_over(np.ones(70000, np.float16)) == np.inf and R.sum_over(np.ones(2049, np.float16)) == 2048
    np.testing.assert_equal(R.sum_over(np.array([[np.inf, 1], [1, np.nan]], np.float32), (0,)), [np.inf, np.nan])


@pytest.mark.parametrize("shape, target", [
    ((4, 3), (3,)), ((4, 3), (4, 1)), ((4, 3), ()), ((2, 3, 4), (3, 1)), ((2, 3), (2, 3)),
    ((2, 3, 4), (1, 1, 1)), ((5, 1), (1,))])
def test_sum_to_undoes_broadcasting(shape, target):
    x = np.random.default_rng(0).random(shape)
    got = R.sum_to(x, target)
    assert got.shape == target
    y = np.random.default_rng(1).random(target)
    np.testing.assert_allclose((got * y).sum(), (x * np.broadcast_to(y, shape)).sum())


@pytest.mark.parametrize("size", [5, 300000])
def test_unscale(size):
    arrays = [np.random.default_rng(0).random(size).astype(np.float32), np.ones(3)]
    copies = [a.copy() for a in arrays]
    assert R.unscale(arrays, 0.25)
    assert all((a == c * 0.25).all() for a, c in zip(arrays, copies, strict=True))
    for bad in (np.inf, -np.inf, np.nan):
        arrays[0][size // 2] = bad
        assert not R.unscale(arrays, 1.0) and not R.all_finite(arrays)


SHAPES = [((3,), (3,)), ((4, 3), (3,)), ((3,), (3, 5)), ((4, 3), (3, 5)), ((2, 4, 3), (3, 5)), ((2, 4, 3), (3,)),
          ((4, 3), (2, 3, 5)), ((3,), (2, 3, 5)), ((2, 1, 4, 3), (5, 3, 6)), ((16, 4, 64, 32), (16, 4, 32, 64)),
          ((1, 64, 64, 32), (7, 1, 32, 64)), ((0, 3), (3, 4)), ((4, 0), (0, 5)), ((2, 4, 0), (0, 5)),
          ((2, 0, 3), (2, 3, 4)), ((0, 4, 3), (0, 3, 5)), ((2, 3, 4), (4, 0))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
@pytest.mark.parametrize("left, right", SHAPES)
def test_matmul(left, right, dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(shape) * 40).astype(dtype) for shape in (left, right))
    expected = np.matmul(a, b)
    got = L.matmul(a, b)
    assert type(got) is np.ndarray and got.dtype == a.dtype and got.shape == np.shape(expected)
    rtol, atol = (1e-4, 0.02) if dtype == "float32" else (1e-11, 1e-9)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def test_matmul_of_transposed_views():
    q, k = (np.random.default_rng(i).standard_normal((16, 64, 4, 32)).transpose(0, 2, 1, 3) for i in range(2))
    expected = np.einsum("bhid,bhjd->bhij", q, k)
    np.testing.assert_allclose(L.matmul(q, k.swapaxes(-1, -2)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("limit", [100, 2**40])
def test_products_of_integers_are_exact(limit):
    a, b = (np.random.default_rng(i).integers(-limit, limit, (80, 80)) for i in range(2))
    assert (L.matmul(a, b) == np.matmul(a, b)).all()


def test_float16_accumulates_in_float32():
    ones = np.ones((2, 4096), np.float16)
    assert (L.matmul(ones, ones.T) == 4096).all()


def test_addmm():
    rng = np.random.default_rng(0)
    bias, a, b = rng.random(5), rng.random((4, 3)), rng.random((3, 5))
    np.testing.assert_allclose(L.addmm(bias, a, b), bias + a @ b)
    np.testing.assert_allclose(L.addmm(bias, a, b, beta=2, alpha=-3), 2 * bias - 3 * (a @ b))
    np.testing.assert_allclose(L.addmm(np.full(5, np.nan), a, b, beta=0), a @ b)


@pytest.mark.parametrize("vocabulary, width, count", [(11, 6, 20), (70, 130, 1024), (5000, 8, 300), (3, 4, 0)])
@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_embedding(vocabulary, width, count, padding, by_frequency):
    rng = np.random.default_rng(0)
    index = rng.integers(0, vocabulary, (count,))
    weight, grad = rng.random((vocabulary, width)).astype(np.float32), rng.random((count, width)).astype(np.float32)
    assert (E.embedding(weight, index) == weight[index]).all()
    expected = np.zeros((vocabulary, width))
    for i, g in zip(index, grad, strict=True):
        if i != padding:
            expected[i] += g / (1 if not by_frequency else (index == i).sum())
    got = E.embedding_dense_backward(grad, index, vocabulary, padding, by_frequency)
    assert got.dtype == grad.dtype
    np.testing.assert_allclose(got, expected, rtol=2e-6)


def test_embedding_keeps_an_inf_in_its_row():
    grad = np.ones((4, 3), np.float32)
    grad[1, 1] = np.inf
    got = E.embedding_dense_backward(grad, np.array([0, 2, 2, 4]), 5)
    np.testing.assert_array_equal(got, [[1, 1, 1], [0, 0, 0], [2, np.inf, 2], [0, 0, 0], [1, 1, 1]])


def test_embedding_refuses():
    for bad in (5, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            E.embedding(np.zeros((5, 2)), np.array([bad]))
