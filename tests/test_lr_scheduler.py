"""Learning rate schedules beside torch's, bit for bit: every rate and momentum, resumed at every step."""

import copy
import math
import pickle
import warnings

import pytest

import minitorch

torch = pytest.importorskip("torch")

STEPS = 50


class Decay:
    """A callable with attributes, which checkpoints keep."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


def falling(s, *arguments, **keywords):
    """A schedule by name, with the framework and the optimizer to come."""
    return lambda f, o: getattr(f.optim.lr_scheduler, s)(o, *arguments, **keywords)


def sequential(*makers, milestones):
    return lambda f, o: f.optim.lr_scheduler.SequentialLR(o, [make(f, o) for make in makers], milestones)


def chained(*makers):
    return lambda f, o: f.optim.lr_scheduler.ChainedScheduler([make(f, o) for make in makers], o)


SCHEDULES = {
    "LambdaLR": falling("LambdaLR", lambda epoch: 0.95**epoch),
    "LambdaLR per group": falling("LambdaLR", [lambda epoch: epoch // 3, Decay(0.9)]),
    "MultiplicativeLR": falling("MultiplicativeLR", lambda epoch: 0.95 + 0.001 * epoch),
    "MultiplicativeLR per group": falling("MultiplicativeLR", (lambda epoch: 0.9, Decay(0.99))),
    "StepLR": falling("StepLR", 7, gamma=0.3),
    "MultiStepLR": falling("MultiStepLR", [30, 8, 8, 20], gamma=0.3),
    "ConstantLR": falling("ConstantLR", factor=0.3, total_iters=7),
    "LinearLR": falling("LinearLR", start_factor=0.2, end_factor=0.7, total_iters=13),
    "LinearLR default": falling("LinearLR"),
    "ExponentialLR": falling("ExponentialLR", 0.93),
    "PolynomialLR": falling("PolynomialLR", 23, power=1.7),
    "CosineAnnealingLR": falling("CosineAnnealingLR", 7, eta_min=0.001),
    "CosineAnnealingLR long": falling("CosineAnnealingLR", 60),
    "CosineAnnealingLR of one": falling("CosineAnnealingLR", 1),
    "CosineAnnealingWarmRestarts": falling("CosineAnnealingWarmRestarts", 5, eta_min=0.01),
    "CosineAnnealingWarmRestarts growing": falling("CosineAnnealingWarmRestarts", 3, T_mult=2),
    "CyclicLR": falling("CyclicLR", 0.01, 0.1, step_size_up=7),
    "CyclicLR lopsided": falling("CyclicLR", [0.01, 0.02], [0.1, 0.3], step_size_up=3, step_size_down=9),
    "CyclicLR triangular2": falling("CyclicLR", 0.01, 0.1, step_size_up=5, mode="triangular2", base_momentum=0.6),
    "CyclicLR exp_range": falling("CyclicLR", 0.01, 0.1, step_size_up=5, mode="exp_range", gamma=0.97),
    "CyclicLR own": falling("CyclicLR", 0.01, 0.1, step_size_up=5, scale_fn=Decay(0.9), scale_mode="iterations"),
    "CyclicLR own of cycles": falling("CyclicLR", 0.01, 0.1, step_size_up=5, scale_fn=lambda x: 1 / x),
    "CyclicLR without momentum": falling("CyclicLR", 0.01, 0.1, step_size_up=5, cycle_momentum=False),
    "OneCycleLR": falling("OneCycleLR", 0.5, total_steps=STEPS + 1),
    "OneCycleLR linear": falling("OneCycleLR", [0.5, 0.3], epochs=11, steps_per_epoch=5, anneal_strategy="linear"),
    "OneCycleLR three phases": falling(
        "OneCycleLR", 0.5, STEPS + 1, three_phase=True, pct_start=0.2, div_factor=10.0, final_div_factor=30.0
    ),
    "OneCycleLR momentum": falling("OneCycleLR", 0.5, total_steps=60, base_momentum=[0.7, 0.6], max_momentum=0.99),
    "OneCycleLR without momentum": falling("OneCycleLR", 0.5, total_steps=60, cycle_momentum=False),
    "SWALR": lambda f, o: f.optim.swa_utils.SWALR(o, 0.02, anneal_epochs=8),
    "SWALR linear": lambda f, o: f.optim.swa_utils.SWALR(o, [0.02, 0.3], anneal_epochs=8, anneal_strategy="linear"),
    "SWALR at once": lambda f, o: f.optim.swa_utils.SWALR(o, 0.02, anneal_epochs=0),
    "warmup and cosine": sequential(
        falling("LinearLR", 0.1, total_iters=5), falling("CosineAnnealingLR", 20), milestones=[5]
    ),
    "three in a row": sequential(
        falling("ConstantLR", 0.5), falling("ExponentialLR", 0.9), falling("StepLR", 3), milestones=[4, 20]
    ),
    "empty stages": sequential(
        falling("ConstantLR", 0.5), falling("ExponentialLR", 0.9), falling("LambdaLR", Decay(0.8)), milestones=[0, 6]
    ),
    "restarts in a row": sequential(
        falling("LinearLR"), falling("CosineAnnealingWarmRestarts", 4), falling("PolynomialLR", 9), milestones=[6, 25]
    ),
    "at once": chained(falling("ConstantLR", 0.1, total_iters=4), falling("ExponentialLR", 0.9)),
    "rows at once": chained(
        falling("ConstantLR", 0.1, total_iters=4),
        sequential(falling("LinearLR", 0.5), falling("StepLR", 5), milestones=[9]),
    ),
}
CLOSED_FORMS = [
    "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR", "CosineAnnealingLR",
    "LambdaLR", "CyclicLR", "OneCycleLR", "CosineAnnealingWarmRestarts", "CosineAnnealingWarmRestarts growing",
]


def optimizer_of(framework, kind="SGD", lr=(0.05, 0.2)):
    """Two groups of one parameter each, with gradients."""
    parameters = [framework.nn.Parameter(framework.ones(2)) for _ in lr]
    for p in parameters:
        p.grad = framework.ones(2)
    groups = [{"params": [p], "lr": rate} for p, rate in zip(parameters, lr, strict=True)]
    options = {"momentum": 0.9} if kind == "SGD" else {"betas": (0.8, 0.9)}
    return getattr(framework.optim, kind)(groups, **options)


def plain(value):
    """Tensors as numbers, so that the frameworks can be compared."""
    if isinstance(value, torch.Tensor | minitorch.Tensor):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return {key: plain(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def look(optimizer, scheduler):
    """Everything that a schedule may have changed."""
    entries = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    return plain(entries), plain(scheduler.get_last_lr()), getattr(scheduler, "last_epoch", None)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_50_steps(name, kind):
    def run(framework):
        make = copy.deepcopy(SCHEDULES[name]) if name != "LambdaLR per group" else SCHEDULES[name]
        optimizer = optimizer_of(framework, kind)
        scheduler = make(framework, optimizer)
        seen = [look(optimizer, scheduler)]
        for _ in range(STEPS):
            optimizer.step()
            scheduler.step()
            seen.append(look(optimizer, scheduler))
        return seen

    for step, (our, their) in enumerate(zip(run(minitorch), run(torch), strict=True)):
        assert our == their, f"{name} after {step} steps"


@pytest.mark.parametrize("name", SCHEDULES)
def test_resumed_at_every_step(name):
    """A new optimizer and schedule, loaded from the other framework's state_dict after each step, go on the same."""
    ours, theirs = optimizer_of(minitorch), optimizer_of(torch)
    our, their = SCHEDULES[name](minitorch, ours), SCHEDULES[name](torch, theirs)
    for step in range(STEPS):
        ours.step()
        theirs.step()
        our.step()
        their.step()
        assert look(ours, our) == look(theirs, their), f"{name} after {step} steps"
        checkpoint = copy.deepcopy(their.state_dict())
        assert plain(our.state_dict()) == plain(checkpoint)
        if step % 3 == 0:
            groups = [{k: v for k, v in group.items() if k != "params"} for group in theirs.param_groups]
            ours = optimizer_of(minitorch)
            our = SCHEDULES[name](minitorch, ours)
            ours.step()
            for group, entries in zip(ours.param_groups, groups, strict=True):
                group.update(copy.deepcopy(entries))
            our.load_state_dict(checkpoint)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_jumps(name):
    """step(epoch), which torch deprecates: the closed form where there is one."""

    def run(framework):
        optimizer = optimizer_of(framework)
        scheduler = SCHEDULES[name](framework, optimizer)
        optimizer.step()
        seen = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for epoch in (3, 7, 21, 8, 0, 41, *((2.5, 9.25) if "Restarts" in name else ())):
                scheduler.step(epoch)
                seen.append(look(optimizer, scheduler))
                scheduler.step()
                seen.append(look(optimizer, scheduler))
        return seen, [(w.category, str(w.message)) for w in caught]

    assert run(minitorch) == run(torch)


@pytest.mark.parametrize("name", SCHEDULES)
def test_tensor_rates(name):
    """A rate that is a tensor stays the same tensor, written in place."""

    def run(framework):
        rates = tuple(framework.tensor(rate, dtype=framework.float64) for rate in (0.05, 0.2))
        optimizer = optimizer_of(framework, lr=rates)
        scheduler = SCHEDULES[name](framework, optimizer)
        seen = [look(optimizer, scheduler)]
        for _ in range(30):
            optimizer.step()
            scheduler.step()
            seen.append(look(optimizer, scheduler))
        assert all(group["lr"] is rate for group, rate in zip(optimizer.param_groups, rates, strict=True))
        return seen

    def close(our, their):
        if isinstance(their, dict):
            assert list(our) == list(their)
            our, their = list(our.values()), list(their.values())
        if isinstance(their, list | tuple):
            assert len(our) == len(their)
            for one, other in zip(our, their, strict=True):
                close(one, other)
        elif isinstance(their, float):
            assert math.isclose(our, their, rel_tol=1e-13, abs_tol=1e-16)
        else:
            assert our == their

    close(run(minitorch), run(torch))


@pytest.mark.parametrize("last_epoch", [0, 4, 30])
@pytest.mark.parametrize("name", [
    "LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR",
    "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR",
])
def test_begun_late(name, last_epoch):
    """`last_epoch` resumes without a checkpoint of the schedule, from the initial rates in the groups."""
    arguments = {
        "LambdaLR": [lambda epoch: 0.9**epoch], "MultiplicativeLR": [lambda epoch: 0.9], "StepLR": [7],
        "MultiStepLR": [[8, 20]], "ExponentialLR": [0.9], "CosineAnnealingLR": [7], "CosineAnnealingWarmRestarts": [5],
        "CyclicLR": [0.01, 0.1, 4], "OneCycleLR": [0.5, 60],
    }.get(name, [])

    def run(framework):
        optimizer = optimizer_of(framework)
        for group in optimizer.param_groups:
            group["initial_lr"] = 2 * group["lr"]
            if name == "OneCycleLR":
                group.update(max_lr=1.0, min_lr=0.01, max_momentum=0.9, base_momentum=0.8)
        scheduler = getattr(framework.optim.lr_scheduler, name)(optimizer, *arguments, last_epoch=last_epoch)
        seen = [look(optimizer, scheduler)]
        for _ in range(10):
            optimizer.step()
            scheduler.step()
            seen.append(look(optimizer, scheduler))
        return seen

    assert run(minitorch) == run(torch)


# ---- plateaus ---------------------------------------------------------------------------------------------------

METRICS = [10.0, 9.0, 9.0, 8.9995, 9.1, 9.2, 8.0, 8.0, 8.0, 8.0, 7.9, 8.5, 8.5, 8.5, 8.5, 8.5, 8.5, math.nan, 3.0, 3.0]


@pytest.mark.parametrize("keywords", [
    {}, {"patience": 1}, {"patience": 0, "cooldown": 2}, {"mode": "max", "patience": 2},
    {"threshold": 0.05, "patience": 1},
    {"threshold": 0.5, "threshold_mode": "abs", "patience": 1, "factor": 0.5},
    {"mode": "max", "threshold_mode": "abs", "threshold": 0.1, "patience": 1}, {"patience": 0, "min_lr": [0.01, 0.02]},
    {"patience": 0, "min_lr": 0.02, "eps": 0.01},
])
def test_reduce_on_plateau(keywords):
    def run(framework):
        optimizer = optimizer_of(framework)
        scheduler = framework.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **keywords)
        seen = []
        for i, metric in enumerate(METRICS * 2):
            scheduler.step(framework.tensor(metric) if i % 2 else metric)
            seen.append((*look(optimizer, scheduler), scheduler.num_bad_epochs, scheduler.in_cooldown))
            state = copy.deepcopy(scheduler.state_dict())
            seen.append({key: None if value != value else value for key, value in state.items()})
            scheduler = framework.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **keywords)
            scheduler.load_state_dict(state)
        return seen

    ours, theirs = run(minitorch), run(torch)
    for i, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(their, dict):  # torch's holds a bound helper's name in older versions: compare what both keep
            assert our == {key: their[key] for key in our}, i
            assert set(their) - set(our) <= {"optimizer"}
        else:
            assert our == their, i


def test_plateau_after_a_group_was_added():
    def run(framework, **keywords):
        optimizer = optimizer_of(framework)
        scheduler = framework.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, **keywords)
        optimizer.add_param_group({"params": [framework.nn.Parameter(framework.ones(2))], "lr": 1.0})
        scheduler.step(1.0)
        scheduler.step(1.0)
        return look(optimizer, scheduler)

    assert run(minitorch) == run(torch)
    for framework in (minitorch, torch):
        with pytest.raises(RuntimeError, match="The number of param groups in the `optimizer` .3. differs"):
            run(framework, min_lr=[0.1, 0.1])


# ---- warnings and refusals --------------------------------------------------------------------------------------


def outcome(framework, program):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = program(framework)
        except Exception as error:
            result = (type(error).__name__, str(error))
    return result, [(w.category.__name__, str(w.message)) for w in seen]


def stepped(framework, prepare=None, between=None):
    optimizer = optimizer_of(framework)
    if prepare:
        prepare(optimizer)
    scheduler = framework.optim.lr_scheduler.StepLR(optimizer, 1)
    if between:
        between(optimizer)
    scheduler.step()
    scheduler.step()
    return scheduler.get_last_lr()


def overridden(framework):
    optimizer = optimizer_of(framework)
    scheduler = framework.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    optimizer.step()
    scheduler.step()


def asked(name):
    def program(framework):
        optimizer = optimizer_of(framework)
        scheduler = SCHEDULES[name](framework, optimizer)
        return scheduler.get_lr()

    return program


def late(framework):
    return framework.optim.lr_scheduler.StepLR(optimizer_of(framework), 1, last_epoch=3)


def too_far(framework):
    optimizer = optimizer_of(framework)
    scheduler = framework.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    optimizer.step()
    for _ in range(4):
        scheduler.step()


def mixed(framework, compound):
    first, second = optimizer_of(framework), optimizer_of(framework)
    schedules = [framework.optim.lr_scheduler.StepLR(o, 1) for o in (first, second)]
    return getattr(framework.optim.lr_scheduler, compound)(*(
        [first, schedules, [3]] if compound == "SequentialLR" else [schedules, first]
    ))


PROGRAMS = {
    "before the optimizer": stepped,
    "after the optimizer": lambda f: stepped(f, between=lambda o: o.step()),
    "optimizer stepped before": lambda f: stepped(f, prepare=lambda o: o.step()),
    "overridden": overridden,
    "late": late,
    "negative restart": lambda f: SCHEDULES["CosineAnnealingWarmRestarts"](f, optimizer_of(f)).step(-1),
    "too far": too_far,
    "not an optimizer": lambda f: f.optim.lr_scheduler.StepLR([1], 1),
    "plateau of no optimizer": lambda f: f.optim.lr_scheduler.ReduceLROnPlateau(3),
    "cycles of no optimizer": lambda f: f.optim.lr_scheduler.CyclicLR(3, 1, 2),
    "one cycle of no optimizer": lambda f: f.optim.lr_scheduler.OneCycleLR(3, 1, 2),
    "swa of other groups": lambda f: f.optim.swa_utils.SWALR(optimizer_of(f), [1, 2, 3]),
    "mixed in a row": lambda f: mixed(f, "SequentialLR")[0],
    "no momentum": lambda f: f.optim.lr_scheduler.CyclicLR(f.optim.Rprop([f.nn.Parameter(f.ones(2))]), 1, 2),
    "no momentum in one cycle": lambda f: f.optim.lr_scheduler.OneCycleLR(
        f.optim.Adagrad([f.nn.Parameter(f.ones(2))]), 1, 2
    ),
    **{f"asking {name}": asked(name) for name in ("StepLR", "LambdaLR", "CosineAnnealingLR", "CyclicLR", "SWALR")},
    **{
        f"{name} {arguments} {keywords}": lambda f, n=name, a=arguments, k=keywords: getattr(
            f.optim.swa_utils if n == "SWALR" else f.optim.lr_scheduler, n
        )(optimizer_of(f), *a, **k)
        for name, arguments, keywords in [
            ("LambdaLR", [[len]], {}), ("MultiplicativeLR", [[len] * 3], {}), ("MultiplicativeLR", [5], {}),
            ("ConstantLR", [1.5], {}), ("ConstantLR", [-0.1], {}), ("LinearLR", [0], {}), ("LinearLR", [1.5], {}),
            ("LinearLR", [0.5, 1.5], {}), ("CosineAnnealingWarmRestarts", [0], {}),
            ("CosineAnnealingWarmRestarts", [1.5], {}), ("CosineAnnealingWarmRestarts", [2, 0], {}),
            ("CosineAnnealingWarmRestarts", [2, 1, "0"], {}), ("CyclicLR", [[1.0], 2.0], {}),
            ("CyclicLR", [1.0, [2.0]], {}), ("CyclicLR", [1.0, 2.0], {"mode": "other"}), ("OneCycleLR", [1.0], {}),
            ("OneCycleLR", [1.0], {"epochs": 3}), ("OneCycleLR", [1.0, -3], {}), ("OneCycleLR", [1.0, 2.5], {}),
            ("OneCycleLR", [1.0], {"epochs": 1.5, "steps_per_epoch": 2}),
            ("OneCycleLR", [1.0], {"epochs": 1, "steps_per_epoch": 0}), ("OneCycleLR", [1.0, 9], {"pct_start": 2.0}),
            ("OneCycleLR", [1.0, 9], {"pct_start": 1}), ("OneCycleLR", [1.0, 9], {"anneal_strategy": "other"}),
            ("OneCycleLR", [[1.0], 9], {}), ("ReduceLROnPlateau", ["up"], {}),
            ("ReduceLROnPlateau", [], {"factor": 1.0}), ("ReduceLROnPlateau", [], {"threshold_mode": "other"}),
            ("ReduceLROnPlateau", [], {"min_lr": [0.1]}),
            ("SequentialLR", [[], []], {}), ("SequentialLR", [[3], []], {}), ("SWALR", [0.1, -1], {}),
            ("SWALR", [0.1, 1.5], {}), ("SWALR", [0.1, 1, "other"], {}),
        ]
    },
    "no schedules at once": lambda f: f.optim.lr_scheduler.ChainedScheduler([]),
    "numbers at once": lambda f: f.optim.lr_scheduler.ChainedScheduler([3], optimizer_of(f)),
    "milestones": lambda f: sequential(SCHEDULES["StepLR"], milestones=[3])(f, optimizer_of(f)),
    "a plateau in a row": lambda f: sequential(falling("ReduceLROnPlateau"), milestones=[])(f, optimizer_of(f)),
    "a plateau at once": lambda f: chained(falling("ReduceLROnPlateau"))(f, optimizer_of(f)),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_warned_and_refused_as_by_torch(case):
    ours, theirs = outcome(minitorch, PROGRAMS[case]), outcome(torch, PROGRAMS[case])
    if not isinstance(theirs[0], tuple | list | type(None)):
        theirs, ours = theirs[1:], ours[1:]
    assert plain(ours) == plain(theirs)


@pytest.mark.parametrize("compound", ["SequentialLR", "ChainedScheduler"])
def test_schedules_of_several_optimizers(compound):
    for framework in (minitorch, torch):
        with pytest.raises(ValueError, match="expects all schedulers to belong to the same optimizer, but got"):
            mixed(framework, compound)


def test_own_schedule():
    class Halving(minitorch.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = optimizer_of(minitorch)
    scheduler = Halving(optimizer)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.025, 0.1]
    assert isinstance(scheduler, minitorch.optim.lr_scheduler.LRScheduler)
    with pytest.raises(NotImplementedError):
        minitorch.optim.lr_scheduler.LRScheduler(optimizer)


def test_state_does_not_hold_the_optimizer():
    optimizer = optimizer_of(minitorch)
    for name, make in SCHEDULES.items():
        state = make(minitorch, optimizer).state_dict()
        assert "optimizer" not in state
        if "own" not in name:
            assert pickle.loads(pickle.dumps(state)) == state
