"""The near misses of a search without a proof: the candidates, families and partial graphs that came furthest.

Input: events. Output: at most five near misses, nearest first, each with the restriction that stopped it. The order is:
candidates without a verdict of the prover, refuted candidates, families without legal maps, and per pruning rule the
deepest partial graph that it pruned. Of the partial graphs, those come first that a budget, a limit or the memory
stopped, because those can be raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
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
"""Largest number of near misses."""
_CAN_BE_RAISED = ("budget.", "limit.", "mem.")
"""Prefixes of the rules that a larger number in the space or a larger target satisfies."""
_DUPLICATE = "dup.canonical"
"""The rule that prunes duplicates: it stops nothing, because an equal graph is expanded elsewhere."""
_MAX_CHARS = 80


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A candidate, family or partial graph that came far, and the restriction that stopped it."""

    subject: str
    """The id of a candidate, a family or a region."""
    stage: Stage
    rule: str
    """The restriction: a pruning rule, a constraint on maps, or the verdict."""
    detail: str
    """What happened; of a pruned graph, the rule and its condition."""
    reopens: str
    """The change that would let it pass; empty for what is wrong."""
    reached: str = ""
    """Of a pruned graph, its last operator and depth."""

    @property
    def description(self) -> str:
        """What happened, as a sentence without its full stop."""
        return self.describe("pruned by")

    def describe(self, pruned_by: str) -> str:
        """The description, with the words that stand before a pruning rule."""
        return f"{self.reached}, {pruned_by} {self.detail}" if self.reached else self.detail


class NearMissFold:
    """Finds the near misses from events one by one; its memory does not grow with the number of regions."""

    def __init__(self) -> None:
        self._depths: dict[str, int] = {"": -1}
        """Per node of the search tree, its depth."""
        self._regions: dict[str, tuple[int, RegionPruned]] = {}
        """Per rule, the first of the deepest regions that it pruned, with its depth."""
        self._families: dict[str, None] = {}
        self._candidates: dict[str, str] = {}
        """Per candidate, its family."""
        self._verdicts: dict[str, VerdictReached] = {}
        self._rejected: dict[str, tuple[str, Reason]] = {}
        """Per family, the last choice of maps that a constraint rejected, as text, and the reason."""
        self._nearest: tuple[NearMiss, ...] | None = None
        """The result, until an event changes it."""

    def copy(self) -> NearMissFold:
        """An independent copy. Copies share the depths, because that of a node never changes."""
        twin = NearMissFold()
        twin._depths, twin._regions, twin._families = self._depths, self._regions.copy(), self._families.copy()
        twin._candidates, twin._verdicts = self._candidates.copy(), self._verdicts.copy()
        twin._rejected, twin._nearest = self._rejected.copy(), self._nearest
        return twin

    def add(self, event: Event) -> None:
        """Add one event."""
        match event:
            case NodeExpanded():
                self._depths[event.node] = self._depths.get(event.parent, 0) + 1
            case RegionPruned() if event.reason.rule != _DUPLICATE:
                depth = self._depths.get(event.parent, 0)
                deepest = self._regions.get(event.reason.rule)
                if deepest is None or depth > deepest[0]:
                    self._regions[event.reason.rule] = (depth, event)
                    self._nearest = None
            case FamilyCompleted():
                self._families[event.family] = None
                self._nearest = None
            case CandidateInstantiated():
                self._candidates[event.candidate] = event.family
                self._nearest = None
            case CandidateRejected() if event.reason.rule != "grid.some":
                self._rejected[event.family] = (", ".join(event.uses), event.reason)
                self._nearest = None
            case VerdictReached():
                self._verdicts[event.candidate] = event
                self._nearest = None
            case _:
                pass

    def nearest(self) -> tuple[NearMiss, ...]:
        """The near misses, nearest first; none where something is proved."""
        if self._nearest is None:
            self._nearest = self._find_nearest()
        return self._nearest

    def _find_nearest(self) -> tuple[NearMiss, ...]:
        if any(v.verdict == "proved" for v in self._verdicts.values()):
            return ()
        found = chain(
            self._without_proof("unknown", "the verifier could decide it"),
            self._without_proof("refuted", ""),
            self._without_maps(),
            self._pruned(),
        )
        return tuple(islice(found, SHOWN))

    def _without_proof(self, word: Literal["unknown", "refuted"], reopens: str) -> Iterator[NearMiss]:
        by_family: dict[str | None, list[VerdictReached]] = {}
        for candidate, verdict in self._verdicts.items():
            if verdict.verdict == word:
                by_family.setdefault(self._candidates.get(candidate), []).append(verdict)
        for family in self._families:
            if verdicts := by_family.get(family):
                first = verdicts[0]
                others = f" ({len(verdicts)} candidates of {family} alike)" if len(verdicts) > 1 else ""
                yield NearMiss(first.candidate, word, word, f"{word}: {_short(first.detail)}{others}", reopens)

    def _without_maps(self) -> Iterator[NearMiss]:
        instantiated = set(self._candidates.values())
        for family in self._families:
            if family not in instantiated and family in self._rejected:
                uses, reason = self._rejected[family]
                choice = uses or "every choice"
                description = f"no choice of maps is legal, {choice} by {reason.rule}: {_short(reason.sentence)}"
                yield NearMiss(family, "maps", reason.rule, description, reason.would_reopen_if)

    def _pruned(self) -> Iterator[NearMiss]:
        for depth, region in sorted(
            self._regions.values(), key=lambda row: (not row[1].reason.rule.startswith(_CAN_BE_RAISED), -row[0])
        ):
            reason = region.reason
            formula = f": {_short(reason.formula)}" if reason.formula else ""
            e = reason.substitution.get("e", "")
            where = f", where e is {_short(e.removeprefix('e = '))}" if e else ""
            steps = f"{depth} {'step' if depth == 1 else 'steps'} deep"
            yield NearMiss(
                region.region,
                "graph",
                reason.rule,
                f"{reason.rule} [{reason.soundness}]{formula}{where}",
                reason.would_reopen_if,
                reached=f"{_short(region.operator)}, {steps}",
            )


def _short(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 4]} ..."
