"""The steps of SGD and Adam as compiled loops.  Mirrors ATen/native/cpu/FusedSGDKernel.cpp and FusedAdamKernel.cpp.

The formulas stand, in textbook order, in `minitorch/optim`; run on arrays they pass over memory a dozen times. Here
each is one loop that reads and writes every array once. Each of the two is the other's test.

A kernel takes a list of rows [grad, param, *moments] and the options of the formula. It writes in place and returns
True, or leaves all as it was and returns False where compiled code does not pay (see `parallel.pays`) or a moment does
not exist yet.
"""

import functools

import numpy as np

from .parallel import compiled, pays, run_slices

# These loops wait for memory: nothing would be won by letting the compiler round in its own way.
exactly = functools.partial(compiled, fastmath=False)
# Fewer elements than this take less time than waking a thread.
GRAIN = 1 << 16
# From this many elements on, some hundred steps repay the second in which Numba loads.
COMPILE_FROM = 1 << 16


def sgd(rows, *, maximize, lr, momentum, dampening, weight_decay, nesterov):
    """In place: param and momentum_buffer of each row (see `minitorch.optim.sgd.sgd`)."""
    width, loop = (3, _sgd_momentum) if momentum != 0 else (2, _sgd)
    return _run(loop, [row[:width] for row in rows],
                -1 if maximize else 1, weight_decay, lr, momentum, 1 - dampening, 1 if nesterov else 0)


def adam(rows, *, maximize, step, lr, betas, eps, weight_decay, amsgrad, decoupled_weight_decay):
    """In place: param, exp_avg, exp_avg_sq, max_exp_avg_sq of each row (see `minitorch.optim.adam.adam`)."""
    beta1, beta2 = betas
    width, loop = (5, _adam_amsgrad) if amsgrad else (4, _adam)
    return _run(loop, [row[:width] for row in rows],
                -1 if maximize else 1,
                0 if decoupled_weight_decay else weight_decay,
                1 - lr * weight_decay if decoupled_weight_decay else 1,
                1 - beta1, beta2, 1 - beta2,
                (1 - beta2**step) ** 0.5, eps, lr / (1 - beta1**step))


def _run(loop, rows, *numbers):
    """`loop(*row, *numbers)` for all rows, cut into equal shares for the threads."""
    total = sum([row[0].size for row in rows])
    arrays = [array for row in rows for array in row]
    if not pays(total, *arrays, floor=COMPILE_FROM) or any(row[-1] is None for row in rows):
        return False
    dtype = rows[0][0].dtype.type  # computing in the arrays' own precision keeps the loops narrow
    numbers = [dtype(x) for x in numbers]
    rows = [[array.reshape(-1) for array in row] for row in rows]
    run_slices(_share, total, loop.compile(), rows, numbers, grain=GRAIN)
    return True


def _share(start, stop, loop, rows, numbers):
    """The elements start to stop of the rows laid end to end."""
    offset = 0
    for row in rows:
        size = row[0].size
        first, last = max(start - offset, 0), min(stop - offset, size)
        if first < last:
            # Whole arrays from index 0 are what the compiler turns into vector instructions: it need not ask
            # whether an index is negative.
            loop(*([array[first:last] for array in row] if last - first < size else row), *numbers)
        offset += size


@exactly
def _sgd(grad, param, sign, weight_decay, lr, momentum, gain, nesterov):
    for i in range(param.size):
        g = sign * grad[i]
        if weight_decay != 0:
            g += weight_decay * param[i]
        param[i] -= lr * g


@exactly
def _sgd_momentum(grad, param, buffer, sign, weight_decay, lr, momentum, gain, nesterov):
    for i in range(param.size):
        g = sign * grad[i]
        if weight_decay != 0:
            g += weight_decay * param[i]
        b = momentum * buffer[i] + gain * g
        buffer[i] = b
        if nesterov != 0:
            b = g + momentum * b
        param[i] -= lr * b


@exactly
def _adam(grad, param, exp_avg, exp_avg_sq, sign, l2, shrink, gain1, beta2, gain2, correction, eps, step_size):
    for i in range(param.size):
        g = sign * grad[i]
        if l2 != 0:
            g += l2 * param[i]
        m = exp_avg[i] + gain1 * (g - exp_avg[i])
        v = beta2 * exp_avg_sq[i] + gain2 * g * g
        exp_avg[i] = m
        exp_avg_sq[i] = v
        param[i] = shrink * param[i] - step_size * (m / (np.sqrt(v) / correction + eps))


@exactly
def _adam_amsgrad(grad, param, exp_avg, exp_avg_sq, largest, sign, l2, shrink, gain1, beta2, gain2, correction, eps,
                  step_size):
    for i in range(param.size):
        g = sign * grad[i]
        if l2 != 0:
            g += l2 * param[i]
        m = exp_avg[i] + gain1 * (g - exp_avg[i])
        v = beta2 * exp_avg_sq[i] + gain2 * g * g
        exp_avg[i] = m
        exp_avg_sq[i] = v
        v = np.maximum(largest[i], v)
        largest[i] = v
        param[i] = shrink * param[i] - step_size * (m / (np.sqrt(v) / correction + eps))
