"""The transforms as objects (torchvision.transforms, version 1): configured once, called with image after image.

What is random is drawn from minitorch's default generator, in torchvision's order, so that `manual_seed`, and the seeds
of a DataLoader's workers, determine it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minitorch
from minitorch.transforms import functional as F
from minitorch.transforms.functional import InterpolationMode


def _pair(size: int | Sequence[int], name: str = "size") -> tuple[int, int]:
    values = (size, size) if isinstance(size, int) else tuple(size)
    if len(values) == 1:
        values = values * 2
    if len(values) != 2:
        raise ValueError(f"Please provide only two dimensions (h, w) for {name}, but got {size}")
    return values  # type: ignore[return-value]


def _randint(stop: int) -> int:
    return int(minitorch.randint(0, stop, size=(1,)).item())


def _uniform(low: float, high: float) -> float:
    return minitorch.empty(1).uniform_(low, high).item()


class Transform:
    """Base: `repr` shows the named attributes."""

    shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_show(getattr(self, name))}" for name in self.shown)
        return f"{type(self).__name__}({values})"


def _show(value: Any) -> str:
    return value.value if isinstance(value, InterpolationMode) else str(value)


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable]):
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        return "\n".join(["Compose(", *(f"    {transform}" for transform in self.transforms), ")"])


class Lambda(Transform):
    """A function as a transform."""

    def __init__(self, lambd: Callable):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd)!r}")
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)


class ToTensor(Transform):
    """A Pillow image or an array (H, W[, C]) as a float Tensor (C, H, W); bytes 0 to 255 become 0.0 to 1.0."""

    def __call__(self, image: Any) -> Any:
        return F.to_tensor(image)


class Normalize(Transform):
    """(image - mean) / std, channel by channel, of a Tensor."""

    shown = ("mean", "std")

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False):
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, tensor: Any) -> Any:
        return F.normalize(tensor, self.mean, self.std, self.inplace)


class Resize(Transform):
    """Scale to (height, width), or the shorter side to `size`."""

    shown = ("size", "interpolation", "max_size", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ):
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        if max_size is not None and isinstance(size, Sequence) and len(size) == 2:
            raise ValueError("max_size should only be passed if size specifies the length of the smaller edge")
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def __call__(self, image: Any) -> Any:
        return F.resize(image, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """The middle of the image."""

    shown = ("size",)

    def __init__(self, size: int | Sequence[int]):
        self.size = _pair(size)

    def __call__(self, image: Any) -> Any:
        return F.center_crop(image, self.size)


class RandomCrop(Transform):
    """A rectangle of the image, after adding a border, at a random place."""

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ):
        self.size = _pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def __call__(self, image: Any) -> Any:
        if self.padding is not None:
            image = F.pad(image, self.padding, self.fill, self.padding_mode)
        th, tw = self.size
        _, h, w = F.get_dimensions(image)
        if self.pad_if_needed and w < tw:
            image = F.pad(image, [tw - w, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and h < th:
            image = F.pad(image, [0, th - h], self.fill, self.padding_mode)
        return F.crop(image, *self.get_params(image, self.size))

    @staticmethod
    def get_params(image: Any, size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height, width of the rectangle."""
        th, tw = size
        _, h, w = F.get_dimensions(image)
        if h < th or w < tw:
            raise ValueError(f"Required crop size {(th, tw)} is larger than input image size {(h, w)}")
        if (h, w) == (th, tw):
            return 0, 0, h, w
        top = _randint(h - th + 1)
        return top, _randint(w - tw + 1), th, tw

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with probability `p`."""

    shown = ("p",)
    flip = staticmethod(F.hflip)

    def __init__(self, p: float = 0.5):
        self.p = p

    def __call__(self, image: Any) -> Any:
        return self.flip(image) if minitorch.rand(1).item() < np.float32(self.p) else image


class RandomVerticalFlip(RandomHorizontalFlip):
    """Top and bottom exchanged, with probability `p`."""

    flip = staticmethod(F.vflip)


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in random order.

    A number v stands for a factor from [max(0, 1 - v), 1 + v] (for the hue: from [-v, v]), a pair for its limits.
    """

    shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0):
        self.brightness = self._limits("brightness", brightness)
        self.contrast = self._limits("contrast", contrast)
        self.saturation = self._limits("saturation", saturation)
        self.hue = self._limits("hue", hue, center=0.0, bound=(-0.5, 0.5))

    @staticmethod
    def _limits(
        name: str, value: Any, center: float = 1.0, bound: tuple[float, float] = (0.0, math.inf)
    ) -> tuple[float, float] | None:
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            low, high = center - float(value), center + float(value)
            if center == 1.0:
                low = max(low, 0.0)
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            low, high = float(value[0]), float(value[1])
        else:
            raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
        if not bound[0] <= low <= high <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}, but got {[low, high]}.")
        return None if low == high == center else (low, high)

    def get_params(self) -> tuple[list[int], list[float | None]]:
        """The order of the four changes, and the factor of each (None: no change)."""
        order = minitorch.randperm(4).tolist()
        limits = (self.brightness, self.contrast, self.saturation, self.hue)
        return order, [None if pair is None else _uniform(*pair) for pair in limits]

    def __call__(self, image: Any) -> Any:
        order, factors = self.get_params()
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for i in order:
            factor = factors[i]
            if factor is not None:
                image = changes[i](image, factor)
        return image


class RandomErasing(Transform):
    """A random rectangle of a Tensor image filled with `value` ("random": with noise), with probability `p`.

    Its area is a share from `scale` of the image's, height : width a ratio from `ratio` (Z. Zhong et al.,
    arXiv:1708.04896).
    """

    shown = ("p", "scale", "ratio", "value", "inplace")

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ):
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def __call__(self, image: Any) -> Any:
        if minitorch.rand(1).item() >= np.float32(self.p):
            return image
        channels, height, width = F.get_dimensions(image)
        value = self.value
        if isinstance(value, (int, float)):
            value = [float(value)]
        if not isinstance(value, str) and len(value) not in (1, channels):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{channels} (number of input channels)"
            )
        logs = [float(np.log(np.float32(r))) for r in self.ratio]
        for _ in range(10):  # rectangles that do not fit are drawn again
            area = height * width * _uniform(*self.scale)
            aspect = float(np.exp(np.float32(_uniform(*logs))))
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if h < height and w < width:
                if isinstance(value, str):
                    content = minitorch.empty([channels, h, w], dtype=minitorch.float32).normal_()
                else:
                    content = minitorch.as_tensor(value)[:, None, None]
                top = _randint(height - h + 1)
                return F.erase(image, top, _randint(width - w + 1), h, w, content, self.inplace)
        return image


__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "InterpolationMode", "Lambda", "Normalize", "RandomCrop", "RandomErasing",
    "RandomHorizontalFlip", "RandomVerticalFlip", "Resize", "ToTensor",
]
