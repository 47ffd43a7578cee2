"""Client of the egglog process (`server`): starts it, sends requests, enforces limits, pools processes.

Limits hold even if egglog does not respond: a process that exceeds its time limit is killed, and one that exceeds its
memory limit ends. Both are ordinary results.
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

from prism_explore.verify import axioms
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
    Step,
    StopReason,
    TimeLimit,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement in egglog's syntax."""

    facts: str
    left: str
    right: str


class EgglogClient:
    """A client of one egglog process; a context manager.

    The process starts with the first request, and again after it was killed. It uses the rows that `axioms.AXIOMS` and
    `axioms.CONDITIONS` have when the client is created. A client serves one thread at a time.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self.memory_bytes = memory_bytes
        self.axioms = axioms.AXIOMS
        self._conditions = axioms.CONDITIONS
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self._unread = b""
        self._ready = False
        self.uses = 0
        """Number of requests sent."""

    def __enter__(self) -> EgglogClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id, if a process runs."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process."""
        process, self._process, self._unread, self._ready = self._process, None, b"", False
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # output that the ended process did not read
                        pipe.close()
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def start(self) -> None:
        """Start the process without waiting until it is ready."""
        if self._process is not None:
            return
        package = str(Path(__file__).resolve().parents[3])
        inherited = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "RAYON_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([package, inherited] if inherited else [package]),
        }
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "prism_explore.verify.egraph.server", str(self.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            start_new_session=True,  # so that an interrupt in a notebook does not reach it
        )
        table = {
            "axioms": [
                {"name": a.name, "left": a.left, "right": a.right, "when": a.conditions, "both_ways": a.both_ways}
                for a in self.axioms
            ],
            "conditions": [
                {"name": c.name, "premises": c.premises, "conclusion": c.conclusion} for c in self._conditions
            ],
        }
        with suppress(BrokenPipeError):  # the first request reports a process that ended
            self._send(table)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None, "the process was started with pipes"
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def prove(
        self,
        goal: Problem,
        limits: Limits,
        axioms: tuple[str, ...] = (),
        on_step: Callable[[Step], None] | None = None,
        unite_only: bool = False,
    ) -> Saturation:
        """Apply axioms until both sides are in one class or a limit is reached.

        Args:
            goal: the two sides and the facts.
            limits: the limits of the run.
            axioms: the names of the axioms; all of them if empty.
            on_step: called after each iteration.
            unite_only: whether axioms only unite terms of the facts, and add none.
        """
        steps: list[Step] = []

        def receive(plain: dict[str, Any]) -> None:
            steps.append(_step(plain))
            if on_step is not None:
                on_step(steps[-1])

        done = self._request("prove", goal, limits, axioms, receive, unite_only)
        return Saturation(_stop_reason(done, limits), tuple(steps))

    def minimize(self, goal: Problem, limits: Limits) -> Saturation:
        """Prove, then leave out axioms one after the other as long as the others suffice."""
        done = self._request("minimize", goal, limits, (), None)
        steps = tuple(_step(s) for s in done.get("steps", ()))
        return Saturation(_stop_reason(done, limits), steps, tuple(done.get("axioms", ())))

    def replay(self, goal: Problem, limits: Limits) -> Saturation:
        """Run a goal whose facts are a complete egglog program, rules included."""
        return Saturation(_stop_reason(self._request("replay", goal, limits, (), None), limits))

    def trace(
        self, goal: Problem, limits: Limits, axioms: tuple[str, ...] = (), unite_only: bool = False
    ) -> tuple[StopReason, tuple[dict[str, Any], ...]]:
        """Apply axioms one at a time; returns the e-graph at the start and after each change, see `trace`."""
        steps: list[dict[str, Any]] = []
        done = self._request("trace", goal, limits, axioms, steps.append, unite_only)
        return _stop_reason(done, limits), tuple(steps)

    def _request(
        self,
        what: str,
        goal: Problem,
        limits: Limits,
        axioms: tuple[str, ...],
        on_step: Callable[[dict[str, Any]], None] | None,
        unite_only: bool = False,
    ) -> dict[str, Any]:
        self.uses += 1
        self.start()
        process = self._process
        assert process is not None, "start leaves a process"
        request = {
            "do": what,
            "facts": goal.facts,
            "left": goal.left,
            "right": goal.right,
            "axioms": axioms,
            "iterations": limits.iterations,
            "nodes": limits.nodes,
            "seconds": limits.seconds,
            "unite_only": unite_only,
        }
        try:
            if not self._ready:
                ready = next(self._answers(process, STARTING_S), None)
                if ready is None and process.poll() is None:
                    self.close()
                    return {"stop": "crashed", "detail": f"the prover's process did not start within {STARTING_S:g} s"}
                self._ready = True
            self._send(request)
            # The process ends a run at its limit itself; it is killed only after the grace time.
            for part in self._answers(process, limits.seconds + GRACE_S):
                if "done" in part:
                    return part["done"]
                if on_step is not None:
                    on_step(part["step"])
        except BrokenPipeError:
            pass
        except BaseException:
            self.close()
            raise
        overdue = process.poll() is None
        detail = "" if overdue else self._failure(process)
        self.close()
        if overdue:
            return {"stop": "seconds"}
        if "memory allocation" in detail or "MemoryError" in detail:
            return {"stop": "memory"}
        return {"stop": "crashed", "detail": detail}

    def _answers(self, process: subprocess.Popen[bytes], seconds: float) -> Iterator[dict[str, Any]]:
        """Answers until the process ends or its time limit is reached; see `_CpuDeadline`."""
        assert process.stdout is not None, "the process was started with a pipe"
        deadline = _CpuDeadline(process.pid, seconds)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while (left := deadline.left_s()) > 0:
                while b"\n" in self._unread:
                    line, self._unread = self._unread.split(b"\n", 1)
                    yield json.loads(line)
                if waiting.select(left):
                    some = os.read(process.stdout.fileno(), 1 << 16)
                    if not some:
                        process.wait()
                        return
                    self._unread += some

    def _failure(self, process: subprocess.Popen[bytes]) -> str:
        assert self._stderr is not None, "the process was started with a file for its messages"
        self._stderr.seek(0)
        message = self._stderr.read().decode(errors="replace").strip()[-400:]
        return f"the prover's process ended with code {process.returncode}: {message or 'no message'}"


class _CpuDeadline:
    """A limit on a process's CPU time, or on wall time where CPU time cannot be read.

    Wall time is limited to `WALL_FACTOR` times the CPU time, for a process that does not progress because the cores are
    busy or because it was stopped.
    """

    def __init__(self, process: int, seconds: float) -> None:
        self._process, self._seconds = process, seconds
        self._began, self._spent = time.monotonic(), _cpu_of(process)

    def left_s(self) -> float:
        """Seconds to wait before the next check; 0 where the limit is reached."""
        waited = time.monotonic() - self._began
        now = _cpu_of(self._process)
        if waited < self._seconds or now is None or self._spent is None:
            return self._seconds - waited
        left = self._seconds - (now - self._spent)
        return max(left, 0.01) if left > 0 and waited < self._seconds * WALL_FACTOR else 0.0


def _cpu_of(process: int) -> float | None:
    """CPU time of a process in seconds; None where it cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


# ---------------------------------------------------------------- pool
class Pool:
    """A pool of idle egglog processes, because starting one takes longer than most requests.

    Each process serves one caller at a time; if none is idle, another starts. Up to `kept` returned processes stay idle
    until they are used again. They end with the interpreter, or by `close`. A process is replaced after `MAX_REQUESTS`
    requests, because egglog does not free all of its memory.
    """

    def __init__(self, kept: int = 2) -> None:
        self.kept = kept
        self._lock = threading.Lock()
        self._idle: list[tuple[int, EgglogClient]] = []

    @contextmanager
    def lease(self, memory_bytes: int = MEMORY_BYTES) -> Generator[EgglogClient, None, None]:
        """A client for the duration of a `with`; its process is kept afterwards."""
        with self._lock:
            fitting = [
                pair
                for pair in self._idle
                if pair[0] == os.getpid() and pair[1].memory_bytes == memory_bytes and pair[1].axioms is axioms.AXIOMS
            ]
            if fitting:
                self._idle.remove(fitting[-1])
        client = fitting[-1][1] if fitting else EgglogClient(memory_bytes)
        try:
            yield client
        finally:
            surplus = client
            if client.uses < MAX_REQUESTS:
                with self._lock:
                    self._idle.append((os.getpid(), client))
                    surplus = self._idle.pop(0)[1] if len(self._idle) > self.kept else None
            if surplus is not None:
                surplus.close()

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for owner, client in idle:
            if owner == os.getpid():
                client.close()


_POOL = Pool()
atexit.register(_POOL.close)


def shared_client(memory_bytes: int = MEMORY_BYTES) -> AbstractContextManager[EgglogClient]:
    """A client from this interpreter's pool."""
    return _POOL.lease(memory_bytes)


MAX_REQUESTS = 2000
"""Requests after which a process is replaced."""
STARTING_S = 20.0
"""CPU time in which a process must start; the time limit of a request begins afterwards."""
GRACE_S = 1.0
"""CPU time beyond its limit after which a run is killed inside an iteration."""
WALL_FACTOR = 60
"""Wall time of a request in multiples of its CPU time limit, on a busy machine."""


def _stop_reason(done: dict[str, Any], limits: Limits) -> StopReason:
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
