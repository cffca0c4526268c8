"""Recurrent layers and cells (torch/nn/modules/rnn.py)."""

import math
import numbers
import warnings

from minitorch.nn import init
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter, empty
from minitorch.nn.utils.rnn import PackedSequence
from minitorch.ops import nn_rnn as ops

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": ops.lstm, "GRU": ops.gru, "RNN_TANH": ops.rnn_tanh, "RNN_RELU": ops.rnn_relu}


class RNNBase(Module):
    """Layers of a recurrent network over whole sequences: their weights, checks and hidden states.

    Input (T, N, input_size), (N, T, input_size) with `batch_first`, (T, input_size), or a PackedSequence; hidden states
    (layers * directions, N, hidden_size). All weights are drawn uniformly from [-k, k], k = 1 / sqrt(hidden_size).
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    ]

    def __init__(
        self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
        bidirectional=False, proj_size=0, device=None, dtype=None,
    ):
        super().__init__()
        _check_arguments(locals())
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        directions = 2 if bidirectional else 1
        rows, state = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                columns = input_size if layer == 0 else state * directions
                shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, state)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(empty(shape, device, dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Nothing to do: accepted for compatibility."""

    @property
    def all_weights(self):
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [weight for weights in self.all_weights for weight in weights]

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)

    def _states(self, hx):
        """The hidden state as a tuple of tensors: (h,) or, for an LSTM, (h, c)."""
        return hx if self.mode == "LSTM" else (hx,)

    def _result(self, states):
        return tuple(states) if self.mode == "LSTM" else states[0]

    def check_input(self, input, batch_sizes):
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and not _autocast():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _initial(self, hx, input, batch, batch_sizes):
        """The hidden states to begin with: those given, checked, or zeros."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [(count, batch, self.proj_size or self.hidden_size), (count, batch, self.hidden_size)]
        names = ("hidden[0] ", "hidden[1] ") if self.mode == "LSTM" else ("hidden ",)
        self.check_input(input, batch_sizes)
        if hx is None:
            return [input.new_zeros(size) for _, size in zip(names, sizes, strict=False)]
        for name, size, h in zip(names, sizes, hx, strict=False):
            if tuple(h.shape) != size:
                raise RuntimeError(f"Expected {name}size {size}, got {list(h.shape)}")
        return list(hx)

    def forward(self, input, hx=None):
        """(output, hidden state): the last layer's states at all steps, and every layer's after the last step."""
        packed = isinstance(input, PackedSequence)
        states = None if hx is None else self._states(hx)
        if packed:
            data, batch_sizes, order, back = input
            if states is not None and order is not None:
                states = [h.index_select(1, order) for h in states]
            states = self._initial(states, data, int(batch_sizes[0]), batch_sizes)
            output, *states = self._run(data, batch_sizes, states)
            if back is not None:
                states = [h.index_select(1, back) for h in states]
            return PackedSequence(output, batch_sizes, order, back), self._result(states)
        name = type(self).__name__
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if states is not None and any(h.dim() != input.dim() for h in states):
            n, what = input.dim(), "hx and cx" if self.mode == "LSTM" else "hx"
            found = ", ".join(f"{h.dim()}-D" for h in states)
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, {what} should also be {n}-D but got "
                f"({found}) tensor{'s' if self.mode == 'LSTM' else ''}"
            )
        if not batched:
            input = input.unsqueeze(batch_dim)
            states = None if states is None else [h.unsqueeze(1) for h in states]
        states = self._initial(states, input, input.shape[batch_dim], None)
        output, *states = self._run(input, None, states)
        if not batched:
            output, states = output.squeeze(batch_dim), [h.squeeze(1) for h in states]
        return output, self._result(states)

    def _run(self, input, batch_sizes, states):
        function = _FUNCTIONS[self.mode]
        shared = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return function(input, self._result(states), *shared, self.batch_first)
        return function(input, batch_sizes, self._result(states), *shared)


def _autocast():
    from minitorch.autograd.grad_mode import thread

    return bool(thread.modes)


def _check_arguments(given):
    dropout = given["dropout"]
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and given["num_layers"] == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers=1",
            stacklevel=4,
        )
    for name in ("bias", "batch_first"):
        if not isinstance(given[name], bool):
            raise TypeError(f"{name} should be of type bool, got: {type(given[name]).__name__}")
    for name in ("input_size", "hidden_size"):
        if not isinstance(given[name], int):
            raise TypeError(f"{name} should be of type int, got: {type(given[name]).__name__}")
        if given[name] <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if given["num_layers"] <= 0:
        raise ValueError("num_layers must be greater than zero")
    if given["proj_size"] < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if given["proj_size"] >= given["hidden_size"]:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if given["mode"] not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + given["mode"])


class RNN(RNNBase):
    """`h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh)`; `nonlinearity="relu"` for relu instead."""

    def __init__(
        self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
        bidirectional=False, device=None, dtype=None,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), gates in the order input, forget, cell, output."""

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
        proj_size=0, device=None, dtype=None,
    ):
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014), gates in the order reset, update, new."""

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
        device=None, dtype=None,
    ):
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


class RNNCellBase(Module):
    """One step of a recurrent layer: input (N, input_size) or (input_size,), hidden state likewise."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device, dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device, dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty((rows,), device, dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)

    def _step(self, function, input, states):
        """`function` of the input and the states (zeros for None), lent a batch dimension where they have none."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, h in enumerate(states or ()):
            if h.dim() not in (1, 2):
                which = "hidden" if len(states) == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {h.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        count = 2 if isinstance(self, LSTMCell) else 1
        if states is None:
            states = [x.new_zeros((x.shape[0], self.hidden_size))] * count
        elif not batched:
            states = [h.unsqueeze(0) for h in states]
        self._check(x, states)
        hx = tuple(states) if count == 2 else states[0]
        result = function(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if batched:
            return result
        return tuple(h.squeeze(0) for h in result) if count == 2 else result.squeeze(0)

    def _check(self, x, states):
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        for h in states:
            if h.shape[0] != x.shape[0]:
                raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden0 batch size {h.shape[0]}")
            if h.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden0 has inconsistent hidden_size: got {h.shape[1]}, expected {self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """`tanh(W_ih x + b_ih + W_hh h + b_hh)`, or relu."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        cells = {"tanh": ops.rnn_tanh_cell, "relu": ops.rnn_relu_cell}
        if self.nonlinearity not in cells:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(cells[self.nonlinearity], input, None if hx is None else [hx])


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (h, c) from the input and (h, c)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step(ops.lstm_cell, input, hx)


class GRUCell(RNNCellBase):
    """One step of a GRU: h from the input and h."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(ops.gru_cell, input, None if hx is None else [hx])
