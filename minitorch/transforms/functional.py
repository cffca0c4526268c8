"""What the transforms compute (torchvision.transforms.functional, version 1).

An image is one of three things, and each function gives back what it was given:

    a Tensor        (..., C, H, W)
    a NumPy array   (H, W) or (H, W, C)
    a Pillow image  which Pillow itself transforms; it is never imported unless such an image comes along

Tensors and arrays share one computation, on arrays (..., C, H, W). Integer images run from 0 to 255, floating ones from
0 to 1.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minitorch
from minitorch.tensor import Tensor, wrap


class InterpolationMode(enum.Enum):
    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


def is_pil(image: Any) -> bool:
    return type(image).__module__.startswith("PIL.")


def on_planes(image: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Apply a function of arrays (..., C, H, W) to a Tensor or an array."""
    if isinstance(image, Tensor):
        if image.ndim < 2:
            raise TypeError(f"Tensor is not a torch image: expected (..., C, H, W), got the shape {tuple(image.shape)}")
        return wrap(np.ascontiguousarray(function(image.detach()._array)))
    if isinstance(image, np.ndarray):
        if image.ndim not in (2, 3):
            raise ValueError(f"an image array should be (H, W) or (H, W, C), but got the shape {image.shape}")
        if image.ndim == 2:
            return np.ascontiguousarray(function(image[None])[0])
        return np.ascontiguousarray(np.moveaxis(function(np.moveaxis(image, -1, 0)), 0, -1))
    raise TypeError(f"image should be a Tensor, a NumPy array or a PIL Image. Got {type(image)}")


def get_dimensions(image: Any) -> tuple[int, int, int]:
    """Channels, height, width."""
    if is_pil(image):
        return len(image.getbands()), image.height, image.width
    shape = tuple(image.shape)
    if isinstance(image, np.ndarray):
        return (1 if image.ndim == 2 else shape[2]), shape[0], shape[1]
    return (1 if len(shape) == 2 else shape[-3]), shape[-2], shape[-1]


# -- to tensors

def to_tensor(image: Any) -> Tensor:
    """A Pillow image or an array (H, W[, C]) as a Tensor (C, H, W); bytes become floats from 0 to 1."""
    if is_pil(image):
        kinds = {"I": np.int32, "I;16": np.int16, "F": np.float32}
        array = np.array(image, kinds.get(image.mode), copy=True)
        if image.mode == "1":
            array = array.astype(np.uint8) * 255
    elif isinstance(image, np.ndarray):
        array = image
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(image)}")
    if array.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    if array.dtype == np.uint8:
        dtype = minitorch.get_default_dtype().numpy
        return wrap(np.divide(planes, dtype.type(255), dtype=dtype, order="C"))
    return wrap(np.array(planes, order="C"))


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """(tensor - mean) / std, channel by channel."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). "
            f"Got tensor.size() = {tuple(tensor.shape)}"
        )
    shift, scale = (minitorch.as_tensor(v, dtype=tensor.dtype, device=tensor.device) for v in (mean, std))
    if (scale == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    shift, scale = (v.view(-1, 1, 1) if v.ndim == 1 else v for v in (shift, scale))
    return tensor.sub_(shift).div_(scale) if inplace else (tensor - shift) / scale


# -- geometry

def crop(image: Any, top: int, left: int, height: int, width: int) -> Any:
    """The rectangle with its upper left corner at (top, left); what lies outside of the image is 0."""
    if is_pil(image):
        return image.crop((left, top, left + width, top + height))

    def cut(planes: np.ndarray) -> np.ndarray:
        h, w = planes.shape[-2:]
        if top >= 0 and left >= 0 and top + height <= h and left + width <= w:
            return planes[..., top : top + height, left : left + width]
        out = np.zeros((*planes.shape[:-2], height, width), planes.dtype)
        inside = planes[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
        y, x = max(-top, 0), max(-left, 0)
        out[..., y : y + inside.shape[-2], x : x + inside.shape[-1]] = inside
        return out

    return on_planes(image, cut)


def center_crop(image: Any, size: tuple[int, int]) -> Any:
    """The middle of the image; a smaller image is surrounded with 0."""
    height, width = size
    _, h, w = get_dimensions(image)
    more_h, more_w = max(height - h, 0), max(width - w, 0)
    if more_h or more_w:
        image = pad(image, (more_w // 2, more_h // 2, (more_w + 1) // 2, (more_h + 1) // 2))
        _, h, w = get_dimensions(image)
    return crop(image, round((h - height) / 2.0), round((w - width) / 2.0), height, width)


def pad(image: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Add a border: one width for all sides, two (left and right, top and bottom), or four (left, top, right, ...)."""
    sides = [padding] if isinstance(padding, int) else list(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple")
    left, top, right, bottom = sides * (4 // len(sides))
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            f"Padding mode should be either constant, edge, reflect or symmetric, but got padding_mode={padding_mode!r}"
        )
    if is_pil(image):
        if padding_mode == "constant":
            from PIL import ImageOps

            bands = len(image.getbands())
            colour: Any = (fill,) * bands if isinstance(fill, (int, float)) and bands > 1 else fill
            return ImageOps.expand(image, (left, top, right, bottom), colour)
        from PIL import Image

        return Image.fromarray(pad(np.asarray(image), padding, fill, padding_mode), image.mode)
    options = {"constant_values": fill} if padding_mode == "constant" else {}

    def surround(planes: np.ndarray) -> np.ndarray:
        widths = [(0, 0)] * (planes.ndim - 2) + [(top, bottom), (left, right)]
        return np.pad(planes, widths, padding_mode, **options)  # type: ignore[call-overload]

    return on_planes(image, surround)


def hflip(image: Any) -> Any:
    """Left and right exchanged."""
    if is_pil(image):
        return image.transpose(0)  # Image.Transpose.FLIP_LEFT_RIGHT
    return on_planes(image, lambda planes: planes[..., ::-1])


def vflip(image: Any) -> Any:
    """Top and bottom exchanged."""
    if is_pil(image):
        return image.transpose(1)  # Image.Transpose.FLIP_TOP_BOTTOM
    return on_planes(image, lambda planes: planes[..., ::-1, :])


def output_size(height: int, width: int, size: Sequence[int], max_size: int | None = None) -> tuple[int, int]:
    """What `resize` makes of an image: two numbers are height and width, one is the length of the shorter side."""
    if len(size) == 2:
        return size[0], size[1]
    short, long = sorted((height, width))
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge"
                f" size = {size[0]}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def resize(
    image: Any,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Scale to `size` (see `output_size`). With `antialias` the filter widens as the image shrinks, as in Pillow."""
    _, h, w = get_dimensions(image)
    height, width = output_size(h, w, [size] if isinstance(size, int) else list(size), max_size)
    if (height, width) == (h, w):
        return image
    interpolation = InterpolationMode(interpolation)
    if is_pil(image):
        codes = {InterpolationMode.NEAREST: 0, InterpolationMode.BILINEAR: 2, InterpolationMode.BICUBIC: 3}
        return image.resize((width, height), codes[interpolation])

    def scale(planes: np.ndarray) -> np.ndarray:
        if interpolation is InterpolationMode.NEAREST:
            rows, columns = (np.floor(np.arange(n) * (m / n)).astype(int) for m, n in ((h, height), (w, width)))
            return planes[..., rows[:, None], columns]
        values = planes if planes.dtype.kind == "f" else planes.astype(np.float32)
        down = _weights(h, height, interpolation, bool(antialias)).astype(values.dtype)
        across = _weights(w, width, interpolation, bool(antialias)).astype(values.dtype)
        values = down @ (values @ across.T)
        if planes.dtype.kind != "f":
            limits = np.iinfo(planes.dtype)
            values = np.clip(np.rint(values), limits.min, limits.max)
        return values.astype(planes.dtype)

    return on_planes(image, scale)


def _weights(old: int, new: int, interpolation: InterpolationMode, antialias: bool) -> np.ndarray:
    """The matrix (new, old) that resamples one dimension: row i holds the share of each old pixel in new pixel i."""
    step = old / new
    stretch = max(step, 1.0) if antialias else 1.0
    center = (np.arange(new) + 0.5) * step - 0.5
    if interpolation is InterpolationMode.BILINEAR:
        reach, kernel = 1, lambda x: np.maximum(1 - np.abs(x), 0)
    else:
        # cubic convolution (R. Keys 1981); Pillow and antialiasing use a = -0.5, plain bicubic interpolation -0.75
        reach, kernel = 2, _cubic(-0.5 if antialias else -0.75)
    taps = np.arange(-int(np.ceil(reach * stretch)) - 1, int(np.ceil(reach * stretch)) + 2)
    positions = np.floor(center)[:, None].astype(int) + taps
    shares = kernel((positions - center[:, None]) / stretch)
    matrix = np.zeros((new, old))
    if antialias:  # the filter is cut off at the edge and made to sum to one again
        inside = (positions >= 0) & (positions < old)
        shares = np.where(inside, shares, 0)
        shares /= shares.sum(1, keepdims=True)
    np.add.at(matrix, (np.arange(new)[:, None], np.clip(positions, 0, old - 1)), shares)
    return matrix


def _cubic(a: float) -> Callable[[np.ndarray], np.ndarray]:
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.abs(x)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = (((x - 5) * x + 8) * x - 4) * a
        return np.where(x < 1, near, np.where(x < 2, far, 0))

    return kernel


# -- colours

def _bound(dtype: np.dtype) -> float:
    return 1.0 if dtype.kind == "f" else float(np.iinfo(dtype).max)


def _blend(a: np.ndarray, b: Any, ratio: float) -> np.ndarray:
    """ratio * a + (1 - ratio) * b, within the limits of a's type."""
    kind = a.dtype.type if a.dtype.kind == "f" else np.float32
    values = a.astype(kind) * kind(ratio) + np.asarray(b, kind) * kind(1.0 - ratio)
    return np.clip(values, 0, _bound(a.dtype)).astype(a.dtype)


def _gray(planes: np.ndarray) -> np.ndarray:
    """The brightness of each pixel (ITU-R 601), with one channel."""
    if planes.shape[-3] == 1:
        return planes
    red, green, blue = (planes[..., i, :, :] for i in range(3))
    kind = planes.dtype.type if planes.dtype.kind == "f" else np.float32
    gray = kind(0.2989) * red + kind(0.587) * green + kind(0.114) * blue
    return gray.astype(planes.dtype)[..., None, :, :]


def _enhance(image: Any, name: str, factor: float) -> Any:
    from PIL import ImageEnhance

    return getattr(ImageEnhance, name)(image).enhance(factor)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def adjust_brightness(image: Any, factor: float) -> Any:
    """0 is black, 1 the image, 2 twice as bright."""
    _require(factor >= 0, f"brightness_factor ({factor}) is not non-negative.")
    if is_pil(image):
        return _enhance(image, "Brightness", factor)
    return on_planes(image, lambda planes: _blend(planes, 0, factor))


def adjust_contrast(image: Any, factor: float) -> Any:
    """0 is plain grey, 1 the image, 2 twice the contrast."""
    _require(factor >= 0, f"contrast_factor ({factor}) is not non-negative.")
    if is_pil(image):
        return _enhance(image, "Contrast", factor)

    def stretch(planes: np.ndarray) -> np.ndarray:
        gray = _gray(planes)
        kind = planes.dtype if planes.dtype.kind == "f" else np.float32
        return _blend(planes, gray.mean(axis=(-3, -2, -1), keepdims=True, dtype=kind), factor)

    return on_planes(image, stretch)


def adjust_saturation(image: Any, factor: float) -> Any:
    """0 is a grey image, 1 the image, 2 twice as colourful."""
    _require(factor >= 0, f"saturation_factor ({factor}) is not non-negative.")
    if is_pil(image):
        return _enhance(image, "Color", factor)
    return on_planes(image, lambda planes: planes if planes.shape[-3] == 1 else _blend(planes, _gray(planes), factor))


def adjust_hue(image: Any, factor: float) -> Any:
    """Turn every colour around the colour circle, by -0.5 to 0.5 of it."""
    _require(-0.5 <= factor <= 0.5, f"hue_factor ({factor}) is not in [-0.5, 0.5].")
    if is_pil(image):
        return _turn_pil(image, factor)

    def turn(planes: np.ndarray) -> np.ndarray:
        if planes.shape[-3] == 1:
            return planes
        whole = planes.dtype.kind != "f"
        colours = planes.astype(np.float32) / np.float32(255) if whole else planes
        hue, saturation, value = _to_hsv(colours)
        colours = _from_hsv((hue + planes.dtype.type(factor) if not whole else hue + np.float32(factor)) % 1.0,
                            saturation, value)
        # 256 and a little less, so that each byte gets the same share of the unit interval
        return (colours * np.float32(255 + 1 - 1e-3)).astype(planes.dtype) if whole else colours

    return on_planes(image, turn)


def _turn_pil(image: Any, factor: float) -> Any:
    from PIL import Image

    if image.mode in ("L", "1", "I", "F"):
        return image
    hue, saturation, value = image.convert("HSV").split()
    turned = (np.array(hue, np.uint8).astype(int) + int(factor * 255)) % 256
    hue = Image.fromarray(turned.astype(np.uint8))
    return Image.merge("HSV", (hue, saturation, value)).convert(image.mode)


def _to_hsv(colours: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    red, green, blue = (colours[..., i, :, :] for i in range(3))
    high, low = colours.max(axis=-3), colours.min(axis=-3)
    gray = high == low  # has no hue: take 0, without dividing by 0
    span = high - low
    saturation = span / np.where(gray, 1, high)
    divisor = np.where(gray, 1, span)
    from_red, from_green, from_blue = ((high - c) / divisor for c in (red, green, blue))
    hue = np.where(high == red, from_blue - from_green, 0)
    hue = np.where((high == green) & (high != red), 2 + from_red - from_blue, hue)
    hue = np.where((high != green) & (high != red), 4 + from_green - from_red, hue)
    return (hue / 6 + 1) % 1.0, saturation, high


def _from_hsv(hue: np.ndarray, saturation: np.ndarray, value: np.ndarray) -> np.ndarray:
    sector = np.floor(hue * 6)
    f = hue * 6 - sector
    p = np.clip(value * (1 - saturation), 0, 1)
    q = np.clip(value * (1 - saturation * f), 0, 1)
    t = np.clip(value * (1 - saturation * (1 - f)), 0, 1)
    sector = sector.astype(int) % 6
    red = np.choose(sector, (value, q, p, p, t, value))
    green = np.choose(sector, (t, value, value, q, p, p))
    blue = np.choose(sector, (p, p, t, value, value, q))
    return np.stack([red, green, blue], axis=-3)


def erase(image: Tensor, top: int, left: int, height: int, width: int, value: Any, inplace: bool = False) -> Tensor:
    """Fill a rectangle of a tensor image with `value`."""
    if not isinstance(image, Tensor):
        raise TypeError(f"erase needs a Tensor image; put ToTensor before RandomErasing. Got {type(image)}")
    out = image if inplace else image.clone()
    out[..., top : top + height, left : left + width] = value
    return out
