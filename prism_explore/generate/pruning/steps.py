"""The steps that rules test: operators added to kernel graphs and block graphs, new kernels, splits, finished graphs.

A step has the graph before it. It computes other properties when a rule first needs them, because most steps are cut
by one of the first rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from prism_explore.cost.roofline import PartialTimeBound
from prism_explore.generate.abstract_expr.operator_lower_bound import Parts
from prism_explore.generate.canonical_order import Application, Args
from prism_explore.generate.pruning.facts import ILLEGAL_LOOP, ProgramFacts
from prism_explore.generate.size_matching import may_merge_axes, merge_axes_in_block
from prism_explore.generate.split_kernels import Split
from prism_explore.generate.state import BlockApplication, BlockState, KernelState, Tensor
from prism_explore.ir.analysis.loop_flow import Flow
from prism_explore.ir.axes import AxisNames, compute_axes
from prism_explore.ir.axis_typing import uncut_axis
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    ComputeOp,
    LoopOp,
    Node,
    Reduce,
    RunningMax,
    Scan,
    ViewOp,
)
from prism_explore.support.lazy import lazy_property


class OperandTypes(NamedTuple):
    """An operator and the axes of its operands."""

    facts: ProgramFacts
    op: ComputeOp | LoopOp
    args: Args
    operands: tuple[Tensor, ...]
    axes: tuple[AxisNames, ...]
    result: AxisNames | None
    """Axes of the result; None if the operands do not match."""

    def value(self) -> Tensor:
        """The result, without its loop states."""
        assert self.result is not None, "operands that do not match are cut"
        return self.facts.value(self.op, self.args, self.operands, self.axes, self.result)


def operand_types(
    facts: ProgramFacts, op: ComputeOp | LoopOp, args: Args, state: KernelState | BlockState
) -> OperandTypes | None:
    """An operator with its operands in a graph; None if it is invalid there, such as a sum along a missing dim."""
    operands = tuple([state.tensors[a] for a in args])
    axes = tuple([t.axes for t in operands])
    along = op.dim if isinstance(op, Reduce | Scan | Accumulate | RunningMax | AccumulateRescaled) else None
    if along is not None and (along >= len(axes[0]) or axes[0][along] is None):
        return None
    in_loop = isinstance(op, Accumulate | RunningMax | AccumulateRescaled)
    if in_loop and any(t.after_loop for t in operands) and not facts.space.active(ILLEGAL_LOOP):
        return None
    if isinstance(op, ViewOp):
        result = facts.views(state.merged_axes).get((op, axes))
        return None if result is None else OperandTypes(facts, op, args, operands, axes, result)
    return OperandTypes(facts, op, args, operands, axes, compute_axes(op, axes))


def with_loop_states(typed: OperandTypes, block: BlockState, tensor: Tensor) -> Tensor:
    """A result in a block with its loop state under each choice of looped axes."""
    facts, choices = typed.facts, block.choices
    flows = facts.flows(typed.op, typed.operands, tensor.axes, choices, tensor.number, tensor.expression)
    return replace(tensor, flows=flows)


class BlockValue(NamedTuple):
    """The value of an operator in a block graph; its tests do not depend on the rest of the graph."""

    facts: ProgramFacts
    tensor: Tensor


class BlockStep:
    """An operator appended to a block graph."""

    def __init__(self, facts: ProgramFacts, before: BlockState, application: BlockApplication) -> None:
        self.facts, self.before = facts, before
        self.application = application
        self.op = facts.block_operators.entries[application.kind].op
        self.args = application.args
        self.state = merge_axes_in_block(facts, before, self.op, self.args)
        """The graph before the step; axes that the operator matches by size are merged."""
        self.tensor = self._value() if self.state.merged_axes else application.tensor
        """The result."""
        self.goals = before.goals
        """The forms of the result that all values may be parts of; tests reduce it."""

    def _value(self) -> Tensor:
        typed = operand_types(self.facts, self.op, self.args, self.state)
        assert typed is not None, "operands that match by size match with merged axes, too"
        return with_loop_states(typed, self.state, typed.value())

    @property
    def accumulates(self) -> bool:
        """Whether the operator is an accumulator; a running maximum is none."""
        return isinstance(self.op, Accumulate | AccumulateRescaled)

    @property
    def accumulated(self) -> tuple[int, ...]:
        """The tensors that some accumulator reads already."""
        return self.state.accumulated

    @lazy_property
    def unused(self) -> frozenset[int]:
        """Tensors before the result that nothing uses."""
        return self.state.unused.difference(self.args)

    @lazy_property
    def legal(self) -> frozenset[int]:
        """The choices of looped axes that are still legal; tests reduce it."""
        flows = self.tensor.flows
        return frozenset([c for c in self.state.legal if isinstance(flows[c], Flow)])

    @property
    def may_match(self) -> bool:
        """Whether axes may still be merged, so that an illegal loop may become legal."""
        return may_merge_axes(self.facts, self.state)

    @lazy_property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors, the result last."""
        return (*self.state.tensors, replace(self.tensor, node=Node(self.op, self.args)))

    @property
    def joins(self) -> int:
        """The number of operators with two operands that are needed to use all tensors."""
        return len(self.unused)

    @property
    def missing(self) -> int:
        """A lower bound on the operators with one operand that are still needed."""
        return self.facts.missing_operators((*self.tensors, *self.state.kernel_tensors), self.goals)

    @property
    def left_in_block(self) -> int:
        """The number of operators that the block may still get."""
        return self.facts.space.block_ops - len(self.tensors)

    @property
    def left(self) -> int:
        """The number of operators that the block, and the kernel graph after it, may still get."""
        return self.left_in_block + self.state.operators_after

    @lazy_property
    def parts(self) -> tuple[Parts, ...]:
        """Per form of the result, its parts that some tensor has."""
        before = zip(self.state.parts, self.facts.lower_bounds, strict=True)
        return tuple([m | bound.parts_of(self.tensor.expression) for m, bound in before])

    @lazy_property
    def time_bound(self) -> PartialTimeBound:
        """The lower bound on the time."""
        before, bounds, state, tensor = self.state.time_bound, self.facts.bounds, self.state, self.tensor
        if bounds is None or any(t.number == tensor.number for t in state.tensors):
            return before
        operands = tuple(state.tensors[a] for a in self.args)
        flows = (t.flows[c] for t in (*operands, tensor) for c in state.legal)
        pending = frozenset(a for f in flows if isinstance(f, Flow) for a in f.pending)
        return bounds.add_operator(before, self.op, operands, tensor, pending)

    @lazy_property
    def reduced(self) -> frozenset[str]:
        """Axes that some operator reduces or scans, so that no grid dim may partition them."""
        axis = uncut_axis(self.op, tuple([self.state.tensors[a].axes for a in self.args]))
        return self.state.reduced | {axis} if axis else self.state.reduced

    def grown(self) -> BlockState:
        """The block graph with the operator."""
        return replace(
            self.state,
            tensors=self.tensors,
            unused=self.unused | {len(self.state.tensors)},
            goals=self.goals,
            legal=self.legal,
            reduced=self.reduced,
            accumulated=(*self.accumulated, self.args[0]) if self.accumulates else self.accumulated,
            parts=self.parts,
            time_bound=self.time_bound,
        )


class PredefinedStep:
    """A predefined operator appended to a kernel graph."""

    def __init__(self, facts: ProgramFacts, state: KernelState, application: Application, tensor: Tensor) -> None:
        self.facts, self.state, self.tensor = facts, state, tensor
        self.application = application
        self.op = facts.kernel_operators.entries[application.kind].op
        self.args = application.args
        self.accumulated: tuple[int, ...] = ()
        self.unused = state.unused.difference(self.args)
        """Tensors before the result that nothing uses."""
        self.goals = state.goals
        """The forms of the result that all values may be parts of; tests reduce it."""

    @lazy_property
    def time_bound(self) -> PartialTimeBound:
        """The lower bound on the time."""
        bounds, state, tensor = self.facts.bounds, self.state, self.tensor
        if bounds is None:
            return state.time_bound
        time_bound = bounds.open_kernel(state, self.args)
        if all(t.number != tensor.number for t in state.tensors):
            time_bound = bounds.add_operator(time_bound, self.op, [state.tensors[a] for a in self.args], tensor)
        return bounds.close_kernel(time_bound, tensor)

    def grown(self) -> KernelGraph:
        """The kernel graph with the operator."""
        state = self.state
        grown = replace(
            state,
            tensors=(*state.tensors, self.tensor),
            unused=self.unused | {len(state.tensors)},
            goals=self.goals,
            last=self.application.rank,
            predefined=state.predefined + 1,
            time_bound=self.time_bound,
            read=state.read.union(self.args),
        )
        return KernelGraph(self.facts, grown, len(self.unused))


@dataclass(frozen=True)
class KernelGraph:
    """A kernel graph whose newest operator is predefined."""

    facts: ProgramFacts
    state: KernelState
    joins: int
    """The number of operators with two operands that are needed to use all tensors."""

    @property
    def goals(self) -> frozenset[int]:
        """The forms of the result that all values may be parts of."""
        return self.state.goals

    @lazy_property
    def left(self) -> int:
        """The number of operators that it may still get, those in blocks included."""
        return self.facts.operators_left(self.state)

    @property
    def missing(self) -> int:
        """A lower bound on the operators with one operand that are still needed."""
        return self.facts.missing_operators(self.state.tensors, self.goals)

    @lazy_property
    def parts(self) -> tuple[Parts, ...]:
        """Per form of the result, its parts that some tensor has."""
        return self.facts.parts(self.state.tensors)


class KernelOpening:
    """A new custom kernel in a kernel graph, given by the tensors that it reads."""

    def __init__(self, facts: ProgramFacts, state: KernelState, operands: Args) -> None:
        self.facts, self.state, self.operands = facts, state, operands
        self.unused = state.unused.difference(operands)
        """Tensors that the kernel does not read and nothing else uses."""
        self.operators_after = facts.operators_left(replace(state, unused=self.unused, customs=state.customs + 1))
        """The number of operators that may follow the kernel."""

    @lazy_property
    def time_bound(self) -> PartialTimeBound:
        """The lower bound on the time."""
        bounds = self.facts.bounds
        return bounds.open_kernel(self.state, self.operands) if bounds else self.state.time_bound


@dataclass(frozen=True, slots=True)
class OpenedBlock:
    """The block graph of a new custom kernel, which has only loads.

    `limit.needed` and `limit.terms` test it before any operator is added.
    """

    facts: ProgramFacts
    joins: int
    """The number of operators with two operands that are needed to use all tensors."""
    parts: tuple[Parts, ...]
    """Per form of the result, its parts that some tensor has."""
    goals: frozenset[int]
    """The forms of the result that all values may be parts of."""
    left: int
    """The number of operators that the block, and the kernel graph after it, may still get."""


@dataclass(frozen=True, slots=True)
class FinishedBlock:
    """A block graph whose newest tensor may be stored."""

    facts: ProgramFacts
    state: BlockState


@dataclass(frozen=True, slots=True)
class FinishedGraph:
    """A kernel graph whose result is the program's."""

    family: str
    """The earlier family that it equals; empty if there is none."""


@dataclass(frozen=True, slots=True)
class SplitStep:
    """A kernel split into two."""

    facts: ProgramFacts
    split: Split
