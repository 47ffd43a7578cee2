"""A kernel that crashes, hangs or exhausts memory ends only its worker."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner import worker as worker_module
from prism_explore.tune.runner.bench import CheckPassed, Failure, Samples
from prism_explore.tune.runner.worker import Worker, WorkerLimits
from tests.tune.toys import (
    CHATTY,
    EXIT,
    HANG,
    HOG,
    LATE_AFTER,
    LATE_BEFORE,
    LATE_RESULT_AFTER,
    LATE_RESULT_BEFORE,
    LATE_SCRATCH_AFTER,
    LATE_SCRATCH_BEFORE,
    NAN,
    NO_COMPILE,
    READ_AFTER,
    READ_BEFORE,
    RESULT_AFTER,
    RESULT_BEFORE,
    SCRATCH_AFTER,
    SEGFAULT,
    TOY,
    WRITE_INPUT,
    fused,
    kernel,
    rmsnorm_linear,
)

SIZES = (("gx", 2), ("f", 4))
LIMITS = WorkerLimits(check_s=60.0, memory_bytes=16 << 30)
GOOD = kernel(fused(), SIZES)


def make(limits: WorkerLimits = LIMITS, stop: Callable[[], bool] = lambda: False) -> Worker:
    return Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", limits=limits, stop=stop)


@pytest.fixture(scope="module", params=[fork_server.IS_SUPPORTED, False], ids=["forked", "started"])
def shared(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "IS_SUPPORTED", request.param)
        with make() as worker:
            yield worker


def state_of(pid: int | None) -> str:
    """The letter of its state, once it has changed to the one that a signal asked for."""
    time.sleep(0.05)
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows a process's environment")
@pytest.mark.parametrize(("given", "said"), [(None, b"4"), ({"OMP_NUM_THREADS": "2"}, b"2")])
def test_the_threads_of_libraries_are_those_at_import_or_the_argument(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str] | None, said: bytes
) -> None:
    monkeypatch.setattr(worker_module, "AT_IMPORT", {"OMP_NUM_THREADS": "4"})
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as a Dask LocalCluster sets it in its process
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", threads=given) as worker:
        assert isinstance(worker.check("u1", GOOD), CheckPassed)
        variables = Path(f"/proc/{worker.pid}/environ").read_bytes().split(b"\0")

    assert b"OMP_NUM_THREADS=" + said in variables
    assert not any(v.startswith(b"MKL_NUM_THREADS") for v in variables)
    assert f"PATH={os.environ['PATH']}".encode() in variables


def test_nothing_starts_before_it_is_needed() -> None:
    assert make().pid is None


def test_a_good_kernel_is_compared_and_timed_in_another_process(shared: Worker) -> None:
    checked = shared.check("u1", GOOD)
    found = shared.time(["u1"], 3)

    assert isinstance(checked, CheckPassed)
    assert 0 < checked.error < 1e-5
    assert isinstance(found, Samples)
    assert 3 == len(found.times_s["u1"])
    assert shared.pid not in (None, os.getpid())
    assert shared.is_cold


@pytest.mark.parametrize(
    ("behave", "code", "words"),
    [
        (SEGFAULT, "tune.crash", "the worker died of SIGSEGV while compiling and comparing"),
        (READ_AFTER, "tune.crash", "the worker died of SIGSEGV while compiling and comparing"),
        (READ_BEFORE, "tune.crash", "the worker died of SIGSEGV while compiling and comparing"),
        (WRITE_INPUT, "tune.crash", "the worker died of SIGSEGV while compiling and comparing"),
        (RESULT_AFTER, "tune.crash", "the worker died of SIGSEGV while compiling and comparing"),
        (RESULT_BEFORE, "tune.crash", "the kernel wrote before result 0"),
        (SCRATCH_AFTER, "tune.crash", "the kernel wrote beyond an intermediate tensor or the scratch of a thread"),
        (EXIT, "tune.crash", "the worker died of exit status 3 while compiling and comparing"),
        (HOG, "tune.memory", "out of memory while running"),
        (NAN, "tune.wrong", "rows of very different magnitude: the result holds NaN where the program has a number"),
        (NO_COMPILE, "tune.compile", "ValueError: register 33 of 32"),
    ],
)
def test_a_bad_kernel_is_a_failure_and_the_next_one_works(shared: Worker, behave: int, code: str, words: str) -> None:
    found = shared.check("bad", kernel(fused(), SIZES, behave=behave))

    assert isinstance(found, Failure)
    assert code == found.code
    assert found.reason.startswith(words)
    assert isinstance(shared.check("u2", GOOD), CheckPassed)


BESIDE_INPUT = "a kernel wrote before or after an input"
BEYOND_OWN = "the kernel wrote beyond an intermediate tensor or the scratch of a thread"


@pytest.mark.parametrize(
    ("behave", "what"),
    [
        (LATE_AFTER, BESIDE_INPUT),
        (LATE_BEFORE, BESIDE_INPUT),
        (LATE_RESULT_AFTER, "the kernel wrote after result 0"),
        (LATE_RESULT_BEFORE, "the kernel wrote before result 0"),
        (LATE_SCRATCH_AFTER, BEYOND_OWN),
        (LATE_SCRATCH_BEFORE, BEYOND_OWN),
    ],
)
def test_a_kernel_that_writes_outside_while_it_is_timed_is_a_failure_and_the_next_one_works(
    shared: Worker, behave: int, what: str
) -> None:
    checked = shared.check("late", kernel(fused(), SIZES, behave=behave))
    found = shared.time(["late"], 1)

    assert isinstance(checked, CheckPassed)
    assert found == Failure("tune.crash", f"{what} while it was timed")
    assert isinstance(shared.check("u4", GOOD), CheckPassed)
    assert isinstance(shared.time(["u4"], 1), Samples)


def test_a_hanging_kernel_is_ended_in_time() -> None:
    with make(WorkerLimits(check_s=1.0)) as worker:
        worker.request({"do": "drop", "key": "nobody"}, 60.0)  # starts it, so that only the kernel's time counts
        pid = worker.pid
        found = worker.check("u1", kernel(fused(), SIZES, behave=HANG))

        assert Failure("tune.hang", "no answer within 1 s while compiling and comparing; the worker was ended") == found
        assert pid is not None
        assert not is_alive(pid)
        assert worker.pid is None


def test_a_kernel_that_prints_does_not_disturb_the_answers(shared: Worker) -> None:
    found = shared.check("u3", kernel(fused(), SIZES, behave=CHATTY))

    assert isinstance(found, CheckPassed)
    assert found.error > 0.0


def test_the_incumbent_survives_the_crash_of_another_kernel(shared: Worker) -> None:
    shared.check("incumbent", GOOD)
    before = shared.pid
    shared.check("bad", kernel(fused(), SIZES, behave=SEGFAULT))
    shared.check("u4", GOOD)
    found = shared.time(["incumbent", "u4"], 2)

    assert isinstance(found, Samples)
    assert {"incumbent": 2, "u4": 2} == {k: len(t) for k, t in found.times_s.items()}
    assert before != shared.pid


def test_stopping_ends_a_worker_at_once() -> None:
    asked: list[float] = []

    def stop() -> bool:
        asked.append(0.0)
        return len(asked) > 3

    with make(stop=stop) as worker:
        found = worker.check("u1", kernel(fused(), SIZES, behave=HANG))

        assert isinstance(found, Failure)
        assert "tune.cancelled" == found.code
        assert worker.pid is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows the state of a process")
def test_while_a_kernel_is_timed_the_other_workers_are_stopped() -> None:
    states: list[str] = []
    with make() as other:
        other.check("u1", GOOD)

        @contextmanager
        def look() -> Iterator[None]:
            states.append(state_of(other.pid))
            yield

        with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", undisturbed=look) as own:
            own.check("u1", GOOD)
            assert isinstance(own.time(["u1"], 1), Samples)
        assert isinstance(other.time(["u1"], 1), Samples)

    assert states == ["T"]


def test_workers_of_searches_side_by_side_time_one_after_the_other() -> None:
    timing: list[int] = []
    most: list[int] = []

    @contextmanager
    def count() -> Iterator[None]:
        timing.append(1)
        most.append(len(timing))
        yield
        timing.pop()

    def race(_: int) -> bool:
        with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", undisturbed=count) as worker:
            worker.check("u1", GOOD)
            return all(isinstance(worker.time(["u1"], 2), Samples) for _ in range(4))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(race, range(3)))

    assert most == [1] * 12


def test_closing_leaves_no_process() -> None:
    with make() as worker:
        worker.check("u1", GOOD)
        pid = worker.pid
    assert pid is not None

    assert not is_alive(pid)
    assert worker.pid is None


def test_a_worker_does_not_outlive_its_parent() -> None:
    code = (
        "import os\n"
        "from tests.tune.runner.test_worker import make, GOOD\n"
        "worker = make()\n"
        "worker.check('u1', GOOD)\n"
        "print(worker.pid, flush=True)\n"
        "os._exit(0)\n"  # neither atexit nor a context manager gets a chance
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    pid = int(said.stdout)
    until = time.monotonic() + 20
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)

    assert not is_alive(pid)


def test_a_loader_that_does_not_exist_is_a_failure() -> None:
    with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:nothing", limits=LIMITS) as worker:
        found = worker.check("u1", GOOD)

    assert isinstance(found, Failure)
    assert "has no attribute 'nothing'" in found.reason
