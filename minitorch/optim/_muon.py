"""Muon: momentum made orthogonal (torch/optim/_muon.py)."""

import math
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from ..tensor import Tensor
from .optimizer import check, check_lr
from .per_parameter import PerParameter, zeros_like

__all__ = ["Muon"]


def muon(
    param, grad, momentum_buffer, *, lr, weight_decay, momentum, nesterov, ns_coefficients, eps, ns_steps, adjust_lr_fn
):
    """K. Jordan, Y. Jin, V. Boza, J. You, F. Cesista, L. Newhouse, J. Bernstein, "Muon: An optimizer for hidden layers
    in neural networks", 2024; https://kellerjordan.github.io/posts/muon/

    "match_rms_adamw": J. Liu et al., "Muon is Scalable for LLM Training", 2025; https://arxiv.org/abs/2502.16982"""
    momentum_buffer = momentum_buffer + (1 - momentum) * (grad - momentum_buffer)
    update = grad + momentum * (momentum_buffer - grad) if nesterov else momentum_buffer
    update = orthogonalize(update, ns_coefficients, ns_steps, eps)
    rows, columns = param.shape
    if adjust_lr_fn == "match_rms_adamw":
        scale = 0.2 * math.sqrt(max(rows, columns))
    else:
        scale = math.sqrt(max(1, rows / columns))
    return param * (1 - lr * weight_decay) - lr * scale * update, momentum_buffer


def orthogonalize(matrix, coefficients, steps, eps):
    """Drive all singular values of a matrix towards 1 by Newton-Schulz iteration: X <- aX + b(XX')X + c(XX')(XX')X.

    Computed in bfloat16, as on the hardware the method was made for. The default coefficients climb fast and come to
    rest between 0.7 and 1.2, which serves as well as 1."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = map(np.float32, coefficients)
    x = _bfloat16(matrix)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    norm = _bfloat16(np.sqrt((x * x).sum()))
    x = _bfloat16(x / np.maximum(norm, _bfloat16(np.float32(eps))))
    for _ in range(steps):
        gram = _bfloat16(x @ x.T)
        gram_update = _multiply_add(b, gram, c * (gram @ gram))
        x = _multiply_add(a, x, gram_update @ x)
    return (x.T if tall else x).astype(matrix.dtype)


def _bfloat16(x):
    """float32 values rounded to those that bfloat16 has."""
    return x.astype(np.float32).astype(bfloat16).astype(np.float32)


def _multiply_add(factor, x, y):
    """factor * x + y in one rounding to float32, as processors do it, and another to bfloat16."""
    return _bfloat16(factor * x.astype(np.float64) + y)


class Muon(PerParameter):
    """Muon, for the matrices of hidden layers; leave biases and embeddings to AdamW.

    `adjust_lr_fn` says how the rate grows with the matrix: "original" (also None), or "match_rms_adamw", with which
    AdamW's rate and decay may be kept."""

    update = staticmethod(muon)
    moments = ("momentum_buffer",)
    options = (
        "lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps", "adjust_lr_fn",
    )
    elementwise = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(momentum >= 0.0, "momentum should be >= 0 but is: {}", momentum)
        check(weight_decay >= 0.0, "weight decay should be >= 0 but is: {}", weight_decay)
        known = adjust_lr_fn in (None, "original", "match_rms_adamw")
        check(known, "Adjust learning rate function {} is not supported", adjust_lr_fn)
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                message = "Muon only supports 2D parameters whereas we found a parameter with size: {}"
                check(p.ndim == 2, message, p.shape)

    def initial(self, p: Tensor, group: dict) -> dict:
        return {"momentum_buffer": zeros_like(p)}
