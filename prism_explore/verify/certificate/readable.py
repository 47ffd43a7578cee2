"""A lemma's derivation as a chain of equations for people.

Input is a lemma's text; output is lines from the left side to the right, each with the axioms by which it equals the
line before it. Every step is applied to the complete expression; steps that only rearrange (commuting, regrouping,
renaming) are merged with the line before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prism_explore.verify.certificate.derivation.congruence import Closure
from prism_explore.verify.certificate.derivation.term_graph import Id, Node, Step
from prism_explore.verify.checker.parser import ParsedLemma, Tree, parse, show, term_of
from prism_explore.verify.normal_form.index import show_name

LONGEST = 8
"""Lines of one chain; where there are more, adjacent lines are merged."""
MOST = 600
"""Rewritings beyond which no chain is shown."""
QUIET = frozenset(
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
"""Axioms that only rearrange."""


@dataclass(frozen=True, slots=True)
class Line:
    """An expression, and the axioms by which it equals the one before it; none for the first."""

    expression: str
    axioms: tuple[str, ...] = ()


def chain(statement: str) -> tuple[Line, ...]:
    """The lines from a lemma's left side to its right; empty where it has no steps, too many, or is too deep."""
    try:
        return _chain(statement)
    except RecursionError:
        return ()


def _chain(statement: str) -> tuple[Line, ...]:
    reading = ParsedLemma(parse(statement))
    if not reading.steps:
        return ()
    terms = _Terms()
    names: dict[str, Id] = {}
    for name, e in reading.terms:
        names[name] = terms.read(e, names)
    left, right = terms.read(reading.left, names), terms.read(reading.right, names)
    steps = [Step(axiom, terms.read(a, names), terms.read(b, names)) for axiom, a, b in reading.steps]
    closure = Closure(terms.nodes, [left, right, *(e for s in steps for e in (s.left, s.right))])
    for s in steps:
        closure.unite(s.left, s.right, s)
    groups: list[tuple[Id, list[str]]] = []
    for count, (axiom, whole) in enumerate(_rewritings(closure, terms, left, right, lambda e: e)):
        if count >= MOST:
            return ()
        if groups and (axiom in QUIET or axiom in groups[-1][1]):
            groups[-1] = whole, [*groups[-1][1], *([axiom] if axiom not in groups[-1][1] else [])]
        else:
            groups.append((whole, [axiom]))
    while len(groups) > LONGEST:
        n = min(range(len(groups) - 1), key=lambda k: len(groups[k][1]) + len(groups[k + 1][1]))
        (_, first), (whole, second) = groups[n : n + 2]
        groups[n : n + 2] = [(whole, list(dict.fromkeys((*first, *second))))]
    return (Line(terms.notation(left)), *(Line(terms.notation(e), tuple(axioms)) for e, axioms in groups))


def _rewritings(closure: Closure, terms: _Terms, a: Id, b: Id, around: Callable[[Id], Id]) -> Iterator[tuple[str, Id]]:
    """Each step on the path from one term to another, with the complete expression after it."""
    for x, y, why in closure.path(a, b):
        if why is not None:
            yield why.axiom, around(y)
            continue
        here, there = terms.nodes[x], terms.nodes[y]
        now = list(here.arguments)
        for n, (old, new) in enumerate(zip(here.arguments, there.arguments, strict=True)):

            def put(e: Id, n: int = n, now: list[Id] = now, node: Node = here) -> Id:
                return around(terms.make(node.op, node.label, (*now[:n], e, *now[n + 1 :])))

            yield from _rewritings(closure, terms, old, new, put)
            now[n] = new


class _Terms:
    """The terms of a lemma and their notation for people."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._ids: dict[Node, Id] = {}
        self._trees: dict[Id, Tree] = {}

    def make(self, op: str, label: str, inside: tuple[Id, ...]) -> Id:
        """The term with this operator."""
        node = Node(op, label, inside)
        if node not in self._ids:
            self._ids[node] = len(self.nodes)
            self.nodes.append(node)
        return self._ids[node]

    def read(self, e: Tree, names: dict[str, Id]) -> Id:
        """The number of the term that a tree denotes."""
        if isinstance(e, str) and e in names:
            return names[e]
        term = term_of(e)
        label = " ".join((term.axis, *map(_index, term.indices))).strip() if term.axis else term.label
        if term.indices and not term.axis:
            label = _leaf(term.op, term.label, tuple(map(_index, term.indices)))
        return self.make(term.op, label, tuple(self.read(x, names) for x in term.arguments))

    def notation(self, e: Id) -> str:
        """A term in mathematical notation."""
        node = self.nodes[e]
        inside = [self.notation(x) for x in node.arguments]
        closed = [self._closed(x) for x in node.arguments]
        match node.op:
            case "add":
                return f"{inside[0]} + {inside[1]}"
            case "mul" if self.nodes[node.arguments[0]].label == "-1":
                return f"-{closed[1]}"
            case "mul":
                return f"{closed[0]} {closed[1]}"
            case "inv":
                return f"{self._atom(node.arguments[0])}⁻¹"
            case "sqrt":
                return f"√{self._atom(node.arguments[0])}"
            case "exp" | "bottom":
                return f"{node.op}({inside[0]})"
            case "call":
                return f"{node.label}({inside[0]})"
            case "greater":
                return f"max({inside[0]}, {inside[1]})"
            case "sum":
                return f"Σ_{show_name(node.label)} {closed[0]}"
            case "most":
                return f"max_{show_name(node.label)} {closed[0]}"
            case "upto":
                axis, at = node.label.split(" ", 1)
                return f"max_{{{show_name(axis)} ≤ {at}}} {closed[0]}"
            case "rescaled":
                return f"rescaled_{show_name(node.label)}({inside[0]}; {inside[1]})"
            case _:
                return node.label

    def _closed(self, e: Id) -> str:
        """The same, in parentheses where a product needs them."""
        node = self.nodes[e]
        open_ones = ("add", "mul", "sum", "most", "upto")
        return f"({self.notation(e)})" if node.op in open_ones and not self._flat(e) else self.notation(e)

    def _atom(self, e: Id) -> str:
        """The same, in parentheses where a root or an inverse needs them."""
        node = self.nodes[e]
        leaf = not node.arguments and (node.op == "at" or node.label.isalnum())
        whole = leaf or node.op in ("exp", "bottom", "call", "greater", "rescaled", "sqrt")
        return self.notation(e) if whole else f"({self.notation(e)})"

    def _flat(self, e: Id) -> bool:
        """Whether a term is a product that needs no parentheses."""
        return self.nodes[e].op == "mul" and self.nodes[self.nodes[e].arguments[0]].label != "-1"


def _leaf(op: str, label: str, places: tuple[str, ...]) -> str:
    if op == "at":
        return f"{label}[{','.join(places)}]"
    low, high = (x.strip('"') for x in label.split("|"))
    what = places[0] if op == "within" else f"{places[1]} - {places[0]}"
    below, above = "" if low == "-" else f"{low} ≤ ", "" if high == "-" else f" {'<' if op == 'within' else '≤'} {high}"
    return f"[{below}{what}{above}]"


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
