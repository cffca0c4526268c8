"""Hooks on saved tensors (torch/autograd/graph.py: saved_tensors_hooks, save_on_cpu, disable_saved_tensors_hooks)."""

from typing import Any

from .grad_mode import thread


def hooks_of_thread() -> Any:
    """The innermost (pack, unpack) pair of this thread, or None."""
    stack = getattr(thread, "saved_hooks", ())
    return stack[-1] if stack else None
