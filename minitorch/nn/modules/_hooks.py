"""Hooks of modules: functions that run before and after `forward`, and around a module's share of the backward pass.

Mirrors the hook half of torch/nn/modules/module.py and `BackwardHook` of torch/utils/hooks.py. A module without hooks
never enters this file: `Module.__call__` goes straight to `forward`.
"""

import warnings
from collections import OrderedDict

from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import is_grad_enabled
from minitorch.tensor import Tensor
from minitorch.utils.hooks import RemovableHandle


class GlobalHooks:
    """The hooks that run for every module."""

    def __init__(self):
        self.forward_pre = OrderedDict()
        self.forward = OrderedDict()
        self.forward_with_kwargs = OrderedDict()
        self.forward_always_called = OrderedDict()
        self.backward_pre = OrderedDict()
        self.backward = OrderedDict()
        self.backward_is_full = None
        self.buffer_registration = OrderedDict()
        self.module_registration = OrderedDict()
        self.parameter_registration = OrderedDict()


everywhere = GlobalHooks()


def register(hooks, hook, *, prepend=False, **flags):
    """Add `hook` to `hooks` and return its handle; `flags` maps a dictionary's name to (dictionary, wanted)."""
    handle = RemovableHandle(hooks, extra_dict=[flag for flag, _ in flags.values()])
    hooks[handle.id] = hook
    for flag, wanted in flags.values():
        if wanted:
            flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """`hook(module, name, buffer) -> None or new buffer`, for every buffer registered from now on."""
    return register(everywhere.buffer_registration, hook)


def register_module_module_registration_hook(hook):
    """`hook(module, name, submodule) -> None or new submodule`, for every submodule registered from now on."""
    return register(everywhere.module_registration, hook)


def register_module_parameter_registration_hook(hook):
    """`hook(module, name, param) -> None or new parameter`, for every parameter registered from now on."""
    return register(everywhere.parameter_registration, hook)


def register_module_forward_pre_hook(hook):
    """`hook(module, args) -> None or modified args`, before the forward of every module."""
    return register(everywhere.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """`hook(module, args, output) -> None or modified output`, after the forward of every module."""
    return register(
        everywhere.forward,
        hook,
        with_kwargs=(everywhere.forward_with_kwargs, with_kwargs),
        always_call=(everywhere.forward_always_called, always_call),
    )


def register_module_full_backward_pre_hook(hook):
    """`hook(module, grad_output) -> None or new grad_output`, before the backward of every module."""
    return register(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook):
    """`hook(module, grad_input, grad_output) -> None or new grad_input`, after the backward of every module."""
    everywhere.backward_is_full = one_kind(everywhere.backward_is_full, True, "as a global Module hook")
    return register(everywhere.backward, hook)


def register_module_backward_hook(hook):
    """The old kind of backward hook, on the last node of a module's output only; deprecated as in torch."""
    everywhere.backward_is_full = one_kind(everywhere.backward_is_full, False, "as a global Module hook")
    return register(everywhere.backward, hook)


def one_kind(before, now, where):
    if before is not None and before is not now:
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )
    return now


class Hookable:
    """The part of `Module` that keeps its hooks and calls them."""

    def _init_hooks(self):
        self.__dict__.update(
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
        )

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args) -> None or new args` before every forward.

        With `with_kwargs` the hook is `hook(module, args, kwargs) -> None or (new args, new kwargs)`. `prepend` puts it
        before the hooks that are already there. Returns a handle with `remove()`.
        """
        flag = (self._forward_pre_hooks_with_kwargs, with_kwargs)
        return register(self._forward_pre_hooks, hook, prepend=prepend, with_kwargs=flag)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output) -> None or new output` after every forward.

        With `with_kwargs` the hook is `hook(module, args, kwargs, output)`. With `always_call` it also runs, with
        `output` None, when forward raised. Returns a handle with `remove()`.
        """
        return register(
            self._forward_hooks,
            hook,
            prepend=prepend,
            with_kwargs=(self._forward_hooks_with_kwargs, with_kwargs),
            always_call=(self._forward_hooks_always_called, always_call),
        )

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output) -> None or new grad_output` when the gradient reaches the module's
        outputs."""
        return register(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output) -> None or new grad_input` once the inputs' gradients are known.

        Both are tuples with one entry per positional input and per output, None for what is no tensor. If no input
        requires a gradient the hook runs when the outputs' gradients arrive.
        """
        self._is_full_backward_hook = one_kind(self._is_full_backward_hook, True, "on a single Module")
        return register(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook):
        """The old kind of backward hook: it sees the last node of the output only. Deprecated, as in torch."""
        self._is_full_backward_hook = one_kind(self._is_full_backward_hook, False, "on a single Module")
        return register(self._backward_hooks, hook)

    def _call_with_hooks(self, args, kwargs):
        """`forward` between its hooks, in torch's order: all global hooks come before the module's own."""
        result = None
        called = set()
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            full, regular = [], []
            (full if everywhere.backward_is_full else regular).extend(everywhere.backward.values())
            (full if self._is_full_backward_hook else regular).extend(self._backward_hooks.values())
            pre = [*everywhere.backward_pre.values(), *self._backward_pre_hooks.values()]
            backward = BackwardHook(self, full, pre) if full or pre else None
            if backward:
                args = backward.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for number, hook, with_kwargs, always in self._forward_hook_list():
                if always:
                    called.add(number)
                replaced = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if replaced is not None:
                    result = replaced
            if backward:
                if not isinstance(result, Tensor | tuple):
                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                        f"but received {type(result)}",
                        stacklevel=3,
                    )
                result = backward.setup_output_hook(result)
            if regular:
                attach_regular_hooks(self, regular, args, result)
            return result
        except Exception:
            for number, hook, with_kwargs, always in self._forward_hook_list():
                if always and number not in called:
                    try:
                        replaced = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                        if replaced is not None:
                            result = replaced
                    except Exception as error:
                        kind = "global module" if number in everywhere.forward else "module"
                        warnings.warn(
                            f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced "
                            f"as another error was raised in forward: {error}",
                            stacklevel=3,
                        )
            raise

    def _run_forward_pre_hooks(self, args, kwargs):
        for number, hook in (*everywhere.forward_pre.items(), *self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                replaced = hook(self, args, kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
            else:
                replaced = hook(self, args)
                if replaced is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)
        return args, kwargs

    def _forward_hook_list(self):
        """`(number, hook, takes kwargs, runs even after an error)` of every forward hook, in calling order."""
        kwargs = (everywhere.forward_with_kwargs, self._forward_hooks_with_kwargs)
        always = (everywhere.forward_always_called, self._forward_hooks_always_called)
        return [
            (number, hook, any(number in d for d in kwargs), any(number in d for d in always))
            for number, hook in (*everywhere.forward.items(), *self._forward_hooks.items())
        ]


class BackwardHookFunction(Function):
    """The identity: a node in the graph where hooks can stand."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *grads):
        return grads


class BackwardHook:
    """Two identity nodes around one call of a module: gradients of its outputs pass the second, of its inputs the
    first.

    The node at the outputs stores their gradients (after the pre-hooks); the node at the inputs, which the backward
    pass reaches later, calls the user's hooks with both.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs = None

    def setup_input_hook(self, args):
        self.n_inputs = len(args)
        args, self.input_positions = insert_identity(args, self._at_inputs)
        return args

    def setup_output_hook(self, result):
        outputs = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(outputs)
        outputs, self.output_positions = insert_identity(outputs, self._at_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _at_outputs(self, _, grad_output):
        self.grad_outputs = spread(self.output_positions, grad_output, self.n_outputs)
        for hook in self.pre_hooks:
            replaced = hook(self.module, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != self.n_outputs:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {self.n_outputs}"
                )
            self.grad_outputs = replaced
        grads = self.grad_outputs
        if self.input_positions is None:
            self._without_inputs()
        return tuple(grads[i] for i in self.output_positions)

    def _without_inputs(self):
        """No input requires a gradient, so the first node does not exist: the hooks run now."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no "
            "inputs require gradients.",
            stacklevel=2,
        )
        for hook in self.hooks:
            replaced = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if replaced is not None and not (isinstance(replaced, tuple) and all(r is None for r in replaced)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
        self.grad_outputs = None

    def _at_inputs(self, grad_input, _):
        if self.grad_outputs is None:  # the gradient came past the outputs, as in a double backward
            return None
        grads = spread(self.input_positions, grad_input, self.n_inputs)
        for hook in self.hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != len(grads):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replaced)}, but expected {len(grads)}"
                )
            grads = replaced
        self.grad_outputs = None
        return tuple(grads[i] for i in self.input_positions)


def spread(positions, values, size):
    """`values` at `positions` of a tuple of `size`, None elsewhere."""
    result = [None] * size
    for position, value in zip(positions, values, strict=True):
        result[position] = value
    return tuple(result)


def insert_identity(args, hook):
    """Pass the tensors of `args` through one identity node with `hook`; returns the new args and their positions.

    Where nothing needs a gradient there is no node: `args` come back as they are, with None for the positions.
    """
    positions = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (is_grad_enabled() and any(args[i].requires_grad for i in positions)):
        return args, None
    outputs = BackwardHookFunction.apply(*[args[i] for i in positions])
    next(output for output in outputs if output.grad_fn is not None).grad_fn.register_hook(hook)
    replaced = list(args)
    for position, output in zip(positions, outputs, strict=True):
        replaced[position] = output
    return (tuple(replaced) if type(args) is tuple else type(args)(*replaced)), positions


def attach_regular_hooks(module, hooks, args, result):
    """Put the old kind of hook on the node of the first tensor in `result`."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output))
    problem = regular_hook_problem(args, result, node)
    if problem:
        warnings.warn(
            f"{problem} Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )


def regular_hook_problem(args, result, node):
    """What an old-style hook will not see of this call, in torch's words; None if it sees everything."""

    def all_tensors(values):
        return isinstance(values, Tensor) or (
            isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)
        )

    deprecated = "is deprecated and will be removed in future versions. This hook will be missing some"
    if not all_tensors(result):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            f"{deprecated} of the grad_output."
        )
    if not all_tensors(args):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            f"Tensors {deprecated} of the grad_input."
        )
    outputs = result if isinstance(result, tuple) else (result,)
    nodes = {output.grad_fn for output in outputs} - {None}
    if len(nodes) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            f"{deprecated} grad_output."
        )
    if {arg.grad_fn for arg in args} - {None} != {edge[0] for edge in node.next_functions}:
        return (
            f"Using a non-full backward hook when the forward contains multiple autograd Nodes {deprecated} grad_input."
        )
    return None
