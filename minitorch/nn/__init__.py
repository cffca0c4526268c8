"""Neural networks: modules, their parameters, and the functions they are made of (torch.nn)."""

from minitorch.nn import functional, init, modules, parallel, parameter, utils  # noqa: F401
from minitorch.nn.modules import *  # noqa: F403
from minitorch.nn.modules import Module  # noqa: F401
from minitorch.nn.parallel import DataParallel  # noqa: F401
from minitorch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401


def factory_kwargs(kwargs):
    """The arguments `device`, `dtype` and `memory_format` among `kwargs`, for the making of a tensor."""
    if kwargs is None:
        return {}
    names = {"device", "dtype", "memory_format"}
    strange = kwargs.keys() - names - {"factory_kwargs"}
    if strange:
        raise TypeError(f"unexpected kwargs {strange}")
    given = dict(kwargs.get("factory_kwargs", {}))
    for name in names & kwargs.keys():
        if name in given:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        given[name] = kwargs[name]
    return given
