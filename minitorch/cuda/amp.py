"""The older spelling of mixed precision on a GPU (torch.cuda.amp)."""

import functools
from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as _custom_bwd
from ..amp import custom_fwd as _custom_fwd
from ..amp.autocast_mode import outdated
from ..dtypes import float16


class autocast(_autocast):
    """`amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True):
        outdated("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """`amp.GradScaler("cuda")`."""

    def __init__(self, *args: Any, **kwargs: Any):
        outdated("cuda", "GradScaler")
        super().__init__("cuda", *args, **kwargs)


custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")
