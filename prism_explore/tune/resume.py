"""A run of tuning that was saved, told again: what its trials gave is taken over, and then the run goes on.

It begins anew with its first proposal and is given the saved outcome instead of a kernel's time. So strategy, pool and
bounds come to where they were, and what is proposed next is what would have been proposed next. Nothing is compiled
or timed for a trial that was saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    Event,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    PlayedOff,
    TrialFailed,
    TrialMeasured,
)
from prism_explore.events.replay_journal import Retold
from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Parameters, Timed
from prism_explore.tune.runner.race import Race
from prism_explore.tune.strategies.local_search import Key, Point, Pool


@dataclass(frozen=True, slots=True)
class Saved:
    """A trial that was saved, as far as it says before its outcome."""

    key: Key
    modelled_s: float
    source: str
    """Of its kernel; empty where the code generator refused."""

    def point(self, pool: Pool) -> Point | None:
        """Where it is in a pool; None where its candidate is not there."""
        name, numbers = self.key
        entrant = next((e for e in pool.entrants if e.verified.candidate.id == name), None)
        if entrant is None:
            return None
        symbols = entrant.verified.candidate.sgraph.parameters
        sizes = tuple(n for n in numbers if n[0] in symbols)
        schedule = tuple(n for n in numbers if n[0] not in symbols)
        return Point(entrant.verified, Parameters(sizes, schedule), self.modelled_s)


class Again:
    """What saved facts say of one run of tuning; nothing in a journal that is not told again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal if isinstance(journal, Retold) else None
        self._began_s: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether there are saved facts to come, be they of this run or of what followed it."""
        return self._journal is not None and not self._journal.is_told

    @property
    def _upcoming(self) -> Event | None:
        return self._journal.upcoming if self._journal is not None else None

    @property
    def proposed(self) -> ParametersProposed | None:
        """The saved trial that comes next; None where none does."""
        fact = self._upcoming
        return fact if isinstance(fact, ParametersProposed) else None

    def trial(self, place: int) -> Saved | None:
        """The saved trial that comes behind so many others; None where none does."""
        left = self._journal.left() if self._journal is not None else ()
        proposed = [i for i, e in enumerate(left) if isinstance(e, ParametersProposed)]
        if len(proposed) <= place or proposed[0] > 0:
            return None
        at = proposed[place]
        fact = left[at]
        assert isinstance(fact, ParametersProposed), "chosen above"
        source = next((e.source for e in left[at + 1 : at + 2] if isinstance(e, KernelGenerated)), "")
        return Saved((fact.candidate, fact.parameters), fact.modelled_s, source)

    @property
    def keys(self) -> set[Key]:
        """What is proposed in all saved facts to come."""
        left = self._journal.left() if self._journal is not None else ()
        return {(e.candidate, e.parameters) for e in left if isinstance(e, ParametersProposed)}

    @property
    def spent_s(self) -> float:
        """Seconds of the saved search from the run's first proposal to the fact that was told last."""
        return (
            self._journal.seconds() - self._began_s if self._journal is not None and self._began_s is not None else 0.0
        )

    def outcome(self, point: Point, shapes: Mapping[str, int], floor_s: float) -> tuple[Outcome, bool | None] | None:
        """What came of the trial that was proposed last; its kernel's source is told with it.

        Returns:
            Its outcome, and whether it took the incumbent's place, None where the facts end before they say so; no
            outcome where the trial was cancelled.
        """
        journal = self._journal
        assert journal is not None, "there are saved facts"
        self._began_s = journal.seconds() if self._began_s is None else self._began_s
        made, fact = journal.upcoming, journal.upcoming
        if isinstance(made, KernelGenerated):
            journal.tell()
            fact = journal.upcoming
        match fact:
            case TrialFailed():
                journal.tell()
                numbers = point.parameters
                return Infeasible(point.verified.candidate, numbers, fact.reason.code, fact.reason.sentence), False
            case TrialMeasured() if isinstance(made, KernelGenerated):
                journal.tell()
                improved = None if journal.is_told else isinstance(journal.upcoming, IncumbentImproved)
                return _timed(point, shapes, floor_s, made, fact), improved
            case _:
                return None

    @property
    def play_off(self) -> PlayedOff | None:
        """The saved play-off that comes next; None where none does."""
        fact = self._upcoming
        return fact if isinstance(fact, PlayedOff) else None

    def measured(self, before: Timed) -> Timed | None:
        """What the winner of a play-off took when it was measured again; None where somebody stopped it before."""
        fact = self._upcoming
        return with_times(before, fact) if isinstance(fact, TrialMeasured) else None


def with_times(timed: Timed, of: Race | TrialMeasured) -> Timed:
    """The same kernel with the times of another race, or of what was saved of it."""
    return replace(timed, time_s=of.time_s, p20_s=of.p20_s, p80_s=of.p80_s, samples=of.samples, waited=of.waited)


def _timed(
    point: Point, shapes: Mapping[str, int], floor_s: float, made: KernelGenerated, fact: TrialMeasured
) -> Timed:
    backend = "cpu" if made.backend == "cpu" else "triton"
    kernel = Kernel(point.verified, point.parameters, tuple(sorted(shapes.items())), backend, made.source)
    return Timed(kernel, fact.time_s, fact.p20_s, fact.p80_s, fact.samples, fact.error, floor_s, fact.waited)
