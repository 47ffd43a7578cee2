"""Scalar expressions: what the prover in egglog sees of a tensor.

An expression is the element of a tensor at a position, built from elements of the inputs by field
operations, roots, exponentials, named functions and sums over an axis. `of_normal_form` spells a normal
form this way, `of_operator` one operator applied to such expressions, as the operator is defined; a
lemma of a proof says that the two are equal.

Here every bound axis has a name of its own, so substitution cannot capture. `statement` gives the names
that egglog sees, where equal names are what makes equal things equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import count
from typing import TypeAlias, assert_never

from prism_explore.ir import ops
from prism_explore.ir.dims import ONE as ONE_DIM
from prism_explore.ir.dims import Dim
from prism_explore.ir.sgraph import BlockGraph
from prism_explore.verify import normal_form as nf
from prism_explore.verify.index import LOOP, Index, Var, digit, grid_index, position, radix, substitute, var


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


Expr: TypeAlias = At | Num | Size | Add | Mul | Inv | Sqrt | Exp | Call | Sum


class Fresh:
    """A supply of names for bound axes; one for both sides of a lemma."""

    def __init__(self) -> None:
        self._numbers = count()

    def axis(self, extent: Dim) -> Index:
        """A new axis, or 0 where there is nothing to run over."""
        return var(f"s{next(self._numbers)}", extent)


MINUS_ONE = Num(Fraction(-1))
UNIT = Num(Fraction(1))


def product(factors: Iterable[Expr]) -> Expr:
    """The product, nested to the left; of nothing, 1."""
    items = tuple(factors)
    return reduce(Mul, items) if items else UNIT


def total(axis: Index, body: Expr) -> Expr:
    """The sum over an axis; over an axis of one value, the body itself."""
    return Sum(axis, body) if isinstance(axis, Var) else body


def of_dim(size: Dim) -> Expr:
    """A size as a number."""
    terms: list[Expr] = []
    for monomial, coefficient in size.terms:
        factors: list[Expr] = [] if coefficient == 1 and monomial else [Num(coefficient)]
        for symbol, exponent in monomial:
            factors += [Size(symbol) if exponent > 0 else Inv(Size(symbol))] * abs(exponent)
        terms.append(product(factors))
    return reduce(Add, terms) if terms else Num(Fraction(0))


def with_children(e: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The same node over `f` of its children."""
    match e:
        case At() | Num() | Size():
            return e
        case Add(a, b):
            return Add(f(a), f(b))
        case Mul(a, b):
            return Mul(f(a), f(b))
        case Inv(a):
            return Inv(f(a))
        case Sqrt(a):
            return Sqrt(f(a))
        case Exp(a):
            return Exp(f(a))
        case Call(fn, a):
            return Call(fn, f(a))
        case Sum(axis, a):
            return Sum(axis, f(a))
        case _:
            assert_never(e)


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside."""
    match e:
        case At() | Num() | Size():
            return ()
        case Add(a, b) | Mul(a, b):
            return (a, b)
        case Inv(a) | Sqrt(a) | Exp(a) | Call(_, a) | Sum(_, a):
            return (a,)
        case _:
            assert_never(e)


def head(e: Expr) -> tuple[str, str]:
    """The word for the outermost operator, and what stands beside it: a number, a name, an axis."""
    match e:
        case At(tensor, _):
            return "at", tensor
        case Num(value):
            return "num", str(value)
        case Size(symbol):
            return "size", symbol
        case Call(fn, _):
            return "call", fn
        case Sum(axis, _):
            return "sum", axis.name
        case Add() | Mul() | Inv() | Sqrt() | Exp():
            return type(e).__name__.lower(), ""
        case _:
            assert_never(e)


def walk(e: Expr) -> Iterable[Expr]:
    """Every expression inside, outermost first."""
    yield e
    for child in children(e):
        yield from walk(child)


def put(e: Expr, by: Mapping[str, Index]) -> Expr:
    """Free index variables replaced; bound names are never among them, nor in what replaces them."""
    if isinstance(e, At):
        return At(e.tensor, tuple(substitute(i, by) for i in e.index))
    return with_children(e, lambda child: put(child, by))


# ---------------------------------------------------------------- normal forms
def of_normal_form(form: nf.NormalForm, fresh: Fresh) -> Expr:
    """A normal form spelled out; its bound indices get names from `fresh`."""
    terms = [_of_term(t, Fraction(c), fresh, {}) for t, c in form.terms]
    return reduce(Add, terms) if terms else Num(Fraction(0))


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
        case _:
            assert_never(a)


def _inner(form: nf.NormalForm, fresh: Fresh, names: Mapping[str, Index]) -> Expr:
    return reduce(Add, [_of_term(t, Fraction(c), fresh, names) for t, c in form.terms])


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
    """The element p0, p1, .. of an operator's result, as the operator is defined."""
    match op:
        case ops.Unary(fn):
            return _unary(fn, operands[0])
        case ops.Scalar(fn, value):
            return Add(operands[0], Num(value)) if fn == "add" else Mul(Num(value), operands[0])
        case ops.Binary(fn):
            a, b = (_align(e, shape, rank) for e, shape in zip(operands, shapes, strict=True))
            return _binary(fn, a, b)
        case ops.MatMul():
            return _matmul(operands, shapes, rank, fresh)
        case ops.Reduce(fn, along):
            return _reduced(fn, operands[0], {along: shapes[0][along]}, None, fresh)
        case _:
            assert_never(op)


def _unary(fn: ops.UnaryFn, a: Expr) -> Expr:
    match fn:
        case "exp":
            return Exp(a)
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
        case "silu" | "sigmoid" | "relu" | "tanh":
            return Call(fn, a)
        case _:
            assert_never(fn)


def _binary(fn: ops.BinaryFn, a: Expr, b: Expr) -> Expr:
    match fn:
        case "add":
            return Add(a, b)
        case "sub":
            return Add(a, Mul(MINUS_ONE, b))
        case "mul":
            return Mul(a, b)
        case "div":
            return Mul(a, Inv(b))
        case _:
            assert_never(fn)


def _align(e: Expr, shape: tuple[Dim, ...], rank: int) -> Expr:
    """An operand of lower rank, its positions counted from the right as those of the result."""
    shift = rank - len(shape)
    if not shift:
        return e
    return put(e, {position(d): var(position(d + shift), size) for d, size in enumerate(shape)})


def _matmul(operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], rank: int, fresh: Fresh) -> Expr:
    a, b = operands
    of_a, of_b = shapes
    axis = fresh.axis(of_a[-1])
    left = {position(d): var(position(d + rank - len(of_a)), size) for d, size in enumerate(of_a)}
    right = {position(d): var(position(d + rank - len(of_b)), size) for d, size in enumerate(of_b)}
    left[position(len(of_a) - 1)] = axis
    right[position(len(of_b) - 2)] = axis
    return total(axis, Mul(put(a, left), put(b, right)))


def _reduced(fn: ops.ReduceFn, e: Expr, dims: Mapping[int, Dim], loop: Dim | None, fresh: Fresh) -> Expr:
    """Sum, mean or root mean square over some dims, and over the loop where one is given."""
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
    body = put(e, by)
    if fn == "rms":
        body = Mul(body, put(e, by))
    for axis in reversed(axes):
        body = total(axis, body)
    if fn == "sum":
        return body
    mean = Mul(Inv(of_dim(count_of)), body)
    return Sqrt(mean) if fn == "rms" else mean


def of_accumulate(op: ops.Accumulate, e: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: Fresh) -> Expr:
    """What an accumulator holds behind the loop."""
    if op.dim is None:
        return _reduced("sum", e, {}, loop, fresh)
    return _reduced(op.fn, e, {op.dim: shape[op.dim]}, loop, fresh)


def of_load(block: BlockGraph, load: ops.Load, operand: Expr, tile: tuple[Dim, ...]) -> Expr:
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
        by[position(d)] = radix((*parts, var(position(d), size)))
    return put(operand, by)


def of_store(block: BlockGraph, store: ops.Store, tile: Expr, shape: tuple[Dim, ...]) -> Expr:
    """The element of the kernel's result: the tile's of the block that holds the position."""
    by: dict[str, Index] = {}
    for n, (p, along) in enumerate(zip(block.grid, store.omap or (), strict=True)):
        if along is not None:
            place = var(position(along), shape[along] * p.size)
            by[grid_index(n)] = digit(place, ONE_DIM, p.size, shape[along])
            by[position(along)] = digit(place, p.size, shape[along], ONE_DIM)
    return put(tile, by)
