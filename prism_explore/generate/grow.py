"""Grow sGraphs operator by operator, in canonical order, and cut what cannot become the program.

The kernel graph grows first; opening a custom kernel grows its block graph; a block graph whose tensors
are all used but one closes, and the kernel graph goes on. Maps stay open throughout: a tensor is typed
by its index axes, so an operator fits or not whatever the maps will be, and a family stands for all of
them. Depth first, smallest rank first, so the stream of events is the same every time.

Every step that is kept is noted, and every cut with its reason; operators that would break the canonical
order are no cuts, since their graph is met elsewhere, and neither are reductions along a dim of size 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded, RegionPruned
from prism_explore.generate.abstract import Goal, Poly, Theory, features, leaf, show
from prism_explore.generate.canonical import Application, Counter, Expressions, Rank, applications, possible, rank
from prism_explore.generate.prune import Cut, Machine, budget_reason, reason
from prism_explore.ir.axes import AxisNames, AxisTable, axes_of, compute_axes
from prism_explore.ir.flow import FLOW_RULES, Flow, FlowRule, flow
from prism_explore.ir.ops import (
    COMMUTATIVE,
    Accumulate,
    Binary,
    ComputeOp,
    Custom,
    Input,
    Load,
    MatMul,
    Node,
    Reduce,
    Scalar,
    Store,
    Unary,
    op_name,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import BlockGraph, SGraph
from prism_explore.ir.space import Operators, Space
from prism_explore.ir.stages import Family
from prism_explore.ir.tensors import BYTES, DType
from prism_explore.ir.text import show as show_graph


def generate(program: TensorProgram, space: Space, target: Machine, journal: Journal) -> Iterator[Family | None]:
    """Every family of the space whose result is the program's by A_eq.

    Yields:
        A family when one is whole; None after every other step, so that a caller can pause there.
    """
    yield from _Growth(program, space, target, journal).run()


@dataclass(frozen=True, slots=True)
class OpKind:
    """An operator that may be applied: one letter of a level's alphabet."""

    op: ComputeOp | Accumulate
    arity: int
    commutative: bool

    @property
    def label(self) -> str:
        """Its name, with the dim or the constant that tells it from its like."""
        match self.op:
            case Reduce(_, along):
                return f"{op_name(self.op)}[{along}]"
            case Accumulate(_, along) if along is not None:
                return f"{op_name(self.op)}[{along}]"
            case Scalar(_, value):
                return f"{op_name(self.op)}[{value}]"
            case _:
                return op_name(self.op)


def alphabet(operators: Operators, largest_rank: int) -> tuple[OpKind, ...]:
    """The operators as letters: a reduction along each dim is a letter of its own."""
    letters: list[OpKind] = [OpKind(Unary(fn), 1, False) for fn in operators.unary]
    letters += [OpKind(s, 1, False) for s in operators.scalars]
    letters += [OpKind(Reduce(fn, d), 1, False) for fn in operators.reductions for d in range(largest_rank)]
    for kind in operators.accumulators:
        if kind == "plain":
            letters.append(OpKind(Accumulate("sum"), 1, False))
        else:
            letters += [OpKind(Accumulate(kind, d), 1, False) for d in range(largest_rank)]
    letters += [OpKind(Binary(fn), 2, fn in COMMUTATIVE) for fn in operators.binary]
    if operators.matmul:
        letters.append(OpKind(MatMul(), 2, False))
    return tuple(letters)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the growing graph and all that is known of it."""

    node: Node
    axes: AxisNames
    dtype: DType
    expression: Poly
    number: int
    """See `canonical.Expressions`."""
    flows: tuple[Flow | FlowRule, ...] = ()
    """Inside a block: its state under each choice of looped axes."""


@dataclass(frozen=True, slots=True)
class KernelState:
    """A growing kernel graph."""

    id: str
    tensors: tuple[Tensor, ...]
    unused: frozenset[int]
    last: Rank | None = None
    predefined: int = 0
    customs: int = 0


@dataclass(frozen=True, slots=True)
class BlockState:
    """A growing block graph."""

    id: str
    operands: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    unused: frozenset[int]
    choices: tuple[frozenset[str], ...]
    """The choices of looped axes that are looked ahead to."""
    legal: frozenset[int]
    """Those that no operator forbids so far."""
    reduced: frozenset[str] = frozenset()
    """Axes that some operator sums over, so that no grid dim may cut them."""
    accumulated: tuple[int, ...] = ()
    last: Rank | None = None


class _Growth:
    """One search: the program's facts, the counters of ids, and the recursion."""

    def __init__(self, program: TensorProgram, space: Space, target: Machine, journal: Journal) -> None:
        self.program, self.space, self.target, self.journal = program, space, target, journal
        graph = program.graph
        table = axes_of(graph)
        named = _named(table, by_extent=not space.active("shape.mismatch"))
        self.extents = {a.name: a.extent for a in table.axes}
        self.twice = frozenset(a for axes in named for a in axes if a and axes.count(a) > 1)
        marked = frozenset(a for axes in named for a in axes if a) - self.twice
        scalars = {s.value for s in (*space.block.scalars, *space.kernel.scalars) if s.fn == "mul"}
        self.theory = Theory(
            marked if space.active("shape.mismatch") else frozenset(),
            tuple((a.name, value) for a in table.axes for value in sorted(scalars) if a.extent.constant == 1 / value),
            "sigmoid" in (*space.block.unary, *space.kernel.unary),
        )
        self.expressions = Expressions()
        types = graph.types()
        values: list[Poly] = []
        inputs: list[Tensor] = []
        for position, node in enumerate(graph.nodes):
            match node.op:
                case Input(name, t):
                    values.append(leaf(name, (a for a in named[position] if a in marked)))
                    number = self.expressions.number(node.op, ())
                    inputs.append(Tensor(Node(node.op), named[position], t.dtype, values[-1], number))
                case Custom() | Load() | Store() | Accumulate():
                    raise AssertionError("a tensor program has compute operators only")
                case op:
                    args = tuple(values[a] for a in node.args)
                    values.append(self.theory.apply(op, args, tuple(named[a] for a in node.args)))
        self.inputs = tuple(inputs)
        self.goal = Goal(values[graph.output])
        self.wanted = features(values[graph.output])
        self.output_axes, self.output_dtype = named[graph.output], types[graph.output].dtype
        largest_rank = max(t.rank for t in types)
        self.block_alphabet = alphabet(space.block, largest_rank)
        self.kernel_alphabet = alphabet(space.kernel, largest_rank)
        self.block_counter, self.kernel_counter = Counter(self.block_alphabet), Counter(self.kernel_alphabet)
        self.names = {i: t.node.op.name for i, t in enumerate(inputs) if isinstance(t.node.op, Input)}
        self.nodes = self.regions = self.families = 0
        self.seen: dict[int, str] = {}

    def run(self) -> Iterator[Family | None]:
        listed = ", ".join(self.names.values())
        root = self.expand("", f"inputs({listed})", "kernel", "")
        yield None
        yield from self.kernel(KernelState(root, self.inputs, frozenset(range(len(self.inputs)))))

    # ------------------------------------------------------------ kernel graph
    def kernel(self, state: KernelState) -> Iterator[Family | None]:
        """Every family that extends a kernel graph."""
        space = self.space
        steps: list[tuple[Rank, Application | tuple[int, ...]]] = []
        if state.predefined + state.customs < space.kernel_ops:
            if state.predefined < space.predefined_kernels:
                found = applications(len(state.tensors), self.kernel_alphabet, state.last)
                steps += [(a.rank, a) for a in found]
            if state.customs < space.custom_kernels:
                sizes = range(1, space.block_inputs + 1)
                subsets = chain.from_iterable(combinations(range(len(state.tensors)), n) for n in sizes)
                custom = len(self.kernel_alphabet)
                steps += [(rank(s, custom), s) for s in subsets if state.last is None or rank(s, custom) > state.last]
        cuts = _Cuts()
        kept: list[tuple[KernelState, Tensor] | BlockState] = []
        for place, step in sorted(steps, key=lambda pair: pair[0]):
            if isinstance(step, Application):
                made = self.try_predefined(state, step, place)
                if isinstance(made, tuple):
                    kept.append(made)
                elif made is not None:
                    kind = self.kernel_alphabet[step.kind]
                    cuts.add(step.args, kind, made, self.kernel_weight(state, step))
            else:
                opened = self.try_custom(state, step)
                if isinstance(opened, BlockState):
                    kept.append(opened)
                else:
                    cuts.add(step, None, opened, self.block_weight(len(step)))
        yield from self.note_cuts(cuts, state.id, "kernel", self.names)
        for done, step in enumerate(kept):
            if self.nodes >= space.nodes:
                yield self.over_budget(state.id, "kernel", float(len(kept) - done))
                return
            if isinstance(step, BlockState):
                listed = ", ".join(self.names.get(a, f"%{a}") for a in step.operands)
                node = self.expand(state.id, f"custom({listed})", "kernel", "")
                yield None
                yield from self.block(state, _with_id(step, node))
            else:
                grown, tensor = step
                text = _call(tensor.node, self.names)
                node = self.expand(state.id, text, "kernel", show(tensor.expression))
                yield None
                yield from self.kernel_grown(
                    KernelState(node, grown.tensors, grown.unused, grown.last, grown.predefined, grown.customs)
                )

    def kernel_grown(self, state: KernelState) -> Iterator[Family | None]:
        """What a kernel graph with one more operator gives: a family if it is whole, and what extends it."""
        if self.is_whole(state):
            yield from self.complete(state)
        if self.spare(state):
            yield from self.kernel(state)

    def try_predefined(
        self, state: KernelState, step: Application, place: Rank
    ) -> tuple[KernelState, Tensor] | Cut | None:
        """The kernel graph with a predefined operator, or why not, or None if there is no such operator."""
        op = self.kernel_alphabet[step.kind].op
        tensor = self.applied(op, step.args, state.tensors, ())
        if not isinstance(tensor, Tensor):
            return tensor
        tensors = (*state.tensors, tensor)
        unused = state.unused.difference(step.args) | {len(state.tensors)}
        grown = KernelState(state.id, tensors, unused, place, state.predefined + 1, state.customs)
        ends = [tensors[i].expression for i in sorted(unused)]
        joins, spare = len(unused) - 1, self.spare(grown)
        missing = self.missing(tensors)
        if self.space.active("limit.ops") and joins + missing > spare:
            return _too_few(joins, missing, spare)
        return self.value_cut(tensor, ends[:-1]) or (grown, tensor)

    def try_custom(self, state: KernelState, operands: tuple[int, ...]) -> BlockState | Cut:
        """A new block graph that loads these tensors, or why not."""
        after = KernelState(
            state.id,
            state.tensors,
            state.unused.difference(operands),
            state.last,
            state.predefined,
            state.customs + 1,
        )
        joins = len(after.unused)
        spare = self.spare(after)
        if joins > spare:
            return _too_few(joins, 0, spare)
        axes = sorted({a for i in operands for a in state.tensors[i].axes if a})
        if not spare:
            axes = [a for a in axes if a not in self.output_axes]
        choices = tuple(frozenset(c) for size in range(len(axes) + 1) for c in combinations(axes, size))
        tensors: list[Tensor] = []
        legal = frozenset(range(len(choices)))
        for position, i in enumerate(operands):
            t = state.tensors[i]
            flows = tuple(flow(Load(position), (), (), t.axes, looped) for looped in choices)
            legal = frozenset(c for c in legal if isinstance(flows[c], Flow))
            tensors.append(Tensor(Node(Load(position)), t.axes, t.dtype, t.expression, t.number, flows))
        return BlockState("", operands, tuple(tensors), frozenset(range(len(operands))), choices, legal)

    def spare(self, state: KernelState) -> int:
        """How many operators with two operands may still follow in the kernel graph, counted generously."""
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
            and state.unused == {len(state.tensors) - 1}
            and newest.axes == self.output_axes
            and newest.dtype == self.output_dtype
            and (newest.expression == self.goal.result or not self.space.active("expr.unreachable"))
        )

    def complete(self, state: KernelState) -> Iterator[Family | None]:
        """The family of a whole kernel graph, unless an equal one is known."""
        graph = SGraph(tuple(t.node for t in state.tensors), len(state.tensors) - 1)
        number = self.expressions.of_graph(graph)
        if number in self.seen and self.space.active("dup.canonical"):
            cut = Cut("dup.canonical", detail=f"It is family {self.seen[number]}.")
            self.prune(state.id, "whole graph", "kernel", cut, {"family": self.seen[number]}, 1.0, exact=True)
            yield None
            return
        self.families += 1
        family = Family(f"f{self.families}", self.program, graph)
        self.seen.setdefault(number, family.id)
        self.journal.note(FamilyCompleted(family.id, state.id, show_graph(graph)))
        yield family

    # ------------------------------------------------------------ block graph
    def block(self, kernel: KernelState, state: BlockState) -> Iterator[Family | None]:
        """Every family whose custom kernel extends a block graph."""
        if len(state.tensors) >= self.space.block_ops:
            return
        cuts = _Cuts()
        kept: list[tuple[BlockState, Application]] = []
        for step in applications(len(state.tensors), self.block_alphabet, state.last):
            made = self.try_block(kernel, state, step)
            if isinstance(made, BlockState):
                kept.append((made, step))
            elif made is not None:
                cuts.add(step.args, self.block_alphabet[step.kind], made, self.weight(state, step))
        yield from self.note_cuts(cuts, state.id, "block", {})
        for done, (grown, _) in enumerate(kept):
            if self.nodes >= self.space.nodes:
                lost = sum(self.weight(state, step) for _, step in kept[done:])
                yield self.over_budget(state.id, "block", lost)
                return
            newest = grown.tensors[-1]
            node = self.expand(state.id, _call(newest.node, {}), "block", show(newest.expression))
            yield None
            grown = _with_id(grown, node)
            if len(grown.unused) == 1:
                yield from self.close(kernel, grown)
            yield from self.block(kernel, grown)

    def close(self, kernel: KernelState, state: BlockState) -> Iterator[Family | None]:
        """What a block graph gives when its newest tensor is stored."""
        newest = state.tensors[-1]
        stored = Store()
        if self.space.active("map.constraint") and not any(
            isinstance(newest.flows[c], Flow)
            and isinstance(flow(stored, (_flow(newest, c),), (newest.axes,), newest.axes, state.choices[c]), Flow)
            for c in state.legal
        ):
            return
        position = len(kernel.tensors)
        block = BlockGraph((), None, (*(t.node for t in state.tensors), Node(stored, (len(state.tensors) - 1,))))
        made = Tensor(Node(Custom(block), state.operands), newest.axes, newest.dtype, newest.expression, newest.number)
        unused = kernel.unused.difference(state.operands) | {position}
        place = rank(state.operands, len(self.kernel_alphabet))
        grown = KernelState(state.id, (*kernel.tensors, made), unused, place, kernel.predefined, kernel.customs + 1)
        yield from self.kernel_grown(grown)

    def try_block(self, kernel: KernelState, state: BlockState, step: Application) -> BlockState | Cut | None:
        """The block graph with one more operator, or why not, or None if there is no such operator."""
        space = self.space
        op = self.block_alphabet[step.kind].op
        if isinstance(op, Accumulate) and space.active("limit.accumulators"):
            if len(state.accumulated) >= space.accumulators:
                return Cut("limit.accumulators", "accumulators ≤ limit", {"limit": str(space.accumulators)})
            if step.args[0] in state.accumulated:
                return Cut("limit.accumulators", detail=f"%{step.args[0]} is accumulated already.")
        tensor = self.applied(op, step.args, state.tensors, state.accumulated)
        if not isinstance(tensor, Tensor):
            return tensor
        operands = tuple(state.tensors[a] for a in step.args)
        axes = tuple(t.axes for t in operands)
        flows: list[Flow | FlowRule] = []
        for c, looped in enumerate(state.choices):
            before = tuple(t.flows[c] for t in operands)
            broken = next((f for f in before if not isinstance(f, Flow)), None)
            known = tuple(f for f in before if isinstance(f, Flow))
            flows.append(broken or flow(op, known, axes, tensor.axes, looped))
        legal = frozenset(c for c in state.legal if isinstance(flows[c], Flow))
        if not legal and space.active("map.constraint"):
            return _no_loop(state, flows)
        tensor = Tensor(tensor.node, tensor.axes, tensor.dtype, tensor.expression, tensor.number, tuple(flows))
        tensors = (*state.tensors, tensor)
        unused = state.unused.difference(step.args) | {len(state.tensors)}
        ends = [tensors[i].expression for i in sorted(unused)]
        if cut := self.value_cut(tensor, ends[:-1]):
            return cut
        after = KernelState(kernel.id, kernel.tensors, kernel.unused, None, kernel.predefined, kernel.customs + 1)
        left, spare = space.block_ops - len(tensors), self.spare(after)
        joins = len(unused) - 1
        missing = self.missing((*tensors, *kernel.tensors) if spare else tensors)
        if space.active("limit.ops") and (joins > left or joins + missing > left + spare):
            return _too_few(joins, missing, left + spare)
        reduced = state.reduced | _reduced_axes(op, axes)
        if space.active("mem.smem"):
            first = 0 if reduced != state.reduced else len(state.tensors)
            made = self.fitting(tensors, first, reduced, state.choices, legal)
            if isinstance(made, Cut):
                return made
            legal = made
        accumulated = (*state.accumulated, *step.args) if isinstance(op, Accumulate) else state.accumulated
        return BlockState("", state.operands, tensors, unused, state.choices, legal, reduced, accumulated, step.rank)

    def fitting(
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
        worst: tuple[int, str, str] = (0, "", "")
        for c in sorted(legal):
            whole = reduced - choices[c]
            largest: tuple[int, str, str] = (0, "", "")
            for position in range(first, len(tensors)):
                largest = max(largest, self.live_bytes(tensors, position, whole))
            if largest[0] <= limit:
                fits.add(c)
            worst = max(worst, largest)
        if fits or not legal:
            return frozenset(fits)
        return Cut(
            "mem.smem",
            "bytes(a) + bytes(b) ≤ shared memory",
            {"a": worst[1], "b": worst[2], "least sum": f"{worst[0]} B", "shared memory": f"{limit} B"},
        )

    def live_bytes(self, tensors: tuple[Tensor, ...], position: int, whole: frozenset[str]) -> tuple[int, str, str]:
        """The two largest tiles alive at one operator, each as small as any partition makes it."""
        node = tensors[position].node
        alive = set(node.args)
        if not isinstance(node.op, Unary | Scalar | Binary):
            alive.add(position)
        sizes: list[tuple[int, str]] = []
        for i in sorted(alive):
            size = BYTES[tensors[i].dtype]
            for a in tensors[i].axes:
                if a in whole:
                    size *= self.extents[a].constant or 1
            sizes.append((size, f"%{i}"))
        top = sorted(sizes, reverse=True)[:2]
        return sum(s for s, _ in top), top[0][1], top[1][1] if len(top) > 1 else ""

    # ------------------------------------------------------------ either level
    def applied(
        self,
        op: ComputeOp | Accumulate,
        args: tuple[int, ...],
        tensors: tuple[Tensor, ...],
        accumulated: tuple[int, ...],
    ) -> Tensor | Cut | None:
        """The tensor that an operator gives, or why not, or None if there is no such operator."""
        operands = tuple(tensors[a] for a in args)
        axes = tuple(t.axes for t in operands)
        if isinstance(op, Reduce | Accumulate) and op.dim is not None:
            if op.dim >= len(axes[0]) or axes[0][op.dim] is None:
                return None
        result = compute_axes(op, axes)
        if result is None or len({t.dtype for t in operands}) > 1:
            return self.mismatch(axes)
        if self.space.active("shape.mismatch"):
            double = [a for a in result if a and a not in self.twice and result.count(a) > 1]
            if double:
                detail = f"Axis {double[0]} would fill two dims of one tensor."
                return Cut("shape.mismatch", "axes of the result differ", {"axis": double[0]}, detail, True)
        numbers = tuple(t.number for t in operands)
        number = self.expressions.number(op, numbers)
        if self.space.active("dup.canonical") and (cut := self.duplicate(op, numbers, number, tensors, accumulated)):
            return cut
        expression = self.theory.apply(op, tuple(t.expression for t in operands), axes)
        return Tensor(Node(op, args), result, operands[0].dtype, expression, number)

    def mismatch(self, axes: tuple[AxisNames, ...]) -> Cut:
        """The reason why operands do not fit; heuristic where their sizes would."""
        shown = [f"({', '.join(a or '1' for a in names)})" for names in axes]
        sizes = [tuple(self.extents[a] if a else None for a in names) for names in axes]
        agree = self.space.active("shape.mismatch") and len(sizes) == 2 and set(sizes[0]) & set(sizes[1]) - {None}
        detail = "Some of their sizes happen to agree." if agree else ""
        return Cut("shape.mismatch", "axes(a) match axes(b)", dict(zip("ab", shown, strict=False)), detail, bool(agree))

    def duplicate(
        self,
        op: ComputeOp | Accumulate,
        numbers: tuple[int, ...],
        number: int,
        tensors: tuple[Tensor, ...],
        accumulated: tuple[int, ...],
    ) -> Cut | None:
        """Why an operator computes what is there already or what a definition says more shortly."""
        for i, t in enumerate(tensors):
            if t.number == number:
                return Cut("dup.canonical", "value is new", {}, f"It is %{i}.")
        shorter, args = self.expressions.reduced(op, numbers)
        operators = self.space.block
        taken = {tensors[a].number for a in accumulated}
        match op, shorter:
            case Binary("mul"), Unary("square"):
                known = "square" in operators.unary
            case Binary("mul"), Binary("div"):
                known = "div" in operators.binary and any(t.number == args[1] for t in tensors)
            case Unary("sqrt"), Reduce("rms", _):
                known = "rms" in operators.reductions
            case Unary("sqrt"), Accumulate("rms", _):
                known = "rms" in operators.accumulators and args[0] not in taken
            case Accumulate("sum", None), Accumulate("sum", along) if along is not None:
                known = "sum" in operators.accumulators and args[0] not in taken
            case _:
                known = False
        if not known:
            return None
        return Cut("dup.canonical", "no shorter name", {}, f"It is {op_name(shorter)} of an earlier tensor.")

    def value_cut(self, tensor: Tensor, others: Sequence[Poly]) -> Cut | None:
        """Why a value, alone or next to the unused ones, is no part of the result."""
        e = tensor.expression
        if self.space.active("expr.unreachable") and not self.goal.reaches(e):
            return Cut("expr.unreachable", "e ≤ result", {"e": show(e)})
        if self.space.active("expr.apart"):
            for other in others:
                if not self.goal.joins(e, other):
                    return Cut("expr.apart", "C[e, unused] = result for some C", {"e": show(e), "unused": show(other)})
        return None

    def missing(self, tensors: tuple[Tensor, ...]) -> int:
        """How many operators with one operand must still come, at least."""
        have: frozenset[str] = frozenset().union(*(features(t.expression) for t in tensors))
        lacking = self.wanted - have
        means = sum(f.startswith("μ") for f in lacking)
        roots = sum(f == "√" for f in lacking)
        rms = "rms" in (*self.space.block.reductions, *self.space.block.accumulators, *self.space.kernel.reductions)
        return len(lacking) - (min(means, roots) if rms else 0)

    # ------------------------------------------------------------ the diary
    def expand(self, parent: str, operator: str, level: str, expression: str) -> str:
        self.nodes += 1
        node = f"n{self.nodes}"
        self.journal.note(NodeExpanded(node, parent, operator, "kernel" if level == "kernel" else "block", expression))
        return node

    def prune(
        self,
        parent: str,
        operator: str,
        level: str,
        cut: Cut,
        substitution: dict[str, str],
        stood_for: float,
        exact: bool = False,
    ) -> None:
        self.regions += 1
        self.journal.note(
            RegionPruned(
                f"p{self.regions}",
                parent,
                operator,
                "kernel" if level == "kernel" else "block",
                reason(cut, substitution),
                stood_for,
                "exact" if exact else "estimate",
            )
        )

    def note_cuts(self, cuts: _Cuts, parent: str, level: str, names: dict[int, str]) -> Iterator[None]:
        """One event per operands and rule: operators that fail alike are told together."""
        for (args, _), group in cuts.groups.items():
            listed = ", ".join(names.get(a, f"%{a}") for a in args)
            labels = [kind.label if kind else "custom" for kind, _, _ in group]
            first = group[0][1]
            if len(group) == 1:
                substitution = dict(first.substitution)
            else:
                substitution = {
                    (f"{label}: {key}" if key == "e" else key): value
                    for label, (_, cut, _) in zip(labels, group, strict=True)
                    for key, value in cut.substitution.items()
                }
            if first.rule in ("expr.unreachable", "expr.apart"):
                substitution["result"] = show(self.goal.result)
            self.prune(
                parent,
                f"{' | '.join(labels)}({listed})",
                level,
                first,
                substitution,
                float(sum(weight for _, _, weight in group)),
            )
            yield None

    def over_budget(self, parent: str, level: str, lost: float) -> None:
        self.regions += 1
        self.journal.note(
            RegionPruned(
                f"p{self.regions}",
                parent,
                "the rest",
                "kernel" if level == "kernel" else "block",
                budget_reason(self.space.nodes),
                lost,
            )
        )

    def weight(self, state: BlockState, step: Application) -> float:
        """How many block graphs one application stands for, shapes and phases ignored."""
        count = len(state.tensors)
        opened = possible(count + 1, self.block_alphabet) - possible(count, self.block_alphabet)
        left = self.space.block_ops - count - 1
        return float(self.block_counter.up_to(step.above + opened, count + 1, left))

    def block_weight(self, loads: int) -> float:
        """How many block graphs over some loads there are, shapes and phases ignored."""
        left = max(self.space.block_ops - loads, 0)
        return float(self.block_counter.up_to(possible(loads, self.block_alphabet), loads, left))

    def kernel_weight(self, state: KernelState, step: Application) -> float:
        """How many kernel graphs one application stands for, each with any one block graph still to come."""
        count = len(state.tensors)
        opened = possible(count + 1, self.kernel_alphabet) - possible(count, self.kernel_alphabet)
        left = self.space.predefined_kernels - state.predefined - 1
        graphs = float(self.kernel_counter.up_to(step.above + opened, count + 1, left))
        customs = self.space.custom_kernels - state.customs
        return graphs * self.block_weight(min(self.space.block_inputs, count + 1)) ** customs


class _Cuts:
    """The cuts at one node, grouped by operands and rule in order of appearance."""

    def __init__(self) -> None:
        self.groups: dict[tuple[tuple[int, ...], tuple[str, str, bool]], list[tuple[OpKind | None, Cut, float]]] = {}

    def add(self, args: tuple[int, ...], kind: OpKind | None, cut: Cut, weight: float) -> None:
        alike = (cut.rule, cut.detail, cut.heuristic)
        self.groups.setdefault((args, alike), []).append((kind, cut, weight))


def _named(table: AxisTable, by_extent: bool) -> tuple[AxisNames, ...]:
    """Axes of the program's tensors; with `by_extent`, axes of equal extent are taken for one."""
    if not by_extent:
        return table.of
    first: dict[str, str] = {}
    for axis in table.axes:
        first[axis.name] = next(a.name for a in table.axes if a.extent == axis.extent)
    return tuple(tuple(first[a] if a else None for a in axes) for axes in table.of)


def _with_id(state: BlockState, node: str) -> BlockState:
    return BlockState(
        node,
        state.operands,
        state.tensors,
        state.unused,
        state.choices,
        state.legal,
        state.reduced,
        state.accumulated,
        state.last,
    )


def _flow(tensor: Tensor, choice: int) -> Flow:
    state = tensor.flows[choice]
    assert isinstance(state, Flow), "only legal choices are asked for"
    return state


def _call(node: Node, names: dict[int, str]) -> str:
    from prism_explore.ir.text import show_node

    return show_node(node, names)


def _reduced_axes(op: ComputeOp | Accumulate, axes: tuple[AxisNames, ...]) -> frozenset[str]:
    match op:
        case MatMul():
            axis = axes[0][-1]
        case Reduce(_, along) | Accumulate(_, int() as along):
            axis = axes[0][along]
        case _:
            axis = None
    return frozenset({axis} if axis else ())


def _no_loop(state: BlockState, flows: Sequence[Flow | FlowRule]) -> Cut:
    """The cut where every choice of looped axes is forbidden: choices with their broken rules."""
    broken = {
        "{" + ", ".join(sorted(state.choices[c])) + "}": rule
        for c in sorted(state.legal)
        if not isinstance(rule := flows[c], Flow)
    }
    rules = list(dict.fromkeys(broken.values()))
    return Cut(
        "map.constraint",
        "some choice of looped axes is legal",
        dict(broken),
        " ".join(FLOW_RULES[r] for r in rules),
    )


def _too_few(joins: int, missing: int, left: int) -> Cut:
    return Cut(
        "limit.ops",
        "joins + makings ≤ operators left",
        {"joins": str(joins), "makings": str(missing), "operators left": str(left)},
    )
