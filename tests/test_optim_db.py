"""torch's table of optimizers (`optim_db`): every configuration, step by step, with a state_dict round trip."""

import copy
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import minitorch
from minitorch.testing.op_db import compare_leaf, quietly
from minitorch.testing.stand_in import to_mini, tree_map

OPTIMIZERS = {info.name: info for info in optim_db}
# Not there yet. An optimizer leaves this list when it comes, and never returns. (SparseAdam needs sparse gradients.)
MISSING = {"SparseAdam"}
DTYPES = {"float64": torch.float64, "float32": torch.float32}
STEPS = 8


def problem(framework, to, start, target):
    """Two parameters, and a closure: a quadratic whose gradients change as the parameters move."""
    parameters = [to(torch.from_numpy(array).clone()) for array in start]
    for p in parameters:
        p.requires_grad_()
    goals = [to(torch.from_numpy(array)) for array in target]

    def closure():
        for p in parameters:
            p.grad = None
        loss = sum(
            (((p - goal) ** 2).sum() * (i + 1) for i, (p, goal) in enumerate(zip(parameters, goals, strict=True))),
            framework.zeros((), dtype=parameters[0].dtype),
        )
        loss.backward()
        return loss

    return parameters, closure


def compare_states(ours, theirs, what, dtype, name):
    """The state_dict of two optimizers: the same groups, the same names, the same values."""
    assert [sorted(g) for g in ours["param_groups"]] == [sorted(g) for g in theirs["param_groups"]], what
    assert list(ours["state"]) == list(theirs["state"]), what
    for index, state in theirs["state"].items():
        assert list(ours["state"][index]) == list(state), f"{what}: other names of state"
        for key, value in state.items():
            if key in ("H_diag", "d") and dtype == "float32":  # L-BFGS: once converged, made of rounding noise
                continue
            if isinstance(value, torch.Tensor):
                compare_leaf(ours["state"][index][key], value, f"{what}: {key}", dtype, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trajectory(name, dtype):
    if name in MISSING:
        pytest.skip("not there yet")
    info = OPTIMIZERS[name]
    random = np.random.default_rng(0)
    start, target = ([random.standard_normal(shape).astype(dtype) for shape in ((3, 4), (5, 2))] for _ in range(2))
    for configuration in info.optim_inputs_func(device="cpu", dtype=DTYPES[dtype]):
        with quietly():
            trajectory(name, configuration, start, target, dtype)


def trajectory(name, configuration, start, target, dtype):
    theirs, their_closure = problem(torch, lambda t: t, start, target)
    ours, our_closure = problem(minitorch, to_mini, start, target)
    kwargs = copy.deepcopy(configuration.kwargs)
    optimizer = getattr(torch.optim, name)(theirs, **kwargs)
    mini_kwargs = tree_map(to_mini, kwargs)
    mini = getattr(minitorch.optim, name)(ours, **mini_kwargs)
    label = f"{name} {configuration.desc or configuration.kwargs}"
    for step in range(STEPS):
        optimizer.step(their_closure)
        mini.step(our_closure)
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            compare_leaf(one, other, f"{label}: parameter {i} after step {step}", dtype, name)
        if step == STEPS // 2:
            compare_states(mini.state_dict(), optimizer.state_dict(), label, dtype, name)
            state = copy.deepcopy(mini.state_dict())
            mini = getattr(minitorch.optim, name)(ours, **mini_kwargs)
            mini.load_state_dict(state)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_errors(name):
    if name in MISSING:
        pytest.skip("not there yet")
    info = OPTIMIZERS[name]
    parameter = torch.nn.Parameter(torch.randn(2, 3))
    for case in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = case.optimizer_error_input
        if case.error_on is not OptimizerErrorEnum.CONSTRUCTION_ERROR:
            continue
        params = [parameter] if given.params is None else given.params
        seen = {}
        params, kwargs = tree_map(
            lambda v, seen=seen: seen.setdefault(id(v), to_mini(v)) if isinstance(v, torch.Tensor) else v,
            (params, given.kwargs),
        )
        if issubclass(case.error_type, Warning):
            with pytest.warns(case.error_type, match=case.error_regex):
                getattr(minitorch.optim, name)(params, **kwargs)
        else:
            with quietly(), pytest.raises(case.error_type, match=case.error_regex):
                getattr(minitorch.optim, name)(params, **kwargs)
