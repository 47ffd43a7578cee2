"""The events of the enumeration: ids in order, and cuts grouped into regions.

Operators that one rule cuts on the same operands are one region. Cuts by a rule with `one_region_per_node` are one
region per node, because they are many and alike. The reason of a region has the evidence of each operator in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded, Reason, RegionPruned, SpaceCounted
from prism_explore.generate.pruning.rule import Cut, reason
from prism_explore.ir.transforms.partition import Part
from prism_explore.pipeline.search_space import Level

_SHOWN = 3
"""How many applications a region's title names; its reason names all."""

Step: TypeAlias = tuple[str, tuple[int, ...]]
"""An application by its operator's label and its operands; the label of a custom kernel is `custom`."""

CUSTOM = "custom"
REST = "the rest"
"""The title of a region that a budget left: the steps at a node that were kept and not taken."""
COMPLETE_GRAPH: dict[Level, str] = {
    "kernel": "whole kernel graph",
    "block": "whole block graph",
    "split": "whole split graph",
}
"""The titles of regions that are one complete graph, without the graphs that extend it."""


@dataclass(frozen=True, slots=True)
class CutGroup:
    """Applications to the same operands that one rule cuts."""

    cut: Cut
    """The first of them."""
    labels: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...]
    """The labels of those with the same evidence, and the evidence."""
    shared_symbols: Mapping[str, str]

    @property
    def key(self) -> tuple[object, ...]:
        """Applications with the same key are reported together."""
        failure = self.cut.failure
        return self.cut.rule, failure.detail, failure.heuristic


def group_cuts(cuts: Iterable[tuple[str, Cut]]) -> tuple[CutGroup, ...]:
    """NodeCuts of applications to the same operands, by label, in order of appearance."""
    groups: dict[tuple[object, ...], list[tuple[str, Cut]]] = {}
    for label, cut in cuts:
        groups.setdefault((cut.rule, cut.failure.detail, cut.failure.heuristic), []).append((label, cut))
    made: list[CutGroup] = []
    for group in groups.values():
        alike: dict[str, list[str]] = {}
        common: dict[str, str] = {}
        for label, cut in group:
            alike.setdefault(cut.failure.evidence, []).append(label)
            common.update(cut.failure.shared_symbols)
        told = tuple((" | ".join(labels), shown) for shown, labels in alike.items())
        made.append(CutGroup(group[0][1], tuple(label for label, _ in group), told, common))
    return tuple(made)


def _merged_evidence(made: Sequence[CutGroup]) -> Iterable[tuple[str, str]]:
    """The labels that share an evidence, and the evidence, over all groups of the same operands."""
    if len(made) == 1:
        return made[0].evidence
    alike: dict[str, list[str]] = {}
    for bundle in made:
        for labels, shown in bundle.evidence:
            alike.setdefault(shown, []).append(labels)
    return [(" | ".join(labels), shown) for shown, labels in alike.items()]


Group: TypeAlias = dict[tuple[int, ...], list[CutGroup]]


@dataclass(frozen=True, slots=True)
class Region:
    """Applications at one node that are cut and reported together."""

    title: str
    reason: Reason
    weight: float
    group: Group

    @property
    def steps(self) -> tuple[Step, ...]:
        """The applications."""
        return tuple((label, args) for args, made in self.group.items() for b in made for label in b.labels)


class NodeCuts:
    """The cuts at one node of the search, in order of appearance."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], Group] = {}
        self._weights: dict[tuple[object, ...], float] = {}
        self.invalid = 0
        """How many programs begin with operators that do not exist, such as a reduction along a missing dim."""

    def add(self, args: tuple[int, ...], label: str, cut: Cut, weight: float) -> None:
        """A cut of one application, by its operator's label."""
        self.add_group(
            args, CutGroup(cut, (label,), ((label, cut.failure.evidence),), cut.failure.shared_symbols), weight
        )

    def add_group(self, args: tuple[int, ...], bundle: CutGroup, weight: float) -> None:
        """NodeCuts of several applications, and what they stand for together."""
        where = () if bundle.cut.rule.one_region_per_node else args
        key = (bundle.key, where)
        self._groups.setdefault(key, {}).setdefault(args, []).append(bundle)
        self._weights[key] = self._weights.get(key, 0.0) + weight

    @property
    def stood_for(self) -> float:
        """How many programs were cut."""
        return sum(self._weights.values())

    def regions(self, names: dict[int, str]) -> Iterator[Region]:
        """The regions, in order of appearance; `names` are those of tensors that have one."""
        for key, group in self._groups.items():
            evidence: dict[str, str] = {}
            common: dict[str, str] = {}
            for args, made in group.items():
                listed = ", ".join([names.get(a, f"%{a}") for a in args])
                for labels, shown in _merged_evidence(made):
                    evidence[f"{labels}({listed})"] = shown
                for bundle in made:
                    common.update(bundle.shared_symbols)
            titles = list(evidence)
            more = f" and {len(titles) - _SHOWN} more" if len(titles) > _SHOWN else ""
            if len(evidence) == 1:
                evidence = {"e": evidence[titles[0]]}
            first = next(iter(group.values()))[0].cut
            yield Region(
                "; ".join(titles[:_SHOWN]) + more, reason(first, {**evidence, **common}), self._weights[key], group
            )


@dataclass(frozen=True, slots=True)
class PrunedSequence:
    """Kernel sequences that were cut outside of the enumeration, or the kernels of one part of such a sequence."""

    text: str
    """What was cut, as an operator."""
    reason: Reason
    stood_for: float


def sequence_text(parts: Sequence[Part], part: Part | None = None) -> str:
    """A kernel sequence as a step from the inputs, or the kernel for one of its parts, as text."""
    if part is not None:
        return f"in {len(parts)} parts, {CUSTOM} for %{part.result}"
    return f"in {len(parts)} parts({', '.join(f'%{p.result}' for p in parts)})"


def is_sequence_text(operator: str) -> bool:
    """Whether the text of a step or a region is of a kernel sequence, which is not enumerated operator by operator."""
    return _SEQUENCE_TEXT.match(operator) is not None


_SEQUENCE_TEXT = re.compile(r"in [0-9]+ parts\b")


class EventLog:
    """Numbers nodes, regions and families, and writes their events."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.nodes = self.regions = self.families = self.complete_graph_cuts = 0
        self.invalid = 0
        """How many counted graphs have an operator that does not exist; no rule cuts them."""

    def expanded(self, parent: str, operator: str, level: Level, expression: str = "") -> str:
        """Write a kept node; its id."""
        self.nodes += 1
        node = f"n{self.nodes}"
        self._journal.append(NodeExpanded(node, parent, operator, level, expression))
        return node

    def pruned(self, parent: str, operator: str, level: Level, why: Reason, weight: float, exact: bool = False) -> None:
        """Write a cut region."""
        self.regions += 1
        region, counted = f"p{self.regions}", "exact" if exact else "estimate"
        self._journal.append(RegionPruned(region, parent, operator, level, why, weight, counted))

    def cuts(
        self, cuts: NodeCuts, parent: str, level: Level, names: dict[int, str], exact: bool = False
    ) -> Iterator[None]:
        """Write the regions at a node, one step each."""
        self.invalid += cuts.invalid
        for region in cuts.regions(names):
            self.pruned(parent, region.title, level, region.reason, region.weight, exact)
            yield None

    def over_budget(self, parent: str, level: Level, spent: Reason, weight: float) -> None:
        """Write that the steps left at a node were not searched, and which budget was spent."""
        self.pruned(parent, REST, level, spent, weight)

    def complete_graph_cut(self, parent: str, level: Level, cut: Cut, beyond: int = 0) -> None:
        """Write the cut of a complete graph and of the kernels `beyond` it; its extensions are still searched."""
        self.complete_graph_cuts += 1
        self.pruned(
            parent,
            COMPLETE_GRAPH[level],
            level,
            reason(cut, {"e": cut.failure.evidence}),
            1.0 + beyond,
            exact=not beyond,
        )

    def completed(self, node: str, sgraph: str) -> str:
        """Write a family; its id."""
        self.families += 1
        family = f"f{self.families}"
        self._journal.append(FamilyCompleted(family, node, sgraph))
        return family

    def space_counted(self, space: float) -> None:
        """Write the size of the space, against which the rows of the ledger add up."""
        self._journal.append(
            SpaceCounted(space, self.nodes - self.families - self.complete_graph_cuts, float(self.invalid))
        )
