"""An axis split over blocks: what each block has of a value then, and whether a second kernel can put it together.

A grid dim may cut an axis that a kernel sums over. A block then has all of a tensor that does not have the axis,
one part of a tensor that has it, and of a sum over it the share of its own part. These are the states of
`ir.flow` inside a loop, invariant, chunk and partial: the blocks of the split are its iterations, only nobody
adds them up. So one table decides both; a reduction over the for-loop is here one of the tile.

The shares lie side by side in device memory. A second kernel visits them in its for-loop, one share per
iteration, and its accumulators add up what those of one kernel could have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.ir.axes import AxisNames
from prism_explore.ir.flow import Flow, FlowRule, flow
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    BlockOp,
    Custom,
    Input,
    Load,
    Node,
    Op,
    Reduce,
    Result,
    RunningMax,
    Store,
)
from prism_explore.ir.sgraph import SGraph, consumers

State: TypeAlias = Flow | FlowRule
"""Of a tensor under a choice of cuts; the name of a rule where the choice forbids it."""


def parts_of(axis: str) -> str:
    """The name of the axis that the shares of a split axis lie along."""
    return f"{axis}/s"


def split_states(nodes: Sequence[Node], axes: Sequence[AxisNames], axis: str) -> tuple[State, ...]:
    """What a block has of each tensor where its part of `axis` is all that it sees."""
    return _states(nodes, axes, {axis}, split=True, given={})


def loop_states(
    nodes: Sequence[Node],
    axes: Sequence[AxisNames],
    looped: Collection[str],
    shares: Mapping[int, Flow] | None = None,
) -> tuple[State, ...]:
    """What the for-loop makes of each tensor.

    Args:
        nodes: of a block graph.
        axes: of its tensors.
        looped: the axes that the loop cuts.
        shares: positions of loads that bring one share per iteration, and the state of each.
    """
    return _states(nodes, axes, looped, split=False, given=shares or {})


def share(stored: Flow, axis: str) -> Flow:
    """The state in which a second kernel's loop loads what a first one stored in this state."""
    return Flow("loop", parts_of(axis), partial=True, largest=stored.largest)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two custom kernels of a graph, of which the second adds up what the first stores."""

    first: int
    second: int
    """Positions in the kernel graph."""
    shares: tuple[tuple[int, int], ...]
    """Per result of the first, in order: the position of its load in the second's block graph, and its store's in
    the first's."""


def pair_of(graph: SGraph) -> Pair | None:
    """The two kernels of a graph that may be one split in two; None where its form is another.

    The second reads all that the first stores, nobody else does, and it begins by accumulating each.
    """
    if len(graph.customs) != 2:
        return None
    (first, block), (second, after) = graph.customs
    results = {p: n.op.index for p, n in enumerate(graph.nodes) if isinstance(n.op, Result) and n.args == (first,)}
    results[first] = 0
    read = consumers(graph.nodes)
    inside = consumers(after.nodes)
    shares: dict[int, tuple[int, int]] = {}
    for position, node in enumerate(after.nodes):
        if isinstance(node.op, Load) and (source := graph.nodes[second].args[node.op.operand]) in results:
            if len(inside[position]) != 1 or not _joins(after.nodes[inside[position][0]].op):
                return None
            shares[results[source]] = position, block.stores[results[source]]
    others = {p for r in results for p in read[r]} - {second} - results.keys()
    if len(shares) != len(block.stores) or others or graph.output in results:
        return None
    return Pair(first, second, tuple(shares[k] for k in range(len(block.stores))))


def _joins(op: Op) -> bool:
    return isinstance(op, Accumulate) and op.dim is None


def _states(
    nodes: Sequence[Node], axes: Sequence[AxisNames], cut: Collection[str], *, split: bool, given: Mapping[int, Flow]
) -> tuple[State, ...]:
    states: list[State] = []
    for position, node in enumerate(nodes):
        known: list[Flow] = []
        broken: FlowRule | None = None
        for a in node.args:
            before = states[a]
            if isinstance(before, Flow):
                known.append(before)
            else:
                broken = broken or before
        of, result = tuple(axes[a] for a in node.args), axes[position]
        assert not isinstance(node.op, Input | Band | Custom | Result), "BlockGraph refuses kernel-level operators"
        if broken is not None:
            states.append(broken)
        elif position in given:
            states.append(given[position])
        elif split:
            states.append(_split(node.op, tuple(known), of, result, cut))
        else:
            states.append(flow(node.op, tuple(known), of, result, cut, position))
    return tuple(states)


def _split(
    op: BlockOp, args: tuple[Flow, ...], axes: tuple[AxisNames, ...], result: AxisNames, cut: Collection[str]
) -> State:
    match op:
        case Store():
            return args[0]
        case Accumulate(fn, None):
            kept = not args[0].partial or args[0].largest == (fn == "max")
            return args[0] if kept else "loop.partial"
        case Accumulate(fn, int() as along):
            return flow(Reduce(fn, along), args, axes, result, cut)
        case RunningMax() | AccumulateRescaled():
            return "loop.moves"
        case _:
            return flow(op, args, axes, result, cut)
