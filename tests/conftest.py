"""torch is the oracle of these tests: one thread each, and the same seed before every test."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch: the tests are run side by side instead

import pytest

import minitorch

try:
    import torch
except ModuleNotFoundError:
    torch = None
else:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded():
    minitorch.manual_seed(0)
    if torch is not None:
        torch.manual_seed(0)
