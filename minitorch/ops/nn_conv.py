"""Convolutions, linear maps and sliding blocks (ATen/native/{Convolution,Linear,Im2Col,Col2Im}.cpp).

`convolution`, `conv_input_grad` and `conv_weight_grad` are bilinear and adjoint to each other: the derivative of each
is made of the other two, so derivatives of every order exist.
"""

from typing import Any

from ..dispatch import composite, door, op, thread, write_out
from ..kernels import conv as kernels
from ..kernels import unfold as blocks
from ..tensor import wrap
from .linalg import addmm, matmul, mm
from .nn_common import tuple_of

# ---- the family ---------------------------------------------------------------------------------------------------

convolution = op(
    "convolution", kernels.convolution, as_method=False, autocast="lower",
    input=lambda grad, weight, input_shape, stride, padding, dilation, transposed, output_padding, groups:
    conv_input_grad(grad, weight, input_shape, stride, padding, dilation, transposed, output_padding, groups),
    weight=lambda grad, input, weight, stride, padding, dilation, transposed, output_padding, groups:
    conv_weight_grad(grad, input, weight.shape, stride, padding, dilation, transposed, output_padding, groups),
    bias=lambda grad: grad.sum((0, *range(2, grad.ndim))),
)
conv_input_grad = op(
    "conv_input_grad", kernels.convolution_input_grad, function=False, node="ConvolutionBackwardBackward0",
    grad=lambda cotangent, weight, stride, padding, dilation, transposed, output_padding, groups:
    convolution(cotangent, weight, None, stride, padding, dilation, transposed, output_padding, groups),
    weight=lambda cotangent, grad, weight, stride, padding, dilation, transposed, output_padding, groups:
    conv_weight_grad(grad, cotangent, weight.shape, stride, padding, dilation, transposed, output_padding, groups),
)
conv_weight_grad = op(
    "conv_weight_grad", kernels.convolution_weight_grad, function=False, node="ConvolutionBackwardBackward0",
    grad=lambda cotangent, input, stride, padding, dilation, transposed, output_padding, groups:
    convolution(input, cotangent, None, stride, padding, dilation, transposed, output_padding, groups),
    input=lambda cotangent, grad, input, stride, padding, dilation, transposed, output_padding, groups:
    conv_input_grad(grad, cotangent, input.shape, stride, padding, dilation, transposed, output_padding, groups),
)


def _batched(name: str, nd: int, input: Any, call: Any) -> Any:
    """`call` on the input with a batch dimension, which it is lent where it has none."""
    if input.dim() == nd + 1:
        return call(input.unsqueeze(0)).squeeze(0)
    if input.dim() != nd + 2:
        raise RuntimeError(
            f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return call(input)


def _conv(nd: int) -> Any:
    name = f"conv{nd}d"

    def conv(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise RuntimeError(f"Invalid padding string: '{padding}'")
            padding, input = _named_padding(nd, input, weight, stride, padding, dilation)
        return _batched(
            name, nd, input, lambda x: convolution(x, weight, bias, stride, padding, dilation, False, 0, groups)
        )

    conv.__name__ = name
    conv.__doc__ = (
        f"Convolution of input (N, C, *size) or (C, *size), {nd} sizes, with weight (O, C / groups, *kernel).\n\n"
        "`padding`: zeros at both ends of each dimension, or 'valid' (none) or 'same' (so many that the size stays).\n"
        "RuntimeError, naming the shapes, where they do not fit."
    )
    return composite(as_method=False)(conv)


def _named_padding(nd: int, input: Any, weight: Any, stride: Any, padding: str, dilation: Any) -> tuple:
    """The numbers that 'same' or 'valid' stands for. Where the two ends differ, the input is padded beforehand."""
    if padding == "valid" or weight.dim() != nd + 2:  # which the convolution refuses
        return 0, input
    stride, dilation = tuple_of(stride, nd), tuple_of(dilation, nd)
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation * (nd // len(dilation)), weight.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        from .nn_padding import constant_pad_nd

        input = constant_pad_nd(input, [n for t in reversed(total) for n in (0, t % 2)], 0)
    return tuple([t // 2 for t in total]), input


def _conv_transpose(nd: int) -> Any:
    name = f"conv_transpose{nd}d"

    def conv(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Any:
        def call(x: Any) -> Any:
            return convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)

        return _batched(name, nd, input, call)

    conv.__name__ = name
    conv.__doc__ = (
        f"Transposed convolution: the gradient of `conv{nd}d` for its input, as an operator of its own.\n\n"
        "input (N, C, *size) or (C, *size), weight (C, O / groups, *kernel). RuntimeError where shapes do not fit."
    )
    return composite(as_method=False)(conv)


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_conv_transpose, (1, 2, 3))

# ---- linear maps --------------------------------------------------------------------------------------------------


def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    """`input @ weight.T + bias` over the last dimension: input (..., in), weight (out, in), bias (out,)."""
    if out is not None:
        return write_out(out, linear(input, weight, bias), "linear")
    if door.special and thread.modes:
        return _linear_in_modes(input, weight, bias)
    array = input._array
    ndim = array.ndim
    if weight._array.ndim == 2:
        if ndim == 2:
            if bias is None:
                return mm(input, weight.t())
            if not (thread.grad or door.special):  # nothing is recorded: no Tensor of the transposed weight is needed
                return wrap(addmm.row.fast(bias._array, array, weight._array.T))
            return addmm(bias, input, weight.t())
        if bias is not None and ndim and (array.flags.c_contiguous or ndim == 1):
            rows = addmm(bias, input.view(-1, array.shape[-1]), weight.t())
            return rows.view(*array.shape[:-1], weight._array.shape[0])
    result = matmul(input, weight.t())
    return result if bias is None else result + bias


_linear_in_modes = composite(function=False, as_method=False, autocast="lower")(linear)


@composite(as_method=False, autocast="apart")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`x1^T W_k x2 + b_k` for each output k: input1 (..., in1), input2 (..., in2), weight (out, in1, in2)."""
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    for number, (x, size) in enumerate(zip((input1, input2), weight.shape[1:], strict=True), 1):
        if x.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {x.shape[-1]} but expected {size}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    out, in1, in2 = weight.shape
    x1, x2 = input1.reshape(-1, in1), input2.reshape(-1, in2)
    products = matmul(x1, weight.permute(1, 0, 2).reshape(in1, out * in2)).view(x1.shape[0], out, in2)
    result = (products * x2.unsqueeze(1)).sum(-1).view(*input1.shape[:-1], out)
    return result if bias is None else result + bias


# ---- sliding blocks -----------------------------------------------------------------------------------------------

im2col = op("im2col", blocks.unfold, function=False, node="Im2ColBackward0",
            input=lambda grad, input_shape, kernel_size, dilation, padding, stride:
            col2im(grad, input_shape[-2:], kernel_size, dilation, padding, stride))
col2im = op("col2im", blocks.fold, function=False, node="Col2ImBackward0",
            input=lambda grad, kernel_size, dilation, padding, stride:
            im2col(grad, kernel_size, dilation, padding, stride))

__all__ = [
    "bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
    "linear",
]
