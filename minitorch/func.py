"""Function transforms (torch.func) in their common forms: grad, grad_and_value, vjp, jacrev, hessian, functional_call.

Each takes a function and returns a function. Nesting them gives higher derivatives.
"""

import functools
from collections.abc import Callable
from typing import Any

from .autograd import functional as _functional
from .autograd.grad_mode import enable_grad
from .autograd.variable import grad as _grad
from .tensor import Tensor


def _map(tree: Any, f: Callable) -> Any:
    """f on every Tensor of nested tuples, lists and dicts."""
    if isinstance(tree, Tensor):
        return f(tree)
    if isinstance(tree, dict):
        return type(tree)((k, _map(v, f)) for k, v in tree.items())
    if isinstance(tree, (tuple, list)):
        items = [_map(v, f) for v in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return tree


def _leaves(tree: Any) -> list:
    found: list = []
    _map(tree, found.append)
    return found


def _refill(tree: Any, values: Any) -> Any:
    values = iter(values)
    return _map(tree, lambda _: next(values))


def _differentiable(t: Tensor) -> Tensor:
    """A stand-in to differentiate by; within another transform it stays connected to the given tensor."""
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()


def _chosen(argnums: Any, args: tuple) -> tuple:
    for i in (argnums,) if isinstance(argnums, int) else argnums:
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    if isinstance(argnums, int):
        return (argnums % len(args),)
    return tuple([i % len(args) for i in argnums])


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives (gradient, value) of a function of one element; with has_aux (gradient, (value, aux))."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            outside = any(t.requires_grad for t in _leaves((args, kwargs)))
            chosen = _chosen(argnums, args)
            replaced = list(args)
            for i in chosen:
                replaced[i] = _map(args[i], _differentiable)
            output = func(*replaced, **kwargs)
            aux = None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is "
                        "True"
                    )
                output, aux = output
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"Expected f(*args) to return a Tensor or a tuple of Tensors, got {type(output).__name__}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            wanted = [replaced[i] for i in chosen]
            flat = _leaves(wanted)
            if output.requires_grad:
                found = _grad(output, flat, create_graph=True, allow_unused=True, materialize_grads=True)
            else:
                found = tuple([t.detach() * 0 for t in flat])
            if not outside:
                found = tuple([g.detach() for g in found])
                output, aux = output.detach(), _map(aux, lambda t: t.detach())
            gradients = _refill(wanted, found)
        gradient = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return gradient, ((output, aux) if has_aux else output)

    return wrapper


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of a function of one element; with has_aux (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), the function that takes cotangents of the outputs to gradients of the primals)."""
    outside = any(t.requires_grad for t in _leaves(primals))
    with enable_grad():
        replaced = _map(primals, _differentiable)
        output = func(*replaced)
        aux: Any = None
        if has_aux:
            output, aux = output
        flat = _leaves(replaced)
        outputs = _leaves(output)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        given = _leaves(cotangents)
        kept = [(o, c) for o, c in zip(outputs, given, strict=True) if o.requires_grad]
        graph = outside or any(c.requires_grad for c in given) if create_graph is None else create_graph
        found = _grad(
            [o for o, _ in kept], flat, [c for _, c in kept], retain_graph=True, create_graph=graph,
            materialize_grads=True,
        )
        return _refill(replaced, found)

    shown = output if outside else _map(output, lambda t: t.detach())
    return (shown, pull, aux) if has_aux else (shown, pull)


def jacrev(func: Callable, argnums: Any = 0, *, has_aux: bool = False, chunk_size: Any = None) -> Callable:
    """The function that gives the Jacobian, one row at a time: shape (*output.shape, *input.shape)."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = _chosen(argnums, args)
        aux: list = []

        def of_chosen(*xs: Any) -> Any:
            replaced = list(args)
            for i, x in zip(chosen, xs, strict=True):
                replaced[i] = x
            output = func(*replaced, **kwargs)
            if has_aux:
                output, extra = output
                aux.append(extra)
            return output

        xs = tuple([args[i] for i in chosen])
        outside = any(t.requires_grad for t in _leaves(args))
        inputs = xs if not isinstance(argnums, int) else xs[0]
        result = _functional.jacobian(of_chosen, inputs, create_graph=outside)
        return (result, _map(aux[-1], lambda t: t.detach())) if has_aux else result

    return wrapper


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """The function that gives the matrix of second derivatives."""

    def first(*args: Any, **kwargs: Any) -> Any:
        return jacrev(func, argnums)(*args, **kwargs)

    return jacrev(first, argnums)


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers, for this call only."""
    given: dict = {}
    dicts = parameter_and_buffer_dicts
    for d in dicts if isinstance(dicts, (tuple, list)) else (dicts,):
        given.update(d)
    known = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    unexpected = [name for name in given if name not in known]
    if unexpected and strict:
        raise RuntimeError(f"Unexpected key(s): {', '.join(unexpected)}.")
    if strict and (missing := [name for name in known if name not in given]):
        raise RuntimeError(f"Missing key(s): {', '.join(missing)}.")
    if tie_weights:  # all names of one tensor change together
        for name, value in list(given.items()):
            for other, tensor in known.items():
                if name in known and tensor is known[name]:
                    given.setdefault(other, value)
    places = []
    for name, value in given.items():
        if name not in known:
            continue
        path, _, leaf = name.rpartition(".")
        owner = module.get_submodule(path)
        table = owner._parameters if leaf in owner._parameters else owner._buffers
        places.append((table, leaf, table[leaf]))
        table[leaf] = value
    try:
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*args, **(kwargs or {}))
    finally:
        for table, leaf, before in reversed(places):
            table[leaf] = before


def vmap(*args: Any, **kwargs: Any) -> Any:
    """Not available."""
    raise NotImplementedError("func.vmap is not implemented in minitorch; write the batch dimension out, or loop over it")


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'minitorch.func' has no attribute '{name}'; it offers grad, grad_and_value, vjp, jacrev, hessian and "
        "functional_call"
    )
