"""Images: padding, interpolation, sampling, blocks and shuffled pixels."""

import math
import warnings

from minitorch.nn.functional.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from minitorch.ops import nn_conv, nn_padding
from minitorch.ops.nn_padding import channel_shuffle, pad, pixel_shuffle, pixel_unshuffle

native_channel_shuffle = channel_shuffle
__all__ = [
    "affine_grid", "channel_shuffle", "fold", "grid_sample", "interpolate", "native_channel_shuffle", "pad",
    "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample", "upsample_bilinear", "upsample_nearest",
]

_SPATIAL = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
    antialias=False,
):
    """The spatial dimensions of (N, C, *spatial) resized to `size`, or by `scale_factor`.

    mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area" (means). `align_corners`:
    the corner pixels' centres, rather than the image's outer edges, are the fixed points."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    elif align_corners is None:
        align_corners = False
    nd = input.dim() - 2
    if nd not in (1, 2, 3) or (mode not in ("nearest", "area", "nearest-exact") and _SPATIAL.get(mode) != nd):
        if mode in _SPATIAL and nd in (1, 2, 3):
            raise NotImplementedError(f"Got {nd + 2}D input, but {mode} mode needs {_SPATIAL[mode] + 2}D input")
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    size = _each("size", size, input, nd)
    scales = _each("scale_factor", scale_factor, input, nd)
    if size is None and scales is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None and recompute_scale_factor:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if size is None:
        size = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales, strict=True)]
        if recompute_scale_factor or mode == "area":
            scales = None
    if mode == "area":
        return {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}[nd](input, size)
    return nn_padding.upsample(input, tuple(size), mode, bool(align_corners), scales, antialias)


def _each(name, value, input, nd):
    if value is None or not isinstance(value, list | tuple):
        return None if value is None else [value] * nd
    if len(value) != nd:
        raise ValueError(
            f"Input and {'output' if name == 'size' else name} must have the same number of spatial dimensions, but "
            f"got input with spatial dimensions of {list(input.shape[2:])} and "
            f"{'output size' if name == 'size' else 'scale_factor'} of {value}."
        )
    return list(value)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` with mode "nearest"."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` with mode "bilinear" and aligned corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The sliding blocks of (N, C, H, W) as columns: (N, C * kernel places, blocks)."""
    return nn_conv.im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (N, C * kernel places, blocks) summed into images (N, C, *output_size)."""
    return nn_conv.col2im(input, output_size, kernel_size, dilation, padding, stride)


def affine_grid(theta, size, align_corners=None):
    """Places for `grid_sample`, (N, *spatial, d): those of an output of `size` mapped by theta (N, d, d + 1)."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=2,
        )
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    d = {4: 2, 5: 3}.get(len(size))
    if d is None:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (d, d + 1):
        raise ValueError(
            f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return nn_padding.affine_grid(theta, size, align_corners)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Values of input (N, C, *size) at the places of grid (N, *out, d): coordinates from -1 to 1, x first."""
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    if mode not in modes:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in paddings:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=2,
        )
        align_corners = False
    nd = input.dim() - 2
    if nd not in (2, 3) or grid.dim() != nd + 2:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != nd:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, and grid to have size {nd} in last "
            f"dimension, but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if nd == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return nn_padding.grid_sampler(input, grid, modes[mode], paddings[padding_mode], align_corners)
