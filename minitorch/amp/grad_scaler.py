"""Loss scaling (torch/amp/grad_scaler.py; Micikevicius et al. 2018, "Mixed Precision Training").

float16 gradients below 6e-8 are zero. The loss is multiplied by a large scale before the backward pass, the gradients
are divided by it before the step; a step whose gradients overflowed is skipped and the scale halved, and after
`growth_interval` good steps the scale is doubled.
"""

import warnings
from collections import defaultdict
from enum import Enum
from typing import Any

import numpy as np

from .. import cuda, dtypes
from ..autograd.grad_mode import no_grad
from ..kernels.reductions import unscale
from ..tensor import Tensor, wrap


class OptState(Enum):
    """What has happened to an optimizer's gradients since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _new_state() -> dict:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """scale(loss).backward(), then unscale_(optimizer) if gradients are looked at, step(optimizer), update()."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not cuda.is_available():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if not backoff_factor < 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._scale: Tensor | None = None
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict = defaultdict(_new_state)

    def _lazy_init(self) -> None:
        self._scale = wrap(np.asarray(self._init_scale, np.float32))
        self._growth_tracker = wrap(np.asarray(self._init_growth_tracker, np.int32))

    def _check_scale_growth_tracker(self, name: str) -> tuple[Tensor, Tensor]:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  {fix}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {name} but _growth_tracker is None.  {fix}")
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """A tensor, or every tensor of nested lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init()
            return outputs * self._scale.to(outputs.device)  # type: ignore[union-attr]
        if isinstance(outputs, (tuple, list)):
            items = [self.scale(x) for x in outputs]
            return type(outputs)(*items) if hasattr(outputs, "_fields") else type(outputs)(items)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer: Any, allow_fp16: bool) -> dict:
        """Divide all gradients by the scale, and tell whether any was inf or NaN: one pass over the memory."""
        assert self._scale is not None
        arrays = []
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p._grad is None:
                        continue
                    if not allow_fp16 and p._grad.dtype is dtypes.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    arrays.append(p._grad._array)
                    p._grad._bump()
        if not arrays:
            return {}
        inverse = float(np.float32(1.0 / float(self._scale._array)))
        finite = unscale(arrays, inverse)
        return {self._device: wrap(np.asarray(float(not finite), np.float32))}

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the scale now, so that they can be clipped. Once per step."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(*args, **kwargs), unless a gradient is inf or NaN. Returns what the step returned, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if not any(v.item() for v in state["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what this iteration's steps found, or set it to `new_scale`."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, float):
                scale._array[...] = new_scale
            else:
                reason = (
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
                if not isinstance(new_scale, Tensor) or new_scale.numel() != 1 or new_scale.requires_grad:
                    raise AssertionError(reason)
                scale._array[...] = new_scale._array
        else:
            found = [
                v.item() for state in self._per_optimizer_states.values() for v in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(found):
                scale._array[...] = float(scale._array) * self._backoff_factor
                tracker._array[...] = 0
            else:
                good = int(tracker._array) + 1
                if good == self._growth_interval:
                    grown = np.float32(float(scale._array) * self._growth_factor)
                    if np.isfinite(grown):
                        scale._array[...] = grown
                    good = 0
                tracker._array[...] = good
        self._per_optimizer_states = defaultdict(_new_state)

    def get_scale(self) -> float:
        """The scale now; 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict:
        """Scale, factors, interval and the count of good steps; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict) -> None:
        """Restore what `state_dict` gave. RuntimeError for an empty one, which came from a disabled scaler."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale._array[...] = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker._array[...] = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        if self._enabled:
            if len(self._per_optimizer_states) != 0:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state.update(
                _init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                _growth_tracker=None,
            )
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)

    def _found_inf_per_device(self, optimizer: Any) -> dict:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def _check_inf_per_device(self, optimizer: Any) -> dict:
        state = self._per_optimizer_states[id(optimizer)]
        scale, self._scale = self._scale, wrap(np.asarray(1.0, np.float32))
        try:
            state["found_inf_per_device"] = self._unscale_grads_(optimizer, True)
        finally:
            self._scale = scale
        return state["found_inf_per_device"]
