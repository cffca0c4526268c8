"""nn.utils and nn.parallel: the same program on torch and on minitorch (see test_nn.py for how they are compared)."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch  # noqa: E402
from tests.test_nn import check, net  # noqa: E402


def trained(lib, layer=None, size=3):
    """A module with gradients, in double precision."""
    module = (net(lib) if layer is None else layer).double()
    module(lib.randn(4, size, dtype=lib.float64)).pow(2).sum().backward()
    return module


CLIPS = {
    "norm": lambda lib, p: lib.nn.utils.clip_grad_norm_(p, 0.5),
    "norm large": lambda lib, p: lib.nn.utils.clip_grad_norm_(p, 1e6),
    "norm 1": lambda lib, p: lib.nn.utils.clip_grad_norm_(p, 0.5, norm_type=1),
    "norm inf": lambda lib, p: lib.nn.utils.clip_grad_norm_(p, 0.5, norm_type=float("inf")),
    "norm 0.5": lambda lib, p: lib.nn.utils.clip_grad_norm_(p, 0.5, norm_type=0.5, foreach=False),
    "one": lambda lib, p: lib.nn.utils.clip_grad_norm_(p[0], 0.5),
    "value": lambda lib, p: lib.nn.utils.clip_grad_value_(p, 0.1),
    "total": lambda lib, p: lib.nn.utils.get_total_norm([q.grad for q in p], 3.0),
    "none": lambda lib, p: lib.nn.utils.get_total_norm([]),
    "given": lambda lib, p: lib.nn.utils.clip_grads_with_norm_(p, 1.0, lib.tensor(7.0)),
    "empty": lambda lib, p: lib.nn.utils.clip_grad_norm_((q for q in []), 1.0),
    "deprecated": lambda lib, p: lib.nn.utils.clip_grad_norm(p, 1.0),
}


@pytest.mark.parametrize("name", CLIPS)
def test_clipping(name):
    def case(lib):
        parameters = [*trained(lib).parameters()]
        result = CLIPS[name](lib, parameters)
        return result, [p.grad for p in parameters]

    check(case)


def test_clipping_refuses_infinities():
    def case(lib):
        module = trained(lib, lib.nn.Linear(3, 2))
        module.bias.grad.fill_(float("nan"))
        lib.nn.utils.clip_grad_norm_(module.parameters(), 1.0, error_if_nonfinite=True)

    check(case, words="is non-finite, so it cannot be clipped")


def test_parameters_as_a_vector():
    def case(lib):
        module, other = net(lib), net(lib)
        vector = lib.nn.utils.parameters_to_vector(module.parameters())
        lib.nn.utils.vector_to_parameters(vector * 2, other.parameters())
        return vector, other.state_dict()

    check(case)
    check(lambda lib: lib.nn.utils.vector_to_parameters([1], net(lib).parameters()))


# ---- sequences ------------------------------------------------------------------------------------------------------


def sequences(lib, lengths=(2, 4, 1, 4)):
    return [lib.arange(n * 3, dtype=lib.float32).view(n, 3) + 10 * i for i, n in enumerate(lengths)]


SEQUENCES = {
    "pad": lambda lib, r: r.pad_sequence(sequences(lib)),
    "pad batch first": lambda lib, r: r.pad_sequence(sequences(lib), batch_first=True, padding_value=-1),
    "pad left": lambda lib, r: r.pad_sequence(sequences(lib), True, 0.5, padding_side="left"),
    "unpad": lambda lib, r: r.unpad_sequence(r.pad_sequence(sequences(lib)), lib.tensor([2, 4, 1, 4])),
    "pack": lambda lib, r: [*r.pack_sequence(sequences(lib, (4, 4, 2)))],
    "pack unsorted": lambda lib, r: [*r.pack_sequence(sequences(lib), enforce_sorted=False)][:2],
    "unpack": lambda lib, r: r.unpack_sequence(r.pack_sequence(sequences(lib), enforce_sorted=False)),
    "round trip": lambda lib, r: r.pad_packed_sequence(
        r.pack_padded_sequence(lib.ones(3, 5, 2), [3, 5, 1], batch_first=True, enforce_sorted=False),
        batch_first=True, padding_value=9.0, total_length=7,
    ),
    "invert": lambda lib, r: [r.invert_permutation(lib.tensor([2, 0, 1])), r.invert_permutation(None)],
    "double": lambda lib, r: r.pack_sequence(sequences(lib, (2, 1))).double().data,
    "not sorted": lambda lib, r: r.pack_sequence(sequences(lib)),
    "too short": lambda lib, r: r.pad_packed_sequence(r.pack_sequence(sequences(lib, (4, 2))), total_length=2),
    "length zero": lambda lib, r: r.pack_padded_sequence(lib.ones(3, 2, 1), [3, 0]),
    "wrong number": lambda lib, r: r.pack_padded_sequence(lib.ones(3, 2, 1), [3, 2, 1]),
}
SHARED_WORDS = {"not sorted": "must be sorted in decreasing order", "wrong number": "to be equal to batch_size"}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name):
    check(lambda lib: SEQUENCES[name](lib, lib.nn.utils.rnn), SHARED_WORDS.get(name))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_sequences_through_a_network(kind):
    def case(lib):
        network = getattr(lib.nn, kind)(3, 4, 2, bidirectional=True)
        packed = lib.nn.utils.rnn.pack_sequence(sequences(lib), enforce_sorted=False)
        packed = packed._replace(data=packed.data / 40)
        out, hidden = network(packed)
        padded, lengths = lib.nn.utils.rnn.pad_packed_sequence(out)
        padded.pow(2).sum().backward()
        return padded, lengths, hidden, [p.grad for p in network.parameters()]

    check(case)


# ---- parametrizations -----------------------------------------------------------------------------------------------


def parametrized(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    class Double(lib.nn.Module):
        def forward(self, x):
            return x * 2

    layer = lib.nn.Linear(3, 3)
    P = lib.nn.utils.parametrize
    return layer, P, Symmetric, Double


def test_parametrize():
    def case(lib):
        layer, P, Symmetric, Double = parametrized(lib)
        seen = [P.is_parametrized(layer)]
        P.register_parametrization(layer, "weight", Symmetric())
        seen += [
            repr(layer),
            layer.weight,
            [n for n, _ in layer.named_parameters()],
            P.is_parametrized(layer, "weight"),
        ]
        layer.weight = lib.ones(3, 3)
        P.register_parametrization(layer, "weight", Double())
        trained(lib, layer)
        seen += [layer.weight, layer.parametrizations.weight.original, layer.parametrizations.weight.original.grad]
        with P.cached():
            seen.append(layer.weight is layer.weight)
        seen += [layer.state_dict(), P.type_before_parametrizations(layer).__name__]
        P.remove_parametrizations(layer, "weight")
        return [*seen, repr(layer), layer.weight, [n for n, _ in layer.named_parameters()]]

    check(case)


PARAMETRIZE_ERRORS = {
    "no tensor": lambda lib, layer, P, S, D: P.register_parametrization(layer, "absent", S()),
    "shape": lambda lib, layer, P, S, D: P.register_parametrization(layer, "weight", lib.nn.Flatten(0)),
    "no inverse": lambda lib, layer, P, S, D: setattr(
        P.register_parametrization(layer, "weight", D()), "weight", lib.ones(3, 3)
    ),
    "not parametrized": lambda lib, layer, P, S, D: P.remove_parametrizations(layer, "weight"),
    "empty": lambda lib, layer, P, S, D: P.ParametrizationList([], layer.weight),
}


@pytest.mark.parametrize("name", PARAMETRIZE_ERRORS)
def test_parametrize_errors(name):
    assert check(lambda lib: PARAMETRIZE_ERRORS[name](lib, *parametrized(lib)))[0] == "error"


NORMS = {
    "weight": lambda lib, u: u.parametrizations.weight_norm(lib.nn.Linear(3, 4)),
    "weight dim": lambda lib, u: u.parametrizations.weight_norm(lib.nn.Linear(3, 4), dim=1),
    "weight whole": lambda lib, u: u.parametrizations.weight_norm(lib.nn.Linear(3, 4), dim=None),
    "spectral": lambda lib, u: u.parametrizations.spectral_norm(lib.nn.Linear(3, 4), n_power_iterations=2),
    "old spectral": lambda lib, u: u.spectral_norm(lib.nn.Linear(3, 4), n_power_iterations=2),
    "old weight": lambda lib, u: u.weight_norm(lib.nn.Linear(3, 4)),
    "old weight whole": lambda lib, u: u.weight_norm(lib.nn.Linear(3, 4), dim=None),
    "old weight removed": lambda lib, u: u.remove_weight_norm(u.weight_norm(lib.nn.Linear(3, 4))),
    "old spectral removed": lambda lib, u: u.remove_spectral_norm(u.spectral_norm(lib.nn.Linear(3, 4))),
    "not there": lambda lib, u: u.remove_weight_norm(lib.nn.Linear(3, 4)),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_weights(name):
    def case(lib):
        layer = trained(lib, NORMS[name](lib, lib.nn.utils))
        trained(lib, layer)
        return repr(layer), layer.state_dict(), [(n, p.grad) for n, p in layer.named_parameters()], layer.eval().weight

    check(case)


def test_fusion():
    def case(lib):
        conv, norm = lib.nn.Conv2d(2, 3, 3, bias=False), lib.nn.BatchNorm2d(3)
        linear, norm1 = lib.nn.Linear(4, 3), lib.nn.BatchNorm1d(3)
        norm(conv(lib.randn(2, 2, 5, 5)))
        norm1(linear(lib.randn(6, 4)))
        fused = lib.nn.utils.fuse_conv_bn_eval(conv.eval(), norm.eval())
        fused1 = lib.nn.utils.fuse_linear_bn_eval(linear.eval(), norm1.eval())
        return fused.state_dict(), fused1.state_dict()

    check(case)
    check(lambda lib: lib.nn.utils.fuse_conv_bn_eval(lib.nn.Conv2d(1, 1, 1), lib.nn.BatchNorm2d(1)))


def test_skip_init():
    layer = minitorch.nn.utils.skip_init(minitorch.nn.Linear, 3, 4)
    assert layer.weight.shape == (4, 3)


def test_data_parallel_is_the_module_itself():
    module = net(minitorch)
    wrapped = minitorch.nn.DataParallel(module)
    assert wrapped.module is module and [*wrapped.state_dict()] == ["module." + k for k in module.state_dict()]
    x = minitorch.ones(4, 3)
    module.eval()
    np.testing.assert_array_equal(wrapped(x).detach().numpy(), module(x).detach().numpy())
