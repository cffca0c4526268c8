"""Train in half precision, and see why the loss is scaled.

    python examples/mixed_precision.py                     four trainings, a table and a picture
    python examples/mixed_precision.py --framework torch   the very same code on PyTorch

The network of train_digits.py is trained four times from the same weights on the same batches: in float32, in float16
with loss scaling, in float16 without, and in bfloat16. The recipe (P. Micikevicius et al., "Mixed Precision Training",
ICLR 2018, https://arxiv.org/abs/1710.03740) has three parts, and each is one line of `train` below:

1. *Compute in half precision.* Inside `autocast` the matrix products and convolutions cast what they are given, and
   accumulate in float32; losses are computed in float32.
2. *Master weights.* The parameters stay float32, and so do their gradients and the optimizer's state. An update of a
   thousandth of a weight would be rounded away in bfloat16, which holds three digits; in float32 it counts. Nothing has
   to be done for it: autocast casts a copy of each weight, once per forward pass.
3. *Loss scaling.* What float16 cannot hold is what is smaller than 2^-24 = 6e-8, and that gradients often are.
   `GradScaler` multiplies the loss, and so every gradient, by a large number, and divides the gradients by it
   before the step. When a gradient overflowed, the step is skipped and the number halved; after many good steps it is
   doubled. bfloat16 has float32's range (and less precision), and needs no scaling.

The digits are too easy for gradients to be that small, so the loss is made small: it is multiplied by 2^-20, and the
learning rate by 2^20. In float32 that changes nothing at all. In float16 without scaling nearly all gradients are zero,
and the few that are not are all rounded to the same 6e-8: first nothing is learned, and then the wrong thing.
"""

import argparse
import contextlib
import importlib
from pathlib import Path
from typing import NamedTuple

SMALL = 2.0**-20  # times the loss; the learning rate is divided by it


class Variant(NamedTuple):
    """A way to train: the precision of the computation, and whether the loss is scaled."""

    title: str
    precision: str | None
    scaled: bool


VARIANTS = (
    Variant("float32", None, False),
    Variant("float16, scaled", "float16", True),
    Variant("float16, unscaled", "float16", False),
    Variant("bfloat16", "bfloat16", False),
)


class Result(NamedTuple):
    """What a training showed: the loss of each batch, the last epoch's mean, in percent the test accuracy and the share
    of the gradients' elements that were zero in the first epoch, and the loss scale at the end (None without scaling)."""

    losses: list
    final: float
    accuracy: float
    zeros: float
    scale: float | None


def train(torch, variant, args):
    """One training from the seed."""
    from train_digits import build_model, tensors

    torch.manual_seed(args.seed)
    loader = torch.utils.data.DataLoader(tensors(torch, True), batch_size=args.batch_size, shuffle=True)
    model = build_model(torch.nn)
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr / SMALL, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=variant.scaled)  # disabled, it does nothing

    def autocast():
        if variant.precision is None:
            return contextlib.nullcontext()
        return torch.autocast("cpu", dtype=getattr(torch, variant.precision))

    losses, zeros, elements = [], 0, 0
    for epoch in range(args.epochs):
        for images, targets in loader:
            optimizer.zero_grad()
            with autocast():
                loss = loss_function(model(images), targets)
            scaler.scale(loss * SMALL).backward()
            if epoch == 0:
                zeros += sum((p.grad == 0).sum().item() for p in model.parameters())
                elements += sum(p.numel() for p in model.parameters())
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        final = sum(losses[-len(loader) :]) / len(loader)
        print(f"{variant.title:18s} epoch {epoch + 1}  loss {final:.4f}", flush=True)

    model.eval()
    test = tensors(torch, False)
    with torch.no_grad(), autocast():
        guesses = model(test.tensors[0]).argmax(1)
    accuracy = 100 * (guesses == test.tensors[1]).sum().item() / len(test)
    return Result(losses, final, accuracy, 100 * zeros / elements, scaler.get_scale() if variant.scaled else None)


def smoothed(losses, weight=0.9):
    """The running average of noisy losses, corrected for having begun at zero."""
    averages, average = [], 0.0
    for step, loss in enumerate(losses):
        average = weight * average + (1 - weight) * loss
        averages.append(average / (1 - weight ** (step + 1)))
    return averages


def draw(results, path):
    """The four loss curves as a picture, where matplotlib is installed. Returns whether it was drawn."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "minitorch"})  # small, and always the same
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (title, result), style in zip(results.items(), ("-", "--", "-", ":"), strict=True):
        axes.plot(smoothed(result.losses), style, label=title, linewidth=2)
    axes.set(xlabel="batch", ylabel="cross entropy", yscale="log", title="Handwritten digits, the loss times 2^-20")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return True


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", default="minitorch", help="the package to import: minitorch or torch")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02, help="for the loss as it is; divided by 2^-20")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/mixed_precision.png"), help="where to draw the curves")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    torch = importlib.import_module(args.framework)
    for part in ("nn", "optim", "utils.data"):  # torch leaves some of its parts to be imported by name
        importlib.import_module(f"{args.framework}.{part}")
    results = {variant.title: train(torch, variant, args) for variant in VARIANTS}
    print("\n                    loss at the end  test accuracy  zero gradients  loss scale")
    for title, result in results.items():
        scale = "-" if result.scale is None else f"{result.scale:.0f}"
        print(f"{title:18s}  {result.final:15.4f}  {result.accuracy:12.2f}%  {result.zeros:13.1f}%  {scale:>10s}")
    if draw(results, args.out):
        print(f"\nloss curves: {args.out}")
    return results


if __name__ == "__main__":
    main()
