"""Modules that learn their shapes from the first input (torch/nn/modules/lazy.py)."""

import itertools

from minitorch.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Parameters start without a shape; the first call gives them one, and the module becomes `cls_to_become`.

    A subclass creates `UninitializedParameter`s and gives them shapes in `initialize_parameters(*inputs)`.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """A state dict with shapes gives its shapes to this module before the values are copied."""
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if saved is not None and tensor is not None and is_lazy(tensor) and not is_lazy(saved):
                tensor.materialize(saved.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters their shapes, and values; the arguments are those of `forward`."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether anything is still without a shape."""
        return any(is_lazy(t) for t in itertools.chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
