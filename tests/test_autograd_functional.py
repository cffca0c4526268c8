"""Derivatives as functions beside torch's: autograd.functional and func, in all their arguments (see both.py)."""

import pytest

torch = pytest.importorskip("torch")

from both import check, programs

import minitorch

SETUP = """
A, G = T.autograd.functional, T.func
def two(a, b): return (a * b).sum(), a * 2
def one(a): return (a * a * a).sum()
def pair(a, b): return (a * a * b).sum()
u = c[0].clone()
w = c[1].clone()
r = []
"""

VJP = programs("""
r = A.vjp(lambda a: a.exp(), u, w)
r = A.vjp(one, u)
r = A.vjp(one, u, T.tensor(2.))
r = A.vjp(lambda a: a.exp(), u)
r = A.vjp(lambda a: a.exp(), u, w[:2])
r = A.vjp(lambda a: a.exp(), u, (w, w))
r = A.vjp(lambda a: a.exp(), (u,), w)
r = A.vjp(lambda a: (a.exp(),), u, w)
r = A.vjp(lambda a: (a.exp(),), u, (w,))
r = A.vjp(two, (u, w), (T.tensor(1.), u))
r = A.vjp(two, (u, w), (T.tensor(1.),))
r = A.vjp(two, (u, w))
r = A.vjp(lambda a, b: a * 2, (u, w), u)
r = A.vjp(lambda a, b: a * 2, (u, w), u, strict=True)
r = A.vjp(lambda a: w * 2, u, u)
r = A.vjp(lambda a: w * 2, u, u, strict=True)
r = A.vjp(lambda a: a.detach() * 2, u, u, strict=True)
r = A.vjp(lambda a: a.exp(), y, u)
r = A.vjp(lambda a: a.exp(), y, u, create_graph=True)
r = A.vjp(lambda a: a.exp(), u, u, create_graph=True)
r = A.vjp(lambda a: a * 2, y, u, create_graph=True)
r = A.vjp(lambda a: a * 2, y, u, create_graph=True, strict=True)
r = A.vjp(lambda a: a.exp(), y, u, create_graph=True)[1] | r.sum().backward()
r = A.vjp(lambda a: a.exp(), u, y, create_graph=True)[1] | r.sum().backward()
r = A.vjp(lambda a: a.exp(), u, y)
r = A.vjp(lambda a: a.exp(), 5, y)
r = A.vjp(lambda a: a.exp(), [u], y)
r = A.vjp(lambda a, b: a, (u, 5), y)
r = A.vjp(lambda a: 5, u, y)
r = A.vjp(lambda a: [a], u, y)
r = A.vjp(lambda a: (a, 5), u, y)
r = A.vjp(lambda a: a.exp(), u, 5)
with T.no_grad(): r = A.vjp(lambda a: a.exp(), u, w)
with T.no_grad(): r = A.vjp(lambda a: a.exp(), y, w, create_graph=True)
r = A.vjp(lambda a: seq if a is u else a * a.requires_grad, u, w)
""")  # noqa: E501

JVP = programs("""
r = A.jvp(lambda a: a.exp(), u, w)
r = A.jvp(one, u, w)
r = A.jvp(one, u)
r = A.jvp(lambda a: a * 3, T.tensor(2.))
r = A.jvp(lambda a: a * 3, T.tensor([2.]))
r = A.jvp(two, (u, w), (w, u))
r = A.jvp(two, (u, w), (w,))
r = A.jvp(two, (u, w))
r = A.jvp(lambda a: a.exp(), u, w[:2])
r = A.jvp(lambda a: (a.exp(), a), u, w)
r = A.jvp(lambda a, b: a * 2, (u, w), (u, u))
r = A.jvp(lambda a, b: a * 2, (u, w), (u, u), strict=True)
r = A.jvp(lambda a: w * 2, u, u)
r = A.jvp(lambda a: w * 2, u, u, strict=True)
r = A.jvp(lambda a: a.exp(), y, u, create_graph=True) | r = [r[0], r[1].detach()]
r = A.jvp(lambda a: a.exp(), y, u, create_graph=True)[1] | r.sum().backward() | r = r.detach()
r = A.jvp(lambda a: a * 2, y, u, create_graph=True, strict=True)
r = A.jvp(lambda a: a.exp(), y, u)
r = A.jvp(lambda a: a.exp(), 5, u)
r = A.jvp(lambda a: 5, u, u)
with T.no_grad(): r = A.jvp(lambda a: a.exp(), u, w)
""")  # noqa: E501

JACOBIAN = programs("""
r = A.jacobian(lambda a: a.exp(), u)
r = A.jacobian(lambda a: a.exp(), c)
r = A.jacobian(one, u)
r = A.jacobian(lambda a: a.sum(1), c)
r = A.jacobian(two, (u, w))
r = A.jacobian(lambda a, b: a * b, (u, w))
r = A.jacobian(lambda a: (a.exp(), a.sum()), u)
r = A.jacobian(lambda a: (a.exp(),), u)
r = A.jacobian(lambda a: a.exp(), (u,))
r = A.jacobian(lambda a, b: a * 2, (u, w))
r = A.jacobian(lambda a, b: a * 2, (u, w), strict=True)
r = A.jacobian(lambda a: w * 2, u)
r = A.jacobian(lambda a: w * 2, u, strict=True)
r = A.jacobian(lambda a: a[:0], u)
r = A.jacobian(lambda a: a.exp(), y)
r = A.jacobian(lambda a: a.exp(), y, create_graph=True) | r.sum().backward() | r = [r.detach(), r.requires_grad]
r = A.jacobian(lambda a: a * 2, y, create_graph=True) | r = [r.detach(), r.requires_grad]
r = A.jacobian(lambda a: a * 2, y, create_graph=True, strict=True)
r = A.jacobian(lambda a: a.exp(), u, vectorize=True)
r = A.jacobian(two, (u, w), vectorize=True)
r = A.jacobian(lambda a, b: a * 2, (u, w), vectorize=True)
r = A.jacobian(lambda a: a.exp(), u, vectorize=True, strict=True)
r = A.jacobian(lambda a: a.exp(), u, strict=True, vectorize=True, strategy='forward-mode')
r = A.jacobian(lambda a: a.exp(), u, strategy='forward-mode')
r = A.jacobian(lambda a: a.exp(), u, strategy='sideways')
r = A.jacobian(lambda a: a.exp(), y, create_graph=True, vectorize=True, strategy='forward-mode')
r = A.jacobian(lambda a: a.exp(), 5)
r = A.jacobian(lambda a: 'text', u)
r = A.jacobian(lambda a: (a, 5), u)
r = A.jacobian(lambda a: a.double().exp(), u)
r = A.jacobian(lambda a: a.exp(), u.double())
with T.no_grad(): r = A.jacobian(lambda a: a.exp(), u)
r = A.jacobian(lambda a: A.jacobian(lambda b: b.exp(), a, create_graph=True).sum(0), u)
r = A.jacobian(lambda a: F.softmax(a, 0), u)
r = A.jacobian(lambda a: a.max(), u)
""")  # noqa: E501

HESSIAN = programs("""
r = A.hessian(one, u)
r = A.hessian(lambda a: a.exp().sum(), c)
r = A.hessian(pair, (u, w))
r = A.hessian(one, (u,))
r = A.hessian(lambda a: a.exp(), u)
r = A.hessian(lambda a: (a.sum(), a.sum()), u)
r = A.hessian(lambda a: (one(a),), u)
r = A.hessian(lambda a: one(a).reshape(1, 1), u)
r = A.hessian(lambda a: a.sum(), u)
r = A.hessian(lambda a: a.sum(), u, strict=True)
r = A.hessian(lambda a, b: one(a), (u, w))
r = A.hessian(lambda a, b: one(a), (u, w), strict=True)
r = A.hessian(one, y)
r = A.hessian(one, y, create_graph=True) | r.sum().backward() | r = [r.detach(), r.requires_grad]
r = A.hessian(one, u, vectorize=True)
r = A.hessian(pair, (u, w), vectorize=True)
r = A.hessian(one, u, outer_jacobian_strategy='forward-mode')
r = A.hessian(one, u, outer_jacobian_strategy='sideways')
r = A.hessian(lambda a: w.sum(), u)
r = A.hessian(lambda a: w.sum(), u, strict=True)
r = A.hessian(one, 5)
with T.no_grad(): r = A.hessian(one, u)
""")  # noqa: E501

PRODUCTS = programs("""
r = A.vhp(one, u, w)
r = A.vhp(pair, (u, w), (w, w))
r = A.vhp(one, u)
r = A.vhp(lambda a: a ** 3, T.tensor(2.))
r = A.vhp(lambda a: a.exp(), u, w)
r = A.vhp(lambda a: (one(a), one(a)), u, w)
r = A.vhp(one, u, w[:2])
r = A.vhp(lambda a: a.sum(), u, w)
r = A.vhp(lambda a: a.sum(), u, w, strict=True)
r = A.vhp(lambda a, b: one(a), (u, w), (w, w))
r = A.vhp(lambda a, b: one(a), (u, w), (w, w), strict=True)
r = A.vhp(lambda a: w.sum(), u, w)
r = A.vhp(lambda a: w.sum(), u, w, strict=True)
r = A.vhp(one, y, w)
r = A.vhp(one, y, w, create_graph=True)[1] | r.sum().backward() | r = [r.detach(), r.requires_grad]
r = A.vhp(lambda a: (a * a).sum(), y, w, create_graph=True, strict=True)
with T.no_grad(): r = A.vhp(one, u, w)
r = A.hvp(one, u, w)
r = A.hvp(pair, (u, w), (w, w))
r = A.hvp(one, u)
r = A.hvp(lambda a: a ** 3, T.tensor(2.))
r = A.hvp(lambda a: a.exp(), u, w)
r = A.hvp(one, u, w[:2])
r = A.hvp(lambda a: a.sum(), u, w)
r = A.hvp(lambda a: a.sum(), u, w, strict=True)
r = A.hvp(lambda a, b: one(a), (u, w), (w, w))
r = A.hvp(lambda a, b: one(a), (u, w), (w, w), strict=True)
r = A.hvp(lambda a: w.sum(), u, w)
r = A.hvp(one, y, w)
r = A.hvp(one, y, w, create_graph=True)[1] | r.sum().backward() | r = [r.detach(), r.requires_grad]
r = A.hvp(lambda a: (a * a).sum(), y, w, create_graph=True, strict=True)
""")  # noqa: E501

GRAD = programs("""
r = G.grad(one)(u)
r = G.grad(lambda a: a.exp())(T.tensor(2.))
r = G.grad(pair)(u, w)
r = G.grad(pair, argnums=1)(u, w)
r = G.grad(pair, argnums=(0, 1))(u, w)
r = G.grad(pair, argnums=(1,))(u, w)
r = G.grad(pair, argnums=-1)(u, w)
r = G.grad(pair, argnums=2)(u, w)
r = G.grad(pair, argnums=-3)(u, w)
r = G.grad(pair, argnums=(0, 0))(u, w)
r = G.grad(pair, argnums='a')(u, w)
r = G.grad(lambda a: (one(a), a * 2), has_aux=True)(u)
r = G.grad(lambda a: (one(a), {'b': a * 2, 'k': 5}), has_aux=True)(u)
r = G.grad(lambda a: one(a), has_aux=True)(u)
r = G.grad(lambda a: (one(a), a, a), has_aux=True)(u)
r = G.grad(lambda a: a.exp())(u)
r = G.grad(lambda a: a.sum().reshape(1))(u)
r = G.grad(lambda a: 5)(u)
r = G.grad(lambda a: (a.sum(), a))(u)
r = G.grad(lambda p: (p['a'] * p['b'][0]).sum())({'a': u, 'b': [w, u]})
r = G.grad(lambda p: (p[0] * p[1]).sum())((u, w))
r = G.grad(lambda p: (p[0] * p[1]).sum())([u, w])
r = G.grad(lambda p: (p[0] * 2).sum())((u, 5))
r = G.grad(lambda a, k: (a * k['v']).sum())(u, {'v': w})
r = G.grad(lambda a, *, k: (a * k).sum())(u, k=w)
r = G.grad(one)(5)
r = G.grad(one)(i)
r = G.grad(one)()
r = G.grad(lambda a: w.sum())(u)
r = G.grad(lambda a: a.detach().sum())(u)
r = G.grad(lambda a, b: a.sum())(u, w)
r = G.grad(lambda a, b: a.sum(), argnums=(0, 1))(u, w)
r = G.grad(G.grad(lambda a: a ** 3))(T.tensor(2.))
r = G.grad(G.grad(G.grad(lambda a: a ** 4)))(T.tensor(2.))
r = G.grad(lambda a: G.grad(one)(a).sum())(u)
r = G.grad(lambda a: G.grad(lambda b: (a * b * b).sum())(w).sum())(u)
r = G.grad(one)(y).detach()
r = G.grad(one)(y) | r.sum().backward() | r = [r.requires_grad, y.grad]
with T.no_grad(): r = G.grad(one)(u)
def f(a): | ....with T.no_grad(): b = a * a | ....return (a * b).sum() | r = G.grad(f)(u)
with T.no_grad(): r = G.grad(lambda a: G.grad(one)(a).sum())(u)
r = G.grad_and_value(one)(u)
r = G.grad_and_value(pair, argnums=(0, 1))(u, w)
r = G.grad_and_value(lambda a: (one(a), a * 2), has_aux=True)(u)
r = G.grad_and_value(lambda a: a.exp())(u)
r = G.grad(one)(u).requires_grad
r = one(u) | r = [u.requires_grad, u.grad, G.grad(one)(u) is not None, u.requires_grad, u.grad]
G.grad(lambda a: a.mul_(2).sum())(u) | r = u
r = G.grad(lambda a: (a.clone().mul_(2) * a).sum())(u)
""".replace("....", "    "))  # noqa: E501

TRANSFORMS = programs("""
o, f = G.vjp(lambda a: a.exp(), u) | r = [o, f(w)]
o, f = G.vjp(pair, u, w) | r = [o, f(T.tensor(2.))]
o, f = G.vjp(two, u, w) | r = [o, f((T.tensor(1.), u))]
o, f = G.vjp(two, u, w) | r = f(T.tensor(1.))
o, f = G.vjp(lambda a: {'e': a.exp(), 's': a.sum()}, u) | r = [o, f({'e': w, 's': T.tensor(1.)})]
o, f = G.vjp(lambda p: p['a'] * p['b'], {'a': u, 'b': w}) | r = [o, f(u)]
o, f, a = G.vjp(lambda a: (a.exp(), a * 2), u, has_aux=True) | r = [o, f(w), a]
o, f = G.vjp(lambda a: a.exp(), u) | r = [f(w), f(u)]
o, f = G.vjp(lambda a: a.exp(), u) | r = f(w[:2])
o, f = G.vjp(lambda a: w * 2, u) | r = [o, f(u)]
o, f = G.vjp(lambda a, b: a * 2, u, w) | r = [o, f(u)]
o, f = G.vjp(lambda a: 5, u)
o, f = G.vjp(lambda a: a.exp(), u, has_aux=True)
r = G.grad(lambda a: G.vjp(lambda b: b.exp(), a)[1](w)[0].sum())(u)
r = G.jacrev(lambda a: a.exp())(u)
r = G.jacrev(lambda a: a.sum(1))(c)
r = G.jacrev(pair)(u, w)
r = G.jacrev(pair, argnums=1)(u, w)
r = G.jacrev(lambda a, b: a * b, argnums=(0, 1))(u, w)
r = G.jacrev(lambda a: (a.exp(), a.sum()))(u)
r = G.jacrev(lambda a: {'e': a.exp(), 's': a.sum()})(u)
r = G.jacrev(lambda p: p['a'] * p['b'])({'a': u, 'b': w})
r = G.jacrev(lambda a: (a.exp(), a * 2), has_aux=True)(u)
r = G.jacrev(lambda a: (a.exp(), {'k': a * 2}), has_aux=True)(u)
r = G.jacrev(lambda a: a.exp(), has_aux=True)(u)
r = G.jacrev(lambda a: a.exp(), chunk_size=2)(u)
r = G.jacrev(lambda a: a.exp(), chunk_size=0)(u)
r = G.jacrev(lambda a: a.exp(), argnums=1)(u)
r = G.jacrev(lambda a, *, k: a * k)(u, k=w)
r = G.jacrev(lambda a: w * 2)(u)
r = G.jacrev(lambda a, b: a * 2, argnums=(0, 1))(u, w)
r = G.jacrev(lambda a: 5)(u)
r = G.jacrev(G.jacrev(lambda a: a ** 3))(u)
r = G.jacrev(lambda a: a.exp())(y).detach()
with T.no_grad(): r = G.jacrev(lambda a: a.exp())(u)
r = G.hessian(one)(u)
r = G.hessian(pair)(u, w)
r = G.hessian(pair, argnums=1)(u, w)
r = G.hessian(pair, argnums=(0, 1))(u, w)
r = G.hessian(lambda p: (p['a'] ** 2 * p['b']).sum())({'a': u, 'b': w})
r = G.hessian(lambda a: a ** 3)(u)
with T.no_grad(): r = G.hessian(one)(u)
""")  # noqa: E501

FUNCTIONAL_CALL = programs("""
r = G.functional_call(n, {'weight': T.eye(4)}, c)
r = G.functional_call(n, {'weight': T.eye(4), 'bias': w}, (c,))
r = G.functional_call(n, ({'weight': T.eye(4)}, {'bias': w}), (c,))
r = G.functional_call(n, ({'weight': T.eye(4)}, {'weight': T.eye(4)}), (c,))
r = G.functional_call(n, {'weight': T.eye(4)}, (c,)) | r = [r, n.weight, n.bias]
r = G.functional_call(n, {'weight': T.eye(4)}, kwargs={'input': c})
r = G.functional_call(n, {'weight': T.eye(4)}, (c,), {})
r = G.functional_call(n, {'weight': T.eye(4), 'none': w}, (c,))
r = G.functional_call(n, {'weight': T.eye(4), 'none': w}, (c,), strict=True)
r = G.functional_call(n, {'weight': T.eye(4)}, (c,), strict=True)
r = G.functional_call(n, {'weight': T.eye(4), 'bias': w}, (c,), strict=True)
r = G.functional_call(n, {'weight': 5}, (c,))
r = G.functional_call(n, 5, (c,))
try: G.functional_call(n, {'weight': T.ones(2, 2)}, (c,)) | except RuntimeError: r = n.weight
q = T.nn.Sequential(n, n) | r = G.functional_call(q, {'0.weight': T.eye(4), '0.bias': w}, (c,))
q = T.nn.Sequential(n, n) | r = G.functional_call(q, {'0.weight': T.eye(4), '0.bias': w}, (c,), tie_weights=False)
q = T.nn.Sequential(n, n) | r = G.functional_call(q, {'0.weight': T.eye(4), '1.weight': T.ones(4, 4)}, (c,))
q = T.nn.Sequential(n, T.nn.ReLU()) | r = G.functional_call(q, {'0.weight': -T.eye(4)}, (c,))
p = {k: v.detach() for k, v in n.named_parameters()} | r = G.grad(lambda p: G.functional_call(n, p, (c,)).pow(2).sum())(p)
p = dict(n.named_parameters()) | r = G.functional_call(n, p, (c,)).sum() | r.backward() | r = [n.weight.grad, n.bias.grad]
b = T.nn.BatchNorm1d(4) | r = G.functional_call(b, {'weight': w}, (c,)) | r = [r, b.running_mean]
b = T.nn.BatchNorm1d(4) | m_ = T.zeros(4) | r = G.functional_call(b, {'running_mean': m_, 'num_batches_tracked': T.tensor(0)}, (c,)) | r = [r, b.running_mean, b.num_batches_tracked, m_]
class M(T.nn.Module): forward = lambda self, a, k=1: a * k | r = G.functional_call(M(), {}, (c,), {'k': 3})
""")  # noqa: E501


@pytest.mark.parametrize("code", [*VJP, *JVP])
def test_products_with_jacobians(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", JACOBIAN)
def test_jacobian(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", HESSIAN)
def test_hessian(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", PRODUCTS)
def test_products_with_hessians(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", GRAD)
def test_func_grad(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", TRANSFORMS)
def test_func_transforms(code):
    check(SETUP + code)


LINEAR = """
n = T.nn.Linear(4, 4)
T.nn.init.ones_(n.weight)
T.nn.init.zeros_(n.bias)
"""


@pytest.mark.parametrize("code", FUNCTIONAL_CALL)
def test_functional_call(code):
    check(SETUP + LINEAR + code)


@pytest.mark.parametrize("name", ["vmap", "jvp", "jacfwd", "linearize", "functionalize"])
def test_what_func_lacks_says_so(name):
    with pytest.raises((NotImplementedError, AttributeError), match=name):
        getattr(minitorch.func, name)(lambda a: a)
