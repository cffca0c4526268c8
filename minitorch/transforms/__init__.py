"""Image transforms, in the spelling and with the numbers of torchvision.transforms (version 1)."""

from minitorch.transforms import functional
from minitorch.transforms.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    InterpolationMode,
    Lambda,
    Normalize,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Resize,
    ToTensor,
)

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Resize",
    "ToTensor",
    "functional",
]
