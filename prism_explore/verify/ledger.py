"""Shared terms and the equations between them: what a derivation is written in.

Equal terms are one number here, so a term of any size costs one word to speak of, and a derivation is a list
of *steps*: pairs of terms that are the two sides of one axiom. Steps say nothing of the terms around
them; that equals may be put for equals is the reader's business (congruence). `saturate` hands them to egglog,
`checker` reads them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.index import Index, Var, substitute
from prism_explore.verify.spelling import lisp, spell_at
from prism_explore.verify.statement import Axis, coordinates_of
from prism_explore.verify.terms import At, Expr, children, head, of_dim

RENAME = "rename"
"""The axiom whose instances cannot be seen from the two terms' operators alone."""
Id: TypeAlias = int
"""A term's number in its ledger."""


@dataclass(frozen=True, slots=True)
class Node:
    """A term's outermost operator and what is directly inside."""

    op: str
    label: str = ""
    inside: tuple[Id, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """Two terms that are equal by one axiom."""

    axiom: str
    left: Id
    right: Id


@dataclass(frozen=True, slots=True)
class Derivation:
    """Steps that lead from one side to the other, and the terms and axes that they speak of."""

    axes: tuple[Axis, ...]
    nodes: tuple[Node, ...]
    """Terms by number; what is inside of a term comes before it."""
    elements: Mapping[Id, At]
    """Which of the terms are elements of inputs."""
    left: Id
    right: Id
    steps: tuple[Step, ...]

    @property
    def axioms(self) -> tuple[str, ...]:
        """The axioms in the order of their first use."""
        return tuple(dict.fromkeys(s.axiom for s in self.steps))

    @property
    def text(self) -> str:
        """The certificate's text: axes, both sides, the terms that steps speak of, and the steps."""
        lines = ["(lemma"]
        for a in self.axes:
            lines.append(f'  (axis {a.name} "{a.extent}"{"".join(f" {d}" for d in a.digits or ())})')
        lines += [f"  (left {self.spelled(self.left)})", f"  (right {self.spelled(self.right)})"]
        for n, node in enumerate(self.nodes):
            lines.append(f"  (let e{n} {lisp(node.op, node.label, [f'e{i}' for i in node.inside])})")
        lines += [f'  (step "{s.axiom}" e{s.left} e{s.right})' for s in self.steps]
        return "\n".join(lines) + ")"

    def spelled(self, e: Id) -> str:
        """One of the terms in full."""
        node = self.nodes[e]
        return lisp(node.op, node.label, [self.spelled(x) for x in node.inside])


class Ledger:
    """Terms over named axes, each with a number, and the steps between them."""

    def __init__(self, axes: Iterable[Axis]) -> None:
        self.nodes: list[Node] = []
        self.steps: dict[tuple[Id, Id], str] = {}
        self.extents: dict[str, Dim] = {}
        self.digits: dict[str, tuple[str, str]] = {}
        for a in axes:
            self.declare(a)
        self._ids: dict[Node, Id] = {}
        self._elements: dict[Id, At] = {}
        self._met: dict[Id, frozenset[str]] = {}
        self._height: dict[Id, int] = {}
        self.zero = self.number(Fraction(0))
        self.one = self.number(Fraction(1))

    def declare(self, a: Axis) -> None:
        """Make an axis known."""
        self.extents[a.name] = a.extent
        if a.digits:
            self.digits[a.name] = a.digits

    # ------------------------------------------------------------ terms
    def make(self, op: str, *inside: Id, label: str = "") -> Id:
        """The term with this operator."""
        node = Node(op, label, inside)
        known = self._ids.get(node)
        if known is None:
            known = self._ids[node] = len(self.nodes)
            self.nodes.append(node)
        return known

    def number(self, value: Fraction) -> Id:
        """A rational number."""
        return self.make("num", label=str(value))

    def value(self, e: Id) -> Fraction | None:
        """The number that a term is, if it is one."""
        node = self.nodes[e]
        return Fraction(node.label) if node.op == "num" else None

    def of(self, e: Expr) -> Id:
        """The term that an expression is."""
        op, label = head(e)
        if isinstance(e, At):
            found = self.make(op, label=spell_at(e))
            self._elements[found] = e
            return found
        return self.make(op, *map(self.of, children(e)), label=label)

    def size(self, d: Dim) -> Id:
        """A size as a number, spelled as everywhere."""
        return self.of(of_dim(d))

    # ------------------------------------------------------------ axes
    def coordinates(self, axis: str) -> frozenset[str]:
        """The axes without digits that an axis consists of."""
        return coordinates_of(axis, self.digits)

    def words(self, element: Id) -> frozenset[str]:
        """The axes that an element of an input is spelled with."""
        return frozenset[str]().union(*(i.free for i in self._elements[element].index))

    def met(self, e: Id) -> frozenset[str]:
        """The coordinates on which a term depends."""
        if e not in self._met:
            node = self.nodes[e]
            if node.op == "at":
                met = frozenset[str]().union(*(self.coordinates(w) for w in self.words(e)))
            else:
                met = frozenset[str]().union(*(self.met(x) for x in node.inside))
                if node.op == "sum":
                    met -= self.coordinates(node.label)
            self._met[e] = met
        return self._met[e]

    def height(self, e: Id) -> int:
        """How deeply sums are nested in a term."""
        if e not in self._height:
            node = self.nodes[e]
            inside = max((self.height(x) for x in node.inside), default=0)
            self._height[e] = inside + (node.op == "sum")
        return self._height[e]

    def elements(self, e: Id) -> Iterator[Id]:
        """The elements of inputs in a term."""
        pending, seen = [e], {e}
        while pending:
            at = pending.pop()
            if at in self._elements:
                yield at
            for x in self.nodes[at].inside:
                if x not in seen:
                    seen.add(x)
                    pending.append(x)

    def replaced(self, e: Id, old: str, new: str) -> Id | None:
        """The term over another axis; None where that cannot be had by changing names."""
        mine = self.coordinates(old)
        if mine.isdisjoint(self.met(e)):
            return e
        node = self.nodes[e]
        if node.op == "at":
            if any(w != old and not mine.isdisjoint(self.coordinates(w)) for w in self.words(e)):
                return None
            element = self._elements[e]
            by: Mapping[str, Index] = {old: Var(new, self.extents[new])}
            return self.of(At(element.tensor, tuple(substitute(i, by) for i in element.index)))
        if node.op == "sum" and not self.coordinates(node.label).isdisjoint(self.coordinates(new)):
            return None
        inside: list[Id] = []
        for x in node.inside:
            other = self.replaced(x, old, new)
            if other is None:
                return None
            inside.append(other)
        return self.make(node.op, *inside, label=node.label)

    def coloured(self, element: Id, colours: Mapping[str, str]) -> str:
        """An element of an input as words, some axes under other names."""
        there = self._elements[element]
        by: dict[str, Index] = {w: Var(c, self.extents[w]) for w, c in colours.items()}
        return spell_at(At(there.tensor, tuple(substitute(i, by) for i in there.index)))

    # ------------------------------------------------------------ steps
    def say(self, axiom: str, left: Id, right: Id) -> None:
        """Two terms are the two sides of an axiom."""
        if left != right:
            self.steps.setdefault((left, right), axiom)

    def extract(self, left: Id, right: Id, steps: Sequence[Step]) -> Derivation:
        """A derivation on its own, with the terms and axes that it speaks of."""
        numbers: dict[Id, Id] = {}
        nodes: list[Node] = []

        def copy(e: Id) -> Id:
            if e not in numbers:
                node = self.nodes[e]
                inside = tuple(map(copy, node.inside))
                numbers[e] = len(nodes)
                nodes.append(Node(node.op, node.label, inside))
            return numbers[e]

        copied = tuple(Step(s.axiom, copy(s.left), copy(s.right)) for s in steps)
        both = copy(left), copy(right)
        words = {w for e in numbers if e in self._elements for w in self.words(e)}
        words |= {node.label for node in nodes if node.op == "sum"}
        pending = list(words)
        while pending:
            for part in self.digits.get(pending.pop(), ()):
                if part not in words:
                    words.add(part)
                    pending.append(part)
        words |= {pair for pair, parts in self.digits.items() if words.issuperset(parts)}
        axes = tuple(Axis(n, d, self.digits.get(n)) for n, d in self.extents.items() if n in words)
        elements = {numbers[e]: at for e, at in self._elements.items() if e in numbers}
        return Derivation(axes, tuple(nodes), elements, *both, copied)
