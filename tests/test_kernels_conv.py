"""Convolution and its adjoints, and sliding blocks, beside torch's: the NumPy text and the compiled one."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from minitorch.kernels import conv, conv_plan, conv_tiles, parallel, unfold

torch = pytest.importorskip("torch")
F = torch.nn.functional


def only_of_nothing(x, *arguments):
    assert x.size == 0, "the NumPy text has run instead of the compiled one"
    return unfold.im2col(x, *arguments)


@pytest.fixture(params=["numpy", "compiled"])
def route(request, monkeypatch):
    """Both versions of every kernel, at every size."""
    if request.param == "numpy":
        monkeypatch.setattr(parallel, "_numba", False)
    else:
        pytest.importorskip("numba")
        monkeypatch.setattr(parallel, "_numba", None)
        monkeypatch.setattr(parallel, "_mode", "1")
        monkeypatch.setattr(conv, "im2col", only_of_nothing)
    return request.param


def geometries(count, seed=0):
    """Random shapes of images and weights, and the arguments that go with them."""
    rng = np.random.default_rng(seed)
    while count:
        nd, groups, transposed = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3])), bool(rng.integers(2))

        def each(low, high, nd=nd):
            return tuple(int(n) for n in rng.integers(low, high, nd))

        stride, padding, dilation, kernel = each(1, 4), each(0, 3), each(1, 3), each(1, 4)
        output_padding = (0,) * nd
        if transposed:
            output_padding = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation, strict=True))
        inputs, outputs = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 12))
        x = (int(rng.integers(0, 4)), inputs, *each(5, 9 if nd == 3 else 20))
        w = (inputs, outputs // groups, *kernel) if transposed else (outputs, inputs // groups, *kernel)
        count -= 1
        yield x, w, outputs, (stride, padding, dilation, transposed, output_padding, groups)


def family(x, w, b, arguments):
    """(y, dx, dw, db) by torch, for a random gradient g, and g."""
    leaves = [array.detach().clone().requires_grad_() for array in (x, w, b)]
    y = torch.convolution(*leaves, *arguments)
    g = torch.randn_like(y)
    return (y.detach(), *torch.autograd.grad(y, leaves, g)), g


@pytest.mark.parametrize("geometry", list(geometries(80)), ids=str)
def test_the_three_products_are_torchs(geometry, route):
    xshape, wshape, outputs, arguments = geometry
    x, w, b = (torch.randn(shape, dtype=torch.float64) for shape in (xshape, wshape, (outputs,)))
    try:
        (y, dx, dw, _), g = family(x, w, b, arguments)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as ours:
            conv.convolution(x.numpy(), w.numpy(), b.numpy(), *arguments)
        assert str(ours.value) == str(error)
        return
    before = [array.clone() for array in (x, w, b, g)]
    ours = conv.convolution(x.numpy(), w.numpy(), b.numpy(), *arguments)
    assert ours.flags.c_contiguous
    np.testing.assert_allclose(ours, y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        conv.convolution_input_grad(g.numpy(), w.numpy(), xshape, *arguments), dx, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        conv.convolution_weight_grad(g.numpy(), x.numpy(), wshape, *arguments), dw, rtol=1e-12, atol=1e-11
    )
    for array, old in zip((x, w, b, g), before, strict=True):
        assert torch.equal(array, old)


LAYERS = {
    "first": ((5, 1, 28, 28), (6, 1, 5, 5), {}),
    "second": ((9, 6, 12, 12), (16, 6, 5, 5), {}),
    "residual": ((3, 32, 32, 32), (32, 32, 3, 3), {"padding": 1}),
    "downsampling": ((3, 16, 32, 32), (24, 16, 3, 3), {"padding": 1, "stride": 2}),
    "shortcut": ((3, 16, 32, 32), (24, 16, 1, 1), {"stride": 2}),
    "pointwise": ((3, 40, 16, 16), (37, 40, 1, 1), {}),
    "depthwise": ((3, 20, 16, 16), (20, 1, 3, 3), {"padding": 1, "groups": 20}),
    "dilated": ((2, 8, 20, 20), (9, 8, 3, 3), {"padding": 2, "dilation": 2}),
    "stem": ((2, 3, 56, 56), (17, 3, 7, 7), {"padding": 3, "stride": 2}),
    "wide": ((1, 4, 9, 200), (8, 4, 3, 3), {"padding": 1}),
    "deep": ((2, 70, 7, 7), (66, 70, 3, 3), {"padding": 1}),
    "sequence": ((4, 12, 50), (10, 12, 3), {"padding": 1}),
    "volume": ((2, 3, 8, 9, 10), (5, 3, 3, 3, 3), {"padding": 1}),
}


def spelled(nd, padding=0, stride=1, dilation=1, groups=1, transposed=False):
    return ((stride,) * nd, (padding,) * nd, (dilation,) * nd, transposed, (0,) * nd, groups)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_as_networks_have_them(layer, dtype, route):
    xshape, wshape, options = LAYERS[layer]
    arguments = spelled(len(xshape) - 2, **options)
    x, w, b = (torch.randn(shape, dtype=torch.float64) for shape in (xshape, wshape, wshape[:1]))
    expected, g = family(x, w, b, arguments)
    x, w, b, g = (array.to(dtype).numpy() for array in (x, w, b, g))
    ours = (
        conv.convolution(x, w, b, *arguments),
        conv.convolution_input_grad(g, w, x.shape, *arguments),
        conv.convolution_weight_grad(g, x, w.shape, *arguments),
    )
    for mine, theirs in zip(ours, expected, strict=False):
        assert mine.dtype == x.dtype
        scale = float(theirs.abs().max())
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=scale * (1e-13 if dtype is torch.float64 else 3e-6))


def test_chunks_parts_and_threads_do_not_show(monkeypatch):
    """However the work is cut, each number is the same sum: bit for bit over threads, to rounding over sizes of a
    chunk.
    """
    pytest.importorskip("numba")
    monkeypatch.setattr(parallel, "_mode", "1")
    rng = np.random.default_rng(0)
    x, w, g = (
        rng.standard_normal((7, 6, 11, 11)),
        rng.standard_normal((10, 6, 3, 3)),
        rng.standard_normal((7, 10, 6, 6)),
    )
    arguments = spelled(2, padding=1, stride=2)

    def products():
        for plan in (conv_plan.forward, conv_plan.input_grad, conv_plan.weight_grad):
            plan.cache_clear()
        return (
            conv.convolution(x, w, None, *arguments),
            conv.convolution_input_grad(g, w, x.shape, *arguments),
            conv.convolution_weight_grad(g, x, w.shape, *arguments),
        )

    try:
        expected = products()
        for threads, slice_ in itertools.product((1, 2, 3, 16), (1, 1 << 19)):
            monkeypatch.setattr(parallel, "_threads", threads)
            monkeypatch.setattr(conv_tiles, "SLICE", slice_)
            for mine, theirs in zip(products(), expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        for chunk, places in itertools.product((1, 30000, 90000), (1, 100)):
            monkeypatch.setattr(conv_plan, "CHUNK", chunk)
            monkeypatch.setattr(conv_plan, "DOT_PLACES", places)
            for mine, theirs in zip(products(), expected, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    finally:
        monkeypatch.undo()
        for plan in (conv_plan.forward, conv_plan.input_grad, conv_plan.weight_grad):
            plan.cache_clear()


def test_any_strides_are_welcome(route):
    x, w = torch.randn(2, 4, 8, 8, dtype=torch.float64), torch.randn(6, 4, 3, 3, dtype=torch.float64)
    arguments = spelled(2, padding=1)
    expected = torch.convolution(x, w, None, *arguments)
    last = np.ascontiguousarray(x.numpy().transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)  # channels_last
    np.testing.assert_allclose(
        conv.convolution(last, w.numpy().transpose().copy().transpose(), None, *arguments), expected, rtol=1e-12
    )
    g = np.broadcast_to(np.ones(()), (2, 6, 8, 8))  # the gradient of a sum
    weight = w.clone().requires_grad_()
    torch.convolution(x, weight, None, *arguments).sum().backward()
    np.testing.assert_allclose(conv.convolution_weight_grad(g, last, w.shape, *arguments), weight.grad, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precisions_are_rounded_once(dtype, route):
    x, w, b = (torch.randn(shape).to(getattr(torch, dtype)) for shape in ((2, 40, 6, 6), (8, 40, 3, 3), (8,)))
    exact = torch.convolution(x.double(), w.double(), b.double(), *spelled(2)).to(x.dtype)
    from ml_dtypes import bfloat16

    arrays = [array.float().numpy().astype(bfloat16 if dtype == "bfloat16" else np.float16) for array in (x, w, b)]
    ours = conv.convolution(*arrays, *spelled(2))
    assert ours.dtype == arrays[0].dtype
    wrong = ours.astype(np.float32) != exact.float().numpy()  # a last bit where the exact value lies half way
    assert wrong.mean() < 0.02


def test_integers_are_exact():
    x, w = torch.randint(-1000, 1000, (2, 3, 5, 5)), torch.randint(-1000, 1000, (4, 3, 3, 3))
    np.testing.assert_array_equal(conv.convolution(x.numpy(), w.numpy()), F.conv2d(x, w))


def test_nan_and_inf_stay_where_they_are(route):
    x, w = torch.randn(1, 3, 9, 9, dtype=torch.float64), torch.randn(4, 3, 3, 3, dtype=torch.float64)
    x[0, 0, 2, 2], x[0, 1, 8, 0] = torch.nan, torch.inf
    np.testing.assert_allclose(
        conv.convolution(x.numpy(), w.numpy(), None, 1, 1), F.conv2d(x, w, padding=1), rtol=1e-11, atol=1e-11
    )


WRONG = {
    "channels": ((1, 3, 5, 5), (2, 4, 3, 3), None, {}),
    "kernel beyond image": ((1, 3, 5, 5), (2, 3, 7, 7), None, {}),
    "dilated beyond image": ((1, 3, 5, 5), (2, 3, 7, 7), None, {"dilation": (2, 2), "padding": (1, 1)}),
    "bias": ((1, 3, 5, 5), (2, 3, 3, 3), (3,), {}),
    "bias of two dimensions": ((1, 3, 5, 5), (2, 3, 3, 3), (2, 1), {}),
    "stride": ((1, 3, 5, 5), (2, 3, 3, 3), None, {"stride": (0, 1)}),
    "padding": ((1, 3, 5, 5), (2, 3, 3, 3), None, {"padding": (-1, 1)}),
    "dilation": ((1, 3, 5, 5), (2, 3, 3, 3), None, {"dilation": (0, 1)}),
    "indivisible": ((1, 4, 5, 5), (3, 2, 3, 3), None, {"groups": 2}),
    "groups": ((1, 4, 5, 5), (4, 2, 3, 3), None, {"groups": 0}),
    "too many groups": ((1, 4, 5, 5), (1, 4, 3, 3), None, {"groups": 4}),
    "dimensions": ((1, 3, 5), (2, 3, 3, 3), None, {}),
    "weight of two": ((1, 3, 5, 5), (2, 3), None, {}),
    "strides for three": ((1, 3, 5, 5), (2, 3, 3, 3), None, {"stride": (1, 1, 1)}),
    "paddings for three": ((1, 3, 5, 5), (2, 3, 3, 3), None, {"padding": (1, 1, 1)}),
    "no input channels": ((1, 0, 5, 5), (2, 3, 3, 3), None, {}),
    "no outputs": ((1, 3, 5, 5), (0, 3, 3, 3), None, {}),
    "empty kernel": ((1, 3, 5, 5), (2, 3, 0, 3), None, {}),
    "empty image": ((1, 3, 0, 5), (2, 3, 3, 3), None, {}),
    "four dimensions": ((1, 3, 5, 5, 5, 5), (2, 3, 2, 2, 2, 2), None, {}),
    "transposed channels": ((1, 3, 5, 5), (4, 2, 3, 3), None, {"transposed": True}),
    "transposed bias": ((1, 3, 5, 5), (3, 2, 3, 3), (3,), {"transposed": True}),
    "transposed groups": ((1, 3, 5, 5), (3, 2, 3, 3), None, {"transposed": True, "groups": 2}),
    "transposed to nothing": ((1, 3, 5, 5), (3, 2, 3, 3), None, {"transposed": True, "padding": (4, 4)}),
    "output padding": ((1, 3, 5, 5), (3, 2, 3, 3), None, {"transposed": True, "output_padding": (1, 1)}),
    "negative output padding": ((1, 3, 5, 5), (3, 2, 3, 3), None, {"transposed": True, "output_padding": (-1, 1)}),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_in_torchs_words(name):
    x, w, b, options = WRONG[name]
    nd = max(len(w) - 2, 1)
    defaults = {
        "stride": (1,) * nd,
        "padding": (0,) * nd,
        "dilation": (1,) * nd,
        "transposed": False,
        "output_padding": (0,) * nd,
        "groups": 1,
    }
    arguments = list({**defaults, **options}.values())
    with pytest.raises(RuntimeError) as theirs:
        torch.convolution(torch.randn(x), torch.randn(w), None if b is None else torch.randn(b), *arguments)
    with pytest.raises(RuntimeError) as ours:
        conv.convolution(np.ones(x, "f"), np.ones(w, "f"), None if b is None else np.ones(b, "f"), *arguments)
    assert str(ours.value) == str(theirs.value).split("\n")[0]


def test_types_must_agree():
    with pytest.raises(RuntimeError, match="should be the same"):
        conv.convolution(np.ones((1, 1, 3, 3)), np.ones((1, 1, 3, 3), "f"))
    with pytest.raises(RuntimeError, match="bias type"):
        conv.convolution(np.ones((1, 1, 3, 3)), np.ones((1, 1, 3, 3)), np.ones(1, "f"))


# -- sliding blocks --


@pytest.mark.parametrize("seed", range(30))
def test_unfold_and_fold(seed):
    rng = np.random.default_rng(seed)
    kernel, dilation, padding, stride = (
        tuple(int(n) for n in rng.integers(low, high, 2)) for low, high in ((1, 4), (1, 3), (0, 3), (1, 3))
    )
    lead = ((2, 3), (3,), (0, 3))[seed % 3]
    x = torch.randn(*lead, *rng.integers(5, 9, 2).tolist(), dtype=torch.float64, requires_grad=True)
    columns = F.unfold(x, kernel, dilation, padding, stride)
    np.testing.assert_array_equal(
        unfold.unfold(x.detach().numpy(), kernel, dilation, padding, stride), columns.detach()
    )
    g = torch.randn_like(columns)
    (image,) = torch.autograd.grad(columns, x, g)
    np.testing.assert_allclose(
        unfold.fold(g.numpy(), x.shape[-2:], kernel, dilation, padding, stride), image, rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize(
    "shape, kernel, options",
    [
        ((2, 3, 5, 5), (2, 2, 2), {}),
        ((2, 3, 5, 5), 0, {}),
        ((2, 3, 5, 5), 2, {"dilation": 0}),
        ((2, 3, 5, 5), 2, {"padding": -1}),
        ((2, 3, 5, 5), 2, {"stride": 0}),
        ((2, 3, 5, 5), 7, {}),
        ((2, 0, 5, 5), 2, {}),
        ((2, 3, 0, 5), 2, {}),
        ((1, 3, 1, 2, 2), 2, {}),
    ],
    ids=str,
)
def test_unfold_errors_in_torchs_words(shape, kernel, options):
    with pytest.raises(RuntimeError) as theirs:
        F.unfold(torch.randn(shape), kernel, **options)
    with pytest.raises(RuntimeError) as ours:
        unfold.unfold(np.ones(shape), kernel, **options)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "shape, size, kernel, options",
    [
        ((2, 11, 16), (5, 5), 2, {}),
        ((2, 12, 15), (5, 5), 2, {}),
        ((2, 12, 16), (0, 5), 2, {}),
        ((2, 12, 16), (5, 5), 0, {}),
        ((2, 12, 16), (5, 5), 2, {"stride": 0}),
        ((2, 12, 16), (5, 5), 2, {"padding": -1}),
        ((2, 12, 16), (5, 5), 2, {"dilation": 0}),
        ((2, 3, 12, 16), (5, 5), 2, {}),
        ((2, 12, 16), (5, 5, 5), 2, {}),
        ((2, 12, 16), (1, 1), 2, {}),
        ((2, 0, 16), (5, 5), 2, {}),
    ],
    ids=str,
)
def test_fold_errors_in_torchs_words(shape, size, kernel, options):
    with pytest.raises(RuntimeError) as theirs:
        F.fold(torch.randn(shape), size, kernel, **options)
    with pytest.raises(RuntimeError) as ours:
        unfold.fold(np.ones(shape), size, kernel, **options)
    assert str(ours.value) == str(theirs.value)


# -- other processors --

OTHER = """
import sys
import numpy as np
from minitorch.kernels import simd
simd._registers = lambda: (int(sys.argv[1]), int(sys.argv[2]))
from minitorch.kernels import conv, parallel, pool
rng = np.random.default_rng(0)
x, w = rng.standard_normal((3, 5, 9, 10)), rng.standard_normal((11, 5, 3, 3))
g = rng.standard_normal((3, 11, 9, 10))
def products():
    return (conv.convolution(x, w, None, 1, 1), conv.convolution_input_grad(g, w, x.shape, 1, 1),
            conv.convolution_weight_grad(g, x, w.shape, 1, 1), *pool.max_pool(2, x, 3, 2, 1))
compiled = products()
assert parallel._numba
parallel._numba = False
for one, other in zip(compiled, products(), strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
"""


@pytest.mark.slow
@pytest.mark.parametrize("registers", [(32, 16), (16, 32), (16, 16)], ids=["avx2", "neon", "sse"])
def test_tiles_of_other_shapes(registers, tmp_path):
    """The tiles as a processor with narrower or fewer registers would have them, which any compiler can also lower to
    this one's.
    """
    pytest.importorskip("numba")
    environment = {**os.environ, "MINITORCH_NUMBA": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", OTHER, *map(str, registers)], check=True, env=environment, timeout=300)
