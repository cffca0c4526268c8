"""torch's own operator table, run on minitorch and compared (see minitorch/testing/op_db.py).

An entry may be missing, or pass in part: the coverage report says so. But no sample that runs may give a wrong value,
and an entry listed in `parity/whole.txt` must stay whole. After adding operators, refresh the list:

    python -m minitorch.testing --whole tests/parity/whole.txt
"""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from minitorch.testing import op_db

WHOLE = frozenset((Path(__file__).parent / "parity" / "whole.txt").read_text().split())
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
    wrong = [failure for failure in report.failures if failure[1] == "wrong"]
    assert not wrong, f"{name} gives wrong values in {dtype}\n{words(report)}"
    if name in WHOLE:
        assert all(report.passed(stage) == report.total(stage) for stage in ("forward", "gradient", "second")), (
            f"{name} is no longer whole ({dtype})\n{words(report)}"
        )


def test_the_list_names_entries():
    assert not WHOLE - set(op_db.ENTRIES)


@pytest.mark.parametrize("name, dtype", SUPPORTED)
def test_entry(name, dtype):
    judge(name, dtype, LIMIT)


@pytest.mark.sweep
@pytest.mark.parametrize("name, dtype", SUPPORTED)
def test_entry_in_full(name, dtype):
    judge(name, dtype, None)
