"""Facts about the program of one search: its values, the forms of its result, and cached answers about partial graphs.

The pruning rules (`rules.RULES`) read them. The caches belong to this object, so they are freed with the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Protocol

from prism_explore.cost.roofline import EMPTY, TimeToBeat
from prism_explore.generate.abstract_expr.equal_forms import equal_forms
from prism_explore.generate.abstract_expr.operator_lower_bound import NO_PARTS, OperatorLowerBound, Parts
from prism_explore.generate.abstract_expr.polynomial import Poly, features, leaf, show
from prism_explore.generate.abstract_expr.subexpression import ExpressionBuilder, Goal
from prism_explore.generate.canonical_order import Args, ExpressionNumbers
from prism_explore.generate.state import BlockApplication, BlockState, KernelState, MergedAxes, Tensor, operator_set
from prism_explore.generate.time_bounds import TimeBounds
from prism_explore.ir.analysis.loop_flow import Flow, FlowRule, transfer
from prism_explore.ir.axes import AxisNames, AxisTable, axes_of, repeated_axes
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    ComputeOp,
    Concat,
    Input,
    LoopOp,
    Node,
    Op,
    Reduce,
    Reshape,
    RunningMax,
    Slice,
    Store,
    result_dtype,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import DType
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.pipeline.search_space import Space

DUPLICATE = "dup.canonical"
ILLEGAL_LOOP = "map.constraint"
UNREACHABLE = "expr.unreachable"
TOO_SLOW = "cost.floor"
"""Names of rules that decide more than which steps are cut: what is cached, which operators are valid, which loops are
legal."""


class Machine(Protocol):
    """The properties of a target that the enumeration needs."""

    @property
    def shared_memory_bytes(self) -> int:
        """The shared memory of one block."""
        ...


class ProgramFacts:
    """The facts of one program in one space, for one search."""

    def __init__(
        self, program: TensorProgram, space: Space, target: Machine, time_to_beat: TimeToBeat | None = None
    ) -> None:
        self.space, self.target = space, target
        self.duplicated = duplicate_inputs(program)
        """The enumerated graphs compute this program, which has a copy of an input for each set of axes."""
        graph = self.duplicated.program.graph
        table = axes_of(graph)
        self.first_of_size = {} if space.matches_by_axis else _first_of_size(table)
        """If dims match by size: for each axis, the first axis of its size, which replaces it in expressions."""
        named = tuple(map(self.axes_by_size, table.of))
        self.extents = {a.name: a.extent for a in table.axes}
        """The extents of the program's axes, in order."""
        self.repeated = repeated_axes(named)
        """Axes that some tensor of the program has twice."""
        self.bounds: TimeBounds | None = None
        """None if there is no time to beat."""
        if time_to_beat is not None and space.active(TOO_SLOW):
            warm = {op.name for n, op in enumerate(program.inputs) if n in time_to_beat.warm}
            self.bounds = TimeBounds(time_to_beat, self.extents, frozenset(warm | set(self.duplicated.copies)))
        self._builder = self._expression_builder(table, named)
        self.expressions = ExpressionNumbers(space.rules_off)
        self._views = table.views
        self.boundary = split_boundary_views(graph)
        """The program's core and boundary views, which are the same in every kernel graph."""
        values, numbers = self._add_inputs(graph, table, named)
        self.program_numbers = frozenset(numbers.values())
        """The numbers of the values that the program computes."""
        result = self.boundary.result
        self.goals = self._goals(equal_forms(graph, named, self._builder, values, self.boundary.core)[result])
        """The program's result as written, and its other forms."""
        self.all_goals = frozenset(range(len(self.goals)))
        self.result_text = {("or" * n or "result"): show(goal.result) for n, goal in enumerate(self.goals)}
        types = graph.types()
        self.output_axes, self.output_dtype = table.of[result], types[result].dtype
        largest_rank = max(t.rank for t in types)
        self.block_operators = operator_set(space.block, largest_rank)
        self.kernel_operators = operator_set(space.kernel, largest_rank)
        reductions = (*space.block.reductions, *space.block.accumulators, *space.kernel.reductions)
        self._has_rms = "rms" in reductions
        self._features = tuple(features(goal.result) for goal in self.goals)
        self.lower_bounds = self._operator_bounds()
        """Per form of the result, the lower bound on the operators that are still needed."""
        self._opaque_views = any(isinstance(view, Reshape | Slice | Concat) for view in space.block.views)
        self._contexts: dict[tuple[tuple[int, ...], tuple[frozenset[str], ...], MergedAxes], int] = {}
        self._mismatches: dict[tuple[tuple[DType, AxisNames], ...], tuple[str, bool]] = {}
        self._illegal_loops: dict[tuple[int, int, frozenset[int]], tuple[str, bool]] = {}
        self._forms_with_both: dict[tuple[int, int], frozenset[int]] = {}
        self._forms_with: dict[int, frozenset[int]] = {}
        self._reached_when_summed: dict[tuple[int, tuple[str, ...]], bool] = {}

    # ------------------------------------------------------------ the program
    def _expression_builder(self, table: AxisTable, named: Sequence[AxisNames]) -> ExpressionBuilder:
        space = self.space
        everywhere = frozenset(a for axes in named for a in axes if a)
        scalars = sorted({s.value for s in (*space.block.scalars, *space.kernel.scalars) if s.fn == "mul"})
        return ExpressionBuilder(
            everywhere - self.repeated if space.matches_by_axis else frozenset(),
            tuple((a.name, v) for a in table.axes for v in scalars if v and a.extent.constant == 1 / v),
            "sigmoid" in (*space.block.unary, *space.kernel.unary),
        )

    def _add_inputs(
        self, graph: SGraph, table: AxisTable, named: Sequence[AxisNames]
    ) -> tuple[dict[int, Poly], dict[int, int]]:
        """Set `inputs`; return the expressions of inputs and bands, and the numbers of all tensors, by position."""
        values: dict[int, Poly] = {}
        numbers: dict[int, int] = {}
        inputs: list[Tensor] = []
        bands: list[Tensor] = []
        types = graph.types()

        def leaf_of(name: str, position: int) -> Poly:
            return leaf(name, (a for a in named[position] if a in self._builder.tracked_axes))

        for viewed, node in zip(self.boundary.viewed_inputs, self.boundary.inputs, strict=True):
            assert isinstance(node.op, Input), "the inputs of the core are inputs of the program or views of them"
            at = min(viewed.at)
            values |= dict.fromkeys(viewed.at, leaf_of(node.op.name, at))
            number = self.expressions.number(node.op, ())
            inputs.append(Tensor(node, table.of[at], types[at].dtype, values[at], number, loopless_number=number))
            numbers |= dict.fromkeys(viewed.at, number)
        for position in self.boundary.core:
            node = graph.nodes[position]
            if isinstance(node.op, Band):
                values[position] = leaf_of(f"band %{position}", position)
                number = self.expressions.number(node.op, (~position,))
                dtype = types[position].dtype
                bands.append(Tensor(node, table.of[position], dtype, values[position], number, loopless_number=number))
                numbers[position] = number
            else:
                numbers[position] = self.expressions.number(node.op, tuple(numbers[a] for a in node.args))
        self.inputs = (*inputs, *bands)
        """The tensors that the first kernel may read: the program's inputs, then its bands."""
        return values, numbers

    def _goals(self, forms: Sequence[Poly]) -> tuple[Goal, ...]:
        levels = (self.space.block, self.space.kernel)
        negatives = any("neg" in o.unary or any(s.fn == "mul" and s.value < 0 for s in o.scalars) for o in levels)
        return tuple(Goal(value, negatives=negatives) for value in forms)

    def _operator_bounds(self) -> tuple[OperatorLowerBound, ...]:
        space = self.space
        powers = (s for s in (*space.block.scalars, *space.kernel.scalars) if s.fn == "pow")
        turned = {"recip", "rsqrt"} & {*space.block.unary, *space.kernel.unary} or any(s.value < 0 for s in powers)
        reciprocals = [(axis, str(value)) for axis, value in self._builder.reciprocals]
        return tuple(
            OperatorLowerBound(goal, rms=self._has_rms, quotients=not turned, reciprocals=reciprocals)
            for goal in self.goals
        )

    def with_views(self, core: SGraph) -> SGraph:
        """The program's kernel graph for one of its core: with boundary views, and with copies of inputs merged."""
        return self.duplicated.merge_copies(self.boundary.wrap(core))

    def core_of(self, graph: SGraph) -> SGraph | None:
        """The core of a kernel graph that `with_views` returned; None for other graphs."""
        return self.boundary.unwrap(self.duplicated.restore_copies(graph))

    def start(self, node: str) -> KernelState:
        """The kernel graph without operators."""
        time_bound = self.bounds.without_operators(self.inputs) if self.bounds else EMPTY
        return KernelState(node, self.inputs, frozenset(range(len(self.inputs))), self.all_goals, time_bound=time_bound)

    # ------------------------------------------------------------ axes
    def axes_by_size(self, axes: AxisNames) -> AxisNames:
        """The axes as named in expressions: if dims match by size, axes of one size have one name."""
        return tuple(self.first_of_size.get(a, a) if a else None for a in axes) if self.first_of_size else axes

    def views(self, merged: MergedAxes) -> Mapping[tuple[Op, tuple[AxisNames, ...]], AxisNames]:
        """The axes operands the program's views, by operator and axes operands operands, with some axes merged."""
        if not merged:
            return self._views
        names = dict(merged)
        return {
            (op, tuple(rename_axes(a, names) for a in operands)): rename_axes(r, names)
            for (op, operands), r in self._views.items()
        }

    def mismatch(self, operands: tuple[tuple[DType, AxisNames], ...]) -> tuple[str, bool]:
        """Operands whose axes do not match, as text, and whether some of their sizes are equal nevertheless."""
        found = self._mismatches.get(operands)
        if found is None:
            shown = " against ".join(f"{dtype}({', '.join(a or '1' for a in axes)})" for dtype, axes in operands)
            names = [{a for a in axes if a} for _, axes in operands]
            agree = any(len(set(p)) > 1 and len({self.extents[a] for a in p}) == 1 for p in product(*names))
            found = self._mismatches[operands] = shown, agree
        return found

    # ------------------------------------------------------------ values
    def value(
        self,
        op: ComputeOp | LoopOp,
        args: Args,
        operands: tuple[Tensor, ...],
        axes: tuple[AxisNames, ...],
        result: AxisNames,
    ) -> Tensor:
        """The result of an operator on operands that match, without its loop states."""
        number = self.expressions.number(op, tuple([t.number for t in operands]))
        names = tuple(map(self.axes_by_size, axes))
        expression = self._builder.apply(op, tuple([t.expression for t in operands]), names, self.axes_by_size(result))
        behind = any(t.after_loop for t in operands) or isinstance(op, Accumulate | AccumulateRescaled)
        written = self.loopless_number(op, tuple([t.loopless_number for t in operands]))
        dtype = result_dtype(op, [t.dtype for t in operands])
        assert dtype is not None, "the rule of shapes excludes operands without a common dtype"
        return Tensor(Node(op, args), result, dtype, expression, number, (), behind, written)

    def loopless_number(self, op: ComputeOp | LoopOp, args: tuple[int, ...]) -> int:
        """The number that a result has in a graph without a loop, given the numbers of the operands there."""
        match op:
            case Accumulate(_, None) | RunningMax(None) | AccumulateRescaled(None):
                return args[0]
            case Accumulate(fn, int() as along):
                return self.expressions.number(Reduce(fn, along), args)
            case RunningMax(int() as along):
                return self.expressions.number(Reduce("max", along), args)
            case AccumulateRescaled(int() as along):
                return self.expressions.number(Reduce("sum", along), args[:1])
            case op:
                return self.expressions.number(op, args)

    def is_result(self, expression: Poly) -> bool:
        """Whether an expression is a form of the program's result."""
        return any(expression == goal.result for goal in self.goals)

    def forms_with(self, tensor: Tensor) -> frozenset[int]:
        """The forms of the result that a value may be part of."""
        found = self._forms_with.get(tensor.number)
        if found is None:
            found = frozenset(n for n, goal in enumerate(self.goals) if goal.reaches(tensor.expression))
            self._forms_with[tensor.number] = found
        return found

    def forms_with_both(self, tensor: Tensor, other: Tensor) -> frozenset[int]:
        """The forms of the result that second values may be parts of at once."""
        pair = (tensor.number, other.number)
        found = self._forms_with_both.get(pair)
        if found is None:
            first, second = tensor.expression, other.expression
            found = frozenset(n for n, goal in enumerate(self.goals) if goal.reaches_both(first, second))
            self._forms_with_both[pair] = found
        return found

    def missing_operators(self, tensors: tuple[Tensor, ...], goals: frozenset[int]) -> int:
        """A lower bound on the operators with one operand that are still needed."""
        had = frozenset[str]().union(*(features(t.expression) for t in tensors))
        return min(self._operators_for(self._features[n] - had) for n in goals)

    def _operators_for(self, lacking: frozenset[str]) -> int:
        if not self._has_rms:
            return len(lacking)
        means = sum(f.startswith("μ") for f in lacking)
        return len(lacking) - min(means, "√" in lacking)

    def parts(self, tensors: Sequence[Tensor]) -> tuple[Parts, ...]:
        """Per form of the result, the parts of it that some tensor has."""
        return tuple(
            reduce(Parts.__or__, (bound.parts_of(t.expression) for t in tensors), NO_PARTS)
            for bound in self.lower_bounds
        )

    # ------------------------------------------------------------ loops
    def context_number(self, loads: Sequence[Tensor], choices: tuple[frozenset[str], ...], merged: MergedAxes) -> int:
        """A number for the loads of a block, the choices of looped axes, and the merged axes."""
        return self._contexts.setdefault((tuple(t.number for t in loads), choices, merged), len(self._contexts))

    def flows(
        self,
        op: ComputeOp | LoopOp,
        operands: tuple[Tensor, ...],
        result: AxisNames,
        choices: tuple[frozenset[str], ...],
        number: int,
        expression: Poly,
    ) -> tuple[Flow | FlowRule, ...]:
        """The loop state of a result in a block, under each choice of looped axes."""
        axes = tuple(t.axes for t in operands)
        flows: list[Flow | FlowRule] = []
        for c, looped in enumerate(choices):
            states: list[Flow] = []
            broken: FlowRule | None = None
            for t in operands:
                flow = t.flows[c]
                if isinstance(flow, Flow):
                    states.append(flow)
                else:
                    broken = flow
            state = broken or transfer(op, tuple(states), axes, result, looped, number)
            if (
                isinstance(state, Flow)
                and state.pending
                and not self._is_reached_when_summed(number, expression, state.pending)
            ):
                state = "loop.pending"
            flows.append(state)
        return tuple(flows)

    def _is_reached_when_summed(self, number: int, expression: Poly, pending: tuple[str, ...]) -> bool:
        """Whether a value after the loop can be part of the result when it is summed along its pending axes.

        Only linear operators may read the value before that sum, so summing at once gives the same result. This does
        not hold for opaque views, of which expressions have no laws.
        """
        if self._opaque_views or not self.space.active(UNREACHABLE):
            return True
        key = (number, pending)
        if key not in self._reached_when_summed:
            for axis in pending:
                expression = self._builder.sum_along(expression, self.first_of_size.get(axis, axis))
            self._reached_when_summed[key] = any(goal.reaches(expression) for goal in self.goals)
        return self._reached_when_summed[key]

    def illegal_loops(self, state: BlockState, tensor: Tensor) -> tuple[str, bool]:
        """Why no choice of looped axes is legal, as text, and whether a pending sum is among the reasons."""
        key = (state.context, tensor.number, state.legal)
        found = self._illegal_loops.get(key)
        if found is None:
            broken = (f"{{{', '.join(sorted(state.choices[c]))}}}: {tensor.flows[c]}" for c in sorted(state.legal))
            pending = any(tensor.flows[c] == "loop.pending" for c in state.legal)
            found = self._illegal_loops[key] = "; ".join(broken), pending
        return found

    def may_store(self, state: BlockState) -> bool:
        """Whether the newest tensor may be stored under some choice of looped axes."""
        newest = state.tensors[-1]
        if not self.space.active(ILLEGAL_LOOP):
            return True
        known = ((newest.flows[c], state.choices[c]) for c in state.legal)
        return any(
            isinstance(transfer(Store(), (f,), (newest.axes,), newest.axes, looped), Flow)
            for f, looped in known
            if isinstance(f, Flow)
        )

    # ------------------------------------------------------------ graphs
    def operators_left(self, state: KernelState) -> int:
        """The number of operators that a kernel graph may still get, those in blocks included."""
        space = self.space
        kernels = space.kernel_ops - state.predefined - state.customs
        customs = min(space.custom_kernels - state.customs, kernels)
        predefined = min(space.predefined_kernels - state.predefined, kernels)
        return predefined + customs * max(space.block_ops - 1, 0)

    def is_complete(self, state: KernelState) -> bool:
        """Whether the newest tensor is the program's result and all others are used."""
        newest = state.tensors[-1]
        return (
            state.customs > 0
            and state.unused == frozenset({len(state.tensors) - 1})
            and self.axes_by_size(newest.axes) == self.axes_by_size(self.output_axes)
            and newest.dtype == self.output_dtype
            and (self.is_result(newest.expression) or not self.space.active(UNREACHABLE))
        )

    def deviates(self, state: BlockState, step: BlockApplication) -> bool:
        """Whether an operator computes a value that the program does not; accumulating a partial sum does not count."""
        tensor, op = step.tensor, self.block_operators.entries[step.kind].op
        if isinstance(op, Accumulate | AccumulateRescaled) and op.dim is None:
            flows = state.tensors[step.args[0]].flows
            return not any(isinstance(f, Flow) and f.partial for c in state.legal for f in (flows[c],))
        return tensor.loopless_number not in self.program_numbers and all(
            tensor.expression != goal.result for goal in self.goals
        )


def rename_axes(axes: AxisNames, names: Mapping[str, str]) -> AxisNames:
    """Axes with some of their names replaced."""
    return tuple(names.get(a, a) if a else None for a in axes)


def _first_of_size(table: AxisTable) -> dict[str, str]:
    return {a.name: next(b.name for b in table.axes if b.extent == a.extent) for a in table.axes}
