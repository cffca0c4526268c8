"""gradcheck, anomaly detection and checkpointing beside torch's: results, warnings, errors (see both.py)."""

import re
import weakref

import pytest

torch = pytest.importorskip("torch")

from both import check, leaves, programs

import minitorch

SETUP = """
C, CC = T.autograd.gradcheck, T.autograd.gradgradcheck
d = x.detach().double().requires_grad_()
e = y.detach().double().requires_grad_()
k = c.double()
def make(forward, backward):
    return type(Function)('A', (Function,), {'forward': staticmethod(forward), 'backward': staticmethod(backward)}).apply
good = make(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], lambda ctx, g: g * 2 * ctx.saved_tensors[0])
bad = make(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], lambda ctx, g: g * 3 * ctx.saved_tensors[0])
none = make(lambda ctx, a: a * a, lambda ctx, g: None)
state = [0]
def drift(ctx, g):
    state[0] += 1
    return g * 2 * ctx.saved_tensors[0] + 1e-5 * state[0]
restless = make(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], drift)
r = []
"""

GRADCHECK = programs("""
r = C(T.sin, d)
r = C(T.sin, (d,))
r = C(T.mul, (d, e))
r = C(lambda a, b: (a * b, a.sum(), b), (d, e))
r = C(lambda a, b: a * b, (d, k))
r = C(lambda a: a * 2, d, eps=1e-4, atol=1e-3, rtol=1e-2)
r = C(good, d)
r = C(bad, d)
r = C(bad, d, raise_exception=False)
r = C(bad, d, atol=10.)
r = C(bad, d, rtol=1.)
r = C(none, d)
r = C(none, d, raise_exception=False)
r = C(restless, d)
r = C(restless, d, nondet_tol=1.)
r = C(restless, d, raise_exception=False)
r = C(T.sin, k)
r = C(T.sin, k, raise_exception=False)
r = C(T.sin, [d])
r = C(T.sin, x, eps=1e-3, atol=1e-2, rtol=1e-2)
r = C(T.sin, x)
r = C(lambda a: a.detach(), d)
r = C(lambda a: k, d)
r = C(lambda a: a.argmax(1), d)
r = C(lambda a: (a * 2, a.argmax(1)), d)
r = C(lambda a: [a * 2, a * 3], d)
r = C(lambda a: (), d)
r = C(lambda a: a.sum(), d)
r = C(lambda a: a[:0], d)
r = C(lambda a: a * 2, T.zeros(0, 3, dtype=T.float64, requires_grad=True))
r = C(T.relu, T.zeros(3, dtype=T.float64, requires_grad=True))
r = C(lambda a: a.exp(), e.detach().expand(3, 4).requires_grad_())
r = C(lambda a: a.exp(), (e[:1].detach().expand(3).requires_grad_(),))
r = C(lambda a: a.exp(), d.t())
r = C(lambda a: a.exp(), d.detach().t().requires_grad_())
r = C(T.sin, d, check_backward_ad=False)
r = C(T.sin, d, check_backward_ad=False, check_undefined_grad=False)
r = C(T.sin, d, check_undefined_grad=False)
r = C(T.sin, d, check_grad_dtypes=True)
r = C(lambda a: a.float().double(), d, check_grad_dtypes=True)
r = C(T.sin, d, fast_mode=True)
r = C(good, d, fast_mode=True)
r = C(bad, d, fast_mode=True)
r = C(lambda a, b: (a * b, a.sum(), b), (d, e), fast_mode=True)
r = C(none, d, fast_mode=True)
r = C(T.sin, k, fast_mode=True)
r = C(restless, d, fast_mode=True)
r = C(lambda a: a.detach(), d, fast_mode=True)
r = C(T.sin, d, masked=True)
r = C(T.sin, d, masked=False)
r = C(lambda a, n: a * n, (d, 3.))
r = C(lambda a, n: a[0] * n, ([d, k], 3.))
r = C(lambda a: a.mul_(2), d)
r = C(lambda a: a.clone().mul_(2), d)
r = C(lambda a: a * float('nan'), d)
r = C(lambda a: a / (a - a), d)
d.grad = k | r = [C(T.sin, d), d.grad]
d.sin().sum().backward() | r = [C(T.sin, d), d.grad]
with T.no_grad(): r = C(T.sin, d)
class U(Function): | ....forward = staticmethod(lambda ctx, a: (a * 2, a * 3)) | ....backward = staticmethod(lambda ctx, g, h: g * 2 + h * 3) | r = C(U.apply, d)
class U(Function): | ....forward = staticmethod(lambda ctx, a: (ctx.set_materialize_grads(False), (a * 2, a * 3))[1]) | ....backward = staticmethod(lambda ctx, g, h: g * 2 + h * 3) | r = C(U.apply, d)
class U(Function): | ....forward = staticmethod(lambda ctx, a: (ctx.set_materialize_grads(False), (a * 2, a * 3))[1]) | ....backward = staticmethod(lambda ctx, g, h: g * 2 + h * 3) | r = C(U.apply, d, check_undefined_grad=False)
class U(Function): | ....forward = staticmethod(lambda ctx, a: (ctx.set_materialize_grads(False), a * 2)[1]) | ....backward = staticmethod(lambda ctx, g: T.ones(3, 4, dtype=T.float64) * 2 if g is None else g * 2) | r = C(U.apply, d)
class U(Function): | ....forward = staticmethod(lambda ctx, a: a * 2) | ....backward = staticmethod(lambda ctx, g: (g * 2).float()) | r = C(U.apply, d)
""".replace("....", "    "))  # noqa: E501

GRADGRADCHECK = programs("""
r = CC(T.sin, d)
r = CC(T.mul, (d, e))
r = CC(lambda a: a ** 3, d, k)
r = CC(lambda a: a ** 3, d, (k,))
r = CC(lambda a: a ** 3, d, k.clone().requires_grad_())
r = CC(lambda a: (a ** 3, a.sum()), d)
r = CC(lambda a: (a ** 3, a.argmax()), d)
r = CC(lambda a: a * 2, d)
r = CC(good, d)
r = CC(make(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], lambda ctx, g: g * 2 * ctx.saved_tensors[0].detach()), d)
r = CC(make(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], lambda ctx, g: g * 2 * ctx.saved_tensors[0].detach()), d, raise_exception=False)
r = CC(T.sin, d, gen_non_contig_grad_outputs=True)
r = CC(T.sin, d, fast_mode=True)
r = CC(T.sin, d, atol=1e-4, rtol=1e-2, eps=1e-5, nondet_tol=1e-8, check_undefined_grad=False, check_grad_dtypes=True)
r = CC(T.sin, d, check_rev_over_rev=False)
r = CC(T.sin, k)
""")  # noqa: E501

ANOMALY = programs("""
with T.autograd.detect_anomaly(): (x * y).sum().backward()
with T.autograd.set_detect_anomaly(True): (x * y).sum().backward()
with T.autograd.set_detect_anomaly(True): (x * 0 - 1).sqrt().sum().backward()
with T.autograd.detect_anomaly(): (x * 0 - 1).sqrt().sum().backward()
with T.autograd.detect_anomaly(check_nan=False): (x * 0 - 1).sqrt().sum().backward()
with T.autograd.set_detect_anomaly(True, check_nan=False): (x * 0 - 1).sqrt().sum().backward()
with T.autograd.set_detect_anomaly(True): (x * 0).div(0).sum().backward()
with T.autograd.set_detect_anomaly(True): ((x - x) / (x - x)).sum().backward()
a = (x * 0 - 1).sqrt() | with T.autograd.set_detect_anomaly(True): a.sum().backward()
with T.autograd.set_detect_anomaly(True): a = (x * 0 - 1).sqrt() | a.sum().backward()
with T.autograd.set_detect_anomaly(True): | ....a = x * 2 | ....b = a * a | ....a.add_(1) | ....b.sum().backward()
with T.autograd.set_detect_anomaly(True): | ....a = x.exp() | ....a.sum().backward() | ....a.sum().backward()
with T.autograd.set_detect_anomaly(True): make(lambda ctx, a: a * 2, lambda ctx, g: g * float('nan'))(x).sum().backward()
with T.autograd.set_detect_anomaly(True): make(lambda ctx, a: a * 2, lambda ctx, g: 1 / 0)(x).sum().backward()
with T.autograd.set_detect_anomaly(True): make(lambda ctx, a: a * 2, lambda ctx, g: T.ones(2))(x).sum().backward()
with T.autograd.set_detect_anomaly(True): | ....a = (x * 2).sqrt() | ....a.register_hook(lambda g: g * float('nan')) | ....a.sum().backward()
with T.autograd.set_detect_anomaly(True): (x * 2).backward(c * float('nan'))
with T.autograd.set_detect_anomaly(True): r = T.autograd.grad((x * 0 - 1).sqrt().sum(), x)
with T.autograd.set_detect_anomaly(True): | ....g, = T.autograd.grad((x * 2).sqrt().sum(), x, create_graph=True) | ....r = T.autograd.grad(((g * 0 - 1).sqrt()).sum(), x)
with T.autograd.set_detect_anomaly(True): (x * float('inf')).sum().backward()
r.append(T.is_anomaly_enabled()) | with T.autograd.set_detect_anomaly(True, False): r += [T.is_anomaly_enabled(), T.is_anomaly_check_nan_enabled()] | r += [T.is_anomaly_enabled(), T.is_anomaly_check_nan_enabled()]
T.autograd.set_detect_anomaly(True) | r = T.is_anomaly_enabled() | T.autograd.set_detect_anomaly(False) | r = [r, T.is_anomaly_enabled()]
with T.autograd.set_detect_anomaly(True): | ....with T.autograd.set_detect_anomaly(False): r.append(T.is_anomaly_enabled()) | ....r.append(T.is_anomaly_enabled())
try: | ....with T.autograd.set_detect_anomaly(True): 1 / 0 | except ZeroDivisionError: r = T.is_anomaly_enabled()
with T.autograd.set_detect_anomaly(True): a = x * 2 | r = ['traceback_' in a.grad_fn.metadata, type(a.grad_fn.metadata.get('traceback_')).__name__]
T.autograd.set_detect_anomaly('yes')
""".replace("....", "    "))  # noqa: E501

CHECKPOINT = programs("""
r = K(f, x, use_reentrant=False) | r.sum().backward() | r = [r.detach(), r.requires_grad]
r = K(f, x, use_reentrant=True) | r.sum().backward()
r = K(f, x) | r.sum().backward() | r = r.detach()
r = K(f, c, use_reentrant=True)
r = K(f, c, use_reentrant=False)
r = K(lambda a, b: a * b + a.exp(), x, y, use_reentrant=True) | r.sum().backward() | r = r.detach()
r = K(lambda a, b: a * b + a.exp(), x, y, use_reentrant=False) | r.sum().backward() | r = r.detach()
r = K(lambda a, b: a * b + a.exp(), x, c, use_reentrant=True) | r.sum().backward() | r = r.detach()
r = K(lambda a, b: a * b, c, y, use_reentrant=True) | r.sum().backward() | r = r.detach()
r = K(lambda a, b, k: a * b * k, x, y, 2., use_reentrant=True) | r.sum().backward() | r = r.detach()
r = K(lambda a, *, k: a.exp() * k, x, use_reentrant=False, k=c) | r.sum().backward() | r = r.detach()
r = K(lambda a, *, k: a.exp() * k, x, use_reentrant=True, k=c)
r = K(lambda a: (a.exp(), a * 2, 5), x, use_reentrant=True) | r[0].sum().backward() | r = [r[0].detach(), r[2]]
r = K(lambda a: (a.exp(), a * 2, 5), x, use_reentrant=False) | (r[0] * r[1]).sum().backward() | r = [r[0].detach(), r[2]]
r = K(lambda a: {'b': a.exp()}, x, use_reentrant=False)['b'] | r.sum().backward() | r = r.detach()
r = K(lambda a: a * c, c, use_reentrant=True)
r = K(lambda a: a * x, c, use_reentrant=False) | r.sum().backward() | r = r.detach()
r = K(lambda a: a * x, c, use_reentrant=True)
r = K(lambda a: a.detach(), x, use_reentrant=True) | r.sum().backward()
r = K(lambda a: a.detach(), x, use_reentrant=False) | r = r.requires_grad
r = K(f, x, use_reentrant=True) | T.autograd.grad(r.sum(), x)
r = K(f, x, use_reentrant=False) | r = T.autograd.grad(r.sum(), x)
r = K(f, x, use_reentrant=True) | r.sum().backward(inputs=[x])
r = K(f, x, use_reentrant=False) | r.sum().backward(inputs=[x]) | r = r.detach()
r = K(f, x, use_reentrant=False) | g, = T.autograd.grad(r.sum(), x, create_graph=True) | g.sum().backward() | r = g.detach()
r = K(f, x, use_reentrant=False) | r.sum().backward(retain_graph=True) | r.sum().backward() | r = r.detach()
r = K(f, x, use_reentrant=False) | r.sum().backward() | r.sum().backward()
r = K(f, x, use_reentrant=True) | r.sum().backward() | r.sum().backward()
r = K(f, x, use_reentrant=True) | r.sum().backward(retain_graph=True) | r.sum().backward() | r = r.detach()
r = K(lambda a: F.dropout(a, .5) * a, x, use_reentrant=False) | r.sum().backward() | r = [r.detach(), T.rand(2)]
r = K(lambda a: F.dropout(a, .5) * a, x, use_reentrant=True) | r.sum().backward() | r = [r.detach(), T.rand(2)]
r = K(lambda a: F.dropout(a, .5) * a, x, use_reentrant=False, preserve_rng_state=False) | r.sum().backward() | r = [r.detach(), T.rand(2)]
r = K(lambda a: F.dropout(a, .5) * a, x, use_reentrant=True, preserve_rng_state=False) | r.sum().backward() | r = [r.detach(), T.rand(2)]
with T.no_grad(): r = K(f, x, use_reentrant=False)
with T.no_grad(): r = K(f, x, use_reentrant=True)
l = T.nn.Linear(4, 3) | T.nn.init.ones_(l.weight) | T.nn.init.zeros_(l.bias) | r = K(l, x, use_reentrant=False) | r.sum().backward() | r = [l.weight.grad, l.bias.grad]
l = T.nn.Linear(4, 3) | T.nn.init.ones_(l.weight) | T.nn.init.zeros_(l.bias) | r = K(l, x, use_reentrant=True) | r.sum().backward() | r = [l.weight.grad, l.bias.grad]
calls = [] | r = K(lambda a: (calls.append(1), a.exp())[1], x, use_reentrant=False) | r.sum().backward() | r = len(calls)
calls = [] | r = K(lambda a: (calls.append(1), a.exp() * a.sin())[1], x, use_reentrant=True) | r.sum().backward() | r = len(calls)
calls = [] | r = K(lambda a: (calls.append(1), a * 2)[1], x, use_reentrant=False) | r.sum().backward() | r = len(calls)
calls = [] | r = K(lambda a: (calls.append(T.is_grad_enabled()), a.exp())[1], x, use_reentrant=True) | r.sum().backward() | r = calls
calls = [] | r = K(lambda a: (calls.append(T.is_grad_enabled()), a.exp())[1], x, use_reentrant=False) | r.sum().backward() | r = calls
K(lambda a: 1 / 0, x, use_reentrant=False)
n = [1] | r = K(lambda a: (n.append(1), a.exp() if len(n) == 2 else a.exp() * a.sin())[1], x, use_reentrant=False) | r.sum().backward()
n = [1] | r = K(lambda a: (n.append(1), a.exp() * a.sin() if len(n) == 2 else a.exp())[1], x, use_reentrant=False) | r.sum().backward()
n = [1] | r = K(lambda a: (n.append(1), a.exp() if len(n) == 2 else a[:2].exp())[1], x, use_reentrant=False) | r.sum().backward()
n = [1] | r = K(lambda a: (n.append(1), a.exp() if len(n) == 2 else a[:1].exp())[1], x, use_reentrant=False, determinism_check='none') | r.sum().backward() | r = r.detach()
r = K(f, x, use_reentrant=False, determinism_check='other') | r.sum().backward()
r = K(f, x, use_reentrant=True, determinism_check='none') | r.sum().backward() | r = r.detach()
r = K(f, x, use_reentrant=True, context_fn=lambda: (1, 2))
r = K(f, x, use_reentrant=True, debug=True)
r = K(f, x, use_reentrant=False, context_fn=lambda: (T.autocast('cpu', dtype=T.bfloat16), T.autocast('cpu', dtype=T.bfloat16))) | r.sum().backward() | r = r.detach()
r = K(f, x, use_reentrant=False, context_fn=T.utils.checkpoint.noop_context_fn) | r.sum().backward() | r = r.detach()
r = K(lambda a: K(f, a, use_reentrant=False) * a, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
r = K(lambda a: K(f, a, use_reentrant=True) * a, x, use_reentrant=True) | r.sum().backward() | r = r.detach()
r = K(lambda a: K(f, a, use_reentrant=True) * a, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
r = K(lambda a: a.mul_(2).exp(), x * 1, use_reentrant=False) | r.sum().backward() | r = r.detach()
a = x * 1 | r = K(lambda a: a.exp() * a, a, use_reentrant=False) | a.add_(1) | r.sum().backward() | r = r.detach()
r = K(lambda a: a.exp(), [x], use_reentrant=False)
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): r = K(f, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
with T.autograd.graph.disable_saved_tensors_hooks('not here'): r = K(f, x, use_reentrant=False)
with T.utils.checkpoint.set_checkpoint_debug_enabled(False): r = K(f, x, use_reentrant=False).detach()
with T.utils.checkpoint.set_checkpoint_early_stop(False): r = K(f, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
q = [lambda a: a.exp(), lambda a: a.sin(), lambda a: a * 2] | r = S(q, 2, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
q = [lambda a: a.exp(), lambda a: a.sin(), lambda a: a * 2] | r = S(q, 3, x, use_reentrant=True) | r.sum().backward() | r = r.detach()
q = [lambda a: a.exp(), lambda a: a.sin(), lambda a: a * 2] | r = S(q, 2, x) | r.sum().backward() | r = r.detach()
q = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh(), T.nn.Sigmoid(), T.nn.GELU()) | r = S(q, 2, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
q = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh(), T.nn.Sigmoid(), T.nn.GELU()) | r = S(q, 2, input=x, use_reentrant=True, preserve_rng_state=False) | r.sum().backward() | r = r.detach()
q = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh()) | r = S(q, 1, x, use_reentrant=False) | r.sum().backward() | r = r.detach()
q = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh()) | r = S(q, 5, x, use_reentrant=False)
q = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh()) | r = S(q, 2, x, use_reentrant=False, other=1)
q = T.nn.Sequential(T.nn.Dropout(.5), T.nn.Dropout(.5)) | r = S(q, 2, x, use_reentrant=False) | r.sum().backward() | r = [r.detach(), T.rand(2)]
""")  # noqa: E501


@pytest.mark.parametrize("code", GRADCHECK)
def test_gradcheck(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", GRADGRADCHECK)
def test_gradgradcheck(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", ANOMALY)
def test_anomaly(code):
    check(SETUP + code)


K = """
K, S = T.utils.checkpoint.checkpoint, T.utils.checkpoint.checkpoint_sequential
def f(a): return (a * a).exp() * a.sin()
"""


@pytest.mark.parametrize("code", CHECKPOINT)
def test_checkpoint(code):
    check(SETUP + K + code)


def test_gradcheck_shows_where():
    """Which output and input, both Jacobians, and the wrong entries side by side."""

    class Wrong(minitorch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a + b, a * b

        @staticmethod
        def backward(ctx, g, h):
            a, b = ctx.saved_tensors
            grad = h * a
            grad[1, 2] += 7
            return g + h * b, g + grad

    space = leaves(minitorch)
    a = space["x"].detach().double().requires_grad_()
    b = space["c"].double().requires_grad_()
    for fast in (False, True):
        with pytest.raises(minitorch.autograd.gradcheck.__globals__["GradcheckError"]) as caught:
            minitorch.autograd.gradcheck(Wrong.apply, (a, b), fast_mode=fast)
        message = str(caught.value)
        assert "output 0 with respect to input 1" in message
        assert "numerical:tensor([[" in message and "analytical:tensor([[" in message
        (row,) = [line for line in message.splitlines() if line.lstrip().startswith("(1, 2)  ")][:1]
        numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", row.split(")")[-1])]
        assert len(numbers) == 3 and abs(numbers[1] - numbers[0] - numbers[2]) < 1e-6


@pytest.mark.parametrize("option", ["check_forward_ad", "check_batched_grad", "check_batched_forward_grad"])
def test_what_gradcheck_lacks_says_so(option):
    x = minitorch.ones(3, dtype=minitorch.float64).requires_grad_()
    with pytest.raises(NotImplementedError, match="vmap"):
        minitorch.autograd.gradcheck(minitorch.sin, x, **{option: True})


def test_anomaly_shows_the_users_line():
    """The last line of the traceback is the program's own, also where a module or a Function stands between."""
    x = minitorch.zeros(3).requires_grad_()
    for call in (
        lambda: (x - 1).sqrt(),
        lambda: minitorch.nn.functional.relu(x) / 0 * 0,
        lambda: minitorch.where(x > 1, x, x - 1).sqrt(),
    ):
        with minitorch.autograd.set_detect_anomaly(True):
            loss = call().sum()
            with pytest.warns(UserWarning, match="Traceback") as caught, pytest.raises(RuntimeError, match="nan"):
                loss.backward()
        trace = str(caught[0].message).rstrip().splitlines()
        assert "test_autograd_tools.py" in trace[-2] and "lambda" in trace[-2], trace


def test_anomaly_of_a_second_derivative_names_what_induced_it():
    x = minitorch.zeros(3).requires_grad_()
    with minitorch.autograd.set_detect_anomaly(True):
        (g,) = minitorch.autograd.grad(((x + 1) ** 1.5).sum(), x, create_graph=True)
        bad = (g * 0).sqrt().sum()
        with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError, match="nan"):
            (bad * 0 + (g * float("nan")).sum()).backward()
    assert "Error detected in" in str(caught[0].message)


def test_checkpoint_keeps_less():
    """Between the passes a checkpointed piece holds its arguments only, and recomputes no more than was saved."""
    x = minitorch.ones(1000).requires_grad_()
    held = []

    def piece(a):
        for _ in range(5):
            a = a.sin()
            held.append(weakref.ref(a._array))
        return a

    y = minitorch.utils.checkpoint.checkpoint(piece, x, use_reentrant=False)
    assert sum(r() is not None for r in held) == 1  # the result
    y.sum().backward()
    assert len(held) == 9  # of the last call only what it saves is needed again, its argument
