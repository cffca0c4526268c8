"""`out=` and memory written and read at once, beside torch's: for every operator of torch's table that takes `out=`, what
becomes of an `out` of the right and of other shapes, dtypes and strides."""

import itertools
import warnings

import pytest

torch = pytest.importorskip("torch")

import minitorch
from minitorch.testing import op_db

pytestmark = pytest.mark.filterwarnings("ignore")
torch.set_warn_always(True)

SCENARIOS = {
    "of the right shape": lambda T, r: T.empty(tuple(r.shape), dtype=r.dtype),
    "empty": lambda T, r: T.empty(0, dtype=r.dtype),
    "of a wrong shape": lambda T, r: T.zeros((*r.shape, 2), dtype=r.dtype),
    "that requires grad": lambda T, r:
        T.zeros(tuple(r.shape), dtype=r.dtype).requires_grad_() if r.is_floating_point() else None,
    "of the other kind": lambda T, r: T.zeros(tuple(r.shape), dtype=T.int64 if r.is_floating_point() else T.float64),
    "of a narrower dtype": lambda T, r: T.zeros(tuple(r.shape), dtype=T.float32) if r.dtype is T.float64 else None,
    "with gaps": lambda T, r: T.zeros((*r.shape, 2), dtype=r.dtype)[..., 0],
}
KNOWN = {  # (operator, scenario): why
    **dict.fromkeys(
        itertools.product(
            ["diff", "inner", "log_softmax", "softmax", "special.ndtr", "tensordot", "diag", "slice_scatter", "quantile",
             "nanquantile"],
            ["whose input requires grad"],
        ),
        "torch composes it of other operators, and so differentiates the copy into `out`",
    ),
    **dict.fromkeys(itertools.product(["bernoulli", "nanmean", "nansum", "normal"], ["of the other kind"]), "by dtype"),
    ("addbmm", "of a wrong shape"): "torch copies its input into `out`, which needs no warning",
    ("bernoulli", "of a wrong shape"): "the same",
    ("multinomial", "of a wrong shape"): "the same",
    ("nn.functional.logsigmoid", "of a wrong shape"): "the same",
    ("histc", "that requires grad"): "it is not in torch's table of derivatives",
    ("conj_physical", "whose input requires grad"): "torch does not differentiate it for real numbers",
    ("inner", "of a narrower dtype"): "torch multiplies scalars by another way",
}
STRIDES_DIFFER = {"kron", "linspace", "logspace", "nn.functional.linear", "nn.functional.logsigmoid"}
# torch 2.13 corrupts its memory for some `out` of these; `empty` writes nothing
DANGEROUS = {"empty", "nn.functional.avg_pool2d", "nn.functional.avg_pool3d", "_batch_norm_with_update"}
# The decompositions of matrices lie in memory column by column in torch.
ENTRIES = [
    name
    for name, op in op_db.ENTRIES.items()
    if op.supports_out and torch.float64 in op.supported_dtypes("cpu") and name not in DANGEROUS and "sparse" not in name
    and not name.startswith(("linalg.", "lu", "qr", "svd", "cholesky", "geqrf", "ormqr", "pinv", "inverse", "norm.nuc"))
]


def outcome(T, call, args, kwargs, scenario):
    plain = call(args, kwargs)
    several = isinstance(plain, (tuple, list))
    results = list(plain) if several else [plain]
    if not all(isinstance(r, T.Tensor) for r in results):
        return None
    outs = [scenario(T, r.detach()) for r in results]
    if None in [o if o is None else 0 for o in outs]:
        return None
    versions = [o._version for o in outs]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            got = call(args, {**kwargs, "out": tuple(outs) if several else outs[0]})
        except (RuntimeError, TypeError) as error:
            return type(error).__name__
    got = outs if got is None else got if several else [got]
    resized = any("resized" in str(w.message) for w in caught)
    return resized, [
        (g is o, tuple(o.shape), str(o.dtype), tuple(o.stride()) if o.numel() else 0, o.requires_grad, o._version > v)
        for g, o, v in zip(got, outs, versions, strict=True)
    ]


@pytest.mark.parametrize("name", ENTRIES)
def test_out(name):
    op = op_db.ENTRIES[name]
    try:
        sample = next(iter(op.sample_inputs_func(op, "cpu", torch.float64, False)))
    except (RuntimeError, ModuleNotFoundError, StopIteration) as error:
        pytest.skip(f"no samples: {error}")
    case, function, differ, known = op_db.Case(op, sample, "float64", 0), op_db.entry_function(op), [], []
    scenarios = {**SCENARIOS, "whose input requires grad": SCENARIOS["of the right shape"]}
    for words, scenario in scenarios.items():
        args, kwargs = case.torch_arguments()
        mini_args, mini_kwargs = case.mini_arguments()
        if words == "whose input requires grad":
            if not op.supports_autograd or not isinstance(args[0], torch.Tensor) or not args[0].is_floating_point():
                continue
            args[0].requires_grad_(), mini_args[0].requires_grad_()
        theirs = outcome(torch, lambda a, k: case.torch_call(op.op, a, k), args, kwargs, scenario)
        if theirs is None or theirs == "NotImplementedError":
            continue
        try:
            ours = outcome(minitorch, lambda a, k: case.mini_call(op.op, a, k, function), mini_args, mini_kwargs, scenario)
        except (NotImplementedError, AttributeError):
            pytest.skip("minitorch has no such operator")
        if (op.name, words) in KNOWN or op.name in STRIDES_DIFFER:
            known.append(ours != theirs)
        elif ours != theirs:
            differ.append(f"an out {words}:\n    torch {theirs}\n    minitorch {ours}")
    assert not differ, "\n".join(differ)
    assert any(known) or not known or op.variant_test_name, f"{name} has come right: it must leave the list"


READ_AND_WRITTEN = """
a.add_(b)
a.copy_(b)
a[:] = b
a.lerp_(b, .5)
a.addcmul_(b, b)
a.clamp_(b, b)
a.eq_(b)
a.fmod_(b)
a.index_copy_(0, i, b)
a.index_add_(0, i, b)
a.scatter_(0, i, b)
a.scatter_add_(0, i, b)
a.scatter_reduce_(0, i, b, 'sum')
a.index_reduce_(0, i, b, 'amax')
a.index_put_((i,), b)
a[i] = b
a.put_(i, b)
a.ldexp_(b)
a.fill_(b[0])
T.add(b, 1, out=a)
T.exp(b, out=a)
T.where(m, b, b, out=a)
T.gather(b, 0, i, out=a)
T.take(b, i, out=a)
T.cat([b[:5], b[5:]], out=a)
T.index_select(b, 0, i, out=a)
T.masked_select(b, b > -1, out=a)
T.softmax(b, 0, out=a)
""".strip().splitlines()


def overlapping(T, code, shift):
    x = T.arange(12.0) / 13 + 0.1
    space = {"T": T, "a": x[1:], "b": x[1 - shift : 12 - shift], "i": T.arange(11), "m": T.arange(11) % 2 == 0}
    try:
        exec(code, space)
    except RuntimeError as error:
        return str(error)[:100]
    return None if shift else x.tolist()  # what is read while it is written is anybody's guess


@pytest.mark.parametrize("shift", [0, 1], ids=["the same memory", "one element further"])
@pytest.mark.parametrize("code", READ_AND_WRITTEN)
def test_overlap(code, shift):
    theirs, ours = overlapping(torch, code, shift), overlapping(minitorch, code, shift)
    assert ours == (theirs if not isinstance(theirs, list) else pytest.approx(theirs, rel=1e-6))
