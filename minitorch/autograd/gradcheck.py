"""Numeric checks of gradients (torch/autograd/gradcheck.py): analytic Jacobians against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .grad_mode import enable_grad, no_grad
from .variable import grad as _grad


class GradcheckError(RuntimeError):
    """A gradient is not what the finite differences say."""


def _tensors(x: Any) -> list:
    found = []
    for item in x if isinstance(x, (tuple, list)) else (x,):
        if isinstance(item, (tuple, list)):
            found.extend(_tensors(item))
        elif isinstance(item, Tensor):
            found.append(item)
    return found


def _call(func: Callable, inputs: tuple) -> list:
    return [o for o in _tensors(func(*inputs)) if o.dtype.is_floating_point]


def _numeric(func: Callable, inputs: tuple, x: Tensor, eps: float) -> list[np.ndarray]:
    """For each output the matrix (x.numel(), output.numel()) of central differences."""
    columns: list[list] = []
    flat_index = list(np.ndindex(x._array.shape))
    with no_grad():
        for index in flat_index:
            before = x._array[index].copy()
            x._array[index] = before + eps
            plus = [o._array.astype(np.float64).ravel().copy() for o in _call(func, inputs)]
            x._array[index] = before - eps
            minus = [o._array.astype(np.float64).ravel().copy() for o in _call(func, inputs)]
            x._array[index] = before
            columns.append([(a - b) / (2 * eps) for a, b in zip(plus, minus, strict=True)])
    with no_grad():
        sizes = [o.numel() for o in _call(func, inputs)]
    return [
        np.stack([c[k] for c in columns]) if columns else np.zeros((0, n)) for k, n in enumerate(sizes)
    ]


def _analytic(output: Tensor, x: Tensor, nondet_tol: float) -> np.ndarray:
    """The same matrix, one backward pass per element of the output."""
    matrix = np.zeros((x.numel(), output.numel()))
    for k in range(output.numel()):
        cotangent = np.zeros(output.numel(), output._array.dtype)
        cotangent[k] = 1
        columns = []
        for _ in range(2):
            (g,) = _grad(
                output, x, wrap(cotangent.reshape(output._array.shape).copy()), retain_graph=True, allow_unused=True
            )
            if g is not None:
                if g.shape != x.shape:
                    raise GradcheckError(f"the gradient has shape {list(g.shape)}, its input {list(x.shape)}")
                if g.dtype is not x.dtype:
                    raise GradcheckError(f"the gradient has dtype {g.dtype}, its input {x.dtype}")
            columns.append(np.zeros(x.numel()) if g is None else g._array.astype(np.float64).ravel())
        if np.abs(columns[0] - columns[1]).max(initial=0) > nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                "different values, although analytical gradient matches numerical gradient. The tolerance for "
                f"nondeterminism was {nondet_tol}."
            )
        matrix[:, k] = columns[0]
    return matrix


def _describe(i: int, k: int, numeric: np.ndarray, analytic: np.ndarray, x: Tensor, atol: float, rtol: float) -> str:
    wrong = ~np.isclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True)
    rows = [
        f"Jacobian mismatch for output {i} with respect to input {k},",
        f"numerical:{numeric}\nanalytical:{analytic}\n",
        f"{int(wrong.sum())} of {wrong.size} entries differ by more than atol={atol}, rtol={rtol}:",
        "  input element   output element        numerical       analytical       difference",
    ]
    for a, b in list(np.argwhere(wrong))[:10]:
        place = tuple(int(n) for n in np.unravel_index(a, x._array.shape)) if x.dim() else ()
        rows.append(
            f"  {place!s:14}  {int(b):14d}  {numeric[a, b]:15.8g}  {analytic[a, b]:15.8g}  "
            f"{analytic[a, b] - numeric[a, b]:15.3g}"
        )
    return "\n".join(rows)


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` at `inputs` with central differences of step `eps`.

    True when all entries agree within atol + rtol * |numeric|; else GradcheckError, which shows which output, input and
    entries disagree and by how much (or False, without `raise_exception`). Inputs should be float64."""
    try:
        return _gradcheck(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _gradcheck(
    func: Callable, inputs: Any, eps: float, atol: float, rtol: float, nondet_tol: float, undefined: bool
) -> bool:
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [t for t in _tensors(inputs) if t.dtype.is_floating_point and t.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for i, t in enumerate(checked):
        if t.dtype.name != "float64":
            import warnings

            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if 0 in t._array.strides and t.numel() > 1 and any(
            s == 0 and n > 1 for s, n in zip(t._array.strides, t._array.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    with enable_grad():
        outputs = _call(func, inputs)
    live = [o for o in outputs if o.requires_grad]
    if not live:
        for k, x in enumerate(checked):
            for numeric in _numeric(func, inputs, x, eps):
                if np.abs(numeric).max(initial=0) > atol:
                    raise GradcheckError(f"Numerical gradient for function expected to be zero (input {k})")
        return True
    for k, x in enumerate(checked):
        numerics = _numeric(func, inputs, x, eps)
        for i, (o, numeric) in enumerate(zip(outputs, numerics, strict=True)):
            analytic = _analytic(o, x, nondet_tol) if o.requires_grad else np.zeros_like(numeric)
            if not np.allclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(_describe(i, k, numeric, analytic, x, atol, rtol))
    if undefined:
        _check_undefined(live, checked)
    return True


def _check_undefined(outputs: list, inputs: list) -> None:
    """A gradient that never arrived must count as zero."""
    for o in outputs:
        zeros = o.detach() * 0
        for g in _grad(o, inputs, zeros, retain_graph=True, allow_unused=True):
            if g is not None and np.abs(g._array).max(initial=0) != 0:
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads. Please look at 'Notes about "
                    "undefined output gradients' in 'tools/autograd/derivatives.yaml'"
                )


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients themselves: second derivatives, by inputs and by `grad_outputs` (random by default)."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with enable_grad():
        outputs = [o for o in _call(func, inputs) if o.requires_grad]
    if grad_outputs is None:
        cotangents = [o.detach().clone().uniform_(-1, 1).requires_grad_() for o in outputs]
    else:
        cotangents = _tensors(grad_outputs)
    count = len(inputs)

    def gradients(*args: Any) -> tuple:
        xs, vs = args[:count], args[count:]
        with enable_grad():
            leaves = [t for t in _tensors(xs) if t.dtype.is_floating_point and t.requires_grad]
            results = [o for o in _call(func, xs) if o.requires_grad]
            found = _grad(results, leaves, list(vs), create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients, (*inputs, *cotangents), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
    )
