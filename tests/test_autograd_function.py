"""autograd.Function beside torch's: both styles, what the context keeps and marks, errors, second derivatives."""

import pytest

pytest.importorskip("torch")

from both import check, programs

# A(forward, backward) makes a Function; `seq(a, b, ...)` evaluates all and gives the last
SETUP = """
def A(forward, backward, setup_context=None, **more):
    body = {'forward': staticmethod(forward), 'backward': staticmethod(backward)}
    if setup_context is not None:
        body['setup_context'] = staticmethod(setup_context)
    return type(Function)('A', (Function,), {**body, **more})
def seq(*values): return values[-1]
class Square(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return g * 2 * a
class Exp(Function):
    @staticmethod
    def forward(ctx, a):
        b = a.exp()
        ctx.save_for_backward(b)
        return b
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
class Apart(Function):
    @staticmethod
    def forward(a, b):
        return a * b
    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b = inputs
        ctx.save_for_backward(a, b)
        ctx.b = b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, (g * a).sum(0)
class Two(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2, a * a
    @staticmethod
    def backward(ctx, g, h):
        a, = ctx.saved_tensors
        return g * 2 + h * 2 * a
r = []
"""

BASICS = programs("""
r = Square.apply(x) | r.sum().backward()
r = Exp.apply(x) | r.sum().backward()
r = Apart.apply(x, y) | r.sum().backward()
r = Two.apply(x) | (r[0] + r[1]).sum().backward()
r = Two.apply(x) | r[0].sum().backward()
r = Two.apply(x) | r[1].sum().backward()
r = [Square.apply(c), Two.apply(c)]
with T.no_grad(): r = [Square.apply(x), Two.apply(x)]
r = Square.apply(Square.apply(x)) | r.sum().backward()
r = Square.apply(x * 2) + Exp.apply(x) | (r * c).sum().backward()
a = Square.apply(x) | r = [type(a.grad_fn).__name__, a.grad_fn.name(), len(a.grad_fn.next_functions), a.is_leaf]
a = Two.apply(x) | r = [a[0].grad_fn is a[1].grad_fn, a[0].output_nr, a[1].output_nr]
a = A(lambda ctx, a, k: a * k, lambda ctx, g: (g * 3, None)).apply(x, 2.) | a.sum().backward() | r = a
a = A(lambda ctx, k, a: a * k['v'], lambda ctx, g: (None, g * 3)).apply({'v': 2.}, x) | a.sum().backward() | r = a
a = A(lambda ctx, a, b: a * b, lambda ctx, g: (g, None)).apply(x, y) | a.sum().backward() | r = a
a = A(lambda ctx, a, b: a * b, lambda ctx, g: (g, g.sum(0), None)).apply(x, y) | a.sum().backward() | r = a
a = A(lambda ctx, a, b: a * b, lambda ctx, g: (g, g.sum(0), None, None)).apply(x, y) | a.sum().backward() | r = a
a = A(lambda ctx, a, b: a * b, lambda ctx, g: g).apply(x, y) | a.sum().backward()
a = A(lambda ctx, a, b: a * b, lambda ctx, g: (g,)).apply(x, y) | a.sum().backward()
a = A(lambda ctx, a, b: a * b, lambda ctx, g: (g, g, g)).apply(x, y) | a.sum().backward()
a = A(lambda ctx, a, b: a * b, lambda ctx, g: ()).apply(x, y) | a.sum().backward()
a = A(lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(x, 2.) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: 5).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: [g]).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: None).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: T.ones(2)).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: T.ones(3, 4, dtype=T.float64)).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * y.detach(), lambda ctx, g: g).apply(y) | a.sum().backward()
a = A(lambda ctx, a: a.sum(), lambda ctx, g: g.expand(3, 4)).apply(x) | a.backward() | r = x.grad.stride()
a = A(lambda ctx, a: a.expand(2, 3, 4), lambda ctx, g: g).apply(x) | a.sum().backward() | r = a
a = A(lambda ctx, a: a * 2, lambda ctx, g: 1 / 0).apply(x) | a.sum().backward()
A(lambda ctx, a: 1 / 0, lambda ctx, g: g).apply(x)
a = A(lambda ctx, a: 5, lambda ctx, g: g).apply(x) | r = a
a = A(lambda ctx, a: (a * 2, 5, 'text', None), lambda ctx, g, *o: seq(r.append(o), g)).apply(x) | a[0].sum().backward() | r.append(a)
a = A(lambda ctx, a: [a * 2, a * 3], lambda ctx, g, h: g).apply(x) | r = a
a = A(lambda ctx, a: {'b': a * 2}, lambda ctx, g: g).apply(x) | r = a
a = A(lambda ctx, a: None, lambda ctx, g: g).apply(x) | r = a
a = A(lambda ctx, a: (a * 2,), lambda ctx, g: g * 2).apply(x) | a[0].sum().backward() | r = a
A(lambda ctx, a: (), lambda ctx: None).apply(x)
a = A(lambda ctx: T.ones(2), lambda ctx, g: None).apply() | r = a
a = A(lambda ctx, a, b: a[0] * b, lambda ctx, g: (None, g)).apply([y], x) | a.sum().backward() | r = a
a = A(lambda ctx, a: a.argmax(1), lambda ctx, g: None).apply(x) | r = a
a = A(lambda ctx, a: (a * 2, a.argmax(1)), lambda ctx, g, h: seq(r.append(h), g)).apply(x) | a[0].sum().backward() | r.append(a)
a = A(lambda ctx, a: a * 2, lambda ctx, g: g).apply(i) | r = a
a = A(lambda ctx, a, b: a * b[0], lambda ctx, g: (g, None)).apply(x, i) | a.sum().backward() | r = a
a = A(lambda ctx, a: seq(r.append((T.is_grad_enabled(), a.requires_grad, (a * 2).requires_grad)), a * 2), lambda ctx, g: seq(r.append(T.is_grad_enabled()), g)).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: seq(r.append(T.is_grad_enabled()), g)).apply(x) | T.autograd.grad(a.sum(), x, create_graph=True)
a = A(lambda ctx, a, k=3.: a * k, lambda ctx, g: g).apply(x) | a.sum().backward() | r = a
A(lambda ctx, a, k=3.: a * k, lambda ctx, g: g).apply(x, k=2.)
A(lambda ctx, a, b: a, lambda ctx, g: g).apply(x)
a = A(lambda ctx, a, b: a + b, lambda ctx, g: (g * 2, g * 3)).apply(x, x) | a.sum().backward() | r = a
Square(1)
Square()
Square()(x)
class B(Function): pass | B.apply(x)
class B(Function): forward = staticmethod(lambda ctx, a: a * 2) | a = B.apply(x) | a.sum().backward()
class B(Function): | ....def forward(self, a): return a * 2 | ....def backward(self, g): return g | B()(x)
class B(Square): | ....backward = staticmethod(lambda ctx, g: g * 100) | a = B.apply(x) | a.sum().backward() | r = a
class B(Function): | ....forward = staticmethod(lambda ctx, a: a * 2) | ....vjp = staticmethod(lambda ctx, g: g * 7) | B.apply(x).sum().backward()
class B(Function): | ....forward = staticmethod(lambda ctx, a: a * 2) | ....vjp = staticmethod(lambda ctx, g: g * 7) | ....backward = staticmethod(lambda ctx, g: g * 7) | B.apply(x).sum().backward()
class B(Function): | ....@classmethod | ....def forward(cls, ctx, a): return a * 2 | ....@classmethod | ....def backward(cls, ctx, g): return g * 3 | B.apply(x).sum().backward()
class B(Function): | ....forward = staticmethod(lambda ctx, a: a.view(4, 3)) | ....backward = staticmethod(lambda ctx, g: g.reshape(3, 4) * c) | a = B.apply(x) | r = [a, a._is_view()] | a.sum().backward()
a = Square.apply(x) | a.sum().backward(retain_graph=True) | a.sum().backward()
a = Square.apply(x) | a.sum().backward() | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: g * 2).apply(x) | b = a.sum() | b.backward() | b.backward()
""".replace("....", "    "))  # noqa: E501

CONTEXT = programs("""
a = A(lambda ctx, a: seq(ctx.save_for_backward(a, None, c), a * 2), lambda ctx, g: seq(r.extend(ctx.saved_tensors), g)).apply(x) | a.sum().backward()
a = A(lambda ctx, a: seq(ctx.save_for_backward(a), ctx.save_for_backward(c), a * 2), lambda ctx, g: g * ctx.saved_tensors[0]).apply(x) | a.sum().backward()
a = A(lambda ctx, a: seq(ctx.save_for_backward(), a * 2), lambda ctx, g: seq(r.append(len(ctx.saved_tensors)), g)).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: seq(r.append(len(ctx.saved_tensors)), g)).apply(x) | a.sum().backward()
A(lambda ctx, a: seq(ctx.save_for_backward(a, 5), a * 2), lambda ctx, g: g).apply(x)
A(lambda ctx, a: seq(ctx.save_for_backward([a]), a * 2), lambda ctx, g: g).apply(x)
a = A(lambda ctx, a: seq(ctx.save_for_backward(a * 3), a * 2), lambda ctx, g: seq(r.append(ctx.saved_tensors), g)).apply(x) | a.sum().backward()
a = A(lambda ctx, a: seq(setattr(ctx, 'k', 3.), a * 2), lambda ctx, g: g * ctx.k).apply(x) | a.sum().backward()
a = A(lambda ctx, a: seq(setattr(ctx, 'a', a), a * 2), lambda ctx, g: g * ctx.a).apply(x) | a.sum().backward()
a = A(lambda ctx, a: a * 2, lambda ctx, g: g * ctx.missing).apply(x) | a.sum().backward()
a = A(lambda ctx, a, b, k: seq(r.append(ctx.needs_input_grad), a * b), lambda ctx, g: seq(r.append(ctx.needs_input_grad), (g, None, None))).apply(x, c, 2.) | a.sum().backward()
a = A(lambda ctx, a, b: seq(r.append(ctx.needs_input_grad), a * b), lambda ctx, g: (g, g)).apply(c, c)
with T.no_grad(): a = A(lambda ctx, a, b: seq(r.append(ctx.needs_input_grad), a * b), lambda ctx, g: (g, g)).apply(x, c)
a = A(lambda ctx, a, b: a * b, lambda ctx, g: seq(r.append(ctx.needs_input_grad), (g, g.sum(0)))).apply(x, y) | T.autograd.grad(a.sum(), x)
a = A(lambda a: a * 2, lambda ctx, g: g * ctx.k, lambda ctx, i, o: setattr(ctx, 'k', len(i))).apply(x) | a.sum().backward()
a = A(lambda a: a * 2, lambda ctx, g: g * ctx.saved_tensors[0], lambda ctx, i, o: ctx.save_for_backward(o)).apply(x) | a.sum().backward()
a = A(lambda a, b: (a * 2, b * 3), lambda ctx, g, h: (g * ctx.saved_tensors[1], h.sum(0)), lambda ctx, i, o: ctx.save_for_backward(*i, *o)).apply(x, c) | a[0].sum().backward()
a = A(lambda a: a * 2, lambda ctx, g: g, lambda ctx, i, o: r.append((type(i).__name__, i, o, T.is_grad_enabled()))).apply(x)
a = A(lambda a: a * 2, lambda ctx, g: g, lambda ctx, i, o: r.append(ctx.needs_input_grad)).apply(x)
a = A(lambda a: a * 2, lambda ctx, g: g, lambda ctx, i, o: 1 / 0).apply(x)
a = A(lambda a: a.mul_(2), lambda ctx, g: g * 2, lambda ctx, i, o: ctx.mark_dirty(i[0])).apply(x * 1) | a.sum().backward() | r = a
a = A(lambda a: a * 2, lambda ctx, g: g, lambda ctx, i, o: ctx.mark_non_differentiable(o)).apply(x) | r = a
a = A(lambda ctx, a: seq(ctx.set_materialize_grads(False), (a * 2, a * 3))[0:2], lambda ctx, g, h: seq(r.append(h), g)).apply(x) | a[0].sum().backward()
a = A(lambda ctx, a: seq(ctx.set_materialize_grads(True), (a * 2, a * 3)), lambda ctx, g, h: seq(r.append(h), g)).apply(x) | a[0].sum().backward()
a = A(lambda ctx, a: seq(ctx.set_materialize_grads(5), a * 2), lambda ctx, g: g).apply(x)
a = A(lambda ctx, a: (a * 2, a.sum()), lambda ctx, g, h: seq(r.append((g, h)), g)).apply(x) | a[0].sum().backward()
b = A(lambda ctx, a: a * 2, lambda ctx, g: None).apply(x) | a = A(lambda ctx, a: a * 3, lambda ctx, g: seq(r.append(g), g)).apply(b) | a.sum().backward()
b = A(lambda ctx, a: a * 2, lambda ctx, g: seq(r.append(g), g)).apply(x) | a = A(lambda ctx, a: a * 3, lambda ctx, g: None).apply(b) | a.sum().backward()
b = A(lambda ctx, a: seq(ctx.set_materialize_grads(False), a * 2), lambda ctx, g: seq(r.append(g), g)).apply(x) | a = A(lambda ctx, a: a * 3, lambda ctx, g: None).apply(b) | a.sum().backward()
a = A(lambda ctx, a: seq(setattr(ctx, 'm', a > .5), ctx.mark_non_differentiable(ctx.m), (a * 2, ctx.m))[0:2], lambda ctx, g, h: seq(r.append(h), g)).apply(x) | r.append(a)
def f(ctx, a): | ....b = a * 3 | ....ctx.mark_non_differentiable(b) | ....return a * 2, b | a = A(f, lambda ctx, g, h: seq(r.append(h), g)).apply(x) | a[0].sum().backward() | r.append(a)
def f(ctx, a): | ....b = a.argmax(1) | ....ctx.mark_non_differentiable(b) | ....return a * 2, b | a = A(f, lambda ctx, g, h: seq(r.append(h), g)).apply(x) | a[0].sum().backward() | r.append(a)
def f(ctx, a): | ....ctx.mark_non_differentiable(a) | ....return a | r = A(f, lambda ctx, g: g).apply(x)
def f(ctx, a): | ....ctx.mark_non_differentiable(5) | ....return a * 2 | A(f, lambda ctx, g: g).apply(x)
def f(ctx, a): | ....ctx.mark_non_differentiable(a * 2) | ....return a * 2 | r = A(f, lambda ctx, g: g).apply(x)
a = Square.apply(x) | r = a.grad_fn.saved_tensors
a = Exp.apply(x) | r = [a.grad_fn.saved_tensors, a.grad_fn.saved_tensors[0] is a]
a = Square.apply(x) | a.sum().backward() | a.grad_fn.saved_tensors
a = Square.apply(x) | a.grad_fn.saved_variables
a = Square.apply(x) | r = a.grad_fn.needs_input_grad
a = Square.apply(x) | a.grad_fn.register_hook(lambda i, o: (i[0] * 2,)) | a.sum().backward()
a = Square.apply(x) | a.grad_fn.register_prehook(lambda o: (o[0] * 2,)) | a.sum().backward()
a = Square.apply(x) | a.grad_fn.metadata['k'] = 1 | r = a.grad_fn.metadata
a = Square.apply(x) | r = [a.grad_fn.next_functions[0][1], type(a.grad_fn.next_functions[0][0]).__name__]
a = A(lambda ctx, a, k, b: a * b, lambda ctx, g: (g, None, g)).apply(x, 2, c) | r = [[None if n is None else type(n).__name__, k] for n, k in a.grad_fn.next_functions]
a = x * 2 | b = Square.apply(a) | a.add_(1) | b.sum().backward()
a = Exp.apply(x) | a.add_(1) | a.sum().backward()
w = c.clone() | b = A(lambda ctx, a: seq(ctx.save_for_backward(w), a * w), lambda ctx, g: g * ctx.saved_tensors[0]).apply(x) | w.add_(1) | b.sum().backward()
a = Square.apply(x) | with T.no_grad(): x.add_(1) | a.sum().backward()
""".replace("....", "    "))  # noqa: E501

IN_PLACE = programs("""
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | a = x * 1 | b = D.apply(a) | b.sum().backward() | r = [a, b, a is b, a._version]
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | a = c.clone() | b = D.apply(a) | r = [a, b, a is b, a._version]
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | D.apply(x)
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | with T.no_grad(): b = D.apply(x) | r = b
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2), a * 1), lambda ctx, g: g * 2) | D.apply(x * 1)
D = A(lambda ctx, a: seq(ctx.mark_dirty(c), a * 1), lambda ctx, g: g * 2) | D.apply(x * 1)
D = A(lambda ctx, a: seq(ctx.mark_dirty(5), a * 1), lambda ctx, g: g * 2) | D.apply(x * 1)
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | a = x * 1 | b = a * a | D.apply(a) | b.sum().backward()
D = A(lambda ctx, a, b: seq(ctx.mark_dirty(a), a.mul_(2), (a, b * 2)), lambda ctx, g, h: (g * 2, h.sum(0))) | a = x * 1 | b = D.apply(a, c) | (b[0] * b[1]).sum().backward() | r = [a, b]
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | a = x * 1 | b = D.apply(a[0]) | a.sum().backward() | r = [a, b]
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2)), lambda ctx, g: g * 2) | a = x.view(12) | D.apply(a)
D = A(lambda ctx, a: seq(ctx.mark_dirty(a), a.mul_(2), ctx.save_for_backward(a), a), lambda ctx, g: g * ctx.saved_tensors[0]) | b = D.apply(x * 1) | b.sum().backward() | r = b
D = A(lambda ctx, a: seq(a.mul_(2), a), lambda ctx, g: g * 2) | a = x * 1 | b = D.apply(a) | b.sum().backward() | r = [a, b, a is b, a._version]
D = A(lambda ctx, a: a, lambda ctx, g: g * 2) | b = D.apply(x) | b.sum().backward() | r = [b, b is x, b._is_view()]
D = A(lambda ctx, a: a, lambda ctx, g: g * 2) | b = D.apply(c) | r = [b, b is c]
D = A(lambda ctx, a: a, lambda ctx, g: g * 2) | a = x * 1 | b = D.apply(a) | b.mul_(2)
D = A(lambda ctx, a: a, lambda ctx, g: g * 2) | a = x * 1 | b = D.apply(a) | a.mul_(2) | b.sum().backward()
D = A(lambda ctx, a: (a, a), lambda ctx, g, h: g + h * 2) | b = D.apply(x) | (b[0] + b[1] * c).sum().backward() | r = b
D = A(lambda ctx, a: (a, a * 2), lambda ctx, g, h: g + h * 2) | b = D.apply(x) | (b[0] + b[1] * c).sum().backward() | r = b
D = A(lambda ctx, a, b: (b, a), lambda ctx, g, h: (h, g)) | b = D.apply(x, c) | b[1].sum().backward() | r = b
D = A(lambda ctx, a: a[0], lambda ctx, g: g.expand(3, 4)) | b = D.apply(x) | r = [b, b._is_view()] | b.sum().backward()
D = A(lambda ctx, a: a[0], lambda ctx, g: g.expand(3, 4)) | b = D.apply(x * 1) | b.mul_(2)
D = A(lambda ctx, a: a.view(-1), lambda ctx, g: g.view(3, 4)) | b = D.apply(x * 1) | b[0] = 5.
D = A(lambda ctx, a: a.unbind(), lambda ctx, *g: T.stack(g)) | b = D.apply(x) | (b[0] * b[2]).sum().backward() | r = b
D = A(lambda ctx, a: a.detach(), lambda ctx, g: g * 3) | b = D.apply(x) | b.sum().backward() | r = b
D = A(lambda ctx, a: c, lambda ctx, g: g * 3) | b = D.apply(x) | b.sum().backward() | r = [b, b is c, c]
D = A(lambda ctx, a: y, lambda ctx, g: g.expand(3, 4)) | b = D.apply(x) | b.sum().backward() | r = [b]
b = Square.apply(x) | b.mul_(2) | b.sum().backward() | r = b
b = Two.apply(x) | b[0].mul_(2) | (b[0] + b[1]).sum().backward() | r = b
b = Square.apply(x)[0] | b.mul_(2) | b.sum().backward() | r = b
""")  # noqa: E501

SECOND = programs("""
g, = T.autograd.grad(Square.apply(x).sum(), x, create_graph=True) | r = T.autograd.grad(g.sum(), x)
g, = T.autograd.grad((Square.apply(x) * c).sum(), x, create_graph=True) | (g * g).sum().backward()
g, = T.autograd.grad(Exp.apply(x).sum(), x, create_graph=True) | r = T.autograd.grad(g.sum(), x)
g = T.autograd.grad(Apart.apply(x, y).sum(), [x, y], create_graph=True) | (g[0].sum() * g[1].sum()).backward()
g, = T.autograd.grad(Two.apply(x)[1].sum(), x, create_graph=True) | r = T.autograd.grad(g.sum(), x)
g, = T.autograd.grad(Square.apply(Square.apply(x)).sum(), x, create_graph=True) | h, = T.autograd.grad(g.sum(), x, create_graph=True) | r = T.autograd.grad(h.sum(), x)
a = A(lambda ctx, a: seq(setattr(ctx, 'a', a), a * a), lambda ctx, g: g * 2 * ctx.a).apply(x) | g, = T.autograd.grad(a.sum(), x, create_graph=True) | r = T.autograd.grad(g.sum(), x)
a = A(lambda ctx, a: seq(setattr(ctx, 'a', a.detach()), a * a), lambda ctx, g: g * 2 * ctx.a).apply(x) | g, = T.autograd.grad(a.sum(), x, create_graph=True) | r = g.requires_grad
w = c.clone().requires_grad_() | g, = T.autograd.grad(Square.apply(x), x, w, create_graph=True) | r = T.autograd.grad(g.sum(), w)
g, = T.autograd.grad(Square.apply(x).sum(), x, create_graph=True) | r = type(g.grad_fn).__name__
o = T.autograd.function.once_differentiable | B = A(lambda ctx, a: seq(ctx.save_for_backward(a), a * a), o(lambda ctx, g: g * 2 * ctx.saved_tensors[0])) | r = B.apply(x) | r.sum().backward()
o = T.autograd.function.once_differentiable | B = A(lambda ctx, a: seq(ctx.save_for_backward(a), a * a), o(lambda ctx, g: g * 2 * ctx.saved_tensors[0])) | g, = T.autograd.grad(B.apply(x).sum(), x, create_graph=True) | r = g
o = T.autograd.function.once_differentiable | B = A(lambda ctx, a: seq(ctx.save_for_backward(a), a * a), o(lambda ctx, g: g * 2 * ctx.saved_tensors[0])) | g, = T.autograd.grad((B.apply(x) * x).sum(), x, create_graph=True) | g.sum().backward()
o = T.autograd.function.once_differentiable | B = A(lambda ctx, a: seq(ctx.save_for_backward(a), a * a), o(lambda ctx, g: seq(r.append((T.is_grad_enabled(), g.requires_grad)), g))) | g, = T.autograd.grad((B.apply(x) * x).sum(), x, create_graph=True)
o = T.autograd.function.once_differentiable | B = A(lambda ctx, a, b: a * b, o(lambda ctx, g: (g * 2, None))) | g, = T.autograd.grad((B.apply(x, y) * x).sum(), x, create_graph=True) | g.sum().backward()
with T.no_grad(): g = T.autograd.grad(Square.apply(x.detach().requires_grad_()), x)
r = T.func.grad(lambda a: Apart.apply(x.detach(), a).sum())(y)
B = A(lambda a: a * a, lambda ctx, g: g * 2 * ctx.saved_tensors[0], lambda ctx, i, o: ctx.save_for_backward(*i)) | r = T.func.grad(lambda a: B.apply(a).sum())(y.detach())
r = T.autograd.functional.hessian(lambda a: Square.apply(a).sum(), y)
r = T.autograd.gradcheck(Square.apply, x.detach().double().requires_grad_())
r = T.autograd.gradgradcheck(Square.apply, x.detach().double().requires_grad_())
r = T.autograd.gradcheck(Two.apply, x.detach().double().requires_grad_())
""")  # noqa: E501


@pytest.mark.parametrize("code", BASICS)
def test_forward_and_backward(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", CONTEXT)
def test_context(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", IN_PLACE)
def test_in_place_and_views(code):
    check(SETUP + code)


@pytest.mark.parametrize("code", SECOND)
def test_second_derivatives(code):
    check(SETUP + code)
