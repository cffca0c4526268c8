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
from .multi_grad import register_multi_grad_hook
from .saved import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    save_on_cpu,
    saved_tensors_hooks,
)
from .variable import backward_all as backward  # noqa: F401
from .variable import grad  # noqa: F401


def __getattr__(name: str):
    # these use operators, which are themselves built on this package
    import importlib

    if name in ("Function", "FunctionCtx"):
        return getattr(importlib.import_module("minitorch.autograd.function"), name)
    if name in ("gradcheck", "gradgradcheck"):
        module = importlib.import_module("minitorch.autograd.gradcheck")
        globals().update(gradcheck=module.gradcheck, gradgradcheck=module.gradgradcheck)  # not the module
        return globals()[name]
    if name in ("function", "functional"):
        return importlib.import_module(f"minitorch.autograd.{name}")
    if name == "Variable":
        return importlib.import_module("minitorch.legacy").Variable
    raise AttributeError(f"module 'minitorch.autograd' has no attribute '{name}'")


for _f in (
    saved_tensors_hooks, save_on_cpu, disable_saved_tensors_hooks, allow_mutation_on_saved_tensors, increment_version,
    register_multi_grad_hook,
):
    setattr(graph, _f.__name__, _f)
