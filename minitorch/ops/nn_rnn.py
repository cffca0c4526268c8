"""Recurrent layers and cells (ATen/native/RNN.cpp)."""

from typing import Any

import numpy as np

from ..dispatch import Tensor, composite, op
from ..kernels import rnn as kernels
from .copies import cat, stack
from .elementwise import relu, sigmoid, tanh
from .linalg import matmul
from .nn_conv import linear
from .nn_dropout import dropout as drop

# ---- one step -----------------------------------------------------------------------------------------------------


def _lstm_step(gates: Any, h: Any, c: Any, w_hh: Any, b_hh: Any, w_hr: Any = None) -> tuple:
    i, f, g, o = (gates + linear(h, w_hh, b_hh)).chunk(4, 1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return (h if w_hr is None else matmul(h, w_hr.t())), c


def _gru_step(gates: Any, h: Any, c: Any, w_hh: Any, b_hh: Any, w_hr: Any = None) -> tuple:
    x_r, x_z, x_n = gates.chunk(3, 1)
    h_r, h_z, h_n = linear(h, w_hh, b_hh).chunk(3, 1)
    update = sigmoid(h_z + x_z)
    new = tanh(x_n + h_n * sigmoid(h_r + x_r))
    return (h - new) * update + new, c


def _tanh_step(gates: Any, h: Any, c: Any, w_hh: Any, b_hh: Any, w_hr: Any = None) -> tuple:
    return tanh(gates + linear(h, w_hh, b_hh)), c


def _relu_step(gates: Any, h: Any, c: Any, w_hh: Any, b_hh: Any, w_hr: Any = None) -> tuple:
    return relu(gates + linear(h, w_hh, b_hh)), c


_STEPS = {"LSTM": _lstm_step, "GRU": _gru_step, "RNN_TANH": _tanh_step, "RNN_RELU": _relu_step}


@composite(as_method=False)
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple:
    """One step of an LSTM: (h, c) from input (N, in) and hx = (h, c), each (N, H)."""
    return _lstm_step(linear(input, w_ih, b_ih), hx[0], hx[1], w_hh, b_hh)


@composite(as_method=False)
def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a GRU: h from input (N, in) and hx (N, H)."""
    return _gru_step(linear(input, w_ih, b_ih), hx, None, w_hh, b_hh)[0]


@composite(as_method=False)
def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent layer: `tanh(W_ih x + b_ih + W_hh h + b_hh)`."""
    return _tanh_step(linear(input, w_ih, b_ih), hx, None, w_hh, b_hh)[0]


@composite(as_method=False)
def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a plain recurrent layer: `relu(W_ih x + b_ih + W_hh h + b_hh)`."""
    return _relu_step(linear(input, w_ih, b_ih), hx, None, w_hh, b_hh)[0]


# ---- one layer over a sequence --------------------------------------------------------------------------------------


def _composed(
    gates: Any, h: Any, c: Any, w_hh: Any, b_hh: Any, sizes: Any, reverse: bool, mode: str, w_hr: Any = None
) -> tuple:
    """What the fused row computes, step by step of ordinary operators."""
    step, outputs = _STEPS[mode], []
    for n, at in kernels._steps(sizes, reverse):
        new_h, new_c = step(gates[at], h[:n], c[:n], w_hh, b_hh, w_hr)
        outputs.append(new_h)
        h = new_h if n == len(h) else cat([new_h, h[n:]])
        c = new_c if n == len(c) else cat([new_c, c[n:]])
    return cat(outputs[::-1] if reverse else outputs), h, c


def _layer_backward(
    grads: Any, needs: tuple, gates: Any, h0: Any, c0: Any, w_hh: Any, b_hh: Any, sizes: Any, reverse: bool, mode: str,
    output: Any, acts: Any, before: Any, extra: Any,
) -> Any:
    if any(isinstance(g, Tensor) for g in grads):
        return _recorded_backward(grads, needs, (gates, h0, c0, w_hh, b_hh), sizes, reverse, mode)
    like = (output, h0, c0)
    d_out, dh, dc = (np.zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True))
    found = kernels.layer_backward(d_out, dh, dc, acts, before, extra, w_hh, sizes, reverse, mode)
    return [g if need else None for g, need in zip(found, needs, strict=True)]


def _recorded_backward(grads: Any, needs: tuple, inputs: tuple, sizes: Any, reverse: bool, mode: str) -> list:
    """The same gradients as functions of the inputs: those of the composition, recorded."""
    from ..autograd.grad_mode import enable_grad
    from ..autograd.variable import grad as differentiate

    with enable_grad():
        results = _composed(*inputs, sizes, reverse, mode)
        kept = [(r, g) for r, g in zip(results, grads, strict=True) if g is not None and r.requires_grad]
        wanted = [x for x, need in zip(inputs, needs, strict=True) if need]
        found = iter(differentiate(
            [r for r, _ in kept], wanted, [g for _, g in kept], create_graph=True, allow_unused=True
        ))
    return [next(found) if need else None for need in needs]


_layer = op("rnn_layer", kernels.layer, function=False, node="MkldnnRnnLayerBackward0", autocast="lower",
            returns=("output", "h_n", "c_n"), hidden=("acts", "before", "extra"),
            inputs=("gates", "h0", "c0", "w_hh", "b_hh"), joint=_layer_backward)


def _direction(input: Any, h: Any, c: Any, weights: tuple, sizes: list, reverse: bool, mode: str) -> tuple:
    """One direction of one layer over packed rows."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    gates = linear(input, w_ih, b_ih)
    if w_hr is not None:
        return _composed(gates, h, c, w_hh, b_hh, sizes, reverse, mode, w_hr)
    return tuple(_layer(gates, h, c, w_hh, b_hh, sizes, reverse, mode))


def _network(
    mode: str, input: Any, sizes: list, h0: Any, c0: Any, params: Any, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple:
    """All layers and directions over packed rows (total, in): (output, h_n, c_n)."""
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    if dropout < 0 or dropout > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout}")
    h_n, c_n = [], []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            w = list(params[k * each : (k + 1) * each])
            w_ih, w_hh = w[:2]
            b_ih, b_hh = w[2:4] if has_biases else (None, None)
            w_hr = w[-1] if len(w) == (5 if has_biases else 3) else None
            weights = (w_ih, w_hh, b_ih, b_hh, w_hr)
            out, h, c = _direction(input, h0[k], c0[k], weights, sizes, direction == 1, mode)
            outputs.append(out)
            h_n.append(h)
            c_n.append(c)
        input = outputs[0] if directions == 1 else cat(outputs, 1)
        if dropout and train and layer < num_layers - 1:
            input = drop(input, dropout, True)
    return input, stack(h_n), stack(c_n)


def _rnn(mode: str, name: str) -> Any:
    def network(input: Any, *args: Any) -> Any:
        if isinstance(args[1], (tuple, list)) and isinstance(args[2], bool):
            return _padded(input, *args)
        return _packed(input, *args)

    def _padded(
        input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool,
    ) -> Any:
        x = input.transpose(0, 1) if batch_first else input
        steps, n = x.shape[:2]
        h0, c0 = hx if mode == "LSTM" else (hx, hx)
        rows = x.reshape(steps * n, x.shape[2])
        out, h_n, c_n = _network(
            mode, rows, [n] * steps, h0, c0, params, has_biases, num_layers, dropout, train, bidirectional
        )
        out = out.view(steps, n, out.shape[1])
        out = out.transpose(0, 1) if batch_first else out
        return (out, h_n, c_n) if mode == "LSTM" else (out, h_n)

    def _packed(
        data: Any, batch_sizes: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool,
    ) -> Any:
        h0, c0 = hx if mode == "LSTM" else (hx, hx)
        out, h_n, c_n = _network(
            mode, data, batch_sizes.tolist(), h0, c0, params, has_biases, num_layers, dropout, train, bidirectional
        )
        return (out, h_n, c_n) if mode == "LSTM" else (out, h_n)

    network.__name__ = name
    network.__doc__ = (
        "All layers and directions over a sequence: `(input, hx, params, has_biases, num_layers, dropout, train, "
        "bidirectional, batch_first)`, or packed: `(data, batch_sizes, hx, params, ...)`."
    )
    return composite(as_method=False)(network)


lstm, gru = _rnn("LSTM", "lstm"), _rnn("GRU", "gru")
rnn_tanh, rnn_relu = _rnn("RNN_TANH", "rnn_tanh"), _rnn("RNN_RELU", "rnn_relu")

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]
