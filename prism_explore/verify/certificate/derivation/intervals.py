"""Intervals: indicators by which axes and functions are split, one axiom at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise

from prism_explore.ir.dims import ONE as ONE_DIM
from prism_explore.ir.dims import ZERO, Dim
from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.monomials import Monomial, Monomials
from prism_explore.verify.certificate.derivation.polynomials import ONE, DerivationFailed, Poly, Polynomials
from prism_explore.verify.certificate.derivation.term_graph import FULL_INTERVAL, INTERVAL_SPLIT, Id, TermGraph
from prism_explore.verify.certificate.expressions import Within, indices_of
from prism_explore.verify.certificate.lemma import digit_sizes
from prism_explore.verify.normal_form.index import Digit, Moved, Var, Zero, collect_digits, extent, moved, radix
from prism_explore.verify.normal_form.size_facts import at_most, is_count


class Intervals:
    """The borders of all intervals, and the axes and functions that they split."""

    def __init__(
        self,
        graph: TermGraph,
        monomials: Monomials,
        polynomials: Polynomials,
        axes: BoundAxes,
        split_everywhere: bool,
    ) -> None:
        """Begin with no borders.

        Args:
            graph: the terms and the log of steps.
            monomials: their products.
            polynomials: their sums.
            axes: the bound ones.
            split_everywhere: whether sums are split at the borders of all intervals of dims of the same size.
        """
        self._graph = graph
        self._monomials = monomials
        self._polynomials = polynomials
        self._axes = axes
        self._split_everywhere = split_everywhere
        self._borders: dict[str, list[Dim]] = {}

    def collect_borders(self) -> bool:
        """Collect the borders at which intervals are split; whether there are any."""
        borders_of: dict[str, dict[str, Dim]] = {}
        for e, node in enumerate(self._graph.nodes):
            if node.op == "within":
                shell = self._graph.shell(e)
                assert isinstance(shell, Within), "an interval"
                size = extent(shell.index)
                borders = borders_of.setdefault(str(size), {str(d): d for d in (ZERO, size)})
                borders |= {str(d): d for d in (shell.low, shell.high)}
            elif self._split_everywhere and node.op == "at":
                for i in indices_of(self._graph.shell(e)):
                    if isinstance(i, Moved) and isinstance(i.base, Var):
                        ends = (i.by, i.by + i.base.extent)
                        if all(self._is_at_most(ZERO, end) and self._is_at_most(end, i.size) for end in ends):
                            borders = borders_of.setdefault(str(i.size), {str(d): d for d in (ZERO, i.size)})
                            borders |= {str(end): end for end in ends}
        for size, borders in borders_of.items():
            chain = sorted(borders.values(), key=cmp_to_key(lambda a, b: -1 if self._is_at_most(a, b) else 1))
            if all(self._is_at_most(a, b) for a, b in pairwise(chain)):
                self._borders[size] = chain
        return bool(self._borders)

    def _interval(self, shell: Within, low: Dim, high: Dim) -> Id:
        return self._graph.intern(Within(shell.index, low, high))

    def _is_at_most(self, a: Dim, b: Dim) -> bool:
        """Whether a <= b for all sizes that meet the conditions."""
        return at_most(a, b) or is_count(b - a, self._graph.integers)

    def split_interval(self, e: Id) -> Poly:
        """An interval as the sum of those between adjacent borders; the last of a dim is 1 minus the others."""
        shell = self._graph.shell(e)
        assert isinstance(shell, Within), "an interval"
        chain = self._borders.get(str(extent(shell.index)), [])
        if shell.low not in chain or shell.high not in chain:
            return self._polynomials.atom(e)
        first, last = chain.index(shell.low), chain.index(shell.high)
        if last - first > 1:
            parts = self._graph.add(
                self._interval(shell, shell.low, chain[last - 1]), self._interval(shell, chain[last - 1], shell.high)
            )
            self._graph.record_step(INTERVAL_SPLIT, e, parts)
            return self._polynomials.normal(parts)
        if last < len(chain) - 1 or first == 0:
            return self._polynomials.atom(e)
        before = self._interval(shell, ZERO, shell.low)
        everything = self._interval(shell, ZERO, shell.high)
        self._graph.record_step(INTERVAL_SPLIT, everything, self._graph.add(before, e))
        self._graph.record_step(FULL_INTERVAL, everything, self._graph.one)
        opposite = self._polynomials.multiply(self._polynomials.constant(-ONE), self._polynomials.normal(before))
        #  e = (b + e) - b
        total = self._polynomials.add(self._polynomials.constant(ONE), opposite)
        minus = self._graph.mul(self._graph.number(-ONE), before)
        self._polynomials.regroup_sum(minus, before, e)
        self._graph.record_step("add commutes", self._graph.add(minus, everything), self._graph.add(everything, minus))
        self._monomials.collect(before, -ONE, ONE)
        self._graph.record_step("add zero", self._graph.add(self._graph.zero, e), e)
        return total

    def by_cases(self, op: str, label: str, p: Poly, f: Callable[[Poly], Poly]) -> Poly:
        """A function of a polynomial with intervals, as a sum over the cases inside and outside of each."""
        bit = next((b for m, _ in p for b, _ in m if self._graph.nodes[b].op == "within"), None)
        if bit is None or (op in ("inv", "sqrt") and len(p) == 1):
            return f(p)
        indicator = self._polynomials.atom(bit)
        complement = self._polynomials.add(
            self._polynomials.constant(ONE), self._polynomials.multiply(self._polynomials.constant(-ONE), indicator)
        )
        x = self._polynomials.to_term(p)
        full = self._graph.make(op, x, label=label)
        #  f = 1 f = f 1 = f (s + (1 - s)) = f s + f (1 - s)
        self._graph.record_step("one", self._graph.mul(self._graph.one, full), full)
        self._monomials.swap(self._graph.one, full)
        if self._polynomials.add(indicator, complement) != self._polynomials.constant(ONE):
            raise DerivationFailed
        bits = [self._polynomials.to_term(t) for t in (indicator, complement)]
        self._graph.record_step(
            "distribute",
            self._graph.mul(full, self._graph.add(*bits)),
            self._graph.add(*(self._graph.mul(full, t) for t in bits)),
        )
        total: Poly = ()
        for value, t in ((1, indicator), (0, complement)):
            inside = self._restrict(bit, p, value)
            if self._polynomials.multiply(t, p) != self._polynomials.multiply(t, inside):
                raise DerivationFailed
            s, axiom = self._polynomials.to_term(t), f"{op} under a bit"
            self._monomials.swap(full, s)
            for z in (x, self._polynomials.to_term(inside)):
                restricted = self._graph.make(op, self._graph.mul(s, z), label=label)
                self._graph.record_step(
                    axiom, self._graph.mul(s, self._graph.make(op, z, label=label)), self._graph.mul(s, restricted)
                )
            part = self._polynomials.multiply(t, self.by_cases(op, label, inside, f))
            total = part if value else self._polynomials.add(total, part)
        return total

    def _restrict(self, bit: Id, p: Poly, value: int) -> Poly:
        """A polynomial where one interval has this value; disjoint ones are 0 where it is 1."""
        out: dict[Monomial, Fraction] = {}
        for m, c in p:
            own = any(b == bit for b, _ in m)
            if own and not value:
                continue
            if value and any(
                b != bit and self._polynomials.are_disjoint(b, bit) for b, _ in m if self._graph.nodes[b].op == "within"
            ):
                continue
            left = tuple(f for f in m if f[0] != bit)
            out[left] = out.get(left, Fraction(0)) + c
        return tuple(sorted((m, c) for m, c in out.items() if c))

    def split_axis(self, axis: str, body: Id) -> list[tuple[str, Id]] | None:
        """A body split at the first border of an axis: the new axes and bodies before and after it."""
        size = self._graph.extents[axis]
        chain = self._borders.get(str(size), [])
        if len(chain) < 3 or not (self._split_everywhere or self._has_interval(axis, body)):
            return None
        out: list[tuple[str, Id]] = []
        if not all(is_count(d, self._graph.integers) for d in (chain[1], size - chain[1])):
            return None  # one of them may be empty
        for low, high in ((ZERO, chain[1]), (chain[1], size)):
            new = self._axes.fresh_axis(high - low)
            shifted = moved(Var(new, high - low) if high - low != ONE_DIM else Zero(), low, size)
            placed = self._graph.substitute(body, axis, shifted)
            if placed is None:
                return None
            out.append((new, placed))
        self._borders.setdefault(str(size - chain[1]), [d - chain[1] for d in chain[1:]])
        return out

    def split_into_digits(self, axis: str, body: Id) -> tuple[list[str], Id] | None:
        """A body that uses digits of an axis, over one new axis for each digit."""
        size = self._graph.extents[axis]
        digits: dict[str, dict[str, Digit]] = {}
        for e in self._graph.indexed_terms(body):
            for i in indices_of(self._graph.shell(e)):
                collect_digits(i, digits)
        sizes = digit_sizes(digits[axis].values(), size) if axis in digits else None
        if sizes is None:
            return None
        names = [self._axes.fresh_axis(s) for s in sizes]
        placed = self._graph.substitute(body, axis, radix([Var(n, s) for n, s in zip(names, sizes, strict=True)]))
        return None if placed is None else (names, placed)

    def _has_interval(self, axis: str, body: Id) -> bool:
        shells = (self._graph.shell(e) for e in self._graph.indexed_terms(body))
        return any(isinstance(s, Within) and isinstance(s.index, Var) and s.index.name == axis for s in shells)
