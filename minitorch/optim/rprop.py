"""Rprop: steps from the signs of the gradients alone (torch/optim/rprop.py)."""

from typing import Any

import numpy as np

from ..ops.elementwise import clamp, sign, where
from ..tensor import Tensor, wrap
from .optimizer import check, check_lr, scalar
from .per_parameter import PerParameter, number, zeros_like

__all__ = ["Rprop", "rprop"]


def rprop(param, grad, prev, step_size, *, step, etas, step_sizes):
    """M. Riedmiller, H. Braun, "A Direct Adaptive Method for Faster Backpropagation Learning: The RPROP Algorithm",
    ICNN 1993; https://doi.org/10.1109/ICNN.1993.298623

    An element whose gradient kept its sign takes a larger step, one whose gradient turned a smaller one; and the latter
    stays where it is this once."""
    etaminus, etaplus = etas
    kept, turned = grad * prev > 0, grad * prev < 0
    step_size = where(kept, step_size * etaplus, where(turned, step_size * etaminus, step_size))
    step_size = clamp(step_size, *step_sizes)
    grad = where(turned, grad * 0, grad)
    return param - sign(grad) * step_size, grad, step_size


class Rprop(PerParameter):
    """Resilient backpropagation, for gradients of the whole data set. `lr` is the first step's size."""

    update = staticmethod(rprop)
    moments = ("prev", "step_size")
    options = ("etas", "step_sizes")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], "Invalid eta values: {}, {}", *etas)
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }
        super().__init__(params, defaults)

    def initial(self, p: Tensor, group: dict) -> dict:
        step_size = wrap(np.full_like(p._array, number(group["lr"])))
        return {"step": scalar(0.0), "prev": zeros_like(p), "step_size": step_size}
