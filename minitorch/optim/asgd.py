"""ASGD: gradient descent that also keeps the average of its path (torch/optim/asgd.py)."""

from typing import Any

from ..tensor import Tensor
from .optimizer import check, check_lr, scalar
from .per_parameter import PerParameter, zeros_like

__all__ = ["ASGD", "asgd"]


def asgd(param, grad, ax, eta, mu, *, step, lr, lambd, alpha, t0, weight_decay):
    """B. Polyak, A. Juditsky, "Acceleration of Stochastic Approximation by Averaging", SIAM J. Control Optim. 30, 1992;
    with the rates of L. Bottou, "Large-Scale Machine Learning with Stochastic Gradient Descent", COMPSTAT 2010.

    `ax` is the average of the path after step `t0`, `eta` the rate of this step, `mu` the weight of this point."""
    eta, mu = float(eta), float(mu)
    if weight_decay != 0:
        grad = grad + weight_decay * param
    param = param * (1 - lambd * eta) - eta * grad
    ax = ax + mu * (param - ax) if mu != 1 else param
    eta = lr / (1 + lambd * lr * step) ** alpha
    mu = 1 / max(1, step - t0)
    return param, ax, scalar(eta), scalar(mu)  # rounded to the default dtype, even where a checkpoint made them float64


class ASGD(PerParameter):
    """Averaged stochastic gradient descent. The average lies in the state, under "ax"."""

    update = staticmethod(asgd)
    moments = ("ax",)
    scalars = ("eta", "mu")
    options = ("lr", "lambd", "alpha", "t0", "weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }
        super().__init__(params, defaults)

    def initial(self, p: Tensor, group: dict) -> dict:
        return {"step": scalar(0.0), "eta": scalar(float(group["lr"])), "mu": scalar(1.0), "ax": zeros_like(p)}
