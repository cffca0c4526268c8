"""Modules: every case runs the same program on torch and on minitorch and compares what comes out.

A case is a function of the library. Its result may be anything made of tensors, modules, numbers and containers; an
exception counts as a result too, and both its class and its message are compared.
"""

import copy
import pickle
import warnings
from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch  # noqa: E402


def plain(x):
    """What two libraries can agree on: arrays, text and containers."""
    if isinstance(x, torch.Tensor | minitorch.Tensor):
        array = np.asarray(x.detach().numpy())
        return ("tensor", str(x.dtype), array.shape, array.tolist(), x.requires_grad)
    if isinstance(x, torch.nn.Module | minitorch.nn.Module):
        return ("module", repr(x))
    if isinstance(x, dict):
        return [(k, plain(v)) for k, v in x.items()]
    if isinstance(x, list | tuple):
        return [plain(v) for v in x]
    if isinstance(x, float):
        return float(f"{x:.12g}")
    return x if isinstance(x, str | int | bool | type(None)) else str(x).replace("minitorch", "torch")


def outcome(case, lib):
    lib.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ("result", plain(case(lib)))
        except Exception as error:
            result = ("error", type(error).__name__, str(error).replace("minitorch", "torch"))
    return result, [w.category.__name__ for w in caught]


def check(case, words=None):
    """The same result, or the same error; `words`: only these of the message need be the same."""
    theirs, their_warnings = outcome(case, torch)
    ours, our_warnings = outcome(case, minitorch)
    if words is not None:
        assert ours[:2] == theirs[:2] and theirs[0] == "error", (ours, theirs)
        assert words in ours[2] and words in theirs[2], (ours, theirs)
    else:
        assert close(ours, theirs), f"\nours   {ours}\ntheirs {theirs}"
    assert our_warnings == their_warnings, (our_warnings, their_warnings)
    return theirs


def close(a, b):
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-6 * max(1, abs(a), abs(b)) or (a != a and b != b)
    return a == b


def net(lib):
    nn = lib.nn
    return nn.Sequential(
        OrderedDict(first=nn.Linear(3, 4), norm=nn.BatchNorm1d(4), act=nn.ReLU(), last=nn.Linear(4, 2))
    )


def small(lib):
    """A module with everything: parameters, buffers of both kinds, a submodule twice, None entries."""

    class Small(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = lib.nn.Parameter(lib.ones(2))
            self.register_parameter("nothing", None)
            self.register_buffer("steps", lib.zeros(1))
            self.register_buffer("cache", lib.zeros(3), persistent=False)
            self.register_buffer("empty", None)
            self.inner = lib.nn.Linear(2, 2)
            self.again = self.inner
            self.note = "text"

        def forward(self, x):
            return self.inner(x) * self.scale

    return Small()


# ---- registration -------------------------------------------------------------------------------------------------


def assign(name, value):
    def case(lib):
        module = small(lib)
        setattr(module, name, value(lib))
        return [
            [*module._parameters], [*module._buffers], [*module._modules], sorted(module._non_persistent_buffers_set),
            [k for k in module.__dict__ if not k.startswith("_")], type(getattr(module, name)).__name__,
        ]

    return case


VALUES = {
    "parameter": lambda lib: lib.nn.Parameter(lib.zeros(2)),
    "module": lambda lib: lib.nn.ReLU(),
    "buffer": lambda lib: lib.nn.Buffer(lib.zeros(2)),
    "passing": lambda lib: lib.nn.Buffer(lib.zeros(2), persistent=False),
    "tensor": lambda lib: lib.zeros(2),
    "none": lambda lib: None,
    "number": lambda lib: 3,
}


@pytest.mark.parametrize("name", ["scale", "nothing", "steps", "cache", "empty", "inner", "note", "new"])
@pytest.mark.parametrize("value", VALUES)
def test_assignment(name, value):
    check(assign(name, VALUES[value]))


ERRORS = {
    "parameter before init": lambda lib: _before_init(lib, lib.nn.Parameter(lib.zeros(1))),
    "module before init": lambda lib: _before_init(lib, lib.nn.ReLU()),
    "register_buffer type": lambda lib: small(lib).register_buffer("b", 3),
    "register_buffer exists": lambda lib: small(lib).register_buffer("note", lib.zeros(1)),
    "register_buffer number": lambda lib: small(lib).register_buffer(3, lib.zeros(1)),
    "register_buffer empty": lambda lib: small(lib).register_buffer("", lib.zeros(1)),
    "register_parameter exists": lambda lib: small(lib).register_parameter("inner", None),
    "register_parameter type": lambda lib: small(lib).register_parameter("p", lib.zeros(1)),
    "register_parameter empty": lambda lib: small(lib).register_parameter("", None),
    "add_module exists": lambda lib: small(lib).add_module("scale", lib.nn.ReLU()),
    "add_module dot": lambda lib: small(lib).add_module("a.b", lib.nn.ReLU()),
    "add_module empty": lambda lib: small(lib).add_module("", lib.nn.ReLU()),
    "add_module number": lambda lib: small(lib).add_module(1, lib.nn.ReLU()),
    "missing attribute": lambda lib: small(lib).absent,
    "missing forward": lambda lib: lib.nn.Module()(1),
    "train mode": lambda lib: small(lib).train(1),
    "init arguments": lambda lib: lib.nn.Module(1, 2),
    "init keyword": lambda lib: lib.nn.Module(x=2),
    "get_submodule": lambda lib: small(lib).get_submodule("inner.absent"),
    "get_submodule parameter": lambda lib: small(lib).get_submodule("scale"),
    "get_parameter": lambda lib: small(lib).get_parameter("steps"),
    "get_parameter absent": lambda lib: small(lib).get_parameter("inner.absent"),
    "get_buffer": lambda lib: small(lib).get_buffer("scale"),
    "set_submodule": lambda lib: small(lib).set_submodule("", lib.nn.ReLU()),
    "set_submodule strict": lambda lib: small(lib).set_submodule("absent", lib.nn.ReLU(), strict=True),
    "set_submodule parameter": lambda lib: small(lib).set_submodule("scale", lib.nn.ReLU()),
    "delete": lambda lib: delattr(small(lib), "absent"),
    "state dict type": lambda lib: small(lib).load_state_dict(3),
    "to integer": lambda lib: small(lib).to(lib.int64),
    "share_memory lazy": lambda lib: lib.nn.Sequential(lib.nn.ReLU()).pop(5),
    "list index": lambda lib: lib.nn.ModuleList([lib.nn.ReLU()])[3],
    "sequential index": lambda lib: lib.nn.Sequential(lib.nn.ReLU())[-2],
    "sequential add": lambda lib: lib.nn.Sequential() + [1],
    "sequential times": lambda lib: lib.nn.Sequential() * 0,
    "sequential times float": lambda lib: lib.nn.Sequential() * 1.5,
    "sequential insert": lambda lib: lib.nn.Sequential().insert(3, lib.nn.ReLU()),
    "list of numbers": lambda lib: lib.nn.ModuleList([1]),
    "parameter list call": lambda lib: lib.nn.ParameterList()(1),
    "parameter list tensor": lambda lib: lib.nn.ParameterList().extend(lib.zeros(2)),
    "parameter dict key": lambda lib: lib.nn.ParameterDict()[1],
    "parameter dict pairs": lambda lib: lib.nn.ParameterDict([("a", lib.zeros(1), 3)]),
    "module dict pairs": lambda lib: lib.nn.ModuleDict([("a",)]),
    "parameter of integers": lambda lib: lib.nn.Parameter(lib.zeros(2, dtype=lib.int64)),
}


def _before_init(lib, value):
    class Early(lib.nn.Module):
        def __init__(self):
            self.early = value

    return Early()


# where our message says more than torch's, the words that both share
WORDS = {
    "module dict pairs": "2 is required",
    "delete": "absent",
    "parameter of integers": "can require gradients",
    "parameter dict key": "not a string",
    "get_submodule": "has no attribute",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    found = check(ERRORS[name], WORDS.get(name))
    assert found[0] == "error"


@pytest.mark.parametrize("method", ["register_buffer", "register_parameter"])
def test_dotted_names_are_refused(method):
    check(lambda lib: getattr(small(lib), method)("a.b", None), words='t contain "."')


def test_non_leaf_parameter_is_refused():
    def case(lib):
        p = lib.nn.Parameter(lib.zeros(1))
        view = (p * 1).as_subclass(lib.nn.Parameter) if lib is torch else p
        if lib is minitorch:
            view = lib.nn.Parameter(lib.zeros(1))
            view._edge = (p * 1)._edge
        small(lib).register_parameter("p", view)

    check(case, words="Cannot assign non-leaf Tensor to parameter 'p'")


# ---- walking the tree, moving, printing ----------------------------------------------------------------------------

TREE = {
    "named_parameters": lambda lib: [n for n, _ in small(lib).named_parameters()],
    "named_parameters twice": lambda lib: [n for n, _ in small(lib).named_parameters("p", True, False)],
    "parameters flat": lambda lib: [*small(lib).parameters(recurse=False)],
    "named_buffers": lambda lib: [n for n, _ in small(lib).named_buffers()],
    "buffers": lambda lib: [*net(lib).buffers()],
    "named_children": lambda lib: [*small(lib).named_children()],
    "named_modules": lambda lib: [n for n, _ in net(lib).named_modules(prefix="net")],
    "named_modules twice": lambda lib: [n for n, _ in small(lib).named_modules(remove_duplicate=False)],
    "modules": lambda lib: [*net(lib).modules()],
    "apply": lambda lib: _names_of(net(lib)),
    "dir": lambda lib: [n for n in dir(small(lib)) if n in ("scale", "nothing", "steps", "inner", "note", "training")],
    "get_submodule": lambda lib: net(lib).get_submodule("first"),
    "get_parameter": lambda lib: net(lib).get_parameter("last.bias"),
    "get_buffer": lambda lib: net(lib).get_buffer("norm.running_var"),
    "set_submodule": lambda lib: _with(net(lib), lambda n: n.set_submodule("norm", lib.nn.Identity())),
    "double": lambda lib: [*net(lib).double().state_dict().items()],
    "half": lambda lib: [t.dtype for t in net(lib).half().state_dict().values()],
    "bfloat16": lambda lib: [t.dtype for t in net(lib).bfloat16().state_dict().values()],
    "type": lambda lib: [t.dtype for t in net(lib).type(lib.float64).state_dict().values()],
    "to": lambda lib: [t.dtype for t in net(lib).to("cpu", lib.float64).state_dict().values()],
    "to tensor": lambda lib: [t.dtype for t in net(lib).to(lib.zeros(1, dtype=lib.float16)).state_dict().values()],
    "train": lambda lib: [m.training for m in net(lib).eval().modules()],
    "frozen": lambda lib: [p.requires_grad for p in net(lib).requires_grad_(False).parameters()],
    "delete": lambda lib: _with(small(lib), lambda m: (delattr(m, "inner"), delattr(m, "scale"), delattr(m, "cache"))),
    "repr": lambda lib: repr(small(lib)),
    "repr net": lambda lib: repr(net(lib)),
    "repr list": lambda lib: repr(lib.nn.ModuleList([lib.nn.Linear(2, 2) for _ in range(3)] + [lib.nn.ReLU()])),
    "repr nested": lambda lib: repr(lib.nn.ModuleList([net(lib), net(lib), lib.nn.ModuleDict({"a": net(lib)})])),
    "repr parameters": lambda lib: repr(lib.nn.ParameterList([lib.ones(2, 3), 5, lib.nn.Parameter(lib.ones(1))])),
    "repr parameter dict": lambda lib: repr(lib.nn.ParameterDict({"b": lib.ones(2, 3), "a": 5})),
    "repr extra": lambda lib: repr(_extra(lib)),
    "repr parameter": lambda lib: repr(lib.nn.Parameter(lib.ones(2))),
    "empty parameter": lambda lib: lib.nn.Parameter(),
    "call_super_init": lambda lib: _cooperative(lib),
}


def _names_of(module):
    names = []
    module.apply(lambda m: names.append(type(m).__name__))
    return names


def _with(module, change):
    change(module)
    return module


def _extra(lib):
    class Extra(lib.nn.Sequential):
        def extra_repr(self):
            return "one=1\n\ntwo=2"

    return Extra(lib.nn.ReLU(), lib.nn.Sequential(lib.nn.ReLU()))


def _cooperative(lib):
    class Other:
        def __init__(self, value):
            self.value = value

    class Both(lib.nn.Module, Other):
        call_super_init = True

    return Both(7).value


@pytest.mark.parametrize("name", TREE)
def test_tree(name):
    check(TREE[name])


def test_parameters_stay_the_same_objects_when_cast():
    module = net(minitorch)
    before = [*module.parameters()]
    module(minitorch.ones(2, 3)).sum().backward()
    module.double()
    assert all(a is b for a, b in zip(before, module.parameters(), strict=True))
    assert all(p.grad.dtype is minitorch.float64 for p in before if p.grad is not None)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none):
    def case(lib):
        module = lib.nn.Linear(2, 2)
        module(lib.ones(1, 2)).sum().backward()
        module.zero_grad(set_to_none)
        return [p.grad for p in module.parameters()]

    check(case)


# ---- containers ----------------------------------------------------------------------------------------------------


def containers(lib):
    nn = lib.nn
    row = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh())
    seq = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
    d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    p = nn.ParameterList([lib.ones(2), lib.zeros(1)])
    q = nn.ParameterDict(OrderedDict(x=lib.ones(2), y=lib.zeros(1)))
    return row, seq, d, p, q


CONTAINERS = {
    "slice": lambda lib, r, s, d, p, q: [r[1:], s[:1], len(p[1:])],
    "names kept": lambda lib, r, s, d, p, q: net(lib)[1:3],
    "negative": lambda lib, r, s, d, p, q: [r[-1], s[-2], p[-1]],
    "set": lambda lib, r, s, d, p, q: [r.__setitem__(0, lib.nn.GELU()), s.__setitem__(-1, lib.nn.GELU()), r, s],
    "delete": lambda lib, r, s, d, p, q: [r.__delitem__(0), s.__delitem__(slice(0, 1)), r, s],
    "append": lambda lib, r, s, d, p, q: [r.append(lib.nn.GELU()), s.append(lib.nn.GELU()), p.append(lib.ones(3))],
    "extend": lambda lib, r, s, d, p, q: [r.extend(lib.nn.Sequential(lib.nn.GELU())), s.extend([lib.nn.GELU()])],
    "insert": lambda lib, r, s, d, p, q: [
        r.insert(1, lib.nn.GELU()),
        s.insert(1, lib.nn.GELU()),
        r.insert(-1, s[1]),
        s,
    ],
    "pop": lambda lib, r, s, d, p, q: [r.pop(0), s.pop(1), d.pop("a"), q.pop("x"), r, s, d, q],
    "add": lambda lib, r, s, d, p, q: [r + r, s + [lib.nn.GELU()]],
    "times": lambda lib, r, s, d, p, q: [r * 2, 2 * r, r.__imul__(2), r],
    "in place": lambda lib, r, s, d, p, q: [r.__iadd__(r[:1]), s.__iadd__(s[:1]), p.__iadd__([lib.ones(1)])],
    "dict": lambda lib, r, s, d, p, q: [[*d], len(d), "a" in d, [*d.items()], [*d.values()], d["b"]],
    "dict update": lambda lib, r, s, d, p, q: [d.update([("c", lib.nn.GELU()), ["a", lib.nn.GELU()]]), d],
    "dict update dict": lambda lib, r, s, d, p, q: [d.update(lib.nn.ModuleDict({"z": lib.nn.GELU()})), d, d.clear(), d],
    "parameters": lambda lib, r, s, d, p, q: [
        [n for n, _ in p.named_parameters()],
        [n for n, _ in q.named_parameters()],
    ],
    "parameter set": lambda lib, r, s, d, p, q: [p.__setitem__(0, lib.zeros(3)), [*p], len(p)],
    "parameter dict": lambda lib, r, s, d, p, q: [
        [*q],
        [*reversed(q)],
        q.get("z", 4),
        q.setdefault("w", lib.ones(1)),
        [*q.items()],
    ],
    "parameter dict or": lambda lib, r, s, d, p, q: [q | q.fromkeys(["v"], 3), q.copy(), q.popitem(), q],
    "parameter dict sorted": lambda lib, r, s, d, p, q: [*lib.nn.ParameterDict({"b": lib.ones(1), "a": lib.ones(1)})],
    "forward": lambda lib, r, s, d, p, q: [r(lib.ones(1, 2)), s[0](lib.ones(1, 2))],
    "dir": lambda lib, r, s, d, p, q: [n for n in [*dir(r), *dir(s), *dir(p)] if n.isdigit()],
    "state": lambda lib, r, s, d, p, q: [[*m.state_dict()] for m in (r, s, d, p, q)],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name):
    check(lambda lib: CONTAINERS[name](lib, *containers(lib)))


# ---- state dicts -----------------------------------------------------------------------------------------------------


def test_state_dict():
    check(lambda lib: net(lib).state_dict())
    check(lambda lib: small(lib).state_dict(prefix="p."))
    check(lambda lib: [dict(v) for v in net(lib).state_dict()._metadata.values()])
    check(lambda lib: [*net(lib).state_dict()._metadata])
    check(lambda lib: small(lib).state_dict({}, "x.", True))


def changed(change, **options):
    def case(lib):
        module = net(lib)
        state = net(lib).state_dict()
        change(lib, state)
        result = module.load_state_dict(state, **options)
        return result, module.state_dict()

    return case


LOADS = {
    "plain": (lambda lib, s: None, {}),
    "assign": (lambda lib, s: None, {"assign": True}),
    "missing": (lambda lib, s: s.pop("last.bias"), {}),
    "missing loose": (lambda lib, s: s.pop("last.bias"), {"strict": False}),
    "unexpected": (lambda lib, s: s.update(more=lib.ones(1)), {}),
    "unexpected loose": (lambda lib, s: s.update({"first.more": lib.ones(1), "x.y": lib.ones(1)}), {"strict": False}),
    "both": (lambda lib, s: (s.pop("first.weight"), s.update(more=lib.ones(1))), {}),
    "shape": (lambda lib, s: s.update({"first.weight": lib.ones(2, 2), "last.bias": lib.ones(7)}), {}),
    "shape loose": (lambda lib, s: s.update({"first.weight": lib.ones(2, 2)}), {"strict": False}),
    "not a tensor": (lambda lib, s: s.update({"first.bias": 3}), {}),
    "dtype": (lambda lib, s: s.update({"first.bias": lib.ones(4, dtype=lib.float64)}), {}),
    "dtype assigned": (lambda lib, s: s.update({"first.bias": lib.ones(4, dtype=lib.float64)}), {"assign": True}),
    "old version": (lambda lib, s: (s._metadata.clear(), s.pop("norm.num_batches_tracked")), {}),
    "scalar": (lambda lib, s: s.update({"norm.num_batches_tracked": lib.tensor([5])}), {}),
}


@pytest.mark.parametrize("name", LOADS)
def test_load_state_dict(name):
    change, options = LOADS[name]
    check(changed(change, **options))


def test_incompatible_keys_print():
    check(lambda lib: repr(net(lib).load_state_dict(net(lib).state_dict())))
    check(lambda lib: repr(net(lib).load_state_dict({}, strict=False)))


def test_extra_state():
    def case(lib, strict=True, give=True):
        class Extra(lib.nn.Linear):
            def get_extra_state(self):
                return {"count": 3}

            def set_extra_state(self, state):
                self.found = state

        module = Extra(2, 2)
        state = module.state_dict()
        if not give:
            state.pop("_extra_state")
        module.load_state_dict(state, strict)
        return [*state], module.found

    check(case)
    check(lambda lib: case(lib, give=False))
    check(lambda lib: lib.nn.Linear(2, 2).load_state_dict({"_extra_state": 1}))


def test_state_dict_hooks():
    def case(lib):
        log = []
        module = net(lib)
        module.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", prefix, keep)))
        module.first.register_state_dict_post_hook(
            lambda m, state, prefix, meta: log.append(("post", [*state], prefix, dict(meta)))
        )
        handle = module._register_state_dict_hook(lambda m, state, prefix, meta: OrderedDict(only=lib.ones(1)))
        state = module.state_dict()
        handle.remove()
        module.register_load_state_dict_pre_hook(
            lambda m, state, prefix, *rest: log.append(("load", prefix, len(rest)))
        )
        module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
        loaded = module.load_state_dict({})
        return log, state, loaded

    check(case)


def test_post_hook_must_return_none():
    def case(lib):
        module = lib.nn.Linear(1, 1)
        module.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
        return module.state_dict()

    check(case)


# ---- copying and pickling -----------------------------------------------------------------------------------------


def test_copies_are_deep():
    def case(lib):
        module = net(lib)
        module.first.weight.mark = "kept"
        module(lib.ones(2, 3)).sum().backward()
        other = copy.deepcopy(module)
        with lib.no_grad():
            module.first.weight.zero_()
        shared = lib.nn.ModuleList([module.first] * 2)
        shared = copy.deepcopy(shared)
        return (
            other.state_dict(),
            other.first.weight.grad is None,
            hasattr(other.first.weight, "mark"),
            shared[0] is shared[1],
        )

    check(case)


def test_pickle():
    module = net(minitorch)
    module.eval()
    again = pickle.loads(pickle.dumps(module))
    assert repr(again) == repr(module) and not again.training
    for a, b in zip(module.state_dict().values(), again.state_dict().values(), strict=True):
        assert (a == b).all()
    assert isinstance(again.first.weight, minitorch.nn.Parameter) and again.first.weight.requires_grad
    for kind in (minitorch.nn.ELU, minitorch.nn.CrossEntropyLoss, minitorch.nn.PairwiseDistance):
        assert type(pickle.loads(pickle.dumps(kind()))) is kind


# ---- hooks -----------------------------------------------------------------------------------------------------------


def hooked(register):
    """Run a module with the hooks that `register(lib, module, log)` adds, forward and backward."""

    def case(lib):
        log = []
        module = lib.nn.Linear(2, 2)
        register(lib, module, log)
        x = lib.ones(1, 2, requires_grad=True)
        out = module(x)
        out.sum().backward()
        return log, out, x.grad, module.weight.grad, [len(module._forward_hooks), len(module._backward_hooks)]

    return case


def note(log, name, result=None):
    def hook(module, *args):
        log.append((name, plain(args)))
        return result(*args) if result else None

    return hook


HOOKS = {
    "forward": lambda lib, m, log: m.register_forward_hook(note(log, "f")),
    "forward changes": lambda lib, m, log: m.register_forward_hook(note(log, "f", lambda args, out: out * 2)),
    "forward kwargs": lambda lib, m, log: m.register_forward_hook(note(log, "f"), with_kwargs=True),
    "forward order": lambda lib, m, log: [
        m.register_forward_hook(note(log, "a")),
        m.register_forward_hook(note(log, "b"), prepend=True),
        m.register_forward_pre_hook(note(log, "c")),
        m.register_forward_pre_hook(note(log, "d"), prepend=True),
    ],
    "pre changes": lambda lib, m, log: m.register_forward_pre_hook(note(log, "p", lambda args: args[0] * 3)),
    "pre tuple": lambda lib, m, log: m.register_forward_pre_hook(note(log, "p", lambda args: (args[0] * 3,))),
    "pre kwargs": lambda lib, m, log: m.register_forward_pre_hook(
        note(log, "p", lambda args, kwargs: ((), {"input": args[0] * 3})), with_kwargs=True
    ),
    "pre kwargs wrong": lambda lib, m, log: m.register_forward_pre_hook(
        note(log, "p", lambda args, kwargs: 3), with_kwargs=True
    ),
    "removed": lambda lib, m, log: m.register_forward_hook(note(log, "f")).remove(),
    "backward": lambda lib, m, log: m.register_full_backward_hook(note(log, "b")),
    "backward changes": lambda lib, m, log: m.register_full_backward_hook(
        note(log, "b", lambda grad_in, grad_out: (grad_in[0] * 5,))
    ),
    "backward wrong": lambda lib, m, log: m.register_full_backward_hook(note(log, "b", lambda i, o: (i[0], i[0]))),
    "backward pre": lambda lib, m, log: m.register_full_backward_pre_hook(note(log, "p")),
    "backward pre changes": lambda lib, m, log: m.register_full_backward_pre_hook(
        note(log, "p", lambda grad_out: (grad_out[0] * 5,))
    ),
    "backward pre wrong": lambda lib, m, log: m.register_full_backward_pre_hook(note(log, "p", lambda o: (1, 2))),
    "backward both": lambda lib, m, log: [
        m.register_full_backward_pre_hook(note(log, "p", lambda o: (o[0] * 2,))),
        m.register_full_backward_hook(note(log, "b")),
        m.register_full_backward_hook(note(log, "a"), prepend=True),
    ],
    "two kinds": lambda lib, m, log: [
        m.register_full_backward_hook(note(log, "b")),
        m.register_backward_hook(note(log, "r")),
    ],
    "regular": lambda lib, m, log: m.register_backward_hook(note(log, "r", lambda i, o: None)),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name):
    check(hooked(HOOKS[name]))


def test_global_hooks():
    def case(lib):
        M = lib.nn.modules.module
        log = []
        handles = [
            M.register_module_forward_pre_hook(note(log, "pre")),
            M.register_module_forward_hook(note(log, "forward")),
            M.register_module_full_backward_pre_hook(note(log, "backward pre")),
            M.register_module_full_backward_hook(note(log, "backward")),
            M.register_module_parameter_registration_hook(lambda m, name, p: log.append(("parameter", name))),
            M.register_module_buffer_registration_hook(lambda m, name, b: log.append(("buffer", name))),
            M.register_module_module_registration_hook(lambda m, name, c: log.append(("module", name))),
        ]
        try:
            module = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
            module.register_forward_hook(note(log, "own"))
            module.train(False)
            x = lib.ones(2, 2, requires_grad=True)
            module(x).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        module(x)
        return log, x.grad

    check(case)


def test_always_called_hook():
    def case(lib, fails=True):
        log = []

        class Breaks(lib.nn.Module):
            def forward(self, x):
                raise ValueError("broken")

        module = Breaks()
        module.register_forward_hook(lambda m, args, out: log.append(("always", out)), always_call=True)
        module.register_forward_hook(lambda m, args, out: log.append(("not", out)))
        if fails:
            module.register_forward_hook(lambda m, args, out: 1 / 0, always_call=True)
        try:
            module(lib.ones(1))
        except ValueError as error:
            log.append(str(error))
        return log

    check(case)


def test_backward_hook_without_input_gradient():
    def case(lib):
        log = []
        module = lib.nn.Linear(2, 2)
        module.register_full_backward_hook(note(log, "b"))
        module(lib.ones(1, 2)).sum().backward()
        return log, module.weight.grad

    check(case)


def test_backward_hook_with_several_inputs_and_outputs():
    def case(lib):
        log = []

        class Two(lib.nn.Module):
            def forward(self, a, flag, b):
                return a * b, a + b

        module = Two()
        module.register_full_backward_hook(note(log, "b", lambda i, o: (i[0] * 2, None, i[2])))
        a, b = lib.ones(2, requires_grad=True), lib.full((2,), 3.0)
        x, y = module(a, True, b)
        (x.sum() + 2 * y.sum()).backward()
        return log, a.grad, x.grad_fn.name(), str(x.grad_fn.next_functions[0][0].name())

    check(case)


# ---- layers that need a word of their own -------------------------------------------------------------------------


def test_reprs_of_all_layers():
    """Every class that can be built without arguments, or with small ones, prints as torch's."""
    arguments = {
        "Linear": (2, 3), "Bilinear": (2, 3, 4), "Conv1d": (2, 4, 3), "Conv2d": (2, 4, (3, 1), 2, 1, 2, 2, False),
        "Conv3d": (2, 4, 3), "ConvTranspose1d": (2, 4, 3), "ConvTranspose2d": (2, 4, 3, 2, 1, 1),
        "Embedding": (5, 2, 1),
        "ConvTranspose3d": (2, 4, 3), "MaxPool1d": (2,), "MaxPool2d": ((2, 1), 1, 0, 1, True, True), "MaxPool3d": (2,),
        "AvgPool1d": (2,), "AvgPool2d": (2, None, 1), "AvgPool3d": (2,), "MaxUnpool2d": (2,), "LPPool1d": (2, 3),
        "LPPool2d": (2, 3), "AdaptiveAvgPool2d": ((None, 2),), "AdaptiveMaxPool1d": (2,), "FractionalMaxPool2d": (2, 3),
        "BatchNorm2d": (3,), "InstanceNorm1d": (3,), "LayerNorm": ((2, 3),), "GroupNorm": (2, 4), "RMSNorm": (4,),
        "LocalResponseNorm": (2,), "EmbeddingBag": (5, 2), "Unflatten": (1, (2, 3)), "ConstantPad2d": (1, 2.0),
        "ZeroPad2d": (1,), "ReflectionPad1d": ((1, 2),), "ReplicationPad3d": (1,), "CircularPad2d": (1,),
        "PixelShuffle": (2,), "PixelUnshuffle": (2,), "ChannelShuffle": (2,), "Upsample": (None, 2),
        "Fold": ((4, 4), 2),
        "Unfold": (2,), "RNN": (2, 3, 2), "LSTM": (2, 3, 1, False, True), "GRU": (2, 3), "RNNCell": (2, 3),
        "LSTMCell": (2, 3, False), "GRUCell": (2, 3), "MultiheadAttention": (4, 2), "TransformerEncoderLayer": (4, 2),
        "TransformerDecoderLayer": (4, 2), "Transformer": (4, 2, 1, 1), "Threshold": (1, 2), "Softmax": (1,),
        "LazyLinear": (2,), "LazyConv2d": (2, 3), "LazyBatchNorm1d": (), "UpsamplingNearest2d": (3,),
        "UpsamplingBilinear2d": (3,), "AdaptiveLogSoftmaxWithLoss": (4, 10, [3]),
    }
    compared = 0
    for name in torch.nn.modules.__all__:
        if not hasattr(minitorch.nn, name):
            continue
        given = arguments.get(name, ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = repr(getattr(torch.nn, name)(*given))
            except TypeError:
                continue
            assert repr(getattr(minitorch.nn, name)(*given)) == theirs
        compared += 1
    assert compared > 110


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["LazyLinear", "LazyConv1d", "LazyConv2d", "LazyConvTranspose2d", "LazyBatchNorm2d", "LazyInstanceNorm1d"]
)
def test_lazy_modules(name):
    shapes = {"LazyLinear": (2, 3), "LazyConv1d": (2, 3, 5), "LazyInstanceNorm1d": (2, 3, 5)}
    arguments = {"LazyLinear": (4,), "LazyConv1d": (4, 2), "LazyConv2d": (4, 2), "LazyConvTranspose2d": (4, 2)}

    def case(lib):
        module = getattr(lib.nn, name)(*arguments.get(name, ()))
        before = [repr(p) for p in module.parameters()], repr(module)
        with pytest.raises(ValueError, match="uninitialized parameter"):
            module.weight + 1
        with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
            module.weight.shape  # noqa: B018
        out = module.double()(lib.ones(*shapes.get(name, (2, 3, 4, 4)), dtype=lib.float64))
        other = getattr(lib.nn, name)(*arguments.get(name, ()))
        other.load_state_dict(module.state_dict())
        return before, type(module).__name__, out, module.state_dict(), other.state_dict()

    check(case)


def test_embedding_renormalises_rows():
    check(lambda lib: _embedding(lib, max_norm=1.0))
    check(lambda lib: _embedding(lib, max_norm=0.5, norm_type=1.0))
    check(lambda lib: lib.nn.Embedding.from_pretrained(lib.ones(3, 2), padding_idx=1).weight)


def _embedding(lib, **options):
    table = lib.nn.Embedding(5, 3, padding_idx=2, **options)
    out = table(lib.tensor([[1, 2], [4, 1]]))
    out.sum().backward()
    return out, table.weight, table.weight.grad


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm_statistics(momentum):
    def case(lib):
        norm = lib.nn.BatchNorm1d(3, momentum=momentum)
        for _ in range(3):
            out = norm(lib.randn(4, 3))
        return out, norm.state_dict(), norm.eval()(lib.ones(2, 3)), norm.running_mean._version

    check(case)


def test_nothing_but_nn_names_are_public():
    assert not [n for n in dir(minitorch.nn) if n in ("np", "math", "warnings")]
