"""Averages of weights over training: SWA and EMA (torch/optim/swa_utils.py).

P. Izmailov, D. Podoprikhin, T. Garipov, D. Vetrov, A. Wilson, "Averaging Weights Leads to Wider Optima and Better
Generalization", UAI 2018; https://arxiv.org/abs/1803.05407
"""

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..tensor import Tensor, wrap
from .lr_scheduler.base import LRScheduler, _format_param
from .optimizer import Optimizer

__all__ = [
    "AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """`decay * average + (1 - decay) * new`, of one tensor."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """The mean of all the weights so far, of one tensor."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """`get_ema_avg_fn` for a list of tensors, in place."""
    update = get_ema_avg_fn(decay)

    @no_grad()
    def ema_update(ema_param_list: list, current_param_list: list, _: Any) -> None:
        for average, new in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point():
                average.lerp_(new, 1 - decay)
            else:
                average.copy_(update(average, new, _))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """`get_swa_avg_fn` for a list of tensors, in place."""
    update = get_swa_avg_fn()

    @no_grad()
    def swa_update(averaged_param_list: list, current_param_list: list, num_averaged: Any) -> None:
        for average, new in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point():
                average.lerp_(new, float(1 / (num_averaged + 1)))
            else:
                average.copy_(update(average, new, num_averaged))

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds the average of its weights.

    `update_parameters(model)` takes one more sample into the average: the mean of all samples, or what `avg_fn`
    (`(average, new, samples so far) -> average`, of one tensor) or `multi_avg_fn` (the same for lists, in place) makes
    of it. Buffers are copied from the latest sample, or averaged too, with `use_buffers`. `n_averaged` counts."""

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        self.register_buffer("n_averaged", wrap(np.array(0)))
        if device is not None:
            self.to(device)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's present weights into the average."""

        def averaged(module: Module) -> list:
            parameters = module.parameters()
            return [t.detach() for t in (
                itertools.chain(parameters, module.buffers()) if self.use_buffers else parameters
            )]

        averages = averaged(self.module)
        samples = [new.to(average.device) for average, new in zip(averages, averaged(model), strict=True)]
        if self.n_averaged == 0:
            for average, new in zip(averages, samples, strict=True):
                average.copy_(new)
        elif self.multi_avg_fn is not None:
            for batch in _by_kind(averages, samples):
                self.multi_avg_fn(*batch, self.n_averaged.to(batch[0][0].device))
        else:
            avg_fn = self.avg_fn or get_swa_avg_fn()
            for average, new in zip(averages, samples, strict=True):
                average.copy_(avg_fn(average, new, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for average, new in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(new.detach().to(average.device))
        self.n_averaged += 1


def _by_kind(averages: list, samples: list) -> Iterable[tuple[list, list]]:
    """Pairs of lists whose tensors have one dtype and device, as the functions on lists may expect."""
    kinds: dict = {}
    for average, new in zip(averages, samples, strict=True):
        batch = kinds.setdefault((average.device, average.dtype), ([], []))
        batch[0].append(average)
        batch[1].append(new)
    return kinds.values()


@no_grad()
def update_bn(loader: Iterable, model: Module, device: Any = None) -> None:
    """Compute anew the running statistics of all batch norms, in one pass of the data (batches, or lists or tuples that
    begin with one). The averaged weights never saw the activations that the statistics stand for."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over the batches
    model.train()
    for batch in loader:
        if isinstance(batch, list | tuple):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the present rate to the constant `swa_lr`, in `anneal_epochs`, along a line or half a cosine."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        swa_lrs = _format_param("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, lr in zip(optimizer.param_groups, swa_lrs, strict=True):
            group["swa_lr"] = lr
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, step: int) -> float:
        """The weight of `swa_lr` in the mixture after `step` epochs."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list:
        self._warn_if_asked_directly()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._weight(step - 1), self._weight(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, swa_lr = group["lr"], group["swa_lr"]
            start = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)  # what the first rate must be
            rates.append(swa_lr * now + start * (1 - now))
        return rates
