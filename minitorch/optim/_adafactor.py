"""Adafactor: second moments from row and column sums (torch/optim/_adafactor.py)."""

from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor, wrap
from .optimizer import check, check_lr, scalar
from .per_parameter import PerParameter, zeros_like

__all__ = ["Adafactor", "adafactor"]


def adafactor(param, grad, row_var, col_var, variance, *, step, lr, beta2_decay, eps, d, weight_decay):
    """N. Shazeer, M. Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", ICML 2018, algorithms 4
    and 5; https://arxiv.org/abs/1804.04235

    Unlike in the paper, `lr` bounds the relative step size and scales the (decoupled) weight decay, means stand for
    sums, and epsilon1 enters the denominators instead of the squared gradients."""
    eps1, eps2 = eps
    gain = step**beta2_decay  # 1 - beta2
    alpha = max(eps2, _rms(param)) * min(lr, 1 / step**0.5)
    if weight_decay != 0:
        param = param * (1 - lr * weight_decay)
    squared = grad * grad
    if grad.ndim > 1:
        row_var = row_var + gain * (squared.mean(-1, keepdims=True) - row_var)
        col_var = col_var + gain * (squared.mean(-2, keepdims=True) - col_var)
        estimate = row_var @ col_var / np.maximum(row_var.mean(-2, keepdims=True), eps1)
    else:
        estimate = variance = variance + gain * (squared - variance)
    update = grad / np.sqrt(np.maximum(estimate, eps1 * eps1))
    param = param - alpha / max(1.0, _rms(update) / d) * update
    return param, row_var, col_var, variance


def _rms(x):
    """The root mean square of all elements."""
    return float(np.sqrt((x * x).mean())) if x.size else float("nan")


class Adafactor(PerParameter):
    """Adafactor: for matrices, row and column means of the squared gradients in the place of Adam's second moment.

    `eps` is (epsilon1, epsilon2); None for the first stands for the rounding error of the parameter's dtype. `d` is the
    size of update, in root mean square, from which updates are clipped."""

    update = staticmethod(adafactor)
    moments = ("row_var", "col_var", "variance")
    options = ("lr", "beta2_decay", "eps", "d", "weight_decay")
    elementwise = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(beta2_decay <= 0.0, "beta2_decay should be <= 0 but is: {}", beta2_decay)
        check(eps[0] is None or eps[0] >= 0.0, "epsilon1 should be >= 0 but is: {}", eps[0])
        check(eps[1] >= 0.0, "epsilon2 should be >= 0 but is: {}", eps[1])
        check(d >= 1.0, "Clipping threshold d should be >= 1 but is: {}", d)
        check(weight_decay >= 0.0, "weight_decay should be >= 0 but is: {}", weight_decay)
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def initial(self, p: Tensor, group: dict) -> dict:
        if p.ndim < 2:
            return {"step": scalar(0.0), "variance": zeros_like(p)}
        rows, columns = p._array[..., :1], p._array[..., :1, :]
        return {"step": scalar(0.0), "row_var": wrap(np.zeros_like(rows)), "col_var": wrap(np.zeros_like(columns))}

    def _apply(self, row: list, maximize: bool, scalars: list, options: dict) -> Any:
        eps1, eps2 = options["eps"]
        if eps1 is None:
            eps1 = dtypes.finfo(dtypes.of(row[1])).eps
        return super()._apply(row, maximize, scalars, {**options, "eps": (eps1, eps2)})
