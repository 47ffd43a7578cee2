"""Comparison of symbolic search with concrete enumeration on one program, by the number of visited states.

Both use the same operators and pruning rules. The symbolic search enumerates graph structures, chooses maps for
complete ones, and leaves sizes to tuning. Concrete enumeration fixes sizes and maps first; see
`diagnose.concrete_enumerator`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from prism_explore.diagnose.concrete_enumerator import ConcreteSizes, Counts, enumerate_concrete
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateRejected, NodeExpanded
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.instantiate import instantiate
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import Space, default_space
from prism_explore.support.work_timer import WorkTimer
from prism_explore.targets import Target, target

STATES = 2_000_000
TIME_S = 60.0


@dataclass(frozen=True, slots=True)
class ConcreteComparison:
    """States visited and families found by both methods."""

    program: str
    nodes: int
    """Partial graphs that the symbolic search kept."""
    maps: int
    """Choices of maps that it tried for complete graphs, rejected ones included."""
    families: int
    symbolic_s: float
    """CPU seconds of this thread."""
    concrete: Counts
    concrete_s: float
    common: int
    """Families that both have."""

    @property
    def states(self) -> int:
        """Number of states that the symbolic search visited."""
        return self.nodes + self.maps

    @property
    def ratio(self) -> float:
        """States of the enumeration per state of the symbolic search; a lower bound where a budget ended it."""
        return self.concrete.states / self.states

    def __repr__(self) -> str:
        ended = ", where its budget ended it" if self.concrete.out_of_budget else ""
        return (
            f"{self.program}: symbolic {self.states:,} states ({self.nodes:,} graphs, {self.maps:,} maps), "
            f"{self.families} families, {self.symbolic_s:.2f} s; concrete {self.concrete.states:,} states "
            f"({self.concrete.searched:,} choices of sizes and maps searched of {self.concrete.maps:,}, "
            f"{self.concrete.kept:,} graphs), {len(self.concrete.families)} families, {self.concrete_s:.2f} s{ended}; "
            f"{self.ratio:,.0f} times as many"
        )


def compare_with_concrete(
    program: TensorProgram,
    at: Mapping[str, int],
    *,
    sizes: ConcreteSizes | None = None,
    space: Space | None = None,
    on: str | Target = "h100",
    states: int = STATES,
    time_s: float = TIME_S,
    clock: Callable[[], float] = time.thread_time,
) -> ConcreteComparison:
    """Count what the symbolic search and concrete enumeration visit on one program.

    Args:
        program: the program to search for.
        at: sizes of its symbols, which concrete enumeration needs.
        sizes: the sizes that enumeration tries; None is `ConcreteSizes()`.
        space: the search space of both; split kernels are disabled.
        on: the target.
        states: budget of states for the enumeration.
        time_s: CPU seconds for the enumeration.
        clock: the time in seconds.

    Returns:
        The counts of states, families and seconds on both sides.

    Raises:
        ShapeError: a symbol has no size, or the space has more than one custom kernel.
        TargetUnavailable: unknown target.

    Source: concrete enumeration as in Mirage, arXiv 2405.05751, section 4.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> found = px.compare_with_concrete(program, {"b": 4}, states=1000, time_s=1.0)
        >>> type(found).__name__
        'ConcreteComparison'
    """
    space, machine = replace(space or default_space(program), results=0), on if isinstance(on, Target) else target(on)
    table = ExpressionNumbers()
    journal = Journal()
    watch = WorkTimer(float("inf"), clock)
    ours: set[tuple[int, ...]] = set()
    maps = 0
    with watch:
        for family in generate(program, space, machine, journal):
            if family is not None:
                maps += sum(1 for _ in instantiate(family, space, machine, journal))
                ours.add(table.number_graph(family.sgraph.substitute(at)))
    counts = Counts()
    limit = WorkTimer(time_s, clock)
    with limit:
        for _ in enumerate_concrete(
            program, space, machine, at, sizes or ConcreteSizes(), counts, states=states, is_over=limit.is_over
        ):
            pass
    theirs = {table.number_graph(graph) for graph in counts.families.values()}
    events = journal.events
    return ConcreteComparison(
        program.name,
        sum(isinstance(e, NodeExpanded) for e in events),
        maps + sum(isinstance(e, CandidateRejected) for e in events),
        len(ours),
        watch.spent_s,
        counts,
        limit.spent_s,
        len(ours & theirs),
    )
