"""torch's operator table in float16 and bfloat16 (see minitorch/testing/half.py): results and gradients in units of the
last place, and the same refusals.

What minitorch does not have is left out, here as in test_op_db.py. `parity/half_known.txt` names the pairs known to
fail; a line of it that passes in the everyday run must go (but for those that need more samples to fail).
"""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from minitorch.testing import half, op_db

# a table's generator of samples that is not run to its end is closed by the garbage collector, wherever that happens
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

LIST = Path(__file__).parent / "parity" / "half_known.txt"
KNOWN = {tuple(line.split()[:2]): line.split()[2:] for line in LIST.read_text().splitlines() if not line.startswith("#")}
LIMIT = 1  # samples taken of each entry in the everyday run; `-m sweep` takes all
EVERY = [(name, dtype) for name in op_db.ENTRIES for dtype in half.DTYPES]


def judge(name, dtype, limit):
    failures, _ = half.check(name, dtype, limit)
    failures = [failure for failure in failures if failure[1] != "absent"]
    said = "\n".join(f"{stage} {outcome}, {sample}: {message}" for stage, outcome, sample, message in failures[:12])
    if (name, dtype) in KNOWN and (failures or KNOWN[name, dtype] == []):
        assert failures, f"{name} passes in {dtype}: it is to be taken off the list"
        pytest.xfail("known to fail; see parity/half_known.txt")
    assert not failures, f"{name} in {dtype}\n{said}"


@pytest.mark.parametrize("name, dtype", EVERY)
def test_entry(name, dtype):
    judge(name, dtype, LIMIT)


@pytest.mark.sweep
@pytest.mark.parametrize("name, dtype", EVERY)
def test_entry_in_full(name, dtype):
    judge(name, dtype, None)


def test_the_list_names_entries():
    assert set(EVERY) >= set(KNOWN)


@pytest.mark.parametrize("kind", half.BOUNDS)
def test_each_kind_of_bound_is_used(kind):
    *_, why = half.BOUNDS[kind]
    assert why and any(half.kind(name) == kind for name in op_db.ENTRIES)
