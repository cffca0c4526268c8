"""kernels/half.py: every float16 and bfloat16 there is, and float32s at and around the ties between them."""

import numpy as np
import pytest
from minitorch.kernels import half as H


def same_bits(a, b):
    """Equal bit by bit, but for nan, of which any will do."""
    a, b = (x.view(f"u{x.itemsize}") for x in (a, b))
    return a == b


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", H.HALVES, ids=str)
@pytest.mark.parametrize("repeat", [1, 3])  # below and above the size from which loops are compiled
def test_widen(dtype, repeat):
    every = np.tile(np.arange(65536, dtype=np.uint16)[: 65536 if repeat == 3 else 65535], repeat).view(dtype)
    expected = every.astype(np.float32)
    got = H.widen(every)
    assert got.dtype == np.float32
    assert (same_bits(got, expected) | (np.isnan(got) & np.isnan(expected))).all()


@pytest.mark.parametrize("dtype", H.HALVES, ids=str)
def test_narrow(dtype):
    every = np.arange(65536, dtype=np.uint16).view(dtype).astype(np.float32).view(np.uint32)
    steps = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001], np.uint32)
    around = (every[:, None] + steps).ravel().view(np.float32)
    tiny = around * np.float32(2.0**-12)
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 19, dtype=np.uint32).view(np.float32)
    for x in (around, tiny, bits):
        got, expected = H.narrow(x, dtype), x.astype(dtype)
        assert got.dtype == dtype
        nan = np.isnan(got.astype(np.float32)) & np.isnan(expected.astype(np.float32))
        assert (same_bits(got, expected) | nan).all()


def test_in_float32_rounds_what_comes_out_and_nothing_else():
    @H.in_float32(keep=(1,))
    def kernel(x, y, flag=True):
        assert x.dtype == y.dtype == np.float32
        return x + y, x.sum(), None

    x = np.ones(3, np.float16)
    total, kept, nothing = kernel(x, y=x)
    assert total.dtype == np.float16 and kept.dtype == np.float32 and nothing is None
    assert H.in_float32(lambda x: x)(wide := np.ones(3)) is wide
