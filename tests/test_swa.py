"""Averages of weights beside torch's: AveragedModel, its averaging functions, SWALR in use, update_bn."""

import copy

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch")

DATA = np.random.default_rng(0).standard_normal((24, 5))


def model_of(framework):
    """The same small network, with a batch norm, in either framework."""
    framework.manual_seed(1)
    nn = framework.nn
    return nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()


def batches(framework, size=6):
    return [framework.tensor(DATA[i : i + size]) for i in range(0, len(DATA), size)]


def train(framework, model, averaged, steps=6, lr=0.1):
    """A few steps of SGD, each taken into the average."""
    optimizer = framework.optim.SGD(model.parameters(), lr=lr, momentum=0.5)
    for i in range(steps):
        optimizer.zero_grad()
        (model(batches(framework)[i % 4]) ** 2).mean().backward()
        optimizer.step()
        averaged.update_parameters(model)


def assert_same_state(ours, theirs):
    ours, theirs = ours.state_dict(), theirs.state_dict()
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert str(ours[name].dtype) == str(value.dtype)
        np.testing.assert_allclose(ours[name].numpy(), value.numpy(), rtol=1e-10, atol=1e-13, err_msg=name)


def own_average(average, new, count):
    return average * 0.25 + new * 0.75 + 0 * count


AVERAGES = {
    "default": lambda utils: {},
    "swa": lambda utils: {"avg_fn": utils.get_swa_avg_fn()},
    "ema": lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.9)},
    "swa of lists": lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    "ema of lists": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.7)},
    "own": lambda utils: {"avg_fn": own_average},
}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("case", AVERAGES)
def test_averaged_model(case, use_buffers):
    if case == "swa of lists" and use_buffers:
        pytest.skip("torch cannot average counts that way")
    results = []
    for framework in (minitorch, torch):
        utils = framework.optim.swa_utils
        model = model_of(framework)
        averaged = utils.AveragedModel(model, use_buffers=use_buffers, **AVERAGES[case](utils))
        train(framework, model, averaged)
        results.append(averaged)
        assert averaged.n_averaged == 6
    assert_same_state(*results)


def test_averaged_model_is_a_copy_and_runs():
    model = model_of(minitorch)
    averaged = minitorch.optim.swa_utils.AveragedModel(model)
    assert all(a is not p for a, p in zip(averaged.parameters(), model.parameters(), strict=True))
    averaged.update_parameters(model)
    model.eval()
    averaged.eval()
    x = batches(minitorch)[0]
    assert np.array_equal(averaged(x).detach().numpy(), model(x).detach().numpy())


def test_averaged_model_state_goes_to_torch_and_back():
    ours = minitorch.optim.swa_utils.AveragedModel(model_of(minitorch))
    theirs = torch.optim.swa_utils.AveragedModel(model_of(torch))
    train(minitorch, model_of(minitorch), ours)
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    assert_same_state(ours, theirs)
    fresh = minitorch.optim.swa_utils.AveragedModel(model_of(minitorch))
    fresh.load_state_dict(copy.deepcopy(ours.state_dict()))
    for framework, average in ((minitorch, fresh), (torch, theirs)):
        train(framework, model_of(framework), average, steps=2)
    assert_same_state(fresh, theirs)


def test_averaging_does_not_touch_the_model_or_record_anything():
    model = model_of(minitorch)
    averaged = minitorch.optim.swa_utils.AveragedModel(model)
    before = [p.detach().numpy().copy() for p in model.parameters()]
    for _ in range(3):
        averaged.update_parameters(model)
    assert all(np.array_equal(p.detach().numpy(), old) for p, old in zip(model.parameters(), before, strict=True))
    assert all(p.grad_fn is None and p.requires_grad for p in averaged.parameters())


@pytest.mark.parametrize("decay", [-0.1, 1.1])
@pytest.mark.parametrize("name", ["get_ema_avg_fn", "get_ema_multi_avg_fn"])
def test_refused_decays(name, decay):
    messages = []
    for framework in (minitorch, torch):
        with pytest.raises(ValueError) as error:
            getattr(framework.optim.swa_utils, name)(decay)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_two_averaging_functions_are_refused():
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        minitorch.optim.swa_utils.AveragedModel(model_of(minitorch), avg_fn=own_average, multi_avg_fn=own_average)


@pytest.mark.parametrize("kind", ["tensors", "tuples"])
def test_update_bn(kind):
    results = []
    for framework in (minitorch, torch):
        model = model_of(framework)
        model.train()
        model(batches(framework)[0])
        model.eval()
        loader = [batch if kind == "tensors" else (batch, 0) for batch in batches(framework)]
        framework.optim.swa_utils.update_bn(loader, model, device="cpu")
        assert not model.training
        assert model[1].momentum == 0.1
        results.append(model)
    assert_same_state(*results)


def test_update_bn_without_batch_norms_reads_nothing():
    minitorch.optim.swa_utils.update_bn(None, minitorch.nn.Linear(2, 2))


def test_whole_recipe():
    """Train, then average at the rate of SWALR, then renew the statistics: as the documentation shows it."""
    results = []
    for framework in (minitorch, torch):
        utils = framework.optim.swa_utils
        model = model_of(framework)
        averaged = utils.AveragedModel(model)
        optimizer = framework.optim.SGD(model.parameters(), lr=0.2)
        schedule = framework.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
        late = utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
        rates = []
        for epoch in range(10):
            for batch in batches(framework):
                optimizer.zero_grad()
                (model(batch) ** 2).mean().backward()
                optimizer.step()
            if epoch > 5:
                averaged.update_parameters(model)
                late.step()
            else:
                schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        utils.update_bn(batches(framework), averaged)
        results.append((averaged, rates))
    assert_same_state(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
