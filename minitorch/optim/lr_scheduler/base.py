"""What all schedules share, and the values of groups, which may be floats or 0-d tensors."""

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any
from weakref import ref

from ...tensor import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, "
    "the closed form is used instead of the new chainable form, where available. Please open an issue if you are "
    "unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_HOW_TO = " See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


# ---- values per group, which may be floats or 0-d tensors -----------------------------------------------------------


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _format_param(name: str, optimizer: Optimizer, param: Any) -> list:
    """One value for every group: from a list of as many, or from one value for all."""
    count = len(optimizer.param_groups)
    if not isinstance(param, list | tuple):
        param = [param] * count
    elif len(param) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(param)} values, param_groups has {count}."
        )
    return list(map(_copy, param))


def _param_groups_val_list(optimizer: Optimizer, key: str) -> list:
    return [_copy(group[key]) for group in optimizer.param_groups]


def _update_param_group_val(group: dict, key: str, value: Any) -> None:
    """Set an entry of a group; one that is a tensor is written in place, since others may hold it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def _require_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _watch_steps(optimizer: Optimizer) -> None:
    """Have the optimizer note in `_opt_called` that it has been stepped."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__  # type: ignore[attr-defined]
    itself = ref(optimizer)  # the wrapper lives in the optimizer: no cycle

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer = itself()
        optimizer._opt_called = True  # type: ignore[union-attr]
        return function(optimizer, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def _function_state(function: Any) -> dict | None:
    """What a checkpoint keeps of a callable: the attributes of an object, nothing of a plain function."""
    return None if function is None or isinstance(function, types.FunctionType) else function.__dict__.copy()


class LRScheduler:
    """Base class of the schedules. A subclass defines `get_lr()`, the rates (one per group) for `self.last_epoch`.

    `last_epoch=-1` starts at the optimizer's present rates and keeps them as "initial_lr" in the groups; a later epoch
    resumes, and needs "initial_lr" to be there (KeyError)."""

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _require_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                    "a fresh training run (not recommended)"
                )
        self.base_lrs = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or, deprecated, to a given one) and set its rates."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`." + _HOW_TO,
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
                    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
                    "Failure to do this will result in PyTorch skipping the first value of the learning rate schedule."
                    + _HOW_TO,
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
        self._set_lr(closed_form or self.get_lr)

    def _set_lr(self, rates: Callable[[], list]) -> None:
        self._get_lr_called_within_step = True
        try:
            values = rates()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _update_param_group_val(group, "lr", lr)
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")

    def get_last_lr(self) -> list:
        """The rates set last, one per group."""
        return self._last_lr

    def get_lr(self) -> list:
        raise NotImplementedError

    def _warn_if_asked_directly(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _present(self, factor: float | None = None) -> list:
        """The groups' present rates, times a factor."""
        if factor is None:
            return _param_groups_val_list(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def state_dict(self) -> dict:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        """Continue where `state_dict()` was taken."""
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The name that LRScheduler had before torch 2.0, still subclassed by programs."""
