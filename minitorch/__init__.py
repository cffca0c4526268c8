"""minitorch: PyTorch's core abstractions on NumPy or CuPy, with torch's own numbers and names.

`import minitorch as torch` runs ordinary training code unchanged. This file only collects the public names.
"""

from . import dtypes as _dtypes
from .devices import device  # noqa: F401
from .dtypes import (  # noqa: F401
    bfloat16,
    can_cast,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_type,
    set_default_dtype,
    uint8,
)
from .tensor import Size, Tensor  # noqa: F401

for _name, _dtype in _dtypes.ALIASES.items():
    globals()[_name] = _dtype

from . import autograd, conversion, creation, drawing, legacy, ops, printing, random, sampling  # noqa: E402, F401  # noqa: E402, F401
from .autograd import (  # noqa: E402, F401
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .autograd import gradcheck as _gradcheck  # noqa: E402, F401  (so that the name is the function's, as in torch)
from .autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled  # noqa: E402, F401
from .dispatch import FUNCTIONS as _FUNCTIONS  # noqa: E402
from .legacy import set_default_tensor_type  # noqa: E402, F401
from .printing import set_printoptions  # noqa: E402, F401
from .random import (  # noqa: E402, F401
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

globals().update(_FUNCTIONS)
globals().update(legacy.TYPES)

# ---- constants, questions, settings -------------------------------------------------------------------------------
from math import e, inf, nan, pi  # noqa: E402, F401

from . import nn  # noqa: E402, F401
from .devices import get_default_device, set_default_device  # noqa: E402, F401
from .kernels.parallel import get_num_threads, set_num_threads  # noqa: E402, F401
from .serialization import load, save  # noqa: E402, F401
from .serialization.storage import TypedStorage, UntypedStorage  # noqa: E402, F401
from .tensor import (  # noqa: E402, F401
    Layout as layout,
)
from .tensor import (
    MemoryFormat as memory_format,
)
from .tensor import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    strided,
)
from .version import __version__  # noqa: E402, F401

newaxis = None


def is_tensor(obj: object) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether obj is a storage, as `Tensor.untyped_storage` returns it."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Never: there are no complex dtypes."""
    return False


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero. RuntimeError unless there is exactly one."""
    return bool(input)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def typename(obj: object) -> str:
    """A tensor's legacy type name, or the full name of an object's class."""
    return obj.type() if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def compile(model=None, **options):  # noqa: A001
    """Returns its argument (as a decorator, a function that does): minitorch has no compiler, and says so once."""
    if model is None:
        return lambda model: compile(model, **options)
    import warnings

    warnings.warn("minitorch has no compiler: compile() returns its argument unchanged", stacklevel=2)
    return model


def get_num_interop_threads() -> int:
    """1: operators do not run beside each other."""
    return 1


def set_num_interop_threads(threads: int) -> None:
    """Without effect: operators do not run beside each other."""


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Without effect: every operator is deterministic."""


def are_deterministic_algorithms_enabled() -> bool:
    """True: every operator is deterministic."""
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """Without effect: products of float32 are computed in float32."""


def get_float32_matmul_precision() -> str:
    """Products of float32 are computed in float32."""
    return "highest"


# Packages that programs reach by attribute; each is imported when it is first asked for.
_PACKAGES = (
    "accelerator", "amp", "backends", "cuda", "cpu", "datasets", "distributed", "func", "linalg", "nn", "onnx", "optim",
    "serialization", "special", "testing", "transforms", "utils", "version",
)
_FROM_AMP = ("autocast", "GradScaler", "is_autocast_enabled", "get_autocast_dtype", "is_autocast_cache_enabled")


def __getattr__(name: str):
    import importlib

    if name in _PACKAGES:
        try:
            return importlib.import_module(f"minitorch.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"minitorch.{name}":
                raise
    elif name in _FROM_AMP:
        return getattr(importlib.import_module("minitorch.amp"), name)
    raise AttributeError(
        f"module 'minitorch' has no attribute '{name}': if torch has it, minitorch does not offer it (yet); "
        "`python -m minitorch.testing` lists what is covered"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES})
