"""Optimizers and learning rate schedules (torch/optim).

Read `optimizer.py` (groups, state, checkpoints), then `elementwise.py` (the step that most algorithms share), then any
algorithm: each is one function of a few lines.
"""

from . import lr_scheduler as lr_scheduler
from .adam import Adam as Adam
from .adamw import AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD
