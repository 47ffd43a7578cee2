"""Normal form of running maxima `max_{k <= i}`, one axiom at a time."""

from __future__ import annotations

from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.max_bounds import MaxBounds
from prism_explore.verify.certificate.derivation.max_forms import MaxForms
from prism_explore.verify.certificate.derivation.monomials import Monomials
from prism_explore.verify.certificate.derivation.polynomials import DerivationFailed, Poly, Polynomials
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import LAST_RUNNING, RENAME, Id, TermGraph
from prism_explore.verify.certificate.expressions import Expr, Upto
from prism_explore.verify.normal_form.index import Zero, moved


class RunningMax:
    """Normal forms of running maxima."""

    def __init__(
        self,
        graph: TermGraph,
        signs: Signs,
        monomials: Monomials,
        polynomials: Polynomials,
        axes: BoundAxes,
        bounds: MaxBounds,
        maxima: MaxForms,
    ) -> None:
        self._graph = graph
        self._signs = signs
        self._monomials = monomials
        self._polynomials = polynomials
        self._axes = axes
        self._bounds = bounds
        self._maxima = maxima

    def running_maximum(self, shell: Expr, p: Poly) -> Poly:
        """The running maximum of a polynomial; in the last iteration, the maximum."""
        assert isinstance(shell, Upto), "a running maximum"
        axis, at = shell.axis.name, shell.at
        body = self._polynomials.to_term(p)
        running = self._upto(shell, body)
        coordinates = self._graph.coordinates(axis)
        if coordinates.isdisjoint(self._graph.dependencies(body)):
            self._graph.record_step("running maximum of a constant", running, body)
            return p
        extent = self._graph.extents[axis]
        if at == moved(Zero(), extent - 1, extent):
            last = self._graph.make("most", body, label=axis)
            self._graph.record_step(LAST_RUNNING, running, last)
            return self._maxima.maximum([((axis,), p)])
        common = tuple((m, c) for m, c in p if self._axes.is_free_of(m, (axis,)))
        if common:
            rest = tuple(t for t in p if t not in common)
            if self._polynomials.add(common, rest) == p:
                a, b = self._polynomials.to_term(common), self._polynomials.to_term(rest)
                self._graph.record_step(
                    "running maximum of a sum",
                    self._upto(shell, self._graph.add(a, b)),
                    self._graph.add(a, self._upto(shell, b)),
                )
                return self._polynomials.add(common, self.running_maximum(shell, rest))
        g, powers = self._polynomials.common_powers(p, roots=True)
        factor = tuple(
            sorted(
                f
                for f in powers
                if self._axes.is_free_of((f,), (axis,)) and self._signs.is_nonnegative(self._monomials.power(*f))
            )
        )
        g = abs(g)
        if (g != 1 or factor) and not any(self._bounds.is_bottom(m) for m, _ in p):
            left, by = self._polynomials.divide(p, factor, g), ((factor, g),)
            if left is not None and self._polynomials.multiply(by, left) == p:
                a, b = self._polynomials.to_term(by), self._polynomials.to_term(left)
                inside = self._upto(shell, self._graph.mul(a, b))
                self._graph.record_step(
                    "running maximum of a multiple", inside, self._graph.mul(a, self._upto(shell, b))
                )
                return self._polynomials.multiply(by, self.running_maximum(shell, left))
        return self._canonicalize(shell, p)

    def _upto(self, shell: Upto, body: Id) -> Id:
        """The running maximum of another body."""
        return self._graph.make_indexed(shell, [body])

    def _canonicalize(self, shell: Upto, p: Poly) -> Poly:
        axis, body = shell.axis.name, self._polynomials.to_term(p)
        name = self._axes.canonical_name(1 + self._graph.binder_depth(body), 0, axis)
        free = self._graph.dependencies(self._upto(shell, body))
        if name == axis or not self._axes.can_rename(axis, body) or not self._graph.coordinates(name).isdisjoint(free):
            return self._polynomials.atom(self._upto(shell, body))
        other = self._graph.rename_axis(body, axis, name)
        if other is None or not self._graph.coordinates(name).isdisjoint(self._graph.dependencies(body)):
            raise DerivationFailed
        renamed = Upto(self._graph.variable(name), shell.at, shell.a)
        self._graph.record_step(RENAME, self._upto(shell, body), self._upto(renamed, other))
        return self._polynomials.atom(self._upto(renamed, self._polynomials.to_term(self._polynomials.normal(other))))
