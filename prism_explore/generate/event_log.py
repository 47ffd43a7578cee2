"""The events of the enumeration: numbered nodes and families, and cuts grouped into regions.

Applications to the same operands that one rule cuts are one region. Cuts by a rule with `one_region_per_node` are one
region per node, because there are many similar ones. The reason of a region has the evidence of each application.
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
"""The number of applications in a region's title; its reason names all."""

Step: TypeAlias = tuple[str, tuple[int, ...]]
"""An application by its operator's label and its operands; the label of a custom kernel is `custom`."""

CUSTOM = "custom"
REST = "the rest"
"""The title of a region that a budget left unsearched: the steps at a node that were kept and not taken."""
COMPLETE_GRAPH: dict[Level, str] = {
    "kernel": "whole kernel graph",
    "block": "whole block graph",
    "split": "whole split graph",
}
"""The titles of regions of one complete graph, without the graphs that extend it."""


@dataclass(frozen=True, slots=True)
class CutGroup:
    """Applications to the same operands that one rule cuts, reported together."""

    cut: Cut
    """The cut of the first application."""
    labels: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...]
    """Per evidence, the labels of the applications that have it, and the evidence."""
    shared_symbols: Mapping[str, str]

    @property
    def key(self) -> tuple[object, ...]:
        """Applications with the same key are reported together."""
        failure = self.cut.failure
        return self.cut.rule, failure.detail, failure.heuristic


def group_cuts(cuts: Iterable[tuple[str, Cut]]) -> tuple[CutGroup, ...]:
    """Group cuts of applications to the same operands, given with the labels of the operators."""
    groups: dict[tuple[object, ...], list[tuple[str, Cut]]] = {}
    for label, cut in cuts:
        groups.setdefault((cut.rule, cut.failure.detail, cut.failure.heuristic), []).append((label, cut))
    found: list[CutGroup] = []
    for members in groups.values():
        labels_of: dict[str, list[str]] = {}
        symbols: dict[str, str] = {}
        for label, cut in members:
            labels_of.setdefault(cut.failure.evidence, []).append(label)
            symbols.update(cut.failure.shared_symbols)
        evidence = tuple((" | ".join(labels), shown) for shown, labels in labels_of.items())
        found.append(CutGroup(members[0][1], tuple(label for label, _ in members), evidence, symbols))
    return tuple(found)


def _merged_evidence(groups: Sequence[CutGroup]) -> Iterable[tuple[str, str]]:
    """Per evidence, the labels that share it and the evidence, over all groups of the same operands."""
    if len(groups) == 1:
        return groups[0].evidence
    labels_of: dict[str, list[str]] = {}
    for group in groups:
        for labels, shown in group.evidence:
            labels_of.setdefault(shown, []).append(labels)
    return [(" | ".join(labels), shown) for shown, labels in labels_of.items()]


Group: TypeAlias = dict[tuple[int, ...], list[CutGroup]]


@dataclass(frozen=True, slots=True)
class Region:
    """The cut applications at one node that are reported as one event."""

    title: str
    reason: Reason
    weight: float
    group: Group

    @property
    def steps(self) -> tuple[Step, ...]:
        """The applications."""
        return tuple((label, args) for args, groups in self.group.items() for g in groups for label in g.labels)


class NodeCuts:
    """The cuts at one node of the search, in order of appearance."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], Group] = {}
        self._weights: dict[tuple[object, ...], float] = {}
        self.invalid = 0
        """The number of counted programs that begin with an invalid operator, such as a sum along a missing dim."""

    def add(self, args: tuple[int, ...], label: str, cut: Cut, weight: float) -> None:
        """Add the cut of one application, given the operator's label."""
        self.add_group(
            args, CutGroup(cut, (label,), ((label, cut.failure.evidence),), cut.failure.shared_symbols), weight
        )

    def add_group(self, args: tuple[int, ...], group: CutGroup, weight: float) -> None:
        """Add the cuts of several applications; `weight` is the number of programs that begin with them."""
        operands = () if group.cut.rule.one_region_per_node else args
        key = (group.key, operands)
        self._groups.setdefault(key, {}).setdefault(args, []).append(group)
        self._weights[key] = self._weights.get(key, 0.0) + weight

    @property
    def stood_for(self) -> float:
        """The number of programs that begin with a cut application."""
        return sum(self._weights.values())

    def regions(self, names: dict[int, str]) -> Iterator[Region]:
        """The regions, in order of appearance; `names` has the names of the tensors that have one."""
        for key, group in self._groups.items():
            evidence: dict[str, str] = {}
            symbols: dict[str, str] = {}
            for args, members in group.items():
                listed = ", ".join([names.get(a, f"%{a}") for a in args])
                for labels, shown in _merged_evidence(members):
                    evidence[f"{labels}({listed})"] = shown
                for member in members:
                    symbols.update(member.shared_symbols)
            titles = list(evidence)
            more = f" and {len(titles) - _SHOWN} more" if len(titles) > _SHOWN else ""
            if len(evidence) == 1:
                evidence = {"e": evidence[titles[0]]}
            first = next(iter(group.values()))[0].cut
            yield Region(
                "; ".join(titles[:_SHOWN]) + more, reason(first, {**evidence, **symbols}), self._weights[key], group
            )


@dataclass(frozen=True, slots=True)
class PrunedSequence:
    """Kernel sequences that were pruned outside of the enumeration, or the kernels of one part of such a sequence."""

    text: str
    """The text of the sequences, in place of an operator."""
    reason: Reason
    stood_for: float


def sequence_text(parts: Sequence[Part], part: Part | None = None) -> str:
    """The text of a kernel sequence as a step from the inputs, or of the kernel for one of its parts."""
    if part is not None:
        return f"in {len(parts)} parts, {CUSTOM} for %{part.result}"
    return f"in {len(parts)} parts({', '.join(f'%{p.result}' for p in parts)})"


def is_sequence_text(operator: str) -> bool:
    """Whether the text of a step or a region describes a kernel sequence, which is not enumerated by operators."""
    return _SEQUENCE_TEXT.match(operator) is not None


_SEQUENCE_TEXT = re.compile(r"in [0-9]+ parts\b")


class EventLog:
    """Numbers nodes, regions and families, and writes their events."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.nodes = self.regions = self.families = self.complete_graph_cuts = 0
        self.invalid = 0
        """The number of counted graphs that have an invalid operator; no rule cuts them."""

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

    def complete_graph_cut(self, parent: str, level: Level, cut: Cut, extensions: int = 0) -> None:
        """Write the cut of a complete graph and of the `extensions` of its kernel; larger blocks are still searched."""
        self.complete_graph_cuts += 1
        self.pruned(
            parent,
            COMPLETE_GRAPH[level],
            level,
            reason(cut, {"e": cut.failure.evidence}),
            1.0 + extensions,
            exact=not extensions,
        )

    def completed(self, node: str, sgraph: str) -> str:
        """Write a family; its id."""
        self.families += 1
        family = f"f{self.families}"
        self._journal.append(FamilyCompleted(family, node, sgraph))
        return family

    def space_counted(self, space: float) -> None:
        """Write the size of the space, which is the sum of the ledger's rows."""
        self._journal.append(
            SpaceCounted(space, self.nodes - self.families - self.complete_graph_cuts, float(self.invalid))
        )
