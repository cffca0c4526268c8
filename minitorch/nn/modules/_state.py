"""What a module remembers: `state_dict` and `load_state_dict`, and their extension points.

Mirrors the state half of torch/nn/modules/module.py. A state dict is an OrderedDict from dotted names to tensors,
with the `_version` of every module in its attribute `_metadata`, so that a module can load what an older version of
it saved.
"""

import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules._hooks import register
from minitorch.nn.parameter import Parameter, is_lazy
from minitorch.tensor import Tensor

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the names that did not match."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class HookOfModule:
    """A hook that takes its module as first argument, without keeping the module alive."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args, **kwargs):
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        return self.hook, self.module()

    def __setstate__(self, state):
        self.hook, module = state
        self.module = weakref.ref(module)


class Stateful:
    """The part of `Module` that saves and loads its parameters and buffers."""

    _version = 1

    def _init_state_hooks(self):
        self.__dict__.update(
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
        )

    # -- saving ---------------------------------------------------------------------------------------------------

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All parameters and persistent buffers of this module and its submodules, by dotted name.

        The tensors are the module's own, detached (not with `keep_vars`). `destination`: the dict to fill, made when
        None; `prefix` is put before every name.
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if replaced is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own state (not its submodules') into `destination`; subclasses extend it."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self):
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {name: tensor for name, tensor in (self._parameters | persistent).items() if tensor is not None}

    def get_extra_state(self):
        """What else belongs to the state; a subclass that overrides this must override `set_extra_state` too."""
        raise RuntimeError("Module.get_extra_state() should never be called: only a subclass has extra state")

    def set_extra_state(self, state):
        """Take back what `get_extra_state` gave."""
        raise RuntimeError("Module.set_extra_state() should never be called: only a subclass has extra state")

    # -- loading --------------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy the tensors of `state_dict` into the parameters and buffers of the same names.

        With `strict` a missing or unexpected name raises RuntimeError; a shape that does not fit always does. With
        `assign` the tensors themselves become the module's, instead of being copied. Returns the named tuple
        `(missing_keys, unexpected_keys)`.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys, unexpected_keys, error_msgs = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, local_state, prefix):
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(
                local_state, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs
            )
            for name, child in module._modules.items():
                if child is not None:
                    child_prefix = f"{prefix}{name}."
                    load(child, {k: v for k, v in local_state.items() if k.startswith(child_prefix)}, child_prefix)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, _IncompatibleKeys(missing_keys, unexpected_keys)) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state_dict, "")
        if strict:
            for kind, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
                if keys:
                    quoted = ", ".join(f'"{key}"' for key in keys)
                    error_msgs.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if error_msgs:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(error_msgs))
            )
        return _IncompatibleKeys(missing_keys, unexpected_keys)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load this module's own state (not its submodules'); subclasses extend it to read older versions.

        Problems are appended to the three lists, so that one error can name them all.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, target, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_one(self, name, key, target, source, assign):
        """Load `source` into the parameter or buffer `name`; returns what is wrong with it, or None."""
        if not isinstance(source, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(source)}"
            )
        if not is_lazy(target):
            if target.dim() == 0 and source.shape == (1,):  # as 0-d tensors were saved once
                source = source[0]
            if source.shape != target.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, "
                    f"the shape in current model is {target.shape}."
                )
        try:
            with no_grad():
                if not assign:
                    target.copy_(source)
                    return None
                if isinstance(target, Parameter):
                    if isinstance(source, Parameter):
                        source.requires_grad_(target.requires_grad)
                    else:
                        source = Parameter(source, requires_grad=target.requires_grad)
                setattr(self, name, source)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {target.size()} and '
                f"whose dimensions in the checkpoint are {source.size()}, an exception occurred : {error.args}."
            )
        return None

    # -- hooks ----------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata) -> None` after `state_dict` collected."""
        hook._from_public_api = True
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """As `register_state_dict_post_hook`, but the hook may return another state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, *arguments of _load_from_state_dict)` before this module loads."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return register(self._load_state_dict_pre_hooks, HookOfModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys) -> None` after this module loaded; it may edit the two lists."""
        return register(self._load_state_dict_post_hooks, hook)
