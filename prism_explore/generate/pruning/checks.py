"""One application of one operator: the tensor it gives, or the rule that cuts it.

Everything here answers without changing anything; `grow` asks, keeps and notes. First come the tests that need
the operands' values only, whatever the graph around them; their answers are kept for the whole search: shapes, and
whether the value can be part of the result. Then, from cheap to dear, limits, duplicates, the loop's legality,
unused values that do not go together, the tally of operators left, memory. The first that fails is the reason
that is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, product
from typing import overload

from prism_explore.cost.roofline import EMPTY, Ceiling, Growing, least_flops, rates_of
from prism_explore.events.format import seconds_text
from prism_explore.generate.abstract_expr.equal_forms import readings
from prism_explore.generate.abstract_expr.operator_lower_bound import NOTHING, Needs, Parts
from prism_explore.generate.abstract_expr.polynomial import Poly, features, leaf, show
from prism_explore.generate.abstract_expr.subexpression import Goal, Theory
from prism_explore.generate.canonical_order import Application, Args, Expressions
from prism_explore.generate.event_log import bundled
from prism_explore.generate.pruning.rules import Cut, Machine
from prism_explore.generate.state import Alone, BlockState, Fit, KernelState, Same, Tensor, alphabet
from prism_explore.ir.analysis.loop_flow import Flow, FlowRule, flow
from prism_explore.ir.axes import AxisNames, AxisTable, axes_of, compute_axes, matched_axes, views_of
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    ComputeOp,
    Concat,
    Custom,
    Input,
    Load,
    LoopOp,
    MatMul,
    Node,
    Op,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
    ViewOp,
    op_name,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import BYTES, DType, TensorType
from prism_explore.ir.transforms.boundary_views import peel
from prism_explore.ir.transforms.duplicate_inputs import apart
from prism_explore.pipeline.search_space import Space

_ENOUGH = "operators needed ≤ operators left"


class Attempts:
    """The facts of one program in one space, and the tests of every rule."""

    def __init__(self, program: TensorProgram, space: Space, target: Machine, ceiling: Ceiling | None = None) -> None:
        self.space, self.target = space, target
        self.ceiling = ceiling if space.active("cost.floor") else None
        self._warm = {op.name for n, op in enumerate(program.inputs) if ceiling and n in ceiling.warm}
        self.apart = apart(program)
        """What grows computes the program with its inputs told apart."""
        graph = self.apart.program.graph
        table = axes_of(graph)
        by_axis = space.active("shape.mismatch")
        self._sizes = {} if by_axis else _first_of_size(table)
        """Where dims match by size: for each axis the first one of its size. Expressions know these alone."""
        named = tuple(map(self._sized, table.of))
        self.extents = {a.name: a.extent for a in table.axes}
        """Of the program's axes, in order."""
        self._twice = frozenset(a for axes in named for a in axes if a and axes.count(a) > 1)
        everywhere = frozenset(a for axes in named for a in axes if a)
        scalars = sorted({s.value for s in (*space.block.scalars, *space.kernel.scalars) if s.fn == "mul"})
        self._theory = Theory(
            everywhere - self._twice if by_axis else frozenset(),
            tuple((a.name, v) for a in table.axes for v in scalars if v and a.extent.constant == 1 / v),
            "sigmoid" in (*space.block.unary, *space.kernel.unary),
        )
        self.expressions = Expressions()
        types = graph.types()
        self._views = views_of(graph, table.of)
        self.peeled = peel(graph)
        """What is between the program's views: all else is the same in every kernel graph."""
        values: dict[int, Poly] = {}
        numbers: dict[int, int] = {}
        inputs: list[Tensor] = []
        bands: list[Tensor] = []

        def told(name: str, position: int) -> Poly:
            return leaf(name, (a for a in named[position] if a in self._theory.marked))

        for given, node in zip(self.peeled.given, self.peeled.inputs, strict=True):
            assert isinstance(node.op, Input), "what is given of an input is one"
            at = min(given.at)
            values |= dict.fromkeys(given.at, told(node.op.name, at))
            number = self.expressions.number(node.op, ())
            inputs.append(Tensor(node, table.of[at], types[at].dtype, values[at], number, written=number))
            numbers |= dict.fromkeys(given.at, number)
        for position in self.peeled.core:
            node = graph.nodes[position]
            if isinstance(node.op, Band):
                values[position] = told(f"band %{position}", position)
                number = self.expressions.number(node.op, (~position,))
                dtype = types[position].dtype
                bands.append(Tensor(node, table.of[position], dtype, values[position], number, written=number))
                numbers[position] = number
            else:
                numbers[position] = self.expressions.number(node.op, tuple(numbers[a] for a in node.args))
        self.inputs = (*inputs, *bands)
        """What kernels are made of: the program's inputs, then the tensors that it knows by formula."""
        self.written = frozenset(numbers.values())
        """The numbers of what the program computes."""
        result = self.peeled.result
        read = readings(graph, named, self._theory, values, self.peeled.core)
        levels = (space.block, space.kernel)
        negatives = any("neg" in o.unary or any(s.fn == "mul" and s.value < 0 for s in o.scalars) for o in levels)
        self.goals = tuple(Goal(value, negatives=negatives) for value in read[result])
        """The program's result as it is written, and its other readings."""
        self._all = frozenset(range(len(self.goals)))
        self._result = {("or" * n or "result"): show(goal.result) for n, goal in enumerate(self.goals)}
        self.output_axes, self.output_dtype = table.of[result], types[result].dtype
        self._wanted = tuple(features(goal.result) for goal in self.goals)
        largest_rank = max(t.rank for t in types)
        self.block_alphabet = alphabet(space.block, largest_rank)
        self.kernel_alphabet = alphabet(space.kernel, largest_rank)
        reductions = (*space.block.reductions, *space.block.accumulators, *space.kernel.reductions)
        self._rms_known = "rms" in reductions
        powers = (s for s in (*space.block.scalars, *space.kernel.scalars) if s.fn == "pow")
        turned = {"recip", "rsqrt"} & {*space.block.unary, *space.kernel.unary} or any(s.value < 0 for s in powers)
        reciprocals = [(axis, str(value)) for axis, value in self._theory.reciprocals]
        self._needs = tuple(
            Needs(goal, rms=self._rms_known, quotients=not turned, reciprocals=reciprocals) for goal in self.goals
        )
        self._contexts: dict[tuple[tuple[int, ...], tuple[frozenset[str], ...], Same], int] = {}
        self._alone: dict[tuple[int, int, tuple[int, ...]], Alone] = {}
        self._mismatches: dict[tuple[tuple[DType, AxisNames], ...], Cut] = {}
        self._loopless: dict[tuple[int, int, frozenset[int]], Cut] = {}
        self._joins: dict[tuple[int, int], frozenset[int]] = {}
        self._reaches: dict[int, frozenset[int]] = {}
        self._closing: dict[tuple[int, tuple[str, ...]], bool] = {}

    def whole(self, core: SGraph) -> SGraph:
        """The program's kernel graph for one of its core: with the views around it, and copies of inputs as one."""
        return self.apart.rejoined(self.peeled.wrapped(core))

    def core(self, graph: SGraph) -> SGraph | None:
        """The core of a kernel graph that `whole` made; None of any other."""
        return self.peeled.unwrapped(self.apart.told(graph))

    def _is_first(self, tensor: Tensor) -> bool:
        """Whether it is an input, and no copy of one."""
        return isinstance(tensor.node.op, Input) and tensor.node.op.name not in self.apart.copies

    def _is_cold(self, tensor: Tensor) -> bool:
        """Whether it has to come out of memory when it is read first."""
        return self._is_first(tensor) and isinstance(tensor.node.op, Input) and tensor.node.op.name not in self._warm

    # ------------------------------------------------------------ kernel level
    def beginning(self, node: str) -> KernelState:
        """The kernel graph that has nothing but what is given."""
        given = [self._type(t) for t in self.inputs if self._is_cold(t)]
        floor = self.ceiling.rest(given) if self.ceiling else EMPTY
        return KernelState(node, self.inputs, frozenset(range(len(self.inputs))), self._all, floor=floor)

    def predefined(self, state: KernelState, step: Application) -> KernelState | Cut | None:
        """The kernel graph with one more predefined operator, or its cut, or None: no such operator."""
        op = self.kernel_alphabet.letters[step.kind].op
        state = self.matching(state, op, step.args)
        tensor = self._applied(op, step.args, state)
        if not isinstance(tensor, Tensor):
            return tensor
        if cut := self._known(op, step.args, tensor, state.tensors, ()):
            return cut
        unused = state.unused.difference(step.args)
        if cut := self._unreachable(tensor):
            return cut
        goals = self._together(tensor, [state.tensors[i] for i in sorted(unused)], state.goals)
        if isinstance(goals, Cut):
            return goals
        floor = self.behind(self._computed(self._opened(state, step.args), op, step.args, tensor, state), tensor)
        if cut := self._too_slow(floor):
            return cut
        grown = replace(
            state,
            tensors=(*state.tensors, tensor),
            unused=unused | {len(state.tensors)},
            goals=goals,
            last=step.rank,
            predefined=state.predefined + 1,
            floor=floor,
            read=state.read.union(step.args),
        )
        joins, spare = len(unused), self.spare(grown)
        missing = self._missing(grown.tensors, goals)
        if joins + missing > spare and self.space.active("limit.ops"):
            return _too_few(joins, missing, spare)
        return self._unaffordable(joins, self._had(grown.tensors), goals, spare) or grown

    def opened(
        self, state: KernelState, operands: tuple[int, ...], looped: frozenset[str] | None = None
    ) -> BlockState | Cut:
        """A new block graph that loads these tensors, or its cut; `looped`: only under this choice of looped axes."""
        unused = state.unused.difference(operands)
        after = replace(state, unused=unused, customs=state.customs + 1)
        spare = self.spare(after)
        if len(unused) > spare:
            return _too_few(len(unused), 0, spare)
        floor = self._opened(state, operands)
        if cut := self._too_slow(floor):
            return cut
        axes = sorted({a for i in operands for a in state.tensors[i].axes if a})
        if not spare and not self._sizes:
            axes = [a for a in axes if a not in self.output_axes]
        choices = (looped,) if looped is not None else _subsets(axes)
        legal = frozenset(range(len(choices)))
        tensors: list[Tensor] = []
        for position, i in enumerate(operands):
            source = state.tensors[i]
            flows = tuple(flow(Load(position), (), (), source.axes, looped) for looped in choices)
            legal = frozenset(c for c in legal if isinstance(flows[c], Flow))
            tensors.append(replace(source, node=Node(Load(position)), flows=flows))
        outside = state.tensors if spare else ()
        made = self._had((*tensors, *outside))
        joins, left = len(operands) + len(unused) - 1, self.space.block_ops - len(operands)
        if cut := self._unaffordable(joins, made, state.goals, left + spare):
            return cut
        everything = frozenset(range(len(operands)))
        context = self.context(tensors, choices, state.same)
        return BlockState(
            "",
            operands,
            spare,
            choices,
            legal,
            tuple(tensors),
            everything,
            state.goals,
            context,
            outside,
            made=made,
            floor=floor,
            same=state.same,
        )

    def context(self, loads: Sequence[Tensor], choices: tuple[frozenset[str], ...], same: Same) -> int:
        """A number for what a block loads, the choices of looped axes, and which axes are one."""
        return self._contexts.setdefault((tuple(t.number for t in loads), choices, same), len(self._contexts))

    def spare(self, state: KernelState) -> int:
        """How many operators may still join tensors behind a kernel graph, blocks' own included."""
        space = self.space
        kernels = space.kernel_ops - state.predefined - state.customs
        customs = min(space.custom_kernels - state.customs, kernels)
        predefined = min(space.predefined_kernels - state.predefined, kernels)
        return predefined + customs * max(space.block_ops - 1, 0)

    def is_whole(self, state: KernelState) -> bool:
        """Whether the newest tensor is the program's result and everything else is used."""
        newest = state.tensors[-1]
        return (
            state.customs > 0
            and state.unused == frozenset({len(state.tensors) - 1})
            and self._sized(newest.axes) == self._sized(self.output_axes)
            and newest.dtype == self.output_dtype
            and (self.is_result(newest.expression) or not self.space.active("expr.unreachable"))
        )

    def is_result(self, expression: Poly) -> bool:
        """Whether an expression is a reading of the program's result."""
        return any(expression == goal.result for goal in self.goals)

    # ------------------------------------------------------------ block level
    def alone(self, state: BlockState, args: Args, kinds: tuple[int, ...]) -> Alone:
        """What operators come to on operands of a block graph, by these operands' values alone."""
        known = self.space.active("dup.canonical")  # only then are equal numbers equal values
        key = (state.context, len(kinds), tuple([state.tensors[a].number for a in args]))
        if known and key in self._alone:
            return self._alone[key]
        cuts: list[tuple[str, Cut]] = []
        fitting: list[tuple[int, Tensor]] = []
        for kind in kinds:
            letter = self.block_alphabet.letters[kind]
            made = self._reaching(letter.op, args, self.matching(state, letter.op, args))
            if isinstance(made, Cut):
                cuts.append((letter.label, made))
            elif made is not None:
                fitting.append((kind, made))
        found = Alone(bundled(cuts), tuple(fitting), len(kinds) - len(cuts) - len(fitting))
        if known:
            self._alone[key] = found
        return found

    def applied(self, state: BlockState, op: Op, args: Args) -> BlockState | Cut | None:
        """The block graph with one more operator, or its cut, or None: the space has no such operator."""
        for kind, letter in enumerate(self.block_alphabet.letters):
            if letter.op == op:
                made = self._reaching(letter.op, args, self.matching(state, letter.op, args))
                return self.grown(state, Fit(args, kind, made)) if isinstance(made, Tensor) else made
        return None

    def grown(self, state: BlockState, step: Fit) -> BlockState | Cut:
        """The block graph with one more operator, or its cut."""
        space = self.space
        op, tensor = self.block_alphabet.letters[step.kind].op, step.tensor
        accumulates = isinstance(op, Accumulate | AccumulateRescaled)
        if accumulates and space.active("limit.accumulators"):
            if len(state.accumulated) >= space.accumulators:
                return Cut("limit.accumulators", "accumulators < limit", str(len(state.accumulated)))
            if step.args[0] in state.accumulated:
                return Cut("limit.accumulators", "e is not accumulated yet", f"%{step.args[0]}")
        if cut := self._known(op, step.args, tensor, state.tensors, state.accumulated):
            return cut
        before, state = state, self.matching(state, op, step.args)
        if state.same:
            tensor = self._at(state, op, step.args)
        legal = frozenset(c for c in state.legal if isinstance(tensor.flows[c], Flow))
        if not legal and space.active("map.constraint") and not self._may_match(state):
            return self._no_loop(state, tensor)
        unused = state.unused.difference(step.args)
        goals = self._together(tensor, [state.tensors[i] for i in sorted(unused)], state.goals)
        if isinstance(goals, Cut):
            return goals
        tensors = (*state.tensors, replace(tensor, node=Node(op, step.args)))
        left, joins = space.block_ops - len(tensors), len(unused)
        missing = self._missing((*tensors, *state.outside), goals)
        if (joins > left or joins + missing > left + state.spare) and space.active("limit.ops"):
            return _too_few(joins, missing, left + state.spare)
        made = tuple(m | needs.had(tensor.expression) for m, needs in zip(state.made, self._needs, strict=True))
        if cut := self._unaffordable(joins, made, goals, left + state.spare):
            return cut
        floor = self._computed(state.floor, op, step.args, tensor, state)
        if cut := self._too_slow(floor):
            return cut
        reduced = state.reduced | _reduced_axes(op, tuple(state.tensors[a].axes for a in step.args))
        if space.active("mem.smem"):
            first = 0 if reduced != state.reduced or state is not before else len(state.tensors)
            fits = self._fitting(tensors, first, reduced, state.choices, legal)
            if isinstance(fits, Cut):
                return fits
            legal = fits
        return replace(
            state,
            tensors=tensors,
            unused=unused | {len(state.tensors)},
            goals=goals,
            legal=legal,
            reduced=reduced,
            accumulated=(*state.accumulated, step.args[0]) if accumulates else state.accumulated,
            made=made,
            floor=floor,
        )

    def storable(self, state: BlockState) -> bool:
        """Whether the newest tensor may be stored under some choice of looped axes."""
        newest = state.tensors[-1]
        if not self.space.active("map.constraint"):
            return True
        known = ((newest.flows[c], state.choices[c]) for c in state.legal)
        return any(
            isinstance(flow(Store(), (f,), (newest.axes,), newest.axes, looped), Flow)
            for f, looped in known
            if isinstance(f, Flow)
        )

    def longwinded(self, state: BlockState) -> Cut | None:
        """The cut of a whole block graph that a definition makes shorter: sum(accum(x)) is accum_sum(x).

        Only a whole graph shows that nothing else uses the accumulator.
        """
        if not self.space.active("dup.canonical"):
            return None
        shorter: set[Op] = {Accumulate("sum")} if "sum" in self.space.block.accumulators else set()
        shorter.add(AccumulateRescaled())
        used = [a for t in state.tensors for a in dict.fromkeys(t.node.args)]
        for i, t in enumerate(state.tensors):
            if isinstance(t.node.op, Reduce) and t.node.op.fn == "sum":
                source = t.node.args[0]
                if state.tensors[source].node.op in shorter and used.count(source) == 1:
                    return Cut("dup.canonical", "no definition makes e shorter", f"%{i}")
        return None

    # ------------------------------------------------------------ axes that match by size
    def _sized(self, axes: AxisNames) -> AxisNames:
        """The axes as expressions name them: where dims match by size, all of one size are one."""
        return tuple(self._sizes.get(a, a) if a else None for a in axes) if self._sizes else axes

    def views(self, same: Same) -> Mapping[tuple[Op, tuple[AxisNames, ...]], AxisNames]:
        """What the program's views give, by what they are given, where some axes are one."""
        if not same:
            return self._views
        names = dict(same)
        return {(op, tuple(_named(a, names) for a in of)): _named(r, names) for (op, of), r in self._views.items()}

    @overload
    def matching(self, state: KernelState, op: ComputeOp | LoopOp, args: tuple[int, ...]) -> KernelState: ...

    @overload
    def matching(self, state: BlockState, op: ComputeOp | LoopOp, args: tuple[int, ...]) -> BlockState: ...

    def matching(
        self, state: KernelState | BlockState, op: ComputeOp | LoopOp, args: tuple[int, ...]
    ) -> KernelState | BlockState:
        """The graph where the axes that an operator matches by size are one, cut alike; the same graph otherwise."""
        if not self._sizes:
            return state
        axes = tuple(state.tensors[a].axes for a in args)
        order = list(self.extents)
        names = dict(state.same)
        for pair in matched_axes(op, axes):
            stays, goes = sorted((names.get(a, a) for a in pair), key=order.index)
            if stays != goes and self._sizes[stays] == self._sizes[goes]:
                names = {a: stays if n == goes else n for a, n in (*names.items(), (goes, goes))}
        same = tuple(sorted(names.items()))
        if same == state.same:
            return state
        return self.outside(state, same) if isinstance(state, KernelState) else self._inside(state, same)

    def outside(self, state: KernelState, same: Same) -> KernelState:
        """A kernel graph where these axes are one."""
        return replace(state, tensors=_renamed(state.tensors, same), same=same) if same != state.same else state

    def _inside(self, state: BlockState, same: Same) -> BlockState:
        """A block graph where these axes are one: choices that would cut them differently are none any more."""
        names = dict(same)
        alike = [c for c, looped in enumerate(state.choices) if all((a in looped) == (n in looped) for a, n in same)]
        choices = tuple(frozenset(names.get(a, a) for a in state.choices[c]) for c in alike)
        grown = replace(state, choices=choices, tensors=(), same=same)
        for tensor in _renamed(state.tensors, same):
            op, args = tensor.node.op, tensor.node.args
            if isinstance(op, Load):
                flows = tuple(flow(op, (), (), tensor.axes, looped) for looped in choices)
            else:
                assert not isinstance(op, Input | Band | Custom | Result | Store), "a block graph grows by operators"
                operands = tuple(grown.tensors[a] for a in args)
                flows = self._flows(op, operands, tensor.axes, grown, tensor.number, tensor.expression)
            grown = replace(grown, tensors=(*grown.tensors, replace(tensor, flows=flows)))
        legal = (c for c in range(len(choices)) if all(isinstance(t.flows[c], Flow) for t in grown.tensors))
        return replace(
            grown,
            legal=frozenset(legal),
            context=self.context(grown.tensors[: len(state.operands)], choices, same),
            outside=_renamed(state.outside, same),
            reduced=frozenset(names.get(a, a) for a in state.reduced),
        )

    def _may_match(self, state: BlockState) -> bool:
        """Whether axes of a block graph may still become one, so that a loop may yet cut them alike."""
        axes = {a for t in state.tensors for a in t.axes if a}
        return bool(self._sizes) and len({self._sizes[a] for a in axes}) < len(axes)

    def _at(self, state: BlockState, op: ComputeOp | LoopOp, args: tuple[int, ...]) -> Tensor:
        """What an operator gives that fitted before some axes became one."""
        made = self._applied(op, args, state)
        assert isinstance(made, Tensor), "what fits by its sizes fits whichever axes are one"
        return self._flowing(op, made, state)

    # ------------------------------------------------------------ the tests
    def _reaching(self, op: ComputeOp | LoopOp, args: tuple[int, ...], state: BlockState) -> Tensor | Cut | None:
        """What an operator gives in such a block graph, or its cut where that is no part of the result."""
        made = self._applied(op, args, state)
        return self._unreachable(made) or self._flowing(op, made, state) if isinstance(made, Tensor) else made

    def _applied(
        self, op: ComputeOp | LoopOp, args: tuple[int, ...], state: KernelState | BlockState
    ) -> Tensor | Cut | None:
        """What an operator gives in a graph where the axes that it matches are one, without its flows."""
        operands = tuple(state.tensors[a] for a in args)
        axes = tuple(t.axes for t in operands)
        along = op.dim if isinstance(op, Reduce | Accumulate | RunningMax | AccumulateRescaled) else None
        if along is not None and (along >= len(axes[0]) or axes[0][along] is None):
            return None
        behind = any(t.behind for t in operands)
        in_loop = isinstance(op, Accumulate | RunningMax | AccumulateRescaled)
        if in_loop and behind and not self.space.active("map.constraint"):
            return None
        if isinstance(op, ViewOp):
            result = self.views(state.same).get((op, axes))
            if result is None:
                return None
        else:
            result = compute_axes(op, axes)
        if result is None or len({t.dtype for t in operands}) > 1:
            return self._mismatch(tuple([(t.dtype, t.axes) for t in operands]))
        if not self._sizes:
            double = [a for a in result if a and a not in self._twice and result.count(a) > 1]
            if double:
                detail = "Here one axis would fill two dims of the result."
                return Cut("shape.mismatch", "no axis occurs twice", double[0], detail, heuristic=True)
        number = self.expressions.number(op, tuple(t.number for t in operands))
        named = tuple(map(self._sized, axes))
        expression = self._theory.apply(op, tuple(t.expression for t in operands), named, self._sized(result))
        behind = behind or isinstance(op, Accumulate | AccumulateRescaled)
        written = self.as_written(op, tuple(t.written for t in operands))
        return Tensor(Node(op, args), result, operands[0].dtype, expression, number, (), behind, written)

    def _flowing(self, op: ComputeOp | LoopOp, made: Tensor, block: BlockState) -> Tensor:
        """What an operator gives in a block, with its state under each choice of looped axes."""
        operands = tuple(block.tensors[a] for a in made.node.args)
        flows = self._flows(op, operands, made.axes, block, made.number, made.expression)
        return replace(made, flows=flows)

    def _flows(
        self,
        op: ComputeOp | LoopOp,
        operands: tuple[Tensor, ...],
        result: AxisNames,
        block: BlockState,
        number: int,
        expression: Poly,
    ) -> tuple[Flow | FlowRule, ...]:
        """The state of what an operator gives in a block, under each choice of looped axes."""
        axes = tuple(t.axes for t in operands)
        flows: list[Flow | FlowRule] = []
        for c, looped in enumerate(block.choices):
            states: list[Flow] = []
            broken: FlowRule | None = None
            for t in operands:
                before = t.flows[c]
                if isinstance(before, Flow):
                    states.append(before)
                else:
                    broken = before
            made = broken or flow(op, tuple(states), axes, result, looped, number)
            if isinstance(made, Flow) and made.pending and not self._closes(number, expression, made.pending):
                made = "loop.pending"
            flows.append(made)
        return tuple(flows)

    def strays(self, state: BlockState, step: Fit) -> bool:
        """Whether an application gives what the program does not compute; to make partial sums whole is no such."""
        made, op = step.tensor, self.block_alphabet.letters[step.kind].op
        if isinstance(op, Accumulate | AccumulateRescaled) and op.dim is None:
            before = state.tensors[step.args[0]].flows
            return not any(isinstance(f, Flow) and f.partial for c in state.legal for f in (before[c],))
        return made.written not in self.written and all(made.expression != goal.result for goal in self.goals)

    def as_written(self, op: ComputeOp | LoopOp, args: tuple[int, ...]) -> int:
        """The number of what an operator gives in a graph without a loop, of the numbers of its operands there."""
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

    def _mismatch(self, operands: tuple[tuple[DType, AxisNames], ...]) -> Cut:
        """The cut where operands do not fit; it says where their sizes would, because the space matches axes."""
        found = self._mismatches.get(operands)
        if found is None:
            shown = " against ".join(f"{dtype}({', '.join(a or '1' for a in axes)})" for dtype, axes in operands)
            names = [{a for a in axes if a} for _, axes in operands]
            agree = any(len(set(p)) > 1 and len({self.extents[a] for a in p}) == 1 for p in product(*names))
            detail = "Some of their sizes happen to agree, but the stated space matches axes, not sizes."
            found = Cut("shape.mismatch", "axes match", shown, detail if agree else "")
            self._mismatches[operands] = found
        return found

    def _known(
        self,
        op: ComputeOp | LoopOp,
        args: tuple[int, ...],
        tensor: Tensor,
        tensors: tuple[Tensor, ...],
        accumulated: tuple[int, ...],
    ) -> Cut | None:
        """The cut of what is there already, or of what a definition says more shortly."""
        if not self.space.active("dup.canonical"):
            return None
        for i, t in enumerate(tensors):
            if t.number == tensor.number:
                return Cut("dup.canonical", "e is new", f"%{i}")
        if not isinstance(op, _DEFINED):
            return None
        numbers = tuple(tensors[a].number for a in args)
        shorter, inner = self.expressions.reduced(op, numbers)
        operators = self.space.block
        lasting = True
        match op, shorter:
            case Binary("mul"), Unary("square"):
                known = "square" in operators.unary
            case Binary("mul"), Binary("div"):
                known = "div" in operators.binary and any(t.number == inner[1] for t in tensors)
            case Unary("sqrt"), Reduce("rms", _):
                known = "rms" in operators.reductions
            case (Unary("sqrt"), Accumulate(kind, int())) | (Accumulate("sum", None), Accumulate(kind, int())):
                known = kind in operators.accumulators and inner[0] not in {tensors[a].number for a in accumulated}
                lasting = False
            case AccumulateRescaled(None), AccumulateRescaled(int()):
                known = inner[0] not in {tensors[a].number for a in accumulated}
                lasting = False
            case _:
                known = False
        if not known:
            return None
        return Cut("dup.canonical", "no definition makes e shorter", op_name(shorter), lasting=lasting)

    def _unreachable(self, tensor: Tensor) -> Cut | None:
        """The cut of a value that is no part of the result."""
        if not self.space.active("expr.unreachable"):
            return None
        if self._reached(tensor):
            return None
        return Cut("expr.unreachable", "e ≤ result", show(tensor.expression), common=self._result)

    def _reached(self, tensor: Tensor) -> frozenset[int]:
        """The readings of the result that a value may be part of."""
        found = self._reaches.get(tensor.number)
        if found is None:
            found = frozenset(n for n, goal in enumerate(self.goals) if goal.reaches(tensor.expression))
            self._reaches[tensor.number] = found
        return found

    def _closes(self, number: int, expression: Poly, pending: tuple[str, ...]) -> bool:
        """Whether a value behind the loop may be part of the result, when what is pending is summed.

        Until then only what is linear, and the same along these axes, comes between; so the sums may as well be
        taken at once, unless a view lies between, of which expressions know no laws.
        """
        opaque = any(isinstance(view, Reshape | Slice | Concat) for view in self.space.block.views)
        if opaque or not self.space.active("expr.unreachable"):
            return True
        key = (number, pending)
        if key not in self._closing:
            for axis in pending:
                expression = self._theory.summed(expression, self._sizes.get(axis, axis))
            self._closing[key] = any(goal.reaches(expression) for goal in self.goals)
        return self._closing[key]

    def _together(self, tensor: Tensor, others: Sequence[Tensor], goals: frozenset[int]) -> frozenset[int] | Cut:
        """Which of some readings a value and unused ones may be parts of at once; the cut where it is none."""
        if not self.space.active("expr.apart"):
            return goals
        if len(self.goals) > 1:
            goals &= self._reached(tensor)
            if not goals:
                return Cut("expr.apart", "result = C[e, ..] for some C", show(tensor.expression), common=self._result)
        for other in others:
            pair = (tensor.number, other.number)
            found = self._joins.get(pair)
            if found is None:
                one, two = tensor.expression, other.expression
                found = frozenset(n for n, goal in enumerate(self.goals) if goal.joins(one, two))
                self._joins[pair] = found
            goals &= found
            if not goals:
                shown = f"e = {show(tensor.expression)}, e' = {show(other.expression)}"
                return Cut("expr.apart", "result = C[e, e'] for some C", shown, common=self._result)
        return goals

    def _no_loop(self, state: BlockState, tensor: Tensor) -> Cut:
        """The cut where every choice of looped axes that was legal so far is forbidden now."""
        key = (state.context, tensor.number, state.legal)
        if key not in self._loopless:
            broken = (f"{{{', '.join(sorted(state.choices[c]))}}}: {tensor.flows[c]}" for c in sorted(state.legal))
            pending = any(tensor.flows[c] == "loop.pending" for c in state.legal)
            rule = "expr.unreachable" if pending else "map.constraint"
            cut = Cut(
                rule, "some choice of looped axes is legal", "; ".join(broken), common=self._result if pending else {}
            )
            self._loopless[key] = cut
        return self._loopless[key]

    def _missing(self, tensors: tuple[Tensor, ...], goals: frozenset[int]) -> int:
        """How many operators with one operand must still come, at least."""
        had = frozenset[str]().union(*(features(t.expression) for t in tensors))
        return min(self._lacking(self._wanted[n] - had) for n in goals)

    def _lacking(self, lacking: frozenset[str]) -> int:
        if not self._rms_known:
            return len(lacking)
        means = sum(f.startswith("μ") for f in lacking)
        return len(lacking) - min(means, "√" in lacking)

    def _had(self, tensors: Sequence[Tensor]) -> tuple[Parts, ...]:
        return tuple(reduce(Parts.__or__, (n.had(t.expression) for t in tensors), NOTHING) for n in self._needs)

    def _unaffordable(self, joins: int, made: tuple[Parts, ...], goals: frozenset[int], left: int) -> Cut | None:
        """The cut of a graph whose missing parts cost more operators than are left, in every reading."""
        needed = min(self._needs[n].least(joins, made[n]) for n in goals)
        if needed > left and self.space.active("limit.needed"):
            return Cut("limit.needed", _ENOUGH, f"{needed} > {left}")
        if self.space.active("limit.terms"):
            needed = min(self._needs[n].least_with_terms(joins, made[n]) for n in goals)
            if needed > left:
                return Cut("limit.terms", _ENOUGH, f"{needed} > {left}")
        return None

    # ------------------------------------------------------------ time
    def behind(self, floor: Growing, tensor: Tensor) -> Growing:
        """The floor behind a kernel that has written a tensor."""
        return self.ceiling.closed(floor, self._type(tensor)) if self.ceiling else floor

    def _opened(self, state: KernelState, operands: tuple[int, ...]) -> Growing:
        if self.ceiling is None:
            return state.floor
        cold: list[TensorType] = []
        warm: list[TensorType] = []
        for i in sorted(set(operands)):
            match state.tensors[i].node.op:
                case Band():
                    pass
                case Input() if i not in state.read and self._is_cold(state.tensors[i]):
                    cold.append(self._type(state.tensors[i]))
                case _:
                    warm.append(self._type(state.tensors[i]))
        return self.ceiling.opened(state.floor, cold, warm)

    def _computed(
        self,
        floor: Growing,
        op: ComputeOp | LoopOp,
        args: tuple[int, ...],
        tensor: Tensor,
        state: KernelState | BlockState,
    ) -> Growing:
        """The floor with one more operator; what is still to be summed along an axis may be as thin as one there."""
        if self.ceiling is None or any(t.number == tensor.number for t in state.tensors):
            return floor
        operands = tuple(state.tensors[a] for a in args)
        legal = state.legal if isinstance(state, BlockState) else ()
        flows = (t.flows[c] for t in (*operands, tensor) for c in legal)
        thin = frozenset(a for f in flows if isinstance(f, Flow) for a in f.pending)
        flops = least_flops(op, [self._dims(t, thin) for t in operands], self._dims(tensor, thin))
        return self.ceiling.computed(floor, flops, tensor.dtype)

    def _too_slow(self, floor: Growing) -> Cut | None:
        """The cut of a graph that cannot grow into a kernel below the time to beat."""
        if self.ceiling is None or floor.time_s < self.ceiling.best_s:
            return None
        beat, target = self.ceiling.best_s, self.ceiling.target
        common = {"time to beat": seconds_text(beat), "machine": target.name}
        if self.ceiling.elsewhere_s:
            common["of e, other kernels"] = f"{seconds_text(self.ceiling.elsewhere_s)} at least"
        told, guessed = seconds_text(floor.time_s), target.measured
        return Cut("cost.floor", "e < time to beat", told, rates_of(target), heuristic=guessed, common=common)

    def _dims(self, tensor: Tensor, thin: frozenset[str] = frozenset()) -> tuple[Dim, ...]:
        return tuple(self.extents[a] if a and a not in thin else dim(1) for a in tensor.axes)

    def _type(self, tensor: Tensor) -> TensorType:
        return TensorType(self._dims(tensor), tensor.dtype)

    def _fitting(
        self,
        tensors: tuple[Tensor, ...],
        first: int,
        reduced: frozenset[str],
        choices: tuple[frozenset[str], ...],
        legal: frozenset[int],
    ) -> frozenset[int] | Cut:
        """The choices of looped axes under which the smallest tiles fit into shared memory."""
        limit = self.target.shared_memory_bytes
        fits: set[int] = set()
        worst = (0, "")
        for c in sorted(legal):
            whole = reduced - choices[c]
            largest = max(self._alive(tensors, i, whole) for i in range(first, len(tensors)))
            if largest[0] <= limit:
                fits.add(c)
            worst = max(worst, largest)
        if fits or not legal:
            return frozenset(fits)
        common = {"largest tiles": worst[1], "shared memory": f"{limit} B"}
        return Cut("mem.smem", "e ≤ shared memory", f"{worst[0]} B", common=common)

    def _alive(self, tensors: tuple[Tensor, ...], position: int, whole: frozenset[str]) -> tuple[int, str]:
        """The two largest tiles alive at one operator, each as small as any partition makes it."""
        node = tensors[position].node
        alive = set(node.args)
        if not isinstance(node.op, Unary | Scalar | Binary | ViewOp):
            alive.add(position)
        sizes: list[tuple[int, int]] = []
        for i in sorted(alive):
            size = BYTES[tensors[i].dtype]
            for a in tensors[i].axes:
                if a in whole:
                    size *= self.extents[a].constant or 1
            sizes.append((size, i))
        top = sorted(sizes, reverse=True)[:2]
        return sum(size for size, _ in top), " and ".join(f"%{i}" for _, i in top)


_DEFINED = (Binary, Unary, Accumulate, AccumulateRescaled)
"""Operators that `Expressions` has definitions of."""


def _subsets(axes: list[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(c) for size in range(len(axes) + 1) for c in combinations(axes, size))


def _first_of_size(table: AxisTable) -> dict[str, str]:
    return {a.name: next(b.name for b in table.axes if b.extent == a.extent) for a in table.axes}


def _named(axes: AxisNames, names: Mapping[str, str]) -> AxisNames:
    return tuple(names.get(a, a) if a else None for a in axes)


def _renamed(tensors: tuple[Tensor, ...], same: Same) -> tuple[Tensor, ...]:
    names = dict(same)
    return tuple(replace(t, axes=_named(t.axes, names)) for t in tensors)


def _reduced_axes(op: ComputeOp | LoopOp, axes: tuple[AxisNames, ...]) -> frozenset[str]:
    match op:
        case MatMul():
            axis = axes[0][-1]
        case Reduce(_, along) | Accumulate(_, int() as along):
            axis = axes[0][along]
        case RunningMax(int() as along) | AccumulateRescaled(int() as along):
            axis = axes[0][along]
        case _:
            axis = None
    return frozenset({axis} if axis else ())


def _too_few(joins: int, missing: int, left: int) -> Cut:
    return Cut("limit.ops", "joins + makings ≤ operators left", f"{joins} + {missing} > {left}")
