"""The one door that every operator goes through: unwrap, promote, run, wrap, record.

A row of the operator table says what an operator computes (its kernel, on arrays) and how each input is
differentiated (a formula each, in the manner of torch's tools/autograd/derivatives.yaml). `op` turns the row into the
function `minitorch.mul`, the method `Tensor.mul`, the in-place `mul_` and the node class `MulBackward0`. The names of
a formula's parameters decide what its node saves.

The door is built once per row: codegen.py writes the short way, for the commonest calls; `_general` does everything.
Given arrays instead of Tensors, an operator only computes: so formulas read the same in the ordinary backward pass,
which runs on arrays, and in one that is itself recorded.
"""

import inspect
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import codegen, dtypes
from .autograd import anomaly
from .autograd.grad_mode import door, thread
from .autograd.graph import (
    INFERENCE_MESSAGE,  # noqa: F401  (the functions that codegen writes use it)
    NO_EDGE,
    OpNode,
    Packed,  # noqa: F401
    SavedList,
    SavedResult,
    gradient_edge,
    leaf_edge,
    pack_saved,
    sequence,
    versions_of,
)
from .autograd.views import MULTI_OUTPUT, check_inplace, link, rebase, refresh
from .output import ALONE, legacy_scalar, refuse_overlap, write, write_out
from .tensor import Tensor, method, wrap

ROWS: dict[str, "Row"] = {}  # the table, by name
FUNCTIONS: dict[str, Callable] = {}  # the public functions of the package, by name
ndarray = np.ndarray
new = object.__new__


class Row:
    """One line of the table."""

    def __init__(self, name: str, kernel: Callable, formulas: dict[str, Callable], options: dict):
        self.name, self.kernel, self.definitions = name, kernel, formulas
        self.promote = options.pop("promote", False)
        self.to_float = options.pop("to_float", False) or self.promote == "float"
        self.view = options.pop("view", False)
        self.returns: tuple = options.pop("returns", ())
        self.hidden: tuple = options.pop("hidden", ())  # further results of the kernel that only formulas see
        self.lists: tuple = options.pop("lists", ())  # arguments that are sequences of tensors
        self.joint: Any = options.pop("joint", None)  # one formula for all inputs
        self.numbers = options.pop("numbers", "other")  # which operands of a binary row may be Python numbers
        self.autocast = options.pop("autocast", None)
        self.overlaps = options.pop("overlaps", False)  # the in-place form may write to memory shown more than once
        self.doc = options.pop("doc", None)
        inputs = options.pop("inputs", None) or tuple(formulas)
        self.fast: Callable = options.pop("fast", None) or kernel  # the kernel for calls without optional arguments
        parameters = _parameters(kernel)
        self.parameters = [p.name for p in parameters]
        self.defaults = [p.default for p in parameters]
        self.required = sum(d is inspect.Parameter.empty for d in self.defaults)
        self.positional = sum(p.kind != p.KEYWORD_ONLY for p in parameters)
        self.list_positions = tuple([self.parameters.index(n) for n in self.lists])
        self.results = self.returns or ("result",)
        # formulas may ask for `input_shape`, or that of another parameter, where they don't need its elements
        asked = dict.fromkeys([n for f in [*formulas.values(), *filter(None, [self.joint])] for n in _names_of(f)])
        self.shapes = {
            n: self.parameters.index(n.removesuffix("_shape"))
            for n in asked if n not in self.parameters and n.removesuffix("_shape") in self.parameters
        }
        self.names = [*self.parameters, *self.results, *self.hidden, *self.shapes]
        self.inputs = tuple([self.parameters.index(n) for n in inputs])
        self.input_names = inputs
        self.listed_inputs = any(n in self.lists for n in inputs)
        self.promoted = tuple(
            [self.parameters.index(n) for n in self.promote]
            if isinstance(self.promote, (tuple, list))
            else range(self.required)
        )
        self.formulas = [self._formula(n, formulas[n]) for n in inputs] if formulas else []
        self.joint_picks: list = []
        self.takes_all_grads = False
        if self.joint is not None:
            first, _needs, *rest = inspect.signature(self.joint).parameters
            self.takes_all_grads = first == "grads"
            self.joint_picks = [self.names.index(n) for n in rest]
            used = [tuple(self.joint_picks)] * len(inputs)
        else:
            used = [picks for _, picks, _ in self.formulas]
        for formula in formulas.values():
            self.takes_all_grads |= formula.__code__.co_varnames[0] == "grads"
        self.differentiable = bool(used)
        self.saves_anything = any(used)
        # does the node always hold a tensor, so that it can be walked only once?
        tensors = {*inputs, *self.results, *self.hidden, *self.lists}
        if self.promote:
            tensors.update(self.parameters[i] for i in self.promoted)
        self.frees = any(self.names[k] in tensors for picks in used for k in picks)
        self.may_hold_tensor = any(self.names[k] not in {*_NEVER_TENSORS, *self.shapes} for picks in used for k in picks)
        self._used = used
        self._keeps: dict = {}
        node = options.pop("node", None) or "".join(w.capitalize() for w in name.split("_")) + "Backward0"
        self.node: Any = type(node, (OpNode,), {"row": self, "__module__": "minitorch.autograd.graph"})
        self.tuple_type: Any = namedtuple(name, self.returns) if self.returns else None  # type: ignore[misc]
        if self.tuple_type is not None:
            self.tuple_type.__module__ = "torch.return_types"
            self.tuple_type.__repr__ = _repr_of_results  # type: ignore[method-assign]
        if options:
            raise TypeError(f"op {name}: unknown options {sorted(options)}")

    def _formula(self, name: str, formula: Callable) -> tuple:
        code = formula.__code__
        picks = [self.names.index(n) for n in code.co_varnames[1 : code.co_argcount]]
        return formula, tuple(picks), name in self.lists

    def source(self) -> str:
        """The functions written for this row: its short way forward, and its node's backward."""
        text = codegen.forward(self, {}) if codegen.fits(self) else f"# {self.name} always takes the general door\n"
        return text + ("\n\n" + codegen.backward(self, {}) if codegen.fits(self) and self.formulas else "")

    def compute(self, arrays: list) -> Any:
        """The kernel on bound arguments. RuntimeError where shapes do not broadcast."""
        n = self.positional
        try:
            if n == len(arrays):
                return self.kernel(*arrays)
            return self.kernel(*arrays[:n], **dict(zip(self.parameters[n:], arrays[n:], strict=True)))
        except ValueError as error:
            shapes = [a.shape for a in arrays if isinstance(a, ndarray)]
            raise (mismatch(shapes) if "broadcast" in str(error) else None) or error from None

    def refuse_numbers(self, args: list) -> None:
        """TypeError, as torch, for a number where the operator wants a Tensor."""
        for position, allowed in ((0, ("both", "input")), (1, ("both", "other"))):
            if type(args[position]) in codegen.NUMBERS and self.numbers not in allowed:
                raise TypeError(
                    f"{self.name}(): argument '{self.parameters[position]}' (position {position + 1}) must be Tensor, "
                    f"not {type(args[position]).__name__}"
                )

    def keeps(self, needs: tuple) -> tuple:
        """Which of `names` must be saved when the inputs marked in `needs` want gradients."""
        found = self._keeps.get(needs)
        if found is None:
            kept = {k for need, picks in zip(needs, self._used, strict=True) if need for k in picks}
            found = self._keeps[needs] = tuple([k in kept for k in range(len(self.names))])
        return found

    def bind(self, args: tuple, kwargs: dict) -> list:
        """All arguments in the kernel's order, defaults filled in. TypeError, in torch's words, for what is amiss."""
        given = list(args)
        names = self.parameters
        if len(given) > self.positional:
            # sizes and dims may be spread out: x.permute(0, 2, 1)
            raise TypeError(f"{self.name}() takes {self.positional} positional arguments but {len(given)} were given")
        bound = given + self.defaults[len(given) :]
        for key, value in kwargs.items():
            key = _SPELLINGS.get(key, key) if key not in names else key
            if key not in names:
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{key}'")
            i = names.index(key)
            if i < len(given):
                raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
            bound[i] = value
        for name, value in zip(names, bound, strict=True):
            if value is inspect.Parameter.empty:
                raise TypeError(f'{self.name}() missing 1 required positional arguments: "{name}"')
        return bound


def _parameters(kernel: Callable) -> list[inspect.Parameter]:
    if isinstance(kernel, np.ufunc):
        names = ("input", "other", "third")[: kernel.nin]
        return [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    return list(inspect.signature(kernel).parameters.values())


def _names_of(formula: Callable) -> tuple:
    return formula.__code__.co_varnames[: formula.__code__.co_argcount]


_NEVER_TENSORS = {"dim", "dims", "dim0", "dim1", "dim2", "keepdim", "dtype", "correction", "alpha", "beta"}
# NumPy's and torch's older spellings of arguments
_SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "self": "input"}


def _repr_of_results(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{fields})"


# ---- the general door ---------------------------------------------------------------------------------------------


def run(row: Row, args: list) -> Any:
    """Compute a row on bound arguments: Tensors give Tensors, arrays give arrays."""
    arrays = list(args)
    tensors = False
    for i, a in enumerate(args):
        if isinstance(a, Tensor):
            if a._base is not None:
                refresh(a)
            arrays[i] = a._array
            tensors = True
    for i in row.list_positions:
        if args[i] is not None:
            arrays[i] = items = []
            for a in args[i]:
                if isinstance(a, Tensor):
                    if a._base is not None:
                        refresh(a)
                    items.append(a._array)
                    tensors = True
                else:
                    items.append(a)
    if not tensors:
        if args and type(args[0]) in codegen.NUMBERS and not any(isinstance(a, ndarray) for a in args):
            raise TypeError(f"{row.name}(): argument '{row.parameters[0]}' (position 1) must be Tensor, not "
                            f"{type(args[0]).__name__}")
        results = row.compute(arrays)
        if row.hidden:
            return results[: len(row.returns)] if row.returns else results[0]
        return results
    narrow = None
    if row.promote:
        if row.required == 2:
            row.refuse_numbers(args)
        narrow = promote(row, arrays)
    results = row.compute(arrays)
    hidden: tuple = ()
    if row.hidden:
        count = len(row.returns) or 1
        results, hidden = (results[0] if count == 1 else results[:count]), results[count:]
    if row.view:
        return _run_view(row, args, results)
    several = type(results) is tuple or type(results) is list
    outputs = tuple(results) if several else (results,)
    outputs = tuple([o if isinstance(o, ndarray) else as_array(o) for o in outputs])
    if narrow is not None:
        outputs = tuple([o.astype(narrow) if o.dtype == np.float32 else o for o in outputs])
    wrapped = [_wrap(o) for o in outputs]
    if thread.grad and row.differentiable:
        _connect(row, args, wrapped, hidden)
    if thread.inference:
        for t in wrapped:
            t._inference = True
            t._version_counter()  # so that the short ways look twice at it
    if not several:
        return wrapped[0]
    return row.tuple_type(*wrapped) if row.tuple_type else tuple(wrapped)


def mismatch(shapes: Sequence) -> RuntimeError | None:
    """torch's words for the first two shapes that do not broadcast."""
    for i, b in enumerate(shapes):
        for a in shapes[:i]:
            ndim = max(len(a), len(b))
            for d in range(ndim - 1, -1, -1):
                m, n = ((1,) * (ndim - len(s)) + s for s in (a, b))
                if m[d] != n[d] and 1 not in (m[d], n[d]):
                    return RuntimeError(
                        f"The size of tensor a ({m[d]}) must match the size of tensor b ({n[d]}) at non-singleton "
                        f"dimension {d}"
                    )
    return None


def as_array(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, (np.generic, bool, int, float)) else x


def _wrap(array: Any) -> Tensor:
    t = new(Tensor)
    t._array = array
    return t


def _connect(row: Row, args: list, outputs: list, hidden: tuple = ()) -> None:
    """Record the call when an input requires grad."""
    edges = _edges(row, args)
    if edges is None:
        return
    node = record(row, args, edges, tuple([t._array for t in outputs]), outputs, hidden)
    if len(outputs) > 1:  # indices, which stand last, have no gradient
        node.outputs = tuple([o for o in node.outputs if o[1].kind in "fV"])
    for i, t in enumerate(outputs):
        if t._array.dtype.kind in "fV":
            t._edge = (node, i)
            t._requires_grad = True


def _edges(row: Row, args: list) -> tuple | None:
    """The edges of the row's inputs, or None when no input requires grad."""
    edges: list = []
    for i in row.inputs:
        a = args[i]
        if i in row.list_positions:
            edges.extend(gradient_edge(t) if isinstance(t, Tensor) else NO_EDGE for t in a or ())
        elif isinstance(a, Tensor) and a._requires_grad:
            edges.append(a._edge or leaf_edge(a))
        else:
            edges.append(NO_EDGE)
    for edge in edges:
        if edge is not NO_EDGE:
            return tuple(edges)
    return None


def record(row: Row, args: Any, edges: tuple, arrays: tuple, outputs: Any = None, hidden: tuple = ()) -> OpNode:
    """Make the node of a call. arrays: those of the outputs; outputs: their Tensors, where a formula needs them."""
    node = new(row.node)
    node.next_functions = edges
    node.sequence = sequence()
    node.outputs = tuple([(a.shape, a.dtype) for a in arrays])
    if row.saves_anything:
        if row.listed_inputs:
            needs = tuple([True] * len(row.inputs))
        else:
            needs = tuple([e is not NO_EDGE for e in edges])
        keep = row.keeps(needs)
        saved: list = []
        watch = False  # only memory that was ever written or viewed has a version to remember
        i = 0
        for a in args:
            if keep[i]:
                if isinstance(a, Tensor):
                    watch = watch or a._counter is not None
                elif i in row.list_positions:
                    a = SavedList(list(a))
                saved.append(a)
            else:
                saved.append(None)
            i += 1
        for k in range(len(row.results)):
            if i < len(keep) and keep[i] and outputs:
                saved.append(SavedResult(outputs[k], k))
                watch = True
            else:
                saved.append(None)
            i += 1
        saved.extend(h if isinstance(h, ndarray) else as_array(h) for h in hidden)
        for i in row.shapes.values():
            saved.append([a._array.shape for a in args[i]] if i in row.list_positions else args[i]._array.shape)
        node.saved = saved
        if watch:
            node.versions = versions_of(saved)
        if door.special:
            _pack(node)
    if anomaly.enabled:
        anomaly.remember(node)
    return node


def _pack(node: OpNode) -> None:
    """Hand what is saved to the innermost `saved_tensors_hooks`."""
    from .autograd.saved import hooks_of_thread

    hooks = hooks_of_thread()
    if hooks is not None:
        node.saved = [pack_saved(node, value, hooks) for value in node.saved]


def _run_view(row: Row, args: list, results: Any) -> Any:
    source = args[0]
    if type(results) is not tuple and type(results) is not list:
        t = _wrap(results)
        link(t, source)
        if source._requires_grad and thread.grad:
            edge = source._edge or leaf_edge(source)
            t._edge = (record(row, args, (edge,), (results,)), 0)
            t._requires_grad = True
        return t
    views = [_wrap(a) for a in results]
    for t in views:
        link(t, source, MULTI_OUTPUT if thread.grad else 0)
    if source._requires_grad and thread.grad and views:
        edge = source._edge or leaf_edge(source)
        node = record(row, args, (edge,), tuple(results))
        for i, t in enumerate(views):
            t._edge = (node, i)
            t._requires_grad = True
    return tuple(views)


def promote(row: Row, arrays: list) -> np.dtype | None:
    """Cast the promoted arguments to their common dtype, in place in the list.

    Returns the 16-bit dtype that results must be cast to, where the computation itself is to be done in float32."""
    positions = [i for i in row.promoted if arrays[i] is not None]
    first = next((arrays[i].dtype for i in positions if hasattr(arrays[i], "dtype")), None)
    if len(positions) == 1 or all(getattr(arrays[i], "dtype", None) == first for i in positions):
        target = dtypes.of(first)
    else:
        target = dtypes.result_dtype(*[arrays[i] for i in positions])
    if row.to_float and not target.is_floating_point:
        target = dtypes.get_default_dtype()
    numpy = target.numpy
    opmath = False
    if target.itemsize == 2 and target.is_floating_point:
        # a number or 0-d tensor beside a half-precision tensor enters the computation unrounded
        opmath = len(positions) > 1 and any(
            not hasattr(arrays[i], "dtype") or (arrays[i].ndim == 0 and arrays[i].dtype != numpy) for i in positions
        )
    for i in positions:
        a = arrays[i]
        if hasattr(a, "dtype"):
            if a.dtype != numpy and not opmath:
                arrays[i] = a.astype(numpy)
        elif not opmath:
            arrays[i] = number(a, numpy)
    if opmath:
        for i in positions:
            a = arrays[i]
            if hasattr(a, "dtype"):
                arrays[i] = a.astype(numpy).astype(np.float32) if a.ndim else a.astype(np.float32)
            else:
                arrays[i] = np.float32(a)
    return numpy if opmath else None


def number(value: Any, numpy: np.dtype) -> Any:
    """A Python number as a 0-d array; integers wrap around as in C."""
    if numpy.kind in "iu" and isinstance(value, int) and not isinstance(value, bool):
        bits = numpy.itemsize * 8
        value &= (1 << bits) - 1
        if numpy.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
    return np.asarray(value, dtype=numpy)


# ---- modes, out=, in-place ----------------------------------------------------------------------------------------


def _special(row: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Offer the call to the thread's innermost dispatch mode; inside it the outer modes are in force."""
    modes = thread.modes
    if not modes:
        return NotImplemented
    thread.modes = modes[:-1]
    try:
        return modes[-1](row, function, args, kwargs)
    finally:
        thread.modes = modes


def _into(out: Any, row: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """The result of a call, in `out`. Autocast leaves such calls alone."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return write_out(out, function(*args, **kwargs), row.name, row, args)

    if door.special and thread.modes:
        return _special(_Composite(row.name, None), call, args, kwargs)
    return call(*args, **kwargs)


def _general(row: Row) -> Callable:
    count = len(row.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and "out" in kwargs:
            out = kwargs.pop("out")
            if out is not None:
                return _into(out, row, call, args, kwargs)
        if door.special and thread.modes:
            return _special(row, call, args, kwargs)
        if kwargs or len(args) != count:
            return run(row, row.bind(args, kwargs))
        return run(row, list(args))

    return call


def _inplace(row: Row) -> Callable:
    """`mul_`: what the operator computes, written into its first argument."""
    name = row.name + "_"
    checks_overlap = (bool(row.promote) or row.name in ALONE or row.name == "copy") and row.name != "ldexp"
    unlisted = _Composite(name, None)  # autocast leaves in-place operators alone

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if door.special and thread.modes:
            return _special(unlisted, call, (self, *args), kwargs)
        bound = row.bind((self, *args), kwargs)
        arrays = [a._array if isinstance(a, Tensor) else a for a in bound]
        for i in row.list_positions:
            arrays[i] = [a._array if isinstance(a, Tensor) else a for a in bound[i] or ()]
        for a in bound:
            if isinstance(a, Tensor) and a._base is not None:
                refresh(a)
        edges = _edges(row, bound) if thread.grad and row.differentiable else None
        if row.differentiable or self._inference:  # torch's autograd knows nothing of the others
            check_inplace(self, edges is not None)
        if row.promote and row.numbers == "none":
            row.refuse_numbers(bound)
        if checks_overlap and (self._counter is not None or row.name in ALONE):
            refuse_overlap(self, bound[1:], row.name)
        if row.promote:
            promote(row, arrays)
        result = row.compute(arrays)
        target = self._array
        hidden: tuple = ()
        if row.hidden:
            result, hidden = result[0], result[1:]
        if not isinstance(result, ndarray):
            result = as_array(result)
        if result.dtype != target.dtype:
            have, want = dtypes.of(result), dtypes.of(target)
            if not dtypes.can_cast(have, want):
                raise RuntimeError(
                    f"result type {legacy_scalar(have)} can't be cast to the desired output type {legacy_scalar(want)}"
                )
        if result.shape != target.shape:
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        if edges is not None:
            if any(0 in picks for picks in row._used):
                bound[0] = _snapshot(self)  # the old value, which the write is about to destroy
        write(target, result, row.overlaps)
        self._bump()
        if edges is not None:
            node = record(row, bound, edges, (target,), (self,), hidden)
            rebase(self, node)
        return self

    call.__name__ = name
    return call


def _snapshot(tensor: Tensor) -> Tensor:
    copy = wrap(tensor._array.copy())
    copy._edge = gradient_edge(tensor) if tensor._requires_grad else None
    copy._requires_grad = tensor._requires_grad
    return copy


# ---- building rows ------------------------------------------------------------------------------------------------


def op(
    name: str,
    kernel: Callable,
    *,
    inplace: bool | dict = False,
    function: bool = True,
    as_method: bool | None = None,
    aliases: tuple = (),
    dunder: str | None = None,
    otherwise: Callable | None = None,
    **options: Any,
) -> Callable:
    """Add a row to the table, and return its function.

    kernel: computes on arrays; its parameter names are the operator's (`input` first). Formulas are given by the name
    of the input that they differentiate: `input=lambda grad, other: grad * other`. What a formula names is saved,
    and writing to it before the backward pass is an error: so some name what they don't need, where torch saves it.
    Options:
    promote: cast the required arguments (or those named) to torch's result type; "float": and integers to the default
    dtype. inplace: also `name_`; a dict of options where torch gives it another node or formulas. overlaps: which may
    write to memory shown more than once. view: the result shares memory with the first argument. returns: names of
    several results. hidden: names of further kernel results for formulas only. lists: arguments that are sequences of
    tensors. joint: one formula `(grad, needs, ...) -> gradients` for all `inputs`. node: the node's name, where
    torch's is not `NameBackward0`. function, as_method: whether `minitorch.name` and `Tensor.name` exist. aliases:
    further names. dunder: Python's operator method for it. fast: the kernel for calls without optional arguments (a
    bare ufunc, say).
    otherwise: what the short way calls when it does not apply, instead of the general door. doc: the docstring.
    """
    formulas = {k: options.pop(k) for k in list(options) if callable(options[k]) and k not in _OPTION_NAMES}
    settings = dict(options)
    row = Row(name, kernel, formulas, options)
    ROWS[name] = row
    call = otherwise or _general(row)
    if codegen.fits(row):
        call = codegen.write(row, call, globals())
        if row.formulas:
            row.node.apply = codegen.write_backward(row, globals() | {"general": OpNode.apply})
    _publish(name, call, row, function, as_method, aliases, row.doc or kernel.__doc__)
    if dunder:
        setattr(Tensor, dunder, call)
    if inplace:
        if isinstance(inplace, dict):  # a node, and perhaps formulas, of its own
            own = {k: v for k, v in inplace.items() if callable(v)}
            row = Row(name, kernel, own or formulas, {**settings, **{k: v for k, v in inplace.items() if k not in own}})
        call.in_place = in_place = _inplace(row)  # type: ignore[attr-defined]
        both = f"{name}_" in _INPLACE_FUNCTIONS
        _publish(name + "_", in_place, row, both, True, tuple(a + "_" for a in aliases))
    return call


def either(name: str, number: Callable, tensor: Callable, argument: str, at: int = 1, **options: Any) -> Callable:
    """The function `name`, and `name_`, of two rows: `number` when the argument is a Python number, else `tensor`.

    torch has both as overloads of one name; their nodes differ, and only the latter's can pass on a gradient of the
    argument. argument, at: its name and position. options: those of `composite`."""

    def choose(args: tuple, kwargs: dict) -> Callable:
        value = args[at] if len(args) > at else kwargs.get(argument)
        return number if isinstance(value, codegen.NUMBERS) else tensor

    def function(*args: Any, **kwargs: Any) -> Any:
        return choose(args, kwargs)(*args, **kwargs)

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return choose((self, *args), kwargs).in_place(self, *args, **kwargs)  # type: ignore[attr-defined]

    function.__name__, in_place.__name__ = name, name + "_"
    function.__doc__ = options.pop("doc", None) or number.__doc__
    in_place.__doc__ = f"{name}, in place."
    function.__signature__ = inspect.signature(tensor.row.kernel)  # type: ignore[attr-defined]
    method(in_place.__name__, *[a + "_" for a in options.get("aliases", ())])(in_place)
    public = composite(**options)(function)
    public.in_place = in_place  # type: ignore[attr-defined]
    return public


_OPTION_NAMES = {"joint", "fast"}
# in-place operators that torch also offers as functions
_INPLACE_FUNCTIONS = frozenset({
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "celu_", "clamp_",
    "clamp_max_", "clamp_min_", "cos_", "cosh_", "deg2rad_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_",
    "floor_", "frac_", "gcd_", "i0_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_",
    "nan_to_num_", "neg_", "rad2deg_", "reciprocal_", "relu_", "round_", "rsqrt_", "selu_", "sigmoid_", "sin_", "sinc_",
    "sinh_", "sqrt_", "square_", "tan_", "tanh_", "threshold_", "trunc_", "xlogy_", "zero_", "as_strided_", "clip_",
    "detach_", "conj_physical_", "resize_as_",
})


def publish_in_place() -> None:
    """Make functions, too, of those methods in place that are not rows' own. (All rows must be there.)"""
    for name in _INPLACE_FUNCTIONS:
        if hasattr(Tensor, name):
            FUNCTIONS.setdefault(name, getattr(Tensor, name))


def _publish(
    name: str, call: Any, row: Any, function: bool, as_method: bool | None, aliases: tuple, doc: str | None = None
) -> None:
    call.__name__ = call.__qualname__ = name
    call.__module__ = "minitorch"
    call.row = row
    if doc:
        call.__doc__ = doc
    for public in (name, *aliases):
        if function:
            FUNCTIONS[public] = call
        if as_method or (as_method is None and function):
            method(public)(call)


def composite(
    *, function: bool = True, as_method: bool = True, aliases: tuple = (), autocast: Any = None
) -> Callable:
    """Decorator: a plain function of other operators, public as function and method. Its derivative is theirs."""

    def publish(f: Callable) -> Callable:
        name = f.__name__
        row = _Composite(name, autocast)

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs and "out" in kwargs:
                out = kwargs.pop("out")
                if out is not None:
                    return _into(out, row, call, args, kwargs)
            if door.special and thread.modes and row.autocast:
                return _special(row, call, args, kwargs)
            if kwargs:
                for key in list(kwargs):
                    if key in ("axis", "keepdims") and key not in names:
                        kwargs[_SPELLINGS[key]] = kwargs.pop(key)
            return f(*args, **kwargs)

        names = inspect.signature(f).parameters
        call.__wrapped__ = f  # type: ignore[attr-defined]
        _publish(name, call, row, function, as_method, aliases, f.__doc__)
        return call

    return publish


class _Composite:
    """What modes see of a composite."""

    def __init__(self, name: str, autocast: Any):
        self.name, self.autocast = name, autocast
