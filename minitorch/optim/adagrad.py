"""Adagrad: steps that shrink with the sum of the squared gradients so far (torch/optim/adagrad.py)."""

from typing import Any

import numpy as np

from ..ops.elementwise import sqrt
from ..tensor import Tensor, wrap
from .optimizer import check, check_fused, check_lr, scalar
from .per_parameter import PerParameter

__all__ = ["Adagrad", "adagrad"]


def adagrad(param, grad, sum, *, step, lr, lr_decay, eps, weight_decay):
    """J. Duchi, E. Hazan, Y. Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization",
    JMLR 12, 2011; http://jmlr.org/papers/v12/duchi11a.html"""
    if weight_decay != 0:
        grad = grad + weight_decay * param
    lr = lr / (1 + (step - 1) * lr_decay)
    sum = sum + grad * grad
    return param - lr * (grad / (sqrt(sum) + eps)), sum


class Adagrad(PerParameter):
    """Adagrad, with an optional decay of the learning rate by `1 / (1 + lr_decay * steps)`."""

    update = staticmethod(adagrad)
    moments = ("sum",)
    options = ("lr", "lr_decay", "eps", "weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(lr_decay >= 0.0, "Invalid lr_decay value: {}", lr_decay)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        initial = initial_accumulator_value
        check(initial >= 0.0, "Invalid initial_accumulator_value value: {}", initial)
        check(eps >= 0.0, "Invalid epsilon value: {}", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:  # the others make their state at the first step
            for p in group["params"]:
                self.state[p] = self.initial(p, group)

    def initial(self, p: Tensor, group: dict) -> dict:
        value = self.defaults["initial_accumulator_value"]
        return {"step": scalar(0.0), "sum": wrap(np.full_like(p._array, value))}
