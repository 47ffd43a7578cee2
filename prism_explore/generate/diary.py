"""What generation notes: ids in order of birth, cuts told together where they are alike.

Operators that fail by one rule on the same operands make one region; failures of shape, and of every
loop, make one region per node of the search, since they are many and alike. A region's reason names the
evidence for each operator in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded, Reason, RegionPruned, SpaceCounted
from prism_explore.generate.attempts import Letter
from prism_explore.generate.prune import Cut, reason
from prism_explore.ir.space import Level

_TOLD_PER_NODE = frozenset({"shape.mismatch", "map.constraint"})
_SHOWN = 3
"""Applications named in a region's title; its reason names all."""

Group: TypeAlias = dict[tuple[int, ...], list[tuple[str, Cut]]]
Step: TypeAlias = tuple[str, tuple[int, ...]]
"""An application by its operator's label and its operands; the label of a custom kernel is `custom`."""

CUSTOM = "custom"
REST = "the rest"
"""The title of a region that a budget left: every step at a node that was kept and not taken."""
WHOLE: dict[Level, str] = {"kernel": "whole kernel graph", "block": "whole block graph"}
"""The titles of regions that are one whole graph, not what extends it."""


@dataclass(frozen=True, slots=True)
class Region:
    """Applications at one node that are cut and told together."""

    title: str
    reason: Reason
    weight: float
    steps: tuple[Step, ...]


class Cuts:
    """The cuts at one node of the search, in order of appearance."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], Group] = {}
        self._weights: dict[tuple[object, ...], float] = {}
        self.void = 0.0
        """What the steps stood for that are none, such as a reduction along a dim that is not there."""

    def add(self, args: tuple[int, ...], letter: Letter | None, cut: Cut, weight: float) -> None:
        """A cut of one application; `letter` None is a custom kernel."""
        where = () if cut.rule in _TOLD_PER_NODE else args
        key = (cut.rule, cut.detail, cut.heuristic, where)
        label = letter.label if letter else CUSTOM
        self._groups.setdefault(key, {}).setdefault(args, []).append((label, cut))
        self._weights[key] = self._weights.get(key, 0.0) + weight

    def regions(self, names: dict[int, str]) -> Iterator[Region]:
        """The regions, in order of appearance; `names` are those of tensors that have one."""
        for key, group in self._groups.items():
            evidence: dict[str, str] = {}
            common: dict[str, str] = {}
            for args, cuts in group.items():
                listed = ", ".join(names.get(a, f"%{a}") for a in args)
                alike: dict[str, list[str]] = {}
                for label, cut in cuts:
                    alike.setdefault(cut.evidence, []).append(label)
                    common.update(cut.common)
                for shown, labels in alike.items():
                    evidence[f"{' | '.join(labels)}({listed})"] = shown
            titles = list(evidence)
            more = f" and {len(titles) - _SHOWN} more" if len(titles) > _SHOWN else ""
            if len(evidence) == 1:
                evidence = {"e": evidence[titles[0]]}
            first = next(iter(group.values()))[0][1]
            yield Region(
                "; ".join(titles[:_SHOWN]) + more,
                reason(first, {**evidence, **common}),
                self._weights[key],
                tuple((label, args) for args, cuts in group.items() for label, _ in cuts),
            )


class Diary:
    """Numbers nodes, regions and families, and notes them."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.nodes = self.regions = self.families = self.wholes = 0
        self.void = 0.0
        """How many graphs the alphabets spell that are none, so that no rule need cut them."""

    def expanded(self, parent: str, operator: str, level: Level, expression: str = "") -> str:
        """Note a kept node; its id."""
        self.nodes += 1
        node = f"n{self.nodes}"
        self._journal.note(NodeExpanded(node, parent, operator, level, expression))
        return node

    def pruned(self, parent: str, operator: str, level: Level, why: Reason, weight: float, exact: bool = False) -> None:
        """Note a cut region."""
        self.regions += 1
        counted = "exact" if exact else "estimate"
        self._journal.note(RegionPruned(f"p{self.regions}", parent, operator, level, why, weight, counted))

    def cuts(self, cuts: Cuts, parent: str, level: Level, names: dict[int, str]) -> Iterator[None]:
        """Note the regions at a node, one step each."""
        self.void += cuts.void
        for region in cuts.regions(names):
            self.pruned(parent, region.title, level, region.reason, region.weight)
            yield None

    def over_budget(self, parent: str, level: Level, spent: Reason, weight: float) -> None:
        """Note that what is left at a node was not searched, and which budget was spent."""
        self.pruned(parent, REST, level, spent, weight)

    def whole(self, parent: str, level: Level, cut: Cut, beyond: int = 0) -> None:
        """Note the cut of a graph that is whole, and of kernels `beyond` it; its extensions are still searched."""
        self.wholes += 1
        self.pruned(parent, WHOLE[level], level, reason(cut, {"e": cut.evidence}), 1.0 + beyond, exact=not beyond)

    def completed(self, node: str, sgraph: str) -> str:
        """Note a family; its id."""
        self.families += 1
        family = f"f{self.families}"
        self._journal.note(FamilyCompleted(family, node, sgraph))
        return family

    def counted(self, space: float) -> None:
        """Note how large the space is, so that the rows can be held against it."""
        self._journal.note(SpaceCounted(space, self.nodes - self.families - self.wholes, self.void))
