"""The definitions of the operators, as expressions: the left sides of lemmas.

Input: an operator and the expressions of its operands. Output: the expression of the result's element at position
p0, p1, .. in block g0, .. and iteration l. Views, loads and stores use the indices of `normal_form.lower_graph`;
`checker.definition_check` defines all operators independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
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
    FreshAxes,
    Greater,
    Inv,
    Mul,
    Num,
    Rescaled,
    Sqrt,
    Upto,
    from_dim,
    indicator,
    max_over,
    power,
    product,
    substitute_indices,
    sum_over,
)
from prism_explore.verify.normal_form.index import LOOP, Index, Var, moved, position, var
from prism_explore.verify.normal_form.indicators import band, interval
from prism_explore.verify.normal_form.lower_graph import load_indices, reshape_indices, scan_bounds, store_indices


def define_operator(
    op: ops.Band | ops.Lookup | ops.ComputeOp,
    operands: tuple[Expr, ...],
    shapes: tuple[tuple[Dim, ...], ...],
    rank: int,
    fresh: FreshAxes,
) -> Expr:
    """The element of a band, or of a compute operator's result, at p0, p1, ...

    A masked operand is `finite + bottom(keep)`, which denotes the limit as bottom goes to minus infinity. These rules
    for it are definitions, not axioms: exp of it is `keep * exp(finite)`; a positive multiple of it has the same
    bottom; of a value that is masked twice, `keep` is the product of both; a concatenation has the mask of each operand
    on its interval.

    Raises:
        ValueError: a power whose exponent's denominator is no power of 2.
    """
    match op:
        case ops.Band():
            return indicator(band(op.low, op.high, var(position(0), op.rows), var(position(1), op.columns)))
        case ops.Unary(fn):
            return _define_unary(fn, operands[0])
        case ops.Scalar(fn, value):
            return _define_scalar(fn, operands[0], value)
        case ops.Binary(fn):
            a, b = (_align(e, shape, rank, fresh) for e, shape in zip(operands, shapes, strict=True))
            return _define_binary(fn, a, b)
        case ops.MatMul():
            return _define_matmul(operands, shapes, rank, fresh)
        case ops.Reduce(fn, along):
            return _reduce(fn, operands[0], {along: shapes[0][along]}, None, fresh)
        case ops.Scan(fn, along):
            return _define_scan(fn, along, operands[0], shapes[0][along], fresh)
        case ops.Permute() | ops.Reshape() | ops.Expand() | ops.Slice() | ops.Concat():
            return _define_view(op, operands, shapes, fresh.integers)
        case ops.Lookup():
            raise ValueError("a lookup of a computed tensor")
        case _:
            assert_never(op)


def split_mask(e: Expr) -> tuple[Expr, tuple[Expr, ...]]:
    """The finite part of a sum, and the arguments of its `bottom` terms."""
    if isinstance(e, Bottom):
        return ZERO, (e.a,)
    if not isinstance(e, Add):
        return e, ()
    (a, keep_a), (b, keep_b) = split_mask(e.a), split_mask(e.b)
    if not keep_a and not keep_b:
        return e, ()
    finite = b if a == ZERO else a if b == ZERO else Add(a, b)
    return finite, (*keep_a, *(k for k in keep_b if k not in keep_a))


def _with_mask(finite: Expr, keep: tuple[Expr, ...]) -> Expr:
    return Add(finite, Bottom(product(keep))) if keep else finite


def _define_unary(fn: elementwise.UnaryFn, a: Expr) -> Expr:
    """A function: a symbol, an operation, or the definition of its row."""
    row = elementwise.UNARY[fn]
    if row.is_symbol:
        return Call(fn, a)
    if row.lowering == "primitive":
        return _apply_operation(fn, (a,))
    definition = formulas.without_quotients(formulas.formula(row.definition))
    return formulas.evaluate(definition, {"x": a}, Num, _apply_operation)


def _apply_operation(fn: str, args: tuple[Expr, ...]) -> Expr:
    match fn, args:
        case "exp", (a,):
            finite, keep = split_mask(a)
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
            return _define_unary(fn, a)
        case _:
            raise AssertionError(f"no definition may use {fn}")


def _define_scalar(fn: ops.ScalarFn, a: Expr, value: Fraction) -> Expr:
    match fn:
        case "add":
            return Add(a, Num(value))
        case "mul":
            finite, keep = split_mask(a)
            return _with_mask(Mul(Num(value), finite), keep)
        case "pow":
            return power(a, value) if value else UNIT
        case "max":
            return Greater(a, Num(value))
        case "min":
            return _minimum(a, Num(value))
        case _:
            assert_never(fn)


def _minimum(a: Expr, b: Expr) -> Expr:
    """min(a, b) is -max(-a, -b)."""
    return Mul(MINUS_ONE, Greater(Mul(MINUS_ONE, a), Mul(MINUS_ONE, b)))


def _define_binary(fn: elementwise.BinaryFn, a: Expr, b: Expr) -> Expr:
    match fn:
        case "add":
            (x, keep_a), (y, keep_b) = split_mask(a), split_mask(b)
            return _with_mask(Add(x, y), (*keep_a, *keep_b)) if keep_a and keep_b else Add(a, b)
        case "sub":
            return Add(a, Mul(MINUS_ONE, b))
        case "mul" | "div":
            factor = Inv(b) if fn == "div" else b
            finite, keep = split_mask(a)
            if not keep and fn == "mul":
                finite, keep = split_mask(b)
                return _with_mask(Mul(a, finite), keep) if keep else Mul(a, b)
            return _with_mask(Mul(finite, factor), keep)
        case "max":
            return Greater(a, b)
        case "min":
            return _minimum(a, b)
        case "mask":
            finite, keep = split_mask(a)
            return _with_mask(finite, (*keep, power(b, Fraction(0))))
        case "keep":
            return Mul(a, power(b, Fraction(0)))
        case "drop":
            return Mul(a, power(Add(UNIT, Mul(MINUS_ONE, power(b, Fraction(0)))), Fraction(0)))
        case _:
            assert_never(fn)


def _define_view(
    op: ops.ViewOp, operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], known: Sequence[Dim]
) -> Expr:
    """A view: the operand's element at another index."""
    dims = shapes[0]
    by: Mapping[str, Index] = {}
    match op:
        case ops.Permute(order):
            by = {position(d): var(position(n), dims[d]) for n, d in enumerate(order)}
        case ops.Reshape(new_dims):
            by = reshape_indices(dims, new_dims, tuple(known))
        case ops.Expand():
            pass
        case ops.Slice(along, start, stop):
            by = {position(along): moved(var(position(along), stop - start), start, dims[along])}
        case ops.Concat(along):
            here = var(position(along), dims[along] + shapes[1][along])
            start, parts, keeps = ZERO_DIM, list[Expr](), list[Expr]()
            for e, shape in zip(operands, shapes, strict=True):
                stop = start + shape[along]
                finite, keep = split_mask(
                    substitute_indices(e, {position(along): moved(here, ZERO_DIM - start, shape[along])}, known)
                )
                is_inside = indicator(interval(here, start, stop))
                parts.append(Mul(is_inside, finite))
                keeps.append(Mul(is_inside, product(keep)))
                start = stop
            return _with_mask(
                reduce(Add, parts), (reduce(Add, keeps),) if any(split_mask(e)[1] for e in operands) else ()
            )
        case _:
            assert_never(op)
    return substitute_indices(operands[0], by, known)


def _align(e: Expr, shape: tuple[Dim, ...], rank: int, fresh: FreshAxes) -> Expr:
    """An operand with its positions renamed to those of a result of higher rank, aligned from the right."""
    shift = rank - len(shape)
    if not shift:
        return e
    return substitute_indices(
        e, {position(d): var(position(d + shift), size) for d, size in enumerate(shape)}, fresh.integers
    )


def _define_matmul(
    operands: tuple[Expr, ...], shapes: tuple[tuple[Dim, ...], ...], rank: int, fresh: FreshAxes
) -> Expr:
    a, b = operands
    of_a, of_b = shapes
    axis = fresh.new_axis(of_a[-1])
    left = {position(d): var(position(d + rank - len(of_a)), size) for d, size in enumerate(of_a)}
    right = {position(d): var(position(d + rank - len(of_b)), size) for d, size in enumerate(of_b)}
    left[position(len(of_a) - 1)] = axis
    right[position(len(of_b) - 2)] = axis
    return sum_over(
        axis, Mul(substitute_indices(a, left, fresh.integers), substitute_indices(b, right, fresh.integers))
    )


def _define_scan(fn: ops.ScanFn, along: int, e: Expr, size: Dim, fresh: FreshAxes) -> Expr:
    """Prefix sums: over the positions of a triangle."""
    axis = fresh.new_axis(size)
    within = indicator(band(*scan_bounds(fn), axis, var(position(along), size)))
    return sum_over(axis, Mul(within, substitute_indices(e, {position(along): axis}, fresh.integers)))


def _reduce(fn: ops.ReduceFn, e: Expr, dims: Mapping[int, Dim], loop: Dim | None, fresh: FreshAxes) -> Expr:
    """Sum, mean, root mean square or maximum over some dims, and over the loop if one is given."""
    axes: list[Index] = []
    by: dict[str, Index] = {}
    element_count = ONE_DIM
    if loop is not None:
        axes.append(fresh.new_axis(loop))
        by[LOOP] = axes[-1]
        element_count = element_count * loop
    for d, size in dims.items():
        axes.append(fresh.new_axis(size))
        by[position(d)] = axes[-1]
        element_count = element_count * size
    body = substitute_indices(e, by, fresh.integers)
    if fn == "rms":
        body = Mul(body, substitute_indices(e, by, fresh.integers))
    for axis in reversed(axes):
        body = max_over(axis, body) if fn == "max" else sum_over(axis, body)
    match fn:
        case "sum" | "max":
            return body
        case "mean" | "rms":
            mean = Mul(Inv(from_dim(element_count)), body)
            return Sqrt(mean) if fn == "rms" else mean
        case _:
            assert_never(fn)


def define_accumulate(op: ops.Accumulate, e: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: FreshAxes) -> Expr:
    """The element of an accumulator after the loop."""
    return _reduce(op.fn, e, {} if op.dim is None else {op.dim: shape[op.dim]}, loop, fresh)


def define_running_max(op: ops.RunningMax, e: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: FreshAxes) -> Expr:
    """The element of a running maximum in iteration l."""
    value = _reduce("max", e, {} if op.dim is None else {op.dim: shape[op.dim]}, None, fresh)
    axis = fresh.new_axis(loop or ONE_DIM)
    return (
        Upto(axis, var(LOOP, axis.extent), substitute_indices(value, {LOOP: axis}, fresh.integers))
        if isinstance(axis, Var)
        else value
    )


def define_accumulate_rescaled(
    op: ops.AccumulateRescaled, a: Expr, b: Expr, shape: tuple[Dim, ...], loop: Dim | None, fresh: FreshAxes
) -> Expr:
    """The element of a rescaled accumulator after the loop; without a loop, of the value."""
    value = _reduce("sum", a, {} if op.dim is None else {op.dim: shape[op.dim]}, None, fresh)
    axis = fresh.new_axis(loop or ONE_DIM)
    return (
        Rescaled(
            axis,
            substitute_indices(value, {LOOP: axis}, fresh.integers),
            substitute_indices(b, {LOOP: axis}, fresh.integers),
        )
        if isinstance(axis, Var)
        else value
    )


def define_load(
    block: BlockGraph, load: ops.Load, operand: Expr, tile: tuple[Dim, ...], known: Sequence[Dim] = ()
) -> Expr:
    """The element of a loaded tile: the operand's at the number (block, iteration, position) in mixed radix."""
    return substitute_indices(operand, load_indices(block, load, tile), known)


def define_store(
    block: BlockGraph,
    store: ops.Store,
    operand: Expr,
    tile: tuple[Dim, ...],
    dims: tuple[Dim, ...],
    known: Sequence[Dim] = (),
) -> Expr:
    """The element of a kernel's result, with these dims: that of the tile of the block that stores the position."""
    return substitute_indices(operand, store_indices(block, store.omap or (), tile, dims), known)
