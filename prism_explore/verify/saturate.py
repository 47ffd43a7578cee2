"""Saturation within limits: ask the prover's process, and say why it stopped.

`prove_equal` is for two normal forms that differ, where only a search can tell. `Rewriter` is the open line
to the process (`worker`) that a certificate uses for its many small lemmas. No limit depends on the
process's good will: it is killed when its time is up, and it dies when it asks for more memory than
it may have. The caller only ever sees plain data.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeAlias, assert_never

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import SaturationStepped
from prism_explore.verify.axioms import number
from prism_explore.verify.normal_form import NormalForm
from prism_explore.verify.statement import CannotState, Statement, spell, state
from prism_explore.verify.terms import (
    Add,
    At,
    Call,
    Exp,
    Expr,
    Fresh,
    Inv,
    Mul,
    Num,
    Size,
    Sqrt,
    Sum,
    of_dim,
    of_normal_form,
    walk,
)

MEMORY_BYTES = 3 << 30
"""Address space that the prover's process may have; the libraries alone take part of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go."""

    iterations: int = 12
    nodes: int = 20_000
    seconds: float = 5.0
    memory_bytes: int = MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Proved:
    """Both sides met in one e-class."""


@dataclass(frozen=True, slots=True)
class Saturated:
    """No axiom adds anything any more, and the sides have not met: these axioms do not prove it."""


@dataclass(frozen=True, slots=True)
class IterationLimit:
    """The last allowed iteration is over."""

    iterations: int


@dataclass(frozen=True, slots=True)
class NodeLimit:
    """The e-graph has more nodes than allowed."""

    nodes: int


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The time is up; where an iteration did not end by itself, the process was killed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The process asked for more memory than it may have."""

    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process, or a panic in egglog, ended the run."""

    detail: str


@dataclass(frozen=True, slots=True)
class NotStated:
    """The two sides could not be put into one statement; nothing was tried."""

    detail: str


StopReason: TypeAlias = Proved | Saturated | IterationLimit | NodeLimit | TimeLimit | MemoryLimit | Crashed | NotStated


def explain(stop: StopReason) -> str:
    """The reason as words that complete *not proved:*."""
    match stop:
        case Proved():
            return "proved"
        case Saturated():
            return "the axioms add nothing more and the two sides have not met"
        case IterationLimit(n):
            return f"limit of {n} iterations"
        case NodeLimit(n):
            return f"limit of {n} e-nodes"
        case TimeLimit(s):
            return f"limit of {s:g} s"
        case MemoryLimit(n):
            return f"limit of {n >> 20} MiB of memory"
        case Crashed(detail) | NotStated(detail):
            return detail
        case _:
            assert_never(stop)


@dataclass(frozen=True, slots=True)
class Step:
    """The e-graph behind one iteration; iteration 0 is what was put in."""

    iteration: int
    nodes: int
    classes: int
    matches: tuple[tuple[str, int], ...]
    """Matches per axiom, those that matched."""


@dataclass(frozen=True, slots=True)
class SnapshotClass:
    """An e-class: its stable id and its e-nodes, each a label and the ids of the classes below."""

    id: str
    nodes: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The part of an e-graph that is nearest to the two sides, in whole classes."""

    roots: tuple[str, ...]
    """The classes of the two sides, left first; equal where they met."""
    classes: tuple[SnapshotClass, ...]
    all_nodes: int
    all_classes: int

    @property
    def shown_nodes(self) -> int:
        """How many e-nodes are here."""
        return sum(len(c.nodes) for c in self.classes)

    @property
    def left_out(self) -> str:
        """What is not here, as a sentence; empty where nothing is missing."""
        nodes, classes = self.all_nodes - self.shown_nodes, self.all_classes - len(self.classes)
        if not nodes and not classes:
            return ""
        return f"{nodes} of {self.all_nodes} e-nodes and {classes} of {self.all_classes} e-classes are not shown"


@dataclass(frozen=True, slots=True)
class Saturation:
    """A run: why it stopped, what happened on the way, which axioms it took."""

    stop: StopReason
    steps: tuple[Step, ...] = ()
    snapshot: Snapshot | None = None
    axioms: tuple[str, ...] = ()
    """Where asked for: axioms that suffice, none of which can be left out within the limits."""

    @property
    def equal(self) -> bool:
        """Whether the two sides were proved equal; no is not a proof that they differ."""
        return isinstance(self.stop, Proved)


# ---------------------------------------------------------------- egglog's spelling
@dataclass(frozen=True, slots=True)
class Problem:
    """A statement in egglog's text."""

    facts: str
    left: str
    right: str


def problem(statement: Statement) -> Problem:
    """What egglog is told: the two sides, the axes, and on which axes each element does not depend."""
    named = {a.name: a for a in statement.axes}
    stated = [statement.left, statement.right, *statement.hints, *(e for pair in statement.renamed for e in pair)]
    summed: dict[str, None] = {}
    leaves: dict[At, None] = {}
    for e in (inner for side in stated for inner in walk(side)):
        if isinstance(e, Sum):
            summed.setdefault(e.axis.name)
        elif isinstance(e, At):
            leaves.setdefault(e)
    pending = list(summed)
    while pending:
        for part in named[pending.pop()].digits or ():
            if part not in summed:
                summed.setdefault(part)
                pending.append(part)
    for a in statement.axes:
        if a.digits and a.name not in summed and set(a.digits) <= set(summed):
            summed.setdefault(a.name)
    facts: list[str] = []
    for name in summed:
        a = named[name]
        facts.append(f'(axis "{name}")')
        facts.append(f'(extent "{name}" {egglog(of_dim(a.extent))})')
        if a.digits:
            facts.append(f'(digits "{name}" "{a.digits[0]}" "{a.digits[1]}")')
    for leaf in leaves:
        met = frozenset[str]().union(*(statement.coordinates(n) for i in leaf.index for n in i.free))
        facts += [
            f'(independent {egglog(leaf)} "{name}")' for name in summed if not named[name].digits and name not in met
        ]
    facts += [f"(renamed {egglog(a)} {egglog(b)})" for a, b in statement.renamed]
    facts += [egglog(e) for e in statement.hints]
    return Problem("\n".join(facts), egglog(statement.left), egglog(statement.right))


def egglog(e: Expr) -> str:
    """An expression in egglog's text; an element is one opaque word."""
    match e:
        case At():
            return f'(At "{spell(e)[4:-1].replace(chr(34), chr(39))}")'
        case Num(value):
            return f"(Num {number(value.numerator, value.denominator)})"
        case Size(symbol):
            return f'(Size "{symbol}")'
        case Add(a, b):
            return f"(Add {egglog(a)} {egglog(b)})"
        case Mul(a, b):
            return f"(Mul {egglog(a)} {egglog(b)})"
        case Inv(a):
            return f"(Inv {egglog(a)})"
        case Sqrt(a):
            return f"(Sqrt {egglog(a)})"
        case Exp(a):
            return f"(Exp {egglog(a)})"
        case Call(fn, a):
            return f'(Call "{fn}" {egglog(a)})'
        case Sum(axis, a):
            return f'(Sum "{axis.name}" {egglog(a)})'
        case _:
            assert_never(e)


# ---------------------------------------------------------------- the process
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

    def __enter__(self) -> Rewriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        process, self._process, self._unread = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._noise is not None:
            self._noise.close()
            self._noise = None

    def start(self) -> None:
        """Start the process without waiting for it; other work can go on meanwhile."""
        if self._process is not None:
            return
        package = str(Path(__file__).resolve().parents[2])
        inherited = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            "RAYON_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([package, inherited] if inherited else [package]),
        }
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "prism_explore.verify.worker", str(self.memory_bytes)],
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
    ) -> Saturation:
        """Apply axioms (all, or those named) until both sides meet or a limit is hit."""
        steps: list[Step] = []

        def seen(plain: dict[str, Any]) -> None:
            steps.append(_step(plain))
            if on_step is not None:
                on_step(steps[-1])

        done = self._ask("prove", goal, limits, axioms, snapshot, seen)
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

    def _ask(
        self,
        what: str,
        goal: Problem,
        limits: Limits,
        axioms: tuple[str, ...],
        snapshot: int,
        seen: Callable[[dict[str, Any]], None] | None,
    ) -> dict[str, Any]:
        fresh = self._process is None
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
        }
        # A process that ends by itself in time answers within its own limit; the rest is for starting.
        deadline = time.monotonic() + limits.seconds + (STARTING_S if fresh else GRACE_S)
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            for part in self._answers(process, deadline):
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

    def _answers(self, process: subprocess.Popen[bytes], deadline: float) -> Iterator[dict[str, Any]]:
        """Answers until the process ends or the time is up."""
        assert process.stdout is not None, "the process was started with a pipe"
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
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


STARTING_S = 20.0
"""How long a process may take to start on a busy machine before it counts as hanging, in seconds."""
GRACE_S = 1.0
"""How long an iteration may go on behind the time limit before the process is killed, in seconds."""


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


# ---------------------------------------------------------------- two normal forms
def prove_equal(
    goal: NormalForm,
    found: NormalForm,
    limits: Limits = Limits(),
    journal: Journal | None = None,
    subject: str = "",
    snapshot: int = 0,
) -> Saturation:
    """Whether the axioms prove two normal forms equal, tried in a process of its own.

    Args:
        goal: what the program computes.
        found: what the candidate computes.
        limits: hard ones; the process is killed where it does not stop by itself.
        journal: where each iteration is noted, if anywhere.
        subject: what the notes are about.
        snapshot: how many e-nodes of the final e-graph to bring back; 0 for none.
    """
    fresh = Fresh()
    try:
        statement = state(of_normal_form(found, fresh), of_normal_form(goal, fresh))
    except (CannotState, ValueError) as error:
        return Saturation(NotStated(str(error)))
    with Rewriter(limits.memory_bytes) as rewriter:
        return rewriter.prove(problem(statement), limits, (), snapshot, noting(journal, subject))


def noting(journal: Journal | None, subject: str) -> Callable[[Step], None]:
    """What notes each iteration behind the first in a journal."""

    def note(step: Step) -> None:
        if journal is not None and step.iteration:
            journal.note(SaturationStepped(subject, step.iteration, step.nodes, step.classes, dict(step.matches)))

    return note
