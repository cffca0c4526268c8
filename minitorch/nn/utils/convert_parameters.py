"""Parameters as one vector, and back (torch/nn/utils/convert_parameters.py)."""

from minitorch.nn.modules.module import typename
from minitorch.ops.copies import cat
from minitorch.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _same_device(parameters):
    parameters = list(parameters)
    if len({p.device for p in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return parameters


def parameters_to_vector(parameters):
    """All parameters, flattened, one after the other."""
    return cat([parameter.view(-1) for parameter in _same_device(parameters)])


def vector_to_parameters(vec, parameters):
    """Give the parameters the values of `vec`, in the order of `parameters_to_vector`."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in _same_device(parameters):
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count
