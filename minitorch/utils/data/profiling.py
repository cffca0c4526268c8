"""Is a training loop waiting for its data? `benchmark` measures it, and says what the guides advise."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

WAITING = 0.1  # a loop that spends more than this share of its time waiting is bound by its loader
CHEAP = 1e-3  # seconds: below this, making a batch costs less than what another process could save


@dataclass(frozen=True)
class Report:
    """What `benchmark` found. Times are in seconds, averages over the batches after the first."""

    batches: int
    samples: int
    first: float  # until the first batch is there: starting the workers
    wait: float  # for the next batch
    step: float  # in the loop's body
    advice: str

    @property
    def samples_per_second(self) -> float:
        """Without the first batch."""
        return self.samples / max(self.batches, 1) / max(self.wait + self.step, 1e-9)

    @property
    def waiting(self) -> float:
        """The share of the loop's time that goes into waiting for data."""
        return self.wait / max(self.wait + self.step, 1e-9)

    @property
    def loader_bound(self) -> bool:
        return self.waiting > WAITING

    def __str__(self) -> str:
        return (
            f"{self.samples:,} samples in {self.batches:,} batches: {self.samples_per_second:,.0f} samples/s\n"
            f"wait {self.wait * 1e3:.3f} ms per batch, step {self.step * 1e3:.3f} ms: {self.waiting:.0%} of the time is"
            f" waiting; first batch after {self.first * 1e3:.1f} ms\n{self.advice}"
        )


def count_samples(batch: Any) -> int:
    """The length of the first tensor (or string list) in a batch."""
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if isinstance(batch, Sequence) and not isinstance(batch, str) and batch and not isinstance(batch[0], (str, bytes)):
        return count_samples(batch[0])
    return len(batch) if getattr(batch, "ndim", 1) and hasattr(batch, "__len__") else 1


def benchmark(
    loader: Any, step: Callable[[Any], Any] | None = None, batches: int | None = None, quiet: bool = False
) -> Report:
    """Go through the loader once, at most `batches` batches, calling `step(batch)`, the body of the training loop.

    Prints (unless `quiet`) samples per second, the wait per batch and what to do, and returns a Report with the same.
    Without `step`, it is the loader alone that is measured.
    """
    waits, steps, samples = [], [], 0
    start = time.perf_counter()
    for batch in islice(loader, batches):
        arrived = time.perf_counter()
        samples += count_samples(batch)
        if step is not None:
            step(batch)
        done = time.perf_counter()
        waits.append(arrived - start)
        steps.append(done - arrived if step is not None else 0.0)
        start = time.perf_counter()
    first = waits[0] if waits else 0.0
    steady = waits[1:] or waits
    wait = sum(steady) / max(len(steady), 1)
    body = sum(steps) / max(len(steps), 1)
    report = Report(len(waits), samples, first, wait, body, _advise(loader, wait, body, step is not None))
    if not quiet:
        print(report)
    return report


def _advise(loader: Any, wait: float, step: float, whole_loop: bool) -> str:
    workers = getattr(loader, "num_workers", 0)
    dataset = getattr(loader, "dataset", None)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if whole_loop and wait <= WAITING * (wait + step):
        advice = "Compute-bound: the loader keeps up; a faster model or machine is what would help."
        return advice + (f" Try to lower num_workers (now {workers})." if workers > 1 else "")
    bound = "Loader-bound: the loop waits for data." if whole_loop else "The loader alone:"
    at_once = getattr(dataset, "_batch", None) or hasattr(dataset, "__getitems__")
    fetch = "" if at_once else " fetch whole batches at once (give the dataset __getitems__);"
    if workers == 0 and wait < CHEAP:
        return f"{bound} A batch costs little; workers would not pay.{fetch} larger batches cost less per sample."
    if workers < processors:
        return (
            f"{bound} Raise num_workers (now {workers}; this process may use {processors} processors);{fetch}"
            " cache what is decoded or computed again every epoch."
        )
    return (
        f"{bound} There are as many workers as processors ({processors}): more would not help, and lowering num_workers"
        f" may;{fetch} cache what is decoded or computed again every epoch; make __getitem__ cheaper."
    )
