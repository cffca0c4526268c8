"""Where results are written: `out=`, or the tensor itself, in place (ATen/native/Resize.cpp, ATen/MemoryOverlap.cpp)."""

import warnings
from typing import Any

import numpy as np

from . import dtypes
from .autograd.grad_mode import thread
from .tensor import Tensor


def write_out(out: Any, result: Any, name: str, row: Any = None, args: tuple = ()) -> Any:
    """Put a result where `out=` says. The shape follows the result; the dtype must be able to hold it."""
    if isinstance(result, tuple):
        for o, r in zip(out, result, strict=True):
            _write_one(o, r, name, exact=True)
        return result._make(out) if hasattr(result, "_make") else tuple(out)
    is_row = hasattr(row, "promote")
    if isinstance(out, Tensor) and (name in ALONE or name in _ELEMENTWISE or (is_row and row.promote)):
        refuse_overlap(out, args, name)
    exact = name in _EXACT_OUT or name.startswith("linalg_") or (is_row and not row.promote and name not in _CASTING_OUT)
    return _write_one(out, result, name, exact, not is_row or row.differentiable)


# What torch computes element by element casts its result to the dtype of `out`; the rest wants the very dtype. Rows
# are taken for the former where they promote their arguments: these are the exceptions, and the composites.
_CASTING_OUT = frozenset({
    "cat", "stack", "cumsum", "cumprod", "nansum", "square", "logical_and", "logical_or", "logical_xor", "logical_not",
})
_EXACT_OUT = frozenset({
    "aminmax", "cross", "diag", "diff", "float_power", "gelu", "hardshrink", "heaviside", "histc", "isin", "linear",
    "log_softmax", "logsigmoid", "matmul", "nonzero", "norm", "searchsorted", "bucketize", "scatter", "slice_scatter",
    "softmax", "softplus", "softshrink", "take_along_dim", "tensordot", "vdot", "where", "round", "conj_physical",
    "quantile", "nanquantile", "msort",
})
_ELEMENTWISE = frozenset({"clamp", "clamp_max", "clamp_min", "copysign", "fmod", "lerp", "pow", "remainder", "where"})
_JOINING = frozenset({
    "cat", "stack", "hstack", "vstack", "dstack", "column_stack",
})


def _write_one(out: Any, result: Any, name: str, exact: bool, differentiable: bool = True) -> Any:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if differentiable:
        refuse_gradient(out, name, result._requires_grad)
    if exact and result.dtype is not out.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")
    if not dtypes.can_cast(result.dtype, out.dtype) and name not in ("cumsum", "cumprod"):
        if name in _JOINING:
            raise TypeError(
                f"torch.cat(): input types can't be cast to the desired output type {legacy_scalar(out.dtype)}"
            )
        raise RuntimeError(
            f"result type {legacy_scalar(result.dtype)} can't be cast to the desired output type "
            f"{legacy_scalar(out.dtype)}"
        )
    resize_out(out, result._array.shape)
    write(out._array, result._array)
    out._bump()
    return out


def refuse_gradient(out: Tensor, name: str, wanted: bool = False) -> None:
    """RuntimeError where a gradient would have to go through `out=`."""
    if thread.grad and (wanted or out.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )


def resize_out(out: Tensor, shape: tuple, warn: bool = True) -> None:
    """Give `out` another shape, with a warning unless it was empty (or `warn` is False)."""
    if out._array.shape == shape:
        return
    if out._array.size and warn:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does "
            f"not match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    out._array = np.empty(shape, out._array.dtype)


# rows whose result must lie elsewhere than what they read; the others may write over it, element for element
ALONE = frozenset({
    "cat", "gather", "index_add", "index_copy", "index_put_op", "index_reduce", "index_select", "masked_select", "put",
    "scatter_add", "scatter_reduce", "scatter_src", "take",
})


def refuse_overlap(target: Tensor, sources: Any, name: str) -> None:
    """RuntimeError, as torch, where memory is written that is also read, but not element for element."""
    counter = target._counter
    for s in sources:
        if isinstance(s, (list, tuple)):
            refuse_overlap(target, s, name)
        elif not isinstance(s, Tensor) or s._counter is not counter or (counter is None and s is not target):
            continue  # tensors that share memory share its version counter
        elif _overlap(target._array, s._array, name in ALONE):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _overlap(a: Any, b: Any, identity_counts: bool) -> bool:
    """Whether two arrays without gaps share memory otherwise than as the same array."""
    (low, high), (start, stop) = np.lib.array_utils.byte_bounds(a), np.lib.array_utils.byte_bounds(b)
    if not a.size or not b.size or high - low != a.nbytes or stop - start != b.nbytes:
        return False  # torch does not look into arrays with gaps
    if (low, high) == (start, stop) and a.strides == b.strides:
        return identity_counts
    return low < stop and start < high


def legacy_scalar(d: dtypes.dtype) -> str:
    return next(name for name, t in dtypes.LEGACY.items() if t is d)


def write(target: Any, value: Any, overlaps: bool = False) -> None:
    """Copy into memory that need not be contiguous; refuse memory in which elements coincide."""
    if target.size == 0:
        return
    if target.size and (not target.flags.writeable or 0 in target.strides):
        for n, s in zip(target.shape, target.strides, strict=True):
            if s == 0 and n > 1 and not overlaps:
                raise RuntimeError(
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                    "location. Please clone() the tensor before performing the operation."
                )
        if not target.flags.writeable:
            target.flags.writeable = True
    target[...] = value
