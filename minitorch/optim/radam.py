"""RAdam: Adam that waits until its denominator can be trusted (torch/optim/radam.py)."""

from typing import Any

from ..ops.elementwise import sqrt
from ..tensor import Tensor
from .optimizer import check, check_betas, check_lr
from .per_parameter import PerParameter

__all__ = ["RAdam", "radam"]


def radam(param, grad, exp_avg, exp_avg_sq, *, step, lr, betas, eps, weight_decay, decoupled_weight_decay):
    """L. Liu, H. Jiang, P. He, W. Chen, X. Liu, J. Gao, J. Han, "On the Variance of the Adaptive Learning Rate and
    Beyond", ICLR 2020, algorithm 2; https://arxiv.org/abs/1908.03265

    `rho` is the length of the simple moving average that the exponential one stands for."""
    beta1, beta2 = betas
    if weight_decay != 0:
        if decoupled_weight_decay:
            param = param * (1 - lr * weight_decay)
        else:
            grad = grad + weight_decay * param
    exp_avg = exp_avg + (1 - beta1) * (grad - exp_avg)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    bias_correction2 = 1 - beta2**step
    update = exp_avg / (1 - beta1**step)
    rho_inf = 2 / (1 - beta2) - 1
    rho = rho_inf - 2 * step * beta2**step / bias_correction2
    if rho > 5:
        rectification = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
        update = update * (bias_correction2**0.5 / (sqrt(exp_avg_sq) + eps)) * rectification
    return param - lr * update, exp_avg, exp_avg_sq


class RAdam(PerParameter):
    """Rectified Adam: plain momentum during the first steps, then Adam, eased in by a rectification."""

    update = staticmethod(radam)
    moments = ("exp_avg", "exp_avg_sq")
    options = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
