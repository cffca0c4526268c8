"""Training in half precision: the digits job with --amp beside torch's own autocast run, and the example about it."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
spec = importlib.util.spec_from_file_location("mixed_precision", EXAMPLES / "mixed_precision.py")
mixed_precision = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mixed_precision)


def digits(folder, *options):
    """What the digits job prints: ([[train loss, train accuracy, validation loss, validation accuracy], ...] of the
    epochs, [test loss, test accuracy])."""
    process = subprocess.run(
        [sys.executable, EXAMPLES / "train_digits.py", "--out", folder, *options],
        capture_output=True, text=True, timeout=500, check=True,
    )
    lines = process.stdout.splitlines()
    epochs = [[float(x.rstrip("%")) for x in line.split()[1:5]] for line in lines if re.match(r" +\d+ ", line)]
    (test,) = [line for line in lines if line.startswith("test loss")]
    return epochs, [float(x) for x in re.findall(r"[\d.]+\d", test)]


def same_losses(ours, theirs):
    """To two decimals: less than one in the second apart."""
    assert len(ours[0]) == len(theirs[0]) > 0
    for a, b in zip([*ours[0], ours[1]], [*theirs[0], theirs[1]], strict=True):
        assert [abs(x - y) < 0.01 for x, y in zip(a[0::2], b[0::2], strict=True)] == [True] * (len(a) // 2), (a, b)


@pytest.mark.parametrize(
    "precision, epochs", [("bfloat16", 1), pytest.param("float16", 1, marks=pytest.mark.slow)]  # torch's float16 is slow
)
def test_digits_begin_as_under_torch(precision, epochs, tmp_path):
    options = ("--amp", precision, "--epochs", str(epochs))
    same_losses(digits(tmp_path / "ours", *options), digits(tmp_path / "theirs", "--framework", "torch", *options))


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_digits_over_the_whole_run(precision, tmp_path):
    plain = digits(tmp_path / "float32")
    ours = digits(tmp_path / "ours", "--amp", precision)
    theirs = digits(tmp_path / "theirs", "--framework", "torch", "--amp", precision)
    same_losses(ours, theirs)
    assert abs(ours[1][1] - plain[1][1]) <= 0.5, "test accuracy in percent"


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    yield lambda *options: mixed_precision.main(["--out", str(tmp_path / "runs" / "curves.png"), *options])
    sys.modules.pop("train_digits", None)


@pytest.mark.slow
def test_example(results, tmp_path, capsys):
    found = results("--epochs", "2")
    plain, scaled, unscaled, brain = found.values()
    for half in (scaled, brain):  # they follow float32
        assert abs(half.final - plain.final) < 0.05
    assert scaled.scale == 2**16 and plain.scale is None
    assert unscaled.final > 5 * plain.final and unscaled.zeros > 99
    assert scaled.zeros < plain.zeros + 2
    printed = capsys.readouterr().out
    for title in found:
        assert len(re.findall(rf"^{title} .*%", printed, re.MULTILINE)) == 1, "a row of the table"
        assert len(re.findall(rf"^{title} +epoch \d", printed, re.MULTILINE)) == 2, "progress"
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "runs" / "curves.png").stat().st_size > 10000


def test_making_the_loss_small_changes_nothing_in_float32(results, monkeypatch):
    """Powers of two only move the exponent: both runs have the same bits."""
    monkeypatch.setattr(mixed_precision, "VARIANTS", mixed_precision.VARIANTS[:1])
    monkeypatch.setattr(mixed_precision, "draw", lambda *_: False)
    small = results("--epochs", "1")["float32"]
    monkeypatch.setattr(mixed_precision, "SMALL", 1.0)
    assert results("--epochs", "1")["float32"].losses == small.losses


def test_without_matplotlib_nothing_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not mixed_precision.draw({}, tmp_path / "curves.png")
