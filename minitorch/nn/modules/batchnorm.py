"""Batch normalisation (torch/nn/modules/batchnorm.py)."""

from minitorch.conversion import tensor
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.lazy import LazyModuleMixin
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter, empty

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """What batch and instance norm share: scale and shift, running statistics, and their place in a state dict."""

    _version = 2  # since then `num_batches_tracked` is saved
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
        bias=True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty((num_features,), device, dtype)) if wanted else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, empty((num_features,), device, dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            counter = self.num_batches_tracked
            state_dict.setdefault(prefix + "num_batches_tracked", tensor(0) if counter is None else counter)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        moving = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if moving else None,
            self.running_var if moving else None,
            self.weight, self.bias, by_batch, factor, self.eps,
        )


def _expect(input, *dims):
    if input.dim() not in dims:
        raise ValueError(f"expected {' or '.join(f'{d}D' for d in dims)} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Each channel of (N, C) or (N, C, L) normalised over the batch, then scaled and shifted.

    In training by the statistics of the batch, which also move the running statistics by `momentum` (None: their plain
    average); in evaluation by the running statistics.
    """

    def _check_input_dim(self, input):
        _expect(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """As `BatchNorm1d`, for (N, C, H, W)."""

    def _check_input_dim(self, input):
        _expect(input, 4)


class BatchNorm3d(_BatchNorm):
    """As `BatchNorm1d`, for (N, C, D, H, W)."""

    def _check_input_dim(self, input):
        _expect(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch norm over all processes of a group; with the one process that there is, `BatchNorm`."""

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
        device=None, dtype=None, bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Replace every batch norm in `module` by a SyncBatchNorm with the same parameters and statistics."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A norm that takes `num_features` from its first input."""

    def __init__(
        self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, bias=True
    ):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            if wanted:
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, device=device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for blank in (self.weight, self.bias, self.running_mean, self.running_var):
                if blank is not None:
                    blank.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim
