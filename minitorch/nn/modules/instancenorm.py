"""Instance normalisation (torch/nn/modules/instancenorm.py)."""

import warnings

from minitorch.nn import functional as F
from minitorch.nn.modules.batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Each channel of each sample normalised by itself; (N, C, *size) or (C, *size)."""

    nd: int

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _check_input_dim(self, input):
        if input.dim() not in (self.nd + 1, self.nd + 2):
            raise ValueError(f"expected {self.nd + 1}D or {self.nd + 2}D input (got {input.dim()}D input)")

    def _get_no_batch_dim(self):
        return self.nd + 1

    def forward(self, input):
        self._check_input_dim(input)
        channels = input.size(-self.nd - 1)
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={input.dim() - self.nd - 1} to match num_features "
                    f"({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={input.dim() - self.nd - 1} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == self.nd + 1:
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _normalise(self, input):
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        if local_metadata.get("version") is None and not self.track_running_stats:
            stale = [prefix + n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if stale:
                names = " and ".join(f'"{key}"' for key in stale)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be expected "
                    "because InstanceNorm does not track running stats by default since 0.4.0. Please remove these "
                    "keys from state_dict."
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    nd = 1


class InstanceNorm2d(_InstanceNorm):
    nd = 2


class InstanceNorm3d(_InstanceNorm):
    nd = 3


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    def initialize_parameters(self, input):
        super().initialize_parameters(input if input.dim() == self.nd + 2 else input.unsqueeze(0))


class LazyInstanceNorm1d(_LazyInstanceNorm):
    nd, cls_to_become = 1, InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    nd, cls_to_become = 2, InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm):
    nd, cls_to_become = 3, InstanceNorm3d
