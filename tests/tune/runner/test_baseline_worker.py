"""A worker that prepares baselines in the background, and is stopped while kernels are timed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prism_explore.events.fastest import EAGER, NOT_WAITED_FOR, OURS
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.frontend import trace
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.baseline_table import BASELINES, Baseline
from prism_explore.tune.runner.baseline_worker import BaselineWorker
from prism_explore.tune.runner.baselines import compare_with_baselines
from tests.tune.runner.test_baselines import HERE, KERNEL, LOADER, reference
from tests.tune.runner.test_worker import is_alive

pytestmark = pytest.mark.skipif(not fork_server.IS_SUPPORTED, reason="processes are stopped on Linux only")

PROGRAM = KERNEL.verified.candidate.family.program
SLOW = Baseline("slow", "never ready", 60.0, "tests.tune.runner.test_baseline_worker:never_ready", compiles=True)


def never_ready(_: Any) -> Any:
    time.sleep(600)


def made(*baselines: Baseline) -> BaselineWorker:
    traced = trace(reference, {i.name: i.type for i in PROGRAM.inputs})
    return BaselineWorker(dict.fromkeys(baselines, traced), PROGRAM, {"b": 4}, HERE, LOADER)


def race(started: BaselineWorker | None, wait_s: float) -> dict[str, BaselineMeasured]:
    rows = compare_with_baselines(
        reference,
        KERNEL,
        HERE,
        Journal(),
        baselines=(EAGER,),
        more=(SLOW,),
        rounds=3,
        loader=LOADER,
        store_rates=lambda _: None,
        started=started,
        wait_s=wait_s,
    )
    return {row.name: row for row in rows}


def wait_until(holds: Callable[[], bool], limit_s: float = 60.0) -> bool:
    deadline_s = time.monotonic() + limit_s
    while not holds() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return holds()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("early", [False, True], ids=["at the race", "earlier"])
def test_a_baseline_that_is_still_compiled_is_not_waited_for_and_the_others_are_timed(early: bool) -> None:
    with made(BASELINES[0], SLOW) if early else contextlib.nullcontext() as started:
        if started is not None:
            started.start()
            assert wait_until(lambda: started.worker.pid is not None)
        rows = race(started, wait_s=1.0)

    assert [3, 3, 0] == [rows[name].samples for name in (OURS, EAGER, "slow")]
    assert rows["slow"].note.startswith(NOT_WAITED_FOR)
    assert 'sess.best("all rivals")' in rows["slow"].note


def test_what_was_prepared_earlier_is_timed_at_once_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with made(BASELINES[0]) as started:
        started.start()
        ready, failures = started.prepare({})
        pid = started.worker.pid
        assert (["torch eager"], {}) == (ready, failures)
        for _ in range(2):
            assert [OURS, EAGER] == started.prepare({}, KERNEL)[0]
            assert pid == started.worker.pid


def test_a_worker_that_rested_prepares_its_baselines_again() -> None:
    with made(BASELINES[0], SLOW) as started:
        started.start()
        assert wait_until(lambda: started.worker.pid is not None)
        started.rest()
        assert started.worker.pid is None
        ready, failures = started.prepare({}, wait_s=0.0)

    assert ["torch eager"] == ready
    assert ["slow"] == list(failures)
    assert failures["slow"].startswith(NOT_WAITED_FOR)


def test_a_stopped_worker_gets_no_processor_time() -> None:
    with made(BASELINES[0]) as started:
        started.prepare({})
        pid = started.worker.pid
        assert pid is not None
        with started.stopped():
            assert wait_until(lambda: "T" == state_of(pid))
        assert wait_until(lambda: "T" != state_of(pid))


def test_a_server_that_is_held_continues_when_it_is_released_or_a_timing_ends() -> None:
    with made(BASELINES[0]) as started:
        started.prepare({})
        server = fork_server._servers[True].pid
        for stopped in (started.stopped, contextlib.nullcontext):
            fork_server.hold()
            assert wait_until(lambda: "T" == state_of(server))
            with stopped():
                pass
            if stopped is contextlib.nullcontext:
                fork_server.release()
            assert wait_until(lambda: "T" != state_of(server))


def printed_pid(code: str) -> int:
    """The process id that a process with this code prints before it kills itself."""
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    return int(found.stdout)


def test_a_server_that_was_held_when_its_parent_died_ends() -> None:
    code = (
        "import os, signal\n"
        "from prism_explore.tune.runner import fork_server, worker\n"
        "worker.start_fork_servers(('json',))\n"
        "fork_server.hold()\n"
        "print(fork_server._servers[True].pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    pid = printed_pid(code)

    assert wait_until(lambda: not is_alive(pid))


def test_a_worker_that_was_stopped_when_its_parent_died_ends_and_its_files_are_deleted(tmp_path: Path) -> None:
    code = (
        "import os, signal, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "from tests.tune.runner.test_baseline_worker import BASELINES, made\n"
        "started = made(BASELINES[0])\n"
        "started.prepare({})\n"
        "assert os.listdir(tempfile.tempdir)\n"
        "with started.stopped():\n"
        "    print(started.worker.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    pid = printed_pid(code)

    assert wait_until(lambda: not is_alive(pid))
    assert wait_until(lambda: not list(tmp_path.iterdir()))
