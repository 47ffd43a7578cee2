"""Lowering of a block graph to a loop nest, node by node.

Input: a block graph at given sizes, its operands and result buffers. Output: a `LoopNest`. A grid dim that no store
names would write the same tile repeatedly; a proved sGraph writes equal values there, so only its first point is run.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from prism_explore.codegen.cpu.block_analysis import BlockAnalysis, LoweringOptions
from prism_explore.codegen.cpu.block_scope import BlockScope, Source, Tile
from prism_explore.codegen.cpu.layout import matching_groups, row_major_index
from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    Affine,
    Apply,
    Buffer,
    Constant,
    LoopNest,
    Map,
    Place,
    Range,
    Read,
    substitute,
)
from prism_explore.codegen.cpu.passes.inline_tiles import inline_tiles
from prism_explore.codegen.cpu.passes.skip_masked import iteration_predicate
from prism_explore.codegen.cpu.reductions import (
    adds_into_accumulator,
    finish_reduction,
    lower_accumulation,
    lower_matmul,
    lower_reduction,
    lower_rescaled_sum,
    lower_running_max,
    lower_scan,
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
    Lookup,
    MatMul,
    Node,
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
from prism_explore.ir.tensors import TensorType

MAX_HOISTED_BYTES = 4 << 20
"""Hoisted tiles of a thread may take so much; beyond it, nothing is hoisted."""


def lower_block(
    title: str,
    block: BlockGraph,
    operands: tuple[Source, ...],
    types: tuple[TensorType, ...],
    outs: tuple[Buffer | None, ...],
    options: LoweringOptions,
) -> LoopNest:
    """The nest of a block graph; a store without a buffer is omitted."""
    buffers = {store: out for store, out in zip(block.stores, outs, strict=True) if out is not None}
    scope = BlockScope(BlockAnalysis(block, types, buffers, options), operands, buffers)
    found = _lower_nodes(title, scope)
    if sum(b.elements * 4 for b in scope.kept_between_blocks) > MAX_HOISTED_BYTES:
        return lower_block(title, block, operands, types, outs, replace(options, hoist=False))
    return found


def _lower_nodes(title: str, scope: BlockScope) -> LoopNest:
    for position, node in enumerate(scope.analysis.block.nodes):
        if position in scope.analysis.needed:
            _lower_node(scope, position, node)
    outer = scope.analysis.outer if scope.analysis.outer is not None and scope.sections.once else frozenset[int]()
    order = (
        *(p for p in scope.analysis.live_grid if p in outer),
        *(p for p in scope.analysis.live_grid if p not in outer),
    )
    found = LoopNest(
        name=title,
        grid=tuple(Range(scope.block_names[p], scope.analysis.size(scope.analysis.block.grid[p])) for p in order),
        outer=len(outer),
        loop=scope.loop,
        scratch=tuple(scope.scratch),
        once=tuple(scope.sections.once),
        before=tuple(scope.sections.before),
        body=tuple(scope.sections.body),
        after=tuple(scope.sections.after),
        nodes=tuple(scope.nodes.items()),
    )
    found = inline_tiles(found, hoist=scope.analysis.options.hoist)
    return replace(found, predicate=iteration_predicate(found))


def _lower_node(scope: BlockScope, position: int, node: Node) -> None:
    dims, phase, hoisted = (
        scope.analysis.dims[position],
        scope.analysis.phases[position],
        scope.analysis.is_hoisted(position),
    )
    args = [scope.tiles[a] for a in node.args if a in scope.tiles]
    match node.op:
        case Load() as load:
            scope.tiles[position] = Tile(scope.load(load, dims), phase, False)
        case Store():
            dims = scope.analysis.dims[node.args[0]]
            place = scope.store_place(position, dims)
            if args[0].place != place:
                scope.emit(Map(scope.domain(dims), place, args[0].value), phase, False)
        case Unary(fn):
            scope.define(position, Apply(fn, (args[0].value,)))
        case Scalar(fn, value):
            scope.define(position, Apply(fn, (args[0].value, Constant(value))))
        case Binary("div"):
            scope.define(position, scope.quotient(*node.args))
        case Binary(fn):
            scope.define(position, Apply(fn, (args[0].value, args[1].value)))
        case MatMul():
            if adds_into_accumulator(scope, position):
                return
            target = scope.allocate(f"t{position}", dims, hoisted, phase == "loop")
            lower_matmul(scope, node, target, phase, hoisted)
            scope.tiles[position] = Tile(Read(target), phase, hoisted)
        case Reduce(fn, along):
            count = scope.analysis.dims[node.args[0]][along]
            total = lower_reduction(scope, f"s{position}", fn, node.args[0], along, phase, hoisted)
            scope.define(position, finish_reduction(fn, total, count))
        case Scan(fn, along):
            lower_scan(scope, position, fn, node.args[0], along)
        case Accumulate(fn, along):
            lower_accumulation(scope, position, node, fn, along)
        case RunningMax(along):
            lower_running_max(scope, position, node.args[0], along)
        case AccumulateRescaled(along):
            if scope.loop:
                lower_rescaled_sum(scope, position, node, along)
            else:
                lower_accumulation(scope, position, Node(node.op, node.args[:1]), "sum", along)
        case Permute() | Expand() | Slice() as view:
            scope.define(position, substitute(args[0].value, _indices(scope, view, dims)))
        case Reshape():
            _lower_reshape(scope, position, node.args[0])
        case Concat(along):
            _lower_concat(scope, position, node, along)
        case Input() | Band() | Lookup() | Custom() | Result():
            raise AssertionError("BlockGraph refuses kernel-level operators")


def _indices(scope: BlockScope, op: Permute | Expand | Slice, dims: tuple[int, ...]) -> dict[str, Affine]:
    """For each variable of the operand's dims, its affine expression in those of the result."""
    rank = len(dims)
    match op:
        case Permute(order):
            return {scope.name(rank, source): ((scope.name(rank, d), 1),) for d, source in enumerate(order)}
        case Expand(along, _):
            return {scope.name(rank, along): ()}
        case Slice(along, start, _):
            name = scope.name(rank, along)
            own: Affine = ((name, 1),) if dims[along] > 1 else ()
            return {name: (*own, *(((ONE, start.constant),) if start.constant else ()))}


def _lower_reshape(scope: BlockScope, position: int, arg: int) -> None:
    """Dims that split are another index of the same expression; dims that merge are copied into contiguous memory."""
    old, new = scope.analysis.dims[arg], scope.analysis.dims[position]
    pairs = matching_groups(old, new)
    tile = Tile(scope.tiles[arg].value, scope.analysis.phases[position], scope.analysis.is_hoisted(position))
    if any(sum(old[d] > 1 for d in a) > 1 and not _same_extents(old, a, new, b) for a, b in pairs):
        flat = tuple(prod(old[d] for d in a) for a, _ in pairs)
        written = tuple(row_major_index([(scope.name(len(old), d), old[d]) for d in a]) for a, _ in pairs)
        target = scope.allocate(f"t{position}", flat, tile.hoisted, tile.phase == "loop", written)
        scope.emit(Map(scope.domain(old), target, tile.value), tile.phase, tile.hoisted)
        read = tuple(row_major_index([(scope.name(len(new), d), new[d]) for d in b]) for _, b in pairs)
        looped = target.index[: len(target.index) - len(flat)]
        scope.tiles[position] = replace(tile, value=Read(Place(target.buffer, (*looped, *read))))
        return
    by: dict[str, Affine] = {}
    for a, b in pairs:
        kept = [d for d in a if old[d] > 1]
        split = [d for d in b if new[d] > 1]
        if len(kept) == 1:
            by[scope.name(len(old), kept[0])] = row_major_index([(scope.name(len(new), d), new[d]) for d in split])
        else:
            for d, e in zip(kept, split, strict=True):
                by[scope.name(len(old), d)] = ((scope.name(len(new), e), 1),)
    scope.define(position, substitute(tile.value, by))


def _lower_concat(scope: BlockScope, position: int, node: Node, along: int) -> None:
    """Two statements that write parts of one tile."""
    dims, phase, hoisted = (
        scope.analysis.dims[position],
        scope.analysis.phases[position],
        scope.analysis.is_hoisted(position),
    )
    target = scope.allocate(f"t{position}", dims, hoisted, phase == "loop")
    place = len(target.index) - len(dims) + along
    start = 0
    for arg in node.args:
        part = scope.analysis.dims[arg]
        index = list(target.index)
        index[place] = (
            *(((scope.name(len(dims), along), 1),) if part[along] > 1 else ()),
            *(((ONE, start),) if start else ()),
        )
        written = Place(target.buffer, tuple(index))
        scope.emit(Map(scope.domain(part), written, scope.tiles[arg].value), phase, hoisted)
        start += part[along]
    scope.tiles[position] = Tile(Read(target), phase, hoisted)


def _same_extents(old: tuple[int, ...], a: tuple[int, ...], new: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return [old[d] for d in a if old[d] > 1] == [new[d] for d in b if new[d] > 1]
