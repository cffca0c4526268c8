"""Ready-made parametrizations: weight norm and spectral norm (torch/nn/utils/parametrizations.py)."""

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn import functional as F
from minitorch.nn.modules.conv import _ConvTransposeNd
from minitorch.nn.modules.module import Module
from minitorch.nn.utils import parametrize
from minitorch.tensor import Tensor

__all__ = ["spectral_norm", "weight_norm"]


def norm_except_dim(v, dim):
    """The 2-norms of the slices of v along `dim`, shaped to broadcast against v; of all of v for dim None (or -1)."""
    if dim is None or dim == -1:
        return v.norm(2)
    return v.norm(2, [d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)


class _WeightNorm(Module):
    """`g * v / |v|` (Salimans and Kingma 2016)."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Learn the magnitude (`original0`) and the direction (`original1`) of a weight, per slice along `dim`."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_old(state_dict, prefix, *rest):
        """What the hook-based weight norm saved as `weight_g` and `weight_v`."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(load_old)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which some steps of the power method keep estimating."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            u = matrix.new_empty(matrix.shape[0]).normal_(0, 1)
            v = matrix.new_empty(matrix.shape[1]).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            power_method(matrix, self._u, self._v, 15, eps)

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_method(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # copies: the graph of this pass must survive the next pass's updates
        u, v = self._u.clone(), self._v.clone()
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value):
        return value


def as_matrix(weight, dim):
    """A weight with `dim` in front and the rest flattened."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.flatten(1)


@no_grad()
def power_method(matrix, u, v, steps, eps):
    """Move u and v, in place, towards the first left and right singular vectors."""
    for _ in range(steps):
        u.copy_(F.normalize(matrix.mv(v), dim=0, eps=eps))
        v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=eps))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value (Miyato et al. 2018); `dim`: that of its outputs."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, parametrization)
