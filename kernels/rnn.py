"""One recurrent layer over a whole sequence, forward and backward.  Mirrors ATen/native/RNN.cpp in what it computes.

The products of the input with its weights, which need no recurrence, are made beforehand: `gates` (total, G H), G = 4
for an LSTM (input, forget, cell, output), 3 for a GRU (reset, update, new), 1 for a plain layer. Sequences of unequal
length are packed as torch packs them: `sizes[t]` of them, the first ones, are alive at step t, and their rows lie one
after the other. The state of the others waits: it is final (forwards) or still initial (in reverse).
"""

import numpy as np

from . import rnn_loops as loops
from .fused import FLOAT32
from .half import in_float32
from .parallel import pays


def _sigmoid(x):
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    return np.divide(1, x, out=x)


def _steps(sizes, reverse):
    """(alive, slice of the packed rows) of each step, in the order of computation."""
    starts = np.cumsum([0, *sizes])
    steps = [(n, slice(start, start + n)) for n, start in zip(sizes, starts.tolist(), strict=False)]
    return steps[::-1] if reverse else steps


@in_float32
def layer(gates, h0, c0, w_hh, b_hh, sizes, reverse, mode):
    """Returns (outputs (total, H), h_n (N, H), c_n (N, H)), then what `layer_backward` needs; c is h but for an LSTM.

    h0, c0 (N, H), w_hh (G H, H), b_hh (G H,) or None; mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
    """
    size = h0.shape[1]
    h, c, w = h0.copy(), c0.copy(), np.ascontiguousarray(w_hh.T)
    rows = len(gates)
    out, before = np.empty((rows, size), gates.dtype), np.empty((rows, size), gates.dtype)
    acts = np.empty_like(gates)
    extra = np.empty((rows, size) if mode in ("LSTM", "GRU") else (0, size), gates.dtype)
    fast = mode in ("LSTM", "GRU") and pays(gates.size, gates, h, c, w, dtypes=FLOAT32)
    if fast:
        bias = np.zeros(gates.shape[1], gates.dtype) if b_hh is None else np.ascontiguousarray(b_hh)
        products = np.empty((len(h), gates.shape[1]), gates.dtype)
    for n, at in _steps(sizes, reverse):
        hidden = before[at]
        hidden[...] = h[:n]
        if fast:
            recurrent = np.matmul(hidden, w, out=products[:n])
            if mode == "LSTM":
                loops.lstm_step(gates[at], recurrent, bias, acts[at], extra[at], c[:n], h[:n], out[at])
            else:
                loops.gru_step(gates[at], recurrent, bias, acts[at], extra[at], h[:n], out[at])
            continue
        recurrent = hidden @ w
        if b_hh is not None:
            recurrent += b_hh
        a = acts[at]
        if mode == "GRU":
            np.add(gates[at, : 2 * size], recurrent[:, : 2 * size], out=a[:, : 2 * size])
            _sigmoid(a[:, : 2 * size])
            reset, update, new = a[:, :size], a[:, size : 2 * size], a[:, 2 * size :]
            extra[at] = recurrent[:, 2 * size :]
            np.tanh(gates[at, 2 * size :] + reset * recurrent[:, 2 * size :], out=new)
            h[:n] = (hidden - new) * update + new
        else:
            np.add(gates[at], recurrent, out=a)
            if mode == "LSTM":
                _sigmoid(a[:, : 2 * size])
                np.tanh(a[:, 2 * size : 3 * size], out=a[:, 2 * size : 3 * size])
                _sigmoid(a[:, 3 * size :])
                extra[at] = c[:n]
                cell = a[:, size : 2 * size] * c[:n] + a[:, :size] * a[:, 2 * size : 3 * size]
                c[:n] = cell
                h[:n] = a[:, 3 * size :] * np.tanh(cell)
            else:
                h[:n] = np.tanh(a, out=a) if mode == "RNN_TANH" else np.maximum(a, 0, out=a)
        out[at] = h[:n]
    return out, h, c, acts, before, extra


@in_float32
def layer_backward(grad, dh_n, dc_n, acts, before, extra, w_hh, sizes, reverse, mode):
    """The gradients (dgates, dh0, dc0, dw_hh, db_hh) of `layer`; `grad` (total, H) is that of its outputs."""
    size = before.shape[1]
    dh, dc = dh_n.copy(), dc_n.copy()
    dgates = np.empty_like(acts)
    drecurrent = np.empty_like(acts) if mode == "GRU" else dgates
    fast = mode in ("LSTM", "GRU") and pays(acts.size, grad, dh, dc, acts, before, extra, w_hh, dtypes=FLOAT32)
    for n, at in reversed(_steps(sizes, reverse)):
        a, d = acts[at], dgates[at]
        if fast and mode == "LSTM":
            loops.lstm_step_backward(grad[at], dh[:n], dc[:n], a, extra[at], d)
            np.matmul(d, w_hh, out=dh[:n])
            continue
        if fast:
            loops.gru_step_backward(grad[at], dh[:n], a, before[at], extra[at], d, drecurrent[at])
            dh[:n] += drecurrent[at] @ w_hh
            continue
        g = dh[:n] + grad[at]
        if mode == "LSTM":
            i, f = a[:, :size], a[:, size : 2 * size]
            new, o = a[:, 2 * size : 3 * size], a[:, 3 * size :]
            old = extra[at]
            t = np.tanh(f * old + i * new)
            d[:, 3 * size :] = g * t * o * (1 - o)
            dcell = dc[:n] + g * o * (1 - t * t)
            d[:, :size] = dcell * new * i * (1 - i)
            d[:, size : 2 * size] = dcell * old * f * (1 - f)
            d[:, 2 * size : 3 * size] = dcell * i * (1 - new * new)
            dc[:n] = dcell * f
            dh[:n] = d @ w_hh
        elif mode == "GRU":
            reset, update, new = a[:, :size], a[:, size : 2 * size], a[:, 2 * size :]
            dnew = g * (1 - update) * (1 - new * new)
            d[:, :size] = dnew * extra[at] * reset * (1 - reset)
            d[:, size : 2 * size] = g * (before[at] - new) * update * (1 - update)
            d[:, 2 * size :] = dnew
            r = drecurrent[at]
            r[:, : 2 * size] = d[:, : 2 * size]
            r[:, 2 * size :] = dnew * reset
            dh[:n] = g * update + r @ w_hh
        else:
            d[...] = g * (1 - a * a) if mode == "RNN_TANH" else g * (a > 0)
            dh[:n] = d @ w_hh
    return dgates, dh, dc, drecurrent.T @ before, drecurrent.sum(0)
