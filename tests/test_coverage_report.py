"""The coverage report says what happened; the suite fails when a whole entry stops being whole."""

import json

import pytest

pytest.importorskip("torch")

import minitorch
from minitorch.testing import __main__ as report
from minitorch.testing import op_db
from tests import mutants, test_op_db

ABSENT = "linalg.eig"


def run(tmp_path, capsys, *more):
    paths = {kind: tmp_path / kind for kind in ("markdown", "json", "html")}
    arguments = [word for kind, path in paths.items() for word in (f"--{kind}", str(path))]
    report.main(["--names", f"mul,{ABSENT},bitwise_and", "--limit", "2", "--processes", "1", *arguments, *more])
    return capsys.readouterr().out, {kind: path.read_text() for kind, path in paths.items()}


def test_report(tmp_path, capsys):
    printed, written = run(tmp_path, capsys)
    found = json.loads(written["json"])
    assert found["entries"]["mul"]["state"] == "whole"
    assert found["entries"][ABSENT]["state"] == "absent"
    assert found["entries"]["bitwise_and"]["dtype"] == "int64"  # torch takes no floats there
    assert found["totals"]["entries"] == 3 and found["totals"]["whole"] == 2
    for stage in ("forward", "gradient", "second", "variants", "errors"):
        passed, total = found["entries"]["mul"][stage]
        assert passed == total and (passed > 0 or stage == "errors")
        assert found["totals"][stage][0] == sum(entry[stage][0] for entry in found["entries"].values())
        assert found["totals"][stage][1] == sum(entry[stage][1] for entry in found["entries"].values())
    for text in (printed, written["markdown"], written["html"]):
        assert "entries whole: 2 of 3" in text
        assert ABSENT in text


def test_report_is_of_all_entries():
    names = report.arguments([]).names
    assert names is None and len(op_db.ENTRIES) > 600  # those minitorch lacks included


def test_a_broken_formula_is_reported_and_fails_the_suite(tmp_path, capsys):
    formula = minitorch.mul.row.definitions["other"]
    *_, (words, tree) = (m for m in mutants.mutants(mutants.source_of(formula)) if m[0].endswith("doubled"))
    test_op_db.judge("mul", "float64", 2)
    with mutants.installed([formula], tree):
        printed, written = run(tmp_path, capsys)
        with pytest.raises(AssertionError, match="wrong values"):
            test_op_db.judge("mul", "float64", 2)
    assert json.loads(written["json"])["entries"]["mul"]["state"] == "wrong", words
    assert "entries whole: 1 of 3" in printed


def test_an_entry_that_vanishes_fails_the_suite(monkeypatch):
    monkeypatch.delattr(minitorch, "mul")
    with pytest.raises(AssertionError, match="no longer whole"):
        test_op_db.judge("mul", "float64", 2)


def test_lists_are_what_the_report_says(tmp_path, capsys):
    run(tmp_path, capsys, "--lists", str(tmp_path))
    assert (tmp_path / "whole.txt").read_text() == "mul\nbitwise_and\n"
