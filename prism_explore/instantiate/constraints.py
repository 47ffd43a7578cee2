"""Constraints of operators and target on the maps of one custom kernel.

The variables are index axes, not dims of tensors: an axis is unpartitioned, or partitioned by one grid dim or by the
loop. The published constraints on maps then hold by construction: a parallel dim partitions at most one dim of a
tensor, a dim is partitioned by at most one grid dim, and matching dims are partitioned alike. The remaining
constraints are those of `CONSTRAINTS`; the ones of loops are in `ir.analysis.loop_flow`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Protocol

from prism_explore.events.kinds import Reason
from prism_explore.ir.analysis.loop_flow import FLOW_RULES, Flow, FlowRule, transfer
from prism_explore.ir.analysis.split_reduction import loop_states
from prism_explore.ir.axes import AxisNames, unchanged_axes
from prism_explore.ir.axis_typing import reduced_axis, scanned_axis
from prism_explore.ir.ops import (
    Band,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    Reshape,
    Result,
    Scalar,
    Slice,
    Store,
    Unary,
    ViewOp,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show_node


class Machine(Protocol):
    """The part of a target that instantiation needs."""

    @property
    def shared_memory_bytes(self) -> int:
        """Memory for the tiles of one block."""
        ...


CONSTRAINTS: dict[str, str] = {
    **FLOW_RULES,
    "grid.stored": "A grid dim cuts an axis that the result does not have, so blocks race for one place.",
    "grid.reduced": "A grid dim cuts an axis that a block reduces, so each block sees a part of the sum.",
    "grid.scanned": "A grid dim cuts an axis along which a block adds up prefixes.",
    "grid.viewed": "A grid dim cuts an axis that a view takes apart.",
    "grid.once": "A grid dim cuts an axis that occurs in two dims of one tensor.",
    "grid.some": "A single block is the case of grid size 1 of a candidate whose grid cuts something.",
    "split.whole": "A grid dim splits an axis of which a result is no sum, so its blocks do not store shares of it.",
    "mem.smem": "Two tiles that are needed at once exceed the shared memory, however fine the cuts.",
}
"""Per constraint, what a choice of maps must not do; events store these sentences."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that a choice of maps violates, and the operator."""

    rule: str
    node: int | None = None
    """The position of the operator in the block graph."""


@dataclass(frozen=True, slots=True)
class TypedBlock:
    """A block graph and the index axes of its tensors."""

    block: BlockGraph
    axes: tuple[AxisNames, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all axes, in order of their first occurrence."""
        return tuple(dict.fromkeys(a for axes in self.axes for a in axes if a))


def loop_violation(typed: TypedBlock, looped: frozenset[str]) -> Violation | None:
    """The violation if the loop partitions exactly these axes; None if that is legal."""
    states = loop_states(typed.block.nodes, typed.axes, looped)
    return next((Violation(state, at) for at, state in enumerate(states) if not isinstance(state, Flow)), None)


@dataclass(frozen=True, slots=True)
class LoopChoices:
    """Which sets of axes the loop may partition, in order of their sizes and then of their axes."""

    legal: tuple[frozenset[str], ...]
    broken: tuple[tuple[Violation, tuple[str, ...]], ...]
    """Per violation, the first set of axes with it."""


def loop_choices(typed: TypedBlock) -> LoopChoices:
    """What `loop_violation` says of every set of axes of a block graph.

    There are 2^n sets of n axes. The state of a tensor depends only on the axes that it was computed from, so the
    nodes are visited in order, and an axis is partitioned or not when the first operator reads it; a violation ends
    all sets that agree so far.
    """
    nodes, names = typed.block.nodes, typed.names
    place = {axis: n for n, axis in enumerate(names)}
    first_loads = len(list(takewhile(lambda node: isinstance(node.op, Load), nodes)))
    legal, first = list[frozenset[str]](), dict[Violation, tuple[str, ...]]()

    def order(axes: Iterable[str]) -> tuple[int, list[int]]:
        at = sorted(place[a] for a in axes)
        return len(at), at

    def note(violation: Violation, looped: Iterable[str]) -> None:
        if violation not in first or order(looped) < order(first[violation]):
            first[violation] = tuple(names[n] for n in order(looped)[1])

    def state(at: int, known: Mapping[int, Flow], looped: frozenset[str]) -> Flow | FlowRule:
        op, args = nodes[at].op, nodes[at].args
        assert not isinstance(op, Input | Band | Lookup | Custom | Result), "BlockGraph refuses kernel-level operators"
        of = tuple(typed.axes[a] for a in args)
        return transfer(op, tuple(known[a] for a in args), of, typed.axes[at], looped, at)

    def visit(at: int, known: Mapping[int, Flow], looped: frozenset[str], decided: frozenset[str]) -> None:
        if at == len(nodes):
            assert len(decided) == len(names), "every load is read"
            legal.append(looped)
            return
        new = [at, *(a for a in nodes[at].args if a not in known)]
        axes = sorted({x for n in (at, *nodes[at].args) for x in typed.axes[n] if x} - decided, key=place.__getitem__)
        for chosen in (frozenset(c) for size in range(len(axes) + 1) for c in combinations(axes, size)):
            cut, states = looped | chosen, dict(known)
            for n in reversed(new):
                found = state(n, states, cut)
                if isinstance(found, Flow):
                    states[n] = found
                    continue
                if n == at and all(isinstance(state(p, {}, cut), Flow) for p in range(first_loads)):
                    note(Violation(found, n), cut)
                break
            else:
                visit(at + 1, states, cut, decided.union(axes))

    visit(first_loads, {}, frozenset(), frozenset())
    # A load is first read by an operator behind it; it is broken by one axis, or by two of its own.
    for looped in (c for size in (1, 2) for c in combinations(names, size)):
        broken = loop_violation(typed, frozenset(looped))
        if broken is not None and broken.node is not None and broken.node < first_loads:
            note(broken, looped)
    return LoopChoices(tuple(sorted(legal, key=order)), tuple(sorted(first.items(), key=lambda pair: order(pair[1]))))


def grid_violation(typed: TypedBlock, axis: str, by_one: bool = False) -> Violation | None:
    """The violation if a grid dim partitions an axis; None if that is legal.

    Args:
        typed: the block graph.
        axis: the axis.
        by_one: whether one result with the axis suffices; all blocks then store the same for results without it.
    """
    for position, axes in enumerate(typed.axes):
        if axes.count(axis) > 1:
            return Violation("grid.once", position)
    without = [store for store in typed.block.stores if axis not in typed.axes[store]]
    if without and not (by_one and len(without) < len(typed.block.stores)):
        return Violation("grid.stored", without[0])
    for position, node in enumerate(typed.block.nodes):
        match node.op:
            case Expand(along, _) | Slice(along, _, _) | Concat(along):
                if any(typed.axes[t][along] == axis for t in (*node.args, position)):
                    return Violation("grid.viewed", position)
            case Reshape():
                before, after = typed.axes[node.args[0]], typed.axes[position]
                if axis in {*before, *after} - unchanged_axes(before, after):
                    return Violation("grid.viewed", position)
            case op:
                operands = tuple(typed.axes[a] for a in node.args)
                if reduced_axis(op, operands) == axis:
                    return Violation("grid.reduced", position)
                if scanned_axis(op, operands) == axis:
                    return Violation("grid.scanned", position)
    return None


def memory_violation(
    block: BlockGraph, types: tuple[TensorType, ...], limit_bytes: int
) -> tuple[Violation, int] | None:
    """The violation if the two largest tiles that one operator needs exceed the shared memory for all sizes.

    The tiles are as small as possible: a dim that a grid or loop size divides counts as 1. An unpartitioned dim counts
    in full, or as 1 if its size is a symbol.

    Returns:
        The violation and the sum of both tiles in bytes; None if they fit.
    """
    parallel = {s for p in block.parallel for s in p.size.symbols}

    def least_bytes(t: TensorType) -> int:
        size = TensorType((), t.dtype).bytes.constant or 1
        for d in t.dims:
            size *= 1 if parallel & set(d.symbols) else d.constant or 1
        return size

    for position, node in enumerate(block.nodes):
        alive = set(node.args)
        if not isinstance(node.op, Unary | Scalar | Binary | ViewOp | Store):
            alive.add(position)
        total = sum(sorted(least_bytes(types[i]) for i in alive)[-2:])
        if total > limit_bytes:
            return Violation("mem.smem", position), total
    return None


def rejection_reason(violation: Violation, block: BlockGraph, formula: str, substitution: Mapping[str, str]) -> Reason:
    """The reason of a rejection, as events store it."""
    where = dict(substitution)
    if violation.node is not None:
        where["operator"] = f"%{violation.node} = {show_node(block.nodes[violation.node])}"
    code = {"grid.some": "dup.canonical", "mem.smem": "mem.smem"}.get(violation.rule, "map.constraint")
    reopens = {
        "mem.smem": "the target had more shared memory",
        "grid.some": "single blocks were wanted as candidates of their own",
    }.get(violation.rule, "a tensor of the kernel could be cut in two ways")
    return Reason(
        code=code,
        layer="instantiate",
        soundness="sound",
        rule=violation.rule,
        sentence=CONSTRAINTS[violation.rule],
        formula=formula,
        substitution=where,
        would_reopen_if=reopens,
    )
