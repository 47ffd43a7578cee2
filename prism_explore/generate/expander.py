"""One step of the enumeration: apply an operator, check the rules in order, and return the next state or the cut.

States are immutable. `enumerator` decides in which order steps are tried, and reports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from prism_explore.cost.roofline import TimeToBeat
from prism_explore.generate.canonical_order import Application, Args
from prism_explore.generate.event_log import CutGroup, group_cuts
from prism_explore.generate.pruning.facts import DUPLICATE, Machine, ProgramFacts
from prism_explore.generate.pruning.rule import ActiveRules, Cut, PruningRule, first_cut
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.pruning.steps import (
    BlockStep,
    BlockValue,
    FinishedBlock,
    FinishedGraph,
    KernelOpening,
    OpenedBlock,
    OperandTypes,
    PredefinedStep,
    SplitStep,
    operand_types,
    with_loop_states,
)
from prism_explore.generate.size_matching import merge_axes_in_block, merge_axes_in_kernel
from prism_explore.generate.split_kernels import Split, enumerate_splits
from prism_explore.generate.state import BlockApplication, BlockState, KernelState, MergedAxes, Tensor
from prism_explore.ir.analysis.loop_flow import Flow, transfer
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import ComputeOp, Load, LoopOp, Node, Op
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import Space


@dataclass(frozen=True, slots=True)
class OperandOutcomes:
    """The outcomes of some operators on the same operands that do not depend on the rest of the graph."""

    cuts: tuple[CutGroup, ...]
    fitting: tuple[tuple[int, Tensor], ...]
    """The operators that pass, by position in the operator set, and their results."""
    invalid: int
    """The number of invalid operators, such as a reduction along a dim that does not exist."""


class Expander:
    """The steps of one program's enumeration in one space."""

    def __init__(
        self,
        program: TensorProgram,
        space: Space,
        target: Machine,
        time_to_beat: TimeToBeat | None = None,
        rules: Iterable[PruningRule] = RULES,
    ) -> None:
        self._rules = ActiveRules(rules, space)
        self.space = space
        self.facts = ProgramFacts(program, space, target, time_to_beat)
        self._outcomes: dict[tuple[int, int, tuple[int, ...]], OperandOutcomes] = {}
        self._cache_outcomes = space.active(DUPLICATE)
        """Outcomes are cached by the numbers of values. Equal numbers are equal values only without duplicates."""

    # ------------------------------------------------------------ kernel level
    def apply_predefined(self, state: KernelState, application: Application) -> KernelState | Cut | None:
        """The kernel graph with one more predefined operator, or its cut; None if the operator is invalid."""
        facts, args = self.facts, application.args
        op = facts.kernel_operators.entries[application.kind].op
        state = merge_axes_in_kernel(facts, state, op, args)
        typed = self._typed(op, args, state)
        if not isinstance(typed, OperandTypes):
            return typed
        step = PredefinedStep(facts, state, application, typed.value())
        if cut := first_cut(self._rules.predefined, step):
            return cut
        grown = step.grown()
        return first_cut(self._rules.kernel_graph, grown) or grown.state

    def open_kernel(self, state: KernelState, operands: Args, looped: frozenset[str] | None = None) -> BlockState | Cut:
        """A new block graph that loads these tensors, or its cut.

        Args:
            state: the kernel graph.
            operands: the tensors, by position.
            looped: the only choice of looped axes; every choice if None.
        """
        facts, step = self.facts, KernelOpening(self.facts, state, operands)
        if cut := first_cut(self._rules.opening, step):
            return cut
        later = step.operators_after
        choices = (looped,) if looped is not None else self._loop_choices(state, operands, later)
        legal = frozenset(range(len(choices)))
        loads: list[Tensor] = []
        for position, i in enumerate(operands):
            source = state.tensors[i]
            flows = tuple(transfer(Load(position), (), (), source.axes, looped) for looped in choices)
            legal = frozenset(c for c in legal if isinstance(flows[c], Flow))
            loads.append(replace(source, node=Node(Load(position)), flows=flows))
        tensors = tuple(loads)
        kernel_tensors = state.tensors if later else ()
        parts = facts.parts((*tensors, *kernel_tensors))
        joins, left = len(operands) + len(step.unused) - 1, self.space.block_ops - len(operands) + later
        if cut := first_cut(self._rules.opened, OpenedBlock(facts, joins, parts, state.goals, left)):
            return cut
        return BlockState(
            "",
            operands,
            later,
            choices,
            legal,
            tensors,
            frozenset(range(len(operands))),
            state.goals,
            facts.context_number(tensors, choices, state.merged_axes),
            kernel_tensors,
            parts=parts,
            time_bound=step.time_bound,
            merged_axes=state.merged_axes,
        )

    def _loop_choices(self, state: KernelState, operands: Args, later: int) -> tuple[frozenset[str], ...]:
        """Every choice of looped axes; in the last kernel, without the axes of the result."""
        axes = sorted({a for i in operands for a in state.tensors[i].axes if a})
        if not later and not self.facts.first_of_size:
            axes = [a for a in axes if a not in self.facts.output_axes]
        return tuple(frozenset(c) for size in range(len(axes) + 1) for c in combinations(axes, size))

    # ------------------------------------------------------------ block level
    def operand_outcomes(self, state: BlockState, args: Args, kinds: tuple[int, ...]) -> OperandOutcomes:
        """The outcomes of operators on operands of a block graph that depend on these operands alone."""
        key = (state.context, len(kinds), tuple([state.tensors[a].number for a in args]))
        if self._cache_outcomes and key in self._outcomes:
            return self._outcomes[key]
        cuts: list[tuple[str, Cut]] = []
        fitting: list[tuple[int, Tensor]] = []
        for kind in kinds:
            entry = self.facts.block_operators.entries[kind]
            outcome = self._value(entry.op, args, merge_axes_in_block(self.facts, state, entry.op, args))
            if isinstance(outcome, Cut):
                cuts.append((entry.label, outcome))
            elif outcome is not None:
                fitting.append((kind, outcome))
        found = OperandOutcomes(group_cuts(cuts), tuple(fitting), len(kinds) - len(cuts) - len(fitting))
        if self._cache_outcomes:
            self._outcomes[key] = found
        return found

    def apply_in_block(self, state: BlockState, application: BlockApplication) -> BlockState | Cut:
        """The block graph with one more operator, or its cut."""
        step = BlockStep(self.facts, state, application)
        return first_cut(self._rules.block, step) or step.grown()

    def apply_op(self, state: BlockState, op: Op, args: Args) -> BlockState | Cut | None:
        """The block graph with one more operator, or its cut; None if the space has no such operator."""
        for kind, entry in enumerate(self.facts.block_operators.entries):
            if entry.op == op:
                outcome = self._value(entry.op, args, merge_axes_in_block(self.facts, state, entry.op, args))
                if isinstance(outcome, Tensor):
                    return self.apply_in_block(state, BlockApplication(args, kind, outcome))
                return outcome
        return None

    def finish_block(self, state: BlockState) -> Cut | None:
        """The cut of a block graph whose newest tensor may be stored; None if it is kept."""
        return first_cut(self._rules.finished_block, FinishedBlock(self.facts, state))

    def _value(self, op: ComputeOp | LoopOp, args: Args, state: BlockState) -> Tensor | Cut | None:
        typed = self._typed(op, args, state)
        if not isinstance(typed, OperandTypes):
            return typed
        tensor = typed.value()
        return first_cut(self._rules.value, BlockValue(self.facts, tensor)) or with_loop_states(typed, state, tensor)

    def _typed(self, op: ComputeOp | LoopOp, args: Args, state: KernelState | BlockState) -> OperandTypes | Cut | None:
        typed = operand_types(self.facts, op, args, state)
        return typed and (first_cut(self._rules.typing, typed) or typed)

    # ------------------------------------------------------------ finished graphs
    def finish_graph(self, family: str) -> Cut | None:
        """The cut of a finished kernel graph; `family` is the earlier family that it equals, or empty."""
        return first_cut(self._rules.finished_graph, FinishedGraph(family))

    def split(
        self, core: SGraph, axes: tuple[AxisNames, ...], merged: MergedAxes
    ) -> Iterator[tuple[Split, Cut | None]]:
        """Every split of a finished kernel graph into two kernels, with its cut; None if it is kept."""
        facts = self.facts
        for split in enumerate_splits(core, axes, facts.extents, facts.views(merged)):
            yield split, first_cut(self._rules.split, SplitStep(facts, split))
