"""The algebra of normal forms: sums, products, powers, functions and substitution.

Every operation maps normal forms to a normal form. Results are cached by the keys of the operands. A result holds for
all candidates, because symbols are only assumed to be positive integers.

Work is counted in steps. Where the budget ends, `NoNormalForm` is raised with the limit; it is caught inside this
package and becomes the verdict `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, TypeVar, TypeVarTuple, assert_never

from prism_explore.ir.dims import Dim, dim
from prism_explore.verify.normal_form import index
from prism_explore.verify.normal_form.bound_names import Budget as Budget
from prism_explore.verify.normal_form.bound_names import (
    Collapsed,
    Naming,
    OpenOperand,
    OverBudget,
    check_number,
    is_bijective,
    sort_key,
)
from prism_explore.verify.normal_form.bound_names import NoNormalForm as NoNormalForm
from prism_explore.verify.normal_form.forms import (
    NF_ONE,
    NF_ZERO,
    UNIT,
    Atom,
    Bottom,
    Exp,
    Factor,
    Group,
    InBand,
    Interval,
    Max,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Read,
    Running,
    Size,
    Term,
    number,
    single,
)
from prism_explore.verify.normal_form.functions import apply, exp
from prism_explore.verify.normal_form.index import MOVED, Index, Var
from prism_explore.verify.normal_form.indicators import (
    Constant,
    band,
    common_bands,
    fixed_by,
    intersection,
    interval,
    merge_adjacent,
    merge_adjacent_bands,
    pin_bands,
    split_cases,
)
from prism_explore.verify.normal_form.maxima import maximum, running
from prism_explore.verify.normal_form.order import by_steps, is_plain_sum, is_step, multiply_steps, nonzero, solve_steps
from prism_explore.verify.normal_form.powers import power, root_degree
from prism_explore.verify.normal_form.sums import canonical_sum, merge_adjacent_sums

UNROLLED = 16
"""The most values of an index over which sums and maxima are spelled out."""
_Operands = TypeVarTuple("_Operands")
_Made = TypeVar("_Made")


@dataclass(slots=True)
class _Tensor:
    """The cached result of an operator."""

    form: NormalForm
    steps: int
    candidate: int
    """The last candidate whose budget was charged for it."""


class Algebra(Naming):
    """Operations on normal forms, with a cache and a budget."""

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        expand_definitions: bool = False,
        by_order: bool = False,
        unrolled: bool = False,
        integers: Sequence[Dim] = (),
    ) -> None:
        """Begin with an empty cache. Other settings need another algebra, because results are cached.

        Args:
            budget: the limits for one candidate.
            expand_definitions: whether named functions are replaced by their definitions (rules F1, F7).
            by_order: whether this is so, and what depends on an order is spelled out by comparisons, logarithms and
                angles are split, adjacent bands are merged, sums up to an index have one border, and what an interval
                or a diagonal says of an index is used (rules O1 to O6, G1, F9, P6, D4 to D6, C4, S10).
            unrolled: whether sums and maxima over at most `UNROLLED` values are spelled out (rules S9, M7).
            integers: sizes that are integers by the conditions of a candidate (rule I6).
        """
        super().__init__(budget, integers)
        self.expand_definitions = expand_definitions or by_order
        self.by_order = by_order
        self._unrolled = unrolled
        self._cache: dict[tuple[Hashable, ...], tuple[Any, int]] = {}
        """The result of each operation and its number of steps, by operation and operands."""
        self._tensor_cache: dict[tuple[Hashable, ...], _Tensor] = {}
        self._candidate = 0

    def restart(self) -> None:
        """Start a new candidate: reset the budget, and clear the caches where they are full."""
        self.steps = 0
        self._fresh = 0
        self._candidate += 1
        if len(self._cache) + len(self._rename_cache) + len(self._tensor_cache) > self.budget.cache_entries:
            self._cache.clear()
            self._rename_cache.clear()
            self._tensor_cache.clear()

    def cached_tensor(
        self,
        key: tuple[Hashable, ...],
        make: Callable[[*_Operands], NormalForm],
        *args: *_Operands,
    ) -> NormalForm:
        """The result of a graph's operator: as `cached`, but equal tensors of one candidate are charged only once."""
        cached = self._tensor_cache.get(key)
        if cached is None:
            start = self.steps
            cached = self._tensor_cache[key] = _Tensor(make(*args), self.steps - start, self._candidate)
        elif cached.candidate != self._candidate:
            cached.candidate = self._candidate
            self.spend(cached.steps)
        return cached.form

    def cached(self, key: tuple[Hashable, ...], make: Callable[[*_Operands], _Made], *args: *_Operands) -> _Made:
        """The result of an operation, computed once.

        Each call is charged the same steps, so that no verdict depends on earlier ones.

        Args:
            key: the operation and everything on which its result depends; forms by their keys.
            make: computes the result.
            args: the arguments of `make`.
        """
        cached = self._cache.get(key)
        if cached is not None:
            self.spend(cached[1])
            return cached[0]
        start = self.steps
        result = make(*args)
        self._cache[key] = result, self.steps - start
        return result

    # ------------------------------------------------------------ ring
    def constant(self, value: Number) -> NormalForm:
        """A rational number."""
        return NormalForm(((UNIT, number(value)),)) if value else NF_ZERO

    def size(self, d: Dim) -> NormalForm:
        """A size as a number."""
        return self.cached(("size", d), self._size, d)

    def _size(self, d: Dim) -> NormalForm:
        total = NF_ZERO
        for powers, coefficient in d.terms:
            total = self.add(total, self.term((), [(Size(s), e) for s, e in powers], coefficient))
        return total

    def read(self, tensor: str, dims: Sequence[Dim]) -> NormalForm:
        """An input tensor at its own position."""
        here = tuple(index.var(index.position(d), size) for d, size in enumerate(dims))
        return single(Read(tensor, here))

    def add(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a + b (rule R1)."""
        if not a.terms:
            return b
        if not b.terms:
            return a
        return self.collect((*a.terms, *b.terms))

    def collect(self, terms: Iterable[tuple[Term, Number]]) -> NormalForm:
        """A sum of arbitrary terms (rules R1, B2, C2)."""
        total: dict[str, tuple[Term, Number]] = {}
        special, partial_sums = False, 0
        for t, c in terms:
            known = total.get(t.key)
            total[t.key] = (t, number(c + known[1])) if known else (t, c)
            special = special or t.guarded or t.masked
            partial_sums += bool(t.bound) and MOVED in t.key
        found = list(total.values())
        while special:
            found = self._merge_masks([(t, 1 if t.masked else c) for t, c in found])
            merged_terms = merge_adjacent(found, self.integers)
            if merged_terms is None:
                break
            return self.collect(merged_terms)
        if self.by_order:
            merged_terms = merge_adjacent_bands(found)
            if merged_terms is not None:
                return self.collect(merged_terms)
        if partial_sums > 1:
            merged_terms = merge_adjacent_sums(self, found)
            if merged_terms is not None:
                return self.collect(merged_terms)
        return self.ordered(found)

    def scale(self, a: NormalForm, by: Number) -> NormalForm:
        """A rational number times a."""
        if by == 1:
            return a
        if a.masked:
            if by <= 0:
                raise NoNormalForm("a masked value (minus infinity) is multiplied by a number that is not positive")
            return NormalForm(tuple((t, 1 if t.masked else number(c * by)) for t, c in a.terms))
        return NormalForm(tuple((t, number(c * by)) for t, c in a.terms)) if by else NF_ZERO

    def sub(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a - b."""
        return self.add(a, self.scale(b, -1))

    def mul(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a * b (rules R1, S2)."""
        if b.key < a.key:
            a, b = b, a
        if a.key == NF_ONE.key:
            return b
        if b.key == NF_ONE.key:
            return a
        for one, other in ((a, b), (b, a)):
            if len(one.terms) == 1 and one.terms[0][0] is UNIT:
                return self.scale(other, check_number(one.terms[0][1]))
        return self.cached(("mul", a.key, b.key), self._product, a, b)

    def _product(self, a: NormalForm, b: NormalForm) -> NormalForm:
        if len(a.terms) * len(b.terms) > self.budget.terms:
            raise OverBudget(f"a normal form of more than {self.budget.terms} terms")
        total: list[tuple[Term, Number]] = []
        for s, c in a.terms:
            bound, factors = self.open_term(s)
            for t, d in b.terms:
                more, others = self.open_term(t)
                total += self.term((*bound, *more), (*factors, *others), check_number(c * d)).terms
        return self.collect(total)

    def sum(self, a: NormalForm, over: Index) -> NormalForm:
        """Σ of a over an index variable (rules S1 to S8); over the index 0 of a dim of size 1, a itself."""
        if not isinstance(over, Var):
            return a
        return self.cached(("sum", a.key, over.key), self._sum, a, over)

    def _sum(self, a: NormalForm, over: Var) -> NormalForm:
        if self._is_unrolled(over):
            spelled = NF_ZERO
            for value in _values(over):
                spelled = self.add(spelled, self.substitute(a, {over.name: value}))
            return spelled
        total: list[tuple[Term, Number]] = []
        for t, c in a.terms:
            bound, factors = self.open_term(t)
            total += self.term((*bound, over), factors, c).terms
        return self.collect(total)

    def _is_unrolled(self, over: Var) -> bool:
        """Whether a sum or maximum over an index is spelled out (rules S9, M7)."""
        return self._unrolled and over.extent.constant is not None and over.extent.constant <= UNROLLED

    # ------------------------------------------------------------ powers
    def power(self, n: NormalForm, q: Number) -> NormalForm:
        """n to a rational power (rules P1 to P6, F5); to the power 0, it is 1 where n is not 0.

        Raises:
            NoNormalForm: 0 has a negative power, or n may be minus infinity.
        """
        q = number(q)
        if q == 1:
            return n
        if not n.terms:
            if q < 0:
                raise NoNormalForm("a division by a value that is always 0")
            return NF_ZERO
        if n.masked:
            raise NoNormalForm("a power of a masked value (minus infinity)")
        return self.cached(("power", n.key, q), self._power, n, q)

    def _power(self, n: NormalForm, q: Number) -> NormalForm:
        if self.by_order:
            if q == 0:
                return nonzero(self, n)
            if not (isinstance(q, int) and q > 0):
                split = by_steps(self, n, lambda piece: self.power(piece, q) if piece.terms else NF_ZERO)
                if split is not None:
                    return split
        return power(self, n, q)

    # ------------------------------------------------------------ functions
    def exp(self, n: NormalForm) -> NormalForm:
        """The exponential function (rules E1, E2, F5, B1)."""
        return exp(self, n)

    def apply(self, function: str, n: NormalForm) -> NormalForm:
        """A function by its name in `ir.elementwise.UNARY`, where it is no power (rules F1 to F9, O1 to O6, G1).

        Raises:
            NoNormalForm: n may be minus infinity.
        """
        return apply(self, function, n)

    # ------------------------------------------------------------ maxima, masks and indicators
    def maximum(self, pieces: Sequence[OpenOperand]) -> NormalForm:
        """The greatest value of any form at any value of its own bound indices (rules M1 to M6)."""
        return maximum(self, pieces)

    def max_over(self, n: NormalForm, *over: Index) -> NormalForm:
        """The maximum over index variables; over the index 0 of a dim of size 1, the form itself."""
        names = [v for v in over if isinstance(v, Var)]
        return self.cached(("max", n.key, *[v.key for v in names]), self._max_over, n, names)

    def _max_over(self, n: NormalForm, over: Sequence[Var]) -> NormalForm:
        for v in over:
            if self._is_unrolled(v):
                others = [w for w in over if w is not v]
                return self.maximum(
                    [((), self.max_over(self.substitute(n, {v.name: value}), *others)) for value in _values(v)]
                )
        bound = {v.name: self.fresh_index(v) for v in over}
        return maximum(self, [(tuple(bound.values()), self.rename_form(n, bound))])

    def running_max(self, n: NormalForm, v: Index, at: Index) -> NormalForm:
        """The maximum over all values of v up to and including `at` (rule L2)."""
        if not isinstance(v, Var):
            return n
        fresh = self.fresh_index(v)
        return running(self, fresh, self.rename_form(n, {v.name: fresh}), at)

    def band(self, low: Dim | None, high: Dim | None, row: Index, column: Index) -> NormalForm:
        """1 where `low <= column - row <= high`, else 0 (rules D1 to D3)."""
        return self.indicator(band(low, high, row, column))

    def interval(self, i: Index, low: Dim, high: Dim) -> NormalForm:
        """1 where `low <= i < high`, else 0 (rules C1 to C3)."""
        return self.indicator(interval(i, low, high))

    def indicator(self, value: InBand | Interval | Constant) -> NormalForm:
        """An indicator, or the number 0 or 1, as a form."""
        match value:
            case 0:
                return NF_ZERO
            case 1:
                return NF_ONE
            case atom:
                return single(atom)

    def mask(self, n: NormalForm, keep: NormalForm) -> NormalForm:
        """n where keep is not 0, else minus infinity (rules B1, B2)."""
        kept = self.power(keep, 0)
        return n if kept == NF_ONE else self.add(n, single(Bottom(kept)))

    def piecewise(self, pieces: Iterable[tuple[NormalForm, NormalForm]]) -> NormalForm:
        """A value by cases: a sum of values times indicators, one of which is 1 at each position (rule B3)."""
        pieces, total, kept = tuple(pieces), NF_ZERO, NF_ZERO
        for where, n in pieces:
            finite = NormalForm(tuple(p for p in n.terms if not p[0].masked)) if n.masked else n
            total = self.add(total, self.mul(where, finite))
        if not any(n.masked for _, n in pieces):
            return total
        for where, n in pieces:
            kept = self.add(kept, self.mul(where, self._kept_indicator(t for t, _ in n.terms if t.masked)))
        return self.mask(total, kept)

    def _kept_indicator(self, low: Iterable[Term]) -> NormalForm:
        """The indicator that no term of some masked terms is minus infinity."""
        keep = NF_ONE
        for t in low:
            for a, _ in t.factors:
                if isinstance(a, Bottom):
                    keep = self.mul(keep, a.keep)
        return keep

    def _merge_masks(self, terms: list[tuple[Term, Number]]) -> list[tuple[Term, Number]]:
        """Several masks merged into one, whose `keep` is the product of theirs (rule B2)."""
        low = [t for t, _ in terms if t.masked]
        if len(low) < 2:
            return terms
        return [*(p for p in terms if not p[0].masked), *single(Bottom(self._kept_indicator(low))).terms]

    # ------------------------------------------------------------ substitution
    def substitute(self, n: NormalForm, by: Mapping[str, Index]) -> NormalForm:
        """Free index variables replaced by index terms of the same extents."""
        used = {v: i for v, i in by.items() if v in n.free and not (isinstance(i, Var) and i.name == v)}
        if not used:
            return n
        return self.cached(("put", n.key, *sorted([(v, i.key) for v, i in used.items()])), self._substitute, n, used)

    def _substitute(self, n: NormalForm, used: Mapping[str, Index]) -> NormalForm:
        if is_bijective(used, n.free) and not (self.by_order and n.guarded):
            with suppress(Collapsed):
                return self.rename_form(n, used)
        total: list[tuple[Term, Number]] = []
        for t, c in n.terms:
            if t.free.isdisjoint(used):
                total.append((t, c))
                continue
            bound, factors = self.open_term(t)
            inner = self.substitute_factors(factors, used)
            for v in bound:
                inner = self.sum(inner, v)
            total += self.scale(inner, c).terms
        return self.collect(total)

    def substitute_factors(self, factors: Iterable[Factor], by: Mapping[str, Index]) -> NormalForm:
        """The product of factors with free index variables replaced."""
        plain: list[Factor] = []
        rest: list[tuple[Atom, Number]] = []
        for a, e in factors:
            if a.free.isdisjoint(by):
                plain.append((a, e))
                continue
            match a:
                case Read(tensor, indices):
                    plain.append((Read(tensor, tuple(self.substitute_index(i, by) for i in indices)), e))
                case Interval(i, low, high):
                    value = interval(self.substitute_index(i, by), low, high)
                    if value == 0:
                        return NF_ZERO
                    if value != 1:
                        plain.append((value, 1))
                case InBand(low, high, row, column):
                    value = band(low, high, self.substitute_index(row, by), self.substitute_index(column, by))
                    if value == 0:
                        return NF_ZERO
                    if value != 1:
                        plain.append((value, 1))
                case _:
                    rest.append((a, e))
        result = self.term((), plain, 1)
        for a, e in rest:
            result = self.mul(result, self.power(self._substitute_atom(a, by), e))
        return result

    def _substitute_atom(self, a: Atom, by: Mapping[str, Index]) -> NormalForm:
        """An atom that contains forms, with free index variables replaced."""
        match a:
            case Exp(term):
                return self.exp(self.substitute(NormalForm(((term, 1),)), by))
            case Group(inner):
                return self.substitute(inner, by)
            case Opaque(function, (arg,)) if (degree := root_degree(function)) is not None:
                return self.power(self.substitute(arg, by), Fraction(1, degree))
            case Opaque(function, args):
                return self.apply(function, self.substitute(args[0], by))
            case Bottom(keep):
                return self.mask(NF_ZERO, self.substitute(keep, by))
            case Max(operands):
                opened = [self.open_operand(p) for p in operands]
                return self.maximum([(bound, self.substitute(inner, by)) for bound, inner in opened])
            case Running(v, inner, at):
                fresh = self.fresh_index(v)
                inside = self.substitute(self.rename_form(inner, {v.name: fresh}), by)
                return running(self, fresh, inside, self.substitute_index(at, by))
            case Read() | Size() | Prime() | Interval() | InBand():
                raise AssertionError("these contain no forms")
            case _:
                assert_never(a)

    # ------------------------------------------------------------ one term
    def term(self, bound: Sequence[Var], factors: Sequence[Factor], coefficient: Number) -> NormalForm:
        """coefficient * Σ_bound Π factors in normal form; the bound names must not be canonical ones."""
        if not coefficient:
            return NF_ZERO
        self.spend(1 + len(factors))
        if self.by_order:
            pinned = pin_bands(factors)
            if pinned is None:
                return NF_ZERO
            factors = pinned
        merged: dict[str, Factor] = {}
        for f in factors:
            key = f[0].key
            merged[key] = (f[0], number(merged[key][1] + f[1])) if key in merged else f
        kept: list[Factor] = []
        expand: list[tuple[NormalForm, int]] = []
        where: list[Interval] = []
        bands: list[InBand] = []
        zeroth: list[NormalForm] = []
        steps = False
        for f in merged.values():
            a, e = f
            if e == 1 and type(a) is Read:
                kept.append(f)
                continue
            match a:
                case Interval():
                    where.append(a)
                case InBand():
                    bands.append(a)
                case Bottom():
                    return self._masked_term(bound, merged.values(), coefficient)
                case Opaque() if is_step(a):
                    steps = True
                    kept.append((a, 1))
                case _ if e == 0:
                    base = a.inner if isinstance(a, Group) else single(a)
                    if self.by_order and a.sign != 2 and not is_plain_sum(base):
                        zeroth.append(base)
                    elif a.sign != 2:
                        kept.append((a, 0))
                case Prime(value):
                    coefficient = number(coefficient * Fraction(value) ** floor(e))
                    if e != floor(e):
                        kept.append((a, number(e - floor(e))))
                case Opaque("cos", (angle,)) if self.by_order and isinstance(e, int) and e > 1:
                    expand.append((self.sub(NF_ONE, self.power(single(Opaque("sin", (angle,))), 2)), e // 2))
                    kept += [(a, 1)] * (e % 2)
                case Group(inner) if e >= 1:
                    expand.append((inner, floor(e)))
                    if e != floor(e):
                        kept.append((a, number(e - floor(e))))
                case _:
                    kept.append((a, number(e)))
        if where:
            met = intersection(where) if len(where) > 1 else where
            if met is None:
                return NF_ZERO
            if self.by_order:
                others = [f for f in merged.values() if not isinstance(f[0], Interval)]
                fixed = self._with_fixed_indices(met, others)
                if fixed is not None:
                    return self._sum_over(self.scale(fixed, coefficient), bound)
            kept += [(i, 1) for i in met]
        if bands:
            overlap = common_bands(bands) if len(bands) > 1 else bands
            if overlap is None:
                return NF_ZERO
            kept += [(b, 1) for b in overlap]
        solved: NormalForm | None = None
        if steps:
            left = multiply_steps(kept)
            if left is None:
                return NF_ZERO
            kept = left
            solved = solve_steps(self, kept)
        if expand or zeroth or solved is not None:
            result = self.term((), kept, coefficient) if solved is None else self.scale(solved, coefficient)
            for n, k in expand:
                result = self.mul(result, self.power(n, k))
            for n in zeroth:
                result = self.mul(result, self.power(n, 0))
            return self._sum_over(result, bound)
        if bound:
            return canonical_sum(self, bound, kept, coefficient)
        return NormalForm(((Term((), tuple(sorted(kept, key=sort_key))), number(coefficient)),))

    def _sum_over(self, n: NormalForm, bound: Iterable[Var]) -> NormalForm:
        for v in bound:
            n = self.sum(n, v)
        return n

    def _with_fixed_indices(self, where: Sequence[Interval], factors: Sequence[Factor]) -> NormalForm | None:
        """Rule C4: a product with intervals of one value, which replaces the index; None where that changes nothing."""
        for i in where:
            by = fixed_by(i)
            if by is None or all(a.free.isdisjoint(by) for a, _ in factors):
                continue
            result = self.substitute_factors(factors, by)
            if result != self.term((), factors, 1):
                for kept in where:
                    result = self.mul(result, single(kept))
                return result
        return None

    def _masked_term(self, bound: Sequence[Var], factors: Iterable[Factor], coefficient: Number) -> NormalForm:
        """Rule B2: a positive number times minus infinity; any other product with it has no normal form."""
        atoms = list(factors)
        bottom = next(a for a, _ in atoms if isinstance(a, Bottom))
        if any(e != 1 for a, e in atoms if isinstance(a, Bottom)) or sum(isinstance(a, Bottom) for a, _ in atoms) > 1:
            raise NoNormalForm("a power of a masked value (minus infinity)")
        if coefficient < 0 or not all(isinstance(a, Bottom | Size | Prime) for a, _ in atoms):
            raise NoNormalForm("a masked value (minus infinity) is multiplied by what is no positive number")
        if any(v.name in bottom.free for v in bound):
            raise NoNormalForm("a masked value (minus infinity) is summed")
        return single(bottom)

    # ------------------------------------------------------------ equality
    def equal_by_cases(self, a: NormalForm, b: NormalForm) -> bool:
        """Whether two forms are equal on each interval of an index to which some of their terms are limited (rule C5).

        True is a proof, because the intervals cover the dim; False proves nothing.
        """
        cases = split_cases((a, b), frozenset())
        return cases is not None and not any(
            self.mul(self.sub(self.collect(of_a), self.collect(of_b)), single(where)).terms
            for where, (of_a, of_b) in cases
        )

    def equal_when_cleared(self, a: NormalForm, b: NormalForm, rounds: int = 4) -> bool:
        """Whether a - b becomes 0 after provably positive denominators are cleared.

        True is a proof, because multiplication by a positive number preserves zeros; False proves nothing.
        """
        difference = self.sub(a, b)
        for _ in range(rounds):
            if not difference.terms:
                return True
            found = next(
                (
                    (at, e)
                    for t, _ in difference.terms
                    for at, e in t.factors
                    if isinstance(at, Group)
                    and e < 0
                    and at.sign == 2
                    and at.free.isdisjoint({v.name for v in t.bound})
                ),
                None,
            )
            if found is None:
                return False
            group, e = found
            by = ((group, -floor(e)),)
            total: list[tuple[Term, Number]] = []
            for t, c in difference.terms:
                bound, factors = self.open_term(t)
                total += self.term(bound, (*factors, *by), c).terms
            difference = self.collect(total)
        return not difference.terms


def _values(v: Var) -> Iterator[Index]:
    """All values of an index variable with a constant extent."""
    assert v.extent.constant is not None, "selected by the caller"
    return (index.moved(index.ZERO, dim(n), v.extent) for n in range(v.extent.constant))
