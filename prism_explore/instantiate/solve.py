"""Enumerate the legal choices of maps of a family, in a stable order.

Input: a family. Output: candidates, and events for rejected choices. Method: for each custom kernel, enumerate the set
of axes that the loop partitions and the set of axes that grid dims partition, one each. Grid dims are interchangeable,
so x takes the first axis of the set and y the second; permutations do not occur. Both sets are enumerated by size, then
in the order of the axes. That is a few dozen cases at most; enumerating maps per tensor would be millions.

A rejected choice is reported once per constraint and operator, not once per completion of the choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, count, islice, product

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, CandidateRejected
from prism_explore.instantiate.apply_maps import Maps, describe_uses, replace_blocks, with_maps
from prism_explore.instantiate.constraints import (
    Machine,
    TypedBlock,
    Violation,
    grid_violation,
    loop_choices,
    memory_violation,
    rejection_reason,
)
from prism_explore.instantiate.split_maps import SplitMaps, split_maps, without_loop
from prism_explore.ir.analysis.split_reduction import Pair, find_split_pair
from prism_explore.ir.axes import AxisNames, axes_of
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.axis_typing import result_axes
from prism_explore.ir.dims import ONE
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Band,
    BlockGraph,
    Custom,
    Input,
    Load,
    Node,
    Reshape,
    Result,
    Store,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.pipeline.search_space import Space
from prism_explore.pipeline.stages import Candidate, Family, KernelSequence
from prism_explore.support.union_find import UnionFind


def instantiate(family: Family, space: Space, target: Machine, journal: Journal) -> Iterator[Candidate]:
    """The family's candidates: one per legal choice of maps for all custom kernels.

    The two kernels of a split share one choice; other kernels have a choice each.
    """
    if family.sequence is not None:
        yield from _sequence_candidates(family, family.sequence, space, target, journal)
        return
    typed = typed_blocks(family)
    pair = find_split_pair(family.sgraph) if space.results else None
    choices: Iterator[tuple[tuple[Maps, ...], SGraph]] = iter(())
    if pair is None or len(typed) <= space.custom_kernels:
        per_kernel = [list(_admissible(family, t, k, space, target, journal)) for k, t in enumerate(typed, 1)]
        choices = ((chosen, replace_blocks(family.sgraph, chosen)) for chosen in product(*per_kernel))
    if pair is not None:
        choices = chain(choices, _split(family, typed, pair, space, target, journal))
    for nth, (chosen, graph) in enumerate(choices, 1):
        assert [t.dims for t in graph.output_types] == [t.dims for t in family.program.graph.output_types], (
            "maps change no dims"
        )
        uses = tuple(c.uses for c in chosen)
        candidate = Candidate(f"{family.id}.c{nth}", family, graph, uses, graph.conditions())
        journal.append(
            CandidateInstantiated(
                candidate.id, family.id, show(graph), describe_uses(chosen), tuple(map(str, candidate.conditions))
            )
        )
        yield candidate


def _sequence_candidates(
    family: Family, sequence: KernelSequence, space: Space, target: Machine, journal: Journal
) -> Iterator[Candidate]:
    """The candidates of a kernel sequence: first the first choice of every kernel, then another choice for one kernel.

    Only choices whose grid partitions the most axes are used; the others are special cases with some sizes 1. Largest
    kernels are changed first. There are `Space.row_maps` candidates at most, because each is proved as a full program.
    """
    alone = replace(space, results=0, custom_kernels=1)
    choices: list[list[Candidate]] = []
    for _, part in sequence.families:
        found = list(instantiate(part, alone, target, Journal()))
        most = max((_grid_rank(c) for c in found), default=0)
        choices.append([c for c in found if _grid_rank(c) == most])
    if not all(choices):
        return
    first = [c[0] for c in choices]
    largest = sorted(range(len(first)), key=lambda k: -len(sequence.families[k][1].program.graph.nodes))
    others = ((k, choices[k][turn]) for turn in range(1, max(map(len, choices))) for k in largest if choices[k][turn:])
    rows = chain([first], ([*first[:k], c, *first[k + 1 :]] for k, c in others))
    for nth, row in enumerate(islice(rows, space.row_maps), 1):
        graphs = {number: c.sgraph for (number, _), c in zip(sequence.families, row, strict=True)}
        graph = sequence.full_graph(graphs)
        candidate = Candidate(f"{family.id}.c{nth}", family, graph, (), graph.conditions())
        described = tuple(f"kernel {k}: {use}" for k, c in enumerate(row, 1) for uses in c.uses for use in uses)
        journal.append(
            CandidateInstantiated(
                candidate.id, family.id, show(graph), described, tuple(map(str, candidate.conditions))
            )
        )
        yield candidate


def _grid_rank(candidate: Candidate) -> int:
    return sum(u.grid is not None for uses in candidate.uses for u in uses)


def _admissible(
    family: Family, typed: TypedBlock, number: int, space: Space, target: Machine, journal: Journal
) -> Iterator[Maps]:
    """The legal choices for one kernel; rejections are reported once per constraint and operator."""
    reported: set[tuple[str, int | None]] = set()

    def reject(violation: Violation, uses: tuple[AxisUse, ...], formula: str, **substitution: str) -> None:
        if (violation.rule, violation.node) not in reported:
            reported.add((violation.rule, violation.node))
            reason = rejection_reason(violation, typed.block, formula, substitution)
            journal.append(CandidateRejected(family.id, tuple(map(str, uses)), reason))

    grid_axes: list[str] = []
    for axis in typed.names:
        violation = grid_violation(typed, axis)
        if violation is None:
            grid_axes.append(axis)
        else:
            reject(violation, (AxisUse(axis, 0),), "axis may be cut by a grid dim", axis=axis)
    loops = loop_choices(typed)
    for violation, looped in loops.broken:
        uses = tuple(AxisUse(a, looped=True) for a in looped)
        reject(violation, uses, "axes may be cut by the loop", axes=", ".join(looped) or "none")
    grids = [g for g in _subsets(grid_axes, space.grid_dims) if g or not grid_axes]
    if loops.legal and grid_axes:
        reject(Violation("grid.some"), (), "some axis is cut by the grid", cut="none", may_be_cut=", ".join(grid_axes))
    operands = _operands(family.sgraph, family.sgraph.customs[number - 1][0])
    for looped in loops.legal:
        for grid in grids:
            if looped & set(grid):
                continue
            uses = tuple(AxisUse(a, grid.index(a) if a in grid else None, a in looped) for a in typed.names)
            block = with_maps(typed, uses, len(grid), number, family.sgraph.data_symbols)
            excess = memory_violation(block, block_types(block, operands), target.shared_memory_bytes)
            if excess is None:
                yield Maps(uses, block)
            else:
                violation, total = excess
                limit = f"{target.shared_memory_bytes} B"
                reject(violation, uses, "least sum ≤ shared memory", least_sum=f"{total} B", shared_memory=limit)


def _split(
    family: Family, typed: tuple[TypedBlock, ...], pair: Pair, space: Space, target: Machine, journal: Journal
) -> Iterator[tuple[tuple[Maps, Maps], SGraph]]:
    """The legal choices for the two kernels of a split, and the graph of each.

    Rejections are reported once per axis and constraint. Many choices have one of their kernels in common, so what
    depends on one kernel only is kept.
    """
    reported: set[tuple[str, int, Violation]] = set()
    all_at_once: dict[Maps, Maps | None] = {}
    excesses: dict[tuple[BlockGraph, tuple[TensorType, ...]], tuple[Violation, int] | None] = {}
    for choice in split_maps(family.sgraph, typed, pair, space.grid_dims):
        if not isinstance(choice, SplitMaps):
            axis, number, violation = choice
            reason = rejection_reason(violation, typed[number].block, "a grid dim may split the axis", {"axis": axis})
            journal.append(CandidateRejected(family.id, (f"{axis}<->split",), reason))
            continue
        first, second = choice.maps
        graph = replace_blocks(family.sgraph, choice.maps)
        if second not in all_at_once:
            all_at_once[second] = _all_at_once(graph, second, pair)
        ways = [(choice.maps, graph)]
        if (other := all_at_once[second]) is not None:
            ways.append(((first, other), replace_blocks(family.sgraph, (first, other))))
        for chosen, graph in ways:
            types, fits = graph.types(), True
            for number, (position, block) in enumerate(graph.customs):
                key = block, tuple(types[a] for a in graph.nodes[position].args)
                if key not in excesses:
                    excesses[key] = memory_violation(block, block_types(*key), target.shared_memory_bytes)
                excess = excesses[key]
                fits &= excess is None
                if excess is not None and (choice.axis, number, excess[0]) not in reported:
                    reported.add((choice.axis, number, excess[0]))
                    values = {"least_sum": f"{excess[1]} B", "shared_memory": f"{target.shared_memory_bytes} B"}
                    reason = rejection_reason(excess[0], block, "least sum ≤ shared memory", values)
                    journal.append(CandidateRejected(family.id, describe_uses(chosen), reason))
            if fits:
                yield chosen, graph


def _all_at_once(graph: SGraph, second: Maps, pair: Pair) -> Maps | None:
    """The second kernel of a graph when it reads all partial results in one tile, not one per iteration."""
    block = without_loop(graph, pair)
    return None if block is None else Maps(tuple(replace(use, looped=False) for use in second.uses), block)


def _operands(graph: SGraph, position: int) -> tuple[TensorType, ...]:
    types = graph.types()
    return tuple(types[a] for a in graph.nodes[position].args)


def _subsets(axes: tuple[str, ...] | list[str], largest: int) -> Iterator[tuple[str, ...]]:
    for size in range(min(largest, len(axes)) + 1):
        yield from combinations(axes, size)


def typed_blocks(family: Family) -> tuple[TypedBlock, ...]:
    """Per custom kernel of a family, its block graph with the index axes of all tensors, named as in the program.

    Where an operator aligns two different axes (dims that match by size only), they are merged, because they can only
    be partitioned alike. A view has the axes that it has in the program. A dim that only a new view creates has no
    axis, so it is not partitioned; where an operator aligns it with an axis, it is that axis, which the view takes
    apart, so neither is partitioned.
    """
    duplicated = duplicate_inputs(family.program)
    program = duplicated.program.graph
    table = axes_of(program)
    known = {
        node.op.name: axes for node, axes in zip(program.nodes, table.of, strict=True) if isinstance(node.op, Input)
    }
    bands = iter([axes for n, axes in zip(program.nodes, table.of, strict=True) if isinstance(n.op, Band)])
    known_names = frozenset(a.name for a in table.axes)
    same = UnionFind(a.name for a in table.axes)
    new = (f"new {n}" for n in count())

    def unify(a: str | None, b: str | None) -> str | None:
        if a is None or b is None:
            return a or b
        same.union(a, b)
        return same.find(a)

    def result(node: Node, args: tuple[AxisNames, ...]) -> AxisNames:
        if (known := table.views.get((node.op, args))) is not None:
            return known
        match node.op:
            case Reshape(dims):
                return tuple(None if d == ONE else next(new) for d in dims)
            case Store():
                return args[0]
            case Input() | Band() | Load() | Custom() | Result():
                raise AssertionError("the caller handles these")
            case op:
                return result_axes(op, args, absent=None, fresh=lambda _: None, align=unify, contract=unify)

    blocks: list[tuple[BlockGraph, list[AxisNames], int]] = []
    kernel: list[AxisNames] = []
    for position, node in enumerate(duplicated.restore_copies(family.sgraph).nodes):
        match node.op:
            case Input(name, _):
                kernel.append(known[name])
            case Band():
                kernel.append(next(bands, (None, None)))
            case Result(index):
                block, inside = next((b, i) for b, i, at in blocks if at == node.args[0])
                kernel.append(inside[block.stores[index]])
            case Custom(block):
                inside: list[AxisNames] = []
                for inner in block.nodes:
                    if isinstance(inner.op, Load):
                        inside.append(kernel[node.args[inner.op.operand]])
                    else:
                        inside.append(result(inner, tuple(inside[a] for a in inner.args)))
                blocks.append((block, inside, position))
                kernel.append(inside[block.stores[0]])
            case _:
                kernel.append(result(node, tuple(kernel[a] for a in node.args)))

    def known_name(axis: str | None) -> str | None:
        found = None if axis is None or axis not in same else same.find(axis)
        return found if found in known_names else None

    return tuple(
        TypedBlock(block, tuple(tuple(map(known_name, axes)) for axes in inside))
        for (_, block), (_, inside, _) in zip(family.sgraph.customs, blocks, strict=True)
    )
