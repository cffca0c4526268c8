"""Where a kernel runs: compiled or in NumPy, on one thread or several.  Mirrors ATen/Parallel.h.

Two decisions are made here for every kernel of this room.

*Compiled or not.* `compiled(fn)` marks a loop that Numba can turn into machine code. Numba is optional and loading it
costs about a second (`import numba`, then reading the compiled code from its cache on disk; compiling it the very
first time costs about a second more per kernel). So a kernel asks `pays(size, *arrays)`, which says no to small
arrays: a program that trains a tiny model never imports Numba. The answer depends on nothing but the installation and
the arrays, never on what ran before, so that a run resumed from a checkpoint takes the same path, and rounds the same
way, as one never stopped.

*Slices.* `run_slices(fn, n, *args)` calls `fn(start, stop, *args)` over slices that cover `range(n)`, on one small
pool of threads that belongs to this module. Compiled loops and large NumPy calls release the GIL, so the slices
really run side by side. Unlike Numba's own threading layers the pool survives `fork` (data loaders fork): a child
starts a fresh one.

Environment: `MINITORCH_NUMBA` is `0` (never compiled), `1` (compiled at every size), or unset (where it pays);
`OMP_NUM_THREADS` gives the number of threads, as it does for torch.
"""

import hashlib
import importlib.util
import os
import threading
import types
from queue import SimpleQueue

import numpy as np

_mode = os.environ.get("MINITORCH_NUMBA", "")
# Below this many elements the time won in one call (some 100 us) is too little to repay the second that loading takes,
# and the half second per kernel that compiling takes the first time.
COMPILE_FROM = 1 if _mode == "1" else 1 << 17
# A slice smaller than this many elements costs more to hand to a thread (some 20 us) than to work off at once.
GRAIN = 1 << 14

_numba = None  # None: not looked for yet; False: cannot be used; else the module
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def available():
    """True where compiled kernels can be used: Numba is installed and not switched off.  Does not import it."""
    if _numba is None:
        return _mode != "0" and importlib.util.find_spec("numba") is not None
    return bool(_numba)


def _load():
    """Import Numba once; a broken installation counts as none."""
    global _numba
    if _numba is None:
        try:
            _numba = importlib.import_module("numba") if available() else False
        except Exception:  # an ImportError, say, because it does not know this NumPy yet
            _numba = False
    return _numba


def plain(*arrays):
    """Are these NumPy arrays (not CuPy's, no subclass), each C-contiguous?  `None` stands for an absent argument."""
    return all(array is None or type(array) is np.ndarray and array.flags.c_contiguous for array in arrays)


def pays(size, *arrays, floor=COMPILE_FROM, dtypes=FLOATS):
    """Should a kernel over `size` elements take its compiled version?

    It needs plain arrays of one of `dtypes`; `floor` is the size from which compiling is worth its cost.
    """
    if size == 0 or size < floor and _mode != "1":
        return False
    return plain(*arrays) and all(array is None or array.dtype in dtypes for array in arrays) and bool(_load())


def _text(constant):
    """A code object as its instructions and constants; the `repr` of one, or of one inside it, holds its address."""
    return (constant.co_code, *map(_text, constant.co_consts)) if isinstance(constant, types.CodeType) else constant


class compiled:  # noqa: N801 - used as a decorator
    """`@compiled`: a function of arrays and numbers which Numba compiles on its first call.

    `nogil`, so that slices run in parallel; cached on disk, next to the source or, where that cannot be written, in
    the user's cache directory (`NUMBA_CACHE_DIR` overrides). Sums may be reassociated and multiply-adds contracted,
    which is what lets the loops use vector registers; nan and inf keep their meaning. An index that may be negative for
    all that the compiler knows (a loop over `range(start, stop)`) prevents it: cut the slice out first, then count from
    0. Where Numba is missing the plain Python function runs: slow, but the same formula.
    """

    flags = frozenset({"reassoc", "contract", "nsz"})

    def __init__(self, python, **options):
        self.python = python
        self.options = options
        self.__doc__, self.__name__ = python.__doc__, python.__name__
        self._run = None

    def __call__(self, *args):
        return (self._run or self.compile())(*args)

    def compile(self):
        """The callable itself, without this object's own `__call__` around it."""
        if self._run is None:
            numba = _load()
            self._run = self._jit(numba) if numba else self.python
        return self._run

    def _calls(self):
        """The other compiled functions that this one calls, by the names it calls them."""
        known = self.python.__globals__
        return {name: known[name] for name in self.python.__code__.co_names if isinstance(known.get(name), compiled)}

    def fingerprint(self):
        """A hash of the code of this function and of all that it calls."""
        options = [(key, sorted(value) if isinstance(value, (set, frozenset)) else value)
                   for key, value in sorted(self.options.items())]
        parts = [self.python.__module__, _text(self.python.__code__), options]
        parts += [callee.fingerprint() for callee in self._calls().values()]
        return hashlib.md5(repr(parts).encode()).hexdigest()[:8]

    def _jit(self, numba):
        options = {"nogil": True, "error_model": "numpy", "fastmath": set(self.flags), **self.options}
        # Numba must see what it made of the functions that this one calls. And its cache, which looks at nothing but
        # the name and this function's file, must not mistake older code for this: hence the fingerprint in the name.
        scope = {**self.python.__globals__, **{name: callee.compile() for name, callee in self._calls().items()}}
        python = types.FunctionType(self.python.__code__, scope, self.python.__name__)
        python.__qualname__ = f"{self.python.__qualname__}_{self.fingerprint()}"
        python.__module__ = self.python.__module__
        try:
            return numba.njit(cache=True, **options)(python)
        except RuntimeError:  # no directory in which a cache could be kept
            return numba.njit(**options)(python)


# -- the pool ---------------------------------------------------------------------------------------------------------


def _default_threads():
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = _default_threads()
_jobs = SimpleQueue()  # what the workers wait at
_workers = 0  # how many there are
_start_lock = threading.Lock()
_inside = threading.local()  # .busy is set in workers: a slice that slices again runs inline


def get_num_threads():
    """How many threads `run_slices` uses, the caller's included."""
    return _threads


def set_num_threads(count):
    """Let `run_slices` use `count` threads, the caller's included."""
    global _threads
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {count}")
    _threads = count


class _Job:
    """One call of run_slices: its slices are taken, by whoever is free, until none is left."""

    def __init__(self, fn, bounds, args):
        self.fn, self.args = fn, args
        self.waiting = bounds
        self.unfinished = len(bounds)
        self.error = None
        self.lock = threading.Lock()
        self.done = threading.Lock()
        self.done.acquire()

    def work(self):
        while True:
            try:
                start, stop = self.waiting.pop()
            except IndexError:
                return
            try:
                if self.error is None:
                    self.fn(start, stop, *self.args)
            except BaseException as error:  # handed to the caller of run_slices
                self.error = error
            with self.lock:
                self.unfinished -= 1
                last = self.unfinished == 0
            if last:
                self.done.release()


def _worker(jobs):
    _inside.busy = True
    np.seterr(all="ignore")  # NumPy keeps this per thread; an overflow is an inf here, not a warning
    while True:
        jobs.get().work()


def _start_workers(count):
    global _workers
    with _start_lock:
        while _workers < count:
            threading.Thread(target=_worker, args=(_jobs,), daemon=True, name=f"minitorch-{_workers}").start()
            _workers += 1


def _forget_workers():
    """In a forked child: the parent's threads do not exist here."""
    global _jobs, _workers, _start_lock
    _jobs, _workers, _start_lock = SimpleQueue(), 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def run_slices(fn, n, *args, grain=GRAIN):
    """Call `fn(start, stop, *args)` over slices that cover `range(n)`; returns when all are done.

    No slice is shorter than `grain` (counted in steps of `range(n)`); when there is only one it runs at once, in the
    caller's thread.  `fn` must not depend on how the range is cut: each step writes its own part of the output.
    An exception in a slice is raised here.
    """
    parts = min(_threads, n // grain if grain > 1 else n)
    if parts <= 1 or getattr(_inside, "busy", False):
        if n > 0:
            fn(0, n, *args)
        return
    if isinstance(fn, compiled):
        fn = fn.compile()
    cuts = [n * i // parts for i in range(parts + 1)]
    job = _Job(fn, list(zip(cuts[:-1], cuts[1:], strict=True)), args)
    if _workers < parts - 1:
        _start_workers(parts - 1)
    for _ in range(parts - 1):
        _jobs.put(job)
    job.work()
    job.done.acquire()
    if job.error is not None:
        raise job.error
