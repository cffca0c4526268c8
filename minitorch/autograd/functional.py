"""Derivatives as functions of a function (torch/autograd/functional.py): vjp, jvp, jacobian, hessian, vhp, hvp.

`func` takes one Tensor or several and returns one or several. Results mirror that structure. With `create_graph` they
can be differentiated in turn; with `strict` an input that does not matter is an error instead of a zero."""

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .grad_mode import enable_grad
from .variable import grad as _grad


def _tuple(x: Any, argument: str, where: str) -> tuple[bool, tuple]:
    several = isinstance(x, tuple)
    xs = x if several else (x,)
    for i, t in enumerate(xs):
        if not isinstance(t, Tensor):
            if several:
                raise TypeError(
                    f"The {argument} given to {where} must be either a Tensor or a tuple of Tensors but the value at "
                    f"index {i} has type {type(t)}."
                )
            raise TypeError(
                f"The {argument} given to {where} must be either a Tensor or a tuple of Tensors but the given "
                f"{argument} has type {type(t)}."
            )
    return several, xs


def _fresh(inputs: tuple, create_graph: bool) -> tuple:
    """Inputs to differentiate by: views of the given ones in the graph, or leaves of their own."""
    return tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs])


def _outputs(outputs: Any, where: str, strict: bool) -> tuple[bool, tuple]:
    several, outputs = _tuple(outputs, "outputs of the user-provided function", where)
    if strict:
        for i, o in enumerate(outputs):
            if not o.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs must be computed "
                    "in a differentiable manner from the input when running in strict mode."
                )
    return several, outputs


def _check_jacobian(gradients: tuple, strict: bool) -> tuple:
    """First derivatives that are to be differentiated again."""
    for i, g in enumerate(gradients):
        if strict and not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {i} is independent of the input. This is not allowed in strict mode. You should ensure that your "
                "function is twice differentiable and that the jacobian depends on the inputs (this would be violated by "
                "a linear function for example)."
            )
    return gradients


def _gradients(outputs: tuple, inputs: tuple, cotangents: tuple, create_graph: bool) -> tuple:
    """Gradients with None for what does not matter, also where no output requires grad."""
    kept = [(o, v) for o, v in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    return _grad(
        [o for o, _ in kept], inputs, [v for _, v in kept], allow_unused=True, create_graph=create_graph,
        retain_graph=True,
    )


def _filled(gradients: tuple, like: tuple, strict: bool, create_graph: bool, where: str | None) -> tuple:
    """Gradients with zeros for None; `strict` refuses these and, in what is called `where`, constants."""
    filled = []
    for i, (g, t) in enumerate(zip(gradients, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(
                    f"The output of the user-provided function is independent of input {i}. This is not allowed in "
                    "strict mode."
                )
            g = t.detach() * 0
        elif strict and create_graph and where and not g.requires_grad:
            raise RuntimeError(
                f"The {where} of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode when create_graph=True."
            )
        filled.append(g if create_graph else g.detach())
    return tuple(filled)


def _match(v: Any, outputs: tuple, several: bool, where: str, create_graph: bool, role: str = "output") -> tuple:
    """The vector v, whose entries must look like `outputs`; ones where it is left out."""
    if v is None:
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the user-provided function returns a single Tensor with a single "
                f"element ({where})."
                if role == "output"
                else "The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                "single element."
            )
        return (outputs[0].detach() * 0 + 1,)
    _, vs = _tuple(v, "v", where)
    if len(vs) != len(outputs):
        if not several:
            raise RuntimeError(f"The given v should contain a single Tensor, but got {len(vs)}.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(outputs)} but got {len(vs)}.")
    for i, (a, o) in enumerate(zip(vs, outputs, strict=True)):
        if a.shape != o.shape:
            entry = f"Entry {i} in v" if len(vs) > 1 else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {o.shape} but got {a.shape}.")
    return tuple([a.view_as(a) if create_graph else a.detach() for a in vs])


def _shape_back(results: tuple, several: bool) -> Any:
    return results if several else results[0]


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v^T J): the product of a vector of the outputs' shape with the Jacobian."""
    with enable_grad():
        several_in, given = _tuple(inputs, "inputs", "vjp")
        xs = _fresh(given, create_graph)
        several_out, outputs = _outputs(func(*xs), "vjp", strict)
        vs = _match(v, outputs, several_out, "vjp", create_graph)
        gradients = _gradients(outputs, xs, vs, create_graph)
        results = _filled(gradients, xs, strict, create_graph, "jacobian")
    outputs = tuple([o if create_graph else o.detach() for o in outputs])
    return _shape_back(outputs, several_out), _shape_back(results, several_in)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), J v), by differentiating u -> u^T J twice (the double-backward trick)."""
    with enable_grad():
        several_in, given = _tuple(inputs, "inputs", "jvp")
        xs = _fresh(given, create_graph)
        vs = _match(v, xs, several_in, "jvp", create_graph, "input")
        several_out, outputs = _outputs(func(*xs), "jvp", strict)
        us = tuple([(o.detach() * 0).requires_grad_() for o in outputs])
        forward = _gradients(outputs, xs, us, True)
        if strict:
            _filled(forward, xs, True, False, "jacobian")
        kept = [(g, w) for g, w in zip(forward, vs, strict=True) if g is not None]
        if kept:
            pushed = _gradients(tuple([g for g, _ in kept]), us, tuple([w for _, w in kept]), create_graph)
        else:
            pushed = (None,) * len(us)
        results = _filled(pushed, us, strict and create_graph, create_graph, "jacobian")
    outputs = tuple([o if create_graph else o.detach() for o in outputs])
    return _shape_back(outputs, several_out), _shape_back(results, several_out)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All partial derivatives: for output i and input j a tensor of shape (*output.shape, *input.shape).

    vectorize and strategy say how torch computes them; here it is always row by row, backwards."""
    _check_strategy(strategy, strict, vectorize, create_graph)
    with enable_grad():
        several_in, given = _tuple(inputs, "inputs", "jacobian")
        xs = _fresh(given, create_graph)
        several_out, outputs = _outputs(func(*xs), "jacobian", strict)
        rows = []
        for o in outputs:
            columns: list[list] = [[] for _ in xs]
            flat = o.reshape(-1)
            for k in range(flat.numel()):
                gradients = _gradients((flat[k],), xs, (None,), create_graph)
                for column, g in zip(columns, _filled(gradients, xs, strict, create_graph, "jacobian"), strict=True):
                    column.append(g)
            rows.append(tuple([_stacked(c, o, x) for c, x in zip(columns, xs, strict=True)]))
    if several_out:
        return tuple([_shape_back(row, several_in) for row in rows])
    return _shape_back(rows[0], several_in)


def _stacked(columns: list, output: Tensor, input: Tensor) -> Tensor:
    from ..ops.copies import stack

    return stack(columns, 0).view((*output.shape, *input.shape))


def _check_strategy(strategy: str, strict: bool, vectorize: bool, create_graph: bool) -> None:
    """Refuse the combinations that torch refuses."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    where = "torch.autograd.functional.jacobian:"
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                f'{where} `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please '
                'either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                f'{where} `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please either '
                'set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`."
            )
    if strict and vectorize:
        raise RuntimeError(
            f"{where} `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function of one element."""
    several, _ = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*xs: Any) -> Any:
        output = func(*xs)
        several_out, outputs = _tuple(output, "outputs of the user-provided function", "hessian")
        if several_out or outputs[0].numel() != 1:
            raise RuntimeError(
                "The function given to hessian should return a single Tensor"
                if several_out
                else "The Tensor returned by the function given to hessian should contain a single element"
            )
        return output.squeeze()

    def first(*xs: Any) -> Any:
        result = jacobian(single, xs, create_graph=True)
        if strict:
            _outputs(single(*xs), "hessian", strict)
            _check_jacobian(result, strict)
        return result if several else result[0]

    return jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v^T H) for a function of one element."""
    with enable_grad():
        several, given = _tuple(inputs, "inputs", "vhp")
        xs = _fresh(given, create_graph)
        vs = _match(v, xs, several, "vhp", create_graph, "input")
        output = _single(func(*xs), "vhp", strict)
        first = _check_jacobian(_filled(_gradients((output,), xs, (None,), True), xs, strict, True, None), strict)
        second = _gradients(first, xs, vs, create_graph)
        results = _filled(second, xs, strict, create_graph, "hessian")
    return output if create_graph else output.detach(), _shape_back(results, several)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), H v) for a function of one element; the Hessian is symmetric, so this is vhp."""
    return vhp(func, inputs, v, create_graph, strict)


def _single(output: Any, where: str, strict: bool) -> Tensor:
    several, outputs = _outputs(output, where, strict)
    if several or outputs[0].numel() != 1:
        raise RuntimeError(
            f"The function given to {where} should return a single Tensor"
            if several
            else f"The Tensor returned by the function given to {where} should contain a single element"
        )
    return outputs[0]
