"""minitorch.testing: assert_close says what torch's says, make_tensor makes what torch's makes."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch
import minitorch.testing
from minitorch.testing import tolerances


def outcome(framework, call):
    """The exception that a comparison raises, as (class, message) in words that do not name the framework."""
    try:
        call(framework, framework.testing.assert_close)
    except Exception as error:
        return type(error), str(error).replace("minitorch.tensor.Tensor", "torch.Tensor")
    return None


NAN, INF = math.nan, math.inf
COMPARISONS = [
    lambda fw, check: check(fw.tensor([1.0, 2, 3]), fw.tensor([1.0, 2, 4])),
    lambda fw, check: check(fw.tensor([1.0, 2, 3]), fw.tensor([1.0, 2, 3 + 1e-7])),
    lambda fw, check: check(fw.tensor([1.0, 2, 3]), fw.tensor([1.0, 2, 4]), rtol=0, atol=0.1),
    lambda fw, check: check(fw.tensor([1.0, 2, 3]), fw.tensor([1.0, 2, 4]), rtol=0.1),
    lambda fw, check: check(fw.tensor([1, 2, 3]), fw.tensor([1, 2, 4])),
    lambda fw, check: check(fw.tensor([1, 2, 3]), fw.tensor([1, 2, 4]), rtol=0, atol=1),
    lambda fw, check: check(fw.tensor([True, False]), fw.tensor([True, True])),
    lambda fw, check: check(fw.tensor(1.0), fw.tensor(2.0)),
    lambda fw, check: check(fw.tensor(5), fw.tensor(7)),
    lambda fw, check: check(fw.tensor([1.0, 2, 3]).to(fw.bfloat16), fw.tensor([1.0, 2, 4]).to(fw.bfloat16)),
    lambda fw, check: check(fw.tensor([1.0]), fw.tensor([1.0], dtype=fw.float64)),
    lambda fw, check: check(fw.tensor([1.0]), fw.tensor([1.0], dtype=fw.float64), check_dtype=False),
    lambda fw, check: check(fw.tensor([1.0]), fw.tensor([1]), check_dtype=False),
    lambda fw, check: check(fw.tensor([1.0, 2]), fw.tensor([1.0])),
    lambda fw, check: check(fw.tensor([1.0, INF]), fw.tensor([1.0, -INF])),
    lambda fw, check: check(fw.tensor([1.0, INF]), fw.tensor([1.0, INF])),
    lambda fw, check: check(fw.tensor([1.0]), fw.tensor([0.0])),
    lambda fw, check: check(fw.tensor([NAN]), fw.tensor([NAN])),
    lambda fw, check: check(fw.tensor([NAN]), fw.tensor([NAN]), equal_nan=True),
    lambda fw, check: check(fw.tensor([]), fw.tensor([])),
    lambda fw, check: check(fw.tensor([[1.0, 2], [3, 4]]).t(), fw.tensor([[1.0, 3], [2, 4]])),
    lambda fw, check: check(fw.tensor([[1.0, 2], [3, 4]]).t(), fw.tensor([[1.0, 3], [2, 4]]), check_stride=True),
    lambda fw, check: check([fw.tensor(1.0), fw.tensor(2.0)], [fw.tensor(1.0), fw.tensor(3.0)]),
    lambda fw, check: check({"a": [fw.tensor(1.0)]}, {"a": [fw.tensor(2.0)]}),
    lambda fw, check: check({"a": 1.0}, {"b": 1.0}),
    lambda fw, check: check([1, 2], [1, 2, 3]),
    lambda fw, check: check([1, 2], (1, 2)),
    lambda fw, check: check({"a": 1}, [1]),
    lambda fw, check: check(fw.tensor(1.0), fw.tensor(2.0), msg="why"),
    lambda fw, check: check(fw.tensor(1.0), fw.tensor(2.0), msg=lambda words: "why: " + words),
    lambda fw, check: check(1.0, 2.0),
    lambda fw, check: check(1, 2),
    lambda fw, check: check(1, 1.0),
    lambda fw, check: check(1e10, 1.1e10),
    lambda fw, check: check(NAN, NAN),
    lambda fw, check: check(True, False),
    lambda fw, check: check(None, None),
    lambda fw, check: check(None, 1.0),
    lambda fw, check: check("a", "a"),
    lambda fw, check: check(1.0, fw.tensor(1.0)),
    lambda fw, check: check(np.ones(2), np.zeros(2)),
]


@pytest.mark.parametrize("number", range(len(COMPARISONS)))
def test_assert_close(number):
    assert outcome(minitorch, COMPARISONS[number]) == outcome(torch, COMPARISONS[number])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"low": -1, "high": 2},
        {"exclude_zero": True},
        {"noncontiguous": True},
        {"requires_grad": True},
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
def test_make_tensor(dtype, options):
    made = []
    for framework in (minitorch, torch):
        framework.manual_seed(0)
        try:
            tensor = framework.testing.make_tensor((3, 4), dtype=getattr(framework, dtype), device="cpu", **options)
            made.append(
                (tensor.detach().numpy().tolist(), str(tensor.dtype), tensor.is_contiguous(), tensor.requires_grad)
            )
        except ValueError as error:
            made.append(type(error))
    assert made[0] == made[1]


def test_the_comparison_of_the_parity_suite_bites():
    expected = np.array([1.0, 1e-3, np.inf, np.nan])
    assert tolerances.close(expected.copy(), expected, "", "float64")
    for place, value in ((0, 1 + 1e-8), (1, 1.1e-3), (2, -np.inf), (2, 1e300), (3, 0.0), (0, np.nan)):
        changed = expected.copy()
        changed[place] = value
        assert not tolerances.close(changed, expected, "", "float64")
    assert not tolerances.close(np.array([1]), np.array([2]), "", "int64")
