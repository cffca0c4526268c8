"""One entry of torch's ``op_db`` run on torch and on minitorch, and everything it gives compared.

For each sample of an entry: values, dtypes and shapes of the results, the state of the inputs afterwards, the first
and second gradients under random cotangents; the other spellings of the same operator (method, operator, in-place,
``out=``, aliases); and for each error sample the class of the exception. `check` returns a `Report` of counts and
failures.

What happened to a sample is one of
    pass     all that was compared is equal
    absent   minitorch has no such function, or says that it does not support the case (NotImplementedError)
    error    minitorch raised where torch did not, or another exception than torch
    wrong    minitorch gave a value, and it is not torch's
"""

import contextlib
import dataclasses
import functools
import signal
import time
import warnings
import zlib

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

import minitorch
from minitorch.testing import samples as extra
from minitorch.testing import tolerances
from minitorch.testing.stand_in import TO_MINI, array_of, copied, find, leaves, run, to_mini, tree_map

STAGES = ("forward", "gradient", "second", "variants", "errors")


def name_of(op):
    """One name per entry: the operator's, and after a dot that of its variant (``div.floor_rounding``)."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


ENTRIES = {name_of(op): op for op in op_db}
DTYPES = {name: getattr(torch, name) for name in ("float64", "float32", "int64", "bool")}


def dtype_for(name, wanted):
    """`wanted`, or the first dtype that torch's CPU takes the entry in: bitwise operators take no floats."""
    supported = ENTRIES[name].supported_dtypes("cpu")
    return next((dtype for dtype in (wanted, *DTYPES) if DTYPES[dtype] in supported), wanted)


class Wrong(AssertionError):
    """minitorch's value is not torch's."""


class TooLong(Exception):
    """The operator exceeded its time."""


@dataclasses.dataclass
class Report:
    """The counts of one entry in one dtype: stage -> outcome -> number of samples; and what failed, in words."""

    name: str
    dtype: str
    counts: dict
    failures: list
    seconds: float = 0.0

    def passed(self, stage):
        return self.counts[stage]["pass"]

    def total(self, stage):
        return sum(self.counts[stage].values())

    @property
    def whole(self):
        """All forward, gradient and second-gradient samples passed (and there is one)."""
        return self.total("forward") > 0 and all(
            self.passed(stage) == self.total(stage) for stage in ("forward", "gradient", "second")
        )

    @property
    def complete(self):
        """Whole, and all the other spellings and the error inputs pass, too."""
        return self.whole and not self.failures

    @property
    def wrong(self):
        """What ran and gave another value than torch; an accepted bad input is not among it."""
        return [failure for failure in self.failures if failure[1] == "wrong" and failure[0] != "errors"]

    def count(self, stage, outcome, message="", sample=None):
        self.counts[stage][outcome] += 1
        if outcome != "pass":
            self.failures.append((stage, outcome, sample, message))


def empty_report(name, dtype):
    return Report(name, dtype, {stage: dict.fromkeys(("pass", "absent", "error", "wrong"), 0) for stage in STAGES}, [])


@contextlib.contextmanager
def at_most(seconds):
    """Raise TooLong when the block runs longer (main thread of a Unix process only)."""

    def ring(signum, frame):
        raise TooLong(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def quietly():
    """Neither torch's nor NumPy's warnings matter here."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


# ------------------------------------------------------------------------------------------------ comparing


def as_array(value):
    if isinstance(value, torch.Tensor):
        if value._is_zerotensor():  # zeros that torch keeps without memory
            value = torch.zeros(value.shape, dtype=value.dtype)
        return array_of(value.resolve_conj().resolve_neg())
    return value.detach()._array


def compare(actual, expected, what, dtype, name, nondeterministic=False, exact=None):
    """Raise Wrong unless minitorch's result equals torch's, leaf by leaf. `exact()` gives the leaves in double precision
    (see `exactly`).
    """
    ours, theirs = leaves(actual), leaves(expected)
    if len(ours) != len(theirs):
        raise Wrong(f"{what}: {len(ours)} results, expected {len(theirs)}")
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        compare_leaf(one, other, what, dtype, name, nondeterministic, exact and (lambda i=i: exact()[i]))


def compare_leaf(actual, expected, what, dtype, name, nondeterministic=False, exact=None):
    if not isinstance(expected, torch.Tensor):
        if type(expected) in (int, float, bool, str) and type(actual) is not type(expected):
            raise Wrong(f"{what}: a {type(actual).__name__}, expected a {type(expected).__name__}")
        wanted = to_mini(expected)
        numbers = type(wanted) is float and tolerances.close(np.float64(actual), np.float64(wanted), name, dtype)
        if not (numbers or actual == wanted):
            raise Wrong(f"{what}: {actual!r}, expected {wanted!r}")
        return
    if not isinstance(actual, minitorch.Tensor):
        raise Wrong(f"{what}: a {type(actual).__name__}, expected a Tensor")
    if actual.dtype != TO_MINI.get(expected.dtype):
        raise Wrong(f"{what}: dtype {actual.dtype}, expected {expected.dtype}")
    if tuple(actual.shape) != tuple(expected.shape):
        raise Wrong(f"{what}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}")
    if not nondeterministic:
        ours, theirs = as_array(actual), as_array(expected)
        if tolerances.close(ours, theirs, name, dtype):
            return
        if exact is None or not tolerances.as_exact(ours, theirs, as_array(exact()), name, dtype):
            raise Wrong(f"{what}: {tolerances.difference(ours, theirs)}")


def outcome_of(error):
    return (
        "absent"
        if isinstance(error, NotImplementedError | AttributeError)
        else "wrong"
        if isinstance(error, Wrong)
        else "error"
    )


def described(error):
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}"


# ------------------------------------------------------------------------------------------------ derivatives


def gradients(framework, outputs, inputs, cotangents, **options):
    """The same words for both frameworks: the gradient of sum(outputs * cotangents)."""
    return framework.autograd.grad(outputs, inputs, cotangents, allow_unused=True, **options)


def second_gradients(framework, outputs, inputs, cotangents, cotangents2):
    """Gradients of the gradient, contracted with `cotangents2`, by the inputs and the first cotangents."""
    cotangents = [c.detach().requires_grad_() for c in cotangents]
    first = gradients(framework, outputs, inputs, cotangents, create_graph=True)
    pairs = [(g, c) for g, c in zip(first, cotangents2, strict=True) if g is not None and g.requires_grad]
    if not pairs:
        return [None] * (len(inputs) + len(cotangents))
    return gradients(framework, [g for g, _ in pairs], [*inputs, *cotangents], [c for _, c in pairs])


def compare_gradients(actual, expected, what, dtype, name, strict, exact=None):
    """None means "not in the graph"; where `strict` is off it equals zero."""
    for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
        label = f"{what} {i}"
        if one is None or other is None:
            if strict and (one is not None or other is not None):
                raise Wrong(
                    f"{label}: {'None' if one is None else 'a tensor'}, expected "
                    f"{'None' if other is None else 'a tensor'}"
                )
            rest = [x for x in (one, other) if x is not None]
            if any(np.any(as_array(x) != 0) for x in rest):
                raise Wrong(f"{label}: {'None' if one is None else 'a nonzero'}, expected the opposite")
        else:
            compare_leaf(one, other, label, dtype, name, exact=exact and (lambda i=i: exact()[i]))


def doubled(tensor):
    """A copy in double precision; a leaf like the original."""
    copy = copied(tensor)
    return copy.detach().double().requires_grad_(tensor.requires_grad) if tensor.dtype.is_floating_point else copy


def exactly(case, call, cotangents=None, cotangents2=None):
    """What torch finds for a sample in single precision when it computes in double: the judge where two single
    precisions differ. Nothing is computed before the judge is asked; None for samples in double precision.
    """
    if case.dtype != "float32" or case.name in FINDERS:
        return None

    @functools.cache
    def compute():
        args, kwargs = tree_map(lambda v: torch.float64 if v is torch.float32 else v, case.copies(doubled))
        result = call(args, kwargs)
        if cotangents is None:
            return leaves(result)
        wanted = differentiable(tensors_of(case.sample.output_process_fn_grad(result), torch.Tensor))
        inputs = differentiable({id(t): t for t in tensors_of((args, kwargs), torch.Tensor)}.values())
        first, second = ([t if t is None else t.double() for t in ts or ()] for ts in (cotangents, cotangents2))
        if cotangents2 is None:
            return gradients(torch, wanted, inputs, first)
        return second_gradients(torch, wanted, inputs, first, second)

    return compute


# ------------------------------------------------------------------------------------------------ one sample


# Eigenvectors and singular vectors may point either way: the table's own processing takes their absolute values.
TURNED = {"linalg.eigh", "linalg.svd", "svd"}
# Which of several equal elements these find is not defined. Entry -> the place of `dim` in the arguments after input.
FINDERS = {"topk": 1, "kthvalue": 1, "sort": 0, "argsort": 0, "mode": 0}


class Case:
    """A sample on both frameworks: fresh leaves, the function, and a seed of its own."""

    def __init__(self, op, sample, dtype, index):
        self.op, self.sample, self.dtype, self.index = op, sample, dtype, index
        self.name = name_of(op)
        self.seed = zlib.crc32(f"{self.name} {index}".encode())
        self.random = np.random.default_rng(self.seed)

    def copies(self, copy):
        """Fresh (args, kwargs) with every tensor copied; one that occurs twice in the sample occurs twice again."""
        seen = {}

        def fresh(value):
            if isinstance(value, torch.Tensor) and id(value) not in seen:
                seen[id(value)] = copy(value)
            return seen.get(id(value), value)

        return tree_map(fresh, ((self.sample.input, *self.sample.args), self.sample.kwargs))

    def torch_arguments(self):
        return self.copies(copied)

    def mini_arguments(self):
        """minitorch Tensors with the same values, memory layout and requires_grad; raises Absent."""
        return self.copies(to_mini)

    def torch_call(self, function, args, kwargs):
        torch.manual_seed(self.seed)
        return function(*args, **kwargs)

    def mini_call(self, function, args, kwargs, name=None):
        minitorch.manual_seed(self.seed)
        return run(function, args, kwargs, name)

    def compare(self, actual, expected, what):
        """Raise Wrong unless a result of this sample, its named fields too, is torch's."""
        for field in getattr(type(expected), "__match_args__", ()):  # torch.return_types: a tuple with named fields
            if not hasattr(actual, field):
                raise Wrong(f"{what} has no field {field!r}")
        if self.name in TURNED:
            actual, expected = processed(self, actual), self.sample.output_process_fn_grad(expected)
        undefined = self.op.has_nondeterministic_output or self.name in tolerances.UNDEFINED
        exact = exactly(self, lambda args, kwargs: self.torch_call(self.op.op, args, kwargs))
        compare(self.found(actual), self.found(expected), what, self.dtype, self.name, undefined, exact)

    def found(self, result):
        """The result; for `FINDERS` with the positions replaced by the elements of the input that lie there."""
        place, args, input = FINDERS.get(self.name), self.sample.args, self.sample.input
        if place is None or input.dim() == 0:
            return result
        dim = self.sample.kwargs.get("dim", args[place] if len(args) > place else -1)
        *values, positions = leaves(result)
        at = as_array(positions)
        at = at if at.ndim == input.dim() else np.expand_dims(at, dim)
        there = np.take_along_axis(as_array(input), at, dim).astype(np.float64)
        return [
            *values,
            torch.from_numpy(there) if isinstance(positions, torch.Tensor) else minitorch.from_numpy(there),
        ]

    def cotangents(self, tensors):
        """Random arrays like the given torch tensors (None stays None), as a torch list and a minitorch list."""
        arrays = [None if t is None else np.asarray(self.random.standard_normal(tuple(t.shape))) for t in tensors]
        theirs = [a if a is None else torch.from_numpy(a).to(t.dtype) for a, t in zip(arrays, tensors, strict=True)]
        return theirs, [t if t is None else to_mini(t) for t in theirs]


def tensors_of(tree, kind):
    return [leaf for leaf in leaves(tree) if isinstance(leaf, kind)]


def differentiable(outputs):
    return [x for x in outputs if x.requires_grad]


def check_sample(case, report, stages, label):
    """Forward, gradient, second gradient of one sample, into the report."""
    op, name, dtype = case.op, case.name, case.dtype
    args, kwargs = case.torch_arguments()
    theirs_in = tensors_of((args, kwargs), torch.Tensor)
    try:
        expected = case.torch_call(op.op, args, kwargs)
    except Exception:  # not a sample for torch either
        return False
    wanted = (
        differentiable(tensors_of(case.sample.output_process_fn_grad(expected), torch.Tensor))
        if "gradient" in stages
        else []
    )
    inputs = differentiable({id(t): t for t in theirs_in}.values())
    has_gradient = bool(wanted and inputs)
    has_second = has_gradient and op.supports_gradgrad and "second" in stages

    def fail(stage, error):
        report.count(stage, outcome_of(error), described(error), label)

    try:
        mini_args, mini_kwargs = case.mini_arguments()
        result = case.mini_call(op.op, mini_args, mini_kwargs, entry_function(op))
        case.compare(result, expected, "result")
        ours_in = tensors_of((mini_args, mini_kwargs), minitorch.Tensor)
        for one, other in zip(ours_in, theirs_in, strict=True):
            compare_leaf(one, other, "input afterwards", dtype, name)
        report.count("forward", "pass")
    except TooLong:
        raise
    except Exception as error:
        fail("forward", error)
        for stage in ["gradient"] * has_gradient + ["second"] * has_second:
            fail(stage, error)
        return True
    if not has_gradient:
        return True

    mini_inputs = differentiable({id(t): t for t in ours_in}.values())
    cotangents, mini_cotangents = case.cotangents(wanted)
    try:
        expected = gradients(torch, wanted, inputs, cotangents, retain_graph=has_second)
    except (RuntimeError, NotImplementedError):
        return True  # torch has no derivative here
    try:
        outputs = differentiable(tensors_of(processed(case, result), minitorch.Tensor))
        if len(outputs) != len(wanted):
            raise Wrong(f"{len(outputs)} results require grad, expected {len(wanted)}")
        actual = gradients(minitorch, outputs, mini_inputs, mini_cotangents, retain_graph=has_second)
        call = lambda args, kwargs: case.torch_call(op.op, args, kwargs)
        compare_gradients(actual, expected, "gradient", dtype, name, True, exactly(case, call, cotangents))
        report.count("gradient", "pass")
    except TooLong:
        raise
    except Exception as error:
        fail("gradient", error)
        if has_second:
            fail("second", error)
        return True
    if not has_second:
        return True

    cotangents2, mini_cotangents2 = case.cotangents(expected)
    try:
        expected = second_gradients(torch, wanted, inputs, cotangents, cotangents2)
    except (RuntimeError, NotImplementedError):
        return True
    try:
        actual = second_gradients(minitorch, outputs, mini_inputs, mini_cotangents, mini_cotangents2)
        exact = exactly(case, call, cotangents, cotangents2)
        compare_gradients(actual, expected, "second gradient", dtype, name, False, exact)
        report.count("second", "pass")
    except TooLong:
        raise
    except Exception as error:
        fail("second", error)
    return True


def processed(case, result):
    """The table's own treatment of a result before it is differentiated (the default gives it back)."""
    function = case.sample.output_process_fn_grad
    return run(lambda value: function(value), (result,), {})


def entry_function(op):
    """The public name of an entry's function, where the table holds the function itself and not a lambda."""
    return op.name if find(torch, op.name) is op.op else None


# ------------------------------------------------------------------------------------------------ other spellings


def variants_of(op):
    """name -> (torch callable, minitorch name): the other ways to write the operator that the table knows."""
    found = {}
    if op.method_variant is not None and op.method_variant is getattr(torch.Tensor, op.name, None):
        found["method"] = (op.method_variant, f"Tensor.{op.name}")
    if op.inplace_variant is not None and op.inplace_variant is getattr(torch.Tensor, op.name + "_", None):
        found["in-place"] = (op.inplace_variant, f"Tensor.{op.name}_")
    if op.operator_variant is not None:
        found["operator"] = (op.operator_variant, None)
    if op.inplace_operator_variant is not None:
        found["in-place operator"] = (op.inplace_operator_variant, None)
    for alias in op.aliases:
        if find(torch, alias.name) is alias.op:
            found[f"alias {alias.name}"] = (alias.op, alias.name)
    return found


def check_variants(case, report, label):
    """Each other spelling of the operator on one sample: the same result or the same refusal, and its gradient."""
    for spelling, (function, name) in variants_of(case.op).items():
        in_place = spelling.startswith("in-place")
        compare_spelling(
            case,
            report,
            f"{spelling}, {label}",
            in_place,
            function,
            lambda args, kwargs, function=function, name=name: case.mini_call(function, args, kwargs, name),
        )
    if case.op.supports_out and entry_function(case.op):
        check_out(case, report, f"out=, {label}")


def compare_spelling(case, report, label, in_place, function, mini_function):
    args, kwargs = case.torch_arguments()
    if not isinstance(args[0], torch.Tensor):
        return

    def written(values):
        return (values[0].clone(), *values[1:]) if in_place else values

    try:
        target = written(args)
        expected = case.torch_call(function, target, kwargs)
        wanted = differentiable(tensors_of(expected, torch.Tensor)) if case.op.supports_inplace_autograd else []
        cotangents, mini_cotangents = case.cotangents(wanted)
        inputs = differentiable(tensors_of((args, kwargs), torch.Tensor))
        compared = wanted and inputs and case.name not in TURNED
        slopes = gradients(torch, wanted, inputs, cotangents) if compared else None
        refused = None
    except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError) as error:
        refused = error
    if in_place and case.sample.broadcasts_input and refused is None:
        return  # a few of torch's in-place operators resize instead of refusing
    try:
        mini_args, mini_kwargs = case.mini_arguments()
        mini_target = written(mini_args)
        try:
            result = mini_function(mini_target, mini_kwargs)
            if refused is None:
                case.compare(result, expected, "result")
                if in_place and result is not mini_target[0]:
                    raise Wrong("result is not the tensor written to")
                if slopes is not None:
                    inputs = differentiable(tensors_of((mini_args, mini_kwargs), minitorch.Tensor))
                    outputs = differentiable(tensors_of(result, minitorch.Tensor))
                    actual = gradients(minitorch, outputs, inputs, mini_cotangents)
                    call = lambda args, kwargs: case.torch_call(function, written(args), kwargs)
                    exact = exactly(case, call, cotangents)
                    compare_gradients(actual, slopes, "gradient", case.dtype, case.name, True, exact)
        except (Wrong, TooLong):
            raise
        except Exception as error:
            if refused is None or not same_class(error, refused):
                raise
        else:
            if refused is not None:
                raise Wrong(f"no error, expected {described(refused)}")
        report.count("variants", "pass")
    except TooLong:
        raise
    except Exception as error:
        report.count("variants", outcome_of(error), described(error), label)


def check_out(case, report, label):
    """``out=``: the result lands in the given tensor, which is returned."""
    name = entry_function(case.op)
    case = without_grad(case)
    args, kwargs = case.torch_arguments()
    if "out" in kwargs:
        return
    try:
        expected = case.torch_call(case.op.op, args, kwargs)
        if not all(isinstance(leaf, torch.Tensor) for leaf in leaves(expected)):
            return
        out = tree_map(torch.empty_like, expected)
        returned = case.torch_call(case.op.op, args, {**kwargs, "out": out})
    except Exception:
        return
    try:
        args, kwargs = case.mini_arguments()
        out = tree_map(lambda t: to_mini(torch.zeros_like(t)), expected)
        result = case.mini_call(case.op.op, args, {**kwargs, "out": out}, name)
        if returned is not None and any(
            one is not other for one, other in zip(leaves(result), leaves(out), strict=True)
        ):
            raise Wrong("the result is not the tensor given as out")
        written, wanted = leaves(out), leaves(expected)
        if case.name in TURNED:
            written, wanted = [t.abs() for t in written], [t.abs() for t in wanted]
        case.compare(written, wanted, "out")
        report.count("variants", "pass")
    except TooLong:
        raise
    except Exception as error:
        report.count("variants", outcome_of(error), described(error), label)


def without_grad(case):
    plain = case.sample.transform(lambda v: v.detach() if isinstance(v, torch.Tensor) else v)
    return Case(case.op, plain, case.dtype, case.index)


# ------------------------------------------------------------------------------------------------ errors


def same_class(actual, expected):
    """torch's class exactly; a subclass that Python itself defines as more precise is not torch's class."""
    return type(actual) is type(expected)


def check_errors(op, report):
    """Each error sample of the table must raise what torch raises."""
    try:
        cases = list(op.error_inputs("cpu"))
    except Exception:
        return
    for index, error_input in enumerate(cases):
        sample = error_input.sample_input
        if not isinstance(sample, SampleInput):
            continue
        label = f"error {index}"
        case = Case(op, sample, "float64", index)
        try:
            case.torch_call(op.op, *case.torch_arguments())
            continue  # torch raises only on another device
        except Exception as error:
            expected = error
        try:
            case.mini_call(op.op, *case.mini_arguments(), entry_function(op))
        except TooLong:
            raise
        except Exception as error:
            if same_class(error, expected):
                report.count("errors", "pass")
            else:
                report.count("errors", outcome_of(error), f"{described(error)}, expected {described(expected)}", label)
        else:
            report.count("errors", "wrong", f"no error, expected {described(expected)}", label)


# ------------------------------------------------------------------------------------------------ one entry


def check(name, dtype="float64", stages=STAGES, limit=None, seconds=120.0, stop=None):
    """Run one entry of ``op_db`` in one dtype.

    `limit` bounds the number of the table's samples, `seconds` the time; `stop(report)`, asked after each sample, ends
    the run early. An entry that torch itself cannot run on this CPU in this dtype gives an empty report.
    """
    op, report, start = ENTRIES[name], empty_report(name, dtype), time.perf_counter()
    kind = DTYPES[dtype]
    if kind not in op.supported_dtypes("cpu"):
        return report
    gradient = op.supports_autograd and kind.is_floating_point and kind in op.supported_backward_dtypes("cpu")
    wanted = stages if gradient else [stage for stage in stages if stage not in ("gradient", "second")]
    with quietly():
        try:
            with at_most(seconds):
                for index, (label, sample) in enumerate(extra.all_samples(op, kind, gradient, limit)):
                    case = Case(op, sample, dtype, index)
                    ran = check_sample(case, report, wanted, label)
                    if ran and "variants" in stages and index < 8:
                        check_variants(case, report, label)
                    if stop is not None and stop(report):
                        break
                if "errors" in stages and dtype == "float64" and not (stop is not None and stop(report)):
                    check_errors(op, report)
        except TooLong as error:
            report.count("forward", "error", described(error))
    report.seconds = time.perf_counter() - start
    return report
