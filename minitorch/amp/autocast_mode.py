"""autocast: a dispatch mode that casts what operators are given (torch/amp/autocast_mode.py, aten/autocast_mode.h).

The operator table's `autocast` column says how: "lower" (matrix products and convolutions: in the chosen low precision),
"fp32" (losses and the like: in float32), "fp32_cpu" and "fp32_cuda" (so on one of them only), "widest" (in float32 if one
of the inputs is, else in the low precision), "banned" (refused on a GPU; float32 on the CPU), "apart" (in the type it is
given, although it is made of operators that are listed). Operators without an entry run in whatever type they are given.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import cuda, dtypes
from ..autograd.grad_mode import door, thread
from ..devices import _TYPES as DEVICE_TYPES
from ..tensor import Tensor

# per device type: the default low precision, and those supported
LOWER = {
    "cpu": (dtypes.bfloat16, (dtypes.bfloat16, dtypes.float16)),
    "cuda": (dtypes.float16, (dtypes.float16, dtypes.bfloat16)),
}
NAMES = {"cpu": "CPU", "cuda": "CUDA"}


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows the device type."""
    return device_type in LOWER


class _Autocast:
    """The mode itself: one entered region."""

    def __init__(self, device_type: str, dtype: dtypes.dtype, cache: dict | None, enabled: bool):
        self.device_type, self.dtype, self.cache, self.enabled = device_type, dtype, cache, enabled

    def __call__(self, row: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
        policy = row.autocast
        if policy is not None and self.enabled:
            target = self.target(policy, row.name, args, kwargs)
            if target is not None:
                args = tuple([self.cast(a, target) for a in args])
                kwargs = {k: self.cast(v, target) for k, v in kwargs.items()}
        return function(*args, **kwargs)  # what it is made of is not cast again: the mode stands outside meanwhile

    def target(self, policy: str, name: str, args: tuple, kwargs: dict) -> dtypes.dtype | None:
        if policy == "lower":
            return self.dtype
        if policy in ("fp32", f"fp32_{self.device_type}"):
            return dtypes.float32
        if policy == "banned":
            if self.device_type == "cuda":
                raise RuntimeError(
                    f"torch.nn.functional.{name} and torch.nn.BCELoss are unsafe to autocast.\nMany models use a sigmoid "
                    "layer right before the binary cross entropy layer. In this case, combine the two layers using "
                    "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss.  "
                    "binary_cross_entropy_with_logits and BCEWithLogits are safe to autocast."
                )
            return dtypes.float32
        if policy == "widest":
            found = [t.dtype for t in _tensors((args, tuple(kwargs.values()))) if self.eligible(t)]
            for dtype in found:
                if dtype is dtypes.float32:
                    return dtype
                if dtype is not self.dtype:  # the other half precision
                    raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
            return self.dtype
        return None

    def eligible(self, t: Tensor) -> bool:
        return t.dtype.is_floating_point and t.dtype is not dtypes.float64 and t.device.type == self.device_type

    def cast(self, x: Any, target: dtypes.dtype) -> Any:
        if isinstance(x, Tensor):
            if not self.eligible(x) or x.dtype is target:
                return x
            if (
                self.cache is not None and target is self.dtype and x.dtype is dtypes.float32
                and x._requires_grad and x._edge is None and x._base is None and thread.grad
            ):  # a weight: cast once per region
                found = self.cache.get(id(x))
                if found is None or found[0] is not x:
                    found = self.cache[id(x)] = (x, x.to(target))
                return found[1]
            return x.to(target)
        if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
            return type(x)([self.cast(item, target) for item in x])
        return x


def _tensors(tree: Any) -> list:
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, (tuple, list)):
        return [t for item in tree for t in _tensors(item)]
    return []


class autocast:
    """Context manager and decorator: run the listed operators in low precision on devices of `device_type`.

    dtype: by default bfloat16 on the CPU and float16 on CUDA. cache_enabled: cast each weight once per region. A dtype
    that the device does not support, or a device that is not there, warns and disables."""

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in LOWER:
            if device_type not in DEVICE_TYPES:
                raise RuntimeError(
                    f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {device_type}"
                )
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        supported = LOWER[device_type][1]
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if device_type == "cuda" and enabled and not cuda.is_available():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in supported:
            name = NAMES[device_type]
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                f"supports dtypes of {', '.join(map(str, supported))} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = True if cache_enabled is None else cache_enabled
        self._before: list = []

    def __enter__(self) -> "autocast":
        outer = _current(self.device)
        cache: dict | None = None
        if self._cache_enabled:
            # the cache lives as long as the outermost region
            cache = outer.cache if outer is not None and outer.cache is not None and outer.dtype is self.fast_dtype else {}
        self._before.append(thread.modes)
        kept = tuple([m for m in thread.modes if not (isinstance(m, _Autocast) and m.device_type == self.device)])
        thread.modes = (*kept, _Autocast(self.device, self.fast_dtype, cache, self._enabled))
        door.count(+1)
        return self

    def __exit__(self, *exc: Any) -> None:
        thread.modes = self._before.pop()
        door.count(-1)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper


def _current(device_type: str) -> _Autocast | None:
    for mode in reversed(thread.modes):
        if isinstance(mode, _Autocast) and mode.device_type == device_type:
            return mode
    return None


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether this thread is inside an enabled region for the device type (by default "cuda", as in torch)."""
    mode = _current(device_type or "cuda")
    return mode is not None and mode.enabled


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The low precision of the current region, or the device type's default."""
    mode = _current(device_type)
    return LOWER[device_type][0] if mode is None else mode.dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept for the length of a region."""
    modes = [m for m in thread.modes if isinstance(m, _Autocast)]
    return modes[-1].cache is not None if modes else True


def outdated(device_type: str, name: str) -> None:
    """Warn, as torch, of the spellings that name the device in the module."""
    warnings.warn(
        f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}('{device_type}', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


def custom_fwd(fwd: Callable | None = None, *, device_type: str = "cuda", cast_inputs: dtypes.dtype | None = None) -> Any:
    """Decorator of an autograd.Function's forward: run it in the surrounding autocast state, or with cast_inputs in that
    type and with autocast off."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        if cast_inputs is None or not enabled:
            ctx._fwd_used_autocast = enabled and cast_inputs is None
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        caster = _Autocast(device_type, cast_inputs, None, True)
        with autocast(device_type, enabled=False):
            return fwd(
                ctx, *[caster.cast(a, cast_inputs) for a in args],
                **{k: caster.cast(v, cast_inputs) for k, v in kwargs.items()},
            )

    return decorated


def custom_bwd(bwd: Callable | None = None, *, device_type: str = "cuda") -> Any:
    """Decorator of an autograd.Function's backward: run it in the autocast state of its forward."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorated
