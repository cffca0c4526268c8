"""Train a small convolutional network on real handwritten digits, from data to test accuracy.

    python examples/train_digits.py                     trains, and draws the loss curve
    python examples/train_digits.py --resume            goes on after the last checkpoint
    python examples/train_digits.py --framework torch   runs the very same code on PyTorch

The data ships with minitorch (1,797 images of 8x8 pixels); no network is needed. A progress bar and the picture need
the `examples` extra (tqdm, matplotlib); without them the program runs the same. After each epoch (and, with
--save-every, within one) everything that the rest of the run depends on is written to a checkpoint, so a run that was
killed and resumed ends with the same weights, bit for bit, as one that never was.
"""

import argparse
import contextlib
import importlib
import os
import random
import time
from pathlib import Path

import numpy as np

from minitorch.datasets import Digits


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3, help="the highest learning rate; it falls along a cosine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--framework", default="minitorch", help="the package to import: minitorch or torch")
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--amp", choices=("float16", "bfloat16"), help="compute in half precision (with loss scaling)")
    parser.add_argument("--out", type=Path, default=Path("runs/digits"), help="folder of the checkpoint and the picture")
    parser.add_argument("--save-every", type=int, default=0, help="checkpoints within an epoch: one every so many batches")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint in --out")
    return parser.parse_args(argv)


def build_model(nn):
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),  # the norm that follows would cancel a bias
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(64, 10),
    )


def tensors(torch, train):
    """The digits as a TensorDataset of the framework, in its default dtype."""
    digits = Digits(train=train)
    images = torch.from_numpy(digits.images.numpy()).to(torch.get_default_dtype())
    return torch.utils.data.TensorDataset(images, torch.from_numpy(digits.targets.numpy()))


class Run:
    """Everything that training changes, with one loop for training and evaluation."""

    def __init__(self, args):
        self.args = args
        torch = self.torch = importlib.import_module(args.framework)
        for part in ("nn", "optim", "utils.data"):  # torch leaves some of its parts to be imported by name
            importlib.import_module(f"{args.framework}.{part}")
        torch.set_default_dtype(getattr(torch, args.dtype))
        torch.manual_seed(args.seed), np.random.seed(args.seed), random.seed(args.seed)
        learning, validation = torch.utils.data.random_split(tensors(torch, True), (0.85, 0.15))
        loader = torch.utils.data.DataLoader
        self.train_loader = loader(learning, batch_size=args.batch_size, shuffle=True)
        self.validation_loader = loader(validation, batch_size=256)
        self.test_loader = loader(tensors(torch, False), batch_size=256)
        self.model = build_model(torch.nn)
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.01)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=args.epochs)
        self.scaler = torch.amp.GradScaler("cpu", enabled=args.amp == "float16") if args.amp else None
        self.history = []
        self.position = None  # within the epoch; None between two epochs

    def autocast(self):
        if not self.args.amp:
            return contextlib.nullcontext()
        return self.torch.autocast("cpu", dtype=getattr(self.torch, self.args.amp))

    def train_epoch(self, checkpoint):
        """One pass over the training data, or what is left of it. Returns (mean loss, accuracy in percent)."""
        self.model.train()
        resumed, now = self.position is not None, self.random_state()
        if resumed:
            self.set_random_state(self.position["start"])  # from which the loader drew its order
        else:
            self.position = {"start": now, "batches": 0, "sums": (0.0, 0, 0)}
        batches = iter(progress(self.train_loader, f"epoch {len(self.history) + 1}"))
        for _ in range(self.position["batches"]):
            next(batches)
        if resumed:
            self.set_random_state(now)
        total, correct, count = self.position["sums"]
        for images, targets in batches:
            self.optimizer.zero_grad()
            with self.autocast():
                scores = self.model(images)
                loss = self.loss(scores, targets)
            if self.scaler is None:
                loss.backward()
                self.optimizer.step()
            else:
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
            total += loss.item() * len(targets)
            correct += (scores.argmax(1) == targets).sum().item()
            count += len(targets)
            self.position |= {"batches": self.position["batches"] + 1, "sums": (total, correct, count)}
            if self.args.save_every and self.position["batches"] % self.args.save_every == 0:
                self.save(checkpoint)
        self.position = None
        return total / count, 100 * correct / count

    def evaluate(self, loader):
        """(Mean loss, accuracy in percent), with dropout off and running statistics."""
        self.model.eval()
        total = correct = count = 0
        with self.torch.no_grad(), self.autocast():
            for images, targets in loader:
                scores = self.model(images)
                total += self.loss(scores, targets).item() * len(targets)
                correct += (scores.argmax(1) == targets).sum().item()
                count += len(targets)
        return total / count, 100 * correct / count

    def save(self, path):
        """Write the checkpoint beside its place and rename it there: a kill leaves the old one or the new one."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": None if self.scaler is None else self.scaler.state_dict(),
            "random": self.random_state(),
            "position": self.position,
            "history": self.history,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(path.name + ".unfinished")
        self.torch.save(state, unfinished)
        os.replace(unfinished, path)

    def load(self, path):
        state = self.torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        self.set_random_state(state["random"])
        self.position = state["position"]
        self.history = state["history"]

    def random_state(self):
        """Where the three generators stand that a run may draw from. (Checkpoints hold lists, but no arrays.)"""
        name, keys, *rest = np.random.get_state()
        return {"torch": self.torch.get_rng_state(), "numpy": (name, keys.tolist(), *rest), "python": random.getstate()}

    def set_random_state(self, state):
        self.torch.set_rng_state(state["torch"])
        np.random.set_state(state["numpy"])
        random.setstate(state["python"])


def progress(loader, title):
    """The loader, with a bar on the terminal where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return loader
    return tqdm(loader, desc=title, leave=False, disable=None)


def draw(history, path):
    """The loss curves as a picture, where matplotlib is installed. Returns whether it was drawn."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    epochs = range(1, len(history) + 1)
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(epochs, [row["train_loss"] for row in history], label="training")
    axes.plot(epochs, [row["validation_loss"] for row in history], label="validation")
    axes.set(xlabel="epoch", ylabel="cross entropy", yscale="log", title="Handwritten digits")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


def main(argv=None):
    args = parse(argv)
    run = Run(args)
    checkpoint = args.out / "checkpoint.pt"
    if args.resume and checkpoint.exists():
        run.load(checkpoint)
        where = f" and {run.position['batches']} batches" if run.position else ""
        print(f"resumed from {checkpoint} after epoch {len(run.history)}{where}")
    print("epoch  train loss  train acc  val loss  val acc        lr  seconds")
    while len(run.history) < args.epochs:
        start = time.perf_counter()
        rate = run.scheduler.get_last_lr()[0]
        train_loss, train_accuracy = run.train_epoch(checkpoint)
        run.scheduler.step()
        validation_loss, validation_accuracy = run.evaluate(run.validation_loader)
        run.history.append(
            {
                "train_loss": train_loss,
                "train_accuracy": train_accuracy,
                "validation_loss": validation_loss,
                "validation_accuracy": validation_accuracy,
                "lr": rate,
            }
        )
        run.save(checkpoint)
        print(
            f"{len(run.history):5d}  {train_loss:10.6f}  {train_accuracy:8.2f}%  {validation_loss:8.6f}  "
            f"{validation_accuracy:6.2f}%  {rate:8.6f}  {time.perf_counter() - start:7.2f}",
            flush=True,
        )
    test_loss, test_accuracy = run.evaluate(run.test_loader)
    print(f"test loss {test_loss:.6f}, test accuracy {test_accuracy:.2f}%")
    picture = args.out / "loss.png"
    print(f"checkpoint: {checkpoint}" + (f", loss curve: {picture}" if draw(run.history, picture) else ""))
    return run


if __name__ == "__main__":
    main()
