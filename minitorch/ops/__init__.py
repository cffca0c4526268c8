"""The operator table: what each operator computes, and its derivative (tools/autograd/derivatives.yaml).

A row is a primitive (a kernel and a formula per input), a composite (a plain function of other operators) or fused
(a composite with a kernel of its own). One file per subject; see `minitorch.dispatch.op` for how to read a row."""

from ..dispatch import publish_in_place
from . import (  # each fills the table
    assembly,
    copies,
    decompositions,
    elementwise,
    index,
    linalg,
    nn_activation,
    nn_attention,
    nn_conv,
    nn_ctc,
    nn_distance,
    nn_dropout,
    nn_embedding,
    nn_loss,
    nn_norm,
    nn_padding,
    nn_pool,
    nn_rnn,
    reduce,
    scatter,
    sets,
    shape,
    special,
    statistics,
)

publish_in_place()
