"""A batch norm in evaluation folded into the layer before it (torch/nn/utils/fusion.py)."""

import copy

from minitorch.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _folded(weight, bias, mean, var, eps, scale, shift, channels):
    """The weight and bias that do what layer and norm do; `channels`: the weight's output dimension."""
    mean, var = mean.data, var.data
    scale = var.new_ones(var.shape) if scale is None else scale.data
    shift = var.new_zeros(var.shape) if shift is None else shift.data
    old = mean.new_zeros(mean.shape) if bias is None else bias.data
    factor = scale * (var + eps).rsqrt()
    shape = [1] * weight.dim()
    shape[channels] = -1
    new_weight = (weight.data * factor.reshape(shape)).to(weight.dtype)
    new_bias = (old - mean) * factor + shift
    learned = True if bias is None else bias.requires_grad
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, learned)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """The weight and bias of a convolution that also does the normalisation."""
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of `conv` that does what `conv` and then `bn` do in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """The weight and bias of a linear layer that also does the normalisation."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_linear_bn_eval(linear, bn):
    """A copy of `linear` that does what `linear` and then `bn` do in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
