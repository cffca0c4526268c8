"""The learning rate finder of the examples: what it finds, that it leaves no trace, and that it runs on torch too."""

import copy
import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import minitorch

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
spec = importlib.util.spec_from_file_location("lr_finder", EXAMPLES / "lr_finder.py")
lr_finder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lr_finder)

FRAMEWORKS = ["minitorch", "torch"]


def setting(name, kind="SGD", **options):
    """A small network with batch norm and dropout, batches of a regression, an optimizer and a loss."""
    torch = pytest.importorskip(name)
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    inputs = random.standard_normal((64, 5))
    targets = np.sin(inputs @ random.standard_normal((5, 1)))
    nn = torch.nn
    model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1)).double()
    loader = [(torch.tensor(inputs[i : i + 16]), torch.tensor(targets[i : i + 16])) for i in range(0, 64, 16)]
    return torch, model, loader, getattr(torch.optim, kind)(model.parameters(), **options), nn.MSELoss()


def numbers(value):
    """Nested state with plain lists for tensors."""
    if isinstance(value, dict):
        return {key: numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [numbers(entry) for entry in value]
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("kind, options", [("SGD", {"momentum": 0.9, "lr": 0.1}), ("Adam", {"amsgrad": True})])
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_leaves_no_trace(name, kind, options):
    torch, model, loader, optimizer, loss = setting(name, kind, **options)
    for input, target in loader:  # state, gradients and statistics to be preserved
        optimizer.zero_grad()
        loss(model(input), target).backward()
        optimizer.step()
    model[1].eval()
    gradients = [p.grad for p in model.parameters()]
    before = copy.deepcopy(numbers([model.state_dict(), optimizer.state_dict(), torch.get_rng_state()]))
    parameters = list(model.parameters())
    lr_finder.find_lr(model, loader, optimizer, loss, steps=30)
    assert numbers([model.state_dict(), optimizer.state_dict(), torch.get_rng_state()]) == before
    assert all(p is q for p, q in zip(parameters, model.parameters(), strict=True))
    assert all(p.grad is g for p, g in zip(parameters, gradients, strict=True))
    assert model.training and not model[1].training


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_leaves_no_trace_when_the_loss_fails(name):
    torch, model, loader, optimizer, loss = setting(name, lr=0.5)
    before = copy.deepcopy(numbers([model.state_dict(), optimizer.state_dict()]))
    calls = []

    def failing(output, target):
        calls.append(1)
        if len(calls) == 5:
            raise ArithmeticError
        return loss(output, target)

    with pytest.raises(ArithmeticError):
        lr_finder.find_lr(model, loader, optimizer, failing)
    assert numbers([model.state_dict(), optimizer.state_dict()]) == before


def test_both_frameworks_find_the_same():
    curves = [lr_finder.find_lr(*setting(name, lr=0.1)[1:], steps=60) for name in FRAMEWORKS]
    assert curves[0].rates == curves[1].rates
    np.testing.assert_allclose(curves[0].losses, curves[1].losses, rtol=1e-9)
    assert curves[0].suggestion == curves[1].suggestion


def test_finds_the_rate_of_a_parabola():
    """loss = k w^2 / 2 is lowered in one step by lr = 1/k, blown up by lr > 2/k."""
    stiffness = 50.0

    class Parabola(minitorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = minitorch.nn.Parameter(minitorch.tensor([3.0]))

        def forward(self, input):
            return self.w

    model = Parabola()
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.1)
    curve = lr_finder.find_lr(
        model, [(None, None)], optimizer, lambda w, _: stiffness * (w * w).sum() / 2, low=1e-5, high=1.0, steps=100
    )
    assert 0.02 / stiffness < curve.suggestion < 2 / stiffness
    assert curve.rates[-1] < 1.0, "stopped when the loss exploded"
    assert np.allclose(np.diff(np.log(curve.rates)), math.log(1e5) / 99)


def test_smoothed_loss():
    """An exponential average of the losses, corrected for having begun at zero."""
    torch, model, loader, optimizer, _ = setting("minitorch", lr=0.1)
    values = iter([4.0, 2.0, 3.0])
    curve = lr_finder.find_lr(
        model, loader, optimizer, lambda output, target: output.sum() * 0 + next(values), steps=3, smoothing=0.5
    )
    assert np.allclose(curve.losses, [2.0 / 0.5, (1.0 + 1.0) / 0.75, (1.0 + 1.5) / 0.875])
    assert curve.suggestion is None


def test_groups_keep_their_ratios():
    torch, model, loader, _, loss = setting("minitorch")
    groups = [{"params": model[0].parameters(), "lr": 0.1}, {"params": model[4].parameters(), "lr": 0.3}]
    optimizer = torch.optim.SGD(groups)
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append([g["lr"] for g in o.param_groups]))
    lr_finder.find_lr(model, loader, optimizer, loss, steps=5)
    assert all(second == pytest.approx(3 * first) for first, second in seen)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.3]


def test_a_tensor_rate_stays_the_same_tensor():
    rate = minitorch.tensor(0.25)
    torch, model, loader, optimizer, loss = setting("minitorch", lr=rate)
    lr_finder.find_lr(model, loader, optimizer, loss, steps=5)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25


@pytest.mark.parametrize("options", [{"low": 0.0}, {"low": 2.0, "high": 1.0}, {"steps": 1}])
def test_refusals(options):
    _, model, loader, optimizer, loss = setting("minitorch")
    with pytest.raises(ValueError, match="expected 0 < low < high and at least 2 steps"):
        lr_finder.find_lr(model, loader, optimizer, loss, **options)


@pytest.mark.parametrize("loader", [[], iter([])])
def test_an_empty_loader_is_refused(loader):
    _, model, _, optimizer, loss = setting("minitorch")
    with pytest.raises(ValueError, match="gave no batches"):
        lr_finder.find_lr(model, loader, optimizer, loss)


def test_program(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    curve = lr_finder.main(["--steps", "40", "--out", str(tmp_path / "runs" / "curve.png")])
    assert 1e-4 < curve.suggestion < 1e-1
    assert "suggested learning rate" in capsys.readouterr().out
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "runs" / "curve.png").stat().st_size > 1000
    sys.modules.pop("train_digits", None)


def test_without_matplotlib_nothing_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not lr_finder.draw(lr_finder.Curve([1.0], [1.0], None), tmp_path / "curve.png")
