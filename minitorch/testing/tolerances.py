"""How close is equal: one default per dtype, and one table of exceptions with their reasons."""

import numpy as np

# dtype of the sample -> relative tolerance, which also holds absolutely for numbers below the scale of the tensor.
DEFAULT = {"float64": 1e-10, "float32": 2e-5, "int64": 1e-6, "bool": 1e-6}

# No tensor is compared on a scale below this: what should cancel to zero is rounding noise, and differs.
NOISE = {"float64": 1e-2, "float32": 1e-1, "int64": 1.0, "bool": 1.0}

# Entry -> (float64, float32) tolerance; each with its reason.
EXCEPTIONS = {
    # torch's second derivative divides by input + 1e-12 and 1 - input + 1e-12, its first by their product.
    "nn.functional.binary_cross_entropy": (1e-8, 2e-5),
    # Close to the minimum L-BFGS divides differences of nearly equal gradients.
    "LBFGS": (1e-9, 2e-3),
    # torch's own polynomials are off by up to 9e-7 around 5 (SciPy's, which we use, are exact to the last digits).
    "special.bessel_j0": (2e-6, 2e-5),
    "special.bessel_j1": (2e-6, 2e-5),
    "special.bessel_y0": (2e-6, 2e-5),
    "special.bessel_y1": (2e-6, 2e-5),
    # Where the exact second derivative is zero, single precision leaves the rounding of terms of 1e2.
    "linalg.vector_norm": (1e-10, 1e-4),
    # The exponentials of torch's sample matrices reach 1e5, their derivatives cancel: single precision keeps 4 digits.
    "matrix_exp": (1e-9, 2e-4),
}

# Entries whose values are not defined (uninitialised memory): shape and dtype are compared.
UNDEFINED = {
    "empty",
    "empty_like",
    "new_empty",
    "new_empty_strided",
    "empty_strided",
    "empty_permuted",
    "resize_",
    "resize_as_",
}


def tolerance(name, dtype):
    if name in EXCEPTIONS and dtype in ("float64", "float32"):
        return EXCEPTIONS[name][dtype == "float32"]
    return DEFAULT[dtype]


def close(actual, expected, name, dtype):
    """Equal up to the tolerance times the larger of the value and the tensor's scale; infinities and NaN in place."""
    if actual.dtype.kind in "iub":
        return bool(np.array_equal(actual, expected))
    same, error = errors(actual, expected, expected, dtype)
    return bool(np.all(same | (error <= allowed(actual, name, dtype))))


def allowed(actual, name, dtype):
    """The relative error of a result."""
    rtol = tolerance(name, dtype)
    if actual.dtype == np.float32 and dtype == "float64":  # an entry that mixes them
        rtol = max(rtol, DEFAULT["float32"])
    if actual.dtype.itemsize < 4:  # float16 and bfloat16 results
        rtol = max(rtol, 2 * float(np.finfo(np.float16).eps) if actual.dtype == np.float16 else 2**-7)
    return rtol


def errors(actual, expected, exact, dtype):
    """Where two results are the same, and for all elements how far `actual` is from `exact`, relative to the larger of
    the value and the tensor's scale; infinite where one of them is infinite or NaN.
    """
    noise = 1.0 if np.asarray(actual).dtype == np.float32 and dtype == "float64" else NOISE[dtype]
    actual, expected, exact = (np.asarray(x, np.float64) for x in (actual, expected, exact))
    finite = np.isfinite(expected) & np.isfinite(exact)
    scale = min(1.0, max(noise, float(np.max(np.abs(exact), where=finite, initial=0.0))))
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    error = np.where(finite & np.isfinite(actual), np.abs(actual - exact) / (np.abs(exact) + scale), np.inf)
    return same, error


# A result in single precision may be so many times as far from the exact one as the worst element of torch's: both are
# sums of a few roundings, in another order. Up to EXCUSED: beyond, the double precision result is of something else.
TIMES, EXCUSED = 4, 0.05


def as_exact(actual, expected, exact, name, dtype):
    """Whether a result in single precision, though unlike torch's, is about as near as torch's to the exact one."""
    if actual.dtype.kind in "iub" or np.shape(exact) != actual.shape:
        return False
    same, error = errors(actual, expected, exact, dtype)
    _, theirs = errors(expected, expected, exact, dtype)
    worst = float(np.max(theirs, where=np.isfinite(theirs), initial=0.0))
    return bool(np.all(same | (error <= TIMES * min(worst, EXCUSED) + allowed(actual, name, dtype))))


def difference(actual, expected):
    """Where two arrays differ most, in words."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    gap = np.abs(actual - expected)
    odd = np.isnan(gap) & ~(np.isnan(actual) & np.isnan(expected)) & (actual != expected)
    gap = np.where(odd, np.inf, np.nan_to_num(gap, nan=0.0))
    place = np.unravel_index(int(np.argmax(gap)), gap.shape) if gap.size else ()
    return f"{actual[place]!r}, expected {expected[place]!r} at {tuple(int(i) for i in place)} of {expected.shape}"
