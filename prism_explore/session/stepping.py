"""Steps of a search: the iterator that the engine advances, the conditions at which it pauses, and its replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, get_args

from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, ExplorationFinished, FamilyCompleted, VerdictReached
from prism_explore.events.phases import phase_of
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.search.explore import Progress, Task, explore
from prism_explore.session.engine import Engine, IsDone, wait
from prism_explore.session.steering import SteeringLog

Grain: TypeAlias = Literal["event", "candidate", "family", "phase"]


def search_steps(
    task: Task, journal: Journal, steering: SteeringLog, progress: Progress, is_cancelled: Callable[[], bool]
) -> Iterator[None]:
    """The search, step by step; decisions take effect between two steps."""
    end = object()

    def begin() -> Iterator[object]:
        return explore(task, journal, lambda: steering.effective, progress, is_cancelled)

    search = begin()
    while True:
        steering.begin_step()
        has_decisions = False
        try:
            has_ended = next(search, end) is end
        finally:
            has_decisions = steering.end_step()
        steering.apply_predicates()
        if has_ended and not has_decisions:
            return
        if has_ended:
            search = begin()
        yield


def after_steps(journal: Journal, n: int, grain: Grain) -> IsDone:
    """The condition that `n` more steps were done.

    Args:
        journal: of the search.
        n: the number of steps.
        grain: what counts as a step: an event, a decided candidate, a complete family, a phase of the search.

    Raises:
        ShapeError: no such grain, or `n` is not a whole number from 1 on.
    """
    if grain not in get_args(Grain):
        raise ShapeError(f"no grain {grain!r}; there are {', '.join(get_args(Grain))}")
    if type(n) is not int or n < 1:
        raise ShapeError(f"a number of steps is a whole number from 1 on, found {n!r}")
    counter = _StepCounter(journal, grain)
    return lambda: counter.count() >= n


class _StepCounter:
    """Counts the steps of a search from now on; every event is read once."""

    def __init__(self, journal: Journal, grain: Grain) -> None:
        self._journal = journal
        self._grain: Grain = grain
        self._unread = len(journal)
        self._steps = 0
        last = journal.since(self._unread - 1) if self._unread else ()
        self._phase = phase_of(last[0].event) if last else None

    def count(self) -> int:
        """The number of steps so far."""
        for entry in self._journal.since(self._unread):
            self._unread += 1
            self._steps += self._is_step(entry.event)
        return self._steps

    def _is_step(self, event: Event) -> bool:
        match self._grain:
            case "event":
                return True
            case "candidate":
                return isinstance(event, VerdictReached)
            case "family":
                return isinstance(event, FamilyCompleted)
            case "phase":
                before, self._phase = self._phase, phase_of(event) or self._phase
                return before is not None and before != self._phase


def replay_saved(journal: ReplayedJournal, engine: Engine, steering: SteeringLog) -> None:
    """Repeat a saved search up to the step at which it was saved.

    Raises:
        JournalVersionError: the repeated search ends before the saved one does.
    """
    while not journal.is_replayed:
        if _is_cancellation(journal.next_saved):
            journal.replay_next()
            engine.cancel()
            return
        before = len(journal)
        wait(engine.advance(lambda: journal.is_replayed or _is_cancellation(journal.next_saved)))
        steering.take_effect()
        if engine.state == "finished" and not journal.is_replayed:
            engine.reopen()  # events after the end of a search are steering
            if len(journal) == before:
                raise JournalVersionError(f"the saved search continued after its end, with {journal.next_saved}")


def _is_cancellation(event: Event | None) -> bool:
    return isinstance(event, ExplorationFinished) and event.stop == "cancelled"
