"""The search tree: nodes, pruned regions and families, built from the journal event by event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prism_explore.events.kinds import Event, ExplorationFinished, FamilyCompleted, NodeExpanded, RegionPruned


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


class SearchTree:
    """The tree of all nodes that were expanded."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.nodes: dict[str, TreeNode] = {}
        self.roots: list[str] = []
        self.finished = False
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add one event; events that do not concern the tree are ignored."""
        match event:
            case NodeExpanded():
                node = TreeNode(event.node, event.parent, event.operator, event.expression, event.level)
                self.nodes[event.node] = node
                if parent := self.nodes.get(event.parent):
                    parent.children.append(event.node)
                else:
                    self.roots.append(event.node)
            case RegionPruned():
                self._at(event.parent).pruned.append(event)
            case FamilyCompleted():
                self._at(event.node).families.append(event.family)
            case ExplorationFinished():
                self.finished = True
            case _:
                pass

    def _at(self, node: str) -> TreeNode:
        """The node with this id; if no event expanded it, it is added as a root."""
        if node not in self.nodes:
            self.nodes[node] = TreeNode(node, "", "", "", "kernel")
            self.roots.append(node)
        return self.nodes[node]

    def leaf_counts(self) -> Mapping[str, int]:
        """Per node, the number of leaves below it, at least one.

        A leaf is a pruned region, or a node without children and without pruned regions.
        """
        total: dict[str, int] = {}
        for node in reversed(self.nodes.values()):
            below = sum(total.get(c, 1) for c in node.children)
            total[node.id] = max(1, below + len(node.pruned))
        return total

    def path(self, node: str) -> tuple[str, ...]:
        """Ids of the nodes from the root to this one."""
        found: list[str] = []
        while node in self.nodes and node not in found:
            found.append(node)
            node = self.nodes[node].parent
        return tuple(reversed(found))

    def families_below(self, node: str) -> list[str]:
        """Families that were completed at the node or below it."""
        found: list[str] = []
        stack = [node]
        while stack:
            current = self.nodes[stack.pop()]
            found += current.families
            stack += current.children
        return found
