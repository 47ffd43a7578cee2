"""Replay an enumeration up to a reported node, and enumerate a region that was pruned there.

The enumeration is deterministic, so the operators on the path to a node lead to it again. A node is identified by its
path, and a region by its title and its reason in the event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from types import MappingProxyType
from typing import TypeAlias

from prism_explore.cost.roofline import TimeToBeat
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, NodeExpanded, RegionPruned
from prism_explore.generate.enumerator import Enumerator
from prism_explore.generate.event_log import COMPLETE_GRAPH, CUSTOM, REST, Region, Step
from prism_explore.generate.pruning.facts import Machine
from prism_explore.generate.pruning.rule import PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.split_kernels import Split
from prism_explore.generate.state import BlockApplication, BlockState, KernelState
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Op
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show as show_graph
from prism_explore.ir.text import show_node
from prism_explore.pipeline.search_space import Level, Space
from prism_explore.pipeline.stages import Family


@dataclass(frozen=True, slots=True)
class ReplayState:
    """The state at a node of the search: a kernel graph, and the block graph of an open custom kernel."""

    kernel: KernelState
    block: BlockState | None = None
    cut_before: Mapping[Step, str] = field(default_factory=dict[Step, str])
    """Steps of the open block graph that were cut on the path, and the rule of each."""
    split: Split | None = None
    """The split, if the kernel graph was complete and was split; such a node has no further steps."""


StepResult: TypeAlias = KernelState | BlockState | Split
"""The result of a step."""


@dataclass(frozen=True, slots=True)
class StepOutcomes:
    """The outcomes of every step at a state on one level."""

    regions: tuple[Region, ...]
    cut: Mapping[Step, str]
    """The rule of each step that was cut, here or on the path."""
    kept: Mapping[Step, tuple[str, StepResult]]
    """The text and the result of each step that was kept."""
    applications: Mapping[Step, BlockApplication] = field(default_factory=dict[Step, BlockApplication])
    """The application of each step of a block graph that was kept."""


class ReportedTree:
    """The search tree in the events of a search."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.nodes: dict[str, NodeExpanded] = {}
        self.children: defaultdict[tuple[str, Level], list[NodeExpanded]] = defaultdict(list)
        self.regions: defaultdict[tuple[str, Level], list[RegionPruned]] = defaultdict(list)
        for event in events:
            if isinstance(event, NodeExpanded):
                self.nodes[event.node] = event
                self.children[event.parent, event.level].append(event)
            elif isinstance(event, RegionPruned):
                self.regions[event.parent, event.level].append(event)

    def path_to(self, node: str) -> tuple[NodeExpanded, ...]:
        """The nodes from the root's child to this one."""
        found: list[NodeExpanded] = []
        while self.nodes[node].parent:
            found.append(self.nodes[node])
            node = self.nodes[node].parent
        return tuple(reversed(found))


class EnumerationReplay:
    """An enumeration that takes chosen steps only."""

    def __init__(
        self,
        program: TensorProgram,
        space: Space,
        target: Machine,
        journal: Journal,
        time_to_beat: TimeToBeat | None = None,
        rules: Iterable[PruningRule] = RULES,
    ) -> None:
        self.enumerator = Enumerator(program, space, target, journal, time_to_beat=time_to_beat, rules=rules)

    def root(self) -> ReplayState:
        """The root of the search tree."""
        return ReplayState(self.enumerator.start())

    def kernel_at(self, state: ReplayState) -> KernelState | None:
        """The kernel graph of a state, with an open block graph closed; None if it cannot be closed."""
        if state.block is None:
            return state.kernel
        is_empty = len(state.block.tensors) == len(state.block.operands)
        if is_empty or not self.enumerator.may_close(state.block):
            return None
        return self.enumerator.close_block(state.kernel, state.block)

    def try_steps(self, state: ReplayState, level: Level) -> StepOutcomes:
        """Try every step at a state."""
        match level:
            case "block":
                return self._try_block_steps(state)
            case "kernel":
                return self._try_kernel_steps(state)
            case "split":
                return self._try_splits(state)

    def _try_block_steps(self, state: ReplayState) -> StepOutcomes:
        enumerator = self.enumerator
        assert state.block is not None, "only an open block graph has block-level steps"
        if len(state.block.tensors) >= enumerator.space.block_ops:
            return NO_STEPS
        cuts, steps = enumerator.try_block_steps(state.block)
        entries = enumerator.facts.block_operators.entries
        kept: dict[Step, tuple[str, StepResult]] = {}
        applications: dict[Step, BlockApplication] = {}
        for found in steps:
            step = entries[found.step.kind].label, found.step.args
            kept[step] = show_node(found.state.tensors[-1].node), found.state
            applications[step] = found.step
        return _outcomes(cuts.regions({}), kept, state.cut_before, applications)

    def _try_kernel_steps(self, state: ReplayState) -> StepOutcomes:
        enumerator, kernel = self.enumerator, self.kernel_at(state)
        if kernel is None or state.split is not None:
            return NO_STEPS
        if state.block is not None and not enumerator.facts.operators_left(kernel):
            return NO_STEPS
        cuts, grown = enumerator.try_kernel_steps(kernel)
        labels: dict[Op, str] = {o.op: o.label for o in enumerator.facts.kernel_operators.entries}
        kept: dict[Step, tuple[str, StepResult]] = {}
        for result in grown:
            if isinstance(result, BlockState):
                step = CUSTOM, result.operands
            else:
                node = result.tensors[-1].node
                step = labels[node.op], node.args
            kept[step] = enumerator.step_text(result), result
        return _outcomes(cuts.regions(enumerator.input_names), kept)

    def _try_splits(self, state: ReplayState) -> StepOutcomes:
        enumerator, kernel = self.enumerator, self.kernel_at(state)
        if kernel is None or state.split is not None or not enumerator.space.results:
            return NO_STEPS
        complete = enumerator.complete_graph(kernel)
        if complete is None:
            return NO_STEPS
        cuts, splits = enumerator.try_splits(complete)
        return _outcomes(cuts.regions({}), {(split.label, split.stored): (split.text, split) for split in splits})

    def follow(
        self, state: ReplayState, step: NodeExpanded, outcomes: StepOutcomes | None = None
    ) -> ReplayState | None:
        """The state after a reported step; None if the step is cut here."""
        outcomes = outcomes or self.try_steps(state, step.level)
        for text, result in outcomes.kept.values():
            if text == step.operator:
                return self._take(state, step, result, outcomes.cut if step.level == "block" else {})
        return None

    def _take(
        self, before: ReplayState, step: NodeExpanded, result: StepResult, cut_before: Mapping[Step, str]
    ) -> ReplayState:
        kernel = before.kernel if step.level == "block" else self.kernel_at(before)
        assert kernel is not None, "a step of the kernel graph was taken from one"
        parent = before.block.id if before.block is not None else kernel.id
        node = self.enumerator.log.expanded(parent, step.operator, step.level, step.expression)
        if isinstance(result, BlockState):
            return ReplayState(kernel, replace(result, id=node), cut_before)
        if isinstance(result, Split):
            return ReplayState(replace(kernel, id=node), split=result)
        return ReplayState(replace(result, id=node))

    def reach(self, path: Iterable[NodeExpanded]) -> ReplayState | NodeExpanded:
        """The state at the end of a path, or the first step of the path that is cut here."""
        state = self.root()
        for step in path:
            after = self.follow(state, step)
            if after is None:
                return step
            state = after
        return state


NO_STEPS = StepOutcomes((), {}, {})


def _outcomes(
    regions: Iterable[Region],
    kept: Mapping[Step, tuple[str, StepResult]],
    cut_before: Mapping[Step, str] = MappingProxyType({}),
    applications: Mapping[Step, BlockApplication] = MappingProxyType({}),
) -> StepOutcomes:
    regions = tuple(regions)
    cut = {**cut_before, **{step: r.reason.rule for r in regions for step in r.steps}}
    return StepOutcomes(regions, cut, kept, applications)


@dataclass(slots=True)
class ReopenedRegion:
    """A region that is enumerated again, with the outcomes of its steps, which `enumerate_region` fills in."""

    steps: tuple[Step, ...]
    """All steps of the region."""
    taken: tuple[Step, ...] = ()
    """The steps that were tried."""
    cut_at_once: dict[Step, str] = field(default_factory=dict[Step, str])
    """The steps that another rule cuts at once, and that rule. A step that is neither here nor kept is invalid without
    the rule that cut it, such as an accumulator after the loop."""
    cut_on_path: str = ""
    """The first step on the path to the region that is cut here; empty if there is none."""
    out_of_budget: bool = False
    """Whether the node budget ended the enumeration."""
    nodes: int = 0
    """The number of nodes in the region."""


def find_region(
    program: TensorProgram,
    space: Space,
    target: Machine,
    tree: ReportedTree,
    region: RegionPruned,
    time_to_beat: TimeToBeat | None = None,
    rules: Iterable[PruningRule] = RULES,
) -> ReopenedRegion:
    """The region with the steps that were cut together.

    Raises:
        ShapeError: the enumeration has no such region at that node, so the events are of another search.
    """
    rules = tuple(rules)
    replay = EnumerationReplay(program, space, target, Journal(), time_to_beat, rules)
    state = replay.reach(tree.path_to(region.parent)) if region.parent in tree.nodes else None
    if isinstance(state, ReplayState):
        if region.operator == COMPLETE_GRAPH[region.level]:
            return ReopenedRegion(((region.operator, ()),))
        outcomes = replay.try_steps(state, region.level)
        if region.operator == REST:
            taken = {e.operator for e in tree.children[region.parent, region.level]}
            return ReopenedRegion(tuple(step for step, (text, _) in outcomes.kept.items() if text not in taken))
        for found in outcomes.regions:
            if (found.title, found.reason) == (region.operator, region.reason):
                return ReopenedRegion(found.steps)
    raise ShapeError(
        f"a search of {program.name} prunes no subtree {region.region} at {region.parent}: the events were written by "
        "another version, or for another program, space or target; search again and audit the new session"
        + _hint_for_own_rule(region.reason.rule, rules)
    )


def _hint_for_own_rule(name: str, rules: Iterable[PruningRule]) -> str:
    """What else may be the cause for a rule that is no row of the table."""
    cached = (rule for rule in rules if rule.checks.typing is not None or rule.checks.value is not None)
    if name not in {rule.name for rule in cached} - {rule.name for rule in RULES}:
        return ""
    return (
        f". If {name} is a rule of yours: the outcome of a test in checks.typing or checks.value is used again for the "
        "same operands in other graphs, so it may depend on the values of its operands alone, not on their positions; "
        "put other tests into checks.block"
    )


def enumerate_region(
    program: TensorProgram,
    space: Space,
    target: Machine,
    journal: Journal,
    tree: ReportedTree,
    region: RegionPruned,
    reopened: ReopenedRegion,
    *,
    nodes: int,
    steps: int | None = None,
    time_to_beat: TimeToBeat | None = None,
    rules: Iterable[PruningRule] = RULES,
) -> Iterator[Family | None]:
    """Enumerate a region again in a space where its rule is off; yields families and None like `generate`.

    Args:
        program: the program that was searched.
        space: with the rule off.
        target: the machine.
        journal: receives the events of this enumeration, which begins with the path to the region.
        tree: the tree of the search that pruned the region.
        region: the event.
        reopened: its steps, from `find_region`; their outcomes are stored in it.
        nodes: the budget in the region.
        steps: try only this number of steps; all if None.
        time_to_beat: the one of the search.
        rules: those of the search.
    """
    path = tree.path_to(region.parent)
    before = len(path) + 1
    most = before + nodes
    own = replace(space, nodes=most, patience=most, nodes_after_family=most, families=most)
    replay = EnumerationReplay(program, own, target, journal, time_to_beat, rules)
    enumerator = replay.enumerator
    state = replay.reach(path)
    if isinstance(state, NodeExpanded):
        reopened.cut_on_path = f"{state.node}, {state.operator}"
        return
    if region.operator == COMPLETE_GRAPH[region.level]:
        reopened.taken = reopened.steps
        kernel = replay.kernel_at(state)
        if kernel is not None:
            yield from (
                enumerator.after_kernel_step(kernel)
                if region.level == "block"
                else _complete(program, enumerator, state, kernel)
            )
    else:
        outcomes = replay.try_steps(state, region.level)
        taken = {e.operator for e in tree.children[region.parent, region.level]}
        for step in reopened.steps[:steps]:
            if step in outcomes.kept and enumerator.log.nodes >= enumerator.space.nodes:
                reopened.out_of_budget = True
                break
            reopened.taken = (*reopened.taken, step)
            if step in outcomes.kept:
                result = outcomes.kept[step][1]
                if isinstance(result, BlockState) and region.operator != REST:
                    result = replace(result, untried=(*_steps_taken_before(outcomes, step, taken), *result.untried))
                yield from _extensions(replay, state, region.level, result)
            elif step in outcomes.cut:
                reopened.cut_at_once[step] = outcomes.cut[step]
    yield from enumerator.take_deferred_steps()
    yield from enumerator.split_kernels()
    reopened.nodes = enumerator.log.nodes - before
    reopened.out_of_budget |= any(
        isinstance(e, RegionPruned) and e.reason.soundness == "budget" for e in journal.events
    )


def _steps_taken_before(outcomes: StepOutcomes, step: Step, taken: Collection[str]) -> Iterator[BlockApplication]:
    """The steps before a step that the search took, because it did not try steps again after a lasting cut."""
    for before in takewhile(lambda s: s != step, outcomes.applications):
        if outcomes.kept[before][0] in taken:
            yield outcomes.applications[before]


def _complete(
    program: TensorProgram, enumerator: Enumerator, state: ReplayState, kernel: KernelState
) -> Iterator[Family | None]:
    complete = enumerator.complete_graph(kernel)
    core = state.split.graph if state.split is not None else complete and complete.core
    if complete is not None and isinstance(core, SGraph):
        graph = enumerator.facts.with_views(core)
        yield Family(enumerator.log.completed(kernel.id, show_graph(graph)), program, graph)


def _extensions(
    replay: EnumerationReplay, state: ReplayState, level: Level, result: StepResult
) -> Iterator[Family | None]:
    enumerator = replay.enumerator
    if level == "block":
        assert state.block is not None and isinstance(result, BlockState), "a block-level step grows a block graph"
        yield from enumerator.take_block_step(state.kernel, state.block, result)
        return
    kernel = replay.kernel_at(state)
    assert kernel is not None, "a kernel-level step was tried at a kernel graph"
    yield from (
        enumerator.take_split(kernel.id, result)
        if isinstance(result, Split)
        else enumerator.take_kernel_step(kernel, result)
    )


def rules_with_same_code(rule: str, rules: Collection[PruningRule]) -> frozenset[str]:
    """The rules with the reason code of this rule, itself included; none if it is no rule but, say, a budget."""
    codes = {r.code or r.name for r in rules if r.name == rule}
    return frozenset(r.name for r in rules if (r.code or r.name) in codes)
