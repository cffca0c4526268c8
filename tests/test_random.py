"""Random numbers: torch's own stream, bit for bit.

Every draw is made twice with torch and twice with minitorch from the same seed; the numbers, and the bytes of the
generator's state afterwards, must be equal.
"""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
import torch
from minitorch.kernels import box_muller, parallel
from minitorch.kernels import random as kernel

import minitorch

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int32", "int16", "int8", "uint8"]
SIZES = [1, 2, 7, 15, 16, 17, 31, 100, 1000, 33001]


def same(ours, theirs):
    """Equal to the bit, or both nan."""
    assert ours.shape == theirs.shape and str(ours.dtype) == str(theirs.dtype)
    if theirs.is_floating_point():
        ours, theirs = ours.double(), theirs.double()
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def drawn_alike(draw, seed=11):
    """draw(library) -> tensor, twice, with both libraries."""
    torch.manual_seed(seed)
    minitorch.manual_seed(seed)
    for _ in range(2):
        same(draw(minitorch), draw(torch))
    np.testing.assert_array_equal(minitorch.get_rng_state().numpy(), torch.get_rng_state().numpy())


def filled(method, size, dtype, *args):
    return lambda library: getattr(library.empty(size, dtype=getattr(library, dtype)), method)(*args)


# ---- seeds and states ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**40 + 7, 2**63, 2**64 - 1, -1, -3, -(2**63)])
def test_seeds(seed):
    drawn_alike(lambda library: library.rand(5), seed)
    assert minitorch.initial_seed() == torch.initial_seed()
    assert minitorch.Generator().manual_seed(seed).initial_seed() == torch.Generator().manual_seed(seed).initial_seed()


def test_a_new_generator_has_torchs_default_seed():
    ours, theirs = minitorch.Generator(), torch.Generator()
    assert ours.initial_seed() == theirs.initial_seed() and ours.device == minitorch.device("cpu")
    same(minitorch.rand(4, generator=ours), torch.rand(4, generator=theirs))


@pytest.mark.parametrize("before", [0, 1, 3, 623, 624, 625, 1300])
@pytest.mark.parametrize("normals", [0, 3])
def test_states_are_exchanged_with_torch(before, normals):
    ours, theirs = minitorch.Generator().manual_seed(5), torch.Generator().manual_seed(9)
    minitorch.rand(before, generator=ours)
    minitorch.randn(normals, generator=ours)  # of an odd number, the second of the last pair is kept
    theirs.set_state(torch.from_numpy(ours.get_state().numpy()))
    same(minitorch.randn(5, generator=ours), torch.randn(5, generator=theirs))
    torch.randn(2, generator=theirs)
    ours.set_state(minitorch.from_numpy(theirs.get_state().numpy()))
    assert ours.initial_seed() == 5
    same(minitorch.randn(40, generator=ours), torch.randn(40, generator=theirs))


def test_state_goes_back_and_is_a_copy():
    state = minitorch.get_rng_state()
    first = minitorch.randn(3)
    assert minitorch.randn(3).tolist() != first.tolist()
    minitorch.set_rng_state(state)
    same(minitorch.randn(3), torch.from_numpy(first.numpy()))


def test_what_is_no_state_is_refused():
    bad = [lambda m: 3, lambda m: m.zeros(3), *(lambda m, n=n: m.zeros(n, dtype=m.uint8) for n in (3, 5048, 5056))]
    before = minitorch.get_rng_state().tolist()
    for make in bad:
        for setter in ("set_rng_state", "generator"):
            errors = []
            for library in (minitorch, torch):
                set_state = library.set_rng_state if setter == "set_rng_state" else library.Generator().set_state
                with pytest.raises((TypeError, RuntimeError)) as error:
                    set_state(make(library))
                errors.append((type(error.value), str(error.value)))
            assert errors[0] == errors[1]
    assert minitorch.get_rng_state().tolist() == before


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, True, "a"])
def test_what_is_no_seed_is_refused(seed):
    for call in (lambda m: m.Generator().manual_seed(seed), lambda m: m.manual_seed(seed)):
        outcomes = []
        for library in (minitorch, torch):
            try:
                outcomes.append(call(library).initial_seed())
            except Exception as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]


def test_seed_is_new_each_time():
    g = minitorch.Generator()
    assert g.seed() != g.seed() and g.seed() == g.initial_seed()
    assert minitorch.seed() == minitorch.initial_seed()


def test_generators_are_copied_and_pickled_with_their_state():
    g = minitorch.Generator().manual_seed(3)
    minitorch.randn(3, generator=g)
    others = [copy.deepcopy(g), pickle.loads(pickle.dumps(g)), g.clone_state()]
    expected = minitorch.randn(3, generator=g).tolist()
    for other in others:
        assert minitorch.randn(3, generator=other).tolist() == expected


def test_fork_rng_restores():
    before = minitorch.get_rng_state().tolist()
    with minitorch.random.fork_rng():
        minitorch.rand(3)
    assert minitorch.get_rng_state().tolist() == before
    with minitorch.random.fork_rng(enabled=False):
        minitorch.rand(3)
    assert minitorch.get_rng_state().tolist() != before


def test_numba_is_loaded_when_it_has_become_worth_it(monkeypatch):
    monkeypatch.setattr(parallel, "_numba", None)
    monkeypatch.setattr(parallel, "_mode", "")
    monkeypatch.setattr(parallel, "_load", lambda: "loaded")
    monkeypatch.setattr(box_muller, "_saved", 0.0)
    assert [box_muller.compiles(0.4) for _ in range(3)] == [False, False, True]


def test_threads_share_a_generator():
    parts = []
    threads = [threading.Thread(target=lambda: parts.append(minitorch.rand(1000).numpy())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    minitorch.manual_seed(0)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(minitorch.rand(8000).numpy()))


# ---- distributions ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["compiled", "NumPy"])
def path(request, monkeypatch):
    """Both ways of drawing give the same bits."""
    if request.param == "compiled" and not parallel._load():
        pytest.skip("needs Numba")
    for module in (box_muller, kernel):
        monkeypatch.setattr(module, "compiles", lambda seconds: request.param == "compiled")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype, size, path):
    drawn_alike(lambda library: library.rand(size, dtype=getattr(library, dtype)))
    for low, high in ((0, 1), (-0.3, 0.7), (0.1, 0.3), (0, 3), (-1 / 28, 1 / 28), (2, 2), (-1e3, 1e3)):
        drawn_alike(filled("uniform_", size, dtype, low, high))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype, size, path):
    drawn_alike(lambda library: library.randn(size, dtype=getattr(library, dtype)))
    for mean, std in ((0, 0.02), (0.3, 0.7), (5, 1), (1, 0)):
        drawn_alike(filled("normal_", size, dtype, mean, std))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS + INTS + ["bool"])
def test_bernoulli(dtype, size, path):
    for p in (0, 1, 0.5, 0.3, 0.9, 1e-3):
        drawn_alike(filled("bernoulli_", size, dtype, p))
    for kind in ("float32", "float64", "float16"):
        drawn_alike(lambda m, kind=kind: m.empty(size, dtype=getattr(m, dtype)).bernoulli_(
            m.linspace(0, 1, size, dtype=getattr(m, kind))))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_other_continuous_distributions(dtype, size):
    drawn_alike(filled("exponential_", size, dtype, 1.7))
    drawn_alike(filled("cauchy_", size, dtype, 0.5, 1.7))
    drawn_alike(filled("log_normal_", size, dtype, 0.5, 1.7))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_geometric(dtype, size):
    drawn_alike(filled("geometric_", size, dtype, 0.3))


@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS + INTS + ["bool"])
def test_integers(dtype, size, path):
    drawn_alike(filled("random_", size, dtype))
    for bounds in ((2,), (0, 1), (0, 10), (3, 4), (0, 127), (-5, 100), (-7, None), (0, 2**30), (1, 65000)):
        for library in (torch, minitorch):
            try:
                filled("random_", 1, dtype, *bounds)(library)
            except RuntimeError:
                if library is torch:
                    with pytest.raises(RuntimeError, match="out of bounds"):
                        filled("random_", 1, dtype, *bounds)(minitorch)
                    break
        else:
            drawn_alike(filled("random_", size, dtype, *bounds))


@pytest.mark.parametrize("bounds", [(0, 2**28 - 1), (0, 2**28), (0, 2**31), (0, 10**9), (-(2**62), 2**62 + 5),
                                    (-(2**63), 2**63 - 1), (-(2**63), None), (5, None)])
def test_wide_integers(bounds):
    drawn_alike(filled("random_", 1000, "int64", *bounds))


def test_randint_and_its_like():
    drawn_alike(lambda m: m.randint(10, (7,)))
    drawn_alike(lambda m: m.randint(3, 10, (2, 3), dtype=m.float32))
    drawn_alike(lambda m: m.randint(low=3, high=10, size=[4]))
    drawn_alike(lambda m: m.randint_like(m.zeros(2, 3), 10))
    drawn_alike(lambda m: m.randint_like(m.zeros(2, 3), 3, 10, dtype=m.int16))
    drawn_alike(lambda m: m.randint_like(m.zeros(2, 3), low=3, high=10))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 100, 5000, 40000])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "float64"])
def test_randperm(n, dtype, path):
    drawn_alike(lambda m: m.randperm(n, dtype=getattr(m, dtype)))


def test_a_huge_permutation_is_made_inside_out():
    words = np.arange(1, 11, dtype=np.uint64) * np.uint64(7)
    out = np.empty(10, np.int64)
    kernel._inside_out.python(words, out)
    expected = []
    for i, word in enumerate(words.tolist()):
        expected.append(i)
        z = word % (i + 1)
        expected[i], expected[z] = expected[z], i
    assert out.tolist() == expected


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("categories", [1, 2, 5, 100])
@pytest.mark.parametrize("rows", [None, 1, 3])
def test_multinomial(dtype, categories, rows):
    weights = torch.rand((rows, categories) if rows else categories) + 0.01
    for count, replacement in ((1, True), (1, False), (7, True), (min(categories, 4), False)):
        drawn_alike(lambda m, count=count, replacement=replacement: m.multinomial(
            m.from_numpy(weights.numpy()).to(getattr(m, dtype)), count, replacement))


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson(dtype):
    drawn_alike(lambda m: m.poisson(m.tensor([0, 0.5, 3, 9.9, 10, 50, 1e4] * 20, dtype=getattr(m, dtype))))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3,), (20,), (4, 1)])
def test_normal_with_tensors(dtype, shape):
    def mean(m):
        return m.linspace(-2, 2, int(np.prod(shape)), dtype=getattr(m, dtype)).reshape(shape)

    drawn_alike(lambda m: m.normal(mean(m)))
    drawn_alike(lambda m: m.normal(mean(m), 0.7))
    drawn_alike(lambda m: m.normal(1.5, mean(m).abs()))
    drawn_alike(lambda m: m.normal(mean(m), m.ones(5, dtype=getattr(m, dtype)) * 0.3) if shape == (4, 1)
                else m.normal(mean(m), mean(m).abs()))
    drawn_alike(lambda m: m.normal(0.5, 2.0, shape, dtype=getattr(m, dtype)))


def test_bernoulli_of_probabilities():
    drawn_alike(lambda m: m.bernoulli(m.linspace(0, 1, 50)))
    drawn_alike(lambda m: m.linspace(0, 1, 50, dtype=m.float64).bernoulli())
    drawn_alike(lambda m: m.bernoulli(m.zeros(50, dtype=m.int64), 0.3))


def test_a_program_of_many_draws():
    """Odd and even counts in turn, so that kept normals and blocks of 16 meet."""

    def program(m):
        parts = [m.randn(n).double() for n in (3, 16, 5, 17, 1, 40)]
        parts += [m.rand(3).double(), m.randn(5, dtype=m.float64), m.randperm(9).double()]
        parts += [m.empty(7).bernoulli_(0.4).double()]
        parts += [m.empty(3).log_normal_().double(), m.randn(3).double(), m.randint(0, 2**40, (5,)).double()]
        return m.cat(parts)

    drawn_alike(program)


LAYOUTS = {
    "transposed": lambda m, d: m.empty(5, 7, dtype=d).t(),
    "permuted": lambda m, d: m.empty(3, 4, 5, dtype=d).permute(2, 0, 1),
    "every second": lambda m, d: m.zeros(6, 8, dtype=d)[:, ::2],
    "rows": lambda m, d: m.zeros(8, 6, dtype=d)[::2],
    "0-d": lambda m, d: m.empty((), dtype=d),
    "empty": lambda m, d: m.empty(0, 3, dtype=d),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method, args", [("normal_", ()), ("uniform_", (-1, 2)), ("random_", (9,)),
                                          ("bernoulli_", (0.3,)), ("exponential_", ())])
def test_draws_follow_the_order_of_memory(layout, method, args):
    drawn_alike(lambda m: getattr(LAYOUTS[layout](m, m.float64), method)(*args))


def test_likes_keep_the_layout():
    for f in ("rand_like", "randn_like"):
        drawn_alike(lambda m, f=f: getattr(m, f)(m.empty(5, 7).t()))
        drawn_alike(lambda m, f=f: getattr(m, f)(m.empty(2, 3, 4, 5), memory_format=m.channels_last))
        drawn_alike(lambda m, f=f: getattr(m, f)(m.empty(3, dtype=m.int64), dtype=m.float64))


def test_every_function_takes_a_generator():
    def program(m):
        g = m.Generator().manual_seed(4)
        state = m.get_rng_state().tolist()
        x = m.full((6,), 0.5)
        draws = [
            m.rand(3, generator=g), m.randn(3, generator=g), m.randint(9, (3,), generator=g),
            m.randperm(3, generator=g),
            m.rand_like(x, generator=g), m.randn_like(x, generator=g), m.randint_like(x, 9, generator=g),
            m.normal(0.0, 1.0, (3,), generator=g), m.normal(x, 1.0, generator=g), m.normal(1.0, x, generator=g),
            m.normal(x, x, generator=g), m.bernoulli(x, generator=g), m.bernoulli(x, 0.2, generator=g),
            m.multinomial(x, 2, generator=g), m.poisson(x, generator=g), x.clone().normal_(generator=g),
            x.clone().uniform_(generator=g), x.clone().random_(generator=g), x.clone().bernoulli_(generator=g),
            x.clone().exponential_(generator=g), x.clone().geometric_(0.5, generator=g), x.clone().cauchy_(generator=g),
            x.clone().log_normal_(generator=g),
        ]
        assert m.get_rng_state().tolist() == state
        return m.cat([d.double() for d in draws])

    same(program(minitorch), program(torch))
    with pytest.raises(TypeError, match="generator"):
        minitorch.rand(2, generator=3)


def test_out_is_filled():
    drawn_alike(lambda m: m.randn(20, out=m.empty(20)))
    drawn_alike(lambda m: m.rand(3, out=m.empty(0, dtype=m.float64)))
    drawn_alike(lambda m: m.randperm(5, out=m.empty(5, dtype=m.int64)))
    drawn_alike(lambda m: m.bernoulli(m.full((4,), 0.5), out=m.empty(4)))
    drawn_alike(lambda m: m.normal(m.zeros(4), 1.0, out=m.empty(4)))
    drawn_alike(lambda m: m.multinomial(m.ones(4), 2, out=m.empty(0, dtype=m.int64)))


def test_dropout_draws_torchs_masks():
    drawn_alike(lambda m: m.nn.functional.dropout(m.ones(1000), 0.3))


# ---- autograd -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda m, t: t.normal_(), lambda m, t: t.uniform_(), lambda m, t: t.bernoulli_(), lambda m, t: t.exponential_(),
    lambda m, t: t.bernoulli_(m.full((3,), 0.5)), lambda m, t: t.random_(), lambda m, t: t.random_(3),
    lambda m, t: t.random_(1, 3), lambda m, t: t.cauchy_(), lambda m, t: t.log_normal_(),
    lambda m, t: t.geometric_(0.5), lambda m, t: m.normal(t, 1.0), lambda m, t: m.normal(1.0, t),
    lambda m, t: m.normal(t, t.detach()), lambda m, t: m.bernoulli(t), lambda m, t: m.poisson(t),
])
def test_gradients_are_zero(call):
    names = []
    for library in (minitorch, torch):
        leaf = library.full((3,), 0.5, requires_grad=True)
        result = call(library, leaf * 1)
        names.append(result.grad_fn.name().split("::")[-1])
        result.sum().backward()
        assert leaf.grad.tolist() == [0, 0, 0]
    assert names[0] == names[1]


def test_a_leaf_that_requires_grad_is_not_overwritten():
    t = minitorch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        t.normal_()
    assert t.tolist() == [1, 1, 1]
    with minitorch.no_grad():
        t.normal_()
    assert t.requires_grad and t._version == 1


def test_a_saved_tensor_that_is_overwritten_is_noticed():
    a = minitorch.ones(3, requires_grad=True)
    b = minitorch.ones(3)
    c = a * b
    b.uniform_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


# ---- refusals -----------------------------------------------------------------------------------------------------

# fmt: off
SAME = """\
torch.rand(2,dtype=torch.int64)
torch.randn(2,dtype=torch.int64)
torch.randint(5,5,(2,))
torch.randint(0,(2,))
torch.randint(2.5,(2,))
torch.randint(0,300,(2,),dtype=torch.uint8)
torch.randint(-1,3,(2,),dtype=torch.uint8)
torch.randint(0,3,(2,),dtype=torch.bool)
torch.randint(0,70000,(2,),dtype=torch.float16)
torch.randint(0,2**30,(2,),dtype=torch.float32)
torch.randint(torch.tensor(3),(2,))
torch.randperm(-1)
torch.randperm(300,dtype=torch.uint8)
torch.randperm(5,dtype=torch.bool)
torch.randperm(3000,dtype=torch.float16)
torch.randperm(2.)
torch.normal(0.,-1.,(2,))
torch.normal(x,-1.)
torch.normal(x,-torch.ones(3))
torch.normal(0.,torch.ones(2,dtype=torch.int64))
torch.normal(xi,1.)
torch.bernoulli(xi)
torch.bernoulli(x,2.)
x.bernoulli_(2.)
x.bernoulli_(xi)
xi.normal_()
xi.uniform_()
xi.exponential_()
xi.cauchy_()
xi.log_normal_()
xi.bool().geometric_(.5)
x.normal_(0,-1)
x.uniform_(1,0)
x.uniform_(-3e38,3e38)
x.uniform_(0,1e39)
x.exponential_(0)
x.exponential_(float('inf'))
x.geometric_(0)
x.geometric_(1)
x.cauchy_(0,0)
x.log_normal_(0,0)
x.random_(5,5)
x.random_(0,2**25)
xi.to(torch.uint8).random_(-1,3)
xi.to(torch.int32).random_(-2**63,None)
x.half().random_(0,65504)
x.half().random_(0,70000)
x.bfloat16().random_(0,1000)
torch.poisson(xi)
torch.zeros(1).expand(3).normal_()
torch.multinomial(x,1)
torch.multinomial(x+1,4)
torch.multinomial(x+1,0)
torch.multinomial(torch.ones(1,1,1),1)
torch.multinomial(xi,1)
torch.multinomial(x-1,1)
torch.multinomial(x-1,2,True)
torch.multinomial(x,2,True)
torch.multinomial(torch.tensor([1.,float('inf')]),1)
torch.multinomial(torch.tensor([1.,float('inf')]),2,True)
torch.multinomial(torch.ones(3),2,out=torch.empty(0))
torch.rand_like(xi)
torch.rand(2,requires_grad=True)
""".splitlines()
SAME_CLASS = """\
torch.rand()
torch.rand(2,generator=3)
torch.randint(5)
torch.randint(0,2,3)
torch.normal(0,1)
torch.bernoulli(x+2)
x.bernoulli_(torch.ones(2,3))
x.bernoulli_('a')
x.geometric_()
xi.random_(0,1.5)
xi.random_(2.)
torch.poisson(x-1)
""".splitlines()
# fmt: on


def outcome(expression, library):
    library.manual_seed(0)
    names = {"torch": library, "x": library.zeros(3), "xi": library.zeros(3, dtype=library.int64)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(eval(expression, names))
        except Exception as error:
            result = (type(error).__name__, str(error))
    return result, [(w.category, str(w.message).split(" (Triggered")[0]) for w in caught]


@pytest.mark.parametrize("expression", SAME)
def test_same_result_or_same_words(expression):
    assert outcome(expression, minitorch) == outcome(expression, torch)


@pytest.mark.parametrize("expression", SAME_CLASS)
def test_same_class_of_error(expression):
    (ours, message), _ = outcome(expression, minitorch)
    (theirs, _), _ = outcome(expression, torch)
    assert ours == theirs and message
