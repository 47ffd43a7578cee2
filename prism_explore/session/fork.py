"""Forks of a search: another search that repeats its first events and then continues on its own.

Input: the journal of the parent, its steps, and a moment. Output: the saved events that a `ReplayedJournal` of the fork
repeats, the last of which is `SearchForked`. Only whole steps are repeated, because the search continues from the end
of a step. A fork without new steering continues with the events of its parent, except for measured times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism_explore.diagnose.jobs import Question
from prism_explore.diagnose.what_if import WhatIf
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Entry, Journal
from prism_explore.events.kinds import Event, ExplorationFinished, FamilyCompleted, SearchForked, Steered
from prism_explore.events.replay_journal import without_unfinished_trial
from prism_explore.search.explore import Task, started_event
from prism_explore.session.stepping import StepLog


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """The moment of a fork."""

    at: int
    """How many events are repeated."""
    requested: int
    """The moment that was requested, if it lay within a step; else 0."""


def fork_point(journal: Journal, steps: StepLog, at: int | None) -> ForkPoint:
    """The end of the last complete step up to a moment; at the start of a search, the end of its first step.

    Args:
        journal: of the parent.
        steps: of the parent.
        at: a number of events; None for all.

    Raises:
        ShapeError: no such moment, or the first step has not ended.
    """
    count = len(journal)
    if not count:
        raise ShapeError("the search has not begun, so there is nothing to repeat; sess.step() begins it")
    if at is not None and (type(at) is not int or not 1 <= at <= count):
        raise ShapeError(f"at= is a number of events from 1 to {count:,}, found {at!r}")
    wanted = count if at is None else at
    events = journal.events[:wanted]
    end = next((n for n, e in enumerate(events) if _is_cancellation(e)), len(events))
    moment = steps.boundary(end, interrupted=end < len(events))
    moment = len(without_unfinished_trial(journal.entries[:moment]))
    if not moment:
        raise ShapeError("the first step of the search has not ended; fork it when it has")
    return ForkPoint(moment, wanted if moment != end else 0)


def repeated_events(journal: Journal, point: ForkPoint, fork: SearchForked) -> tuple[Entry, ...]:
    """The events of the parent up to the moment, and the fork."""
    entries = journal.entries[: point.at]
    return (*entries, Entry(point.at, entries[-1].at_s, fork))


def first_events(task: Task, fork: SearchForked, answer: WhatIf) -> tuple[Entry, ...]:
    """The first events of a search with the settings of a what-if; the families that it gained are tuned first.

    The enumeration repeats that of the what-if, so the families have the same ids.
    """
    events: list[Event] = [started_event(task), fork]
    if answer.ran is not None:
        found = {e.sgraph: e.family for e in answer.ran.journal.events if isinstance(e, FamilyCompleted)}
        for text in answer.ran.gained:
            family = found[text]
            events.append(Steered("prefer", family, f"sess.prefer({family!r})", "gained by the what-if"))
    return tuple(Entry(n, 0.0, event) for n, event in enumerate(events))


def what_if_of(question_or_answer: object) -> WhatIf:
    """The what-if that is to be adopted.

    Raises:
        ShapeError: it is no what-if, has no answer yet, or changes nothing.
    """
    found = question_or_answer
    if isinstance(found, Question):
        if not isinstance(found.answer, WhatIf):
            raise ShapeError(f"{found.id} is no what-if that was answered: {found.python} is {found.state}")
        found = found.answer
    if not isinstance(found, WhatIf) or found.task is None:
        raise ShapeError(
            "adopt takes a what-if, such as sess.adopt(sess.what_if(block_ops=13, run=True)), or the id of its "
            f"question, such as sess.adopt('q1'); found {found!r}"
        )
    if not found.changes:
        raise ShapeError("this what-if changes nothing, so there is nothing to adopt")
    return found


def adopted_task(task: Task, answer: WhatIf) -> Task:
    """The task of a search with the settings of a what-if."""
    other = answer.task
    assert other is not None, "what_if_of checked it"
    return replace(task, target=other.target, space=other.space, time_to_beat_s=other.time_to_beat_s)


def _is_cancellation(event: Event) -> bool:
    return isinstance(event, ExplorationFinished) and event.stop == "cancelled"
