"""torch's ``op_db`` in float16 and bfloat16, compared in units of the last place (of op_db.py's neighbours).

Half precisions hold three digits, so a relative tolerance says nothing: what can be asked is how many *representable
numbers* lie between minitorch's result and torch's. An elementwise operator computes in float32 and rounds once, in
torch as here: its results are at most one unit in the last place apart (the two float32 results may lie on either side
of a tie). A sum of many terms is accumulated in float32, in another order than torch's: it is compared in units of the
last place of the tensor's largest element, since terms that cancel leave the others' rounding behind. `BOUNDS` holds
how many units each kind of entry may differ by, and why.

`check` gives the failures of one entry; an entry that torch's CPU refuses in the dtype must be refused with the same
class of exception.
"""

import re

import numpy as np
import torch

import minitorch
from minitorch.testing import op_db, tolerances
from minitorch.testing import samples as extra
from minitorch.testing.stand_in import leaves

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
FORMATS = {"float16": (10, -24), "bfloat16": (7, -133)}  # bits of the fraction; exponent of the smallest number
NOISE = 2.0**-3  # the tensor's largest element counts as at least this much

# Kind -> (forward, gradient, entries, why). A bound is a pair: how many units of the element's own last place, and
# besides of the largest element's.
BOUNDS = {
    "normalize": (
        (1, 1), (1, 64), r"nn\.functional\.normalize",
        "terms that cancel: along a dimension of one element the exact gradient is zero",
    ),
    "accumulated": (
        (1, 1), (1, 8),
        r"add(bmm|mm|mv|r)|baddbmm|bmm|mm|mv|matmul|__rmatmul__|dot|vdot|inner|tensordot|einsum|linalg\.(multi_dot|vecdot)"
        r"|nn\.functional\.(linear|bilinear|conv\w*|embedding_bag|embedding|\w*pool\w*|\w*norm\w*|batch_norm.*"
        r"|scaled_dot_product_attention|multi_head_attention_forward|grid_sample|interpolate.*|upsample_\w+)"
        r"|grid_sampler_[23]d|\w*softmax.*|nn\.functional\.softmin.*|logsumexp|logcumsumexp|cum\w+|trapz|trapezoid"
        r"|mean.*|sum.*|nansum|std.*|var.*|native_\w+_norm|linalg\.\w*norm.*|norm.*|dist|cdist|renorm",
        "sums of many terms, accumulated in float32 in another order than torch's; addbmm, embedding_bag and the norms "
        "round in between, in torch",
    ),
    "losses": (
        (2, 2), (2, 4), r"nn\.functional\.\w*(loss|cross_entropy\w*|kl_div|entropy\w*)(\.\w+)?",
        "sums of terms, of which torch rounds some after each of several operators",
    ),
    "products": ((2, 0), (2, 4), r"prod|cumprod", "torch rounds a product after each factor, of several in parallel"),
    "cancelling": (
        (1, 1), (2, 8), r"lerp|addcmul|addcdiv|hypot|atan2|logaddexp2?|sinc|logit|ldexp|nn\.functional\.pad.*",
        "differences of nearly equal terms, and slopes made of several rounded operators, summed where inputs broadcast",
    ),
    "series": (
        (5, 0), (5, 5), r".*polygamma.*|digamma|mvlgamma.*|special\.i0e|special\.i1e",
        "torch's own series, which lose a few units in half precision",
    ),
}
ELEMENTWISE = ((1, 0), (1, 2))


def kind(name):
    """The kind of an entry: the first of `BOUNDS` whose pattern is its name, or "elementwise"."""
    return next((kind for kind, (_, _, pattern, _) in BOUNDS.items() if re.fullmatch(pattern, name)), "elementwise")


def bounds(name):
    """The pairs of bounds (forward, gradient) of an entry."""
    return BOUNDS[kind(name)][:2] if kind(name) in BOUNDS else ELEMENTWISE


def unit(values, dtype):
    """The distance from each number to the next in the dtype."""
    bits, smallest = FORMATS[dtype]
    exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))[1]
    return np.ldexp(1.0, np.maximum(np.where(values == 0, smallest, exponent - 1 - bits), smallest))


def distance(actual, expected, dtype, bound):
    """The largest |actual - expected| in terms of what the bound allows: at most 1 is close enough."""
    actual, expected = (np.asarray(x, np.float64) for x in (actual, expected))
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if same.all():
        return 0.0
    largest = np.max(np.abs(expected), where=np.isfinite(expected), initial=NOISE)
    allowed = bound[0] * unit(expected, dtype) + bound[1] * unit(np.asarray(largest), dtype)
    gap = np.where(same, 0.0, np.abs(actual - expected) / allowed)
    return float(np.max(np.where(np.isnan(gap), np.inf, gap)))


def compare(actual, expected, what, name, bound):
    """Raise Wrong unless minitorch's result is torch's within the bound, leaf by leaf."""
    ours, theirs = leaves(actual), leaves(expected)
    if len(ours) != len(theirs):
        raise op_db.Wrong(f"{what}: {len(ours)} results, expected {len(theirs)}")
    for one, other in zip(ours, theirs, strict=True):
        if (one is None) != (other is None):
            raise op_db.Wrong(f"{what}: {'None' if one is None else 'a tensor'}, expected the opposite")
        kind = str(getattr(other, "dtype", "")).removeprefix("torch.")
        if kind not in DTYPES:
            if other is not None:
                op_db.compare_leaf(one, other, what, "float32", name)
            continue
        op_db.compare_leaf(one, other, what, "float32", name, nondeterministic=True)  # dtype and shape
        if name not in tolerances.UNDEFINED:
            far = distance(op_db.as_array(one), op_db.as_array(other), kind, bound)
            if far > 1:
                where = tolerances.difference(op_db.as_array(one), op_db.as_array(other))
                raise op_db.Wrong(f"{what}: {far:.1f} times the bound {bound}: {where}")


def check(name, dtype, limit=None, seconds=60.0):
    """Failures of an entry, as (stage, outcome, sample, message), and the number of samples compared."""
    op, kind = op_db.ENTRIES[name], DTYPES[dtype]
    supported = kind in op.supported_dtypes("cpu")
    gradient = supported and op.supports_autograd and kind in op.supported_backward_dtypes("cpu")
    failures, count = [], 0
    with op_db.quietly():
        try:
            with op_db.at_most(seconds):
                for index, (label, sample) in enumerate(extra.all_samples(op, kind, gradient, limit)):
                    count += 1
                    failures += check_sample(op_db.Case(op, sample, "float32", index), dtype, label, gradient)
        except op_db.TooLong as error:
            failures.append(("forward", "error", None, str(error)))
    return failures, count


def check_sample(case, dtype, label, gradient):
    """The failures of a sample: at most one, of the first stage that fails."""
    forward, backward = bounds(case.name)
    stage = "forward"
    args, kwargs = case.torch_arguments()
    inputs = op_db.differentiable({id(t): t for t in op_db.tensors_of((args, kwargs), torch.Tensor)}.values())
    try:
        expected, refused = case.torch_call(case.op.op, args, kwargs), None
    except Exception as error:
        refused = error
    try:
        mini_args, mini_kwargs = case.mini_arguments()
        result = case.mini_call(case.op.op, mini_args, mini_kwargs, op_db.entry_function(case.op))
        if refused is not None:
            raise op_db.Wrong(f"no error, expected {op_db.described(refused)}")
        if not case.op.has_nondeterministic_output:
            compare(case.found(result), case.found(expected), "result", case.name, forward)
        if case.name in {*op_db.FINDERS, "msort"}:  # there are many equal elements: which has the gradient is not defined
            return []
        stage = "gradient"
        wanted = op_db.differentiable(op_db.tensors_of(case.sample.output_process_fn_grad(expected), torch.Tensor))
        if not (gradient and wanted and inputs):
            return []
        cotangents, mini_cotangents = case.cotangents(wanted)
        try:
            expected = op_db.gradients(torch, wanted, inputs, cotangents)
        except (RuntimeError, NotImplementedError):
            return []  # torch has no derivative here
        outputs = op_db.differentiable(op_db.tensors_of(op_db.processed(case, result), minitorch.Tensor))
        ours = op_db.tensors_of((mini_args, mini_kwargs), minitorch.Tensor)
        actual = op_db.gradients(
            minitorch, outputs, op_db.differentiable({id(t): t for t in ours}.values()), mini_cotangents
        )
        compare(actual, expected, "gradient", case.name, backward)
    except op_db.TooLong:
        raise
    except Exception as error:
        if refused is not None and op_db.same_class(error, refused):
            return []
        said = op_db.described(error) + (f", expected {op_db.described(refused)}" if refused is not None else "")
        return [("refusal" if refused is not None else stage, op_db.outcome_of(error), label, said)]
    return []
