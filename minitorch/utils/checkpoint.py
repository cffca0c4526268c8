"""Trading computation for memory (torch/utils/checkpoint.py): run a piece of the forward pass again in the backward.

`checkpoint(f, *args)` does not keep what f would save: it keeps the arguments, and the state of the random streams, and
computes f once more when the backward pass needs it.
"""

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd.function import Function
from ..autograd.grad_mode import door, enable_grad
from ..autograd.graph import overwritten
from ..autograd.saved import saved_tensors_hooks
from ..autograd.variable import backward_all
from ..dispatch import thread
from ..random import get_rng_state, set_rng_state
from ..tensor import Tensor

DefaultDeviceType = None


class CheckpointError(RuntimeError):
    """The recomputation did not save what the first run saved."""


@contextlib.contextmanager
def _as_in_forward(rng: Any, modes: tuple):
    """The random state and the dispatch modes (autocast) of the forward pass."""
    now_rng: Any = get_rng_state() if rng is not None else None
    now_modes = thread.modes
    if rng is not None:
        set_rng_state(rng)
    thread.modes = modes
    door.count(+1)  # the region itself may have ended
    try:
        yield
    finally:
        door.count(-1)
        thread.modes = now_modes
        if rng is not None:
            set_rng_state(now_rng)


def detach_variable(inputs: tuple) -> tuple:
    """The same tensors cut from the graph, requiring grad where they did."""
    return tuple([t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs])


class CheckpointFunction(Function):
    """The backward pass starts a backward pass of its own on the recomputed piece."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserve: bool, *args: Any) -> Any:
        ctx.run = function
        ctx.rng = get_rng_state() if preserve else None
        ctx.modes = thread.modes
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if ctx.restricted:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        given = list(ctx.args)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            given[i] = t
        args = detach_variable(tuple(given))
        with _as_in_forward(ctx.rng, ctx.modes), enable_grad():
            outputs = ctx.run(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        live = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward_all([o for o, _ in live], [g for _, g in live])
        return (None, None, *[a._grad if isinstance(a, Tensor) else None for a in args])


class _Enough(Exception):
    """All that was saved has been recomputed: the rest of the call need not run."""


class _Recomputation:
    """What one checkpointed call saved: counted when packed, filled in by running the call again."""

    def __init__(self, call: Callable, inputs: list, compare: bool):
        self.call, self.compare = call, compare
        self.inputs = [(t, t._version) for t in inputs if not t._inference]
        self.early_stop = _early_stop
        self.shapes: list = []
        self.tensors: list | None = None
        self.used = 0

    def pack(self, tensor: Tensor) -> int:
        self.shapes.append((tensor.shape, tensor.dtype))
        return len(self.shapes) - 1

    def unpack(self, index: int) -> Tensor:
        if self.tensors is None:
            self.tensors = self._run_again()
            self.used = 0
        tensor = self.tensors[index]
        self.used += 1
        if self.used == len(self.shapes):  # all came back: the recomputed values need not stay
            self.tensors = None
        return tensor

    def _run_again(self) -> list:
        for t, version in self.inputs:
            if t._version != version:
                overwritten(t._array, t._counter, version, t._edge)
        saved: list = []

        def pack(tensor: Tensor) -> int:
            saved.append(tensor.detach())
            if self.early_stop and len(saved) == len(self.shapes):
                raise _Enough
            return len(saved) - 1

        with contextlib.suppress(_Enough):
            self.call(saved_tensors_hooks(pack, saved.__getitem__))
        if len(saved) != len(self.shapes):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.shapes)}\nNumber of tensors "
                f"saved during recomputation: {len(saved)}."
            )
        for i, (t, (shape, dtype)) in enumerate(zip(saved, self.shapes, strict=True)):
            if self.compare and (t.shape != shape or t.dtype is not dtype):
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                    f"than during the forward pass.\ntensor at position {i}:\nsaved metadata: shape {shape}, "
                    f"{dtype}\nrecomputed metadata: shape {t.shape}, {t.dtype}"
                )
        return saved


_early_stop = True


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """Whether calls checkpointed inside stop recomputing as soon as all that was saved is there (the default)."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """Accepted as torch does; nothing is logged here."""
    yield


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), recomputed in the backward pass instead of keeping its intermediate tensors.

    use_reentrant False (advised): the saved tensors are recomputed when asked for. True: a backward pass within the
    backward pass; then keyword arguments are refused and an input must require grad."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not None or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if thread.grad and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not thread.grad:
        return function(*args, **kwargs)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    rng = get_rng_state() if preserve_rng_state else None
    modes = thread.modes
    first, again = context_fn() if context_fn is not None else noop_context_fn()

    def run_again(keep: saved_tensors_hooks) -> None:
        with _as_in_forward(rng, modes), enable_grad(), keep, again:
            function(*args, **kwargs)

    inputs = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    record = _Recomputation(run_again, inputs, determinism_check == "default")
    with saved_tensors_hooks(record.pack, record.unpack), first:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run modules one after another, in `segments` pieces of which all but the last are checkpointed."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, "
            "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    modules = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def piece(start: int, end: int) -> Callable:
        def forward(x: Any) -> Any:
            for m in modules[start : end + 1]:
                x = m(x)
            return x

        return forward

    size = len(modules) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(piece(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return piece(end + 1, len(modules) - 1)(input)


def noop_context_fn() -> tuple:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()
