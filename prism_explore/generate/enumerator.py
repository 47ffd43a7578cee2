"""Enumerate the families of a program: kernel and block graphs, one operator at a time, in canonical order.

Input: a program, a search space, a target. Output: families (sGraphs with open maps), and an event for every step
that is kept or pruned. Method:

    1. Expand the kernel graph. Opening a custom kernel expands its block graph. A block graph with one unused tensor
       may be closed; then the kernel graph goes on.
    2. Split each complete single-kernel graph into two kernels (`split_kernels`).

Maps stay open: a tensor is typed by its index axes, so whether an operator fits does not depend on the maps.

Order: a step deviates if it computes a value that is neither a value of the program nor a form of its result, and does
not accumulate a partial sum. Graphs without deviations come first, then those with one deviation, and so on. So graphs
similar to the program are found early, and a budget ends the search among dissimilar ones. Graphs with equally many
deviations are enumerated depth first by rank. The order is deterministic, and so are the events.

No event is written for operators that violate the canonical order, because their graph is reached in another order;
for reductions along a dim of size 1; and for views of tensors with axes that the program's views do not have. The
enumerated graphs are of the program's core (`ir.transforms.boundary_views`); its boundary views are added to each
complete graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from prism_explore.cost.roofline import TimeToBeat
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Reason
from prism_explore.generate.abstract_expr.polynomial import show
from prism_explore.generate.budgets import families_spent, no_further_family, nodes_spent, time_spent
from prism_explore.generate.canonical_order import Application, Rank
from prism_explore.generate.event_log import CUSTOM, EventLog, NodeCuts, PrunedSequence, sequence_text
from prism_explore.generate.expander import Expander
from prism_explore.generate.program_count import ProgramCounts
from prism_explore.generate.pruning.facts import Machine
from prism_explore.generate.pruning.rule import Cut, PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.size_matching import rename_axes_in_kernel
from prism_explore.generate.split_kernels import Split
from prism_explore.generate.state import BlockApplication, BlockState, KernelState, MergedAxes, Tensor
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import BlockGraph, Custom, Node, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import promoted
from prism_explore.ir.text import show as show_graph
from prism_explore.ir.text import show_node
from prism_explore.pipeline.search_space import Level, Space
from prism_explore.pipeline.stages import Family, KernelSequence


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step at a block graph that no rule cuts."""

    step: BlockApplication
    state: BlockState
    weight: int
    """The number of graphs that begin with it."""


@dataclass(frozen=True, slots=True)
class DeferredSteps:
    """Steps at a block graph that are deferred, because they deviate from the program."""

    kernel: KernelState
    state: BlockState
    kept: list[KeptStep]


@dataclass(frozen=True, slots=True)
class CompleteGraph:
    """A complete kernel graph, without boundary views."""

    node: str
    core: SGraph
    axes: tuple[AxisNames, ...]
    """Of its kernel-level tensors."""
    same: MergedAxes


class Enumerator:
    """The enumeration of one program, with the number of graphs in each of its branches."""

    def __init__(
        self,
        program: TensorProgram,
        space: Space,
        target: Machine,
        journal: Journal,
        over: Callable[[], bool] = lambda: False,
        time_to_beat: TimeToBeat | None = None,
        rules: Iterable[PruningRule] = RULES,
    ) -> None:
        self.program, self.space, self.time_is_up = program, space, over
        self.log = EventLog(journal)
        self.expander = Expander(program, space, target, time_to_beat, rules)
        self.facts = self.expander.facts
        self.counts = ProgramCounts(self.facts.kernel_operators, self.facts.block_operators, space)
        self.input_names = {i: op.name for i, op in enumerate(self.facts.duplicated.program.inputs)}
        self.family_numbers: dict[Hashable, str] = {}
        self.deferred: dict[int, list[DeferredSteps]] = {}
        """Deferred steps, by the number of deviations of the graphs after them."""
        self.unsearched: dict[str, list[KeptStep]] = {}
        """Steps that a budget left unsearched, by block graph."""
        self.single_kernels: list[CompleteGraph] = []
        """The complete graphs with one kernel, which the second pass splits."""
        self.split_count = 0.0
        """The number of splits that were tried."""
        self.nodes_before = 0
        """The number of nodes of the first pass; each pass has a budget of its own."""
        self.families_before = 0
        """The number of families of the first pass."""
        self.last_family_at = 0
        """The number of nodes when the last family of the pass was found."""
        self.node_budget = min(space.nodes, space.patience)
        """The budget in nodes; it is smaller until the first family is found."""

    def run(
        self, sequences: Callable[[], Iterator[KernelSequence | PrunedSequence | None]] = lambda: iter(())
    ) -> Iterator[Family | None]:
        """Every family of the space; of a program with several results, the kernel sequences."""
        state = self.start()
        yield None
        one_result = not self.program.graph.further
        if one_result:
            yield from self.expand_kernel(state)
            yield from self.take_deferred_steps()
            yield from self.split_kernels()
        sequence_count = 0.0
        for sequence in sequences():
            match sequence:
                case KernelSequence():
                    sequence_count += 1
                    yield self.add_sequence(state.id, sequence)
                case PrunedSequence():
                    sequence_count += sequence.stood_for
                    self.log.pruned(state.id, sequence.text, "kernel", sequence.reason, sequence.stood_for)
                    yield None
                case None:
                    yield None
        single = float(self.counts.extensions(state)) if one_result else 0.0
        self.log.space_counted(1 + single + self.split_count + sequence_count)
        yield None

    def start(self) -> KernelState:
        """Report the root of the search tree: the kernel graph without operators."""
        root = self.log.expanded("", f"inputs({', '.join(self.input_names.values())})", "kernel")
        return self.facts.start(root)

    def add_sequence(self, root: str, sequence: KernelSequence) -> Family | None:
        """Report a kernel sequence as a step from the inputs, and as a family."""
        node = self.log.expanded(root, sequence_text(sequence.parts), "kernel")
        graph = sequence.full_graph({number: family.sgraph for number, family in sequence.families})
        partition = tuple(p.positions for p in sequence.parts)
        found = self.report_graph(node, "kernel", graph, partition if len(partition) > 1 else ())
        return replace(found, sequence=sequence) if found is not None else None

    def split_kernels(self) -> Iterator[Family | None]:
        """Every family of two kernels, by splitting those of one."""
        self.nodes_before, self.families_before = self.log.nodes, len(self.family_numbers)
        self.last_family_at = self.log.nodes
        for graph in self.single_kernels if self.space.results else ():
            yield from self.expand_splits(graph)

    def spent_budget(self) -> Reason | None:
        """The reason if a budget is spent; None otherwise."""
        if self.log.nodes - self.nodes_before >= self.node_budget:
            return nodes_spent(self.node_budget, bool(self.single_kernels))
        if self.single_kernels and self.log.nodes - self.last_family_at >= self.space.nodes_after_family:
            return no_further_family(self.space.nodes_after_family)
        if len(self.family_numbers) - self.families_before >= self.space.families:
            return families_spent(self.space.families)
        return time_spent(self.space.time_s) if self.time_is_up() else None

    def expand_kernel(self, state: KernelState) -> Iterator[Family | None]:
        """Every family that extends a kernel graph."""
        cuts, kept = self.try_kernel_steps(state)
        yield from self.log.cuts(cuts, state.id, "kernel", self.input_names)
        for done, grown in enumerate(kept):
            if spent := self.spent_budget():
                self.log.over_budget(state.id, "kernel", spent, float(sum(map(self.graphs_behind, kept[done:]))))
                yield None
                return
            yield from self.take_kernel_step(state, grown)

    def try_kernel_steps(self, state: KernelState) -> tuple[NodeCuts, list[KernelState | BlockState]]:
        """Try every step at a kernel graph: the cuts, and the states that are kept, in canonical order."""
        cuts = NodeCuts()
        kept: list[KernelState | BlockState] = []
        if (cut := self.single_kernel_cut(state)) is not None:
            cuts.add(tuple(sorted(state.unused)), CUSTOM, cut, float(self.counts.extensions(state)))
            return cuts, kept
        for step in self.kernel_steps(state):
            if isinstance(step, Application):
                outcome = self.expander.apply_predefined(state, step)
                entry = self.facts.kernel_operators.entries[step.kind]
                args, weight = step.args, self.counts.with_predefined(state, step)
            else:
                outcome = self.expander.open_kernel(state, step)
                entry = None
                args, weight = step, self.counts.with_kernel(state, step)
            match outcome:
                case Cut():
                    cuts.add(args, entry.label if entry else CUSTOM, outcome, float(weight))
                case KernelState():
                    kept.append(outcome)
                case BlockState():
                    extensions = self.counts.extensions_after_kernel(state, outcome.operands)
                    kept.append(replace(outcome, extensions=extensions, stood_for=weight, deviations=state.deviations))
                case None:
                    cuts.invalid += weight
        return cuts, kept

    def single_kernel_cut(self, state: KernelState) -> Cut | None:
        """The cut of the only possible kernel, which reads all tensors; None if it is kept or others are possible.

        Kernels that leave a tensor unused are cut anyway, and with many inputs there are thousands of them.
        """
        space = self.space
        is_only_kernel = space.custom_kernels == state.customs + 1 and not space.predefined_kernels
        operands = tuple(sorted(state.unused))
        if not is_only_kernel or state.customs or len(operands) != len(state.tensors):
            return None
        if not _MANY_INPUTS <= len(operands) <= space.block_inputs:
            return None
        outcome = self.expander.open_kernel(state, operands)
        return outcome if isinstance(outcome, Cut) else None

    def graphs_behind(self, grown: KernelState | BlockState) -> int:
        """The number of graphs that begin with a kept step at a kernel graph."""
        return grown.stood_for if isinstance(grown, BlockState) else 1 + self.counts.extensions(grown)

    def take_kernel_step(self, state: KernelState, grown: KernelState | BlockState) -> Iterator[Family | None]:
        """Report a kept step at a kernel graph; every family that extends it."""
        if isinstance(grown, BlockState):
            node = self.log.expanded(state.id, self.step_text(grown), "kernel")
            yield None
            yield from self.expand_block(state, replace(grown, id=node))
        else:
            node = self.log.expanded(state.id, self.step_text(grown), "kernel", show(grown.tensors[-1].expression))
            yield None
            yield from self.after_kernel_step(replace(grown, id=node))

    def step_text(self, grown: KernelState | BlockState) -> str:
        """The text of a kept kernel-level step."""
        if isinstance(grown, BlockState):
            return f"{CUSTOM}({', '.join(self.input_names.get(a, f'%{a}') for a in grown.operands)})"
        return show_node(grown.tensors[-1].node, self.input_names)

    def kernel_steps(self, state: KernelState) -> list[Application | tuple[int, ...]]:
        """The steps at a kernel graph: predefined operators, and operands of a custom kernel."""
        space, count, last = self.space, len(state.tensors), state.last
        steps: list[tuple[Rank, Application | tuple[int, ...]]] = []
        if state.predefined + state.customs >= space.kernel_ops:
            return []
        if state.predefined < space.predefined_kernels:
            steps += [(a.rank, a) for a in self.facts.kernel_operators.applications(count, last)]
        if state.customs < space.custom_kernels:
            ranked = ((self.counts.custom_rank(s), s) for s in self.counts.operand_sets(count))
            steps += [(place, s) for place, s in ranked if last is None or place > last]
        return [step for _, step in sorted(steps, key=lambda pair: pair[0])]

    def after_kernel_step(self, state: KernelState) -> Iterator[Family | None]:
        """The families of a kernel graph with a new operator: itself if it is complete, and those that extend it."""
        if (complete := self.complete_graph(state)) is not None:
            yield self.add_family(complete)
        if self.facts.operators_left(state):
            yield from self.expand_kernel(state)

    def complete_graph(self, state: KernelState) -> CompleteGraph | None:
        """The complete graph; None if the state is not complete."""
        if not self.facts.is_complete(state):
            return None
        core = SGraph(tuple(t.node for t in state.tensors), len(state.tensors) - 1)
        return CompleteGraph(state.id, core, tuple(t.axes for t in state.tensors), state.merged_axes)

    def add_family(self, complete: CompleteGraph) -> Family | None:
        """Report a complete kernel graph; the second pass splits it if it is a new family."""
        family = self.report_graph(complete.node, "kernel", self.facts.with_views(complete.core))
        if family is not None:
            self.single_kernels.append(complete)
            self.node_budget = self.space.nodes
        return family

    def report_graph(self, node: str, level: Level, graph: SGraph, partition: Hashable = ()) -> Family | None:
        """Report a complete graph: the family; None if an earlier one equals it and has the same `partition`."""
        number = self.facts.expressions.number_graph(graph), partition
        if duplicate := self.expander.finish_graph(self.family_numbers.get(number, "")):
            self.log.complete_graph_cut(node, level, duplicate)
            return None
        self.family_numbers[number] = self.log.completed(node, show_graph(graph))
        self.last_family_at = self.log.nodes
        return Family(self.family_numbers[number], self.program, graph)

    def expand_splits(self, complete: CompleteGraph) -> Iterator[Family | None]:
        """Every family that splits a complete kernel graph."""
        cuts, kept = self.try_splits(complete)
        self.split_count += cuts.stood_for + len(kept)
        yield from self.log.cuts(cuts, complete.node, "split", {}, exact=True)
        for done, split in enumerate(kept):
            if spent := self.spent_budget():
                self.log.over_budget(complete.node, "split", spent, float(len(kept) - done))
                yield None
                return
            yield from self.take_split(complete.node, split)

    def try_splits(self, complete: CompleteGraph) -> tuple[NodeCuts, list[Split]]:
        """Try every split of a complete kernel graph: the cuts, and the splits that are kept."""
        cuts = NodeCuts()
        kept: list[Split] = []
        for split, cut in self.expander.split(complete.core, complete.axes, complete.same):
            if cut is not None:
                cuts.add(split.stored, split.label, cut, 1.0)
            else:
                kept.append(split)
        return cuts, kept

    def take_split(self, node: str, split: Split) -> Iterator[Family | None]:
        """Report a kept split; yield its family."""
        node = self.log.expanded(node, split.text, "split")
        yield None
        yield self.report_graph(node, "split", self.facts.with_views(split.graph))

    def expand_block(self, kernel: KernelState, state: BlockState) -> Iterator[Family | None]:
        """Every family whose custom kernel extends a block graph."""
        if len(state.tensors) >= self.space.block_ops:
            return
        cuts, kept = self.try_block_steps(state)
        yield from self.log.cuts(cuts, state.id, "block", {})
        near = [k for k in kept if k.state.deviations == state.deviations]
        if len(near) < len(kept):
            far = [k for k in kept if k.state.deviations > state.deviations]
            self.deferred.setdefault(state.deviations + 1, []).append(DeferredSteps(kernel, state, far))
        yield from self.take_steps(DeferredSteps(kernel, state, near))

    def take_steps(self, steps: DeferredSteps) -> Iterator[Family | None]:
        """Every family after these steps at a block graph; steps left by a budget are stored in `unsearched`."""
        for done, step in enumerate(steps.kept):
            if self.spent_budget():
                self.unsearched.setdefault(steps.state.id, []).extend(steps.kept[done:])
                return
            yield from self.take_block_step(steps.kernel, steps.state, step.state)

    def take_deferred_steps(self) -> Iterator[Family | None]:
        """Every family after the deferred steps, fewest deviations first; report the steps left by a budget."""
        while self.deferred:
            for steps in self.deferred.pop(min(self.deferred)):
                yield from self.take_steps(steps)
        if self.unsearched and (spent := self.spent_budget()):
            for node, kept in self.unsearched.items():
                self.log.over_budget(node, "block", spent, float(sum(k.weight for k in kept)))
                yield None

    def try_block_steps(self, state: BlockState) -> tuple[NodeCuts, list[KeptStep]]:
        """Try every step at a block graph: the cuts, and the steps that are kept, in canonical order.

        A lasting cut is not tried again in larger graphs. So its region counts every program below this node that has
        the application, not only those that begin with it.
        """
        expander, operator_set = self.expander, self.facts.block_operators
        count = len(state.tensors)
        opened = state.operands and len(state.operands) == count
        newest = [step for top in range(0 if opened else count - 1, count) for step in operator_set.operands(top)]
        programs, graphs_per_block = self.counts.block_extensions(count), 1 + state.extensions
        cuts = NodeCuts()
        kept: list[tuple[BlockApplication, BlockState | Cut]] = []
        possible = len(state.untried) + sum(len(kinds) for _, kinds in newest)

        def try_step(step: BlockApplication) -> int:
            """Try a step; the number of applications that are still possible in larger graphs."""
            outcome = expander.apply_in_block(state, step)
            if not isinstance(outcome, Cut) or not outcome.failure.lasting:
                kept.append((step, outcome))
                return possible
            weight = (programs[possible] - programs[possible - 1]) * graphs_per_block
            cuts.add(step.args, operator_set.entries[step.kind].label, outcome, float(weight))
            return possible - 1

        for step in state.untried:
            possible = try_step(step)
        for args, kinds in newest:
            outcomes = expander.operand_outcomes(state, args, kinds)
            fewer = possible - outcomes.invalid
            cuts.invalid += (programs[possible] - programs[fewer]) * graphs_per_block
            for group in outcomes.cuts:
                possible, fewer = fewer, fewer - len(group.labels)
                cuts.add_group(args, group, float((programs[possible] - programs[fewer]) * graphs_per_block))
            possible = fewer
            for kind, tensor in outcomes.fitting:
                possible = try_step(BlockApplication(args, kind, tensor))
        untried = tuple(step for step, _ in kept)
        extensions = self.counts.block_extensions(count + 1)
        steps: list[KeptStep] = []
        for n, (step, outcome) in enumerate(kept):
            weight = extensions[len(kept) - 1 - n + operator_set.new_application_count(count)] * graphs_per_block
            if isinstance(outcome, Cut):
                cuts.add(step.args, operator_set.entries[step.kind].label, outcome, float(weight))
            else:
                deviations = state.deviations + self.facts.deviates(state, step)
                steps.append(KeptStep(step, replace(outcome, untried=untried[n + 1 :], deviations=deviations), weight))
        return cuts, steps

    def take_block_step(self, kernel: KernelState, state: BlockState, grown: BlockState) -> Iterator[Family | None]:
        """Report a kept step at a block graph; yield every family that extends it."""
        newest = grown.tensors[-1]
        node = self.log.expanded(state.id, show_node(newest.node), "block", show(newest.expression))
        yield None
        grown = replace(grown, id=node)
        if self.may_close(grown):
            if cut := self.expander.finish_block(grown):
                self.log.complete_graph_cut(grown.id, "block", cut, grown.extensions)
                yield None
            else:
                yield from self.after_kernel_step(self.close_block(kernel, grown))
        else:
            self.log.invalid += grown.extensions
        yield from self.expand_block(kernel, grown)

    def may_close(self, state: BlockState) -> bool:
        """Whether the newest tensor of a block graph may be stored as its result."""
        return len(state.unused) == 1 and self.facts.may_store(state)

    def close_block(self, kernel: KernelState, state: BlockState) -> KernelState:
        """The kernel graph with the block graph as its newest operator."""
        newest, bounds = state.tensors[-1], self.facts.bounds
        kernel = rename_axes_in_kernel(kernel, state.merged_axes)
        store = Node(Store(), (len(state.tensors) - 1,))
        block = BlockGraph((), None, (*(t.node for t in state.tensors), store))
        node = Node(Custom(block), state.operands)
        dtype = promoted([newest.dtype])
        assert dtype is not None, "one dtype meets no other"
        result = Tensor(
            node, newest.axes, dtype, newest.expression, newest.number, loopless_number=newest.loopless_number
        )
        return replace(
            kernel,
            id=state.id,
            tensors=(*kernel.tensors, result),
            unused=kernel.unused.difference(state.operands) | {len(kernel.tensors)},
            goals=state.goals,
            last=self.counts.custom_rank(state.operands),
            customs=kernel.customs + 1,
            time_bound=bounds.close_kernel(state.time_bound, newest) if bounds else state.time_bound,
            read=kernel.read.union(state.operands),
            deviations=state.deviations,
        )


def generate(
    program: TensorProgram,
    space: Space,
    target: Machine,
    journal: Journal,
    over: Callable[[], bool] = lambda: False,
    time_to_beat: TimeToBeat | None = None,
    sequences: Callable[[], Iterator[KernelSequence | PrunedSequence | None]] = lambda: iter(()),
    rules: Iterable[PruningRule] = RULES,
) -> Iterator[Family | None]:
    """Every family of the space whose result is the program's by A_eq.

    Args:
        program: the program.
        space: operators, limits and budgets.
        target: the machine.
        journal: receives an event for every step and every cut.
        over: whether the time budget is spent; called at every node. The regions that are left are reported.
        time_to_beat: graphs that cannot become a kernel faster than this time are pruned.
        sequences: generates kernel sequences for the program's parts, after the enumeration; None after other steps.
        rules: the pruning rules, in the order in which they are checked.

    Yields:
        A family when one is complete; None after every other step, so that a caller can pause there.
    """
    yield from Enumerator(program, space, target, journal, over, time_to_beat, rules).run(sequences)


_MANY_INPUTS = 8
"""With at least this number of inputs, the kernels that read only some of them are pruned as one region."""
