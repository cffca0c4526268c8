"""Modules that only hold arguments: `nn.LeakyReLU(0.2)` is `F.leaky_relu` with its second argument put aside.

Most activations and all losses are of this kind, so they are rows (`holding(F.leaky_relu)`) and not classes written
out: the arguments, their defaults, the signature and the documentation are the function's own.
"""

import inspect
import warnings

from minitorch.nn.modules.module import Module

_LEGACY = ("size_average", "reduce")  # how `reduction` was once spelled
_BUFFERS = ("weight", "pos_weight")


def holding(function, name, module, inputs=1, held=None, base=Module, check=None, repr_bare=False, repr_nothing=False):
    """The class `name` (of the Python module `module`) whose instances hold arguments of `function`.

    `inputs`: how many arguments, the first ones, are left for `forward`. `held` names those to hold where they are not
    simply the rest. `check(arguments)` may refuse them. `repr_bare` prints their values without names.
    """
    parameters = inspect.signature(function).parameters
    held = [*parameters][inputs:] if held is None else held
    spare = [n for n in held if n not in _LEGACY]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([parameters[n].replace(kind=kind, annotation=inspect.Parameter.empty) for n in held])
    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.__init__() {error}") from None
        bound.apply_defaults()
        values = bound.arguments
        if check is not None:
            check(values)
        if "size_average" in values:
            values["reduction"] = reduction_of(values.pop("size_average"), values.pop("reduce"), values["reduction"])
        for key, value in values.items():
            if key in _BUFFERS:
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    __init__.__signature__ = signature.replace(parameters=[self_parameter, *signature.parameters.values()])

    if not spare:

        def forward(self, *inputs, **named):
            return function(*inputs, **named)
    else:

        def forward(self, *inputs, **named):
            for key in spare:
                named[key] = getattr(self, key)
            return function(*inputs, **named)

    def extra_repr(self):
        shown = [(key, getattr(self, key)) for key in spare if key != "inplace" or self.inplace]
        return ", ".join(str(value) if repr_bare else f"{key}={value!r}" for key, value in shown)

    members = {"__init__": __init__, "forward": forward, "__module__": module, "__doc__": function.__doc__}
    members["__constants__"] = spare
    if not repr_nothing:
        members["extra_repr"] = extra_repr
    for member in (__init__, forward, extra_repr):
        member.__qualname__, member.__module__ = f"{name}.{member.__name__}", module
    return type(name, (base,), members)


def reduction_of(size_average, reduce, reduction):
    """The `reduction` that the two legacy arguments stand for, where either is given (with torch's warning)."""
    if size_average is None and reduce is None:
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=4
    )
    return reduction
