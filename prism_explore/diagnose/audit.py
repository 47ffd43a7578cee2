"""Audit of one pruning decision: search the pruned region with the rule off, and look for proved families.

Input: a task, the events of its search, and a region or a rejected family. Output: an `Audit`. The region is searched
in a shadow run (`diagnose.shadow_run`), so the audited search does not change. The shadow run ends when the region is
exhausted or a budget is spent; `diagnose.audit_answer` judges what it found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from prism_explore.diagnose.audit_answer import (
    MAX_NAMED,
    Answer,
    Judgement,
    SearchedRegion,
    judge_left_out,
    judge_region,
)
from prism_explore.diagnose.shadow_run import FoundFamily, ShadowRun, families_of
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    CandidateRejected,
    Event,
    ExplorationFinished,
    FamilyCompleted,
    NodeExpanded,
    RegionPruned,
    Soundness,
    VerdictReached,
)
from prism_explore.events.ledger import ledger
from prism_explore.generate.event_log import EventLog, is_sequence_text, sequence_text
from prism_explore.generate.pruning.rule import PruningRule
from prism_explore.generate.pruning.rules import RULES
from prism_explore.generate.region_replay import (
    ReopenedRegion,
    ReportedTree,
    enumerate_region,
    find_region,
    rules_with_same_code,
)
from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Family, KernelSequence
from prism_explore.search.explore import Task, sequence_time_to_beat, time_to_beat, with_time_to_beat
from prism_explore.search.kernel_sequence import PrunedSequence, kernel_sequences
from prism_explore.support.gc_pause import full_collections_postponed

NODES = 1_000
"""Default budget of nodes."""
CANDIDATES = 300
"""Default budget of candidates."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of a shadow run in a pruned subtree, and the answer about the pruning."""

    subject: str
    """The pruned subtree, or the family that was rejected."""
    rule: str
    soundness: Soundness
    answer: Answer
    rules_off: tuple[str, ...]
    """Rules that were off in the shadow run, in addition to those of the search."""
    audited: tuple[str, ...]
    """The steps of the subtree that were searched."""
    steps: int
    """Number of steps of the subtree."""
    nodes: int
    families: int
    candidates: int
    proved: int
    refuted: int
    unknown: int
    pruned_inside: tuple[tuple[str, int], ...]
    """Per rule that was on, the number of inner subtrees that it pruned; most first."""
    rejected_maps: tuple[tuple[str, int], ...]
    """Per constraint, how many choices of maps of inner families it rejected."""
    found: tuple[FoundFamily, ...]
    spent_budget: str
    """The budget that was spent; empty where the subtree was searched to its end."""
    text: str
    """The answer in one or two sentences."""
    journal: Journal = field(compare=False, repr=False)
    """The events of the shadow run, from the path to the subtree on."""

    @property
    def lost(self) -> tuple[FoundFamily, ...]:
        """Proved families of the stated space that the search lacks."""
        return tuple(f for f in self.found if f.status == "lost")

    def __repr__(self) -> str:
        lines = [self.text]
        lines.append(
            f"  searched: {self.nodes} nodes, {self.families} families, {self.candidates} candidates "
            f"({self.proved} proved, {self.refuted} refuted, {self.unknown} unknown)"
        )
        shown = "; ".join(self.audited[:MAX_NAMED]) + (" ..." if len(self.audited) > MAX_NAMED else "")
        lines.append(f"  {len(self.audited)} of the subtree's {self.steps} steps: {shown or 'none'}")
        if self.pruned_inside:
            lines.append(
                f"  pruned inside by other rules: {', '.join(f'{rule} {n}' for rule, n in self.pruned_inside)}"
            )
        if self.rejected_maps:
            lines.append(f"  maps rejected inside: {_counts_text(self.rejected_maps)}")
        lines += [
            f"  {f.family} ({f.status}{': ' if f.explanation else ''}{f.explanation})\n{f.sgraph}" for f in self.found
        ]
        return "\n".join(lines)


@full_collections_postponed()
def audit(
    task: Task,
    events: Sequence[Event],
    subject: str,
    *,
    nodes: int = NODES,
    candidates: int = CANDIDATES,
    steps: int | None = None,
    rules_off: Collection[str] = (),
    rules: Iterable[PruningRule] = RULES,
    tick: Callable[[], None] = lambda: None,
) -> Audit:
    """Search a pruned subtree, or a rejected family, and decide whether it was pruned rightly.

    Args:
        task: what was searched.
        events: the events of the search so far; they are only read.
        subject: a region such as p17, or a rejected family such as f2.
        nodes: budget of nodes inside the region.
        candidates: budget of candidates to verify.
        steps: how many of the region's steps to search, the first ones; None searches all.
        rules_off: rules to switch off, in addition to the pruning rule and those that use the same theorem.
        rules: the pruning rules that the search had, as given to `generate`.
        tick: called at every step; an exception from it ends the audit.

    Raises:
        ShapeError: unknown region or rule, a budget below 1, or events of another search.
    """
    for name, number in (("nodes", nodes), ("candidates", candidates), ("steps", steps)):
        if number is not None and number < 1:
            raise ShapeError(f"an audit's {name} start at 1, found {number}")
    rules = tuple(rules)
    task = with_time_to_beat(task, events)
    region = next((e for e in events if isinstance(e, RegionPruned) and e.region == subject), None)
    if region is None:
        return _family_audit(task, events, subject, candidates, tick)
    rule = region.reason.rule
    off = rules_with_same_code(rule, rules) | frozenset(rules_off)
    space = replace(task.space, rules_off=task.space.rules_off | off)
    if is_sequence_text(region.operator):
        if rule == "budget.nodes":
            space = replace(space, row_nodes=max(space.row_nodes, nodes))
        return _sequence_audit(replace(task, space=space), events, region, off, nodes, candidates, tick)
    tree = ReportedTree(events)
    reopened = find_region(task.program, task.space, task.target, tree, region, time_to_beat(task), rules)
    shadow = ShadowRun(task, events, candidates, tick)
    families = enumerate_region(
        task.program,
        space,
        task.target,
        shadow.journal,
        tree,
        region,
        reopened,
        nodes=nodes,
        steps=steps,
        time_to_beat=time_to_beat(task),
        rules=rules,
    )
    for family in families:
        tick()
        if family is not None and not shadow.verify_family(family, space):
            break
    audited = tuple(f"{label}({', '.join(f'%{a}' for a in args)})" if args else label for label, args in reopened.taken)
    return _region_audit(SearchedRegion(region, reopened, shadow, off, _end(events)), audited)


def _sequence_audit(
    task: Task,
    events: Sequence[Event],
    region: RegionPruned,
    off: frozenset[str],
    nodes: int,
    candidates: int,
    tick: Callable[[], None],
) -> Audit:
    """Audit of pruned kernel sequences: enumerate all sequences without the rule."""
    shadow = ShadowRun(task, events, candidates, tick)
    log = EventLog(shadow.journal)
    root = log.expanded("", "inputs", "kernel")
    steps = ((region.operator, ()),)
    reopened = ReopenedRegion(steps, steps)

    def is_over() -> bool:
        reopened.out_of_budget |= reopened.nodes >= nodes
        return reopened.out_of_budget

    for sequence in _sequences(task, is_over):
        tick()
        reopened.nodes += 1
        if isinstance(sequence, KernelSequence):
            graph = _full_graph(sequence)
            family = log.completed(log.expanded(root, sequence_text(sequence.parts), "kernel"), show(graph))
            if not shadow.verify_family(Family(family, task.program, graph, sequence), task.space):
                break
    return _region_audit(SearchedRegion(region, reopened, shadow, off, _end(events)), (region.operator,))


def _family_audit(
    task: Task, events: Sequence[Event], subject: str, candidates: int, tick: Callable[[], None]
) -> Audit:
    """Audit of a rejected family: verify its candidates."""
    families = {e.family: e for e in families_of(events)}
    if subject not in ledger(events).steering.named("rejected") or subject not in families:
        regions = [e.region for e in events if isinstance(e, RegionPruned)]
        ids = f"subtrees {regions[0]} to {regions[-1]}" if regions else "no pruned subtrees yet"
        raise ShapeError(f"nothing to audit by the name {subject!r}; there are {ids}, and families that you rejected")
    completed = families[subject]
    shadow = ShadowRun(task, [e for e in events if e is not completed], candidates, tick)
    shadow.journal.append(completed)
    sequence = _sequence_of(task, events, completed)
    shadow.verify_family(Family(subject, task.program, parse(completed.sgraph), sequence), task.space)
    spent_budget = "candidates" if shadow.out_of_budget else ""
    judgement = judge_left_out(f"{subject}, which you rejected,", shadow, spent_budget, 0)
    return _audit(shadow, subject, "rejected", "user", judgement, (), (subject,), 1, 0, spent_budget)


def _sequence_of(task: Task, events: Sequence[Event], completed: FamilyCompleted) -> KernelSequence | None:
    """The kernel sequence of a family; None if the family has one kernel."""
    if not any(
        isinstance(e, NodeExpanded) and e.node == completed.node and is_sequence_text(e.operator) for e in events
    ):
        return None
    sequences = (s for s in _sequences(task, lambda: False) if isinstance(s, KernelSequence))
    return next((s for s in sequences if show(_full_graph(s)) == completed.sgraph), None)


def _sequences(task: Task, is_over: Callable[[], bool]) -> Iterator[KernelSequence | PrunedSequence | None]:
    return kernel_sequences(task.program, task.space, task.target, task.seed, is_over, sequence_time_to_beat(task))


def _full_graph(sequence: KernelSequence) -> SGraph:
    return sequence.full_graph({number: family.sgraph for number, family in sequence.families})


def _end(events: Sequence[Event]) -> ExplorationFinished | None:
    return next((e for e in reversed(events) if isinstance(e, ExplorationFinished)), None)


def _region_audit(searched: SearchedRegion, audited: tuple[str, ...]) -> Audit:
    region, reopened = searched.region, searched.reopened
    return _audit(
        searched.shadow,
        region.region,
        region.reason.rule,
        region.reason.soundness,
        judge_region(searched),
        tuple(sorted(searched.rules_off)),
        audited,
        len(reopened.steps),
        reopened.nodes,
        searched.spent_budget,
    )


def _audit(
    shadow: ShadowRun,
    subject: str,
    rule: str,
    soundness: Soundness,
    judgement: Judgement,
    rules_off: tuple[str, ...],
    audited: tuple[str, ...],
    steps: int,
    nodes: int,
    spent_budget: str,
) -> Audit:
    events = shadow.journal.events
    pruned = Counter(e.reason.rule for e in events if isinstance(e, RegionPruned) and e.reason.soundness != "budget")
    rejected = Counter(e.reason.rule for e in events if isinstance(e, CandidateRejected))
    verdicts = Counter(e.verdict for e in events if isinstance(e, VerdictReached))
    return Audit(
        subject,
        rule,
        soundness,
        judgement.answer,
        rules_off,
        audited,
        steps,
        nodes,
        shadow.families,
        shadow.candidates,
        verdicts["proved"],
        verdicts["refuted"],
        verdicts["unknown"],
        _most_first(pruned),
        _most_first(rejected),
        tuple(shadow.found),
        spent_budget,
        judgement.text,
        shadow.journal,
    )


def _counts_text(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{rule} {n}" for rule, n in counts)


def _most_first(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda row: (-row[1], row[0])))
