"""Learning rate schedules (torch/optim/lr_scheduler.py).

A schedule sets `lr` of each parameter group from the number of the epoch (or of the batch: whatever `step()` is called
after). Most are *chainable*: `get_lr` goes from the present rate to the next by a factor, so that several schedules can
act on one optimizer. `_get_closed_form_lr`, where there is one, computes the rate from the epoch alone; `step(epoch)`
uses it to jump.
"""

from .base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .base import LRScheduler as LRScheduler
from .base import _format_param as _format_param
from .base import _LRScheduler as _LRScheduler
from .compound import ChainedScheduler as ChainedScheduler
from .compound import SequentialLR as SequentialLR
from .cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cycles import CyclicLR as CyclicLR
from .cycles import OneCycleLR as OneCycleLR
from .factors import ConstantLR as ConstantLR
from .factors import CosineAnnealingLR as CosineAnnealingLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LambdaLR as LambdaLR
from .factors import LinearLR as LinearLR
from .factors import MultiplicativeLR as MultiplicativeLR
from .factors import MultiStepLR as MultiStepLR
from .factors import PolynomialLR as PolynomialLR
from .factors import StepLR as StepLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau

__all__ = [
    "LRScheduler", "LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR",
    "PolynomialLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", "SequentialLR",
    "ChainedScheduler", "ReduceLROnPlateau",
]
