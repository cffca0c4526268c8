"""Looking rows up in a table, and adding gradients back into it.  Mirrors ATen/native/Embedding.cpp."""

import numpy as np

from .half import in_float32
from .parallel import GRAIN, compiled, pays, run_slices


def embedding(weight, indices):
    """`weight[indices]`: (V, d) and (...) give (..., d).  IndexError for an index outside [0, V)."""
    if indices.size and (indices.min() < 0 or indices.max() >= len(weight)):
        raise IndexError("index out of range in self")
    return weight.take(indices, axis=0)


@in_float32
def embedding_dense_backward(grad, indices, num_weights, padding_idx=-1, scale_grad_by_freq=False):
    """Adds each row of `grad` (..., d) to the row of a (V, d) array of zeros that `indices` (...) names.

    Rows of `padding_idx` add nothing. With `scale_grad_by_freq` each sum is divided by how often its index occurs.
    """
    width = grad.shape[-1]
    rows, index = grad.reshape(-1, width), indices.reshape(-1)
    dweight = np.zeros((num_weights, width), grad.dtype, like=grad)
    if padding_idx >= 0:
        keep = index != padding_idx
        rows, index = rows[keep], index[keep]
    if pays(rows.size, rows) and pays(rows.size, index, dtypes=(np.dtype(np.int64), np.dtype(np.int32))):
        run_slices(_add_rows, width, rows, index, dweight, grain=GRAIN // len(index) + 16)
    elif type(rows) is not np.ndarray or len(index) * num_weights > 1 << 17:
        np.add.at(dweight, index, rows)
    elif not np.isfinite(dweight := _as_product(rows, index, num_weights)).all():
        dweight = np.zeros_like(dweight)  # in a product an inf would spread: 0 times inf is nan
        np.add.at(dweight, index, rows)
    if scale_grad_by_freq:
        dweight /= np.maximum(np.bincount(index, minlength=num_weights), 1)[:, None].astype(grad.dtype)
    return dweight


def _as_product(rows, index, num_weights):
    """The sums as a matrix product with the indices' one-hot vectors, which for small tables is what BLAS does best."""
    one_hot = np.zeros((len(index), num_weights), rows.dtype)
    one_hot[np.arange(len(index)), index] = 1
    return one_hot.T @ rows


@compiled
def _add_rows(start, stop, rows, index, dweight):
    """Over columns: two threads never meet in one number, and each sum is taken in the order of the rows."""
    for i in range(len(index)):
        row, total = rows[i, start:stop], dweight[index[i], start:stop]
        for j in range(len(row)):
            total[j] += row[j]
