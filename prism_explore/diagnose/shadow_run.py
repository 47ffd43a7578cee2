"""A shadow run: a search that leaves the audited search unchanged, and the families it finds.

Input: a task, the events of its search, and families of a pruned region. Output: each family with a proved candidate,
and whether the search has it, lacks it, or excludes it by its stated space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prism_explore.cost.roofline import time_bound_of
from prism_explore.events.format import seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, FamilyCompleted
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.explain_excluded import explain_excluded
from prism_explore.instantiate import instantiate
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import Space
from prism_explore.pipeline.stages import Candidate, Family, Unknown, Verified
from prism_explore.search.explore import Task
from prism_explore.verify.prover import Prover

FoundStatus: TypeAlias = Literal["known", "lost", "excluded"]
"""A proved family of the region: also in the search, missing in the search, or outside the stated space."""


@dataclass(frozen=True, slots=True)
class FoundFamily:
    """A family of the region with a proved candidate."""

    family: str
    """Its id in the shadow run."""
    sgraph: str
    candidate: str
    """The first proved one."""
    status: FoundStatus
    explanation: str
    """The equal family of the search, or the reason why the stated space excludes this one."""


class ShadowRun:
    """Verifies families in its own journal, and compares them with the families of the search.

    Args:
        task: what was searched.
        events: the events of the search.
        budget: how many candidates to verify.
        tick: called at every candidate.
    """

    def __init__(self, task: Task, events: Iterable[Event], budget: int, tick: Callable[[], None]) -> None:
        self.task, self.budget, self.tick = task, budget, tick
        self.journal = Journal()
        self.prover = Prover(task.program)
        self.table = ExpressionNumbers()
        self.known = {self.table.number_graph(parse(e.sgraph)): e.family for e in reversed(families_of(events))}
        self.found: list[FoundFamily] = []
        self.undecided: set[str] = set()
        """Families missing in the search that have an unknown candidate and no proved one."""
        self.families = self.candidates = 0
        self.out_of_budget = False

    def verify_family(self, family: Family, space: Space) -> bool:
        """Verify the candidates of a family in a space; False if the budget is spent."""
        task = self.task
        self.families += 1
        proved: list[Candidate] = []
        is_unknown = False
        for candidate in instantiate(family, space, task.target, self.journal):
            if self.candidates == self.budget:
                self.out_of_budget = True
                break
            self.candidates += 1
            self.tick()
            verdict = self.prover.verify(candidate, self.journal, task.seed)
            if isinstance(verdict, Verified):
                proved.append(candidate)
            is_unknown |= isinstance(verdict, Unknown)
        number = self.table.number_graph(family.sgraph)
        if proved:
            equal = self.known.get(number, "")
            reason = "" if equal else self._why_excluded(family, proved)
            status: FoundStatus = "known" if equal else "excluded" if reason else "lost"
            text = next(e.sgraph for e in families_of(self.journal.events) if e.family == family.id)
            self.found.append(FoundFamily(family.id, text, proved[0].id, status, equal or reason))
        elif is_unknown and number not in self.known:
            self.undecided.add(family.id)
        return not self.out_of_budget

    def _why_excluded(self, family: Family, proved: Sequence[Candidate]) -> str:
        """Why the stated space excludes a family; empty if it does not."""
        task = self.task
        if family.sequence is None and (
            reason := explain_excluded(task.program, task.space, task.target, family.sgraph)
        ):
            return reason
        if not isinstance(task.time_to_beat_s, float):
            return ""
        bound_s = min(time_bound_of(candidate, task.shapes, task.target).time_s for candidate in proved)
        if bound_s < task.time_to_beat_s:
            return ""
        beat, bound = seconds_text(task.time_to_beat_s), seconds_text(bound_s)
        return f"no kernel of it beats {beat}, since its bound is {bound}"


def families_of(events: Iterable[Event]) -> list[FamilyCompleted]:
    """The completed families, in order."""
    return [e for e in events if isinstance(e, FamilyCompleted)]
