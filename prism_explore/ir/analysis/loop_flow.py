"""Data-flow analysis of the for-loop: the state of each block tensor, given the axes that the loop partitions.

Inside the loop a tile is invariant, or it holds one *chunk* of a partitioned axis, or it is a *partial* sum, which
becomes complete when all iterations are added. After the loop a value is exact, or an axis is *pending*: its chunks
were added elementwise, and the tile still has to be summed along the axis. Only linear operators may read partial and
pending values. The transfer function `flow` is the complete legality rule of fmaps. `generate` uses it to prune
early, `instantiate` to decide.

A maximum over a partitioned axis is partial too: it becomes complete when the maximum over all iterations is taken,
and only a maximum may read it before. A running maximum changes from iteration to iteration, and so does what is
computed from it (`ir.analysis.running_max`); only an accumulator that rescales by it corrects for that.

    x[b, d], d in loop  chunk d
    square(x)           chunk d        pointwise, any function
    matmul(x, w)        partial d      contracts the chunk: linear operators only until accumulated
    accum(matmul)       exact          after the loop
    accum(x)            pending d      after the loop; sum(accum(x), d) is exact
    m = running_max(x)  chunk d, depends on m
    exp(x - m)          chunk d, has the factor exp(-m): accum_rescaled(exp(x - m), m, d) is exact
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from prism_explore.ir.analysis.running_max import MaxDependence, dependence_on_max
from prism_explore.ir.axes import AxisNames, unchanged_axes
from prism_explore.ir.graph import Phase
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    BlockOp,
    Concat,
    Expand,
    Load,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)

FlowRule: TypeAlias = Literal[
    "axis.once",
    "loop.diagonal",
    "loop.behind",
    "loop.partial",
    "loop.count",
    "loop.moves",
    "loop.pending",
    "accumulate.varies",
    "store.whole",
    "loop.unmapped",
    "loop.scanned",
]

FLOW_RULES: dict[FlowRule, str] = {
    "axis.once": "An axis that is cut occurs in two dims of one tensor, so one cut would have to mean two.",
    "loop.diagonal": "The loop would cut two axes of one value and visit only matching pairs of chunks.",
    "loop.behind": "A value from inside the loop meets one from behind it.",
    "loop.partial": "A partial sum meets an operator that is not linear.",
    "loop.count": "A mean or root mean square would divide by the wrong number of elements.",
    "loop.moves": "A value moves with a running maximum, and rescaling by that maximum does not make up for it.",
    "loop.pending": "What still has to be summed behind the loop is no part of the result once it is.",
    "accumulate.varies": "An accumulator, or a running maximum, takes a value that is the same in every iteration.",
    "store.whole": "The stored value is not whole behind the loop.",
    "loop.unmapped": "The loop cuts an axis that a view takes apart.",
    "loop.scanned": "The loop cuts an axis along which an operator adds up prefixes.",
}


@dataclass(frozen=True, slots=True)
class Flow:
    """The state of one block tensor, given the axes that the loop partitions."""

    phase: Phase
    axis: str | None = None
    """Inside the loop: the partitioned axis that it varies with."""
    partial: bool = False
    """Inside the loop: a sum over the chunk of `axis`, not a chunk of it."""
    largest: bool = False
    """If partial: whether it is a maximum over the chunk, not a sum."""
    pending: tuple[str, ...] = ()
    """After the loop: axes along which the tile still has to be summed."""
    depends_on_max: MaxDependence | None = None
    """Inside the loop: how it depends on a running maximum."""

    @property
    def exact(self) -> bool:
        """Whether no sum is left to be done."""
        return not self.partial and not self.pending


INVARIANT = Flow("invariant")
AFTER = Flow("after")
_LARGEST = (Accumulate("max"), RunningMax())


def transfer(
    op: BlockOp,
    args: tuple[Flow, ...],
    axes: tuple[AxisNames, ...],
    result: AxisNames,
    looped: Collection[str],
    name: int = 0,
) -> Flow | FlowRule:
    """The transfer function: the state of the result, or the name of the rule that forbids it.

    Args:
        op: a block operator.
        args: states of its operands.
        axes: axes of its operands.
        result: axes of its result (of the loaded tensor for a load).
        looped: the axes that the loop partitions.
        name: a unique number of the result, if it is a running maximum.
    """
    if any(result.count(a) > 1 for a in looped):
        return "axis.once"
    for a in args:
        if a.largest and op not in _LARGEST and not isinstance(op, Store):
            return "loop.partial"
    made = _transfer(op, args, axes, result, looped)
    if isinstance(op, RunningMax) or any(a.depends_on_max for a in args):
        moves = dependence_on_max(op, tuple(a.depends_on_max for a in args), axes, result, name)
        if not isinstance(made, Flow):
            return made
        return "loop.moves" if moves == "lost" else replace(made, depends_on_max=moves)
    return "loop.moves" if isinstance(op, AccumulateRescaled) and isinstance(made, Flow) else made


def _transfer(
    op: BlockOp, args: tuple[Flow, ...], axes: tuple[AxisNames, ...], result: AxisNames, looped: Collection[str]
) -> Flow | FlowRule:
    """The state of the result, dependence on running maxima left out."""
    match op:
        case Load():
            cut = [a for a in result if a in looped]
            if len(cut) > 1:
                return "loop.diagonal"
            return Flow("loop", cut[0]) if cut else INVARIANT
        case Store():
            return AFTER if args[0].phase != "loop" and args[0].exact else "store.whole"
        case Accumulate():
            return _accumulate(op, args[0], axes[0])
        case Unary(fn):
            return args[0] if fn == "neg" or args[0].exact else "loop.partial"
        case Scalar(fn, _):
            return args[0] if fn == "mul" or args[0].exact else "loop.partial"
        case Reduce():
            return _reduce(op, args[0], axes[0])
        case Scan(_, along):
            return "loop.scanned" if axes[0][along] in looped else args[0]
        case Binary(fn):
            return _binary(fn, args[0], args[1])
        case MatMul():
            return _matmul(args[0], args[1], axes[0][-1])
        case Permute():
            return args[0]
        case Expand(along, _) | Slice(along, _, _) | Concat(along):
            return _regroup(args, {result[along], *(a[along] for a in axes)}, looped)
        case Reshape():
            return _regroup(args, {*axes[0], *result} - unchanged_axes(axes[0], result), looped)
        case RunningMax(along):
            state = _accumulate(Accumulate("max", along), args[0], axes[0])
            return Flow("loop", args[0].axis) if isinstance(state, Flow) else state
        case AccumulateRescaled(along):
            return _accumulate(Accumulate("sum", along), args[0], axes[0])


def _accumulate(op: Accumulate, x: Flow, axes: AxisNames) -> Flow | FlowRule:
    if x.phase == "after":
        return "loop.behind"
    if x.phase == "invariant" or x.axis is None:
        return "accumulate.varies"
    reduced = axes[op.dim] if op.dim is not None else None
    if op.fn == "max":
        whole = x.exact and reduced == x.axis
        return AFTER if whole or (x.largest and op.dim is None) else "loop.partial"
    if op.fn != "sum":
        return AFTER if reduced == x.axis and not x.partial else "loop.count"
    return AFTER if x.partial or reduced == x.axis else Flow("after", pending=(x.axis,))


def _reduce(op: Reduce, x: Flow, axes: AxisNames) -> Flow | FlowRule:
    reduced = axes[op.dim]
    cut = x.pending if x.phase == "after" else (x.axis,) if x.axis and not x.partial else ()
    if reduced in cut:
        if op.fn == "max":
            return Flow("loop", x.axis, partial=True, largest=True) if x.phase == "loop" else "loop.partial"
        if op.fn != "sum":
            return "loop.count"
        if x.phase == "after":
            return Flow("after", pending=tuple(a for a in x.pending if a != reduced))
        return Flow("loop", x.axis, partial=True)
    return x if op.fn not in ("rms", "max") or x.exact else "loop.partial"


def _regroup(args: tuple[Flow, ...], touched: Collection[str | None], looped: Collection[str]) -> Flow | FlowRule:
    """The state after a view that regroups axes: it may read partial sums, but no chunk of an axis that it regroups."""
    return "loop.unmapped" if any(a != args[0] for a in args) or any(a in looped for a in touched) else args[0]


def _common_phase(a: Flow, b: Flow) -> Phase | FlowRule:
    phases = {a.phase, b.phase}
    if {"loop", "after"} <= phases:
        return "loop.behind"
    if a.phase == b.phase == "loop" and a.axis != b.axis:
        return "loop.diagonal"
    return "loop" if "loop" in phases else "after" if "after" in phases else "invariant"


_LINEAR_IN_FIRST = ("div", "keep", "drop")
_LINEAR = ("add", "sub", "mul", *_LINEAR_IN_FIRST)
"""Functions that are linear in at least one operand."""


def _binary(fn: str, a: Flow, b: Flow) -> Flow | FlowRule:
    phase = _common_phase(a, b)
    match phase:
        case "invariant":
            return INVARIANT
        case "loop":
            axis = a.axis or b.axis
            if a.exact and b.exact:
                return Flow("loop", axis)
            if fn not in _LINEAR:
                return "loop.partial"
            both = a.partial and b.partial
            legal = both if fn in ("add", "sub") else not both and _constant(b if a.partial else a)
            if fn in _LINEAR_IN_FIRST:
                legal = legal and a.partial
            return Flow("loop", axis, partial=True) if legal else "loop.partial"
        case "after":
            if fn in ("add", "sub"):
                return Flow("after", pending=a.pending) if a.pending == b.pending else "loop.partial"
            if fn not in _LINEAR and (a.pending or b.pending):
                return "loop.partial"
            if (fn in _LINEAR_IN_FIRST and b.pending) or set(a.pending) & set(b.pending):
                return "loop.partial"
            return Flow("after", pending=tuple(sorted((*a.pending, *b.pending))))
        case rule:
            return rule


def _constant(x: Flow) -> bool:
    return x.phase == "invariant"


def _matmul(a: Flow, b: Flow, contracted: str | None) -> Flow | FlowRule:
    phase = _common_phase(a, b)
    match phase:
        case "invariant":
            return INVARIANT
        case "loop":
            axis = a.axis or b.axis
            if a.exact and b.exact:
                return Flow("loop", axis, partial=axis == contracted)
            if (a.partial and _constant(b)) or (b.partial and _constant(a)):
                return Flow("loop", axis, partial=True)
            return "loop.partial"
        case "after":
            pending = {*a.pending, *b.pending}
            if contracted in pending or set(a.pending) & set(b.pending):
                return "loop.partial"
            return Flow("after", pending=tuple(sorted(pending)))
        case rule:
            return rule
