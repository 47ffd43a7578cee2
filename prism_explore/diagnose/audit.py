"""Audit of one pruning decision: search the pruned region with the rule off, and look for proved families.

Input: a task, the events of its search, and a region or a rejected family. Output: an `Audit`. The region is searched
in a shadow run with its own journal and prover, so the audited search does not change. The shadow run ends when the
region is exhausted or a budget is spent. The answer "right" requires an exhausted region.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal, TypeAlias

from prism_explore.cost.roofline import time_bound_of
from prism_explore.errors import ShapeError
from prism_explore.events.format import seconds_text
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
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.event_log import EventLog, is_sequence_text, sequence_text
from prism_explore.generate.explain_excluded import explain_excluded
from prism_explore.generate.region_replay import (
    ReopenedRegion,
    ReportedTree,
    enumerate_region,
    find_region,
    rules_with_same_code,
)
from prism_explore.instantiate import instantiate
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Family, KernelSequence
from prism_explore.search.explore import Task, sequence_time_to_beat, time_to_beat, with_time_to_beat
from prism_explore.search.kernel_sequence import kernel_sequences
from prism_explore.verify.prover import Prover

Answer: TypeAlias = Literal["right", "wrong", "undecided", "covered", "gained", "nothing gained"]
"""For a rule's pruning: right, wrong, undecided, or covered (another rule prunes the same steps). For a region that a
budget or the user left out: whether searching it gained a proved family."""
Standing: TypeAlias = Literal["known", "lost", "beyond"]
"""A proved family of the region: also in the search, missing in the search, or outside the stated space."""

NODES = 1_000
"""Default budget of nodes."""
CANDIDATES = 300
"""Default budget of candidates."""
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class FoundFamily:
    """A family of the region with a proved candidate."""

    family: str
    """Its id in the shadow run."""
    sgraph: str
    candidate: str
    """The first proved one."""
    standing: Standing
    explanation: str
    """The equal family of the search, or the reason why the stated space excludes this one."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What a shadow run found in a region, and the answer about the pruning."""

    subject: str
    """The region, or the family that was rejected."""
    rule: str
    soundness: Soundness
    answer: Answer
    rules_off: tuple[str, ...]
    """Rules that were off in the shadow run, in addition to those of the search."""
    audited: tuple[str, ...]
    """The steps of the region that were searched."""
    steps: int
    """Number of steps of the region."""
    nodes: int
    families: int
    candidates: int
    proved: int
    refuted: int
    unknown: int
    cuts: tuple[tuple[str, int], ...]
    """Per rule that was on, the number of inner regions that it pruned; most first."""
    maps: tuple[tuple[str, int], ...]
    """Per constraint, how many choices of maps of inner families it rejected."""
    found: tuple[FoundFamily, ...]
    ended: str
    """The budget that was spent; empty where the region was searched to its end."""
    text: str
    """The answer in one or two sentences."""
    journal: Journal = field(compare=False, repr=False)
    """The events of the shadow run, from the path to the region on."""

    @property
    def lost(self) -> tuple[FoundFamily, ...]:
        """Proved families of the stated space that the search lacks."""
        return tuple(f for f in self.found if f.standing == "lost")

    def __repr__(self) -> str:
        lines = [self.text]
        lines.append(
            f"  searched: {self.nodes} nodes, {self.families} families, {self.candidates} candidates "
            f"({self.proved} proved, {self.refuted} refuted, {self.unknown} unknown)"
        )
        shown = "; ".join(self.audited[:_MAX_NAMED]) + (" ..." if len(self.audited) > _MAX_NAMED else "")
        lines.append(f"  {len(self.audited)} of the region's {self.steps} steps: {shown or 'none'}")
        if self.cuts:
            lines.append(f"  cut inside by other rules: {', '.join(f'{rule} {n}' for rule, n in self.cuts)}")
        if self.maps:
            lines.append(f"  maps forbidden inside: {', '.join(f'{rule} {n}' for rule, n in self.maps)}")
        lines += [
            f"  {f.family} ({f.standing}{': ' if f.explanation else ''}{f.explanation})\n{f.sgraph}" for f in self.found
        ]
        return "\n".join(lines)


def audit(
    task: Task,
    facts: Sequence[Event],
    subject: str,
    *,
    nodes: int = NODES,
    candidates: int = CANDIDATES,
    steps: int | None = None,
    rules_off: Collection[str] = (),
    tick: Callable[[], None] = lambda: None,
) -> Audit:
    """Search a pruned region, or a rejected family, and decide whether it was pruned rightly.

    Args:
        task: what was searched.
        facts: the events of the search so far; they are only read.
        subject: a region such as p17, or a rejected family such as f2.
        nodes: budget of nodes inside the region.
        candidates: budget of candidates to verify.
        steps: how many of the region's steps to search, the first ones; None searches all.
        rules_off: rules to switch off, in addition to the pruning rule and those that use the same theorem.
        tick: called at every step; an exception from it ends the audit.

    Raises:
        ShapeError: unknown region or rule, a budget below 1, or events of another search.
    """
    for name, number in (("nodes", nodes), ("candidates", candidates), ("steps", steps)):
        if number is not None and number < 1:
            raise ShapeError(f"an audit's {name} start at 1, found {number}")
    task = with_time_to_beat(task, facts)
    region = next((e for e in facts if isinstance(e, RegionPruned) and e.region == subject), None)
    if region is None:
        return _family_audit(task, facts, subject, candidates, tick)
    rule = region.reason.rule
    off = rules_with_same_code(rule) | frozenset(rules_off)
    space = replace(task.space, rules_off=task.space.rules_off | off)
    if is_sequence_text(region.operator):
        if rule == "budget.nodes":
            space = replace(space, row_nodes=max(space.row_nodes, nodes))
        return _row_audit(replace(task, space=space), facts, region, off, nodes, candidates, tick)
    trail = ReportedTree(facts)
    reopened = find_region(task.program, task.space, task.target, trail, region, time_to_beat(task))
    shadow = _Shadow(task, facts, candidates, tick)
    growing = enumerate_region(
        task.program,
        space,
        task.target,
        shadow.journal,
        trail,
        region,
        reopened,
        nodes=nodes,
        steps=steps,
        time_to_beat=time_to_beat(task),
    )
    for family in growing:
        tick()
        if family is not None and not shadow.verify_family(family, replace(task, space=space)):
            break
    ended = "candidates" if shadow.over else "nodes" if reopened.out_of_budget else ""
    answer, text = _judge(task, facts, region, reopened, shadow, ended, off)
    names = tuple(f"{label}({', '.join(f'%{a}' for a in args)})" if args else label for label, args in reopened.taken)
    return shadow.audit(
        subject,
        rule,
        region.reason.soundness,
        answer,
        tuple(sorted(off)),
        names,
        len(reopened.steps),
        reopened.nodes,
        ended,
        text,
    )


class _Shadow:
    """A run with its own journal; it compares the families it finds with those of the search."""

    def __init__(self, task: Task, facts: Sequence[Event], budget: int, tick: Callable[[], None]) -> None:
        self.task, self.budget, self.tick = task, budget, tick
        self.journal = Journal()
        self.prover = Prover(task.program)
        self.table = ExpressionNumbers()
        self.known = {self.table.number_graph(parse(e.sgraph)): e.family for e in reversed(_families(facts))}
        self.found: list[FoundFamily] = []
        self.undecided: set[str] = set()
        """Families missing in the search that have an unknown candidate and no proved one."""
        self.families = self.candidates = 0
        self.over = False

    def verify_family(self, family: Family, task: Task) -> bool:
        """Verify the candidates of a family; False where the budget is spent."""
        self.families += 1
        number = self.table.number_graph(family.sgraph)
        first = ""
        floor_s = inf
        unknown = False
        for candidate in instantiate(family, task.space, task.target, self.journal):
            if self.candidates == self.budget:
                self.over = True
                break
            self.candidates += 1
            self.tick()
            self.prover.verify(candidate, self.journal, task.seed)
            (said,) = [e.event for e in self.journal.since(len(self.journal) - 1)]
            assert isinstance(said, VerdictReached), "a verdict is the last fact of its candidate"
            if said.verdict == "proved":
                first = first or candidate.id
                floor_s = min(floor_s, time_bound_of(candidate, task.shapes, task.target).time_s)
            unknown |= said.verdict == "unknown"
        if first:
            same = self.known.get(number, "")
            alone = not same and family.sequence is None
            why = explain_excluded(self.task.program, self.task.space, self.task.target, family.sgraph) if alone else ""
            if not same and isinstance(task.time_to_beat_s, float) and floor_s >= task.time_to_beat_s:
                beat, bound = seconds_text(task.time_to_beat_s), seconds_text(floor_s)
                why = why or f"no kernel of it beats {beat}, since its bound is {bound}"
            standing: Standing = "known" if same else "beyond" if why else "lost"
            born = next(e for e in _families(self.journal.events) if e.family == family.id)
            self.found.append(FoundFamily(family.id, born.sgraph, first, standing, same or why))
        elif unknown and number not in self.known:
            self.undecided.add(family.id)
        return not self.over

    def audit(
        self,
        subject: str,
        rule: str,
        soundness: Soundness,
        answer: Answer,
        rules_off: tuple[str, ...],
        audited: tuple[str, ...],
        steps: int,
        nodes: int,
        ended: str,
        text: str,
    ) -> Audit:
        """The result of the shadow run."""
        events = self.journal.events
        cuts = Counter(e.reason.rule for e in events if isinstance(e, RegionPruned) and e.reason.soundness != "budget")
        maps = Counter(e.reason.rule for e in events if isinstance(e, CandidateRejected))
        words = Counter(e.verdict for e in events if isinstance(e, VerdictReached))
        return Audit(
            subject,
            rule,
            soundness,
            answer,
            rules_off,
            audited,
            steps,
            nodes,
            self.families,
            self.candidates,
            words["proved"],
            words["refuted"],
            words["unknown"],
            tuple(sorted(cuts.items(), key=lambda row: (-row[1], row[0]))),
            tuple(sorted(maps.items(), key=lambda row: (-row[1], row[0]))),
            tuple(self.found),
            ended,
            text,
            self.journal,
        )


def _families(facts: Iterable[Event]) -> list[FamilyCompleted]:
    return [e for e in facts if isinstance(e, FamilyCompleted)]


def _row_audit(
    task: Task,
    facts: Sequence[Event],
    region: RegionPruned,
    off: frozenset[str],
    nodes: int,
    candidates: int,
    tick: Callable[[], None],
) -> Audit:
    """Audit of pruned kernel sequences: enumerate all sequences without the rule."""
    shadow = _Shadow(task, facts, candidates, tick)
    log = EventLog(shadow.journal)
    root = log.expanded("", "inputs", "kernel")
    taken = ((region.operator, ()),)
    reopened = ReopenedRegion(taken, taken)

    def over() -> bool:
        reopened.out_of_budget |= reopened.nodes >= nodes
        return reopened.out_of_budget

    for row in kernel_sequences(task.program, task.space, task.target, task.seed, over, sequence_time_to_beat(task)):
        tick()
        reopened.nodes += 1
        if isinstance(row, KernelSequence):
            graph = row.full_graph({number: family.sgraph for number, family in row.families})
            born = log.completed(log.expanded(root, sequence_text(row.parts), "kernel"), show(graph))
            if not shadow.verify_family(Family(born, task.program, graph, row), task):
                break
    ended = "candidates" if shadow.over else "nodes" if reopened.out_of_budget else ""
    answer, text = _judge(task, facts, region, reopened, shadow, ended, off)
    rules = tuple(sorted(off))
    rule, soundness = region.reason.rule, region.reason.soundness
    return shadow.audit(
        region.region, rule, soundness, answer, rules, (region.operator,), 1, reopened.nodes, ended, text
    )


def _family_audit(task: Task, facts: Sequence[Event], subject: str, candidates: int, tick: Callable[[], None]) -> Audit:
    """Audit of a rejected family: verify its candidates."""
    born = {e.family: e for e in facts if isinstance(e, FamilyCompleted)}
    if subject not in ledger(facts).steering.named("rejected") or subject not in born:
        regions = [e.region for e in facts if isinstance(e, RegionPruned)]
        ids = f"regions {regions[0]} to {regions[-1]}" if regions else "no regions yet"
        raise ShapeError(f"nothing to audit by the name {subject!r}; there are {ids}, and families that you rejected")
    shadow = _Shadow(task, [e for e in facts if e is not born[subject]], candidates, tick)
    shadow.journal.append(born[subject])
    shadow.verify_family(
        Family(subject, task.program, parse(born[subject].sgraph), _row_of(task, facts, born[subject])), task
    )
    ended = "candidates" if shadow.over else ""
    answer, text = _gain(f"{subject}, which you rejected,", shadow, ended, 0)
    return shadow.audit(subject, "rejected", "user", answer, (), (subject,), 1, 0, ended, text)


def _row_of(task: Task, facts: Sequence[Event], born: FamilyCompleted) -> KernelSequence | None:
    """The kernel sequence of a family; None where it has one kernel."""
    if not any(isinstance(e, NodeExpanded) and e.node == born.node and is_sequence_text(e.operator) for e in facts):
        return None
    rows = kernel_sequences(
        task.program, task.space, task.target, task.seed, lambda: False, sequence_time_to_beat(task)
    )
    graphs = ((r, r.full_graph({n: f.sgraph for n, f in r.families})) for r in rows if isinstance(r, KernelSequence))
    return next((row for row, graph in graphs if show(graph) == born.sgraph), None)


def _judge(
    task: Task,
    facts: Iterable[Event],
    region: RegionPruned,
    reopened: ReopenedRegion,
    shadow: _Shadow,
    ended: str,
    off: frozenset[str],
) -> tuple[Answer, str]:
    what, rule = region.region, region.reason.rule
    if region.reason.soundness in ("budget", "user"):
        return _gain(f"{what}, which {rule} left out,", shadow, ended, reopened.nodes)
    did = f"with {_list(sorted(off))} off"
    if reopened.cut_on_path:
        return "undecided", (
            f"{what} cannot be reached {did}: {reopened.cut_on_path}, is cut on the way there. Name another rule to "
            "switch off as well: audit(rules_off=[...])."
        )
    lost = [f for f in shadow.found if f.standing == "lost"]
    end = next((e for e in reversed(tuple(facts)) if isinstance(e, ExplorationFinished)), None)
    if lost and end is not None and end.stop == "exhausted":
        return "wrong", (
            f"{what} was cut wrongly: {did}, {_count(len(lost), 'proved family is', 'proved families are')} in it that "
            f"the search does not have, {_list(f.family for f in lost[:_MAX_NAMED])} of the shadow run first. "
            f"{rule} calls itself {region.reason.soundness}, and lost them."
        )
    if lost:
        why = "has not ended" if end is None else "stopped at its budget" if end.stop == "budget" else "was cancelled"
        return "undecided", (
            f"{what} has {_count(len(lost), 'proved family', 'proved families')} that the search does not have, but "
            f"the search {why}, so it may only not have come to them yet. Let it end, then audit again."
        )
    if any(rule == "limit.ops" and rule in off for rule in reopened.cut_at_once.values()):
        return "undecided", (
            f"{what} does not open {did}: there limit.ops counts more unused tensors than operators are left to use, "
            "and has no switch. Search a larger space."
        )
    if reopened.cut_at_once and not reopened.nodes:
        others = sorted(set(reopened.cut_at_once.values()) - off)
        if not others:
            return "right", f"{what} was cut rightly: the operands do not fit by their sizes either, {did}."
        verb = "cuts" if len(others) == 1 else "cut"
        return "covered", (
            f"{what} stays cut {did}: {_list(others)} {verb} the same at once, so it is right if they are. "
            f"audit(rules_off=[{', '.join(map(repr, others))}]) asks further."
        )
    counted = f"{_count(reopened.nodes, 'node', 'nodes')} and {_count(shadow.candidates, 'candidate', 'candidates')}"
    searched = f"{did}, {counted}"
    beyond = [f for f in shadow.found if f.standing == "beyond"]
    many = _count(len(beyond), "proved family lies", "proved families lie")
    also = f" {many} outside the stated space: {beyond[0].explanation}." if beyond else ""
    if ended:
        return "undecided", (
            f"{what} was searched in part: {searched}, then the budget of {ended} was spent. Nothing proved was found "
            f"there that the search lacks, which does not make the cut right; audit({ended}=...) goes further.{also}"
        )
    if shadow.undecided:
        return "undecided", (
            f"{what} was searched to its end: {searched}. "
            f"{_count(len(shadow.undecided), 'family is', 'families are')} unknown, neither proved nor refuted, and "
            f"the search lacks {'it' if len(shadow.undecided) == 1 else 'them'}.{also}"
        )
    if len(reopened.taken) < len(reopened.steps):
        return "undecided", (
            f"{what} was searched in part: {len(reopened.taken)} of its {len(reopened.steps)} steps, {searched}. "
            f"Nothing proved was found there that the search lacks.{also}"
        )
    inside = sum(isinstance(e, RegionPruned) for e in shadow.journal.events)
    others = f" The other rules, which stayed on, cut {_count(inside, 'region', 'regions')} inside." if inside else ""
    return "right", (
        f"{what} was cut rightly: {searched} are all there is, and nothing proved among them is missing from the "
        f"search.{others}{also}"
    )


def _gain(what: str, shadow: _Shadow, ended: str, nodes: int) -> tuple[Answer, str]:
    new = [f for f in shadow.found if f.standing == "lost"]
    searched = f"{_count(nodes, 'node', 'nodes')} and {_count(shadow.candidates, 'candidate', 'candidates')}"
    over = f", where the audit's own budget of {ended} was spent" if ended else ", all there is"
    if new:
        gained = _count(len(new), "proved family", "proved families")
        return "gained", f"{what} hid {gained} that the search lacks, within {searched}{over}."
    if ended or shadow.undecided:
        open_ = f"; {_count(len(shadow.undecided), 'family is', 'families are')} unknown" if shadow.undecided else ""
        return "undecided", f"{what} showed nothing proved that the search lacks, within {searched}{over}{open_}."
    return "nothing gained", f"{what} holds nothing proved that the search lacks: {searched}{over}."


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _list(words: Iterable[str]) -> str:
    words = list(words)
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
