"""torch's table of modules (`module_db`), built and run on both frameworks from the same seed.

Compared for each sample: the printed module, the names and initial values of its state, the result, the state
afterwards, the gradients of inputs and parameters under a random cotangent; and the class of each error.
"""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import minitorch
from minitorch.testing.op_db import compare, compare_gradients, compare_leaf, differentiable, quietly, tensors_of
from minitorch.testing.stand_in import PUBLIC, copied, counterpart, to_mini, tree_map

MODULES = {info.name: info for info in module_db if info.name.startswith("nn.")}
# Not there yet. A module leaves this list when it comes, and never returns.
MISSING: set[str] = set()
MODES = [
    (name, training)
    for name, info in MODULES.items()
    for training in ((True, False) if info.train_and_eval_differ else (True,))
]


def mini_of(value):
    """Constructor and forward arguments: tensors, and functions by their name."""
    return counterpart(PUBLIC[id(value)][0]) if id(value) in PUBLIC and callable(value) else to_mini(value)


def made(framework, name, arguments, dtype, training):
    framework.manual_seed(0)
    module = getattr(framework.nn, name.removeprefix("nn."))(*arguments[0], **arguments[1])
    return module.to(dtype).train(training)


def compare_state(ours, theirs, what):
    assert list(ours) == list(theirs), f"{what}: other names"
    for key, value in theirs.items():
        if isinstance(value, torch.Tensor):
            compare_leaf(ours[key], value, f"{what} {key}", "float64", "")


@pytest.mark.parametrize("name, training", MODES)
def test_module(name, training):
    if name in MISSING:
        pytest.skip("not there yet")
    info, random = MODULES[name], np.random.default_rng(0)
    with quietly():
        for sample in info.module_inputs_func(
            info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
        ):
            check(info, sample, training, random)


def check(info, sample, training, random):
    given = (sample.constructor_input.args, sample.constructor_input.kwargs)
    theirs = made(torch, info.name, given, torch.float64, training)
    ours = made(minitorch, info.name, tree_map(mini_of, given), minitorch.float64, training)
    assert repr(ours) == repr(theirs)
    compare_state(ours.state_dict(), theirs.state_dict(), "initial state")
    if sample.forward_input is None:
        return
    their_args = tree_map(
        lambda v: copied(v) if isinstance(v, torch.Tensor) else v,
        (sample.forward_input.args, sample.forward_input.kwargs),
    )
    our_args = tree_map(mini_of, their_args)
    torch.manual_seed(1)
    minitorch.manual_seed(1)
    expected, result = theirs(*their_args[0], **their_args[1]), ours(*our_args[0], **our_args[1])
    compare(result, expected, "result", "float64", info.name)
    compare_state(ours.state_dict(), theirs.state_dict(), "state afterwards")

    outputs, expected = (
        differentiable(tensors_of(x, kind)) for x, kind in ((result, minitorch.Tensor), (expected, torch.Tensor))
    )
    assert len(outputs) == len(expected)
    variables = [*differentiable(tensors_of(their_args, torch.Tensor)), *theirs.parameters()]
    ours_too = [*differentiable(tensors_of(our_args, minitorch.Tensor)), *ours.parameters()]
    if not expected or not variables:
        return
    cotangents = [torch.from_numpy(np.asarray(random.standard_normal(tuple(t.shape)))) for t in expected]
    slopes = torch.autograd.grad(expected, variables, cotangents, allow_unused=True)
    actual = minitorch.autograd.grad(outputs, ours_too, [to_mini(c) for c in cotangents], allow_unused=True)
    compare_gradients(actual, slopes, "gradient", "float64", info.name, strict=True)


ERRORS = [name for name, info in MODULES.items() if info.module_error_inputs_func is not None]


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    if name in MISSING:
        pytest.skip("not there yet")
    info = MODULES[name]
    for case in info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=False, training=False
    ):
        sample = case.module_error_input
        given = tree_map(mini_of, (sample.constructor_input.args, sample.constructor_input.kwargs))
        if case.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR:
            with quietly(), pytest.raises(case.error_type):
                made(minitorch, name, given, minitorch.float64, True)
        else:
            module = made(minitorch, name, given, minitorch.float64, True)
            args = tree_map(mini_of, (sample.forward_input.args, sample.forward_input.kwargs))
            with quietly(), pytest.raises(case.error_type):
                module(*args[0], **args[1])
