"""The main job, examples/train_digits.py, beside the very same code on torch."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLE = Path(__file__).parent.parent / "examples" / "train_digits.py"


def run(folder, *options):
    """The program's output: {"epochs": figures of each epoch but the seconds, "test": those of the last line}."""
    process = subprocess.run(
        [sys.executable, EXAMPLE, "--out", folder, *options], capture_output=True, text=True, timeout=500, check=True
    )
    lines = process.stdout.splitlines()
    epochs = [line.split()[:-1] for line in lines if re.match(r" +\d+ ", line)]
    (test,) = [line for line in lines if line.startswith("test loss")]
    return {"epochs": epochs, "test": re.findall(r"[\d.]+\d", test)}


def both(folder, *options):
    return [run(folder / framework, "--framework", framework, *options) for framework in ("minitorch", "torch")]


def test_double_precision_is_torch_to_the_last_digit(tmp_path):
    ours, theirs = both(tmp_path, "--dtype", "float64", "--epochs", "4")
    assert len(ours["epochs"]) == 4
    assert ours == theirs


@pytest.mark.slow
def test_double_precision_over_the_whole_run(tmp_path):
    ours, theirs = both(tmp_path, "--dtype", "float64")
    assert len(ours["epochs"]) == 15
    assert ours == theirs


@pytest.mark.slow
def test_single_precision(tmp_path):
    ours, theirs = both(tmp_path)
    for a, b in zip(ours["epochs"][0], theirs["epochs"][0], strict=True):
        assert abs(float(a.rstrip("%")) - float(b.rstrip("%"))) < 1e-4
    accuracy, expected = float(ours["test"][1]), float(theirs["test"][1])
    assert abs(accuracy - expected) <= 0.5
    assert accuracy >= 98.0
    assert (tmp_path / "minitorch" / "loss.png").stat().st_size > 5000


def test_resume_of_a_finished_run_has_nothing_to_do(tmp_path):
    whole = run(tmp_path, "--epochs", "2")
    resumed = run(tmp_path, "--epochs", "2", "--resume")
    assert len(whole["epochs"]) == 2 and resumed["epochs"] == []
    assert resumed["test"] == whole["test"]
