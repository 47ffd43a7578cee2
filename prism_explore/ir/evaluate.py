"""What programs and sGraphs mean, plainly: NumPy, block by block and iteration by iteration.

This is the slow truth that every fast path is tested against. It shares nothing with the prover:
a custom kernel really runs over its grid, its loop really iterates, accumulators really add up.

Where two blocks write different values to one place (a race), the result there is NaN, which equals
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.errors import ShapeError
from prism_explore.ir.ops import (
    BINARY,
    UNARY,
    Accumulate,
    Binary,
    ComputeOp,
    Custom,
    Input,
    Load,
    MatMul,
    Reduce,
    ReduceFn,
    Scalar,
    Store,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import BlockGraph, SGraph, block_types, phases
from prism_explore.ir.tensors import TensorType

Array: TypeAlias = npt.NDArray[Any]


def evaluate(
    graph: SGraph | TensorProgram, inputs: Mapping[str, Array], sizes: Mapping[str, int] | None = None
) -> Array:
    """The result on given inputs, in the inputs' own arithmetic (float64 for a reference).

    Args:
        graph: a program, or an sGraph whose maps are closed.
        inputs: an array per input name.
        sizes: numbers for grid sizes and loop ranges; sizes of data symbols follow from the arrays.

    Raises:
        ShapeError: an input is missing or has another shape, a size has no number, a tile is not whole.
    """
    return evaluate_all(graph, inputs, sizes)[graph.graph.output if isinstance(graph, TensorProgram) else graph.output]


def evaluate_all(
    graph: SGraph | TensorProgram, inputs: Mapping[str, Array], sizes: Mapping[str, int] | None = None
) -> tuple[Array, ...]:
    """Like `evaluate`, but every kernel-level tensor in order."""
    flat = graph.graph if isinstance(graph, TensorProgram) else graph
    numbers = {**bind_sizes(flat, inputs), **(sizes or {})}
    types = flat.types()
    values: list[Array] = []
    for position, node in enumerate(flat.nodes):
        args = [values[a] for a in node.args]
        match node.op:
            case Input(name, _):
                values.append(np.asarray(inputs[name]))
            case Custom(block):
                operand_types = tuple(types[a] for a in node.args)
                values.append(run_block_graph(block, args, operand_types, numbers))
            case Load() | Store() | Accumulate():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                values.append(apply(op, args))
        wanted = tuple(d.value(numbers) for d in types[position].dims)
        if values[-1].shape != wanted:
            raise ShapeError(f"kernel node %{position} has shape {values[-1].shape}, its type says {wanted}")
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


def apply(op: ComputeOp, args: list[Array]) -> Array:
    """One compute operator on arrays."""
    match op:
        case Unary(fn):
            return UNARY[fn].numpy(args[0])
        case Scalar(fn, value):
            constant = value if args[0].dtype == object else args[0].dtype.type(value)
            return args[0] + constant if fn == "add" else args[0] * constant
        case Binary(fn):
            return BINARY[fn].numpy(args[0], args[1])
        case MatMul():
            return np.matmul(args[0], args[1])
        case Reduce(fn, along):
            return _reduce(fn, args[0], along, args[0].shape[along])


def _reduce(fn: ReduceFn, x: Array, along: int, count: int) -> Array:
    match fn:
        case "sum":
            return np.sum(x, axis=along, keepdims=True)
        case "mean":
            return np.sum(x, axis=along, keepdims=True) / count
        case "rms":
            return np.sqrt(np.sum(np.square(x), axis=along, keepdims=True) / count)


def run_block_graph(
    block: BlockGraph, operands: list[Array], types: tuple[TensorType, ...], sizes: Mapping[str, int]
) -> Array:
    """A custom kernel's result: every block of the grid in turn, every iteration of the loop in turn.

    Raises:
        ShapeError: the maps are open, or a tile is not whole at these sizes.
    """
    if block.is_open:
        raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
    tiles = block_types(block, types)
    for t in tiles:
        for d in t.dims:
            d.value(sizes)
    grid = [p.size.value(sizes) for p in block.grid]
    result = np.full([d.value(sizes) for d in tiles[-1].dims], np.nan, dtype=np.result_type(*operands))
    written = np.zeros(result.shape, dtype=bool)
    store = block.nodes[-1].op
    assert isinstance(store, Store), "BlockGraph ends with its store"
    for where in product(*map(range, grid)):
        tile = _run_block(block, operands, sizes, where)
        place = _slices(tile.shape, store.omap or (), where)
        old = result[place]
        clash = written[place] & ~_same(old, tile)
        result[place] = np.where(clash, np.nan, tile) if clash.any() else tile
        written[place] = True
    return result


def _same(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    if a.dtype == object:
        return np.asarray(a == b, dtype=bool)
    return np.isclose(a, b, rtol=1e-9, atol=1e-12)


def _slices(tile: tuple[int, ...], cut: tuple[int | None, ...], where: tuple[int, ...]) -> tuple[slice, ...]:
    starts = [0] * len(tile)
    for coordinate, along in zip(where, cut, strict=True):
        if along is not None:
            starts[along] += coordinate * tile[along]
    return tuple(slice(s, s + n) for s, n in zip(starts, tile, strict=True))


def _run_block(block: BlockGraph, operands: list[Array], sizes: Mapping[str, int], where: tuple[int, ...]) -> Array:
    when = phases(block)
    iterations = block.loop.size.value(sizes) if block.loop else 1
    values: dict[int, Array] = {}
    sums: dict[int, Array] = {}
    for i in range(iterations):
        for position, node in enumerate(block.nodes):
            if isinstance(node.op, Accumulate):
                part = _partial(node.op, values[node.args[0]])
                sums[position] = sums[position] + part if position in sums else part
            elif when[position] == "loop" or (when[position] == "invariant" and i == 0):
                if isinstance(node.op, Load):
                    values[position] = _tile(block, node.op, operands[node.op.operand], sizes, where, i)
                else:
                    assert not isinstance(node.op, Input | Custom | Store), "no kernel-level operator in a block"
                    values[position] = apply(node.op, [values[a] for a in node.args])
    for position, node in enumerate(block.nodes):
        if isinstance(node.op, Accumulate):
            values[position] = _finish(node.op, sums[position], values[node.args[0]], iterations)
        elif when[position] == "after":
            if isinstance(node.op, Store):
                return values[node.args[0]]
            assert not isinstance(node.op, Input | Custom | Load), "loads are never behind the loop"
            values[position] = apply(node.op, [values[a] for a in node.args])
    raise AssertionError("BlockGraph ends with its store")


def _tile(
    block: BlockGraph, load: Load, operand: Array, sizes: Mapping[str, int], where: tuple[int, ...], i: int
) -> Array:
    window = [(0, n) for n in operand.shape]
    for coordinate, p, along in zip(where, block.grid, load.imap or (), strict=True):
        if along is not None:
            length = window[along][1] // p.size.value(sizes)
            window[along] = (window[along][0] + coordinate * length, length)
    if load.fmap is not None and block.loop is not None:
        start, whole = window[load.fmap]
        length = whole // block.loop.size.value(sizes)
        window[load.fmap] = (start + i * length, length)
    return operand[tuple(slice(s, s + n) for s, n in window)]


def _partial(op: Accumulate, tile: Array) -> Array:
    if op.dim is None:
        return tile
    return np.sum(np.square(tile) if op.fn == "rms" else tile, axis=op.dim, keepdims=True)


def _finish(op: Accumulate, total: Array, tile: Array, iterations: int) -> Array:
    if op.fn == "sum" or op.dim is None:
        return total
    mean = total / (iterations * tile.shape[op.dim])
    return np.sqrt(mean) if op.fn == "rms" else mean
