"""Split reductions: a grid dim partitions an axis that a kernel reduces, and a second kernel adds the shares.

Each block then has a full tensor if the tensor lacks that axis, one chunk of a tensor that has it, and the share of its
chunk of a sum over it. These are the states of `ir.analysis.loop_flow` inside a loop (invariant, chunk, partial), so
the same transfer function decides both. A reduction over the for-loop counts here as a reduction of the tile.

The shares lie next to each other in device memory. The second kernel reads one share per iteration of its for-loop,
and its accumulators add them. Split-K matrix products and split attention over keys (flash decoding) have this form.

A sum relative to a running maximum is relative to the maximum of its own chunk. Its block stores that maximum as well,
and the second kernel computes the running maximum of these and scales each share once more:

    r = running_max(m);  w = exp(m - r);  accum_rescaled(share * w, r)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.ir.analysis.loop_flow import AFTER, Flow, FlowRule, transfer
from prism_explore.ir.analysis.running_max import dependence_on_max
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import SGraph, consumers
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockOp,
    Custom,
    Input,
    Load,
    Lookup,
    Node,
    Reduce,
    Result,
    RunningMax,
    Store,
    Unary,
)

State: TypeAlias = Flow | FlowRule
"""The state of a tensor, or the name of the rule that forbids it."""


def share_axis(axis: str) -> str:
    """The name of the axis along which the shares of a split axis are stored."""
    return f"{axis}/s"


def split_states(nodes: Sequence[Node], axes: Sequence[AxisNames], axis: str) -> tuple[State, ...]:
    """The state of each tensor in a block that reads one chunk of `axis`."""
    return _states(nodes, axes, {axis}, split=True, given={})


def loop_states(
    nodes: Sequence[Node],
    axes: Sequence[AxisNames],
    looped: Collection[str],
    shares: Mapping[int, Flow] | None = None,
) -> tuple[State, ...]:
    """The state of each tensor under the for-loop.

    Args:
        nodes: of a block graph.
        axes: of its tensors.
        looped: the axes that the loop partitions.
        shares: positions of loads that read one share per iteration, and the state of each.
    """
    return _states(nodes, axes, looped, split=False, given=shares or {})


@dataclass(frozen=True, slots=True)
class Share:
    """One result of the first of two kernels, of which each block stores its share."""

    store: int
    """Position of its store in the first block graph."""
    load: int
    """Position of its load in the second block graph."""
    complete: int | None
    """Position of the node with the complete value; None if it is only a maximum that other shares are relative to."""
    scale: int | None = None
    """Position of the load of the maximum that its terms are relative to."""
    between: tuple[int, ...] = ()
    """Positions of the nodes between `load` and `complete`."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two custom kernels of a graph; the second adds the shares that the first stores."""

    first: int
    second: int
    """Positions in the kernel graph."""
    shares: tuple[Share, ...]
    """Per result of the first, in order."""


def find_split_pair(graph: SGraph) -> Pair | None:
    """The two kernels of a graph that form a split reduction; None if the graph has another form.

    Only the second kernel reads the results of the first. It reads all of them, and completes each share first.
    """
    if len(graph.customs) != 2:
        return None
    (first, block), (second, after) = graph.customs
    results = {p: n.op.index for p, n in enumerate(graph.nodes) if isinstance(n.op, Result) and n.args == (first,)}
    results[first] = 0
    read = consumers(graph.nodes)
    shares: dict[int, Share] = {}
    for position, node in enumerate(after.nodes):
        if isinstance(node.op, Load) and (source := graph.nodes[second].args[node.op.operand]) in results:
            found = _share(after.nodes, position, block.stores[results[source]])
            if found is None:
                return None
            shares[results[source]] = found
    others = {p for r in results for p in read[r]} - {second} - results.keys()
    if len(shares) != len(block.stores) or others or graph.output in results:
        return None
    scales = {s.scale for s in shares.values()}
    if any(s.complete is None and s.load not in scales for s in shares.values()):
        return None
    return Pair(first, second, tuple(shares[k] for k in range(len(block.stores))))


def _share(nodes: tuple[Node, ...], load: int, store: int) -> Share | None:
    """How a share is completed; None if it is not."""
    read = consumers(nodes)
    uses = [(p, nodes[p].op) for p in read[load]]
    sums = [p for p, op in uses if isinstance(op, Accumulate) and op.dim is None]
    if len(uses) == len(sums) == 1:
        return Share(store, load, sums[0])
    running = [p for p, op in uses if op == RunningMax()]
    if len(running) == 1:
        relative = Node(Binary("sub"), (load, running[0]))
        known = {running[0], *sums, *(p for p in read[load] if nodes[p] == relative)}
        return Share(store, load, next(iter(sums), None)) if known == set(read[load]) and len(sums) < 2 else None
    if len(uses) != 1 or uses[0][1] != Binary("mul"):
        return None
    scaled = uses[0][0]
    factor = next((a for a in nodes[scaled].args if a != load), load)
    rescaled = [p for p in read[scaled] if nodes[p].op == AccumulateRescaled() and nodes[p].args[0] == scaled]
    if len(read[scaled]) != 1 or not rescaled or nodes[factor].op != Unary("exp"):
        return None
    relative, run = nodes[factor].args[0], nodes[rescaled[0]].args[1]
    if nodes[relative].op != Binary("sub") or nodes[relative].args[1] != run or nodes[run].op != RunningMax():
        return None
    scale = nodes[relative].args[0]
    if nodes[run].args != (scale,) or not isinstance(nodes[scale].op, Load):
        return None
    return Share(store, load, rescaled[0], scale, (run, relative, factor, scaled))


def second_kernel_states(
    nodes: Sequence[Node], axes: Sequence[AxisNames], shares: Sequence[Share], stored: Sequence[Flow], axis: str
) -> tuple[State, ...]:
    """The state of each tensor of the second kernel under its for-loop over the shares.

    Args:
        nodes: of its block graph.
        axes: of its tensors.
        shares: how each is completed.
        stored: the state of each in the first kernel, in the same order.
        axis: the one that is split.
    """
    part = Flow("loop", share_axis(axis), partial=True)
    given: dict[int, Flow] = {}
    for share, state in zip(shares, stored, strict=True):
        given[share.load] = Flow("loop", share_axis(axis), partial=True, largest=state.largest)
        if share.scale is not None and share.complete is not None:
            given.update(dict.fromkeys(share.between, part))
            given[share.complete] = AFTER
    return loop_states(nodes, axes, (), given)


def stores_shares(graph: SGraph) -> bool:
    """Whether some kernel stores one share per block, so that the size of its result depends on its grid."""
    parameters = set(graph.parameters)
    return any(parameters & set(d.symbols) for t in graph.types() for d in t.dims)


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
        assert not isinstance(node.op, Input | Band | Lookup | Custom | Result), (
            "BlockGraph refuses kernel-level operators"
        )
        if broken is not None:
            states.append(broken)
        elif position in given:
            states.append(given[position])
        elif split:
            states.append(_split(node.op, tuple(known), of, result, cut, position))
        else:
            states.append(transfer(node.op, tuple(known), of, result, cut, position))
    return tuple(states)


def _split(
    op: BlockOp,
    args: tuple[Flow, ...],
    axes: tuple[AxisNames, ...],
    result: AxisNames,
    cut: Collection[str],
    position: int,
) -> State:
    match op:
        case Store():
            return args[0]
        case Accumulate(fn, None):
            kept = not args[0].partial or args[0].largest == (fn == "max")
            return args[0] if kept else "loop.partial"
        case Accumulate(fn, int() as along):
            return transfer(Reduce(fn, along), args, axes, result, cut)
        case AccumulateRescaled(along):
            if dependence_on_max(op, tuple(a.depends_on_max for a in args), axes, result, position) is not None:
                return "loop.moves"
            if along is None:
                return args[0]
            return transfer(Reduce("sum", along), args[:1], axes[:1], result, cut)
        case _:
            return transfer(op, args, axes, result, cut, position)
