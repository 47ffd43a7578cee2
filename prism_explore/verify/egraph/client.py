"""The open line to the process that runs egglog (`worker`).

No limit depends on the process's good will: it is killed when its time is up, it dies when it asks for
more memory than it may have, and either is an outcome like any other.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from prism_explore.verify.egraph.limits import (
    MEMORY_BYTES,
    Crashed,
    IterationLimit,
    Limits,
    MemoryLimit,
    NodeLimit,
    Proved,
    Saturated,
    Saturation,
    Snapshot,
    SnapshotClass,
    Step,
    StopReason,
    TimeLimit,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement in egglog's text."""

    facts: str
    left: str
    right: str


class Rewriter:
    """An open line to a process that runs egglog; a context manager.

    The process starts with the first request and starts anew after it had to be killed. Used by one
    thread at a time.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self.memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._noise: IO[bytes] | None = None
        self._unread = b""
        self._ready = False
        self.uses = 0
        """How many questions were asked."""

    def __enter__(self) -> Rewriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process."""
        process, self._process, self._unread, self._ready = self._process, None, b"", False
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # what a dead process was still to be sent
                        pipe.close()
        if self._noise is not None:
            self._noise.close()
            self._noise = None

    def start(self) -> None:
        """Start the process without waiting for it; other work can go on meanwhile."""
        if self._process is not None:
            return
        package = str(Path(__file__).resolve().parents[3])
        inherited = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "RAYON_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([package, inherited] if inherited else [package]),
        }
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "prism_explore.verify.egraph.server", str(self.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
            env=environment,
            start_new_session=True,  # an interrupt in a notebook is not meant for it
        )

    def prove(
        self,
        goal: Problem,
        limits: Limits,
        axioms: tuple[str, ...] = (),
        snapshot: int = 0,
        on_step: Callable[[Step], None] | None = None,
        joining: bool = False,
    ) -> Saturation:
        """Apply axioms (all, or those named) until both sides meet or a limit is hit.

        With `joining` they add no terms; they only join those that the facts put there.
        """
        steps: list[Step] = []

        def seen(plain: dict[str, Any]) -> None:
            steps.append(_step(plain))
            if on_step is not None:
                on_step(steps[-1])

        done = self._ask("prove", goal, limits, axioms, snapshot, seen, joining)
        picture = done.get("snapshot")
        return Saturation(_stop(done, limits), tuple(steps), _picture(picture) if picture else None)

    def minimise(self, goal: Problem, limits: Limits, axioms: tuple[str, ...] = ()) -> Saturation:
        """Prove, then leave axioms out one after the other as long as the rest suffices."""
        done = self._ask("minimise", goal, limits, axioms, 0, None)
        steps = tuple(_step(s) for s in done.get("steps", ()))
        return Saturation(_stop(done, limits), steps, None, tuple(done.get("axioms", ())))

    def replay(self, goal: Problem, limits: Limits) -> Saturation:
        """Run a goal whose facts are a whole program of egglog, rules included."""
        return Saturation(_stop(self._ask("replay", goal, limits, (), 0, None), limits))

    def watch(
        self, goal: Problem, limits: Limits, axioms: tuple[str, ...] = (), joining: bool = False
    ) -> tuple[StopReason, tuple[dict[str, Any], ...]]:
        """Apply axioms one at a time; the e-graph at the start and behind each that changed it, see `watch`."""
        seen: list[dict[str, Any]] = []
        done = self._ask("watch", goal, limits, axioms, 0, seen.append, joining)
        return _stop(done, limits), tuple(seen)

    def _ask(
        self,
        what: str,
        goal: Problem,
        limits: Limits,
        axioms: tuple[str, ...],
        snapshot: int,
        seen: Callable[[dict[str, Any]], None] | None,
        joining: bool = False,
    ) -> dict[str, Any]:
        self.uses += 1
        self.start()
        process = self._process
        assert process is not None and process.stdin is not None, "start leaves a process with pipes"
        request = {
            "do": what,
            "facts": goal.facts,
            "left": goal.left,
            "right": goal.right,
            "axioms": axioms,
            "iterations": limits.iterations,
            "nodes": limits.nodes,
            "seconds": limits.seconds,
            "snapshot": snapshot,
            "joining": joining,
        }
        try:
            if not self._ready:
                said = next(self._answers(process, STARTING_S), None)
                if said is None and process.poll() is None:
                    self.close()
                    return {"stop": "crashed", "detail": f"the prover's process did not start within {STARTING_S:g} s"}
                self._ready = True
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            # A process that ends by itself in time answers within its own limit.
            for part in self._answers(process, limits.seconds + GRACE_S):
                if "done" in part:
                    return part["done"]
                if seen is not None:
                    seen(part["step"])
        except BrokenPipeError:
            pass
        except BaseException:
            self.close()
            raise
        overdue = process.poll() is None
        detail = "" if overdue else self._last_words(process)
        self.close()
        if overdue:
            return {"stop": "seconds"}
        if "memory allocation" in detail or "MemoryError" in detail:
            return {"stop": "memory"}
        return {"stop": "crashed", "detail": detail}

    def _answers(self, process: subprocess.Popen[bytes], seconds: float) -> Iterator[dict[str, Any]]:
        """Answers until the process ends or its time is up; see `_Patience`."""
        assert process.stdout is not None, "the process was started with a pipe"
        patience = _Patience(process.pid, seconds)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while (left := patience.left()) > 0:
                while b"\n" in self._unread:
                    line, self._unread = self._unread.split(b"\n", 1)
                    yield json.loads(line)
                if waiting.select(left):
                    some = os.read(process.stdout.fileno(), 1 << 16)
                    if not some:
                        process.wait()
                        return
                    self._unread += some

    def _last_words(self, process: subprocess.Popen[bytes]) -> str:
        assert self._noise is not None, "the process was started with a place for its messages"
        self._noise.seek(0)
        words = self._noise.read().decode(errors="replace").strip()[-400:]
        return f"the prover's process ended with code {process.returncode}: {words or 'no message'}"


class _Patience:
    """How long to wait for a process that may take so many seconds of CPU time, or of time where no more is known.

    A process that gets nothing done, because others have the cores or because it was stopped, is waited for
    `PATIENCE` times as long.
    """

    def __init__(self, process: int, seconds: float) -> None:
        self._process, self._seconds = process, seconds
        self._began, self._spent = time.monotonic(), _cpu_of(process)

    def left(self) -> float:
        """Seconds until it is worth asking again; none where its time is up."""
        waited = time.monotonic() - self._began
        now = _cpu_of(self._process)
        if waited < self._seconds or now is None or self._spent is None:
            return self._seconds - waited
        left = self._seconds - (now - self._spent)
        return max(left, 0.01) if left > 0 and waited < self._seconds * PATIENCE else 0.0


def _cpu_of(process: int) -> float | None:
    """Seconds of CPU time that a process has taken; None where that cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


# ---------------------------------------------------------------- processes that are kept
class Pool:
    """Processes that wait between uses, so that none has to be started for a question of milliseconds.

    Each is lent to one caller at a time; where all are lent, another starts. What is given back waits
    for the next caller, up to `kept` of them. They end with the interpreter, or by `close`. A process that has
    answered `USES` times is replaced, so what egglog does not give back does not pile up.
    """

    def __init__(self, kept: int = 2) -> None:
        self.kept = kept
        self._lock = threading.Lock()
        self._idle: list[tuple[int, Rewriter]] = []

    @contextmanager
    def lent(self, memory_bytes: int = MEMORY_BYTES) -> Generator[Rewriter, None, None]:
        """A rewriter for the time of a `with`; its process stays."""
        with self._lock:
            mine = [pair for pair in self._idle if pair[1].memory_bytes == memory_bytes and pair[0] == os.getpid()]
            if mine:
                self._idle.remove(mine[-1])
        rewriter = mine[-1][1] if mine else Rewriter(memory_bytes)
        try:
            yield rewriter
        finally:
            surplus = rewriter
            if rewriter.uses < USES:
                with self._lock:
                    self._idle.append((os.getpid(), rewriter))
                    surplus = self._idle.pop(0)[1] if len(self._idle) > self.kept else None
            if surplus is not None:
                surplus.close()

    def close(self) -> None:
        """End the processes that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for owner, rewriter in idle:
            if owner == os.getpid():
                rewriter.close()


_POOL = Pool()
atexit.register(_POOL.close)


def shared(memory_bytes: int = MEMORY_BYTES) -> AbstractContextManager[Rewriter]:
    """A rewriter of the pool that all of one interpreter share."""
    return _POOL.lent(memory_bytes)


USES = 2000
"""How many questions one process answers before a fresh one takes its place."""
STARTING_S = 20.0
"""How long a process may take to start before it counts as hanging, in seconds of CPU time.

No question's time begins before."""
GRACE_S = 1.0
"""How long an iteration may go on behind the time limit before the process is killed, in seconds of CPU time."""
PATIENCE = 60
"""How many times its CPU time a process may take where others have the cores."""


def _stop(done: dict[str, Any], limits: Limits) -> StopReason:
    match done["stop"]:
        case "proved":
            return Proved()
        case "saturated":
            return Saturated()
        case "iterations":
            return IterationLimit(limits.iterations)
        case "nodes":
            return NodeLimit(limits.nodes)
        case "seconds":
            return TimeLimit(limits.seconds)
        case "memory":
            return MemoryLimit(limits.memory_bytes)
        case _:
            return Crashed(str(done.get("detail", "no message")))


def _step(plain: dict[str, Any]) -> Step:
    return Step(plain["iteration"], plain["nodes"], plain["classes"], tuple(plain["matches"].items()))


def _picture(plain: dict[str, Any]) -> Snapshot:
    classes = tuple(
        SnapshotClass(c["id"], tuple((n["op"], tuple(n["children"])) for n in c["nodes"])) for c in plain["classes"]
    )
    return Snapshot(tuple(plain["roots"]), classes, plain["all_nodes"], plain["all_classes"])
