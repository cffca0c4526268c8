"""RMSprop: gradients over their recent root mean square (torch/optim/rmsprop.py)."""

from typing import Any

from ..ops.elementwise import sqrt
from ..tensor import Tensor
from .optimizer import check, check_lr, scalar
from .per_parameter import PerParameter, zeros_like

__all__ = ["RMSprop", "rmsprop"]


def rmsprop(
    param, grad, square_avg, momentum_buffer, grad_avg, *, step, lr, alpha, eps, weight_decay, momentum, centered
):
    """G. Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012;
    https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf

    `centered`: A. Graves, "Generating Sequences With Recurrent Neural Networks", 2013, equations 38 to 45 (which add
    epsilon before they take the root); https://arxiv.org/abs/1308.0850"""
    if weight_decay != 0:
        grad = grad + weight_decay * param
    square_avg = alpha * square_avg + (1 - alpha) * grad * grad
    variance = square_avg
    if centered:
        grad_avg = grad_avg + (1 - alpha) * (grad - grad_avg)
        variance = square_avg - grad_avg * grad_avg
    update = grad / (sqrt(variance) + eps)
    if momentum > 0:
        update = momentum_buffer = momentum * momentum_buffer + update
    return param - lr * update, square_avg, momentum_buffer, grad_avg


class RMSprop(PerParameter):
    """RMSprop, with optional momentum; `centered` divides by the standard deviation instead."""

    update = staticmethod(rmsprop)
    moments = ("square_avg", "momentum_buffer", "grad_avg")
    options = ("lr", "alpha", "eps", "weight_decay", "momentum", "centered")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, "Invalid epsilon value: {}", eps)
        check(momentum >= 0.0, "Invalid momentum value: {}", momentum)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        check(alpha >= 0.0, "Invalid alpha value: {}", alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def initial(self, p: Tensor, group: dict) -> dict:
        state = {"step": scalar(0.0), "square_avg": zeros_like(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)
        return state
