"""The definitions of the operators, as expressions over what their operands are.

The element of a result at p0, p1, .. of block g0, .. in iteration l, from the elements of the operands. What a
lemma's left side is comes from here, and `meaning` says the same once more, for the checker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import prod
from typing import assert_never

from prism_explore.ir import elementwise, formulas, ops
from prism_explore.ir.dims import ONE as ONE_DIM
from prism_explore.ir.dims import ZERO as ZERO_DIM
from prism_explore.ir.dims import Dim
from prism_explore.ir.ops import BlockGraph
from prism_explore.verify.certificate.expressions import (
    MINUS_ONE,
    UNIT,
    ZERO,
    Add,
    Bottom,
    Call,
    Exp,
    Expr,
    Fresh,
    Greater,
    Inv,
    Mul,
    Num,
    Rescaled,
    Sqrt,
    Upto,
    greatest,
    known_value,
    of_dim,
    power,
    product,
    put,
    total,
)
from prism_explore.verify.normal_form.index import LOOP, Index, Var, digit, grid_index, moved, position, radix, var
from prism_explore.verify.normal_form.indicators import band, interval


def of_operator(
    op: ops.ComputeOp, operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], rank: int, fresh: Fresh
) -> Expr:
    """The element p0, p1, .. of an operator's result, as the operator is defined.

    A masked operand is `finite + bottom(keep)`, and stands for the limit as bottom goes to minus infinity.
    There exp is `keep * exp(finite)`, a positive multiple is as low, what is masked twice is kept by both, and what is
    put side by side is masked piece by piece: these are readings, not axioms.

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
    return Add(finite, Bottom(product(keep))) if keep else finite


def _unary(fn: elementwise.UnaryFn, a: Expr) -> Expr:
    """A function symbol, or what a function is replaced by."""
    row = elementwise.UNARY[fn]
    if row.is_symbol:
        return Call(fn, a)
    if row.lowering == "primitive":
        return _operation(fn, (a,))
    return formulas.evaluate(formulas.without_quotients(formulas.formula(row.definition)), {"x": a}, Num, _operation)


def _operation(fn: str, args: tuple[Expr, ...]) -> Expr:
    match fn, args:
        case "exp", (a,):
            finite, keep = masked(a)
            return product((*keep, Exp(finite))) if keep else Exp(a)
        case "add", (a, b):
            return Add(a, b)
        case "mul", (a, b):
            return Mul(a, b)
        case "inv", (a,):
            return Inv(a)
        case "sqrt", (a,):
            return Sqrt(a)
        case "max", (a, b):
            return Greater(a, b)
        case _, (a,):
            return _unary(fn, a)
        case _:
            raise AssertionError(f"no definition may use {fn}")


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


def _binary(fn: elementwise.BinaryFn, a: Expr, b: Expr) -> Expr:
    match fn:
        case "add":
            (x, keep), (y, more) = masked(a), masked(b)
            return _with_mask(Add(x, y), (*keep, *more)) if keep and more else Add(a, b)
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
            return _with_mask(finite, (*keep, power(b, Fraction(0))))
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
            start, pieces, keeps = ZERO_DIM, list[Expr](), list[Expr]()
            for e, dims in zip(operands, shapes, strict=True):
                stop = start + dims[along]
                finite, keep = masked(put(e, {position(along): moved(here, ZERO_DIM - start, dims[along])}, known))
                lies_there = known_value(interval(here, start, stop))
                pieces.append(Mul(lies_there, finite))
                keeps.append(Mul(lies_there, product(keep)))
                start = stop
            return _with_mask(reduce(Add, pieces), (reduce(Add, keeps),) if any(masked(e)[1] for e in operands) else ())
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
    return known_value(band(op.low, op.high, var(position(0), op.rows), var(position(1), op.columns)))


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
