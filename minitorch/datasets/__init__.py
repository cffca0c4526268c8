"""Ready-made datasets, in the spelling of torchvision.datasets. Only `Digits` comes with the package."""

from minitorch.datasets.digits import Digits

__all__ = ["Digits"]
