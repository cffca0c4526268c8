"""What can go wrong with worker processes, done to real ones: every program here must end, soon, and say why."""

import contextlib
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import minitorch

data = minitorch.utils.data
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
LIMIT = 120  # seconds that any program here may take, on the slowest machine


class Acting:
    """Sample i is an array full of i; before it is given, `act(i)` happens."""

    def __init__(self, act, n=24, size=2000):
        self.act, self.n, self.size = act, n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.act(i)
        return np.full(self.size, i, np.float32)


def segments():
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def at(index, action):
    return lambda i: action() if i == index else None


@pytest.mark.parametrize("persistent", [False, True])
def test_a_killed_worker_is_reported_at_once(persistent):
    shm, files = segments(), len(os.listdir("/proc/self/fd"))
    dataset = Acting(lambda i: time.sleep(30 if i >= 9 else 0))
    loader = data.DataLoader(dataset, num_workers=2, persistent_workers=persistent)
    iterator = iter(loader)
    for _ in range(9):
        next(iterator)
    pids = [worker.process.pid for worker in iterator._workers]
    os.kill(pids[1], signal.SIGKILL)
    begin = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        next(iterator)
    assert time.monotonic() - begin < 1
    text = str(caught.value)
    assert f"DataLoader worker (pid(s) {pids[1]}) exited unexpectedly: worker 1" in text and "SIGKILL" in text
    assert not any(alive(pid) for pid in pids)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iterator)
    del iterator, caught
    assert segments() == shm and len(os.listdir("/proc/self/fd")) <= files + 1
    loader.dataset.act = lambda i: None
    assert len(list(loader)) == 24  # the loader can be used again
    if persistent:
        loader._iterator.close()


def die_of(number):
    faulthandler.disable()  # pytest's, which would print every frame
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("action, text", [
    (lambda: os._exit(3), "exited with code 3"), (lambda: os._exit(0), "exited with code 0"),
    (lambda: sys.exit(4), "exited with code 4"), (lambda: die_of(signal.SIGSEGV), "SIGSEGV"),
    (lambda: die_of(signal.SIGBUS), "shared memory"), (lambda: die_of(signal.SIGTERM), "SIGTERM"),
])
def test_other_deaths(action, text):
    with pytest.raises(RuntimeError, match=f"worker 1 .*{text}"):
        list(data.DataLoader(Acting(at(5, action)), num_workers=2))


@pytest.mark.slow
def test_workers_killed_at_any_moment():
    """Never a hang, never a wrong or missing batch, always the report within a second."""
    import random

    rng = random.Random(0)
    files = len(os.listdir("/proc/self/fd"))
    for turn in range(30):
        dataset = Acting(lambda i: time.sleep(0.001), n=4000)  # takes longer than the killer waits
        iterator = iter(data.DataLoader(dataset, batch_size=4, num_workers=2, persistent_workers=turn % 2 == 0))
        pid = iterator._workers[turn % 2].process.pid
        killer = threading.Timer(rng.random() * 0.1, os.kill, (pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(RuntimeError, match=f"pid {pid}. is killed by signal: Killed"):
            for number, batch in enumerate(iterator):
                assert batch[:, 7].tolist() == [4 * number + i for i in range(4)]
        killer.join()
        del iterator
    assert len(os.listdir("/proc/self/fd")) <= files + 4  # a batch, and the iterator of the last traceback


def test_a_worker_killed_in_the_middle_of_a_message():
    """Half a message in the socket must not be waited for."""
    from minitorch.utils.data import channel

    ours, theirs = channel.pair()
    theirs.send(channel.HEADER.pack(1000, 0) + b"half")
    theirs.close()
    assert ours.receive() == [] and ours.ended
    ours.close()


def test_timeout():
    iterator = iter(data.DataLoader(Acting(lambda i: time.sleep(30)), num_workers=2, timeout=0.2))
    pids = [worker.process.pid for worker in iterator._workers]
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        next(iterator)
    assert time.monotonic() - begin < 5
    del iterator
    assert time.monotonic() - begin < 15 and not any(alive(pid) for pid in pids)


def test_a_worker_that_does_not_end_is_ended():
    def stubborn(i):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)

    iterator = iter(data.DataLoader(Acting(stubborn), num_workers=1))
    pid = iterator._workers[0].process.pid
    time.sleep(0.3)
    begin = time.monotonic()
    iterator.close()
    assert time.monotonic() - begin < 15 and not alive(pid)


def test_no_shared_memory_left():
    def starve(worker_id):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # a file, also one of memory, can hold no more

    loader = data.DataLoader(Acting(lambda i: None), batch_size=4, num_workers=2, worker_init_fn=starve)
    with pytest.warns(RuntimeWarning, match="32,000 bytes of shared memory could not be reserved") as caught:
        batches = [batch[:, 0].tolist() for batch in loader]
    assert batches == [[i, i + 1, i + 2, i + 3] for i in range(0, 24, 4)]
    assert len(caught) == 1 and "--shm-size" in str(caught[0].message)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system has no anonymous shared memory")
def test_a_full_dev_shm_does_not_matter_on_linux(program):
    """In a name space of our own, /dev/shm is a file system of 64 KB, and full."""
    script = program("""
        import numpy as np, minitorch
        from minitorch.utils.data import DataLoader
        class Big:
            def __len__(self): return 8
            def __getitem__(self, i): return np.full(1_000_000, i, np.float32)
        open("/dev/shm/full", "wb", buffering=0).write(bytes(60_000))
        print([int(batch[0, 0]) for batch in DataLoader(Big(), num_workers=2)])
    """)
    mount = "mount -t tmpfs -o size=64k tmpfs /dev/shm && exec \"$0\" \"$@\""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount]
    try:
        if subprocess.run([*command, "true"], capture_output=True, timeout=LIMIT).returncode:
            pytest.skip("this user may not mount")
    except FileNotFoundError:
        pytest.skip("no unshare")
    done = subprocess.run([*command, sys.executable, str(script)], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout == "[0, 1, 2, 3, 4, 5, 6, 7]\n", done.stderr


def test_a_full_disk_where_there_is_no_anonymous_memory(monkeypatch):
    """The other way to get shared memory: a file whose name is removed at once, all of it reserved."""
    import tempfile

    from minitorch.utils.data import memory

    monkeypatch.delattr(os, "memfd_create", raising=False)
    before = segments()
    descriptor = memory.anonymous_file(10_000)
    assert os.fstat(descriptor).st_size == 10_000 and segments() == before
    os.close(descriptor)
    files = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "posix_fallocate", lambda *a: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        memory.anonymous_file(10_000)
    assert len(os.listdir("/proc/self/fd")) == files and segments() == before
    loader = data.DataLoader(Acting(lambda i: None, n=4), num_workers=1, multiprocessing_context="fork")
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert [int(b[0, 0]) for b in loader] == [0, 1, 2, 3]
    assert tempfile.gettempdir()


# -- programs

@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def start():
    """Runs a program; at the end of the test it, and the workers of its process group, are gone."""
    started = []

    def run(path, *arguments):
        command = [sys.executable, "-u", str(path), *arguments]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True))
        return started[-1]

    yield run
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


LOOP = """
    import sys, time
    import numpy as np
    from minitorch.utils.data import DataLoader

    class Slow:
        def __len__(self): return 10_000
        def __getitem__(self, i):
            time.sleep(float(sys.argv[1]) if i > 4 else 0)
            return np.zeros(10_000)

    if __name__ == "__main__":
        loader = DataLoader(Slow(), num_workers=2, multiprocessing_context=sys.argv[2])
        for i, batch in enumerate(loader):
            print(i, flush=True)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("group", [True, False], ids=["terminal", "parent only"])
def test_ctrl_c(program, start, method, group):
    """The signal reaches all processes (as a terminal sends it) or the parent: KeyboardInterrupt, nothing left."""
    process = start(program(LOOP), "0.05", method)
    for _ in range(4):
        assert process.stdout.readline().strip().isdigit()
    workers = children(process.pid)
    assert len(workers) >= 2
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == -signal.SIGINT or process.returncode == 130 or process.returncode == 1
    assert errors.count("KeyboardInterrupt") == 1 and errors.count("Traceback") == 1, errors  # workers keep quiet
    wait_until(lambda: not any(alive(pid) for pid in workers), 5)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_killed_parent_takes_its_workers_along(program, start, method):
    process = start(program(LOOP), "0.05", method)
    for _ in range(4):
        assert process.stdout.readline().strip().isdigit()
    workers = [pid for child in children(process.pid) for pid in [child, *children(child)]]
    assert len(workers) >= 2
    process.kill()
    process.wait(LIMIT)
    wait_until(lambda: not any(alive(pid) for pid in workers), 10)


def test_a_killed_parent_with_two_loaders(program, start):
    """A worker forked later inherits the ends of the earlier loader's channels; it must not keep them open."""
    process = start(program("""
        import os, time, numpy as np
        from minitorch.utils.data import DataLoader
        class Numbers:
            def __len__(self): return 10_000
            def __getitem__(self, i): return np.zeros(10)
        iterators = [iter(DataLoader(Numbers(), num_workers=2)) for _ in range(2)]
        for iterator in iterators: next(iterator)
        print("ready", flush=True)
        time.sleep(60)
    """))
    assert process.stdout.readline() == "ready\n"
    workers = children(process.pid)
    assert len(workers) == 4
    process.kill()
    process.wait(LIMIT)
    wait_until(lambda: not any(alive(pid) for pid in workers), 10)


def test_a_program_that_ends_in_the_middle_of_an_epoch(program):
    """With the iterator still referenced, and with persistent workers: it ends at once and quietly."""
    path = program("""
        import time, numpy as np
        from minitorch.utils.data import DataLoader
        iterators = [iter(DataLoader(range(1000), num_workers=2, persistent_workers=p)) for p in (False, True)]
        print([next(iterator).item() for iterator in iterators], time.monotonic())
    """)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=LIMIT)
    numbers, _, reached = done.stdout.rpartition(" ")
    assert (done.returncode, numbers, done.stderr) == (0, "[0, 0]", "")
    assert time.monotonic() - float(reached) < 10


def test_spawn_without_the_guard_says_what_to_do(program):
    done = subprocess.run([sys.executable, str(program("""
        import numpy as np
        from minitorch.utils.data import DataLoader
        for batch in DataLoader(range(4), num_workers=1, multiprocessing_context="spawn"): print(batch)
    """))], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and done.stdout == ""
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_what_cannot_be_pickled_says_what_to_do(method):
    class Local(data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return i

    before = len(os.listdir("/proc/self/fd"))
    for options in ({"dataset": Local()}, {"dataset": range(3), "collate_fn": lambda samples: samples}):
        with pytest.raises((AttributeError, TypeError, Exception), match="pickle") as caught:
            iter(data.DataLoader(**options, num_workers=1, multiprocessing_context=method))
        assert "top level of a module" in str(caught.value) and "fork" in str(caught.value)
    assert len(os.listdir("/proc/self/fd")) <= before + 3  # what multiprocessing keeps for its fork server


def test_too_many_open_files(program):
    done = subprocess.run([sys.executable, str(program("""
        import os, resource
        import numpy as np
        from minitorch.utils.data import DataLoader
        class Big:
            def __len__(self): return 100
            def __getitem__(self, i): return np.zeros(5000)
        iterator = iter(DataLoader(Big(), num_workers=1))
        opened = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened - 1, opened - 1))
        kept = list(iterator)
    """))], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "oo many open files" in done.stderr.splitlines()[-1], done.stderr
