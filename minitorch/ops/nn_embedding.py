"""Looking rows up in a table (ATen/native/{Embedding,EmbeddingBag,Onehot}.cpp)."""

from typing import Any

import numpy as np

from ..dispatch import FUNCTIONS, Tensor, composite, op
from ..kernels import embedding as kernels
from .elementwise import where, zeros_like
from .nn_common import scalar_name


def _lookup(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    if indices.dtype.kind not in "iu" or indices.dtype.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{scalar_name(indices)}Tensor instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    return kernels.embedding(weight, indices)


embedding = op("embedding", _lookup, as_method=False,
               weight=lambda grad, indices, weight_shape, padding_idx, scale_grad_by_freq:
               embedding_dense_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq))
embedding_dense_backward = op("embedding_dense_backward", kernels.embedding_dense_backward, function=False,
                              grad=lambda cotangent, indices, padding_idx:
                              _gather(cotangent, indices, padding_idx))


def _gather(table: Any, indices: Any, padding_idx: int) -> Any:
    """The adjoint of `embedding_dense_backward` (as in torch, without regard to scale_grad_by_freq)."""
    rows = embedding(table, indices)
    return rows if padding_idx < 0 else where((indices == padding_idx)[..., None], zeros_like(rows), rows)


def _like(array: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        return array
    t = Tensor()
    t._array = array
    return t


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale down, in place, the rows that are looked up and whose norm is larger than `max_norm`."""
    array = weight._array
    for row in np.unique(indices._array):
        norm = np.linalg.norm(array[row].astype(np.float64), norm_type)
        if norm > max_norm:
            array[row] *= np.asarray(max_norm / (norm + 1e-7), array.dtype)
    weight._bump()
    return weight


FUNCTIONS["embedding_renorm_"] = embedding_renorm_


@composite(as_method=False)
def embedding_bag(
    weight: Any, input: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> Any:
    """The sum (mode 0), mean (1) or maximum (2) of the rows in each bag; bag i is `input[offsets[i]:offsets[i + 1]]`.

    Returns (output, bag of each index, size of each bag, where each maximum was)."""
    starts = offsets._array
    ends = starts[1:] if include_last_offset else np.append(starts[1:], input._array.size)
    starts = starts[: len(ends)]
    bag = np.repeat(np.arange(len(starts)), ends - starts)
    counted = input._array != padding_idx if padding_idx >= 0 else np.ones(input._array.shape, bool)
    kept = np.flatnonzero(counted)
    bag = bag[kept]
    sizes = np.bincount(bag, minlength=len(starts))
    indices = input[_like(kept, input)]
    rows = embedding(weight, indices, padding_idx, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[_like(kept, input)].unsqueeze(-1)
    bags, counts = _like(bag, input), _like(sizes, input)
    where_max = np.zeros((len(starts), weight.shape[1]), np.int64)
    if mode == 2:
        where_max, empty = _argmax_per_bag(rows._array, bag, len(starts))
        if len(kept):
            out = rows.gather(0, _like(where_max, rows)).masked_fill(_like(empty[:, None], rows), 0)
        else:
            out = weight.new_zeros(len(starts), weight.shape[1])
    else:
        out = weight.new_zeros(len(starts), weight.shape[1]).index_add(0, bags, rows)
        if mode == 1:
            divisor = np.maximum(sizes, 1)[:, None].astype(weight._array.dtype)
            out = out / _like(divisor, weight)
    return out, bags, counts, _like(where_max, input)


def _argmax_per_bag(rows: Any, bag: Any, bags: int) -> tuple:
    """For each bag and column, which of `rows` is largest (0 for an empty bag), and which bags are empty."""
    found = np.zeros((bags, rows.shape[1]), np.int64)
    empty = np.ones(bags, bool)
    for b in np.unique(bag):
        members = np.flatnonzero(bag == b)
        found[b] = members[rows[members].argmax(0)]
        empty[b] = False
    return found, empty


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """(...) of class indices as (..., num_classes) of zeros and a one each; -1: as many classes as occur."""
    array = tensor._array
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if array.size and array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    elif num_classes <= 0:
        raise RuntimeError("num_classes should be positive")
    elif array.size and array.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return _like((array[..., None] == np.arange(num_classes)).astype(np.int64), tensor)


__all__ = ["embedding", "embedding_bag", "one_hot"]
