"""The nest of a block graph, node by node.

A grid dim that no store names would write the same tile again and again; a proved sGraph writes the same
values there, so only its first point is run.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from prism_explore.codegen.cpu.block_facts import Facts, Lowering
from prism_explore.codegen.cpu.block_scope import Frame, Source, Tile
from prism_explore.codegen.cpu.layout import groups, row_major
from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    Affine,
    Apply,
    Buffer,
    Constant,
    Map,
    Nest,
    Place,
    Range,
    Read,
    substituted,
)
from prism_explore.codegen.cpu.passes.skip_masked import needed_iterations
from prism_explore.codegen.cpu.reductions import (
    accumulate,
    adds_into_accumulator,
    contract,
    finished,
    rescaled,
    running,
    summed,
)
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
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.tensors import TensorType

KEEP_BYTES = 4 << 20
"""What a thread may keep between blocks; beyond it, nothing is done once."""


def nest(
    title: str,
    block: BlockGraph,
    operands: tuple[Source, ...],
    types: tuple[TensorType, ...],
    outs: tuple[Buffer | None, ...],
    choices: Lowering,
) -> Nest:
    """The nest of a block graph; a store without a buffer is left out."""
    made = {store: out for store, out in zip(block.stores, outs, strict=True) if out is not None}
    frame = Frame(Facts(block, types, made, choices), operands, made)
    found = _written(title, frame)
    if sum(b.elements * 4 for b in frame.kept) > KEEP_BYTES:
        return nest(title, block, operands, types, outs, replace(choices, hoist=False))
    return found


def _written(title: str, frame: Frame) -> Nest:
    for position, node in enumerate(frame.facts.block.nodes):
        if position in frame.facts.needed:
            _write_node(frame, position, node)
    outer = frame.facts.outer if frame.facts.outer is not None and frame.sections.once else frozenset[int]()
    order = (*(p for p in frame.facts.live if p in outer), *(p for p in frame.facts.live if p not in outer))
    found = Nest(
        name=title,
        grid=tuple(Range(frame.block_names[p], frame.facts.size(frame.facts.block.grid[p])) for p in order),
        outer=len(outer),
        loop=frame.loop,
        scratch=tuple(frame.scratch),
        once=tuple(frame.sections.once),
        before=tuple(frame.sections.before),
        body=tuple(frame.sections.body),
        after=tuple(frame.sections.after),
    )
    return replace(found, needed=needed_iterations(found))


def _write_node(frame: Frame, position: int, node: Node) -> None:
    dims, phase, once = frame.facts.dims[position], frame.facts.when[position], frame.facts.is_once(position)
    args = [frame.tiles[a] for a in node.args if a in frame.tiles]
    match node.op:
        case Load() as load:
            frame.tiles[position] = Tile(frame.loaded(load, dims), phase, False)
        case Store():
            dims = frame.facts.dims[node.args[0]]
            frame.emit(Map(frame.domain(dims), frame.store_place(position, dims), args[0].value), phase, False)
        case Unary(fn):
            frame.define(position, Apply(fn, (args[0].value,)))
        case Scalar(fn, value):
            frame.define(position, Apply(fn, (args[0].value, Constant(value))))
        case Binary("div"):
            frame.define(position, frame.quotient(*node.args))
        case Binary(fn):
            frame.define(position, Apply(fn, (args[0].value, args[1].value)))
        case MatMul():
            if adds_into_accumulator(frame, position):
                return
            target = frame.allocate(f"t{position}", dims, once, phase == "loop")
            contract(frame, node, target, phase, once)
            frame.tiles[position] = Tile(Read(target), phase, once)
        case Reduce(fn, along):
            count = frame.facts.dims[node.args[0]][along]
            total = summed(frame, f"s{position}", fn, node.args[0], along, phase, once)
            frame.define(position, finished(fn, total, count))
        case Accumulate(fn, along):
            accumulate(frame, position, node, fn, along)
        case RunningMax(along):
            running(frame, position, node.args[0], along)
        case AccumulateRescaled(along):
            if frame.loop:
                rescaled(frame, position, node, along)
            else:
                accumulate(frame, position, Node(node.op, node.args[:1]), "sum", along)
        case Permute() | Expand() | Slice() as view:
            frame.define(position, substituted(args[0].value, _indices(frame, view, dims)))
        case Reshape():
            _reshaped(frame, position, node.args[0])
        case Concat(along):
            _concatenated(frame, position, node, along)
        case Input() | Band() | Custom() | Result():
            raise AssertionError("BlockGraph refuses kernel-level operators")


def _indices(frame: Frame, op: Permute | Expand | Slice, dims: tuple[int, ...]) -> dict[str, Affine]:
    """For each variable of the operand's dims, what it is in those of the result."""
    rank = len(dims)
    match op:
        case Permute(order):
            return {frame.name(rank, source): ((frame.name(rank, d), 1),) for d, source in enumerate(order)}
        case Expand(along, _):
            return {frame.name(rank, along): ()}
        case Slice(along, start, _):
            name = frame.name(rank, along)
            own: Affine = ((name, 1),) if dims[along] > 1 else ()
            return {name: (*own, *(((ONE, start.constant),) if start.constant else ()))}


def _reshaped(frame: Frame, position: int, arg: int) -> None:
    """Dims that split are an index of the same expression; dims that merge are written side by side."""
    old, new = frame.facts.dims[arg], frame.facts.dims[position]
    pairs = groups(old, new)
    tile = Tile(frame.tiles[arg].value, frame.facts.when[position], frame.facts.is_once(position))
    if any(sum(old[d] > 1 for d in a) > 1 and not _alike(old, a, new, b) for a, b in pairs):
        flat = tuple(prod(old[d] for d in a) for a, _ in pairs)
        written = tuple(row_major([(frame.name(len(old), d), old[d]) for d in a]) for a, _ in pairs)
        target = frame.allocate(f"t{position}", flat, tile.once, tile.phase == "loop", written)
        frame.emit(Map(frame.domain(old), target, tile.value), tile.phase, tile.once)
        read = tuple(row_major([(frame.name(len(new), d), new[d]) for d in b]) for _, b in pairs)
        looped = target.index[: len(target.index) - len(flat)]
        frame.tiles[position] = replace(tile, value=Read(Place(target.buffer, (*looped, *read))))
        return
    by: dict[str, Affine] = {}
    for a, b in pairs:
        kept = [d for d in a if old[d] > 1]
        whole = [d for d in b if new[d] > 1]
        if len(kept) == 1:
            by[frame.name(len(old), kept[0])] = row_major([(frame.name(len(new), d), new[d]) for d in whole])
        else:
            for d, e in zip(kept, whole, strict=True):
                by[frame.name(len(old), d)] = ((frame.name(len(new), e), 1),)
    frame.define(position, substituted(tile.value, by))


def _concatenated(frame: Frame, position: int, node: Node, along: int) -> None:
    """Two writes into one tile."""
    dims, phase, once = frame.facts.dims[position], frame.facts.when[position], frame.facts.is_once(position)
    target = frame.allocate(f"t{position}", dims, once, phase == "loop")
    place = len(target.index) - len(dims) + along
    start = 0
    for arg in node.args:
        part = frame.facts.dims[arg]
        index = list(target.index)
        index[place] = (
            *(((frame.name(len(dims), along), 1),) if part[along] > 1 else ()),
            *(((ONE, start),) if start else ()),
        )
        written = Place(target.buffer, tuple(index))
        frame.emit(Map(frame.domain(part), written, frame.tiles[arg].value), phase, once)
        start += part[along]
    frame.tiles[position] = Tile(Read(target), phase, once)


def _alike(old: tuple[int, ...], a: tuple[int, ...], new: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return [old[d] for d in a if old[d] > 1] == [new[d] for d in b if new[d] > 1]
