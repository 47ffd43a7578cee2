"""Scalar expressions: the terms of which lemmas consist.

An expression is a tree over elements of inputs, numbers, size symbols, indicators, field operations, roots,
exponentials, named functions, sums and maxima. `from_normal_form` converts a normal form; `definitions` applies one
operator to such expressions. A lemma states that the two are equal.

Every bound axis has a name of its own, so a substitution captures no name. `lemma.make_statement` chooses the names
that egglog and the checker see.

The lower-case name of a class is the operator's word in the text of a certificate, so these names are a file format.
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
    Looked,
    Moved,
    Radix,
    Var,
    Zero,
    has_lookup,
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
    """The square root of a; where a is negative, any number with √(a b) = √a √b for a > 0."""

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
    """0 where `a` is 1; minus infinity, as a limit, where `a` is 0."""

    a: Expr


@dataclass(frozen=True, slots=True)
class Greater:
    """The greater of `a` and `b`."""

    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Most:
    """The maximum of `a` over all values of an axis."""

    axis: Var
    a: Expr


@dataclass(frozen=True, slots=True)
class Upto:
    """A running maximum: the maximum of `a` over the values of an axis up to and including `at`."""

    axis: Var
    at: Index
    a: Expr


@dataclass(frozen=True, slots=True)
class Rescaled:
    """The final t of a loop over an axis: t = 0, then `t = t exp(previous b - b) + a` in each iteration."""

    axis: Var
    a: Expr
    b: Expr


Leaf: TypeAlias = At | Within | Near
Binder: TypeAlias = Sum | Most | Upto | Rescaled
Expr: TypeAlias = Leaf | Num | Size | Add | Mul | Inv | Sqrt | Exp | Call | Bottom | Greater | Binder


class FreshAxes:
    """Makes bound axes with unused names; both sides of a lemma share one."""

    def __init__(self, integers: Sequence[Dim] = ()) -> None:
        """`integers`: sizes that are positive integers by the conditions of a proof."""
        self.integers = tuple(integers)
        self._numbers = count()

    def new_axis(self, extent: Dim) -> Index:
        """A new axis; 0 where the extent is 1."""
        return var(f"s{next(self._numbers)}", extent)


MINUS_ONE = Num(Fraction(-1))
ZERO, UNIT = Num(Fraction(0)), Num(Fraction(1))


def product(factors: Iterable[Expr]) -> Expr:
    """The product, nested to the left; 1 where there are no factors."""
    items = tuple(factors)
    return reduce(Mul, items) if items else UNIT


def sum_over(axis: Index, body: Expr) -> Expr:
    """The sum over an axis; over an axis of one value, the body itself."""
    return Sum(axis, body) if isinstance(axis, Var) else body


def max_over(axis: Index, body: Expr) -> Expr:
    """The maximum over an axis; over an axis of one value, the body itself."""
    return Most(axis, body) if isinstance(axis, Var) else body


def from_dim(size: Dim) -> Expr:
    """A size as a number."""
    terms: list[Expr] = []
    for monomial, coefficient in size.terms:
        factors: list[Expr] = [] if coefficient == 1 and monomial else [Num(coefficient)]
        for symbol, exponent in monomial:
            factors += [Size(symbol) if exponent > 0 else Inv(Size(symbol))] * abs(exponent)
        terms.append(product(factors))
    return reduce(Add, terms) if terms else ZERO


def operator_and_label(e: Expr) -> tuple[str, str]:
    """The word of the outermost operator, and its label: a number, a name, an axis or indices."""
    match e:
        case At() | Within() | Near():
            return type(e).__name__.lower(), leaf_text(e)
        case Num(value):
            return "num", str(value)
        case Size(symbol):
            return "size", symbol
        case Call(fn, _):
            return "call", fn
        case Sum(axis, _) | Most(axis, _) | Rescaled(axis, _, _):
            return type(e).__name__.lower(), axis.name
        case Upto(axis, at, _):
            return "upto", f"{axis.name} {index_text(at)}"
        case Add() | Mul() | Inv() | Sqrt() | Exp() | Bottom() | Greater():
            return type(e).__name__.lower(), ""
        case _:
            assert_never(e)


def leaf_text(e: Leaf) -> str:
    """The label of an element or an indicator: its tensor or bounds, and its indices."""
    match e:
        case At(tensor, index):
            return " ".join((tensor, *map(index_text, index)))
        case Within(index, low, high):
            return f'{index_text(index)} "{low}" "{high}"'
        case Near(row, column, low, high):
            bounds = ('"-"' if d is None else f'"{d}"' for d in (low, high))
            return f"{index_text(row)} {index_text(column)} {' '.join(bounds)}"
        case _:
            assert_never(e)


def index_text(i: Index) -> str:
    """An index as text."""
    match i:
        case Zero():
            return "0"
        case Var(name, _):
            return name
        case Radix(parts):
            return f"(radix {' '.join(map(index_text, parts))})"
        case Digit(base, before, size, after):
            return f'(digit {index_text(base)} "{before}" "{size}" "{after}")'
        case Moved(base, by, size):
            return f'(moved {index_text(base)} "{by}" "{size}")'
        case Looked():
            raise AssertionError("`_rename_index` refuses lookups")
        case _:
            assert_never(i)


def with_children(e: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The same node with `f` applied to its arguments."""
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
    """The arguments of a node."""
    match e:
        case At() | Within() | Near() | Num() | Size():
            return ()
        case Add(a, b) | Mul(a, b) | Greater(a, b) | Rescaled(_, a, b):
            return (a, b)
        case Inv(a) | Sqrt(a) | Exp(a) | Bottom(a) | Call(_, a) | Sum(_, a) | Most(_, a) | Upto(_, _, a):
            return (a,)
        case _:
            assert_never(e)


def indices_of(e: Expr) -> tuple[Index, ...]:
    """The indices of a node itself, outside of its arguments."""
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


def with_indices(e: Expr, f: Callable[[Index], Index]) -> Expr:
    """The same node with `f` applied to its own indices."""
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


def bound_axis(e: Expr) -> Var | None:
    """The axis that a node binds."""
    return e.axis if isinstance(e, Binder) else None


def with_axis(e: Binder, axis: Var) -> Expr:
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
    """The expression and all its subexpressions, outermost first."""
    pending = [e]
    while pending:
        e = pending.pop()
        yield e
        pending += reversed(children(e))


def substitute_indices(e: Expr, by: Mapping[str, Index], known: Sequence[Dim] = ()) -> Expr:
    """An expression with free index variables replaced; intervals and bands that become constant are 0 or 1.

    Args:
        e: the expression; it binds none of the variables in `by`.
        by: the new index of each variable.
        known: sizes that are integers, with which more digits can be simplified.
    """
    match e:
        case Within(index, low, high):
            return indicator(interval(substitute(index, by, known), low, high))
        case Near(row, column, low, high):
            return indicator(band(low, high, substitute(row, by, known), substitute(column, by, known)))
        case _:
            replaced = with_indices(e, lambda i: substitute(i, by, known))
            return with_children(replaced, lambda child: substitute_indices(child, by, known))


def indicator(value: nf.Interval | nf.InBand | Literal[0, 1]) -> Expr:
    """An indicator, or the number 0 or 1, as an expression."""
    match value:
        case nf.Interval(index, low, high):
            return Within(index, low, high)
        case nf.InBand(low, high, row, column):
            return Near(row, column, low, high)
        case number:
            return Num(Fraction(number))


# ---------------------------------------------------------------- normal forms
def from_normal_form(form: nf.NormalForm, fresh: FreshAxes) -> Expr:
    """A normal form as an expression; its bound indices get names from `fresh`."""
    terms = [_from_term(t, Fraction(c), fresh, {}) for t, c in form.terms]
    return reduce(Add, terms) if terms else ZERO


def _from_term(t: nf.Term, coefficient: Fraction, fresh: FreshAxes, names: Mapping[str, Index]) -> Expr:
    renamed = {**names, **{v.name: fresh.new_axis(v.extent) for v in t.bound}}
    body = product(_from_power(a, Fraction(e), fresh, renamed) for a, e in t.factors)
    for v in reversed(t.bound):
        body = sum_over(renamed[v.name], body)
    return body if coefficient == 1 else Num(coefficient) if body == UNIT else Mul(Num(coefficient), body)


def _from_power(a: nf.Atom, exponent: Fraction, fresh: FreshAxes, names: Mapping[str, Index]) -> Expr:
    if isinstance(a, nf.Exp):
        return Exp(_from_term(a.term, exponent, fresh, names))
    return power(_from_atom(a, fresh, names), exponent)


def _from_atom(a: nf.Atom, fresh: FreshAxes, names: Mapping[str, Index]) -> Expr:
    match a:
        case nf.Read(tensor, indices):
            return At(tensor, tuple(_rename_index(i, names, fresh) for i in indices))
        case nf.Size(symbol):
            return Size(symbol)
        case nf.Prime(value):
            return Num(Fraction(value))
        case nf.Exp(term):
            return Exp(_from_term(term, Fraction(1), fresh, names))
        case nf.Group(inner):
            return _from_form(inner, fresh, names)
        case nf.Opaque(function, args):
            (argument,) = args
            inner = _from_form(argument, fresh, names)
            return Sqrt(inner) if function == "sqrt" else Call(function, inner)
        case nf.InBand(low, high, row, column):
            return Near(_rename_index(row, names, fresh), _rename_index(column, names, fresh), low, high)
        case nf.Interval(i, low, high):
            return Within(_rename_index(i, names, fresh), low, high)
        case nf.Bottom(keep):
            return Bottom(_from_form(keep, fresh, names))
        case nf.Max(operands):
            return reduce(Greater, [_from_operand(p, fresh, names) for p in operands])
        case nf.Running(v, inner, at):
            axis = fresh.new_axis(v.extent)
            if not isinstance(axis, Var):
                return _from_form(inner, fresh, {**names, v.name: axis})
            return Upto(axis, _rename_index(at, names, fresh), _from_form(inner, fresh, {**names, v.name: axis}))
        case _:
            assert_never(a)


def _from_operand(p: nf.MaxOperand, fresh: FreshAxes, names: Mapping[str, Index]) -> Expr:
    renamed = {**names, **{v.name: fresh.new_axis(v.extent) for v in p.bound}}
    body = _from_form(p.inner, fresh, renamed)
    for v in reversed(p.bound):
        body = max_over(renamed[v.name], body)
    return body


def _from_form(form: nf.NormalForm, fresh: FreshAxes, names: Mapping[str, Index]) -> Expr:
    terms = [_from_term(t, Fraction(c), fresh, names) for t, c in form.terms]
    return reduce(Add, terms) if terms else ZERO


def power(a: Expr, exponent: Fraction) -> Expr:
    """`a` to a power, by products, inverses and square roots; `a^0` is `a * (1/a)`, which is 1 where a is not 0.

    Raises:
        ValueError: the denominator of the exponent is no power of 2.
    """
    if exponent < 0:
        return Inv(power(a, -exponent))
    if exponent == 0:
        return Mul(a, Inv(a))
    if exponent.denominator & (exponent.denominator - 1):
        raise ValueError(f"exponent {exponent} is not made of square roots")
    times, fraction = divmod(exponent, 1)
    factors = [a] * int(times)
    while fraction:
        a = Sqrt(a)
        times, fraction = divmod(fraction * 2, 1)
        factors += [a] * int(times)
    return product(factors)


def _rename_index(i: Index, names: Mapping[str, Index], fresh: FreshAxes) -> Index:
    """An index with its variables renamed, and its digits simplified with the known integers as in `definitions`."""
    if has_lookup(i):
        raise ValueError("a position of a lookup is data, no arithmetic on indices")
    new = substitute(i, names, fresh.integers)
    return normalize_digits(new, fresh.integers) if fresh.integers else new
