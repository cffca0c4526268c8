"""Gradients bounded in norm or in value (torch/nn/utils/clip_grad.py)."""

import types
import warnings

from minitorch.autograd.grad_mode import no_grad
from minitorch.conversion import tensor
from minitorch.ops.copies import stack
from minitorch.ops.reduce import norm
from minitorch.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(tensors):
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors laid end to end, as a 0-d Tensor; `norm_type` may be inf."""
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    device = tensors[0].device
    total = norm(stack([norm(t, norm_type).to(device) for t in tensors]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale all gradients by `max_norm / total_norm`, where that is below 1."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.mul_(factor.to(parameter.grad.device))


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale all gradients so that their total norm is at most `max_norm`; returns the norm from before."""
    listed = _listed(parameters)
    if isinstance(parameters, types.GeneratorType) and not listed:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    grads = [parameter.grad for parameter in listed if parameter.grad is not None]
    total_norm = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning, stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Bound every element of every gradient by [-clip_value, clip_value]."""
    bound = float(clip_value)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(min=-bound, max=bound)
