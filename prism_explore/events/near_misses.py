"""The nearest misses of a search that proved nothing: what came farthest, and what stopped each.

From near to far: candidates that were not decided, candidates that were refuted, families that no maps
fit, and partial graphs, the deepest of each rule; first those that ran into a budget, a limit or the memory,
which may be raised, then those that could not become the program. Each names the restriction that stopped it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prism_explore.events.kinds import (
    CandidateInstantiated,
    CandidateRejected,
    Event,
    FamilyCompleted,
    NodeExpanded,
    Reason,
    RegionPruned,
    VerdictReached,
)

Stage: TypeAlias = Literal["unknown", "refuted", "maps", "graph"]

SHOWN = 5
"""How many misses are named."""
_RAISED = ("budget.", "limit.", "mem.")
"""Rules that cut what may well be right, and would pass with a larger number."""
_NO_RESTRICTION = "dup.canonical"
"""What is cut by it is met elsewhere."""
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Something that came far, and what stopped it."""

    subject: str
    """A candidate, a family or a region."""
    stage: Stage
    rule: str
    """The restriction: a rule, a constraint, or the verifier's word."""
    description: str
    """What happened, as a sentence without its full stop."""
    reopens: str
    """What would let it pass; empty where nothing would, because it is wrong."""


class NearMissFold:
    """Collects misses fact by fact, in memory that does not grow with the number of regions."""

    def __init__(self) -> None:
        self._depths: dict[str, int] = {"": -1}
        self._regions: dict[str, tuple[int, RegionPruned]] = {}
        """Per rule, the first of its deepest cuts, so that one rule does not hide the others."""
        self._verdicts: dict[str, VerdictReached] = {}
        self._families: dict[str, None] = {}
        self._fitted: set[str] = set()
        self._forbidden: dict[str, tuple[str, Reason]] = {}

    def add(self, event: Event) -> None:
        """Take one fact; those that say nothing of misses are passed over."""
        match event:
            case NodeExpanded():
                self._depths[event.node] = self._depths.get(event.parent, 0) + 1
            case RegionPruned() if event.reason.rule != _NO_RESTRICTION:
                depth = self._depths.get(event.parent, 0)
                deepest = self._regions.get(event.reason.rule)
                if deepest is None or depth > deepest[0]:
                    self._regions[event.reason.rule] = (depth, event)
            case FamilyCompleted():
                self._families[event.family] = None
            case CandidateInstantiated():
                self._fitted.add(event.family)
            case CandidateRejected() if event.reason.rule != "grid.some":
                self._forbidden[event.family] = (", ".join(event.uses), event.reason)
            case VerdictReached():
                self._verdicts[event.candidate] = event
            case _:
                pass

    def nearest(self) -> tuple[NearMiss, ...]:
        """The nearest ones; none where something is proved."""
        if any(v.verdict == "proved" for v in self._verdicts.values()):
            return ()
        return tuple(miss for _, miss in zip(range(SHOWN), self._ordered(), strict=False))

    def _ordered(self) -> Iterator[NearMiss]:
        for word in ("unknown", "refuted"):
            for family in self._families:
                mine = [v for c, v in self._verdicts.items() if c.split(".")[0] == family and v.verdict == word]
                if mine:
                    reopens = "the verifier could decide it" if word == "unknown" else ""
                    more = f" ({len(mine)} candidates of {family} alike)" if len(mine) > 1 else ""
                    detail = _short(mine[0].detail)
                    yield NearMiss(mine[0].candidate, word, word, f"{word}: {detail}{more}", reopens)
        for family in self._families:
            if family not in self._fitted and family in self._forbidden:
                uses, why = self._forbidden[family]
                says = f"no choice of maps is legal, {uses or 'every choice'} by {why.rule}: {_short(why.sentence)}"
                yield NearMiss(family, "maps", why.rule, says, why.would_reopen_if)
        rows = self._regions.values()
        for depth, fact in sorted(rows, key=lambda row: (not row[1].reason.rule.startswith(_RAISED), -row[0])):
            why = fact.reason
            shown = f": {_short(why.formula)}" if why.formula else ""
            found = why.substitution.get("e", "")
            shown += f", where e is {_short(found)}" if found else ""
            steps = f"{depth} {'step' if depth == 1 else 'steps'} deep"
            says = f"{_short(fact.operator)}, {steps}, cut by {why.rule} [{why.soundness}]{shown}"
            yield NearMiss(fact.region, "graph", why.rule, says, why.would_reopen_if)


def _short(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."
