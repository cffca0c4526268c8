"""Every row of torch's `module_db`: same weights from the same seed, same outputs, gradients, repr and state dict.

The table gives constructor and forward arguments for each module class of torch.nn, in training and in evaluation mode.
Both libraries get the same arguments and the same seed, and nothing else is shared: initial weights, dropout masks and
random slopes must agree because the streams do.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.testing._internal.common_modules import module_db  # noqa: E402

import minitorch  # noqa: E402

MISSING = {"LinearCrossEntropyLoss"}  # a fused loss that torch added for large vocabularies
FLOAT64 = torch.float64


def to_mini(x):
    """torch's tensors, dtypes, functions and modules in `x` as minitorch's."""
    if isinstance(x, torch.Tensor):
        array = x.detach().numpy().copy(order="K")
        tensor = minitorch.from_numpy(array) if array.ndim else minitorch.tensor(array)
        return tensor.requires_grad_() if x.requires_grad else tensor
    if isinstance(x, torch.nn.utils.rnn.PackedSequence):
        return minitorch.nn.utils.rnn.PackedSequence(*map(to_mini, x))
    if isinstance(x, torch.dtype):
        return getattr(minitorch, str(x).removeprefix("torch."))
    if isinstance(x, torch.device):
        return minitorch.device(str(x))
    if isinstance(x, dict):
        return {k: to_mini(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(map(to_mini, x))
    if isinstance(x, torch.nn.Module):
        return module_to_mini(x)
    if callable(x):
        name = getattr(x, "__name__", "")
        return getattr(minitorch.nn.functional, name, None) or getattr(minitorch, name, x)
    return x


def module_to_mini(module):
    """A module that is an argument of another one (a layer that an encoder repeats)."""
    layer = module
    kind = getattr(minitorch.nn, type(layer).__name__)
    if isinstance(layer, torch.nn.TransformerEncoderLayer | torch.nn.TransformerDecoderLayer):
        mine = kind(
            layer.self_attn.embed_dim, layer.self_attn.num_heads, layer.linear1.out_features, layer.dropout.p,
            to_mini(layer.activation), layer.norm1.eps, layer.self_attn.batch_first, layer.norm_first,
            layer.linear1.bias is not None,
        )
    elif isinstance(layer, torch.nn.LayerNorm):
        mine = kind(layer.normalized_shape, layer.eps)
    else:
        mine = kind()
    mine.to(to_mini(next(layer.parameters()).dtype))
    mine.load_state_dict({k: to_mini(v) for k, v in layer.state_dict().items()})
    return mine


def tensors(x):
    """All floating point tensors in a nest of tuples, lists and dicts."""
    if isinstance(x, torch.Tensor | minitorch.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for part in x for t in tensors(part)] if isinstance(x, list | tuple) else []


def same(ours, theirs, what, tolerance=1e-7):
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, what
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=what)


def build(info, args, kwargs, training, seed=0):
    torch.manual_seed(seed)
    theirs = info.module_cls(*args, **kwargs)
    state = torch.get_rng_state()
    minitorch.manual_seed(seed)
    ours = getattr(minitorch.nn, info.module_cls.__name__)(*to_mini(args), **to_mini(kwargs))
    torch.set_rng_state(state)
    return ours.train(training), theirs.train(training)


def parts(module):
    return [*module.named_parameters(), *module.named_buffers()]


def compare(info, sample, training):
    """One row: construction, then forward and backward in float64."""
    args, kwargs = sample.constructor_input.args, sample.constructor_input.kwargs
    ours, theirs = build(info, args, kwargs, training)
    assert repr(ours) == repr(theirs)
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    lazy = "Lazy" in info.name
    if not lazy:
        for (name, mine), (_, its) in zip(parts(ours), parts(theirs), strict=True):
            same(mine, its, f"initial {name}", 1e-6)  # to the bit but for float32 functions such as erfinv
            assert mine.requires_grad == its.requires_grad
    ours, theirs = ours.to(minitorch.float64), theirs.to(torch.float64)
    if not lazy:
        with torch.no_grad():  # from here on to the bit the same
            for (_, mine), (_, its) in zip(parts(ours), parts(theirs), strict=True):
                mine.data.copy_(to_mini(its))
    inputs, named = sample.forward_input.args, sample.forward_input.kwargs
    my_inputs, my_named = to_mini(inputs), to_mini(named)
    torch.manual_seed(1)
    expected = theirs(*inputs, **named)
    minitorch.manual_seed(1)
    found = ours(*my_inputs, **my_named)
    results = list(zip(tensors(found), tensors(expected), strict=True))
    for mine, its in results:
        same(mine, its, "output")
        assert mine.requires_grad == its.requires_grad
    for (name, mine), (_, its) in zip(parts(ours), parts(theirs), strict=True):
        same(mine, its, f"{name} after forward")
    differentiable = [(mine, its) for mine, its in results if its.requires_grad]
    if differentiable:
        cotangents = [torch.randn_like(its) for _, its in differentiable]
        torch.autograd.backward([its for _, its in differentiable], cotangents)
        minitorch.autograd.backward([mine for mine, _ in differentiable], to_mini(cotangents))
        leaves = zip(
            [*tensors(my_inputs), *tensors(my_named), *ours.parameters()],
            [*tensors(inputs), *tensors(named), *theirs.parameters()],
            strict=True,
        )
        for i, (mine, its) in enumerate(leaves):
            if its.is_leaf and its.requires_grad:
                assert (mine.grad is None) == (its.grad is None), f"gradient {i}"
                if its.grad is not None:
                    same(mine.grad, its.grad, f"gradient {i} of {[*dict(ours.named_parameters())]}")


def samples(info, training):
    return info.module_inputs_func(info, device="cpu", dtype=FLOAT64, requires_grad=True, training=training)


def names():
    return [info for info in module_db if info.module_cls.__module__.startswith("torch.nn.modules")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("info", names(), ids=lambda info: info.name)
def test_module(info, training):
    if info.module_cls.__name__ in MISSING:
        pytest.skip("not in minitorch")
    found = samples(info, training)
    assert found
    for sample in found:
        try:
            compare(info, sample, training)
        except Exception as error:  # name the row
            raise AssertionError(
                f"{info.name} {sample.desc} {sample.constructor_input} {sample.forward_input}: {error!r}"
            ) from error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "info", [i for i in names() if i.module_error_inputs_func is not None], ids=lambda info: info.name
)
def test_errors(info):
    for bad in info.module_error_inputs_func(info, device="cpu", dtype=FLOAT64, requires_grad=False, training=False):
        sample = bad.module_error_input
        args, kwargs = to_mini(sample.constructor_input.args), to_mini(sample.constructor_input.kwargs)
        if info.module_cls.__name__ in MISSING:
            pytest.skip("not in minitorch")
        kind = getattr(minitorch.nn, info.module_cls.__name__)
        with pytest.raises(bad.error_type, match=bad.error_regex):
            module = kind(*args, **kwargs)
            if sample.forward_input is not None:
                module(*to_mini(sample.forward_input.args), **to_mini(sample.forward_input.kwargs))
