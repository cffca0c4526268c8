"""Matrix products (ATen/native/{LinearAlgebra,Blas}.cpp)."""

from typing import Any

import numpy as np

from ..codegen import FAST
from ..dispatch import Tensor, composite, op
from ..kernels import linalg as kernels
from .copies import contiguous
from .elementwise import mul, scaled
from .reduce import sum
from .shape import _permute, _unsafe_view, expand, reshape, squeeze, t, transpose, unsqueeze


def _shapes(name: str, *arrays: Any) -> None:
    first = arrays[0]
    for a in arrays[1:]:
        if a.dtype != first.dtype:
            from .. import dtypes
            from ..dispatch import legacy_scalar

            names = [legacy_scalar(dtypes.of(x)).lower() for x in (first, a)]
            raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")


def _mm_kernel(input, mat2):
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )
    _shapes("mm", input, mat2)
    return kernels.matmul(input, mat2)


def _times_transposed(grad: Any, mat2: Any) -> Any:
    """grad @ mat2.T"""
    return mm(grad, t(mat2))


def _transposed_times(input: Any, grad: Any, mat2: Any) -> Any:
    """input.T @ grad, in memory as mat2 lies: so that the gradient of a transposed weight needs no copy."""
    if not isinstance(grad, Tensor) and mat2.flags.f_contiguous and not mat2.flags.c_contiguous:
        return mm(grad.T, input).T
    return mm(t(input), grad)


def _mm_fast(input, mat2):
    if input.ndim == 2 == mat2.ndim and input.dtype is mat2.dtype and input.dtype in FAST:
        try:
            return input.dot(mat2)
        except ValueError:
            pass  # the careful kernel says what is wrong
    return _mm_kernel(input, mat2)


mm = op("mm", _mm_fast, autocast="lower",
        input=lambda grad, mat2: _times_transposed(grad, mat2),
        mat2=lambda grad, input, mat2: _transposed_times(input, grad, mat2))


def _addmm_kernel(input, mat1, mat2, *, beta=1, alpha=1):
    if mat1.ndim != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    if mat2.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[0]}x{mat1.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )
    _shapes("addmm", mat1, mat2)
    if input.dtype != mat1.dtype:
        raise RuntimeError("self and mat2 must have the same dtype")
    _check_bias(input, (mat1.shape[0], mat2.shape[1]))
    return kernels.addmm(input, mat1, mat2, beta, alpha)


def _check_bias(input: Any, shape: tuple) -> None:
    extra = len(shape) - input.ndim
    for d, n in enumerate(input.shape):
        if extra < 0 or n not in (1, shape[d + extra]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[d + extra] if extra >= 0 else shape[0]}) must match the "
                f"existing size ({n}) at non-singleton dimension {d + extra}.  Target sizes: {list(shape)}.  "
                f"Tensor sizes: {list(input.shape)}"
            )


def _addmm_fast(input, mat1, mat2, *, beta=1, alpha=1):
    if mat1.ndim == 2 == mat2.ndim and input.ndim == 1 and input.dtype is mat1.dtype is mat2.dtype in FAST:
        if beta == 1 == alpha and input.shape[0] == mat2.shape[1] and mat1.shape[1] == mat2.shape[0]:
            out = mat1.dot(mat2)
            return np.add(out, input, out=out)
    return _addmm_kernel(input, mat1, mat2, beta=beta, alpha=alpha)


addmm = op("addmm", _addmm_fast, autocast="lower", inplace=True,
           input=lambda grad, beta: scaled(grad, beta),
           mat1=lambda grad, mat2, alpha: scaled(_times_transposed(grad, mat2), alpha),
           mat2=lambda grad, mat1, mat2, alpha: scaled(_transposed_times(mat1, grad, mat2), alpha))


def _bmm_kernel(input, mat2):
    if input.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if mat2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    b, n, m = input.shape
    if mat2.shape[0] != b or mat2.shape[1] != m:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {m}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    _shapes("bmm", input, mat2)
    return kernels.matmul(input, mat2)


bmm = op("bmm", _bmm_kernel, autocast="lower",
         input=lambda grad, mat2: bmm(grad, transpose(mat2, 1, 2)),
         mat2=lambda grad, input: bmm(transpose(input, 1, 2), grad))


def _baddbmm_kernel(input, batch1, batch2, *, beta=1, alpha=1):
    product = _bmm_kernel(batch1, batch2)
    _check_bias(input, product.shape)
    return kernels.baddbmm(input, batch1, batch2, beta, alpha)


baddbmm = op("baddbmm", _baddbmm_kernel, autocast="lower", inplace=True,
             input=lambda grad, beta: scaled(grad, beta),
             batch1=lambda grad, batch2, alpha: scaled(bmm(grad, transpose(batch2, 1, 2)), alpha),
             batch2=lambda grad, batch1, alpha: scaled(bmm(transpose(batch1, 1, 2), grad), alpha))


def _addbmm_kernel(input, batch1, batch2, *, beta=1, alpha=1):
    product = _bmm_kernel(batch1, batch2)
    return _plus(input, product.sum(0, dtype=product.dtype), beta, alpha)


addbmm = op("addbmm", _addbmm_kernel, autocast="lower", inplace=True,
            doc="beta * input + alpha * the sum over the batch of batch1 @ batch2.",
            input=lambda grad, beta: scaled(grad, beta),
            batch1=lambda grad, batch2, alpha: scaled(bmm(_each(grad, batch2), transpose(batch2, 1, 2)), alpha),
            batch2=lambda grad, batch1, alpha: scaled(bmm(transpose(batch1, 1, 2), _each(grad, batch1)), alpha))


def _each(grad: Any, batch: Any) -> Any:
    """The gradient of a sum over the batch, for each of its matrices."""
    return expand(grad, (batch.shape[0], *grad.shape))


def _mv_kernel(input, vec):
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}D and {vec.ndim}D tensors")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})"
        )
    _shapes("mv", input, vec)
    return kernels.matmul(input, vec)


mv = op("mv", _mv_kernel,
        input=lambda grad, vec: outer(grad, vec),
        vec=lambda grad, input: mv(t(input), grad))


def _dot_kernel(input, tensor):
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype != tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {input.dtype.name} and {tensor.dtype.name}"
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.size}] and src [{tensor.size}] to have the same number "
            f"of elements, but got {input.size} and {tensor.size} elements respectively"
        )
    return kernels.matmul(input, tensor)


dot = op("dot", _dot_kernel,
         input=lambda grad, tensor: grad * tensor,
         tensor=lambda grad, input: grad * input)


vdot = op("vdot", lambda input, other: _dot_kernel(input, other), doc="dot (there are no complex numbers to conjugate).",
          input=lambda grad, other: grad * other,
          other=lambda grad, input: grad * input)


@composite()
def inner(input: Any, other: Any) -> Any:
    """Dot products over the last dimensions."""
    if input.ndim == 0 or other.ndim == 0:
        return mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
            f"{list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@composite(aliases=("ger",))
def outer(input: Any, vec2: Any) -> Any:
    """All products of the elements of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D argument self and vec2, but got {input.ndim}-D and {vec2.ndim}-D"
        )
    return mul(reshape(input, (input.shape[0], 1)), vec2)


@composite(autocast="lower")
def matmul(input: Any, other: Any) -> Any:
    """The product of vectors, matrices, or broadcast batches of matrices."""
    a, b = input.ndim, other.ndim
    if a == 2 and b == 2:
        return mm(input, other)
    if a == 0 or b == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 2:
        return mm(unsqueeze(input, 0), other).squeeze_(0) if isinstance(input, Tensor) else mm(input[None], other)[0]
    if a >= 3 and b <= 2 and _foldable(input, other):
        shape = input.shape
        rows = reshape(input, (-1 if 0 not in shape[:-1] and shape[-1] else _count(shape[:-1]), shape[-1]))
        if b == 1:
            return _fold_back(mv(rows, other), tuple(shape[:-1]))
        return _fold_back(mm(rows, other), (*shape[:-1], other.shape[1]))
    if b >= 3 and a <= 2 and _foldable(other, input):  # (A @ B) = (B^T @ A^T)^T
        flipped = transpose(other, -2, -1)
        product = matmul(flipped, t(input) if a == 2 else input)
        return product if a == 1 else contiguous(transpose(product, -2, -1))
    x = unsqueeze(input, 0) if a == 1 else input
    y = unsqueeze(other, 1) if b == 1 else other
    if x.shape[-1] != y.shape[-2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{_count(x.shape[:-2])}, {x.shape[-1]}] "
            f"but got: [{_count(y.shape[:-2])}, {y.shape[-2]}]."
        )
    from .shape import broadcast_shapes

    try:
        batch = tuple(broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    except RuntimeError:
        raise RuntimeError(
            f"The size of tensor a ({x.shape[0]}) must match the size of tensor b ({y.shape[0]}) at non-singleton "
            "dimension 0"
        ) from None
    n, p = x.shape[-2], y.shape[-1]
    count = _count(batch)
    x3 = reshape(expand(x, (*batch, n, x.shape[-1])), (count, n, x.shape[-1]))
    y3 = reshape(expand(y, (*batch, y.shape[-2], p)), (count, y.shape[-2], p))
    shape = (*batch, *((n,) if a > 1 else ()), *((p,) if b > 1 else ()))
    return _fold_back(bmm(x3, y3), shape)


def _fold_back(product: Any, shape: tuple) -> Any:
    return _unsafe_view(product, shape)


def _count(shape: Any) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


def _foldable(large: Any, small: Any) -> bool:
    """Whether torch multiplies a batch by one matrix as a single larger matrix."""
    array = getattr(large, "_array", large)
    if large.ndim == 2 or not array.size:
        return True
    if getattr(large, "requires_grad", False) and getattr(small, "requires_grad", False) is not False:
        return True
    if small.ndim == 1:
        return True
    strides, shape = array.strides, array.shape
    return all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(array.ndim - 2))


Tensor.__matmul__ = matmul  # type: ignore[method-assign, assignment]
Tensor.__rmatmul__ = lambda self, other: matmul(other, self)  # type: ignore[attr-defined]


@composite(as_method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sums of products over the last `dims` of a and the first of b, or over the dims listed for each."""
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims = (list(range(-dims, 0)), list(range(dims)))
    else:
        dims = [d.tolist() if hasattr(d, "tolist") else d for d in dims]
    left = [d % max(a.ndim, 1) for d in ([dims[0]] if isinstance(dims[0], int) else dims[0])]
    right = [d % max(b.ndim, 1) for d in ([dims[1]] if isinstance(dims[1], int) else dims[1])]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for i, k in zip(left, right, strict=True):
        if a.shape[i] == 1 != b.shape[k]:
            b = sum(b, k, True)
        elif b.shape[k] == 1 != a.shape[i]:
            a = sum(a, i, True)
        elif a.shape[i] != b.shape[k]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[k]} in dim {k}"
            )
    rest_a = [d for d in range(a.ndim) if d not in left]
    rest_b = [d for d in range(b.ndim) if d not in right]
    if not rest_a and not rest_b:
        return sum(mul(_permute(a, tuple(left)), _permute(b, tuple(right))))
    if _count([a.shape[d] for d in rest_a]) == 1 == _count([b.shape[d] for d in rest_b]):  # one number, but not 0-d
        x, y = reshape(_permute(a, tuple(rest_a + left)), (-1,)), reshape(_permute(b, tuple(right + rest_b)), (-1,))
        return reshape(sum(mul(x, y)), (1,) * len(rest_a + rest_b))
    inner_size = _count([a.shape[d] for d in left])
    x = reshape(_permute(a, tuple(rest_a + left)), (_count([a.shape[d] for d in rest_a]), inner_size))
    y = reshape(_permute(b, tuple(right + rest_b)), (inner_size, _count([b.shape[d] for d in rest_b])))
    return reshape(mm(x, y), (*[a.shape[d] for d in rest_a], *[b.shape[d] for d in rest_b]))


@composite(as_method=False)
def einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products by Einstein's convention: `einsum("bij,bjk->bik", a, b)`."""
    if not isinstance(equation, str):  # einsum(op1, [0, 1], op2, [1, 2], [0, 2])
        given = (equation, *operands)
        tensors, lists = list(given[0 : len(given) - len(given) % 2 : 2]), list(given[1::2])
        spell = lambda dims: "".join("..." if d is Ellipsis else "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[d] for d in dims)  # noqa: E501
        equation = ",".join(spell(x) for x in lists)
        if len(given) % 2:
            equation += "->" + spell(given[-1])
        operands = tuple(tensors)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise RuntimeError(
            "einsum(): more operands were provided than specified in the equation"
            if len(terms) < len(operands)
            else "einsum(): fewer operands were provided than specified in the equation"
        )
    # give the dimensions under each ellipsis names of their own, aligned at the right
    longest = 0
    for term, x in zip(terms, operands, strict=True):
        letters = len(term.replace("...", ""))
        if "..." in term:
            longest = max(longest, x.ndim - letters)
        elif letters != x.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of "
                f"dimensions ({x.ndim}) for operand {terms.index(term)} and no ellipsis was given"
            )
    dots = [f".{i}" for i in range(longest)]
    labelled: list = []
    for term, x in zip(terms, operands, strict=True):
        if "..." in term:
            head, tail = term.split("...")
            n = x.ndim - len(head) - len(tail)
            labelled.append([*head, *dots[longest - n :], *tail])
        else:
            labelled.append(list(term))
    if arrow:
        if "..." in right:
            head, tail = right.split("...")
            output = [*head, *dots, *tail]
        else:
            output = list(right)
    else:
        letters = [c for labels in labelled for c in labels if not c.startswith(".")]
        output = [*dots, *sorted(c for c in letters if letters.count(c) == 1)]
    known = {c for labels in labelled for c in labels}
    for c in output:
        if output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in known:
            raise RuntimeError(
                f"einsum(): output subscript {c} does not appear in the equation for any input operand"
            )
    return _contract(labelled, list(operands), output)


def _contract(labelled: list, operands: list, output: list) -> Any:
    """Pair by pair from the left, each as one batched matrix product."""
    from .shape import diagonal

    prepared = []
    sizes: dict = {}
    for labels, x in zip(labelled, operands, strict=True):
        labels = list(labels)
        for c in dict.fromkeys(labels):  # a label that repeats takes the diagonal
            while labels.count(c) > 1:
                i = labels.index(c)
                k = labels.index(c, i + 1)
                if x.shape[i] != x.shape[k]:
                    raise RuntimeError(
                        f"einsum(): subscript {c} is repeated for operand 0 but the sizes don't match, {x.shape[k]} != "
                        f"{x.shape[i]}"
                    )
                x = diagonal(x, 0, i, k)
                del labels[k], labels[i]
                labels.append(c)
        for c, n in zip(labels, x.shape, strict=True):
            if sizes.get(c, 1) != 1 and n not in (1, sizes[c]):
                raise RuntimeError(
                    f"einsum(): operands do not broadcast with remapped shapes [original->remapped]: subscript {c} has "
                    f"size {n} which does not broadcast with previously seen size {sizes[c]}"
                )
            sizes[c] = max(sizes.get(c, 1), n) if n != 0 else 0
        prepared.append((labels, x))
    labels, x = prepared[0]
    for position in range(1, len(prepared)):
        other_labels, y = prepared[position]
        later = {c for ls, _ in prepared[position + 1 :] for c in ls} | set(output)
        labels, x = _contract_pair(labels, x, other_labels, y, later)
    gone = tuple([i for i, c in enumerate(labels) if c not in output])
    if gone:
        x = sum(x, gone)
        labels = [c for c in labels if c in output]
    return _permute(x, tuple([labels.index(c) for c in output]))


def _contract_pair(a_labels: list, a: Any, b_labels: list, b: Any, later: set) -> tuple:
    a_only = tuple([i for i, c in enumerate(a_labels) if c not in b_labels and c not in later])
    if a_only:
        a, a_labels = sum(a, a_only), [c for i, c in enumerate(a_labels) if i not in a_only]
    b_only = tuple([i for i, c in enumerate(b_labels) if c not in a_labels and c not in later])
    if b_only:
        b, b_labels = sum(b, b_only), [c for i, c in enumerate(b_labels) if i not in b_only]
    # a size-1 dimension that meets a longer one is broadcast: sum it away where it is contracted
    for c in [c for c in a_labels if c in b_labels]:
        i, k = a_labels.index(c), b_labels.index(c)
        if a.shape[i] != b.shape[k]:
            if a.shape[i] == 1:
                a, a_labels = squeeze(a, i), [x for x in a_labels if x != c]
                if c not in later:
                    b, b_labels = sum(b, k), [x for x in b_labels if x != c]
            else:
                b, b_labels = squeeze(b, k), [x for x in b_labels if x != c]
                if c not in later:
                    a, a_labels = sum(a, i), [x for x in a_labels if x != c]
    batch = [c for c in a_labels if c in b_labels and c in later]
    inner_ = [c for c in a_labels if c in b_labels and c not in later]
    left = [c for c in a_labels if c not in b_labels]
    right = [c for c in b_labels if c not in a_labels]
    size = dict(zip(a_labels, a.shape, strict=True)) | dict(zip(b_labels, b.shape, strict=True))
    count = lambda names: _count([size[c] for c in names])
    x = _permute(a, tuple([a_labels.index(c) for c in batch + left + inner_]))
    y = _permute(b, tuple([b_labels.index(c) for c in batch + inner_ + right]))
    x = reshape(x, (count(batch), count(left), count(inner_)))
    y = reshape(y, (count(batch), count(inner_), count(right)))
    labels = batch + left + right
    return labels, reshape(bmm(x, y), tuple([size[c] for c in labels]))


def _plus(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product, in the product's dtype; with beta = 0 the input doesn't count, be it NaN."""
    if product.dtype.kind in "iub":  # the factors of integers lose their fractions
        beta, alpha = int(beta), int(alpha)
    dtype = np.result_type(input, product) if input.dtype.kind in "iub" else product.dtype
    product = product if alpha == 1 else product * np.asarray(alpha, product.dtype)
    if beta != 0:
        product = (input if beta == 1 else input * np.asarray(beta, input.dtype)) + product
    return product.astype(dtype, copy=False)


def _addmv_kernel(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * (mat @ vec)."""
    return _plus(input, _mv_kernel(mat, vec), beta, alpha)


def _addr_kernel(input, vec1, vec2, *, beta=1, alpha=1):
    """beta * input + alpha * outer(vec1, vec2)."""
    if vec1.dtype.kind in "iub" and (isinstance(beta, float) or isinstance(alpha, float)):
        which = "beta" if isinstance(beta, float) else "alpha"
        raise RuntimeError(f"For integral input tensors, argument {which} must not be a floating point number.")
    if vec1.ndim != 1 or vec2.ndim != 1:
        which, vec = ("vec1", vec1) if vec1.ndim != 1 else ("vec2", vec2)
        raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {vec.ndim}-D")
    product = vec1[:, None] * vec2
    if np.broadcast_shapes(input.shape, product.shape) != product.shape:
        raise RuntimeError(f"size mismatch, input: {list(input.shape)}, v1: {list(vec1.shape)}, v2: {list(vec2.shape)}")
    return _plus(input, product, beta, alpha)


addmv = op("addmv", _addmv_kernel, inplace=True,
           input=lambda grad, beta: scaled(grad, beta),
           mat=lambda grad, vec, alpha: scaled(outer(grad, vec), alpha),
           vec=lambda grad, mat, alpha: scaled(mv(t(mat), grad), alpha))
addr = op("addr", _addr_kernel, inplace=True, promote=True,
          input=lambda grad, beta: scaled(grad, beta),
          vec1=lambda grad, vec2, alpha: scaled(mv(grad, vec2), alpha),
          vec2=lambda grad, vec1, alpha: scaled(mv(t(grad), vec1), alpha))
