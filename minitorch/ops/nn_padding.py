"""Padding, interpolation and pixel shuffling (ATen/native/{PadNd,UpSample*,PixelShuffle,GridSampler}.cpp)."""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import resample as kernels
from .elementwise import clamp, floor, where
from .linalg import matmul

# ---- the rows: all maps that act on each dimension by itself share one derivative -----------------------------------

adjoint = op("resample_adjoint", kernels.adjoint, function=False,
             grad=lambda cotangent, taps: resample(cotangent, taps))


_IN_FLOAT32 = {"reflect_pad1d", "reflect_pad2d", "replicate_pad1d", "replicate_pad2d", "replicate_pad3d"}  # autocast's


def _resample(name: str, node: str, slope: Any) -> Any:
    autocast = "fp32_cpu" if name in _IN_FLOAT32 else None
    return op(name, kernels.apply, function=False, node=node, autocast=autocast, input=slope)


_OF_SHAPE = lambda grad, taps, input_shape: adjoint(grad, taps, input_shape)
_OF_INPUT = lambda grad, taps, input: adjoint(grad, taps, input.shape)
resample = _resample("resample", "ResampleBackward0", _OF_SHAPE)
_PADS = {(mode, nd): _resample(f"{mode}_pad{nd}d", f"{name}Pad{nd}DBackward0",
                                                _OF_SHAPE if mode == "circular" else _OF_INPUT)
         for mode, name in (("reflect", "Reflection"), ("replicate", "Replication"), ("circular", "Circular"))
         for nd in (1, 2, 3)}
_UPSAMPLES = {
    mode: _resample(f"upsample_{mode}", f"Upsample{name}Backward0", _OF_SHAPE) for mode, name in {
        "nearest1": "Nearest1D", "nearest2": "Nearest2D", "nearest3": "Nearest3D",
        "nearest-exact1": "NearestExact1D", "nearest-exact2": "NearestExact2D", "nearest-exact3": "NearestExact3D",
        "linear1": "Linear1D", "bilinear2": "Bilinear2D", "trilinear3": "Trilinear3D", "bicubic2": "Bicubic2D",
        "bilinear2aa": "Bilinear2DAa", "bicubic2aa": "Bicubic2DAa",
    }.items()
}
constant_pad_nd = op("constant_pad_nd", kernels.constant_pad, as_method=False,
                     input=lambda grad, pad: constant_pad_nd(grad, [-n for n in pad]))


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """`input` with a border: `pad` is (before, after) of the last dimension, then of the one before it, and so on.

    mode: "constant" (filled with `value`), "reflect", "replicate" or "circular"; negative numbers crop."""
    pad = [int(n) for n in pad]
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {len(pad)}")
    nd = len(pad) // 2
    if nd > input.dim():
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if nd not in (1, 2, 3) or input.dim() not in (nd + 1, nd + 2):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    taps: list = []
    for i in range(nd):
        before, after, size = pad[2 * i], pad[2 * i + 1], input.shape[-1 - i]
        if mode == "reflect" and (before >= size or after >= size):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {input.dim() - 1 - i} of input {list(input.shape)}"
            )
        if mode == "circular" and (before > size or after > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode != "reflect" and size == 0:
            raise RuntimeError(
                f"Expected {nd + 1}D or {nd + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
                f"dimensions for input, but got: {list(input.shape)}"
            )
        if size + before + after < 1:
            raise RuntimeError(
                f"input (size: {size}) with padding ({before}, {after}) is too small: the output would be empty"
            )
        taps.insert(0, kernels.border(size, before, after, mode))
    return _PADS[mode, nd](input, tuple(taps))


# ---- interpolation ------------------------------------------------------------------------------------------------


def upsample(input: Any, size: tuple, mode: str, align_corners: bool, scales: Any, antialias: bool) -> Any:
    """Interpolate the spatial dimensions of (N, C, *spatial) to `size`; scales: the factors that were given, or
    None."""
    nd = len(size)
    if 0 in input.shape[1:] or min(size) < 1:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({tuple(input.shape[2:])}) output ({size})"
        )
    taps: list = []
    for old, new, scale in zip(input.shape[2:], size, scales or (None,) * nd, strict=True):
        if mode.startswith("nearest"):
            taps.append(kernels.nearest(old, new, scale, mode == "nearest-exact"))
        elif old == new and scale in (None, 1):
            taps.append(None)
        elif antialias:
            taps.append(kernels.antialiased(old, new, align_corners, scale, mode.removeprefix("bi")))
        elif mode == "bicubic":
            taps.append(kernels.cubic(old, new, align_corners, scale))
        else:
            taps.append(kernels.linear(old, new, align_corners, scale))
    return _UPSAMPLES[f"{mode}{nd}{'aa' if antialias else ''}"](input, tuple(taps))


# ---- pixels to channels and back ----------------------------------------------------------------------------------


def _shuffle(input: Any, upscale_factor: int) -> Any:
    *lead, c, h, w = input.shape
    r = upscale_factor
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    n = len(lead)
    x = x.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return np.ascontiguousarray(x).reshape(*lead, c // (r * r), h * r, w * r)


def _unshuffle(input: Any, downscale_factor: int) -> Any:
    *lead, c, h, w = input.shape
    r = downscale_factor
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    x = x.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return np.ascontiguousarray(x).reshape(*lead, c * r * r, h // r, w // r)


def _checked_shuffle(input: Any, upscale_factor: int) -> Any:
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    if input.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return _shuffle(input, upscale_factor)


def _checked_unshuffle(input: Any, downscale_factor: int) -> Any:
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for name, size in zip(("height", "width"), input.shape[-2:], strict=True):
        if size % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size("
                f"{-2 if name == 'height' else -1})={size} is not divisible by {downscale_factor}"
            )
    return _unshuffle(input, downscale_factor)


pixel_shuffle = op("pixel_shuffle", _checked_shuffle, as_method=False,
                   input=lambda grad, upscale_factor: pixel_unshuffle(grad, upscale_factor))
pixel_unshuffle = op("pixel_unshuffle", _checked_unshuffle, as_method=False,
                     input=lambda grad, downscale_factor: pixel_shuffle(grad, downscale_factor))


def _mix(input: Any, groups: int) -> Any:
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    n, c = input.shape[:2]
    x = input.reshape(n, groups, c // groups, *input.shape[2:])
    return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(input.shape)


channel_shuffle = op("channel_shuffle", _mix, as_method=False,
                     input=lambda grad, groups, input_shape:
                     channel_shuffle(grad, input_shape[1] // groups))

# ---- sampling at arbitrary places ---------------------------------------------------------------------------------


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    """Places for `grid_sample`, (N, *spatial, d): those of the output `size` (N, C, *spatial) mapped by theta (N, d,
    d + 1)."""
    n, _, *spatial = size
    axes = []
    for length in spatial:
        axis = np.linspace(-1, 1, length) if length > 1 else np.zeros(1)
        axes.append(axis if align_corners else axis * (length - 1) / length)
    mesh = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(spatial)], -1)
    base = Tensor()
    base._array = mesh.reshape(1, -1, len(spatial) + 1).astype(theta._array.dtype)
    return matmul(base.expand(n, -1, -1), theta.transpose(1, 2)).view(n, *spatial, len(spatial))


@composite(as_method=False, autocast="fp32_cpu")
def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Values of input (N, C, *size) at the places of grid (N, *out, d), coordinates from -1 to 1, x first.

    interpolation_mode: 0 linear, 1 nearest, 2 cubic; padding_mode: 0 zeros, 1 border, 2 reflection."""
    size = input.shape[2:]
    nd = len(size)
    lows, fractions, coordinates = [], [], []
    for d in range(nd):  # over depth, height, width; the grid lists them the other way round
        length = size[d]
        x = grid[..., nd - 1 - d]
        x = (x + 1) * ((length - 1) / 2) if align_corners else ((x + 1) * length - 1) / 2
        if interpolation_mode != 2:
            x = _bounded(x, length, padding_mode, align_corners)
        coordinates.append(x)
        low = x.detach().round() if interpolation_mode == 1 else floor(x.detach())
        lows.append(np.nan_to_num(low._array, nan=-1e6, posinf=1e6, neginf=-1e6).astype(np.int64))
        fractions.append(x - low)
    taps = {0: (0, 1), 1: (0,), 2: (-1, 0, 1, 2)}[interpolation_mode]
    flat = input.reshape(*input.shape[:2], math.prod(size))
    total: Any = 0
    for corner in np.ndindex(*[len(taps)] * nd):
        weight: Any = 1
        index, inside = np.zeros(lows[0].shape, np.int64), np.ones(lows[0].shape, bool)
        for d in range(nd):
            place = lows[d] + taps[corner[d]]
            if interpolation_mode == 1:
                weight = weight * (fractions[d] * 0 + 1)  # constant, and yet a function of the grid
            elif interpolation_mode == 0:
                weight = weight * (fractions[d] if corner[d] else 1 - fractions[d])
            elif interpolation_mode == 2:
                weight = weight * _cubic_weight(fractions[d], taps[corner[d]])
                if padding_mode:
                    place = _bounded_integers(place, size[d], padding_mode, align_corners)
            inside &= (place >= 0) & (place < size[d])
            index = index * size[d] + np.clip(place, 0, size[d] - 1)
        values = flat.gather(2, _like(index.reshape(len(index), 1, -1), flat).expand(-1, flat.shape[1], -1))
        values = values.view(*flat.shape[:2], *index.shape[1:])
        weight = weight * _like(inside.astype(flat._array.dtype), flat)
        total = total + values * weight.unsqueeze(1)
    return total


def _like(array: Any, other: Tensor) -> Tensor:
    t = Tensor()
    t._array = array
    return t


def _bounded(x: Any, size: int, padding_mode: int, align_corners: bool) -> Any:
    """A coordinate moved into the image: to its border, or reflected at it."""
    if padding_mode == 2:
        x = _reflected(x, size, align_corners)
    if not padding_mode:
        return x
    inside = (x > 0) & (x < size - 1)  # at the border itself the place does not move
    return where(inside, x, clamp(x.detach(), 0, size - 1))


def _reflected(x: Any, size: int, align_corners: bool) -> Any:
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span == 0:
        return x * 0
    distance = (x - low).abs()
    times = floor(distance.detach() / span)
    extra = distance - times * span
    return where(times % 2 == 0, extra + low, span - extra + low)


def _bounded_integers(place: Any, size: int, padding_mode: int, align_corners: bool) -> Any:
    x = _like(place.astype(np.float64), None)  # type: ignore[arg-type]
    return _bounded(x, size, padding_mode, align_corners)._array.astype(np.int64)


def _cubic_weight(t: Any, tap: int, a: float = -0.75) -> Any:
    d = t - tap if tap <= 0 else tap - t
    if tap in (0, 1):
        return ((a + 2) * d - (a + 3)) * d * d + 1
    return ((d - 5) * d + 8) * d * a - 4 * a


__all__ = ["channel_shuffle", "constant_pad_nd", "grid_sampler", "pixel_shuffle", "pixel_unshuffle"]
