"""Normal form of a term: dispatch by operator, and the common denominators of two terms; every step is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.choices import Choices
from prism_explore.verify.certificate.derivation.functions import Functions
from prism_explore.verify.certificate.derivation.intervals import Intervals
from prism_explore.verify.certificate.derivation.max_bounds import MaxBounds, Piece
from prism_explore.verify.certificate.derivation.max_forms import MaxForms
from prism_explore.verify.certificate.derivation.monomials import Monomial, Monomials
from prism_explore.verify.certificate.derivation.polynomials import ONE, DerivationFailed, Poly, Polynomials
from prism_explore.verify.certificate.derivation.running_max import RunningMax
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.sums import Sums
from prism_explore.verify.certificate.derivation.term_graph import RESCALED, Id, TermGraph
from prism_explore.verify.certificate.derivation.weighted_sums import WeightedSums
from prism_explore.verify.certificate.lemma import Axis
from prism_explore.verify.normal_form.index import Zero, moved

ROUNDS = 4
"""The largest number of denominators that are cleared."""


class Normalizer:
    """Brings terms into normal form: makes the parts that do so and connects them."""

    def __init__(
        self,
        axes: Iterable[Axis],
        integers: Sequence[Dim] = (),
        choices: Choices | None = None,
    ) -> None:
        """Begin with these axes.

        Args:
            axes: those of the statement.
            integers: sizes that are positive integers by the conditions of the proof.
            choices: what is replaced and split; without them, as little as possible.
        """
        choices = choices or Choices("no functions", "own")
        self.graph = TermGraph(axes, integers)
        self.signs = Signs(self.graph)
        monomials = Monomials(self.graph, self.signs)
        self._polynomials = Polynomials(self.graph, self.signs, monomials, self._normalize, self._simplify_product)
        bound_axes = BoundAxes(self.graph, monomials, self._polynomials)
        self._weighted_sums = WeightedSums(self.graph, self.signs, monomials, self._polynomials, bound_axes)
        self._intervals = Intervals(self.graph, monomials, self._polynomials, bound_axes, choices)
        bounds = MaxBounds(self.graph, self.signs, self._polynomials, bound_axes)
        self._functions = Functions(
            self.graph,
            self.signs,
            monomials,
            self._polynomials,
            self._intervals,
            bounds,
            self._maximum,
            choices,
        )
        self._maxima = MaxForms(
            self.graph,
            self.signs,
            monomials,
            self._polynomials,
            bound_axes,
            self._intervals,
            bounds,
            self._functions,
            choices,
        )
        self._running = RunningMax(
            self.graph, self.signs, monomials, self._polynomials, bound_axes, bounds, self._maxima
        )
        self._sums = Sums(self.graph, monomials, self._polynomials, bound_axes, self._intervals)
        self._monomials = monomials

    def normal(self, e: Id) -> Poly:
        """The normal form of a term."""
        return self._polynomials.normal(e)

    def collect_borders(self) -> bool:
        """Collect the borders of all intervals; whether there are any."""
        return self._intervals.collect_borders()

    def _simplify_product(self, m: Monomial) -> Poly | None:
        found = self._weighted_sums.simplify(m)
        return self._intervals.replace_by_value(m) if found is None else found

    def _maximum(self, pieces: Sequence[Piece]) -> Poly:
        return self._maxima.maximum(pieces)

    def _normalize(self, e: Id) -> Poly:
        node = self.graph.nodes[e]
        inside = [self._polynomials.normal(x) for x in node.arguments]
        match node.op:
            case "at" | "size":
                return self._polynomials.atom(e)
            case "near":
                return self._intervals.split_band(e)
            case "within":
                return self._intervals.split_interval(e)
            case "num":
                return self._polynomials.constant(Fraction(node.label))
            case "add":
                return self._polynomials.add(*inside)
            case "mul":
                return self._polynomials.multiply(*inside)
            case "inv" | "sqrt":
                return self._invert_or_root(node.op, node.arguments[0])
            case "exp":
                return self._intervals.by_cases("exp", "", inside[0], self._functions.exp)
            case "call":
                return self._functions.apply(node.label, inside[0])
            case "sum":
                return self._sums.sum(node.label, inside[0])
            case "bottom":
                return self._normalize_bottom(inside[0])
            case "greater":
                return self._maxima.maximum([((), p) for p in inside])
            case "most":
                return self._maxima.maximum([((node.label,), inside[0])])
            case "upto":
                return self._running.running_maximum(self.graph.shell(e), inside[0])
            case "rescaled":
                return self._normalize_rescaled(node.label, *inside)
            case op:
                raise AssertionError(f"no term has the operator {op}")

    def _normalize_bottom(self, p: Poly) -> Poly:
        keep = self.graph.make("bottom", self._polynomials.to_term(p))
        if p == self._polynomials.constant(ONE):
            self.graph.record_step("bottom of one", keep, self.graph.zero)
            return ()
        return self._polynomials.atom(keep)

    def _normalize_rescaled(self, axis: str, p: Poly, scale: Poly) -> Poly:
        a, b = self._polynomials.to_term(p), self._polynomials.to_term(scale)
        size = self.graph.extents[axis]
        final = self.graph.substitute(b, axis, moved(Zero(), size - 1, size))
        if final is None:
            raise DerivationFailed
        before = self.graph.make("exp", self.graph.mul(self.graph.number(-ONE), final))
        total = self.graph.make("sum", self.graph.mul(a, self.graph.make("exp", b)), label=axis)
        by = self.graph.mul(before, total)
        self.graph.record_step(RESCALED, self.graph.make("rescaled", a, b, label=axis), by)
        return self._polynomials.normal(by)

    def _invert_or_root(self, op: Literal["inv", "sqrt"], x: Id) -> Poly:
        """A root or an inverse; of a product of sums it is taken of each sum, before the product is expanded."""
        node = self.graph.nodes[x]
        if node.op == "mul" and all(self._is_factor(op, f) for f in node.arguments):
            a, b = node.arguments
            law = "inverse of a product" if op == "inv" else "root of a product"
            self.graph.record_step(
                law, self.graph.make(op, x), self.graph.mul(self.graph.make(op, a), self.graph.make(op, b))
            )
            return self._polynomials.multiply(self._invert_or_root(op, a), self._invert_or_root(op, b))
        return self._intervals.by_cases(
            op, "", self._polynomials.normal(x), self._polynomials.invert if op == "inv" else self._polynomials.root
        )

    def _is_factor(self, op: Literal["inv", "sqrt"], x: Id) -> bool:
        node = self.graph.nodes[x]
        if node.op == "mul" and all(self._is_factor(op, f) for f in node.arguments):
            return True
        p = self._polynomials.normal(x)
        return len(p) > 1 and (op == "inv" or self.signs.is_nonnegative(self._polynomials.to_term(p)))

    def clear_denominators(self, left: Id, right: Id) -> bool:
        """Whether both sides are equal after positive denominators are cleared; if so, the steps are recorded."""
        a, b = self._polynomials.normal(left), self._polynomials.normal(right)
        if a == b:
            return True
        denominators: list[tuple[Id, Poly]] = []
        for _ in range(ROUNDS):
            found = next(
                (
                    (base, -Fraction(e))
                    for m, _ in (*a, *b)
                    for base, e in m
                    if e < 0 and self.graph.nodes[base].op in ("add", "sum") and self.signs.is_positive(base)
                ),
                None,
            )
            if found is None:
                return False
            base, e = found
            by: Poly = ((((base, Fraction(-(-e // 1))),), ONE),)
            denominators.append((self._polynomials.to_term(a), by))
            new = self._polynomials.multiply(a, by), self._polynomials.multiply(b, by)
            self._record_division(a, by)
            self._record_division(b, by)
            a, b = new
            if a == b:
                return True
        return False

    def _record_division(self, p: Poly, by: Poly) -> None:
        """`p = (p d) d^-1` for a positive d."""
        a, d = self._polynomials.to_term(p), self._polynomials.to_term(by)
        inverse = self.graph.make("inv", d)
        self.graph.record_step("cancel", self.graph.mul(d, inverse), self.graph.one)
        self._monomials.regroup(a, d, inverse)
        self._monomials.drop_one(a)
