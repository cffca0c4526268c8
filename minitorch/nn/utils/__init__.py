"""Helpers around modules and their parameters (torch.nn.utils)."""

from minitorch.nn.utils import parametrizations, parametrize, rnn  # noqa: F401
from minitorch.nn.utils.clip_grad import (  # noqa: F401
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from minitorch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters  # noqa: F401
from minitorch.nn.utils.fusion import (  # noqa: F401
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from minitorch.nn.utils.init import skip_init  # noqa: F401
from minitorch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm  # noqa: F401
from minitorch.nn.utils.weight_norm import remove_weight_norm, weight_norm  # noqa: F401
