"""Hooks on saved tensors (torch/autograd/graph.py): what nodes keep can be packed when saved, unpacked when used."""

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


def increment_version(tensor: Any) -> None:
    """Tell autograd that the memory of a tensor (or of several) was changed by other means."""
    for t in (tensor,) if hasattr(tensor, "_bump") else tensor:
        t._bump()
