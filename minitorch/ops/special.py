"""Special functions (ATen/native/{UnaryOps,BinaryOps}.cpp, torch.special), by SciPy, imported when first used."""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..dispatch import Tensor, composite, either, op
from ..kernels.half import in_float32
from ..tensor import method
from .elementwise import abs, cast_like, cos, exp, exp2, log, log1p, sgn, sin, where, zeros_like
from .nn_common import integral, not_implemented, underivable, wide

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)


def _scipy(name: str) -> Any:
    """A kernel that is scipy.special's function; half precision goes through float32."""

    def kernel(input, *others):
        import scipy.special

        function = getattr(scipy.special, name)
        arrays = (input, *others)
        wide = [a.astype(np.float32) if a.dtype.itemsize == 2 and a.dtype.kind in "fV" else a for a in arrays]
        return np.asarray(function(*wide)).astype(input.dtype, copy=False)

    return kernel


def _unary(name: str, scipy_name: str, slope: Any, **options: Any) -> Any:
    kernel = _scipy(scipy_name)
    if scipy_name in ("ndtri", "log_ndtr", "erfcx"):
        kernel = wide(kernel, f"{scipy_name}_cpu")
    return op(name, lambda input: kernel(input), promote="float", input=slope, **options)


def _binary(name: str, scipy_name: str, **formulas: Any) -> Any:
    kernel = _scipy(scipy_name)
    return op(name, lambda input, other: kernel(input, other), promote="float", **formulas)


# ---- error functions and relatives --------------------------------------------------------------------------------

erf = _unary("erf", "erf", lambda grad, input: grad * (_TWO_OVER_ROOT_PI * exp(-(input * input))), inplace=True)
erfc = _unary("erfc", "erfc", lambda grad, input: grad * (-_TWO_OVER_ROOT_PI * exp(-(input * input))), inplace=True)
erfinv = _unary("erfinv", "erfinv", lambda grad, input: grad * _erfinv_slope(erfinv(input)), inplace=True)
special_ndtr = op("special_ndtr", lambda input: _ndtr(input), promote="float", input=lambda grad, input:
                  grad * (exp(input * input * -0.5) / math.sqrt(2 * math.pi)))


def _ndtr(input):
    """torch composes it of three operators, and so rounds half precisions three times."""
    half = (1 + _scipy("erf")(input * np.asarray(_ROOT_HALF, input.dtype))) * np.asarray(0.5, input.dtype)
    return half.astype(input.dtype, copy=False)


special_ndtri = _unary("special_ndtri", "ndtri",
                       lambda grad, result: grad * (math.sqrt(2 * math.pi) * exp(result * result / 2)))
special_log_ndtr = _unary("special_log_ndtr", "log_ndtr", lambda grad, input, result:
                          grad * (math.sqrt(2 / math.pi) / special_erfcx(input * (-math.sqrt(0.5)))))
def _erfinv_slope(inverse: Any) -> Any:
    return 0.5 * math.sqrt(math.pi) * exp(inverse * inverse)


special_erfcx = _unary("special_erfcx", "erfcx",
                       lambda grad, input, result: grad * (2 * input * result - _TWO_OVER_ROOT_PI))

# ---- gamma and Bessel functions -----------------------------------------------------------------------------------

def _lgamma(input):
    out = _scipy("gammaln")(input)
    return np.where(input == -np.inf, np.asarray(np.inf, out.dtype), out)  # SciPy's is -inf there


lgamma = op("lgamma", _lgamma, promote="float", inplace=True, input=lambda grad, input: grad * digamma(input))


def _digamma(input):
    import scipy.special

    x = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    out = np.asarray(scipy.special.digamma(x))
    poles = (x <= 0) & (x == np.floor(x))
    out = np.where(poles, np.where(x == 0, np.copysign(np.inf, -x), np.nan), out)
    return out.astype(input.dtype)


digamma = op("digamma", _digamma, promote="float", inplace=True, input=lambda grad, input: grad * polygamma(1, input))


def _trigamma(x):
    """By recurrence up to x + 6 and an asymptotic series, to torch's own (limited) precision."""
    reflected = x < 0.5
    with_sine = np.where(reflected, -(math.pi**2) / np.sin(math.pi * x) ** 2, np.zeros_like(x))
    y = np.where(reflected, 1 - x, x)
    total = np.zeros_like(x)
    for _ in range(6):
        total = total + 1 / (y * y)
        y = y + 1
    z = 1 / (y * y)
    total = total + (1 + 1 / (2 * y) + z * (1 / 6 - z * (1 / 30 - z * (1 / 42)))) / y
    return np.where(reflected, -(with_sine + total), total).astype(x.dtype)


def _polygamma(input, n):
    if n == 0:
        return _digamma(input)
    x = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    if n == 1:
        return _trigamma(x).astype(input.dtype)
    sign = -1.0 if n % 2 == 0 else 1.0
    return np.asarray(sign * math.factorial(n) * _zeta(np.float64(n + 1.0), x)).astype(input.dtype)


def _zeta(input, other):
    """The Hurwitz zeta function; like torch's, whose sum ends in inf / inf, not a number at infinity."""
    return np.where((other == np.inf) & (input != 1), np.asarray(np.nan, other.dtype), _scipy("zeta")(input, other))


_polygamma_op = op("polygamma_op", _polygamma, promote=("input",), to_float=True, function=False,
                   node="PolygammaBackward0", inplace={"node": "PolygammaBackward1"},
                   input=lambda grad, input, n: grad * _polygamma_op(input, n + 1))


@composite(as_method=False)
def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _polygamma_op(input, n)


Tensor.polygamma = lambda self, n: polygamma(n, self)  # type: ignore[attr-defined]
Tensor.polygamma_ = lambda self, n: _polygamma_op.in_place(self, n)  # type: ignore[attr-defined]


@in_float32
def _mvlgamma(input, p):
    """The multivariate log-gamma function of dimension p."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return _summed(lgamma, input, p) + np.asarray(p * (p - 1) * math.log(math.pi) / 4, input.dtype)


def _summed(function: Any, input: Any, p: int) -> Any:
    total = function(input + 0)  # which makes 0 of -0
    for k in range(1, p):
        total = total + function(input - k * 0.5)
    return total


mvlgamma = op("mvlgamma", _mvlgamma, promote=("input",), to_float=True, inplace=True,
              input=lambda grad, input, p: grad * _summed(digamma, input, p))


i0 = _unary("i0", "i0", lambda grad, input: grad * special_i1(input), inplace=True)
special_i0e = _unary("special_i0e", "i0e", node="SpecialI0EBackward0", slope=
                     lambda grad, input, result: grad * (special_i1e(input) - sgn(input) * result))


_TINY = 2.220446049250313e-16  # below it i1(x) / x is 1/2; so it is, in torch, for nan


def _i1_slope(grad: Any, input: Any, result: Any) -> Any:
    far = abs(input) > _TINY
    safe = where(far, input, zeros_like(input) + 1)
    return grad * where(far, i0(safe) - result / safe, zeros_like(input) + 0.5)


def _i1e_slope(grad: Any, input: Any, result: Any) -> Any:
    far = abs(input) > _TINY
    safe = where(far, input, zeros_like(input) + 1)
    return grad * where(far, special_i0e(safe) - result * (sgn(safe) + 1 / safe), zeros_like(input) + 0.5)


special_i1 = _unary("special_i1", "i1", _i1_slope)
special_i1e = _unary("special_i1e", "i1e", _i1e_slope, node="SpecialI1EBackward0")
# without a derivative, as in torch
for _name, _scipy_name in {
    "bessel_j0": "j0", "bessel_j1": "j1", "bessel_y0": "y0", "bessel_y1": "y1", "modified_bessel_i0": "i0",
    "modified_bessel_i1": "i1", "modified_bessel_k0": "k0", "modified_bessel_k1": "k1",
    "scaled_modified_bessel_k0": "k0e", "scaled_modified_bessel_k1": "k1e",
}.items():
    _kernel = wide(_scipy(_scipy_name), f"{_name}_cpu")
    op(f"special_{_name}", (lambda k: lambda input: k(input))(_kernel), promote="float", as_method=False)
igamma = _binary("igamma", "gammainc", inplace=True, input=not_implemented("igamma: input"),
                 other=lambda grad, input, other: grad * _gamma_density(input, other))
igammac = _binary("igammac", "gammaincc", inplace=True, input=not_implemented("igammac: input"),
                  other=lambda grad, input, other: -grad * _gamma_density(input, other))


def _gamma_density(input: Any, other: Any) -> Any:
    return exp((input - 1) * log(other) - other - lgamma(input))


special_zeta = op("special_zeta", wide(_zeta, "zeta_cpu"),
                  promote="float", as_method=False, numbers="both", input=not_implemented("zeta"),
                  other=lambda grad, input, other: grad * -input * special_zeta(input + 1, other))

# ---- logarithms that stay finite ----------------------------------------------------------------------------------


def _xlog(inner: Any) -> Any:
    def kernel(input, other):
        return np.where(np.isnan(other), np.asarray(np.nan, other.dtype),
                        np.where(input == 0, np.asarray(0, input.dtype), input * inner(other)))

    return kernel


_xlogy = op("xlogy", _xlog(np.log), promote="float", inplace=True, function=False,
            input=lambda grad, input, other: where((input == 0) & (other <= 0), zeros_like(grad), grad * log(other)),
            other=lambda grad, input, other: grad * input / other)
_xlogy_of_number = op("xlogy_of_number", _xlog(np.log), promote="float", function=False, numbers="both",
                      node="XlogyBackward1", inputs=("other",), other=lambda grad, input, other: grad * input / other)
_xlogy_number = op("xlogy_number", _xlog(np.log), promote="float", inplace=True, function=False, node="XlogyBackward2",
                   inputs=("input",), input=lambda grad, input, other:
                   grad * where((input == 0) if other <= 0 else (input != input), zeros_like(grad),
                                zeros_like(grad) + float(np.log(np.float64(other)))))


@composite()
def xlogy(input: Any, other: Any) -> Any:
    """input * log(other), and 0 where input is 0; one of them may be a number."""
    if isinstance(input, (int, float)):
        return _xlogy_of_number(input, other)
    return (_xlogy_number if isinstance(other, (int, float)) else _xlogy)(input, other)


@method()
def xlogy_(self: Tensor, other: Any) -> Tensor:
    """xlogy, in place."""
    return (_xlogy_number if isinstance(other, (int, float)) else _xlogy).in_place(self, other)


special_xlog1py = op("special_xlog1py", _xlog(np.log1p), promote="float", as_method=False, numbers="both",
                     node="SpecialXlog1PyBackward0",
                     input=lambda grad, input, other:
                     where((input == 0) & (other <= -1), zeros_like(grad), grad * log1p(other)),
                     other=lambda grad, input, other: grad * input / (other + 1))


def _entr(input):
    positive = np.where(input > 0, input, np.asarray(1, input.dtype))
    out = np.where(input > 0, -positive * np.log(positive), np.where(input == 0, 0.0, -np.inf))
    return np.where(np.isnan(input), input, out).astype(input.dtype)


special_entr = op("special_entr", _entr, promote="float", as_method=False,
                  input=lambda grad, input: grad * (-log(input) - 1))


def _logit(input, eps=None):
    x = input
    if eps is not None:
        x = np.minimum(np.maximum(x, np.asarray(eps, x.dtype)), np.asarray(1 - eps, x.dtype))
    return np.log(x / (np.asarray(1, x.dtype) - x))


def _logit_slope(grad: Any, input: Any, eps: Any) -> Any:
    slope = grad / (input * (1 - input))
    if eps is None:
        return where((input < 0) | (input > 1), zeros_like(grad) + float("nan"), slope)
    return where((input < eps) | (input > 1 - eps), zeros_like(grad), slope)


logit = op("logit", _logit, promote=("input",), to_float=True, inplace=True,
           input=lambda grad, input, eps: _logit_slope(grad, input, eps))
logaddexp = op("logaddexp", np.logaddexp, promote=True, numbers="none",
               input=lambda grad, input, other: grad / (1 + exp(other - input)),
               other=lambda grad, input, other: grad / (1 + exp(input - other)))
logaddexp2 = op("logaddexp2", np.logaddexp2, promote=True, numbers="none",
                input=lambda grad, input, other: grad / (1 + exp2(other - input)),
                other=lambda grad, input, other: grad / (1 + exp2(input - other)))


def _logcumsumexp(input, dim):
    if input.ndim == 0:
        return input.copy()
    x = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    return np.logaddexp.accumulate(x, axis=dim).astype(input.dtype)


def _logcumsumexp_slope(grad: Any, input: Any, result: Any, dim: int) -> Any:
    """exp(x[i] + log of the sum over k >= i of grad[k] * exp(-y[k])), for the two signs of grad apart."""
    if input.ndim == 0:
        return grad
    from .copies import flip

    dtype = grad.dtype if isinstance(grad, Tensor) else dtypes.of(grad)

    def part(chosen: Any) -> Any:
        lowest = cast_like(zeros_like(grad) + dtypes.finfo(dtype).min, grad)
        magnitude = where(chosen, log(where(chosen, abs(grad), cast_like(zeros_like(grad) + 1, grad))), lowest)
        return exp(flip(logcumsumexp(flip(magnitude - result, (dim,)), dim), (dim,)) + input)

    return part(grad > 0) - part(grad < 0)


logcumsumexp = op("logcumsumexp", _logcumsumexp,
                  input=lambda grad, input, result, dim: _logcumsumexp_slope(grad, input, result, dim))


def _sinc_slope(grad: Any, input: Any) -> Any:
    x = input * math.pi
    slope = grad * (x * cos(x) - sin(x)) / (x * input)
    return where(input == 0, zeros_like(slope), slope)  # the second derivative at 0 is torch's: nan


sinc = op("sinc", in_float32(lambda input: np.sinc(input).astype(input.dtype)), promote="float", inplace=True,
          input=lambda grad, input: _sinc_slope(grad, input))

# ---- two numbers --------------------------------------------------------------------------------------------------

hypot = op("hypot", np.hypot, promote=True, inplace=True, numbers="none",
           input=lambda grad, input, result: grad * (input / result),
           other=lambda grad, other, result: grad * (other / result))


def _copysign_slope(grad: Any, input: Any, result: Any) -> Any:
    return grad * where(input == 0, zeros_like(input), result / input)


_copysign_number = op("copysign_number", np.copysign, promote="float", inplace=True, function=False,
                      node="CopysignBackward1", inputs=("input",),
                      input=lambda grad, input, result: _copysign_slope(grad, input, result))
_copysign_tensor = op("copysign_tensor", np.copysign, promote="float", inplace=True, function=False,
                      node="CopysignBackward0",
                      input=lambda grad, input, result: _copysign_slope(grad, input, result),
                      other=lambda grad: zeros_like(grad))
copysign = either("copysign", _copysign_number, _copysign_tensor, "other",
                  doc="The magnitude of input with the sign of other.")
nextafter = op("nextafter", np.nextafter, promote=True, inplace=True, numbers="none",
               input=lambda grad, input, other: where(input == other, zeros_like(grad), grad),
               other=lambda grad, input, other: zeros_like(grad))
heaviside = op("heaviside", lambda input, values: np.where(input == 0, values, input > 0).astype(input.dtype),
               inplace={"input": underivable("heaviside_"), "values": underivable("heaviside_")},
               promote=True, numbers="none", node="NotImplemented",
               input=underivable("heaviside"), values=underivable("heaviside"))
gcd = op("gcd", integral(np.gcd, "gcd_cpu"), fast=np.gcd, promote=True, inplace=True, numbers="none")
lcm = op("lcm", integral(np.lcm, "lcm_cpu"), fast=np.lcm, promote=True, inplace=True, numbers="none")


def _ldexp(input, other):
    """input * 2 ** other."""
    return input * np.exp2(other)


ldexp = op("ldexp", _ldexp, promote="float", inplace=True, numbers="none",
           input=lambda grad, other: grad * exp2(other),
           other=lambda grad, input, other: grad * input * (exp2(other) * math.log(2)))


@composite()
def float_power(input: Any, exponent: Any) -> Any:
    """input ** exponent, in double precision."""
    from .elementwise import pow

    double = dtypes.float64
    a = input.to(double) if isinstance(input, Tensor) else float(input)
    b = exponent.to(double) if isinstance(exponent, Tensor) else float(exponent)
    return pow(a, b)


@method()
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """float_power, in place: of a tensor in double precision."""
    from ..dispatch import legacy_scalar

    if self.dtype is not dtypes.float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {legacy_scalar(self.dtype)} but the operation's result requires "
            "dtype Double"
        )
    return self.pow_(exponent.to(dtypes.float64) if isinstance(exponent, Tensor) else float(exponent))


# ---- angles, signs, replacement -----------------------------------------------------------------------------------

deg2rad = op("deg2rad", in_float32(lambda input: input * np.asarray(math.pi / 180, input.dtype)), promote="float",
             node="Deg2RadBackward0", inplace=True, input=lambda grad: grad * (math.pi / 180))
rad2deg = op("rad2deg", in_float32(lambda input: input * np.asarray(180 / math.pi, input.dtype)), promote="float",
             node="Rad2DegBackward0", inplace=True, input=lambda grad: grad * (180 / math.pi))
signbit = op("signbit", lambda input: np.signbit(input) if input.dtype.kind in "fV" else
             np.zeros(input.shape, bool) if input.dtype.kind in "ub" else input < 0)
isneginf = op("isneginf", lambda input: input == -np.inf if input.dtype.kind in "fV" else np.zeros(input.shape, bool))
isposinf = op("isposinf", lambda input: input == np.inf if input.dtype.kind in "fV" else np.zeros(input.shape, bool))
isreal = op("isreal", lambda input: np.ones(input.shape, bool))


def _nan_to_num(input, nan=None, posinf=None, neginf=None):
    if input.dtype.kind in "iub":
        return input.copy()
    from ml_dtypes import finfo

    info = finfo(input.dtype)
    number = lambda value, default: np.asarray(default if value is None else value, input.dtype)
    out = np.where(np.isnan(input), number(nan, 0), input)
    out = np.where(out == np.inf, number(posinf, info.max), out)
    return np.where(out == -np.inf, number(neginf, info.min), out)


nan_to_num = op("nan_to_num", _nan_to_num, inplace=True,
                input=lambda grad, input: grad * cast_like(_is_finite(input), grad))


def _is_finite(x: Any) -> Any:
    from .elementwise import isfinite

    return isfinite(x)


# ---- three at once ------------------------------------------------------------------------------------------------


def _scaled_by(value: Any, array: Any) -> Any:
    return np.asarray(value, array.dtype)


addcmul = op("addcmul", lambda input, tensor1, tensor2, *, value=1: _addcmul(input, tensor1, tensor2, value),
             promote=True, inplace=True,
             input=lambda grad: grad,
             tensor1=lambda grad, tensor2, value: grad * (tensor2 * value),
             tensor2=lambda grad, tensor1, value: grad * (tensor1 * value))
addcdiv = op("addcdiv", lambda input, tensor1, tensor2, *, value=1: _addcdiv(input, tensor1, tensor2, value),
             promote=True, inplace=True,
             input=lambda grad: grad,
             tensor1=lambda grad, tensor2, value: grad * (value / tensor2),
             tensor2=lambda grad, tensor1, tensor2, value: -grad * (tensor1 * value / (tensor2 * tensor2)))


@in_float32
def _addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    return input + (tensor1 * tensor2 if value == 1 else _scaled_by(value, tensor1) * tensor1 * tensor2)


@in_float32
def _addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if input.dtype.kind in "iub":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
            "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes."
        )
    return input + (tensor1 / tensor2 if value == 1 else _scaled_by(value, tensor1) * tensor1 / tensor2)
