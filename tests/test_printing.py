"""repr and format of tensors against torch's, to the character."""

import random

import numpy as np
import pytest
import torch

import minitorch
from minitorch import printing
from minitorch.tensor import wrap

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.fixture(autouse=True)
def default_options():
    yield
    for library in (torch, printing):
        library.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)
    minitorch.set_default_dtype(minitorch.float32)


def pair(values, dtype):
    """The same numbers as a tensor of torch and of minitorch."""
    theirs = torch.tensor(values, dtype=torch.float64 if "float" in dtype else torch.int64).to(getattr(torch, dtype))
    array = (theirs.float() if dtype == "bfloat16" else theirs).numpy()
    return theirs, wrap(array.astype(minitorch.dtypes.by_name(dtype).numpy))


def random_values(rng, shape, dtype):
    size = int(np.prod(shape))
    if "float" not in dtype:
        high = rng.choice([2, 10, 1000, 10**9])
        return np.reshape([rng.randrange(-high, high) for _ in range(size)], shape).tolist()
    kind = rng.randrange(6)
    values = []
    for _ in range(size):
        x = rng.gauss(0, 1)
        if kind == 1:
            x = float(round(x * 10 ** rng.randrange(5)))
        elif kind == 2:
            x *= 10.0 ** rng.randint(-12, 12)
        elif kind == 3:
            x *= 10.0 ** rng.randint(-2, 2)
        elif kind == 4 and rng.random() < 0.3:
            x = rng.choice([0.0, -0.0, float("inf"), float("-inf"), float("nan")])
        elif kind == 5:
            x = rng.choice([0.0, -0.0, 1.0, float("inf"), float("nan"), -123456.0])
        values.append(x)
    return np.reshape(values, shape).tolist()


def random_options(rng):
    options = {}
    if rng.random() < 0.5:
        options["profile"] = rng.choice(["default", "short", "full", None])
    for name, choices in {
        "precision": [0, 1, 2, 6, 10], "threshold": [0, 5, 30, 10**6], "edgeitems": [0, 1, 2, 5],
        "linewidth": [1, 20, 40, 120], "sci_mode": [True, False, None],
    }.items():
        if rng.random() < 0.4:
            options[name] = rng.choice(choices)
    return options


@pytest.mark.parametrize("seed", range(60))
def test_random_tensors_under_random_options(seed):
    rng = random.Random(seed)
    for _ in range(25):
        dtype = rng.choice(DTYPES)
        shape = [rng.choice([0, 1, 2, 3, 4, 7, 8, 12]) for _ in range(rng.randrange(5))]
        theirs, ours = pair(random_values(rng, shape, dtype), dtype)
        theirs, ours = theirs.reshape(shape), wrap(ours._array.reshape(shape))
        if theirs.is_floating_point() and rng.random() < 0.2:
            theirs.requires_grad_()
            ours.requires_grad_()
        options = random_options(rng) if rng.random() < 0.5 else {"profile": "default"}
        for library in (torch, printing):
            library.set_printoptions(**options)
        assert repr(ours) == repr(theirs), (dtype, shape, options)
        assert str(ours) == str(theirs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1001,), (40, 30), (11, 10, 10), (2, 3, 4, 5), (1000,)])
def test_shapes_of_every_dtype(dtype, shape):
    values = np.arange(int(np.prod(shape))).reshape(shape) % 100
    theirs, ours = pair(values.tolist(), dtype)
    assert repr(wrap(ours._array.reshape(shape))) == repr(theirs.reshape(shape))


def test_views_print_what_they_show():
    array = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    theirs = torch.from_numpy(array)
    assert repr(wrap(array.T[::2])) == repr(theirs.T[::2])
    assert repr(wrap(np.broadcast_to(array[:, :1], (4, 3)))) == repr(theirs[:, :1].expand(4, 3))


def test_gradients_are_named():
    theirs, ours = pair([1.0, 2.0], "float32")
    theirs.requires_grad_()
    ours.requires_grad_()
    for step in (lambda t: t, lambda t: t * 2, lambda t: (t * t).sum(), lambda t: t.exp().reshape(1, 2)):
        assert repr(step(ours)) == repr(step(theirs))


def test_parameters_say_so():
    theirs = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    ours = minitorch.nn.Parameter(wrap(np.arange(6, dtype=np.float32).reshape(2, 3)))
    assert repr(ours) == repr(theirs)
    assert repr(minitorch.nn.Parameter(ours.detach(), requires_grad=False)) == repr(
        torch.nn.Parameter(theirs.detach(), requires_grad=False)
    )


def test_the_default_dtype_is_not_printed():
    for name in ("float64", "float16", "float32"):
        torch.set_default_dtype(getattr(torch, name))
        minitorch.set_default_dtype(getattr(minitorch, name))
        for dtype in DTYPES:
            for values in ([1], []):
                theirs, ours = pair(values, dtype)
                assert repr(ours) == repr(theirs)


def test_a_subclass_prints_its_own_name():
    class Labelled(minitorch.Tensor):
        pass

    theirs = torch.arange(40.0).as_subclass(type("Labelled", (torch.Tensor,), {}))
    ours = Labelled.__new__(Labelled)
    ours._array = np.arange(40, dtype=np.float32)
    assert printing.tensor_str(ours) == repr(theirs)


@pytest.mark.parametrize("spec", ["", ".3f", "8.2e", ">10", "+.1f", "g"])
def test_format_of_one_number(spec):
    theirs, ours = pair(3.14159, "float32")
    assert format(ours, spec) == format(theirs, spec)
    assert f"{ours.requires_grad_():{spec}}" == f"{theirs.requires_grad_():{spec}}"


def test_format_of_several_numbers():
    theirs, ours = pair([1.0, 2.0], "float32")
    assert f"{ours}" == f"{theirs}"
    with pytest.raises(TypeError) as ours_error:
        f"{ours:.2f}"
    with pytest.raises(TypeError) as theirs_error:
        f"{theirs:.2f}"
    assert str(ours_error.value) == str(theirs_error.value)


def test_options_can_be_read_and_set_for_a_while():
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    theirs, ours = pair([1.23456, 2.0], "float32")
    with printing.printoptions(precision=2), torch._tensor_str.printoptions(precision=2):
        assert repr(ours) == repr(theirs)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
    assert repr(ours) == repr(theirs)
