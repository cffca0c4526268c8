"""Threads: modes belong to the thread that sets them, and backward runs in several threads on separate graphs."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch

BOTH = pytest.mark.parametrize("T", [torch, minitorch], ids=["torch", "minitorch"])


def in_thread(function):
    """What a function gives in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


MODES = {
    "no_grad": (lambda T: T.no_grad(), lambda T: T.is_grad_enabled()),
    "enable_grad": (lambda T: T.enable_grad(), lambda T: T.is_grad_enabled()),
    "set_grad_enabled": (lambda T: T.set_grad_enabled(False), lambda T: T.is_grad_enabled()),
    "inference_mode": (lambda T: T.inference_mode(), lambda T: (T.is_inference_mode_enabled(), T.is_grad_enabled())),
    "autocast": (lambda T: T.autocast("cpu", dtype=T.bfloat16), lambda T: T.is_autocast_enabled("cpu")),
    "autocast off": (lambda T: T.autocast("cpu", enabled=False), lambda T: T.is_autocast_enabled("cpu")),
}


@pytest.mark.parametrize("name", MODES)
def test_modes_belong_to_a_thread(name):
    seen = []
    for T in (torch, minitorch):
        mode, ask = MODES[name]
        before = ask(T)
        with mode(T):
            inside, elsewhere = ask(T), in_thread(lambda: ask(T))
            again = in_thread(lambda: in_mode(T, mode, ask))
        seen.append((before, inside, elsewhere, again, ask(T)))
    assert seen[0] == seen[1]


def in_mode(T, mode, ask):
    with mode(T):
        inside = ask(T)
    return inside, ask(T)


@BOTH
def test_saved_tensors_hooks_belong_to_a_thread(T):
    x, packed = T.ones(3).requires_grad_(), []
    with T.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(1), t)[1], lambda t: t):
        in_thread(lambda: (x * x).sum())
        assert not packed
        (x * x).sum()
        assert packed


@BOTH
def test_what_a_thread_recorded_another_may_walk(T):
    x = T.ones(3).requires_grad_()
    loss = in_thread(lambda: (x * x).exp().sum())
    loss.backward()
    other = (x * 2).exp().sum()
    in_thread(lambda: other.backward())
    np.testing.assert_allclose(x.grad.tolist(), [2 * np.e + 2 * np.e**2] * 3, rtol=1e-5)


@BOTH
def test_hooks_and_functions_run_in_backward_of_their_thread(T):
    def job(n):
        names = []

        class Double(T.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2

            @staticmethod
            def backward(ctx, grad):
                names.append(threading.current_thread().name)
                return grad * 2

        x = T.full((4,), float(n)).requires_grad_()
        x.register_hook(lambda g: names.append(threading.current_thread().name))
        (Double.apply(x) * x).sum().backward()
        assert set(names) == {threading.current_thread().name} and len(names) == 2
        return x.grad[0].item()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(job, range(20))) == [4.0 * n for n in range(20)]


@pytest.mark.parametrize("create_graph", [False, True])
def test_separate_graphs_in_many_threads(create_graph):
    """The same numbers as one thread after the other, for networks of each kind."""

    def job(seed):
        numbers = np.random.default_rng(seed)
        x = minitorch.tensor(numbers.random((8, 6)).tolist())
        w = minitorch.tensor(numbers.random((6, 5)).tolist()).requires_grad_()
        b = minitorch.tensor(numbers.random(5).tolist()).requires_grad_()
        for _ in range(10):
            hidden = (x @ w + b).tanh()
            hidden = hidden.view(5, 8).t()[:, 1:].softmax(1)
            loss = (hidden * hidden).sum() + minitorch.cat([w.sum(0), b]).exp().mean()
            grads = minitorch.autograd.grad(loss, [w, b], create_graph=create_graph)
            if create_graph:
                grads = minitorch.autograd.grad(sum((g * g).sum() for g in grads), [w, b])
            with minitorch.no_grad():
                w -= 0.01 * grads[0]
                b -= 0.01 * grads[1]
        return w.tolist(), b.tolist()

    alone = [job(seed) for seed in range(12)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(job, range(12))) == alone


def test_shared_parameters_in_many_threads():
    """Graphs of the threads' own over shared leaves, gradients asked for with `grad`."""
    w = minitorch.full((50, 50), 0.01).requires_grad_()

    def job(n):
        x = minitorch.full((4, 50), float(n))
        return minitorch.autograd.grad(((x @ w).tanh() @ w).sum(), w)[0].sum().item()

    alone = [job(n) for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(job, range(16))) == alone


def test_modes_of_threads_side_by_side():
    """A thread without grad mode beside one with it, taking turns: neither sees the other's."""
    x, turn, wrong = minitorch.ones(3).requires_grad_(), threading.Barrier(2), []

    def without():
        for _ in range(200):
            with minitorch.no_grad():
                turn.wait()
                if (x * 2).requires_grad:
                    wrong.append("recorded under no_grad")

    def within():
        for _ in range(200):
            turn.wait()
            y = x * 2
            if not y.requires_grad:
                wrong.append("not recorded")

    threads = [threading.Thread(target=f) for f in (without, within)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@BOTH
def test_backward_inside_a_hook(T):
    """A pass within a pass, on a graph of its own, as reentrant checkpoints do."""
    x, inner = T.ones(3).requires_grad_(), T.ones(2).requires_grad_()

    def hook(grad):
        with T.enable_grad():
            (inner * inner).sum().backward()
        return grad * 2

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    assert x.grad.tolist() == [6.0] * 3 and inner.grad.tolist() == [2.0] * 2


@BOTH
def test_a_failing_pass_leaves_the_thread_as_it_was(T):
    x = T.ones(3).requires_grad_()
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward(retain_graph=True)
    assert T.is_grad_enabled() and (x * 2).requires_grad
    with T.no_grad(), pytest.raises(ZeroDivisionError):
        y.sum()  # noqa: B018
        T.autograd.grad(y, x, T.ones(3))
    x.grad = None
    (x * 5).sum().backward()
    assert x.grad.tolist() == [5.0] * 3


def test_gil_is_shared():
    """A long backward pass in one thread does not stop another from starting one."""
    x = minitorch.ones(3).requires_grad_()
    y = x
    for _ in range(20_000):
        y = y * 1.0
    loss, done = y.sum(), []
    slow = threading.Thread(target=lambda: (loss.backward(), done.append("slow")))
    slow.start()
    time.sleep(0.001)
    z = minitorch.ones(2).requires_grad_()
    (z * z).sum().backward()
    done.append("quick")
    slow.join()
    assert z.grad.tolist() == [2.0, 2.0] and x.grad.tolist() == [1.0] * 3 and len(done) == 2
