"""NAdam: Adam that looks ahead (torch/optim/nadam.py)."""

from typing import Any

from ..ops.elementwise import sqrt
from ..tensor import Tensor
from .optimizer import check, check_betas, check_lr, scalar
from .per_parameter import PerParameter, zeros_like

__all__ = ["NAdam", "nadam"]


def nadam(
    param, grad, exp_avg, exp_avg_sq, mu_product, *, step, lr, betas, eps, weight_decay, momentum_decay,
    decoupled_weight_decay,
):
    """T. Dozat, "Incorporating Nesterov Momentum into Adam", ICLR workshop 2016;
    https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ

    `mu_product` is the product of the momenta mu of all steps so far, in the precision in which the state keeps it."""
    beta1, beta2 = betas
    if weight_decay != 0:
        if decoupled_weight_decay:
            param = param * (1 - lr * weight_decay)
        else:
            grad = grad + weight_decay * param
    mu = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
    mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
    mu_product = mu_product * mu
    product = float(mu_product)
    exp_avg = exp_avg + (1 - beta1) * (grad - exp_avg)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    denom = sqrt(exp_avg_sq / (1 - beta2**step)) + eps
    param = param - lr * (1 - mu) / (1 - product) * (grad / denom)
    param = param - lr * mu_next / (1 - product * mu_next) * (exp_avg / denom)
    return param, exp_avg, exp_avg_sq, mu_product


class NAdam(PerParameter):
    """Adam with Nesterov momentum, which grows to beta1 at the pace of `momentum_decay`."""

    update = staticmethod(nadam)
    moments = ("exp_avg", "exp_avg_sq")
    scalars = ("mu_product",)
    options = ("lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        check(momentum_decay >= 0.0, "Invalid momentum_decay value: {}", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def initial(self, p: Tensor, group: dict) -> dict:
        return {
            "step": scalar(0.0), "mu_product": scalar(1.0), "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)
        }
