"""Scalar expressions: what the prover in egglog sees of a tensor.

An expression is the element of a tensor at a position, built from elements of the inputs by field
operations, roots, exponentials, named functions and sums over an axis. `of_normal_form` spells a normal
form this way, `of_operator` one operator applied to such expressions, as the operator is defined; a
lemma of a proof says that the two are equal.

Here every bound axis has a name of its own, so substitution cannot capture. `statement` gives the names
that egglog sees, where equal names are what makes equal things equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import count
from math import prod
from typing import Literal, TypeAlias, assert_never

from prism_explore.ir import ops
from prism_explore.ir.dims import ONE as ONE_DIM
from prism_explore.ir.dims import ZERO as ZERO_DIM
from prism_explore.ir.dims import Dim
from prism_explore.ir.sgraph import BlockGraph
from prism_explore.verify import normal_form as nf
from prism_explore.verify.index import (
    LOOP,
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    digit,
    grid_index,
    moved,
    position,
    radix,
    substitute,
    var,
)
from prism_explore.verify.pieces import band, interval


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
    yield e
    for child in children(e):
        yield from walk(child)


def put(e: Expr, by: Mapping[str, Index], known: Sequence[Dim] = ()) -> Expr:
    """Free index variables replaced; bound names are never among them, nor in what replaces them.

    `known` are sizes that are whole numbers, which lets digits be read off. Intervals and
    bands that become 0 or 1 everywhere are these numbers.
    """
    match e:
        case Within(index, low, high):
            return _known(interval(substitute(index, by, known), low, high))
        case Near(row, column, low, high):
            return _known(band(low, high, substitute(row, by, known), substitute(column, by, known)))
        case _:
            moved_in = with_places(e, lambda i: substitute(i, by, known))
            return with_children(moved_in, lambda child: put(child, by, known))


def _known(value: nf.Interval | nf.InBand | Literal[0, 1]) -> Expr:
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
            return At(tensor, tuple(substitute(i, names) for i in indices))
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
            return Near(substitute(row, names), substitute(column, names), low, high)
        case nf.Interval(i, low, high):
            return Within(substitute(i, names), low, high)
        case nf.Bottom(keep):
            return Bottom(_inner(keep, fresh, names))
        case nf.Max(pieces):
            return reduce(Greater, [_of_piece(p, fresh, names) for p in pieces])
        case nf.Running(v, inner, at):
            axis = fresh.axis(v.extent)
            if not isinstance(axis, Var):
                return _inner(inner, fresh, {**names, v.name: axis})
            return Upto(axis, substitute(at, names), _inner(inner, fresh, {**names, v.name: axis}))
        case _:
            assert_never(a)


def _of_piece(p: nf.Piece, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
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


# ---------------------------------------------------------------- operators
def of_operator(
    op: ops.ComputeOp, operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], rank: int, fresh: Fresh
) -> Expr:
    """The element p0, p1, .. of an operator's result, as the operator is defined.

    A masked operand is `finite + bottom(keep)`, and stands for the limit as bottom goes to minus infinity.
    There exp is `keep * exp(finite)`, and a positive multiple is as low: these are readings, not axioms.

    Raises:
        ValueError: a definition that has no spelling here.
    """
    match op:
        case ops.Unary(fn):
            return _unary(fn, operands[0])
        case ops.Scalar(fn, value):
            return _scalar(fn, operands[0], value)
        case ops.Binary(fn):
            a, b = (_align(e, shape, rank, fresh) for e, shape in zip(operands, shapes, strict=True))
            return _binary(fn, a, b)
        case ops.MatMul():
            return _matmul(operands, shapes, rank, fresh)
        case ops.Reduce(fn, along):
            return _reduced(fn, operands[0], {along: shapes[0][along]}, None, fresh)
        case ops.Permute() | ops.Reshape() | ops.Expand() | ops.Slice() | ops.Concat():
            return _view(op, operands, shapes, fresh.integers)
        case _:
            assert_never(op)


def masked(e: Expr) -> tuple[Expr, tuple[Expr, ...]]:
    """A sum's finite part, and what keeps its other parts from being minus infinity."""
    if isinstance(e, Bottom):
        return ZERO, (e.a,)
    if not isinstance(e, Add):
        return e, ()
    (a, keep), (b, more) = masked(e.a), masked(e.b)
    if not keep and not more:
        return e, ()
    finite = b if a == ZERO else a if b == ZERO else Add(a, b)
    return finite, (*keep, *(k for k in more if k not in keep))


def _with_mask(finite: Expr, keep: tuple[Expr, ...]) -> Expr:
    return reduce(Add, map(Bottom, keep), finite)


def _unary(fn: ops.UnaryFn, a: Expr) -> Expr:
    match fn:
        case "exp":
            finite, keep = masked(a)
            return product((*keep, Exp(finite))) if keep else Exp(a)
        case "square":
            return Mul(a, a)
        case "sqrt":
            return Sqrt(a)
        case "rsqrt":
            return Inv(Sqrt(a))
        case "recip":
            return Inv(a)
        case "neg":
            return Mul(MINUS_ONE, a)
        case "silu" | "sigmoid" | "relu" | "tanh" | "abs" | "erf" | "gelu" | "gelu_tanh":
            return Call(fn, a)
        case _:
            assert_never(fn)


def _scalar(fn: ops.ScalarFn, a: Expr, value: Fraction) -> Expr:
    match fn:
        case "add":
            return Add(a, Num(value))
        case "mul":
            finite, keep = masked(a)
            return _with_mask(Mul(Num(value), finite), keep)
        case "pow":
            return power(a, value) if value else UNIT
        case "max":
            return Greater(a, Num(value))
        case "min":
            return _least(a, Num(value))
        case _:
            assert_never(fn)


def _least(a: Expr, b: Expr) -> Expr:
    """min(a, b) is -max(-a, -b)."""
    return Mul(MINUS_ONE, Greater(Mul(MINUS_ONE, a), Mul(MINUS_ONE, b)))


def _binary(fn: ops.BinaryFn, a: Expr, b: Expr) -> Expr:
    match fn:
        case "add":
            if masked(a)[1] and masked(b)[1]:
                return _with_mask(*masked(Add(a, b)))
            return Add(a, b)
        case "sub":
            return Add(a, Mul(MINUS_ONE, b))
        case "mul" | "div":
            by = Inv(b) if fn == "div" else b
            finite, keep = masked(a)
            if not keep and fn == "mul":
                (finite, keep), by = masked(b), a
                return _with_mask(Mul(by, finite), keep) if keep else Mul(a, b)
            return _with_mask(Mul(finite, by), keep)
        case "max":
            return Greater(a, b)
        case "min":
            return _least(a, b)
        case "mask":
            finite, keep = masked(a)
            more = power(b, Fraction(0))
            return _with_mask(finite, keep if more in keep else (*keep, more))
        case _:
            assert_never(fn)


def _view(
    op: ops.ViewOp, operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], known: Sequence[Dim]
) -> Expr:
    """The operand's element at another place."""
    whole, by = shapes[0], dict[str, Index]()
    match op:
        case ops.Permute(order):
            by = {position(d): var(position(n), whole[d]) for n, d in enumerate(order)}
        case ops.Reshape(dims):
            flat = radix([var(position(n), size) for n, size in enumerate(dims)])
            for d, size in enumerate(whole):
                before, after = prod(whole[:d], start=ONE_DIM), prod(whole[d + 1 :], start=ONE_DIM)
                by[position(d)] = digit(flat, before, size, after, known)
        case ops.Expand():
            pass
        case ops.Slice(along, start, stop):
            by = {position(along): moved(var(position(along), stop - start), start, whole[along])}
        case ops.Concat(along):
            here = var(position(along), whole[along] + shapes[1][along])
            start, pieces = ZERO_DIM, list[Expr]()
            for e, dims in zip(operands, shapes, strict=True):
                stop = start + dims[along]
                piece = put(e, {position(along): moved(here, ZERO_DIM - start, dims[along])}, known)
                pieces.append(Mul(_known(interval(here, start, stop)), piece))
                start = stop
            return reduce(Add, pieces)
        case _:
            assert_never(op)
    return put(operands[0], by, known)


def _align(e: Expr, shape: tuple[Dim, ...], rank: int, fresh: Fresh) -> Expr:
    """An operand of lower rank, its positions counted from the right as those of the result."""
    shift = rank - len(shape)
    if not shift:
        return e
    return put(e, {position(d): var(position(d + shift), size) for d, size in enumerate(shape)}, fresh.integers)


def _matmul(operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], rank: int, fresh: Fresh) -> Expr:
    a, b = operands
    of_a, of_b = shapes
    axis = fresh.axis(of_a[-1])
    left = {position(d): var(position(d + rank - len(of_a)), size) for d, size in enumerate(of_a)}
    right = {position(d): var(position(d + rank - len(of_b)), size) for d, size in enumerate(of_b)}
    left[position(len(of_a) - 1)] = axis
    right[position(len(of_b) - 2)] = axis
    return total(axis, Mul(put(a, left, fresh.integers), put(b, right, fresh.integers)))


def _reduced(fn: ops.ReduceFn, e: Expr, dims: Mapping[int, Dim], loop: Dim | None, fresh: Fresh) -> Expr:
    """Sum, mean, root mean square or maximum over some dims, and over the loop where one is given."""
    axes: list[Index] = []
    by: dict[str, Index] = {}
    count_of = ONE_DIM
    if loop is not None:
        axes.append(fresh.axis(loop))
        by[LOOP] = axes[-1]
        count_of = count_of * loop
    for d, size in dims.items():
        axes.append(fresh.axis(size))
        by[position(d)] = axes[-1]
        count_of = count_of * size
    body = put(e, by, fresh.integers)
    if fn == "rms":
        body = Mul(body, put(e, by, fresh.integers))
    for axis in reversed(axes):
        body = greatest(axis, body) if fn == "max" else total(axis, body)
    match fn:
        case "sum" | "max":
            return body
        case "mean" | "rms":
            mean = Mul(Inv(of_dim(count_of)), body)
            return Sqrt(mean) if fn == "rms" else mean
        case _:
            assert_never(fn)


def of_accumulate(op: ops.Accumulate, e: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: Fresh) -> Expr:
    """What an accumulator holds behind the loop."""
    return _reduced(op.fn, e, {} if op.dim is None else {op.dim: shape[op.dim]}, loop, fresh)


def of_running_max(op: ops.RunningMax, e: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: Fresh) -> Expr:
    """The maximum over all iterations so far."""
    value = _reduced("max", e, {} if op.dim is None else {op.dim: shape[op.dim]}, None, fresh)
    axis = fresh.axis(loop or ONE_DIM)
    return (
        Upto(axis, var(LOOP, axis.extent), put(value, {LOOP: axis}, fresh.integers)) if isinstance(axis, Var) else value
    )


def of_accumulate_rescaled(
    op: ops.AccumulateRescaled, a: Expr, b: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: Fresh
) -> Expr:
    """What a rescaled sum holds behind the loop; without a loop, the value."""
    value = _reduced("sum", a, {} if op.dim is None else {op.dim: shape[op.dim]}, None, fresh)
    axis = fresh.axis(loop or ONE_DIM)
    return (
        Rescaled(axis, put(value, {LOOP: axis}, fresh.integers), put(b, {LOOP: axis}, fresh.integers))
        if isinstance(axis, Var)
        else value
    )


def of_band(op: ops.Band) -> Expr:
    """The element of a tensor that is known by formula."""
    return _known(band(op.low, op.high, var(position(0), op.rows), var(position(1), op.columns)))


def of_load(block: BlockGraph, load: ops.Load, operand: Expr, tile: tuple[Dim, ...], known: Sequence[Dim] = ()) -> Expr:
    """A tile's element: the operand's at block, iteration and position, read in mixed radix."""
    by: dict[str, Index] = {}
    for d, size in enumerate(tile):
        parts: list[Index] = [
            var(grid_index(n), p.size)
            for n, (p, along) in enumerate(zip(block.grid, load.imap or (), strict=True))
            if along == d
        ]
        if load.fmap == d and block.loop is not None:
            parts.append(var(LOOP, block.loop.size))
        by[position(d)] = radix((*parts, var(position(d), size)), known)
    return put(operand, by, known)


def of_store(
    block: BlockGraph, store: ops.Store, tile: Expr, shape: tuple[Dim, ...], known: Sequence[Dim] = ()
) -> Expr:
    """The element of the kernel's result: the tile's of the block that holds the position."""
    by: dict[str, Index] = {}
    for n, (p, along) in enumerate(zip(block.grid, store.omap or (), strict=True)):
        if along is not None:
            place = var(position(along), shape[along] * p.size)
            by[grid_index(n)] = digit(place, ONE_DIM, p.size, shape[along], known)
            by[position(along)] = digit(place, p.size, shape[along], ONE_DIM, known)
    return put(tile, by, known)
