"""The term table of one lemma: terms are hash-consed, so equal terms have the same number.

Independent of the prover's `TermGraph`. Signs and dependencies are computed from the structure of a term; the rows of
`axioms.CONDITIONS` are not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from prism_explore.ir.dims import ZERO, Dim, dim
from prism_explore.ir.elementwise import UNARY
from prism_explore.verify.checker.parser import ParsedLemma, Term, Tree, index_axes, show, term_of
from prism_explore.verify.checker.sizes import is_count

Key: TypeAlias = tuple[str, str, tuple[int, ...]]
"""A term: its operator, its label, and its arguments by number."""


@dataclass
class TermTable:
    """The terms of one lemma, each with a number."""

    lemma: ParsedLemma
    terms: list[Key] = field(default_factory=list[Key])
    operators: list[Term] = field(default_factory=list[Term])
    """The operators, as they were parsed."""
    _numbers: dict[Key, int] = field(default_factory=dict[Key, int])
    _dependencies: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])

    def intern(self, e: Tree, names: Mapping[str, int]) -> int:
        """The number of the term that a tree denotes; `names` are names of terms."""
        if isinstance(e, str) and e in names:
            return names[e]
        term = term_of(e)
        label = term.label
        if term.op == "num":
            above, _, below = label.partition("/")
            label = str(Fraction(int(above), int(below or 1)))
        elif term.indices or term.axis:
            label = " ".join((term.axis, label, *map(show, term.indices)))
        key = term.op, label, tuple(self.intern(x, names) for x in term.arguments)
        if key not in self._numbers:
            self._numbers[key] = len(self.terms)
            self.operators.append(term)
            self.terms.append(key)
        return self._numbers[key]

    # ------------------------------------------------------------ properties of terms
    def dependencies(self, e: int) -> frozenset[str]:
        """The coordinates on which a term depends."""
        if e not in self._dependencies:
            term = self.operators[e]
            found = frozenset[str]().union(*(self.dependencies(x) for x in self.terms[e][2]))
            if term.axis:
                found -= set(self.lemma.coordinates(term.axis))
            words = (w for i in term.indices for w in index_axes(i))
            self._dependencies[e] = found.union(c for w in words for c in self.lemma.coordinates(w))
        return self._dependencies[e]

    def number(self, e: int) -> Fraction | None:
        """The value of a term that is a rational number."""
        op, label, _ = self.terms[e]
        return Fraction(label) if op == "num" else None

    def sign(self, e: int) -> str:
        """`> 0`, `>= 0`, `!= 0`, or empty where the structure of the term does not decide."""
        op, label, inside = self.terms[e]
        signs = [] if op == "exp" else [self.sign(x) for x in inside]
        match op:
            case "num":
                value = Fraction(label)
                return "> 0" if value > 0 else ">= 0" if value == 0 else "!= 0"
            case "size" | "exp":
                return "> 0"
            case "within" | "near":
                return ">= 0"
            case "call":
                return {"positive": "> 0", "nonnegative": ">= 0", "": ""}[UNARY[label].sign] if label in UNARY else ""
            case "inv":
                return signs[0]
            case "sqrt" | "upto":
                return signs[0] if signs[0] in ("> 0", ">= 0") else ""
            case "sum" | "most" if self.is_inhabited(self.operators[e].axis):
                return signs[0] if signs[0] in ("> 0", ">= 0") else ""
            case "sum":
                return ">= 0" if signs[0] in ("> 0", ">= 0") else ""
            case "greater":
                return "> 0" if "> 0" in signs else ">= 0" if ">= 0" in signs else ""
            case "add":
                if set(signs) <= {"> 0", ">= 0"}:
                    return "> 0" if "> 0" in signs else ">= 0"
                return ""
            case "mul":
                if set(signs) == {"> 0"}:
                    return "> 0"
                if set(signs) <= {"> 0", ">= 0"} or inside[0] == inside[1]:
                    return ">= 0"
                if self.terms[inside[1]] == ("inv", "", (inside[0],)):
                    return ">= 0"
                return "!= 0" if set(signs) <= {"> 0", "!= 0"} else ""
            case _:
                return ""

    def is_inhabited(self, axis: str) -> bool:
        """Whether an axis has at least one value, for all sizes that meet the conditions."""
        return is_count(self.lemma.extents[axis], self.lemma.integers)

    def is_indicator(self, e: int) -> bool:
        """Whether a term is 0 or 1 everywhere: an interval, a band, a a⁻¹, or 1 minus one of them."""
        op, _, inside = self.terms[e]
        if op == "add" and self.number(inside[0]) == 1:
            other, _, parts = self.terms[inside[1]]
            return other == "mul" and self.number(parts[0]) == -1 and self.is_indicator(parts[1])
        if op == "mul":
            return self.terms[inside[1]] == ("inv", "", (inside[0],))
        return op in ("within", "near")

    def size(self, e: int) -> Dim | None:
        """The size that a term denotes; None for any other term."""
        op, label, inside = self.terms[e]
        parts = [self.size(x) for x in inside] if op in ("add", "mul", "inv") else []
        match op, parts:
            case "num", _:
                return Dim((((), Fraction(label)),)) if Fraction(label) else ZERO
            case "size", _:
                return dim(label)
            case "inv", [Dim() as a] if a != ZERO:
                return dim(1) / a
            case "add", [Dim() as a, Dim() as b]:
                return a + b
            case "mul", [Dim() as a, Dim() as b]:
                return a * b
            case _:
                return None
