"""What operators and the machine demand of the maps of one custom kernel.

The unknowns are index axes, not tensor dims: each is whole, cut by one grid dim, or cut by the loop.
So the published constraints on maps (a parallel dim cuts at most one dim of a tensor, a dim is cut by
at most one grid dim, matching dims are cut alike) hold by construction; what is left is the table here
and the one in `ir.flow`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from prism_explore.events.kinds import Reason
from prism_explore.ir.analysis.loop_flow import FLOW_RULES, Flow
from prism_explore.ir.analysis.split_reduction import loop_states
from prism_explore.ir.axes import AxisNames, unchanged_axes
from prism_explore.ir.axis_typing import reduced_axis
from prism_explore.ir.ops import (
    Binary,
    BlockGraph,
    Concat,
    Expand,
    Reshape,
    Scalar,
    Slice,
    Store,
    Unary,
    ViewOp,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show_node


class Machine(Protocol):
    """What instantiation needs to know about a target."""

    @property
    def shared_memory_bytes(self) -> int:
        """Memory that one block can hold its tiles in."""
        ...


CONSTRAINTS: dict[str, str] = {
    **FLOW_RULES,
    "grid.stored": "A grid dim cuts an axis that the result does not have, so blocks race for one place.",
    "grid.reduced": "A grid dim cuts an axis that a block reduces, so each block sees a part of the sum.",
    "grid.viewed": "A grid dim cuts an axis that a view takes apart.",
    "grid.once": "A grid dim cuts an axis that occurs in two dims of one tensor.",
    "grid.some": "A single block is the case of grid size 1 of a candidate whose grid cuts something.",
    "split.whole": "A grid dim splits an axis of which a result is no sum, so its blocks do not store shares of it.",
    "mem.smem": "Two tiles that are needed at once exceed the shared memory, however fine the cuts.",
}
"""What a choice of maps must not do, by name."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that a choice breaks, and where."""

    rule: str
    node: int | None = None
    """Position in the block graph."""


@dataclass(frozen=True, slots=True)
class TypedBlock:
    """A block graph with the axes of its tensors."""

    block: BlockGraph
    axes: tuple[AxisNames, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every axis of the block once, in order of appearance."""
        return tuple(dict.fromkeys(a for axes in self.axes for a in axes if a))


def loop_violation(typed: TypedBlock, looped: frozenset[str]) -> Violation | None:
    """What cutting exactly these axes by the loop breaks, or None if it is legal."""
    states = loop_states(typed.block.nodes, typed.axes, looped)
    return next((Violation(made, at) for at, made in enumerate(states) if not isinstance(made, Flow)), None)


def grid_violation(typed: TypedBlock, axis: str, by_one: bool = False) -> Violation | None:
    """What cutting an axis by a grid dim breaks, or None if it is legal.

    With `by_one` a result that has the axis is enough: of one that has no part in it all blocks store the same.
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
                if reduced_axis(op, tuple(typed.axes[a] for a in node.args)) == axis:
                    return Violation("grid.reduced", position)
    return None


def memory_violation(
    block: BlockGraph, types: tuple[TensorType, ...], limit_bytes: int
) -> tuple[Violation, int] | None:
    """Where the two largest tiles alive at one operator exceed shared memory at the finest cuts.

    A dim that a grid or loop size divides can be cut down to 1; a dim that is whole stays whole, and
    counts as 1 while its size is a symbol.

    Units: bytes.
    """
    parallel = {s for p in block.parallel for s in p.size.symbols}

    def least(t: TensorType) -> int:
        size = TensorType((), t.dtype).bytes.constant or 1
        for d in t.dims:
            size *= 1 if parallel & set(d.symbols) else d.constant or 1
        return size

    for position, node in enumerate(block.nodes):
        alive = set(node.args)
        if not isinstance(node.op, Unary | Scalar | Binary | ViewOp | Store):
            alive.add(position)
        total = sum(sorted(least(types[i]) for i in alive)[-2:])
        if total > limit_bytes:
            return Violation("mem.smem", position), total
    return None


def rejection_reason(broken: Violation, block: BlockGraph, formula: str, substitution: Mapping[str, str]) -> Reason:
    """The reason card of a broken constraint."""
    where = dict(substitution)
    if broken.node is not None:
        where["operator"] = f"%{broken.node} = {show_node(block.nodes[broken.node])}"
    code = {"grid.some": "dup.canonical", "mem.smem": "mem.smem"}.get(broken.rule, "map.constraint")
    reopens = {
        "mem.smem": "the target had more shared memory",
        "grid.some": "single blocks were wanted as candidates of their own",
    }.get(broken.rule, "a tensor of the kernel could be cut in two ways")
    return Reason(
        code=code,
        layer="instantiate",
        soundness="sound",
        rule=broken.rule,
        sentence=CONSTRAINTS[broken.rule],
        formula=formula,
        substitution=where,
        would_reopen_if=reopens,
    )
