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

from . import autograd, ops  # noqa: E402, F401
from .autograd import (  # noqa: E402, F401
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .dispatch import FUNCTIONS as _FUNCTIONS  # noqa: E402

globals().update(_FUNCTIONS)
