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


class _FrameBuilder:
    """Numbers of classes and nodes; where two merge, the smaller number stays."""

    def __init__(self) -> None:
        self._same = UnionFind[int]()
        self._nodes: dict[Key, tuple[int, int]] = {}
        """The number of each node and of its class."""
        self._classes = self._created = 0

    def frame(self, number: int, step: Mapping[str, Any]) -> Frame:
        """The next frame."""
        rows = [(str(op), tuple(literals), tuple(below), str(own)) for op, literals, below, own in step["nodes"]]
        before = {key: own for key, (_, own) in self._nodes.items()}
        of, absorbed = self._match_known(rows)
        new = self._number_new(rows, of)
        added_nodes: list[int] = []
        grouped: dict[int, list[tuple[int, Key]]] = {}
        missing: list[tuple[Key, int]] = []
        for op, literals, below, own in rows:
            key = (op, literals, tuple(self._find(of[b]) for b in below))
            if key in self._nodes:
                grouped.setdefault(self._find(of[own]), []).append((self._nodes[key][0], key))
            else:
                missing.append((key, self._find(of[own])))
        for key, own in sorted(missing):
            self._created += 1
            self._nodes[key] = self._created, own
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
                ClassFrame(f"e{c}", tuple(_node(n, key) for n, key in sorted(nodes)))
                for c, nodes in sorted(grouped.items())
            ),
            tuple(f"e{c}" for c in new),
            tuple(f"n{n}" for n in added_nodes),
            tuple(self._merges(absorbed, before, axiom)),
            (left, right),
        )

    def _match_known(self, rows: list[Row]) -> tuple[dict[str, int], list[int]]:
        """The numbers of egglog's classes that existed before, and the absorbed numbers."""
        of: dict[str, int] = {}
        absorbed: list[int] = []
        moved = True
        while moved:
            moved = False
            for op, literals, below, own in rows:
                if any(b not in of for b in below):
                    continue
                known = self._nodes.get((op, literals, tuple(self._find(of[b]) for b in below)))
                if known is None:
                    continue
                if own not in of:
                    of[own] = self._find(known[1])
                    moved = True
                elif self._find(of[own]) != self._find(known[1]):
                    absorbed += self._merge(of[own], known[1])
                    moved = True
        return of, sorted(absorbed)

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
            again: dict[Key, tuple[int, int]] = {}
            for (op, literals, below), (number, own) in self._nodes.items():
                key = (op, literals, tuple(map(self._find, below)))
                known = again.setdefault(key, (number, own))
                if known[1] != own:
                    pending.append((known[1], own))
                again[key] = min(known, (number, own))  # of two equal nodes the older one stays
            self._nodes = again
        return absorbed

    def _number_new(self, rows: list[Row], of: dict[str, int]) -> list[int]:
        """Assign numbers to new classes, operands first; returns them."""
        new: list[int] = []
        while True:
            ready: dict[str, Key] = {}
            for op, literals, below, own in rows:
                if own not in of and all(b in of for b in below):
                    key = (op, literals, tuple(self._find(of[b]) for b in below))
                    ready[own] = min(ready.get(own, key), key)
            if not ready:
                return new
            for own in sorted(ready, key=lambda name: ready[name]):
                self._classes += 1
                self._same.add(self._classes)
                of[own] = self._classes
                new.append(self._classes)

    def _merges(self, absorbed: list[int], before: Mapping[Key, int], axiom: str) -> Iterable[Merge]:
        """The merges of this frame, and whether each follows from others by congruence."""
        groups: dict[int, list[int]] = {}
        for younger in absorbed:
            groups.setdefault(self._find(younger), []).append(younger)
        congruent: dict[Key, list[int]] = {}
        for (op, literals, below), own in before.items():
            congruent.setdefault((op, literals, tuple(map(self._find, below))), []).append(own)
        for survivor, others in sorted(groups.items()):
            merged = UnionFind((survivor, *others))
            for owners in congruent.values():
                for other in owners[1:]:
                    merged.union(owners[0], other)
            follows = len({merged.find(c) for c in (survivor, *others)}) == 1
            yield Merge(f"e{survivor}", tuple(f"e{c}" for c in others), axiom, follows)

    def _find(self, c: int) -> int:
        return self._same.find(c)


def _node(number: int, key: Key) -> ENode:
    op, literals, below = key
    return ENode(f"n{number}", op, literals, tuple(f"e{c}" for c in below))
