"""Replay of a saved tuning run: trials get their saved outcomes, then the run continues with new trials.

The run starts again with its first proposal and receives the saved outcome instead of measuring. So strategy, pool and
bounds reach the same state, and the next proposal is the one that would have followed. Nothing is compiled or timed for
a saved trial. A run whose end was saved proposes what was saved: without a strategy, for which all sizes are ranked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    Event,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    PlayedOff,
    TrialFailed,
    TrialMeasured,
    TuningEnded,
)
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Parameters, Timed
from prism_explore.tune.runner.race import RaceTimes
from prism_explore.tune.space.pool import Key, Point, Pool


@dataclass(frozen=True, slots=True)
class ReplayedTrial:
    """A saved trial before its outcome."""

    key: Key
    modelled_s: float
    source: str
    """Of its kernel; empty if the code generator rejected the point."""

    def point(self, pool: Pool) -> Point | None:
        """The trial's point in a pool; None if its candidate is not there."""
        name, values = self.key
        candidate = pool.find(name)
        if candidate is None:
            return None
        symbols = candidate.verified.candidate.sgraph.parameters
        sizes = tuple(v for v in values if v[0] in symbols)
        schedule = tuple(v for v in values if v[0] not in symbols)
        return Point(candidate.verified, Parameters(sizes, schedule), self.modelled_s)


class SavedTrials:
    """The saved events of one tuning run that were not replayed yet; none if the journal is not a replay."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal if isinstance(journal, ReplayedJournal) else None
        self._start_s: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether saved events remain, of this run or of a later one."""
        return self._journal is not None and not self._journal.is_replayed

    @property
    def _upcoming(self) -> Event | None:
        return self._journal.next_saved if self._journal is not None else None

    def _remaining(self) -> Iterator[Event]:
        return self._journal.remaining() if self._journal is not None else iter(())

    @property
    def proposed(self) -> ParametersProposed | None:
        """The next event, if it is a proposal."""
        event = self._upcoming
        return event if isinstance(event, ParametersProposed) else None

    def trial(self, place: int) -> ReplayedTrial | None:
        """The saved trial after `place` others; None if there is none."""
        if self.proposed is None:
            return None
        left = self._remaining()
        event = next(islice((e for e in left if isinstance(e, ParametersProposed)), place, None), None)
        if event is None:
            return None
        after = next(left, None)
        source = after.source if isinstance(after, KernelGenerated) else ""
        return ReplayedTrial((event.candidate, event.parameters), event.modelled_s, source)

    def is_next(self, point: Point) -> bool:
        """Whether a point is that of the next saved trial."""
        saved = self.trial(0)
        return saved is not None and saved.key == point.key

    @property
    def is_complete(self) -> bool:
        """Whether the end of this run, or of a later one, was saved: then no new trial follows the saved ones."""
        return any(isinstance(e, TuningEnded) for e in self._remaining())

    @property
    def keys(self) -> set[Key]:
        """The points of all remaining proposals."""
        return {(e.candidate, e.parameters) for e in self._remaining() if isinstance(e, ParametersProposed)}

    @property
    def spent_s(self) -> float:
        """Seconds of the saved search from the run's first proposal to the last replayed event."""
        if self._journal is None or self._start_s is None:
            return 0.0
        return self._journal.replayed_s() - self._start_s

    def outcome(self, point: Point, shapes: Mapping[str, int], floor_s: float) -> tuple[Outcome, bool | None] | None:
        """Replay the outcome of the last proposal, and its kernel's source.

        Returns:
            The outcome, and whether the trial replaced the incumbent, None if the events end before; None instead of
            both if the trial was cancelled.
        """
        journal = self._journal
        assert journal is not None, "saved events remain"
        self._start_s = journal.replayed_s() if self._start_s is None else self._start_s
        generated, event = journal.next_saved, journal.next_saved
        if isinstance(generated, KernelGenerated):
            journal.replay_next()
            event = journal.next_saved
        match event:
            case TrialFailed():
                journal.replay_next()
                values = point.parameters
                return Infeasible(point.verified.candidate, values, event.reason.code, event.reason.sentence), False
            case TrialMeasured() if isinstance(generated, KernelGenerated):
                journal.replay_next()
                improved = None if journal.is_replayed else isinstance(journal.next_saved, IncumbentImproved)
                return _timed(point, shapes, floor_s, generated, event), improved
            case _:
                return None

    def replay_end(self) -> bool:
        """Whether it was saved why the run ended; the event is then replayed."""
        if not isinstance(self._upcoming, TuningEnded) or self._journal is None:
            return False
        self._journal.replay_next()
        return True

    @property
    def play_off(self) -> PlayedOff | None:
        """The next event, if it is the play-off."""
        event = self._upcoming
        return event if isinstance(event, PlayedOff) else None

    def measured_again(self, before: Timed) -> Timed | None:
        """The winner of a play-off with its new times; None if the run was stopped before."""
        event = self._upcoming
        return with_times(before, event) if isinstance(event, TrialMeasured) else None


def with_times(timed: Timed, of: RaceTimes | TrialMeasured) -> Timed:
    """The same kernel with the times of another race, measured or saved."""
    return replace(timed, time_s=of.time_s, p20_s=of.p20_s, p80_s=of.p80_s, samples=of.samples, waited=of.waited)


def _timed(
    point: Point, shapes: Mapping[str, int], floor_s: float, generated: KernelGenerated, event: TrialMeasured
) -> Timed:
    backend = "cpu" if generated.backend == "cpu" else "triton"
    kernel = Kernel(point.verified, point.parameters, tuple(sorted(shapes.items())), backend, generated.source)
    return Timed(kernel, event.time_s, event.p20_s, event.p80_s, event.samples, event.error, floor_s, event.waited)
