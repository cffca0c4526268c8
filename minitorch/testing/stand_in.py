"""A stand-in for a torch tensor, which sends the calls torch would make to minitorch.

Torch's own test tables (``op_db``) hold functions and samples written for torch: ``torch.add``, methods, lambdas such
as ``lambda x: x.clone().fill_diagonal_(0)``. They run here unchanged. A ``StandIn`` is a torch tensor in name only:
it carries a minitorch Tensor, and torch's override protocol (``__torch_function__``, ``TorchFunctionMode``) hands each
call made on it - function, method, property - to `send`, which makes the same call on minitorch.

This module and its neighbours `op_db` and `__main__` are the only places of the package that import torch, and only the
coverage report (``python -m minitorch.testing``) and the tests import them.
"""

import contextlib

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

import minitorch
from minitorch import dtypes
from minitorch.tensor import wrap as tensor_around

NAMES = ("float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
TO_MINI = {getattr(torch, name): getattr(minitorch, name) for name in NAMES}
TO_TORCH = {mini: theirs for theirs, mini in TO_MINI.items()}


class Absent(NotImplementedError):
    """minitorch has no such function: counted as missing, not as wrong."""


class StandIn(torch.Tensor):
    """A torch tensor in name only; `mini` is the minitorch Tensor it stands for."""

    @staticmethod
    def of(mini):
        self = torch.Tensor._make_subclass(StandIn, torch.empty(0))
        self.mini = mini
        return self

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return send(function, args, kwargs or {})

    def __repr__(self):
        return f"StandIn({self.mini!r})"


class Redirect(TorchFunctionMode):
    """While active, calls without any tensor (``torch.zeros(3)``) go to minitorch as well."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return send(function, args, kwargs or {})


def tree_map(function, tree):
    """Apply `function` to every leaf of nested lists, tuples and dicts (named tuples become plain ones)."""
    if isinstance(tree, torch.Size | minitorch.Size):
        return function(tree)
    if isinstance(tree, list | tuple):
        return (
            type(tree)(tree_map(function, t) for t in tree)
            if type(tree) in (list, tuple)
            else tuple(tree_map(function, t) for t in tree)
        )
    if isinstance(tree, dict):
        return {key: tree_map(function, value) for key, value in tree.items()}
    return function(tree)


def leaves(tree):
    """The leaves of nested lists, tuples and dicts, in order."""
    found = []
    tree_map(found.append, tree)
    return found


def copied(tensor):
    """A torch copy with the strides, the overlaps and the gaps of the original; a leaf like it."""
    plain = tensor.detach()
    if tensor.layout is torch.strided:
        plain = torch.empty(0, dtype=tensor.dtype).set_(
            plain.untyped_storage().clone(), tensor.storage_offset(), tensor.shape, tensor.stride()
        )
    return plain.requires_grad_(tensor.requires_grad)


def array_of(tensor):
    """A NumPy copy of a torch tensor: a view, with the same strides, of a copy of its whole storage."""
    if tensor.layout is not torch.strided or tensor.dtype not in TO_MINI or tensor.dim() > 64:
        raise Absent(f"no array for a {tensor.layout} tensor of {tensor.dtype} with {tensor.dim()} dimensions")
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.detach().untyped_storage()).clone()
    if tensor.dtype is torch.bfloat16:
        flat = storage.view(torch.int16).numpy().view(dtypes.bfloat16.numpy)
    else:
        flat = storage.numpy()
    size = flat.itemsize
    if tensor.numel() == 0:
        return np.empty(tuple(tensor.shape), flat.dtype)
    return np.ndarray(
        tuple(tensor.shape), flat.dtype, flat, tensor.storage_offset() * size, [step * size for step in tensor.stride()]
    )


def to_mini(value):
    """The minitorch object for a torch object: tensor, stand-in, dtype, device, size; anything else as it is."""
    if isinstance(value, StandIn):
        return value.mini
    if isinstance(value, minitorch.Tensor):
        return value
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunction():
            mini = tensor_around(array_of(value))
            if value.requires_grad:
                mini.requires_grad_()
            return mini
    if isinstance(value, torch.dtype):
        if value not in TO_MINI:
            raise Absent(f"minitorch has no {value}")
        return TO_MINI[value]
    if isinstance(value, torch.device):
        return minitorch.device(str(value))
    if isinstance(value, torch.Size):
        return minitorch.Size(value)
    if isinstance(value, torch.memory_format | torch.layout):
        return getattr(minitorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.Generator):
        return minitorch.Generator().manual_seed(value.initial_seed())
    if isinstance(value, torch.nn.Module):  # an argument that is itself a function (triplet_margin_with_distance_loss)
        return lambda *args: run(value, args, {})
    return value


def to_torch(value):
    """The inverse of `to_mini`; a minitorch Tensor comes back as a stand-in."""
    if isinstance(value, minitorch.Tensor):
        return StandIn.of(value)
    if isinstance(value, minitorch.Size):
        return torch.Size(value)
    if isinstance(value, minitorch.device):
        return torch.device(str(value))
    return TO_TORCH.get(value, value) if isinstance(value, dtypes.dtype) else value


SPACES = (
    "torch",
    "torch.nn.functional",
    "torch.linalg",
    "torch.special",
    "torch.fft",
    "torch.masked",
    "torch.signal.windows",
    "torch.nn.init",
    "torch.Tensor",
)


def find(owner, dotted):
    for part in filter(None, dotted.split(".")):
        owner = getattr(owner, part, None)
        if owner is None:
            return None
    return owner


def _public_functions():
    """id of each public function of torch -> (its dotted name without ``torch.``, itself: that keeps the id)."""
    found = {}
    for space in SPACES:
        owner = find(torch, space.removeprefix("torch"))
        for name in dir(owner):
            value = getattr(owner, name, None)
            if callable(value) and (space == "torch.Tensor" or not name.startswith("__")):
                found.setdefault(id(value), (f"{space}.{name}".removeprefix("torch."), value))
    return found


def name_of(function):
    """The dotted public name of a torch function (``nn.functional.relu``, ``Tensor.add``), or None for a lambda."""
    if id(function) in PUBLIC:
        return PUBLIC[id(function)][0]
    if "_VariableFunctionsClass" in getattr(function, "__qualname__", ""):
        return function.__name__
    if isinstance(function, torch._ops.OpOverload):
        function = function.overloadpacket
    if isinstance(function, torch._ops.OpOverloadPacket):  # torch.ops.aten.slice
        return function.__name__
    return None


PUBLIC = _public_functions()


def counterpart(dotted):
    """minitorch's function of this name; raises Absent."""
    found = find(minitorch, dotted)
    if found is None:
        raise Absent(f"minitorch.{dotted} does not exist")
    return found


def send(function, args, kwargs):
    """Make on minitorch the call that torch was about to make."""
    property_ = getattr(function, "__self__", None)
    if function.__name__ in ("__get__", "__set__") and property_ is not None:
        mini = to_mini(args[0])
        if not hasattr(type(mini), property_.__name__) and not hasattr(mini, property_.__name__):
            raise Absent(f"minitorch.Tensor.{property_.__name__} does not exist")
        if function.__name__ == "__get__":
            return tree_map(to_torch, getattr(mini, property_.__name__))
        return setattr(mini, property_.__name__, to_mini(args[1]))
    dotted = name_of(function)
    if dotted is None:
        raise Absent(f"no public name for torch's {function!r}")
    return call(counterpart(dotted), args, kwargs)


def call(function, args, kwargs):
    """Call a minitorch function with torch's arguments; its tensors come back as stand-ins."""
    return tree_map(to_torch, function(*tree_map(to_mini, args), **tree_map(to_mini, kwargs)))


@contextlib.contextmanager
def _seeding_both():
    """Helpers of the tables call ``torch.manual_seed``, which torch's override protocol does not see."""
    theirs = torch.manual_seed

    def manual_seed(seed):
        minitorch.manual_seed(seed)
        return theirs(seed)

    torch.manual_seed = manual_seed
    try:
        yield
    finally:
        torch.manual_seed = theirs


def run(function, args, kwargs, name=None):
    """Run a function of torch's tables on minitorch Tensors; returns minitorch objects.

    A public function (or one whose `name` is given) goes straight to its counterpart. Anything else (a lambda, a
    helper of the tables) runs as it is, and each call it makes is redirected.
    """
    name = name or name_of(function)
    if name is not None:
        return counterpart(name)(*tree_map(to_mini, args), **tree_map(to_mini, kwargs))
    args, kwargs = tree_map(lambda v: to_torch(v) if isinstance(v, minitorch.Tensor) else v, (tuple(args), kwargs))
    with _seeding_both(), Redirect():
        result = function(*args, **kwargs)
    return tree_map(to_mini, result)
