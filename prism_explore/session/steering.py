"""Steering a search: the user's decisions on families, noted in the journal and in force from the next step on.

Input are decisions from any thread; output are `Steered` events and the state that the search reads. A decision that
arrives within a step is noted after it, so that a saved search can be repeated: the journal then holds every decision
at the step from which it counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Literal

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Steered
from prism_explore.events.ledger import Steering
from prism_explore.events.replay_journal import Retold
from prism_explore.session.families import Families, FamilyHandle


class SteeringLog:
    """The decisions of one session.

    Args:
        journal: takes the decisions as events.
        families: all families so far.
        family_ids: ids of those that are complete on the engine's side; predicates are applied to these.
        reopen: called after each decision; a finished search continues.
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
        self._late: list[Steered] = []
        """Decided while a step was running."""
        self._predicates: list[tuple[Callable[[FamilyHandle], object], str]] = []
        self._applied: set[tuple[int, str]] = set()
        """Predicates by number, with the families that they were applied to."""
        self.standing = Steering()
        """The decisions that are not undone."""
        self.in_force = self.standing
        """Those that the current step sees."""

    def decide(self, action: Literal["accept", "reject"], family: str, note: str) -> None:
        """Accept or reject a family.

        Raises:
            ShapeError: no such family.
        """
        families = self._families()
        if family not in families:
            raise ShapeError(f"no family {family!r} to {action}; there are {', '.join(families) or 'none yet'}")
        argument = f", note={note!r}" if note else ""
        self._note(Steered(action, family, f"sess.{action}({family!r}{argument})", note))

    def prefer(self, which: str | Callable[[FamilyHandle], object]) -> None:
        """Prefer a family by its name, families by a text in their graph, or those that a predicate picks.

        Raises:
            ShapeError: neither a text nor a function.
        """
        if which == "" or not (isinstance(which, str) or callable(which)):
            raise ShapeError(
                "prefer takes a family such as 'f2', a text that its graph has, such as 'accum_rms', or a function of "
                f"a family; found {which!r}"
            )
        if isinstance(which, str):
            self._note(Steered("prefer", which, f"sess.prefer({which!r})"))
        else:
            self._predicates.append((which, getattr(which, "__name__", "a predicate")))
            self.apply_predicates()

    def undo(self) -> None:
        """Take the last decision back, if there is one."""
        if self.standing.standing:
            self._note(Steered("undo", self.standing.standing[-1].subject, "sess.undo()"))

    def redo(self) -> None:
        """Repeat the decision that was taken back last, if there is one."""
        if self.standing.undone:
            self._note(Steered("redo", self.standing.undone[-1].subject, "sess.redo()"))

    def apply_predicates(self) -> None:
        """Note the families that predicates pick; each predicate is applied once to each family."""
        for number, (picks, name) in enumerate(tuple(self._predicates)):
            for family in tuple(self._family_ids()):
                if (number, family) not in self._applied:
                    self._applied.add((number, family))
                    if picks(self._families()[family]):
                        self._note(Steered("prefer", family, f"sess.prefer({family!r})", f"picked by {name}"))

    def begin_step(self) -> None:
        """Put all decisions into force."""
        with self._lock:
            self.put_into_force()
            self._is_in_step = True

    def end_step(self) -> bool:
        """Note what was decided within the step; whether there was any."""
        with self._lock:
            self._is_in_step = False
            late, self._late = self._late, []
            for fact in late:
                self._journal.note(fact)
        return bool(late)

    def put_into_force(self) -> None:
        """Put all decisions into force, those of a saved search that is replayed too."""
        if isinstance(self._journal, Retold):
            for step in self._journal.steered():
                self.standing = self.standing.after(step)
        self.in_force = self.standing

    def _note(self, fact: Steered) -> None:
        with self._lock:
            self.standing = self.standing.after(fact)
            if self._is_in_step:
                self._late.append(fact)
            else:
                self._journal.note(fact)
        self._reopen()
