"""Intervals: indicators by which axes and functions are split, one axiom at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cmp_to_key, reduce
from itertools import pairwise

from prism_explore.ir.dims import ONE as ONE_DIM
from prism_explore.ir.dims import ZERO, Dim, dim
from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.choices import MANY_CUTS, Choices
from prism_explore.verify.certificate.derivation.monomials import Monomial, Monomials, Power
from prism_explore.verify.certificate.derivation.polynomials import ONE, DerivationFailed, Poly, Polynomials
from prism_explore.verify.certificate.derivation.term_graph import (
    BAND_CUT,
    BAND_OF_CONSTANT,
    FULL_INTERVAL,
    INTERVAL_SPLIT,
    SUM_OVER_DIAGONAL,
    VALUE_BY_DIGITS,
    VALUE_OF_INDEX,
    Id,
    TermGraph,
)
from prism_explore.verify.certificate.expressions import Near, Within
from prism_explore.verify.certificate.lemma import digit_sizes
from prism_explore.verify.normal_form.forms import Atom, InBand, Interval
from prism_explore.verify.normal_form.index import (
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    collect_digits,
    extent,
    moved,
    radix,
)
from prism_explore.verify.normal_form.indicators import band, digits_fixed_by, interval, pin_bands
from prism_explore.verify.normal_form.size_facts import at_most, is_count

FEW_VALUES = 16


class Intervals:
    """The borders of all intervals, and the axes and functions that they split."""

    def __init__(
        self,
        graph: TermGraph,
        monomials: Monomials,
        polynomials: Polynomials,
        axes: BoundAxes,
        choices: Choices,
    ) -> None:
        """Begin with no borders.

        Args:
            graph: the terms and the log of steps.
            monomials: their products.
            polynomials: their sums.
            axes: the bound ones.
            choices: what is split.
        """
        self._graph = graph
        self._monomials = monomials
        self._polynomials = polynomials
        self._axes = axes
        self._choices = choices
        self._borders: dict[str, list[Dim]] = {}

    def collect_borders(self) -> bool:
        """Collect the borders at which intervals are split; whether there are any, or bands that are split."""
        borders_of: dict[str, dict[str, Dim]] = {}
        for e, node in enumerate(self._graph.nodes):
            found = self._interval_of(e)
            if found is not None:
                for i, low, high in digits_fixed_by(*found) or [found]:
                    borders = borders_of.setdefault(str(extent(i)), {str(d): d for d in (ZERO, extent(i))})
                    borders |= {str(d): d for d in (low, high)}
            elif node.op == "at":
                for i in self._graph.indices(e):
                    if isinstance(i, Moved) and isinstance(i.base, Var) and not self._choices.is_any("own"):
                        ends = (i.by, i.by + i.base.extent)
                        if all(self._is_at_most(ZERO, end) and self._is_at_most(end, i.size) for end in ends):
                            borders = borders_of.setdefault(str(i.size), {str(d): d for d in (ZERO, i.size)})
                            borders |= {str(end): end for end in ends}
        few = {d.constant for d in self._graph.extents.values() if d.constant is not None and d.constant <= FEW_VALUES}
        if few and self._choices.is_any(*MANY_CUTS):
            borders_of |= {str(size): {str(n): dim(n) for n in range(size + 1)} for size in few}
        for size, borders in borders_of.items():
            chain = sorted(borders.values(), key=cmp_to_key(lambda a, b: -1 if self._is_at_most(a, b) else 1))
            if all(self._is_at_most(a, b) for a, b in pairwise(chain)):
                self._borders[size] = chain
        has_band = any(node.op == "near" for node in self._graph.nodes)
        return bool(self._borders) or (has_band and self._choices.is_any("bands"))

    def _interval_of(self, e: Id) -> tuple[Index, Dim, Dim] | None:
        """The index and borders of an interval, also of a band with a constant index; None for any other term."""
        shell = self._graph.shell(e) if self._graph.nodes[e].op in ("within", "near") else None
        match shell:
            case Within(i, low, high):
                return i, low, high
            case Near():
                pinned = self._pinned(shell)
                if isinstance(pinned, Interval) and self._choices.is_any("bands"):
                    return pinned.index, pinned.low, pinned.high
                return None
            case _:
                return None

    def _pinned(self, shell: Near) -> Atom | int | None:
        """A band with a constant index as an interval or a number; None for any other band."""
        if not isinstance(shell.row, Zero) and not isinstance(shell.column, Zero):
            return None
        found = pin_bands([(InBand(shell.low, shell.high, shell.row, shell.column), 1)])
        return 0 if found is None else next((a for a, _ in found), 1)

    def _interval(self, shell: Within, low: Dim, high: Dim) -> Id:
        return self._graph.intern(Within(shell.index, low, high))

    def _is_at_most(self, a: Dim, b: Dim) -> bool:
        """Whether a <= b for all sizes that meet the conditions."""
        return at_most(a, b) or is_count(b - a, self._graph.integers)

    def split_interval(self, e: Id) -> Poly:
        """An interval as the sum of those between adjacent borders; the last of a dim is 1 minus the others."""
        shell = self._graph.shell(e)
        assert isinstance(shell, Within), "an interval"
        if digits := digits_fixed_by(shell.index, shell.low, shell.high):
            parts = reduce(self._graph.mul, (self._graph.intern(Within(*d)) for d in digits))
            self._graph.record_step(VALUE_BY_DIGITS, e, parts)
            return self._polynomials.normal(parts)
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
        return self._difference(self._graph.one, before, e)

    def _difference(self, whole: Id, before: Id, e: Id) -> Poly:
        """A term that is whole - before, where it is recorded that before + e is the whole."""
        opposite = self._polynomials.multiply(self._polynomials.constant(-ONE), self._polynomials.normal(before))
        #  e = (b + e) - b
        total = self._polynomials.add(self._polynomials.normal(whole), opposite)
        minus = self._graph.mul(self._graph.number(-ONE), before)
        self._polynomials.regroup_sum(minus, before, e)
        self._graph.record_step("add commutes", self._graph.add(minus, whole), self._graph.add(whole, minus))
        self._monomials.collect(before, -ONE, ONE)
        self._graph.record_step("add zero", self._graph.add(self._graph.zero, e), e)
        return total

    # ------------------------------------------------------------ bands and single values
    def split_band(self, e: Id) -> Poly:
        """A band as bands `[column - row <= 0]` and diagonals; one with a constant index as an interval."""
        shell = self._graph.shell(e)
        assert isinstance(shell, Near), "a band"
        low, high, row, column = shell.low, shell.high, shell.row, shell.column
        if not self._choices.is_any("bands"):
            return self._polynomials.atom(e)
        pinned = self._pinned(shell)
        if pinned is not None:
            within = self._indicator(pinned)
            self._graph.record_step(BAND_OF_CONSTANT, e, within)
            return self._polynomials.normal(within)
        if low is not None:
            if low == high or high is None or not self._is_at_most(low, high + ONE_DIM):
                return self._polynomials.atom(e)
            whole, before = (self._indicator(band(None, d, row, column)) for d in (high, low - ONE_DIM))
            self._graph.record_step(BAND_CUT, whole, self._graph.add(before, e))
            return self._difference(whole, before, e)
        assert high is not None, "a band has a bound"
        if column.key < row.key:
            before = self._indicator(band(None, ZERO - high - 1, column, row))
            self._graph.record_step(BAND_CUT, self._graph.one, self._graph.add(before, e))
            return self._difference(self._graph.one, before, e)
        last = high.constant
        if not last or abs(last) > FEW_VALUES:
            return self._polynomials.atom(e)
        border = high if last > 0 else high + 1
        diagonal = self._indicator(band(border, border, row, column))
        if last > 0:
            parts = self._graph.add(self._indicator(band(None, high - 1, row, column)), diagonal)
            self._graph.record_step(BAND_CUT, e, parts)
            return self._polynomials.normal(parts)
        whole = self._indicator(band(None, border, row, column))
        self._graph.record_step(BAND_CUT, whole, self._graph.add(e, diagonal))
        self._graph.record_step("add commutes", self._graph.add(e, diagonal), self._graph.add(diagonal, e))
        return self._difference(whole, diagonal, e)

    def _indicator(self, made: Atom | int) -> Id:
        match made:
            case InBand(low, high, row, column):
                return self._graph.intern(Near(row, column, low, high))
            case Interval(i, low, high):
                return self._graph.intern(Within(i, low, high))
            case int():
                return self._graph.number(Fraction(made))
            case _:
                raise AssertionError("an indicator")

    def sum_over_diagonal(self, axis: str, m: Monomial) -> Poly | None:
        """A sum of a product with a diagonal, which has one term; None for any other sum."""
        own, size = self._graph.coordinates(axis), self._graph.extents[axis]
        for factor in m:
            e, exponent = factor
            if self._graph.nodes[e].op != "near" or exponent != 1 or not self._is_diagonal(e, axis):
                continue
            if not self._choices.is_any("bands"):
                return None
            shell = self._graph.shell(e)
            assert isinstance(shell, Near) and shell.low is not None, "a diagonal"
            is_column = isinstance(shell.column, Var) and shell.column.name == axis
            other, by = (shell.row, shell.low) if is_column else (shell.column, ZERO - shell.low)
            if any(not own.isdisjoint(self._graph.coordinates(w)) for w in other.free):
                continue
            rest = self._split_off(m, factor)
            placed = self._graph.substitute(rest, axis, moved(other, by, size))
            if placed is None:
                continue
            inside = self._indicator(interval(other, ZERO - by, size - by))
            one_term = self._graph.mul(inside, placed)
            whole = self._graph.make("sum", self._graph.mul(rest, e), label=axis)
            self._graph.record_step(SUM_OVER_DIAGONAL, whole, one_term)
            return self._polynomials.normal(one_term)
        return None

    def _is_diagonal(self, e: Id, axis: str) -> bool:
        shell = self._graph.shell(e)
        return (
            isinstance(shell, Near)
            and shell.low is not None
            and shell.low == shell.high
            and any(isinstance(i, Var) and i.name == axis for i in (shell.row, shell.column))
        )

    def replace_by_value(self, m: Monomial) -> Poly | None:
        """A product with an interval of one value, in which the index is that value; None where there is none."""
        for factor in m:
            e, exponent = factor
            shell = self._graph.shell(e) if self._graph.nodes[e].op == "within" else None
            if not isinstance(shell, Within) or exponent != 1 or shell.high - shell.low != ONE_DIM:
                continue
            if len(m) == 1 or not isinstance(shell.index, Var):
                continue
            if not self._choices.is_any("bands"):
                return None
            rest = self._split_off(m, factor)
            value = moved(Zero(), shell.low, shell.index.extent)
            placed = self._graph.substitute(rest, shell.index.name, value)
            if placed is None or placed == rest:
                continue
            self._graph.record_step(VALUE_OF_INDEX, self._graph.mul(rest, e), self._graph.mul(placed, e))
            return self._polynomials.multiply(self._polynomials.normal(placed), self._polynomials.atom(e))
        return None

    def _split_off(self, m: Monomial, factor: Power) -> Id:
        """The term of a product without a factor, times which it is recorded to be the product."""
        rest = tuple(f for f in m if f != factor)
        back = self._monomials.insert(rest, factor)
        assert back == m, "removing a factor and inserting it again gives the term"
        return self._monomials.to_term(rest)

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
        if len(chain) < 3 or not (self._has_interval(axis, body) or not self._choices.is_any("own")):
            return None
        if any(self._is_diagonal(e, axis) for e in self._graph.indexed_terms(body)) and self._choices.is_any("bands"):
            return None
        if self._choices.is_any("joined"):
            pairs = self._neighbours(axis, body)
            if any(outer == axis or self.join_axes((outer, axis), body) for outer, _ in pairs):
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
            for i in self._graph.indices(e):
                collect_digits(i, digits)
        sizes = digit_sizes(digits[axis].values(), size) if axis in digits else None
        if sizes is None:
            return None
        names = [self._axes.fresh_axis(s) for s in sizes]
        placed = self._graph.substitute(body, axis, radix([Var(n, s) for n, s in zip(names, sizes, strict=True)]))
        return None if placed is None else (names, placed)

    def join_axes(self, pair: tuple[str, str], body: Id) -> tuple[str, Id] | None:
        """A new axis for the number of which two axes are the digits, and the body over it.

        Args:
            pair: the axes, the one of the more significant digit first.
            body: a term.

        Returns:
            None where the body also depends on one of the digits otherwise.
        """
        if not self._choices.is_any("joined"):
            return None
        outer, inner = (self._graph.extents[name] for name in pair)
        if not self._neighbours(pair[0], body) >= {pair}:
            return None
        new = self._axes.fresh_axis(outer * inner)
        number = Var(new, outer * inner)
        for name, place in zip(pair, ((ONE_DIM, outer, inner), (outer, inner, ONE_DIM)), strict=True):
            placed = self._graph.substitute(body, name, Digit(number, *place))
            if placed is None:
                return None
            body = placed
        digits: dict[str, dict[str, Digit]] = {}
        for e in self._graph.indexed_terms(body):
            for i in self._graph.indices(e):
                collect_digits(i, digits)
        return None if new in digits else (new, body)

    def _neighbours(self, axis: str, body: Id) -> set[tuple[str, str]]:
        """The pairs of axes, this one and another, that are adjacent digits of an index."""
        found: set[tuple[str, str]] = set()
        for e in self._graph.indexed_terms(body):
            for i in self._graph.indices(e):
                parts = i.parts if isinstance(i, Radix) else ()
                found |= {
                    (a.name, b.name) for a, b in pairwise(parts)
                    if isinstance(a, Var) and isinstance(b, Var) and axis in (a.name, b.name)
                }  # fmt: skip
        return found

    def _has_interval(self, axis: str, body: Id) -> bool:
        shells = (self._graph.shell(e) for e in self._graph.indexed_terms(body))
        return any(isinstance(s, Within) and isinstance(s.index, Var) and s.index.name == axis for s in shells)
