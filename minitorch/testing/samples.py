"""The samples of an ``op_db`` entry: the table's own, and those it has too few of.

The table draws random values, so equal neighbours and kinks never occur by chance; and nearly all its tensors are
contiguous and require grad together. From its first samples we make: ties and kinks (values rounded to integers),
zero-dimensional and empty tensors, non-contiguous memory, and samples in which only one of the inputs requires grad.
"""

import itertools
import random

import numpy as np
import torch
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, ReductionOpInfo, UnaryUfuncInfo

from minitorch.testing.stand_in import leaves

AT_MOST = {"grid_sampler_3d": 4}  # samples taken of the table: torch itself needs seconds for each
TAKEN = 4  # of the table's samples each kind of extra sample is made from this many


def table_samples(op, dtype, gradient, limit=None):
    """Pairs (number, sample) of the table; those that it gives only without grad are added at the end. With a `limit`
    so many, spread evenly over ten times as many: neighbours in the table differ little, and the first may be empty.
    """
    limit = AT_MOST.get(op.name, limit)
    first = None if limit is None else 10 * limit
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    try:
        found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=gradient), first))
        if gradient:
            plain = list(itertools.islice(op.sample_inputs("cpu", dtype), first))
            if len(plain) != len(found):
                found += plain
    except Exception:  # a sample function that needs another device
        return []
    return list(enumerate(found))[:: max(1, -(-len(found) // limit)) if limit else 1]


def all_samples(op, dtype, gradient, limit=None):
    """Pairs (label, sample)."""
    found = table_samples(op, dtype, gradient, limit)
    for index, sample in found:
        yield f"sample {index}", sample
    few = [(index, sample) for index, sample in found if ordinary(sample)]
    for index, sample in few[:: max(1, len(few) // TAKEN)][:TAKEN]:
        yield from ((f"{kind} {index}", made) for kind, made in extra_samples(op, sample, dtype))


def tensors(sample):
    return [leaf for leaf in leaves((sample.input, sample.args, sample.kwargs)) if isinstance(leaf, torch.Tensor)]


def ordinary(sample):
    """It has tensors, and all are strided and real: others minitorch cannot have."""
    found = tensors(sample)
    return bool(found) and all(t.layout is torch.strided and not t.is_complex() for t in found)


def extra_samples(op, sample, dtype):
    """Pairs (kind, sample) made from one sample of the table. What torch refuses is left out later."""
    if not op.name.startswith("as_strided"):  # whose meaning depends on the memory layout
        yield "non-contiguous", sample.noncontiguous()
    if dtype.is_floating_point:
        if not op.name.startswith(UNROUNDED) and op.name not in UNORDERED:
            yield "ties and kinks", changed(sample, lambda t: t.round())
        yield from one_grad_at_a_time(sample)
    usual = isinstance(op, UnaryUfuncInfo | BinaryUfuncInfo | ReductionOpInfo)
    if usual and isinstance(sample.input, torch.Tensor) and sample.input.numel():
        yield "0-d input", changed(sample, lambda t: t.reshape(-1)[0], only_input=True)
        yield "empty", changed(sample, lambda t: t[:0] if t.dim() else t)


# Which of several equal elements these find is not defined, so neither is where the gradient goes.
UNORDERED = {"topk", "kthvalue"}

# Rounding makes these singular or degenerate: their results (or gradients) are then arbitrary, not wrong.
UNROUNDED = (
    "linalg.",
    "svd",
    "qr",
    "cholesky",
    "lu",
    "geqrf",
    "pca_lowrank",
    "svd_lowrank",
    "ormqr",
    "inverse",
    "pinverse",
    "logdet",
    "triangular_solve",
    "symeig",
    "det",
)


def changed(sample, function, only_input=False):
    """The sample with `function` applied to its floating point tensors, which keep their requires_grad."""

    def apply(value):
        if (
            not isinstance(value, torch.Tensor)
            or (only_input and value is not sample.input)
            or not value.dtype.is_floating_point
            or value.dtype.itemsize < 2  # of the eight-bit floats torch can only convert
        ):
            return value
        return function(value.detach()).clone().requires_grad_(value.requires_grad)

    return sample.transform(apply)


def one_grad_at_a_time(sample):
    """For a sample with several differentiable inputs: one sample for each of them alone."""
    inputs = [t for t in tensors(sample) if t.requires_grad]
    if len({id(t) for t in inputs}) < 2:
        return
    for number, chosen in enumerate(inputs[:4]):
        yield (
            f"grad of input {number} only",
            sample.transform(
                lambda v, chosen=chosen: (
                    v.detach().requires_grad_(v is chosen) if isinstance(v, torch.Tensor) and v.requires_grad else v
                )
            ),
        )
