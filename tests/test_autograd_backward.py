"""The backward pass beside torch's: arguments, accumulation, undefined gradients, errors, depth, memory (see both.py)."""

import gc
import sys
import time
import warnings
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from both import check, leaves, programs

import minitorch
from minitorch.autograd.graph import Node

ARGUMENTS = programs("""
(x * 2).sum().backward()
x.sum().backward(T.tensor(3.))
(x * 2).backward(c)
(x * 2).backward(gradient=c)
(x * 2).backward()
(x * 2).backward(T.ones(3, 5))
(x * 2).backward(T.ones(4))
(x * 2).backward(2.0)
(x * 2).backward([c])
(x * 2).backward(T.ones(3, 4, dtype=T.float64))
(x * 2).backward(T.ones(3, 4, dtype=T.int64))
(x * 2).double().backward(c)
x.sum().backward(T.ones(1))
x.sum(1, keepdim=True)[:1].backward()
(s * 2).backward()
s.backward()
s.backward() | s.backward(T.tensor(3.))
x.backward(c)
x.backward()
c.sum().backward()
(x > 0).sum().backward()
x.detach().sum().backward()
with T.no_grad(): a = x.sum() | a.backward()
with T.no_grad(): x.grad = None
a = x.sum() | with T.no_grad(): a.backward()
a = x * y | a.sum().backward(retain_graph=True) | a.sum().backward()
a = x * y | a.sum().backward() | a.sum().backward()
a = x + y | a.sum().backward() | a.sum().backward()
a = x * 2 | a.sum().backward() | a.sum().backward()
a = (x + y).sum() | a.backward() | a.backward() | r = a
a = x.exp().sum() | a.backward(retain_graph=True) | a.backward(retain_graph=True) | a.backward() | r = a
a = x.exp().sum() | a.backward(retain_graph=False) | a.backward()
a = x.exp() | a.sum().backward() | b = (a * 2).sum() | b.backward()
a = x.exp() | a[0].sum().backward(retain_graph=True) | a[1].sum().backward()
a = (x * x).sum() | a.backward(create_graph=True) | r = x.grad
a = (x ** 3).sum() | a.backward(create_graph=True) | b = x.grad | x.grad = None | b.sum().backward() | r = [b.detach(), x.grad]
a = (x * x).sum() | a.backward(create_graph=True, retain_graph=False) | a.backward()
a = (x * y).sum() | a.backward(create_graph=True) | (x.grad * y.grad.sum()).sum().backward() | r = x.grad
a = (x * y).sum() | a.backward(inputs=[x])
a = (x * y).sum() | a.backward(inputs=x)
a = (x * y).sum() | a.backward(inputs=(x, y))
a = (x * y).sum() | a.backward(inputs=[])
a = (x * y).sum() | a.backward(inputs=[c])
a = (x * y).sum() | a.backward(inputs=[m])
a = (x * y).sum() | a.backward(inputs=[x, x])
a = x * 2 | b = (a * y).sum() | b.backward(inputs=[a])
a = x * 2 | a.retain_grad() | b = (a * y).sum() | b.backward(inputs=[a]) | r = a.grad
a = x * 2 | a.retain_grad() | b = (a * y).sum() | b.backward(inputs=[a, x]) | r = a.grad
a = x * 2 | b = (a * y).sum() | b.backward(inputs=[y]) | b.backward(inputs=[y])
a = (x * y).sum() | a.backward(inputs=[x], retain_graph=True) | a.backward(inputs=[y])
a = (x * x).sum() | a.backward(inputs=[x], create_graph=True) | r = x.grad
a = x.sum() | a.backward(inputs=['x'])
T.autograd.backward(x.sum())
T.autograd.backward([x.sum(), (x * y).sum()])
T.autograd.backward((x.sum(), y.sum()), (T.tensor(2.), None))
T.autograd.backward([x * 2, y * 3], [c, c[0]])
T.autograd.backward([x * 2, y * 3], [c])
T.autograd.backward([x * 2, y * 3], c)
T.autograd.backward(x * 2, c)
T.autograd.backward([x * 2], grad_tensors=[None])
T.autograd.backward([x * 2], grad_tensors=c)
T.autograd.backward([x.sum()], grad_tensors=[1.0])
T.autograd.backward([])
T.autograd.backward([x.sum(), c.sum()])
T.autograd.backward([c.sum(), x.sum()])
T.autograd.backward([x.sum(), x.sum()], retain_graph=True)
a = x.sum() | T.autograd.backward([a, a])
a = x.exp() | b = a.sum() | d = (a * 2).sum() | T.autograd.backward([b, d])
a = x.exp() | T.autograd.backward([a.sum(), a], [None, c])
a = (x * y).sum() | T.autograd.backward([a], inputs=[y])
a = (x * y).sum() | T.autograd.backward([a, x.sum()], inputs=[x])
a = x.exp().sum() | T.autograd.backward(a, T.tensor(2.), True) | T.autograd.backward(a, T.tensor(3.))
a = x.exp().sum() | T.autograd.backward(a, create_graph=True) | r = x.grad
T.autograd.backward(x.sum(), grad_variables=T.tensor(2.))
T.autograd.backward(x.sum(), T.tensor(2.), grad_variables=T.tensor(2.))
T.autograd.backward(5)
T.autograd.backward([x.sum(), None])
""")  # noqa: E501

GRAD = programs("""
r = T.autograd.grad((x * y).sum(), x)
r = T.autograd.grad((x * y).sum(), [x, y])
r = T.autograd.grad((x * y).sum(), (y, x, y))
r = T.autograd.grad(x * y, x, c)
r = T.autograd.grad(x * y, x, [c])
r = T.autograd.grad([x * y, x * 2], [x], [c, c])
r = T.autograd.grad([x * y, x.sum()], [x, y], [c, None])
r = T.autograd.grad(x * y, x)
r = T.autograd.grad(x * y, x, T.ones(2))
r = T.autograd.grad(x * y, x, [c, c])
r = T.autograd.grad(x.sum(), [x, y])
r = T.autograd.grad(x.sum(), [x, y], allow_unused=True)
r = T.autograd.grad(x.sum(), [x, y], allow_unused=False)
r = T.autograd.grad(x.sum(), [x, y], materialize_grads=True)
r = T.autograd.grad(x.sum(), [x, y], materialize_grads=True, allow_unused=True)
r = T.autograd.grad(x.sum(), [x, y], materialize_grads=True, allow_unused=False)
r = T.autograd.grad(x.sum(), [x, y], materialize_grads=True, create_graph=True)
r = T.autograd.grad(x.sum(), c)
r = T.autograd.grad(x.sum(), [x, c])
r = T.autograd.grad(x.sum(), c, allow_unused=True)
r = T.autograd.grad(c.sum(), x)
r = T.autograd.grad(c.sum(), x, allow_unused=True)
r = T.autograd.grad([x.sum(), c.sum()], x)
r = T.autograd.grad(x.sum(), [])
r = T.autograd.grad([], [x])
r = T.autograd.grad(x.sum(), 'x')
r = T.autograd.grad(x.sum(), [x, None])
r = T.autograd.grad(x, x, c)
r = T.autograd.grad(s, s)
r = T.autograd.grad(s, [s, x], allow_unused=True)
a = x * 2 | r = T.autograd.grad((a * y).sum(), a)
a = x * 2 | r = T.autograd.grad((a * y).sum(), [a, x])
a = x * 2 | r = T.autograd.grad(a.sum(), a)
a = x * 2 | r = T.autograd.grad(a, a, c)
a = x * 2 | b = a + 1 | r = T.autograd.grad(a.sum(), [b], allow_unused=True)
a = x * 2 | b = a + 1 | r = T.autograd.grad(a.sum(), [b])
a = x.unbind() | r = T.autograd.grad((a[0] * a[2]).sum(), [a[0], a[1], a[2]], allow_unused=True)
a = x.unbind() | r = T.autograd.grad((a[0] * a[2]).sum(), [a[1]], allow_unused=True)
a = x.unbind() | r = T.autograd.grad((a[0] * a[2]).sum(), [a[1]])
a = x.max(1) | r = T.autograd.grad(a.values.sum(), x)
a = x.max(1) | r = T.autograd.grad(a.values.sum(), a.indices)
r = T.autograd.grad((x ** 3).sum(), x, create_graph=True) | r = T.autograd.grad(r[0].sum(), x)
r = T.autograd.grad((x ** 4).sum(), x, create_graph=True) | r = T.autograd.grad(r[0].sum(), x, create_graph=True) | r = T.autograd.grad(r[0].sum(), x)
r = T.autograd.grad((x * 2).sum(), x, create_graph=True)
r = T.autograd.grad(x.sum(), x, create_graph=True) | r = T.autograd.grad(r[0].sum(), x)
r = T.autograd.grad((x * y).sum(), x, create_graph=True) | r = T.autograd.grad(r[0].sum(), [x, y], allow_unused=True)
a = (x * y).sum() | r = T.autograd.grad(a, x) | r = T.autograd.grad(a, y)
a = (x * y).sum() | r = T.autograd.grad(a, x, retain_graph=True) | r += T.autograd.grad(a, y)
a = (x * y).sum() | r = T.autograd.grad(a, x, None, True) | r += T.autograd.grad(a, y, None, False)
a = (x * 2 + y.exp().sum()).sum() | r = T.autograd.grad(a, x) | r = T.autograd.grad(a, y)
a = x.exp() | b = (a * y).sum() | r = T.autograd.grad(b, a) | r = a.sum().backward()
a = x.exp() | b = (a * y).sum() | r = T.autograd.grad(b, y) | r = T.autograd.grad(b, a)
with T.no_grad(): r = T.autograd.grad((x * 2).sum(), x)
a = (x * x).sum() | with T.no_grad(): r = T.autograd.grad(a, x)
a = (x * x).sum() | with T.no_grad(): r = T.autograd.grad(a, x, create_graph=True)
with T.enable_grad(): r = T.autograd.grad((x * x).sum(), x)
g = c.clone().requires_grad_() | r = T.autograd.grad(x * y, x, g, create_graph=True) | r += T.autograd.grad(r[0].sum(), g)
g = c.clone().requires_grad_() | r = T.autograd.grad(x * y, x, g)
g = c.clone().requires_grad_() | (x * y).backward(g) | r = x.grad
g = c.clone().requires_grad_() | (x * y).backward(g, create_graph=True) | r = x.grad
e = T.autograd.graph.get_gradient_edge(x) | r = T.autograd.grad((x * y).sum(), e)
a = x * 2 | e = T.autograd.graph.get_gradient_edge(a) | b = (a * y).sum() | r = T.autograd.grad(b, [e, x])
a = x * 2 | e = T.autograd.graph.get_gradient_edge(a) | r = T.autograd.grad(e, x, c)
a = (x * 2).sum() | e = T.autograd.graph.get_gradient_edge(a) | r = T.autograd.grad(e, x)
a = (x * 2).sum() | e = T.autograd.graph.get_gradient_edge(a) | T.autograd.backward(e)
a = (x * 2).sum() | e = T.autograd.graph.get_gradient_edge(a) | T.autograd.backward([e], inputs=[x])
e = T.autograd.graph.get_gradient_edge(x) | (x * y).sum().backward(inputs=[e])
a = x.unbind() | e = T.autograd.graph.get_gradient_edge(a[2]) | r = [e.output_nr, type(e.node).__name__] | r += T.autograd.grad((a[2] * y).sum(), e)
T.autograd.graph.get_gradient_edge(c)
""")  # noqa: E501

ACCUMULATION = programs("""
x.sum().backward() | g = x.grad | (x * 2).sum().backward() | r = [g is x.grad, g, g._version]
x.sum().backward() | g = x.grad | (x * x).sum().backward(create_graph=True) | r = [g is x.grad, g, x.grad]
(x * x).sum().backward(create_graph=True) | g = x.grad | x.sum().backward() | r = [g is x.grad, g, x.grad]
x.grad = T.zeros(3, 4) | g = x.grad | x.sum().backward() | r = [g is x.grad, g]
x.grad = T.zeros(3, 4).t().contiguous().t() | g = x.grad | x.sum().backward() | r = [g is x.grad, x.grad.stride()]
x.grad = T.zeros(4).expand(3, 4) | (x * 2).sum().backward()
x.sum().backward() | x.grad.zero_() | (x * 3).sum().backward() | r = x.grad
x.sum().backward() | x.grad = None | (x * 3).sum().backward() | r = x.grad
x.sum().backward() | del x.grad | r = x.grad
x.sum().backward() | x.grad.requires_grad_() | (x * 3).sum().backward()
x.grad = (c.clone().requires_grad_() * 2) | (x * 3).sum().backward()
x.grad = (c.clone().requires_grad_() * 2) | (x * 3).sum().backward(create_graph=True) | r = x.grad
with T.no_grad(): x.grad = c.clone() | x.sum().backward() | r = x.grad
g = c.clone() | (x * 1).backward(g) | g.zero_() | r = x.grad
g = c.clone() | x.backward(g) | g.zero_() | r = [x.grad, x.grad is g]
g = c.clone() | (x + c).backward(g) | g.zero_() | r = [x.grad, x.grad.data_ptr() == g.data_ptr()]
g = c.clone() | p = c.clone().requires_grad_() | (x + p).backward(g) | x.grad.zero_() | r = [p.grad, g]
p = c.clone().requires_grad_() | (x + p).sum().backward() | x.grad.add_(1) | r = p.grad
p = c.clone().requires_grad_() | (x - p).sum().backward() | x.grad.add_(1) | r = p.grad
p = c.clone().requires_grad_() | T.cat([x, p]).sum().backward() | x.grad.add_(1) | r = p.grad
p = c.clone().requires_grad_() | (x.view(12) + p.view(12)).sum().backward() | x.grad.add_(1) | r = p.grad
p = c.clone().requires_grad_() | T.stack([x, p]).sum().backward() | x.grad.add_(1) | r = [p.grad, x.grad.is_contiguous()]
x.expand(2, 3, 4).sum().backward() | x.grad.add_(1) | r = [x.grad, x.grad.stride()]
x.t().sum().backward() | r = x.grad.stride()
(x.t() @ c).sum().backward() | r = x.grad.stride()
x.sum().backward() | r = x.grad.stride()
s.expand(3).sum().backward() | r = [s.grad, s.grad.stride()]
a = x * 2 | a.retain_grad() | b = a + c | b.sum().backward() | a.grad.zero_() | r = x.grad
a = x + c | a.retain_grad() | a.sum().backward() | a.grad.add_(1) | r = [a.grad, x.grad]
r = T.autograd.grad(x + y, x, c) | r[0].zero_() | r = c
a = x + 0 | g = c.clone() | r = T.autograd.grad(a, x, g) | r = r[0].data_ptr() == g.data_ptr()
p = c.clone().requires_grad_() | r = T.autograd.grad((x + p).sum(), [x, p]) | r[0].add_(1)
w = (x * 2).t() | w.sum().backward() | r = [x.grad.stride(), x.grad.is_contiguous()]
p = c.t().clone().requires_grad_() | (p * 2).sum().backward() | r = p.grad.stride()
p = c.t().detach().requires_grad_() | (p * 2).sum().backward() | r = p.grad.stride()
p = T.zeros(4, 6)[:, ::2].requires_grad_() | (p * 2).sum().backward() | r = p.grad.stride()
p = T.zeros(3, 4, dtype=T.float64).requires_grad_() | (x * p).sum().backward() | r = [p.grad, x.grad]
p = c.half().requires_grad_() | (x * p).sum().backward() | r = [p.grad, x.grad]
p = c.bfloat16().requires_grad_() | p.float().sum().backward() | r = p.grad
a = x * x * x * y | a.sum().backward() | r = x.grad
a = x | for _ in range(5): a = a * a + a | a.sum().backward() | r = a
""")  # noqa: E501

GRAD_ATTRIBUTE = programs("""
a = x * 2 | r = a.grad
a = x * 2 | a.sum().backward() | r = a.grad
a = x * 2 | a.retain_grad() | a.sum().backward() | r = [a.grad, a.retains_grad]
a = x * 2 | a.retain_grad() | a.retain_grad() | a.sum().backward() | r = a.grad
a = x * 2 | a.retain_grad() | a.sum().backward(retain_graph=True) | g = a.grad | a.sum().backward() | r = [a.grad, a.grad is g]
a = x * 2 | a.retain_grad() | (a * a).sum().backward(create_graph=True) | r = a.grad
a = x * 2 | a.retain_grad() | b = a.detach() | r = b.retains_grad
x.retain_grad() | r = x.retains_grad
c.retain_grad()
a = x.detach() | r = a.grad
a = x.unbind() | a[1].retain_grad() | (a[0] * a[1]).sum().backward() | r = a[1].grad
a = x * 2 | a.retain_grad() | r = T.autograd.grad(a.sum(), x) | r = a.grad
a = x * 2 | a.retain_grad() | r = T.autograd.grad(a.sum(), a) | r = a.grad
a = x * 2 | a.requires_grad = False
a = x * 2 | a.requires_grad = True
a = x * 2 | a.requires_grad_(False)
x.requires_grad = 1
x.requires_grad = False | r = x
c.requires_grad_() | r = c
i.requires_grad_()
T.tensor([1, 2], requires_grad=True)
T.tensor([True]).requires_grad_()
x.grad = 5
x.grad = c
x.grad = T.ones(4, 3)
x.grad = x
a = x * 2 | a.grad = c | r = a.grad
c.grad = T.ones(3, 4) | r = c.grad
x.grad = c[:1].expand(3, 4) | r = x.grad
a = x * 2 | r = [a.is_leaf, a.requires_grad, a.detach().is_leaf, x.is_leaf, c.is_leaf]
a = x * 2 | a.detach_() | r = [a.is_leaf, a.requires_grad]
a = x[0] | a.detach_()
a = x * 2 | r = [x.output_nr, a.output_nr, x.unbind()[2].output_nr]
r = [x.grad_fn, type((x * 2).grad_fn).__name__, (x * 2).grad_fn.name()]
r = x.grad
""")  # noqa: E501

INTEGER_OR_DETACHED = programs("""
a = x.argmax(1) | r = a
a = (x * 3).long() | r = a
a = (x * 3).long() | (a * x).sum().backward() | r = a
(x * (x > .5)).sum().backward()
(x * x.detach()).sum().backward()
(x * x.data).sum().backward()
a = x.max(1) | (a.values * a.indices).sum().backward()
a = x.sort(1) | (a.values * a.indices).sum().backward() | r = a.indices
a = x.topk(2) | a.values.sum().backward() | r = a.indices
a = x.float() | r = a is x
a = x.double() | (a * 2).sum().backward() | r = a
a = x.half().float() | a.sum().backward() | r = a
a = x.int() | a.sum().backward()
a = x.bool() | r = a
a = (x > .5).float() | a.sum().backward()
a = x.floor() | a.sum().backward() | r = a
a = x.sign() | a.sum().backward() | r = a
a = x.round() * y.ceil() | a.sum().backward() | r = a
a = T.zeros_like(x) | r = a
a = T.ones_like(x, requires_grad=True) | a.sum().backward() | r = a.grad
a = T.where(x > .5, x, c) | a.sum().backward()
a = T.where(x > .5, x.detach(), c) | a.sum().backward()
with T.no_grad(): a = x * 2 | (a * x).sum().backward() | r = a
with T.no_grad(): a = x.detach().requires_grad_() | (a * x).sum().backward() | r = a.grad
with T.inference_mode(): a = x * 2 | (a * x).sum().backward()
a = x.detach() | a.requires_grad_() | (a * 2).sum().backward() | r = [a.grad, x.grad]
r = T.is_grad_enabled(), T.is_inference_mode_enabled()
a = x.nonzero() | r = a
""")  # noqa: E501

# what becomes of a gradient that never arrives; `N` gives none
UNDEFINED = programs("""
N(x * 2).sum().backward()
N(x).sum().backward()
N(x.exp()).sum().backward()
(N(x) + x).sum().backward()
(N(x) + y).sum().backward()
N(x * y).sum().backward()
N(F.linear(x, m.t())).sum().backward()
N(x.softmax(1)).sum().backward()
N(x.view(12)).sum().backward()
N(x[0]).sum().backward()
N(x.clone()).sum().backward()
N(T.cat([x, x])).sum().backward()
N(T.where(c > .5, x, y)).sum().backward()
N(F.layer_norm(x, (4,))).sum().backward()
N(F.conv1d(v, v)).sum().backward()
N(x @ m).sum().backward()
N(x.sum()).backward()
x.grad = c.clone() | N(x * 2).sum().backward()
r = T.autograd.grad(N(x * 2).sum(), x, allow_unused=True)
r = T.autograd.grad(N(x * 2).sum(), x)
r = T.autograd.grad(N(x * 2).sum(), x, materialize_grads=True)
r = T.autograd.grad(N(x * 2).sum() + y.sum(), [x, y], allow_unused=True)
r = T.autograd.grad(N(x * 2).sum(), x, allow_unused=True, create_graph=True)
r = [] | a = x * 2 | a.register_hook(r.append) | N(a).sum().backward()
r = [] | a = x * 2 | a.grad_fn.register_prehook(r.append) | a.grad_fn.register_hook(lambda i, o: r.append((i, o))) | N(a).sum().backward()
a = x * 2 | a.retain_grad() | N(a).sum().backward() | r = a.grad
r = [] | x.register_hook(r.append) | N(x).sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(t.grad)) | N(x).sum().backward()
a = x * 2 | a.add_(N(y)) | a.sum().backward()
a = x * 2 | a[0] = N(y) | a.sum().backward()
a = x * 2 | a[0].mul_(N(y)) | a.sum().backward()
a = N(x * 2) | a[0] = y | a.sum().backward()
r = [] | a = x.sort(1) | a[0].grad_fn.register_prehook(r.append) | a[0].sum().backward()
r = [] | a = x.topk(2) | a[0].grad_fn.register_prehook(r.append) | a[0].sum().backward()
a = T.var_mean(x, 1) | a[1].sum().backward()
a = T.std_mean(x, 1) | a[0].sum().backward()
a = T.aminmax(x, dim=1) | a[0].sum().backward()
a = T.aminmax(x, dim=1) | (a[0] + 2 * a[1]).sum().backward()
a = x.cummax(1) | a[0].sum().backward()
a = x.split(1) | a[1].sum().backward()
a = x.chunk(2, 1) | (a[1] * 2).sum().backward()
a = x.unbind(1) | (a[0] + a[3]).sum().backward()
a = N(x.unbind()[0]) + x.unbind()[1] | a.sum().backward()
a = T.stack([N(x), x]) | a.sum().backward()
a = T.meshgrid(y, y, indexing='ij') | a[0].sum().backward()
a = F.max_pool1d(v, 2, return_indices=True) | a[0].sum().backward()
""")  # noqa: E501

N = """
class NoGradient(Function):
    @staticmethod
    def forward(ctx, a): return a * 1
    @staticmethod
    def backward(ctx, g): return None
N = NoGradient.apply
"""


@pytest.mark.parametrize("code", UNDEFINED)
def test_undefined_gradients(code):
    check(N + code)


@pytest.mark.parametrize("code", ARGUMENTS)
def test_arguments(code):
    check(code)


@pytest.mark.parametrize("code", GRAD)
def test_grad(code):
    check(code)


@pytest.mark.parametrize("code", ACCUMULATION)
def test_accumulation(code):
    check(code)


@pytest.mark.parametrize("code", GRAD_ATTRIBUTE)
def test_grad_attribute(code):
    check(code)


@pytest.mark.parametrize("code", INTEGER_OR_DETACHED)
def test_integer_or_detached_paths(code):
    check(code)


@pytest.mark.parametrize("gradient", ["T.ones(3, 4, dtype=T.float64)", "i"])
def test_gradient_of_another_dtype(gradient):
    for T in (torch, minitorch):
        space = leaves(T)
        with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype .* grad_dtype"):
            exec(f"x.grad = {gradient}", space)
        assert space["x"].grad is None


def test_batches_of_gradients_are_refused():
    x = minitorch.ones(3).requires_grad_()
    with pytest.raises(NotImplementedError, match="is_grads_batched"):
        minitorch.autograd.grad(x * 2, x, minitorch.ones(2, 3), is_grads_batched=True)


# ---- depth ----------------------------------------------------------------------------------------------------------

BODIES = {
    "chain": lambda a: a * 0.9999,
    "diamonds": lambda a: a * 0.5 + a * 0.5,
    "saved": lambda a: a * a,
    "results": lambda a: a.tanh(),
    "views": lambda a: a.view(3),
    "functions": lambda a: Double.apply(a),
}


class Double(minitorch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        Double.calls += 1
        return grad * 0.5


def deep(body, n, x):
    a = x
    for _ in range(n):
        a = body(a)
    return a.sum()


@pytest.fixture
def uncollected():
    """Without Python's cycle collector, which goes through all that lives again and again as the graph grows."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "name, n, consumed",
    [
        ("chain", 100_000, True), ("diamonds", 100_000, True), ("saved", 100_000, False), ("saved", 20_000, True),
        ("results", 20_000, True), ("results", 20_000, False), ("views", 20_000, True), ("functions", 20_000, True),
        ("functions", 20_000, False),
    ],
)  # fmt: skip
def test_deep(name, n, consumed, uncollected):
    """No recursion, neither in the walk nor when the graph is destroyed, used or unused."""
    x = minitorch.full((3,), 0.5).requires_grad_()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        loss = deep(BODIES[name], n, x)
        if consumed:
            loss.backward()
        del loss
    finally:
        sys.setrecursionlimit(limit)
    assert (x.grad is not None) == consumed


def test_diamonds_are_walked_once():
    x = minitorch.ones(3).requires_grad_()
    Double.calls = 0
    deep(lambda a: Double.apply(a) + Double.apply(a), 1000, x).backward()
    assert Double.calls == 2000


def test_linear_time(uncollected):
    """Eight times the graph may take three times eight times the time (64 times where it is quadratic)."""

    def seconds(n):
        x = minitorch.ones(3).requires_grad_()
        loss = deep(BODIES["diamonds"], n, x)
        start = time.process_time()
        loss.backward()
        del loss
        return time.process_time() - start

    assert min(seconds(16_000) for _ in range(2)) < 24 * min(seconds(2_000) for _ in range(3))


# ---- memory ---------------------------------------------------------------------------------------------------------

RELEASED = programs("""
r = (x * y).sum() | r.backward()
r = (x * y).sum()
r = x.exp().log().tanh().sigmoid().softmax(1).sum() | r.backward()
r = x.exp().log().tanh().sigmoid().softmax(1).sum()
n = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU(), T.nn.Linear(8, 2)) | r = F.cross_entropy(n(x), T.tensor([0, 1, 0])) | r.backward()
n = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.GELU(), T.nn.LayerNorm(8), T.nn.Dropout(.5)) | r = n(x).pow(2).mean() | r.backward()
n = T.nn.Sequential(T.nn.Conv2d(1, 2, 3), T.nn.BatchNorm2d(2), T.nn.ReLU(), T.nn.MaxPool2d(2)) | r = n(T.ones(2, 1, 8, 8)).sum() | r.backward()
n = T.nn.LSTM(4, 5) | r = n(v)[0].sum() | r.backward()
n = T.nn.GRU(4, 5) | r = n(v)[0].sum()
n = T.nn.MultiheadAttention(4, 2) | r = n(v, v, v)[0].sum() | r.backward()
n = T.nn.TransformerEncoderLayer(4, 2, 8) | r = n(v).sum() | r.backward()
n = T.nn.Embedding(5, 3) | r = n(i).sum() | r.backward()
n = T.nn.Linear(4, 4) | o = T.optim.Adam(n.parameters()) | n(x).sum().backward() | o.step() | o.zero_grad()
a = x.view(12).t().reshape(3, 4)[1:] | r = a.sum() | r.backward()
a = x.unbind() | r = (a[0] * a[1]).sum() | r.backward()
a = x.split(1) | r = T.cat(a).sum()
a = x * 2 | a.add_(1) | a.mul_(y) | r = a.sum() | r.backward()
a = x * 2 | a[0] = y | r = a.sum() | r.backward()
a = x * 2 | b = a[0] | b.mul_(y) | r = a.sum() | r.backward()
a = x * 2 | b = a[0] | b.exp_() | r = b.sum()
a = x * 2 | b = a.view(12)[2:] | d = b[1:] | d.sigmoid_() | r = (a.sum() + b.sum()) | r.backward()
a = T.zeros(3, 4) | a[1] = y * 2 | a.relu_() | r = a.sum() | r.backward()
a = x * 2 | a.retain_grad() | r = (a * a).sum() | r.backward()
a = x * 2 | a.register_hook(lambda g: g * 2) | r = (a * a).sum() | r.backward()
a = x * 2 | a.grad_fn.register_hook(lambda i, o: None) | a.grad_fn.register_prehook(lambda o: None) | r = (a * a).sum() | r.backward()
x.register_hook(lambda g: g * 2) | x.register_post_accumulate_grad_hook(lambda t: None) | r = (x * x).sum() | r.backward()
n = T.nn.Linear(4, 2) | n.register_full_backward_hook(lambda m, i, o: None) | r = n(x).sum() | r.backward()
n = T.nn.Linear(4, 2) | n.register_full_backward_hook(lambda m, i, o: None) | r = n(x).sum()
n = T.nn.Linear(4, 2) | n.register_full_backward_hook(lambda m, i, o: None) | r = n(c).sum() | r.backward()
n = T.nn.Linear(4, 2) | n.register_full_backward_pre_hook(lambda m, o: None) | r = n(x).sum() | r.backward()
n = T.nn.Linear(4, 2) | n.register_forward_hook(lambda m, i, o: o * 2) | r = n(x).sum() | r.backward()
r = T.autograd.grad((x * y).sum(), [x, y])
r = T.autograd.grad((x * x * y).sum(), [x, y], create_graph=True) | r = T.autograd.grad(r[0].sum(), [x, y])
r = T.autograd.grad((x.exp() * y).sum(), [x, y], create_graph=True)
r = T.autograd.grad((x.tanh() * y).softmax(1)[:, 0].sum(), [x, y], create_graph=True) | r[0].sum().backward()
r = T.autograd.functional.hessian(lambda a: (a ** 3).sum(), y)
r = T.func.hessian(lambda a: (a ** 3).sum())(y)
r = T.func.grad(lambda a: (a ** 3).sum())(y)
r = T.autograd.functional.vjp(lambda a: a.exp(), y, T.ones(4), create_graph=True)
r = T.utils.checkpoint.checkpoint(lambda a: (a * a).exp(), x, use_reentrant=False).sum() | r.backward()
r = T.utils.checkpoint.checkpoint(lambda a: (a * a).exp(), x, use_reentrant=False).sum()
r = T.utils.checkpoint.checkpoint(lambda a: (a * a).exp(), x, use_reentrant=True).sum() | r.backward()
r = T.utils.checkpoint.checkpoint(lambda a: (a * a).exp(), x, use_reentrant=True).sum()
with T.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): r = (x * x).exp().sum() | r.backward()
with T.autograd.graph.save_on_cpu(): r = (x * x).exp().sum() | r.backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): r = (x * 2).exp().sum()
with T.autograd.set_detect_anomaly(True): r = (x * x).exp().sum() | r.backward()
with T.autocast('cpu', dtype=T.bfloat16): r = (x @ m).sum() | r.backward()
r = F.conv2d(v[None], T.ones(2, 2, 2, 2).requires_grad_()).sum() | r.backward()
a = x.max(1) | r = a.values.sum() | r.backward()
a = x.sort(1) | r = a.values.sum()
r = T.cat([x, x * 2]).sum() + T.stack([y, y])[0].sum() + T.where(c > .5, x, x * 2).sum() | r.backward()
r = x.double().half().float().sum() | r.backward()
a = (x * 2).detach() | b = (x * 2).data | r = T.no_grad()(lambda: x * 3)()
a = x * 2 | a.detach_() | r = a.sum()
class A(Function): |     forward = staticmethod(lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1]) |     backward = staticmethod(lambda ctx, g: g * ctx.saved_tensors[0]) | r = A.apply(x).sum() | r.backward()
class A(Function): |     forward = staticmethod(lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1]) |     backward = staticmethod(lambda ctx, g: g * ctx.saved_tensors[0]) | r = A.apply(x * 2).sum()
class A(Function): |     @staticmethod |     def forward(ctx, a): |         b = a.exp() |         ctx.save_for_backward(b) |         return b |     backward = staticmethod(lambda ctx, g: g * ctx.saved_tensors[0]) | r = A.apply(x).sum() | r.backward()
class A(Function): |     @staticmethod |     def forward(ctx, a): |         b = a.exp() |         ctx.save_for_backward(b) |         return b |     backward = staticmethod(lambda ctx, g: g * ctx.saved_tensors[0]) | r = A.apply(x).sum()
class A(Function): |     @staticmethod |     def forward(ctx, a): |         ctx.mark_dirty(a) |         a.mul_(2) |         return a |     backward = staticmethod(lambda ctx, g: g * 2) | r = A.apply(x * 1).sum() | r.backward()
class A(Function): |     forward = staticmethod(lambda ctx, a: a) |     backward = staticmethod(lambda ctx, g: g) | r = A.apply(x).sum()
class A(Function): |     forward = staticmethod(lambda ctx, a: a[0]) |     backward = staticmethod(lambda ctx, g: g.expand(3, 4)) | r = A.apply(x).sum()
a = x.exp() | try: a.sum().backward(T.ones(2)) | except RuntimeError: pass
a = x.exp() | a.add_(1) | try: a.sum().backward() | except RuntimeError: pass
a = x.exp() | a.register_hook(lambda g: 1 / 0) | try: a.sum().backward() | except ZeroDivisionError: pass
""")  # noqa: E501


@pytest.fixture
def little_to_look_through():
    """What other tests and libraries have left is moved out of the collector's sight, which makes it a hundred times
    faster."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def alive():
    gc.collect()
    return Counter(type(o).__name__ for o in gc.get_objects() if isinstance(o, (minitorch.Tensor, Node)))


@pytest.mark.usefixtures("little_to_look_through")
@pytest.mark.parametrize("code", RELEASED)
def test_released_by_reference_counting(code):
    """When a program's names are gone, so are its tensors and nodes, without the help of the cycle collector."""
    program = compile(code, "<program>", "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(program, leaves(minitorch))  # what is made once and kept
        before = alive()
        gc.disable()
        try:
            space = leaves(minitorch)
            exec(program, space)
            modules = [v for v in space.values() if isinstance(v, (minitorch.nn.Module, type))]
            tracked = gc.get_objects()
            found = [o for o in tracked if isinstance(o, (minitorch.Tensor, Node))]
            assert len(found) > sum(before.values())
            del tracked, found
            space.clear()
            after = Counter(type(o).__name__ for o in gc.get_objects() if isinstance(o, (minitorch.Tensor, Node)))
        finally:
            gc.enable()
    kept = sum(sum(1 for _ in m.parameters()) + sum(1 for _ in m.buffers()) for m in modules if not isinstance(m, type))
    grads = sum(p.grad is not None for m in modules if not isinstance(m, type) for p in m.parameters())
    assert sum((after - before).values()) <= kept + grads, after - before
