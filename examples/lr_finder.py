"""Find a learning rate: raise it geometrically from batch to batch, and watch the loss.

    python examples/lr_finder.py                      the curve for a small network on handwritten digits
    python examples/lr_finder.py --optimizer SGD
    python examples/lr_finder.py --framework torch    the very same code on PyTorch

`find_lr(model, loader, optimizer, loss)` works for any of these, of minitorch or of torch, and leaves model, optimizer
and random numbers as they were. The rates that are too small leave the loss where it is, those that are too large blow
it up; the rate at which it falls most steeply is a good one to begin with (L. Smith, "Cyclical Learning Rates for
Training Neural Networks", WACV 2017, section 3.3; https://arxiv.org/abs/1506.01186). The loss is smoothed, for batches
differ. The picture needs matplotlib.
"""

import argparse
import contextlib
import copy
import importlib
import itertools
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Curve(NamedTuple):
    """Learning rates, the smoothed loss at each, and the rate at which it fell most steeply (None if it never did)."""

    rates: list
    losses: list
    suggestion: float | None


@contextlib.contextmanager
def left_as_it_was(model, optimizer):
    """Undo, at the end of the block, what training does to a model and an optimizer, and to the random numbers."""
    torch = importlib.import_module(type(optimizer).__module__.split(".")[0])
    weights = copy.deepcopy(model.state_dict())
    state = copy.deepcopy(optimizer.state_dict())
    rates = [group["lr"] for group in optimizer.param_groups]
    gradients = [p.grad for p in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    random = torch.get_rng_state()
    try:
        yield
    finally:
        model.load_state_dict(weights)
        optimizer.load_state_dict(state)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        for p, gradient in zip(model.parameters(), gradients, strict=True):
            p.grad = gradient
        for module, training in modes:
            module.training = training
        torch.set_rng_state(random)


def forever(loader):
    """The batches of a loader, over and over. ValueError if it has none (left)."""
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
        if empty:
            raise ValueError("the loader gave no batches; one that can be read only once is too short for this")


def find_lr(model, loader, optimizer, loss, low=1e-6, high=10.0, steps=100, smoothing=0.9, explosion=4.0):
    """Train for `steps` batches with rates from `low` to `high`, or until the loss is `explosion` times the best.

    `loader` gives pairs (input, target); `loss(model(input), target)` is what is lowered. Groups with other
    rates than the first keep their ratio to it. ValueError for rates or steps that make no curve."""
    if not 0 < low < high or steps < 2:
        raise ValueError(f"expected 0 < low < high and at least 2 steps, but got low={low}, high={high}, steps={steps}")
    first = float(optimizer.param_groups[0]["lr"])
    ratios = [float(group["lr"]) / first if first else 1.0 for group in optimizer.param_groups]
    rates, losses = [], []
    average = 0.0
    with left_as_it_was(model, optimizer):
        model.train()
        for step, (input, target) in enumerate(itertools.islice(forever(loader), steps)):
            rate = low * (high / low) ** (step / (steps - 1))
            for group, ratio in zip(optimizer.param_groups, ratios, strict=True):
                group["lr"] = rate * ratio
            optimizer.zero_grad()
            value = loss(model(input), target)
            value.backward()
            optimizer.step()
            average = smoothing * average + (1 - smoothing) * value.item()
            smoothed = average / (1 - smoothing ** (step + 1))  # the average began at 0
            if not math.isfinite(smoothed) or (losses and smoothed > explosion * min(losses)):
                break
            rates.append(rate)
            losses.append(smoothed)
    return Curve(rates, losses, steepest(rates, losses))


def steepest(rates, losses):
    """The rate at which the loss falls fastest per factor in the rate. None if there is no such rate.

    Only what comes before the minimum counts, and not the first tenth, where the average is one of few batches."""
    begin, end = len(losses) // 10, int(np.argmin(losses)) + 1 if losses else 0
    if end - begin < 3:
        return None
    slopes = np.gradient(np.asarray(losses[begin:end]), np.log(rates[begin:end]))
    return rates[begin + int(np.argmin(slopes))] if slopes.min() < 0 else None


def draw(curve, path):
    """The curve as a picture, where matplotlib is installed. Returns whether it was drawn."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(curve.rates, curve.losses)
    if curve.suggestion is not None:
        at = curve.rates.index(curve.suggestion)
        axes.plot(curve.suggestion, curve.losses[at], "o", label=f"steepest: {curve.suggestion:.2g}")
        axes.legend()
    axes.set(xlabel="learning rate", ylabel="smoothed loss", xscale="log", title="Learning rate finder")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", default="minitorch", help="the package to import: minitorch or torch")
    parser.add_argument("--optimizer", default="AdamW", help="the name of its class")
    parser.add_argument("--low", type=float, default=1e-6)
    parser.add_argument("--high", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/lr_finder.png"), help="where to draw the curve")
    return parser.parse_args(argv)


def main(argv=None):
    from train_digits import build_model, tensors

    args = parse(argv)
    torch = importlib.import_module(args.framework)
    for part in ("nn", "optim", "utils.data"):
        importlib.import_module(f"{args.framework}.{part}")
    torch.manual_seed(args.seed)
    loader = torch.utils.data.DataLoader(tensors(torch, True), batch_size=args.batch_size, shuffle=True)
    model = build_model(torch.nn)
    optimizer = getattr(torch.optim, args.optimizer)(model.parameters(), lr=args.low)
    curve = find_lr(model, loader, optimizer, torch.nn.CrossEntropyLoss(), args.low, args.high, args.steps)
    for rate, loss in list(zip(curve.rates, curve.losses, strict=True))[:: max(1, args.steps // 15)]:
        print(f"lr {rate:9.2e}  loss {loss:.4f}")
    print("the loss never fell" if curve.suggestion is None else f"suggested learning rate: {curve.suggestion:.2g}")
    if draw(curve, args.out):
        print(f"curve: {args.out}")
    return curve


if __name__ == "__main__":
    main()
