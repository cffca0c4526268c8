"""What the files of neural-network operators share."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..dispatch import Tensor, ndarray
from ..kernels.half import HALVES

FLOATS = (*HALVES, np.dtype(np.float32), np.dtype(np.float64))


def fused(kernel: Callable) -> Callable:
    """Decorator for a composition of operators that `kernel` computes in one go.

    Arrays take the kernel; Tensors, which may have to be differentiated, take the composition. Each is the other's
    oracle in the tests (both are reachable: `f.kernel`, `f.composition`).
    """

    def decorate(composition: Callable) -> Callable:
        @functools.wraps(composition)
        def either(*args: Any, **kwargs: Any) -> Any:
            if type(args[0]) is not ndarray or kwargs:
                for a in args:
                    if isinstance(a, Tensor):
                        return composition(*args, **kwargs)
            return kernel(*args, **kwargs)

        either.kernel, either.composition = kernel, composition  # type: ignore[attr-defined]
        return either

    return decorate


def floating(kernel: Callable, name: str | None = None) -> Callable:
    """The kernel, refusing input that is not floating point, as torch words it."""
    shown = name or kernel.__name__

    @functools.wraps(kernel)
    def checked(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input.dtype.kind in "iub":
            refuse(shown, input)
        return kernel(input, *args, **kwargs)

    return checked


def wide(kernel: Callable, name: str, types: tuple = HALVES) -> Callable:
    """The kernel, refusing half precisions, for which torch's CPU has none."""

    @functools.wraps(kernel)
    def checked(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input.dtype in types:
            refuse(name, input)
        return kernel(input, *args, **kwargs)

    return checked


def integral(kernel: Callable, name: str) -> Callable:
    """The kernel of one or two integer or boolean arrays, refusing floats as torch words it."""
    if isinstance(kernel, np.ufunc):

        def checked(input: Any, other: Any) -> Any:
            if input.dtype.kind in "fV":
                refuse(name, input)
            return kernel(input, other)

        return checked
    return wide(kernel, name, FLOATS)


def refuse(name: str, array: Any) -> None:
    """Raise what torch raises where it has no kernel for a dtype."""
    raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_name(array)}'")


def scalar_name(array: Any) -> str:
    """torch's name of a dtype in such messages: Long, Float, ..."""
    return next(name for name, d in dtypes.LEGACY.items() if d is dtypes.of(array))


def tuple_of(value: Any, n: int) -> tuple:
    """A number for each of `n` dimensions: one int stands for all."""
    return (value,) * n if isinstance(value, int) else tuple(value)


def not_implemented(name: str) -> Callable:
    """The formula of a gradient that torch has not either."""

    def formula(grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return formula


def underivable(name: str) -> Callable:
    """The formula of an operator for which torch's table has no line at all."""

    def formula(grad: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return formula
