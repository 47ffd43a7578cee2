"""What an sGraph means, written down a second time: one number after another, in any arithmetic.

It shares the classes of operators with the package, and nothing else: neither the interpreters, which the refuter runs,
nor the prover's normal forms. An arithmetic says what numbers are (`numbers.py`, `intervals.py`). NumPy holds them as
objects and moves them; it computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any, Protocol

import numpy as np

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    Op,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)

Values = np.ndarray[Any, Any]
"""Numbers as objects."""


class Arithmetic(Protocol):
    """What the evaluator asks of numbers."""

    def number(self, value: Fraction) -> Any: ...

    def unary(self, fn: str, x: Any) -> Any: ...

    def binary(self, fn: str, x: Any, y: Any) -> Any: ...

    def power(self, x: Any, exponent: Fraction) -> Any: ...

    def total(self, terms: Sequence[Any]) -> Any:
        """The sum, in any order."""
        ...

    def agree(self, x: Any, y: Any) -> bool:
        """Whether two blocks may write these to one element."""
        ...


class Race(Exception):
    """Two blocks write different values to one element."""


def as_it_is(_position: int, value: Values) -> Values:
    """A tensor as it was computed."""
    return value


def evaluate(
    graph: SGraph,
    inputs: Mapping[str, Values],
    sizes: Mapping[str, int],
    numbers: Arithmetic,
    stored: Callable[[int, Values], Values] = as_it_is,
) -> Values:
    """The result, as an array of the arithmetic's numbers.

    Args:
        graph: closed.
        inputs: per input an array of the arithmetic's numbers; of whole numbers for positions.
        sizes: a number for every symbol.
        numbers: the arithmetic.
        stored: what a kernel-level tensor is after it was stored, by its position.

    Raises:
        Race: the result of a kernel depends on the order of its blocks.
    """
    values: list[Values] = []
    results: dict[int, list[Values]] = {}
    for n, node in enumerate(graph.nodes):
        args = [values[a] for a in node.args]
        match node.op:
            case Input(name, _):
                values.append(inputs[name])
            case Band() as band:
                values.append(_band(band, sizes, numbers))
            case Custom(block):
                results[n] = _kernel(block, args, sizes, numbers)
                values.append(stored(n, results[n][0]))
            case Result(index):
                values.append(stored(n, results[node.args[0]][index]))
            case op:
                values.append(stored(n, _computed(op, args, sizes, numbers)))
    return values[graph.output]


# ---------------------------------------------------------------- operators
def _each(fn: Any, *arrays: Values) -> Values:
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    out = np.empty(shape, object)
    spread = [np.broadcast_to(a, shape) for a in arrays]
    for at in np.ndindex(*shape):
        out[at] = fn(*(a[at] for a in spread))
    return out


def _at(d: Dim, sizes: Mapping[str, int]) -> int:
    exact = d.rational(sizes)
    assert exact.denominator == 1, f"{d} is no whole number"
    return int(exact)


def _band(band: Band, sizes: Mapping[str, int], numbers: Arithmetic) -> Values:
    rows, columns = _at(band.rows, sizes), _at(band.columns, sizes)
    out = np.empty((rows, columns), object)
    for i, j in np.ndindex(rows, columns):
        above = band.low is None or j - i >= band.low.rational(sizes)
        below = band.high is None or j - i <= band.high.rational(sizes)
        out[i, j] = numbers.number(Fraction(above and below))
    return out


def _along(fn: Any, dim: int, x: Values) -> Values:
    """A function of all numbers along one dim, which stays with size 1."""
    moved = np.moveaxis(x, dim, -1)
    out = np.empty((*moved.shape[:-1], 1), object)
    for at in np.ndindex(*moved.shape[:-1]):
        out[(*at, 0)] = fn(list(moved[at]))
    return np.moveaxis(out, -1, dim)


def _largest(numbers: Arithmetic, terms: Sequence[Any]) -> Any:
    return reduce(lambda a, b: numbers.binary("max", a, b), terms)


def _reduced(fn: str, numbers: Arithmetic, terms: Sequence[Any]) -> Any:
    """A sum, mean, root mean square or maximum of these."""
    if fn == "max":
        return _largest(numbers, terms)
    if fn == "rms":
        terms = [numbers.binary("mul", t, t) for t in terms]
    total = numbers.total(terms)
    if fn == "sum":
        return total
    mean = numbers.binary("mul", total, numbers.number(Fraction(1, len(terms))))
    return numbers.unary("sqrt", mean) if fn == "rms" else mean


def _computed(op: Op, args: list[Values], sizes: Mapping[str, int], numbers: Arithmetic) -> Values:
    x = args[0]
    match op:
        case Unary(fn):
            return _each(lambda v: numbers.unary(fn, v), x)
        case Scalar("pow", value):
            return _each(lambda v: numbers.power(v, value), x)
        case Scalar(fn, value):
            constant = numbers.number(value)
            return _each(lambda v: numbers.binary(fn, v, constant), x)
        case Binary(fn):
            return _each(lambda v, w: numbers.binary(fn, v, w), x, args[1])
        case MatMul():
            return _matmul(x, args[1], numbers)
        case Reduce(fn, dim):
            return _along(lambda terms: _reduced(fn, numbers, terms), dim, x)
        case Scan(fn, dim):
            return _scanned(fn, dim, x, numbers)
        case Lookup(dim, batch):
            return _looked_up(x, args[1], dim, batch)
        case Permute(order):
            return np.transpose(x, order)
        case Reshape(dims):
            return x.reshape([_at(d, sizes) for d in dims])
        case Expand(dim, size):
            return np.concatenate([x] * _at(size, sizes), axis=dim)
        case Slice(dim, start, stop):
            return np.moveaxis(np.moveaxis(x, dim, 0)[_at(start, sizes) : _at(stop, sizes)], 0, dim)
        case Concat(dim):
            return np.concatenate(args, axis=dim)
        case _:
            raise NotImplementedError(f"{type(op).__name__}: add a case to tests/soundness/plain_evaluator.py")


def _matmul(x: Values, y: Values, numbers: Arithmetic) -> Values:
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
    out = np.empty((*batch, x.shape[-2], y.shape[-1]), object)
    for at in np.ndindex(*out.shape):
        *b, i, j = at
        row, column = x[(*b, i)], y[(*b, slice(None), j)]
        out[at] = numbers.total([numbers.binary("mul", v, w) for v, w in zip(row, column, strict=True)])
    return out


def _looked_up(table: Values, positions: Values, dim: int, batch: int) -> Values:
    """Dim `dim` of the table gives way to the dims of the positions, which are whole numbers, but for shared ones."""
    last = dim + positions.ndim - batch
    out = np.empty((*table.shape[:dim], *positions.shape[batch:], *table.shape[dim + 1 :]), object)
    for at in np.ndindex(*out.shape):
        out[at] = table[(*at[:dim], positions[(*at[:batch], *at[dim:last])], *at[last:])]
    return out


def _scanned(fn: str, dim: int, x: Values, numbers: Arithmetic) -> Values:
    moved = np.moveaxis(x, dim, -1)
    out = np.empty(moved.shape, object)
    for at in np.ndindex(*moved.shape):
        *b, i = at
        terms = moved[tuple(b)][: i + 1] if fn == "cumsum" else moved[tuple(b)][i:]
        out[at] = numbers.total(list(terms))
    return np.moveaxis(out, -1, dim)


# ---------------------------------------------------------------- custom kernels
def _kernel(block: BlockGraph, args: list[Values], sizes: Mapping[str, int], numbers: Arithmetic) -> list[Values]:
    grid = [_at(p.size, sizes) for p in block.grid]
    stores = [block.nodes[n].op for n in block.stores]
    results: list[Values | None] = [None] * len(stores)
    for where in product(*map(range, grid)):
        for n, tile in enumerate(_block(block, args, where, grid, sizes, numbers)):
            store = stores[n]
            assert isinstance(store, Store) and store.omap is not None, "an open map"
            shape, begins = list(tile.shape), [0] * tile.ndim
            for count, coordinate, dim in zip(grid, where, store.omap, strict=True):
                if dim is not None:
                    begins[dim] = begins[dim] * count + coordinate
                    shape[dim] *= count
            out = results[n]
            if out is None:
                out = results[n] = np.full(shape, None, object)
            for at in np.ndindex(*tile.shape):
                to = tuple(b * size + a for b, size, a in zip(begins, tile.shape, at, strict=True))
                if out[to] is not None and not numbers.agree(out[to], tile[at]):
                    raise Race
                out[to] = tile[at]
    return [out for out in results if out is not None]


def _tile(load: Load, operand: Values, where: Sequence[int], grid: Sequence[int], i: int, iterations: int) -> Values:
    """The grid cuts a dim first, and the loop cuts what is left of it."""
    assert load.imap is not None, "an open map"
    cuts = [(dim, coordinate, count) for dim, coordinate, count in zip(load.imap, where, grid, strict=True)]
    for dim, coordinate, count in (*cuts, (load.fmap, i, iterations)):
        if dim is not None:
            length = operand.shape[dim] // count
            assert length * count == operand.shape[dim], "a tile that is not whole"
            window = np.moveaxis(operand, dim, 0)[coordinate * length : (coordinate + 1) * length]
            operand = np.moveaxis(window, 0, dim)
    return operand


def _block(
    block: BlockGraph,
    args: list[Values],
    where: Sequence[int],
    grid: Sequence[int],
    sizes: Mapping[str, int],
    numbers: Arithmetic,
) -> list[Values]:
    """The tile that each store writes. What is accumulated is collected first, and joined after the last iteration."""
    iterations = _at(block.loop.size, sizes) if block.loop else 1
    collected: dict[int, list[Values]] = {}
    scales: dict[int, Values] = {}
    values: dict[int, Values] = {}
    late = _after_the_loop(block)
    for i in range(iterations):
        before, values = values, {}
        for n, node in enumerate(block.nodes):
            if n in late:
                continue
            operands = [values[a] for a in node.args]
            match node.op:
                case Load(which) as load:
                    values[n] = _tile(load, args[which], where, grid, i, iterations)
                case Accumulate():
                    collected.setdefault(n, []).append(operands[0])
                case AccumulateRescaled(dim):
                    part = operands[0]
                    if dim is not None:
                        part = _along(numbers.total, dim, part)
                    if n in scales:
                        part = _each(lambda t, s, m, v: _rescaled(numbers, t, s, m, v), *collected[n], scales[n],
                                     operands[1], part)  # fmt: skip
                    collected[n], scales[n] = [part], operands[1]
                case RunningMax(dim):
                    top = operands[0]
                    if dim is not None:
                        top = _along(lambda terms: _largest(numbers, terms), dim, top)
                    values[n] = _each(lambda a, b: numbers.binary("max", a, b), before[n], top) if i else top
                case op:
                    values[n] = _computed(op, operands, sizes, numbers)
    out: list[Values] = []
    for n, node in enumerate(block.nodes):
        match node.op:
            case Accumulate(fn, dim):
                values[n] = _joined(fn, dim, collected[n], numbers)
            case AccumulateRescaled():
                (values[n],) = collected[n]
            case Store():
                out.append(values[node.args[0]])
            case op if n in late:
                values[n] = _computed(op, [values[a] for a in node.args], sizes, numbers)
            case _:
                pass
    return out


def _after_the_loop(block: BlockGraph) -> set[int]:
    """Nodes that read an accumulator, also through others, and stores."""
    late: set[int] = set()
    for n, node in enumerate(block.nodes):
        reads = any(a in late or isinstance(block.nodes[a].op, Accumulate | AccumulateRescaled) for a in node.args)
        if reads or isinstance(node.op, Store):
            late.add(n)
    return late


def _joined(fn: str, dim: int | None, parts: list[Values], numbers: Arithmetic) -> Values:
    """The terms of all iterations, along a dim of their own or along the one that is reduced, as one reduction."""
    if dim is None:
        together = np.stack(parts, axis=-1)
        return _along(lambda terms: _reduced(fn, numbers, terms), together.ndim - 1, together)[..., 0]
    return _along(lambda terms: _reduced(fn, numbers, terms), dim, np.concatenate(parts, axis=dim))


def _rescaled(numbers: Arithmetic, total: Any, scale: Any, new_scale: Any, term: Any) -> Any:
    factor = numbers.unary("exp", numbers.binary("sub", scale, new_scale))
    return numbers.binary("add", numbers.binary("mul", factor, total), term)


def operators_of(graph: SGraph) -> list[Node]:
    """The nodes of a graph and of its blocks."""
    return [*graph.nodes, *(node for _, block in graph.customs for node in block.nodes)]
