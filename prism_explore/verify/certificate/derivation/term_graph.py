"""Term table of a derivation: hash-consed terms, and the log of steps between them.

Equal terms have one number, so references are cheap and terms are shared. A derivation is a list of *steps*: pairs of
terms that are the two sides of one axiom. Steps do not include the terms around them; their readers compute the
congruence closure. `saturation` sends a derivation to egglog, and `checker` follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.axioms import AXIOMS
from prism_explore.verify.certificate.expressions import (
    UNIT,
    Expr,
    children,
    from_dim,
    indices_of,
    operator_and_label,
    substitute_indices,
    with_children,
    with_indices,
)
from prism_explore.verify.certificate.lemma import Axis, coordinates_of
from prism_explore.verify.certificate.syntax import Notation, certificate_notation
from prism_explore.verify.normal_form.index import Index, Var, substitute
from prism_explore.verify.normal_form.size_facts import is_count

RENAME = "rename"
SUM_IN_PIECES, MOST_IN_PIECES = "sum in pieces", "maximum in pieces"
SUM_OVER_DIGITS, MOST_OVER_DIGITS = "sum over digits", "maximum over digits"
RESCALED, LAST_RUNNING, AS_LOW = "rescaled sum", "last running maximum", "as low"
MAXIMUM_AND_ENTRY = "maximum and an entry"
INTERVAL_SPLIT, FULL_INTERVAL = "interval cut", "interval of everything"
DISJOINT_INTERVALS, BAND_INTERSECTION = "intervals apart", "bands meet"
VALUE_BY_DIGITS, VALUE_OF_INDEX = "one value by digits", "index of one value"
BAND_CUT, BAND_OF_CONSTANT, SUM_OVER_DIAGONAL = "band cut", "band of a constant", "sum over a diagonal"
STATED = frozenset(a.name for a in AXIOMS if any(fact.startswith("(stated ") for fact in a.conditions))
"""Axioms with conditions about indices and extents: egglog gets instances as facts, which the checker verifies."""
BINDERS = frozenset({"sum", "most", "upto", "rescaled"})
"""Operators whose label begins with the axis that they bind."""
Id: TypeAlias = int
"""The number of a term in its term graph."""


MAX_WORK = 50_000
"""The most steps of one attempt, recorded again or not: about half a second."""


class DerivationFailed(Exception):
    """An attempt to find a derivation fails: it takes too much work, or a step does not apply."""


@dataclass(frozen=True, slots=True)
class Node:
    """The outermost operator of a term, its label and its arguments."""

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
    """Steps that lead from one side to the other, with their terms and axes."""

    axes: tuple[Axis, ...]
    nodes: tuple[Node, ...]
    """Terms by number; arguments come before the terms that use them."""
    index_axes: Mapping[Id, frozenset[str]]
    """The axes in the indices of a term itself, such as those of an element of an input."""
    left: Id
    right: Id
    steps: tuple[Step, ...]
    integers: tuple[Dim, ...] = ()
    """Sizes that are positive integers by the conditions of the proof."""
    minimal: bool = True
    """Whether no axiom can be left out; False where not all were tried."""

    @property
    def axioms(self) -> tuple[str, ...]:
        """The axioms in the order of their first use."""
        return tuple(dict.fromkeys(s.axiom for s in self.steps))

    @property
    def text(self) -> str:
        """The certificate's text: axes, both sides, the terms of the steps, and the steps."""
        lines = ["(lemma"]
        for a in self.axes:
            lines.append(f'  (axis {a.name} "{a.extent}"{"".join(f" {d}" for d in a.digits or ())})')
        lines += [
            f"  (left {self.render(self.left, certificate_notation)})",
            f"  (right {self.render(self.right, certificate_notation)})",
        ]
        for n, node in enumerate(self.nodes):
            lines.append(f"  (let e{n} {certificate_notation(node.op, node.label, [f'e{i}' for i in node.arguments])})")
        lines += [f'  (step "{s.axiom}" e{s.left} e{s.right})' for s in self.steps]
        return "\n".join(lines) + ")"

    def render(self, e: Id, notation: Notation) -> str:
        """A term as text."""
        node = self.nodes[e]
        return notation(node.op, node.label, [self.render(x, notation) for x in node.arguments])


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
        self.work = 0
        self._ids: dict[tuple[str, str, tuple[Id, ...]], Id] = {}
        self._shells: dict[Id, Expr] = {}
        self._dependencies: dict[Id, frozenset[str]] = {}
        self._binder_depths: dict[Id, int] = {}
        self.zero = self.number(Fraction(0))
        self.one = self.number(Fraction(1))

    def declare_axis(self, a: Axis) -> None:
        """Add an axis."""
        self.extents[a.name] = a.extent
        if a.digits:
            self.digits[a.name] = a.digits

    def make(self, op: str, *inside: Id, label: str = "") -> Id:
        """The term with this operator."""
        key = (op, label, inside)
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = len(self.nodes)
            self.nodes.append(Node(op, label, inside))
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
        """The value of a term that is a rational number."""
        node = self.nodes[e]
        return Fraction(node.label) if node.op == "num" else None

    def intern(self, e: Expr) -> Id:
        """The number of the term that an expression denotes."""
        return self.make_indexed(e, [self.intern(x) for x in children(e)])

    def make_indexed(self, shell: Expr, inside: Sequence[Id]) -> Id:
        """The term with this outermost operator; its indices, if any, are stored with it."""
        op, label = operator_and_label(shell)
        found = self.make(op, *inside, label=label)
        if indices_of(shell):
            self._shells[found] = with_children(shell, lambda _: UNIT)
        return found

    def is_inhabited(self, axis: str) -> bool:
        """Whether an axis has at least one value, for all sizes."""
        return is_count(self.extents[axis], self.integers)

    def size(self, d: Dim) -> Id:
        """The term of a size."""
        return self.intern(from_dim(d))

    def coordinates(self, axis: str) -> frozenset[str]:
        """The axes without digits that an axis consists of."""
        return coordinates_of(axis, self.digits)

    def bound_axis(self, e: Id) -> str:
        """The axis that a term binds; empty where it binds none."""
        node = self.nodes[e]
        return node.label.split(" ", 1)[0] if node.op in BINDERS else ""

    def index_axes(self, e: Id) -> frozenset[str]:
        """The axes in the indices of a term itself, outside of its arguments."""
        return frozenset[str]().union(*(i.free for i in self.indices(e)))

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
        """The nesting depth of binders in a term."""
        if e not in self._binder_depths:
            node = self.nodes[e]
            inside = max((self.binder_depth(x) for x in node.arguments), default=0)
            self._binder_depths[e] = inside + (node.op in BINDERS)
        return self._binder_depths[e]

    def indexed_terms(self, e: Id) -> Iterator[Id]:
        """The subterms that have indices."""
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
        """The term with an axis renamed; None where that is not possible by renaming."""
        coordinates = self.coordinates(old)
        if coordinates.isdisjoint(self.dependencies(e)):
            return e
        if any(w != old and not coordinates.isdisjoint(self.coordinates(w)) for w in self.index_axes(e)):
            return None
        axis = self.bound_axis(e)
        if axis and not self.coordinates(axis).isdisjoint(self.coordinates(new)):
            return None
        inside: list[Id] = []
        for x in self.nodes[e].arguments:
            # an axis that the node binds is not renamed, even if it has the same name
            other = x if axis and not coordinates.isdisjoint(self.coordinates(axis)) else self.rename_axis(x, old, new)
            if other is None:
                return None
            inside.append(other)
        by: dict[str, Index] = {old: Var(new, self.extents[new])}
        return self._with_indices(e, inside, lambda i: substitute(i, by))

    def substitute(self, e: Id, axis: str, at: Index) -> Id | None:
        """The term with an axis replaced by an index; None where the axis is a digit of another."""
        coordinates = self.coordinates(axis)
        if coordinates.isdisjoint(self.dependencies(e)):
            return e
        if any(w != axis and not coordinates.isdisjoint(self.coordinates(w)) for w in self.index_axes(e)):
            return None
        bound = self.bound_axis(e)
        if bound and any(not self.coordinates(bound).isdisjoint(self.coordinates(w)) for w in at.free):
            return None
        inside: list[Id] = []
        for x in self.nodes[e].arguments:
            other = x if bound and not coordinates.isdisjoint(self.coordinates(bound)) else self.substitute(x, axis, at)
            if other is None:
                return None
            inside.append(other)
        if e not in self._shells:
            return self.make(self.nodes[e].op, *inside, label=self.nodes[e].label)
        return self.make_indexed(substitute_indices(self._shells[e], {axis: at}), inside)

    def variable(self, name: str) -> Var:
        """An axis as a variable."""
        return Var(name, self.extents[name])

    def shell(self, e: Id) -> Expr:
        """The outermost operator of a term that has indices, over placeholders."""
        return self._shells[e]

    def indices(self, e: Id) -> tuple[Index, ...]:
        """The indices of a term itself; an element of a tensor without dims has none."""
        return tuple(indices_of(self._shells[e])) if e in self._shells else ()

    def _with_indices(self, e: Id, inside: Sequence[Id], f: Callable[[Index], Index]) -> Id:
        node = self.nodes[e]
        if e not in self._shells:
            return self.make(node.op, *inside, label=node.label)
        return self.make_indexed(with_indices(self._shells[e], f), inside)

    def label_with(self, e: Id, names: Mapping[str, str]) -> str:
        """A term's own label with some axes in its indices renamed."""
        if e not in self._shells:
            return self.nodes[e].label
        by: dict[str, Index] = {w: Var(c, self.extents[w]) for w, c in names.items()}
        return operator_and_label(with_indices(self._shells[e], lambda i: substitute(i, by)))[1]

    def record_step(self, axiom: str, left: Id, right: Id) -> None:
        """Record that two terms are the two sides of an axiom."""
        self.spend(1)
        if left != right:
            self.steps.setdefault((left, right), axiom)

    def spend(self, work: int) -> None:
        """Count work.

        Raises:
            DerivationFailed: it exceeds the budget.
        """
        self.work += work
        if self.work > MAX_WORK:
            raise DerivationFailed

    def extract(self, left: Id, right: Id, steps: Sequence[Step], minimal: bool = True) -> Derivation:
        """A derivation of its own, with only the terms and axes that it needs."""
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
        return Derivation(axes, tuple(nodes), indexed, *both, copied, self.integers, minimal)
