"""Adam: steps scaled by running moments of the gradient (torch/optim/adam.py)."""

from typing import Any

from ..kernels import optim as kernels
from ..ops.elementwise import maximum, sqrt
from ..tensor import Tensor
from .optimizer import check, check_betas, check_fused, check_lr
from .per_parameter import PerParameter

__all__ = ["Adam", "adam"]


def adam(
    param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, *, step, lr, betas, eps, weight_decay, amsgrad,
    decoupled_weight_decay,
):
    """D. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015; https://arxiv.org/abs/1412.6980

    `amsgrad`: S. Reddi, S. Kale, S. Kumar, "On the Convergence of Adam and Beyond", ICLR 2018;
    https://openreview.net/forum?id=ryQu7f-RZ. `decoupled_weight_decay` makes it AdamW: I. Loshchilov, F. Hutter,
    "Decoupled Weight Decay Regularization", ICLR 2019; https://arxiv.org/abs/1711.05101"""
    beta1, beta2 = betas
    if weight_decay != 0:
        if decoupled_weight_decay:
            param = param * (1 - lr * weight_decay)
        else:
            grad = grad + weight_decay * param
    exp_avg = exp_avg + (1 - beta1) * (grad - exp_avg)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * grad * grad
    second = exp_avg_sq
    if amsgrad:
        second = max_exp_avg_sq = maximum(max_exp_avg_sq, exp_avg_sq)
    bias_correction1 = 1 - beta1**step
    bias_correction2 = 1 - beta2**step
    denom = sqrt(second) / bias_correction2**0.5 + eps
    param = param - lr / bias_correction1 * (exp_avg / denom)
    return param, exp_avg, exp_avg_sq, max_exp_avg_sq


class Adam(PerParameter):
    """Adam; with `amsgrad`, a denominator that never shrinks; with `decoupled_weight_decay`, AdamW."""

    update = staticmethod(adam)
    kernel = staticmethod(kernels.adam)
    moments = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    options = ("lr", "betas", "eps", "weight_decay", "amsgrad", "decoupled_weight_decay")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        tensors = {"lr": lr, "betas[0]": betas[0], "betas[1]": betas[1]}
        tensors = {name: value for name, value in tensors.items() if isinstance(value, Tensor)}
        check(not ("lr" in tensors and foreach and not capturable), _NO_FOREACH, "lr")
        check_lr(lr)
        check(eps >= 0.0, "Invalid epsilon value: {}", eps)
        check_betas(betas)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        check(type(betas[0]) is float and type(betas[1]) is float or len(tensors) - ("lr" in tensors) == 2,
              "betas must be either both floats or both Tensors")
        for name, value in tensors.items():
            check(not foreach or capturable, _NO_FOREACH, name)
            check(value.numel() == 1,  # type: ignore[union-attr]
                  f"Tensor {name} must be 1-element")
        betas = tuple(b.squeeze() if isinstance(b, Tensor) and b.dim() else b for b in betas)  # type: ignore
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def initial(self, p: Tensor, group: dict) -> dict:
        state = super().initial(p, group)
        if not group["amsgrad"]:
            del state["max_exp_avg_sq"]
        return state


_NO_FOREACH = "{} as a Tensor is not supported for capturable=False and foreach=True"
