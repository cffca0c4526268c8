"""The step of an optimizer beside torch's: ``python -m tests.benchmarks.optim [--markdown]`` (needs torch).

Each is timed in this one process, in turns, both at two threads; the time reported is the best of all turns. torch is
timed with its default and with `foreach=True`; the ratio is minitorch over the better of the two, but with 500 tiny
parameters, where the promise is against the default, over that.
"""

import argparse
import os
import time

THREADS = 2
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, str(THREADS))  # before the first import of either framework

import numpy as np  # noqa: E402

OPTIMIZERS = [
    ("Adam", {}), ("AdamW", {}), ("SGD", {"momentum": 0.9}), ("SGD", {}), ("Adam", {"amsgrad": True}), ("RMSprop", {}),
    ("Adagrad", {}),
]
SIZES = {
    "10M in 60": [(10_000_000 // 60,)] * 60,
    "10M in 1": [(2500, 4000)],
    "500 of 16": [(4, 4)] * 500,
    "MLP 64-32-32-10": [(32, 64), (32,), (32, 32), (32,), (10, 32), (10,)],
    "MLP 784-128-128-10": [(128, 784), (128,), (128, 128), (128,), (10, 128), (10,)],
}


def optimizers(name, options, shapes):
    """{label: a function that steps}: minitorch, torch, torch with foreach."""
    import torch

    import minitorch

    torch.set_num_threads(THREADS)
    minitorch.set_num_threads(THREADS)
    random = np.random.default_rng(0)
    start = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    gradients = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    steps = {}
    for label, framework, flags in [
        ("minitorch", minitorch, {}), ("torch", torch, {}), ("foreach", torch, {"foreach": True}),
    ]:
        parameters = [framework.tensor(value, requires_grad=True) for value in start]
        for p, gradient in zip(parameters, gradients, strict=True):
            p.grad = framework.tensor(gradient)
        steps[label] = getattr(framework.optim, name)(parameters, lr=1e-6, **options, **flags).step
    return steps


def measure(steps, seconds):
    """The best time of each, in turns of about 10 ms, after two steps to warm up."""
    repeats = {}
    for label, step in steps.items():
        step()
        begin = time.perf_counter()
        step()
        repeats[label] = max(1, int(0.01 / (time.perf_counter() - begin)))
    best = dict.fromkeys(steps, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for label, step in steps.items():
            begin = time.perf_counter()
            for _ in range(repeats[label]):
                step()
            best[label] = min(best[label], (time.perf_counter() - begin) / repeats[label])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--only", default="", help="only rows whose text contains this")
    parser.add_argument("--seconds", type=float, default=1.5, help="per row")
    args = parser.parse_args()
    line = "| {:<20} | {:<24} | {:>10} | {:>10} | {:>10} | {:>5} |"
    if not args.markdown:
        line = line.replace("| ", "").removesuffix(" |")
    print(line.format("parameters", "optimizer", "minitorch", "torch", "foreach", "ratio"))
    if args.markdown:
        print("|---|---|--:|--:|--:|--:|")
    for size, shapes in SIZES.items():
        for name, options in OPTIMIZERS:
            label = f"{name} {' '.join(f'{key}={value}' for key, value in options.items())}".strip()
            if args.only not in f"{size} {label}":
                continue
            best = measure(optimizers(name, options, shapes), args.seconds)
            rival = best["torch"] if size.startswith("500") else min(best["torch"], best["foreach"])
            times = [f"{best[key] * 1e3:.3f} ms" for key in ("minitorch", "torch", "foreach")]
            print(line.format(size, label, *times, f"{best['minitorch'] / rival:.2f}"), flush=True)


if __name__ == "__main__":
    main()
