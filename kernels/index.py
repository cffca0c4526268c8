"""Picking and placing elements by index (ATen/native/{TensorAdvancedIndexing,Sorting}.cpp).

Arrays in, arrays out; see kernels/__init__.py."""

import numpy as np

from .shape import check_dim


def _key(indices):
    return tuple([slice(None) if i is None else i for i in indices])


def _check(input, indices):
    """IndexError in torch's words for what NumPy would refuse in its own."""
    indices = [part for i in indices for part in (np.nonzero(i) if i is not None and i.dtype == bool else (i,))]
    if len(indices) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    shapes = []
    for d, i in enumerate(indices):
        if i is None:
            continue
        n = input.shape[d]
        if i.size and (i.min() < -n or i.max() >= n):
            bad = int(i.max()) if i.max() >= n else int(i.min())
            raise IndexError(f"index {bad} is out of bounds for dimension {d} with size {n}")
        shapes.append(i.shape)
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(s)) for s in shapes)
        ) from None


def index(input, indices):
    """input[indices]: integer arrays and masks, broadcast against each other; None keeps a dimension."""
    try:
        return input[_key(indices)]
    except IndexError:
        _check(input, indices)
        raise


def index_put(input, indices, values, accumulate=False):
    """A copy of input with values written (or added) at the indices."""
    out = np.array(input, order="K")
    put_into(out, indices, values, accumulate)
    return out


def put_into(out, indices, values, accumulate=False):
    key = _key(indices)
    try:
        if not accumulate:
            out[key] = values
        elif len(indices) == 1 and indices[0].dtype == bool:
            out[key] += values  # a mask names each place once
        elif len(indices) == 1 and indices[0].ndim == 1 and out.ndim == 2 and out.dtype.kind == "f":
            add_rows(out, indices[0], np.broadcast_to(values, (len(indices[0]), out.shape[1])))
        else:
            np.add.at(out, key, values)
    except IndexError:
        _check(out, indices)
        raise
    except ValueError:
        shape = out[key].shape
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(values))} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        ) from None


def add_rows(out, rows, values):
    """out[rows[i]] += values[i], by one sort instead of one addition per element."""
    if len(rows) < 32:
        np.add.at(out, rows, values)
        return
    rows = np.where(rows < 0, rows + out.shape[0], rows)
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    out[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0)


def index_zeros(grad, input_shape, indices):
    """The gradient of `index`: zeros, and the gradient added where the elements came from."""
    whole = np.zeros(input_shape, grad.dtype)
    put_into(whole, indices, grad, True)
    return whole


def _along(dim, index, shape):
    """The grid of indices that addresses `index` along dim and itself along the others."""
    grid = list(np.ogrid[tuple([slice(n) for n in index.shape])]) if index.ndim else []
    if grid:
        grid[dim] = index
    return tuple(grid)


def check_gather(input, dim, index, name="gather"):
    d = check_dim(dim, input.ndim)
    if index.size and (index.dtype.kind != "i" or index.dtype.itemsize < 4):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(input.ndim, 1):
        whose = "input" if name == "gather" else "self"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whose} tensor")
    n = input.shape[d] if input.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= n):
        bad = int(index.max()) if index.max() >= n else int(index.min())
        raise RuntimeError(f"index {bad} is out of bounds for dimension {d} with size {n}")
    return d


def gather(input, dim, index, *, sparse_grad=False):
    """out[i][j] = input[index[i][j]][j] for dim 0, and so on."""
    if index.size == 0:
        return np.empty(index.shape, input.dtype)
    d = check_gather(input, dim, index)
    if input.ndim == 0 or index.ndim == 0:
        return np.broadcast_to(input.reshape(-1)[index.reshape(-1)], index.shape or (1,)).reshape(index.shape).copy()
    for k, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)):
        if k != d and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {d}"
            )
    return input[_along(d, index, input.shape)]


def scatter(input, dim, index, src):
    """A copy of input with out[index[i][j]][j] = src[i][j] for dim 0, and so on; src may be a number."""
    out = np.array(input, order="K")
    if index.size == 0:
        return out
    d = check_gather(input, dim, index, "scatter")
    if hasattr(src, "dtype") and src.ndim and src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if input.ndim == 0:
        out[...] = np.asarray(src).reshape(-1)[0]
        return out
    if np.ndim(src):
        src = src[tuple([slice(n) for n in index.shape])]
    out[_along(d, index, input.shape)] = src
    return out


def scatter_add(input, dim, index, src):
    out = np.array(input, order="K")
    if index.size == 0:
        return out
    d = check_gather(input, dim, index, "scatter_add")
    if src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if input.ndim == 0:
        out += np.add.reduce(src, None, dtype=out.dtype)
        return out
    np.add.at(out, _along(d, index, input.shape), src[tuple([slice(n) for n in index.shape])])
    return out


def index_select(input, dim, index):
    d = check_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.kind != "i":
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    n = input.shape[d] if input.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= n):
        raise IndexError("index out of range in self")
    if input.ndim == 0:
        return input.copy()
    return np.take(input, np.atleast_1d(index), d)


def index_add(input, dim, index, source, *, alpha=1):
    out = np.array(input, order="K")
    d = check_dim(dim, input.ndim)
    if index.size and (index.min() < 0 or index.max() >= (input.shape[d] if input.ndim else 1)):
        raise RuntimeError("index out of range in self")
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype}) and source ({source.dtype}) must have the same scalar type"
        )
    values = source if alpha == 1 else source * np.asarray(alpha, source.dtype)
    if input.ndim == 0:
        out += np.add.reduce(values, None, dtype=out.dtype)
    else:
        np.add.at(out, (slice(None),) * d + (np.atleast_1d(index),), values)
    return out


def index_copy(input, dim, index, source):
    out = np.array(input, order="K")
    d = check_dim(dim, input.ndim)
    if input.ndim == 0:
        out[...] = np.asarray(source).reshape(())
    else:
        out[(slice(None),) * d + (np.atleast_1d(index),)] = source
    return out


def index_fill(input, dim, index, value):
    out = np.array(input, order="K")
    d = check_dim(dim, input.ndim)
    if input.ndim == 0:
        out[...] = value
    else:
        out[(slice(None),) * d + (np.atleast_1d(index),)] = value
    return out


def masked_fill(input, mask, value):
    if mask.dtype != bool:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype " + str(mask.dtype))
    if np.ndim(value):
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {np.ndim(value)} dimension(s)."
        )
    return np.where(mask, np.asarray(value).astype(input.dtype), input)


def masked_select(input, mask):
    if mask.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    input, mask = np.broadcast_arrays(input, mask)
    return input[mask]


def take(input, index):
    flat = input.reshape(-1)
    if index.size and (index.min() < -flat.size or index.max() >= flat.size):
        raise IndexError(f"out of range: tried to access index {int(index.max())} on a tensor of {flat.size} elements.")
    return flat[index]


def nonzero(input):
    return np.stack(np.nonzero(np.atleast_1d(input)), -1)[:, : input.ndim].astype(np.int64)


def _sort_key(input):
    if input.dtype.kind == "V":
        return input.astype(np.float32)
    return input


def sort(input, dim=-1, descending=False, stable=False):
    """(values, indices); NaN counts as larger than any number; equal elements keep their order."""
    if input.ndim == 0:
        check_dim(dim, 0)
        return input.copy(), np.zeros((), np.int64)
    d = check_dim(dim, input.ndim)
    key = _sort_key(input)
    if descending:
        order = np.flip(np.argsort(np.flip(key, d), axis=d, kind="stable"), d)
        order = key.shape[d] - 1 - order
    else:
        order = np.argsort(key, axis=d, kind="stable")
    return np.take_along_axis(input, order, d), np.ascontiguousarray(order)


def topk(input, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements along dim, in order: (values, indices)."""
    d = check_dim(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        return input.copy(), np.zeros((), np.int64)
    values, order = sort(input, d, largest)
    head = (slice(None),) * d + (slice(k),)
    return values[head].copy(), order[head].copy()


def kthvalue(input, k, dim=-1, keepdim=False):
    d = check_dim(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if not 0 < k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    values, order = sort(input, dim)
    if input.ndim == 0:
        return values, order
    head = (slice(None),) * d + ((slice(k - 1, k) if keepdim else k - 1),)
    return values[head].copy(), order[head].copy()


def median(input, dim=-1, keepdim=False):
    """The lower of the two middle elements; NaN if there is one."""
    d = check_dim(dim, input.ndim)
    if input.ndim == 0:
        return input.copy(), np.zeros((), np.int64)
    n = input.shape[d]
    if n == 0:
        raise IndexError(f"median(): Expected reduction dim {d} to have non-zero size.")
    values, order = sort(input, d)
    place = np.full([m if i != d else 1 for i, m in enumerate(input.shape)], (n - 1) // 2)
    if input.dtype.kind in "fV":
        missing = np.isnan(values).any(axis=d, keepdims=True)
        first = np.argmax(np.isnan(values), axis=d, keepdims=True)
        place = np.where(missing, first, place)
    picked, where = np.take_along_axis(values, place, d), np.take_along_axis(order, place, d)
    return (picked, where) if keepdim else (picked.squeeze(d), where.squeeze(d))
