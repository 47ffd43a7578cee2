"""Replay an enumeration up to a reported node, and enumerate a region that was cut there.

The enumeration is deterministic, so the operators on the way to a node lead there again. A node is found by that way,
a region by its title and its reason as they were reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeAlias

from prism_explore.cost.roofline import TimeToBeat
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, NodeExpanded, RegionPruned
from prism_explore.generate.enumerator import Enumerator
from prism_explore.generate.event_log import COMPLETE_GRAPH, CUSTOM, REST, Region, Step
from prism_explore.generate.pruning.facts import Machine
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
    """Steps of the open block graph that were cut on the way, and the rule of each."""
    split: Split | None = None
    """Where the kernel graph was complete and was split; such a node has no further steps."""


StepResult: TypeAlias = KernelState | BlockState | Split
"""The result of a step."""


@dataclass(frozen=True, slots=True)
class StepOutcomes:
    """The outcomes of every step at a place on one level."""

    regions: tuple[Region, ...]
    cut: Mapping[Step, str]
    """Per step that was cut, here or on the way, the rule."""
    kept: Mapping[Step, tuple[str, StepResult]]
    """Per step that was kept, its text and its result."""
    applications: Mapping[Step, BlockApplication] = field(default_factory=dict[Step, BlockApplication])
    """Per step of a block graph that was kept, the application."""


class ReportedTree:
    """The search tree as it was reported."""

    def __init__(self, facts: Iterable[Event]) -> None:
        self.nodes: dict[str, NodeExpanded] = {}
        self.children: defaultdict[tuple[str, Level], list[NodeExpanded]] = defaultdict(list)
        self.regions: defaultdict[tuple[str, Level], list[RegionPruned]] = defaultdict(list)
        for fact in facts:
            if isinstance(fact, NodeExpanded):
                self.nodes[fact.node] = fact
                self.children[fact.parent, fact.level].append(fact)
            elif isinstance(fact, RegionPruned):
                self.regions[fact.parent, fact.level].append(fact)

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
    ) -> None:
        self.enumerator = Enumerator(program, space, target, journal, time_to_beat=time_to_beat)

    def root(self) -> ReplayState:
        """The root of the search tree."""
        enumerator = self.enumerator
        node = enumerator.log.expanded("", f"inputs({', '.join(enumerator.input_names.values())})", "kernel")
        return ReplayState(enumerator.facts.start(node))

    def kernel_at(self, place: ReplayState) -> KernelState | None:
        """The kernel graph at a place, an open block graph closed; None where that cannot be."""
        if place.block is None:
            return place.kernel
        opened = len(place.block.tensors) == len(place.block.operands)
        if opened or not self.enumerator.may_close(place.block):
            return None
        return self.enumerator.close_block(place.kernel, place.block)

    def try_steps(self, place: ReplayState, level: Level) -> StepOutcomes:
        """Try every step at a place."""
        enumerator = self.enumerator
        kept: dict[Step, tuple[str, StepResult]] = {}
        fits: dict[Step, BlockApplication] = {}
        gone: Mapping[Step, str] = {}
        if level == "block":
            assert place.block is not None, "only an open block graph has block-level steps"
            if len(place.block.tensors) >= enumerator.space.block_ops:
                return StepOutcomes((), {}, {})
            cuts, blocks = enumerator.try_block_steps(place.block)
            entries = enumerator.facts.block_operators.entries
            gone = place.cut_before
            for made in blocks:
                step = entries[made.step.kind].label, made.step.args
                kept[step] = show_node(made.state.tensors[-1].node), made.state
                fits[step] = made.step
            regions = cuts.regions({})
        else:
            kernel = self.kernel_at(place)
            if kernel is None or place.split is not None or (level == "split" and not enumerator.space.results):
                return StepOutcomes((), {}, {})
            if level == "split":
                whole = enumerator.complete_graph(kernel)
                if whole is None:
                    return StepOutcomes((), {}, {})
                cuts, halves = enumerator.try_splits(whole)
                regions = cuts.regions({})
                for half in halves:
                    kept[half.label, half.stored] = half.text, half
            elif place.block is not None and not enumerator.facts.operators_left(kernel):
                return StepOutcomes((), {}, {})
            else:
                cuts, made = enumerator.try_kernel_steps(kernel)
                regions = cuts.regions(enumerator.input_names)
                labels: dict[Op, str] = {o.op: o.label for o in enumerator.facts.kernel_operators.entries}
                for state in made:
                    if isinstance(state, BlockState):
                        kept[CUSTOM, state.operands] = enumerator.step_text(state), state
                    else:
                        node = state.tensors[-1].node
                        kept[labels[node.op], node.args] = enumerator.step_text(state), state
        cut = tuple(regions)
        return StepOutcomes(cut, {**gone, **{step: r.reason.rule for r in cut for step in r.steps}}, kept, fits)

    def follow(self, place: ReplayState, taken: NodeExpanded, tried: StepOutcomes | None = None) -> ReplayState | None:
        """The place behind a reported step; None where it is cut here."""
        tried = tried or self.try_steps(place, taken.level)
        for text, state in tried.kept.values():
            if text == taken.operator:
                return self._take(place, taken, state, tried.cut if taken.level == "block" else {})
        return None

    def _take(
        self, place: ReplayState, taken: NodeExpanded, state: StepResult, gone: Mapping[Step, str]
    ) -> ReplayState:
        kernel = place.kernel if taken.level == "block" else self.kernel_at(place)
        assert kernel is not None, "a step of the kernel graph was taken from one"
        parent = place.block.id if place.block is not None else kernel.id
        node = self.enumerator.log.expanded(parent, taken.operator, taken.level, taken.expression)
        if isinstance(state, BlockState):
            return ReplayState(kernel, replace(state, id=node), gone)
        if isinstance(state, Split):
            return ReplayState(replace(kernel, id=node), split=state)
        return ReplayState(replace(state, id=node))

    def reach(self, way: Iterable[NodeExpanded]) -> ReplayState | NodeExpanded:
        """The place at the end of a way, or the first step of it that is cut here."""
        place = self.root()
        for taken in way:
            after = self.follow(place, taken)
            if after is None:
                return taken
            place = after
        return place


@dataclass(slots=True)
class ReopenedRegion:
    """A region that is enumerated again, and the outcome of its steps; filled while `regrow` is pulled."""

    steps: tuple[Step, ...]
    """All steps of the region."""
    taken: tuple[Step, ...] = ()
    """Those that were tried."""
    cut_at_once: dict[Step, str] = field(default_factory=dict[Step, str])
    """Steps that another rule cuts at once, and which rule. A step that is neither here nor kept is no operator there
    without the rule, such as an accumulator behind the loop."""
    cut_on_path: str = ""
    """The first step on the way to the region that is cut here; empty where none is."""
    out_of_budget: bool = False
    """Whether the budget of nodes ended it."""
    nodes: int = 0
    """Nodes inside the region."""


def find_region(
    program: TensorProgram,
    space: Space,
    target: Machine,
    trail: ReportedTree,
    region: RegionPruned,
    time_to_beat: TimeToBeat | None = None,
) -> ReopenedRegion:
    """The steps that were cut together as one region.

    Raises:
        ShapeError: the enumeration has no such region there, so the events are of another search.
    """
    here = EnumerationReplay(program, space, target, Journal(), time_to_beat)
    place = here.reach(trail.path_to(region.parent)) if region.parent in trail.nodes else None
    if isinstance(place, ReplayState):
        if region.operator == COMPLETE_GRAPH[region.level]:
            return ReopenedRegion(((region.operator, ()),))
        tried = here.try_steps(place, region.level)
        if region.operator == REST:
            searched = {e.operator for e in trail.children[region.parent, region.level]}
            return ReopenedRegion(tuple(step for step, (text, _) in tried.kept.items() if text not in searched))
        for found in tried.regions:
            if (found.title, found.reason) == (region.operator, region.reason):
                return ReopenedRegion(found.steps)
    raise ShapeError(
        f"{region.region} is no region that a search of {program.name} cuts at {region.parent}: its facts were noted "
        "by another version, or for another program, space or target; search again and audit the new session"
    )


def enumerate_region(
    program: TensorProgram,
    space: Space,
    target: Machine,
    journal: Journal,
    trail: ReportedTree,
    region: RegionPruned,
    reopened: ReopenedRegion,
    *,
    nodes: int,
    steps: int | None = None,
    time_to_beat: TimeToBeat | None = None,
) -> Iterator[Family | None]:
    """Enumerate a region again, in a space where its rule is off; families and None as `generate` yields them.

    Args:
        program: the program that was searched.
        space: with the rule off.
        target: the machine.
        journal: of this enumeration alone; it begins with the way to the region.
        trail: the search that cut the region.
        region: the cut.
        reopened: its steps, from `region_steps`; their outcomes are stored in it.
        nodes: budget inside the region.
        steps: only the first ones; all without.
        time_to_beat: that of the search.
    """
    way = trail.path_to(region.parent)
    before = len(way) + 1
    here = EnumerationReplay(
        program, replace(space, nodes=before + nodes, patience=before + nodes), target, journal, time_to_beat
    )
    enumerator = here.enumerator
    place = here.reach(way)
    if isinstance(place, NodeExpanded):
        reopened.cut_on_path = f"{place.node}, {place.operator}"
        return
    if region.operator == COMPLETE_GRAPH[region.level]:
        reopened.taken = reopened.steps
        kernel = here.kernel_at(place)
        if kernel is not None:
            yield from (
                enumerator.after_kernel_step(kernel)
                if region.level == "block"
                else _complete(program, enumerator, place, kernel)
            )
    else:
        tried = here.try_steps(place, region.level)
        searched = {e.operator for e in trail.children[region.parent, region.level]}
        for step in reopened.steps[:steps]:
            if step in tried.kept and enumerator.log.nodes >= enumerator.space.nodes:
                reopened.out_of_budget = True
                break
            reopened.taken = (*reopened.taken, step)
            if step in tried.kept:
                made = tried.kept[step][1]
                if isinstance(made, BlockState) and region.operator != REST:
                    made = replace(made, untried=(*_steps_taken_before(tried, step, searched), *made.untried))
                yield from _extensions(here, place, region.level, made)
            elif step in tried.cut:
                reopened.cut_at_once[step] = tried.cut[step]
    yield from enumerator.take_deferred_steps()
    yield from enumerator.split_kernels()
    reopened.nodes = enumerator.log.nodes - before
    reopened.out_of_budget |= any(
        isinstance(e, RegionPruned) and e.reason.soundness == "budget" for e in journal.events
    )


def _steps_taken_before(tried: StepOutcomes, step: Step, searched: Collection[str]) -> Iterator[BlockApplication]:
    """The steps before one that the search took: it tried each only up to its lasting cut."""
    for before in takewhile(lambda s: s != step, tried.applications):
        if tried.kept[before][0] in searched:
            yield tried.applications[before]


def _complete(
    program: TensorProgram, enumerator: Enumerator, place: ReplayState, kernel: KernelState
) -> Iterator[Family | None]:
    whole = enumerator.complete_graph(kernel)
    core = place.split.graph if place.split is not None else whole and whole.core
    if whole is not None and isinstance(core, SGraph):
        graph = enumerator.facts.with_views(core)
        yield Family(enumerator.log.completed(kernel.id, show_graph(graph)), program, graph)


def _extensions(here: EnumerationReplay, place: ReplayState, level: Level, made: StepResult) -> Iterator[Family | None]:
    enumerator = here.enumerator
    if level == "block":
        assert place.block is not None and isinstance(made, BlockState), "a block-level step grows a block graph"
        yield from enumerator.take_block_step(place.kernel, place.block, made)
        return
    kernel = here.kernel_at(place)
    assert kernel is not None, "a kernel-level step was tried at a kernel graph"
    yield from (
        enumerator.take_split(kernel.id, made) if isinstance(made, Split) else enumerator.take_kernel_step(kernel, made)
    )


def rules_with_same_code(rule: str) -> frozenset[str]:
    """The rules that share this one's reason, itself included; none for what is no rule, such as a budget."""
    codes = {r.code or r.name for r in RULES if r.name == rule}
    return frozenset(r.name for r in RULES if (r.code or r.name) in codes)
