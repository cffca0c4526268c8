"""Samples whose gradients torch has computed once, so that many wrong versions of minitorch can be tried against them.

A `Recorded` sample holds torch's first and second gradients under random cotangents; `noticed()` runs minitorch alone
and says whether it gives anything else. Those of one entry of `op_db` come from `of_entry`; what the table has no entry
for (operators behind modules, unusual options) is in `PROGRAMS`.
"""

import contextlib
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

    def __init__(self, name, label, arguments, theirs, ours, finish=lambda result: result, second=True):
        self.name, self.label, self.arguments, self.ours, self.finish = name, label, arguments, ours, finish
        self.seed = zlib.crc32(f"{name} {label}".encode())
        random = np.random.default_rng(self.seed)
        args, kwargs = arguments(copied)
        torch.manual_seed(self.seed)
        wanted = found(finish(theirs(*args, **kwargs)), torch.Tensor)
        inputs = found((args, kwargs), torch.Tensor)
        self.usable = bool(wanted and inputs)
        if not self.usable:
            return

        def like(tensors):
            return [None if t is None else torch.from_numpy(np.asarray(random.standard_normal(tuple(t.shape)))).to(t.dtype)
                    for t in tensors]

        cotangents = like(wanted)
        first = op_db.gradients(torch, wanted, inputs, cotangents, retain_graph=True)
        self.cotangents, self.first = list(map(to_mini, cotangents)), list(map(as_array, first))
        self.second = None
        if second:
            with contextlib.suppress(RuntimeError, NotImplementedError):  # torch has no second derivative here
                cotangents2 = like(first)
                self.second = list(map(as_array, op_db.second_gradients(torch, wanted, inputs, cotangents, cotangents2)))
                self.cotangents2 = list(map(to_mini, cotangents2))

    def noticed(self):
        """Why what minitorch gives is not torch's (in a word), or None when it is."""
        args, kwargs = self.arguments(to_mini)
        minitorch.manual_seed(self.seed)
        try:
            outputs = found(self.finish(self.ours(*args, **kwargs)), minitorch.Tensor)
            inputs = found((args, kwargs), minitorch.Tensor)
            actual = op_db.gradients(minitorch, outputs, inputs, self.cotangents, retain_graph=self.second is not None)
            if not all(map(self.same, actual, self.first)):
                return "gradient"
            if self.second is not None:
                actual = op_db.second_gradients(minitorch, outputs, inputs, self.cotangents, self.cotangents2)
                if not all(map(self.same, actual, self.second)):
                    return "second gradient"
        except Exception as error:
            return type(error).__name__
        return None

    def same(self, actual, expected):
        if actual is None or expected is None:
            return not any(np.any(x != 0) for x in (as_array(actual), expected) if x is not None)
        actual = as_array(actual)
        return actual.shape == expected.shape and tolerances.close(actual, expected, self.name, "float64")


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
        if index < 8:
            for words, (function, spelled) in op_db.variants_of(op).items():
                if words == "in-place" and op.supports_inplace_autograd:
                    forms[words] = (
                        lambda x, *args, _f=function, **kwargs: _f(x.clone(), *args, **kwargs),
                        lambda x, *args, _f=function, _n=spelled, **kwargs: op_db.run(_f, (x.clone(), *args), kwargs, _n),
                    )
        for words, (theirs, ours) in forms.items():
            with contextlib.suppress(Exception):  # not a sample for torch either
                one = Recorded(name, f"{label} {words}".strip(), case.copies, theirs, ours,
                               lambda result: tree_map(lambda v: v, processed(finish, result)), op.supports_gradgrad)
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
    ("leaky_relu_", lambda T, x: T.nn.functional.leaky_relu_(x * 1, 0.3), X),
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
                          lambda *args, f=function: f(torch, *args), lambda *args, f=function: f(minitorch, *args))
        if sample.usable:
            yield sample
