"""Hooks on saved tensors (torch/autograd/graph.py): what nodes keep can be packed when saved, unpacked when used."""

import threading
from collections.abc import Callable
from typing import Any

from .grad_mode import door, thread


def hooks_of_thread() -> Any:
    """The innermost (pack, unpack) pair of this thread, or None. RuntimeError where hooks are disabled."""
    stack = getattr(thread, "saved_hooks", ())
    return stack[-1] if stack else None


class saved_tensors_hooks:
    """Context manager: `pack_hook(tensor)` replaces what is saved for backward, `unpack_hook(packed)` gives it back."""

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        message = getattr(thread, "saved_hooks_disabled", None)
        if message is not None:
            raise RuntimeError(message)
        thread.saved_hooks = (*getattr(thread, "saved_hooks", ()), (self.pack_hook, self.unpack_hook))
        door.count(+1)

    def __exit__(self, *exc: Any) -> None:
        thread.saved_hooks = thread.saved_hooks[:-1]
        door.count(-1)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory, and bring them back to their device for the backward pass."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """Context manager (and decorator): entering `saved_tensors_hooks` inside raises RuntimeError with this message."""

    def __init__(self, error_message: str):
        self.message = error_message

    def __enter__(self) -> None:
        if getattr(thread, "saved_hooks", ()):
            raise RuntimeError(self.message)
        self._before = getattr(thread, "saved_hooks_disabled", None)
        thread.saved_hooks_disabled = self.message

    def __exit__(self, *exc: Any) -> None:
        thread.saved_hooks_disabled = self._before

    def __call__(self, function: Callable) -> Callable:
        import functools

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.message):
                return function(*args, **kwargs)

        return wrapper


class allow_mutation_on_saved_tensors:
    """Context manager: what is saved inside may be overwritten; the backward pass, inside too, sees the old values.

    A copy is made of all that is saved (torch makes one when it is overwritten). As a context it gives an object whose
    `clear()` forgets the copies."""

    _active = threading.local()

    def __enter__(self) -> "allow_mutation_on_saved_tensors":
        if getattr(self._active, "here", False):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._copies: dict = {}
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()
        self._active.here = True
        return self

    def _pack(self, tensor: Any) -> object:
        key = object()
        self._copies[key] = tensor.clone()
        return key

    def _unpack(self, key: object) -> Any:
        if key not in self._copies:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context "
                "in which the graph was originally recorded."
            )
        return self._copies[key]

    def clear(self) -> None:
        self._copies.clear()

    def __exit__(self, *exc: Any) -> None:
        self.clear()
        self._active.here = False
        self._hooks.__exit__(*exc)


def increment_version(tensor: Any) -> None:
    """Tell autograd that the memory of a tensor (or of several) was changed by other means."""
    for t in (tensor,) if hasattr(tensor, "_bump") else tensor:
        t._bump()
