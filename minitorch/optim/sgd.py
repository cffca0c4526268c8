"""SGD: gradient descent, with momentum (torch/optim/sgd.py)."""

from typing import Any

from ..kernels import optim as kernels
from ..tensor import Tensor
from .optimizer import check, check_fused, check_lr
from .per_parameter import PerParameter

__all__ = ["SGD", "sgd"]


def sgd(param, grad, momentum_buffer, *, lr, momentum, dampening, weight_decay, nesterov):
    """I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the importance of initialization and momentum in deep
    learning", ICML 2013; http://www.cs.toronto.edu/~hinton/absps/momentum.pdf

    Unlike in the paper the learning rate multiplies the velocity, not the gradient that enters it, and the first
    velocity is the first gradient, undampened."""
    if weight_decay != 0:
        grad = grad + weight_decay * param
    if momentum != 0:
        if momentum_buffer is None:
            momentum_buffer = grad.detach() if isinstance(grad, Tensor) else grad
        else:
            momentum_buffer = momentum * momentum_buffer + (1 - dampening) * grad
        grad = grad + momentum * momentum_buffer if nesterov else momentum_buffer
    return param - lr * grad, momentum_buffer


class SGD(PerParameter):
    """Stochastic gradient descent, with optional momentum (Nesterov's, if asked for), dampening and L2 decay."""

    update = staticmethod(sgd)
    kernel = staticmethod(kernels.sgd)
    moments = ("momentum_buffer",)
    options = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
    lazy = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(momentum >= 0.0, "Invalid momentum value: {}", momentum)
        check(weight_decay >= 0.0, "Invalid weight_decay value: {}", weight_decay)
        plain = momentum > 0 and dampening == 0
        check(plain or not nesterov, "Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def initial(self, p: Tensor, group: dict) -> dict:
        return {}
