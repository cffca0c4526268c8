"""The short way through the door, written out for each row (torch's tools/autograd/gen_variable_type.py).

Nearly every call hands an operator plain Tensors of one dtype, with no mode active. For that case each row gets a
function of its own, written here as Python source with the row's names and loops unrolled; whatever does not fit goes
to the general door of dispatch.py, which computes the same. `print(minitorch.mul.row.source())` shows what is run.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

EMPTY = object()
NUMBERS = (bool, int, float)
FAST = (np.dtype(np.float32), np.dtype(np.float64))  # where NumPy's treatment of Python numbers is torch's


def fits(row: Any) -> bool:
    """Rows with lists of tensors or several results take the general door always."""
    return not (row.lists or row.returns or row.takes_all_grads)


def write(row: Any, general: Callable, names: dict) -> Callable:
    """The row's function. general: what it calls when the short way does not apply. names: the globals it runs in."""
    scope = dict(names)
    scope.update(general=general, kernel=row.fast, kernel_of_arrays=row.kernel, Node=row.node, NUMBERS=NUMBERS, FAST=FAST)
    return _lazily("call", f"<minitorch.{row.name}>", scope, lambda: forward(row, scope))


def _unwritten(*args: Any, **kwargs: Any) -> Any:
    return write_and_call(args, kwargs)  # type: ignore[name-defined]  # noqa: F821  (in the scope it is given)


def _lazily(name: str, where: str, scope: dict, text: Callable) -> Callable:
    """A function that writes itself when it is first called: most programs use few rows, and importing is cheap."""
    function = FunctionType(_unwritten.__code__, scope, name)

    def write_and_call(args: tuple, kwargs: dict) -> Any:
        exec(compile(text(), where, "exec"), scope)
        written = scope[name]
        function.__defaults__, function.__kwdefaults__ = written.__defaults__, written.__kwdefaults__
        function.__code__ = written.__code__
        return function(*args, **kwargs)

    scope["write_and_call"] = write_and_call
    return function


def write_backward(row: Any, names: dict) -> Callable:
    """The node's `apply` in the ordinary case: arrays, nothing hooked, all wanted."""
    scope = dict(names)
    return _lazily("apply", f"<{row.node.__name__}>", scope, lambda: backward(row, scope))


def backward(row: Any, scope: dict) -> str:
    """The text of `apply`; what it names goes into the scope."""
    inputs = [row.parameters[i] for i in row.inputs]
    lines = ["def apply(self, grads, differentiable, wanted=None):"]
    add = lines.append
    add("    grad, saved = grads[0], self.saved")
    add("    if differentiable or wanted is not None or grad is None or saved is None:")
    add("        return general(self, grads, differentiable, wanted)")
    used = sorted({k for picks in row._used for k in picks})
    if used:
        add("    versions = self.versions")
    for k in used:
        name = row.names[k]
        expected = f"(0 if versions is None else versions[{k}])"
        add(f"    {name} = saved[{k}]")
        if name == "result":
            add(f"    if {name} is not None:")
            add(f"        if type({name}) is not SavedResult or {name}.counter.value != {expected}:")
            add("            return general(self, grads, differentiable, wanted)")
            add(f"        {name} = {name}.array")
        elif name not in row.hidden and name not in row.shapes:
            add(f"    if isinstance({name}, Tensor):")
            add(f"        counter = {name}._counter")
            add(f"        if counter is not None and counter.value != {expected}:")
            add("            return general(self, grads, differentiable, wanted)")
            add(f"        {name} = {name}._array")
            add(f"    elif type({name}) is Packed: return general(self, grads, differentiable, wanted)")
    if len(inputs) > 1:
        add("    edges = self.next_functions")
    results = []
    for i, (formula, picks, _) in enumerate(row.formulas):
        scope[f"formula{i}"] = formula
        result = f"formula{i}({', '.join(['grad', *[row.names[k] for k in picks]])})"
        results.append(result if len(inputs) == 1 else f"{result} if edges[{i}][0] is not None else None")
    add(f"    return [{', '.join(results)}]")
    return "\n".join(lines) + "\n"


def forward(row: Any, scope: dict) -> str:
    """The text of the row's function; what it names goes into the scope."""
    parameters = row.parameters
    inputs = [parameters[i] for i in row.inputs]
    promoted = [parameters[i] for i in row.promoted] if row.promote else []
    tensors = [p for i, p in enumerate(parameters) if p in inputs or (row.promote and p in promoted) or i == 0]
    optional = {p for p, d in zip(parameters, row.defaults, strict=True) if d is None}
    signature, spread = [], []
    for i, (p, d) in enumerate(zip(parameters, row.defaults, strict=True)):
        if i == row.positional:
            signature.append("*")
        if i >= row.required:
            scope[f"default{i}"] = d
        signature.append(p if i < row.required else f"{p}=default{i}")
        spread.append(p if i < row.positional else f"{p}={p}")
    again = f"general({', '.join(spread)}, **spelled)"
    lines = [f"def call({', '.join(signature)}, **spelled):"]
    add = lines.append
    first = tensors[0]
    only_first = "[0]" if row.hidden else ""
    add(f"    if type({first}) is ndarray and not spelled: return kernel_of_arrays({', '.join(spread)}){only_first}")
    add(f"    if spelled or door.special: return {again}")
    # a number beside a tensor whose dtype it cannot change
    pair = row.promote and len(tensors) == 2 and row.required == 2 and row.promoted == (0, 1)
    add("    try:")
    for p in tensors:
        add(f"        {p}_ = {p}._array" + (f" if {p} is not None else None" if p in optional else ""))
    add("    except AttributeError:")
    if pair:
        second = tensors[1]
        add(f"        if type({second}) in NUMBERS and isinstance({first}, Tensor) and {first}_.dtype in FAST:")
        add(f"            {second}_ = {second}")
        add(f"        else: return {again}")
    else:
        add(f"        return {again}")
    if row.promote:
        mixed = [f"{first}_.dtype is not {p}_.dtype" for p in tensors[1:] if p in promoted]
        if pair:
            mixed = [f"({second}_ is not {second} and {mixed[0]})"]
        if row.to_float:
            mixed.append(f"{first}_.dtype not in FAST")
        if any(p in optional for p in promoted):
            return "def call(*args, **kwargs):\n    return general(*args, **kwargs)\n"
        if mixed:
            add(f"    if {' or '.join(mixed)}: return {again}")
    # further arguments that may be tensors (indices, masks), which have no gradient
    others = [
        p for i, p in enumerate(parameters) if p not in tensors and (i < row.required or row.defaults[i] is None)
    ]
    for p in others:
        add(f"    {p}_ = {p}._array if isinstance({p}, Tensor) else {p}")
    passed = [
        (f"{p}_" if p in tensors or p in others else p) if i < row.positional else
        f"{p}={p}_" if p in tensors or p in others else f"{p}={p}"
        for i, p in enumerate(parameters)
    ]
    if row.fast is not row.kernel:  # the bare kernel knows no optional arguments
        passed = passed[: row.required]
        given = [f"{p} is not default{i}" for i, p in enumerate(parameters) if i >= row.required]
        if given:
            add(f"    if {' or '.join(given)}: return {again}")
    results = ", ".join(["out", *row.hidden]) if row.hidden else "out"
    compute = f"{results} = kernel({', '.join(passed)})"
    if len(tensors) + len(others) > 1:  # shapes that don't broadcast, wrong dtypes: the general door explains
        add("    try:")
        add(f"        {compute}")
        add(f"    except (ValueError, TypeError): return {again}")
    else:
        add(f"    {compute}")
    add("    if type(out) is not ndarray: out = as_array(out)")
    add("    t = new(Tensor)")
    add("    t._array = out")
    if row.view:
        add(f"    link(t, {first})")
    if not row.differentiable:
        add("    return t")
        return "\n".join(lines) + "\n"
    test = []
    for p in inputs:
        guard = f"{p}_ is not {p} and " if pair and p == tensors[1] else f"{p} is not None and " if p in optional else ""
        add(f"    if {guard}{p}._base is not None: refresh({p})")
        if guard or len(inputs) > 1:
            add(f"    {p}_needs = {guard}{p}._requires_grad")
            test.append(f"{p}_needs")
        else:
            test.append(f"{p}._requires_grad")
    kept_apart = " and out.dtype.kind in 'fV'" if "dtype" in parameters else ""  # integers have no gradient
    add(f"    if ({' or '.join(test)}) and thread.grad{kept_apart}:")
    add("        node = new(Node)")
    edges = [f"({p}._edge or leaf_edge({p}))" for p in inputs]
    if len(inputs) > 1 or pair:
        edges = [f"{e} if {t} else NO_EDGE" for e, t in zip(edges, test, strict=True)]
    add(f"        node.next_functions = ({', '.join(edges)},)")
    add("        node.sequence = sequence()")
    add("        node.outputs = ((out.shape, out.dtype),)")
    if row.saves_anything:
        saved, watched = [], []
        for k, name in enumerate(row.names):
            users = [f"{p}_needs" for p, picks in zip(inputs, row._used, strict=True) if k in picks]
            if not users:
                saved.append("None")
                continue
            value = name
            if name == "result":
                value = "SavedResult(t, 0)"
            elif name in row.shapes:
                value = f"{parameters[row.shapes[name]]}_.shape"
            elif name in tensors or name in others:
                watched.append(name)
            always = len(users) == len(inputs) or name in row.hidden or name in row.shapes
            saved.append(value if always else f"{value} if {' or '.join(users)} else None")
        add(f"        node.saved = [{', '.join(saved)}]")
        if watched:  # memory that was never written or viewed is at version 0
            counters = {}
            for p in watched:
                sure = p not in others and p not in optional and not (pair and p == tensors[1])
                counter = f"{p}._counter" if sure else f"getattr({p}, '_counter', None)"
                add(f"        counter{row.names.index(p)} = {counter}")
                counters[row.names.index(p)] = f"counter{row.names.index(p)}"
            add(f"        if {' or '.join(f'{c} is not None' for c in counters.values())}:")
            values = [
                f"0 if {counters[k]} is None else {counters[k]}.value" if k in counters else "0"
                for k in range(len(row.names))
            ]
            add(f"            node.versions = [{', '.join(values)}]")
            add("            if node.saved_inference(): raise RuntimeError(INFERENCE_MESSAGE)")
    add("        t._edge = (node, 0)")
    add("        t._requires_grad = True")
    add("    return t")
    return "\n".join(lines) + "\n"
