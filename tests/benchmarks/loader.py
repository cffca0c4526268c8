"""Loader throughput beside torch's: samples per second of whole epochs, the two interleaved, the best of each.

    python tests/benchmarks/loader.py [--repeats 5] [--batch-size 64] [--samples 50000]

50,000 x 784 float32 in memory as a TensorDataset; the same sample by sample, as tensors and as NumPy arrays (no short
cut); and a dataset whose samples cost 1 ms each (waiting, as for a disk). With 0 and with 2 workers, starting and
ending them included.
"""

import argparse
import time

import numpy as np
import torch
import torch.utils.data

import minitorch
import minitorch.utils.data

SIDES = {"minitorch": minitorch, "torch": torch}


def tensors(t, x, y):
    return t.utils.data.TensorDataset(t.from_numpy(x), t.from_numpy(y))


class OneByOne:
    def __init__(self, t, x, y):
        self.x, self.y = t.from_numpy(x), y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], int(self.y[i])


class Arrays(OneByOne):
    def __init__(self, t, x, y):
        self.x, self.y = x, y


class Waiting(Arrays):
    def __len__(self):
        return 2000

    def __getitem__(self, i):
        time.sleep(1e-3)
        return super().__getitem__(i)


def rate(t, dataset, workers, batch_size):
    """Samples per second over one epoch."""
    loader = t.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=workers)
    start = time.perf_counter()
    count = sum(len(batch[1]) for batch in loader)
    return count / (time.perf_counter() - start)


def measure(repeats=5, batch_size=64, samples=50_000):
    """Rows (dataset, workers, minitorch's samples/s, torch's, ratio)."""
    rng = np.random.default_rng(0)
    x, y = rng.random((samples, 784), np.float32), rng.integers(10, size=samples)
    rows = []
    kinds = {"TensorDataset": tensors, "tensors one by one": OneByOne, "arrays one by one": Arrays, "1 ms": Waiting}
    for name, make in kinds.items():
        datasets = {side: make(t, x, y) for side, t in SIDES.items()}
        for workers in (0, 2):
            best = dict.fromkeys(SIDES, 0.0)
            for _ in range(repeats):
                for side, t in SIDES.items():
                    best[side] = max(best[side], rate(t, datasets[side], workers, batch_size))
            rows.append((name, workers, best["minitorch"], best["torch"], best["minitorch"] / best["torch"]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option, value in (("--repeats", 5), ("--batch-size", 64), ("--samples", 50_000)):
        parser.add_argument(option, type=int, default=value)
    rows = measure(**vars(parser.parse_args()))
    print("| dataset | workers | minitorch samples/s | torch samples/s | ratio |\n|---|---:|---:|---:|---:|")
    for name, workers, ours, theirs, ratio in rows:
        print(f"| {name} | {workers} | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
