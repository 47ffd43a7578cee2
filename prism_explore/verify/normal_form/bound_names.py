"""Names of bound indices: fresh names when a sum or a maximum is opened, canonical names when it is closed.

A binder is opened with fresh names, because a substituted term may contain the canonical ones. Canonical names are
b<height>.<number>, where the height is the nesting depth of binders, so renaming alone never captures a variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod
from typing import TypeAlias, TypeVar, assert_never

from prism_explore.ir.dims import ONE, Dim
from prism_explore.verify.normal_form import index
from prism_explore.verify.normal_form.forms import (
    Atom,
    Bottom,
    Exp,
    Factor,
    Group,
    InBand,
    Interval,
    Max,
    MaxOperand,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Read,
    Running,
    Size,
    Term,
    number,
)
from prism_explore.verify.normal_form.index import Digit, Index, Radix, Var, extent
from prism_explore.verify.normal_form.indicators import band, interval

OpenOperand: TypeAlias = tuple[tuple[Var, ...], NormalForm]
"""The bound indices of an operand of a maximum, under fresh names, and its form."""
_Closed = TypeVar("_Closed", Term, MaxOperand)

DEEP = "the graph is too deep"
CHARACTERS_PER_STEP = 250
"""Each so many characters of a form's key count as one step."""
_MAX_BITS = 2_048
"""The largest size of a number."""


class NoNormalForm(Exception):
    """There is no normal form, for the reason `limit`; caught inside this package."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class OverBudget(NoNormalForm):
    """There is no normal form within the budget."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of the work for one candidate."""

    steps: int = 10_000
    """Factors and renamings while terms are built; long terms count more."""
    terms: int = 256
    """Terms in one normal form."""
    depth: int = 64
    """Nesting of functions, powers, maxima and digits, which bounds the recursion over a form."""
    orders: int = 720
    """Orders of indistinguishable bound indices that are tried."""
    cache_entries: int = 20_000
    """Cached results at which the caches are cleared."""


class Collapsed(Exception):
    """A replacement of indices changes the structure of a form; caught by the caller."""


def check_number(c: Number) -> Number:
    """A number, unless it is too large.

    Raises:
        OverBudget: it has more than 2048 bits, as after repeated squaring.
    """
    if c.numerator.bit_length() + c.denominator.bit_length() > _MAX_BITS:
        raise OverBudget(f"a number of more than {_MAX_BITS} bits")
    return number(c)


class Naming:
    """Opens and closes binders within a budget."""

    def __init__(self, budget: Budget | None = None, integers: Sequence[Dim] = ()) -> None:
        """`integers`: sizes that are positive integers by the conditions of a proof; see rules I6 and S6."""
        self.budget = budget or Budget()
        self.integers = tuple(integers)
        self.steps = 0
        self._fresh = 0
        self._rename_cache: dict[tuple[str, str], tuple[Atom, int]] = {}

    def spend(self, steps: int) -> None:
        """Count work.

        Raises:
            OverBudget: the budget ended.
        """
        self.steps += steps
        if self.steps > self.budget.steps:
            raise OverBudget(f"the normal form took more than {self.budget.steps} steps")

    def check_depth(self, n: NormalForm) -> NormalForm:
        """A tensor's form, unless it nests too deep.

        Raises:
            NoNormalForm: it nests too deep.
        """
        if n.depth > self.budget.depth:
            raise OverBudget(f"{DEEP}: more than {self.budget.depth} functions, powers and maxima inside of each other")
        return n

    def fresh_index(self, of: Var) -> Var:
        """An index of the same extent with an unused name."""
        return Var(self.fresh_name(), of.extent)

    def fresh_name(self) -> str:
        """An unused name; all have the same length, because work is counted by the length of keys."""
        self._fresh += 1
        return f"~{self._fresh:04}"

    def substitute_index(self, i: Index, by: Mapping[str, Index]) -> Index:
        """An index with its variables replaced."""
        return index.substitute(i, by, self.integers)

    def ordered(self, terms: Iterable[tuple[Term, Number]]) -> NormalForm:
        """A sum of different terms, in order."""
        kept = tuple(sorted([p for p in terms if p[1]], key=sort_key))
        if len(kept) > self.budget.terms:
            raise OverBudget(f"a normal form of more than {self.budget.terms} terms")
        result = NormalForm(kept)
        self.spend(len(result.key) // CHARACTERS_PER_STEP)
        return result

    # ------------------------------------------------------------ opening
    def open_term(self, t: Term) -> tuple[tuple[Var, ...], tuple[Factor, ...]]:
        """A term's bound indices and factors under fresh names."""
        if not t.bound:
            return (), t.factors
        bound = tuple(self.fresh_index(v) for v in t.bound)
        by: dict[str, Index] = {v.name: w for v, w in zip(t.bound, bound, strict=True)}
        return bound, tuple([(self.rename(a, by), e) for a, e in t.factors])

    def open_operand(self, p: MaxOperand) -> OpenOperand:
        """An operand's bound indices and its form under fresh names."""
        if not p.bound:
            return (), p.inner
        bound = tuple(self.fresh_index(v) for v in p.bound)
        return bound, self.rename_form(p.inner, {v.name: w for v, w in zip(p.bound, bound, strict=True)})

    def rename(self, a: Atom, by: Mapping[str, Index]) -> Atom:
        """An atom with variables replaced one to one; the structure stays, only orders change.

        Raises:
            Collapsed: an indicator becomes 0 or 1 everywhere.
        """
        used = [v for v in by if v in a.free]
        if not used:
            return a
        memo = (a.key, f"{used[0]}>{by[used[0]].key}" if len(used) == 1 else _renaming_key(used, by))
        known = self._rename_cache.get(memo)
        if known is not None:
            self.spend(known[1])
            return known[0]
        start = self.steps
        self.spend(1 + len(a.key) // CHARACTERS_PER_STEP)
        match a:
            case Read(tensor, indices):
                result: Atom = Read(tensor, tuple(self.substitute_index(i, by) for i in indices))
            case Exp(term):
                result = Exp(self._rename_term(term, by))
            case Group(inner):
                result = Group(self.rename_form(inner, by))
            case Opaque(function, args):
                result = Opaque(function, tuple(self.rename_form(n, by) for n in args))
            case InBand(low, high, row, column):
                result = _rename_band(low, high, self.substitute_index(row, by), self.substitute_index(column, by))
            case Interval(i, low, high):
                value = interval(self.substitute_index(i, by), low, high)
                if not isinstance(value, Interval):
                    raise Collapsed
                result = value
            case Bottom(keep):
                result = Bottom(self.rename_form(keep, by))
            case Max(operands):
                result = Max(tuple(sorted([self._rename_operand(p, by) for p in operands])))
            case Running(v, inner, at):
                result = Running(v, self.rename_form(inner, by), self.substitute_index(at, by))
            case Size() | Prime():
                raise AssertionError("sizes and primes have no index")
            case _:
                assert_never(a)
        self._rename_cache[memo] = result, self.steps - start
        return result

    def _rename_term(self, t: Term, by: Mapping[str, Index]) -> Term:
        if t.free.isdisjoint(by):
            return t
        factors = [(self.rename(a, by), e) for a, e in t.factors]
        if t.order_is_stable:
            return Term(t.bound, tuple(sorted(factors, key=sort_key)))
        return self.close(t.bound, factors)

    def _rename_operand(self, p: MaxOperand, by: Mapping[str, Index]) -> MaxOperand:
        inner = self.rename_form(p.inner, by)
        return MaxOperand(p.bound, inner) if p.order_is_stable else self.close_operand(p.bound, inner)

    def rename_form(self, n: NormalForm, by: Mapping[str, Index]) -> NormalForm:
        """Variables renamed, one to one."""
        if n.free.isdisjoint(by):
            return n
        return self.ordered((self._rename_term(t, by), c) for t, c in n.terms)

    # ------------------------------------------------------------ closing
    def close(self, bound: Sequence[Var], factors: Sequence[Factor]) -> Term:
        """The term with canonical bound names: the smallest key over all orders that the structure permits."""
        if not bound:
            return Term((), tuple(sorted(factors, key=sort_key)))
        height = 1 + max([a.height for a, _ in factors], default=0)
        if len(bound) == 1:
            only = Var(f"b{height}.0", bound[0].extent)
            to: dict[str, Index] = {bound[0].name: only}
            return Term((only,), tuple(sorted([(self.rename(a, to), e) for a, e in factors], key=sort_key)))

        places = [(a.key, str(e)) for a, e in factors]

        def shape(v: Var, by: Mapping[str, Index]) -> str:
            return "*".join(sorted([f"{self.rename(a, by).key}^{e}" for a, e in factors if v.name in a.free]))

        def renamed(new: tuple[Var, ...], by: Mapping[str, Index], order_is_stable: bool) -> Term:
            return Term(
                new, tuple(sorted([(self.rename(a, by), e) for a, e in factors], key=sort_key)), order_is_stable
            )

        return self._smallest_order(bound, height, len(factors), places, shape, renamed)

    def close_operand(self, bound: Sequence[Var], inner: NormalForm) -> MaxOperand:
        """An operand of a maximum with canonical bound names."""
        if not bound:
            return MaxOperand((), inner)

        def shape(_: Var, by: Mapping[str, Index]) -> str:
            return self.rename_form(inner, by).key

        def renamed(new: tuple[Var, ...], by: Mapping[str, Index], order_is_stable: bool) -> MaxOperand:
            return MaxOperand(new, self.rename_form(inner, by), order_is_stable)

        return self._smallest_order(bound, 1 + inner.height, len(inner.terms), [(inner.key, "")], shape, renamed)

    def _smallest_order(
        self,
        bound: Sequence[Var],
        height: int,
        work: int,
        places: Sequence[tuple[str, str]],
        shape: Callable[[Var, Mapping[str, Index]], str],
        renamed: Callable[[tuple[Var, ...], Mapping[str, Index], bool], _Closed],
    ) -> _Closed:
        distinguished = [list(bound)] if len(bound) == 1 else _distinguished_by_reads(bound, places)
        groups = _refined_groups(bound, shape) if distinguished is None else distinguished
        orders = prod(factorial(len(g)) for g in groups)
        if orders > self.budget.orders:
            raise OverBudget("too many bound indices that look alike")
        best: _Closed | None = None
        for choice in product(*(permutations(g) for g in groups)):
            order = [v for g in choice for v in g]
            new = tuple(Var(f"b{height}.{n}", v.extent) for n, v in enumerate(order))
            if orders > 1:
                self.spend(work)
            found = renamed(new, {v.name: w for v, w in zip(order, new, strict=True)}, distinguished is not None)
            if best is None or found.key < best.key:
                best = found
        assert best is not None, "there is always one order"
        return best


_READ = re.compile(r"'[^']*'\[[^\]]*\]")
_NAME = re.compile(r"(?<![\w.~])[A-Za-z~][\w.]*:")


def _distinguished_by_reads(bound: Sequence[Var], places: Sequence[tuple[str, str]]) -> list[list[Var]] | None:
    """Bound indices ordered by their positions in tensors, independent of names; None where two have the same.

    Args:
        bound: the indices.
        places: the key of each factor, and its exponent.
    """
    seen: dict[str, Var] = {}
    for v in bound:
        mark, found = f"{v.name}:", list[str]()
        for key, suffix in places:
            if mark in key:
                found += [
                    without_names(place.replace(mark, "?")) + suffix for place in _READ.findall(key) if mark in place
                ]
        seen[f"{'*'.join(sorted(found))} {v.extent}"] = v
    return [[seen[text]] for text in sorted(seen)] if len(seen) == len(bound) else None


def _refined_groups(bound: Sequence[Var], shape: Callable[[Var, Mapping[str, Index]], str]) -> list[list[Var]]:
    """Bound indices in groups with different occurrences, in an order independent of names."""
    colour = {v.name: f"?{v.extent}" for v in bound}
    for _ in range(3):
        seen: dict[str, str] = {}
        for v in bound:
            by: dict[str, Index] = {w.name: Var(f"?{colour[w.name]}", w.extent) for w in bound if w != v}
            by[v.name] = Var("?", v.extent)
            try:
                seen[v.name] = shape(v, by)
            except Collapsed:
                seen[v.name] = str(v.extent)
        ranks = {text: f"{n:03}" for n, text in enumerate(sorted(set(seen.values())))}
        is_final = len(ranks) in (len(bound), len(set(colour.values())))
        colour = {name: ranks[text] for name, text in seen.items()}
        if is_final:
            break
    groups: dict[str, list[Var]] = {}
    for v in bound:
        groups.setdefault(colour[v.name], []).append(v)
    return [groups[c] for c in sorted(groups)]


def _rename_band(low: Dim | None, high: Dim | None, row: Index, column: Index) -> InBand:
    if row == column:  # only in `_refined_groups`, where two indices may have the same name
        return InBand(low, high, row, column)
    value = band(low, high, row, column)
    if not isinstance(value, InBand):
        raise Collapsed
    return value


def is_bijective(by: Mapping[str, Index], free: frozenset[str]) -> bool:
    """Whether a replacement of indices is one to one.

    Each new index occurs in one replacement only, as a part of a number, or in several that are together all its
    digits, each once; and it is not free outside of them.
    """
    seen: set[str] = set()
    digits: dict[str, list[Digit]] = {}
    for i in by.values():
        for part in i.parts if isinstance(i, Radix) else (i,):
            match part:
                case Var(name, _) if name not in seen and name not in digits:
                    seen.add(name)
                case Digit(Var(name, _), _, _, _) if name not in seen:
                    digits.setdefault(name, []).append(part)
                case _:
                    return False
    if not (free - by.keys()).isdisjoint((*seen, *digits)):
        return False
    for parts in digits.values():
        after = {d.before: d.before * d.size for d in parts}
        border = ONE
        for _ in parts:
            if border not in after:
                return False
            border = after[border]
        if len(after) != len(parts) or border != extent(parts[0].base):
            return False
    return True


def without_names(key: str) -> str:
    """A key without the names in it."""
    return _NAME.sub("_:", key)


def _renaming_key(used: list[str], by: Mapping[str, Index]) -> str:
    return ";".join(sorted([f"{v}>{by[v].key}" for v in used]))


def sort_key(pair: tuple[Atom, Number] | tuple[Term, Number]) -> str:
    """The order of factors and of terms."""
    return pair[0].key
