"""Samples whose gradients torch has computed once, so that many wrong versions of minitorch can be tried against them.

A `Recorded` sample holds torch's first and second gradients under random cotangents; `noticed()` runs minitorch alone
and says whether it gives anything else. Those of one entry of `op_db` come from `of_entry`; what the table has no entry
for (operators behind modules, unusual options) is in `PROGRAMS`.
"""

import contextlib
import math
import sys
import zlib

import numpy as np
import torch

import minitorch
from minitorch.testing import op_db, tolerances
from minitorch.testing import samples as extra
from minitorch.testing.stand_in import copied, to_mini, tree_map


class Recorded:
    """A function of tensors, and torch's derivatives of it. `theirs(*args, **kwargs)` and `ours(...)` are the same
    function of either framework; `finish(framework_result)` gives what is differentiated.
    """

    def __init__(self, name, label, arguments, theirs, ours, finish=lambda result: result, orders=2):
        self.name, self.label, self.arguments, self.ours, self.finish = name, label, arguments, ours, finish
        self.orders = orders
        self.seed = zlib.crc32(f"{name} {label}".encode())
        random = np.random.default_rng(self.seed)
        args, kwargs = arguments(copied)
        torch.manual_seed(self.seed)
        wanted = found(finish(theirs(*args, **kwargs)), torch.Tensor)
        inputs = found((args, kwargs), torch.Tensor)
        self.expected, self.cotangents = [], []
        if not (wanted and inputs):
            return

        def like(tensors):
            made = [None if t is None else np.asarray(random.standard_normal(tuple(t.shape))) for t in tensors]
            self.cotangents.append(made)
            return [a if a is None else torch.from_numpy(a).to(t.dtype) for a, t in zip(made, tensors, strict=True)]

        with contextlib.suppress(RuntimeError, NotImplementedError):  # torch has no derivative of such an order
            for gradients in derivatives(torch, wanted, inputs, like, orders):
                self.expected.append(list(map(as_array, gradients)))

    @property
    def usable(self):
        """Whether anything is compared at all."""
        return any(g is not None and g.size for g in self.expected[:1] for g in g)

    def noticed(self):
        """Why what minitorch gives is not torch's (in a word), or None when it is."""
        args, kwargs = self.arguments(to_mini)
        minitorch.manual_seed(self.seed)
        try:
            outputs = found(self.finish(self.ours(*args, **kwargs)), minitorch.Tensor)
            inputs = found((args, kwargs), minitorch.Tensor)
            known = iter(self.cotangents)

            def like(tensors):
                return [None if a is None else minitorch.from_numpy(a.copy()) for a in next(known)]

            ours = derivatives(minitorch, outputs, inputs, like, self.orders)
            for number, (expected, actual) in enumerate(zip(self.expected, ours, strict=False)):  # torch may have fewer
                if not all(map(self.same, actual, expected)):
                    return f"gradient of order {(number + 3) // 2}{' recorded' * (number % 2)}"
        except Exception as error:
            return type(error).__name__
        return None

    def same(self, actual, expected):
        if actual is None or expected is None:
            return not any(np.any(x != 0) for x in (as_array(actual), expected) if x is not None)
        actual = as_array(actual)
        return actual.shape == expected.shape and tolerances.close(actual, expected, self.name, "float64")


def derivatives(framework, outputs, inputs, like, orders):
    """The gradients of each order under the cotangents that `like(outputs)` gives. The first is taken by the ordinary
    backward pass, then each once more, recorded, to be differentiated by the inputs and the cotangents.
    """
    cotangents = like(outputs)
    yield op_db.gradients(framework, outputs, inputs, cotangents, retain_graph=orders > 1)
    for order in range(2, orders + 1):
        cotangents = [c.requires_grad_() for c in cotangents]
        first = op_db.gradients(framework, outputs, inputs, cotangents, create_graph=True)
        yield first
        inputs = [*inputs, *cotangents]
        pairs = [(g, c) for g, c in zip(first, like(first), strict=True) if g is not None and g.requires_grad]
        if not pairs:
            yield [None] * len(inputs)
            return
        outputs, cotangents = map(list, zip(*pairs, strict=True))
        yield op_db.gradients(framework, outputs, inputs, cotangents, retain_graph=order < orders)


def found(tree, kind):
    """The tensors in it that require grad, each once."""
    return [t for t in {id(t): t for t in op_db.tensors_of(tree, kind)}.values() if t.requires_grad]


def as_array(tensor):
    return None if tensor is None else op_db.as_array(tensor)


def of_entry(name, limit):
    """The samples of an entry of `op_db` that have gradients, the first `limit` of the table's and what is made of them;
    for an operator with an in-place form also this one.
    """
    op = op_db.ENTRIES[name]
    if not op.supports_autograd:
        return
    for index, (label, sample) in enumerate(extra.all_samples(op, torch.float64, True, limit)):
        case = op_db.Case(op, sample, "float64", index)
        finish = sample.output_process_fn_grad
        public = op_db.entry_function(op)
        forms = {"": (op.op, lambda *args, **kwargs: op_db.run(op.op, args, kwargs, public))}
        if index < 8 and not sample.broadcasts_input:  # where some of torch's resize
            for words, (function, spelled) in op_db.variants_of(op).items():
                if words == "in-place" and op.supports_inplace_autograd:
                    forms[words] = (
                        lambda x, *args, _f=function, **kwargs: _f(x.clone(), *args, **kwargs),
                        lambda x, *args, _f=function, _n=spelled, **kwargs: op_db.run(_f, (x.clone(), *args), kwargs, _n),
                    )
        for words, (theirs, ours) in forms.items():
            with contextlib.suppress(Exception):  # not a sample for torch either
                one = Recorded(name, f"{label} {words}".strip(), case.copies, theirs, ours,
                               lambda result, finish=finish: processed(finish, result),
                               2 if op.supports_gradgrad else 1)
                if one.usable:
                    yield one


def processed(finish, result):
    """The table's own treatment of a result before it is differentiated."""
    if op_db.tensors_of(result, minitorch.Tensor):
        return op_db.run(lambda value: finish(value), (result,), {})
    return finish(result)


class Calls:
    """Which of the `watched` code objects ran inside the block."""

    def __init__(self, watched):
        self.watched, self.seen = watched, set()

    def __enter__(self):
        def note(frame, event, arg):
            if event == "call" and frame.f_code in self.watched:
                self.seen.add(frame.f_code)

        sys.setprofile(note)
        return self.seen

    def __exit__(self, *error):
        sys.setprofile(None)


def _tensor(T, numbers):
    return T.tensor(numbers)


def _layer(kind, **options):
    """A recurrent layer of `nn` as a function of its input, its states and its weights."""

    def run(T, input, states, *weights):
        layer = getattr(T.nn, kind)(input.shape[-1], states[0].shape[-1], **options).to(T.float64)
        names = [name for name, _ in layer.named_parameters()]
        states = states if kind == "LSTM" else states[0]
        return T.func.functional_call(layer, dict(zip(names, weights, strict=True)), (input, states))

    return run


def _weights(gates, layers=1, directions=1, size=4, hidden=3):
    shapes = []
    for layer in range(layers):
        width = size if layer == 0 else hidden * directions
        shapes += [(gates * hidden, width), (gates * hidden, hidden), (gates * hidden,), (gates * hidden,)] * directions
    return shapes


X, Y = (3, 4), (4, 3)
# (name of what it is for, function of the framework and its tensors, shapes of these; a list of shapes makes a list)
PROGRAMS = [
    ("conj_physical", lambda T, x: T.conj_physical(x), X),
    ("masked_select", lambda T, x: T.masked_select(x, _tensor(T, True)), ()),
    ("pow_base", lambda T, x: 2.5**x, X),
    ("pow_base", lambda T, x: T.pow(0.0, x.abs()), X),
    ("pow_base", lambda T, x: T.pow(1.5, x * 3), X),
    ("remainder_number", lambda T, x: x.remainder(0.7), X),
    ("fmod_number", lambda T, x: x.fmod(0.7), X),
    ("lerp_tensor", lambda T, x, y, w: T.lerp(x, y, w), X, X, X),
    ("lerp_tensor", lambda T, x, y, w: T.lerp(x, y, w), X, (4,), ()),
    ("lerp_tensor", lambda T, x, y, w: x.clone().lerp_(y, w), X, X, X),
    ("fill_tensor", lambda T, x, v: x.clone().fill_(v), X, ()),
    ("fill_tensor", lambda T, x, v: T.fill(x, v), X, ()),
    ("scatter_value", lambda T, x: T.scatter(x, 0, _tensor(T, [[0, 2, 1], [1, 1, 0]]), 2.0), X),
    ("scatter_src", lambda T, x, y: T.scatter(x, 0, _tensor(T, [[0, 2, 1], [1, 1, 0]]), y), X, (2, 3)),
    ("scatter_src", lambda T, x, y: x.clone().scatter_(1, _tensor(T, [[3, 2, 0, 1]]), y), X, (1, 4)),
    ("igamma", lambda T, x: T.special.gammainc(_tensor(T, [0.5, 1.0, 2.0, 3.5]).to(x.dtype), x.abs()), X),
    ("igammac", lambda T, x: T.special.gammaincc(_tensor(T, [0.5, 1.0, 2.0, 3.5]).to(x.dtype), x.abs()), X),
    ("pow_base", lambda T, x: T.pow(0.0, x), X),
    ("elu", lambda T, x: T.nn.functional.elu(x, 1.7), X),
    ("celu", lambda T, x: T.nn.functional.celu(x, 1.7), X),
    ("elu_", lambda T, x: T.nn.functional.elu_(x * 1, 1.7), X),
    ("celu_", lambda T, x: T.nn.functional.celu_(x * 1, 1.7), X),
    ("selu_", lambda T, x: T.nn.functional.selu_(x * 1), X),
    ("leaky_relu_", lambda T, x: T.nn.functional.leaky_relu_(x * 1, 0.3), X),
    ("im2col", lambda T, x: T.nn.functional.unfold(x, (2, 3), (1, 2), (1, 2), (2, 1)), (2, 3, 5, 6)),
    ("col2im", lambda T, x: T.nn.functional.fold(x, (4, 5), (2, 3), (2, 1), (1, 0), (1, 2)), (2, 12, 8)),
    ("index_copy", lambda T, x, y: T.index_copy(x, 0, _tensor(T, [2, 0]), y), X, (2, 4)),
    ("index_copy", lambda T, x, y: x.clone().index_copy_(1, _tensor(T, [1]), y), X, (3, 1)),
    ("split_equal", lambda T, x: T.split(x, 2, 1)[0], (3, 5)),
    ("split_equal", lambda T, x: T.split(x, 2, 1)[2], (3, 5)),
    ("sum_to", lambda T, x, y: x * y, (2, 3, 4), (1, 3, 1)),
    ("sum_to", lambda T, x, y: x * y, (2, 3, 4), (3, 1)),
    ("sum_to", lambda T, x, y: x * y, (2, 1, 4), (1, 1)),
    ("sum_to", lambda T, x, y: x * y, (5, 2, 3, 4), (1, 4)),
    ("norm", lambda T, x: T.norm(x, 1.5), X),
    ("norm", lambda T, x: T.norm(x, 3.0, 1), X),
    ("norm", lambda T, x: T.norm(x, 0.3, 0), X),
    ("var", lambda T, x: x.var(correction=20), X),
    ("std", lambda T, x: x.std(0, correction=0), X),
    ("norm", lambda T, x: T.norm(x, 2.5, 0, True), X),
    ("renorm", lambda T, x: T.renorm(x, 1.5, 0, 0.5), X),
    ("renorm", lambda T, x: T.renorm(x, 3.0, -1, 1.5), X),
    ("max_pool1d", lambda T, x: T.nn.functional.max_pool1d(x, 2, 1), (2, 2, 5)),
    ("max_pool2d", lambda T, x: T.nn.functional.max_pool2d(x, 2, 1), (2, 2, 3, 4)),
    ("max_pool3d", lambda T, x: T.nn.functional.max_pool3d(x, 2, 1), (1, 2, 3, 3, 4)),
    ("embedding", lambda T, w: T.nn.functional.embedding(_tensor(T, [[0, 2], [1, 2]]), w, 2), X),
    ("embedding", lambda T, w: T.nn.functional.embedding(_tensor(T, [0, 2, 2]), w, scale_grad_by_freq=True), X),
    ("attention", lambda T, q, k, v, m: T.nn.functional.scaled_dot_product_attention(q, k, v, m),
     (2, 3, 4), (2, 5, 4), (2, 5, 4), (3, 5)),
    ("attention", lambda T, q, k, v: T.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
     (2, 3, 4), (2, 3, 4), (2, 3, 4)),
    ("bce_logits", lambda T, x, y, p: T.nn.functional.binary_cross_entropy_with_logits(x, y, pos_weight=p.detach()),
     X, X, (4,)),
    ("bce_logits", lambda T, x, y, w: T.nn.functional.binary_cross_entropy_with_logits(x, y, w.detach()), X, X, (4,)),
    ("bce", lambda T, x, y, w: T.nn.functional.binary_cross_entropy(x.sigmoid(), y.sigmoid(), w.detach().exp()),
     X, X, X),
    ("smooth_l1", lambda T, x, y: T.nn.functional.smooth_l1_loss(x, y, beta=0.7), X, X),
    ("aminmax", lambda T, x: tuple(T.aminmax(x)), X),
    ("aminmax", lambda T, x: tuple(T.aminmax(T.cat([x, x], 1), dim=1)), X),
    ("aminmax", lambda T, x: T.aminmax(x, dim=0, keepdim=True)[1], X),
    ("cumprod", lambda T, x: T.cumprod(x, 0), ()),
    ("linalg_det", lambda T, x: T.linalg.det(x), (2, 1, 1)),
    ("svd", lambda T, x: T.linalg.svd(x, full_matrices=False)[0] ** 2, (4, 2)),  # squares are of either sign's
    ("svd", lambda T, x: T.linalg.svd(x, full_matrices=False)[2] ** 2, (2, 4)),
    ("gelu_", lambda T, x: T.nn.functional.gelu(x, approximate="tanh"), X),
    ("xlogy_number_", lambda T, x: x.clone().xlogy_(0.7), X),
    ("xlogy_of_number", lambda T, x: T.xlogy(2.5, x.abs()), X),
    ("copysign_number_", lambda T, x: x.clone().copysign_(-1.5), X),
    ("logit", lambda T, x: T.logit(x), X),  # NaN outside of 0 to 1
    ("nan_to_num", lambda T, x: T.nan_to_num(x + _tensor(T, [math.inf, 1.0, math.nan, -math.inf]).to(x.dtype)), X),
    ("addcmul", lambda T, x, y, z: T.addcmul(x, y, z, value=0.7), X, X, X),
    ("addcdiv", lambda T, x, y, z: T.addcdiv(x, y, z, value=0.7), X, X, X),
    ("softplus", lambda T, x: T.nn.functional.softplus(x - x.detach() + 2, 1, 2.0), X),  # at the threshold
    ("special_zeta", lambda T, x: T.special.zeta(_tensor(T, [1.5, 2.0, 3.0, 4.5]).to(x.dtype), x.abs() + 0.5), X),
    ("rnn_layer", _layer("RNN"), (5, 2, 4), [(1, 2, 3)], *_weights(1)),
    ("rnn_layer", _layer("RNN", nonlinearity="relu", bidirectional=True), (5, 2, 4), [(2, 2, 3)], *_weights(1, 1, 2)),
    ("rnn_layer", _layer("GRU", num_layers=2), (4, 2, 4), [(2, 2, 3)], *_weights(3, 2)),
    ("rnn_layer", _layer("LSTM", batch_first=True), (2, 4, 4), [(1, 2, 3), (1, 2, 3)], *_weights(4)),
]


def programs():
    """What the table has no sample for, as recorded samples."""
    random = np.random.default_rng(0)

    def tensors(shape):
        if isinstance(shape, list):
            return list(map(tensors, shape))
        return torch.from_numpy(np.asarray(random.standard_normal(shape))).requires_grad_()

    for number, (name, function, *shapes) in enumerate(PROGRAMS):
        inputs = list(map(tensors, shapes))
        sample = Recorded(name, f"program {number}", lambda copy, inputs=inputs: (tree_map(copy, inputs), {}),
                          lambda *args, f=function: f(torch, *args), lambda *args, f=function: f(minitorch, *args),
                          orders=3)
        if sample.usable:
            yield sample
