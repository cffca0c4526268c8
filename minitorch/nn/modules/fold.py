"""Sliding blocks (torch/nn/modules/fold.py)."""

from minitorch.nn import functional as F
from minitorch.nn.modules._holding import holding

__all__ = ["Fold", "Unfold"]

Fold = holding(F.fold, "Fold", __name__)
Unfold = holding(F.unfold, "Unfold", __name__)
