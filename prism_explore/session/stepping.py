"""Steps of a search: the iterator that the engine advances, the conditions at which it pauses, and its replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
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
    seen = len(journal)

    def count() -> int:
        since = [e.event for e in journal.since(seen)]
        match grain:
            case "event":
                return len(since)
            case "candidate":
                return sum(isinstance(e, VerdictReached) for e in since)
            case "family":
                return sum(isinstance(e, FamilyCompleted) for e in since)
            case "phase":
                phases = [phase_of(e) for e in journal.events[max(seen - 1, 0) :]]
                known = [p for p in phases if p]
                return sum(a != b for a, b in pairwise(known))

    return lambda: count() >= n


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
