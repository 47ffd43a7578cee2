"""The search trees of two searches merged into one, and the steps at which they differ.

A step is matched by its path: the operators from the root, with their operands. Ids are not compared, because an
earlier difference shifts them. A pruned region is matched by its parent and its title; where the titles differ, by its
rule, since one step less in a region changes its title. Merging reads each event once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prism_explore.events.kinds import Event, FamilyCompleted, NodeExpanded, RegionPruned

Difference: TypeAlias = Literal["same", "only A", "only B", "other fate", "other reason"]
"""In both alike; in one search only; expanded in one and pruned in the other; pruned for different reasons."""

DIFFERENCES: tuple[Difference, ...] = ("other fate", "only A", "only B", "other reason", "same")
SIDES = (0, 1)


@dataclass(slots=True)
class MergedStep:
    """A step from a partial graph to a larger one, as each search decided it."""

    number: int
    """Its place in `MergedTree.steps`."""
    parent: int
    """The number of the step before it; -1 for none."""
    operator: str
    """The operator with its operands; for a region, its title."""
    level: str
    nodes: list[str] = field(default_factory=lambda: ["", ""])
    """Per search, the node if the step was expanded."""
    regions: list[RegionPruned | None] = field(default_factory=lambda: list[RegionPruned | None]((None, None)))
    """Per search, the region if the step was pruned."""
    families: list[list[str]] = field(default_factory=lambda: [[], []])
    """Per search, the families that the node completes."""
    children: list[int] = field(default_factory=list[int])
    leaves: list[int] = field(default_factory=lambda: [0, 0])
    """Per search, the number of leaves below the step: pruned regions, and nodes without children."""
    differing: int = 0
    """The number of steps at and below this one that differ."""

    @property
    def difference(self) -> Difference:
        """How the two searches differ at this step alone."""
        a, b = (self.is_in(side) for side in SIDES)
        if not b:
            return "only A"
        if not a:
            return "only B"
        if bool(self.nodes[0]) != bool(self.nodes[1]):
            return "other fate"
        one, other = self.regions
        if one is not None and other is not None and one.reason.code != other.reason.code:
            return "other reason"
        return "same"

    def is_in(self, side: int) -> bool:
        """Whether a search tried the step."""
        return bool(self.nodes[side]) or self.regions[side] is not None

    def ref(self, side: int) -> str:
        """The id of the step in one search; empty if it was not tried there."""
        region = self.regions[side]
        return self.nodes[side] or (region.region if region is not None else "")

    @property
    def size(self) -> int:
        """The difference of the sizes of its subtrees, in leaves."""
        return abs(self.leaves[0] - self.leaves[1])


class MergedTree:
    """The merged tree of two searches.

    Args:
        one: the events of search A.
        other: the events of search B.
    """

    def __init__(self, one: Iterable[Event], other: Iterable[Event]) -> None:
        self.steps: list[MergedStep] = []
        self.roots: list[int] = []
        self.number_of: tuple[dict[str, int], dict[str, int]] = ({}, {})
        """Per search, the number of the step of a node, a region or a family."""
        self._by_path: dict[tuple[int, str, str, int], int] = {}
        regions = tuple(self._add_nodes(side, events) for side, events in enumerate((one, other)))
        for parent in dict.fromkeys((*regions[0], *regions[1])):
            self._match_regions(parent, (regions[0].get(parent, []), regions[1].get(parent, [])))
        self._count()

    # ------------------------------------------------------------ matching
    def _add_nodes(self, side: int, events: Iterable[Event]) -> dict[int, list[RegionPruned]]:
        """Add the nodes of one search; return its regions by the number of the step that they are below."""
        numbers = self.number_of[side]
        seen: defaultdict[tuple[int, str, str], int] = defaultdict(int)
        regions: defaultdict[int, list[RegionPruned]] = defaultdict(list)
        for event in events:
            if isinstance(event, RegionPruned):
                regions[numbers.get(event.parent, -1)].append(event)
            elif isinstance(event, NodeExpanded):
                place = numbers.get(event.parent, -1), event.level, event.operator
                step = self._step(*place, seen[place])
                seen[place] += 1
                step.nodes[side] = event.node
                numbers[event.node] = step.number
            elif isinstance(event, FamilyCompleted) and event.node in numbers:
                numbers[event.family] = numbers[event.node]
                self.steps[numbers[event.node]].families[side].append(event.family)
        return regions

    def _step(self, parent: int, level: str, operator: str, occurrence: int) -> MergedStep:
        key = (parent, level, operator, occurrence)
        if key not in self._by_path:
            self._by_path[key] = self._new(parent, level, operator).number
        return self.steps[self._by_path[key]]

    def _new(self, parent: int, level: str, operator: str) -> MergedStep:
        step = MergedStep(len(self.steps), parent, operator, level)
        self.steps.append(step)
        (self.steps[parent].children if parent >= 0 else self.roots).append(step.number)
        return step

    def _match_regions(self, parent: int, regions: Sequence[list[RegionPruned]]) -> None:
        """Match the regions of both searches below one step: by title and reason, by title, then by reason."""
        merged = self._find_other_fates(parent, regions)
        left = [[r for r in own if r.region not in merged[side]] for side, own in enumerate(regions)]
        for key in (_title_and_reason, _title, _level_and_reason):
            waiting: defaultdict[tuple[str, ...], list[RegionPruned]] = defaultdict(list)
            for region in reversed(left[1]):
                waiting[key(region)].append(region)
            unmatched: list[RegionPruned] = []
            for region in left[0]:
                same = waiting[key(region)]
                if same:
                    self._add_region(parent, region, same.pop())
                else:
                    unmatched.append(region)
            still = {r.region for rest in waiting.values() for r in rest}
            left = [unmatched, [r for r in left[1] if r.region in still]]
        for region in left[0]:
            self._add_region(parent, region, None)
        for region in left[1]:
            self._add_region(parent, None, region)

    def _add_region(self, parent: int, one: RegionPruned | None, other: RegionPruned | None) -> None:
        known = one or other
        assert known is not None, "a region of at least one search"
        step = self._new(parent, known.level, known.operator)
        for side, region in enumerate((one, other)):
            step.regions[side] = region
            if region is not None:
                self.number_of[side][region.region] = step.number

    def _find_other_fates(self, parent: int, regions: Sequence[list[RegionPruned]]) -> tuple[set[str], set[str]]:
        """Find the steps below a node that one search expanded and the other pruned.

        Returns:
            Per search, the regions that consist of such a step alone, so that they are no steps of their own.
        """
        merged: tuple[set[str], set[str]] = (set(), set())
        children = self.steps[parent].children if parent >= 0 else self.roots
        for side in SIDES:
            missing = [s for c in children if not (s := self.steps[c]).nodes[side] and s.nodes[1 - side]]
            if not missing or not regions[side]:
                continue
            pruned = {(r.level, step): r for r in regions[side] for step in region_steps(r)}
            for step in missing:
                region = pruned.get((step.level, step_label(step.operator)))
                if region is None:
                    continue
                step.regions[side] = region
                if len(region_steps(region)) == 1 and region.region not in merged[side]:
                    merged[side].add(region.region)
                    self.number_of[side][region.region] = step.number
        return merged

    # ------------------------------------------------------------ counting
    def _count(self) -> None:
        """Count the leaves and the differing steps below each step; a step comes after its parent."""
        for step in reversed(self.steps):
            step.differing += step.difference != "same"
            for side in SIDES:
                region = step.regions[side]
                if step.nodes[side]:
                    step.leaves[side] = max(1, step.leaves[side])
                elif region is not None and self.number_of[side].get(region.region) == step.number:
                    step.leaves[side] = 1
            if step.parent >= 0:
                above = self.steps[step.parent]
                above.differing += step.differing
                for side in SIDES:
                    above.leaves[side] += step.leaves[side]

    @property
    def divergences(self) -> list[MergedStep]:
        """The steps that differ although the step before them is in both, the largest difference of size first."""
        found = [
            step
            for step in self.steps
            if step.difference != "same" and (step.parent < 0 or all(self.steps[step.parent].nodes))
        ]
        return sorted(found, key=lambda step: (-step.size, DIFFERENCES.index(step.difference), step.number))

    def path(self, number: int) -> tuple[MergedStep, ...]:
        """The steps from a root to this one."""
        found: list[MergedStep] = []
        while number >= 0:
            found.append(self.steps[number])
            number = self.steps[number].parent
        return tuple(reversed(found))

    def counts(self) -> dict[Difference, int]:
        """How many steps differ in each way."""
        counts = dict.fromkeys(DIFFERENCES, 0)
        for step in self.steps:
            counts[step.difference] += 1
        return counts

    def below(self, number: int) -> Iterator[MergedStep]:
        """A step and all steps below it."""
        stack = [number]
        while stack:
            step = self.steps[stack.pop()]
            yield step
            stack += reversed(step.children)


def _title_and_reason(region: RegionPruned) -> tuple[str, ...]:
    return region.level, region.operator, region.reason.code


def _title(region: RegionPruned) -> tuple[str, ...]:
    return region.level, region.operator


def _level_and_reason(region: RegionPruned) -> tuple[str, ...]:
    return region.level, region.reason.code


# ---------------------------------------------------------------- the steps of a region
_KEYWORD = re.compile(r", (?=\w+=)")
_MORE = re.compile(r" and \d+ more$")


def step_label(operator: str) -> str:
    """The operator of a node as the title of a region has it.

    >>> step_label("rms(%0, dim=1)"), step_label("slice(x, dim=1, start=0, stop=3)"), step_label("exp(%2)")
    ('rms[1](%0)', 'slice[1, 0:3](x)', 'exp(%2)')
    """
    name, opened, rest = operator.partition("(")
    operands, *keywords = _KEYWORD.split(rest.removesuffix(")"))
    values = {key: value.strip("[]") for key, _, value in (word.partition("=") for word in keywords)}
    if not opened or not values:
        return operator
    if name == "slice":
        along = f"{values.get('dim')}, {values.get('start')}:{values.get('stop')}"
    else:
        along = values.get("dim") or ", ".join(values.values())
    return f"{name}[{along}]({operands})"


def region_steps(region: RegionPruned) -> tuple[str, ...]:
    """The steps of a region, such as `exp(%2)`; its title lists the first ones, its reason all.

    >>> from prism_explore.events.kinds import Reason
    >>> why = Reason("shape.mismatch", "generate", "sound", "shape.mismatch", "")
    >>> region_steps(RegionPruned("p1", "n1", "add | mul(%0, %1); exp(%0)", "block", why))
    ('add(%0, %1)', 'mul(%0, %1)', 'exp(%0)')
    """
    titles: Iterable[str] = region.operator.split("; ")
    if _MORE.search(region.operator):
        titles = [key for key in region.reason.substitution if key.endswith(")")]
    found: list[str] = []
    for title in titles:
        labels, opened, operands = title.rpartition("(")
        found += [f"{label}{opened}{operands}" for label in labels.split(" | ")] if opened else [title]
    return tuple(found)
