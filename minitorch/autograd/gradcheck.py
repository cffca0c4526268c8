"""Numeric checks of gradients (torch/autograd/gradcheck.py): analytic Jacobians against central differences.

The slow way compares whole Jacobians, entry by entry; the fast one only u^T J v for random u and v. Both fail with a
message that shows which output and input disagree, the numeric and the analytic Jacobian, and the worst entries.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .function import Function
from .grad_mode import enable_grad, no_grad
from .variable import grad as _grad


class GradcheckError(RuntimeError):
    """A gradient is not what the finite differences say."""


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
    entries disagree and by how much (or False, without `raise_exception`). Inputs should be float64. nondet_tol: by how
    much two backward passes may differ. check_undefined_grad: also pass gradients that never arrived.
    check_grad_dtypes: gradients must have the dtype of their inputs. fast_mode: compare projections only."""
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_forward_ad or check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError(
            "check_forward_ad and check_batched_grad need forward-mode differentiation and vmap, which minitorch does "
            "not have"
        )
    given = _as_tuple(inputs)
    options = (eps, atol, rtol, nondet_tol)
    try:
        checked = _check_inputs(given)
        outputs = _differentiable(func(*given))
        _check_outputs(func, given, checked, outputs, eps, fast_mode)
        if any(o.requires_grad for o in outputs):
            (_fast if fast_mode else _slow)(func, given, checked, outputs, *options)
            if check_grad_dtypes:
                _check_dtypes(outputs, checked)
            if check_undefined_grad:
                _check_undefined(func, given, checked)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _as_tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(outputs: Any) -> list:
    return [o for o in _as_tuple(outputs) if isinstance(o, Tensor) and o.dtype.is_floating_point]


def _check_inputs(inputs: tuple) -> list:
    """The inputs to differentiate by."""
    checked = []
    for i, t in enumerate(inputs):
        if not (isinstance(t, Tensor) and t.requires_grad):
            continue
        checked.append(t)
        if t.dtype.name != "float64":
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if t.numel() and any(s == 0 and n > 1 for s, n in zip(t._array.strides, t._array.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for t in checked:
        t.retain_grad()
    return checked


def _check_outputs(func: Callable, inputs: tuple, checked: list, outputs: list, eps: float, fast: bool) -> None:
    """Where no output requires grad, nothing may depend on the inputs."""
    if any(o.requires_grad for o in outputs):
        return
    for x in checked:
        for numeric in _numeric(func, inputs, x, eps):
            if np.abs(numeric).max(initial=0) > 0:
                raise GradcheckError("Numerical gradient for function expected to be zero")


# ---- Jacobians: matrices (elements of the input, elements of the output) ----------------------------------------------


def _values(func: Callable, inputs: tuple) -> list[np.ndarray]:
    return [o._array.astype(np.float64).ravel() for o in _differentiable(func(*inputs))]


def _difference(func: Callable, inputs: tuple, x: Tensor, step: Any, eps: float) -> list[np.ndarray]:
    """For each output its central difference, the input moved to and fro by `step`."""
    array, before = x._array, x._array.copy()
    with no_grad():
        try:
            array[...] = before + step
            plus = _values(func, inputs)
            array[...] = before - step
            minus = _values(func, inputs)
        finally:
            array[...] = before
    return [(a - b) / (2 * eps) for a, b in zip(plus, minus, strict=True)]


def _numeric(func: Callable, inputs: tuple, x: Tensor, eps: float) -> list[np.ndarray]:
    rows = []
    for index in np.ndindex(x._array.shape):
        step = np.zeros(x._array.shape)
        step[index] = eps
        rows.append(_difference(func, inputs, x, step, eps))
    if not rows:
        return [np.zeros((0, o.size)) for o in _values(func, inputs)]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _pull(output: Tensor, x: Tensor, cotangent: np.ndarray) -> np.ndarray:
    """The gradient of <output, cotangent>, flat."""
    array = cotangent.reshape(output._array.shape).astype(output._array.dtype)
    (g,) = _grad(output, x, wrap(array), retain_graph=True, allow_unused=True)
    return np.zeros(x.numel()) if g is None else g._array.astype(np.float64).ravel()


def _pull_twice(output: Tensor, x: Tensor, cotangent: np.ndarray, nondet_tol: float) -> np.ndarray:
    first, second = (_pull(output, x, cotangent) for _ in range(2))
    if np.abs(first - second).max(initial=0) > nondet_tol:
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient. The tolerance for "
            f"nondeterminism was {nondet_tol}."
        )
    return first


def _analytic(output: Tensor, x: Tensor, nondet_tol: float) -> np.ndarray:
    if not output.requires_grad:
        return np.zeros((x.numel(), output.numel()))
    columns = [_pull_twice(output, x, row, nondet_tol) for row in np.eye(output.numel())]
    return np.stack(columns, 1) if columns else np.zeros((x.numel(), 0))


def _slow(
    func: Callable, inputs: tuple, checked: list, outputs: list, eps: float, atol: float, rtol: float, nondet_tol: float
) -> None:
    for k, x in enumerate(checked):
        for i, (o, numeric) in enumerate(zip(outputs, _numeric(func, inputs, x, eps), strict=True)):
            analytic = _analytic(o, x, nondet_tol)
            if not np.allclose(analytic, numeric, rtol=rtol, atol=atol):
                raise GradcheckError(_describe(i, k, numeric, analytic, x, o, atol, rtol))


def _fast(
    func: Callable, inputs: tuple, checked: list, outputs: list, eps: float, atol: float, rtol: float, nondet_tol: float
) -> None:
    draw = np.random.default_rng(0)
    for k, x in enumerate(checked):
        u = draw.random(x._array.shape)
        u /= np.linalg.norm(u) or 1
        for i, (o, moved) in enumerate(zip(outputs, _difference(func, inputs, x, u * eps, eps), strict=True)):
            v = draw.random(o.numel())
            v /= np.linalg.norm(v) or 1
            numeric = moved @ v
            analytic = _pull_twice(o, x, v, nondet_tol) @ u.ravel() if o.requires_grad else 0.0
            # an error of atol in every entry of the Jacobian may add up to this
            if not np.allclose(analytic, numeric, rtol=rtol, atol=atol * np.abs(u).sum() * np.abs(v).sum()):
                whole = _numeric(func, inputs, x, eps)[i]
                raise GradcheckError(
                    _describe(i, k, whole, _analytic(o, x, np.inf), x, o, atol, rtol)
                    + f"\n\nIn fast mode the projections u^T J v were compared: numerical {numeric}, analytical {analytic}."
                )


def _describe(
    i: int, k: int, numeric: np.ndarray, analytic: np.ndarray, x: Tensor, o: Tensor, atol: float, rtol: float
) -> str:
    from .. import printing  # noqa: F401  (prints the Jacobians)

    wrong = ~np.isclose(analytic, numeric, rtol=rtol, atol=atol)
    rows = [
        f"Jacobian mismatch for output {i} with respect to input {k},",
        f"numerical:{wrap(numeric)}\nanalytical:{wrap(analytic)}\n",
        f"{int(wrong.sum())} of {wrong.size} entries differ by more than atol={atol}, rtol={rtol}:",
        "  input element   output element        numerical       analytical       difference",
    ]
    for a, b in sorted(np.argwhere(wrong).tolist(), key=lambda ab: -abs(analytic[*ab] - numeric[*ab]))[:10]:
        places = [str(tuple(int(n) for n in np.unravel_index(n, t._array.shape))) for n, t in ((a, x), (b, o))]
        rows.append(
            f"  {places[0]:14}  {places[1]:>14}  {numeric[a, b]:15.8g}  {analytic[a, b]:15.8g}  "
            f"{analytic[a, b] - numeric[a, b]:15.3g}"
        )
    return "\n".join(rows)


# ---- gradients that never arrive, dtypes ------------------------------------------------------------------------------


class _Undefined(Function):
    """The identity, whose gradient never arrives."""

    @staticmethod
    def forward(ctx: Any, *outputs: Tensor) -> tuple:
        return tuple([o.clone() for o in outputs])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        return (None,) * len(grads)


def _check_undefined(func: Callable, inputs: tuple, checked: list) -> None:
    """Gradients that never arrived must count as zero: all of them, and each beside others that are zero."""
    outputs = [o for o in _differentiable(func(*inputs)) if o.requires_grad]
    subjects = [range(len(outputs)), *([n] for n in range(len(outputs)) if len(outputs) > 1)]
    for missing in subjects:
        given = [_Undefined.apply(o)[0] if n in missing else o for n, o in enumerate(outputs)]
        zeros = [o.detach() * 0 for o in outputs]
        try:
            found = _grad(given, checked, zeros, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            _warn_of_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined "
                "output gradients' in 'tools/autograd/derivatives.yaml'"
            ) from error
        if any(g is not None and np.abs(g._array).max(initial=0) != 0 for g in found):
            _warn_of_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please "
                "look at 'Notes about undefined output gradients' in 'tools/autograd/derivatives.yaml'"
            )


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
        'existing callers of this function. If this is true for you, you can call this function with "check_undefined_grad='
        'False" to disable the feature',
        stacklevel=4,
    )


def _check_dtypes(outputs: list, checked: list) -> None:
    live = [o for o in outputs if o.requires_grad]
    for g, x in zip(_grad(live, checked, [o.detach() for o in live], True, allow_unused=True), checked, strict=True):
        if g is not None and g.dtype is not x.dtype:
            raise GradcheckError(f"Gradient has dtype mismatch: expected {x.dtype}, got {g.dtype}")


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
    """gradcheck of the gradients themselves: second derivatives, by inputs and by `grad_outputs` (random by default).

    gen_non_contig_grad_outputs: the random ones are not contiguous. The rest as for gradcheck."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    given = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = [o for o in _differentiable(func(*given)) if o.requires_grad]
        cotangents = tuple([_random_like(o, gen_non_contig_grad_outputs) for o in outputs])
    else:
        cotangents = _as_tuple(grad_outputs)
    count = len(given)

    def gradients(*args: Any) -> tuple:
        xs, vs = args[:count], args[count:]
        with enable_grad():
            leaves = [t for t in xs if isinstance(t, Tensor) and t.requires_grad]
            results = [o for o in _differentiable(func(*xs)) if o.requires_grad]
            found = _grad(results, leaves, list(vs), create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients, (*given, *cotangents), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode, masked=masked,
    )


def _random_like(output: Tensor, scattered: bool) -> Tensor:
    if scattered and output.numel():
        wide = output.detach().new_empty((*output.shape, 2)).uniform_(-1, 1)
        return wide.select(-1, 1).requires_grad_()
    return output.detach().clone().uniform_(-1, 1).requires_grad_()
