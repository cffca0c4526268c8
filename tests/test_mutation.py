"""Does the suite bite? Each formula of the operator table and each optimizer is broken on purpose, and must be noticed.

A formula is negated, doubled, loses a term or a factor, or has the branches of a `where` swapped; so are the private
functions that formulas call. A short parity run (a few whole entries of `op_db` that reach the formula) must then
fail. In the update of each optimizer the constants are broken too, and its trajectory must leave torch's.

    pytest -m mutation tests/test_mutation.py
"""

import functools
import inspect
import itertools
import sys

import pytest

pytest.importorskip("torch")

import minitorch
from minitorch.dispatch import ROWS
from minitorch.testing import op_db
from tests import mutants, test_op_db, test_optim

pytestmark = pytest.mark.mutation

ENTRIES = 12  # a mutant survives when so many of the entries that reach it still pass
LIMIT = 12  # samples taken of each

# Mutants that compute the same, with the reason: (row, the words of the mutation) -> why.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("asgd", "1 negated"): "whether mu is 1 only spares a rounding: ax + 1 * (param - ax) is param",
    ("asgd", "1 doubled"): "the same",
    ("orthogonalize", "1 negated"): "the index of the last of two dimensions",
}


@functools.cache
def formulas():
    """Row name -> the functions that make up its derivative: its formulas and the private functions these call."""
    found = {}
    for name, row in ROWS.items():
        functions = list(row.definitions.values()) + ([row.joint] if row.joint is not None else [])
        for function in functions:  # grows while we walk it
            used = function.__code__.co_names if hasattr(function, "__code__") else ()
            for helper in (function.__globals__.get(n) for n in used if n.startswith("_")):
                if (
                    inspect.isfunction(helper)
                    and helper not in functions
                    and helper.__module__.startswith("minitorch.ops")
                ):
                    functions.append(helper)
        found[name] = [f for f in functions if mutants.source_of(f) is not None]
    return found


@functools.cache
def reached():
    """Code object of a formula -> the whole entries that run it, those with the fewest formulas first."""
    watched = {function.__code__ for functions in formulas().values() for function in functions}
    by_entry = {}
    for name in sorted(test_op_db.WHOLE):
        seen = set()

        def note(frame, event, arg, seen=seen):
            if event == "call" and frame.f_code in watched:
                seen.add(frame.f_code)

        sys.setprofile(note)
        try:
            op_db.check(name, limit=LIMIT, stages=("forward", "gradient", "second"))
        finally:
            sys.setprofile(None)
        by_entry[name] = seen
    found = {}
    for name in sorted(by_entry, key=lambda name: len(by_entry[name])):
        for code in by_entry[name]:
            found.setdefault(code, []).append(name)
    return found


def noticed_by_an_entry(names):
    """Whether one of these entries fails."""
    for name in itertools.islice(names, ENTRIES):
        report = op_db.check(
            name, limit=LIMIT, stages=("forward", "gradient", "second"), stop=lambda report: bool(report.failures)
        )
        if report.failures:
            return True
    return False


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.differentiable])
def test_formulas(name):
    survivors = []
    for function in formulas()[name]:
        entries = reached().get(function.__code__)
        if not entries:
            survivors.append(f"{function.__name__} (line {function.__code__.co_firstlineno}): no whole entry runs it")
            continue
        entries = sorted(entries, key=lambda entry: not entry.split(".")[-1].startswith(name))
        for words, tree in mutants.mutants(mutants.source_of(function)):
            with mutants.installed(function, tree):
                if not noticed_by_an_entry(entries) and (name, words) not in EQUIVALENT:
                    survivors.append(words)
    assert not survivors, f"{name}: nobody notices\n" + "\n".join(survivors)


def optimizer_functions():
    """The functions of which the optimizers are made: those in the module of each."""
    for name in test_optim.TABLE:
        module = sys.modules[getattr(minitorch.optim, name).__module__]
        for words, function in vars(module).items():
            recursive = inspect.isfunction(function) and words in function.__code__.co_names  # cannot be replaced
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not recursive:
                yield pytest.param(name, function, id=f"{name}-{words}")


@pytest.mark.parametrize("name, function", list(optimizer_functions()))
def test_optimizers(name, function, monkeypatch):
    monkeypatch.setattr(getattr(minitorch.optim, name), "kernel", None, raising=False)  # tested beside the formula
    survivors = []
    for words, tree in mutants.mutants(mutants.source_of(function), constants=True):
        with mutants.installed(function, tree):
            try:
                if name == "LBFGS":
                    test_optim.test_line_search()
                if name == "Muon":
                    test_optim.test_muon_refuses_what_torch_refuses()
                test_optim.test_trajectory(name)
            except BaseException as error:  # pytest's own failures are no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                continue
        if (function.__name__, words) not in EQUIVALENT:
            survivors.append(words)
    assert not survivors, f"{function.__name__}: nobody notices\n" + "\n".join(survivors)
