"""Second derivatives beside torch's, under random cotangents: convolutions, pooling (with ties), norms, losses, indexing,
attention. (Every operator of torch's own table, too, in test_op_db.py.)

Each case is an expression in `T` (the framework), `F` (its nn.functional) and named leaves in double precision. The
gradient of `(y * u).sum()` is contracted with random tensors, and differentiated again by the leaves and by u."""

import zlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch

CONVOLUTIONS = {
    "F.conv1d(x, w, b)": {"x": (2, 4, 9), "w": (6, 4, 3), "b": (6,)},
    "F.conv1d(x, w, b, stride=2, padding=1)": {"x": (2, 4, 9), "w": (6, 4, 3), "b": (6,)},
    "F.conv1d(x, w, None, dilation=2, groups=2)": {"x": (2, 4, 9), "w": (6, 2, 3)},
    "F.conv1d(x, w, b, padding='same')": {"x": (2, 4, 8), "w": (6, 4, 4), "b": (6,)},
    "F.conv1d(x, w)": {"x": (4, 9), "w": (6, 4, 3)},
    "F.conv2d(x, w, b)": {"x": (2, 3, 6, 5), "w": (4, 3, 3, 2), "b": (4,)},
    "F.conv2d(x, w, b, stride=2, padding=1)": {"x": (2, 3, 6, 6), "w": (4, 3, 3, 3), "b": (4,)},
    "F.conv2d(x, w, b, stride=(1, 2), padding=(2, 0), dilation=(2, 1))": {"x": (1, 3, 6, 7), "w": (4, 3, 3, 3), "b": (4,)},
    "F.conv2d(x, w, b, groups=3)": {"x": (2, 3, 5, 5), "w": (6, 1, 3, 3), "b": (6,)},
    "F.conv2d(x, w, None, groups=2, stride=3)": {"x": (2, 4, 8, 8), "w": (4, 2, 2, 2)},
    "F.conv2d(x, w)": {"x": (2, 3, 4, 4), "w": (5, 3, 1, 1)},
    "F.conv3d(x, w, b)": {"x": (1, 2, 4, 5, 4), "w": (3, 2, 2, 3, 2), "b": (3,)},
    "F.conv3d(x, w, b, stride=2, padding=1, groups=2)": {"x": (1, 2, 4, 4, 4), "w": (4, 1, 3, 3, 3), "b": (4,)},
    "F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1)": {"x": (2, 4, 5), "w": (4, 3, 3), "b": (3,)},
    "F.conv_transpose1d(x, w, None, dilation=2, groups=2)": {"x": (2, 4, 5), "w": (4, 3, 3)},
    "F.conv_transpose2d(x, w, b)": {"x": (2, 3, 4, 3), "w": (3, 4, 2, 3), "b": (4,)},
    "F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1, groups=2)":
        {"x": (1, 4, 3, 3), "w": (4, 2, 3, 3), "b": (4,)},
    "F.conv_transpose2d(x, w, b, stride=(1, 2), dilation=(2, 1))": {"x": (1, 2, 4, 4), "w": (2, 3, 2, 3), "b": (3,)},
    "F.conv_transpose3d(x, w, b, stride=2, padding=1)": {"x": (1, 2, 3, 3, 3), "w": (2, 2, 3, 2, 3), "b": (2,)},
    "F.unfold(x, 2, stride=2)": {"x": (2, 3, 4, 6)},
    "F.fold(x, (4, 5), 2)": {"x": (2, 12, 12)},
    "F.linear(x, w, b)": {"x": (2, 3, 4), "w": (5, 4), "b": (5,)},
    "F.bilinear(x, v, w, b)": {"x": (3, 4), "v": (3, 5), "w": (2, 4, 5), "b": (2,)},
}
POOLING = {
    "F.max_pool1d(x, 3, 2, 1)": {"x": (2, 3, 8)},
    "F.max_pool2d(x, 2)": {"x": (2, 3, 6, 6)},
    "F.max_pool2d(x, 3, stride=1, padding=1, dilation=1)": {"x": (1, 2, 5, 5)},
    "F.max_pool2d(x, 2, dilation=2)": {"x": (2, 6, 6)},
    "F.max_pool2d(x, 3, 2, ceil_mode=True)": {"x": (1, 2, 6, 6)},
    "F.max_pool3d(x, 2, 1)": {"x": (1, 2, 3, 4, 3)},
    "F.avg_pool1d(x, 3, 2, 1)": {"x": (2, 3, 8)},
    "F.avg_pool2d(x, 2)": {"x": (2, 3, 6, 6)},
    "F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)": {"x": (2, 3, 6, 6)},
    "F.avg_pool2d(x, 3, 2, ceil_mode=True, divisor_override=5)": {"x": (2, 3, 6, 6)},
    "F.avg_pool3d(x, 2, 1)": {"x": (1, 2, 3, 4, 3)},
    "F.adaptive_avg_pool1d(x, 3)": {"x": (2, 3, 8)},
    "F.adaptive_avg_pool2d(x, (3, 2))": {"x": (2, 3, 7, 5)},
    "F.adaptive_avg_pool3d(x, 2)": {"x": (1, 2, 3, 4, 5)},
    "F.adaptive_max_pool1d(x, 3)": {"x": (2, 3, 8)},
    "F.adaptive_max_pool2d(x, (3, 2))": {"x": (2, 3, 7, 5)},
    "F.adaptive_max_pool3d(x, 2)": {"x": (1, 2, 3, 4, 5)},
    "F.lp_pool2d(x.abs() + 1, 3, 2)": {"x": (1, 2, 4, 4)},
    "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)": {"x": (1, 2, 4, 4)},
    "x.max(1).values": {"x": (3, 5)},
    "x.amax(1)": {"x": (3, 5)},
    "x.min()": {"x": (3, 5)},
    "x.median(1).values": {"x": (3, 5)},
    "x.sort(dim=1, stable=True).values": {"x": (3, 5)},
    "x.relu()": {"x": (3, 5)},
    "x.clamp(-.5, .5)": {"x": (3, 5)},
    "x.abs()": {"x": (3, 5)},
    "T.maximum(x, v)": {"x": (3, 5), "v": (5,)},
    "F.hardtanh(x)": {"x": (3, 5)},
    "x.prod(1)": {"x": (3, 5)},
    "x.cumprod(1)": {"x": (3, 5)},
    "x.norm(dim=1)": {"x": (3, 5)},
    "x.norm(1)": {"x": (3, 5)},
    "x.norm(float('inf'))": {"x": (3, 5)},
}
NORMS = {
    "F.layer_norm(x, (5,), w, b)": {"x": (3, 4, 5), "w": (5,), "b": (5,)},
    "F.layer_norm(x, (4, 5))": {"x": (3, 4, 5)},
    "F.group_norm(x, 2, w, b)": {"x": (2, 4, 3, 3), "w": (4,), "b": (4,)},
    "F.batch_norm(x, None, None, w, b, True)": {"x": (4, 3, 2, 2), "w": (3,), "b": (3,)},
    "F.batch_norm(x, v.detach(), u.detach() ** 2 + 1, w, b, False)":
        {"x": (4, 3), "w": (3,), "b": (3,), "v": (3,), "u": (3,)},
    "F.instance_norm(x, weight=w, bias=b)": {"x": (2, 3, 4, 4), "w": (3,), "b": (3,)},
    "F.rms_norm(x, (5,), w)": {"x": (3, 5), "w": (5,)},
    "F.local_response_norm(x, 2)": {"x": (2, 4, 3)},
    "F.normalize(x, 3., 1)": {"x": (3, 5)},
    "F.cosine_similarity(x, v, 1)": {"x": (3, 5), "v": (3, 5)},
    "x.var(1)": {"x": (3, 5)},
    "x.std((0, 2), unbiased=False)": {"x": (3, 5, 2)},
    "x.renorm(2, 0, .5)": {"x": (3, 5)},
    "x.softmax(1)": {"x": (3, 5)},
    "x.log_softmax(0)": {"x": (3, 5)},
    "x.logsumexp((0, 1))": {"x": (3, 5)},
    "T.nn.utils.parametrizations.weight_norm(T.nn.Linear(3, 2)).weight * x": {"x": (2, 3)},
    "F.dropout(x, .5)": {"x": (3, 5)},
}
LOSSES = {
    **{
        f"F.{name}(x, v.detach(), reduction='{reduction}')": {"x": (3, 5), "v": (3, 5)}
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss")
        for reduction in ("none", "sum", "mean")
    },
    **{
        f"F.{name}(x, v)": {"x": (3, 5), "v": (3, 5)}
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss")
    },
    "F.cross_entropy(x, i)": {"x": (3, 5)},
    "F.cross_entropy(x, i, reduction='none', label_smoothing=.1)": {"x": (3, 5)},
    "F.cross_entropy(x, i, w.detach() ** 2)": {"x": (3, 5), "w": (5,)},
    "F.cross_entropy(x, i, ignore_index=1, reduction='sum')": {"x": (3, 5)},
    "F.cross_entropy(x, v.softmax(1))": {"x": (3, 5), "v": (3, 5)},
    "F.nll_loss(x.log_softmax(1), i)": {"x": (3, 5)},
    "F.nll_loss(x, i[:2, None].expand(2, 4))": {"x": (2, 5, 4)},
    "F.binary_cross_entropy(x.sigmoid(), v.sigmoid().detach())": {"x": (3, 5), "v": (3, 5)},
    "F.binary_cross_entropy_with_logits(x, v.sigmoid(), w.exp().detach())": {"x": (3, 5), "v": (3, 5), "w": (5,)},
    "F.gaussian_nll_loss(x, v, w.exp())": {"x": (3, 5), "v": (3, 5), "w": (3, 5)},
    "F.margin_ranking_loss(x, v, T.sign(w.detach()))": {"x": (5,), "v": (5,), "w": (5,)},
    "F.hinge_embedding_loss(x, T.sign(w.detach()))": {"x": (5,), "w": (5,)},
    "F.cosine_embedding_loss(x, v, T.sign(w.detach()))": {"x": (3, 5), "v": (3, 5), "w": (3,)},
    "F.triplet_margin_loss(x, v, w)": {"x": (3, 5), "v": (3, 5), "w": (3, 5)},
    "F.multilabel_soft_margin_loss(x, v.sigmoid().detach())": {"x": (3, 5), "v": (3, 5)},
}
INDEXING = {
    "x[i]": {"x": (4, 5)},
    "x[:, i]": {"x": (4, 5)},
    "x[i, i]": {"x": (4, 5)},
    "x[x > 0]": {"x": (4, 5)},
    "x[1:, ::2]": {"x": (4, 5)},
    "x[..., None, 0]": {"x": (4, 5)},
    "x.index_select(1, i)": {"x": (4, 5)},
    "x.gather(0, i[:, None].expand(3, 5))": {"x": (4, 5)},
    "x.take(i)": {"x": (4, 5)},
    "x.scatter(0, i[:, None].expand(3, 5), v)": {"x": (4, 5), "v": (3, 5)},
    "x.scatter_add(0, i[:, None].expand(3, 5), v)": {"x": (4, 5), "v": (3, 5)},
    "x.scatter_reduce(0, i[:, None].expand(3, 5), v, 'mean')": {"x": (4, 5), "v": (3, 5)},
    "x.scatter_reduce(0, i[:, None].expand(3, 5), v, 'amax')": {"x": (4, 5), "v": (3, 5)},
    "x.scatter_reduce(0, i[:, None].expand(3, 5), v, 'prod')": {"x": (4, 5), "v": (3, 5)},
    "x.index_add(0, i, v)": {"x": (4, 5), "v": (3, 5)},
    "x.index_copy(0, i[:2], v)": {"x": (4, 5), "v": (2, 5)},
    "x.index_fill(0, i, w)": {"x": (4, 5), "w": ()},
    "x.index_put((i,), v, accumulate=True)": {"x": (4, 5), "v": (3, 5)},
    "x.put(i, v, accumulate=True)": {"x": (4, 5), "v": (3,)},
    "x.masked_fill(x > 0, w)": {"x": (4, 5), "w": ()},
    "x.masked_scatter(x > 0, v)": {"x": (4, 5), "v": (4, 5)},
    "x.masked_select(v > 0)": {"x": (4, 5), "v": (5,)},
    "T.where(x > v, x * v, v)": {"x": (4, 5), "v": (5,)},
    "x.diagonal() * x.tril().diagonal(1)": {"x": (4, 5)},
    "x.as_strided((3, 3), (1, 2), 1) ** 2": {"x": (4, 5)},
    "x.unfold(1, 3, 2) ** 2": {"x": (4, 5)},
    "x.repeat_interleave(i, 0) ** 2": {"x": (3, 5)},
    "F.embedding(i, x) ** 2": {"x": (4, 5)},
    "F.pad(x, (1, 2, 0, 1), mode='reflect') ** 2": {"x": (1, 4, 5)},
    "F.interpolate(x, scale_factor=2., mode='bilinear') ** 2": {"x": (1, 2, 3, 4)},
    "F.grid_sample(x, v.tanh(), align_corners=False)": {"x": (1, 2, 4, 4), "v": (1, 3, 3, 2)},
    "F.pixel_shuffle(x, 2) ** 2": {"x": (1, 4, 2, 3)},
}
ATTENTION = {
    "F.scaled_dot_product_attention(q, k, v)": {"q": (2, 3, 4, 5), "k": (2, 3, 6, 5), "v": (2, 3, 6, 4)},
    "F.scaled_dot_product_attention(q, k, v, is_causal=True)": {"q": (2, 4, 5), "k": (2, 4, 5), "v": (2, 4, 5)},
    "F.scaled_dot_product_attention(q, k, v, m)": {"q": (2, 4, 5), "k": (2, 6, 5), "v": (2, 6, 5), "m": (4, 6)},
    "F.scaled_dot_product_attention(q, k, v, m.detach() > -1, scale=.3)":
        {"q": (2, 4, 5), "k": (2, 6, 5), "v": (2, 6, 5), "m": (4, 6)},
    "F.multi_head_attention_forward(q, q, q, 4, 2, w, b, None, None, False, 0., o, None)[0]":
        {"q": (3, 2, 4), "w": (12, 4), "b": (12,), "o": (4, 4)},
    "F.gelu(x @ w.t()) @ w": {"x": (3, 4), "w": (8, 4)},
    "F.silu(x @ w.t()) * F.glu(x @ w.t()).repeat(1, 2)": {"x": (3, 4), "w": (8, 4)},
    "T.einsum('bqd,bkd->bqk', q, k).softmax(-1) @ v": {"q": (2, 4, 5), "k": (2, 6, 5), "v": (2, 6, 5)},
}


def run(T, expression, shapes, ties):
    T.manual_seed(0)
    numbers = np.random.default_rng(zlib.crc32(expression.encode()))
    draw = lambda shape: T.tensor(numbers.standard_normal(shape).tolist(), dtype=T.float64).reshape(shape)
    leaves = {name: draw(shape) for name, shape in shapes.items()}
    if ties:
        leaves = {name: (t * 2).round() / 2 for name, t in leaves.items()}
    leaves = {name: t.requires_grad_() for name, t in leaves.items()}
    default = T.get_default_dtype()
    T.set_default_dtype(T.float64)
    try:
        y = eval(expression, {"T": T, "F": T.nn.functional, "i": T.tensor([2, 0, 1]), **leaves})
    finally:
        T.set_default_dtype(default)
    inputs = list(leaves.values())
    u = draw(tuple(y.shape)).requires_grad_()
    first = T.autograd.grad(y, inputs, u, create_graph=True, allow_unused=True)
    pairs = [(g, draw(tuple(g.shape))) for g in first if g is not None]
    pairs = [(g, v) for g, v in pairs if g.requires_grad]
    second = [None] * (len(inputs) + 1)
    if pairs:
        second = T.autograd.grad([g for g, _ in pairs], [*inputs, u], [v for _, v in pairs], allow_unused=True)
    zeros = lambda t: T.zeros(tuple(t.shape), dtype=T.float64)  # added: torch keeps some zeros without memory
    zero = lambda g, t: np.array((zeros(t) if g is None else zeros(t) + g.detach()).tolist())
    return (
        np.array(y.detach().tolist()),
        [zero(g, t) for g, t in zip(first, inputs, strict=True)],
        [zero(g, t) for g, t in zip(second, [*inputs, u], strict=True)],
    )


def compare(expression, shapes, ties=False):
    theirs, ours = run(torch, expression, shapes, ties), run(minitorch, expression, shapes, ties)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-11, err_msg="value")
    for what, one, other in (("gradient", ours[1], theirs[1]), ("second gradient", ours[2], theirs[2])):
        for name, a, b in zip([*shapes, "cotangent"], one, other, strict=False):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10, err_msg=f"{what} of {name}")


# torch advises against the mean of kl_div and against kernels of even length
pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides", "ignore:Using padding='same'")


def table(cases):
    return pytest.mark.parametrize("expression, shapes", [pytest.param(e, s, id=e) for e, s in cases.items()])


@table(CONVOLUTIONS)
def test_convolution(expression, shapes):
    compare(expression, shapes)


@table(POOLING)
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
def test_pooling_and_kinks(expression, shapes, ties):
    compare(expression, shapes, ties)


@table(NORMS)
def test_norm(expression, shapes):
    compare(expression, shapes)


@table(LOSSES)
def test_loss(expression, shapes):
    compare(expression, shapes)


@table(INDEXING)
def test_indexing(expression, shapes):
    compare(expression, shapes)


@table(ATTENTION)
def test_attention(expression, shapes):
    compare(expression, shapes)
