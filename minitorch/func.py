"""Function transforms (torch.func) in their common forms: grad, grad_and_value, vjp, jacrev, hessian, functional_call.

Each takes a function and returns a function. Nesting them gives higher derivatives. The function is called with
stand-ins for the arguments to differentiate by; what it computes keeps its graph only where that leads to anything
else that requires grad: to the stand-ins of an outer transform, or to a tensor of the caller's.
"""

import functools
from collections.abc import Callable
from typing import Any

from .autograd.grad_mode import enable_grad
from .autograd.graph import AccumulateGrad, gradient_edge
from .autograd.variable import grad as _grad
from .tensor import Tensor

# ---- trees: nested tuples, lists and dicts ----------------------------------------------------------------------------


def _map(tree: Any, f: Callable, otherwise: Callable = lambda leaf: leaf) -> Any:
    """f on every Tensor of a tree, and `otherwise` on what is none."""
    if isinstance(tree, Tensor):
        return f(tree)
    if isinstance(tree, dict):
        return type(tree)((k, _map(v, f, otherwise)) for k, v in tree.items())
    if isinstance(tree, (tuple, list)):
        items = [_map(v, f, otherwise) for v in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return otherwise(tree)


def _leaves(tree: Any) -> list:
    found: list = []
    _map(tree, found.append)
    return found


def _refill(tree: Any, values: Any) -> Any:
    values = iter(values)
    return _map(tree, lambda _: next(values))


def _structure(tree: Any) -> str:
    """The tree as text, a star for each Tensor."""
    return repr(_map(tree, lambda _: _STAR))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()


# ---- the call that is differentiated ----------------------------------------------------------------------------------


class _Transform(enable_grad):
    """One call of a transformed function, as a context. Its stand-ins know it, and whether it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.active = True

    def __enter__(self) -> "_Transform":
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.active = False
        super().__exit__(*exc)

    def stand_in(self, t: Tensor) -> Tensor:
        """A tensor to differentiate by; within another transform it stays connected to the given one."""
        if t.requires_grad:
            return t.view_as(t)
        t = t.detach().requires_grad_()
        vars(t)["_transform"] = self
        return t

    def leads_outside(self, *tensors: Tensor) -> bool:
        """Whether the graph behind `tensors` has leaves other than stand-ins, or stand-ins of an outer transform."""
        stack = [gradient_edge(t)[0] for t in tensors]
        met = {None, *stack}
        while stack:
            node = stack.pop()
            if type(node) is AccumulateGrad:
                transform = getattr(node.variable, "_transform", None)
                if transform is None or (transform.active and transform is not self):
                    return True
            for following, _ in node.next_functions if node else ():
                if following not in met:
                    met.add(following)
                    stack.append(following)
        return False

    def shown(self, tree: Any) -> Any:
        """A result for the caller, cut off where its graph leads to nothing but stand-ins."""
        return _map(tree, lambda t: t if self.leads_outside(t) else t.detach())

    def call(self, name: str, func: Callable, argnums: Any, args: tuple, kwargs: dict, has_aux: bool) -> tuple:
        """(output, aux, stand-ins in the structure of the chosen arguments)."""
        replaced = list(args)
        chosen = _chosen(argnums, args)
        for i in chosen:
            replaced[i] = _map(args[i], self.stand_in, _no_tensor)
        output, aux = func(*replaced, **kwargs), None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
            output, aux = output
            _map(aux, lambda t: t, _unsupported)
        return output, aux, replaced[chosen[0]] if isinstance(argnums, int) else tuple([replaced[i] for i in chosen])


def _no_tensor(leaf: Any) -> Any:
    raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")


def _chosen(argnums: Any, args: tuple) -> tuple:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not (isinstance(numbers, tuple) and all(isinstance(i, int) for i in numbers)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    positions = tuple([i % len(args) for i in numbers])
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions


def _unsupported(leaf: Any) -> Any:
    raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")


def _check_outputs(output: Any) -> None:
    def refuse(leaf: Any) -> Any:
        raise RuntimeError(
            f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
        )

    _map(output, lambda t: t, refuse)


def _gradients(outputs: list, inputs: list, cotangents: list, create_graph: bool) -> tuple:
    """Gradients, zeros for what does not matter, also where no output requires grad."""
    kept = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if not kept:
        return tuple([t.detach() * 0 for t in inputs])
    return _grad(
        [o for o, _ in kept], inputs, [c for _, c in kept], retain_graph=True, create_graph=create_graph,
        allow_unused=True, materialize_grads=True,
    )


# ---- the transforms ---------------------------------------------------------------------------------------------------


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives (gradient, value) of a function of one element; with has_aux (gradient, (value, aux))."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _Transform() as transform:
            output, aux, wanted = transform.call("grad_and_value(f)(*args)", func, argnums, args, kwargs, has_aux)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor or a tuple of Tensors, got "
                    f"{type(output).__name__}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            outside = transform.leads_outside(output)
            gradient = _refill(wanted, _gradients([output], _leaves(wanted), [None], outside))
            shown = transform.shown((output, aux))
        return gradient, (shown if has_aux else shown[0])

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
    """(func(*primals), pull) and, with has_aux, what else func returned.

    `pull(cotangents)`, with cotangents in the structure of the output, gives a tuple of gradients, one per primal."""
    with _Transform() as transform:
        numbers = tuple(range(len(primals)))
        output, aux, inputs = transform.call("vjp(f, *primals)", func, numbers, primals, {}, has_aux)
        _check_outputs(output)
        flat, outputs = _leaves(inputs), _leaves(output)
        outside = transform.leads_outside(*outputs)
        shown, aux = transform.shown((output, aux))

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        given, expected = _structure(cotangents), _structure(output)
        if given != expected:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given}, primal output: {expected}"
            )
        vectors = _leaves(cotangents)
        graph = outside or any(v.requires_grad for v in vectors) if create_graph is None else create_graph
        return _refill(inputs, _gradients(outputs, flat, vectors, graph))

    return (shown, pull, aux) if has_aux else (shown, pull)


def jacrev(func: Callable, argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Callable:
    """The function that gives the Jacobian, one row at a time.

    For each tensor of the output, in its place, the structure of the chosen arguments, with tensors of shape
    (*output.shape, *input.shape). chunk_size changes nothing: rows are computed one by one."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        with _Transform() as transform:
            output, aux, wanted = transform.call("vjp(f, *primals)", func, argnums, args, {}, has_aux)
            _check_outputs(output)
            flat = _leaves(wanted)
            jacobian = _map(output, lambda o: _refill(wanted, _rows(o, flat, transform.leads_outside(o))))
            aux = transform.shown(aux)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def _rows(output: Tensor, inputs: list, create_graph: bool) -> list:
    from .ops.copies import stack

    rows = []
    for k in range(output.numel()):
        cotangent = output.detach().new_zeros(output.shape)
        cotangent.view(-1)[k] = 1
        rows.append(_gradients([output], inputs, [cotangent], create_graph))
    if not rows:
        return [t.new_zeros((*output.shape, *t.shape)) for t in inputs]
    columns = zip(*rows, strict=True)
    return [stack(column).view((*output.shape, *t.shape)) for column, t in zip(columns, inputs, strict=True)]


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """The function that gives the matrix of second derivatives."""
    return jacrev(jacrev(func, argnums), argnums)


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers, for this call only.

    tie_weights: names of one and the same parameter change together. strict: every name must be known and given."""
    given = _merged(parameter_and_buffer_dicts)
    known = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    for value in given.values():
        if not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    if strict:
        problems = [
            f"\n\t{kind} key(s): {', '.join(map(repr, names))}."
            for kind, names in (
                ("Unexpected", [n for n in given if n not in known]), ("Missing", [n for n in known if n not in given]),
            )
            if names
        ]
        if problems:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(problems)}")
    if tie_weights:
        _tie(given, known)
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


def _merged(dicts: Any) -> dict:
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, (tuple, list)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    merged: dict = {}
    for d in dicts:
        if twice := [name for name in d if name in merged]:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        merged.update(d)
    return merged


def _tie(given: dict, known: dict) -> None:
    """Give all names of one tensor the value that one of them was given."""
    for name, value in list(given.items()):
        if name not in known:
            continue
        tied = [other for other, tensor in known.items() if tensor is known[name]]
        if any(given.get(other, value) is not value for other in tied):
            raise ValueError(
                f"functional_call got multiple values for keys {tied}, which are tied. Consider using tie_weights=False"
            )
        given.update(dict.fromkeys(tied, value))


def vmap(*args: Any, **kwargs: Any) -> Any:
    """Not available."""
    raise NotImplementedError("func.vmap is not implemented in minitorch; write the batch dimension out, or loop over it")


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'minitorch.func' has no attribute '{name}'; it offers grad, grad_and_value, vjp, jacrev, hessian and "
        "functional_call"
    )
