"""Operations with a derivative of the user's own (torch/autograd/function.py, torch/csrc/autograd/python_function.cpp).

The context that `forward` and `backward` share *is* the node of the graph: saved tensors, `needs_input_grad` and any
attribute the user sets live on it.
"""

import functools
import warnings
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from . import anomaly
from .grad_mode import thread
from .graph import FREED_MESSAGE, NO_EDGE, Node, Packed, SavedResult, gradient_edge, overwritten, sequence
from .saved import hooks_of_thread
from .views import CUSTOM, check_inplace, link, rebase, refresh

new = object.__new__


class FunctionCtx(Node):
    """What `forward` leaves for `backward`; the node of the call."""

    function: Any
    needs_input_grad: tuple = ()
    materialize_grads = True
    _to_save: tuple = ()
    _dirty: tuple = ()
    _non_differentiable: tuple = ()
    _saved_versions: Any = ()
    _tensor_positions: tuple = ()
    _argument_count = 0
    _freed = False
    restricted = False  # is the pass that runs `backward` one for certain inputs only?

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, where `ctx.saved_tensors` gives them back."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}"
                )
        self._to_save = tensors

    save_for_forward = save_for_backward

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` changed in place (and returns)."""
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise RuntimeError(f"mark_dirty can only accept variables, but argument {i} is of type {type(t).__name__}")
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        for t in tensors:
            if not isinstance(t, Tensor):
                raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got {type(t).__name__}")
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for outputs that no gradient reached."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got "
                f"({type(value).__name__}), but expected (bool)"
            )
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple:
        if self._freed:
            raise RuntimeError(FREED_MESSAGE)
        if self.saved is None or not self.next_functions:
            return self._to_save if self.saved == () else ()
        tensors = []
        for value, version in zip(self.saved, self._saved_versions, strict=True):
            if type(value) is Packed:
                value = value.unpack(self)
            elif type(value) is SavedResult:
                self._check(value.array, value.counter, version, value.output_nr)
                value = _rewrap(self, value)
            elif value is not None:
                self._check(value._array, value._counter, version)
            tensors.append(value)
        return tuple(tensors)

    @property
    def saved_variables(self) -> tuple:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def to_save(self) -> tuple:
        return self._to_save

    def _check(self, array: Any, counter: Any, version: int, output_nr: int | None = None) -> None:
        if counter is not None and counter.value != version:
            overwritten(array, counter, version, None if output_nr is None else (self, output_nr))

    def apply(self, grads: list, differentiable: bool, wanted: Any = None) -> list:  # type: ignore[override]
        if self._freed and self._to_save_count:
            raise RuntimeError(FREED_MESSAGE)
        self.restricted = wanted is not None
        given = []
        for grad, (shape, dtype) in zip(grads, self.outputs, strict=True):
            if grad is None and self.materialize_grads and dtype is not None:
                grad = np.zeros(shape, dtype)
                given.append(wrap(grad))
            else:
                given.append(grad if differentiable or grad is None else wrap(grad))
        results = self.function._backward()(self, *given)
        results = results if isinstance(results, tuple) else (results,)
        count = self._argument_count
        results_list = list(results)
        while len(results_list) > count and results_list[-1] is None:
            results_list.pop()
        if len(results_list) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)})"
            )
        gradients = []
        for position, result in enumerate(results_list):
            if position in self._tensor_positions:
                if result is not None and not isinstance(result, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
                gradients.append(result if differentiable or result is None else result._array)
            elif result is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {position + 1}, but "
                    "the corresponding forward input was not a Variable"
                )
        return gradients

    @property
    def _to_save_count(self) -> int:
        return len(self._saved_versions)

    def release(self) -> None:
        self.saved = None
        self._to_save = ()
        self._freed = True


def _rewrap(node: FunctionCtx, saved: SavedResult) -> Tensor:
    tensor = wrap(saved.array)
    tensor._counter = saved.counter
    if saved.output_nr not in node._constant_outputs:  # type: ignore[attr-defined]
        tensor._edge = (node, saved.output_nr)
        tensor._requires_grad = True
    return tensor


class _FunctionType(type):
    """Gives each Function the class of its nodes: `MulAddBackward` for a class MulAdd."""

    def __init__(cls, name: str, bases: tuple, namespace: dict):
        super().__init__(name, bases, namespace)
        cls._node_class = type(name + "Backward", (FunctionCtx,), {"function": cls, "__module__": cls.__module__})


class Function(metaclass=_FunctionType):
    """An operation with `forward` and `backward` static methods, called through `apply`.

    Either `forward(ctx, *args)`, or `forward(*args)` together with `setup_context(ctx, inputs, output)`.
    `backward(ctx, *grad_outputs)` returns one gradient (or None) per argument of `forward`. Its operations are recorded
    when a graph of the backward is asked for, so that it can be differentiated again.
    """

    _node_class: Any
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version of "
            "PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward  # another name, of which a Function defines one

    @classmethod
    def _backward(cls) -> Any:
        if cls.backward is Function.backward:
            return cls.vjp
        if cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
                "one of them."
            )
        return cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        node: Any = new(cls._node_class)
        positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        inputs = [args[i] for i in positions]
        for t in inputs:
            if t._base is not None:
                refresh(t)
        recorded = thread.grad and any(t._requires_grad for t in inputs)
        node.needs_input_grad = tuple([isinstance(a, Tensor) and a._requires_grad for a in args])
        node._argument_count = len(args)
        node._tensor_positions = tuple(positions)
        separate = cls.setup_context is not Function.setup_context
        before = thread.grad
        thread.grad = False
        try:
            if separate:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args, **kwargs)
        finally:
            thread.grad = before
        several = isinstance(output, tuple)
        outputs = list(output) if several else [output]
        if recorded:
            node.next_functions = tuple([gradient_edge(t) for t in inputs])
            node.sequence = sequence()
            if anomaly.enabled:
                anomaly.remember(node)
        _finish(node, inputs, outputs, recorded)
        return tuple(outputs) if several else outputs[0]


def _finish(node: FunctionCtx, inputs: list, outputs: list, recorded: bool) -> None:
    """Connect the outputs to the node, and save what `save_for_backward` named."""
    dirty = node._dirty
    for t in dirty:
        t._bump()
        if not any(t is o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
    node._constant_outputs = set()  # type: ignore[attr-defined]
    metadata = []
    for number, o in enumerate(outputs):
        if not isinstance(o, Tensor):
            metadata.append(((), None))
            node._constant_outputs.add(number)  # type: ignore[attr-defined]
            continue
        array = o._array
        metadata.append((array.shape, array.dtype))
        constant = any(o is t for t in node._non_differentiable) or array.dtype.kind not in "fV"
        if constant:
            node._constant_outputs.add(number)  # type: ignore[attr-defined]
        is_input = any(o is t for t in inputs)
        if any(o is t for t in dirty):
            if recorded:
                check_inplace(o)
                rebase_custom(o, node, number)
            elif o._requires_grad:
                outputs[number] = o.detach()
            continue
        if is_input:  # returned as it is: an alias stands for it
            alias = wrap(array)
            if recorded and not constant:
                link(alias, o, CUSTOM)
            outputs[number] = o = alias
        if recorded and not constant:
            if o._base is not None:
                o._view_kind = CUSTOM
                o._view_version = o._counter.value
            o._edge = (node, number)
            o._requires_grad = True
        elif constant and not is_input:
            o._requires_grad = False
            o._edge = None
    node.outputs = tuple(metadata)
    if not recorded:
        return
    hooks = hooks_of_thread()
    saved: list = []
    versions: list = []
    for t in node._to_save:
        output_nr = next((n for n, o in enumerate(outputs) if o is t), None) if t is not None else None
        if t is None:
            saved.append(None)
            versions.append(0)
        elif hooks is not None:
            saved.append(Packed(t, hooks, output_nr))
            versions.append(0)
        elif output_nr is not None:  # an output (which a dirty input is, too)
            kept = SavedResult(t, output_nr)
            saved.append(kept)
            versions.append(kept.counter.value)
        else:
            saved.append(t)
            versions.append(0 if t._counter is None else t._counter.value)
    node.saved = saved
    node._saved_versions = versions
    node._to_save = ()
    node._dirty = ()  # an output, which knows the node: together they would be a cycle


def rebase_custom(tensor: Tensor, node: FunctionCtx, number: int) -> None:
    """The in-place case of a custom function: as an operator's, at any output number."""
    if tensor._base is None:
        rebase(tensor, node)
        tensor._edge = (node, number)
    else:
        if number or len(node.next_functions) < 1:
            raise RuntimeError(
                "If your Function modifies views of base tensors in-place, the view must be its first and only output"
            )
        rebase(tensor, node)


def once_differentiable(backward: Any) -> Any:
    """Decorator of a `backward` that must not be differentiated again: asking for that raises."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        before = thread.grad
        thread.grad = False
        try:
            results = backward(ctx, *grads)
        finally:
            thread.grad = before
        if not before or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return results
        several = isinstance(results, tuple)
        marked = []
        for r in results if several else (results,):
            if isinstance(r, Tensor):
                r = wrap(r._array)
                refusal = new(_Refusal)
                refusal.outputs = ((r._array.shape, r._array.dtype),)
                refusal.sequence = sequence()
                refusal.next_functions = tuple([gradient_edge(g) for g in grads if isinstance(g, Tensor)])
                r._edge, r._requires_grad = (refusal, 0), True
            marked.append(r)
        return tuple(marked) if several else marked[0]

    return wrapper


class _Refusal(Node):
    """The node of a gradient that must not be differentiated."""

    def name(self) -> str:
        return "DelayedError"

    def apply(self, grads: list, differentiable: bool, wanted: Any = None) -> list:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


__all__ = ["Function", "FunctionCtx", "once_differentiable", "NO_EDGE"]
