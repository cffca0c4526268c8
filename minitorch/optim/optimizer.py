"""What every optimizer is: groups of parameters, state per parameter, hooks, checkpoints (torch/optim/optimizer.py).

An optimizer holds `param_groups`, a list of dictionaries (the tensors under "params", and one entry per option), and
`state`, a dictionary from a parameter to what its algorithm remembers of it. This class looks after both; how a
parameter moves is said by the subclass, in `step`.
"""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor, wrap
from ..utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]


class _Required:
    """The default of an option that every group must give a value for."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

# Options that algorithms gained over time, with the meaning that their absence from an old checkpoint has.
_LATE_OPTIONS = {
    "nesterov": False, "amsgrad": False, "momentum": 0, "centered": False, "decoupled_weight_decay": False,
    "maximize": False, "foreach": None, "fused": None, "capturable": False, "differentiable": False,
}
# The dictionaries of hooks that each optimizer carries.
_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)
_global_optimizer_pre_hooks: OrderedDict = OrderedDict()
_global_optimizer_post_hooks: OrderedDict = OrderedDict()


def _register(hooks: OrderedDict, hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Have `hook(optimizer, args, kwargs)` called before every step of every optimizer.

    It returns None, or the pair `(args, kwargs)` with which the step is then called."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Have `hook(optimizer, args, kwargs)` called after every step of every optimizer."""
    return _register(_global_optimizer_post_hooks, hook)


def _with_hooks(step: Callable) -> Callable:
    """`step`, between its pre and post hooks."""

    @functools.wraps(step)
    def hooked_step(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if not (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _global_optimizer_pre_hooks
            or _global_optimizer_post_hooks
        ):
            return step(*args, **kwargs)
        for hook in [*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
            args, kwargs = result
        out = step(*args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
            hook(self, args, kwargs)
        return out

    hooked_step.hooked = True  # type: ignore[attr-defined]
    return hooked_step


def scalar(value: Any) -> Tensor:
    """A 0-d tensor on the CPU that counts steps and the like: float32, or float64 where that is the default dtype."""
    double = dtypes.get_default_dtype() is dtypes.float64
    return wrap(np.array(float(value), np.float64 if double else np.float32))


def check_lr(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check(lr >= 0.0, message, lr)


def check(valid: Any, message: str, *values: Any) -> None:
    """ValueError with the message (and the values it tells of) unless an option's value is valid."""
    if not valid:
        raise ValueError(message.format(*values))


def check_betas(betas: Any) -> None:
    for i in (0, 1):
        check(0.0 <= betas[i] < 1.0, f"Invalid beta parameter at index {i}: {{}}", betas[i])


def check_fused(fused: Any, foreach: Any, differentiable: bool) -> None:
    """RuntimeError where torch refuses the combination (minitorch itself pays no heed to `fused` and `foreach`)."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


class Optimizer:
    """Base class of all optimizers.

    Args:
        params: an iterable of tensors, of `(name, tensor)` pairs, or of dictionaries that each describe a group: its
            tensors or pairs under "params", and the options in which it differs from `defaults`.
        defaults: the options of groups that do not set their own.

    A subclass defines `step(closure=None)`; hooks around it need no further care.
    """

    defaults: dict
    param_groups: list
    state: dict

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {_typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def step(self, closure: Callable | None = None) -> Any:
        """Move every parameter once.

        `closure` computes the loss anew, with gradients, and returns it; optional for most optimizers."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or, with `set_to_none=False`, fill them with zeros in place."""
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is None:
                    continue
                if set_to_none:
                    p._grad = None
                    continue
                if p._grad._edge is not None:
                    p._grad.detach_()
                else:
                    p._grad.requires_grad_(False)
                p._grad._array[...] = 0
                p._grad._bump()

    # ---- groups -----------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict) -> None:
        """Add a group: its tensors (or one tensor, or named pairs) under "params", and options that override the
        defaults. TypeError or ValueError for what is not a leaf tensor, is already there, or lacks an option."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but "
                "the ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [entry[0] for entry in params if isinstance(entry, tuple)]
        params = [entry[1] if isinstance(entry, tuple) else entry for entry in params]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}")
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        named = bool(names) or "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with names' if named else 'without names'} to the optimizer"
                )
        if not {p for group in self.param_groups for p in group["params"]}.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")

        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self.param_groups.append(param_group)

    # ---- checkpoints ------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict:
        """`{"state": ..., "param_groups": ...}`, with parameters replaced by their running number.

        The tensors in it are the optimizer's own, not copies."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number: dict[Any, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                number.setdefault(p, i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [number[p] for p in group["params"]]
            groups.append(packed)
        state = {number[key] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            state_dict = _or(hook(self, state_dict), state_dict)
        return state_dict

    def load_state_dict(self, state_dict: dict) -> None:
        """Continue from `state_dict()` of the same kind of optimizer: parameters are matched by their order.

        State tensors take the dtype and device of their parameter (step counts keep theirs). Arrays are taken for
        tensors, so that the state of a torch optimizer can be handed over."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            state_dict = _or(hook(self, state_dict), state_dict)

        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        owner = {}  # of each number: the parameter and the saved group
        for group, new in zip(groups, saved, strict=True):
            owner.update({i: (p, new) for i, p in zip(new["params"], group["params"], strict=True)})

        state: dict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owner:
                p, group = owner[key]
                state[p] = _adopt(value, p, group)
            else:  # not a parameter's: kept as it is
                state[key] = value

        for group, new in zip(groups, saved, strict=True):
            new.update({key: _tensor(value) for key, value in new.items() if isinstance(value, np.ndarray)})
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        for group in self.param_groups:
            for name, value in _LATE_OPTIONS.items():
                if name in self.defaults:
                    group.setdefault(name, value)
        for entry in self.state.values():  # old checkpoints count steps in Python numbers
            for name in ("step", "eta", "mu", "mu_product"):
                if isinstance(entry, dict) and name in entry and not isinstance(entry[name], Tensor):
                    entry[name] = scalar(float(entry[name]))

    # ---- hooks ------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Have `hook(optimizer, args, kwargs)` called before each step; it may return new `(args, kwargs)`."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Have `hook(optimizer, args, kwargs)` called after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer)` called before `state_dict()`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer, state_dict)` called after `state_dict()`; it may return another one."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer, state_dict)` called before loading (with a shallow copy); it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer)` called after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join([f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"])
        return text + ")"


Optimizer.step = _with_hooks(Optimizer.step)  # type: ignore[method-assign]


def _or(result: Any, default: Any) -> Any:
    return default if result is None else result


def _typename(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _tensor(array: np.ndarray) -> Tensor:
    return wrap(np.array(array))


def _adopt(value: Any, p: Tensor, group: dict, key: Any = None) -> Any:
    """A loaded entry of a parameter's state, its tensors cast to the parameter's dtype and device.

    Step counts are exempt: half a precision would stop counting at 2048. They live on the CPU in their own dtype,
    unless the group asks for `fused` or `capturable`."""
    if isinstance(value, np.ndarray):
        value = _tensor(value)
    if isinstance(value, Tensor):
        if key == "step":
            if group.get("fused") or group.get("capturable"):
                return value.to(dtype=dtypes.float32, device=p.device)
            return value
        return value.to(dtype=p.dtype if p.is_floating_point() else value.dtype, device=p.device)
    if isinstance(value, dict):
        return {k: _adopt(v, p, group, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_adopt(v, p, group) for v in value])
    return value
