"""Generators and seeds (torch/random.py, torch/csrc/Generator.cpp).

A Generator is torch's own: seeded alike, it draws the same numbers, and its state can be exchanged with torch both
ways. There is one kind: what is drawn for a tensor on a GPU is drawn on the CPU and copied, so that a program gives
the same numbers on every device.
"""

import contextlib
import functools
import operator
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import devices
from .kernels.random import Engine
from .tensor import Tensor, wrap

DEFAULT_SEED = 67280421310721


class Generator:
    """A stream of random numbers.  device: "cpu" (or "cuda", for use with tensors there; it draws the same)."""

    def __init__(self, device: Any = "cpu"):
        self.device = devices.device(device)
        devices.namespace(self.device)
        self.lock = threading.Lock()

    # made when it is first used: importing minitorch need not load numpy.random
    engine = functools.cached_property(lambda self: Engine(DEFAULT_SEED))

    def manual_seed(self, seed: int) -> "Generator":
        """Start over from a seed of up to 64 bits; negative ones count from 2^64 down."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self.engine.reseed(seed % (1 << 64))
        return self

    def seed(self) -> int:
        """Start over from a seed that nobody can know, and return it."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.engine.reseed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed the stream was last started from."""
        return self.engine.initial_seed

    def get_state(self) -> Tensor:
        """Where the stream stands: a uint8 tensor of 5056 elements, in torch's own layout."""
        return wrap(self.engine.save())

    def set_state(self, new_state: Tensor) -> "Generator":
        """Go where `get_state` was called.  TypeError or RuntimeError for what is no state."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state._array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.engine.load(devices.transfer(new_state._array, devices.CPU))
        return self

    def clone_state(self) -> "Generator":
        """Another generator that stands at the same place."""
        other = Generator(self.device)
        other.engine.load(self.engine.save())
        return other

    def __reduce__(self):
        return _restore, (str(self.device), self.engine.save().tobytes())

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _restore(device: str, state: bytes) -> Generator:
    generator = Generator(device)
    generator.engine.load(np.frombuffer(state, np.uint8))
    return generator


default_generator = Generator()


def chosen(generator: Generator | None) -> Generator:
    """The generator given, or the default one. TypeError for anything else."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, and return it."""
    return default_generator.manual_seed(operator.index(seed) if not isinstance(seed, (float, str)) else int(seed))


def seed() -> int:
    """Seed the default generator with a seed that nobody can know, and return that."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """`with fork_rng():` the default generator goes on from where it stood when the block is left.

    devices, device_type: accepted as in torch; there is one generator for all devices."""
    state = default_generator.engine.save() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            default_generator.engine.load(state)
