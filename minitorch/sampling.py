"""New tensors of random numbers: rand, randn, randint, randperm, normal, ... (ATen/native/Distributions.cpp).

What is drawn is described in kernels/random.py. None of these functions has a derivative: where torch records a node,
its gradients are zero.
"""

from typing import Any

import numpy as np

from . import devices, drawing, dtypes
from .creation import LIMITS, array_like, factory, int_of, on, size_of
from .dispatch import FUNCTIONS, legacy_scalar, op, write_out
from .kernels import random as draw
from .random import chosen
from .tensor import Tensor, method, wrap


def _empty(name: str, size: tuple, dtype: Any, device: Any) -> Any:
    shape = size_of(name, size)
    numpy = (dtype or dtypes.get_default_dtype()).numpy
    return on(device, lambda library: library.empty(shape, numpy))


def _sized(size: tuple, keyword: dict, name: str) -> tuple:
    if "size" in keyword and len(keyword) == 1 and not size:
        return (keyword["size"],)
    if keyword:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(keyword))}'")
    return size


@factory
def rand(*size: Any, dtype: Any, device: Any, generator: Any = None, names: Any = None, **keyword: Any) -> Any:
    """Uniforms from [0, 1)."""
    return drawing.uniform(_empty("rand", _sized(size, keyword, "rand"), dtype, device), generator)


@factory
def randn(*size: Any, dtype: Any, device: Any, generator: Any = None, names: Any = None, **keyword: Any) -> Any:
    """Normals of mean 0 and standard deviation 1."""
    return drawing.normal(_empty("randn", _sized(size, keyword, "randn"), dtype, device), generator)


def _bounds(name: str, args: tuple, keywords: dict, count: int) -> tuple:
    """(low,) high and, where `count` is 3, size: given by position or by name."""
    names = ("low", "high", "size")[:count]
    if len(args) + len(keywords) < count:
        names = names[1:]
    given = {**dict(zip([n for n in names if n not in keywords], args, strict=False)), **keywords}
    if len(given) < len(args) + len(keywords) or set(given) != set(names):
        kinds = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in keywords.items()]
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of:\n"
            " * (int high, tuple of ints size)\n * (int low, int high, tuple of ints size)"
        )
    low = int_of(name, "low", 1, given["low"]) if "low" in given else 0
    return low, int_of(name, "high", names.index("high") + 1, given["high"]), given.get("size")


@factory
def randint(*args: Any, dtype: Any, device: Any, generator: Any = None, **keywords: Any) -> Any:
    """Integers from [low, high): randint(high, size) or randint(low, high, size); int64 unless told otherwise."""
    low, high, size = _bounds("randint", args, keywords, 3)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            "randint() received an invalid combination of arguments: 'size' must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    array = _empty("randint", (size,), dtype or dtypes.int64, device)
    return drawing.randint(array, generator, low, high)


@factory
def randperm(n: Any, *, dtype: Any, device: Any, generator: Any = None) -> Any:
    """0, ..., n - 1 in random order; int64 unless told otherwise."""
    n, dtype = int_of("randperm", "n", 1, n), dtype or dtypes.int64
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype is dtypes.bool_:
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    if dtype.is_floating_point:
        limit = (1 << drawing.DIGITS[dtype.name]) + 1
        if n > limit:
            raise RuntimeError(f"n cannot be greater than {limit} for {legacy_scalar(dtype)} type.")
    elif n > LIMITS[dtype][1]:
        name = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t"}.get(dtype.name, drawing.C_NAMES[dtype.name])
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    engine = chosen(generator)
    with engine.lock:
        order = draw.permutation(engine.engine, n)
    return on(device, lambda library: library.asarray(order.astype(dtype.numpy, copy=False)))


@factory
def rand_like(input: Any, *, dtype: Any, device: Any, memory_format: Any = None, generator: Any = None) -> Any:
    """Uniforms from [0, 1) in a tensor like `input`."""
    return drawing.uniform(array_like("rand_like", input, dtype, device, memory_format), generator)


@factory
def randn_like(input: Any, *, dtype: Any, device: Any, memory_format: Any = None, generator: Any = None) -> Any:
    """Normals in a tensor like `input`."""
    return drawing.normal(array_like("randn_like", input, dtype, device, memory_format), generator)


@factory
def randint_like(
    input: Any, *args: Any, dtype: Any, device: Any, memory_format: Any = None, generator: Any = None, **keywords: Any
) -> Any:
    """Integers from [low, high) in a tensor like `input`: randint_like(input, high) or (input, low, high)."""
    low, high, _ = _bounds("randint_like", args, keywords, 2)
    return drawing.randint(array_like("randint_like", input, dtype, device, memory_format), generator, low, high)


# ---- with tensors for parameters ----------------------------------------------------------------------------------


def _zero(grad: Any) -> Any:
    return grad * 0


def _normal_around(mean, std, generator):
    return drawing.normal(_like(mean, mean.shape), generator, 0.0, float(std)) + mean


def _like(array: Any, shape: tuple) -> Any:
    return np.empty_like(array, shape=shape, order="C")  # of the array's own library


def _nonnegative(std: Any) -> None:
    if std.size and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _normal_of_width(mean, std, generator):
    _nonnegative(std)
    out = drawing.normal(_like(std, std.shape), generator)
    return (out * std).astype(std.dtype) + np.asarray(mean, std.dtype)


def _normal_of_both(mean, std, generator):
    _nonnegative(std)
    out = drawing.normal(_like(mean, np.broadcast_shapes(mean.shape, std.shape)), generator)
    return ((out * std).astype(mean.dtype) + mean).astype(mean.dtype)


_around = op("normal_tensor_float", _normal_around, function=False, as_method=False, node="NormalBackward1", mean=_zero)
_of_width = op(
    "normal_float_tensor", _normal_of_width, function=False, as_method=False, node="NormalBackward2", std=_zero
)
_of_both = op(
    "normal_tensor_tensor", _normal_of_both, function=False, as_method=False, node="NormalBackward3", mean=_zero,
    std=_zero,
)


@factory(name="normal")
def _normal_sized(mean: float, std: float, size: Any, *, dtype: Any, device: Any, generator: Any = None) -> Any:
    return drawing.normal(_empty("normal", (size,), dtype, device), generator, float(mean), float(std))


_sized_normal = FUNCTIONS["normal"]


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None, **options: Any
) -> Tensor:
    """Normals: of one mean and std in a tensor of shape `size`, or of a mean, or std, or both for each element."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError(
                f"normal() received an invalid combination of arguments - got ({type(mean).__name__}, "
                f"{type(std).__name__}), but two numbers need a size: normal(mean, std, size)"
            )
        return _sized_normal(mean, std, size, generator=generator, out=out, **options)
    if size is not None or options:
        raise TypeError("normal() received an invalid combination of arguments: tensors already have a size")
    if not isinstance(std, Tensor):
        result = _around(mean, float(std), generator)
    elif not isinstance(mean, Tensor):
        result = _of_width(float(mean), std, generator)
    else:
        result = _of_both(mean, std, generator)
    return result if out is None else write_out(out, result, "normal")


FUNCTIONS["normal"] = normal


def _bernoulli_kernel(input, generator):
    return drawing.bernoulli_each(_like(input, input.shape), generator, input)


_bernoulli_of = op("bernoulli", _bernoulli_kernel, function=False, as_method=False, input=_zero)


@method()
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """1 with probability `input` (or p, if given) for each element, else 0; of the dtype of `input`."""
    if p is None:
        result = _bernoulli_of(input, generator)
    else:
        result = wrap(drawing.bernoulli(_like(input._array, input._array.shape), generator, float(p)))
    return result if out is None else write_out(out, result, "bernoulli")


FUNCTIONS["bernoulli"] = bernoulli


def _poisson_kernel(input, generator):
    drawing.floating(input, "poisson_cpu")
    engine = chosen(generator)
    with engine.lock:
        counts = draw.poisson(engine.engine, devices.transfer(input, devices.CPU))
    counts = counts.astype(np.float32 if input.dtype.itemsize < 4 else np.float64).astype(input.dtype)
    return devices.transfer(counts, devices.of(input))


_poisson = op("poisson", _poisson_kernel, function=False, as_method=False, input=_zero)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson-distributed counts at the rates `input`."""
    return _poisson(input, generator)


FUNCTIONS["poisson"] = poisson


@method()
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Tensor:
    """`num_samples` indices drawn from each row of weights: int64 (num_samples,) or (rows, num_samples)."""
    weights = input._array
    if not 1 <= weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {legacy_scalar(input.dtype)}"
        )
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {legacy_scalar(out.dtype)}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = weights if weights.ndim == 2 else weights[None]
    engine = chosen(generator)
    with engine.lock:
        found = draw.multinomial(engine.engine, devices.transfer(rows, devices.CPU), num_samples, replacement)
    result = wrap(on(input.device, lambda library: library.asarray(found if weights.ndim == 2 else found[0])))
    return result if out is None else write_out(out, result, "multinomial")


FUNCTIONS["multinomial"] = multinomial
