"""One hook for the gradients of several tensors (torch.autograd.graph.register_multi_grad_hook)."""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor
from .grad_mode import thread
from .graph import gradient_edge


class MultiHandle:
    """Removes a hook that stands on several tensors."""

    def __init__(self, handles: tuple):
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> "MultiHandle":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> MultiHandle:
    """Call a hook once per backward pass.

    mode "all": `fn(grads)` when the gradients of all `tensors` that the pass reaches are known, None for the others;
    "any": `fn(grad)` with the first of them. Returns a handle with `remove()`."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    if mode == "any":
        met: set = set()  # the passes in which fn has been called

        @functools.wraps(fn)
        def first(grad: Any) -> None:
            number = thread.walk[0]
            with lock:
                before = number in met
                met.add(number)
            if not before:
                fn(grad)

        return MultiHandle(tuple([t.register_hook(first) for t in tensors if t.requires_grad]))

    if not all(t.requires_grad for t in tensors):
        raise AssertionError("Expected gradient function to be set")
    nodes = [gradient_edge(t)[0] for t in tensors]
    waiting: dict = {}  # {pass: [number of gradients to come, gradients]}

    def arrived(position: int, grad: Any) -> None:
        number, met, needed = thread.walk
        with lock:
            if number not in waiting:
                reached = [node in met and (needed is None or bool(needed[node])) for node in nodes]
                waiting[number] = [sum(reached), [None] * len(nodes)]
            state = waiting[number]
            state[0] -= 1
            state[1][position] = grad
        if state[0] == 0:
            del waiting[number]
            fn(state[1])

    return MultiHandle(tuple([t.register_hook(functools.partial(arrived, i)) for i, t in enumerate(tensors)]))
