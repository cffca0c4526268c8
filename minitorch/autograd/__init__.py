"""Automatic differentiation (torch.autograd): the graph, the walk, grad mode, and what users call."""

from . import anomaly, engine, grad_mode, graph, variable, views  # noqa: F401
from .anomaly import detect_anomaly, set_detect_anomaly  # noqa: F401
from .grad_mode import (  # noqa: F401
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .variable import backward_all as backward  # noqa: F401
from .variable import grad  # noqa: F401
