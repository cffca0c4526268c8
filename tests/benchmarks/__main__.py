"""The benchmark: ``python -m tests.benchmarks [--only PATTERN] [--seconds S] [--markdown]`` (needs torch).

Each workload (see `workloads`) is timed under both frameworks in this one process, in alternating short blocks, both at
two threads; the time reported is the best block's mean. Peak memory and import time are measured in processes of their
own; the memory is the whole process's: torch loads its code when imported, minitorch when a large step needs it. The
geometric means are of the ratios minitorch / torch: below 1 minitorch is faster.
"""

import argparse
import datetime
import importlib
import json
import math
import os
import platform
import re
import subprocess
import sys
import time

THREADS = 2
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, str(THREADS))  # before the first import of either framework

MEMORY = {
    "MLP 784-1024-1024-10": "MLP 784-1024-1024-10, SGD, batch 256",
    "LeNet": "LeNet, 64x1x28x28",
    "GPT": "GPT, 4 layers, d=128, T=64, B=16",
}


def load(name):
    framework = importlib.import_module(name)
    framework.set_num_threads(THREADS)
    return framework


def built(framework, workload):
    framework.manual_seed(0)
    return workload.build(framework)


def block(step, count):
    """Seconds per step over `count` steps."""
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


def compare(workload, frameworks, seconds):
    """Best time per step for each framework; blocks of about 20 ms alternate until `seconds` are over."""
    steps = [built(framework, workload) for framework in frameworks]
    losses = [step() for step in steps]
    if getattr(losses[0], "dtype", None) is not None and losses[0].ndim == 0:
        values = [loss.item() for loss in losses]
        if abs(values[0] - values[1]) > 1e-3 * max(1.0, abs(values[1])):
            raise AssertionError(f"{workload.name}: the frameworks do different work: losses {values}")
    counts = [max(1, int(0.02 / max(min(block(step, 3), block(step, 3)), 1e-7))) for step in steps]
    best = [math.inf] * len(steps)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, step in enumerate(steps):
            block(step, 1)  # the other framework's threads and caches
            best[i] = min(best[i], block(step, counts[i]))
    return best


def in_a_process(code):
    """The JSON that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=os.getcwd(), env=os.environ
    )
    return json.loads(done.stdout.splitlines()[-1])


def import_seconds(name, times=5):
    code = f"import time; s = time.perf_counter(); import {name}; print(time.perf_counter() - s)"
    return min(in_a_process(code) for _ in range(times))


def peak_bytes(name, workload):
    """The most memory that a process which imports the framework, builds the workload and trains a little ever holds."""
    return in_a_process(f"from tests.benchmarks.__main__ import measure_peak; measure_peak({name!r}, {workload!r})")


def measure_peak(name, workload):
    from tests.benchmarks.workloads import WORKLOADS

    step = built(load(name), WORKLOADS[workload])
    for _ in range(5):
        step()
    print(memory("VmHWM"))


def memory(field):
    """Bytes, as Linux counts them for this process. (getrusage also counts what the parent held when it forked.)"""
    with open("/proc/self/status") as file:
        return int(re.search(rf"{field}:\s*(\d+) kB", file.read()).group(1)) * 1024


def readable(seconds):
    return (
        f"{seconds * 1e6:.1f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.2f} ms"
        if seconds < 1
        else f"{seconds:.2f} s"
    )


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return re.search(r"model name\s*:\s*(.*)", file.read()).group(1).strip()
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def measurements(only, seconds):
    """Rows (name, size, minitorch, torch, formatter), as they are measured."""
    from tests.benchmarks.workloads import WORKLOADS

    # minitorch first: torch brings its own OpenMP runtime
    frameworks = [load("minitorch"), load("torch")]
    for workload in WORKLOADS.values():
        if re.search(only, workload.name):
            try:
                ours, theirs = compare(workload, frameworks, seconds)
            except (AttributeError, NotImplementedError) as error:
                print(f"left out: {workload.name}: {error}", file=sys.stderr)
                continue
            yield workload.name, workload.size, ours, theirs, readable
    for label, name in MEMORY.items():
        if re.search(only, f"peak memory {label}"):
            ours, theirs = (peak_bytes(framework, name) for framework in ("minitorch", "torch"))
            yield f"peak memory of a process, {label}", "memory", ours, theirs, lambda b: f"{b / 2**20:.1f} MiB"
    if re.search(only, "import time"):
        yield "import time", "import", import_seconds("minitorch"), import_seconds("torch"), readable


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", metavar="PATTERN", help="workloads whose name this expression matches")
    parser.add_argument("--seconds", type=float, default=4.0, help="measuring time per workload")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    chosen = parser.parse_args()
    template = "| {:40} | {:6} | {:>10} | {:>10} | {:>5} |" if chosen.markdown else "{:40}  {:6}  {:>10}  {:>10}  {:>5}"
    print(f"{datetime.date.today()}, {processor()}, {os.cpu_count()} cores, {THREADS} threads each, float32")
    print(template.format("step", "counts", "minitorch", "torch", "ratio"))
    if chosen.markdown:
        print("|---|---|--:|--:|--:|")
    ratios = {"small": [], "large": []}
    for name, size, ours, theirs, text in measurements(chosen.only, chosen.seconds):
        ratios.setdefault(size, []).append(ours / theirs)
        print(template.format(name, size, text(ours), text(theirs), f"{ours / theirs:.2f}"), flush=True)
    for size in ("small", "large"):
        if ratios[size]:
            mean = geometric_mean(ratios[size])
            print(template.format(f"geometric mean, {size}", f"{len(ratios[size])}", "", "", f"{mean:.2f}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
