"""The walk of the graph (torch/csrc/autograd/engine.cpp).

Count how many edges lead to each node, start at the roots, and run each node once all its gradients have arrived,
the latest first. The ordinary pass hands raw arrays from formula to formula; with `create_graph` the same formulas
are given Tensors, and what they compute is recorded. The engine keeps the gradients clean (shape, dtype, no aliasing),
so that formulas need not.
"""

import heapq
import itertools
from typing import Any

import numpy as np

from ..kernels.reductions import sum_to
from ..tensor import Tensor, wrap
from . import anomaly
from .grad_mode import thread
from .graph import AccumulateGrad, Node, same_kind

_LEAVES_FIRST = -(1 << 62)


def run(
    roots: list, gradients: list, keep_graph: bool, create_graph: bool, captures: dict | None = None,
    accumulate: bool = False,
) -> dict:
    """Walk from `roots` (edges) with their `gradients` (Tensors or None).

    captures: {node: {output number}} of the gradients that are asked for; then only what leads to them is run. With
    `accumulate` they end in `.grad`, else they are returned as {(node, output number): gradient or None}."""
    dependencies, order = _count_dependencies(roots)
    needed = None if captures is None else _leads_to(captures, order)
    captured: dict = {}
    buffers: dict[Node, list] = {}
    summed: set = set()  # buffers that hold a sum made here, which may be added to in place
    ready: list = []
    tie = itertools.count().__next__
    walk = (_next_walk(), dependencies, needed)
    state = thread.grad
    thread.grad = create_graph
    try:
        # The roots' gradients arrive like those of any node: as the results of a call whose edges are the roots.
        node: Any = None
        edges: Any = roots
        results: list = [g if create_graph or g is None else g._array for g in gradients]
        gradients = []
        while True:
            i = -1
            for following, number in edges:
                i += 1
                if following is None or (needed is not None and not needed[following]):
                    continue
                grad = results[i]
                results[i] = None  # nobody else may hold a gradient that a leaf is about to keep
                remaining = dependencies[following] - 1
                leaf = type(following) is AccumulateGrad
                if grad is not None:
                    if create_graph:
                        grad = _clean_tensor(node, i, grad, *following.outputs[number])
                    else:
                        if leaf:
                            like = following.variable._array
                            shape, dtype = like.shape, like.dtype
                        else:
                            shape, dtype = following.outputs[number]
                        if grad.shape != shape:
                            if grad.shape[1:] != shape and not _expands(shape, grad.shape):
                                _bad_shape(node, i, grad.shape, shape)
                            grad = sum_to(grad, shape)
                        if grad.dtype is not dtype and grad.dtype != dtype:
                            grad = grad.astype(dtype)
                        if type(grad) is not np.ndarray and isinstance(grad, np.generic):
                            grad = np.asarray(grad)
                    buffer = buffers.get(following)
                    if buffer is None:
                        if leaf and remaining == 0 and captures is None and following.plain():
                            box = [grad]
                            grad = None
                            following.accumulate(box, create_graph)
                            continue
                        buffer = buffers[following] = [None] * len(following.outputs)
                    before = buffer[number]
                    if before is None:
                        buffer[number] = grad
                    elif create_graph:
                        buffer[number] = before + grad
                    elif (following, number) in summed:
                        np.add(before, grad, out=before)
                    else:
                        buffer[number] = np.asarray(np.add(before, grad))
                        summed.add((following, number))
                    before = grad = None
                if remaining:
                    dependencies[following] = remaining
                else:
                    # the latest node first, but a leaf's gradient is accumulated as soon as it is complete
                    heapq.heappush(ready, (_LEAVES_FIRST if leaf else -following.sequence, tie(), following))
            if node is not None and not keep_graph:
                node.release()
            while ready:
                node = heapq.heappop(ready)[2]
                grads = buffers.pop(node, None) or [None] * len(node.outputs)
                leaf = type(node) is AccumulateGrad
                if captures is not None and not accumulate and needed[node] is True:  # type: ignore[index]
                    _capture(node, grads, captures, captured)  # before the hooks, as torch
                if node.tensor_hooks or node.retained:
                    _run_tensor_hooks(node, grads, create_graph, walk)
                if captures is not None and needed[node] is CAPTURE_ONLY and not (accumulate and leaf):  # type: ignore[index]
                    _capture(node, grads, captures, captured)
                    continue
                if node.pre_hooks:
                    _run_hooks_before(node, grads, create_graph)
                if not leaf:
                    break
                if node.post_hooks:
                    given = list(grads)
                    node.accumulate(grads, create_graph)
                    _run_hooks_after(node, (), given, create_graph)
                else:
                    node.accumulate(grads, create_graph)
            else:
                return captured
            edges = node.next_functions
            wanted = None if needed is None else [e[0] is not None and bool(needed[e[0]]) for e in edges]
            if create_graph and anomaly.enabled:
                thread.running = node
            try:
                results = node.apply(grads, create_graph, wanted)
            except Exception:
                if anomaly.enabled:
                    anomaly.explain(node)
                raise
            if len(results) != len(edges):
                results = _fit(node, results)
            if node.post_hooks:
                results = _run_hooks_after(node, results, grads, create_graph)
            if anomaly.enabled:
                anomaly.check_nan(node, results)
            grads = None  # type: ignore[assignment]
    finally:
        thread.grad = state
        if create_graph:
            thread.running = None


_next_walk = itertools.count().__next__


def _count_dependencies(roots: list) -> tuple[dict, list]:
    """{node: number of edges that lead to it} for all nodes that can be reached, and those nodes."""
    dependencies: dict = {}
    order: list = []
    for node, _ in roots:
        if node in dependencies:
            dependencies[node] += 1
        else:
            dependencies[node] = 1
            order.append(node)
    for node in order:  # grows while we go
        for following, _ in node.next_functions:
            if following is not None:
                if following in dependencies:
                    dependencies[following] += 1
                else:
                    dependencies[following] = 1
                    order.append(following)
    return dependencies, order


CAPTURE_ONLY = "capture only"


def _leads_to(captures: dict, nodes: list) -> dict:
    """{node: False, True, or CAPTURE_ONLY where its gradient is asked for but nothing beyond it is}."""
    needed: dict = {}
    # An edge leads to an earlier node, so earlier nodes (leaves first of all) are decided first.
    for node in sorted(nodes, key=lambda n: -1 if type(n) is AccumulateGrad else n.sequence):
        beyond = any(needed.get(following) for following, _ in node.next_functions if following is not None)
        needed[node] = beyond or (CAPTURE_ONLY if node in captures else False)
    return needed


def _expands(shape: tuple, grad_shape: tuple) -> bool:
    """Whether a tensor of `shape` can have been broadcast to `grad_shape`."""
    extra = len(grad_shape) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, grad_shape[extra:], strict=True))


def _bad_shape(node: Node, index: int, got: tuple, expected: tuple) -> Any:
    if anomaly.enabled:
        anomaly.explain(node)
    raise RuntimeError(
        f"Function {node.name()} returned an invalid gradient at index {index} - got {list(got)} "
        f"but expected shape compatible with {list(expected)}"
    )


def _clean_tensor(node: Node, index: int, grad: Tensor, shape: tuple, dtype: Any) -> Tensor:
    if not isinstance(grad, Tensor):  # a formula gave a constant
        grad = wrap(np.asarray(grad))
    if grad._array.shape != shape:
        if not _expands(shape, grad._array.shape):
            _bad_shape(node, index, grad._array.shape, shape)
        grad = grad.sum_to_size(shape)
    if grad._array.dtype != dtype:
        from .. import dtypes

        grad = grad.to(dtypes.of(dtype))
    return grad


def _fit(node: Node, results: Any) -> list:
    """Surplus Nones are dropped; any other number of gradients is an error."""
    results, expected = list(results), len(node.next_functions)
    while len(results) > expected and results[-1] is None:
        results.pop()
    if len(results) != expected:
        raise RuntimeError(
            f"function {node.name()} returned an incorrect number of gradients (expected {expected}, got {len(results)})"
        )
    return results


def _to_hook(grad: Any, create_graph: bool) -> Any:
    return grad if create_graph or grad is None else wrap(grad)


def _from_hook(grad: Any, create_graph: bool) -> Any:
    return grad if create_graph or grad is None else grad._array


def _capture(node: Node, grads: list, captures: dict, captured: dict) -> None:
    for number in captures.get(node, ()):
        g = grads[number]
        captured[node, number] = wrap(g) if isinstance(g, np.ndarray) else g


def _run_tensor_hooks(node: Node, grads: list, create_graph: bool, walk: tuple) -> None:
    """The hooks of the node's outputs, each of which sees what the one before it returned; then `retain_grad`."""
    outer, thread.walk = thread.walk, walk
    try:
        for number, hooks in (node.tensor_hooks or {}).items():
            for hook in list(hooks.values()):
                given = _to_hook(grads[number], create_graph)
                returned = hook(given)
                if returned is not None:
                    grads[number] = _from_hook(same_kind(returned, given, hook), create_graph)
    finally:
        thread.walk = outer
    for number, reference in (node.retained or {}).items():
        tensor, grad = reference(), grads[number]
        if tensor is not None and grad is not None:
            given = _to_hook(grad, create_graph)
            tensor._grad = given.clone() if tensor._grad is None else tensor._grad + given


def _run_hooks_before(node: Node, grads: list, create_graph: bool) -> None:
    for hook in list(node.pre_hooks.values()):
        given = tuple([_to_hook(g, create_graph) for g in grads])
        returned = hook(given)
        if returned is not None:
            grads[:] = [_from_hook(g, create_graph) for g in _same_kinds(returned, given, hook)]


def _run_hooks_after(node: Node, results: Any, grads: list, create_graph: bool) -> list:
    given = tuple([_to_hook(g, create_graph) for g in grads])
    inputs = tuple([_to_hook(g, create_graph) for g in results])
    inputs = tuple([
        g if g is None or edge[0] is None else _clean_tensor(node, i, g, *edge[0].outputs[edge[1]])
        for i, (g, edge) in enumerate(zip(inputs, node.next_functions, strict=False))
    ])
    for hook in list(node.post_hooks.values()):
        returned = hook(inputs, given)
        if returned is not None:
            inputs = _same_kinds(returned, inputs, hook)
    return [_from_hook(g, create_graph) for g in inputs]


def _same_kinds(returned: Any, given: tuple, hook: Any) -> tuple:
    if not isinstance(returned, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(returned).__name__}'")
    if len(returned) != len(given):
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of values "
            f"(got {len(returned)}, but expected {len(given)})"
        )
    return tuple([same_kind(r, g, hook) for r, g in zip(returned, given, strict=True)])
