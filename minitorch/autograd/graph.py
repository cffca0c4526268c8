"""The graph that the backward pass walks (torch/csrc/autograd/{function.h,saved_variable.h,functions/accumulate_grad.h}).

Every recorded call of an operator leaves a `Node`. Its `next_functions` are the edges to the nodes that made its
inputs: pairs `(node, output number)`, and `NO_EDGE` where an input needs no gradient. Each path ends in an
`AccumulateGrad`, which adds to the `.grad` of a leaf. A node keeps what its formulas need, with the version of the
memory it was saved at, and lets go of it when the backward pass has used it.
"""

import itertools
import re
import sys
import warnings
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..tensor import Tensor, VersionCounter, strides_of, wrap
from ..utils.hooks import RemovableHandle
from . import anomaly
from .grad_mode import thread

sequence = itertools.count().__next__
_new = object.__new__
NO_EDGE = (None, 0)


class Node:
    """One recorded operation. Subclasses are named as torch names them: MulBackward0, AddmmBackward0, ..."""

    next_functions: tuple = ()
    outputs: tuple = ()  # (shape, NumPy dtype) of each output: what a gradient that arrives here must look like
    sequence = 0  # creation order; the engine runs the latest node first
    saved: Any = ()
    versions: Any = None
    tensor_hooks: Any = None  # {output number: {id: hook}}, run on the incoming gradient
    retained: Any = None  # {output number: weak reference to a tensor that wants its gradient kept}
    pre_hooks: Any = None
    post_hooks: Any = None
    _metadata: Any = None

    def name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def metadata(self) -> dict:
        """A dictionary for notes: the user's own, and those of anomaly detection."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def _sequence_nr(self) -> int:
        return self.sequence

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node has run; it may return new grad_inputs."""
        if self.post_hooks is None:
            self.post_hooks = OrderedDict()
        return add_hook(self.post_hooks, hook)

    def register_prehook(self, hook: Any) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node runs; it may return new grad_outputs."""
        if self.pre_hooks is None:
            self.pre_hooks = OrderedDict()
        return add_hook(self.pre_hooks, hook)

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs from those of the outputs: this one step of the backward pass, without hooks."""
        results = self.apply(list(grads), True)
        return results[0] if len(results) == 1 else tuple(results)

    def apply(self, grads: list, differentiable: bool, wanted: Any = None) -> Any:
        """The gradients of the inputs, one per edge (None: no gradient), from those of the outputs."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget the saved tensors: the graph can't be walked again."""


def add_hook(hooks: OrderedDict, hook: Any) -> RemovableHandle:
    """Register a hook, last, and return the handle that removes it."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def same_kind(returned: Any, given: Tensor | None, hook: Any) -> Tensor | None:
    """What a hook returned in place of a gradient, if it may stand there. TypeError or RuntimeError, as torch."""
    name = getattr(hook, "__name__", hook)
    if returned is not None and given is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if returned is None or given is None:
        return returned
    if not isinstance(returned, Tensor):
        raise TypeError(f"expected Variable, but hook '{name}' returned '{type(returned).__name__}'")
    if returned.shape != given.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    if returned.dtype != given.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {given.dtype} got {returned.dtype})")
    return returned


FREED_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


class SavedResult:
    """An output saved by the node that made it: the array, not the Tensor, which would make a cycle."""

    __slots__ = ("array", "counter", "output_nr")

    def __init__(self, tensor: Tensor, output_nr: int):
        self.array = tensor._array
        self.counter: VersionCounter = tensor._counter or tensor._version_counter()
        self.output_nr = output_nr


class Packed:
    """A saved tensor that went through `saved_tensors_hooks`: unpacked again when the formula asks for it.

    What comes back takes the place that the tensor had in the graph, be it computed or not."""

    __slots__ = ("value", "hook", "edge", "output_nr")

    def __init__(self, tensor: Tensor, hooks: tuple, output_nr: int | None = None):
        pack, self.hook = hooks
        self.output_nr = output_nr
        self.edge = gradient_edge(tensor) if output_nr is None else NO_EDGE  # an output's leads to the node itself
        version, before = tensor._version_counter().value, thread.grad
        thread.grad = False
        try:
            self.value = pack(tensor)
        finally:
            thread.grad = before
        if tensor._counter.value != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
                "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
                "you need to perform in-place operations on the input to a pack hook."
            )
        if self.value is tensor and output_nr is not None:
            self.value = tensor.detach()  # an output knows the node that saves it: together they would be a cycle

    def unpack(self, node: "Node") -> Tensor:
        tensor = self.hook(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        tensor = wrap(tensor._array)
        edge = self.edge if self.output_nr is None else (node, self.output_nr)
        if edge[0] is not None and tensor._array.dtype.kind in "fV":
            tensor._requires_grad = True
            if type(edge[0]) is AccumulateGrad:
                tensor._accumulator = weakref.ref(edge[0])
            else:
                tensor._edge = edge
        return tensor


class SavedTensor:
    """One of a node's saved tensors, on which hooks can be put (`node._raw_saved_self`)."""

    def __init__(self, node: Any, position: int):
        self._node, self._position = node, position

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Keep what `pack_hook(tensor)` gives, until `unpack_hook` is asked to give the tensor back."""
        node, i = self._node, self._position
        if node.saved is None:
            raise RuntimeError(FREED_MESSAGE)
        value = node.saved[i]
        if type(value) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden.")
        node.saved[i] = pack_saved(node, value, (pack_hook, unpack_hook))


def pack_saved(node: Any, value: Any, hooks: tuple) -> Any:
    """What a node keeps instead of a value that it saves; what holds no tensor stays as it is."""
    if type(value) is SavedResult:
        return Packed(node._rewrap(value), hooks, value.output_nr)
    if type(value) is SavedList:
        value.tensors = [Packed(t, hooks) if isinstance(t, Tensor) else t for t in value.tensors]
    return Packed(value, hooks) if isinstance(value, Tensor) else value


class OpNode(Node):
    """The node of a row of the operator table; each row has its own subclass, which knows the row."""

    row: Any  # minitorch.dispatch.Row

    def release(self) -> None:
        row = self.row
        if row.frees or (row.may_hold_tensor and self._holds_tensor()):
            self.saved = None

    def _holds_tensor(self) -> bool:
        for v in self.saved or ():
            if isinstance(v, (Tensor, SavedResult, Packed, SavedList, np.ndarray)):
                return True
        return False

    def saved_inference(self) -> bool:
        for v in self.saved:  # any() would take twice the time
            if isinstance(v, Tensor) and v._inference:
                return True
        return False

    def unpack(self, differentiable: bool) -> list:
        """The saved values in the order of the row's names: arrays, or (for a graph of the backward) Tensors."""
        if self.saved is None:
            raise RuntimeError(FREED_MESSAGE)
        values = []
        versions = self.versions
        for i, v in enumerate(self.saved):
            if isinstance(v, Tensor):
                counter = v._counter
                if counter is not None and counter.value != (versions[i] if versions else 0):
                    overwritten(v._array, counter, versions[i] if versions else 0, v._edge)
                values.append(v if differentiable else v._array)
            elif type(v) is SavedResult:
                if v.counter.value != (versions[i] if versions else 0):
                    overwritten(v.array, v.counter, versions[i] if versions else 0, (self, v.output_nr))
                values.append(self._rewrap(v) if differentiable else v.array)
            elif type(v) is Packed:
                t = v.unpack(self)
                values.append(t if differentiable else t._array)
            elif type(v) is SavedList:
                values.append(v.unpack(self, differentiable))
            else:
                values.append(v)
        return values

    def _rewrap(self, saved: SavedResult) -> Tensor:
        tensor = wrap(saved.array)
        tensor._counter = saved.counter
        if saved.array.dtype.kind in "fV":
            tensor._edge = (self, saved.output_nr)
            tensor._requires_grad = True
        return tensor

    def apply(self, grads: list, differentiable: bool, wanted: Any = None) -> list:
        row = self.row
        edges = self.next_functions
        for g in grads:
            if g is not None:
                break
        else:
            return [None] * len(edges)
        values = self.unpack(differentiable) if row.saves_anything else ()
        # `grad`: of the first output; `grads`: of all of them
        grad = (tuple(grads),) if row.takes_all_grads else (grads[0],)
        if row.joint is not None:
            needs = tuple([e[0] is not None for e in edges] if wanted is None else wanted)
            return list(row.joint(*grad, needs, *[values[i] for i in row.joint_picks]))
        if not row.takes_all_grads and grads[0] is None:
            return [None] * len(edges)
        results: list = []
        for i, (formula, picks, is_list) in enumerate(row.formulas):
            if is_list:
                results.extend(formula(*grad, *[values[k] for k in picks]))
            elif edges[i][0] is None or (wanted is not None and not wanted[i]):
                results.append(None)
            else:
                results.append(formula(*grad, *[values[k] for k in picks]))
        return results

    def __getattr__(self, name: str) -> Any:
        # `node._saved_other`: what was saved under that name, as a Tensor; `node._raw_saved_other`: for hooks
        for prefix in ("_saved_", "_raw_saved_"):
            key = name.removeprefix(prefix)
            key = "input" if key == "self" else key
            if name.startswith(prefix) and key in self.row.names:
                position = self.row.names.index(key)
                return SavedTensor(self, position) if prefix == "_raw_saved_" else self.unpack(True)[position]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def overwritten(array: Any, counter: VersionCounter, expected: int, edge: Any = None) -> None:
    """Refuse a saved tensor whose memory was written since. edge: what made it."""
    described = f"[torch.{legacy_name(array)} {list(array.shape)}]"
    if edge is not None:
        described += f", which is output {edge[1]} of {re.sub('Backward[0-9]*$', '', edge[0].name())},"
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{described} is at version {counter.value}; expected version {expected} instead. Hint: " + anomaly.hint()
    )


INFERENCE_MESSAGE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or "
    "use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def versions_of(saved: list) -> list:
    """The versions that the memory of saved values is at. RuntimeError for what inference mode made."""
    versions = []
    for v in saved:
        counter = v._counter if isinstance(v, Tensor) else v.counter if type(v) is SavedResult else None
        versions.append(0 if counter is None else counter.value)
        if isinstance(v, Tensor) and v._inference:
            raise RuntimeError(INFERENCE_MESSAGE)
    return versions


class SavedList:
    """A list of tensors saved as one argument, with the version of each."""

    __slots__ = ("tensors", "versions")

    def __init__(self, tensors: list):
        self.tensors = tensors
        self.versions = [t._version if isinstance(t, Tensor) else 0 for t in tensors]

    def unpack(self, node: OpNode, differentiable: bool) -> list:
        found = []
        for t, version in zip(self.tensors, self.versions, strict=True):
            if type(t) is Packed:
                t = t.unpack(node)
            elif isinstance(t, Tensor) and t._version != version:
                overwritten(t._array, t._counter, version, t._edge)
            found.append(t if differentiable or not isinstance(t, Tensor) else t._array)
        return found


def legacy_name(array: Any) -> str:
    """torch's old name of a tensor type, as its messages still print it: FloatTensor, LongTensor, ..."""
    kind = dtypes.of(array)
    prefix = "" if isinstance(array, np.ndarray) else "cuda."
    return prefix + next(name for name, d in dtypes.LEGACY.items() if d is kind) + "Tensor"


class AccumulateGrad(Node):
    """The end of every path: adds the gradient to the leaf's `.grad`."""

    variable: Tensor

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def outputs(self) -> tuple:  # type: ignore[override]
        array = self.variable._array
        return ((array.shape, array.dtype),)

    @property
    def tensor_hooks(self) -> Any:  # type: ignore[override]
        hooks = self.variable._hooks
        return {0: hooks} if hooks else None

    @tensor_hooks.setter
    def tensor_hooks(self, hooks: dict) -> None:
        self.variable._hooks = hooks[0]

    def __call__(self, grad: Any) -> None:
        self.accumulate([grad], True)

    def plain(self) -> bool:
        """No hook wants to see the gradient before it is accumulated, or after."""
        return self.variable._hooks is None and self.pre_hooks is None and self.post_hooks is None

    def accumulate(self, box: list, differentiable: bool) -> None:
        """Add the gradient in `box` (taken out of it, so that its references can be counted)."""
        grad = box.pop()
        variable = self.variable
        before = variable._grad
        if grad is None:
            pass
        elif differentiable:
            if before is not None:
                variable._grad = before + grad
            else:
                variable._grad = wrap(np.empty_like(variable._array, dtype=grad._array.dtype)).copy_(grad)
        elif before is None:
            target = variable._array
            # torch keeps the incoming array when nobody else holds it and it lies in memory as the leaf does
            base = grad.base
            if (
                grad.strides != target.strides
                or not grad.flags.writeable
                or sys.getrefcount(grad) > ALONE
                or (base is not None and sys.getrefcount(base) > BASE_ALONE)
            ):
                copy = np.empty_like(target, dtype=grad.dtype)
                copy[...] = grad
                variable._grad = wrap(copy)
                variable._grad._bump()
            else:
                variable._grad = wrap(grad)
        else:
            array = before._array
            if array.strides == variable._array.strides and array.dtype == grad.dtype:
                np.add(array, grad, out=array)
            else:
                from ..dispatch import write

                write(array, array + grad)
                _check_layout(array, variable._array)
            before._bump()
        after = variable._post_accumulate_hooks
        if after:
            for hook in list(after.values()):
                returned = hook(variable)
                if returned is not None:
                    same_kind(returned, variable, hook)
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _check_layout(grad: Any, leaf: Any) -> None:
    """Warn, as torch, of a gradient that lies in memory otherwise than its leaf does."""
    expected = np.empty_like(leaf)  # a dense leaf's own strides, or contiguous
    if any(n != 1 and s != e for n, s, e in zip(grad.shape, grad.strides, expected.strides, strict=True)):
        warnings.warn(
            "grad and param do not obey the gradient layout contract. This is not an error, but may impair "
            f"performance.\ngrad.sizes() = {list(grad.shape)}, strides() = {list(strides_of(grad))}\nparam.sizes() = "
            f"{list(leaf.shape)}, strides() = {list(strides_of(leaf))}",
            stacklevel=2,
        )


def _references() -> tuple[int, int]:
    """How many references getrefcount sees where nobody else holds an array, or the base of a view."""
    box = [np.empty(2)]
    grad = box.pop()
    alone = sys.getrefcount(grad)
    box = [np.empty(2)[:1]]
    grad = box.pop()
    base = grad.base
    return alone, sys.getrefcount(base)


ALONE, BASE_ALONE = _references()


def leaf_edge(tensor: Tensor) -> tuple:
    """The edge of a leaf that requires grad. The node holds the leaf; the leaf knows the node only weakly."""
    node = tensor._accumulator and tensor._accumulator()
    if node is None:
        node = _new(AccumulateGrad)
        node.variable = tensor
        tensor._accumulator = weakref.ref(node)
    return (node, 0)


def gradient_edge(tensor: Tensor) -> tuple:
    """The edge along which a tensor's gradient flows."""
    if not tensor._requires_grad:
        return NO_EDGE
    return tensor._edge or leaf_edge(tensor)


class GradientEdge(NamedTuple):
    """A node and the number of one of its outputs: where a gradient arrives."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge at which the gradient of a tensor that requires grad arrives."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*gradient_edge(tensor))
