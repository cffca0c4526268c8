"""Looking rows up in a table, and adding gradients back into it.  Mirrors ATen/native/Embedding.cpp."""

import numpy as np

from .half import in_float32


def embedding(weight, indices):
    """`weight[indices]`: (V, d) and (...) give (..., d).  IndexError for an index outside [0, V)."""
    if indices.size and (indices.min() < 0 or indices.max() >= len(weight)):
        raise IndexError("index out of range in self")
    return weight.take(indices, axis=0)


@in_float32
def embedding_dense_backward(grad, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False):
    """Adds each row of `grad` (..., d) to the row of a (V, d) array of zeros that `indices` (...) names.

    Rows of `padding_idx` add nothing.  With `scale_grad_by_freq` each sum is divided by how often its index occurs.
    """
    width = grad.shape[-1]
    rows, index = grad.reshape(-1, width), indices.reshape(-1)
    dweight = np.zeros((num_weights, width), grad.dtype)
    if padding_idx >= 0:
        keep = index != padding_idx
        rows, index = rows[keep], index[keep]
    np.add.at(dweight, index, rows)
    if scale_grad_by_freq:
        dweight /= np.maximum(np.bincount(index, minlength=num_weights), 1)[:, None].astype(grad.dtype)
    return dweight
