"""Signs of terms: positive, nonnegative or nonzero, computed from their structure."""

from __future__ import annotations

from fractions import Fraction

from prism_explore.ir.elementwise import UNARY
from prism_explore.verify.certificate.derivation.term_graph import Id, TermGraph


class Signs:
    """The signs of terms that follow from the rows of `axioms.CONDITIONS`."""

    def __init__(self, graph: TermGraph) -> None:
        self._graph = graph
        self._positive: dict[Id, bool] = {}
        self._nonnegative: dict[Id, bool] = {}

    def is_positive(self, e: Id) -> bool:
        """Whether a term is provably greater than 0."""
        if e not in self._positive:
            self._positive[e] = self._find_positive(e)
        return self._positive[e]

    def _find_positive(self, e: Id) -> bool:
        node = self._graph.nodes[e]
        match node.op:
            case "num":
                return Fraction(node.label) > 0
            case "size" | "exp":
                return True
            case "mul":
                return all(map(self.is_positive, node.arguments))
            case "add":
                a, b = node.arguments
                return (self.is_positive(a) and self.is_nonnegative(b)) or (
                    self.is_positive(b) and self.is_nonnegative(a)
                )
            case "inv" | "sqrt" | "upto":
                return self.is_positive(node.arguments[0])
            case "sum" | "most":
                return self.is_positive(node.arguments[0]) and self._graph.is_inhabited(node.label)
            case "greater":
                return any(map(self.is_positive, node.arguments))
            case "call":
                return UNARY[node.label].sign == "positive"
            case _:
                return False

    def is_nonnegative(self, e: Id) -> bool:
        """Whether a term is provably at least 0."""
        if e not in self._nonnegative:
            self._nonnegative[e] = self.is_positive(e) or self._find_nonnegative(e)
        return self._nonnegative[e]

    def _find_nonnegative(self, e: Id) -> bool:
        node = self._graph.nodes[e]
        match node.op:
            case "num":
                return Fraction(node.label) >= 0
            case "mul":
                a, b = node.arguments
                return (
                    a == b
                    or (self._graph.nodes[b].arguments == (a,) and self._graph.nodes[b].op == "inv")
                    or self._both_nonnegative(a, b)
                )
            case "add":
                return self._both_nonnegative(*node.arguments)
            case "within" | "near":
                return True
            case "inv" | "sqrt" | "sum" | "upto":
                return self.is_nonnegative(node.arguments[0])
            case "most":
                return self.is_nonnegative(node.arguments[0]) and self._graph.is_inhabited(node.label)
            case "greater":
                return any(map(self.is_nonnegative, node.arguments))
            case "call":
                return UNARY[node.label].sign != ""
            case _:
                return False

    def _both_nonnegative(self, a: Id, b: Id) -> bool:
        return self.is_nonnegative(a) and self.is_nonnegative(b)

    def is_nonzero(self, e: Id) -> bool:
        """Whether a term is provably not 0."""
        node = self._graph.nodes[e]
        match node.op:
            case "num":
                return Fraction(node.label) != 0
            case "mul":
                return all(map(self.is_nonzero, node.arguments))
            case "inv":
                return self.is_nonzero(node.arguments[0])
            case _:
                return self.is_positive(e)

    def is_bit(self, base: Id) -> bool:
        """Whether a term is 0 or 1 everywhere; then all its powers are equal to it."""
        return self._graph.nodes[base].op in ("within", "near")
