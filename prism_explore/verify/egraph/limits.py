"""Limits of equality saturation, reasons to stop, and the result of a run.

All of it is plain data; the e-graph itself stays in the process that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

MEMORY_BYTES = 3 << 30
"""Address space of the egglog process; the libraries alone take part of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    iterations: int = 12
    nodes: int = 20_000
    seconds: float = 5.0
    """CPU time of the egglog process, so a busy machine changes no result."""
    memory_bytes: int = MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Proved:
    """Both sides are in one e-class."""


@dataclass(frozen=True, slots=True)
class Saturated:
    """The e-graph is saturated and the two sides are in different classes: these axioms do not prove the equation."""


@dataclass(frozen=True, slots=True)
class IterationLimit:
    """The limit of iterations was reached."""

    iterations: int


@dataclass(frozen=True, slots=True)
class NodeLimit:
    """The limit of e-nodes was exceeded."""

    nodes: int


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The time limit was reached; a process inside an iteration was killed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The process exceeded its memory limit."""

    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process ended, or egglog panicked."""

    detail: str


@dataclass(frozen=True, slots=True)
class NotStated:
    """The two sides could not be stated over common axes; nothing was run."""

    detail: str


StopReason: TypeAlias = Proved | Saturated | IterationLimit | NodeLimit | TimeLimit | MemoryLimit | Crashed | NotStated


def explain(stop: StopReason) -> str:
    """The reason as a text; part of the file format."""
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
    """The size of the e-graph after one iteration; iteration 0 is the input."""

    iteration: int
    nodes: int
    classes: int
    matches: tuple[tuple[str, int], ...]
    """Matches per axiom, without axioms that did not match."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The result of a run: why it stopped, its iterations, and the axioms that it needed."""

    stop: StopReason
    steps: tuple[Step, ...] = ()
    axioms: tuple[str, ...] = ()
    """If requested: axioms that suffice, none of which can be left out within the limits."""

    @property
    def equal(self) -> bool:
        """Whether both sides were proved equal; False is no proof that they differ."""
        return isinstance(self.stop, Proved)


def readable(literal: str) -> str:
    """A number or a string of egglog in plain notation."""
    if literal.startswith("Ratio"):
        above, below = (part.split(":")[1] for part in literal.strip("Ratio {}").split(","))
        return above.strip() if below.strip() == "1" else f"{above.strip()}/{below.strip()}"
    return literal.strip('"')
