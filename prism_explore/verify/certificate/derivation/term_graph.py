"""Shared terms and the equations between them: what a derivation is written in.

Equal terms are one number here, so a term of any size costs one word to speak of, and a derivation is a list
of *steps*: pairs of terms that are the two sides of one axiom. Steps say nothing of the terms around
them; that equals may be put for equals is the reader's business (congruence). `saturate` hands them to egglog,
`checker` reads them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate.expressions import (
    UNIT,
    Expr,
    children,
    head,
    of_dim,
    places,
    put,
    with_children,
    with_places,
)
from prism_explore.verify.certificate.lemma import Axis, coordinates_of
from prism_explore.verify.certificate.syntax import Hand, lisp
from prism_explore.verify.normal_form.index import Index, Var, is_count, substitute

RENAME = "rename"
SUM_IN_PIECES, MOST_IN_PIECES = "sum in pieces", "maximum in pieces"
SUM_OVER_DIGITS, MOST_OVER_DIGITS = "sum over digits", "maximum over digits"
RESCALED, LAST_RUNNING, AS_LOW = "rescaled sum", "last running maximum", "as low"
ENTRY = "maximum and an entry"
CUT, APART, EVERYTHING, MEET = "interval cut", "intervals apart", "interval of everything", "bands meet"
STATED = frozenset({SUM_IN_PIECES, MOST_IN_PIECES, RESCALED, LAST_RUNNING, AS_LOW, CUT, APART, EVERYTHING, MEET}) | {
    ENTRY,
    SUM_OVER_DIGITS,
    MOST_OVER_DIGITS,
}
"""Axioms whose conditions lie in indices and extents: egglog is told where they hold, the checker sees to it."""
BINDERS = frozenset({"sum", "most", "upto", "rescaled"})
"""Operators whose label begins with the axis that they bind."""
Id: TypeAlias = int
"""A term's number in its ledger."""


@dataclass(frozen=True, slots=True)
class Node:
    """A term's outermost operator and what is directly inside."""

    op: str
    label: str = ""
    arguments: tuple[Id, ...] = ()


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
    words: Mapping[Id, frozenset[str]]
    """The axes in the indices that stand in a term itself, such as those of an element of an input."""
    left: Id
    right: Id
    steps: tuple[Step, ...]
    integers: tuple[Dim, ...] = ()
    """Sizes that are positive integers, as the conditions of the proof say."""
    fewest: bool = True
    """Whether each axiom was tried to be left out, and could not."""

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
        lines += [f"  (left {self.written(self.left, lisp)})", f"  (right {self.written(self.right, lisp)})"]
        for n, node in enumerate(self.nodes):
            lines.append(f"  (let e{n} {lisp(node.op, node.label, [f'e{i}' for i in node.arguments])})")
        lines += [f'  (step "{s.axiom}" e{s.left} e{s.right})' for s in self.steps]
        return "\n".join(lines) + ")"

    def written(self, e: Id, hand: Hand) -> str:
        """One of the terms in full."""
        node = self.nodes[e]
        return hand(node.op, node.label, [self.written(x, hand) for x in node.arguments])


class TermGraph:
    """Terms over named axes, each with a number, and the log of steps between them."""

    def __init__(self, axes: Iterable[Axis], integers: Sequence[Dim] = ()) -> None:
        """Begin with these axes.

        Args:
            axes: those of the statement.
            integers: sizes that are positive integers by the conditions of the proof.
        """
        self.integers = tuple(integers)
        self.nodes: list[Node] = []
        self.steps: dict[tuple[Id, Id], str] = {}
        self.extents: dict[str, Dim] = {}
        self.digits: dict[str, tuple[str, str]] = {}
        for a in axes:
            self.declare_axis(a)
        self._ids: dict[Node, Id] = {}
        self._shells: dict[Id, Expr] = {}
        self._dependencies: dict[Id, frozenset[str]] = {}
        self._binder_depths: dict[Id, int] = {}
        self.zero = self.number(Fraction(0))
        self.one = self.number(Fraction(1))

    def declare_axis(self, a: Axis) -> None:
        """Make an axis known."""
        self.extents[a.name] = a.extent
        if a.digits:
            self.digits[a.name] = a.digits

    def make(self, op: str, *inside: Id, label: str = "") -> Id:
        """The term with this operator."""
        node = Node(op, label, inside)
        known = self._ids.get(node)
        if known is None:
            known = self._ids[node] = len(self.nodes)
            self.nodes.append(node)
        return known

    def mul(self, a: Id, b: Id) -> Id:
        """The term `a * b`."""
        return self.make("mul", a, b)

    def add(self, a: Id, b: Id) -> Id:
        """The term `a + b`."""
        return self.make("add", a, b)

    def greater(self, a: Id, b: Id) -> Id:
        """The term `max(a, b)`."""
        return self.make("greater", a, b)

    def number(self, value: Fraction) -> Id:
        """A rational number."""
        return self.make("num", label=str(value))

    def value(self, e: Id) -> Fraction | None:
        """The number that a term is, if it is one."""
        node = self.nodes[e]
        return Fraction(node.label) if node.op == "num" else None

    def intern(self, e: Expr) -> Id:
        """The term that an expression is."""
        return self.make_indexed(e, [self.intern(x) for x in children(e)])

    def make_indexed(self, shell: Expr, inside: Sequence[Id]) -> Id:
        """The term with this outermost node; where it has indices, they are remembered."""
        op, label = head(shell)
        found = self.make(op, *inside, label=label)
        if places(shell):
            self._shells[found] = with_children(shell, lambda _: UNIT)
        return found

    def is_inhabited(self, axis: str) -> bool:
        """Whether an axis has at least one value at all sizes."""
        return is_count(self.extents[axis], self.integers)

    def size(self, d: Dim) -> Id:
        """A size as a number, spelled as everywhere."""
        return self.intern(of_dim(d))

    def coordinates(self, axis: str) -> frozenset[str]:
        """The axes without digits that an axis consists of."""
        return coordinates_of(axis, self.digits)

    def bound_axis(self, e: Id) -> str:
        """The axis that a term binds; empty where it binds none."""
        node = self.nodes[e]
        return node.label.split(" ", 1)[0] if node.op in BINDERS else ""

    def index_axes(self, e: Id) -> frozenset[str]:
        """The axes in the indices that stand in a term itself, outside of what it binds."""
        if e not in self._shells:
            return frozenset()
        return frozenset[str]().union(*(i.free for i in places(self._shells[e])))

    def dependencies(self, e: Id) -> frozenset[str]:
        """The coordinates on which a term depends."""
        if e not in self._dependencies:
            met = frozenset[str]().union(*(self.dependencies(x) for x in self.nodes[e].arguments))
            axis = self.bound_axis(e)
            if axis:
                met -= self.coordinates(axis)
            self._dependencies[e] = met.union(*(self.coordinates(w) for w in self.index_axes(e)))
        return self._dependencies[e]

    def binder_depth(self, e: Id) -> int:
        """How deeply binders are nested in a term."""
        if e not in self._binder_depths:
            node = self.nodes[e]
            inside = max((self.binder_depth(x) for x in node.arguments), default=0)
            self._binder_depths[e] = inside + (node.op in BINDERS)
        return self._binder_depths[e]

    def indexed_terms(self, e: Id) -> Iterator[Id]:
        """The terms inside that have indices."""
        pending, seen = [e], {e}
        while pending:
            at = pending.pop()
            if at in self._shells:
                yield at
            for x in self.nodes[at].arguments:
                if x not in seen:
                    seen.add(x)
                    pending.append(x)

    def rename_axis(self, e: Id, old: str, new: str) -> Id | None:
        """The term over another axis; None where that cannot be had by changing names."""
        mine = self.coordinates(old)
        if mine.isdisjoint(self.dependencies(e)):
            return e
        if any(w != old and not mine.isdisjoint(self.coordinates(w)) for w in self.index_axes(e)):
            return None
        axis = self.bound_axis(e)
        if axis and not self.coordinates(axis).isdisjoint(self.coordinates(new)):
            return None
        inside: list[Id] = []
        for x in self.nodes[e].arguments:
            # what the node binds is not what is renamed, though it may bear the name
            other = x if axis and not mine.isdisjoint(self.coordinates(axis)) else self.rename_axis(x, old, new)
            if other is None:
                return None
            inside.append(other)
        by: dict[str, Index] = {old: Var(new, self.extents[new])}
        return self._with_places(e, inside, lambda i: substitute(i, by))

    def substitute(self, e: Id, axis: str, at: Index) -> Id | None:
        """The term with an axis replaced by an index; None where the axis is a digit of another."""
        mine = self.coordinates(axis)
        if mine.isdisjoint(self.dependencies(e)):
            return e
        if any(w != axis and not mine.isdisjoint(self.coordinates(w)) for w in self.index_axes(e)):
            return None
        bound = self.bound_axis(e)
        if bound and any(not self.coordinates(bound).isdisjoint(self.coordinates(w)) for w in at.free):
            return None
        inside: list[Id] = []
        for x in self.nodes[e].arguments:
            other = x if bound and not mine.isdisjoint(self.coordinates(bound)) else self.substitute(x, axis, at)
            if other is None:
                return None
            inside.append(other)
        if e not in self._shells:
            return self.make(self.nodes[e].op, *inside, label=self.nodes[e].label)
        return self.make_indexed(put(self._shells[e], {axis: at}), inside)

    def variable(self, name: str) -> Var:
        """An axis as a variable."""
        return Var(name, self.extents[name])

    def shell(self, e: Id) -> Expr:
        """The outermost node of a term that has indices."""
        return self._shells[e]

    def _with_places(self, e: Id, inside: Sequence[Id], f: Callable[[Index], Index]) -> Id:
        node = self.nodes[e]
        if e not in self._shells:
            return self.make(node.op, *inside, label=node.label)
        return self.make_indexed(with_places(self._shells[e], f), inside)

    def label_with(self, e: Id, colours: Mapping[str, str]) -> str:
        """A term's own label, some axes in its indices under other names."""
        if e not in self._shells:
            return self.nodes[e].label
        by: dict[str, Index] = {w: Var(c, self.extents[w]) for w, c in colours.items()}
        return head(with_places(self._shells[e], lambda i: substitute(i, by)))[1]

    def record_step(self, axiom: str, left: Id, right: Id) -> None:
        """Two terms are the two sides of an axiom."""
        if left != right:
            self.steps.setdefault((left, right), axiom)

    def extract(self, left: Id, right: Id, steps: Sequence[Step], fewest: bool = True) -> Derivation:
        """A derivation on its own, with the terms and axes that it speaks of."""
        numbers: dict[Id, Id] = {}
        nodes: list[Node] = []

        def copy(e: Id) -> Id:
            if e not in numbers:
                node = self.nodes[e]
                inside = tuple(map(copy, node.arguments))
                numbers[e] = len(nodes)
                nodes.append(Node(node.op, node.label, inside))
            return numbers[e]

        copied = tuple(Step(s.axiom, copy(s.left), copy(s.right)) for s in steps)
        both = copy(left), copy(right)
        indexed = {numbers[e]: self.index_axes(e) for e in numbers if e in self._shells}
        words = {w for found in indexed.values() for w in found}
        words |= {node.label.split(" ", 1)[0] for node in nodes if node.op in BINDERS}
        pending = list(words)
        while pending:
            for part in self.digits.get(pending.pop(), ()):
                if part not in words:
                    words.add(part)
                    pending.append(part)
        words |= {pair for pair, parts in self.digits.items() if words.issuperset(parts)}
        axes = tuple(Axis(n, d, self.digits.get(n)) for n, d in self.extents.items() if n in words)
        return Derivation(axes, tuple(nodes), indexed, *both, copied, self.integers, fewest)
