"""Optimizers beside torch's: trajectories, state, groups, refusals, hooks; and the three ways a formula is run."""

import copy
import gc
import importlib
import math
import pickle
import warnings

import numpy as np
import pytest
from minitorch.kernels import parallel

import minitorch
from minitorch import optim
from minitorch.optim import lbfgs, per_parameter

torch = pytest.importorskip("torch")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_optimizers import optim_db

TABLE = {info.name: info for info in optim_db if info.name != "SparseAdam"}
FORMULAS = [name for name in TABLE if name != "LBFGS"]
DIFFERENTIABLE = [name for name in FORMULAS if name not in ("Adafactor", "Muon")]
# Beyond the table's rows: options that it leaves out, and what a formula does only late or only at some sizes.
MORE = {
    "SGD": [{"momentum": 0.9, "nesterov": True, "maximize": True}, {"lr": 0.1, "momentum": 0.5, "dampening": -0.5}],
    "Adam": [
        {"betas": (0.3, 0.6), "eps": 1e-3, "amsgrad": True, "maximize": True},
        {"weight_decay": 0.2, "decoupled_weight_decay": True},
    ],
    "AdamW": [{"betas": (0.0, 0.0), "amsgrad": True}],
    "Adamax": [{"betas": (0.5, 0.7), "eps": 1e-2}],
    "NAdam": [{"betas": (0.5, 0.7), "eps": 1e-2, "momentum_decay": 0.5}],
    "RAdam": [{"betas": (0.5, 0.9), "lr": 0.1}, {"betas": (0.5, 0.5)}],
    "ASGD": [{"t0": 3, "lambd": 0.3, "alpha": 0.5, "lr": 0.1}],
    "Adagrad": [{"eps": 0.1, "lr_decay": 2.0}],
    "Adadelta": [{"eps": 0.1, "rho": 0.5}],
    "RMSprop": [{"alpha": 0.5, "eps": 0.1, "momentum": 0.9}],
    "Rprop": [{"lr": 0.1, "step_sizes": (0.05, 0.2)}],
    "Adafactor": [{"eps": (0.5, 0.1), "beta2_decay": -0.3, "d": 1.2}, {"lr": 2.0}],
    "Muon": [
        {"adjust_lr_fn": "match_rms_adamw"}, {"adjust_lr_fn": "original", "nesterov": False}, {"eps": 30.0},
    ],
    "LBFGS": [
        {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5}, {"max_iter": 1}, {"max_eval": 3},
        {"history_size": 2, "max_iter": 3, "lr": 0.2}, {"tolerance_change": 0.1}, {"tolerance_grad": 10.0},
    ],
}


def rows(name, dtype=torch.float64):
    return [row.kwargs for row in TABLE[name].optim_inputs_func("cpu", dtype)] + MORE.get(name, [])


def to_mini(value):
    """A torch object as minitorch's: tensors copied."""
    if isinstance(value, torch.Tensor):
        return minitorch.tensor(value.detach().numpy()).requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(map(to_mini, value))
    return {key: to_mini(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def to_torch(value):
    if isinstance(value, minitorch.Tensor):
        return torch.from_numpy(value.detach().numpy().copy())
    if isinstance(value, list | tuple):
        return type(value)(map(to_torch, value))
    return {key: to_torch(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def arrays(value):
    """A torch object with arrays for tensors, as a checkpoint might be handed over."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, list | tuple):
        return type(value)(map(arrays, value))
    return {key: arrays(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def assert_same(ours, theirs, rtol=1e-10, atol=1e-13, where="", exempt=()):
    """The same structure, the same values to within rounding."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, minitorch.Tensor), where
        assert str(ours.dtype) == str(theirs.dtype), where
        assert tuple(ours.shape) == tuple(theirs.shape), where
        ours, theirs = ours.detach().float().numpy() if ours.dtype is minitorch.bfloat16 else ours.detach().numpy(), (
            theirs.detach().float() if theirs.dtype is torch.bfloat16 else theirs.detach()
        ).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=where)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            if key not in exempt:
                assert_same(ours[key], theirs[key], rtol, atol, f"{where}.{key}", exempt)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), where
        for i, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(our, their, rtol, atol, f"{where}[{i}]", exempt)
    elif isinstance(theirs, float):
        assert isinstance(ours, float) and math.isclose(ours, theirs, rel_tol=rtol, abs_tol=atol), (where, ours, theirs)
    else:
        assert ours == theirs, where


def shapes_for(name):
    if name == "Muon":
        return [(3, 4), (5, 2), (1, 6)]
    if name == "LBFGS":
        return [(3, 4), (5,), ()]
    return [(3, 4), (5,), (), (2, 3, 4), (70, 90)] + [(0,)] * (name != "Adafactor")  # torch divides by the size there


class Pair:
    """The same parameters, and optimizers over them, in torch and in minitorch; the same gradients for both."""

    def __init__(self, name, kwargs, shapes=None, dtype="float64", seed=0):
        self.name, self.kwargs = name, kwargs
        self.random = np.random.default_rng(seed)
        self.dtype = getattr(torch, dtype)
        shapes = shapes_for(name) if shapes is None else shapes
        start = [torch.from_numpy(self.random.standard_normal(shape)).to(self.dtype) for shape in shapes]
        self.theirs = [torch.nn.Parameter(value) for value in start]
        self.ours = [
            minitorch.tensor(value.double().numpy(), dtype=getattr(minitorch, dtype), requires_grad=True)
            for value in start
        ]
        self.their_optimizer, self.our_optimizer = self.new_torch(), self.new_mini()

    def new_torch(self):
        return getattr(torch.optim, self.name)(self.theirs, **copy.deepcopy(self.kwargs))

    def new_mini(self):
        return getattr(optim, self.name)(self.ours, **to_mini(self.kwargs))

    def gradients(self, leave_out=()):
        for i, (our, their) in enumerate(zip(self.ours, self.theirs, strict=True)):
            if i in leave_out:
                our.grad = their.grad = None
                continue
            their.grad = torch.from_numpy(self.random.standard_normal(tuple(their.shape))).to(self.dtype)
            our.grad = minitorch.tensor(their.grad.double().numpy(), dtype=our.dtype)

    def step(self, leave_out=()):
        if self.name == "LBFGS":
            return self.step_lbfgs()
        self.gradients(leave_out)
        self.their_optimizer.step()
        self.our_optimizer.step()

    def step_lbfgs(self):
        def closure(parameters, optimizer):
            def run():
                optimizer.zero_grad()
                loss = sum(((p - i) ** 2 * (1 + i)).sum() + (p**4).sum() / 8 for i, p in enumerate(parameters))
                loss.backward()
                return loss

            return run

        our = self.our_optimizer.step(closure(self.ours, self.our_optimizer))
        their = self.their_optimizer.step(closure(self.theirs, self.their_optimizer))
        assert our.item() == pytest.approx(their.item(), rel=1e-10, abs=1e-13)

    def compare(self, where="", **tolerances):
        assert_same(self.ours, self.theirs, where=f"{where} parameters", **tolerances)
        ours, theirs = self.our_optimizer.state_dict(), self.their_optimizer.state_dict()
        assert_same(ours, theirs, where=f"{where} state_dict", **tolerances)


# ---- trajectories -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_trajectory(name):
    """12 steps of every row of the table, and of more; half way each side goes on from the other's state_dict."""
    for kwargs in rows(name):
        pair = Pair(name, kwargs)
        # The gradients and the history of a method that has converged are rounding noise.
        noise = {"exempt": ("al", "ro", "old_dirs", "old_stps", "H_diag", "d"), "atol": 1e-10}
        tolerances = noise if name == "LBFGS" else {}
        for step in range(12):
            pair.step(leave_out=() if name == "LBFGS" else {step % 4})
            pair.compare(f"{name} {kwargs} step {step}", **tolerances)
            if step == 5:
                theirs, ours = copy.deepcopy(pair.their_optimizer.state_dict()), pair.our_optimizer.state_dict()
                pair.their_optimizer, pair.our_optimizer = pair.new_torch(), pair.new_mini()
                pair.their_optimizer.load_state_dict(to_torch(ours))
                pair.our_optimizer.load_state_dict(arrays(theirs))
                pair.compare(f"{name} {kwargs} loaded", **tolerances)


# Curves phi(t) for the line search, each a (value, slope): what makes it end, turn, or give up in its several ways.
CURVES = {
    "quadratic": lambda t: ((t - 1.3) ** 2, 2 * (t - 1.3)),
    "far quadratic": lambda t: ((t / 50 - 1) ** 2, (t / 50 - 1) / 25),
    "narrow quadratic": lambda t: (1e4 * (t - 0.011) ** 2, 2e4 * (t - 0.011)),
    "cubic": lambda t: (t**3 - 3 * t, 3 * t**2 - 3),
    "quartic": lambda t: ((t - 2) ** 4 - t, 4 * (t - 2) ** 3 - 1),
    "line": lambda t: (-t, -1.0),
    "root": lambda t: (-math.sqrt(1 + t), -0.5 / math.sqrt(1 + t)),
    "kink": lambda t: (abs(t - 0.7) - 0.1 * t, (1.0 if t > 0.7 else -1.0) - 0.1),
    "steps": lambda t: (-math.floor(t / 0.3) * 0.3 + 2 * max(t - 1.7, 0) ** 2, -0.2 + 4 * max(t - 1.7, 0)),
    "liar": lambda t: (t**2, -1.0 - t),  # rises though its slope says otherwise
    "hardly lower": lambda t: (-1.5e-4 * t, 0.5 if t else -1.0),
    "flat liar": lambda t: (1.0, -0.5),
    "other liar": lambda t: (-t if t < 5 else t, 3.0 if 0.5 < t < 5 else -1.0),
    "waves": lambda t: (math.sin(5 * t) - 4 * t + t**2 / 2, 5 * math.cos(5 * t) - 9 - 4 + t),
    "well": lambda t: (-1 / (1 + 50 * (t - 3) ** 2), 100 * (t - 3) / (1 + 50 * (t - 3) ** 2) ** 2),
    "wall": lambda t: (-t if t < 2 else 1e8 * (t - 2) - 2, -1.0 if t < 2 else 1e8),
    "exponential": lambda t: (math.exp(min(3 * t, 300)) - 9 * t, 3 * math.exp(min(3 * t, 300)) - 9),
    "nan": lambda t: (-t if t < 0.8 else math.nan, -1.0 if t < 0.8 else math.nan),
    "infinite": lambda t: (-t if t < 0.8 else math.inf, -1.0 if t < 0.8 else math.inf),
    "nan slope": lambda t: ((t - 1) ** 2, 2 * (t - 1) if t < 0.5 else math.nan),
}
SEARCHES = [{}, {"max_ls": 1}, {"max_ls": 2}, {"max_ls": 4}, {"c1": 0.3, "c2": 0.4}, {"c2": 1e-3}, {"c1": 0.45, "c2": 0.5},
            {"c2": 1e-3, "tolerance_change": 0.3}, {"c2": 1e-4, "max_ls": 0}]


def waves(random):
    """A random curve with many minima."""
    heights, widths, shifts = random.standard_normal((3, 4))
    stretch = 10.0 ** random.uniform(-2, 2)

    def curve(t):
        phases = widths * t / stretch + shifts
        value = (heights * np.sin(phases)).sum() + 0.05 * (t / stretch) ** 2
        return float(value), float((heights * widths * np.cos(phases)).sum() / stretch + 0.1 * t / stretch**2)

    return curve


def test_line_search():
    """L-BFGS's search beside torch's, along curves of one variable: where it looks, what it settles for."""
    begins = (0.1, 1.0, 10.0)
    for name, curve in CURVES.items():
        for options in SEARCHES:
            for begin in begins:
                line_search(f"{name} from {begin}, {options}", curve, begin, options)
    for begin in np.geomspace(0.1, 1, 20):  # until the bracket is as small as may be
        line_search(f"liar from {begin}", CURVES["liar"], float(begin), {})
    random = np.random.default_rng(0)
    for number in range(150):
        curve = waves(random)
        if curve(0.0)[1] < 0:
            line_search(f"waves {number}", curve, begins[number % 3], SEARCHES[number // 3 % len(SEARCHES)])


def line_search(words, curve, begin, options):
    from torch.optim.lbfgs import _strong_wolfe

    along = np.asarray([0.0, -2.0])  # a gradient's product with it is the slope, exactly: rounding is magnified
    looked_at = {"ours": [], "theirs": []}

    def look(whose, t):
        looked_at[whose].append(float(t))
        assert len(looked_at[whose]) < 50, words  # a wrong search might never end
        value, slope = curve(float(t))
        return value, along * slope / 4

    def theirs(x, t, d):
        value, gradient = look("theirs", t)
        return value, torch.from_numpy(gradient)

    f, g = curve(0.0)[0], along * curve(0.0)[1] / 4
    d, start = torch.from_numpy(along), torch.from_numpy(g)
    their = _strong_wolfe(theirs, None, begin, d, f, start, start.dot(d), **options)
    our = lbfgs.strong_wolfe(lambda t: look("ours", t), begin, along, f, g, g.dot(along), **options)
    assert len(looked_at["ours"]) == len(looked_at["theirs"]) == our[3] == their[3], words
    close = {"rtol": 1e-9, "atol": 1e-12, "err_msg": words}
    np.testing.assert_allclose(looked_at["ours"], looked_at["theirs"], **close)
    np.testing.assert_allclose([our[0], float(our[2]), *our[1]], [their[0], float(their[2]), *their[1].tolist()], **close)


def test_cubic_interpolation():
    from torch.optim.lbfgs import _cubic_interpolate

    random = np.random.default_rng(0)
    for _ in range(300):
        x1, f1, x2, f2, g1, g2 = random.standard_normal(6)
        for bounds in (None, (min(x1, x2) - 0.1, max(x1, x2) + 10)):
            ours = lbfgs.cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds)
            theirs = _cubic_interpolate(x1, f1, torch.tensor(g1), x2, f2, torch.tensor(g2), bounds)
            assert float(ours) == pytest.approx(float(theirs), rel=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_trajectory_float32(name):
    for kwargs in rows(name, torch.float32):
        if name == "Muon":
            continue  # what it rounds to bfloat16 may fall on either side
        pair = Pair(name, kwargs, dtype="float32")
        for step in range(12):
            pair.step(leave_out={step % 4})
        pair.compare(f"{name} {kwargs}", rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_half_precision(name, dtype):
    """Computed in float32 and rounded once, where torch rounds after each operation: a few roundings apart."""
    pair = Pair(name, {"lr": 0.05} if name == "SGD" else {"lr": 0.05, "eps": 0.1}, [(3, 4), (5,)], dtype)
    for _ in range(5):
        pair.step()
    eps = torch.finfo(pair.dtype).eps
    assert_same(pair.ours, pair.theirs, rtol=4 * eps, atol=4 * eps)
    assert all(p.dtype is getattr(minitorch, dtype) for p in pair.ours)


def test_muon_on_large_matrices():
    """bfloat16 products are rounded after sums of hundreds of terms, whose order is not torch's: one rounding apart."""
    for shape in ((70, 80), (200, 30)):
        pair = Pair("Muon", {"lr": 0.01}, [shape])
        before = pair.ours[0].detach().numpy().copy()
        pair.step()
        update = np.abs(pair.ours[0].detach().numpy() - before).max()
        difference = np.abs(pair.ours[0].detach().numpy() - pair.theirs[0].detach().numpy())
        assert difference.max() < 0.02 * update
        assert difference.mean() < 0.001 * update


def test_muon_refuses_what_torch_refuses():
    for kwargs in ({"ns_steps": 100}, {"ns_coefficients": (1.0, 2.0)}):
        pair = Pair("Muon", kwargs)
        pair.gradients()
        with pytest.raises(ValueError) as theirs:
            pair.their_optimizer.step()
        with pytest.raises(ValueError) as ours:
            pair.our_optimizer.step()
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("flag", ["foreach", "fused", "capturable"])
def test_flags_do_not_change_the_numbers(flag):
    for name in FORMULAS:
        if flag not in optim.Optimizer.__dict__ and flag not in Pair(name, {}, [(2, 2)]).our_optimizer.defaults:
            continue
        plain, flagged = Pair(name, {}), Pair(name, {})
        flagged.our_optimizer = getattr(optim, name)(flagged.ours, **{flag: True})
        for pair in (plain, flagged):
            for _ in range(3):
                pair.gradients()
                pair.our_optimizer.step()
        for one, other in zip(plain.ours, flagged.ours, strict=True):
            assert np.array_equal(one.detach().numpy(), other.detach().numpy()), (name, flag)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_tensor_learning_rate(name, dtype):
    """A 0-d or 1-element tensor: scalar arithmetic in its own precision, as torch's."""
    for lr in (torch.tensor(0.0123, dtype=dtype), torch.tensor([0.0123], dtype=dtype)):
        if name == "Adafactor" and lr.dim():
            continue  # torch compares the unsqueezed tensor with a number and fails later
        pair = Pair(name, {"lr": lr}, [(3, 4), (5, 2)])
        for _ in range(5):
            pair.step()
        pair.compare(f"{name} {lr}", rtol=1e-6 if dtype == torch.float32 else 1e-10)


def test_tensor_betas():
    betas = (torch.tensor([[0.8]]), torch.tensor(0.9))
    pair = Pair("Adam", {"lr": torch.tensor(0.01), "betas": betas, "weight_decay": 0.1})
    for _ in range(5):
        pair.step()
    # powers of single-precision betas differ in the last bit (6e-8) from one processor's torch to another's
    assert_same(pair.ours, pair.theirs, rtol=1e-6, atol=1e-8)
    assert pair.our_optimizer.param_groups[0]["betas"][0].shape == ()


def test_learning_rate_may_be_a_numpy_number():
    p = minitorch.tensor([1.0, 2.0], requires_grad=True)
    p.grad = minitorch.tensor([1.0, 1.0])
    optim.SGD([p], lr=np.float64(0.5)).step()
    assert p.dtype is minitorch.float32
    assert p.tolist() == [0.5, 1.5]


def test_float64_as_default_dtype_counts_in_float64(double):
    for name in ("NAdam", "ASGD", "Adam"):
        pair = Pair(name, {})
        pair.step()
        pair.step()
        pair.compare(name)


def test_nan_and_inf_spread_as_in_torch():
    for name in DIFFERENTIABLE:
        pair = Pair(name, {"amsgrad": True} if name == "Adam" else {}, [(4,)])
        for values in ([1.0, math.nan, math.inf, -math.inf], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]):
            pair.theirs[0].grad = torch.tensor(values, dtype=torch.float64)
            pair.ours[0].grad = minitorch.tensor(values, dtype=minitorch.float64)
            pair.their_optimizer.step()
            pair.our_optimizer.step()
        pair.compare(name)


# ---- the three ways ---------------------------------------------------------------------------------------------

KERNELS = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"weight_decay": 0.1, "maximize": True}),
    ("Adam", {"amsgrad": True, "betas": (0.5, 0.6)}),
    ("AdamW", {"amsgrad": True}),
    ("AdamW", {"maximize": True}),
]


@pytest.mark.skipif(not parallel.available(), reason="needs numba")
@pytest.mark.parametrize("name, kwargs", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_kernel_is_the_formula_bit_for_bit(name, kwargs, dtype, monkeypatch):
    results = []
    for compiled in (True, False):
        pair = Pair(name, kwargs, [(300, 400), (5,), (50000,), (7, 3), ()], dtype)
        if not compiled:
            monkeypatch.setattr(type(pair.our_optimizer), "kernel", None)
        used = []
        if compiled:
            kernel = type(pair.our_optimizer).kernel


            def noting(rows, kernel=kernel, used=used, **options):
                used.append(kernel(rows, **options))
                return used[-1]

            monkeypatch.setattr(type(pair.our_optimizer), "kernel", staticmethod(noting))
        for _ in range(4):
            pair.gradients()
            pair.our_optimizer.step()
        assert used[-1] if compiled else not used
        state = pair.our_optimizer.state_dict()["state"]
        results.append([p.detach().numpy() for p in pair.ours]
                       + [t.numpy() for entry in state.values() for t in entry.values()])
        monkeypatch.undo()
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.skipif(not parallel.available(), reason="needs numba")
def test_compiled_kernel_does_not_depend_on_the_threads():
    results = []
    before = parallel.get_num_threads()
    try:
        for threads in (1, 3):
            parallel.set_num_threads(threads)
            pair = Pair("Adam", {}, [(300, 1000), (70001,), (3,)], "float32")
            for _ in range(2):
                pair.gradients()
                pair.our_optimizer.step()
            results.append([p.detach().numpy() for p in pair.ours])
    finally:
        parallel.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.skipif(not parallel.available(), reason="needs numba")
def test_compiled_amsgrad_keeps_nan():
    p = minitorch.zeros(100_000, requires_grad=True)
    p.grad = minitorch.full((100_000,), math.nan)
    optimizer = optim.Adam([p], amsgrad=True)
    optimizer.step()
    p.grad = minitorch.ones(100_000)
    optimizer.step()
    assert minitorch.isnan(optimizer.state[p]["max_exp_avg_sq"]).all()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_laid_end_to_end_or_one_by_one(name, monkeypatch):
    results = []
    for small in (per_parameter.SMALL, -1):
        monkeypatch.setattr(per_parameter, "SMALL", small)
        pair = Pair(name, MORE.get(name, [{}])[0], [(3, 4), (5,), (), (0,), (2, 3, 4), (5000,)])
        for step in range(6):
            pair.gradients(leave_out={step % 5})
            pair.our_optimizer.step()
        results.append([p.detach().numpy() for p in pair.ours])
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Rprop"])
@pytest.mark.parametrize("size", [4, 300])
def test_parameters_that_are_not_contiguous(name, size):
    """A transposed view, a column and every other row: written in place, the rest of the memory untouched."""
    kwargs = {"momentum": 0.9} if name == "SGD" else {}
    base = np.random.default_rng(0).standard_normal((3, size, size))
    gradients = np.random.default_rng(1).standard_normal((4, 3, size, size))
    views = [lambda a: a[0].T, lambda a: a[1][:, 1], lambda a: a[2][::2]]
    memory = base.copy()
    ours = [minitorch.from_numpy(view(memory)).requires_grad_() for view in views]
    theirs = [torch.from_numpy(view(base).copy()).requires_grad_() for view in views]
    our, their = getattr(optim, name)(ours, **kwargs), getattr(torch.optim, name)(theirs, **kwargs)
    for gradient in gradients:
        for mine, other, view in zip(ours, theirs, views, strict=True):
            mine.grad = minitorch.from_numpy(view(gradient))
            other.grad = torch.from_numpy(view(gradient).copy())
        our.step()
        their.step()
    for mine, other, view in zip(ours, theirs, views, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-12)
        np.testing.assert_allclose(view(memory), other.detach().numpy(), rtol=1e-12)
    assert np.array_equal(memory[1][:, 0], base[1][:, 0])
    assert np.array_equal(memory[2][1::2], base[2][1::2])


@pytest.fixture
def double():
    """float64 as the default dtype: else torch computes bias corrections in float32."""
    minitorch.set_default_dtype(minitorch.float64)
    torch.set_default_dtype(torch.float64)
    yield
    minitorch.set_default_dtype(minitorch.float32)
    torch.set_default_dtype(torch.float32)


def differentiate(framework, name, start, gradients, kwargs):
    """The gradients of a loss of the parameters after a few differentiable steps: in the start and in the gradients."""
    first = framework.tensor(start).requires_grad_()
    given = [framework.tensor(g).requires_grad_() for g in gradients]
    p = first.clone()
    optimizer = getattr(framework.optim, name)([p], differentiable=True, **kwargs)
    for g in given:
        p.grad = g.clone()
        optimizer.step()
    (p**2).sum().backward()
    return [first.grad, p, *[g.grad for g in given]]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_differentiable_step(name, double):
    random = np.random.default_rng(0)
    start, gradients = random.standard_normal((2, 3)), random.standard_normal((3, 2, 3))
    for kwargs in rows(name):
        if any(isinstance(value, torch.Tensor) for value in kwargs.values()):
            continue
        for steps in (3, 1):
            try:
                theirs = differentiate(torch, name, start, gradients[:steps], kwargs)
                break
            except RuntimeError:  # torch's own steps overwrite what the backward pass of the next needs
                assert steps == 3
        ours = differentiate(minitorch, name, start, gradients[:steps], kwargs)
        assert_same(ours, theirs, where=f"{name} {kwargs}")


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_differentiable_steps_numerically(name, double):
    """Three steps, which torch cannot take for every optimizer, beside differences of ordinary steps."""
    random = np.random.default_rng(0)
    start, gradients = random.standard_normal(3), random.standard_normal((3, 3))

    def loss(start, gradients):
        p = minitorch.tensor(start, requires_grad=True)
        optimizer = getattr(optim, name)([p], **kwargs)
        for g in gradients:
            p.grad = minitorch.tensor(g)
            optimizer.step()
        return (p**2).sum().item()

    for kwargs in rows(name):
        if any(isinstance(value, torch.Tensor) for value in kwargs.values()):
            continue
        ours = differentiate(minitorch, name, start, gradients, kwargs)
        first_buffer_is_detached = name == "SGD" and kwargs.get("momentum")
        for i in range(3):
            move = np.eye(3)[i] * 1e-6
            slope = (loss(start + move, gradients) - loss(start - move, gradients)) / 2e-6
            if not (first_buffer_is_detached and kwargs.get("weight_decay")):
                assert ours[0][i].item() == pytest.approx(slope, rel=1e-5, abs=1e-7), kwargs
            for k in range(1 if first_buffer_is_detached else 0, 3):
                moves = np.zeros((3, 3))
                moves[k] = move
                slope = (loss(start, gradients + moves) - loss(start, gradients - moves)) / 2e-6
                assert ours[2 + k][i].item() == pytest.approx(slope, rel=1e-5, abs=1e-7), kwargs


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_differentiable_in_the_options(name, double):
    """d loss / d lr and d weight_decay (hyperparameter gradients)."""

    def run(framework):
        lr = framework.tensor(0.1, dtype=framework.float64, requires_grad=True)
        decay = framework.tensor(0.2, dtype=framework.float64, requires_grad=True)
        start = framework.tensor([1.0, -2.0, 3.0], dtype=framework.float64, requires_grad=True)
        p = start.clone()
        optimizer = getattr(framework.optim, name)([p], lr=lr, weight_decay=decay, differentiable=True)
        for _ in range(3):
            p.grad = framework.autograd.grad((p**3).sum(), p)[0].detach()
            optimizer.step()
        p.sum().backward()
        return [lr.grad, decay.grad, start.grad]

    assert_same(run(minitorch), run(torch))


# ---- the machinery ----------------------------------------------------------------------------------------------


def outcome(framework, program):
    """What a program does: its result, or the kind and words of its error, and its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = program(framework)
        except Exception as error:
            result = (type(error).__name__, str(error))
    return result, [(w.category.__name__, str(w.message)) for w in seen]


def base(framework):
    return importlib.import_module(f"{framework.__name__}.optim.optimizer")


def weights(framework, count=2):
    return [framework.nn.Parameter(framework.ones(2, 2) * (i + 1)) for i in range(count)]


def non_leaf(framework):
    return weights(framework)[0] * 2


def add_to(framework, group, **kwargs):
    a, b = weights(framework)
    optimizer = framework.optim.SGD([a], lr=0.1, **kwargs)
    optimizer.add_param_group(group(a, b))
    return [sorted(map(str, g)) for g in optimizer.param_groups]


class Required:
    """A program's own optimizer, with an option that has no default."""

    @staticmethod
    def make(framework):
        class Own(framework.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": base(framework).required})

        return Own


REFUSALS = {
    "a tensor": lambda f: f.optim.SGD(f.ones(2)),
    "empty": lambda f: f.optim.SGD([]),
    "a set": lambda f: f.optim.SGD([{"params": set(weights(f))}]),
    "not tensors": lambda f: f.optim.SGD([1.0]),
    "a string": lambda f: f.optim.SGD(["weight"]),
    "non-leaf": lambda f: f.optim.SGD([non_leaf(f)]),
    "twice": lambda f: len(f.optim.SGD([*weights(f, 1)] * 2).param_groups),
    "in two groups": lambda f: add_to(f, lambda a, b: {"params": [b, a]}),
    "group that is no dict": lambda f: add_to(f, lambda a, b: [b]),
    "group": lambda f: add_to(f, lambda a, b: {"params": b, "lr": 1.0, "momentum": 0.5}),
    "named group": lambda f: add_to(f, lambda a, b: {"params": [("b", b)]}),
    "some named": lambda f: f.optim.SGD([("a", weights(f)[0]), weights(f)[1]]),
    "required": lambda f: Required.make(f)(weights(f)),
    "required given": lambda f: repr(Required.make(f)([{"params": weights(f), "lr": 2}])),
    "groups of groups": lambda f: f.optim.LBFGS([{"params": [p]} for p in weights(f)]),
    "fused differentiable": lambda f: f.optim.Adam(weights(f), fused=True, differentiable=True),
    "fused foreach": lambda f: f.optim.SGD(weights(f), fused=True, foreach=True),
    "nesterov": lambda f: f.optim.SGD(weights(f), nesterov=True),
    "nesterov dampened": lambda f: f.optim.SGD(weights(f), nesterov=True, momentum=0.9, dampening=0.1),
    "weight decay": lambda f: f.optim.SGD(weights(f), weight_decay=-1),
    "momentum": lambda f: f.optim.SGD(weights(f), momentum=-1),
    "betas": lambda f: f.optim.Adam(weights(f), betas=(0.5, 1.5)),
    "mixed betas": lambda f: f.optim.Adam(weights(f), betas=(0.5, f.tensor(0.5))),
    "integer betas": lambda f: f.optim.Adam(weights(f), betas=(0, 0)),
    "long lr": lambda f: f.optim.Adam(weights(f), lr=f.tensor([0.5, 0.5])),
    "foreach lr": lambda f: f.optim.Adam(weights(f), lr=f.tensor(0.5), foreach=True),
    "foreach betas": lambda f: f.optim.Adam(weights(f), betas=(f.tensor(0.5), f.tensor(0.5)), foreach=True),
    "long betas": lambda f: f.optim.Adam(weights(f), betas=(f.tensor([0.5, 0.5]), f.tensor(0.5))),
    "line search": lambda f: f.optim.LBFGS(weights(f), line_search_fn="other").step(lambda: backward(f)),
    "not implemented": lambda f: f.optim.Optimizer(weights(f), {}).step(),
    **{
        f"{name} {option}": lambda f, name=name, option=option: getattr(f.optim, name)(weights(f), **{option: -1.0})
        for name, options in {
            "SGD": ["lr"], "Adam": ["lr", "eps", "weight_decay"], "AdamW": ["lr", "eps"], "Adamax": ["lr", "eps"],
            "Adadelta": ["lr", "rho", "eps", "weight_decay"], "ASGD": ["lr", "weight_decay"], "RAdam": ["eps"],
            "Adagrad": ["lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value"], "LBFGS": ["lr"],
            "NAdam": ["lr", "eps", "weight_decay", "momentum_decay"], "Rprop": ["lr"], "Muon": ["lr", "momentum"],
            "RMSprop": ["lr", "alpha", "eps", "weight_decay", "momentum"], "Adafactor": ["lr", "d", "weight_decay"],
        }.items()
        for option in options
    },
}


def backward(framework):
    p = framework.ones(1, requires_grad=True)
    p.sum().backward()
    return p.sum()


@pytest.mark.parametrize("case", REFUSALS)
def test_refused_as_by_torch(case):
    ours, our_warnings = outcome(minitorch, REFUSALS[case])
    theirs, their_warnings = outcome(torch, REFUSALS[case])
    if case in ("a tensor", "not tensors", "a string"):  # torch names its types its own way
        assert ours[0] == theirs[0] and ours[1].split("but")[0] == theirs[1].split("but")[0]
    elif isinstance(theirs, tuple | list | int | str):
        assert ours == theirs
    assert our_warnings == their_warnings


def test_a_refused_group_changes_nothing():
    a, b = weights(minitorch)
    optimizer = optim.SGD([("a", a)], lr=0.1)
    group = {"params": [b]}
    with pytest.raises(ValueError):
        optimizer.add_param_group(group)
    assert group == {"params": [b]}
    assert len(optimizer.param_groups) == 1


def test_groups_override_defaults():
    def run(framework, wrap):
        a, b, c = (wrap(np.full((2, 2), float(i + 1))) for i in range(3))
        optimizer = framework.optim.AdamW(
            [{"params": [a], "lr": 0.5}, {"params": (p for p in [b]), "betas": (0.5, 0.5), "maximize": True}], lr=0.1
        )
        optimizer.add_param_group({"params": c, "weight_decay": 0.0, "amsgrad": True})
        for _ in range(3):
            for p in (a, b, c):
                p.grad = p.detach() * 0.3
            optimizer.step()
        return [a, b, c], optimizer.state_dict()

    ours = run(minitorch, lambda x: minitorch.tensor(x, requires_grad=True))
    theirs = run(torch, lambda x: torch.tensor(x, requires_grad=True))
    assert_same(list(ours), list(theirs))


def test_named_parameters():
    def run(framework):
        model = framework.nn.Linear(2, 3)
        optimizer = framework.optim.SGD(model.named_parameters(), lr=0.1)
        groups = framework.optim.Adam([{"params": model.named_parameters(), "lr": 0.5}])
        state = optimizer.state_dict()
        state["param_groups"][0]["param_names"] = ["one", "two"]
        optimizer.load_state_dict(state)
        del state["param_groups"][0]["param_names"]
        optimizer.load_state_dict(state)
        return [o.state_dict()["param_groups"] for o in (optimizer, groups)], repr(groups)

    assert run(minitorch) == run(torch)


@pytest.mark.parametrize("name", TABLE)
def test_repr(name):
    def run(framework):
        return repr(getattr(framework.optim, name)(weights(framework)))

    assert run(minitorch) == run(torch)


@pytest.mark.parametrize("change", ["groups", "sizes", "none"])
def test_load_state_dict_of_another_optimizer(change):
    def run(framework):
        a, b, c = weights(framework, 3)
        optimizer = framework.optim.SGD([{"params": [a, b]}, {"params": [c]}], lr=0.1, momentum=0.5)
        state = optimizer.state_dict()
        if change == "groups":
            state["param_groups"].pop()
        if change == "sizes":
            state["param_groups"][0]["params"].append(7)
        state["state"]["something"] = {"of": "the user"}
        optimizer.load_state_dict(state)
        return optimizer.state_dict()["state"]

    assert outcome(minitorch, run) == outcome(torch, run)


def test_loaded_state_takes_the_dtype_of_the_parameter_but_steps_keep_theirs():
    double = Pair("Adam", {}, [(2, 2)])
    double.step()
    p = minitorch.ones(2, 2, dtype=minitorch.float16, requires_grad=True)
    optimizer = optim.Adam([p])
    optimizer.load_state_dict(double.our_optimizer.state_dict())
    assert optimizer.state[p]["exp_avg"].dtype is minitorch.float16
    assert optimizer.state[p]["step"].dtype is minitorch.float32
    assert optimizer.state[p]["step"].item() == 1


def test_old_checkpoints():
    """Before torch 1.12 steps were Python numbers, and groups had fewer options."""

    def run(framework):
        (p,) = weights(framework, 1)
        optimizer = framework.optim.NAdam([p])
        zeros = framework.zeros(2, 2)
        names = ("lr", "betas", "eps", "weight_decay", "momentum_decay")
        group = {name: optimizer.param_groups[0][name] for name in names}
        state = {"step": 3, "mu_product": 0.25, "exp_avg": zeros, "exp_avg_sq": zeros + 1}
        optimizer.load_state_dict({"state": {0: state}, "param_groups": [{**group, "params": [0]}]})
        p.grad = framework.ones(2, 2)
        optimizer.step()
        return optimizer.state_dict()["state"], sorted(optimizer.param_groups[0])

    assert_same(run(minitorch), run(torch), rtol=1e-6)


@pytest.mark.parametrize("name", FORMULAS)
def test_parameters_without_gradients_are_skipped(name):
    pair = Pair(name, {}, [(2, 2), (3, 3)])
    before = pair.ours[1].detach().numpy().copy()
    for _ in range(2):
        pair.step(leave_out={1})
    pair.compare(name)
    assert np.array_equal(pair.ours[1].detach().numpy(), before)
    assert name == "Adagrad" or pair.ours[1] not in pair.our_optimizer.state


@pytest.mark.parametrize("name", TABLE)
def test_writes_in_place_and_bumps_the_version(name):
    pair = Pair(name, {}, [(2, 2), (100, 100)])
    memory, versions = [p._array for p in pair.ours], [p._version for p in pair.ours]
    before = [array.copy() for array in memory]
    pair.step()
    for p, array, version, old in zip(pair.ours, memory, versions, before, strict=True):
        assert p._array is array
        assert p._version > version
        assert not np.array_equal(array, old)
        assert p.requires_grad and p.is_leaf and p.grad_fn is None
    for state in pair.our_optimizer.state.values():
        for value in state.values():
            assert not (isinstance(value, minitorch.Tensor) and (value.requires_grad or value._array is memory[0]))


def test_a_step_between_forward_and_backward_is_noticed():
    w = minitorch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    w.grad = minitorch.ones(3)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_state_does_not_share_memory_with_gradients():
    for size in (3, 5000):
        p = minitorch.ones(size, requires_grad=True)
        p.grad = minitorch.ones(size)
        optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
        optimizer.step()
        p.grad.zero_()
        assert optimizer.state[p]["momentum_buffer"].tolist() == [1.0] * size


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none):
    a, b = weights(minitorch)
    optimizer = optim.SGD([a, b], lr=0.1)
    loss = (a * a).sum()
    with pytest.warns(UserWarning, match="reference cycle"):
        loss.backward(create_graph=True)
    gradient = a.grad
    optimizer.zero_grad(set_to_none)
    assert b.grad is None
    if set_to_none:
        assert a.grad is None
    else:
        assert a.grad is gradient
        assert a.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert a.grad.grad_fn is None and not a.grad.requires_grad
        assert gradient._version > 0


def test_closure_is_run_with_gradients():
    (p,) = weights(minitorch, 1)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with minitorch.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 4.0 and loss.requires_grad
    assert np.allclose(p.detach().numpy(), 0.8)
    assert optimizer.step() is None


def test_step_hooks():
    def run(framework):
        log = []
        (p,) = weights(framework, 1)
        optimizer = framework.optim.SGD([p], lr=0.1)
        other = framework.optim.Adam([p])
        p.grad = framework.ones(2, 2)

        def note(name, result=None):
            def hook(o, args, kwargs):
                log.append((name, type(o).__name__, len(args), args[1:], sorted(kwargs)))
                return result and result(args, kwargs)

            return hook

        handles = [
            optimizer.register_step_pre_hook(note("pre", lambda args, kwargs: (args, {"closure": lambda: 7}))),
            optimizer.register_step_pre_hook(note("pre 2")),
            optimizer.register_step_post_hook(note("post")),
            base(framework).register_optimizer_step_pre_hook(note("global pre")),
            base(framework).register_optimizer_step_post_hook(note("global post")),
        ]
        log.append(optimizer.step())
        other.step()
        with handles[0]:
            pass
        log.append(optimizer.step(closure=lambda: 8))
        for handle in handles:
            handle.remove()
        log.append(optimizer.step())
        return log

    assert run(minitorch) == run(torch)


def test_a_step_hook_must_return_arguments():
    (p,) = weights(minitorch, 1)
    optimizer = optim.SGD([p], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of .new_args, new_kwargs., but got 3"):
        optimizer.step()


def test_state_dict_hooks():
    def run(framework):
        log = []
        (p,) = weights(framework, 1)
        optimizer = framework.optim.SGD([p], lr=0.1)
        optimizer.register_state_dict_pre_hook(lambda o: log.append("save 1"))
        optimizer.register_state_dict_pre_hook(lambda o: log.append("save 0"), prepend=True)
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
        optimizer.register_state_dict_post_hook(lambda o, state: log.append(sorted(state)), prepend=True)
        optimizer.register_load_state_dict_pre_hook(lambda o, state: state.update(seen=True))
        optimizer.register_load_state_dict_pre_hook(
            lambda o, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 5}]}
        )
        optimizer.register_load_state_dict_post_hook(lambda o: log.append(o.param_groups[0]["lr"]))
        optimizer.register_load_state_dict_post_hook(lambda o: log.append("first"), prepend=True)
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        return log, sorted(state)

    assert run(minitorch) == run(torch)


def test_own_optimizer():
    """A program's own subclass: hooks work, and what it keeps in its state is saved."""

    class Signs(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @minitorch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["count"] = self.state[p].get("count", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    (p,) = weights(minitorch, 1)
    optimizer = Signs([p])
    calls = []
    optimizer.register_step_post_hook(lambda *args: calls.append(args[0]))
    p.grad = -3 * minitorch.ones(2, 2)
    optimizer.step()
    assert np.allclose(p.detach().numpy(), 1.1)
    assert calls == [optimizer]
    assert optimizer.state_dict()["state"] == {0: {"count": 1}}


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))], ids=["deepcopy", "pickle"])
def test_copies_go_on_alone(copier):
    pair = Pair("Adam", {"amsgrad": True}, [(2, 2), (3,)])
    pair.step()
    other = copier(pair.our_optimizer)
    twins = other.param_groups[0]["params"]
    assert twins[0] is not pair.ours[0]
    pair.step()
    for twin, p in zip(twins, pair.ours, strict=True):
        assert not np.array_equal(twin.detach().numpy(), p.detach().numpy())
        twin.grad = p.grad
    other.step()
    for twin, p in zip(twins, pair.ours, strict=True):
        assert np.array_equal(twin.detach().numpy(), p.detach().numpy())


def test_an_optimizer_is_freed_without_the_garbage_collector():
    import weakref

    (p,) = weights(minitorch, 1)
    gc.collect()
    gc.disable()
    try:
        optimizer = optim.Adam([p])
        scheduler = optim.lr_scheduler.StepLR(optimizer, 2)
        p.grad = minitorch.ones(2, 2)
        optimizer.step()
        reference = weakref.ref(optimizer)
        del optimizer, scheduler
        assert reference() is None
    finally:
        gc.enable()


def test_skipped_steps_of_amp_with_a_schedule():
    """A schedule and a GradScaler that skips steps with infinite gradients, beside torch's."""

    def run(framework, wrap):
        p = wrap(np.array([1.0, 2.0, 3.0]))
        optimizer = framework.optim.Adam([p], lr=0.1)
        scheduler = framework.optim.lr_scheduler.LinearLR(optimizer, total_iters=10)
        scaler = framework.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        record = []
        for step in range(12):
            optimizer.zero_grad()
            factor = math.inf if step % 5 == 2 else 1.0
            scaler.scale((p * p).sum() * factor).backward()
            scaler.step(optimizer)
            before = scaler.get_scale()
            scaler.update()
            if scaler.get_scale() >= before:
                scheduler.step()
            record.append((scaler.get_scale(), optimizer.param_groups[0]["lr"]))
        return p, record, optimizer.state_dict()

    ours = run(minitorch, lambda a: minitorch.tensor(a, requires_grad=True))
    theirs = run(torch, lambda a: torch.tensor(a, requires_grad=True))
    assert_same(list(ours), list(theirs))
