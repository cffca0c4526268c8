"""Random numbers written into tensors: normal_, uniform_, bernoulli_, ... (ATen/native/DistributionTemplates.h).

All of them draw from `generator`, or from the default generator, in the order of the tensor's memory; what is drawn is
described in kernels/random.py. First come the functions that fill arrays, and say in torch's words what cannot be
drawn; then the in-place methods. Like torch these record a node, whose gradient is zero.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import devices, dtypes
from .autograd.grad_mode import thread
from .autograd.graph import NO_EDGE, gradient_edge
from .autograd.views import check_inplace, rebase
from .creation import LIMITS, int_of
from .dispatch import Row, legacy_scalar, record
from .kernels import random as draw
from .random import Generator, chosen
from .tensor import Tensor, method

C_NAMES = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool",
}
DIGITS = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}  # of the significand


def fill(array: Any, generator: Generator | None, make: Callable) -> Any:
    """Fill an array in the order of its memory.  make(engine, out) draws into `out`, which is contiguous."""
    chosen_one = chosen(generator)
    if array.size == 0:
        return array
    with chosen_one.lock:
        if type(array) is np.ndarray and array.flags.c_contiguous:
            make(chosen_one.engine, array)
            return array
        order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
        target = array.transpose(order)
        if type(array) is np.ndarray and target.flags.c_contiguous:
            make(chosen_one.engine, target)
        else:
            drawn = make(chosen_one.engine, np.empty(target.shape, array.dtype))
            target[...] = devices.transfer(drawn, devices.of(array))
    return array


def floating(array: Any, kernel: str) -> dtypes.dtype:
    dtype = dtypes.of(array)
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{legacy_scalar(dtype)}'")
    return dtype


# ---- filling arrays -----------------------------------------------------------------------------------------------


def uniform(array: Any, generator: Any, low: float = 0.0, high: float = 1.0) -> Any:
    dtype = floating(array, "check_uniform_bounds")
    if (low, high) != (0.0, 1.0):
        limit = LIMITS[dtype][1]
        for name, value in (("from", low), ("to", high)):
            if not -limit <= value <= limit:
                raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype.name]}")
        if low > high:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
        if high - low > limit:
            raise RuntimeError(
                f"uniform_ expects to-from <= std::numeric_limits<{legacy_scalar(dtype)}>::max(), but found "
                f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
            )
    return fill(array, generator, lambda engine, out: draw.uniform(engine, out, low, high))


def normal(array: Any, generator: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    floating(array, "normal_kernel_cpu")
    contiguous = array.flags.c_contiguous
    return fill(array, generator, lambda engine, out: draw.normal(engine, out, mean, std, contiguous))


def _nearest(value: int, step: int, digits: int, dtype: dtypes.dtype) -> int:
    """`value`, or where a floating dtype rounds the last integer on its inner side to it or beyond, one step inwards.

    step: +1 moves up (a lower bound), -1 down (an upper one)."""
    beside = value + step
    with np.errstate(over="ignore"):
        rounded = float(np.float32(beside).astype(dtype.numpy)) if dtype.itemsize < 8 else float(beside)
    if math.isfinite(rounded) and (rounded < value if step > 0 else rounded >= value):
        value = int(rounded) + step * (1 << max(abs(beside).bit_length() - digits, 0))
    return value


def randint(array: Any, generator: Any, low: int, high: int | None) -> Any:
    """Integers in [low, high), or (None) up to the largest that the dtype holds."""
    dtype = dtypes.of(array)
    digits = DIGITS.get(dtype.name)
    if high is None and low == -(1 << 63):
        if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError(
                "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
            )
        return fill(array, generator, lambda engine, out: draw.integers(engine, out, low, 1 << 64))
    if high is not None:
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        last = high - 1
        if digits:
            low, last = _nearest(low, 1, digits, dtype), _nearest(high, -1, digits, dtype) - 1
            if low > last:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={last + 1}"
                )
    elif digits:
        low, last = _nearest(low, 1, digits, dtype), 1 << digits
    else:
        last = LIMITS[dtype][1]
    _check_range(low, last, dtype, digits)
    return fill(array, generator, lambda engine, out: draw.integers(engine, out, low, last - low + 1))


def _check_range(low: int, last: int, dtype: dtypes.dtype, digits: int | None) -> None:
    smallest, largest = LIMITS[dtype]
    for name, value in (("from", low), ("to - 1", last)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype.name]}")
        if digits and abs(value) > 1 << digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                f"{C_NAMES[dtype.name]} can support discrete uniform distribution only within this range. This "
                "warning will become an error in version 1.7 release, please fix the code in advance",
                UserWarning,
                stacklevel=5,
            )


def bernoulli(array: Any, generator: Any, p: float) -> Any:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return fill(array, generator, lambda engine, out: draw.bernoulli(engine, out, p))


def bernoulli_each(array: Any, generator: Any, p: Any) -> Any:
    floating(p, "bernoulli_tensor_cpu_p_")
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    engine = chosen(generator)
    if array.size == 0:
        return array
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    p = np.broadcast_to(devices.transfer(p, devices.CPU), array.shape).transpose(order)
    with engine.lock:
        drawn = draw.bernoulli_each(engine.engine, np.empty(p.shape, bool), p)
    array.transpose(order)[...] = devices.transfer(drawn, devices.of(array))
    return array


# ---- in place -----------------------------------------------------------------------------------------------------


def _node_row(name: str, node: str) -> Row:
    slopes = {"input": lambda grad: grad * 0}
    if name == "bernoulli_each":  # the probabilities are an input, too, without influence
        return Row(name, lambda input, p: input, {**slopes, "p": lambda grad: grad * 0}, {"node": node})
    return Row(name, lambda input: input, slopes, {"node": node})


def _in_place(self: Tensor, row: Row, draw_into: Callable, *args: Any) -> Tensor:
    """Overwrite a tensor with random numbers: draw_into(array, ...)."""
    recorded = thread.grad and self.requires_grad
    check_inplace(self, recorded)
    array = self._array
    if 0 in array.strides and array.size and any(n > 1 and not s for n, s in zip(array.shape, array.strides)):  # noqa: B905
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    edge = gradient_edge(self) if recorded else None
    draw_into(array, *args)
    self._bump()
    if edge is not None:
        edges = (edge, NO_EDGE)[: len(row.inputs)]
        rebase(self, record(row, (self, None)[: len(row.inputs)], edges, (array,), (self,)))
    return self


_ROWS = {
    name: _node_row(name, node)
    for name, node in {
        "normal": "NormalBackward0", "uniform": "UniformBackward0", "bernoulli": "BernoulliBackward2",
        "bernoulli_each": "BernoulliBackward1", "exponential": "ExponentialBackward0", "cauchy": "CauchyBackward0",
        "log_normal": "LogNormalBackward0", "geometric": "GeometricBackward0", "random_from_to": "RandomBackward0",
        "random_to": "RandomBackward1", "random": "RandomBackward2",
    }.items()
}


@method()
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with normals. RuntimeError unless std >= 0."""
    return _in_place(self, _ROWS["normal"], normal, generator, float(mean), float(std))


def _uniform_(self: Tensor, low: Any = 0, high: Any = 1, *, generator: Any = None, **bounds: Any) -> Tensor:
    """Fill with uniforms from [from, to)."""
    low, high = bounds.pop("from", low), bounds.pop("to", high)
    if bounds:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(bounds))}'")
    return _in_place(self, _ROWS["uniform"], uniform, generator, float(low), float(high))


method("uniform_")(_uniform_)


def _random_(self: Tensor, *args: Any, generator: Any = None, **bounds: Any) -> Tensor:
    """Fill with integers: random_() all that the dtype can hold from 0 on, random_(to), random_(from, to)."""
    names = ("to",) if len(args) == 1 and "to" not in bounds else ("from", "to")
    given = {**dict(zip(names, args, strict=False)), **bounds}
    if not set(given) <= {"from", "to"} or len(given) < len(args) + len(bounds):
        raise TypeError(f"random_() received an invalid combination of arguments - got {len(args)} and {list(bounds)}")
    low, high = given.get("from"), given.get("to")
    if low is None and high is None:
        return _in_place(self, _ROWS["random"], any_integers, generator)
    row = _ROWS["random_to" if low is None else "random_from_to"]
    low = 0 if low is None else int_of("random_", "from", 1, low)
    high = None if high is None else int_of("random_", "to", len(args) or 2, high)
    return _in_place(self, row, randint, generator, low, high)


method("random_")(_random_)


def any_integers(array: Any, generator: Any) -> Any:
    dtype = dtypes.of(array)
    bits = DIGITS.get(dtype.name) or int(LIMITS[dtype][1]).bit_length()
    return fill(array, generator, lambda engine, out: draw.any_integers(engine, out, bits))


@method()
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 (with probability p) and 0.  p: a number, or a tensor that can be expanded to this one's shape."""
    if isinstance(p, Tensor):
        shape = self._array.shape
        if np.broadcast_shapes(p._array.shape, shape) != shape:
            raise RuntimeError(f"bernoulli_: a tensor p of shape {list(p.shape)} cannot be expanded to {list(shape)}")
        return _in_place(self, _ROWS["bernoulli_each"], bernoulli_each, generator, p._array)
    if not isinstance(p, (int, float)):
        raise TypeError(f"bernoulli_(): argument 'p' must be float or Tensor, not {type(p).__name__}")
    return _in_place(self, _ROWS["bernoulli"], bernoulli, generator, float(p))


def _continuous(name: str, array: Any, c_name: bool = False) -> None:
    dtype = dtypes.of(array)
    if not dtype.is_floating_point:
        kind = {"long": "long int", "short": "short int"}.get(C_NAMES[dtype.name], C_NAMES[dtype.name])
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {kind if c_name else legacy_scalar(dtype)}"
        )


@method()
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd` > 0."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    _continuous("Exponential", self._array)

    def into(array: Any) -> Any:
        return fill(array, generator, lambda engine, out: draw.exponential(engine, out, float(lambd)))

    return _in_place(self, _ROWS["exponential"], into)


@method()
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy-distributed numbers around `median`, of width `sigma` > 0."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _continuous("Cauchy", self._array, c_name=True)

    def into(array: Any) -> Any:
        return fill(array, generator, lambda engine, out: draw.cauchy(engine, out, float(median), float(sigma)))

    return _in_place(self, _ROWS["cauchy"], into)


@method()
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with exp of normals of the given mean and std > 0."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    floating(self._array, "log_normal_cpu")

    def into(array: Any) -> Any:
        return fill(array, generator, lambda engine, out: draw.log_normal(engine, out, float(mean), float(std)))

    return _in_place(self, _ROWS["log_normal"], into)


@method()
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of the first success, each try succeeding with probability 0 < p < 1."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if self.dtype is dtypes.bool_:
        raise NotImplementedError("\"geometric_cpu\" not implemented for 'Bool'")

    def into(array: Any) -> Any:
        return fill(array, generator, lambda engine, out: draw.geometric(engine, out, float(p)))

    return _in_place(self, _ROWS["geometric"], into)
