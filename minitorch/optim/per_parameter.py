"""The step of the optimizers that are one formula, applied to each parameter by itself.

A subclass states the formula, as a function from old values to new ones, and what it needs:

    update       the formula: update(param, grad, *moments, *scalars, step=..., **options) gives the new param, moments
                 and scalars; a moment that does not exist (yet) is None
    moments      names of the state tensors that it takes
    scalars      names of the 0-d state that it takes, besides the number of the step
    options      names of the group's entries that it takes
    elementwise  whether it treats every element by itself, so that parameters may be cut and laid end to end
    lazy         whether it makes the moments itself, at the first step
    initial      the state of a parameter before its first step

`PerParameter` does the rest: groups, state made when it is first needed, parameters without a gradient, closures. The
formula is run in one of three ways:

- on arrays; many small ones are laid end to end first, so that 500 biases cost one call and not 500;
- compiled, over several threads, where its twin in `kernels/optim.py` (`kernel`) says that this pays;
- on Tensors, where `differentiable=True` asks for a step that autograd can go back through.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..kernels.half import widen
from ..kernels.parallel import plain
from ..tensor import Tensor, wrap
from .optimizer import Optimizer, scalar

# Arrays up to this size are laid end to end: copying them costs less than a round of calls for each.
SMALL = 1 << 12
# Larger ones are worked off in pieces of this size.
BLOCK = 1 << 14


class PerParameter(Optimizer):
    """Base class of the optimizers that are one formula; see the module."""

    update: Callable
    kernel: Callable | None = None
    moments: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    elementwise = True
    lazy = False

    def initial(self, p: Tensor, group: dict) -> dict:
        return {"step": scalar(0.0), **{name: zeros_like(p) for name in self.moments}}

    def step(self, closure: Callable | None = None) -> Any:
        """Move every parameter that has a gradient. Returns what `closure`, if given, returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            run = self._step_on_tensors if group.get("differentiable") else self._step_on_arrays
            for (step, *scalars), members in self._batches(group).items():
                run(group, members, scalars[3:], {} if step is None else {"step": step})
        return loss

    def _batches(self, group: dict) -> dict[tuple, list]:
        """The parameters to move and their state, sorted by all else that the formula depends on: the number of this
        step, where they are, their dtype, how much state there is, the 0-d state."""
        batches: dict[tuple, list] = {}
        states, scalars = self.state, self.scalars
        for p in group["params"]:
            if p._grad is None:
                continue
            state = states.get(p)
            if not state:
                state = self.initial(p, group)
                if state:
                    states[p] = state
            step = None
            if "step" in state:
                counter = state["step"]._array
                step = counter.item() + 1.0
                counter[...] = step
            array = p._array
            key: tuple = (step, array.device, array.dtype, len(state))
            if scalars:
                key += tuple([state[name]._array[()] for name in scalars])
            if key in batches:
                batches[key].append((p, state))
            else:
                batches[key] = [(p, state)]
        return batches

    def _step_on_arrays(self, group: dict, members: list, scalars: list, options: dict) -> None:
        for name in self.options:
            options[name] = number(group[name])
        maximize = group.get("maximize", False)
        limit = SMALL if self.elementwise and len(members) > 1 else -1
        moments = self.moments
        rows: list = []
        small: list = []
        work: list = []
        for p, state in members:
            array = p._array
            row = [p._grad._array, array]  # [grad, param, *moments]; None where there is no such moment
            for name in moments:
                row.append(state[name]._array if name in state else None)
            rows.append(row)
            (small if array.size <= limit else work).append(row)
            p._bump()
        if small:
            joined = [_join(column) for column in zip(*small, strict=True)]
            work.append(joined)
        if not (self.kernel and self.kernel(work, maximize=maximize, **options)):
            for row in work:
                new = self._apply(row, maximize, scalars, options)
            for name, value in zip(self.scalars, new, strict=True):
                for _, state in members:
                    state[name]._array[...] = value
        if small:
            _part(joined, small)
        if self.lazy and rows[0][-1] is not None:
            for (p, state), row in zip(members, rows, strict=True):
                if not state:
                    self.state[p] = {name: wrap(array) for name, array in zip(moments, row[2:], strict=True)}

    def _apply(self, row: list, maximize: bool, scalars: list, options: dict) -> Any:
        """Run the formula on the arrays of a row and write what it gives into them; returns the new 0-d state."""
        made_here = self.lazy and row[-1] is None
        if row[1].size > BLOCK and self.elementwise and not made_here and plain(*row):
            flat = [array if array is None else array.reshape(-1) for array in row]
            for start in range(0, row[1].size, BLOCK):  # what the formula makes on its way stays in the cache
                block = [array if array is None else array[start : start + BLOCK] for array in flat]
                new = self._apply(block, maximize, scalars, options)
            return new
        grad, *old = row
        if old[0].dtype.itemsize == 2:  # float16 and bfloat16 are computed in float32 and rounded once
            grad, *old = map(widen, row)
        if maximize:
            grad = -grad
        new = self.update(old[0], grad, *old[1:], *scalars, **options)
        for i, value in enumerate(new[: len(old)], 1):
            if row[i] is not None:
                row[i][...] = value
            elif value is not None:
                row[i] = np.array(value, row[1].dtype)  # a copy: it may be the gradient itself
        return new[len(old) :]

    def _step_on_tensors(self, group: dict, members: list, scalars: list, options: dict) -> None:
        for name in self.options:
            options[name] = group[name]
        for p, state in members:
            with enable_grad():
                grad = -p.grad if group["maximize"] else p.grad
                # The formula works on copies: what it saves for the backward pass must outlive the writes below.
                moments = [state[name].clone() if name in state else None for name in self.moments]
                new, *rest = self.update(p.clone(), grad, *moments, *scalars, **options)
                p.copy_(new)
                for name, value in zip((*self.moments, *self.scalars), rest, strict=True):
                    if name in self.scalars:
                        state[name]._array[...] = float(value)
                    elif name in state:
                        state[name].copy_(value)
                    elif value is not None:
                        state[name] = value.clone()
            if state:
                self.state[p] = state


def zeros_like(p: Tensor) -> Tensor:
    return wrap(np.zeros_like(p._array))


_PLAIN = (float, bool, int)


def number(option: Any) -> Any:
    """An option as the formulas on arrays take it: a tensor becomes a number of its own precision (a learning rate in
    float32 stays one, as in torch), a tuple of tensors a tuple of numbers."""
    if type(option) in _PLAIN:
        return option
    if isinstance(option, Tensor):
        value = option._array.reshape(())[()]
        return value.item() if value.dtype == np.float64 else value
    if isinstance(option, tuple | list):
        return tuple(map(number, option))
    return float(option) if isinstance(option, np.floating) else option


def _join(arrays: tuple) -> Any:
    """Arrays laid end to end; None for a moment that does not exist."""
    if arrays[0] is None:
        return None
    try:  # as plain memory: ten times as fast as NumPy joins small arrays
        return np.frombuffer(bytearray().join(arrays), arrays[0].dtype)
    except (TypeError, ValueError, BufferError):  # not contiguous, not in this memory, or bfloat16
        return np.concatenate([array.reshape(-1) for array in arrays])


def _part(joined: list, rows: list) -> None:
    """Write what was computed on the joined arrays back into those they were joined from (all but the gradients)."""
    for k, flat in enumerate(joined[1:], 1):
        if flat is None:
            continue
        end = 0
        for row in rows:
            param, old = row[1], row[k]
            start, end = end, end + param.size
            piece = flat[start:end] if param.ndim == 1 else flat[start:end].reshape(param.shape)
            if old is None:
                row[k] = piece.copy()
            else:
                old[...] = piece
