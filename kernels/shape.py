"""Shape and memory: views by strides (ATen/native/TensorShape.cpp).

Arrays in, arrays out; see kernels/__init__.py."""

import numpy as np


def as_strided(input, size, stride, storage_offset=None):
    """A view of the memory under `input` with any geometry, in elements; the offset counts from the memory's start.

    RuntimeError when the geometry reaches beyond the memory."""
    owner = input
    while isinstance(owner.base, type(input)):
        owner = owner.base
    if storage_offset is None:
        start = input.__array_interface__["data"][0] - owner.__array_interface__["data"][0] if input.size else 0
    else:
        start = storage_offset * input.itemsize
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} strides for {len(size)} sizes")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: " + str(list(stride))
        )
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else -1
    needed = start + (last + 1) * input.itemsize
    if needed > owner.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start // input.itemsize}, and "
            f"itemsize {input.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
            f"{owner.nbytes}"
        )
    if 0 in size:
        return np.empty(size, input.dtype)
    flat = owner if owner.flags.c_contiguous else owner.T
    if not flat.flags.c_contiguous:  # made by slicing or broadcasting foreign memory: no owner to check against
        return np.lib.stride_tricks.as_strided(input, size, [s * input.itemsize for s in stride])
    flat = flat.reshape(-1).view(np.uint8)
    item = input.itemsize  # (NumPy checks also the strides of dimensions of size 1, which mean nothing)
    steps = tuple([s * item if n > 1 else item for n, s in zip(size, stride, strict=True)])
    return np.ndarray(size, input.dtype, flat, start, steps)


def check_dim(dim, ndim):
    """A dimension counted from the front; IndexError, in torch's words, when there is none such."""
    n = ndim or 1
    dim = int(dim)
    if -n <= dim < n:
        return dim % n
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")


def infer_size(shape, numel):
    """A shape in which at most one -1 is computed from the number of elements; RuntimeError as torch."""
    shape = [int(n) for n in shape]
    known, unknown = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {shape}")
        else:
            known *= n
    if unknown is None:
        if known != numel:
            raise RuntimeError(f"shape '{shape}' is invalid for input of size {numel}")
    elif known == 0:
        if numel:
            raise RuntimeError(f"shape '{shape}' is invalid for input of size {numel}")
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {shape} because the unspecified dimension size -1 can be "
            "any value and is ambiguous"
        )
    elif numel % known:
        raise RuntimeError(f"shape '{shape}' is invalid for input of size {numel}")
    else:
        shape[unknown] = numel // known
    return tuple(shape)


def view(input, shape):
    shape = infer_size(shape, input.size)
    if input.flags.c_contiguous:
        return input.reshape(shape)
    try:
        return input.reshape(shape, copy=False)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


def transpose(input, dim0, dim1):
    a, b = check_dim(dim0, input.ndim), check_dim(dim1, input.ndim)
    return input.swapaxes(a, b) if input.ndim else input[...]


def t(input):
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T


def permute(input, dims):
    dims = tuple(dims)
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    found = [check_dim(d, input.ndim) for d in dims]
    if len(set(found)) != len(found):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return input.transpose(found)


def strided(input, shape, strides):
    """A view with other strides (in bytes), unchecked: np.lib.stride_tricks.as_strided, at a fifth of its cost."""
    if input.flags.c_contiguous and input.dtype.kind != "V":
        return np.ndarray(shape, input.dtype, input, 0, strides)
    return np.lib.stride_tricks.as_strided(input, shape, strides)


def expand(input, size):
    """Repeat along dimensions of size 1 without copying; -1 keeps a size."""
    if input.ndim == 0 and type(input) is np.ndarray and 0 not in size and -1 not in size:
        return strided(input, size, (0,) * len(size))
    size = tuple(size)
    extra = len(size) - input.ndim
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{_type_name(input)}{{{list(input.shape)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor ({input.ndim})"
        )
    whole = []
    for i, n in enumerate(size):
        if n == -1:
            if i < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            n = input.shape[i - extra]
        elif n < 0:
            raise RuntimeError(f"The expanded size of the tensor ({n}) isn't allowed at dimension {i}")
        elif i >= extra and input.shape[i - extra] not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({input.shape[i - extra]}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(input.shape)}"
            )
        whole.append(n)
    strides = [0] * extra + [
        s if n == m else 0 for n, m, s in zip(input.shape, whole[extra:], input.strides, strict=True)
    ]
    if isinstance(input, np.ndarray):
        if 0 in whole:
            return np.empty(whole, input.dtype)
        return strided(input, whole, strides)
    return np.broadcast_to(input, whole)


def _type_name(array):
    names = {
        "b1": "Bool", "u1": "Byte", "i1": "Char", "i2": "Short", "i4": "Int", "i8": "Long", "f2": "Half", "f4": "Float",
    }
    return names.get(f"{array.dtype.kind}{array.dtype.itemsize}", "Double") + "Type"


def squeeze(input, dim=None):
    if dim is None:
        return input.squeeze()
    dims = (dim,) if isinstance(dim, (int, np.integer)) else dim
    dims = [check_dim(d, input.ndim) for d in dims]
    return input.squeeze(tuple([d for d in dims if input.ndim and input.shape[d] == 1]))


def unsqueeze(input, dim):
    n = input.ndim + 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return np.expand_dims(input, dim)


def unsqueeze_dims(input, dims):
    """A size-1 dimension at each of the (final, non-negative) positions."""
    for d in sorted(dims):
        input = input[(slice(None),) * d + (None,)]
    return input


def select(input, dim, index):
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, index = check_dim(dim, input.ndim), int(index)
    n = input.shape[d]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}")
    view = input[(slice(None),) * d + (index, ...)]
    return view


def slice_(input, dim=0, start=None, end=None, step=1):
    if input.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    d = check_dim(dim, input.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return input[(slice(None),) * d + (slice(start, end, step),)]


def narrow(input, dim, start, length):
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    d = check_dim(dim, input.ndim)
    n, start = input.shape[d], int(start)
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    if start < 0:
        start += n
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return input[(slice(None),) * d + (slice(start, start + length),)]


def split(input, split_size, dim=0):
    """Views of equal size (the last may be smaller)."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    d = check_dim(dim, input.ndim)
    n = input.shape[d]
    if split_size == 0:
        if n:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
            )
        return (input[...],)
    head = (slice(None),) * d
    return tuple([input[head + (slice(i, i + split_size),)] for i in range(0, n or 1, split_size)])


def split_with_sizes(input, split_sizes, dim=0):
    """Views of the given sizes."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = check_dim(dim, input.ndim)
    if any(n < 0 for n in split_sizes) or sum(split_sizes) != input.shape[d]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[d]} (input tensor's size at "
            f"dimension {d}), but got split_sizes={list(split_sizes)}"
        )
    head, start, parts = (slice(None),) * d, 0, []
    for n in split_sizes:
        parts.append(input[head + (slice(start, start + n),)])
        start += n
    return tuple(parts)


def unbind(input, dim=0):
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = check_dim(dim, input.ndim)
    head = (slice(None),) * d
    return tuple([input[head + (i, ...)] for i in range(input.shape[d])])


def diagonal(input, offset=0, dim1=0, dim2=1):
    a, b = check_dim(dim1, input.ndim), check_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    view = input.diagonal(offset, a, b)
    view.flags.writeable = True
    return view


def unfold(input, dimension, size, step):
    """All windows of `size` along a dimension, `step` apart, in a new last dimension (a view)."""
    d = check_dim(dimension, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if input.ndim == 0:
        return np.lib.stride_tricks.as_strided(input, (size,), (input.itemsize,))
    shape, strides = list(input.shape), list(input.strides)
    stride = strides[d]
    shape[d], strides[d] = (n - size) // step + 1, stride * step
    return np.lib.stride_tricks.as_strided(input, (*shape, size), (*strides, stride))


def cat(tensors, dim=0):
    arrays = [a for a in tensors if a.shape != (0,)] or list(tensors[:1])
    if not arrays:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = arrays[0]
    if any(a.ndim == 0 for a in tensors):
        i = next(i for i, a in enumerate(tensors) if a.ndim == 0)
        raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    d = check_dim(dim, first.ndim)
    for i, a in enumerate(arrays):
        if a.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}")
        for k, (n, m) in enumerate(zip(first.shape, a.shape, strict=True)):
            if k != d and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} but got size {m} for "
                    f"tensor number {i} in the list."
                )
    return np.concatenate(arrays, d)


def stack(tensors, dim=0):
    if not len(tensors):
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    n = first.ndim + 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    for i, a in enumerate(tensors):
        if a.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
                f"{list(a.shape)} at entry {i}"
            )
    return np.stack(tensors, dim)


def flip(input, dims):
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    found = [check_dim(d, input.ndim) for d in dims]
    for d in found:
        if found.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return np.flip(input, tuple(found) if input.ndim else ()).copy()


def roll(input, shifts, dims=()):
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
        return np.roll(input, shifts[0])
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return np.roll(input, shifts, tuple([check_dim(d, input.ndim) for d in dims])) if input.size else input.copy()


def _triangle(function, name):
    def kernel(input, diagonal=0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return function(input, diagonal).astype(input.dtype, copy=False)

    return kernel


tril, triu = _triangle(np.tril, "tril"), _triangle(np.triu, "triu")


def repeat(input, repeats):
    repeats = tuple([int(r) for r in repeats])
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(repeats)}")
    return np.tile(input, repeats) if repeats else input.copy()


def repeat_interleave(input, repeats, dim=None):
    if dim is None:
        input, dim = input.reshape(-1), 0
    counts = repeats if isinstance(repeats, int) else np.asarray(repeats)
    d = check_dim(dim, input.ndim)
    if not isinstance(counts, int) and counts.ndim and counts.size not in (1, input.shape[d] if input.ndim else 1):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({d}) = {input.shape[d]}"
        )
    if np.any(np.less(counts, 0)):
        raise RuntimeError("repeats can not be negative")
    return np.repeat(input, counts, d)


def contiguous(input):
    return np.ascontiguousarray(input).reshape(input.shape)
