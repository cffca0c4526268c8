"""NaN, infinities and signed zeros through operators that choose, count, sum or have poles: values, positions and
gradients as torch's, in both floating point widths."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch

INF, NAN = float("inf"), float("nan")
VECTORS = {
    "nan inside": [1.0, NAN, 3.0, -2.0, 3.0],
    "nan first and last": [NAN, 2.0, 2.0, -0.0, 0.0, NAN],
    "only nan": [NAN],
    "infinities": [INF, 1.0, -INF, 0.5],
    "one infinity": [0.0, -1.0, INF, 2.0],
    "poles": [0.0, -0.0, -1.0, -2.0, INF, -INF, NAN],
}
EXPRESSIONS = [
    "x.max()", "x.min()", "x.max(0)", "x.min(0)", "x.amax(0)", "x.amin(0)", "T.aminmax(x)", "T.aminmax(x, dim=0)",
    "x.argmax()", "x.argmin()", "x.median()", "x.median(0)", "x.nanmedian()", "x.cummax(0)", "x.cummin(0)",
    "x.nanmedian(0)", "x.kthvalue(1)", "x.topk(1)", "x.sort(stable=True)", "x.sort(stable=True, descending=True)",
    "x.sum()", "x.nansum()", "x.nanmean()", "x.mean()", "x.var()", "x.softmax(0)", "x.log_softmax(0)", "x.logsumexp(0)",
    "x.logcumsumexp(0)", "x.cumsum(0)", "x.relu()", "x.clamp(-1, 1)", "x.clamp(max=0)", "T.maximum(x, 0 * x + 1)",
    "T.fmax(x, 0 * x + 1)", "x.sign()", "x.sgn()", "x.abs()", "x.lgamma()", "x.digamma()", "T.polygamma(1, x)",
    "T.polygamma(2, x)", "T.special.zeta(3 + 0 * x.detach(), x.detach())", "x.mvlgamma(1)", "x.sqrt()", "x.rsqrt()",
    "x.log()", "x.log1p()", "x.exp()", "x.reciprocal()", "x.tanh()", "x.sigmoid()", "F.softplus(x)", "F.silu(x)",
    "F.logsigmoid(x)", "F.mish(x)", "x ** 2", "x ** 0.5", "x ** -1", "2 ** x", "x.nan_to_num()", "x.isfinite()",
    "x == x", "x.any()", "x.all()", "x.count_nonzero()", "T.cdist(x[None], x.detach()[None] * 0 + 1, p=0.)", "x.norm()",
    "x.norm(1)", "T.xlogy(x, x)", "T.hypot(x, x)", "T.atan2(x, x.detach() + 1)", "T.logaddexp(x, 2 * x)", "x.floor()",
    "x.round()", "x.trunc()", "x.frac()", "T.fmod(x, 2)", "T.remainder(x, 2)", "x.diff()", "T.where(x > 0, x, -x)",
    "F.dropout(x, 0.0)",
]


def results(T, expression, vector, dtype):
    x = T.tensor(vector, dtype=getattr(T, dtype), requires_grad=True)
    found = eval(expression, {"T": T, "F": T.nn.functional, "x": x})
    found = list(found) if isinstance(found, tuple) else [found]
    arrays = [y.detach().numpy() for y in found]
    roots = [y for y in found if y.requires_grad]
    if roots:
        cotangents = [T.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape) for y in roots]
        arrays.append(T.autograd.grad(roots, x, cotangents)[0].clone().numpy())
    return arrays


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_torch(expression, dtype):
    tolerance = {"rtol": 1e-9, "atol": 1e-12} if dtype == "float64" else {"rtol": 3e-6, "atol": 1e-6}
    for words, vector in VECTORS.items():
        try:
            expected = results(torch, expression, vector, dtype)
        except RuntimeError as error:
            with pytest.raises(type(error)):
                results(minitorch, expression, vector, dtype)
            continue
        found = results(minitorch, expression, vector, dtype)
        assert len(found) == len(expected), words
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype, words
            np.testing.assert_allclose(one, other, **tolerance, err_msg=words)
