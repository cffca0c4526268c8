"""Grad mode, per thread (torch/autograd/grad_mode.py).

`no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode` switch the recording of operations; each works as
a context manager and as a decorator (of functions and of generators).
"""

import functools
import inspect
import threading
from typing import Any

import numpy as np


class ThreadState(threading.local):
    """What the door of dispatch asks of the current thread."""

    grad = True  # are operations recorded?
    inference = False
    modes: tuple = ()  # dispatch modes, innermost last (see dispatch.py)
    walk: Any = None  # the backward pass that calls a hook: (its number, all nodes it meets, those it needs or None)
    running: Any = None  # the node whose backward is being recorded, for anomaly detection

    def __init__(self) -> None:
        # Infinities and NaNs are values to torch, not warnings; NumPy keeps this setting per thread.
        np.seterr(all="ignore")


thread = ThreadState()


class Door:
    """`special` counts the reasons, in all threads, to leave dispatch's short ways: dispatch modes, saved-tensor hooks,
    inference mode, anomaly detection. While it is zero none of them costs anything."""

    special = 0

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def count(self, change: int) -> None:
        with self._lock:
            self.special += change


door = Door()


def is_grad_enabled() -> bool:
    return thread.grad


def is_inference_mode_enabled() -> bool:
    return thread.inference


class _Switch:
    """Sets one attribute of the thread's state for the duration of a block or of a function's calls."""

    def __init__(self) -> None:
        self._before: list = []

    def _set(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        self._before.append((thread.grad, thread.inference))
        self._set()

    def __exit__(self, *exc: Any) -> None:
        thread.grad, thread.inference = self._before.pop()

    def clone(self) -> "_Switch":
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            raise RuntimeError(
                f"Decorating classes with {type(self).__name__} is not supported; decorate the methods instead"
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                running = function(*args, **kwargs)
                send: Any = running.__next__
                try:
                    while True:
                        with self.clone():
                            item = send()
                        try:
                            received = yield item
                            send = functools.partial(running.send, received)
                        except GeneratorExit:
                            with self.clone():
                                running.close()
                            raise
                        except BaseException as error:
                            send = functools.partial(running.throw, error)
                except StopIteration as stop:
                    return stop.value

            return generator

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper


class _PlainSwitch(_Switch):
    """A switch without arguments may decorate without being called: `@no_grad`."""

    def __new__(cls, function: Any = None) -> Any:
        switch = object.__new__(cls)
        if function is None:
            return switch
        switch.__init__()  # type: ignore[misc]
        return switch(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class no_grad(_PlainSwitch):
    """Nothing is recorded inside."""

    def _set(self) -> None:
        thread.grad = False


class enable_grad(_PlainSwitch):
    """Operations are recorded inside, also within `no_grad`."""

    def _set(self) -> None:
        thread.grad = True


class set_grad_enabled(_Switch):
    """Switch recording on or off: at once when called, and back at the end when used as a context manager."""

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}")
        super().__init__()
        self.mode = mode
        self._outside: Any = thread.grad
        thread.grad = mode

    def __call__(self, function: Any) -> Any:
        thread.grad = self._outside  # a decorator changes nothing until the function runs
        return super().__call__(function)

    def __enter__(self) -> None:
        super().__enter__()
        if self._outside is not None:  # the mode to go back to is the one from before the constructor
            self._before[-1] = (self._outside, thread.inference)
            self._outside = None

    def _set(self) -> None:
        thread.grad = self.mode

    def clone(self) -> "_Switch":
        copy = object.__new__(type(self))
        _Switch.__init__(copy)
        copy.mode, copy._outside = self.mode, None
        return copy

    def __str__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(_Switch):
    """`no_grad` for code that never meets autograd: tensors made inside can't enter a graph later."""

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return object.__new__(cls)
        return cls()(mode)  # used as a bare decorator

    def __init__(self, mode: bool = True):
        super().__init__()
        self.mode = mode

    def _set(self) -> None:
        door.count(+1)
        thread.inference = self.mode
        thread.grad = not self.mode

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        door.count(-1)

    def clone(self) -> "_Switch":
        return type(self)(self.mode)
