"""torch's own operator table, run on minitorch and compared (see minitorch/testing/op_db.py).

An entry may be missing, or pass in part: the coverage report says so. But no sample that runs may give a wrong value;
an entry listed in `parity/whole.txt` must stay whole (values and derivatives), and one in `parity/complete.txt` must
stay complete (its other spellings and error inputs, too). After adding operators, refresh the lists:

    python -m minitorch.testing --lists tests/parity
"""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from minitorch.testing import op_db

# a table's generator of samples that is not run to its end is closed by the garbage collector, wherever that happens
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PARITY = Path(__file__).parent / "parity"
WHOLE = frozenset((PARITY / "whole.txt").read_text().split())
COMPLETE = frozenset((PARITY / "complete.txt").read_text().split())
SUPPORTED = [
    (name, dtype)
    for name, op in op_db.ENTRIES.items()
    for dtype, kind in op_db.DTYPES.items()
    if kind in op.supported_dtypes("cpu")
]
LIMIT = 24  # samples taken of each entry in the everyday run; `-m sweep` takes all
SLOW = 60.0


def words(report):
    return "\n".join(
        f"{stage} {outcome}, {sample}: {message}" for stage, outcome, sample, message in report.failures[:12]
    )


def judge(name, dtype, limit):
    report = op_db.check(name, dtype, limit=limit, seconds=SLOW)
    assert not report.wrong, f"{name} gives wrong values in {dtype}\n{words(report)}"
    if name in WHOLE:
        held = ("forward", "gradient", "second")
        assert all(report.passed(stage) == report.total(stage) for stage in held), (
            f"{name} is no longer whole ({dtype})\n{words(report)}"
        )
    if name in COMPLETE:
        assert not report.failures, f"{name} is no longer complete ({dtype})\n{words(report)}"


def test_the_list_names_entries():
    assert not WHOLE - set(op_db.ENTRIES)
    assert not COMPLETE - WHOLE


@pytest.mark.parametrize("name, dtype", SUPPORTED)
def test_entry(name, dtype):
    judge(name, dtype, LIMIT)


@pytest.mark.sweep
@pytest.mark.parametrize("name, dtype", SUPPORTED)
def test_entry_in_full(name, dtype):
    judge(name, dtype, None)
