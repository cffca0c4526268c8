"""Schedules that rise and fall: warm restarts, cyclic rates, one cycle."""

import math
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, _format_param, _function_state, _require_optimizer, _update_param_group_val


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the rate down to `eta_min` in `T_0` epochs, then again, each `T_mult` times longer.

    I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017;
    https://arxiv.org/abs/1608.03983"""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0  # length of the present period
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch  # epochs since the last restart
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked_directly()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Go to the next epoch, or to any; a fraction of one, `epoch + batch / batches`, is welcome."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch  # type: ignore[assignment]
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0  # type: ignore[assignment]
        else:  # after n restarts, T_0 (1 + T_mult + ... + T_mult^(n - 1)) epochs have passed
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)  # type: ignore[assignment]
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._set_lr(self.get_lr)


class _WithMomentum(LRScheduler):
    """A schedule that moves momentum (or Adam's beta1) against the rate."""

    optimizer: Optimizer

    def _require_momentum(self) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")

    def _init_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> tuple[list, list]:
        """Put the momenta into the groups."""
        self.use_beta1 = "betas" in self.optimizer.defaults
        base = _format_param("base_momentum", self.optimizer, base_momentum)
        highest = _format_param("max_momentum", self.optimizer, max_momentum)
        if last_epoch == -1:
            for group, low, high in zip(self.optimizer.param_groups, base, highest, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return base, highest

    def _set_momentum(self, group: dict, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps and down again, over and over.

    `mode` says what becomes of the height of the triangles: "triangular" keeps it, "triangular2" halves it every
    cycle, "exp_range" multiplies it by `gamma` every step; `scale_fn` says it of the cycle or of the iteration
    (`scale_mode`).

    L. Smith, "Cyclical Learning Rates for Training Neural Networks", WACV 2017; https://arxiv.org/abs/1506.01186"""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _require_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.optimizer = optimizer
        if cycle_momentum:
            self._require_momentum()
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _update_param_group_val(group, "lr", lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of the triangle in cycle, or at iteration, `x`."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list:
        self._warn_if_asked_directly()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle  # position within the cycle, 0 to 1
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in momenta:
                self._set_momentum(group, high - (high - low) * part * scale)
        return [low + (high - low) * part * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict:
        return {**super().state_dict(), "_scale_fn_custom": _function_state(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(_WithMomentum):
    """Up from `max_lr / div_factor` to `max_lr` in the first `pct_start` of all steps, then down to `final_div_factor`
    times below the first rate; momentum the other way round. Stepped after every batch.

    L. Smith, N. Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2017;
    https://arxiv.org/abs/1708.07120. With `three_phase` the descent is, as in the paper, first to the first rate."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _require_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            _require_positive_int("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            _require_positive_int("epochs", epochs)
            _require_positive_int("steps_per_epoch", steps_per_epoch)
            total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        self.total_steps = total_steps
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy

        peak, last = float(pct_start * total_steps) - 1, total_steps - 1
        if three_phase:
            self._schedule_phases = [
                _phase(peak, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                _phase(float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases = [
                _phase(peak, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                _phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]

        max_lrs = _format_param("max_lr", optimizer, max_lr)
        if cycle_momentum:
            self._require_momentum()
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: Any, end: Any, part: float) -> Any:
        """Between `start` (part 0) and `end` (part 1), along a line or half a cosine."""
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list:
        self._warn_if_asked_directly()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        begin: float = 0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        part = (step - begin) / (phase["end_step"] - begin)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                momenta = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal(*momenta, part))
        return [self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]


def _phase(end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict:
    """A phase of one cycle: its last step, and the entries of the group between which it moves."""
    return {
        "end_step": end_step, "start_lr": start_lr, "end_lr": end_lr, "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


def _require_positive_int(name: str, value: Any) -> None:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
