"""Killed at any moment and resumed, a run ends with the same bits as one that was never killed."""

import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from test_serialization import describe

from minitorch import load

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "train_digits.py"

# Every third step, in the middle of an epoch, it keeps all that the rest depends on: weights, optimizer, scheduler, the
# position in the loader, and the random states of minitorch, NumPy and Python, from which its dataset draws.
MIDDLE = """
import pathlib, random, sys
import numpy as np
import minitorch as torch

path = pathlib.Path(sys.argv[1]) / "checkpoint.pt"


class Noisy(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = torch.full((8,), float(i)) / 64 + torch.rand(8) + random.random() + np.random.rand()
        return x, i % 4


torch.manual_seed(0), random.seed(0), np.random.seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
order = torch.Generator().manual_seed(1)
loader = torch.utils.data.DataLoader(Noisy(), batch_size=8, shuffle=True, generator=order)
epoch = done = 0
if path.exists():
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    epoch, done = state["epoch"], state["done"]
while epoch < 6:
    if done:
        order.set_state(state["order"])
    start = order.get_state()
    batches = iter(loader)
    for _ in range(done):  # the loader goes to where it was, which moves the random states: so they come afterwards
        next(batches)
    if done:
        torch.set_rng_state(state["torch"])
        random.setstate(state["python"])
        np.random.set_state(state["numpy"])
    for batch in range(done, len(loader)):
        x, y = next(batches)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()
        if batch % 3 == 2:
            torch.save(
                {
                    "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch, "done": batch + 1, "order": start,
                    "torch": torch.get_rng_state(), "python": random.getstate(),
                    "numpy": [s.tolist() if isinstance(s, np.ndarray) else s for s in np.random.get_state()],
                },
                path,
            )
            print("saved", flush=True)
    epoch, done = epoch + 1, 0
torch.save([model.state_dict(), optimizer.state_dict(), torch.rand(3), random.random(), np.random.rand()],
           path.with_name("end.pt"))
"""


def start(command):
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(command):
    """Run to the end; returns how long that took."""
    began = time.perf_counter()
    with start(command) as process:
        output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return time.perf_counter() - began


def kill_and_resume(command, resume, result, tmp_path, kills):
    """Compares the result of an undisturbed run with those of runs killed at random moments, two at a time."""

    def fresh(name):
        (tmp_path / name).mkdir()
        return tmp_path / name

    undisturbed = fresh("undisturbed")
    seconds = finish(command(undisturbed))  # what a run takes: less or more, later on, when the machine has other work
    expected = describe(load(undisturbed / result))  # to the bit; two equal files may share their strings differently

    def one(number):
        nonlocal seconds
        folder, began = fresh(str(number)), time.perf_counter()
        with start(command(folder)) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(np.random.default_rng(number).uniform(0.1, 1) * seconds)
                seconds = time.perf_counter() - began
            process.kill()
        kept = (folder / "checkpoint.pt").exists()
        took = finish(resume(folder))
        if not kept:
            seconds = took
        assert describe(load(folder / result)) == expected, f"kill {number}"
        return process.returncode < 0 and kept

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        with_something_to_resume = sum(pool.map(one, range(kills)))
    assert with_something_to_resume >= kills // 5  # else this would show nothing


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_the_example(kills, tmp_path, monkeypatch):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")  # the picture would take as long as the training
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    def command(folder):
        return sys.executable, EXAMPLE, "--epochs", 2, "--batch-size", 64, "--save-every", 3, "--out", folder

    kill_and_resume(command, lambda folder: (*command(folder), "--resume"), "checkpoint.pt", tmp_path, kills)


@pytest.mark.parametrize("saves", [1, 4, 7])
def test_killed_after_a_checkpoint(saves, tmp_path):
    """The same at chosen moments: a kill at random may come before the first checkpoint, and show nothing."""
    program = textwrap.dedent(MIDDLE)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    finish((sys.executable, "-c", program, whole))
    with start((sys.executable, "-c", program, killed)) as process:
        for _ in range(saves):
            assert process.stdout.readline() == "saved\n"
        process.kill()
    assert not (killed / "end.pt").exists()
    finish((sys.executable, "-c", program, killed))
    assert describe(load(killed / "end.pt")) == describe(load(whole / "end.pt"))


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_in_the_middle_of_an_epoch(kills, tmp_path):
    program = textwrap.dedent(MIDDLE)

    def command(folder):
        return sys.executable, "-c", program, folder

    kill_and_resume(command, command, "end.pt", tmp_path, kills)
