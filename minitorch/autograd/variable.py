"""What a tensor knows of the graph: the autograd half of Tensor's interface (torch/csrc/autograd/python_variable.cpp,
torch/_tensor.py)."""

import warnings
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from ..tensor import Tensor, method, wrap
from . import engine
from .grad_mode import thread
from .graph import RemovableHandle, add_hook, gradient_edge, leaf_edge
from .views import link, refresh


def _get_requires_grad(self: Tensor) -> bool:
    if self._base is not None:
        refresh(self)
    return self._requires_grad


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if self._edge is not None:
        if not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        return
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
    self.requires_grad = requires_grad
    return self


def _get_grad_fn(self: Tensor) -> Any:
    if self._base is not None:
        refresh(self)
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
            "attempting to assign a gradient with dtype '" + str(grad.dtype).removeprefix("torch.") + "' to a tensor "
            "with dtype '" + str(self.dtype).removeprefix("torch.") + "'. Please ensure that the gradient and the "
            "tensor have the same dtype"
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
    if gradient is None and inputs is None and self._edge is not None and self._base is None:
        array = self._array
        if array.size == 1:  # the loss of a training step: nothing to check
            one = wrap(np.ones(array.shape, array.dtype) if type(array) is np.ndarray else array * 0 + 1)
            engine.run([self._edge], [one], create_graph if retain_graph is None else retain_graph, create_graph)
            return
    backward_all(self, gradient, retain_graph, create_graph, inputs=inputs)


def _as_tuple(x: Any) -> tuple:
    return (x,) if isinstance(x, Tensor) or x is None or not hasattr(x, "__iter__") else tuple(x)


def backward_all(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """`autograd.backward`: the sum of the gradients of all `tensors`, added to the leaves' (or `inputs`') `.grad`."""
    tensors = _as_tuple(tensors)
    gradients = _initial_gradients(tensors, grad_tensors, create_graph)
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _roots(tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        engine.run(roots, gradients, keep, create_graph)
        return
    found = engine.run(roots, gradients, keep, create_graph, _captures(inputs))
    for tensor in inputs:
        grad = found.get(gradient_edge(tensor))
        if grad is not None:
            if tensor._grad is None:
                tensor._grad = grad.clone() if create_graph else wrap(grad._array.copy())
            else:
                tensor._grad = tensor._grad + grad


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
    graph is an error, unless `allow_unused` (None is returned for it) or `materialize_grads` (zeros are)."""
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched needs vmap, which minitorch does not have; loop over the batch")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    gradients = _initial_gradients(outputs, grad_outputs, create_graph)
    for t in inputs:
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots = _roots(outputs)
    keep = create_graph if retain_graph is None else retain_graph
    found = engine.run(roots, gradients, keep, create_graph, _captures(inputs))
    result = []
    for t in inputs:
        g = found.get(gradient_edge(t))
        if g is None:
            if not allow_unused:
                raise RuntimeError(
                    "One of the differentiated Tensors appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
            if materialize_grads:
                g = wrap(t._array * 0)
        result.append(g)
    return tuple(result)


def _roots(tensors: tuple) -> list:
    roots = []
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        roots.append(t._edge or leaf_edge(t))
    return roots


def _captures(inputs: tuple) -> dict:
    captures: dict = {}
    for t in inputs:
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        node, number = gradient_edge(t)
        captures.setdefault(node, set()).add(number)
    return captures


def _initial_gradients(tensors: tuple, gradients: Any, create_graph: bool) -> list:
    given = (None,) * len(tensors) if gradients is None else _as_tuple(gradients)
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    result: list = []
    for i, (t, g) in enumerate(zip(tensors, given, strict=True)):
        if g is None:
            if t.requires_grad:
                if t._array.size != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if not t.dtype.is_floating_point:
                    raise RuntimeError(
                        f"grad can be implicitly created only for real scalar outputs but got {t.dtype}"
                    )
                array = t._array
                g = wrap(array.__class__(array.shape, array.dtype))
                g._array.fill(1)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif g._array.shape != t._array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {t.shape}."
            )
        elif g._array.dtype != t._array.dtype:
            g = g.to(t.dtype) if create_graph else wrap(g._array.astype(t._array.dtype))
        result.append(g)
    return result


__all__ = ["backward_all", "grad", "link"]
