"""Element by element: arithmetic, comparison, logic, roots and exponentials (ATen/native/{Unary,Binary}Ops.cpp)."""

import math
from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, either, ndarray, op
from ..kernels import elementwise as kernels
from ..kernels.activations import threshold_backward
from ..kernels.half import in_float32
from ..tensor import method
from .nn_common import floating, integral, not_implemented, underivable


def scaled(grad, factor):
    """grad * factor, without the multiplication by 1."""
    return grad if factor == 1 else grad * factor


# ---- arithmetic ---------------------------------------------------------------------------------------------------

add = op("add", kernels.add, numbers="both", fast=np.add, promote=True, inplace=True, dunder="__add__",
         input=lambda grad: grad,
         other=lambda grad, alpha: scaled(grad, alpha))
sub = op("sub", kernels.sub, numbers="both", fast=np.subtract, promote=True, inplace=True, aliases=("subtract",),
         dunder="__sub__",
         input=lambda grad: grad,
         other=lambda grad, alpha: -scaled(grad, alpha))
_rsub_tensor = op("rsub_tensor", lambda input, other, *, alpha=1: kernels.sub(other, input, alpha=alpha), promote=True,
                  node="RsubBackward0", function=False,
                  input=lambda grad, alpha: -scaled(grad, alpha),
                  other=lambda grad: grad)
_rsub_number = op("rsub_number", lambda input, other, *, alpha=1: kernels.sub(other, input, alpha=alpha), promote=True,
                  node="RsubBackward1", inputs=("input",), function=False,
                  input=lambda grad, alpha: -scaled(grad, alpha))


@composite()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """other - alpha * input."""
    return (_rsub_number if isinstance(other, (int, float)) else _rsub_tensor)(input, other, alpha=alpha)


mul = op("mul", np.multiply, numbers="both", promote=True, inplace=True, aliases=("multiply",), dunder="__mul__",
         input=lambda grad, other: grad * other,
         other=lambda grad, input: grad * input)


def _div_with_mode(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    if rounding_mode is None:
        return _div(input, other, **({"out": out} if out is not None else {}))
    kwargs = {} if out is None else {"out": out}
    if rounding_mode == "trunc":
        return div_trunc(input, other, **kwargs)
    if rounding_mode == "floor":
        return _div_floor(input, other, **kwargs)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


_div = op("true_divide", np.divide, numbers="both", promote="float", inplace=True, node="DivBackward0",
          input=lambda grad, other: grad / other,
          other=lambda grad, input, other: -grad * ((input / other) / other))
div = op("div", np.divide, numbers="both", promote="float", inplace=True, aliases=("divide",), dunder="__truediv__",
         otherwise=_div_with_mode,
         input=lambda grad, other: grad / other,
         other=lambda grad, input, other: -grad * ((input / other) / other))
div_trunc = op("div_trunc", kernels.div_trunc, numbers="both", promote=True, node="DivBackward2", inplace=True,
               function=False,
               input=lambda grad, other: zeros_like(grad),
               other=lambda grad, input, other: zeros_like(grad))
_div_floor = op("div_floor", kernels.div_floor, numbers="both", promote=True, node="DivBackward2", inplace=True,
                function=False,
                input=lambda grad, other: zeros_like(grad),
                other=lambda grad, input, other: zeros_like(grad))
floor_divide = op("floor_divide", kernels.div_floor, numbers="both", promote=True, node="NotImplemented",
                  dunder="__floordiv__", input=underivable("floor_divide"), other=underivable("floor_divide"),
                  inplace={"input": underivable("floor_divide_"), "other": underivable("floor_divide_")})


def _modulo(name: str, kernel: Any, quotient: Any, **options: Any) -> Any:
    """A remainder: its slope is 1, and minus the quotient it belongs to for the divisor."""
    node = name.capitalize()
    number = op(f"{name}_number", kernel, numbers="other", promote=True, inplace=True, function=False,
                node=f"{node}Backward0", inputs=("input",), input=lambda grad: grad)
    tensor = op(f"{name}_tensor", kernel, promote=True, inplace=True, function=False, node=f"{node}Backward1",
                input=lambda grad: grad,
                other=lambda grad, input, other: -grad * quotient(input, other), **options)
    return either(name, number, tensor, "other")


remainder = _modulo("remainder", kernels.remainder, lambda a, b: _div_floor(a, b), numbers="both")
Tensor.__mod__ = remainder  # type: ignore[attr-defined]
fmod = _modulo("fmod", kernels.fmod, lambda a, b: div_trunc(a, b))
neg = op("neg", kernels.neg, inplace=True, aliases=("negative",), dunder="__neg__", input=lambda grad: -grad)


@composite()
def positive(input: Any) -> Any:
    """The tensor itself."""
    if isinstance(input, Tensor) and input._array.dtype == bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


Tensor.__pos__ = positive  # type: ignore[attr-defined]


@method("div_")
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Divide in place."""
    return {None: _div, "trunc": div_trunc, "floor": _div_floor}[rounding_mode].in_place(self, other)


method("divide_", "true_divide_")(div_)

# ---- powers and roots ---------------------------------------------------------------------------------------------

_pow_number = op("pow_scalar", kernels.pow, promote=("input",), node="PowBackward0", inplace=True, function=False,
                 input=lambda grad, input, exponent:
                 zeros_like(grad) if exponent == 0 else grad * (exponent * pow(input, exponent - 1)))
_pow_tensor = op("pow_tensor", kernels.pow, numbers="both", promote=True, node="PowBackward1", inplace=True, function=False,
                 input=lambda grad, input, exponent:
                 where(exponent == 0, zeros_like(grad), grad * (exponent * pow(input, exponent - 1))),
                 exponent=lambda grad, input, exponent, result:
                 grad * where((input == 0) & (exponent >= 0), zeros_like(result), result * log(input)))


_pow_base = op("pow_base", lambda exponent, base: kernels.pow(base, exponent), promote=("exponent", "base"),
               node="PowBackward2", inputs=("exponent",), function=False,
               exponent=lambda grad, exponent, base, result: _pow_base_slope(grad, exponent, base, result))


def _pow_base_slope(grad: Any, exponent: Any, base: Any, result: Any) -> Any:
    if base == 0:
        return grad * where(exponent >= 0, zeros_like(result), result * float("-inf"))
    return grad * (result * (math.log(base) if base > 0 else float("nan")))


@composite()
def pow(input: Any, exponent: Any) -> Any:
    """input to the power of exponent; a number for either, but not both."""
    if isinstance(exponent, (int, float)) and not isinstance(input, (int, float)):
        if isinstance(exponent, float) and hasattr(input, "_array") and input._array.dtype.kind in "iub":
            return _pow_tensor(input, exponent)
        if hasattr(input, "_array") and input._array.dtype.kind in "iu" and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if hasattr(input, "_array") and input._array.dtype.kind == "b":
            return _pow_tensor(input, exponent)
        return _pow_number(input, exponent)
    if isinstance(input, (int, float)) and isinstance(exponent, Tensor):
        return _pow_base(exponent, input)
    return _pow_tensor(input, exponent)


@method("pow_", "__ipow__")
def pow_(self: Tensor, exponent: Any) -> Tensor:
    """Raise to a power in place."""
    return (_pow_number if isinstance(exponent, (int, float)) else _pow_tensor).in_place(self, exponent)


Tensor.__pow__ = pow  # type: ignore[method-assign, assignment]
Tensor.__rpow__ = lambda self, other: pow(other, self)  # type: ignore[attr-defined]
square = op("square", kernels.square, inplace=True, input=lambda grad, input: grad * (2 * input), node="PowBackward0")
sqrt = op("sqrt", np.sqrt, promote="float", inplace=True, input=lambda grad, result: grad / (2 * result))
rsqrt = op("rsqrt", kernels.rsqrt, promote="float", inplace=True,
           input=lambda grad, result: -0.5 * grad * result * result * result)
reciprocal = op("reciprocal", kernels.reciprocal, promote="float", inplace=True,
                input=lambda grad, result: -grad * (result * result))

# ---- exponentials, logarithms, trigonometry -----------------------------------------------------------------------

exp = op("exp", np.exp, promote="float", inplace=True, input=lambda grad, result: grad * result)
exp2 = op("exp2", np.exp2, promote="float", inplace=True, input=lambda grad, result: grad * (result * math.log(2)))
expm1 = op("expm1", np.expm1, promote="float", inplace=True, input=lambda grad, result: grad * (result + 1))
log = op("log", np.log, promote="float", inplace=True, input=lambda grad, input: grad / input)
log2 = op("log2", np.log2, promote="float", inplace=True, input=lambda grad, input: grad / (input * math.log(2)))
log10 = op("log10", np.log10, promote="float", inplace=True, input=lambda grad, input: grad / (input * math.log(10)))
log1p = op("log1p", np.log1p, node="Log1PBackward0", promote="float", inplace=True,
           input=lambda grad, input: grad / (input + 1))
sin = op("sin", np.sin, promote="float", inplace=True, input=lambda grad, input: grad * cos(input))
cos = op("cos", np.cos, promote="float", inplace=True, input=lambda grad, input: grad * -sin(input))
tan = op("tan", np.tan, promote="float", inplace=True, input=lambda grad, result: grad * (1 + result * result))
sinh = op("sinh", np.sinh, promote="float", inplace=True, input=lambda grad, input: grad * cosh(input))
cosh = op("cosh", np.cosh, promote="float", inplace=True, input=lambda grad, input: grad * sinh(input))
tanh = op("tanh", np.tanh, promote="float", inplace=True, input=lambda grad, result: grad * (1 - result * result))
asin = op("asin", np.arcsin, promote="float", inplace=True, aliases=("arcsin",),
          input=lambda grad, input: grad * rsqrt(1 - input * input))
acos = op("acos", np.arccos, promote="float", inplace=True, aliases=("arccos",),
          input=lambda grad, input: grad * -rsqrt(1 - input * input))
atan = op("atan", np.arctan, promote="float", inplace=True, aliases=("arctan",),
          input=lambda grad, input: grad / (input * input + 1))


def _only_new(name: str) -> dict:
    """The in-place form of an operator that torch differentiates out of place only."""
    return {"node": f"{name.capitalize()}Backward1", "input": not_implemented(f"inplace version of {name}")}


asinh = op("asinh", np.arcsinh, promote="float", inplace=_only_new("asinh"), aliases=("arcsinh",),
           input=lambda grad, input: grad * rsqrt(input * input + 1))
acosh = op("acosh", np.arccosh, promote="float", inplace=_only_new("acosh"), aliases=("arccosh",),
           input=lambda grad, input: grad * rsqrt(input * input - 1))
atanh = op("atanh", np.arctanh, promote="float", inplace=_only_new("atanh"), aliases=("arctanh",),
           input=lambda grad, input: grad / (1 - input * input))
atan2 = op("atan2", np.arctan2, numbers="none", promote="float", inplace=True, aliases=("arctan2",),
           input=lambda grad, input, other: grad * other * _inverse_square(input, other),
           other=lambda grad, input, other: grad * -input * _inverse_square(input, other))


def _inverse_square(x: Any, y: Any) -> Any:
    """1 / (x^2 + y^2), and 0 at the origin."""
    square = x * x + y * y
    return where(square == 0, zeros_like(square), 1 / square)


sigmoid = op("sigmoid", kernels.sigmoid, promote="float", inplace=True,
             input=lambda grad, result: sigmoid_backward(grad, result))
sigmoid_backward = op("sigmoid_backward", in_float32(lambda grad_output, output: grad_output * (output * (1 - output))),
                      function=False,
                      grad_output=lambda grad, output: grad * (output * (1 - output)),
                      output=lambda grad, grad_output, output: grad * grad_output * (1 - 2 * output))

# ---- kinks: sign, absolute value, maxima, bounds, rounding --------------------------------------------------------

abs = op("abs", np.abs, inplace=True, aliases=("absolute",), dunder="__abs__",
         input=lambda grad, input: grad * sgn(input))
sign = op("sign", kernels.sign, inplace=True, input=lambda grad: zeros_like(grad))
sgn = op("sgn", kernels.sign, inplace=True, input=lambda grad, input, result: zeros_like(grad))
floor = op("floor", kernels.floor, inplace=True, input=lambda grad: zeros_like(grad))
ceil = op("ceil", kernels.ceil, inplace=True, input=lambda grad: zeros_like(grad))
trunc = op("trunc", kernels.trunc, inplace=True, aliases=("fix",), input=lambda grad: zeros_like(grad))
_round = op("round", lambda input: kernels.round(input), inplace=True, function=False, input=lambda grad: zeros_like(grad))
_round_decimals = op("round_decimals", kernels.round, inplace=True, function=False, node="RoundBackward1",
                     input=lambda grad: zeros_like(grad))


@composite()
def round(input: Any, *, decimals: int | None = None) -> Any:
    """To the nearest integer (or number of so many decimals), ties to even."""
    return _round(input) if decimals is None else _round_decimals(input, decimals=decimals)


@method()
def round_(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """round, in place."""
    return _round.in_place(self) if decimals is None else _round_decimals.in_place(self, decimals=decimals)


@composite()
def special_round(input: Any, *, decimals: int = 0) -> Any:
    """`round`, which here, unlike there, refuses integers."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f'"round" not implemented for {input.dtype}')
    return round(input, decimals=decimals)


frac = op("frac", kernels.frac, inplace=True, input=lambda grad: grad)
relu = op("relu", kernels.relu, inplace=True, input=lambda grad, result: relu_backward(grad, result))
# The derivative by the result exists, and is zero; where the result is nan the gradient passes
relu_backward = op("relu_backward", threshold_backward, function=False, node="ThresholdBackwardBackward0",
                   grad=lambda cotangent, output, threshold: relu_backward(cotangent, output, threshold),
                   output=lambda cotangent: zeros_like(cotangent))
maximum = op("maximum", np.maximum, numbers="none", promote=True,
             input=lambda grad, input, other: _larger_share(grad, input, other),
             other=lambda grad, input, other: _larger_share(grad, other, input))
minimum = op("minimum", np.minimum, numbers="none", promote=True,
             input=lambda grad, input, other: _larger_share(grad, other, input),
             other=lambda grad, input, other: _larger_share(grad, input, other))
fmax = op("fmax", np.fmax, numbers="none", promote=True,
          input=lambda grad, input, other: where((input >= other) | isnan(other), grad, zeros_like(grad)),
          other=lambda grad, input, other: where((input >= other) | isnan(other), zeros_like(grad), grad))
fmin = op("fmin", np.fmin, numbers="none", promote=True,
          input=lambda grad, input, other: where((input <= other) | isnan(other), grad, zeros_like(grad)),
          other=lambda grad, input, other: where((input <= other) | isnan(other), zeros_like(grad), grad))


def _larger_share(grad: Any, a: Any, b: Any) -> Any:
    """Nothing where a < b, half where they tie, else all of it (also beside a nan)."""
    return where(a < b, zeros_like(grad), where(a == b, grad * 0.5, grad))


def _within(grad: Any, input: Any, min: Any, max: Any) -> Any:
    inside: Any = None
    if min is not None:
        inside = input >= min
    if max is not None:
        below = input <= max
        inside = below if inside is None else inside & below
    return where(inside, grad, zeros_like(grad))


_clamp_number = op("clamp_scalar", kernels.clamp, promote=("input", "min", "max"), node="ClampBackward1", inplace=True,
                   function=False, inputs=("input",),
                   input=lambda grad, input, min, max: _within(grad, input, min, max))
_clamp_tensor = op(
    "clamp_tensor", kernels.clamp, promote=("input", "min", "max"), node="ClampBackward0", inplace=True, function=False,
    input=lambda grad, input, min, max: _within(grad, input, min, max),
    min=lambda grad, input, min, max:
    zeros_like(grad) if min is None
    else where((input < min) & (True if max is None else min < max), grad, zeros_like(grad)),
    max=lambda grad, input, min, max:
    zeros_like(grad) if max is None
    else where((input > max) | (False if min is None else max < min), grad, zeros_like(grad)),
)


@composite(aliases=("clip",))
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """input bounded below by min and above by max (numbers, or tensors that broadcast)."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = isinstance(min, (Tensor, ndarray)) or isinstance(max, (Tensor, ndarray))
    return (_clamp_tensor if tensors else _clamp_number)(input, min, max)


@method("clamp_", "clip_")
def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Bound in place."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return (_clamp_tensor if tensors else _clamp_number).in_place(self, min, max)


def _one_sided(side: str, within: Any, beyond: Any, tensor_kernel: Any) -> Any:
    """clamp_min or clamp_max: rows for a number and for a tensor, and the public function over both."""
    name = f"clamp_{side}"
    number = op(f"{name}_number", lambda input, bound: kernels.clamp(input, **{side: bound}), promote=True,
                node=f"Clamp{side.capitalize()}Backward0", inputs=("input",), inplace=True, function=False,
                input=lambda grad, input, bound: where(within(input, bound), grad, zeros_like(grad)))
    tensor = op(f"{name}_tensor", tensor_kernel, promote=True, node=f"Clamp{side.capitalize()}Backward1", inplace=True,
                function=False, numbers="none",
                input=lambda grad, input, other: where(within(input, other), grad, zeros_like(grad)),
                other=lambda grad, input, other: where(beyond(input, other), grad, zeros_like(grad)))

    def bounded(input: Any, bound: Any) -> Any:
        return (number if isinstance(bound, (int, float)) else tensor)(input, bound)

    def one_sided(input: Any, *args: Any, **kwargs: Any) -> Any:
        return bounded(input, *args, **{("bound" if k == side else k): v for k, v in kwargs.items()})

    def one_sided_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        bound = args[0] if args else kwargs[side]
        return (number if isinstance(bound, (int, float)) else tensor).in_place(self, bound)

    one_sided.__name__, one_sided_.__name__ = name, name + "_"
    one_sided.__doc__ = f"input bounded by {side} (a number or a tensor)."
    method()(one_sided_)
    return composite()(one_sided)


clamp_min = _one_sided("min", lambda x, bound: x >= bound, lambda x, bound: x < bound, np.maximum)
clamp_max = _one_sided("max", lambda x, bound: x <= bound, lambda x, bound: x > bound, np.minimum)
_lerp_number = op("lerp_number", floating(kernels.lerp, "lerp_kernel_scalar"), promote=("input", "end"), inplace=True,
                  function=False, node="LerpBackward0",
                  input=lambda grad, weight: grad * (1 - weight),
                  end=lambda grad, weight: grad * weight)
_lerp_tensor = op("lerp_tensor", floating(kernels.lerp, "lerp_kernel_tensor"), promote=("input", "end", "weight"),
                  inplace=True, function=False, node="LerpBackward1",
                  input=lambda grad, weight: grad * (1 - weight),
                  end=lambda grad, weight: grad * weight,
                  weight=lambda grad, input, end: grad * (end - input))


@composite()
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input)."""
    if not isinstance(end, (Tensor, ndarray)):
        raise TypeError(f"lerp(): argument 'end' (position 2) must be Tensor, not {type(end).__name__}")
    return (_lerp_number if isinstance(weight, (int, float)) else _lerp_tensor)(input, end, weight)


@method()
def lerp_(self: Tensor, end: Any, weight: Any) -> Tensor:
    """lerp, in place."""
    return (_lerp_number if isinstance(weight, (int, float)) else _lerp_tensor).in_place(self, end, weight)



# ---- comparison and logic: nothing to differentiate ---------------------------------------------------------------

eq = op("eq", np.equal, promote=True)
ne = op("ne", np.not_equal, promote=True, aliases=("not_equal",))
lt = op("lt", np.less, promote=True, aliases=("less",))
le = op("le", np.less_equal, promote=True, aliases=("less_equal",))
gt = op("gt", np.greater, promote=True, aliases=("greater",))
ge = op("ge", np.greater_equal, promote=True, aliases=("greater_equal",))


def _compared_in_place() -> None:
    """`eq_` and its like: zeros and ones of the tensor's own dtype, so that they have a gradient, and it is zero."""
    for name, kernel, *alias in (
        ("eq", np.equal), ("ne", np.not_equal, "not_equal_"), ("lt", np.less, "less_"),
        ("le", np.less_equal, "less_equal_"), ("gt", np.greater, "greater_"), ("ge", np.greater_equal, "greater_equal_"),
    ):
        zero = lambda grad: zeros_like(grad)
        shared: dict = {"promote": True, "inplace": True, "function": False, "input": zero}
        number = op(f"{name}_number", kernel, node=f"{name.capitalize()}Backward0", **shared)
        tensor = op(f"{name}_tensor", kernel, node=f"{name.capitalize()}Backward1", **shared, other=zero)

        def in_place(self: Tensor, other: Any, number: Any = number, tensor: Any = tensor) -> Tensor:
            return (number if isinstance(other, (bool, int, float)) else tensor).in_place(self, other)

        in_place.__doc__ = f"{name}, in place."
        method(f"{name}_", *alias)(in_place)


_compared_in_place()
logical_and = op("logical_and", kernels.logical_and, inplace=True)
logical_or = op("logical_or", kernels.logical_or, inplace=True)
logical_xor = op("logical_xor", kernels.logical_xor, inplace=True)
logical_not = op("logical_not", np.logical_not, inplace=True)


def _bitwise(name: str, ufunc: Any, **options: Any) -> Any:
    return op(name, integral(ufunc, f"{name.replace('bitwise_left_', 'l').replace('bitwise_right_', 'r')}_cpu"), fast=ufunc,
              promote=True, inplace=True, **options)


bitwise_and = _bitwise("bitwise_and", np.bitwise_and, numbers="both", dunder="__and__")
bitwise_or = _bitwise("bitwise_or", np.bitwise_or, numbers="both", dunder="__or__")
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor, numbers="both", dunder="__xor__")
bitwise_not = op("bitwise_not", integral(kernels.bitwise_not, "bitwise_not_cpu"), inplace=True)
bitwise_left_shift = _bitwise("bitwise_left_shift", np.left_shift, numbers="both", dunder="__lshift__")
bitwise_right_shift = _bitwise("bitwise_right_shift", np.right_shift, numbers="both", dunder="__rshift__")


@method("__invert__")
def _invert(self: Tensor) -> Tensor:
    """~x: every bit, or the truth, turned over."""
    if self._array.dtype.kind in "fV":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


isnan = op("isnan", kernels.isnan)
isinf = op("isinf", kernels.isinf)
isfinite = op("isfinite", kernels.isfinite)

_conj_in_place = op("conj_physical", lambda input: input, function=False, as_method=False, inplace=True,
                    node="ConjPhysicalBackward1", input=lambda grad: grad)
method("conj_physical_")(_conj_in_place.in_place)


@composite()
def conj_physical(input: Any) -> Any:
    """The tensor itself: there are no complex numbers."""
    return input

# ---- choice -------------------------------------------------------------------------------------------------------

where_ = op("where", kernels.where, numbers="both", promote=("input", "other"), function=False,
            input=lambda grad, condition: _masked(condition, grad),
            other=lambda grad, condition: _masked(~condition, grad))


def _masked(condition: Any, grad: Any) -> Any:
    return where(condition, grad, zeros_like(grad))


@composite(as_method=False)
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """input where condition holds, else other; with the condition alone, the indices where it holds."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return where_(condition, input, other)


@method("where")
def _where_method(self: Tensor, condition: Any, other: Any) -> Any:
    return where(condition, self, other)


def zeros_like(x: Any) -> Any:
    """Zeros for formulas: of an array's or Tensor's shape and dtype."""
    if isinstance(x, Tensor):
        t = object.__new__(Tensor)
        t._array = np.zeros_like(x._array)
        return t
    return np.zeros_like(x)


def ones_like(x: Any) -> Any:
    """Ones for formulas."""
    return zeros_like(x) + 1


def cast_like(x: Any, like: Any) -> Any:
    """x in the dtype of `like`, for formulas."""
    if isinstance(x, Tensor):
        return x.to(like.dtype)
    return x.astype(like.dtype)


# ---- Python's operators -------------------------------------------------------------------------------------------


def _operators() -> None:
    """Comparisons, reflected and in-place forms: what Python falls back to when the left side can't."""
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        function = globals()[name]

        def compare(self: Any, other: Any, function: Any = function, name: str = name) -> Any:
            if not isinstance(other, (Tensor, int, float, np.number, np.bool_, ndarray)):
                return NotImplemented
            return function(self, other)

        setattr(Tensor, f"__{name}__", compare)
    reflected: dict[str, Any] = {
        "add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_divide, "mod": remainder,
        "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor, "lshift": bitwise_left_shift,
        "rshift": bitwise_right_shift,
    }
    for name, function in reflected.items():

        def forward(self: Any, other: Any, function: Any = function) -> Any:
            if isinstance(other, (Tensor, int, float, np.number, np.bool_)):
                return function(self, other)
            if isinstance(other, ndarray):
                return function(self, _from_array(other))
            return NotImplemented

        def reflect(self: Any, other: Any, function: Any = function, commutes: bool = name in ("add", "mul")) -> Any:
            if isinstance(other, ndarray):
                other = _from_array(other)
            if not isinstance(other, (Tensor, int, float, np.number, np.bool_)):
                return NotImplemented
            if function is div:
                return reciprocal(self) * other
            if function is sub:
                return rsub(self, other)
            return function(self, other) if commutes else function(other, self)

        def in_place(self: Any, other: Any, name: str = function.__name__) -> Any:
            return getattr(self, name + "_")(other)

        setattr(Tensor, f"__r{name}__", reflect)
        setattr(Tensor, f"__i{name}__", in_place)
        if name not in ("add", "sub", "mul", "truediv"):  # those go straight through the door
            setattr(Tensor, f"__{name}__", forward)


def _from_array(array: Any) -> Tensor:
    t = object.__new__(Tensor)
    t._array = array
    return t


_operators()
