"""The older spelling of mixed precision on the CPU (torch.cpu.amp)."""

from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp.autocast_mode import outdated
from ..dtypes import bfloat16


class autocast(_autocast):
    """`amp.autocast("cpu")`."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True):
        outdated("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """`amp.GradScaler("cpu")`."""

    def __init__(self, *args: Any, **kwargs: Any):
        outdated("cpu", "GradScaler")
        super().__init__("cpu", *args, **kwargs)
