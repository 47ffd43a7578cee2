"""Grow sGraphs operator by operator, in canonical order, and cut what cannot become the program.

One custom kernel first; then two, by splitting what is whole (see `split`).

The kernel graph grows first; opening a custom kernel grows its block graph; a block graph whose tensors
are all used but one closes, and the kernel graph goes on. Maps stay open throughout: a tensor is typed
by its index axes, so an operator fits or not whatever the maps will be, and a family stands for all of
them. Nearest first: a step that computes what the program computes too, or its result in another way, or adds up
partial sums, is taken before any that *deviations* from it, then those that stray once, and so on. So what the program
says, with a loop or with a division put off, is found early, and a budget ends a search far from it. Within that,
depth first, smallest rank first, so the stream of events is the same every time. In the end the same is searched
in any order.

Every step that is kept is noted, and every cut with its reason. Operators that would break the canonical
order are no cuts, since their graph is met elsewhere; neither are reductions along a dim of size 1, nor views of
tensors with other axes than the program has there. What grows is the program's core (`ir.peel`): the views around
it are put around every whole kernel graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from prism_explore.cost.roofline import TimeToBeat
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Reason
from prism_explore.generate.abstract_expr.polynomial import show
from prism_explore.generate.budgets import nodes_spent, time_spent
from prism_explore.generate.canonical_order import Application, Rank
from prism_explore.generate.event_log import CUSTOM, EventLog, NodeCuts, PrunedSequence, row_text
from prism_explore.generate.expander import Expander
from prism_explore.generate.program_count import Tree
from prism_explore.generate.pruning.facts import Machine
from prism_explore.generate.pruning.rule import Cut, PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.size_matching import renamed_kernel
from prism_explore.generate.split_kernels import Split
from prism_explore.generate.state import BlockApplication, BlockState, KernelState, Same, Tensor
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import BlockGraph, Custom, Node, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show as show_graph
from prism_explore.ir.text import show_node
from prism_explore.pipeline.search_space import Level, Space
from prism_explore.pipeline.stages import Family, KernelSequence


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step at a block graph that is kept."""

    step: BlockApplication
    state: BlockState
    weight: int
    """How many graphs it stands for."""


@dataclass(frozen=True, slots=True)
class DeferredSteps:
    """Steps at a block graph that are put off, because they stray from the program."""

    kernel: KernelState
    state: BlockState
    kept: list[KeptStep]


@dataclass(frozen=True, slots=True)
class CompleteGraph:
    """A whole kernel graph, without the views around it."""

    node: str
    core: SGraph
    axes: tuple[AxisNames, ...]
    """Of its kernel-level tensors."""
    same: Same


class Enumerator:
    """The recursion, and how much each of its branches stands for."""

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
        self.program, self.space, self.over = program, space, over
        self.log = EventLog(journal)
        self.expander = Expander(program, space, target, time_to_beat, rules)
        self.facts = self.expander.facts
        self.tree = Tree(self.facts.kernel_operators, self.facts.block_operators, space)
        self.names = {i: op.name for i, op in enumerate(self.facts.apart.program.inputs)}
        self.seen: dict[Hashable, str] = {}
        self.later: dict[int, list[DeferredSteps]] = {}
        """Steps that are put off, per number of operators that then compute what the program does not."""
        self.left: dict[str, list[KeptStep]] = {}
        """Per block graph, the steps that a budget left."""
        self.ones: list[CompleteGraph] = []
        """The kernel graphs of the families of one kernel, which the second pass splits."""
        self.splits = 0.0
        """Ways to split them that were met."""
        self.before = 0
        """Nodes of the passes before; each pass has a budget of its own."""
        self.nodes = min(space.nodes, space.patience)
        """That budget; until the first family a smaller one."""

    def run(
        self, sequences: Callable[[], Iterator[KernelSequence | PrunedSequence | None]] = lambda: iter(())
    ) -> Iterator[Family | None]:
        """Every family of the space, from the inputs on."""
        root = self.log.expanded("", f"inputs({', '.join(self.names.values())})", "kernel")
        yield None
        state = self.facts.start(root)
        yield from self.kernel(state)
        yield from self.rest()
        yield from self.second_pass()
        rows = 0.0
        for row in sequences():
            match row:
                case KernelSequence():
                    rows += 1
                    yield self.assembled(root, row)
                case PrunedSequence():
                    rows += row.stood_for
                    self.log.pruned(root, row.text, "kernel", row.why, row.stood_for)
                    yield None
                case None:
                    yield None
        self.log.counted(float(1 + self.tree.beyond(state)) + self.splits + rows)
        yield None

    def assembled(self, root: str, row: KernelSequence) -> Family | None:
        """Note kernels in a row as a step from the inputs, and the family that they are."""
        node = self.log.expanded(root, row_text(row.parts), "kernel")
        graph = row.together({number: family.sgraph for number, family in row.families})
        cut = tuple(p.positions for p in row.parts)
        found = self.completed(node, "kernel", graph, cut if len(cut) > 1 else ())
        return replace(found, sequence=row) if found is not None else None

    def second_pass(self) -> Iterator[Family | None]:
        """Every family of two kernels, by splitting those of one."""
        self.before = self.log.nodes
        for whole in self.ones if self.space.results else ():
            yield from self.split(whole)

    def spent(self) -> Reason | None:
        """The budget that ends the growth here, where one does."""
        if self.log.nodes - self.before >= self.nodes:
            return nodes_spent(self.nodes, bool(self.ones))
        return time_spent(self.space.time_s) if self.over() else None

    def kernel(self, state: KernelState) -> Iterator[Family | None]:
        """Every family that extends a kernel graph."""
        cuts, kept = self.try_kernel_steps(state)
        yield from self.log.cuts(cuts, state.id, "kernel", self.names)
        for done, made in enumerate(kept):
            if spent := self.spent():
                self.log.over_budget(state.id, "kernel", spent, float(sum(map(self.stands_for, kept[done:]))))
                yield None
                return
            yield from self.take_kernel_step(state, made)

    def try_kernel_steps(self, state: KernelState) -> tuple[NodeCuts, list[KernelState | BlockState]]:
        """Every step at a kernel graph: what is cut, and what is kept, in canonical order."""
        cuts = NodeCuts()
        kept: list[KernelState | BlockState] = []
        if (cut := self.single_kernel_cut(state)) is not None:
            cuts.add(tuple(sorted(state.unused)), CUSTOM, cut, float(self.tree.beyond(state)))
            return cuts, kept
        for step in self.kernel_steps(state):
            if isinstance(step, Application):
                made = self.expander.apply_predefined(state, step)
                entry = self.facts.kernel_operators.entries[step.kind]
                args, weight = step.args, self.tree.predefined(state, step)
            else:
                made = self.expander.open_kernel(state, step)
                entry = None
                args, weight = step, self.tree.opened(state, step)
            match made:
                case Cut():
                    cuts.add(args, entry.label if entry else CUSTOM, made, float(weight))
                case KernelState():
                    kept.append(made)
                case BlockState():
                    beyond = self.tree.behind(state, made.operands)
                    kept.append(replace(made, beyond=beyond, stood_for=weight, deviations=state.deviations))
                case None:
                    cuts.void += weight
        return cuts, kept

    def single_kernel_cut(self, state: KernelState) -> Cut | None:
        """The cut of the only kernel that there may be: it has to read everything.

        None where it is kept, or where there may be others. What leaves a tensor unused is cut in any case, and of
        many inputs there are thousands of such kernels.
        """
        space = self.space
        alone = space.custom_kernels == state.customs + 1 and not space.predefined_kernels
        everything = tuple(sorted(state.unused))
        if not alone or state.customs or len(everything) != len(state.tensors):
            return None
        if not _MANY <= len(everything) <= space.block_inputs:
            return None
        made = self.expander.open_kernel(state, everything)
        return made if isinstance(made, Cut) else None

    def stands_for(self, made: KernelState | BlockState) -> int:
        """How many graphs a step that was kept at a kernel graph begins."""
        return made.stood_for if isinstance(made, BlockState) else 1 + self.tree.beyond(made)

    def take_kernel_step(self, state: KernelState, made: KernelState | BlockState) -> Iterator[Family | None]:
        """Note a step that was kept at a kernel graph; every family behind it."""
        if isinstance(made, BlockState):
            node = self.log.expanded(state.id, self.told(made), "kernel")
            yield None
            yield from self.block(state, replace(made, id=node))
        else:
            node = self.log.expanded(state.id, self.told(made), "kernel", show(made.tensors[-1].expression))
            yield None
            yield from self.after_kernel_step(replace(made, id=node))

    def told(self, made: KernelState | BlockState) -> str:
        """A kept kernel-level step in the textual form."""
        if isinstance(made, BlockState):
            return f"{CUSTOM}({', '.join(self.names.get(a, f'%{a}') for a in made.operands)})"
        return show_node(made.tensors[-1].node, self.names)

    def kernel_steps(self, state: KernelState) -> list[Application | tuple[int, ...]]:
        """What may extend a kernel graph: predefined operators, and operands of a custom kernel."""
        space, count, last = self.space, len(state.tensors), state.last
        steps: list[tuple[Rank, Application | tuple[int, ...]]] = []
        if state.predefined + state.customs >= space.kernel_ops:
            return []
        if state.predefined < space.predefined_kernels:
            steps += [(a.rank, a) for a in self.facts.kernel_operators.applications(count, last)]
        if state.customs < space.custom_kernels:
            ranked = ((self.tree.custom_rank(s), s) for s in self.tree.operands(count))
            steps += [(place, s) for place, s in ranked if last is None or place > last]
        return [step for _, step in sorted(steps, key=lambda pair: pair[0])]

    def after_kernel_step(self, state: KernelState) -> Iterator[Family | None]:
        """What a kernel graph with one more operator gives: a family if it is whole, and what extends it."""
        if (whole := self.whole(state)) is not None:
            yield self.found(whole)
        if self.facts.spare(state):
            yield from self.kernel(state)

    def whole(self, state: KernelState) -> CompleteGraph | None:
        """A kernel graph that is whole."""
        if not self.facts.is_complete(state):
            return None
        core = SGraph(tuple(t.node for t in state.tensors), len(state.tensors) - 1)
        return CompleteGraph(state.id, core, tuple(t.axes for t in state.tensors), state.same)

    def found(self, whole: CompleteGraph) -> Family | None:
        """Note a whole kernel graph; the second pass splits it if it is a family."""
        family = self.completed(whole.node, "kernel", self.facts.whole(whole.core))
        if family is not None:
            self.ones.append(whole)
            self.nodes = self.space.nodes
        return family

    def completed(self, node: str, level: Level, graph: SGraph, cut: Hashable = ()) -> Family | None:
        """Note a whole graph: a family, or None where it is one that is known; of graphs cut alike, where they are."""
        number = self.facts.expressions.of_graph(graph), cut
        if known := self.expander.finish_graph(self.seen.get(number, "")):
            self.log.whole(node, level, known)
            return None
        self.seen[number] = self.log.completed(node, show_graph(graph))
        return Family(self.seen[number], self.program, graph)

    def split(self, whole: CompleteGraph) -> Iterator[Family | None]:
        """Every family that splits a whole kernel graph."""
        cuts, kept = self.try_splits(whole)
        self.splits += cuts.stood_for + len(kept)
        yield from self.log.cuts(cuts, whole.node, "split", {}, exact=True)
        for done, made in enumerate(kept):
            if spent := self.spent():
                self.log.over_budget(whole.node, "split", spent, float(len(kept) - done))
                yield None
                return
            yield from self.take_split(whole.node, made)

    def try_splits(self, whole: CompleteGraph) -> tuple[NodeCuts, list[Split]]:
        """Every way to split a whole kernel graph: what is cut, and what is kept."""
        cuts = NodeCuts()
        kept: list[Split] = []
        for made, cut in self.expander.split(whole.core, whole.axes, whole.same):
            if cut is not None:
                cuts.add(made.stored, made.label, cut, 1.0)
            else:
                kept.append(made)
        return cuts, kept

    def take_split(self, node: str, made: Split) -> Iterator[Family | None]:
        """Note a split of the whole graph at a node that was kept, and the family that it is."""
        node = self.log.expanded(node, made.text, "split")
        yield None
        yield self.completed(node, "split", self.facts.whole(made.graph))

    def block(self, kernel: KernelState, state: BlockState) -> Iterator[Family | None]:
        """Every family whose custom kernel extends a block graph."""
        if len(state.tensors) >= self.space.block_ops:
            return
        cuts, kept = self.try_block_steps(state)
        yield from self.log.cuts(cuts, state.id, "block", {})
        near = [k for k in kept if k.state.deviations == state.deviations]
        if len(near) < len(kept):
            far = [k for k in kept if k.state.deviations > state.deviations]
            self.later.setdefault(state.deviations + 1, []).append(DeferredSteps(kernel, state, far))
        yield from self.taken(DeferredSteps(kernel, state, near))

    def taken(self, put: DeferredSteps) -> Iterator[Family | None]:
        """Every family behind some steps at a block graph; what a budget leaves of them is kept in mind."""
        for done, step in enumerate(put.kept):
            if self.spent():
                self.left.setdefault(put.state.id, []).extend(put.kept[done:])
                return
            yield from self.take_block_step(put.kernel, put.state, step.state)

    def rest(self) -> Iterator[Family | None]:
        """Every family behind the steps that were put off, nearest first; note what a budget left."""
        while self.later:
            for put in self.later.pop(min(self.later)):
                yield from self.taken(put)
        if self.left and (spent := self.spent()):
            for node, kept in self.left.items():
                self.log.over_budget(node, "block", spent, float(sum(k.weight for k in kept)))
                yield None

    def try_block_steps(self, state: BlockState) -> tuple[NodeCuts, list[KeptStep]]:
        """Every step at a block graph: what is cut, and what is kept, in canonical order.

        What is cut here for good is not tried again in what grows from here. So its region stands for every program
        below this node that has the application, not only for those that begin with it.
        """
        expander, operator_set = self.expander, self.facts.block_operators
        count = len(state.tensors)
        opened = state.operands and len(state.operands) == count
        newest = [step for top in range(0 if opened else count - 1, count) for step in operator_set.operands(top)]
        programs, each = self.tree.following(count), 1 + state.beyond
        cuts = NodeCuts()
        kept: list[tuple[BlockApplication, BlockState | Cut]] = []
        possible = len(state.open) + sum(len(kinds) for _, kinds in newest)

        def tried(step: BlockApplication) -> int:
            made = expander.apply_in_block(state, step)
            if not isinstance(made, Cut) or not made.failure.lasting:
                kept.append((step, made))
                return possible
            weight = (programs[possible] - programs[possible - 1]) * each
            cuts.add(step.args, operator_set.entries[step.kind].label, made, float(weight))
            return possible - 1

        for step in state.open:
            possible = tried(step)
        for args, kinds in newest:
            alone = expander.operand_outcomes(state, args, kinds)
            fewer = possible - alone.void
            cuts.void += (programs[possible] - programs[fewer]) * each
            for bundle in alone.cuts:
                possible, fewer = fewer, fewer - len(bundle.labels)
                cuts.add_all(args, bundle, float((programs[possible] - programs[fewer]) * each))
            possible = fewer
            for kind, tensor in alone.fitting:
                possible = tried(BlockApplication(args, kind, tensor))
        rest = tuple(step for step, _ in kept)
        below = self.tree.following(count + 1)
        steps: list[KeptStep] = []
        for n, (step, made) in enumerate(kept):
            weight = below[len(kept) - 1 - n + operator_set.opened(count)] * each
            if isinstance(made, Cut):
                cuts.add(step.args, operator_set.entries[step.kind].label, made, float(weight))
            else:
                deviations = state.deviations + self.facts.deviations(state, step)
                steps.append(KeptStep(step, replace(made, open=rest[n + 1 :], deviations=deviations), weight))
        return cuts, steps

    def take_block_step(self, kernel: KernelState, state: BlockState, made: BlockState) -> Iterator[Family | None]:
        """Note a step that was kept at a block graph; every family behind it."""
        newest = made.tensors[-1]
        node = self.log.expanded(state.id, show_node(newest.node), "block", show(newest.expression))
        yield None
        made = replace(made, id=node)
        if self.may_close(made):
            if cut := self.expander.finish_block(made):
                self.log.whole(made.id, "block", cut, made.beyond)
                yield None
            else:
                yield from self.after_kernel_step(self.closed(kernel, made))
        else:
            self.log.void += made.beyond
        yield from self.block(kernel, made)

    def may_close(self, state: BlockState) -> bool:
        """Whether a block graph may be stored as it is."""
        return len(state.unused) == 1 and self.facts.may_store(state)

    def closed(self, kernel: KernelState, state: BlockState) -> KernelState:
        """The kernel graph with a block graph as its newest operator."""
        newest, bounds = state.tensors[-1], self.facts.bounds
        kernel = renamed_kernel(kernel, state.same)
        store = Node(Store(), (len(state.tensors) - 1,))
        block = BlockGraph((), None, (*(t.node for t in state.tensors), store))
        node = Node(Custom(block), state.operands)
        made = Tensor(node, newest.axes, newest.dtype, newest.expression, newest.number, written=newest.written)
        return replace(
            kernel,
            id=state.id,
            tensors=(*kernel.tensors, made),
            unused=kernel.unused.difference(state.operands) | {len(kernel.tensors)},
            goals=state.goals,
            last=self.tree.custom_rank(state.operands),
            customs=kernel.customs + 1,
            time_bound=bounds.of_closed_kernel(state.time_bound, newest) if bounds else state.time_bound,
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
        program: what is searched.
        space: which graphs, and how many nodes.
        target: the machine.
        journal: hears of every step and every cut.
        over: whether the time for growing is spent; asked at every node. What is left then is noted.
        time_to_beat: a time to beat; what cannot grow into a kernel below it is cut.
        sequences: rows of kernels for the program's parts, asked for behind everything else; None after each step.
        rules: the pruning rules, in the order in which they are checked.

    Yields:
        A family when one is whole; None after every other step, so that a caller can pause there.
    """
    yield from Enumerator(program, space, target, journal, over, time_to_beat, rules).run(sequences)


_MANY = 8
"""Inputs from which on the kernels that read some of them are cut all at once, where the one that reads all is."""
