"""Tables of vectors looked up by index."""

from minitorch.autograd.grad_mode import no_grad
from minitorch.ops import nn_embedding as ops
from minitorch.ops.nn_embedding import one_hot

__all__ = ["embedding", "embedding_bag", "one_hot"]


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """`weight[input]`: indices (...) and a table (V, d) give (..., d).

    `padding_idx`: a row that gets no gradient; `max_norm`: rows looked up are first scaled down to it, in place;
    `scale_grad_by_freq` divides each row's gradient by how often it was looked up; `sparse` makes no difference."""
    padding_idx = _checked_padding(padding_idx, weight)
    if max_norm is not None:
        with no_grad():
            ops.embedding_renorm_(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _checked_padding(padding_idx, weight):
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    if padding_idx >= rows or padding_idx < -rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx if padding_idx >= 0 else rows + padding_idx


def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):
    """The sum, mean or maximum of the rows of each bag of indices.

    `input` (B, n): every row a bag; or (N,) with `offsets` (B,), where each bag begins."""
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        bags, size = input.shape
        offsets = input.new_tensor([i * size for i in range(bags)])
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        include_last_offset = False
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if max_norm is not None:
        with no_grad():
            ops.embedding_renorm_(weight, input, max_norm, norm_type)
    padding_idx = _checked_padding(padding_idx, weight)
    return ops.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, modes[mode], sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]
