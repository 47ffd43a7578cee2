"""The search tree: nodes, pruned regions and families, built from the journal event by event.

The tree can be read as it was after any number of events: `before(n)` is a view that shares the data.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.events.kinds import (
    Event,
    ExplorationFinished,
    FamilyCompleted,
    NodeExpanded,
    RegionPruned,
    Soundness,
)
from prism_explore.events.ledger import FamilyRow

RegionKind: TypeAlias = tuple[str, str, Soundness]
"""Operator without operands, code of the reason, soundness."""
Integers: TypeAlias = npt.NDArray[np.int64]


def _positions() -> array[int]:
    return array("q")


@dataclass(slots=True)
class TreeNode:
    """A node of the search tree: a partial sGraph, and what the search did below it."""

    id: str
    parent: str
    operator: str
    """The operator that was added to the parent, with its operands, such as matmul(%0, %1)."""
    expression: str
    level: str
    children: list[str] = field(default_factory=list[str])
    pruned: list[RegionPruned] = field(default_factory=list[RegionPruned])
    families: list[str] = field(default_factory=list[str])

    @property
    def function(self) -> str:
        """The operator without its operands, such as matmul; events store both as one text."""
        return self.operator.partition("(")[0]


@dataclass(slots=True)
class _Record:
    """A node, its place among all nodes, and the positions of the events that added to it."""

    node: TreeNode
    index: int
    depth: int
    children_at: array[int] = field(default_factory=_positions)
    pruned_at: array[int] = field(default_factory=_positions)
    families_at: array[int] = field(default_factory=_positions)

    def before(self, limit: int) -> TreeNode:
        """The node as it was."""
        node = self.node
        return replace(
            node,
            children=node.children[: bisect_left(self.children_at, limit)],
            pruned=node.pruned[: bisect_left(self.pruned_at, limit)],
            families=node.families[: bisect_left(self.families_at, limit)],
        )


@dataclass(slots=True)
class _Columns:
    """The data that all views of one tree share."""

    records: dict[str, _Record] = field(default_factory=dict[str, _Record])
    roots: list[str] = field(default_factory=list[str])
    roots_at: array[int] = field(default_factory=_positions)
    nodes_at: array[int] = field(default_factory=_positions)
    """Positions of the events are ascending, here and below."""
    parents: array[int] = field(default_factory=lambda: array("i"))
    """Per node, the place of its parent; -1 for a root."""
    depths: array[int] = field(default_factory=lambda: array("i"))
    pruned_at: array[int] = field(default_factory=_positions)
    pruned_below: array[int] = field(default_factory=lambda: array("i"))
    """Per pruned region, the place of its node."""
    pruned: list[RegionPruned] = field(default_factory=list[RegionPruned])
    pruned_kinds: array[int] = field(default_factory=lambda: array("i"))
    """Per pruned region, the number of its kind."""
    kinds: dict[RegionKind, int] = field(default_factory=dict[RegionKind, int])
    """Per kind, its number."""
    kind_of: dict[RegionKind, int] = field(default_factory=dict[RegionKind, int])
    """Per operator with operands, code and soundness, the number of the kind."""
    families_at: array[int] = field(default_factory=_positions)
    finished_at: int = sys.maxsize
    count: int = 0

    def add_node(self, node: TreeNode, at: int) -> _Record:
        """Add a node below its parent; without a known parent, as a root."""
        parent = self.records.get(node.parent)
        record = _Record(node, len(self.nodes_at), parent.depth + 1 if parent else 0)
        self.records[node.id] = record
        self.nodes_at.append(at)
        self.parents.append(parent.index if parent else -1)
        self.depths.append(record.depth)
        if parent:
            parent.node.children.append(node.id)
            parent.children_at.append(at)
        else:
            self.roots.append(node.id)
            self.roots_at.append(at)
        return record

    def add_region(self, region: RegionPruned, at: int) -> None:
        """Add a pruned region below its node."""
        record = self.record(region.parent, at)
        record.node.pruned.append(region)
        record.pruned_at.append(at)
        self.pruned_at.append(at)
        self.pruned_below.append(record.index)
        self.pruned.append(region)
        reason = region.reason
        spelled = (region.operator, reason.code, reason.soundness)
        kind = self.kind_of.get(spelled)
        if kind is None:
            function = region.operator.partition("(")[0]
            kind = self.kinds.setdefault((function, reason.code, reason.soundness), len(self.kinds))
            self.kind_of[spelled] = kind
        self.pruned_kinds.append(kind)

    def record(self, node: str, at: int) -> _Record:
        """The node with this id; if no event expanded it, it is added as a root."""
        return self.records.get(node) or self.add_node(TreeNode(node, "", "", "", "kernel"), at)


class _Nodes(Mapping[str, TreeNode]):
    """The nodes before a position."""

    def __init__(self, columns: _Columns, limit: int) -> None:
        self._columns, self._limit = columns, limit

    def __len__(self) -> int:
        return bisect_left(self._columns.nodes_at, self._limit)

    def __iter__(self) -> Iterator[str]:
        return islice(self._columns.records, len(self))

    def __contains__(self, key: object) -> bool:
        record = self._columns.records.get(key) if isinstance(key, str) else None
        return record is not None and self._columns.nodes_at[record.index] < self._limit

    def __getitem__(self, key: str) -> TreeNode:
        if key not in self:
            raise KeyError(key)
        record = self._columns.records[key]
        return record.node if self._limit >= self._columns.count else record.before(self._limit)


class SearchTree:
    """The tree of all nodes that were expanded. A second expansion of one node is ignored."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._columns = _Columns()
        self._limit = sys.maxsize
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add one event; events that do not concern the tree are ignored."""
        columns = self._columns
        at = columns.count
        columns.count += 1
        match event:
            case RegionPruned():
                columns.add_region(event, at)
            case NodeExpanded():
                if event.node not in columns.records:
                    node = TreeNode(event.node, event.parent, event.operator, event.expression, event.level)
                    columns.add_node(node, at)
            case FamilyCompleted():
                record = columns.record(event.node, at)
                record.node.families.append(event.family)
                record.families_at.append(at)
                columns.families_at.append(at)
            case ExplorationFinished():
                columns.finished_at = min(at, columns.finished_at)
            case _:
                pass

    def before(self, count: int) -> SearchTree:
        """The tree after the first `count` events."""
        view = SearchTree()
        view._columns, view._limit = self._columns, min(count, self._limit)
        return view

    @property
    def version(self) -> tuple[int, int, int, bool]:
        """Number of nodes, pruned regions and families, and `finished`: equal for equal views of one tree."""
        columns, limit = self._columns, self._limit
        nodes, pruned = bisect_left(columns.nodes_at, limit), bisect_left(columns.pruned_at, limit)
        return nodes, pruned, bisect_left(columns.families_at, limit), self.finished

    @property
    def nodes(self) -> Mapping[str, TreeNode]:
        """The nodes by id, in the order in which they were expanded."""
        return _Nodes(self._columns, self._limit)

    @property
    def roots(self) -> list[str]:
        """The nodes without a parent."""
        return self._columns.roots[: bisect_left(self._columns.roots_at, self._limit)]

    @property
    def finished(self) -> bool:
        """Whether the search has ended."""
        return self._columns.finished_at < self._limit

    def node_columns(self) -> tuple[list[TreeNode], list[int]]:
        """All nodes in the order in which they were expanded, and per node the place of its parent; -1 for none."""
        columns = self._columns
        count = len(self.nodes)
        records = islice(columns.records.values(), count)
        whole = self._limit >= columns.count
        return [r.node if whole else r.before(self._limit) for r in records], columns.parents[:count].tolist()

    def region_columns(self) -> tuple[list[RegionPruned], Integers, Integers, list[RegionKind]]:
        """All pruned regions, per region the place of its node and the number of its kind, and the kinds by number."""
        columns = self._columns
        count = bisect_left(columns.pruned_at, self._limit)
        below, kinds = columns.pruned_below[:count], columns.pruned_kinds[:count]
        return columns.pruned[:count], np.array(below, np.int64), np.array(kinds, np.int64), list(columns.kinds)

    def place(self, node: str) -> int | None:
        """The place of a node among all nodes."""
        return self._columns.records[node].index if node in self.nodes else None

    def leaf_counts(self) -> Mapping[str, int]:
        """Per node, the number of leaves below it, at least one.

        A leaf is a pruned region, or a node without children and without pruned regions.
        """
        columns, limit = self._columns, self._limit
        nodes, pruned = bisect_left(columns.nodes_at, limit), bisect_left(columns.pruned_at, limit)
        parents = np.array(columns.parents[:nodes], np.int64)
        depths = np.array(columns.depths[:nodes], np.int64)
        leaves = np.bincount(np.array(columns.pruned_below[:pruned], np.int64), minlength=nodes)
        by_depth = np.argsort(depths, kind="stable")
        ends: list[int] = np.cumsum(np.bincount(depths)).tolist() if nodes else []
        for level, end in reversed([*enumerate(ends)]):
            here = by_depth[ends[level - 1] if level else 0 : end]
            leaves[here] = np.maximum(leaves[here], 1)
            if level:
                np.add.at(leaves, parents[here], leaves[here])
        return dict(zip(islice(columns.records, nodes), leaves.tolist(), strict=True))

    def ancestors(self, node: str) -> Iterator[str]:
        """Ids of the node and of the nodes above it, up to the root."""
        nodes, records = self.nodes, self._columns.records
        while node in nodes:
            yield node
            record = records[node]
            if not record.depth:  # in a damaged file a root may name any node as its parent, also itself
                return
            node = record.node.parent

    def path(self, node: str) -> tuple[str, ...]:
        """Ids of the nodes from the root to this one."""
        return tuple(self.ancestors(node))[::-1]


def family_counts(tree: SearchTree, families: Iterable[FamilyRow]) -> Counter[str]:
    """Per node, the number of families that it and the nodes below it complete."""
    return Counter(node for row in families for node in tree.ancestors(row.node))
