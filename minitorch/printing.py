"""How tensors are printed, to the character as torch prints them (torch/_tensor_str.py).

All numbers of a tensor are printed alike: the numbers themselves decide whether as integers ("2."), with a fixed
number of digits ("2.5000") or in scientific notation, and how wide. Tensors of more than `threshold` elements are
summarised: along each dimension only the first and last `edgeitems` are looked at and shown.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import devices, dtypes
from .tensor import Tensor, method

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
PRINT_OPTS = SimpleNamespace(**_PROFILES["default"], sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is None stays as it is, except `sci_mode`, where None means: as it fits.

    precision: digits after the point; threshold: number of elements above which tensors are summarised;
    edgeitems: elements shown at each end then; linewidth: characters per line;
    profile: "default", "short" or "full", overridden by the other arguments."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    vars(PRINT_OPTS).update(_PROFILES.get(profile or "", {}))
    vars(PRINT_OPTS).update({name: value for name, value in given.items() if value is not None})
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments of `set_printoptions`."""
    return dict(vars(PRINT_OPTS))


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`with printoptions(precision=2):` sets options for a while."""
    old = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**old)


# ---- one number ---------------------------------------------------------------------------------------------------


def _formatter(array: np.ndarray) -> tuple[Callable[[Any], str], int]:
    """How to print an element (a Python number) so that all of `array` line up, and how wide that is."""
    if array.dtype.kind in "biu":
        width = max((len(str(v)) for v in array.ravel().tolist()), default=1)
        return lambda v: f"{v!s:>{width}}", width
    values = array.ravel().astype(np.float64)
    values = values[np.isfinite(values) & (values != 0)]
    integral, scientific = True, False
    if values.size:
        integral = bool((values == np.ceil(values)).all())
        low, high = np.abs(values).min(), np.abs(values).max()
        with np.errstate(over="ignore"):
            scientific = bool(high / low > 1000.0 or high > 1e8 or low < 1e-4)
        if PRINT_OPTS.sci_mode is not None:
            scientific = PRINT_OPTS.sci_mode
    text: Callable[[Any], str]
    if scientific:
        text = f"{{:.{PRINT_OPTS.precision}e}}".format
    elif integral:
        text = _integral
    else:
        text = f"{{:.{PRINT_OPTS.precision}f}}".format
    width = max((len(text(v)) for v in values.tolist()), default=1)
    return lambda v: text(v).rjust(width), width


def _integral(value: float) -> str:
    """A float that is an integer, with a point to say that it is a float."""
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


# ---- all of them --------------------------------------------------------------------------------------------------


def _edges(array: np.ndarray) -> np.ndarray:
    """What a summary shows: the first and last items along each dimension."""
    n = PRINT_OPTS.edgeitems
    for dim, size in enumerate(array.shape):
        if size > 2 * n:
            array = np.take(array, [*range(n), *range(size - n, size)], dim)
    return array


def _lines(array: np.ndarray, indent: int, summary: bool, text: Callable[[Any], str], width: int) -> str:
    """The bracketed text of an array whose opening bracket stands at column `indent`."""
    n = PRINT_OPTS.edgeitems
    if array.ndim == 0:
        return text(array.item() if array.dtype.kind != "V" else float(array))
    cut = summary and len(array) > 2 * n
    if array.ndim == 1:
        if summary and not n:
            items = ["..."]
        else:
            shown = array if array.dtype.kind != "V" else array.astype(np.float32)
            head, tail = (shown[:n], shown[-n:]) if cut else (shown, shown[:0])
            items = [*map(text, head.tolist()), *([" ..."] if cut else []), *map(text, tail.tolist())]
        per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (width + 2)))
        rows = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    rest = (indent + 1, summary, text, width)
    head, tail = (array[:n], array[len(array) - n :]) if cut else (array, array[:0])
    parts = [*(_lines(a, *rest) for a in head), *(["..."] if cut else []), *(_lines(a, *rest) for a in tail)]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(array: np.ndarray, indent: int) -> str:
    if array.size == 0:
        return "[]"
    summary = array.size > PRINT_OPTS.threshold
    text, width = _formatter(_edges(array) if summary else array)
    return _lines(array, indent, summary, text, width)


# ---- and what else there is to say --------------------------------------------------------------------------------


def _suffixes(t: Tensor) -> list[str]:
    suffixes = []
    if not t.is_cpu:
        suffixes.append(f"device='{t.device}'")
    empty = t._array.size == 0
    if (empty and t.ndim != 1) or (not empty and not PRINT_OPTS.edgeitems):
        suffixes.append(f"size={tuple(t.shape)}")
    # the dtype can be seen from the numbers where there are any
    implied = (dtypes.get_default_dtype(),) if empty else (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_)
    if t.dtype not in implied:
        suffixes.append(f"dtype={t.dtype}")
    try:
        node = t.grad_fn
    except RuntimeError:  # a view whose history can no longer be told
        suffixes.append("grad_fn=<Invalid>")
    else:
        if node is not None:
            suffixes.append(f"grad_fn=<{node.name().rsplit('::', 1)[-1]}>")
        elif t.requires_grad:
            suffixes.append("requires_grad=True")
    return suffixes


def tensor_str(t: Tensor, *, tensor_contents: str | None = None) -> str:
    """The `repr` of a tensor.  tensor_contents: what to print in place of its numbers."""
    # this room lies below nn, so it knows a Parameter by its name, or by the mark on a subclass's instance
    plain = type(t) is Tensor or type(t).__name__ == "Parameter"
    parameter = "_is_param" in t.__dict__ or any(c.__name__ == "Parameter" for c in type(t).__mro__)
    prefix = "tensor(" if plain else f"{type(t).__name__}("
    indent = len(prefix)
    if tensor_contents is None:
        tensor_contents = _contents(devices.transfer(t._array, devices.CPU), indent)
    text = prefix + tensor_contents
    column = len(text) - text.rfind("\n") + 1
    for suffix in _suffixes(t):
        if column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    text += ")"
    return f"Parameter({text})" if parameter and not plain else text


@method()
def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return tensor_str(self, tensor_contents=tensor_contents)


@method()
def __format__(self: Tensor, spec: str) -> str:
    if self._array.ndim == 0 and type(self) is Tensor:
        return self.detach().item().__format__(spec)
    return object.__format__(self, spec)
