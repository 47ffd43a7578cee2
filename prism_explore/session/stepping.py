"""Steps of a search: the iterator that the engine advances, the conditions at which it pauses, and its replay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Literal, TypeAlias, get_args

from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    Bookmarked,
    Event,
    ExplorationFinished,
    FamilyCompleted,
    Steered,
    VerdictReached,
)
from prism_explore.events.phases import phase_of
from prism_explore.events.replay_journal import ReplayedJournal, is_user_action
from prism_explore.search.explore import Progress, Task, explore
from prism_explore.session.engine import Engine, IsDone, wait
from prism_explore.session.steering import SteeringLog

Grain: TypeAlias = Literal["event", "candidate", "family", "phase"]


class StepLog:
    """The steps of a search that appended several events: a fork repeats all events of a step or none."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._running: int | None = None
        """The number of events before the current step; None between two steps."""

    def begin(self, journal: Journal) -> None:
        """A step begins."""
        self._running = len(journal)

    def end(self, journal: Journal) -> None:
        """The step has ended; what the user did after it, which a replay repeats within the step, is no part of it."""
        assert self._running is not None, "a step has begun"
        entries = journal.since(self._running)
        count = len(entries)
        while count and is_user_action(entries[count - 1].event):
            count -= 1
        if sum(not is_user_action(entry.event) for entry in entries[:count]) > 1:
            self._starts.append(self._running)
            self._ends.append(self._running + count)
        self._running = None

    def boundary(self, at: int, interrupted: bool = False) -> int:
        """The end of the last step up to a moment, as a number of events.

        Args:
            at: a number of events. Within the first step, its end is the answer.
            interrupted: whether the search was cancelled at this moment, possibly within a step.

        Returns:
            The number of events; 0 if no step has ended.
        """
        place = bisect_left(self._starts, at) - 1
        first_end = self._ends[0] if self._starts and self._starts[0] == 0 else 1
        running = self._running
        if running is not None and at > running:
            return running
        if place < 0:
            return at
        end = self._ends[place]
        moment = self._starts[place] if at < end or (interrupted and at == end) else at
        return max(moment, first_end) if at else 0


def search_steps(
    task: Task,
    journal: Journal,
    steering: SteeringLog,
    progress: Progress,
    is_cancelled: Callable[[], bool],
    steps: StepLog,
) -> Iterator[None]:
    """The search, step by step; decisions take effect between two steps."""
    end = object()

    def begin() -> Iterator[object]:
        return explore(task, journal, lambda: steering.effective, progress, is_cancelled)

    search = begin()
    while True:
        steering.begin_step()
        steps.begin(journal)
        has_decisions = False
        try:
            has_ended = next(search, end) is end
        finally:
            steps.end(journal)
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
                return not isinstance(event, Bookmarked)
            case "candidate":
                return isinstance(event, VerdictReached)
            case "family":
                return isinstance(event, FamilyCompleted)
            case "phase":
                before, self._phase = self._phase, phase_of(event) or self._phase
                return before is not None and before != self._phase


def replay_saved(
    journal: ReplayedJournal, engine: Engine, steering: SteeringLog, tick: Callable[[], None] = lambda: None
) -> None:
    """Repeat a saved search up to the step at which it was saved.

    Args:
        journal: the saved events.
        engine: of the search.
        steering: the decisions of the search.
        tick: called at every step; an exception from it ends the replay.

    Raises:
        JournalVersionError: the repeated search ends before the saved one does.
    """

    def is_done() -> bool:
        tick()
        return journal.is_replayed or _is_cancellation(journal.next_saved)

    while not journal.is_replayed:
        if _is_cancellation(journal.next_saved):
            journal.replay_next()
            engine.cancel()
            return
        before = len(journal)
        wait(engine.advance(is_done))
        steering.take_effect()
        if engine.state == "finished" and not journal.is_replayed:
            engine.reopen()  # events after the end of a search are steering
            if len(journal) == before:
                raise JournalVersionError(f"the saved search continued after its end, with {journal.next_saved}")
    if _was_steered_last(journal):
        engine.reopen()


def _was_steered_last(journal: Journal) -> bool:
    """Whether the last events are the user's, and one of them is a decision, so that a finished search continues."""
    last = takewhile(is_user_action, (entry.event for entry in reversed(journal.entries)))
    return any(isinstance(event, Steered) for event in last)


def _is_cancellation(event: Event | None) -> bool:
    return isinstance(event, ExplorationFinished) and event.stop == "cancelled"
