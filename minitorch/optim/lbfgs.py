"""L-BFGS: a quasi-Newton method with a limited memory (torch/optim/lbfgs.py).

All parameters together are one vector here, and a step is a whole minimisation of up to `max_iter` iterations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..tensor import Tensor, wrap
from .optimizer import Optimizer, check, check_lr

__all__ = ["LBFGS"]


def lbfgs_direction(grad, changes, steps, ro, scale, al):
    """The direction of descent -H grad, H the approximation of the inverse Hessian that starts from `scale` times the
    identity and has learnt from the latest `steps` of the parameters and `changes` of the gradient.

    J. Nocedal, "Updating Quasi-Newton Matrices with Limited Storage", Math. Comp. 35, 1980; Nocedal and Wright,
    "Numerical Optimization", 2nd ed., algorithm 7.4. `ro` is 1 / (change . step) of each pair; `al` is filled."""
    q = -grad
    for i in reversed(range(len(steps))):
        al[i] = steps[i].dot(q) * ro[i]
        q = q - al[i] * changes[i]
    r = q * scale
    for i in range(len(steps)):
        beta = changes[i].dot(r) * ro[i]
        r = r + (al[i] - beta) * steps[i]
    return r


def cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum, within bounds, of the cubic that has the values f and slopes g at x1 and x2 (Nocedal and Wright,
    equation 3.59); the middle of the bounds where it has none."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = np.sqrt(square)
    if x1 <= x2:
        x = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        x = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(x, low), high)


def strong_wolfe(evaluate, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """A step length that satisfies the strong Wolfe conditions: the function falls by at least `c1` of what the slope
    `gtd` at the start promises, and the slope to at most `c2` of it.

    Nocedal and Wright, algorithms 3.5 (bracket) and 3.6 (zoom), as in M. Schmidt's minFunc. `evaluate(t)` gives value
    and gradient at distance t along the direction `d`; `f` and `g` are those at 0. Returns value, gradient, t and the
    number of evaluations, at most `max_ls` after the first."""
    d_norm = np.abs(d).max()

    def point(t):  # a point of the search: position, value, gradient, slope
        f, g = evaluate(t)
        return t, f, g, g.dot(d)

    def too_high(new):  # Armijo's condition fails
        return new[1] > f + c1 * new[0] * gtd

    def flat(new):  # the condition on the slope holds
        return abs(new[3]) <= -c2 * gtd

    def lower(first, second):  # the index, in a bracket, of its lower end; `not` it is that of the other
        return not first[1] <= second[1]

    # Go on, ever further, until a bracket is known to hold such a point.
    previous, new = (0, f, g, gtd), point(t)
    iterations, evaluations, done = 0, 1, False
    while iterations < max_ls:
        if too_high(new) or (iterations > 1 and new[1] >= previous[1]):
            bracket = [previous, new]
            break
        if flat(new):
            bracket, done = [new, new], True
            break
        if new[3] >= 0:
            bracket = [previous, new]
            break
        bounds = (t + 0.01 * (t - previous[0]), t * 10)
        t = cubic_interpolate(previous[0], previous[1], previous[3], t, new[1], new[3], bounds)
        previous, new = new, point(t)
        iterations += 1
        evaluations += 1
    else:
        bracket = [(0, f, g, gtd), new]

    # Zoom: shrink the bracket around it.
    stuck = False
    low = lower(*bracket)
    while not done and iterations < max_ls:
        first, second = bracket
        left, right = first[0], second[0]
        if abs(right - left) * d_norm < tolerance_change:
            break
        t = cubic_interpolate(first[0], first[1], first[3], second[0], second[1], second[3])
        # A point close to an end of the bracket is no progress; twice in a row, or at the very end, step away from it.
        nearest, furthest = min(left, right), max(left, right)
        margin = 0.1 * (furthest - nearest)
        if min(furthest - t, t - nearest) < margin:
            if stuck or t >= furthest or t <= nearest:
                t = furthest - margin if abs(t - furthest) < abs(t - nearest) else nearest + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = point(t)
        iterations += 1
        evaluations += 1
        if too_high(new) or new[1] >= bracket[low][1]:
            bracket[not low] = new
            low = lower(*bracket)
        else:
            if flat(new):
                done = True
            elif new[3] * (bracket[not low][0] - bracket[low][0]) >= 0:
                bracket[not low] = bracket[low]
            bracket[low] = new

    t, f, g, _ = bracket[low]
    return f, g, t, evaluations


class LBFGS(Optimizer):
    """L-BFGS, with fixed steps of `lr` or, with `line_search_fn="strong_wolfe"`, a line search.

    `step` needs a closure, and calls it up to `max_eval` times (by default 5/4 `max_iter`). It ends early where no
    gradient exceeds `tolerance_grad` or neither loss nor parameters change by `tolerance_change`. There can be one
    group of parameters only; the memory is `history_size` pairs of vectors as long as all of them together."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        check(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list:
        return self.param_groups[0]["params"]

    def _flat_grad(self) -> np.ndarray:
        grads = [np.zeros_like(p._array) if p._grad is None else p._grad._array for p in self._params]
        return np.concatenate([grad.reshape(-1) for grad in grads])

    def _move(self, t: float, d: np.ndarray) -> None:
        """Add `t` times the vector `d` to the parameters."""
        end = 0
        for p in self._params:
            start, end = end, end + p._array.size
            p._array[...] += t * d[start:end].reshape(p._array.shape)
            p._bump()

    def step(self, closure: Callable) -> Any:  # type: ignore[override]
        """Minimise, starting from the present parameters. Returns the loss there."""
        group = self.param_groups[0]
        lr = group["lr"]
        if isinstance(lr, Tensor):
            lr = lr._array.reshape(())[()]
        max_iter, max_eval, history_size = group["max_iter"], group["max_eval"], group["history_size"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        line_search_fn = group["line_search_fn"]
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

        def evaluate() -> Any:
            with enable_grad():
                loss = closure()
            return loss, float(loss), self._flat_grad()

        # The state belongs to all parameters; it is kept under the first so that it is saved and cast with it.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        orig_loss, loss, flat_grad = evaluate()
        evals = 1
        state["func_evals"] += 1
        if np.abs(flat_grad).max() <= tolerance_grad:
            return orig_loss

        names = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
        d, t, old_dirs, old_stps, ro, H_diag, prev_flat_grad, prev_loss = [_values(state.get(name)) for name in names]
        for n_iter in range(1, max_iter + 1):
            state["n_iter"] += 1

            # the direction
            if state["n_iter"] == 1:
                d, old_dirs, old_stps, ro, H_diag = -flat_grad, [], [], [], 1
            else:
                y, s = flat_grad - prev_flat_grad, d * t
                ys = y.dot(s)
                if ys > 1e-10:  # else the pair says nothing of a convex function
                    if len(old_dirs) == history_size:
                        for memory in (old_dirs, old_stps, ro):
                            memory.pop(0)
                    old_dirs.append(y)
                    old_stps.append(s)
                    ro.append(1.0 / ys)
                    H_diag = ys / y.dot(y)
                al = _values(state.get("al")) or [None] * history_size
                d = lbfgs_direction(flat_grad, old_dirs, old_stps, ro, H_diag, al)
                state["al"] = _tensors(al)
            prev_flat_grad, prev_loss = flat_grad, loss

            # the length of the step
            t = min(1.0, 1.0 / np.abs(flat_grad).sum()) * lr if state["n_iter"] == 1 else lr
            gtd = flat_grad.dot(d)
            if gtd > -tolerance_change:
                break
            more = 0
            if line_search_fn is not None:
                start = [p._array.copy() for p in self._params]

                def along(t: float, d: np.ndarray = d, start: list = start) -> tuple:
                    self._move(t, d)
                    _, loss, flat_grad = evaluate()
                    for p, array in zip(self._params, start, strict=True):
                        p._array[...] = array
                        p._bump()
                    return loss, flat_grad

                loss, flat_grad, t, more = strong_wolfe(along, t, d, loss, flat_grad, gtd, max_ls=max_eval - evals)
                self._move(t, d)
            else:
                self._move(t, d)
                if n_iter != max_iter:  # the next call of step evaluates anyway, on its own data
                    _, loss, flat_grad = evaluate()
                    more = 1
            evals += more
            state["func_evals"] += more

            if (
                evals >= max_eval
                or np.abs(flat_grad).max() <= tolerance_grad
                or np.abs(d * t).max() <= tolerance_change
                or abs(loss - prev_loss) < tolerance_change
            ):
                break

        values = (d, t, old_dirs, old_stps, ro, H_diag, prev_flat_grad, prev_loss)
        state.update(zip(names, map(_tensors, values), strict=True))
        return orig_loss


def _values(state: Any) -> Any:
    """Entries of the state as arrays and NumPy scalars."""
    if isinstance(state, list):
        return [_values(entry) for entry in state]
    return state._array[()] if isinstance(state, Tensor) else state


def _tensors(values: Any) -> Any:
    """The inverse: arrays and NumPy scalars as Tensors."""
    if isinstance(values, list):
        return [_tensors(entry) for entry in values]
    return wrap(np.asarray(values)) if isinstance(values, np.ndarray | np.generic) else values
