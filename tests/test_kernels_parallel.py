"""kernels/parallel.py and kernels/fused.py: threads, fork, and the decision where a kernel is compiled."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from minitorch.kernels import activations, fused, parallel


@pytest.fixture
def threads():
    before = parallel.get_num_threads()
    parallel.set_num_threads(3)
    yield
    parallel.set_num_threads(before)


def fill(start, stop, out):
    out[start:stop] += np.arange(start, stop)


def test_slices_cover_the_range_once(threads):
    for n in (0, 1, 2, 3, 10, 1001):
        out = np.zeros(n)
        parallel.run_slices(fill, n, out, grain=1)
        assert (out == np.arange(n)).all()


def test_small_work_stays_in_the_calling_thread(threads):
    seen = []
    parallel.run_slices(lambda start, stop: seen.append((start, stop, threading.get_ident())), 100, grain=51)
    assert seen == [(0, 100, threading.get_ident())]


def test_an_exception_in_a_slice_reaches_the_caller(threads):
    def fail(start, stop):
        if stop == 99:
            raise ValueError("slice")

    with pytest.raises(ValueError, match="slice"):
        parallel.run_slices(fail, 99, grain=1)
    out = np.zeros(99)
    parallel.run_slices(fill, 99, out, grain=1)  # and the pool still works
    assert (out == np.arange(99)).all()


def test_slices_within_slices_and_from_many_threads(threads):
    def nested(start, stop, out):
        parallel.run_slices(fill, stop - start, out[start:stop], grain=1)

    results = [np.zeros(64) for _ in range(4)]
    callers = [threading.Thread(target=parallel.run_slices, args=(nested, 64, out), kwargs={"grain": 32})
               for out in results]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((out == np.tile(np.arange(32), 2)).all() for out in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_pool_survives_fork(threads):
    out = np.zeros(64)
    parallel.run_slices(fill, 64, out, grain=1)
    child = os.fork()
    if child == 0:
        fresh = np.zeros(64)
        parallel.run_slices(fill, 64, fresh, grain=1)
        os._exit(0 if (fresh == np.arange(64)).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("bad, error", [(0, RuntimeError), (-1, RuntimeError), (1.5, TypeError), (True, TypeError)])
def test_set_num_threads_refuses(bad, error):
    before = parallel.get_num_threads()
    with pytest.raises(error, match="set_num_threads expects"):
        parallel.set_num_threads(bad)
    assert parallel.get_num_threads() == before


def test_only_large_plain_floats_are_compiled(monkeypatch):
    monkeypatch.setattr(parallel, "_mode", "")
    if not parallel.available():
        pytest.skip("needs numba")
    large = np.zeros((400, 400), np.float32)
    assert parallel.pays(large.size, large, None, large.astype(np.float64), floor=1000)
    assert not parallel.pays(100, large[:10, :10].copy(), floor=1000)
    for other in (large[:, ::2], large.T, large.astype(np.int64), large.astype(np.float16), large.view(np.matrix)):
        assert not parallel.pays(other.size, other, floor=1000)


def run(code, **environment):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                            env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


SMALL_THEN_LARGE = """
import sys
import numpy as np
from minitorch.kernels import activations
activations.silu(np.zeros(1000, np.float32))
print("numba" in sys.modules, end=" ")
activations.silu(np.zeros(200000, np.float32))
print("numba" in sys.modules)
"""


def test_small_programs_do_not_import_numba():
    pytest.importorskip("numba")
    assert run(SMALL_THEN_LARGE, MINITORCH_NUMBA="") == "False True"
    assert run(SMALL_THEN_LARGE, MINITORCH_NUMBA="0") == "False False"
    assert run(SMALL_THEN_LARGE, MINITORCH_NUMBA="1") == "True True"


def test_a_broken_numba_counts_as_none(tmp_path):
    (tmp_path / "numba.py").write_text("raise ImportError('needs another NumPy')")
    code = "import numpy as np; from minitorch.kernels import activations, parallel\n" \
           "print(activations.silu(np.ones(200000, np.float32))[0] > 0.7, parallel.available())"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert run(code, PYTHONPATH=path, MINITORCH_NUMBA="") == "True False"


def test_a_cache_notices_a_changed_callee():
    inner = parallel.compiled(lambda x: x + 1)
    other = parallel.compiled(lambda x: x + 2)
    outer = parallel.compiled(eval("lambda x: inner(x)", scope := {"inner": inner}))
    before = outer.fingerprint()
    scope["inner"] = other
    assert outer.fingerprint() != before


@pytest.mark.parametrize("name, exact", [("exp", np.exp), ("log", np.log), ("log1p", np.log1p)])
def test_functions_of_compiled_loops(name, exact):
    pytest.importorskip("numba")
    formula = getattr(fused, name)
    numbers = {"exp": np.linspace(-87, 88, 100001), "log": np.geomspace(1e-37, 1e38, 100001),
               "log1p": np.geomspace(1e-9, 1e38, 100001)}[name].astype(np.float32)
    loop = formula.compile()
    got = np.array([loop(x) for x in numbers[::10]], np.float32)
    np.testing.assert_allclose(got, exact(numbers[::10].astype(np.float64)), rtol=3e-7)


def test_exp_of_what_is_not_finite():
    pytest.importorskip("numba")
    loop = fused.exp.compile()
    x = np.array([np.inf, -np.inf, np.nan, 89, -104, -100, 0], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose([loop(v) for v in x], np.exp(x), rtol=1e-6)


def test_erf_is_exactly_one_where_float32_is():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(-6, 6, 100001).astype(np.float32)
    np.testing.assert_allclose(fused.erf(x), special.erf(x.astype(np.float64)), atol=4e-7)
    assert (np.abs(fused.erf(x[np.abs(x) > 3.93])) == 1).all()


def test_elementwise_takes_what_its_formula_takes():
    x = np.linspace(-2, 2, 10).astype(np.float32)
    default = activations.softplus(x)
    assert (default == activations.softplus(x, 1.0, 20.0)).all()
    assert (activations.softplus(x, threshold=1.0, beta=2.0) == activations.softplus(x, 2.0, 1.0)).all()
    assert activations.silu(x[::2]).shape == (5,)
    assert activations.sigmoid(np.zeros((), np.float32)) == 0.5
