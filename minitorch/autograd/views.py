"""Views and in-place writes (torch/csrc/autograd/{variable.h,VariableTypeUtils.h,functions/tensor.cpp}).

A view shares the memory, and so the version counter, of its base. A write through a view is a write to the base:
the base's history becomes a `CopySlices` node, which runs the write's own node on the written region only, and every
view of that memory gets a new `grad_fn` (an as_strided of the base) the next time it is looked at.
"""

from typing import Any

from ..kernels.shape import as_strided
from ..tensor import Tensor
from .grad_mode import thread
from .graph import Node, gradient_edge, sequence

# How a view was made, when that forbids writing through it with gradients
DEFAULT, MULTI_OUTPUT, NO_GRAD, INFERENCE, CUSTOM = range(5)


def link(view: Tensor, source: Tensor, kind: int = DEFAULT) -> None:
    """Make `view` known as a view of `source`, whose memory it shares."""
    counter = source._counter
    if counter is None:
        counter = source._version_counter()
    base = source._base
    view._base = source if base is None else base
    view._counter = counter
    view._view_version = counter.value
    if kind == DEFAULT:
        kind = source._view_kind if base is not None else DEFAULT
        if not thread.grad and kind == DEFAULT:
            kind = NO_GRAD
    if kind:
        view._view_kind = kind
    if source._inference:
        view._inference = True


def refresh(view: Tensor, asked: bool = False) -> None:
    """Bring the graph of a view up to date with writes to its memory. RuntimeError where that is not allowed.

    asked: somebody wants to see the graph, even under no_grad, where operators have no use for it."""
    if view._view_version == view._counter.value:
        return
    base = view._base
    if not base._requires_grad or not (thread.grad or asked):
        return  # nothing to differentiate
    if view._view_kind:
        _refuse(view, "its base or another view of its base has been modified inplace")
    view._edge = _strided_edge(view, base)
    view._requires_grad = True
    view._view_version = view._counter.value


def _strided_edge(view: Tensor, base: Tensor) -> tuple:
    from ..dispatch import ROWS, record
    from ..ops.shape import geometry

    args = [base, *geometry(view._array), geometry(base._array)]
    return (record(ROWS["as_strided"], args, (gradient_edge(base),), (view._array,)), 0)


class CopySlices(Node):
    """The history of a base that was written through a view: its gradient outside the written region, and what the
    write's own node makes of the gradient inside."""

    def __init__(self, base: Tensor, view: Tensor, function: Node):
        self.function = function
        from ..ops.shape import geometry

        array = base._array
        self.outputs = ((array.shape, array.dtype),)
        self.next_functions = (gradient_edge(base), *function.next_functions[1:])
        self.base_geometry, self.view_geometry = geometry(array), geometry(view._array)
        self.sequence = sequence()

    def apply(self, grads: list, differentiable: bool, wanted: Any = None) -> list:
        grad = grads[0]
        if grad is None:
            return [None] * len(self.next_functions)
        from ..ops import shape as ops

        shape, strides, offset = self.base_geometry
        view_shape, view_strides, view_offset = self.view_geometry
        function = self.function
        if not differentiable:
            import numpy as np

            whole = np.lib.stride_tricks.as_strided(_dense(grad, shape, strides), shape, strides_bytes(strides, grad))
            if whole is not grad:
                whole[...] = grad
            region = as_strided(whole, view_shape, view_strides, view_offset - offset)
            results = list(function.apply([region.copy()], False, wanted))
            if results[0] is None:
                region[...] = 0
            else:
                from ..kernels.reductions import sum_to

                region[...] = results[0] if results[0].shape == region.shape else sum_to(results[0], region.shape)
            results[0] = whole
            return results
        region = ops.as_strided_like_base(grad, shape, strides, view_shape, view_strides, view_offset - offset)
        results = list(function.apply([region], True, wanted))
        inside = results[0]
        if inside is None:
            inside = region * 0
        results[0] = ops.as_strided_scatter_like_base(
            grad, inside, shape, strides, view_shape, view_strides, view_offset - offset
        )
        return results

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def release(self) -> None:
        self.function.release()


def _dense(grad: Any, shape: tuple, strides: tuple) -> Any:
    """Fresh memory large enough for the base's geometry."""
    import numpy as np

    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if grad.size else 0
    return np.zeros(extent, grad.dtype)


def strides_bytes(strides: tuple, array: Any) -> tuple:
    return tuple([s * array.itemsize for s in strides])


def check_inplace(tensor: Tensor, needs_grad: bool = True) -> None:
    """Refuse, in torch's words, a write that autograd could not follow."""
    if tensor._base is not None:
        refresh(tensor)
    if tensor._inference and not thread.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update. See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    if not thread.grad:
        return
    base = tensor._base
    if base is None:
        if tensor._requires_grad and tensor._edge is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if not (base._requires_grad or tensor._requires_grad or needs_grad):
        return
    if tensor._view_kind == DEFAULT:
        if base._requires_grad and base._edge is None:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if tensor._requires_grad and tensor._edge is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    _refuse(tensor, "is being modified inplace")


def _refuse(view: Tensor, what: str) -> None:
    """Say why a view must not be written, or that its base was. Nothing for a kind that allows it."""
    kind = view._view_kind
    prefix = "A view was created"
    if view._edge:
        prefix = f"Output {view._edge[1]} of {view._edge[0].name().split('Backward')[0]} is a view"
    if kind == MULTI_OUTPUT:
        raise RuntimeError(
            f"{prefix} and {what}. This view is the output of a function that returns multiple "
            "views. Such functions do not allow the output views to be modified inplace. You should replace the "
            "inplace operation by an out-of-place one."
        )
    if kind == CUSTOM:
        raise RuntimeError(
            f"{prefix} and {what}. This view was created inside a custom Function (or because an "
            "input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
            "backward associated with the custom Function, leading to incorrect gradients. This behavior is "
            "forbidden. You can fix this by cloning the output of the custom Function."
        )
    if kind == NO_GRAD:
        raise RuntimeError(
            f"A view was created in no_grad mode and {what} with grad mode enabled. Given that "
            "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked)."
        )


def rebase(tensor: Tensor, node: Node) -> None:
    """The tensor was written in place by `node`: give it, and the base it may be a view of, their new history."""
    base = tensor._base
    if base is None:
        _move_retained(tensor, node)
        tensor._edge = (node, 0)
        tensor._requires_grad = True
        return
    copy = CopySlices(base, tensor, node)
    _move_retained(base, copy)
    base._edge = (copy, 0)
    base._requires_grad = True
    tensor._view_version = -1
    tensor._requires_grad = False
    tensor._edge = None
    refresh(tensor)


def reshape_in_place(tensor: Tensor, operator: Any, node_class: type, args: tuple) -> Tensor:
    """Give the tensor the geometry of a view of itself (`t_`, `squeeze_`, ...). No element changes."""
    from ..dispatch import record

    check_inplace(tensor, False)
    row = operator.row
    array = row.kernel(tensor._array, *args)
    bound = [tensor, *args, *row.defaults[1 + len(args) :]]
    if tensor._requires_grad and thread.grad:
        node: Any = record(row, bound, (gradient_edge(tensor),), (array,))
        node.__class__ = node_class
        _move_retained(tensor, node)
        tensor._edge = (node, 0)  # a view stays one: its base was not written
    tensor._array = array
    tensor._bump()
    tensor._view_version = tensor._counter.value
    return tensor


def _move_retained(tensor: Tensor, node: Node) -> None:
    """`retain_grad` follows the tensor to its new node."""
    if tensor._retains_grad and tensor._edge:
        old, number = tensor._edge
        if old.retained and number in old.retained:
            node.retained = {0: old.retained.pop(number)}

