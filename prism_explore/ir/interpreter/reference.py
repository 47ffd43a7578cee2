"""Reference interpreter: the semantics of programs and sGraphs in NumPy, block by block and iteration by iteration.

All other interpreters and code generators are tested against it. It shares no code with the prover. If two blocks
write different values to one element (a race), the element is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.elementwise import BINARY, UNARY, UnaryFn
from prism_explore.ir.graph import SGraph, block_types, phases
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Scan,
    ScanFn,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGERS

Array: TypeAlias = npt.NDArray[Any]
Rounding: TypeAlias = Callable[[Array], Array]
"""Applied to the result of every operator, to emulate a precision that is lower than that of the arrays."""
Compute: TypeAlias = Callable[[ComputeOp | Lookup, list[Array], Mapping[str, int]], Array]
"""Computes a compute operator of the kernel graph: `apply`, or an equivalent function."""
RunBlocks: TypeAlias = Callable[[BlockGraph, list[Array], Mapping[str, int], Rounding], tuple[Array, ...]]
"""Computes the results of a custom kernel: `run_blocks`, or an equivalent function."""


def exact(value: Array) -> Array:
    """No rounding, except that of the arrays' own arithmetic."""
    return value


def evaluate(
    graph: SGraph | TensorProgram,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    rounded: Rounding = exact,
) -> Array:
    """The first result on given inputs, in the arithmetic of the inputs; `evaluate_results` returns all.

    Args:
        graph: a program, or an sGraph whose maps are closed.
        inputs: an array per input name.
        sizes: values of grid sizes and loop ranges; those of data symbols follow from the arrays.
        rounded: applied to every operator's result; an accumulator is rounded after the loop.

    Raises:
        ShapeError: an input is missing or has another shape, a symbol has no value, or an extent is not divisible by
            its number of tiles.
    """
    return evaluate_results(graph, inputs, sizes, rounded)[0]


def evaluate_results(
    graph: SGraph | TensorProgram,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    rounded: Rounding = exact,
) -> tuple[Array, ...]:
    """Every result in order; otherwise like `evaluate`."""
    outputs = graph.graph.outputs if isinstance(graph, TensorProgram) else graph.outputs
    values = evaluate_all(graph, inputs, sizes, rounded)
    return tuple(values[n] for n in outputs)


def evaluate_all(
    graph: SGraph | TensorProgram,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    rounded: Rounding = exact,
) -> tuple[Array, ...]:
    """Every kernel-level tensor in order; otherwise like `evaluate`."""
    flat = graph.graph if isinstance(graph, TensorProgram) else graph
    numbers = {**bind_sizes(flat, inputs), **(sizes or {})}
    types = flat.types()
    for position, block in flat.customs:
        for d in dict.fromkeys(
            d for t in block_types(block, tuple(types[a] for a in flat.nodes[position].args)) for d in t.dims
        ):
            d.value(numbers)
    values = run(flat, inputs, numbers, rounded)
    for position, value in enumerate(values):
        wanted = tuple(d.value(numbers) for d in types[position].dims)
        if value.shape != wanted:
            raise ShapeError(f"kernel node %{position} has shape {value.shape}, its type has {wanted}")
    return values


def run(
    graph: SGraph,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int],
    rounded: Rounding = exact,
    blocks: RunBlocks | None = None,
    compute: Compute | None = None,
) -> tuple[Array, ...]:
    """Every kernel-level tensor, at the shapes of the inputs; extents must be divisible by their numbers of tiles.

    Types are not checked, so a graph may run at other extents than its own. Operators that contain extents, such as a
    reshape, must have those of the inputs.

    Args:
        graph: closed.
        inputs: an array per input name. Elements of an object array have their own arithmetic, and may have methods
            `has_own` and `elementwise` for elementwise functions.
        sizes: a value for every symbol.
        rounded: applied to every operator's result.
        blocks: runs custom kernels; `run_blocks` if None.
        compute: runs the other operators; `apply` if None.
    """
    run_custom, run_plain = blocks or run_blocks, compute or apply
    integers = frozenset(i.name for i in graph.inputs if i.type.dtype in INTEGERS)
    numbers = [x for name, x in inputs.items() if name not in integers]
    dtype = np.result_type(*numbers) if numbers else np.dtype(np.float64)
    dtype = np.dtype(np.float32) if dtype.kind in "bui" else dtype
    values: list[Array] = []
    results: dict[int, tuple[Array, ...]] = {}
    for position, node in enumerate(graph.nodes):
        args = [values[a] for a in node.args]
        match node.op:
            case Input(name, _):
                given = np.asarray(inputs[name])
                is_whole = given.dtype.kind in "bui" and name not in integers
                values.append(given.astype(dtype) if is_whole else given)
            case Band() as band:
                zero = numbers[0].flat[0] * 0 if dtype.kind == "O" else 0  # of the numbers' own kind
                values.append(_band(band, sizes).astype(dtype) + zero)
            case Custom(block):
                results[position] = run_custom(block, args, sizes, rounded)
                values.append(results[position][0])
            case Result(index):
                values.append(results[node.args[0]][index])
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                values.append(rounded(run_plain(op, args, sizes)))
    return tuple(values)


def bind_sizes(graph: SGraph, inputs: Mapping[str, Array]) -> dict[str, int]:
    """The values of the symbols in input dims, given the arrays.

    Raises:
        ShapeError: an input is missing, or the arrays contradict the types.
    """
    sizes: dict[str, int] = {}
    for given in graph.inputs:
        if given.name not in inputs:
            raise ShapeError(f"input {given.name!r} is missing; given are {', '.join(sorted(inputs)) or 'none'}")
        shape = np.shape(inputs[given.name])
        if len(shape) != given.type.rank:
            raise ShapeError(f"input {given.name!r} is {given.type}, found an array of shape {shape}")
        for size, extent in zip(given.type.dims, shape, strict=True):
            if size.symbol:
                sizes.setdefault(size.symbol, extent)
    for given in graph.inputs:
        wanted = tuple(d.value(sizes) for d in given.type.dims)
        if np.shape(inputs[given.name]) != wanted:
            raise ShapeError(
                f"input {given.name!r} is {given.type}, here {wanted}; found {np.shape(inputs[given.name])}"
            )
    return sizes


def apply(op: ComputeOp | Lookup, args: list[Array], sizes: Mapping[str, int]) -> Array:
    """One operator on arrays; `sizes` are for operators that contain sizes."""
    return numpy_function(op, sizes)(*args)


def numpy_function(op: ComputeOp | Lookup, sizes: Mapping[str, int]) -> Callable[..., Array]:
    """The NumPy function of an operator; `sizes` are for operators that contain sizes."""
    match op:
        case Unary(fn):
            return partial(_as_array, partial(_unary, fn))
        case Scalar(fn, value):
            return partial(_as_array, partial(_scalar, fn, value))
        case Binary(fn):
            return partial(_as_array, BINARY[fn].numpy)
        case MatMul():
            return np.matmul
        case Reduce(fn, along):
            return partial(_reduce, fn, along)
        case Scan(fn, along):
            return partial(_scan, fn, along)
        case Lookup(along, batch):
            return partial(_lookup, along, batch)
        case Permute(order):
            return partial(np.transpose, axes=order)
        case Reshape(dims):
            return partial(_reshape, [d.value(sizes) for d in dims])
        case Expand(along, size):
            return partial(np.repeat, repeats=size.value(sizes), axis=along)
        case Slice(along, start, stop):
            return partial(_slice, along, _position(start, sizes), _position(stop, sizes))
        case Concat(along):
            return partial(_concat, along)


def _as_array(function: Callable[..., Array], *args: Array) -> Array:
    """The result as an array: of arrays without dims, NumPy returns an element."""
    return np.asarray(function(*args))


def _unary(fn: UnaryFn, x: Array) -> Array:
    """An elementwise function; elements of an object array may implement it (`has_own`, `elementwise`)."""
    row = UNARY[fn]
    if x.dtype == object and x.size and hasattr(x.flat[0], "has_own") and x.flat[0].has_own(row):
        return np.asarray(np.frompyfunc(methodcaller("elementwise", row), 1, 1)(x), dtype=object)
    return row.numpy(x)


def _scalar(fn: ScalarFn, value: Fraction, x: Array) -> Array:
    if x.dtype == object:
        return _SCALAR[fn](x, value)
    try:
        constant = float(value)
    except OverflowError:
        constant = np.inf if value > 0 else -np.inf
    return _SCALAR[fn](x, x.dtype.type(constant))


def _reshape(shape: list[int], x: Array) -> Array:
    return np.reshape(x, shape)


def _slice(along: int, start: int, stop: int, x: Array) -> Array:
    return x[(*[slice(None)] * along, slice(start, stop))]


def _lookup(along: int, batch: int, table: Array, integers: Array) -> Array:
    size = table.shape[along]
    if integers.size and not 0 <= integers.min() <= integers.max() < size:
        raise ShapeError(
            f"a lookup at positions {integers.min()} to {integers.max()} of a dim of size {size}; they begin at 0"
        )
    if not batch:
        return np.asarray(np.take(table, integers, axis=along))
    rows = np.moveaxis(table, along, batch)
    at = np.ogrid[tuple(map(slice, integers.shape))][:batch]
    found = np.asarray(rows[(*at, integers)])
    moved = range(batch, integers.ndim)
    return np.moveaxis(found, tuple(moved), tuple(d + along - batch for d in moved))


def _concat(along: int, x: Array, y: Array) -> Array:
    return np.concatenate((x, y), axis=along)


_SCALAR: Mapping[ScalarFn, Callable[[Array, Any], Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
}


def _position(d: Dim, sizes: Mapping[str, int]) -> int:
    """The start or stop of a slice, which may be 0, unlike other sizes."""
    return (d + 1).value(sizes) - 1


def _band(band: Band, sizes: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    distance = np.arange(band.columns.value(sizes)) - np.arange(band.rows.value(sizes))[:, None]
    low = -np.inf if band.low is None else float(band.low.rational(sizes))
    high = np.inf if band.high is None else float(band.high.rational(sizes))
    return (low <= distance) & (distance <= high)


def _reduce(fn: ReduceFn, along: int, x: Array) -> Array:
    if fn == "max":
        return np.maximum.reduce(x, axis=along, keepdims=True)
    total = np.add.reduce(np.square(x) if fn == "rms" else x, axis=along, keepdims=True)
    if fn == "sum":
        return total
    mean = total / x.shape[along]
    return np.sqrt(mean) if fn == "rms" else mean


def _scan(fn: ScanFn, along: int, x: Array) -> Array:
    forward = np.flip(x, along) if fn == "reverse_cumsum" else x
    sums = np.add.accumulate(forward, axis=along)
    return np.flip(sums, along) if fn == "reverse_cumsum" else sums


@dataclass(frozen=True, slots=True)
class _Partition:
    """How a load partitions one dim: the tile's number in mixed radix, grid coordinates before the loop's index."""

    along: int
    digits: tuple[tuple[int, int], ...]
    """The position of a coordinate (that of the loop comes last), and the number of its values."""
    tiles: int


_Step: TypeAlias = tuple[int, Node, Callable[..., Array] | None]
"""The position of a node, the node, and its NumPy function if it is a compute operator."""


@dataclass(frozen=True, slots=True)
class _Schedule:
    """A block graph at given sizes, with its nodes ordered by phase."""

    grid: tuple[int, ...]
    iterations: int
    cuts: Mapping[int, tuple[_Partition, ...]]
    """The partitioned dims of each load."""
    once: tuple[_Step, ...]
    """Before the first iteration: values that are the same in every iteration."""
    every: tuple[_Step, ...]
    """In every iteration, accumulations included."""
    after: tuple[_Step, ...]
    """After the loop, where accumulators are finished."""


def _schedule(block: BlockGraph, sizes: Mapping[str, int]) -> _Schedule:
    once: list[_Step] = []
    every: list[_Step] = []
    after: list[_Step] = []
    for position, (node, phase) in enumerate(zip(block.nodes, phases(block), strict=True)):
        match node.op:
            case Accumulate() | AccumulateRescaled():
                every.append((position, node, None))
                after.append((position, node, None))
                continue
            case Load() | Store() | RunningMax():
                step = (position, node, None)
            case Input() | Band() | Lookup() | Custom() | Result():
                raise AssertionError("no kernel-level operator in a block")
            case op:
                step = (position, node, numpy_function(op, sizes))
        (once if phase == "invariant" else every if phase == "loop" else after).append(step)
    grid = tuple(p.size.value(sizes) for p in block.grid)
    iterations = block.loop.size.value(sizes) if block.loop else 1
    loads = {n: node.op for n, node in enumerate(block.nodes) if isinstance(node.op, Load)}
    partitions = {n: _cuts(load, grid, iterations) for n, load in loads.items()}
    return _Schedule(grid, iterations, partitions, tuple(once), tuple(every), tuple(after))


def _cuts(load: Load, grid: tuple[int, ...], iterations: int) -> tuple[_Partition, ...]:
    digits: dict[int, list[tuple[int, int]]] = {}
    for g, along in enumerate(load.imap or ()):
        if along is not None:
            digits.setdefault(along, []).append((g, grid[g]))
    if load.fmap is not None:
        digits.setdefault(load.fmap, []).append((len(grid), iterations))
    return tuple(_Partition(along, tuple(of), prod(n for _, n in of)) for along, of in digits.items())


def run_blocks(
    block: BlockGraph, operands: list[Array], sizes: Mapping[str, int], rounded: Rounding
) -> tuple[Array, ...]:
    """A custom kernel's results at the shapes of the operands: every block in turn, every iteration in turn.

    Raises:
        ShapeError: the maps are open, or an extent is not divisible by its number of tiles.
    """
    if block.is_open:
        raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
    schedule = _schedule(block, sizes)
    omaps = [omap or () for omap in (n.op.omap for n in block.nodes if isinstance(n.op, Store))]
    dtype = np.result_type(*operands)
    results: list[Array] = []
    written: list[npt.NDArray[np.bool_]] = []
    for where in product(*map(range, schedule.grid)):
        for n, tile in enumerate(_run_block(schedule, operands, sizes, where, rounded)):
            if n == len(results):
                shape = list(tile.shape)
                for number, along in zip(schedule.grid, omaps[n], strict=True):
                    if along is not None:
                        shape[along] *= number
                results.append(np.full(shape, np.nan, dtype=dtype))
                written.append(np.zeros(shape, dtype=bool))
            place = _slices(tile.shape, omaps[n], where)
            before = written[n][place]
            if before.any():
                tile = np.where(before & ~equal_elements(results[n][place], tile), np.nan, tile)
            results[n][place] = tile
            written[n][place] = True
    return tuple(results)


def equal_elements(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """The elements in which two tiles are equal up to rounding."""
    if a.dtype == object:
        return np.asarray(a == b, dtype=bool)
    return np.isclose(a, b, rtol=1e-9, atol=1e-12)


def _slices(tile: tuple[int, ...], cut: tuple[int | None, ...], where: tuple[int, ...]) -> tuple[slice, ...]:
    starts = [0] * len(tile)
    for coordinate, along in zip(where, cut, strict=True):
        if along is not None:
            starts[along] += coordinate * tile[along]
    return tuple(slice(s, s + n) for s, n in zip(starts, tile, strict=True))


def _run_block(
    schedule: _Schedule, operands: list[Array], sizes: Mapping[str, int], where: tuple[int, ...], rounded: Rounding
) -> list[Array]:
    """The tile that each store writes for one block."""
    values: dict[int, Array] = {}
    before: dict[int, Array] = {}
    """The value of each accumulator after the last iteration; at the complement, the last value of its scale."""
    for i in range(schedule.iterations):
        for position, node, act in schedule.every if i else (*schedule.once, *schedule.every):
            if act is not None:
                values[position] = rounded(act(*[values[a] for a in node.args]))
                continue
            args = [values[a] for a in node.args]
            match node.op:
                case Load(which):
                    values[position] = _tile(schedule.cuts[position], operands[which], (*where, i))
                case Accumulate(fn, along):
                    part = contribution(fn, along, args[0])
                    join = np.maximum if fn == "max" else np.add
                    before[position] = join(before[position], part) if i else part
                case AccumulateRescaled(along):
                    part = contribution("sum", along, args[0])
                    if i:
                        part = before[position] * np.exp(before[~position] - args[1]) + part
                    before[position], before[~position] = part, args[1]
                case RunningMax(along):
                    part = contribution("max", along, args[0])
                    values[position] = np.maximum(values[position], part) if i else part
                case _:
                    raise AssertionError("stores come after the loop")
    out: list[Array] = []
    for position, node, act in schedule.after:
        match node.op:
            case Accumulate(fn, along):
                closed = finish_accumulation(fn, along, before[position], values[node.args[0]], schedule.iterations)
                values[position] = rounded(closed)
            case AccumulateRescaled():
                values[position] = rounded(before[position])
            case Store():
                out.append(values[node.args[0]])
            case _:
                assert act is not None, "other nodes after the loop are compute operators"
                values[position] = rounded(act(*[values[a] for a in node.args]))
    return out


def _tile(partitions: tuple[_Partition, ...], operand: Array, where: tuple[int, ...]) -> Array:
    """The tile of an operand at the grid's coordinates and the loop's index."""
    window = [slice(None)] * operand.ndim
    for partition in partitions:
        length, remainder = divmod(operand.shape[partition.along], partition.tiles)
        if remainder:
            extent = operand.shape[partition.along]
            raise ShapeError(
                f"dim {partition.along} of an operand has {extent} elements, no multiple of {partition.tiles} tiles"
            )
        tile = 0
        for which, times in partition.digits:
            tile = tile * times + where[which]
        window[partition.along] = slice(tile * length, (tile + 1) * length)
    return operand[tuple(window)]


def contribution(fn: ReduceFn, along: int | None, tile: Array) -> Array:
    """The value that an iteration adds to an accumulator."""
    if along is None:
        return tile
    if fn == "max":
        return np.maximum.reduce(tile, axis=along, keepdims=True)
    return np.add.reduce(np.square(tile) if fn == "rms" else tile, axis=along, keepdims=True)


def finish_accumulation(fn: ReduceFn, along: int | None, total: Array, tile: Array, iterations: int) -> Array:
    """The value of an accumulator after the loop, given the total of the contributions."""
    if fn in ("sum", "max") or along is None:
        return total
    mean = total / (iterations * tile.shape[along])
    return np.sqrt(mean) if fn == "rms" else mean
