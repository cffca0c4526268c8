"""From a list of samples to one batch (torch/utils/data/_utils/collate.py).

`default_collate` goes down into containers that all samples share (mappings, named tuples, sequences) and stacks what
it finds at the leaves by the table `default_collate_fn_map`: tensors, arrays and numbers become one tensor with a new
first dimension, strings stay a list. `default_convert` only turns arrays into tensors. In a worker process the
stacked tensors are made directly in the shared memory that will carry them to the parent (`empty_batch`).
"""

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

import minitorch
from minitorch import devices, dtypes
from minitorch.tensor import Tensor, wrap

# set by a worker process (worker.py): hands out arrays in the shared memory of the batch under way
batch_memory: Callable[[tuple, np.dtype], np.ndarray | None] | None = None


# read from many tensors in one go: a batch has a few hundred, and a loop over them costs as much as copying them
array_of, is_flagged, edge_of, dtype_of = map(attrgetter, ("_array", "_requires_grad", "_edge", "dtype"))


def empty_batch(shape: tuple, dtype: np.dtype) -> np.ndarray:
    """An uninitialised array for a part of a batch; shared memory when in a worker, as long as there is some."""
    array = batch_memory(shape, dtype) if batch_memory is not None else None
    return np.empty(shape, dtype) if array is None else array


def rebuild(original: Any, values: Any) -> Any:
    """A container of the original's type holding `values` (a dict, or a list), or a plain one where that fails.

    A mutable container is copied and refilled rather than constructed: it may carry attributes of its own.
    """
    try:
        clone: Any
        if isinstance(original, MutableMapping):
            clone = copy.copy(original)
            clone.update(values)
            return clone
        if isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(original)(values)
    except TypeError:  # no copy(), item assignment or construction from values: a range, a read-only mapping
        return values


def is_namedtuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def default_convert(data: Any) -> Any:
    """The same containers with NumPy arrays and scalars as tensors; anything else unchanged."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ != "str_":
        if isinstance(data, np.ndarray) and data.dtype.kind in "SUO":
            return data
        return minitorch.as_tensor(data)
    if isinstance(data, Mapping):
        return rebuild(data, {key: default_convert(value) for key, value in data.items()})
    if is_namedtuple(data):
        return kind(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return rebuild(data, [default_convert(value) for value in data])
    return data


def collate(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Collate with a table from types to functions `f(batch, *, collate_fn_map)`; the exact type is looked up first."""
    elem = batch[0]
    kind = type(elem)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(elem, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        columns = {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in elem}
        return rebuild(elem, columns)
    if is_namedtuple(elem):
        parts = zip(*batch, strict=False)
        return kind(*(collate(samples, collate_fn_map=collate_fn_map) for samples in parts))
    if isinstance(elem, Sequence):
        if len(set(map(len, batch))) > 1:
            raise RuntimeError("each element in list of batch should be of equal size")
        values = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch, strict=True)]
        return values if isinstance(elem, tuple) else rebuild(elem, values)
    raise TypeError(UNKNOWN.format(kind))


LARGEST = 2**63 - 1  # beyond, as_tensor says what is wrong
UNKNOWN = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def stacked(arrays: list) -> Tensor | None:
    """The arrays along a new first dimension, in the memory of the batch; None unless they have one type and shape."""
    shape, dtype = arrays[0].shape, arrays[0].dtype
    if set(map(type, arrays)) != {np.ndarray} or list(map(dtype_of, arrays)).count(dtype) != len(arrays):
        return None
    try:
        if not shape:
            return wrap(np.array(arrays))
        if set(map(len, arrays)) == {shape[0]}:
            # end to end into the flattened result: half the cost of filling it row by row, or of np.stack
            out = empty_batch((len(arrays), *shape), dtype)
            np.concatenate(arrays, out=out.reshape(-1, *shape[1:]))
            return wrap(out)
    except (TypeError, ValueError):  # of different shapes
        pass
    return None


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: dict | None = None) -> Tensor:
    together = None
    if not any(map(is_flagged, batch)) and not any(map(edge_of, batch)):
        together = stacked(list(map(array_of, batch)))
    return minitorch.stack(batch, 0) if together is None else together  # stack promotes, records, or refuses


def is_supported(dtype: np.dtype) -> bool:
    try:
        return dtype.isnative and dtypes.of(dtype) is not None
    except TypeError:
        return False


def collate_numpy_array_fn(batch: Sequence[np.ndarray], *, collate_fn_map: dict | None = None) -> Any:
    dtype = batch[0].dtype
    if dtype.kind in "SUO":
        raise TypeError(UNKNOWN.format(dtype))
    if collate_fn_map is default_collate_fn_map and collate_fn_map[Tensor] is collate_tensor_fn and is_supported(dtype):
        together = stacked(list(batch))
        if together is not None:
            return together
    return collate([minitorch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Tensor:
    return minitorch.as_tensor(np.asarray(batch))


def all_are(kind: type, batch: Sequence) -> bool:
    """Whether NumPy may make the tensor of these numbers, at a fifth of as_tensor's price."""
    return set(map(type, batch)) == {kind} and devices.get_default_device().type == "cpu"


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: dict | None = None) -> Tensor:
    if all_are(float, batch):
        return wrap(np.array(batch))
    return minitorch.as_tensor(batch, dtype=minitorch.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: dict | None = None) -> Tensor:
    if all_are(int, batch) and max(batch) <= LARGEST and min(batch) >= -LARGEST:
        return wrap(np.array(batch, np.int64))
    return minitorch.as_tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_BUILT_IN = dict(default_collate_fn_map)


def default_collate(batch: Sequence) -> Any:
    """The batch of these samples: each tensor, array or number stacked along a new first dimension.

    Raises RuntimeError where samples do not stack, naming the place within the sample and the shapes; TypeError for
    leaves that are neither tensors, arrays, numbers nor strings.
    """
    try:
        return collate(batch, collate_fn_map=default_collate_fn_map)
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        place = find_mismatch(batch, "sample")
        if place is None:
            raise
        raise type(error)(f"{error}\ndefault_collate: {place}") from error


def is_default(collate_fn: Any) -> bool:
    """Whether collating means the built-in rules: the condition for a dataset's own way to make a batch."""
    return collate_fn is default_collate and default_collate_fn_map == _BUILT_IN


def find_mismatch(batch: Sequence, place: str) -> str | None:
    """Where the samples begin to differ so that they do not stack; None if that is not what is wrong."""
    elem = batch[0]
    for i, other in enumerate(batch):
        if isinstance(elem, Tensor) != isinstance(other, Tensor) or isinstance(elem, Mapping) != isinstance(
            other, Mapping
        ):
            return f"{place} is a {type(elem).__name__} in entry 0 but a {type(other).__name__} in entry {i}"
    if isinstance(elem, (Tensor, np.ndarray)):
        for i, other in enumerate(batch):
            if tuple(other.shape) != tuple(elem.shape):
                return (
                    f"{place} has shape {tuple(elem.shape)} in entry 0 but {tuple(other.shape)} in entry {i}; "
                    "pad or crop the samples to one size, or give the DataLoader a collate_fn that does"
                )
    elif isinstance(elem, Mapping):
        for i, other in enumerate(batch):
            if missing := elem.keys() - other.keys():
                return f"{place} has the key {missing.pop()!r} in entry 0 but not in entry {i}"
        for key in elem:
            if found := find_mismatch([d[key] for d in batch], f"{place}[{key!r}]"):
                return found
    elif isinstance(elem, Sequence) and not isinstance(elem, (str, bytes)):
        for i, other in enumerate(batch):
            if len(other) != len(elem):
                return f"{place} has length {len(elem)} in entry 0 but {len(other)} in entry {i}"
        for position, parts in enumerate(zip(*batch, strict=True)):
            if found := find_mismatch(parts, f"{place}[{position}]"):
                return found
    return None
