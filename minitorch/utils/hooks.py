"""Handles by which a registered hook can be taken away again (mirrors torch/utils/hooks.py).

Everything that accepts hooks (tensors, nodes, modules, optimizers) keeps them in an ordered dictionary from a number to
the hook, and gives the caller a `RemovableHandle` that knows the dictionary and the number.
"""

import weakref
from collections import OrderedDict

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Removes one hook. Also a context manager: the hook is removed when the block ends.

    `hooks_dict` holds the hook under this handle's `id`; `extra_dict` (a dict or a list of them) holds flags about it
    under the same `id`. Only weak references are kept: a handle does not keep a module alive.
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        extras = [] if extra_dict is None else [extra_dict] if isinstance(extra_dict, dict) else extra_dict
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self):
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.remove()

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


def unserializable_hook(f):
    """Decorator for a tensor hook: pickling its tensor, which leaves the hook out, then gives no warning."""
    f.__torch_unserializable__ = True
    return f
