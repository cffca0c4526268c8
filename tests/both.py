"""The same program under torch and under minitorch, and what can be seen of it afterwards.

A program is text that is run with `T` (the framework), the leaves `x` (3, 4), `y` (4,), `m` (4, 3), `v` (2, 3, 4) and
`s` (0-d), which require grad, the constant `c` (3, 4) and the index tensor `i`. What it leaves in `r` (a tensor, or
anything made of tensors, numbers and text) is compared, and so are the graph behind it, the leaves'
gradients and versions, warnings, and errors.
"""

import contextlib
import re
import warnings

import numpy as np
import torch

import minitorch

torch.set_warn_always(True)  # every warning each time, whichever program runs first

SHAPES = {"x": (3, 4), "y": (4,), "m": (4, 3), "v": (2, 3, 4), "s": ()}


def leaves(T):
    numbers = np.random.default_rng(0)
    space = {"T": T, "F": T.nn.functional, "i": T.tensor([0, 1]), "Function": T.autograd.Function}
    for name, shape in SHAPES.items():
        space[name] = T.tensor((numbers.random(shape) + 0.1).tolist(), dtype=T.float32).requires_grad_()
    space["c"] = T.tensor(numbers.random((3, 4)).tolist())
    return space


def graph(root):
    """The graph as rows [name, [edge, ...]]; a node is numbered by when it was first met."""
    met, rows, stack = {}, [], [root]
    while stack:
        node = stack.pop()
        if node is None or node in met:
            continue
        met[node] = len(met)
        edges = list(node.next_functions)
        rows.append((node, edges))
        stack.extend(following for following, _ in reversed(edges))
    return [(type(node).__name__, [(None if f is None else met[f], n) for f, n in edges]) for node, edges in rows]


def describe(thing):
    """Plain data that tells all that is to be compared."""
    if isinstance(thing, (torch.Tensor, minitorch.Tensor)):
        flat = np.array(thing.detach().to(torch.float64 if isinstance(thing, torch.Tensor) else minitorch.float64).tolist())
        seen = {"values": flat, "dtype": str(thing.dtype), "shape": tuple(thing.shape)}
        seen["requires_grad"] = thing.requires_grad
        seen["leaf"] = thing.is_leaf
        seen["graph"] = graph(thing.grad_fn)
        return seen
    if isinstance(thing, dict):
        return {k: describe(v) for k, v in thing.items()}
    if isinstance(thing, (tuple, list)):
        return [describe(t) for t in thing]
    if isinstance(thing, (bool, int, float, str, type(None))):
        return thing
    return type(thing).__name__


def run(T, code):
    """(what it left, error or None, warnings) of a program."""
    space = leaves(T)
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(code, "<program>", "exec"), space)
        except Exception as e:
            error = e
    caught = [w for w in caught if "torch.jit" not in str(w.message)]  # torch's own doing
    seen = {"r": describe(space.get("r")) if error is None else None}
    seen["warnings"] = sorted({w.category.__name__ for w in caught})
    with contextlib.suppress(KeyError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SHAPES:
            leaf = space[name]
            seen[name] = (describe(leaf.grad), leaf.requires_grad, leaf._version)
    return seen, error, [str(w.message) for w in caught]


def words(text):
    text = str(text).split("Exception raised from")[0].split("(Triggered internally")[0].split("\n\n")[0]
    text = re.sub(r"https?://\S+", "", text)
    return re.findall(r"[A-Za-z_]{3,}|\d+", text.replace("minitorch", "torch"))


def alike(theirs, ours, share=0.6):
    """Does our message have the key words of theirs?"""
    theirs, ours = words(theirs), set(words(ours))
    return not theirs or sum(w in ours for w in theirs) >= share * len(theirs)


def same(theirs, ours, path=""):
    """Compare two descriptions; AssertionError names the place."""
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6, err_msg=path)
    elif isinstance(theirs, dict):
        assert isinstance(ours, dict), (path, theirs, ours)
        assert theirs.keys() == ours.keys(), path
        for key in theirs:
            same(theirs[key], ours[key], f"{path}.{key}")
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)) and len(theirs) == len(ours), f"{path}: torch {theirs}, minitorch {ours}"
        for n, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            same(a, b, f"{path}[{n}]")
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6, err_msg=path)
    else:
        assert theirs == ours, f"{path}: torch {theirs!r}, minitorch {ours!r}"


def check(code):
    """Run a program under both and compare everything."""
    theirs, their_error, their_warnings = run(torch, code)
    ours, our_error, our_warnings = run(minitorch, code)
    if (their_error is None) != (our_error is None):
        raise AssertionError(f"torch: {their_error!r}\nminitorch: {our_error!r}") from our_error
    if their_error is not None:
        assert isinstance(our_error, type(their_error)) or type(our_error).__name__ == type(their_error).__name__, (
            f"torch: {their_error!r}\nminitorch: {our_error!r}"
        )
        assert alike(their_error, our_error), f"torch: {their_error}\nminitorch: {our_error}"
    same(theirs, ours)
    for theirs_, ours_ in zip(sorted(their_warnings), sorted(our_warnings), strict=False):
        assert alike(theirs_, ours_, 0.5), f"torch: {theirs_}\nminitorch: {ours_}"


def programs(text):
    """Programs from a block of text: one a line; ' | ' parts lines of one program, and what is indented stays so."""
    return [line.replace(" | ", "\n") for line in text.strip().splitlines() if line and not line.startswith("#")]
