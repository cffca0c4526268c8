"""In-place writes and views beside torch's: version counters, errors, rewritten histories (see both.py)."""

import pytest

torch = pytest.importorskip("torch")

from both import check, programs

import minitorch

VERSIONS = programs("""
a = T.zeros(3) | r = [a._version] | a.add_(1) | r += [a._version] | a[0] = 2 | r += [a._version] | a[1:].mul_(2) | r += [a._version]
a = T.zeros(4) | b = a[1:] | c = b[1:] | c.add_(1) | r = [a._version, b._version, c._version, c]
a = T.zeros(4) | b = a.detach() | b.add_(1) | r = [a._version, b._version]
a = T.zeros(4) | b = a.data | b.add_(1) | r = [a._version, b._version, a]
a = T.zeros(4) | b = a.clone() | b.add_(1) | r = [a._version, b._version]
a = T.zeros(2, 3) | b = a.view(6).view(3, 2).t() | b.zero_() | b.fill_(1) | r = [a._version, b._version]
a = T.zeros(2, 3) | a.t_() | r = [a._version, a]
a = T.zeros(2, 3) | a.unsqueeze_(0).squeeze_(0).transpose_(0, 1) | r = [a._version, a]
a = T.zeros(3) | T.add(a, 1, out=a) | r = [a._version, a]
a = T.zeros(3, 4) | T.exp(c, out=a) | r = [a._version, a]
a = T.zeros(3) | T.autograd.graph.increment_version(a) | r = a._version
a = T.zeros(3) | b = T.zeros(2) | T.autograd.graph.increment_version([a, b]) | r = [a._version, b._version]
a = T.zeros(3) | a += 1 | a -= 2 | a *= 3 | a /= 4 | r = [a._version, a]
a = T.zeros(3) | a[[0, 1]] = 1. | a[a > 0] += 2. | r = [a._version, a]
a = T.zeros(3, 4) | a.copy_(c) | a.set_ | r = a._version
a = T.zeros(3) | a.data = T.ones(3) | r = [a._version, a]
a = T.zeros(3) | a.data.add_(5) | r = [a._version, a]
with T.no_grad(): x.add_(1) | r = x._version
with T.no_grad(): x[0].zero_() | r = x
with T.no_grad(): x.copy_(c) | r = x
x.data.mul_(2) | r = x * 1
x.data = c | (x * 2).sum().backward() | r = x
x.data[0] = 0. | r = x
a = T.empty(3).uniform_() | r = a._version
a = T.empty(3).normal_() | r = a._version
a = T.zeros(3).requires_grad_() | r = a._version
x.sum().backward() | (x * 2).sum().backward() | r = x.grad._version
""")  # noqa: E501

OVERWRITTEN = programs("""
a = x * 2 | b = a * a | a.add_(1) | b.sum().backward()
a = x.exp() | a.add_(1) | a.sum().backward()
a = x.sigmoid() | a.mul_(2) | a.sum().backward()
a = x.tanh() | a[0] = 0. | a.sum().backward()
a = x.sqrt() | a.zero_() | a.sum().backward()
a = x.sin() | a.zero_() | a.sum().backward()
a = x * 2 | b = a.sin() | a.zero_() | b.sum().backward()
a = x * 2 | b = a.relu() | a.zero_() | b.sum().backward()
a = x.relu() | a.add_(1) | a.sum().backward()
a = x + 2 | b = a + a | a.add_(1) | b.sum().backward()
a = x * 2 | b = a.sum() | a.add_(1) | b.backward()
a = x * 2 | b = a @ m | a.add_(1) | b.sum().backward()
w = c.clone() | b = x * w | w.add_(1) | b.sum().backward()
w = c.clone() | b = x * w | w.detach().add_(1) | b.sum().backward()
w = c.clone() | b = x * w | w.data.add_(1) | b.sum().backward()
w = c.clone() | b = x * w[0] | w[1].add_(1) | b.sum().backward()
w = c.clone() | b = x * w.t().t() | w.add_(1) | b.sum().backward()
b = x * x | with T.no_grad(): x.add_(1) | b.sum().backward()
b = x * x | x.data.add_(1) | b.sum().backward()
b = x * y | with T.no_grad(): y.zero_() | b.sum().backward()
b = x + y | with T.no_grad(): y.zero_() | b.sum().backward()
a = x.softmax(1) | a.mul_(2) | a.sum().backward()
a = x.log_softmax(1) | a.mul_(2) | a.sum().backward()
a = x * 2 | b = a.prod() | a.add_(1) | b.backward()
a = x * 2 | b = a.max(1) | a.add_(1) | b[0].sum().backward()
a = x * 2 | b = a.pow(2) | a.add_(1) | b.sum().backward()
a = x * 2 | b = a / y | a.add_(1) | b.sum().backward()
a = y * 2 | b = x / a | a.add_(1) | b.sum().backward()
j = i.clone() | b = x[:, j] | j.add_(1) | b.sum().backward()
j = i.clone() | b = x.index_select(0, j) | j.add_(1) | b.sum().backward()
k = c > .5 | b = x.masked_fill(k, 0.) | k.fill_(True) | b.sum().backward()
k = c > .5 | b = T.where(k, x, y) | k.fill_(True) | b.sum().backward()
a = (x * 2).double() | b = a * a | a.add_(1) | b.sum().backward()
a = x * 2 | b = a.norm() | a.add_(1) | b.backward()
a = x * 2 | b = F.linear(a, m.t()) | a.add_(1) | b.sum().backward()
a = x * 2 | b = F.mse_loss(a, c) | a.add_(1) | b.backward()
a = x * 2 | b = F.layer_norm(a, (4,)) | a.add_(1) | b.sum().backward()
a = x * 2 | b = F.gelu(a) | a.add_(1) | b.sum().backward()
a = v * 2 | b = F.conv1d(a, v) | a.add_(1) | b.sum().backward()
a = v * 2 | b = F.max_pool1d(a, 2) | a.add_(1) | b.sum().backward()
a = v * 2 | b = F.avg_pool1d(a, 2) | a.add_(1) | b.sum().backward()
a = x * 2 | b = a.var() | a.add_(1) | b.backward()
a = x * 2 | b = a.cumsum(0) | a.add_(1) | b.sum().backward()
a = x * 2 | b = a.clamp(0, 1) | a.add_(1) | b.sum().backward()
a = x * 2 | b = T.cat([a, a]) | a.add_(1) | b.sum().backward()
a = x * 2 | b = T.maximum(a, y) | a.add_(1) | b.sum().backward()
""")  # noqa: E501

LEAVES = programs("""
x.add_(1)
x += 1
x[0] = 1.
x[0].add_(1)
x.view(-1).mul_(2)
x.t()[0].zero_()
x[x > .5] += 1.
x.zero_()
x.copy_(c)
x.t_()
x.unsqueeze_(0)
x.squeeze_()
x.detach().zero_() | r = x
x.detach()[0] = 3. | r = x
x.detach_() | r = x
(x * 2).detach_().add_(1) | r = x
a = (x * 2)[0] | a.detach_()
a = (x * 2) | a.requires_grad = False
a = (x * 2) | a.requires_grad_(False)
a = T.zeros(3, dtype=T.int64) | a.requires_grad_()
a = T.zeros(3, dtype=T.int64, requires_grad=True)
a = T.zeros(3) | a.requires_grad = 1
T.add(x, 1, out=T.zeros(3, 4))
T.add(c, 1, out=x)
with T.no_grad(): T.add(c, 1, out=x) | r = x
with T.no_grad(): r = T.add(x, 1, out=T.zeros(3, 4))
a = x[0] | a.requires_grad_() | r = a
a = x.detach() | a.requires_grad_() | a.add_(1)
with T.no_grad(): a = x[0] | a.add_(1)
with T.no_grad(): a = (x * 1)[0] | a.add_(1) | r = a
b = x * 1 | with T.no_grad(): a = b[0] | a.add_(1)
b = x * 1 | with T.no_grad(): a = b[0]; a.add_(1) | b.sum().backward() | r = b
b = x * 1 | a = b[0] | with T.no_grad(): a.add_(1) | b.sum().backward() | r = [a, b]
b = c.clone() | with T.no_grad(): a = b[0] | a.add_(y) | r = b
with T.no_grad(): a = c.clone()[0] | a.add_(1) | r = a
with T.inference_mode(): a = c * 2 | a.add_(1)
with T.inference_mode(): a = c * 2 | r = a * x
with T.inference_mode(): a = c * 2 | r = a + x
with T.inference_mode(): a = c * 2 | a.requires_grad_()
with T.inference_mode(): a = c * 2; a.add_(1) | r = [a.is_inference(), a.clone()]
with T.inference_mode(): a = c[0]; r = a.is_inference()
with T.inference_mode(): r = [T.is_inference_mode_enabled(), T.is_grad_enabled(), (x * 2).requires_grad]
with T.inference_mode(): a = c * 2; r = a._version
with T.no_grad(): r = [(x * 2).requires_grad, x.requires_grad, x[0].requires_grad]
with T.no_grad(): a = T.nn.Parameter(c) | r = a.requires_grad
with T.no_grad(): | with T.enable_grad(): r = x * 2
with T.set_grad_enabled(False): r = x * 2
T.set_grad_enabled(False) | r = [T.is_grad_enabled()] | T.set_grad_enabled(True) | r += [T.is_grad_enabled()]
r = T.no_grad()(lambda: x * 2)()
r = T.enable_grad()(lambda: x * 2)()
""")  # noqa: E501

MULTI = programs("""
a = x * 2 | b, d, e = a.unbind() | b.add_(1)
a = x * 2 | b, d = a.split(2) | b.add_(1)
a = x * 2 | b, d = a.chunk(2) | b.mul_(y)
a = x * 2 | b, d = a.split([1, 2]) | d[0] = 1.
a = x * 2 | b, d = a.tensor_split(2) | d.zero_()
a = c * 2 | b, d = a.split(2) | b.add_(1) | r = a
a = c * 2 | b, d = a.split(2) | b.add_(y)
a = x * 2 | b, d = a.split(2) | with T.no_grad(): b.add_(1) | r = a
a = x * 2 | b = a.unbind()[0] | a.add_(1) | b.grad_fn
a = x * 2 | b = a.unbind()[0] | a.add_(1) | r = [b.requires_grad, b.detach()]
a = x * 2 | b = a.unbind()[0] | a.add_(1) | r = b * 2
a = x * 2 | b = a.split(2)[0] | with T.no_grad(): a.add_(1) | r = b * 2
a = x * 2 | b = a.unbind()[0] | with T.no_grad(): a.add_(1); r = b * 2
a = x * 2 | b = a.split(2)[0] | e = b[0] | e.add_(1)
a = x * 2 | b = a.split(2)[0].clone() | b.add_(1) | r = b
b = x.unbind()[0] | b.add_(1)
a = x * 2 | for b in a: b.add_(1)
a = x * 2 | a[0], a[1] = 1., 2. | r = a
a = v * 2 | b, d = a.hsplit([1]) | b.add_(1)
a = v * 2 | b, d, e = a.vsplit(3) | b.add_(1)
""")  # noqa: E501

HISTORIES = programs("""
a = x * 2 | a[0] = 5. | a.sum().backward() | r = a
a = x * 2 | a[0] = y | a.sum().backward() | r = a
a = x * 2 | a[1:, ::2] = y[:2] * 3 | (a * c).sum().backward() | r = a
a = x * 2 | a[c > .5] = 0. | (a * c).sum().backward() | r = a
a = x * 2 | a[c > .5] += 1. | (a * c).sum().backward() | r = a
a = x * 2 | a[c > .5] *= s | (a * c).sum().backward() | r = a
a = x * 2 | a[i] = y | (a * c).sum().backward() | r = a
a = x * 2 | a[i, i] = s | (a * c).sum().backward() | r = a
a = x * 2 | a[..., -1] = s | (a * c).sum().backward() | r = a
a = x * 2 | a[:, None, 0] = s | (a * c).sum().backward() | r = a
a = x * 2 | a[:] = y | (a * c).sum().backward() | r = a
a = x * 2 | a[0] += y | (a * c).sum().backward() | r = a
a = x * 2 | a[0][1:].mul_(s) | (a * c).sum().backward() | r = a
a = x * 2 | a[0] = a[1] | (a * c).sum().backward() | r = a
a = T.zeros(3, 4) | a[0] = y | (a * c).sum().backward() | r = a
a = T.zeros(3, 4) | a[0, 0] = s | (a * c).sum().backward() | r = a
a = T.zeros(3, 4) | a[0].copy_(y) | (a * c).sum().backward() | r = a
a = T.zeros(3, 4) | b = a[0] | b.copy_(y) | b.mul_(y) | (a * c).sum().backward() | r = b
a = T.zeros(3, 4) | b = a.view(-1) | d = b[::2] | d += s | (a * c).sum().backward() | r = [a, b, d]
a = T.zeros(3, 4) | b = a.t() | b[1] = s | (a * c).sum().backward() | r = [a, b]
a = x * 2 | b = a.t() | b.mul_(s) | (a * c).sum().backward() | r = [a, b]
a = x * 2 | b = a[0] | d = a.view(-1) | b.mul_(2) | d.add_(1) | (a * c).sum().backward() | r = [b, d]
a = x * 2 | b = a[1:] | d = b[:, 1:] | e = d[0] | e.mul_(s) | (a * c).sum().backward() | r = [a, b, d, e]
a = x * 2 | b = a[0] | a.mul_(3) | b.sum().backward() | r = b
a = x * 2 | b = a[0] | a.mul_(3) | b.add_(1) | (a * c).sum().backward() | r = [a, b]
a = x * 2 | b = a.expand(2, 3, 4) | a.mul_(2) | b.sum().backward() | r = b
a = x * 2 | b = a.diagonal() | b.zero_() | (a * c).sum().backward() | r = a
a = x * 2 | b = a.diagonal() | b.copy_(y[:3]) | (a * c).sum().backward() | r = a
a = x * 2 | a.t_() | a.mul_(2) | (a.t() * c).sum().backward() | r = a
a = x * 2 | a.squeeze_(0) | a.unsqueeze_(0) | a.sum().backward() | r = a
a = x * 2 | b = a.view(-1) | b.unsqueeze_(0) | b.mul_(2) | a.sum().backward() | r = [a, b]
a = x * 2 | b = a.t() | b.t_() | b.add_(1) | (a * c).sum().backward() | r = [a, b]
a = x.clone() | for k in range(3): a[k] *= k + 1. | (a * c).sum().backward() | r = a
a = x.clone() | for k in range(3): a[:, k] = a[:, k + 1] * 2 | (a * c).sum().backward() | r = a
a = x * 2 | a.relu_().mul_(2).sum().backward() | r = x.grad
a = T.nn.ReLU(inplace=True)(x * 2 - 1) | a.sum().backward() | r = a
a = T.nn.LeakyReLU(.1, inplace=True)(x * 2 - 1) | a.sum().backward() | r = a
a = T.nn.ELU(inplace=True)(x * 2 - 1) | a.sum().backward() | r = a
a = T.nn.Hardtanh(inplace=True)(x * 2 - 1) | a.sum().backward() | r = a
a = T.nn.SiLU(inplace=True)(x * 2 - 1) | a.sum().backward()
a = T.nn.ReLU(inplace=True)(x)
a = F.relu(x.exp(), inplace=True) | a.sum().backward()
a = F.relu(x + 1, inplace=True) | a.sum().backward() | r = a
a = x.detach() | a.add_(1) | b = x * x | b.sum().backward()
b = x * x | a = x.detach() | a.add_(1) | b.sum().backward()
a = x * 2 | a.retain_grad() | a.mul_(3) | a.sum().backward() | r = a.grad
a = x * 2 | b = a[0] | b.retain_grad() | a.mul_(3) | b.sum().backward() | r = x.grad
a = x * 2 | a.retain_grad() | a[0] = 1. | a.sum().backward() | r = a.grad
a = x * 2 | h = [] | a.register_hook(lambda g: h.append(g)) | a.mul_(3) | a.sum().backward() | r = h
a = x * 2 | b = a[0] | h = [] | b.register_hook(lambda g: h.append(g)) | b.mul_(3) | a.sum().backward() | r = h
a = (x * 2).double() | a[0] = y | a.sum().backward() | r = a
a = x * 2 | a[0] = i[0] | a.sum().backward() | r = a
a = x * 2 | a.add_(y, alpha=2) | a.addcmul_(c, y) | (a * c).sum().backward() | r = a
a = x * 2 | a.mul_(T.ones(2, 3, 4))
a = y * 2 | a.add_(x)
a = T.zeros(3, dtype=T.int64) | a.add_(1.5)
a = T.zeros(3, dtype=T.int64) | a.div_(2)
a = T.zeros(3, dtype=T.int64) | a.add_(y[:3])
a = x.expand(2, 3, 4) | a.add_(1)
a = c.expand(2, 3, 4) | a.add_(1)
a = T.zeros(1).expand(3) | a.zero_()
a = x * 2 | b = a.reshape(4, 3) | b.mul_(2) | (a * c).sum().backward() | r = [a, b]
a = x * 2 | b = a.t().reshape(12) | b.mul_(2) | (a * c).sum().backward() | r = [a, b]
a = x * 2 | b = a.narrow(1, 1, 2) | b.fill_(1.) | (a * c).sum().backward() | r = a
a = x * 2 | b = a.unfold(1, 2, 2) | b.mul_(s) | (a * c).sum().backward() | r = a
a = x * 2 | b = a.as_strided((2, 2), (4, 1), 1) | b.mul_(s) | (a * c).sum().backward() | r = a
a = x * 2 | b = a.select(1, 2) | b.sub_(s) | (a * c).sum().backward() | r = a
a = x * 2 | b = a.view(2, 6) | b[0] = 0. | g, = T.autograd.grad((a * c).sum(), x, create_graph=True) | r = g
a = x * x | b = a[0] | b.mul_(y) | g, = T.autograd.grad((a * a).sum(), x, create_graph=True) | g.sum().backward() | r = [x.grad, y.grad]
a = x * x | a[c > .5] = s * s | g, = T.autograd.grad((a * a).sum(), s, create_graph=True) | g.backward() | r = s.grad
r = T.zeros(3).is_leaf, x[0]._is_view(), x[0]._base is x, (x * 1)._base is None
a = x * 2 | b = a[0][1:] | r = [b._base is a, b._is_view(), b._version]
""")  # noqa: E501

CALLS = [
    "sum(1).addmv_(c,y)",
    "abs_()", "acos_()", "add_(y)", "addcdiv_(c,y,value=.5)", "addcmul_(c,y)", "asin_()", "asinh_()", "atan_()",
    "atan2_(y)", "ceil_()", "clamp_(0,.5)", "clamp_min_(0)", "clamp_max_(.3)", "copy_(y)", "copysign_(y)", "cos_()",
    "cosh_()", "cumprod_(0)", "cumsum_(1)", "digamma_()", "div_(y)", "erf_()", "erfc_()", "erfinv_()", "exp_()",
    "exp2_()", "expm1_()", "fill_(s)", "fill_(2.)", "floor_()", "floor_divide_(y)", "fmod_(.3)", "frac_()",
    "hypot_(y)", "index_add_(0,i,c[:2])", "index_copy_(0,i,c[:2])", "index_fill_(0,i,0.)", "index_put_((i,i),y[:2])",
    "lerp_(c,.3)", "lgamma_()", "log_()", "log10_()", "log1p_()", "log2_()", "logit_(.1)", "masked_fill_(c>.5,1.)",
    "masked_scatter_(c>.5,v)", "mul_(y)", "mul_(2)", "nan_to_num_()", "neg_()", "negative_()", "pow_(2)", "pow_(y)",
    "put_(i,y[:2])", "reciprocal_()", "relu_()", "remainder_(.3)", "round_()", "rsqrt_()",
    "scatter_(1,i[None].expand(3,2),0.)", "scatter_(1,i[None].expand(3,2),c[:,:2])",
    "scatter_add_(1,i[None].expand(3,2),c)", "sigmoid_()", "sign_()", "sgn_()", "sin_()", "sinc_()", "sinh_()",
    "sqrt_()", "square_()", "sub_(y)", "subtract_(y)", "swapaxes_(0,1)", "swapdims_(0,1)", "t_()", "tan_()", "tanh_()",
    "transpose_(0,1)", "tril_()", "triu_()", "trunc_()", "true_divide_(y)", "unsqueeze_(1)", "xlogy_(c)", "zero_()",
    "fill_diagonal_(0.)", "fix_()", "float_power_(2)", "multiply_(y)", "divide_(y)", "logical_not_()", "gt_(0)",
    "eq_(0)", "ge_(y)", "renorm_(2,0,.5)", "squeeze_()", "resize_(4,3)", "ldexp_(i[0])", "acosh_()", "atanh_()",
    "i0_()", "bernoulli_(.5)", "uniform_()", "normal_()", "exponential_()", "index_reduce_(0,i,c[:2],'amax')",
    "scatter_reduce_(1,i[None].expand(3,2),c[:,:2],'sum')", "mvlgamma_(2)", "arctan_()", "clip_(0,1)", "absolute_()",
    "addbmm_(v[:,:,:3].transpose(1,2)[:,:3],v)", "addmm_(c@c.t(),x)", "addr_(y[:3],y)", "arccos_()", "arccosh_()",
    "arcsin_()", "arcsinh_()", "arctan2_(y)", "arctanh_()", "as_strided_((2,3),(1,2))", "cauchy_()",
    "conj_physical_()", "deg2rad_()", "geometric_(.5)", "greater_(y)", "greater_equal_(0)", "heaviside_(y)",
    "igamma_(y)", "igammac_(y)", "le_(y)", "less_(0)", "less_equal_(y)", "log_normal_()", "logical_and_(y)",
    "logical_or_(y)", "logical_xor_(y)", "lt_(y)", "ne_(0)", "nextafter_(y)", "not_equal_(y)", "polygamma_(1)",
    "rad2deg_()", "random_(7)", "requires_grad_()", "detach_()", "clamp_(y,y+1)", "index_fill_(0,i,s)",
    "masked_fill_(c>.5,s)", "lerp_(c,x)", "fmod_(y)", "remainder_(y)", "copysign_(-2.)", "xlogy_(2.)",
    "put_(i,y[:2],accumulate=True)", "apply_(abs)", "map_(c,lambda a,b:a*b)", "map2_(c,c,lambda a,b,d:a*b-d)",
    "resize_as_(c.t())", "set_(c)", "div_(y,rounding_mode='floor')", "div_(y,rounding_mode='trunc')",
    "scatter_reduce_(1,i[None].expand(3,2),x[:,:2],'prod',include_self=False)", "index_add_(0,i,x[:2],alpha=2)",
    "round_(decimals=1)", "nan_to_num_(nan=1.)", "squeeze_(0)", "squeeze_((0,1))", "bernoulli_(c)",
    "fill_diagonal_(2.,wrap=True)", "index_copy_(0,i,x[:2])", "clip_(max=y)",
]


def family(text):
    return [text.replace(" | ", "\n").replace("CALL", call) for call in CALLS]


RECORDED = family("a = x * 2 - 1 | a = a.CALL | (a * c.reshape(a.shape)).sum().backward() | r = a")
ON_A_LEAF = family("x.CALL | r = x")
ON_A_VIEW_OF_A_LEAF = family("b = x.view(3, 4) | b.CALL | r = b")
ON_A_VIEW = family("a = x * 2 - 1 | b = a.view(3, 4) | b.CALL | r = [a, b]")
UNRECORDED = family("with T.no_grad(): a = x * 2 - 1; a.CALL | r = [a, a._version]")
OF_INTEGERS = [
    f"a = T.tensor([[5, 3, -2], [1, 6, 12]]) | b = T.tensor([3, 1, 2]) | a.{call} | r = a".replace(" | ", "\n")
    for call in [
        "bitwise_and_(b)", "bitwise_or_(6)", "bitwise_xor_(b)", "bitwise_not_()", "bitwise_left_shift_(b)",
        "bitwise_right_shift_(1)", "gcd_(b)", "lcm_(b)", "add_(b)", "add_(1.5)", "mul_(True)", "div_(2)",
        "floor_divide_(b)", "remainder_(b)", "fmod_(-2)", "pow_(2)", "pow_(b)", "clamp_(0,4)", "abs_()", "sign_()",
        "eq_(3)", "exp_()", "sqrt_()", "logical_not_()", "float_power_(2)", "mvlgamma_(1)", "ldexp_(b)",
        "index_fill_(1,b-1,2.5)", "masked_fill_(a>2,0)", "cumsum_(0)", "cumprod_(1)", "addcmul_(b,b,value=2)",
        "addcdiv_(b,b)", "random_(3,9)", "fill_(2.7)", "lerp_(a,.5)", "neg_()", "square_()", "trunc_()",
        "nan_to_num_()", "gcd_(1.)", "atan2_(b)", "heaviside_(b)", "copysign_(b)", "xlogy_(b)", "logical_xor_(b)",
        "scatter_add_(1,b[None]-1,a)", "index_reduce_(1,b-1,a,'mean')",
    ]
]


@pytest.mark.parametrize("code", VERSIONS)
def test_versions(code):
    check(code)


@pytest.mark.parametrize("code", OVERWRITTEN)
def test_overwritten(code):
    check(code)


@pytest.mark.parametrize("code", LEAVES)
def test_leaves_and_modes(code):
    check(code)


@pytest.mark.parametrize("code", MULTI)
def test_outputs_of_split(code):
    check(code)


@pytest.mark.parametrize("code", HISTORIES)
def test_histories(code):
    check(code)


@pytest.mark.parametrize("code", RECORDED)
def test_family_recorded(code):
    check(code)


@pytest.mark.parametrize("code", ON_A_LEAF)
def test_family_on_a_leaf(code):
    check(code)


@pytest.mark.parametrize("code", ON_A_VIEW_OF_A_LEAF)
def test_family_on_a_view_of_a_leaf(code):
    check(code)


@pytest.mark.parametrize("code", ON_A_VIEW)
def test_family_on_a_view(code):
    check(code)


@pytest.mark.parametrize("code", UNRECORDED)
def test_family_unrecorded(code):
    check(code)


@pytest.mark.parametrize("code", OF_INTEGERS)
def test_family_of_integers(code):
    check(code)


def test_the_family_is_whole():
    """Whatever torch's tensor does in place, ours does too, and is in the tables above. There are no sparse tensors."""
    names = {n for n in dir(torch.Tensor) if n.endswith("_") and not n.startswith("_") and "sparse" not in n}
    assert not {n for n in names if not hasattr(minitorch.Tensor, n)}
    text = "".join(CALLS + OF_INTEGERS)
    assert {n for n in names if n + "(" not in text} <= {"share_memory_", "baddbmm_"}
    functions = {n for n in dir(torch) if n.endswith("_") and not n.startswith("_") and "sparse" not in n}
    assert not {n for n in functions if not hasattr(minitorch, n)}
