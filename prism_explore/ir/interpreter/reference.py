"""Reference interpreter: the meaning of programs and sGraphs in NumPy, block by block and iteration by iteration.

Every faster path is tested against it. It shares no code with the prover. A custom kernel runs over its grid, its
loop iterates, accumulators add.

Where two blocks write different values to one place (a race), the result there is NaN, which equals nothing.
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
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType

Array: TypeAlias = npt.NDArray[Any]
Rounding: TypeAlias = Callable[[Array], Array]
"""What is done to the result of every operator, to play a narrower arithmetic than the arrays have."""
Compute: TypeAlias = Callable[[ComputeOp, list[Array], Mapping[str, int]], Array]
"""How a compute operator of the kernel graph is computed: `apply`, or something that means the same."""
RunBlocks: TypeAlias = Callable[[BlockGraph, list[Array], Mapping[str, int], Rounding], tuple[Array, ...]]
"""How a custom kernel's results are computed: `run_blocks`, or something that gives the same."""


def exact(value: Array) -> Array:
    """No rounding but that of the arrays' own arithmetic."""
    return value


def evaluate(
    graph: SGraph | TensorProgram,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    rounded: Rounding = exact,
) -> Array:
    """The result on given inputs, in the inputs' own arithmetic (float64 for a reference).

    Args:
        graph: a program, or an sGraph whose maps are closed.
        inputs: an array per input name.
        sizes: numbers for grid sizes and loop ranges; sizes of data symbols follow from the arrays.
        rounded: applied to every operator's result; what is accumulated is rounded behind the loop.

    Raises:
        ShapeError: an input is missing or has another shape, a size has no number, a tile is not whole.
    """
    output = graph.graph.output if isinstance(graph, TensorProgram) else graph.output
    return evaluate_all(graph, inputs, sizes, rounded)[output]


def evaluate_all(
    graph: SGraph | TensorProgram,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    rounded: Rounding = exact,
) -> tuple[Array, ...]:
    """Like `evaluate`, but every kernel-level tensor in order."""
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
            raise ShapeError(f"kernel node %{position} has shape {value.shape}, its type says {wanted}")
    return values


def run(
    graph: SGraph,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int],
    rounded: Rounding = exact,
    blocks: RunBlocks | None = None,
    compute: Compute | None = None,
) -> tuple[Array, ...]:
    """Every kernel-level tensor at whatever shapes the inputs have, as long as tiles are whole.

    Types are not asked, so a graph may run at other extents than those it was written for; operators that name
    extents, such as a reshape, must name those of the inputs.

    Args:
        graph: closed.
        inputs: an array per input name, of numbers of any kind that NumPy can hold; elements of an object array bring
            their own arithmetic, and may have methods `has_own` and `elementwise` for elementwise functions.
        sizes: a number for every symbol.
        rounded: applied to every operator's result.
        blocks: how a custom kernel runs, if not block by block.
        compute: how the other operators run, if not by `apply`.
    """
    run_custom, run_plain = blocks or run_blocks, compute or apply
    dtype = np.result_type(*inputs.values())
    values: list[Array] = []
    results: dict[int, tuple[Array, ...]] = {}
    for position, node in enumerate(graph.nodes):
        args = [values[a] for a in node.args]
        match node.op:
            case Input(name, _):
                values.append(np.asarray(inputs[name]))
            case Band() as band:
                zero = next(iter(inputs.values())).flat[0] * 0 if dtype.kind == "O" else 0  # of the numbers' own kind
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
    """Numbers for the symbols in input dims, read off the arrays.

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
            if len(size.symbols) == 1 and str(size) == size.symbols[0]:
                sizes.setdefault(size.symbols[0], extent)
    for given in graph.inputs:
        wanted = tuple(d.value(sizes) for d in given.type.dims)
        if np.shape(inputs[given.name]) != wanted:
            raise ShapeError(
                f"input {given.name!r} is {given.type}, here {wanted}; found {np.shape(inputs[given.name])}"
            )
    return sizes


def apply(op: ComputeOp, args: list[Array], sizes: Mapping[str, int]) -> Array:
    """One compute operator on arrays; `sizes` are for operators that name sizes themselves."""
    return numpy_function(op, sizes)(*args)


def numpy_function(op: ComputeOp, sizes: Mapping[str, int]) -> Callable[..., Array]:
    """What an operator does, as a function of its operands; `sizes` are for operators that name sizes themselves."""
    match op:
        case Unary(fn):
            return partial(_unary, fn)
        case Scalar(fn, value):
            return partial(_scalar, fn, value)
        case Binary(fn):
            return BINARY[fn].numpy
        case MatMul():
            return np.matmul
        case Reduce(fn, along):
            return partial(_reduce, fn, along)
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


def _unary(fn: UnaryFn, x: Array) -> Array:
    """An elementwise function; the elements of an object array may have their own (`has_own`, `elementwise`)."""
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
    """A border of a slice, which may be 0, also where symbols meet."""
    return (d + 1).value(sizes) - 1


def _band(band: Band, sizes: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    ahead = np.arange(band.columns.value(sizes)) - np.arange(band.rows.value(sizes))[:, None]
    low = -np.inf if band.low is None else float(band.low.rational(sizes))
    high = np.inf if band.high is None else float(band.high.rational(sizes))
    return (low <= ahead) & (ahead <= high)


def _reduce(fn: ReduceFn, along: int, x: Array) -> Array:
    if fn == "max":
        return np.maximum.reduce(x, axis=along, keepdims=True)
    total = np.add.reduce(np.square(x) if fn == "rms" else x, axis=along, keepdims=True)
    if fn == "sum":
        return total
    mean = total / x.shape[along]
    return np.sqrt(mean) if fn == "rms" else mean


def run_block_graph(
    block: BlockGraph,
    operands: list[Array],
    types: tuple[TensorType, ...],
    sizes: Mapping[str, int],
    rounded: Rounding = exact,
) -> tuple[Array, ...]:
    """A custom kernel's results: every block of the grid in turn, every iteration of the loop in turn.

    Raises:
        ShapeError: the maps are open, or a tile is not whole at these sizes.
    """
    for d in dict.fromkeys(d for t in block_types(block, types) for d in t.dims):
        d.value(sizes)
    return run_blocks(block, operands, sizes, rounded)


@dataclass(frozen=True, slots=True)
class _Partition:
    """How a load cuts one dim: the piece has a number in mixed radix, the grid's coordinate before the loop's index."""

    along: int
    digits: tuple[tuple[int, int], ...]
    """Which of the grid's coordinates, or the loop's index behind them; and how many there are."""
    tiles: int


_Step: TypeAlias = tuple[int, Node, Callable[..., Array] | None]
"""A node, where its value goes, and what it does if it only computes."""


@dataclass(frozen=True, slots=True)
class _Schedule:
    """A block graph at given sizes: how often it runs, and which of its nodes run when."""

    grid: tuple[int, ...]
    iterations: int
    cuts: Mapping[int, tuple[_Partition, ...]]
    """Per load."""
    once: tuple[_Step, ...]
    """The same in every iteration."""
    every: tuple[_Step, ...]
    """In every iteration, what is accumulated too."""
    after: tuple[_Step, ...]
    """Behind the loop, where accumulators are closed."""


def _schedule(block: BlockGraph, sizes: Mapping[str, int]) -> _Schedule:
    once: list[_Step] = []
    each: list[_Step] = []
    behind: list[_Step] = []
    for position, (node, when) in enumerate(zip(block.nodes, phases(block), strict=True)):
        match node.op:
            case Accumulate() | AccumulateRescaled():
                each.append((position, node, None))
                behind.append((position, node, None))
                continue
            case Load() | Store() | RunningMax():
                step = (position, node, None)
            case Input() | Band() | Custom() | Result():
                raise AssertionError("no kernel-level operator in a block")
            case op:
                step = (position, node, numpy_function(op, sizes))
        (once if when == "invariant" else each if when == "loop" else behind).append(step)
    grid = tuple(p.size.value(sizes) for p in block.grid)
    iterations = block.loop.size.value(sizes) if block.loop else 1
    loads = {n: node.op for n, node in enumerate(block.nodes) if isinstance(node.op, Load)}
    cuts = {n: _cuts(load, grid, iterations) for n, load in loads.items()}
    return _Schedule(grid, iterations, cuts, tuple(once), tuple(each), tuple(behind))


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
    """A custom kernel's results like `run_block_graph`, at whatever shapes the operands have."""
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
    """Which elements two blocks wrote alike."""
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
    """What each store writes for one block."""
    values: dict[int, Array] = {}
    before: dict[int, Array] = {}
    """Per accumulator and running maximum, what it held after the last iteration; per scale, its last value."""
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
                    raise AssertionError("stores come behind the loop")
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
                assert act is not None, "only what computes comes behind the loop"
                values[position] = rounded(act(*[values[a] for a in node.args]))
    return out


def _tile(cuts: tuple[_Partition, ...], operand: Array, where: tuple[int, ...]) -> Array:
    """The part of an operand at the grid's coordinates and the loop's index."""
    window = [slice(None)] * operand.ndim
    for cut in cuts:
        length, rest = divmod(operand.shape[cut.along], cut.tiles)
        if rest:
            whole = operand.shape[cut.along]
            raise ShapeError(f"dim {cut.along} of an operand has {whole} elements, no multiple of {cut.tiles} tiles")
        piece = 0
        for which, times in cut.digits:
            piece = piece * times + where[which]
        window[cut.along] = slice(piece * length, (piece + 1) * length)
    return operand[tuple(window)]


def contribution(fn: ReduceFn, along: int | None, tile: Array) -> Array:
    """An iteration's contribution."""
    if along is None:
        return tile
    if fn == "max":
        return np.maximum.reduce(tile, axis=along, keepdims=True)
    return np.add.reduce(np.square(tile) if fn == "rms" else tile, axis=along, keepdims=True)


def finish_accumulation(fn: ReduceFn, along: int | None, total: Array, tile: Array, iterations: int) -> Array:
    """What an accumulator holds behind the loop, by the total of the contributions."""
    if fn in ("sum", "max") or along is None:
        return total
    mean = total / (iterations * tile.shape[along])
    return np.sqrt(mean) if fn == "rms" else mean
