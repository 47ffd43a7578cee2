"""The growth of an e-graph, frame by frame, with stable ids.

Input is the steps of `trace`; output is a tuple of `Frame`. egglog renames classes as they merge. Here classes are e1,
e2, ... and nodes n1, n2, ... in order of creation; within one frame the order is that of operator, literals and
children, so the same run gives the same ids. Nodes are identified from frame to frame by their operator and children,
which an e-graph never loses. Where classes merge, the *oldest id stays*; so it is for nodes that become equal because
their children did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from prism_explore.support.union_find import UnionFind
from prism_explore.verify.egraph.limits import StopReason, explain, readable

Key: TypeAlias = tuple[str, tuple[str, ...], tuple[int, ...]]
"""Operator, literals, and the numbers of the children's classes."""
Row: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...], str]
"""Operator, literals, children's classes and own class, with egglog's current ids."""


@dataclass(frozen=True, slots=True)
class ENode:
    """An operator over classes."""

    id: str
    op: str
    literals: tuple[str, ...]
    """In egglog's notation."""
    children: tuple[str, ...]
    """Ids of classes."""

    @property
    def label(self) -> str:
        """The operator with its literals in plain notation."""
        return " ".join((self.op, *map(readable, self.literals)))


@dataclass(frozen=True, slots=True)
class ClassFrame:
    """An e-class in one frame, with its nodes in order of creation."""

    id: str
    nodes: tuple[ENode, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """Classes that were merged."""

    survivor: str
    absorbed: tuple[str, ...]
    axiom: str
    """The frame's axiom."""
    is_congruence: bool
    """Whether it followed by congruence: the same operator over children that had become equal."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The complete e-graph after one axiom."""

    number: int
    """0 for the input."""
    iteration: int
    """The round through the table of axioms, from 1."""
    axiom: str
    """The axiom that was applied; empty in frame 0."""
    matches: int
    """Number of matches."""
    classes: tuple[ClassFrame, ...]
    added: tuple[str, ...]
    """Ids of new classes."""
    added_nodes: tuple[str, ...]
    """Ids of new nodes, in old classes too."""
    merged: tuple[Merge, ...]
    roots: tuple[str, str]
    """The classes of the left and the right side; equal if they are merged."""

    @property
    def nodes(self) -> int:
        """Number of e-nodes."""
        return sum(len(c.nodes) for c in self.classes)

    @property
    def is_proved(self) -> bool:
        """Whether both sides are in one class."""
        return self.roots[0] == self.roots[1]

    def to_json(self) -> dict[str, Any]:
        """The e-graph in egglog's serialization format.

        Nodes have `op`, `children` (ids of nodes), `eclass`, `cost` and `subsumed`; literals are nodes of their own,
        in classes of their own. `class_data` gives each class its type, and the two sides their names.

        Source: the crate egraph-serialize, which `EGraph.serialize` of egglog writes.
        """
        nodes: dict[str, Any] = {}
        data: dict[str, Any] = {}
        first = {c.id: c.nodes[0].id for c in self.classes}
        for c in self.classes:
            data[c.id] = {"type": "Expr"}
            for node in c.nodes:
                below = [f"literal {word}" for word in node.literals]
                for name, word in zip(below, node.literals, strict=True):
                    nodes[name] = _json_node(word, [], name)
                    data[name] = {"type": "BigRat" if word.startswith("Ratio") else "String"}
                children = [*below, *(first[child] for child in node.children)]
                nodes[node.id] = _json_node(node.op, children, c.id)
        for name, root in zip(("$left", "$right"), self.roots, strict=True):
            first_name = data[root].get("let")
            data[root]["let"] = f"{first_name}, {name}" if first_name else name
        return {"nodes": nodes, "root_eclasses": list(dict.fromkeys(self.roots)), "class_data": data}


@dataclass(frozen=True, slots=True)
class Growth:
    """An e-graph from its input to the end of the run."""

    subject: str
    """The tensor whose lemma it is, or `goal`."""
    operation: str
    value: str
    stop: StopReason
    frames: tuple[Frame, ...]

    @property
    def matches(self) -> Mapping[int, Mapping[str, int]]:
        """Matches by iteration and axiom, for axioms that changed something."""
        found: dict[int, dict[str, int]] = {}
        for f in self.frames[1:]:
            found.setdefault(f.iteration, {})[f.axiom] = f.matches
        return found

    def text(self) -> str:
        """The changes of each frame, and the final classes."""
        lines = [f"{self.subject}: {self.operation}", f"  = {self.value}"]
        for f in self.frames:
            what = (
                f"iteration {f.iteration}, {f.axiom}, {_count(f.matches, 'match', 'matches')}" if f.axiom else "input"
            )
            lines.append(f"  frame {f.number}: {what}; {_count(f.nodes, 'node', 'nodes')} in {len(f.classes)} classes")
            if f.added and f.axiom:
                lines.append(f"    new: {', '.join(f.added)}")
            for m in f.merged:
                why = "by congruence" if m.is_congruence else f"by {m.axiom}"
                lines.append(f"    {m.survivor} absorbs {', '.join(m.absorbed)} {why}")
        if not self.frames:
            return "\n".join((*lines, f"  no e-graph: {explain(self.stop)}"))
        last = self.frames[-1]
        left, right = last.roots
        outcome = (
            f"both sides are in {left}"
            if last.is_proved
            else f"left is in {left}, right in {right}: {explain(self.stop)}"
        )
        lines.append(f"  {outcome}")
        for c in last.classes:
            shown = (" ".join((n.label, *((n.children and (f"({', '.join(n.children)})",)) or ()))) for n in c.nodes)
            lines.append(f"    {c.id} = {' = '.join(shown)}")
        return "\n".join(lines)


def _json_node(op: str, children: Sequence[str], name: str) -> dict[str, Any]:
    return {"op": op, "children": list(children), "eclass": name, "cost": 1.0, "subsumed": False}


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def make_frames(steps: Iterable[Mapping[str, Any]]) -> tuple[Frame, ...]:
    """The frames of a trace's steps."""
    names = _FrameBuilder()
    return tuple(names.frame(number, step) for number, step in enumerate(steps))


class _Waiting:
    """Rows that wait until each of their children's classes has a number."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._missing = [len(set(below)) for _, _, below, _ in rows]
        self._rows = rows
        self._users: dict[str, list[int]] = {}
        for place, (_, _, below, _) in enumerate(rows):
            for child in set(below):
                self._users.setdefault(child, []).append(place)

    def leaves(self) -> list[Row]:
        """The rows without children."""
        return [row for row, missing in zip(self._rows, self._missing, strict=True) if not missing]

    def release(self, name: str) -> list[Row]:
        """The rows that waited only for this class, which has a number now."""
        ready: list[Row] = []
        for place in self._users.pop(name, ()):
            self._missing[place] -= 1
            if not self._missing[place]:
                ready.append(self._rows[place])
        return ready


class _FrameBuilder:
    """Numbers of classes and nodes; where two merge, the smaller number stays.

    A frame takes time in proportion to its rows, and a merge in proportion to the nodes over the absorbed class.
    """

    def __init__(self) -> None:
        self._same = UnionFind[int]()
        self._nodes: dict[Key, tuple[int, int]] = {}
        """The number of each node and of its class."""
        self._users: dict[int, list[Key]] = {}
        """Per class, the nodes over it, and keys that such nodes had before a merge."""
        self._drawn: dict[Key, ENode] = {}
        self._classes = self._created = 0

    def frame(self, number: int, step: Mapping[str, Any]) -> Frame:
        """The next frame."""
        rows = [(str(op), tuple(literals), tuple(below), str(own)) for op, literals, below, own in step["nodes"]]
        before = {key: self._find(own) for key, (_, own) in self._nodes.items()}
        of: dict[str, int] = {}
        waiting = _Waiting(rows)
        unknown, absorbed = self._match_known(waiting, of)
        new = self._number_new(waiting, unknown, of)
        grouped: dict[int, list[tuple[int, Key]]] = {}
        missing: list[tuple[Key, int]] = []
        for row in rows:
            key, own = self._key(row, of), self._find(of[row[3]])
            if key in self._nodes:
                grouped.setdefault(own, []).append((self._nodes[key][0], key))
            else:
                missing.append((key, own))
        added_nodes: list[int] = []
        for key, own in sorted(missing):
            self._created += 1
            self._add_node(key, (self._created, own))
            added_nodes.append(self._created)
            grouped.setdefault(own, []).append((self._created, key))
        axiom = str(step["axiom"])
        left, right = (f"e{self._find(of[str(r)])}" for r in step["roots"])
        return Frame(
            number,
            int(step["iteration"]),
            axiom,
            int(step["matches"]),
            tuple(
                ClassFrame(f"e{c}", tuple(self._node(n, key) for n, key in sorted(nodes)))
                for c, nodes in sorted(grouped.items())
            ),
            tuple(f"e{c}" for c in new),
            tuple(f"n{n}" for n in added_nodes),
            tuple(self._merges(absorbed, before, axiom)),
            (left, right),
        )

    def _match_known(self, waiting: _Waiting, of: dict[str, int]) -> tuple[list[Row], list[int]]:
        """Find the numbers of egglog's classes that existed before.

        Args:
            waiting: the rows of the step.
            of: gets the number of each of egglog's classes that existed before.

        Returns:
            The rows of new nodes whose children have numbers, and the absorbed numbers.
        """
        absorbed: list[int] = []
        ready, unknown, merges = waiting.leaves(), list[Row](), 0
        while ready:
            row = ready.pop()
            own, known = row[3], self._nodes.get(self._key(row, of))
            if known is None:
                unknown.append(row)
            elif own not in of:
                of[own] = self._find(known[1])
                ready += waiting.release(own)
            else:
                absorbed += self._merge(of[own], known[1])
            if not ready and len(absorbed) > merges:  # a merge can make the key of a node that was there before
                ready, unknown, merges = unknown, [], len(absorbed)
        return unknown, sorted(absorbed)

    def _merge(self, one: int, other: int) -> list[int]:
        """Merge two classes and all that follow by congruence; returns the absorbed numbers."""
        absorbed: list[int] = []
        pending = [(one, other)]
        while pending:
            pair = pending.pop()
            younger = max(map(self._find, pair))
            if not self._same.union(*pair):
                continue
            absorbed.append(younger)
            for key in self._users.pop(younger, ()):
                node = self._nodes.pop(key, None)
                if node is None:  # the key of an earlier merge
                    continue
                op, literals, below = key
                renamed = (op, literals, tuple(map(self._find, below)))
                known = self._nodes.get(renamed, node)
                if known[1] != node[1]:
                    pending.append((known[1], node[1]))
                self._add_node(renamed, min(known, node))  # of two equal nodes the older one stays
        return absorbed

    def _add_node(self, key: Key, node: tuple[int, int]) -> None:
        self._nodes[key] = node
        for child in set(key[2]):
            self._users.setdefault(child, []).append(key)

    def _number_new(self, waiting: _Waiting, ready: Iterable[Row], of: dict[str, int]) -> list[int]:
        """Assign numbers to new classes, operands first; returns them.

        Args:
            waiting: the rows of the step.
            ready: the rows of new nodes whose children have numbers.
            of: gets the number of each new class.
        """
        new: list[int] = []
        while True:
            first: dict[str, Key] = {}
            for row in ready:
                if (own := row[3]) not in of:
                    key = self._key(row, of)
                    first[own] = min(first.get(own, key), key)
            if not first:
                return new
            ready = []
            for own in sorted(first, key=lambda name: first[name]):
                self._classes += 1
                self._same.add(self._classes)
                of[own] = self._classes
                new.append(self._classes)
                ready += waiting.release(own)

    def _merges(self, absorbed: list[int], before: Mapping[Key, int], axiom: str) -> Iterable[Merge]:
        """The merges of this frame, and whether each follows from others by congruence."""
        groups: dict[int, list[int]] = {}
        for younger in absorbed:
            groups.setdefault(self._find(younger), []).append(younger)
        if not groups:
            return
        congruent, first = UnionFind[int](), dict[Key, int]()
        for (op, literals, below), own in before.items():
            congruent.union(first.setdefault((op, literals, tuple(map(self._find, below))), own), own)
        for survivor, others in sorted(groups.items()):
            follows = len({congruent.find(c) for c in (survivor, *others)}) == 1
            yield Merge(f"e{survivor}", tuple(f"e{c}" for c in others), axiom, follows)

    def _key(self, row: Row, of: Mapping[str, int]) -> Key:
        op, literals, below, _ = row
        return op, literals, tuple(self._find(of[b]) for b in below)

    def _find(self, c: int) -> int:
        return self._same.find(c)

    def _node(self, number: int, key: Key) -> ENode:
        """The node; the same object as in the frame before, unless a merge has changed it."""
        node = self._drawn.get(key)
        if node is None or node.id != f"n{number}":
            op, literals, below = key
            node = self._drawn[key] = ENode(f"n{number}", op, literals, tuple(f"e{c}" for c in below))
        return node
