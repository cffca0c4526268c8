"""Adadelta: steps in the units of the parameter (torch/optim/adadelta.py)."""

from typing import Any

from ..ops.elementwise import sqrt
from ..tensor import Tensor
from .optimizer import check, check_lr
from .per_parameter import PerParameter

__all__ = ["Adadelta", "adadelta"]


def adadelta(param, grad, square_avg, acc_delta, *, step, lr, rho, eps, weight_decay):
    """M. Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012, algorithm 1; https://arxiv.org/abs/1212.5701"""
    if weight_decay != 0:
        grad = grad + weight_decay * param
    square_avg = rho * square_avg + (1 - rho) * grad * grad
    delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad
    acc_delta = rho * acc_delta + (1 - rho) * delta * delta
    return param - lr * delta, square_avg, acc_delta


class Adadelta(PerParameter):
    """Adadelta. With `lr=1` the steps are the paper's, which knows no learning rate."""

    update = staticmethod(adadelta)
    moments = ("square_avg", "acc_delta")
    options = ("lr", "rho", "eps", "weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= rho <= 1.0, "Invalid rho value: {}", rho)
        check(eps >= 0.0, "Invalid epsilon value: {}", eps)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }
        super().__init__(params, defaults)
