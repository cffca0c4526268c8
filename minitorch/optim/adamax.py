"""Adamax: Adam with the largest gradient for a denominator (torch/optim/adamax.py)."""

from typing import Any

from ..ops.elementwise import maximum
from ..tensor import Tensor
from .optimizer import check, check_betas, check_lr
from .per_parameter import PerParameter

__all__ = ["Adamax", "adamax"]


def adamax(param, grad, exp_avg, exp_inf, *, step, lr, betas, eps, weight_decay):
    """D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 2;
    https://arxiv.org/abs/1412.6980"""
    beta1, beta2 = betas
    if weight_decay != 0:
        grad = grad + weight_decay * param
    exp_avg = exp_avg + (1 - beta1) * (grad - exp_avg)
    exp_inf = maximum(beta2 * exp_inf, abs(grad) + eps)
    return param - lr / (1 - beta1**step) * (exp_avg / exp_inf), exp_avg, exp_inf


class Adamax(PerParameter):
    """Adamax, Adam's variant in the infinity norm."""

    update = staticmethod(adamax)
    moments = ("exp_avg", "exp_inf")
    options = ("lr", "betas", "eps", "weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }
        super().__init__(params, defaults)
