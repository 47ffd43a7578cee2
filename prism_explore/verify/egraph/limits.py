"""How a run of the prover ends: within which limits, why it stopped, and what can be seen of it.

All of it is plain data; the e-graph itself stays in the process that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

MEMORY_BYTES = 3 << 30
"""Address space that the prover's process may have; the libraries alone take part of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go."""

    iterations: int = 12
    nodes: int = 20_000
    seconds: float = 5.0
    """CPU time of the process that runs egglog: a busy machine changes no outcome."""
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
