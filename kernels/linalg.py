"""Matrix products by the fastest way that NumPy has.  Mirrors ATen/native/LinearAlgebra.cpp and BlasKernel.cpp."""

import numpy as np

from .half import in_float32


@in_float32
def matmul(input, other):
    """`input @ other` by torch's rules: vectors, matrices, and broadcast batches of them."""
    return np.matmul(input, other)


@in_float32
def addmm(input, mat1, mat2, beta=1, alpha=1):
    """`beta * input + alpha * (mat1 @ mat2)`; with beta 0 the input's nan and inf are not propagated."""
    out = np.matmul(mat1, mat2)
    if alpha != 1:
        out *= alpha
    if beta != 0:
        out += input if beta == 1 else input * beta
    return out


baddbmm = addmm  # the same, for batches: input (b, n, p), mat1 (b, n, m), mat2 (b, m, p)
