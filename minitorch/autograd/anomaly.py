"""Anomaly detection (torch/autograd/anomaly_mode.py, torch/csrc/autograd/anomaly_mode.cpp).

While it is on, every node remembers where its forward call stood; when its backward fails or gives NaN, that place is
shown."""

import traceback
import warnings
from typing import Any

import numpy as np

from .grad_mode import door

enabled = False
nan_checked = True


def _switch(mode: bool, nan: bool) -> tuple:
    """Set both flags, and return what they were. While on, dispatch leaves its short ways."""
    global enabled, nan_checked
    before = (enabled, nan_checked)
    door.count(int(mode) - int(enabled))
    enabled, nan_checked = mode, nan
    return before


def remember(node: Any) -> None:
    node.traceback = traceback.format_stack()[:-3]


def explain(node: Any) -> None:
    if node.traceback is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly "
            "during forward pass for more information.",
            UserWarning,
            stacklevel=4,
        )
        return
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
        + "".join(node.traceback),
        UserWarning,
        stacklevel=4,
    )


def check_nan(node: Any, grads: Any) -> None:
    if not nan_checked:
        return
    for i, g in enumerate(grads):
        array = getattr(g, "_array", g)
        if array is not None and array.dtype.kind in "fV" and bool(np.isnan(array).any()):
            explain(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


class set_detect_anomaly:
    """Switch anomaly detection at once, and back at the end of a `with` block."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = _switch(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        _switch(*self._before)


class detect_anomaly:
    """Context manager: find the forward call whose backward failed or gave NaN."""

    def __init__(self, check_nan: bool = True):
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = _switch(True, self._check_nan)

    def __exit__(self, *exc: Any) -> None:
        _switch(*self._before)


def is_anomaly_enabled() -> bool:
    return enabled
