"""What a tensor knows of the graph: the autograd half of Tensor's interface (torch/csrc/autograd/python_variable.cpp,
torch/_tensor.py)."""

import math
import warnings
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Size, Tensor, method, wrap
from . import engine
from .grad_mode import thread
from .graph import GradientEdge, RemovableHandle, add_hook, gradient_edge
from .views import link, refresh


def _get_requires_grad(self: Tensor) -> bool:
    base = self._base  # a view of what requires grad does so, too, even one that was made under no_grad
    return self._requires_grad or (base is not None and base._requires_grad and self.dtype.is_floating_point)


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if self._edge is not None:
        advice = (
            " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
        raise RuntimeError(f"you can only change requires_grad flags of leaf variables.{'' if value else advice}")
    if value and not self.dtype.is_floating_point:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if value and self._inference and not thread.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    self._requires_grad = value


Tensor.requires_grad = property(  # type: ignore[assignment]
    _get_requires_grad, _set_requires_grad, doc="Whether gradients are recorded for this tensor."
)


@method()
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad` in place, and return the tensor."""
    if not isinstance(requires_grad, bool):
        raise TypeError(
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
            f"{type(requires_grad).__name__}"
        )
    if not (requires_grad and self._edge):  # what was computed requires grad already
        self.requires_grad = requires_grad
    return self


def _get_grad_fn(self: Tensor) -> Any:
    if self._base is not None:
        refresh(self, True)
    return None if self._edge is None else self._edge[0]


Tensor.grad_fn = property(_get_grad_fn, doc="The node that made this tensor; None for a leaf.")  # type: ignore[attr-defined]
Tensor.is_leaf = property(lambda self: self.grad_fn is None)  # type: ignore[assignment]
Tensor.output_nr = property(lambda self: 0 if self.grad_fn is None else self._edge[1])  # type: ignore[attr-defined]
Tensor.retains_grad = property(lambda self: self._retains_grad and self._edge is not None)  # type: ignore[attr-defined]
Tensor._is_view_ = property(lambda self: self._base is not None)  # type: ignore[attr-defined]


@method()
def _is_view(self: Tensor) -> bool:
    return self._base is not None


@method()
def is_inference(self: Tensor) -> bool:
    return self._inference


def _get_grad(self: Tensor) -> Tensor | None:
    grad = self._grad
    if grad is None and self._edge is not None and not self._retains_grad:
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
            "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
            "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
            "mistake, make sure you access the leaf Tensor instead.",
            UserWarning,
            stacklevel=2,
        )
    return grad


def _set_grad(self: Tensor, grad: Tensor | None) -> None:
    if grad is None:
        self._grad = None
        return
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.dtype is not self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{grad.dtype.name}' to a tensor with grad_dtype "
            f"'{self.dtype.name}'. The gradient must match the tensor's grad_dtype, which is the tensor's dtype"
        )
    if grad.device != self.device:
        raise RuntimeError(
            f"attempting to assign a gradient located on device with index {grad.get_device()} to a tensor located "
            f"on device with index {self.get_device()}"
        )
    if grad.shape != self.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of size '{list(self.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
    self._grad = grad


def _del_grad(self: Tensor) -> None:
    self._grad = None


Tensor.grad = property(_get_grad, _set_grad, _del_grad, doc="The accumulated gradient; None before the first.")  # type: ignore[attr-defined]


def _get_data(self: Tensor) -> Tensor:
    return wrap(self._array)


def _set_data(self: Tensor, new: Tensor) -> None:
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    self._array = new._array
    self._accumulator = None  # the leaf may have changed its shape or dtype


Tensor.data = property(_get_data, _set_data, doc="The same memory without history or version.")  # type: ignore[attr-defined]


@method()
def detach(self: Tensor) -> Tensor:
    """A tensor that shares the memory and the version counter, and needs no gradient."""
    t = wrap(self._array)
    t._counter = self._version_counter()
    t._inference = self._inference
    return t


@method()
def detach_(self: Tensor) -> Tensor:
    """Cut the tensor out of the graph, making it a leaf."""
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients."
        )
    self._edge = None
    self._requires_grad = False
    self._retains_grad = False
    return self


@method()
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf in `.grad` when the backward pass goes through it."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._edge is None or self._retains_grad:
        return
    node, number = self._edge
    if node.retained is None:
        node.retained = {}
    node.retained[number] = weakref.ref(self)
    self._retains_grad = True


@method()
def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(grad)` whenever this tensor's gradient is computed; what it returns, unless None, replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._edge is None:
        if self._hooks is None:
            self._hooks = OrderedDict()
        return add_hook(self._hooks, hook)
    node, number = self._edge
    if node.tensor_hooks is None:
        node.tensor_hooks = {}
    return add_hook(node.tensor_hooks.setdefault(number, OrderedDict()), hook)


@method()
def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient has been added to this leaf's `.grad`."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._edge is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_accumulate_hooks is None:
        self._post_accumulate_hooks = OrderedDict()
    return add_hook(self._post_accumulate_hooks, hook)


@method()
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the gradient of this tensor with respect to the graph's leaves (or to `inputs`) to their `.grad`.

    gradient: of the shape of this tensor; may be left out for a tensor of one element. RuntimeError as torch."""
    if gradient is None and inputs is None and self._edge is not None and self._base is None and not create_graph:
        array = self._array
        if array.size == 1:  # the loss of a training step: nothing to check
            one = wrap(np.ones(array.shape, array.dtype) if type(array) is np.ndarray else array * 0 + 1)
            engine.run([self._edge], [one], bool(retain_graph), False)
            return
    backward_all(self, gradient, retain_graph, create_graph, inputs=inputs)


def backward_all(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """`autograd.backward`: the sum of the gradients of all `tensors`, added to the leaves' (or `inputs`') `.grad`."""
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    inputs = None if inputs is None else _as_tuple(inputs)
    if inputs == ():
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _as_tuple(tensors)
    gradients = _initial_gradients(tensors, grad_tensors, create_graph)
    roots = _roots(tensors)
    for t in inputs or ():
        if isinstance(t, Tensor) and not (t.requires_grad and t._edge is None):
            t.retain_grad()  # this is what fills the `.grad` of what was computed
    captures = None if inputs is None else _captures(inputs)
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.",
            stacklevel=3,
        )
    keep = create_graph if retain_graph is None else retain_graph
    engine.run(roots, gradients, keep, create_graph, captures, accumulate=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """The gradients of the sum of `outputs` with respect to `inputs`, as a tuple.

    grad_outputs: the cotangent of each output (None for outputs of one element). An input that is not part of the
    graph is an error, unless `allow_unused` (None is returned for it) or `materialize_grads` (zeros are). Outputs and
    inputs may be gradient edges instead of tensors."""
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched needs vmap, which minitorch does not have; loop over the batch")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if materialize_grads and any(isinstance(t, GradientEdge) for t in inputs):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    gradients = _initial_gradients(outputs, grad_outputs, create_graph)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots = _roots(outputs)
    captures = _captures(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    found = engine.run(roots, gradients, keep, create_graph, captures)
    result = []
    for i, t in enumerate(inputs):
        g = found.get(_edge_of(t))
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        if g is None and materialize_grads:
            g = wrap(t._array * 0)
            g._requires_grad = create_graph
        result.append(g)
    return tuple(result)


def _as_tuple(x: Any) -> tuple:
    return (x,) if isinstance(x, (Tensor, GradientEdge)) else tuple(x)


def _edge_of(t: Any) -> tuple:
    return tuple(t) if isinstance(t, GradientEdge) else gradient_edge(t)


def _roots(tensors: tuple) -> list:
    for i, t in enumerate(tensors):
        if isinstance(t, Tensor) and not t.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    for t in tensors:
        if isinstance(t, Tensor) and t._base is not None:
            refresh(t)
    return [_edge_of(t) for t in tensors]


def _captures(inputs: tuple) -> dict:
    captures: dict = {}
    for t in inputs:
        if not isinstance(t, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
        if isinstance(t, Tensor) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        node, number = _edge_of(t)
        captures.setdefault(node, set()).add(number)
    return captures


def _initial_gradients(outputs: tuple, gradients: Any, create_graph: bool) -> list:
    """The gradient that each output (a tensor or an edge) starts with."""
    given = (None,) * len(outputs) if gradients is None else _as_tuple(gradients)
    if len(given) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    result: list = []
    for i, (t, g) in enumerate(zip(outputs, given, strict=False)):
        if isinstance(t, GradientEdge):
            shape, dtype = t.node.outputs[t.output_nr]
            requires_grad, library = True, np.ndarray
        elif isinstance(t, Tensor):
            shape, dtype, requires_grad, library = t._array.shape, t._array.dtype, t.requires_grad, type(t._array)
        else:
            raise AssertionError(f"Expected output to be a torch.Tensor, got {type(t).__name__}")
        if g is None:
            if requires_grad:
                if math.prod(shape) != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                g = wrap(library(shape, dtype))
                g._array.fill(1)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif g._array.shape != shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                f"{Size(shape)}."
            )
        elif g._array.dtype != dtype:
            g = g.to(dtypes.of(dtype)) if create_graph else wrap(g._array.astype(dtype))
        result.append(g)
    return result


__all__ = ["backward_all", "grad", "link"]
