"""Does the suite bite? Each formula of the operator table and each optimizer is broken on purpose, and must be noticed.

A formula is negated, doubled, loses a term or a factor, or has the branches of a `where` swapped; so are the functions
that formulas are made of. A sample of the parity suite that reaches the formula must then give another gradient or
second gradient than torch: one of a whole entry of `op_db`, or one of the programs beside it (see tests/recorded.py).
In the update of each optimizer the constants are broken too, and its trajectory must leave torch's.

    pytest -m mutation tests/test_mutation.py -n 2
"""

import functools
import inspect
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

import minitorch
from minitorch.dispatch import FUNCTIONS, ROWS
from minitorch.testing import op_db
from tests import mutants, recorded, test_op_db, test_optim

pytestmark = [
    pytest.mark.mutation,
    pytest.mark.filterwarnings("ignore"),  # what a wrong formula divides by
]

TRIES = 600  # a mutant survives so many of the samples that reach it
LIMIT = 6  # samples taken of each entry's table, to which come those made of them

# Mutants that compute the same, with the reason: (row or function, the words of the mutation) -> why.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("prod_all", "_others_product: input negated"): "an empty array",
    ("prod_all", "_others_product: input doubled"): "the same",
    ("pow_base", "_pow_base_slope: grad * where(exponent >= 0, zeros_like(result), result * float('-inf')) doubled"):
        "zero or infinite",
    ("var_", "_var_slope: grad * where(input == mean(input), infinite * 0, infinite) doubled"): "infinite or NaN",
    ("logcumsumexp", "_logcumsumexp_slope: only zeros_like(grad) of zeros_like(grad) + 1"):
        "only spares a warning: the logarithm there is dropped, and so is its derivative",
    ("multi_margin_loss", "_multi_margin_slope: only 1 of 1 - one_hot"): "the target's own slope is taken off again",
    ("asgd", "1 negated"): "whether mu is 1 only spares a rounding: ax + 1 * (param - ax) is param",
    ("asgd", "1 doubled"): "the same",
    ("orthogonalize", "1 negated"): "the index of the last of two dimensions",
}


def made_of(function):
    """The functions of the operators' modules that a function names, itself or in a function inside it: its helpers, but
    not operators, which have rows of their own.
    """
    codes, found = [function.__code__], []
    for code in codes:
        codes.extend(c for c in code.co_consts if inspect.iscode(c))
    names = dict.fromkeys(name for code in codes for name in code.co_names)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for helper in [*(function.__globals__.get(name) for name in names), *cells]:
        of_operators = inspect.isfunction(helper) and helper.__module__.startswith("minitorch.ops")
        if of_operators and helper not in OPERATORS and helper.__name__ not in ("zeros", "zeros_like"):
            found.append(helper)
    return found


OPERATORS = set(filter(inspect.isfunction, FUNCTIONS.values()))


@functools.cache
def formulas():
    """Row name -> the functions that make up its derivative, those of one text together, with its mutants. What several
    rows are made of is with the first.
    """
    found, taken = {}, {}
    in_place = {name: method.row for name, method in vars(minitorch.Tensor).items() if hasattr(method, "row")}
    for name, row in {**in_place, **ROWS}.items():
        if not getattr(row, "differentiable", False):  # composites have no formulas
            continue
        found[name] = functions = []
        queue = [*row.definitions.values(), *([row.joint] if row.joint is not None else [])]
        for function in queue:  # grows while we walk it
            same = taken.get(function.__code__)
            if same is None:
                same = taken[function.__code__] = []
                functions.append((same, list(mutants.mutants(mutants.source_of(function)))))
            elif any(function is other for other in same):
                continue
            same.append(function)
            queue.extend(made_of(function))
    return found


@functools.cache
def samples():
    """Code object -> the recorded samples that run it, whole entries' and the programs'."""
    watched = {same[0].__code__ for functions in formulas().values() for same, _ in functions}
    found = {}

    def take(samples, first=0):
        for number, sample in enumerate(samples):
            sample.number = number + first
            with recorded.Calls(watched) as seen:
                wrong = sample.noticed()
            if wrong is None:
                for code in seen:
                    found.setdefault(code, []).append(sample)
            else:
                faults.append((sample.name, sample.label, wrong))

    with np.errstate(all="ignore"), op_db.quietly():
        take(recorded.programs(), -1000)  # to be tried before the entries'
        for name in sorted(test_op_db.WHOLE):
            take(recorded.of_entry(name, LIMIT))
    return found


faults: list = []  # samples that are not torch's although nothing is broken


def test_samples_agree_unbroken():
    samples()
    assert not faults


def noticed(tried):
    """Whether one of these samples is not torch's; the one that tells it is tried first the next time."""
    for number, sample in enumerate(tried[:TRIES]):
        try:
            with op_db.at_most(10):
                wrong = sample.noticed()
        except op_db.TooLong:
            wrong = "does not end"
        if wrong:
            tried.insert(0, tried.pop(number))
            return True
    return False


@pytest.mark.parametrize("name", list(formulas()))
def test_formulas(name):
    survivors = []
    for same, broken in formulas()[name]:
        function = same[0]
        tried = sorted(
            samples().get(function.__code__, ()), key=lambda s: (not s.name.split(".")[-1].startswith(name), s.number)
        )
        if broken and not tried:
            survivors.append(f"{function.__name__} (line {function.__code__.co_firstlineno}): no sample runs it")
            continue
        for words, tree in broken:
            with mutants.installed(same, tree), np.errstate(all="ignore"):
                survived = not noticed(tried)
            words = f"{function.__name__}: {words}".removeprefix("<lambda>: ")
            if survived and (name, words) not in EQUIVALENT:
                survivors.append(words)
    assert not survivors, f"{name}: nobody notices\n" + "\n".join(survivors)


def optimizer_functions():
    """The functions of which the optimizers are made: those in the module of each."""
    for name in test_optim.TABLE:
        module = sys.modules[getattr(minitorch.optim, name).__module__]
        for words, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                yield pytest.param(name, function, id=f"{name}-{words}")


@pytest.mark.parametrize("name, function", list(optimizer_functions()))
def test_optimizers(name, function, monkeypatch):
    monkeypatch.setattr(getattr(minitorch.optim, name), "kernel", None, raising=False)  # tested beside the formula
    survivors = []
    trial(name)
    for words, tree in mutants.mutants(mutants.source_of(function), constants=True):
        with mutants.installed([function], tree):
            try:
                trial(name)
            except BaseException as error:  # pytest's own failures are no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                continue
        if (function.__name__, words) not in EQUIVALENT:
            survivors.append(words)
    assert not survivors, f"{function.__name__}: nobody notices\n" + "\n".join(survivors)


def trial(name):
    """What must fail with a broken optimizer, and not without."""
    if name == "LBFGS":
        test_optim.test_cubic_interpolation()
        test_optim.test_line_search()
    if name == "Muon":
        test_optim.test_muon_refuses_what_torch_refuses()
    test_optim.test_trajectory(name)
