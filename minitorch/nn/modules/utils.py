"""Arguments given once or per dimension (torch/nn/modules/utils.py)."""

from collections.abc import Iterable


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """(a, b) as (b, b, a, a) for n = 2: sizes per dimension as `F.pad` wants them."""
    return tuple(x for x in reversed(t) for _ in range(n))
