"""Pooling beside torch's: the NumPy text and the compiled one."""

import numpy as np
import pytest
from minitorch.kernels import parallel, pool

torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.fixture(params=["numpy", "compiled"])
def route(request, monkeypatch):
    """Both versions of every kernel, at every size."""
    if request.param == "numpy":
        monkeypatch.setattr(parallel, "_numba", False)
    else:
        pytest.importorskip("numba")
        monkeypatch.setattr(parallel, "_numba", None)
        monkeypatch.setattr(parallel, "_mode", "1")
    return request.param


def draw(rng, nd, low, high):
    return tuple(int(n) for n in rng.integers(low, high, nd))


def image(rng, nd, odd):
    """A random image with many ties; with `odd` also -inf and nan in places."""
    lead = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 4, int(rng.integers(1, 3))))
    if len(lead) == 1 or lead[-1] == 0:
        lead = (*lead[:-1], 2)  # an empty batch is fine, no channels are not
    x = rng.standard_normal((*lead, *draw(rng, nd, 4, 10))).round(1)
    if odd:
        x[rng.random(x.shape) < 0.3] = -np.inf
        x[rng.random(x.shape) < 0.1] = np.nan
    return x


def same_error(theirs, ours):
    """torch's words are in ours, which are the same for every number of dimensions."""
    theirs, ours = str(theirs).split("\n")[0], str(ours)
    return theirs in ours or theirs.split(",")[0].split("(")[0].removeprefix("Given ") in ours or "1d" in ours


@pytest.mark.parametrize("seed", range(120))
def test_max_and_average(seed, route):
    rng = np.random.default_rng(seed)
    nd = seed % 3 + 1
    kernel, stride, padding, dilation = (
        draw(rng, nd, 1, 5),
        draw(rng, nd, 1, 4),
        draw(rng, nd, 0, 3),
        draw(rng, nd, 1, 3),
    )
    ceil_mode, count_include_pad = bool(rng.integers(2)), bool(rng.integers(2))
    padding = tuple(min(p, k // 2) for p, k in zip(padding, kernel, strict=True))  # what is refused is tested below
    x = image(rng, nd, odd=seed % 4 == 0)
    t = torch.tensor(x, requires_grad=True)
    try:
        values, indices = getattr(F, f"max_pool{nd}d")(t, kernel, stride, padding, dilation, ceil_mode, True)
    except RuntimeError as theirs:
        with pytest.raises(RuntimeError) as ours:
            pool.max_pool(nd, x, kernel, stride, padding, dilation, ceil_mode)
        assert same_error(theirs, ours.value)
    else:
        ours, places = pool.max_pool(nd, x, kernel, stride, padding, dilation, ceil_mode)
        np.testing.assert_array_equal(ours, values.detach())
        np.testing.assert_array_equal(places, indices)
        g = torch.randn_like(values)
        (dx,) = torch.autograd.grad(values, t, g)
        np.testing.assert_allclose(pool.max_pool_grad(nd, g.numpy(), places, x.shape), dx, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(pool.max_pool_gather(nd, x, places), ours)

    options = {"divisor_override": 3} if nd > 1 and seed % 2 else {}
    try:
        means = getattr(F, f"avg_pool{nd}d")(t, kernel, stride, padding, ceil_mode, count_include_pad, **options)
    except RuntimeError as theirs:
        with pytest.raises(RuntimeError) as ours:
            pool.avg_pool(nd, x, kernel, stride, padding, ceil_mode, count_include_pad, **options)
        assert same_error(theirs, ours.value)
    else:
        ours = pool.avg_pool(nd, x, kernel, stride, padding, ceil_mode, count_include_pad, **options)
        np.testing.assert_allclose(ours, means.detach(), rtol=1e-13, atol=1e-13)
        g = torch.randn_like(means)
        (dx,) = torch.autograd.grad(means, t, g)
        ours = pool.avg_pool_grad(
            nd, g.numpy(), x.shape, kernel, stride, padding, ceil_mode, count_include_pad, **options
        )
        np.testing.assert_allclose(ours, dx, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "shape, kernel, stride, padding",
    [
        ((6, 5, 24, 24), 2, 2, 0),
        ((3, 5, 33, 31), 3, 2, 1),
        ((2, 3, 40, 40), 3, 1, 1),
        ((2, 3, 30, 70), (5, 3), (3, 3), (2, 1)),
    ],
    ids=str,
)
def test_in_float32(shape, kernel, stride, padding, route):
    x = torch.randn(shape)
    values, indices = F.max_pool2d(x, kernel, stride, padding, return_indices=True)
    ours, places = pool.max_pool(2, x.numpy(), kernel, stride, padding)
    np.testing.assert_array_equal(ours, values)
    np.testing.assert_array_equal(places, indices)
    assert places.dtype == np.int64 and ours.dtype == np.float32
    np.testing.assert_allclose(
        pool.avg_pool(2, x.numpy(), kernel, stride, padding),
        F.avg_pool2d(x, kernel, stride, padding),
        rtol=1e-5,
        atol=1e-6,
    )


@pytest.mark.parametrize("seed", range(60))
def test_adaptive(seed, route):
    rng = np.random.default_rng(seed)
    nd = seed % 3 + 1
    x = image(rng, nd, odd=False)
    out = (1,) * nd if seed % 10 == 0 else draw(rng, nd, 1, 12)
    t = torch.tensor(x, requires_grad=True)
    means = getattr(F, f"adaptive_avg_pool{nd}d")(t, out)
    np.testing.assert_allclose(pool.adaptive_avg_pool(nd, x, out), means.detach(), rtol=1e-13, atol=1e-13)
    g = torch.randn_like(means)
    (dx,) = torch.autograd.grad(means, t, g)
    np.testing.assert_allclose(pool.adaptive_avg_pool_grad(nd, g.numpy(), x.shape), dx, rtol=1e-13, atol=1e-13)
    if seed % 2:
        x[rng.random(x.shape) < 0.2] = np.nan
        x[rng.random(x.shape) < 0.2] = -np.inf
    t = torch.tensor(x, requires_grad=True)
    values, indices = getattr(F, f"adaptive_max_pool{nd}d")(t, out, return_indices=True)
    ours, places = pool.adaptive_max_pool(nd, x, out)
    np.testing.assert_array_equal(ours, values.detach())
    np.testing.assert_array_equal(places, indices)
    (dx,) = torch.autograd.grad(values, t, g)
    np.testing.assert_allclose(pool.max_pool_grad(nd, g.numpy(), places, x.shape), dx, rtol=1e-13, atol=1e-13)


def test_adaptive_sizes_left_open_or_nothing():
    x = torch.randn(2, 3, 5, 6)
    np.testing.assert_array_equal(pool.adaptive_avg_pool(2, x.numpy(), (None, 6)), x)
    assert pool.adaptive_avg_pool(2, x.numpy(), (0, 2)).shape == (2, 3, 0, 2)
    assert pool.adaptive_max_pool(2, x.numpy(), (2, 0))[1].shape == (2, 3, 2, 0)


@pytest.mark.parametrize("seed", range(20))
def test_fractional(seed):
    rng = np.random.default_rng(seed)
    nd = seed % 2 + 2
    x = rng.standard_normal((2, 3, *draw(rng, nd, 6, 9)))
    kernel, out, samples = draw(rng, nd, 1, 4), draw(rng, nd, 1, 4), rng.random((2, 3, nd))
    values, indices = getattr(F, f"fractional_max_pool{nd}d")(
        torch.tensor(x), kernel, out, return_indices=True, _random_samples=torch.tensor(samples)
    )
    ours, places = pool.fractional_max_pool(nd, x, kernel, out, samples)
    np.testing.assert_array_equal(ours, values)
    np.testing.assert_array_equal(places, indices)


@pytest.mark.parametrize("nd", [1, 2, 3])
def test_unpool(nd):
    x = torch.randn(2, 3, *(6,) * nd, dtype=torch.float64)
    values, indices = getattr(F, f"max_pool{nd}d")(x, 2, return_indices=True)
    expected = getattr(F, f"max_unpool{nd}d")(values, indices, 2)
    np.testing.assert_array_equal(pool.max_unpool(nd, values.numpy(), indices.numpy(), (6,) * nd), expected)
    with pytest.raises(RuntimeError, match="Found an invalid max index"):
        pool.max_unpool(nd, values.numpy(), indices.numpy() + 10000, (6,) * nd)
    with pytest.raises(RuntimeError, match="should be type int64"):
        pool.max_unpool(nd, values.numpy(), indices.int().numpy(), (6,) * nd)
    with pytest.raises(RuntimeError, match="Expected shape of indices to be same"):
        pool.max_unpool(nd, values.numpy(), indices[:1].numpy(), (6,) * nd)


def test_integers():
    x = torch.randint(-9, 9, (2, 3, 7, 7))
    values, indices = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    ours, places = pool.max_pool(2, x.numpy(), 3, 2, 1)
    np.testing.assert_array_equal(ours, values)
    np.testing.assert_array_equal(places, indices)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precisions(dtype, route):
    x = torch.randn(2, 3, 9, 9).to(getattr(torch, dtype))
    from ml_dtypes import bfloat16

    array = x.float().numpy().astype(bfloat16 if dtype == "bfloat16" else np.float16)
    values, indices = F.max_pool2d(x.float(), 3, 2, 1, return_indices=True)
    ours, places = pool.max_pool(2, array, 3, 2, 1)
    assert ours.dtype == array.dtype
    np.testing.assert_array_equal(ours.astype(np.float32), values)
    np.testing.assert_array_equal(places, indices)
    means = F.avg_pool2d(x.double(), 5).to(x.dtype)
    ours = pool.avg_pool(2, array, 5)
    assert ours.dtype == array.dtype
    np.testing.assert_array_equal(ours.astype(np.float32), means.float())


WRONG = [
    ((5, 5), (2,), "non-empty 3D or 4D"),
    ((2, 3, 5, 5), (2, 0), "stride should not be zero"),
    (
        (2, 3, 5, 5),
        (2, 1, 2),
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1",
    ),
    ((2, 3, 5, 5), (2, 1, -1), "pad must be non-negative, but got pad: -1"),
    ((2, 3, 5, 5), (2, 1, 0, 0), "dilation should be greater than zero"),
    ((2, 3, 5, 5), (7,), r"Given input size: \(3x5x5\). Calculated output size: \(3x0x0\). Output size is too small"),
    ((2, 3, 5, 5), ((2, 2, 2),), "max_pool2d: kernel_size must either be a single int, or a tuple of two ints"),
    ((2, 3, 5, 5), (2, (1, 1, 1)), "max_pool2d: stride must either be omitted, a single int, or a tuple of two ints"),
    (
        (2, 0, 5, 5),
        (2,),
        r"Expected 3D or 4D \(batch mode\) tensor with optional 0 dim batch size for input, but got:\[2, 0, 5, 5\]",
    ),
]


@pytest.mark.parametrize("shape, arguments, words", WRONG, ids=str)
def test_errors_in_torchs_words(shape, arguments, words):
    with pytest.raises(RuntimeError, match=words):
        torch.ops.aten.max_pool2d_with_indices(torch.randn(shape), *arguments)
    with pytest.raises(RuntimeError, match=words):
        pool.max_pool(2, np.ones(shape), *arguments)


def test_a_divisor_of_zero_is_refused():
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        pool.avg_pool(2, np.ones((1, 1, 4, 4)), 2, divisor_override=0)


def test_threads_do_not_show(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(parallel, "_mode", "1")
    x = np.random.default_rng(0).standard_normal((11, 3, 12, 12))
    expected = None
    for threads in (1, 2, 5):
        monkeypatch.setattr(parallel, "_threads", threads)
        monkeypatch.setattr(pool, "GRAIN", 1)
        values, places = pool.max_pool(2, x, 3, 2, 1)
        now = (
            values,
            places,
            pool.max_pool_grad(2, values, places, x.shape),
            pool.avg_pool(2, x, 3, 2, 1),
            pool.avg_pool_grad(2, values, x.shape, 3, 2, 1),
        )
        for one, other in zip(now, expected or now, strict=True):
            np.testing.assert_array_equal(one, other)
        expected = now
