"""Mixed precision (torch.amp): autocast picks each operator's precision, GradScaler keeps small gradients alive."""

from .autocast_mode import (  # noqa: F401
    autocast,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from .grad_scaler import GradScaler, OptState  # noqa: F401
