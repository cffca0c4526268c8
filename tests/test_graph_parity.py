"""The graph that a program leaves behind, node by node beside torch's: names, edges, output numbers, order.

Each program is one expression in `T` (the framework), the leaves `x` (3, 4), `y` (4,), `m` (4, 3), `v` (2, 3, 4) and
`s` (0-d), all requiring grad, and `i` (an index tensor that does not). The same text runs under both.
"""

import pytest

torch = pytest.importorskip("torch")

import minitorch

PROGRAMS = """
x + y
x + 1
x - y
1 - x
x * y
x * 2.0
x * x
x / y
1 / x
x / 2
x ** 2
x ** y
2 ** x
-x
+x
abs(x)
x.sum()
x.sum(0)
x.sum((0, 1), keepdim=True)
x.mean()
x.mean(1)
x.prod()
x.prod(1)
x.var()
x.std(1)
x.max()
x.max(1).values
x.min(0)[0]
x.amax(1)
x.logsumexp(1)
x.norm()
x.cumsum(0)
x.cumprod(1)
x.exp().log().sqrt().rsqrt()
x.sin() + x.cos() + x.tan()
x.sinh() + x.cosh() + x.tanh()
x.sigmoid()
x.relu()
x.clamp(0, 1)
x.clamp(min=0)
x.clamp(y, y + 1)
x.abs().log1p().expm1()
x.reciprocal()
x.square()
T.maximum(x, y)
T.minimum(x, y)
T.where(x > 0, x, y)
T.atan2(x, y)
T.lerp(x, x * 2, 0.5)
x.floor() + x.ceil() + x.round() + x.trunc() + x.sign()
x.view(4, 3)
x.view(-1).view(2, 6)
x.reshape(4, 3)
x.t().reshape(12)
x.t().contiguous().view(12)
x.t()
x.T
v.transpose(0, 2)
v.permute(2, 0, 1)
v.flatten()
v.flatten(1)
v.unflatten(2, (2, 2))
y.unsqueeze(0)
x[None]
x.unsqueeze(1).squeeze(1)
x.unsqueeze(0).squeeze()
y.expand(3, 4)
y.expand_as(x) * x
x[0]
x[:, 1]
x[1:, ::2]
x[0, 1]
v[..., 0]
v[0, :, 1:3]
x[:]
x[i]
x[x > 0]
x[:, i]
x[i, i]
x.select(0, 1)
x.narrow(1, 1, 2)
x.index_select(0, i)
x.gather(1, i[None].expand(3, 2))
x.scatter(1, i[None].expand(3, 2), 0.0)
x.scatter_add(1, i[None].expand(3, 2), x)
x.masked_fill(x > 0, 0.0)
x.masked_select(x > 0)
x.take(i)
T.cat([x, x * 2])
T.cat([x, x.detach()], 1)
T.stack([x, x])
x.split(2)[0]
x.split([1, 2])[1]
x.chunk(2, 1)[1]
x.unbind()[1]
sum(x.unbind())
T.outer(y, y)
x.repeat(2, 1)
x.tile(2)
x.repeat_interleave(2, 0)
x.flip(0)
x.roll(1, 0)
x.tril()
x.triu(1)
x.diagonal()
v.diagonal(0, 1, 2)
T.diag(y)
x.sort(1)[0]
x.topk(2)[0]
x.kthvalue(2)[0]
x.median()
x.mm(m)
x @ m
x.matmul(y)
y @ m
y @ y
y.dot(y)
v @ m
v @ y
v @ v.transpose(1, 2)
x @ v.transpose(1, 2)
T.bmm(v, v.transpose(1, 2))
T.addmm(y[:3], x, m)
T.baddbmm(v @ m, v, m.expand(2, 4, 3))
T.nn.functional.linear(x, m.t())
T.nn.functional.linear(x, m.t(), y[:3])
T.nn.functional.linear(v, m.t(), y[:3])
T.nn.functional.linear(v, m.t())
x.softmax(1)
x.log_softmax(0)
T.nn.functional.relu(x)
T.nn.functional.gelu(x)
T.nn.functional.silu(x)
T.nn.functional.elu(x)
T.nn.functional.leaky_relu(x)
T.nn.functional.softplus(x)
T.nn.functional.hardtanh(x)
T.nn.functional.logsigmoid(x)
T.nn.functional.layer_norm(x, (4,))
T.nn.functional.layer_norm(x, (4,), y, y)
T.nn.functional.batch_norm(x, None, None, y, y, training=True)
T.nn.functional.group_norm(v, 1)
T.nn.functional.conv1d(v, v)
T.nn.functional.conv2d(v[None], v[None], padding=1)
T.nn.functional.conv2d(v[None], v[None, :, :1, :1], bias=y[:1])
T.nn.functional.max_pool1d(v, 2)
T.nn.functional.max_pool2d(v, 2)
T.nn.functional.avg_pool2d(v, 2)
T.nn.functional.adaptive_avg_pool2d(v, 1)
T.nn.functional.adaptive_avg_pool2d(v[None], 2)
T.nn.functional.cross_entropy(x, i[[0, 1, 0]])
T.nn.functional.nll_loss(x.log_softmax(1), i[[0, 1, 0]])
T.nn.functional.mse_loss(x, x * 2)
T.nn.functional.l1_loss(x, x * 2)
T.nn.functional.smooth_l1_loss(x, x * 2)
T.nn.functional.binary_cross_entropy(x.sigmoid(), x.detach().sigmoid())
T.nn.functional.binary_cross_entropy_with_logits(x, x.detach().sigmoid())
T.nn.functional.embedding(i, m)
T.nn.functional.pad(x, (1, 1))
T.nn.functional.dropout(x, 0.5)
T.nn.functional.dropout(x, 0.5, training=False)
T.nn.functional.normalize(x)
T.nn.functional.interpolate(v, scale_factor=2.0)
T.nn.functional.one_hot(i) * 1.0 + y[:2].sum()
x.clone()
x.double()
x.double().float()
x.to(T.float64)
x.detach() * x
(x * 2).mul_(3)
(x * 2).add_(y)
(x * 2).relu_()
(x * 2).t_()
(x * 2).zero_()
(x * 2).fill_(1.0)
(x * 2).copy_(y)
(x * 2).clamp_(0, 1)
(x * 2).masked_fill_(x > 0, 0.0)
(x * 2).unsqueeze_(0)
(x * 2).transpose_(0, 1)
T.relu_(x * 2)
T.zeros(3, 4).add_(x)
T.zeros(3, 4).copy_(x)
""".strip().splitlines()

STATEMENTS = {  # programs that write, by name
    "setitem of a number": "a = x * 2; a[0] = 5.0; r = a",
    "setitem of a tensor": "a = x * 2; a[0] = y; r = a",
    "setitem of a slice": "a = x * 2; a[1:, ::2] = 1.0; r = a",
    "setitem by mask": "a = x * 2; a[x > 0] = 0.0; r = a",
    "setitem by index": "a = x * 2; a[i] = y; r = a",
    "setitem into a constant": "a = T.zeros(3, 4); a[0] = y; r = a * 2",
    "add through a view": "a = x * 2; a[0].add_(1); r = a",
    "mul through a view of a view": "a = x * 2; a[1:][0].mul_(y); r = a",
    "the view afterwards": "a = x * 2; b = a[0]; b.mul_(2); r = b",
    "another view afterwards": "a = x * 2; b = a[0]; c = a.view(-1); b.mul_(2); r = c",
    "a view after a write to the base": "a = x * 2; b = a.t(); a.add_(1); r = b",
    "two writes": "a = x * 2; a[0].add_(1); a[1].mul_(3); r = a.sum()",
    "augmented": "a = x * 2; a += y; a -= 1; a *= y; a /= 2; r = a",
    "augmented item": "a = x * 2; a[0] += y; r = a",
    "squeeze_ and t_": "a = (x * 2).unsqueeze(0); a.squeeze_(0); a.t_(); r = a",
    "accumulated in a loop": "a = x\nfor _ in range(3): a = a.tanh() + x\nr = a.sum()",
    "no_grad inside": "with T.no_grad(): b = x * 3\nr = b * x",
    "unused output": "b, c = x.split(2); r = b.sum()",
    "an output twice": "b = x.exp(); r = b * b + b",
    "shared subgraph": "b = x @ m; r = (b.relu() + b.sigmoid()).sum() + b.mean()",
}


def leaves(T):
    T.manual_seed(0)
    space = {"T": T, "i": T.tensor([0, 1])}
    for name, shape in {"x": (3, 4), "y": (4,), "m": (4, 3), "v": (2, 3, 4), "s": ()}.items():
        space[name] = (T.rand(shape) + 0.1).requires_grad_()
    return space


def walk(root, names):
    """The graph as nested lists: [name, [edge, ...]]; a node met again is named by when it was first met."""
    met, rows, stack = {}, [], [root]
    while stack:
        node = stack.pop()
        if node is None or node in met:
            continue
        met[node] = len(met)
        edges = [(following, number) for following, number in node.next_functions]
        rows.append((node, edges))
        stack.extend(following for following, _ in reversed(edges))
    described = []
    for node, edges in rows:
        name = type(node).__name__
        if hasattr(node, "variable"):
            name += " of " + next((n for n, t in names.items() if t is node.variable), "?")
        described.append((name, [(None if f is None else met[f], n) for f, n in edges]))
    return described


def graph(T, code):
    space = leaves(T)
    exec(code, space)
    return walk(space["r"].grad_fn, {n: space[n] for n in "xymvs"})


@pytest.mark.parametrize("code", PROGRAMS)
def test_expression(code):
    code = "r = " + code
    assert graph(minitorch, code) == graph(torch, code)


@pytest.mark.parametrize("code", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_statements(code):
    assert graph(minitorch, code) == graph(torch, code)
