"""The derivation of a lemma as a chain of equations, for display.

Input is the text of a lemma; output is lines from the left side to the right side, each with the axioms by which it
equals the previous line. Every step is applied to the complete expression; steps that only rearrange (commuting,
regrouping, renaming) are merged with the previous line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from prism_explore.verify.certificate.derivation.congruence import Closure
from prism_explore.verify.certificate.derivation.term_graph import Id, Node, Step
from prism_explore.verify.checker.parser import ParsedLemma, Tree, parse, show, term_of
from prism_explore.verify.normal_form.index import show_name

MAX_LINES = 8
"""The largest number of lines; where there are more, adjacent lines are merged."""
MAX_REWRITES = 600
"""The largest number of rewrites; where there are more, there is no chain."""
REARRANGING = frozenset(
    {
        "mul commutes",
        "mul associates",
        "add commutes",
        "add associates",
        "greater commutes",
        "greater associates",
        "sums swap",
        "maxima swap",
        "one",
        "rename",
    }
)
"""Axioms that only rearrange terms."""
_START, _END = "\ue000", "\ue001"
"""Marks around a part of a text; no name has characters of the private use area."""


@dataclass(frozen=True, slots=True)
class Line:
    """An expression, and the axioms by which it equals the one before it; none for the first."""

    expression: str
    axioms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A term on the way from one side of a lemma to the other: what was changed, by which axioms, and into what."""

    before: str
    """The text before the part that was changed."""
    changed: str
    """The part that was changed, as it is now."""
    after: str
    axioms: tuple[str, ...] = ()
    """Several if the steps only rearranged one part; none for the first term."""
    previous: tuple[str, str, str] = ("", "", "")
    """The term before, in the same three parts."""

    @property
    def text(self) -> str:
        """The complete term."""
        return f"{self.before}{self.changed}{self.after}"


def rewrites(statement: str) -> tuple[Rewrite, ...]:
    """Every term from the left side of a lemma to its right side, each with the part that changed.

    Consecutive steps that only rearrange are one step. A lemma without steps has one term, or two equal ones. Empty
    where the lemma is too long or too deep.
    """
    try:
        return _rewritten(statement) if statement else ()
    except RecursionError:
        return ()


def _rewritten(statement: str) -> tuple[Rewrite, ...]:
    terms, closure, left, right = _closure(ParsedLemma(parse(statement)))
    found: list[tuple[Id, tuple[str, ...]]] = [(left, ())]
    for count, (axiom, e) in enumerate(_rewrites(closure, terms, left, right, lambda e: e)):
        if count >= MAX_REWRITES:
            return ()
        last, axioms = found[-1]
        if axiom in REARRANGING and axioms and REARRANGING.issuperset(axioms):
            found[-1] = e, tuple(dict.fromkeys((*axioms, axiom)))
        elif e != last:
            found.append((e, (axiom,)))
    out = [Rewrite(terms.notation(left), "", "")]
    for (old, _), (new, axioms) in pairwise(found):
        path = terms.difference(old, new)
        now, then = terms.marked(new, path), terms.marked(old, path)
        out.append(Rewrite(*now, axioms, then))
    return tuple(out)


def equation_chain(statement: str) -> tuple[Line, ...]:
    """The lines from the left side of a lemma to its right side; empty where it has no steps or is too long or deep."""
    try:
        return _chain(statement)
    except RecursionError:
        return ()


def _chain(statement: str) -> tuple[Line, ...]:
    reading = ParsedLemma(parse(statement))
    if not reading.steps:
        return ()
    terms, closure, left, right = _closure(reading)
    groups: list[tuple[Id, list[str]]] = []
    for count, (axiom, expression) in enumerate(_rewrites(closure, terms, left, right, lambda e: e)):
        if count >= MAX_REWRITES:
            return ()
        if groups and (axiom in REARRANGING or axiom in groups[-1][1]):
            groups[-1] = expression, [*groups[-1][1], *([axiom] if axiom not in groups[-1][1] else [])]
        else:
            groups.append((expression, [axiom]))
    while len(groups) > MAX_LINES:
        n = min(range(len(groups) - 1), key=lambda k: len(groups[k][1]) + len(groups[k + 1][1]))
        (_, first), (expression, second) = groups[n : n + 2]
        groups[n : n + 2] = [(expression, list(dict.fromkeys((*first, *second))))]
    return (Line(terms.notation(left)), *(Line(terms.notation(e), tuple(axioms)) for e, axioms in groups))


def _closure(reading: ParsedLemma) -> tuple[_Terms, Closure, Id, Id]:
    """The terms of a lemma, their classes after its steps, and both sides."""
    terms = _Terms()
    names: dict[str, Id] = {}
    for name, e in reading.terms:
        names[name] = terms.intern(e, names)
    left, right = terms.intern(reading.left, names), terms.intern(reading.right, names)
    steps = [Step(axiom, terms.intern(a, names), terms.intern(b, names)) for axiom, a, b in reading.steps]
    closure = Closure(terms.nodes, [left, right, *(e for s in steps for e in (s.left, s.right))])
    for s in steps:
        closure.unite(s.left, s.right, s)
    return terms, closure, left, right


def _rewrites(
    closure: Closure, terms: _Terms, a: Id, b: Id, in_context: Callable[[Id], Id]
) -> Iterator[tuple[str, Id]]:
    """Each step on the path from one term to another: its axiom, and the complete expression after it."""
    for x, y, step in closure.path(a, b):
        if step is not None:
            yield step.axiom, in_context(y)
            continue
        before, after = terms.nodes[x], terms.nodes[y]
        arguments = list(before.arguments)
        for n, (old, new) in enumerate(zip(before.arguments, after.arguments, strict=True)):

            def replace_argument(e: Id, n: int = n, now: list[Id] = arguments, node: Node = before) -> Id:
                return in_context(terms.make(node.op, node.label, (*now[:n], e, *now[n + 1 :])))

            yield from _rewrites(closure, terms, old, new, replace_argument)
            arguments[n] = new


class _Terms:
    """The terms of a lemma, hash-consed, and their mathematical notation."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._ids: dict[Node, Id] = {}
        self._mark: tuple[int, ...] | None = None
        """The path from the present term to the part that `marked` marks; None where it is elsewhere."""

    def make(self, op: str, label: str, inside: tuple[Id, ...]) -> Id:
        """The number of the term with this operator, label and arguments."""
        node = Node(op, label, inside)
        if node not in self._ids:
            self._ids[node] = len(self.nodes)
            self.nodes.append(node)
        return self._ids[node]

    def intern(self, e: Tree, names: dict[str, Id]) -> Id:
        """The number of the term that a tree denotes."""
        if isinstance(e, str) and e in names:
            return names[e]
        term = term_of(e)
        label = " ".join((term.axis, *map(_index, term.indices))).strip() if term.axis else term.label
        if term.indices and not term.axis:
            label = _leaf(term.op, term.label, tuple(map(_index, term.indices)))
        return self.make(term.op, label, tuple(self.intern(x, names) for x in term.arguments))

    def difference(self, a: Id, b: Id) -> tuple[int, ...]:
        """The path to the smallest part that has all differences of two terms."""
        path: list[int] = []
        while a != b:
            one, other = self.nodes[a], self.nodes[b]
            same = (one.op, one.label, len(one.arguments)) == (other.op, other.label, len(other.arguments))
            differing = [n for n, (x, y) in enumerate(zip(one.arguments, other.arguments, strict=False)) if x != y]
            if not same or len(differing) != 1:
                break
            path.append(differing[0])
            a, b = one.arguments[differing[0]], other.arguments[differing[0]]
        return tuple(path)

    def marked(self, e: Id, path: tuple[int, ...]) -> tuple[str, str, str]:
        """The notation of a term in three parts: before the part at a path, the part, and after it."""
        self._mark = path
        try:
            text = self.notation(e)
        finally:
            self._mark = None
        before, _, rest = text.partition(_START)
        part, _, after = rest.partition(_END)
        return before, part, after

    def notation(self, e: Id) -> str:
        """A term in mathematical notation."""
        mark, node = self._mark, self.nodes[e]
        texts: list[tuple[str, str, str]] = []
        for n, x in enumerate(node.arguments):
            self._mark = mark[1:] if mark and mark[0] == n else None
            plain = self.notation(x)
            texts.append((plain, self._parenthesized(x, plain), self._atom(x, plain)))
        self._mark = mark
        text = self._notation(e, texts)
        return f"{_START}{text}{_END}" if mark == () else text

    def _notation(self, e: Id, texts: Sequence[tuple[str, str, str]]) -> str:
        """A term, from the texts of its arguments: plain, as a factor, and as the argument of a root."""
        node = self.nodes[e]
        inside, factors, atoms = ([t[k] for t in texts] for k in range(3))
        match node.op:
            case "add":
                return f"{inside[0]} + {inside[1]}"
            case "mul" if self.nodes[node.arguments[0]].label == "-1":
                return f"-{factors[1]}"
            case "mul":
                return f"{factors[0]} {factors[1]}"
            case "inv":
                return f"{atoms[0]}⁻¹"
            case "sqrt":
                return f"√{atoms[0]}"
            case "exp" | "bottom":
                return f"{node.op}({inside[0]})"
            case "call":
                return f"{node.label}({inside[0]})"
            case "greater":
                return f"max({inside[0]}, {inside[1]})"
            case "sum":
                return f"Σ_{show_name(node.label)} {factors[0]}"
            case "most":
                return f"max_{show_name(node.label)} {factors[0]}"
            case "upto":
                axis, at = node.label.split(" ", 1)
                return f"max_{{{show_name(axis)} ≤ {at}}} {factors[0]}"
            case "rescaled":
                return f"rescaled_{show_name(node.label)}({inside[0]}; {inside[1]})"
            case _:
                return node.label

    def _parenthesized(self, e: Id, text: str) -> str:
        """The notation of a factor: in parentheses where a product needs them."""
        needs_parentheses = self.nodes[e].op in ("add", "mul", "sum", "most", "upto")
        return f"({text})" if needs_parentheses and not self._is_plain_product(e) else text

    def _atom(self, e: Id, text: str) -> str:
        """The notation of the argument of a root or an inverse: in parentheses where these need them."""
        node = self.nodes[e]
        is_leaf = not node.arguments and (node.op == "at" or node.label.isalnum())
        is_closed = is_leaf or node.op in ("exp", "bottom", "call", "greater", "rescaled", "sqrt")
        return text if is_closed else f"({text})"

    def _is_plain_product(self, e: Id) -> bool:
        """Whether a term is a product without a minus sign."""
        return self.nodes[e].op == "mul" and self.nodes[self.nodes[e].arguments[0]].label != "-1"


def _leaf(op: str, label: str, indices: tuple[str, ...]) -> str:
    """An element of an input, an interval or a band."""
    if op == "at":
        return f"{label}[{','.join(indices)}]"
    low, high = (x.strip('"') for x in label.split("|"))
    value = indices[0] if op == "within" else f"{indices[1]} - {indices[0]}"
    below, above = "" if low == "-" else f"{low} ≤ ", "" if high == "-" else f" {'<' if op == 'within' else '≤'} {high}"
    return f"[{below}{value}{above}]"


def _index(i: Tree) -> str:
    match i:
        case str(name):
            return show_name(name) if name[:1] in "pgl" and name != "0" else name
        case ("radix", *parts):
            return f"({','.join(map(_index, parts))})"
        case ("digit", base, str(before), str(size), str(after)):
            return f"{_index(base)}<{'|'.join(x.strip(chr(34)) for x in (before, size, after))}>"
        case ("moved", base, str(by), str()):
            return f"{_index(base)}+{by.strip(chr(34))}".replace("+-", "-").removeprefix("0+").removesuffix("+0")
        case _:
            return show(i)
