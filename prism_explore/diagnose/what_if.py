"""What-if analysis: which pruned regions another target, another space, or fewer rules would admit.

Method: the enumeration tree is replayed in both settings, and every pruned step is tested again at the same node. The
test is the pruning rule itself, so the result is exact. What lies below an admitted step is unknown until it is
searched; `run=True` searches it in a shadow run with its own journal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    FAMILIES_SPENT,
    Event,
    ExplorationFinished,
    FamilyCompleted,
    NodeExpanded,
    RegionPruned,
    VerdictReached,
)
from prism_explore.events.ledger import family_rows, was_limited_by_budget
from prism_explore.generate.budgets import AFTER_FAMILY
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.event_log import COMPLETE_GRAPH, REST, is_sequence_text
from prism_explore.generate.region_replay import EnumerationReplay, ReplayState, ReportedTree, StepOutcomes
from prism_explore.instantiate import instantiate
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import Level, Space
from prism_explore.pipeline.stages import Family, Verified
from prism_explore.search.explore import Task, enumerate_families, time_to_beat, with_time_to_beat
from prism_explore.support.work_timer import WorkTimer
from prism_explore.targets import Target
from prism_explore.verify.prover import Prover

Maps: TypeAlias = tuple[str, tuple[str, ...]]
"""A family, and the axis maps of one of its candidates."""


@dataclass(frozen=True, slots=True)
class Reopening:
    """The regions that one rule pruned, by what happens to them in the other setting."""

    rule: str
    regions: int
    """How many regions the rule pruned in the search."""
    reopened: tuple[str, ...]
    """Regions with a step that is kept now."""
    covered: int
    """Regions that the rule no longer prunes, but another rule does."""
    unreached: int
    """Regions at nodes that are themselves pruned now."""
    stood_for: float
    """Number of programs in the reopened regions, mostly an estimate."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A shadow search in the other setting, compared with the search."""

    gained: tuple[str, ...]
    """Proved families that the search did not prove, as text."""
    missing: tuple[str, ...]
    """Ids of families that the search proved and this one did not."""
    common: int
    nodes: int
    families: int
    candidates: int
    by_budget: bool
    """Whether the node budget ended the shadow search."""
    journal: Journal = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What another setting would admit and exclude; exact except for what `estimated` lists."""

    changes: tuple[str, ...]
    rows: tuple[Reopening, ...]
    admitted_steps: int
    """Steps at known nodes that the search never tried, such as those beyond a limit."""
    excluded_nodes: int
    """Nodes of the search that are pruned now, without their descendants."""
    admitted_maps: tuple[Maps, ...]
    """Candidates of known families that the constraints newly admit."""
    excluded_maps: tuple[Maps, ...]
    estimated: tuple[str, ...]
    """What could not be counted, one sentence each."""
    ran: Comparison | None = None
    task: Task | None = field(default=None, compare=False, repr=False)
    """What a search with the other setting searches; `Session.adopt` starts it."""

    @property
    def reopened(self) -> tuple[str, ...]:
        """Every reopened region, in the order of the rules."""
        return tuple(region for row in self.rows for region in row.reopened)

    @property
    def text(self) -> str:
        """The answer in a few sentences."""
        rules = [f"{len(row.reopened)} of {row.regions} by {row.rule}" for row in self.rows if row.reopened]
        sentences = [f"With {', '.join(self.changes) or 'nothing changed'}:"]
        sentences.append(f"{', '.join(rules)} reopen." if rules else "no pruned subtree reopens.")
        if covered := sum(row.covered for row in self.rows):
            sentences.append(f"{covered} more would, but another rule prunes them too.")
        if self.admitted_steps:
            sentences.append(f"{self.admitted_steps} steps are admitted that the search never tried.")
        if self.excluded_nodes:
            sentences.append(f"{self.excluded_nodes} nodes of the search are pruned now.")
        if self.admitted_maps or self.excluded_maps:
            sentences.append(
                f"{len(self.admitted_maps)} choices of maps are admitted, {len(self.excluded_maps)} rejected."
            )
        sentences += self.estimated
        if (ran := self.ran) is not None:
            end = ", which its node budget ended" if ran.by_budget else ""
            sentences.append(
                f"A shadow search{end} visited {ran.nodes} nodes and decided {ran.candidates} candidates: "
                f"{ran.common} proved families in both, {len(ran.gained)} gained, {len(ran.missing)} missing."
            )
        return " ".join(sentences)

    def __repr__(self) -> str:
        gained = self.ran.gained if self.ran is not None else ()
        return "\n".join((self.text, *gained))


def what_if(
    task: Task,
    events: Sequence[Event],
    *,
    target: Target | None = None,
    space: Space | None = None,
    rules_off: Collection[str] = (),
    run: bool = False,
    tick: Callable[[], None] = lambda: None,
) -> WhatIf:
    """Compare the search with another setting; the search itself does not change.

    Args:
        task: what was searched.
        events: the events of the search; they are only read.
        target: another machine; before tuning, only its shared memory matters.
        space: other operators and limits.
        rules_off: rules to switch off, in addition to those of the space.
        run: whether to search in the other setting, up to proofs; nothing is tuned.
        tick: called at every step; an exception from it ends the analysis.

    Raises:
        ShapeError: unknown rule.
    """
    wanted = space or task.space
    wanted = replace(wanted, rules_off=wanted.rules_off | frozenset(rules_off))
    task = with_time_to_beat(task, events)
    time_to_beat_s = task.time_to_beat_s if target is None else None  # times are not comparable across machines
    other = replace(task, target=target or task.target, space=wanted, time_to_beat_s=time_to_beat_s)
    walk = _TreeComparison(task, other, events)
    walk.walk(tick)
    was, now = _maps(task, events, tick), _maps(other, events, tick)
    return WhatIf(
        _changes(task, other),
        walk.rows(),
        walk.admitted_steps,
        walk.excluded_nodes,
        tuple(m for m in now if m not in was),
        tuple(m for m in was if m not in now),
        tuple(walk.estimated),
        _compare_searches(other, events, tick) if run else None,
        other,
    )


class _TreeComparison:
    """Traversal of the enumeration tree in both settings at once."""

    def __init__(self, task: Task, other: Task, events: Sequence[Event]) -> None:
        self.before = EnumerationReplay(task.program, task.space, task.target, Journal(), time_to_beat(task))
        self.after = EnumerationReplay(other.program, other.space, other.target, Journal(), time_to_beat(other))
        self.task, self.other = task, other
        self.tree = ReportedTree(events)
        self.ended = any(isinstance(e, ExplorationFinished) and e.stop != "cancelled" for e in events)
        self.admitted_steps = self.excluded_nodes = 0
        self.has_sequences = False
        self.outcomes: dict[str, str] = {}
        """Per visited region: reopened, covered, or pruned."""
        self.regions = [e for e in events if isinstance(e, RegionPruned)]
        self.estimated: list[str] = []

    def walk(self, tick: Callable[[], None]) -> None:
        """Traverse the tree from its root."""
        roots = [n.node for n in self.tree.nodes.values() if not n.parent]
        left = [(node, self.before.root(), self.after.root()) for node in roots]
        while left:
            tick()
            node, here, there = left.pop()
            levels: tuple[Level, ...] = ("kernel", "split")
            for level in ("block", *levels) if here.block is not None else levels:
                left += self.compare_steps(node, here, there, level)
        if not self.ended:
            self.estimated.append("The search has not ended, so this is about its events so far.")
        if any(e.operator == REST for e in self.regions):
            more = [
                f"{count:,} more {what}"
                for what in ("nodes", "families")
                if (count := getattr(self.other.space, what) - getattr(self.task.space, what)) > 0
            ]
            self.estimated.append(
                f"It is not known in advance how much of what the budget left out fits into {' and '.join(more)}."
                if more
                else "The subtrees that the budget left out stay unknown."
            )
        if self.has_sequences:
            self.estimated.append("Kernel sequences are built from searches of parts; run=True searches them.")
        if self.other.space.block != self.task.space.block or self.other.space.kernel != self.task.space.kernel:
            self.estimated.append(
                "The operators differ, and so does the order of enumeration, so a graph may be at another node."
            )

    def compare_steps(
        self, node: str, here: ReplayState, there: ReplayState, level: Level
    ) -> list[tuple[str, ReplayState, ReplayState]]:
        """Compare all steps at a node on one level; returns the children that both settings keep."""
        children, regions = self.tree.children[node, level], self.tree.regions[node, level]
        if not children and not regions and (level != "block" or not self.ended):
            return []
        was, now = self.before.try_steps(here, level), self.after.try_steps(there, level)
        for region in regions:
            self.outcomes[region.region] = self.classify(region, was, now)
        if self.ended:
            self.admitted_steps += len(set(now.kept) - set(was.kept) - set(was.cut))
        both: list[tuple[str, ReplayState, ReplayState]] = []
        for child in children:
            if is_sequence_text(child.operator):
                self.has_sequences = True
                continue
            a, b = self.before.follow(here, child, was), self.after.follow(there, child, now)
            assert a is not None, f"the search that has these events kept {child.node}"
            if b is None:
                self.excluded_nodes += 1
            else:
                both.append((child.node, a, b))
        return both

    def classify(self, region: RegionPruned, was: StepOutcomes, now: StepOutcomes) -> str:
        """Whether a region is reopened, covered, or still pruned."""
        rule = region.reason.rule
        if region.operator == REST:
            of_nodes = "nodes_after_family" if region.reason.formula == AFTER_FAMILY else "nodes"
            what = "families" if rule == FAMILIES_SPENT else of_nodes
            return "reopened" if getattr(self.other.space, what) > getattr(self.task.space, what) else "pruned"
        if is_sequence_text(region.operator) and rule == "budget.nodes":
            return "reopened" if self.other.space.row_nodes > self.task.space.row_nodes else "pruned"
        if region.operator == COMPLETE_GRAPH[region.level] or is_sequence_text(region.operator):
            return "reopened" if rule in self.other.space.rules_off - self.task.space.rules_off else "pruned"
        steps = next(
            (r.steps for r in was.regions if (r.title, r.reason) == (region.operator, region.reason)),
            (),
        )
        if any(step in now.kept for step in steps):
            return "reopened"
        return "pruned" if any(now.cut.get(step) == rule for step in steps) else "covered"

    def rows(self) -> tuple[Reopening, ...]:
        """One row per rule, most regions first."""
        by_rule: dict[str, list[RegionPruned]] = {}
        for region in self.regions:
            by_rule.setdefault(region.reason.rule, []).append(region)
        return tuple(
            Reopening(
                rule,
                len(regions),
                tuple(e.region for e in regions if self.outcomes.get(e.region) == "reopened"),
                sum(self.outcomes.get(e.region) == "covered" for e in regions),
                sum(e.region not in self.outcomes for e in regions),
                sum(e.stood_for for e in regions if self.outcomes.get(e.region) == "reopened"),
            )
            for rule, regions in sorted(by_rule.items(), key=lambda row: (-len(row[1]), row[0]))
        )


def _families(events: Iterable[Event]) -> list[FamilyCompleted]:
    return [e for e in events if isinstance(e, FamilyCompleted)]


def _maps(task: Task, events: Sequence[Event], tick: Callable[[], None]) -> list[Maps]:
    """Every candidate that a setting admits of the search's families, except kernel sequences."""
    found: list[Maps] = []
    sequences = {e.node for e in events if isinstance(e, NodeExpanded) and is_sequence_text(e.operator)}
    for completed in _families(events):
        if completed.node in sequences:
            continue
        tick()
        family = Family(completed.family, task.program, parse(completed.sgraph))
        for candidate in instantiate(family, task.space, task.target, Journal()):
            found.append((family.id, tuple(str(u) for uses in candidate.uses for u in uses)))
    return found


def _compare_searches(other: Task, events: Sequence[Event], tick: Callable[[], None]) -> Comparison:
    """Search in the other setting up to proofs, and compare families by canonical form."""
    table = ExpressionNumbers()
    proved = {row.family for row in family_rows(events) if row.proved}
    known = {table.number_graph(parse(e.sgraph)): e.family for e in _families(events) if e.family in proved}
    journal, prover = Journal(), Prover(other.program)
    watch = WorkTimer(other.space.time_s)
    found: dict[tuple[int, ...], str] = {}
    growing = enumerate_families(other, journal, watch.is_over, lambda: bool(found))
    for family in watch.during(growing):
        tick()
        if family is None:
            continue
        number = table.number_graph(family.sgraph)
        for candidate in instantiate(family, other.space, other.target, journal):
            tick()
            if isinstance(prover.verify(candidate, journal, other.seed), Verified):
                found.setdefault(number, family.id)
    texts = {e.family: e.sgraph for e in _families(journal.events)}
    return Comparison(
        tuple(texts[family] for number, family in found.items() if number not in known),
        tuple(family for number, family in known.items() if number not in found),
        sum(number in known for number in found),
        sum(isinstance(e, NodeExpanded) for e in journal.events),
        len(texts),
        sum(isinstance(e, VerdictReached) for e in journal.events),
        was_limited_by_budget(journal.events),
        journal,
    )


def _changes(task: Task, other: Task) -> tuple[str, ...]:
    """The differences between the settings, as text."""
    changes: list[str] = []
    if other.target != task.target:
        a, b = task.target.shared_memory_bytes, other.target.shared_memory_bytes
        memory = f"shared memory {a:,} B -> {b:,} B" if a != b else "shared memory as before"
        changes.append(f"{other.target.name} for {task.target.name} ({memory})")
    was, now = task.space.describe(task.program), other.space.describe(task.program)
    changes += [f"{name}: {now[name]}" for name in now if was.get(name) != now[name]]
    return tuple(changes)
