"""Anomaly detection (torch/autograd/anomaly_mode.py, torch/csrc/autograd/anomaly_mode.cpp).

While it is on, every node remembers where its forward call stood; when its backward fails or gives NaN, that place is
shown, and where the node belongs to a graph of a backward pass, the node whose backward made it."""

import os
import traceback
import warnings
from typing import Any

import numpy as np

from .grad_mode import door, thread

enabled = False
nan_checked = True
# where calls are recorded: these frames say nothing to the reader of a traceback
_HERE = os.path.dirname(__file__)
_MACHINERY = (_HERE, "<minitorch", *[os.path.join(os.path.dirname(_HERE), p) for p in ("dispatch.py", "codegen.py", "ops")])


def _switch(mode: bool, nan: bool) -> tuple:
    """Set both flags, and return what they were. While on, dispatch leaves its short ways."""
    global enabled, nan_checked
    if not isinstance(mode, bool):
        raise TypeError(
            f"set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
        )
    before = (enabled, nan_checked)
    door.count(int(mode) - int(enabled))
    enabled, nan_checked = mode, nan
    return before


def remember(node: Any) -> None:
    """Note in a new node's metadata where the program stands, and which node's backward is being run."""
    stack = traceback.extract_stack()
    while len(stack) > 1 and stack[-1].filename.startswith(_MACHINERY):
        stack.pop()
    node.metadata["traceback_"] = stack.format()
    if thread.running is not None:
        node.metadata["parent_"] = thread.running


def explain(node: Any) -> None:
    """Warn of a failing node: where it was made, and what made it."""
    found = node.metadata.get("traceback_")
    if found is None:
        _warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly "
            "during forward pass for more information."
        )
        return
    _warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(found)}")
    while (parent := node.metadata.get("parent_")) is not None:
        found = parent.metadata.get("traceback_")
        if found is None:
            _warn(
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass information available. Enable "
                "detect anomaly during forward pass for more information."
            )
            return
        _warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{''.join(found)}"
        )
        node = parent


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


def hint() -> str:
    """What the message about an overwritten tensor advises."""
    if enabled:
        return (
            "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!"
        )
    return (
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
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
    """Whether anomaly detection is on."""
    return enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, looks for NaN."""
    return nan_checked
