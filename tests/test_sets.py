"""unique, searchsorted, bucketize, bincount, histc, and ties of the median: each program under torch and minitorch."""

import numpy as np
import pytest
import torch

import minitorch

# fmt: off
PROGRAMS = """\
fw.searchsorted(S, fw.tensor([[0., 3], [5, nan]]))
fw.searchsorted(S, fw.tensor([[0., 3], [5, nan]]), right=True)
fw.searchsorted(S, fw.tensor([0., 3]), side='right')
fw.searchsorted(S, fw.tensor([0., 3]), side='left', right=True)
fw.searchsorted(S, fw.tensor([0., 3]), side='middle')
fw.searchsorted(S, 3, out_int32=True)
fw.searchsorted(S, fw.tensor([3, 4]))
fw.searchsorted(fw.stack([S, S + 1]), fw.tensor([[2.], [9.]]))
fw.searchsorted(fw.stack([S, S]), fw.tensor([2.]))
fw.searchsorted(fw.stack([S, S]), 2.)
fw.searchsorted(fw.tensor([3., 1, 2]), fw.tensor([2.5]), sorter=fw.tensor([1, 2, 0]))
fw.searchsorted(fw.tensor([3., 1, 2]), fw.tensor([2.5]), sorter=fw.tensor([1, 2]))
fw.bucketize(fw.tensor([0., 3, 4]), S)
fw.bucketize(fw.tensor([0., 3, 4]), S, right=True, out_int32=True)
fw.bucketize(3, S)
fw.bucketize(fw.tensor([1.]), fw.ones(2, 2))
fw.bincount(fw.tensor([1, 2, 2]))
fw.bincount(fw.tensor([1, 2, 2]), minlength=5)
fw.bincount(fw.tensor([1, 2, 2]), minlength=-1)
fw.bincount(fw.tensor([], dtype=fw.int64), minlength=2)
fw.bincount(fw.tensor([-1]))
fw.bincount(fw.tensor([[1]]))
fw.bincount(fw.tensor([1.]))
fw.bincount(fw.tensor([1, 2, 2]), fw.tensor([.1, .2, .3]))
fw.bincount(fw.tensor([1, 2, 2]), fw.tensor([.1, .2, .3], dtype=fw.float64))
fw.bincount(fw.tensor([1, 2, 2], dtype=fw.uint8), fw.tensor([1, 2, 3]))
fw.bincount(fw.tensor([1, 2, 2]), fw.tensor([1, 2]))
fw.histc(fw.tensor([1., inf]))
fw.histc(fw.arange(3))
fw.histc(fw.ones(0))
fw.histc(fw.ones(3), 3)
fw.histc(fw.ones(3), 0)
fw.histc(fw.tensor([1., nan, .5]), 3, min=0, max=1)
fw.histc(fw.ones(3), 3, min=2, max=1)
fw.unique(fw.zeros(0, 3), dim=1)
fw.unique(fw.zeros(0, 3), dim=0)
fw.unique(fw.tensor(5), dim=0)
fw.unique(fw.ones(2, requires_grad=True))
fw.unique(fw.ones(2, requires_grad=True), dim=0)
fw.unique_consecutive(fw.ones(2, requires_grad=True))
fw.unique(fw.ones(2, requires_grad=True)).sum().backward()""".splitlines()
# fmt: on


def outcome(call, fw):
    try:
        results = call(fw)
    except Exception as error:
        return type(error), str(error)
    results = results if isinstance(results, tuple) else (results,)
    names = [r.grad_fn and r.grad_fn.name() for r in results]
    return [(str(r.dtype), tuple(r.shape), repr(r.tolist())) for r in results], names


def check(call):
    assert outcome(call, minitorch) == outcome(call, torch)


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    check(lambda fw: eval(program, {"fw": fw, "S": fw.tensor([1.0, 3, 3, 5]), "nan": np.nan, "inf": np.inf}))


DATA = {
    "numbers": [3.0, 1, 2, 1, 1, 3],
    "rows": [[1, 2], [1, 2], [0, 5], [1, 2]],
    "nothing": [],
    "truths": [True, False, False, True],
    "one": 5,
    "box": [[[1, 2], [1, 2]], [[1, 2], [1, 3]]],
}
ASKED = [
    {}, {"return_inverse": True}, {"return_counts": True}, {"return_inverse": True, "return_counts": True},
    {"dim": 0, "return_inverse": True, "return_counts": True}, {"dim": -1, "return_inverse": True}, {"dim": 3},
]  # fmt: skip


@pytest.mark.parametrize("consecutive", [False, True], ids=["unique", "unique_consecutive"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("data", DATA)
def test_unique(data, asked, consecutive):
    check(lambda fw: getattr(fw, "unique_consecutive" if consecutive else "unique")(fw.tensor(DATA[data]), **asked))


def test_no_nan_equals_another():
    check(lambda fw: fw.unique(fw.tensor([np.nan, 1, np.nan, -np.inf]), return_inverse=True, return_counts=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int32", "uint8", "bool"])
def test_unique_of_a_dtype(dtype):
    check(lambda fw: fw.tensor([3, 1, 2, 1]).to(getattr(fw, dtype)).unique(return_inverse=True))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("arguments", [(), (4,), (7, -1, 1), (33, -0.5, 2)], ids=str)
def test_histc(dtype, arguments):
    values = np.random.RandomState(0).randn(300)
    check(lambda fw: fw.histc(fw.tensor(values).to(getattr(fw, dtype)), *arguments))


@pytest.mark.parametrize(
    "values", [[1.0, 1, 2], [2.0, 2, 2, 1], [[3.0, 1], [1, 1]], [np.nan, 1, np.nan], [3.0], 5.0], ids=str
)
def test_median_shares_its_gradient_among_ties(values):
    def program(fw):
        x = fw.tensor(values, dtype=fw.float64, requires_grad=True)
        (first,) = fw.autograd.grad(x.median() ** 3, x, create_graph=True)
        (second,) = fw.autograd.grad((first * first).sum(), x)
        return first.detach(), second

    check(program)
