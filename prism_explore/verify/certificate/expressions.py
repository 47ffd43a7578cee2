"""Scalar expressions: what the prover in egglog sees of a tensor.

An expression is the element of a tensor at a position, built from elements of the inputs, intervals and
bands by field operations, roots, exponentials, named functions, sums and maxima. `of_normal_form` spells a
normal form this way, `definitions` one operator applied to such expressions; a lemma of a proof says that
the two are equal.

Here every bound axis has a name of its own, so substitution cannot capture. `statement` gives the names
that egglog sees, where equal names are what makes equal things equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import count
from typing import Literal, TypeAlias, assert_never

from prism_explore.ir.dims import Dim
from prism_explore.verify.normal_form import forms as nf
from prism_explore.verify.normal_form.index import (
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    normalize_digits,
    substitute,
    var,
)
from prism_explore.verify.normal_form.indicators import band, interval


@dataclass(frozen=True, slots=True)
class At:
    """An element of an input."""

    tensor: str
    index: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Num:
    """A rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Size:
    """A size symbol as a number."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Add:
    """`a + b`."""

    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Mul:
    """`a * b`."""

    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Inv:
    """`1 / a`, and 0 where a is 0."""

    a: Expr


@dataclass(frozen=True, slots=True)
class Sqrt:
    """The root of a; nothing is said of it where a is negative."""

    a: Expr


@dataclass(frozen=True, slots=True)
class Exp:
    """`exp(a)`."""

    a: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A named function of one number, such as silu."""

    fn: str
    a: Expr


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of `a` over all values of an axis."""

    axis: Var
    a: Expr


@dataclass(frozen=True, slots=True)
class Within:
    """1 where `low <= index < high`, else 0."""

    index: Index
    low: Dim
    high: Dim


@dataclass(frozen=True, slots=True)
class Near:
    """1 where `low <= column - row <= high`, else 0; None is no bound."""

    row: Index
    column: Index
    low: Dim | None
    high: Dim | None


@dataclass(frozen=True, slots=True)
class Bottom:
    """0 where `a` is 1; where it is 0, a number below all others that matter."""

    a: Expr


@dataclass(frozen=True, slots=True)
class Greater:
    """The greater of `a` and `b`."""

    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Most:
    """The greatest value of `a` for all values of an axis."""

    axis: Var
    a: Expr


@dataclass(frozen=True, slots=True)
class Upto:
    """The greatest value of `a` for values of an axis up to and including `at`: a running maximum."""

    axis: Var
    at: Index
    a: Expr


@dataclass(frozen=True, slots=True)
class Rescaled:
    """What a loop over the axis leaves that begins with 0 and says `t = t exp(b before - b now) + a`."""

    axis: Var
    a: Expr
    b: Expr


Leaf: TypeAlias = At | Within | Near
Binder: TypeAlias = Sum | Most | Upto | Rescaled
Expr: TypeAlias = Leaf | Num | Size | Add | Mul | Inv | Sqrt | Exp | Call | Bottom | Greater | Binder


class Fresh:
    """A supply of names for bound axes, and what is known of sizes; one for both sides of a lemma."""

    def __init__(self, integers: Sequence[Dim] = ()) -> None:
        """`integers`: sizes that are whole numbers, as the conditions of a proof say."""
        self.integers = tuple(integers)
        self._numbers = count()

    def axis(self, extent: Dim) -> Index:
        """A new axis, or 0 where there is nothing to run over."""
        return var(f"s{next(self._numbers)}", extent)


MINUS_ONE = Num(Fraction(-1))
ZERO, UNIT = Num(Fraction(0)), Num(Fraction(1))


def product(factors: Iterable[Expr]) -> Expr:
    """The product, nested to the left; of nothing, 1."""
    items = tuple(factors)
    return reduce(Mul, items) if items else UNIT


def total(axis: Index, body: Expr) -> Expr:
    """The sum over an axis; over an axis of one value, the body itself."""
    return Sum(axis, body) if isinstance(axis, Var) else body


def greatest(axis: Index, body: Expr) -> Expr:
    """The maximum over an axis; over an axis of one value, the body itself."""
    return Most(axis, body) if isinstance(axis, Var) else body


def of_dim(size: Dim) -> Expr:
    """A size as a number."""
    terms: list[Expr] = []
    for monomial, coefficient in size.terms:
        factors: list[Expr] = [] if coefficient == 1 and monomial else [Num(coefficient)]
        for symbol, exponent in monomial:
            factors += [Size(symbol) if exponent > 0 else Inv(Size(symbol))] * abs(exponent)
        terms.append(product(factors))
    return reduce(Add, terms) if terms else ZERO


def head(e: Expr) -> tuple[str, str]:
    """The word for the outermost operator, and what stands beside it: a number, a name, an axis."""
    match e:
        case At() | Within() | Near():
            return type(e).__name__.lower(), spell_leaf(e)
        case Num(value):
            return "num", str(value)
        case Size(symbol):
            return "size", symbol
        case Call(fn, _):
            return "call", fn
        case Sum(axis, _) | Most(axis, _) | Rescaled(axis, _, _):
            return type(e).__name__.lower(), axis.name
        case Upto(axis, at, _):
            return "upto", f"{axis.name} {spell_index(at)}"
        case Add() | Mul() | Inv() | Sqrt() | Exp() | Bottom() | Greater():
            return type(e).__name__.lower(), ""
        case _:
            assert_never(e)


def spell_leaf(e: Leaf) -> str:
    """An element of an input, or a 0/1 value, as words: which, and where."""
    match e:
        case At(tensor, index):
            return " ".join((tensor, *map(spell_index, index)))
        case Within(index, low, high):
            return f'{spell_index(index)} "{low}" "{high}"'
        case Near(row, column, low, high):
            bounds = ('"-"' if d is None else f'"{d}"' for d in (low, high))
            return f"{spell_index(row)} {spell_index(column)} {' '.join(bounds)}"
        case _:
            assert_never(e)


def spell_index(i: Index) -> str:
    """An index term as text."""
    match i:
        case Zero():
            return "0"
        case Var(name, _):
            return name
        case Radix(parts):
            return f"(radix {' '.join(map(spell_index, parts))})"
        case Digit(base, before, size, after):
            return f'(digit {spell_index(base)} "{before}" "{size}" "{after}")'
        case Moved(base, by, size):
            return f'(moved {spell_index(base)} "{by}" "{size}")'
        case _:
            assert_never(i)


def with_children(e: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The same node over `f` of its children."""
    match e:
        case At() | Within() | Near() | Num() | Size():
            return e
        case Add(a, b) | Mul(a, b) | Greater(a, b):
            return type(e)(f(a), f(b))
        case Inv(a) | Sqrt(a) | Exp(a) | Bottom(a):
            return type(e)(f(a))
        case Call(fn, a):
            return Call(fn, f(a))
        case Sum(axis, a) | Most(axis, a):
            return type(e)(axis, f(a))
        case Upto(axis, at, a):
            return Upto(axis, at, f(a))
        case Rescaled(axis, a, b):
            return Rescaled(axis, f(a), f(b))
        case _:
            assert_never(e)


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside."""
    match e:
        case At() | Within() | Near() | Num() | Size():
            return ()
        case Add(a, b) | Mul(a, b) | Greater(a, b) | Rescaled(_, a, b):
            return (a, b)
        case Inv(a) | Sqrt(a) | Exp(a) | Bottom(a) | Call(_, a) | Sum(_, a) | Most(_, a) | Upto(_, _, a):
            return (a,)
        case _:
            assert_never(e)


def places(e: Expr) -> tuple[Index, ...]:
    """The indices that stand in a node itself, outside of what it binds."""
    match e:
        case At(_, index):
            return index
        case Within(index, _, _):
            return (index,)
        case Near(row, column, _, _):
            return (row, column)
        case Upto(_, at, _):
            return (at,)
        case _:
            return ()


def with_places(e: Expr, f: Callable[[Index], Index]) -> Expr:
    """The same node with `f` of the indices that stand in it."""
    match e:
        case At(tensor, index):
            return At(tensor, tuple(map(f, index)))
        case Within(index, low, high):
            return Within(f(index), low, high)
        case Near(row, column, low, high):
            return Near(f(row), f(column), low, high)
        case Upto(axis, at, a):
            return Upto(axis, f(at), a)
        case _:
            return e


def bound(e: Expr) -> Var | None:
    """The axis that a node binds."""
    return e.axis if isinstance(e, Binder) else None


def over(e: Binder, axis: Var) -> Expr:
    """The same node over another axis."""
    match e:
        case Sum(_, a):
            return Sum(axis, a)
        case Most(_, a):
            return Most(axis, a)
        case Upto(_, at, a):
            return Upto(axis, at, a)
        case Rescaled(_, a, b):
            return Rescaled(axis, a, b)
        case _:
            assert_never(e)


def walk(e: Expr) -> Iterable[Expr]:
    """Every expression inside, outermost first."""
    pending = [e]
    while pending:
        e = pending.pop()
        yield e
        pending += reversed(children(e))


def put(e: Expr, by: Mapping[str, Index], known: Sequence[Dim] = ()) -> Expr:
    """Free index variables replaced; bound names are never among them, nor in what replaces them.

    `known` are sizes that are whole numbers, which lets digits be read off. Intervals and
    bands that become 0 or 1 everywhere are these numbers.
    """
    match e:
        case Within(index, low, high):
            return known_value(interval(substitute(index, by, known), low, high))
        case Near(row, column, low, high):
            return known_value(band(low, high, substitute(row, by, known), substitute(column, by, known)))
        case _:
            moved_in = with_places(e, lambda i: substitute(i, by, known))
            return with_children(moved_in, lambda child: put(child, by, known))


def known_value(value: nf.Interval | nf.InBand | Literal[0, 1]) -> Expr:
    """A 0/1 value as an expression."""
    match value:
        case nf.Interval(index, low, high):
            return Within(index, low, high)
        case nf.InBand(low, high, row, column):
            return Near(row, column, low, high)
        case number:
            return Num(Fraction(number))


# ---------------------------------------------------------------- normal forms
def of_normal_form(form: nf.NormalForm, fresh: Fresh) -> Expr:
    """A normal form spelled out; its bound indices get names from `fresh`."""
    terms = [_of_term(t, Fraction(c), fresh, {}) for t, c in form.terms]
    return reduce(Add, terms) if terms else ZERO


def _of_term(t: nf.Term, coefficient: Fraction, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
    renamed = {**names, **{v.name: fresh.axis(v.extent) for v in t.bound}}
    body = product(_power(a, Fraction(e), fresh, renamed) for a, e in t.factors)
    for v in reversed(t.bound):
        body = total(renamed[v.name], body)
    return body if coefficient == 1 else Num(coefficient) if body == UNIT else Mul(Num(coefficient), body)


def _power(a: nf.Atom, exponent: Fraction, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
    if isinstance(a, nf.Exp):
        return Exp(_of_term(a.term, exponent, fresh, names))
    return power(_of_atom(a, fresh, names), exponent)


def _of_atom(a: nf.Atom, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
    match a:
        case nf.Read(tensor, indices):
            return At(tensor, tuple(_settled(i, names, fresh) for i in indices))
        case nf.Size(symbol):
            return Size(symbol)
        case nf.Prime(value):
            return Num(Fraction(value))
        case nf.Exp(term):
            return Exp(_of_term(term, Fraction(1), fresh, names))
        case nf.Group(inner):
            return _inner(inner, fresh, names)
        case nf.Opaque(function, args):
            (argument,) = args
            of = _inner(argument, fresh, names)
            return Sqrt(of) if function == "sqrt" else Call(function, of)
        case nf.InBand(low, high, row, column):
            return Near(_settled(row, names, fresh), _settled(column, names, fresh), low, high)
        case nf.Interval(i, low, high):
            return Within(_settled(i, names, fresh), low, high)
        case nf.Bottom(keep):
            return Bottom(_inner(keep, fresh, names))
        case nf.Max(operands):
            return reduce(Greater, [_of_operand(p, fresh, names) for p in operands])
        case nf.Running(v, inner, at):
            axis = fresh.axis(v.extent)
            if not isinstance(axis, Var):
                return _inner(inner, fresh, {**names, v.name: axis})
            return Upto(axis, _settled(at, names, fresh), _inner(inner, fresh, {**names, v.name: axis}))
        case _:
            assert_never(a)


def _of_operand(p: nf.MaxOperand, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
    renamed = {**names, **{v.name: fresh.axis(v.extent) for v in p.bound}}
    body = _inner(p.inner, fresh, renamed)
    for v in reversed(p.bound):
        body = greatest(renamed[v.name], body)
    return body


def _inner(form: nf.NormalForm, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
    terms = [_of_term(t, Fraction(c), fresh, names) for t, c in form.terms]
    return reduce(Add, terms) if terms else ZERO


def power(a: Expr, exponent: Fraction) -> Expr:
    """`a` to a power; `a^0` is `a * (1/a)`, which is 1 where a is not 0.

    Raises:
        ValueError: no number of square roots gives this exponent.
    """
    if exponent < 0:
        return Inv(power(a, -exponent))
    if exponent == 0:
        return Mul(a, Inv(a))
    if exponent.denominator & (exponent.denominator - 1):
        raise ValueError(f"exponent {exponent} is not made of square roots")
    whole, part = divmod(exponent, 1)
    factors = [a] * int(whole)
    while part:
        a = Sqrt(a)
        whole, part = divmod(part * 2, 1)
        factors += [a] * int(whole)
    return product(factors)


def _settled(i: Index, names: Mapping[str, Index], fresh: Fresh) -> Index:
    """An index under its new names, as far as what is known of sizes tells: so an operator spells it as well."""
    new = substitute(i, names, fresh.integers)
    return normalize_digits(new, fresh.integers) if fresh.integers else new
