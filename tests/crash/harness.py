"""Processes that are ended at any instant: what they leave is examined, in processes of their own.

Each process is forked from this one, which has imported the package and runs no thread.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import importlib
import mmap
import os
import random
import shutil
import signal
import sqlite3
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile, zip_longest
from pathlib import Path

from prism_explore.events.event_stream import FLUSHED
from prism_explore.events.journal import Entry, Journal
from prism_explore.events.kinds import Event, ParametersProposed, RivalTimed, TrialMeasured
from prism_explore.session import autosave
from prism_explore.session.session import Session
from prism_explore.session.small_files import SUFFIXES
from prism_explore.tune.database import Database
from tests.crash.workloads import DATABASE, OTHER, SAVED, Workload

MARK = "PRISM_CRASH_TRIAL"
"""The environment variable by which all processes of a trial are found."""
LOSS_S = autosave.PERIOD_S + 1.0
"""Events older than this must be in the file: a period of saving, and the time of an append on a busy machine."""
MOST_S = 300.0
"""After which a process hangs; each interrupt has it start its workers again."""
END_S = 20.0
"""Within which the other processes of a killed one end."""
POLL_S = 0.01
TOO_LONG = 124
STACKS = "stacks"
"""Where a process that hangs writes what its threads are at."""
STACKS_S = 2.0
"""The time that it has for that."""
ENDINGS = {"kill": 1, "interrupt": 4, "kill a worker": 4}
"""What is done to a process, and how often in one trial: an interrupt or a killed worker does not end it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A workload, how it is ended, and the seed of the instants."""

    workload: Workload
    ending: str
    seed: int

    def __str__(self) -> str:
        return f"{self.workload.name}, {self.ending}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial."""

    instants: int
    """At which a process was killed or interrupted; the workload may have ended before the others."""
    seconds: float
    """Until the process ended."""
    problems: tuple[str, ...]
    """Everything that is not as it should be, as sentences."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A workload that nothing ended."""

    seconds: float
    events: tuple[Event, ...]


def whole(workload: Workload) -> Whole:
    """Run a workload to its end, after its imports."""
    for name in workload.imports:
        importlib.import_module(name)
    with _new_folder() as folder:
        began_s = time.monotonic()
        status = _wait(_fork(lambda: _work(workload, folder, None), folder), MOST_S)
        assert status == 0, f"{workload.name} ended with status {status} although nothing ended it"
        return Whole(time.monotonic() - began_s, Journal.load(folder / SAVED).events)


def attempt(trial: Trial, reference: Whole) -> Outcome:
    """End a workload at an instant, or interrupt it or kill its workers at several, and examine what it leaves."""
    draw = random.Random(str(trial))
    instants_s = sorted(draw.uniform(0.0, 1.05 * reference.seconds) for _ in range(ENDINGS[trial.ending]))
    with (
        _new_folder() as folder,
        mmap.mmap(-1, 8) as counted,
        _started(lambda: _work(trial.workload, folder, counted), folder) as pid,
    ):
        began_s = time.monotonic()
        seen, done = [(began_s, 0)], 0
        for instant_s in instants_s:
            while time.monotonic() - began_s < instant_s and not _has_ended(pid):
                time.sleep(POLL_S)
                seen.append((time.monotonic(), int.from_bytes(counted[:], "little")))
            done += _strike(pid, trial.ending, folder, draw)
        owed = max((count for at_s, count in seen if at_s <= time.monotonic() - LOSS_S), default=0)
        status = _wait(pid, MOST_S)
        seconds = time.monotonic() - began_s
        allowed = (0, -signal.SIGKILL) if trial.ending == "kill" else (0,)
        problems = [] if status in allowed else [f"the process ended with status {status}"]
        if status == TOO_LONG:
            problems.append(f"after {MOST_S} s its threads were at:\n{(folder / 'tmp' / STACKS).read_text()}")
        until_s = time.monotonic() + END_S
        while (left := _marked(folder)) and time.monotonic() < until_s:
            time.sleep(POLL_S)
        if left:
            problems.append(f"processes are left: {', '.join(map(_described, left))}")
        for orphan in left:
            os.kill(orphan, signal.SIGKILL)
        said = folder.with_suffix(".said")
        examined = _wait(_fork(lambda: _examine(folder, reference, owed, status == 0, said), folder), MOST_S)
        if examined:
            problems.append(said.read_text() if said.exists() else f"the examination ended with status {examined}")
            said.unlink(missing_ok=True)
        return Outcome(done, seconds, tuple(problems))


def _strike(pid: int, ending: str, folder: Path, draw: random.Random) -> bool:
    """Kill or interrupt a process, or kill one that it started; whether there was one that had not ended."""
    if _has_ended(pid):
        return False
    targets = _marked(folder) if ending == "kill a worker" else [pid]
    try:
        os.kill(draw.choice(targets), signal.SIGINT if ending == "interrupt" else signal.SIGKILL)
    except (IndexError, ProcessLookupError):  # there is none, or it has just ended
        return False
    return True


# ---------------------------------------------------------------- in the process that is ended
def _work(workload: Workload, folder: Path, counted: mmap.mmap | None) -> None:
    sess, has_ended = None, False
    while True:  # as in a notebook: an interrupted cell ends, and is run again
        try:
            if sess is None:
                sess = workload.start(folder)
            if sess.autosave is None and not has_ended:
                sess.journal.listeners[:] = [partial(_count, counted)]
                sess.autosave = folder / SAVED
            while sess.state not in ("finished", "cancelled"):
                workload.work(sess, folder)
            has_ended = True
            sess.close()
            sess.autosave = False
            break
        except KeyboardInterrupt:
            continue


def _count(counted: mmap.mmap | None, entry: Entry) -> None:
    if counted is not None:
        counted[:] = (entry.seq + 1).to_bytes(8, "little")


# ---------------------------------------------------------------- in the process that examines what is left
def _examine(folder: Path, reference: Whole, owed: int, has_ended: bool, said: Path) -> None:
    problems = list(_problems(folder, reference, owed, has_ended))
    if problems:
        said.write_text("; ".join(problems))
        os._exit(1)


def _problems(folder: Path, reference: Whole, owed: int, has_ended: bool) -> Iterator[str]:
    if (folder / DATABASE).exists():
        held = Database(folder / DATABASE).contents()  # a query rolls back what was not committed
        with contextlib.closing(sqlite3.connect(folder / DATABASE)) as file:
            if (whole := file.execute("pragma integrity_check").fetchone()[0]) != "ok":
                yield f"the database of trials is damaged: {whole}"
    else:
        held = ()
    cached = {p.name for suffix in (".prism", *SUFFIXES) for p in (folder / "cache").glob(f"*{suffix}")}
    journal = f"{DATABASE}-journal"  # one without a page that was written; SQLite deletes it at its next write
    known = {SAVED, OTHER, DATABASE, journal, STACKS, "here", "tmp", "cache", "torch", *cached}
    ours = (p for p in folder.rglob("*") if not p.is_relative_to(folder / "torch"))
    if left := [str(p.relative_to(folder)) for p in ours if p.name not in known]:
        yield f"files {left} are left"
    if not (folder / SAVED).exists() or not (folder / SAVED).read_bytes().endswith(FLUSHED):
        if owed:
            yield f"of {owed} events nothing is saved"
        return
    saved = Journal.load(folder / SAVED).events
    if len(saved) < owed:
        yield f"{len(saved)} events are saved; {owed} were noted more than {LOSS_S} s before the end"
    expected = _untimed(reference.events)
    for name in (SAVED, OTHER):
        if (folder / name).exists():
            found = _untimed(Journal.load(folder / name).events)
            if found != expected[: len(found)]:
                pairs = zip_longest(found, expected[: len(found)])
                yield f"of {name}: " + next(f"event {n} is {a}, not {b}" for n, (a, b) in enumerate(pairs) if a != b)
    timed = sum(isinstance(event, TrialMeasured) for event in saved)
    if (folder / DATABASE).exists() and sum(group.timed for group in held) < timed - 1:
        yield f"{timed} trials are saved, and the database has {held}"
    if has_ended and _untimed(saved) != expected:
        yield f"the search ended with {len(saved)} events, expected {len(reference.events)}"
    with Session.load(folder / SAVED) as sess:
        if sess.journal.events[: len(saved)] != saved[: len(sess.journal.events)]:
            yield "the search that was loaded has other events than the file"
        if len(expected) == len(reference.events):
            sess.run()
            if sess.journal.events != reference.events:
                yield "the search that was loaded and continued has other events than the one that nothing ended"


def _untimed(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events before the first trial or measured time; they are the same in every run."""
    return tuple(takewhile(lambda event: not isinstance(event, ParametersProposed | RivalTimed), events))


# ---------------------------------------------------------------- processes
@contextlib.contextmanager
def _new_folder() -> Generator[Path]:
    """A folder for one trial; a `TemporaryDirectory` would be removed by the forked processes, too."""
    folder = Path(tempfile.mkdtemp())
    try:
        for name in ("here", "tmp", "cache", "torch"):
            (folder / name).mkdir()
        yield folder
    finally:
        shutil.rmtree(folder)


def _fork(work: Callable[[], object], folder: Path) -> int:
    """The id of a process that does something with its files in a folder, and then ends as an interpreter does."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        os.environ |= {
            MARK: str(folder),
            "TMPDIR": str(folder / "tmp"),
            "PRISM_EXPLORE_CACHE": str(folder / "cache"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        }
        tempfile.tempdir = None
        os.chdir(folder / "here")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.register(signal.SIGUSR1, (folder / "tmp" / STACKS).open("w"))
        work()
        atexit._run_exitfuncs()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


@contextlib.contextmanager
def _started(work: Callable[[], object], folder: Path) -> Generator[int]:
    """A forked process, see `_fork`; an interrupt of this process kills it and those that it started."""
    pid = _fork(work, folder)
    try:
        yield pid
    except BaseException:
        for left in (pid, *_marked(folder)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        raise


def _has_ended(pid: int) -> bool:
    """Whether a process of this one has ended; it can still be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(pid: int, most_s: float) -> int:
    """The exit status of a process; it is killed if it takes too long."""
    until_s = time.monotonic() + most_s
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until_s:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(STACKS_S)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return TOO_LONG
        time.sleep(POLL_S)
    return os.waitstatus_to_exitcode(ended[1])


def _described(pid: int) -> str:
    """The state, the CPU time in ticks, and the command of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return f"{pid} (has ended now)"
    return f"{pid} ({fields[0]}, {fields[11]} ticks, {command.strip()[-120:]})"


def _marked(folder: Path) -> list[int]:
    """The processes that those of a trial started."""
    mark = f"{MARK}={folder}".encode()
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
