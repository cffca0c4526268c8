"""Values as sets and as bins: unique, searchsorted, bucketize, bincount, histc (ATen/native/{Unique,Bucketization,
SummaryOps,Histogram}.cpp). None of them has a derivative.
"""

from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import sets as kernels
from ..tensor import check_dim, wrap
from .nn_common import not_implemented, scalar_name

_RESULTS = ("output", "inverse_indices", "counts")
_unique = op("unique2", lambda input: kernels.unique(input), function=False, as_method=False, returns=_RESULTS,
             input=not_implemented("_unique2"))
_unique_dim = op("unique_dim", lambda input, dim: kernels.unique_dim(input, dim), function=False, as_method=False,
                 returns=_RESULTS, input=not_implemented("unique_dim"))
_unique_consecutive = op(
    "unique_consecutive", lambda input, dim: kernels.unique(input, True) if dim is None else
    kernels.unique_dim(input, dim, True), function=False, as_method=False, returns=_RESULTS,
    input=not_implemented("unique_consecutive"),
)


def _checked_dim(input: Any, dim: int) -> int:
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = check_dim(dim, input.ndim)
    if any(n == 0 for d, n in enumerate(input.shape) if d != dim):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return dim


def _asked_for(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    output, inverse, counts = results
    asked = (output, *[inverse] * bool(return_inverse), *[counts] * bool(return_counts))
    return asked if len(asked) > 1 else output


@composite()
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements in ascending order; or, with `dim`, the different slices along it.

    With `return_inverse` also which of them each element is (of input's shape, or (n,) of slices), with
    `return_counts` how often each occurs. `sorted=False` promises no order; here it is the same."""
    results = _unique(input) if dim is None else _unique_dim(input, _checked_dim(input, dim))
    return _asked_for(results, return_inverse, return_counts)


@composite()
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One element for each run of equal ones; with `dim`, one slice for each run of equal slices."""
    dim = None if dim is None else _checked_dim(input, dim)
    return _asked_for(_unique_consecutive(input, dim), return_inverse, return_counts)


def _searched(bounds: Any, input: Any, right: bool, out_int32: bool, sorter: Any = None) -> Tensor:
    values = input._array if isinstance(input, Tensor) else np.asarray(input)
    found = kernels.searchsorted(bounds._array, values, right, None if sorter is None else sorter._array)
    return wrap(found.astype(np.int32) if out_int32 else found)


@composite(as_method=False)
def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Where each value of input (..., n) would be put into its ascending sequence (m,) or (..., m) so that it stays in
    order: before equal elements, or behind them (`right`, or `side="right"`). sorter: the indices that sort an unsorted
    sequence."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    shape, bounds = input.shape if isinstance(input, Tensor) else (), sorted_sequence.shape
    if not isinstance(input, Tensor) and len(bounds) != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
            f"but we got boundaries tensor dim({len(bounds)}) and input value's dim(0) numel(1)"
        )
    if len(bounds) != 1 and (len(bounds) == 0 or bounds[:-1] != shape[:-1] or len(bounds) != len(shape)):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(bounds)} and input value "
            f"tensor {list(shape)}"
        )
    if sorter is not None and sorter.shape != bounds:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(bounds)}and got sorter tensor {list(sorter.shape)}"
        )
    return _searched(sorted_sequence, input, right or side == "right", out_int32, sorter)


@composite(as_method=False)
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """Between which of the ascending boundaries (n,) each value of input lies: 0 to n."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return _searched(boundaries, input, right, out_int32)


@composite()
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each of 0, 1, ..., max(input) occurs in input (n,); with weights (n,), their sums. At least
    `minlength` numbers."""
    array = input._array
    if array.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{scalar_name(array)}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return wrap(kernels.bincount(array, None if weights is None else weights._array, minlength))


@composite()
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements lie in each of `bins` equal parts of [min, max], which is that of the data where both are
    equal. What lies outside is not counted."""
    array = input._array
    if array.dtype.kind in "iub":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{scalar_name(array)}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = float(min), float(max)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return wrap(kernels.histc(array, bins, low, high))
