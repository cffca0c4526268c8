"""Module: the base of every layer and network (mirrors torch/nn/modules/module.py).

A module is a tree of modules whose leaves are parameters and buffers. Assigning a `Parameter`, a `Module` or a `Buffer`
to an attribute registers it, in order, in `_parameters`, `_modules` or `_buffers`; everything else here walks these
three dictionaries. Hooks are in `_hooks.py`, saving and loading in `_state.py`.
"""

from minitorch.autograd.grad_mode import no_grad
from minitorch.devices import device as device_type
from minitorch.dtypes import dtype as dtype_type
from minitorch.nn.modules._hooks import (
    Hookable,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from minitorch.nn.modules._state import Stateful, _IncompatibleKeys
from minitorch.nn.parameter import Buffer, Parameter
from minitorch.tensor import Tensor

__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
    "_IncompatibleKeys",
]

# What every call of every module asks, under names that are found fast
_forward_pre_everywhere, _forward_everywhere = everywhere.forward_pre, everywhere.forward
_backward_pre_everywhere, _backward_everywhere = everywhere.backward_pre, everywhere.backward


class Module(Hookable, Stateful):
    """Base class of all neural network modules.

    A subclass calls `super().__init__()` first, assigns its parameters and submodules as attributes, and computes its
    output in `forward`. `training` tells layers such as dropout how to behave; see `train` and `eval`.
    """

    training: bool
    call_super_init = False
    dump_patches = False
    _compiled_call_impl = None

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:  # object.__init__ would not name the class
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{[*kwargs][0]}'")
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={})
        self._init_hooks()
        self._init_state_hooks()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args):
        """Compute the output. Every subclass overrides this; call the module itself, which also runs the hooks."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _forward_pre_everywhere
            or _forward_everywhere
            or _backward_pre_everywhere
            or _backward_everywhere
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    # -- registration ---------------------------------------------------------------------------------------------

    def _check_name(self, kind, name, registered):
        """Refuse a name that could not be an entry of a state dict, or that already means something else."""
        if registered not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[registered]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but not a parameter; `persistent` buffers are part of the state dict."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = run_hooks(everywhere.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Add a parameter (or None: a name without a parameter, as `bias=False` leaves it)."""
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = run_hooks(everywhere.parameter_registration, self, name, param)
        self._parameters[name] = param

    def add_module(self, name, module):
        """Add a submodule (or None)."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = run_hooks(everywhere.module_registration, self, name, module)

    register_module = add_module

    def __setattr__(self, name, value):
        state = self.__dict__
        parameters = state.get("_parameters")
        if parameters is None:  # before __init__
            for kind, what in ((Parameter, "parameters"), (Module, "module"), (Buffer, "buffer")):
                if isinstance(value, kind):
                    raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._forget(name, state, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, state, parameters, self._buffers)
            self._modules[name] = run_hooks(everywhere.module_registration, self, name, value)
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = run_hooks(everywhere.module_registration, self, name, value)
        elif name in self._buffers or isinstance(value, Buffer):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            persistent = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, value.persistent if isinstance(value, Buffer) else persistent)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name, *places):
        """Make room for a registration under `name`: whatever else went by it is gone."""
        for place in places:
            place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name):
        # Only asked for what is not an ordinary attribute.
        state = self.__dict__
        for registered in ("_parameters", "_buffers", "_modules"):
            if registered in state and name in state[registered]:
                return state[registered][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for registered in (self._parameters, self._buffers, self._modules):
            if name in registered:
                del registered[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # -- finding by dotted name -----------------------------------------------------------------------------------

    def get_submodule(self, target):
        """The submodule with the dotted name `target`; AttributeError where there is none."""
        module = self
        for name in target.split(".") if target else ():
            module = find(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put `module` in the place of the submodule `target`; with `strict` the place must exist."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(find(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter with the dotted name `target`; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        param = find(self.get_submodule(path), name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target):
        """The buffer with the dotted name `target`; AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = find(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    # -- walking the tree -----------------------------------------------------------------------------------------

    def named_children(self):
        """`(name, module)` of every direct submodule, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """Every direct submodule, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """`(dotted name, module)` of this module (under the name `prefix`) and all below it, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, join(prefix, name), remove_duplicate)

    def modules(self, remove_duplicate=True):
        """This module and all below it, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is not None and id(member) not in seen:
                    if remove_duplicate:
                        seen.add(id(member))
                    yield join(path, name), member

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """`(dotted name, parameter)` of all parameters, of submodules too with `recurse`."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """All parameters, in order of registration: what an optimizer is given."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """`(dotted name, buffer)` of all buffers."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """All buffers, in order of registration."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self, fn):
        """Call `fn(module)` on every module of the tree, children first; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- changing all tensors at once -----------------------------------------------------------------------------

    def _apply(self, fn, recurse=True):
        """Replace every parameter, its gradient and every buffer by `fn` of it. Parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                with no_grad():
                    grad = param.grad
                    param.data = fn(param)
                    if grad is not None:
                        grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Move to a device and cast floating point tensors: `to(device)`, `to(dtype)`, `to(device, dtype)`,
        `to(tensor)`."""
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor):
            options = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
            return tensor.to(device, dtype if tensor.is_floating_point() else None, non_blocking, **options)

        return self._apply(convert)

    def type(self, dst_type):
        """Cast all parameters and buffers to `dst_type`."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self):
        """Cast floating point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self):
        """Cast floating point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self):
        """Cast floating point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self):
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device, recurse=True):
        """Move to `device` without copying: the values are undefined afterwards."""
        return self._apply(lambda tensor: tensor.new_empty(tensor.shape, device=device), recurse=recurse)

    def share_memory(self):
        """Move all parameters and buffers to memory that other processes can share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def train(self, mode=True):
        """Set training mode (or evaluation mode) of this module and all below it; returns self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Set evaluation mode: dropout lets everything pass, batch norm uses its running statistics."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Let autograd record operations on the parameters, or not (freeze them); returns self."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or set them to zero."""
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                else:
                    if param.grad.grad_fn is not None:
                        param.grad.detach_()
                    else:
                        param.grad.requires_grad_(False)
                    param.grad.zero_()

    def compile(self, *args, **kwargs):
        """Accepted for compatibility: `minitorch.compile` says once that there is no compiler."""
        import minitorch

        minitorch.compile(self, *args, **kwargs)

    # -- copying and printing -------------------------------------------------------------------------------------

    def __getstate__(self):
        return self.__dict__.copy()

    def __setstate__(self, state):
        self._init_hooks()  # what an older version of this class did not save
        self._init_state_hooks()
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.update(state)

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What `repr` shows of this module besides its submodules."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        if children or len(lines) > 1:
            return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"
        return f"{self._get_name()}({extra})"


def typename(value):
    """The name of a value's type as torch's messages give it."""
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def run_hooks(hooks, module, name, value):
    """Let the global registration hooks look at `value` and possibly replace it."""
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


def find(module, name):
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def join(prefix, name):
    return f"{prefix}.{name}" if prefix else name


def indent(text):
    """Indent all lines but the first by two spaces, leaving blank ones empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


def parse_to(*args, device=None, dtype=None, non_blocking=False, memory_format=None, copy=False):
    """The arguments of `to`, in whichever of its forms: `(device, dtype, non_blocking, memory_format)`."""
    for arg in args:
        if isinstance(arg, bool):
            non_blocking = arg
        elif isinstance(arg, dtype_type):
            dtype = arg
        elif isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, str | int | device_type):
            device = arg
        elif arg is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({typename(arg)})")
    return None if device is None else device_type(device), dtype, non_blocking, memory_format
