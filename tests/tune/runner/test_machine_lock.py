"""The machine lock: shared while compiling, exclusive while timing, across processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Kernel
from prism_explore.tune import TuneRequest, tune
from prism_explore.tune.runner import machine_lock as lock_module
from prism_explore.tune.runner.bench import CheckPassed, Failure, Samples
from prism_explore.tune.runner.machine_lock import MachineLock, open_machine_lock
from prism_explore.tune.runner.trial import CANCELLED, Incumbent, TrialResult, TrialRunner
from tests.search.test_worker_pool import Here
from tests.session.test_session import session
from tests.tune.benches import PureBench, backend
from tests.tune.test_tune import SHAPES
from tests.tune.toys import TOY, fused, kernel


@pytest.fixture
def lock(tmp_path: Path) -> MachineLock:
    return open_machine_lock(tmp_path / "lock")


def is_free(lock: MachineLock, exclusive: bool) -> bool:
    """Whether a turn would come at once."""
    with (lock.exclusive if exclusive else lock.shared)(lambda: True) as came:
        return came


def test_timing_excludes_everything_and_compilation_is_shared(lock: MachineLock) -> None:
    assert is_free(lock, exclusive=True)
    with lock.exclusive():
        assert not is_free(lock, exclusive=True)
        assert not is_free(lock, exclusive=False)
    with lock.shared():
        assert not is_free(lock, exclusive=True)
        assert is_free(lock, exclusive=False)
    assert is_free(lock, exclusive=True)


def work(path: Path, seed: int) -> int:
    """Take the lock many times, of either kind; each is logged when it begins and before it ends."""
    lock, rng = MachineLock(path), Random(seed)
    log = os.open(path.with_suffix(".log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for _ in range(25):
        exclusive = rng.random() < 0.5
        with lock.exclusive() if exclusive else lock.shared():
            os.write(log, b"A" if exclusive else b"t")
            time.sleep(rng.random() * 0.002)
            os.write(log, b"a" if exclusive else b"T")
    os.close(log)
    return os.getpid()


def test_no_two_turns_overlap_of_which_one_is_alone_in_threads_and_processes(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        ThreadPoolExecutor(2) as threads,
    ):
        given = [pool.submit(work, path, seed) for seed in range(2) for pool in (processes, threads)]
        pids = {g.result() for g in given}
    alone, together = 0, 0
    for letter in (written := path.with_suffix(".log").read_text()):
        alone += {"A": 1, "a": -1}.get(letter, 0)
        together += {"t": 1, "T": -1}.get(letter, 0)

        assert alone in (0, 1)
        assert not (alone and together)
    assert 200 == len(written)
    assert len(pids) > 1


def test_a_turn_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = f"""
import pathlib, time
from prism_explore.tune.runner.machine_lock import MachineLock
with MachineLock(pathlib.Path({str(path)!r})).exclusive():
    print("mine", flush=True)
    time.sleep(3600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"mine\n" == process.stdout.readline()
        assert not is_free(MachineLock(path), exclusive=True)
        process.kill()

    assert is_free(MachineLock(path), exclusive=True)


def test_who_waits_may_be_stopped(lock: MachineLock) -> None:
    asked: list[None] = []
    with lock.exclusive(), lock.exclusive(lambda: bool(asked.append(None)) or len(asked) > 2) as came:
        assert not came
    assert 3 == len(asked)


# ---------------------------------------------------------------- the file
def test_the_file_is_this_user_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    open_machine_lock(path)

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_what_somebody_else_put_in_its_place_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("mine")
    link, folder = tmp_path / "link", tmp_path / "folder"
    link.symlink_to(own)
    folder.mkdir()
    for path in (link, folder):
        with pytest.raises(px.TargetUnavailable, match=r"lock the machine by the file .*, which cannot be locked"):
            open_machine_lock(path)

    assert "mine" == own.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_somebody_else_s_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    os.chown(path, 12345, 12345)

    with pytest.raises(px.TargetUnavailable, match="cannot be locked: "):
        open_machine_lock(path)


def test_without_flock_a_session_with_workers_is_rejected_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lock_module, "system_has_locks", lambda: False)
    budget, executor = px.Budget(at_once=2), Here()
    with pytest.raises(px.TargetUnavailable, match=r"use Budget\(at_once=1\) or no executor"):
        px.Session(fused().candidate.family.program, at=SHAPES, target=TOY, budget=budget, executor=executor)
    found = tune(TuneRequest([fused()], SHAPES, TOY, Journal(), budget=budget, backend=backend(), executor=executor))
    with pytest.raises(px.TargetUnavailable):
        next(found)
    session(executor=executor).close()
    px.Session(fused().candidate.family.program, at=SHAPES, target=TOY, budget=budget).close()


# ---------------------------------------------------------------- whose turn it is
class Spying(PureBench):
    """Records whether the lock is free while it works."""

    def __init__(self, lock: MachineLock) -> None:
        super().__init__()
        self.lock = lock
        self.seen: set[tuple[str, bool, bool]] = set()

    def look(self, what: str) -> None:
        self.seen.add((what, is_free(self.lock, exclusive=False), is_free(self.lock, exclusive=True)))

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        self.look("check")
        return super().check(key, kernel)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        self.look("time")
        return super().time(keys, rounds)


ONE, TWO = (kernel(fused(), (("gx", gx), ("f", 4))) for gx in (1, 2))


def test_a_trial_compiles_with_a_shared_lock_and_is_timed_with_an_exclusive_one(lock: MachineLock) -> None:
    bench = Spying(lock)
    found = TrialRunner(bench, 1.0, lock).run("u2", TWO, Incumbent("u1", ONE, 1.0))

    assert isinstance(found, TrialResult)
    assert {("check", True, False), ("time", False, False)} == bench.seen


def test_without_other_processes_nothing_is_locked() -> None:
    bench = Spying(MachineLock(None))
    TrialRunner(bench, 1.0, bench.lock).run("u1", ONE, None)

    assert {("check", True, True), ("time", True, True)} == bench.seen


def test_a_trial_that_is_stopped_while_waiting_is_cancelled_without_a_failure(lock: MachineLock) -> None:
    bench = PureBench()
    with lock.exclusive():
        assert CANCELLED == TrialRunner(bench, 1.0, lock, stop=lambda: True).run("u1", ONE, None)
        assert CANCELLED == TrialRunner(bench, 1.0, lock, stop=lambda: True).run("u2", TWO, Incumbent("u1", ONE, 1.0))
    with lock.shared():
        assert CANCELLED == TrialRunner(bench, 1.0, lock, stop=lambda: True).run("u1", ONE, None)
    assert not bench.raced
