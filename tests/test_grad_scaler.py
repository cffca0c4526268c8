"""GradScaler beside torch's, step by step: the same scale, the same skipped steps, the same parameters."""

import collections
import copy
import pickle
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch

BOTH = (torch, minitorch)
OPTIMIZERS = {
    "SGD": {"lr": 0.05, "momentum": 0.9},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01, "amsgrad": True},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.01},
    "Adamax": {"lr": 0.01},
    "Adagrad": {"lr": 0.05},
    "Adadelta": {},
    "RMSprop": {"lr": 0.01, "momentum": 0.5},
    "ASGD": {"lr": 0.01},
    "Rprop": {"lr": 0.01},
}
START = [np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((5, 3), (7,), ())]


def parameters(framework):
    return [framework.tensor(array).requires_grad_() for array in START]


def scaler_of(framework, **options):
    return framework.amp.GradScaler("cpu", **options)


def loss_of(params, step, poison=None):
    """A quadratic whose goal moves; `poison` in one gradient, where it is given."""
    total = sum(((p - 0.1 * (step % 7)) ** 2).sum() * (i + 1) for i, p in enumerate(params))
    return total if poison is None else total + (params[step % len(params)] * poison).sum()


def values(params):
    return [p.detach().numpy().copy() for p in params]


def same(ours, theirs, rtol=2e-5):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-6)


def script(steps, rate=0.12):
    """What is wrong with each step's gradient: mostly nothing; runs of trouble and long runs of peace occur."""
    random = np.random.default_rng(5)
    drawn = random.choice([None, float("inf"), float("-inf"), float("nan")], steps, p=[1 - rate, *[rate / 3] * 3])
    drawn[40:46] = float("inf")
    drawn[100:150] = None
    return list(drawn)


def drive(framework, name, steps=200):
    params = parameters(framework)
    optimizer = getattr(framework.optim, name)(params, **OPTIMIZERS[name])
    scaler = scaler_of(framework, init_scale=2.0**10, growth_interval=4, growth_factor=2.5, backoff_factor=0.4)
    told = []
    for step, poison in enumerate(script(steps)):
        optimizer.zero_grad()
        before = values(params)
        scaler.scale(loss_of(params, step, poison)).backward()
        scaler.step(optimizer)
        scaler.update()
        skipped = all(np.array_equal(a, b) for a, b in zip(before, values(params), strict=True))
        assert skipped or poison is None
        told.append((scaler.get_scale(), scaler._get_growth_tracker(), skipped))
    return told, values(params)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_follows_torch_for_200_steps(name):
    theirs, their_params = drive(torch, name)
    ours, our_params = drive(minitorch, name)
    assert ours == theirs
    assert any(skipped for *_, skipped in ours)
    same(our_params, their_params, 2e-4)


def test_several_optimizers_are_skipped_one_by_one():
    def run(framework):
        params = parameters(framework)
        optimizers = [framework.optim.SGD([p], lr=0.1) for p in params]
        scaler = scaler_of(framework, init_scale=16.0, growth_interval=3)
        told = []
        for step, poison in enumerate(script(40, 0.3)):
            for optimizer in optimizers:
                optimizer.zero_grad()
            scaler.scale(loss_of(params, step, poison)).backward()
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()
            told.append((scaler.get_scale(), values(params)))
        return told

    for (scale, ours), (expected, theirs) in zip(run(minitorch), run(torch), strict=True):
        assert scale == expected
        same(ours, theirs)


def test_accumulation_and_clipping_after_unscale():
    def run(framework):
        params = parameters(framework)
        optimizer = framework.optim.SGD(params, lr=0.1, momentum=0.9)
        scaler = scaler_of(framework, init_scale=1000.0, growth_interval=2)
        told = []
        for step, poison in enumerate(script(30, 0.2)):
            optimizer.zero_grad()
            for micro in range(3):
                scaler.scale(loss_of(params, step + micro, poison if micro == 1 else None) / 3).backward()
            scaler.unscale_(optimizer)
            norm = framework.nn.utils.clip_grad_norm_(params, 0.5)
            scaler.step(optimizer)
            scaler.update()
            told.append((norm.item(), scaler.get_scale()))
        return told, values(params)

    (ours, our_params), (theirs, their_params) = run(minitorch), run(torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    same(our_params, their_params)


Pair = collections.namedtuple("Pair", "left right")


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_scales_nested_containers(framework):
    scaler = scaler_of(framework, init_scale=4.0)
    one = framework.ones(2)
    nested = scaler.scale([one, (one * 2, [one * 3])])
    assert isinstance(nested, list) and isinstance(nested[1], tuple) and isinstance(nested[1][1], list)
    assert nested[1][1][0].tolist() == [12.0, 12.0]
    lazy = scaler.scale(x for x in (one, one))
    assert isinstance(lazy, map) and [x.tolist() for x in lazy] == [[4.0, 4.0]] * 2
    assert scaler.scale(one.to(framework.bfloat16)).dtype == framework.bfloat16  # the scale is a 0-d tensor
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3.0)


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_growth_stops_at_infinity(framework):
    params = parameters(framework)
    optimizer = framework.optim.SGD(params, lr=0.0)
    scaler = scaler_of(framework, init_scale=2.0**126, growth_interval=1)
    for _ in range(4):
        scaler.scale(framework.zeros(()))
        for p in params:
            p.grad = framework.zeros_like(p)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**127


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_a_new_scale_given(framework):
    params = parameters(framework)
    optimizer = framework.optim.SGD(params, lr=0.1)
    scaler = scaler_of(framework)

    def step(new=None):
        scaler.scale(loss_of(params, 0)).backward()
        scaler.step(optimizer)
        scaler.update(new)
        return scaler.get_scale()

    assert step(8.0) == 8.0
    assert step(framework.tensor(32.0)) == 32.0
    with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
        step(framework.ones(2))
    scaler.update(2.0)
    with pytest.raises(AssertionError, match="requires_grad=False"):
        step(framework.ones(1, requires_grad=True))


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_settings(framework):
    scaler = scaler_of(framework, init_scale=3.0)
    assert (scaler.get_scale(), scaler.get_growth_factor(), scaler.get_backoff_factor()) == (3.0, 2.0, 0.5)
    assert scaler.get_growth_interval() == 2000 and scaler.is_enabled()
    scaler.set_growth_factor(1.5)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    assert scaler.state_dict() == {
        "scale": 3.0, "growth_factor": 1.5, "backoff_factor": 0.25, "growth_interval": 7, "_growth_tracker": 0,
    }
    with pytest.raises(AssertionError, match="growth factor must be > 1.0"):
        scaler_of(framework, growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1.0"):
        scaler_of(framework, backoff_factor=1.0)


@pytest.mark.parametrize("source, target", [(torch, minitorch), (minitorch, torch), (minitorch, minitorch)])
def test_state_dict_goes_from_one_to_the_other(source, target):
    """Seven steps on one, eleven on the other, equal eighteen on either."""

    def steps(framework, scaler, first, last, optimizer, params):
        for step, poison in list(enumerate(script(18, 0.2)))[first:last]:
            optimizer.zero_grad()
            scaler.scale(loss_of(params, step, poison)).backward()
            scaler.step(optimizer)
            scaler.update()

    def start(framework):
        params = parameters(framework)
        return scaler_of(framework, growth_interval=3), framework.optim.SGD(params, lr=0.1), params

    scaler, optimizer, params = start(source)
    steps(source, scaler, 0, 7, optimizer, params)
    state = copy.deepcopy(scaler.state_dict())
    whole = scaler
    steps(source, whole, 7, 18, optimizer, params)
    other, optimizer, params = start(target)
    other.load_state_dict(state)
    steps(target, other, 7, 18, optimizer, params)
    assert other.state_dict() == whole.state_dict()


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_pickled_between_iterations_only(framework):
    params = parameters(framework)
    optimizer = framework.optim.SGD(params, lr=0.1)
    scaler = scaler_of(framework, init_scale=64.0)
    scaler.scale(loss_of(params, 0)).backward()
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)
    scaler.update()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_disabled_does_nothing(framework):
    params = parameters(framework)
    optimizer = framework.optim.SGD(params, lr=0.1)
    scaler = scaler_of(framework, enabled=False)
    loss = loss_of(params, 1)
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)
    before = values(params)
    scaler.step(optimizer)
    scaler.update()
    assert not np.array_equal(before[0], values(params)[0])
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
    scaler.load_state_dict({})
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        scaler_of(framework).load_state_dict({})


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_misuse(framework):
    params = parameters(framework)
    optimizer = framework.optim.SGD(params, lr=0.1)
    scaler = scaler_of(framework)
    for act in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with pytest.raises(AssertionError, match="_scale is None.  This may indicate your script did not use"):
            act()
    scaler.scale(loss_of(params, 0)).backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update."):
        scaler.update()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported if GradScaler is enabled."):
        scaler.step(optimizer, closure=lambda: None)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called on this optimizer since the last"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called since the last update\\(\\)."):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step\\(\\)."):
        scaler.unscale_(optimizer)
    scaler.update()
    for p in params:
        p.grad = None
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer."):
        scaler.step(optimizer)


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_half_precision_gradients(framework):
    weight = framework.ones(3, dtype=framework.float16, requires_grad=True)
    optimizer = framework.optim.SGD([weight], lr=0.1)
    scaler = scaler_of(framework, init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients."):
        scaler.step(optimizer)


def test_unscaled_gradients_are_torchs_bit_for_bit():
    """Also with a scale that is no power of two, of bfloat16, of float64, of strided gradients, and of large ones."""
    random = np.random.default_rng(3)
    arrays = [random.standard_normal(shape).astype("float32") for shape in ((3, 4), (300, 500), ())]

    def grads(framework):
        found = [framework.tensor(a) for a in arrays]
        return [*found, found[0].to(framework.bfloat16), found[0].to(framework.float64), found[0].t()]

    def run(framework):
        params = [framework.zeros_like(g).requires_grad_() for g in grads(framework)]
        for p, g in zip(params, grads(framework), strict=True):
            p.grad = g
        optimizer = framework.optim.SGD(params, lr=0.1)
        scaler = scaler_of(framework, init_scale=3.7)
        scaler.scale(framework.zeros(()))
        scaler.unscale_(optimizer)
        return [p.grad.float().numpy() for p in params]

    for ours, theirs in zip(run(minitorch), run(torch), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_step_passes_arguments_and_returns(framework):
    class Recorder(framework.optim.SGD):
        def step(self, *args, **kwargs):
            return args, kwargs

    params = parameters(framework)
    optimizer = Recorder(params, lr=0.1)
    scaler = scaler_of(framework)
    scaler.scale(loss_of(params, 0)).backward()
    assert scaler.step(optimizer, 1, two=2) == ((1,), {"two": 2})
    scaler.update()
    params[0].grad.fill_(float("inf"))
    assert scaler.step(optimizer) is None


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_a_device_that_is_not_there(framework):
    if framework.cuda.is_available():
        pytest.skip("it is there")
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available.  Disabling."):
        assert not framework.amp.GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not framework.amp.GradScaler("cuda", enabled=False).is_enabled()


@pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)
def test_the_older_spellings(framework):
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.GradScaler\(args...\)` is deprecated. Please use"):
        assert framework.cpu.amp.GradScaler(init_scale=2.0).get_scale() == 2.0
    with pytest.warns(FutureWarning, match="torch.cuda.amp.GradScaler"):
        framework.cuda.amp.GradScaler(enabled=False)
