"""AdamW: Adam whose weight decay stays out of the moments (torch/optim/adamw.py)."""

from typing import Any

from ..tensor import Tensor
from .adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", ICLR 2019; https://arxiv.org/abs/1711.05101

    The formula is `adam` with `decoupled_weight_decay`."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # a checkpoint of Adam loads as AdamW
            group["decoupled_weight_decay"] = True
