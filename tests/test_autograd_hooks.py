"""Hooks beside torch's: on tensors, nodes, several tensors at once, modules, and on what is saved (see both.py)."""

import pytest

torch = pytest.importorskip("torch")

from both import check, programs

TENSORS = programs("""
r = [] | x.register_hook(r.append) | (x * y).sum().backward()
x.register_hook(lambda g: g * 2) | (x * y).sum().backward()
x.register_hook(lambda g: g * 2) | x.register_hook(lambda g: g + 1) | (x * y).sum().backward()
x.register_hook(lambda g: g + 1) | x.register_hook(lambda g: g * 2) | (x * y).sum().backward()
r = [] | x.register_hook(lambda g: r.append(1)) | x.register_hook(lambda g: r.append(2)) | x.sum().backward()
h = x.register_hook(lambda g: g * 2) | h.remove() | x.sum().backward()
h = x.register_hook(lambda g: g * 2) | h.remove() | h.remove() | x.sum().backward()
with x.register_hook(lambda g: g * 2) as h: x.sum().backward() | x.sum().backward()
r = [] | h = x.register_hook(lambda g: (r.append(1), h.remove())[0]) | x.sum().backward() | x.sum().backward()
r = [] | x.register_hook(lambda g: (r.append(1), x.register_hook(lambda g: r.append(2)))[0]) | x.sum().backward() | x.sum().backward()
r = [] | x.register_hook(lambda g: r.append(x.grad)) | x.sum().backward() | x.sum().backward()
x.sum().backward() | x.register_hook(lambda g: g * 2) | x.sum().backward() | r = x.grad
r = [] | x.register_hook(r.append) | (x * y + x + x * 2).sum().backward()
r = [] | a = x * 2 | a.register_hook(r.append) | (a * a + a).sum().backward()
a = x * 2 | a.register_hook(lambda g: g * 0) | (a * a).sum().backward()
a = x * 2 | h = a.register_hook(lambda g: g * 0) | h.remove() | (a * a).sum().backward()
a = x * 2 | a.register_hook(lambda g: g * 3) | a.retain_grad() | a.sum().backward() | r = a.grad
a = x * 2 | a.retain_grad() | a.register_hook(lambda g: g * 3) | a.sum().backward() | r = a.grad
a = x * 2 | a.register_hook(lambda g: g * 3) | r = T.autograd.grad(a.sum(), a)
a = x * 2 | a.register_hook(lambda g: g * 3) | r = T.autograd.grad(a.sum(), [x, a])
x.register_hook(lambda g: g * 3) | r = T.autograd.grad(x.sum(), x)
r = [] | x.register_hook(r.append) | y.register_hook(r.append) | T.autograd.grad((x * y).sum(), x)
r = [] | a = x * 2 | a.register_hook(r.append) | T.autograd.grad((a * y).sum(), y)
r = [] | a = x * 2 | a.register_hook(lambda g: r.append(g.requires_grad)) | r += T.autograd.grad((a * a).sum(), x, create_graph=True)
r = [] | a = x * 2 | a.register_hook(lambda g: r.append(g.requires_grad)) | (a * a).sum().backward()
a = x * 2 | a.register_hook(lambda g: g * g) | b, = T.autograd.grad((a * a).sum(), x, create_graph=True) | r = T.autograd.grad(b.sum(), x)
r = [] | x.register_hook(lambda g: r.append(T.is_grad_enabled())) | x.sum().backward()
r = [] | x.register_hook(lambda g: r.append(T.is_grad_enabled())) | (x * x).sum().backward(create_graph=True)
a = x.unbind() | a[1].register_hook(lambda g: g * 5) | (a[0] + a[1] + a[2]).sum().backward()
r = [] | a = x.unbind() | a[1].register_hook(r.append) | a[0].sum().backward()
r = [] | a = x.max(1) | a.values.register_hook(r.append) | a.values.sum().backward()
x.register_hook(lambda g: T.ones(2)) | x.sum().backward()
x.register_hook(lambda g: T.ones(3, 4).double()) | x.sum().backward()
x.register_hook(lambda g: 5) | x.sum().backward()
x.register_hook(lambda g: None) | x.sum().backward()
x.register_hook(lambda g: c) | x.sum().backward() | r = [x.grad, x.grad is c]
x.register_hook(lambda g: g.mul_(2)) | x.sum().backward() | r = x.grad
x.register_hook(lambda g: g.zero_() and None) | x.sum().backward()
def f(g): raise ValueError('mine') | x.register_hook(f) | x.sum().backward()
c.register_hook(lambda g: g)
with T.no_grad(): a = x * 2 | a.register_hook(lambda g: g)
x.register_hook(5)
x.register_hook(lambda: 1) | x.sum().backward()
a = x.detach().requires_grad_() | a.register_hook(lambda g: g * 2) | b = a * 1 | b.sum().backward() | r = a.grad
a = x * 2 | a.register_hook(lambda g: g * 2) | a.mul_(3) | a.sum().backward()
a = x * 2 | a.register_hook(lambda g: g * 2) | a.mul_(3) | a.register_hook(lambda g: g * 5) | a.sum().backward()
a = x * 2 | a.retain_grad() | b = a * 1 | a.mul_(3) | (a + b).sum().backward() | r = a.grad
a = x * 2 | b = a[0] | b.register_hook(lambda g: g * 7) | a.mul_(3) | (a.sum() + b.sum()).backward()
a = x * 2 | b = a[0] | a.register_hook(lambda g: g * 7) | b.mul_(3) | a.sum().backward()
a = x * 2 | b = a.view(12) | a.register_hook(lambda g: g * 7) | b.sum().backward()
r = [] | x.register_hook(lambda g: r.append('x')) | y.register_hook(lambda g: r.append('y')) | a = x * 2 | a.register_hook(lambda g: r.append('a')) | b = a + y | b.register_hook(lambda g: r.append('b')) | b.sum().backward()
r = [] | x.register_hook(lambda g: r.append(1)) | a = x + 1 | a.register_hook(lambda g: r.append(2)) | b = x * 2 | b.register_hook(lambda g: r.append(3)) | (a + b).sum().backward()
r = [] | x.register_hook(lambda g: r.append(g.shape)) | (x.sum() + x.mean()).backward()
x.register_hook(lambda g: g * 2) | x.sum().backward(inputs=[x]) | r = x.grad
h = x.register_hook(lambda g: g * 2) | x.requires_grad_(False) | x.requires_grad_() | x.sum().backward()
x.register_hook(lambda g: g * 2) | a = x.clone() | b = x.detach() | a.sum().backward() | r = b.requires_grad
""")  # noqa: E501

AFTER_ACCUMULATION = programs("""
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append((t is x, t.grad.clone()))) | (x * y).sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(1)) | x.register_post_accumulate_grad_hook(lambda t: r.append(2)) | x.sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(t.grad.sum().item())) | x.register_hook(lambda g: g * 3) | x.sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(t.grad.sum().item())) | (x + x * 2).sum().backward() | x.sum().backward()
h = x.register_post_accumulate_grad_hook(lambda t: setattr(t, 'grad', None)) | x.sum().backward() | r = x.grad | h.remove() | x.sum().backward()
x.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(2)) | x.sum().backward() | x.sum().backward()
x.register_post_accumulate_grad_hook(lambda t: 5) | x.sum().backward()
x.register_post_accumulate_grad_hook(lambda t: T.ones(2)) | x.sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(1)) | T.autograd.grad(x.sum(), x)
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(1)) | y.sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(1)) | x.sum().backward(inputs=[x])
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(1)) | (x * y).sum().backward(inputs=[y])
def step(t): | ....with T.no_grad(): t.sub_(t.grad) | ....t.grad = None | x.register_post_accumulate_grad_hook(step) | x.sum().backward() | r = [x, x.grad]
x.register_post_accumulate_grad_hook(lambda t: t.grad.zero_()) | (x * x).sum().backward(create_graph=True) | r = x.grad
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(T.is_grad_enabled())) | (x * x).sum().backward()
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(T.is_grad_enabled())) | (x * x).sum().backward(create_graph=True)
def f(t): raise ValueError('mine') | x.register_post_accumulate_grad_hook(f) | x.sum().backward()
a = x * 2 | a.register_post_accumulate_grad_hook(lambda t: None)
c.register_post_accumulate_grad_hook(lambda t: None)
r = [] | x.register_post_accumulate_grad_hook(lambda t: r.append(1)) | y.register_post_accumulate_grad_hook(lambda t: r.append(2)) | a = x * 2 + y | a.register_hook(lambda g: r.append(3)) | a.sum().backward()
""".replace("....", "    "))  # noqa: E501

NODES = programs("""
r = [] | a = x * y | a.grad_fn.register_hook(lambda i, o: r.append((i, o))) | a.sum().backward()
r = [] | a = x * y | a.grad_fn.register_prehook(lambda o: r.append(o)) | a.sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: (i[0] * 2, i[1] * 3)) | a.sum().backward()
a = x * y | a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | a.sum().backward()
a = x * y | a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | a.grad_fn.register_prehook(lambda o: (o[0] + 1,)) | a.sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: (i[0] * 2, i[1])) | a.grad_fn.register_hook(lambda i, o: (i[0] + 1, i[1])) | a.sum().backward()
a = x * y | h = a.grad_fn.register_hook(lambda i, o: (i[0] * 2, i[1])) | h.remove() | a.sum().backward()
a = x * y | h = a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | h.remove() | a.sum().backward()
r = [] | a = x * c | a.grad_fn.register_hook(lambda i, o: r.append((i, o))) | a.sum().backward()
r = [] | a = x * y | a.grad_fn.register_prehook(lambda o: r.append('node')) | a.register_hook(lambda g: r.append('tensor')) | a.sum().backward()
r = [] | a = x * y | a.register_hook(lambda g: r.append('tensor')) | a.grad_fn.register_prehook(lambda o: r.append('node')) | a.grad_fn.register_hook(lambda i, o: r.append('after')) | a.sum().backward()
a = x * y | a.retain_grad() | a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | a.sum().backward() | r = a.grad
r = [] | a = x * y | a.grad_fn.register_prehook(lambda o: r.append(1)) | r += T.autograd.grad(a.sum(), a)
a = x * y | a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | r = T.autograd.grad(a.sum(), [a, x])
r = [] | a = x.unbind() | a[0].grad_fn.register_hook(lambda i, o: r.append((i, o))) | a[1].sum().backward()
r = [] | a = x.unbind() | a[0].grad_fn.register_prehook(lambda o: r.append(o)) | (a[1] + a[0]).sum().backward()
a = x.unbind() | a[0].grad_fn.register_prehook(lambda o: (T.ones(4), o[1], o[2])) | a[1].sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: (i[0],)) | a.sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: (None, i[1])) | a.sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: i[0]) | a.sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: 5) | a.sum().backward()
a = x * y | a.grad_fn.register_hook(lambda i, o: (5, i[1])) | a.sum().backward()
a = x * y | a.grad_fn.register_prehook(lambda o: ()) | a.sum().backward()
a = x * y | a.grad_fn.register_prehook(lambda o: (T.ones(2),)) | a.sum().backward()
a = x * y | a.grad_fn.register_prehook(lambda o: o[0] * 2) | a.sum().backward()
def f(i, o): raise ValueError('mine') | a = x * y | a.grad_fn.register_hook(f) | a.sum().backward()
r = [] | a = x * y | n = a.grad_fn.next_functions[0][0] | n.register_hook(lambda i, o: r.append((i, o, x.grad))) | a.sum().backward()
r = [] | a = x * y | n = a.grad_fn.next_functions[0][0] | n.register_prehook(lambda o: r.append((o, x.grad))) | a.sum().backward()
a = x * y | n = a.grad_fn.next_functions[0][0] | n.register_prehook(lambda o: (o[0] * 2,)) | a.sum().backward()
r = [] | a = x * y | n = a.grad_fn.next_functions[0][0] | n.register_prehook(lambda o: r.append('node')) | x.register_hook(lambda g: r.append('tensor')) | x.register_post_accumulate_grad_hook(lambda t: r.append('after')) | n.register_hook(lambda i, o: r.append('post')) | a.sum().backward()
r = [] | a = x * y | n = a.grad_fn.next_functions[0][0] | n.register_prehook(lambda o: r.append('node')) | n.register_hook(lambda i, o: r.append('post')) | T.autograd.grad(a.sum(), x)
r = [] | a = (x * y).sum() | a.grad_fn.register_hook(lambda i, o: r.append([g.shape for g in i] + [g.shape for g in o])) | a.backward()
r = [] | a = x + y | a.grad_fn.register_hook(lambda i, o: r.append(i)) | a.sum().backward()
r = [] | a = x * x | a.grad_fn.register_hook(lambda i, o: r.append(o[0].requires_grad)) | b, = T.autograd.grad(a.sum(), x, create_graph=True) | r += T.autograd.grad(b.sum(), x)
a = x * 2 | n = a.grad_fn | r = [n.name(), n.metadata, len(n.next_functions), n.next_functions[0][1]] | n.metadata['a'] = 1 | r += [n.metadata]
a = x * 2 | r = [a.grad_fn is a.grad_fn, a.grad_fn._sequence_nr() < (a * 2).grad_fn._sequence_nr(), a.grad_fn.next_functions[0][0].variable is x]
a = x * y | r = [a.grad_fn._saved_self, a.grad_fn._saved_other]
a = x.exp() | r = [a.grad_fn._saved_result, a.grad_fn._saved_result is a]
a = x * y | a.sum().backward() | a.grad_fn._saved_self
a = x * 2 | T.autograd.graph.Node | r = isinstance(a.grad_fn, T.autograd.graph.Node)
r = issubclass(type((x * 2).grad_fn), T.autograd.graph.Node)
a = x * y | a.grad_fn(T.ones(3, 4))
a = x * y | r = a.grad_fn(c)
""")  # noqa: E501

SEVERAL = programs("""
r = [] | T.autograd.graph.register_multi_grad_hook([x, y], lambda gs: r.append([g is not None for g in gs])) | (x * y).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook([x, y], r.append) | (x * y).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook([x, y, m], r.append) | (x * y).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook((x, y), r.append) | x.sum().backward() | y.sum().backward()
r = [] | h = T.autograd.graph.register_multi_grad_hook([x, y], r.append) | h.remove() | (x * y).sum().backward()
r = [] | with T.autograd.graph.register_multi_grad_hook([x, y], lambda gs: r.append(1)): (x * y).sum().backward() | (x * y).sum().backward()
r = [] | a, b = x * 2, y * 3 | T.autograd.graph.register_multi_grad_hook([a, b], r.append) | (a * b).sum().backward()
r = [] | a, b = x * 2, y * 3 | T.autograd.graph.register_multi_grad_hook([a, b], r.append) | d = (a * b).sum() | d.backward(retain_graph=True) | d.backward()
r = [] | a, b = x * 2, y * 3 | T.autograd.graph.register_multi_grad_hook([a, b], r.append) | T.autograd.grad((a * b).sum(), a)
r = [] | a = x.unbind() | T.autograd.graph.register_multi_grad_hook(a, r.append) | (a[0] * a[2]).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook([x, y], r.append, mode='any') | (x * y).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook([x, y], r.append, mode='any') | x.sum().backward() | y.sum().backward()
r = [] | h = T.autograd.graph.register_multi_grad_hook([x, y], r.append, mode='any') | h.remove() | x.sum().backward()
r = [] | a, b = x * 2, y * 3 | T.autograd.graph.register_multi_grad_hook([a, b], lambda g: r.append(g.sum().item()), mode='any') | (a * b).sum().backward()
T.autograd.graph.register_multi_grad_hook([x, y], print, mode='some')
T.autograd.graph.register_multi_grad_hook([c, y], print)
T.autograd.graph.register_multi_grad_hook([c, y], print, mode='any')
r = [] | T.autograd.graph.register_multi_grad_hook([x], r.append) | (x * y).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook([x, x], r.append) | (x * y).sum().backward()
r = [] | T.autograd.graph.register_multi_grad_hook([x, y], lambda gs: r.append(gs[0].requires_grad)) | (x * x * y).sum().backward(create_graph=True)
def f(gs): raise ValueError('mine') | T.autograd.graph.register_multi_grad_hook([x, y], f) | (x * y).sum().backward()
""")  # noqa: E501

SAVED = programs("""
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append(t.sum().item()), t)[1], lambda t: t): a = x * y | a.sum().backward() | r.sort()
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (r.append(t.sum().item()), t)[1]): a = x * y | a.sum().backward() | r.sort()
with T.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t): a = x * y | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda l: T.tensor(l)): a = x * y + x.exp() | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: 5, lambda p: T.full((3, 4), float(p))): a = x * c | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 5): a = x * c | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: None): a = x * c | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.double()): a = x * c | a.sum().backward()
def f(t): raise ValueError('mine') | with T.autograd.graph.saved_tensors_hooks(f, lambda t: t): a = x * y
def f(t): raise ValueError('mine') | with T.autograd.graph.saved_tensors_hooks(lambda t: t, f): a = x * y | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t): a = x * c
with T.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t): a = x.detach() * y
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append((t.requires_grad, t.is_leaf)), t)[1], lambda t: t): a = (x * 2).exp() * y.sin() | a.sum().backward()
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append('outer'), t)[1], lambda t: t): | ....with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append('inner'), t)[1], lambda t: t): a = x * c | ....b = a * c | b.sum().backward()
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append(1), t)[1], lambda t: t): a = x + y | a = x * y
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append(1), t)[1], lambda t: t): | ....with T.no_grad(): a = x * y
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append(1), t)[1], lambda t: t): a = c * c
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (r.append(1), t)[1]): a = x * y | b = a.sum() | b.backward(retain_graph=True) | b.backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t): a = x * x | with T.no_grad(): x.add_(1) | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): a = x * x | with T.no_grad(): x.add_(1) | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): a = x.exp() | with T.no_grad(): a.add_(1) | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): a = (x ** 3).sum() | b, = T.autograd.grad(a, x, create_graph=True) | r = T.autograd.grad(b.sum(), x)
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): a = x.exp().sum() | b, = T.autograd.grad(a, x, create_graph=True) | r = T.autograd.grad(b.sum(), x)
with T.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t): a = x.exp().sum() | b, = T.autograd.grad(a, x, create_graph=True) | r = b.requires_grad
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append(t.shape), t)[1], lambda t: t): a = F.linear(x, m.t()) | a.sum().backward() | r.sort()
r = [] | with T.autograd.graph.saved_tensors_hooks(lambda t: (r.append(t.shape), t)[1], lambda t: t): a = T.cat([x, x]) * 2 | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): a = x.max(1).values + x.softmax(1).sum(1) + x[:, i].sum(1) | a.sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): a = F.layer_norm(x, (4,)) + F.gelu(x) | (a * c).sum().backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): a = F.conv2d(v[None], v[None]).sum() + F.max_pool2d(v, 2).sum() | a.backward()
with T.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): a = x * 2 | a[0] = y * y | a.mul_(c) | a.sum().backward()
class A(Function): |     forward = staticmethod(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1]) |     backward = staticmethod(lambda ctx, g: g * ctx.saved_tensors[0]) | with T.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t): a = A.apply(x) | a.sum().backward()
with T.autograd.graph.save_on_cpu(): a = x * y | a.sum().backward()
with T.autograd.graph.save_on_cpu(pin_memory=False): a = (x.exp() * x).sum() | b, = T.autograd.grad(a, x, create_graph=True) | r = T.autograd.grad(b.sum(), x)
with T.autograd.graph.save_on_cpu(): a = x * x | with T.no_grad(): x.add_(1) | a.sum().backward()
with T.autograd.graph.disable_saved_tensors_hooks('not here'): a = x * y | a.sum().backward()
with T.autograd.graph.disable_saved_tensors_hooks('not here'): | ....with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): pass
with T.autograd.graph.disable_saved_tensors_hooks('not here'): | ....with T.autograd.graph.save_on_cpu(): pass
with T.autograd.graph.disable_saved_tensors_hooks('outer'): | ....with T.autograd.graph.disable_saved_tensors_hooks('inner'): | ........with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): pass
with T.autograd.graph.disable_saved_tensors_hooks('outer'): | ....with T.autograd.graph.disable_saved_tensors_hooks('inner'): pass | ....with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): pass
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): | ....with T.autograd.graph.disable_saved_tensors_hooks('not here'): pass
with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): | ....with T.autograd.graph.disable_saved_tensors_hooks('not here'): a = x * y
with T.autograd.graph.disable_saved_tensors_hooks('not here'): pass | with T.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t): a = x * y | a.sum().backward()
@T.autograd.graph.disable_saved_tensors_hooks('not here') | def f(): | ....with T.autograd.graph.save_on_cpu(): pass | f()
a = x * y | a.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t) | a.sum().backward()
a = x * y | a.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t) | a.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
""".replace("....", "    "))  # noqa: E501

MUTATION = programs("""
with T.autograd.graph.allow_mutation_on_saved_tensors(): a = x * 2 | b = a * a | a.add_(1) | b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = x * 2 | ....b = a * a | ....a.add_(1) | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = x.exp() | ....b = a * 1 | ....a.zero_() | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = x.exp() | ....a.mul_(2) | ....a.sum().backward() | r = a
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = c.clone() | ....b = x * a | ....a.fill_(0.) | ....a.fill_(7.) | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = c.clone() | ....b = x * a | ....a.fill_(2.) | ....b = b * a * x | ....a.fill_(7.) | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = c.clone() | ....b = x * a[0] | ....a[0].fill_(2.) | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = c.clone() | ....b = x * a | ....a[0] = 2. | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = c.clone() | ....b = x * a | ....T.add(a, 1, out=a) | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = c.clone() | ....b = x * a | ....b.sum().backward() | ....a.fill_(7.)
with T.autograd.graph.allow_mutation_on_saved_tensors() as ctx: | ....a = c.clone() | ....b = x * a | ....a.fill_(7.) | ....ctx.clear() | ....b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....with T.autograd.graph.allow_mutation_on_saved_tensors(): pass
a = x * 2 | b = a * a | with T.autograd.graph.allow_mutation_on_saved_tensors(): a.add_(1) | b.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): a = x * y | a.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....a = x * y | a.sum().backward()
with T.autograd.graph.allow_mutation_on_saved_tensors(): | ....with T.no_grad(): x.add_(1) | ....b = (x * x).sum() | ....with T.no_grad(): x.add_(1) | ....b.backward()
""".replace("....", "    "))  # noqa: E501


@pytest.mark.parametrize("code", TENSORS)
def test_tensor_hooks(code):
    check(code)


@pytest.mark.parametrize("code", AFTER_ACCUMULATION)
def test_post_accumulate_grad_hooks(code):
    check(code)


@pytest.mark.parametrize("code", NODES)
def test_node_hooks(code):
    check(code)


@pytest.mark.parametrize("code", SEVERAL)
def test_multi_grad_hooks(code):
    check(code)


@pytest.mark.parametrize("code", SAVED)
def test_saved_tensors_hooks(code):
    check(code)


@pytest.mark.parametrize("code", MUTATION)
def test_mutation_on_saved_tensors(code):
    check(code)


# ---- modules --------------------------------------------------------------------------------------------------------

MODULES = """
class Pair(T.nn.Module):
    def forward(self, a, b=None, *, scale=1.):
        return a * scale if b is None else (a * scale, a * b)
class Fails(T.nn.Module):
    def forward(self, a): raise ValueError('forward')
class Keys(T.nn.Module):
    def forward(self, a): return {'out': a * 2}
n = Pair()
r = []
"""

FORWARD = programs("""
n.register_forward_pre_hook(lambda m, a: r.append((m is n, a))) | r.append(n(x))
n.register_forward_pre_hook(lambda m, a: (a[0] * 2,)) | r.append(n(x))
n.register_forward_pre_hook(lambda m, a: a[0] * 2) | r.append(n(x))
n.register_forward_pre_hook(lambda m, a: (a[0], y)) | r.append(n(x))
n.register_forward_pre_hook(lambda m, a: [a[0] * 2, y]) | r.append(n(x))
n.register_forward_pre_hook(lambda m, a: r.append(1)) | n.register_forward_pre_hook(lambda m, a: r.append(2)) | n(x)
n.register_forward_pre_hook(lambda m, a: r.append(1)) | n.register_forward_pre_hook(lambda m, a: r.append(2), prepend=True) | n(x)
n.register_forward_pre_hook(lambda m, a, k: r.append((a, k)), with_kwargs=True) | n(x, scale=2.)
n.register_forward_pre_hook(lambda m, a, k: ((a[0] * 2,), {'scale': 5.}), with_kwargs=True) | r.append(n(x, scale=2.))
n.register_forward_pre_hook(lambda m, a, k: (a[0] * 2,), with_kwargs=True) | r.append(n(x, scale=2.))
n.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True) | r.append(n(x, scale=2.))
n.register_forward_pre_hook(lambda m, a: r.append(len(a))) | n(x, y, scale=2.)
n.register_forward_hook(lambda m, a, o: r.append((a, o))) | n(x)
n.register_forward_hook(lambda m, a, o: o * 3) | r.append(n(x))
n.register_forward_hook(lambda m, a, o: o * 3) | n.register_forward_hook(lambda m, a, o: o + 1) | r.append(n(x))
n.register_forward_hook(lambda m, a, o: o * 3) | n.register_forward_hook(lambda m, a, o: o + 1, prepend=True) | r.append(n(x))
n.register_forward_hook(lambda m, a, o: 'text') | r.append(n(x))
n.register_forward_hook(lambda m, a, k, o: r.append((a, k, o)), with_kwargs=True) | n(x, scale=2.)
n.register_forward_hook(lambda m, a, k, o: o * k['scale'], with_kwargs=True) | r.append(n(x, scale=2.))
n.register_forward_hook(lambda m, a, o: o[0]) | r.append(n(x, y))
h = n.register_forward_hook(lambda m, a, o: o * 3) | h.remove() | r.append(n(x))
h = n.register_forward_pre_hook(lambda m, a: a[0] * 3) | h.remove() | h.remove() | r.append(n(x))
with n.register_forward_hook(lambda m, a, o: o * 3): r.append(n(x)) | r.append(n(x))
h = n.register_forward_hook(lambda m, a, o: (r.append(1), h.remove()) and None) | n(x) | n(x)
n.register_forward_hook(lambda m, a, o: o.mul_(2)) | r.append(n(x))
n.register_forward_pre_hook(lambda m, a: a[0].mul_(2) and None) | n(x)
n.register_forward_pre_hook(lambda m, a: a[0].detach_() and None) | a = x * 2 | n(a) | r.append(a)
f = Fails() | f.register_forward_hook(lambda m, a, o: r.append(o)) | try: f(x) | except ValueError: pass
f = Fails() | f.register_forward_hook(lambda m, a, o: r.append(o), always_call=True) | try: f(x) | except ValueError as e: r.append(str(e))
f = Fails() | f.register_forward_hook(lambda m, a, k, o: r.append((k, o)), always_call=True, with_kwargs=True) | try: f(x) | except ValueError: pass
f = Fails() | f.register_forward_hook(lambda m, a, o: 1 / 0, always_call=True) | f(x)
f = Fails() | f.register_forward_hook(lambda m, a, o: 5, always_call=True) | f(x)
n.register_forward_hook(lambda m, a, o: r.append(1), always_call=True) | n.register_forward_hook(lambda m, a, o: 1 / 0) | n.register_forward_hook(lambda m, a, o: r.append(3), always_call=True) | try: n(x) | except ZeroDivisionError: pass
n.register_forward_pre_hook(lambda m, a: 1 / 0) | n.register_forward_hook(lambda m, a, o: r.append(o), always_call=True) | try: n(x) | except ZeroDivisionError: pass
s_ = T.nn.Sequential(Pair(), Pair()) | s_[0].register_forward_hook(lambda m, a, o: o * 2) | s_.register_forward_hook(lambda m, a, o: o + 1) | r.append(s_(x))
n.register_forward_hook(lambda m, a, o: r.append(1)) | n.forward(x)
n.register_forward_hook(5) | n(x)
""")  # noqa: E501

BACKWARD = programs("""
n.register_full_backward_hook(lambda m, i, o: r.append((m is n, i, o))) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (i[0] * 2,)) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: i[0] * 2) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (i[0] * 2,)) | n.register_full_backward_hook(lambda m, i, o: (i[0] + 1,)) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (i[0] * 2,)) | n.register_full_backward_hook(lambda m, i, o: (i[0] + 1,), prepend=True) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | a, b = n(x, y) | (a.sum() + b.sum()).backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | a, b = n(x, y) | a.sum().backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | a, b = n(x, c) | (a.sum() + b.sum()).backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | a, b = n(x, 2.) | (a.sum() + b.sum()).backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | n(x, scale=s).sum().backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | n(c, scale=s).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (None,)) | n(c, scale=s).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (c,)) | n(c, scale=s).sum().backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | n(c)
n.register_full_backward_hook(lambda m, i, o: (i[0], i[0])) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (None,)) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: (T.ones(2),)) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: ()) | n(x).sum().backward()
n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | T.autograd.grad(n(x).sum(), x)
n.register_full_backward_hook(lambda m, i, o: r.append(o)) | b = n(x) | T.autograd.grad(b.sum(), b)
h = n.register_full_backward_hook(lambda m, i, o: (i[0] * 2,)) | h.remove() | n(x).sum().backward()
h = n.register_full_backward_hook(lambda m, i, o: (i[0] * 2,)) | a = n(x) | h.remove() | a.sum().backward()
n.register_full_backward_hook(lambda m, i, o: r.append(1)) | a = n(x).sum() | a.backward(retain_graph=True) | a.backward()
n.register_full_backward_hook(lambda m, i, o: r.append(i[0].requires_grad)) | a, = T.autograd.grad((n(x) ** 2).sum(), x, create_graph=True) | a.sum().backward()
n.register_full_backward_pre_hook(lambda m, o: r.append(o)) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,)) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: o[0] * 2) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,)) | n.register_full_backward_pre_hook(lambda m, o: (o[0] + 1,)) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,)) | n.register_full_backward_pre_hook(lambda m, o: (o[0] + 1,), prepend=True) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,)) | n.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: ()) | n(x).sum().backward()
n.register_full_backward_pre_hook(lambda m, o: r.append(o)) | a, b = n(x, y) | b.sum().backward()
n.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,)) | n(c, scale=s).sum().backward()
n.register_full_backward_hook(lambda m, i, o: None) | a = n(x) | a.mul_(2) | a.sum().backward()
n.register_full_backward_hook(lambda m, i, o: None) | a = x * 2 | b = n(a) | a.add_(1) | b.sum().backward()
class M(T.nn.Module): forward = staticmethod(lambda a: a.mul_(2)) | n = M() | n.register_full_backward_hook(lambda m, i, o: None) | n(x * 2).sum().backward()
n = T.nn.ReLU(inplace=True) | n.register_full_backward_hook(lambda m, i, o: None) | n(x * 2).sum().backward()
n = T.nn.ReLU(inplace=True) | n.register_full_backward_pre_hook(lambda m, o: None) | n(x * 2).sum().backward()
n.register_full_backward_hook(lambda m, i, o: None) | r.append(n(x))
n.register_full_backward_hook(lambda m, i, o: None) | r.append(n(x, y))
n.register_full_backward_hook(lambda m, i, o: r.append(o)) | n(x[0], i).__len__()
k = Keys() | k.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | k(x)['out'].sum().backward()
with T.no_grad(): n.register_full_backward_hook(lambda m, i, o: None) | r.append(n(x))
n.register_backward_hook(lambda m, i, o: r.append((i, o))) | n(x).sum().backward()
n.register_backward_hook(lambda m, i, o: (i[0] * 2,) + i[1:]) | n(x).sum().backward()
n.register_backward_hook(lambda m, i, o: None) | n(x, y)[0].sum().backward()
k = Keys() | k.register_backward_hook(lambda m, i, o: None) | k(x)['out'].sum().backward()
n.register_backward_hook(lambda m, i, o: None) | n.register_full_backward_hook(lambda m, i, o: None)
n.register_full_backward_hook(lambda m, i, o: None) | n.register_backward_hook(lambda m, i, o: None)
l = T.nn.Linear(4, 4) | T.nn.init.eye_(l.weight) | T.nn.init.zeros_(l.bias) | l.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | l(x).sum().backward()
l = T.nn.Linear(4, 4) | T.nn.init.eye_(l.weight) | T.nn.init.zeros_(l.bias) | l.register_full_backward_hook(lambda m, i, o: r.append((i, o))) | l(c).sum().backward() | r.append(l.weight.grad)
""")  # noqa: E501

GLOBAL = programs("""
h = G.register_module_forward_pre_hook(lambda m, a: (a[0] * 2,)) | r.append(n(x)) | h.remove() | r.append(n(x))
h = G.register_module_forward_hook(lambda m, a, o: o * 2) | r.append(n(x)) | h.remove() | r.append(n(x))
h = G.register_module_forward_hook(lambda m, a, k, o: r.append(k), with_kwargs=True) | r.append(n(x, scale=2.)) | h.remove()
h = G.register_module_forward_hook(lambda m, a, o: r.append('all')) | n.register_forward_hook(lambda m, a, o: r.append('one')) | n(x) | h.remove()
h = G.register_module_forward_pre_hook(lambda m, a: r.append('all')) | n.register_forward_pre_hook(lambda m, a: r.append('one'), prepend=True) | n(x) | h.remove()
h = G.register_module_forward_hook(lambda m, a, o: r.append(o), always_call=True) | try: Fails()(x) | except ValueError: pass | h.remove()
h = G.register_module_full_backward_hook(lambda m, i, o: (i[0] * 2,)) | n(x).sum().backward() | h.remove()
h = G.register_module_full_backward_hook(lambda m, i, o: r.append('all')) | n.register_full_backward_hook(lambda m, i, o: r.append('one')) | n(x).sum().backward() | h.remove()
h = G.register_module_full_backward_pre_hook(lambda m, o: (o[0] * 2,)) | n(x).sum().backward() | h.remove()
h = G.register_module_full_backward_pre_hook(lambda m, o: r.append('all')) | n.register_full_backward_pre_hook(lambda m, o: r.append('one')) | n(x).sum().backward() | h.remove()
h = G.register_module_full_backward_hook(lambda m, i, o: None) | try: G.register_module_backward_hook(lambda m, i, o: None) | finally: h.remove()
h = G.register_module_module_registration_hook(lambda m, k, v: r.append(k)) | n.other = Pair() | h.remove()
h = G.register_module_parameter_registration_hook(lambda m, k, v: r.append(k)) | T.nn.Linear(2, 2) | h.remove()
h = G.register_module_buffer_registration_hook(lambda m, k, v: r.append(k)) | n.register_buffer('b', c) | h.remove()
""")  # noqa: E501


@pytest.mark.parametrize("code", FORWARD)
def test_module_forward_hooks(code):
    check(MODULES + code)


@pytest.mark.parametrize("code", BACKWARD)
def test_module_backward_hooks(code):
    check(MODULES + code)


@pytest.mark.parametrize("code", GLOBAL)
def test_global_module_hooks(code):
    check(MODULES + "G = T.nn.modules.module\n" + code)
