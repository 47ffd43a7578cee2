"""Steering: the user's decisions on families, recorded in the journal and effective from the next step on.

Input: decisions from any thread. Output: `Steered` events, and the decisions that the search reads. A decision that
arrives within a step is recorded after it. So the journal has each decision just before the first step that it
affects, and a saved search can be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, ParametersProposed, Steered
from prism_explore.events.ledger import Steering
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.ir.text import parse
from prism_explore.session.families import Families, FamilyHandle


@dataclass(frozen=True, slots=True)
class _Predicate:
    """A function that selects families to prefer."""

    selects: Callable[[FamilyHandle], object]
    name: str
    since: int
    """The number of events when it was passed."""

    @property
    def note(self) -> str:
        """The note of the decisions that it causes."""
        return f"picked by {self.name}"


class SteeringLog:
    """The decisions of one session.

    Args:
        journal: the decisions are recorded here.
        families: returns all families so far.
        family_ids: returns the ids of the completed families; predicates are applied to these.
        reopen: called after each decision, so that a finished search continues.
    """

    def __init__(
        self,
        journal: Journal,
        families: Callable[[], Families],
        family_ids: Callable[[], Collection[str]],
        reopen: Callable[[], None],
    ) -> None:
        self._journal, self._families, self._family_ids, self._reopen = journal, families, family_ids, reopen
        self._lock = threading.RLock()
        self._is_in_step = False
        self._unrecorded: list[Steered] = []
        """Decisions that arrived within the current step."""
        self._predicates: list[_Predicate] = []
        self._applied: set[tuple[int, str]] = set()
        """Pairs of a predicate's number and a family that it was applied to."""
        self.decisions = Steering()
        """The decisions that are not undone."""
        self.effective = self.decisions
        """The decisions that the current step uses."""

    def decide(self, action: Literal["accept", "reject"], which: str | Sequence[str], note: str) -> None:
        """Accept or reject a family or several; one decision each, and none if one of them does not exist.

        Raises:
            ShapeError: no such family.
        """
        known = self._families()
        chosen = (which,) if isinstance(which, str) else tuple(dict.fromkeys(which))
        for family in chosen:
            if family not in known:
                raise ShapeError(f"no family {family!r} to {action}; there are {', '.join(known) or 'none yet'}")
        argument = f", note={note!r}" if note else ""
        for family in chosen:
            self._record(Steered(action, family, f"sess.{action}({family!r}{argument})", note))

    def prefer(self, which: str | Callable[[FamilyHandle], object]) -> None:
        """Prefer a family by its id, families with a text in their graph, or families that a predicate selects.

        Raises:
            ShapeError: `which` is neither a text nor a function.
        """
        if which == "" or not (isinstance(which, str) or callable(which)):
            raise ShapeError(
                "prefer takes a family such as 'f2', a text in its graph such as 'accum_rms', or a function of a "
                f"family; found {which!r}"
            )
        if isinstance(which, str):
            self._record(Steered("prefer", which, f"sess.prefer({which!r})"))
        else:
            self._predicates.append(_Predicate(which, getattr(which, "__name__", "a predicate"), len(self._journal)))
            self.apply_predicates()

    def restrict(self, parameter: str, low: int, high: int, note: str) -> None:
        """Try only values from `low` to `high` of a tuning parameter.

        Raises:
            ShapeError: the values are no range, or no trial and no family has such a parameter.
        """
        if isinstance(low, bool) or isinstance(high, bool) or not 0 <= low <= high:
            raise ShapeError(
                f"restrict takes a range of a parameter such as restrict('gx', 8, 64); found {low!r} to {high!r}"
            )
        if parameter not in self._parameters():
            known = ", ".join(dict.fromkeys(self._parameters())) or "none yet"
            raise ShapeError(f"no parameter {parameter!r} to restrict; there are {known}")
        argument = f", note={note!r}" if note else ""
        line = f"sess.restrict({parameter!r}, {low}, {high}{argument})"
        self._record(Steered("restrict", parameter, line, note, (low, high)))

    def _parameters(self) -> Iterator[str]:
        """Names of the parameters of all trials and families, with repetitions."""
        for event in self._journal.events:
            match event:
                case ParametersProposed():
                    yield from (name for name, _ in event.parameters)
                case FamilyCompleted():
                    yield from parse(event.sgraph).parameters
                case _:
                    pass

    def undo(self) -> None:
        """Undo the last decision, if there is one."""
        if self.decisions.standing:
            self._record(Steered("undo", self.decisions.standing[-1].subject, "sess.undo()"))

    def redo(self) -> None:
        """Redo the decision that was undone last, if there is one."""
        if self.decisions.undone:
            self._record(Steered("redo", self.decisions.undone[-1].subject, "sess.redo()"))

    def apply_predicates(self) -> None:
        """Record the families that predicates select; each predicate is applied once to each family."""
        for number, predicate in enumerate(tuple(self._predicates)):
            for family in tuple(self._family_ids()):
                if (number, family) not in self._applied:
                    self._applied.add((number, family))
                    if predicate.selects(self._families()[family]):
                        self._record(Steered("prefer", family, f"sess.prefer({family!r})", predicate.note))

    def copy_predicates(self, of: SteeringLog, at: int) -> None:
        """Take over the predicates that another search had at a moment, whose events this search has repeated."""
        for predicate in of._predicates:
            if predicate.since <= at:
                number = len(self._predicates)
                picked = (e for e in self._journal.events if isinstance(e, Steered) and e.note == predicate.note)
                self._applied.update((number, e.subject) for e in picked)
                self._predicates.append(predicate)
        self.apply_predicates()

    def repeat(self, steps: Iterable[Steered]) -> None:
        """Record the decisions of another search, in their order."""
        for step in steps:
            self._record(step)

    @property
    def has_predicates(self) -> bool:
        """Whether a predicate waits for families."""
        return bool(self._predicates)

    def begin_step(self) -> None:
        """Let all decisions take effect."""
        with self._lock:
            self.take_effect()
            self._is_in_step = True

    def end_step(self) -> bool:
        """Record the decisions that arrived within the step; whether there were any."""
        with self._lock:
            self._is_in_step = False
            decisions, self._unrecorded = self._unrecorded, []
            for decision in decisions:
                self._journal.append(decision)
        return bool(decisions)

    def take_effect(self) -> None:
        """Let all decisions take effect, including those of a saved search that is replayed."""
        if isinstance(self._journal, ReplayedJournal):
            for step in self._journal.take_steering():
                self.decisions = self.decisions.after(step)
        self.effective = self.decisions

    def _record(self, decision: Steered) -> None:
        with self._lock:
            self.decisions = self.decisions.after(decision)
            if self._is_in_step:
                self._unrecorded.append(decision)
            else:
                self._journal.append(decision)
        self._reopen()
