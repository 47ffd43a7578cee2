"""Panels at many moments of a search, so that an earlier state shows only what had happened by then.

A moment is a number of events. In a search with few events each one is a moment; in a longer search the moments are
spread over the events, and over the rarer ones: those that are no step of the search tree. Per name, such as
`families` or `inspector/f1.c2`, there are the values from the moments at which they changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from prism_explore.events import kinds
from prism_explore.events.journal import Entry
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState, best_candidate, select
from prism_explore.widgets.panels.graph_choices import ALL_COLLAPSED, GraphChoices
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.ledger import claim_and_steering
from prism_explore.widgets.panels.panels import PANELS
from prism_explore.widgets.panels.reads import Computed
from prism_explore.widgets.panels.reads import record as read_by
from prism_explore.widgets.panels.sections import Inspector, Tuning
from prism_explore.widgets.report_data.columns import TREE_KINDS
from prism_explore.widgets.report_data.pool import Pool
from prism_explore.widgets.views.tuning_view import MODES, TuningView

MOST_MOMENTS, LEAST_MOMENTS, FAMILY_ROWS = 200, 60, 20_000
"""Limits of the number of moments, and of the rows of families at all of them."""
KEPT_SCENES = 1_000
MOMENT_PANELS = ("result", "graph", "sizes", "families", "eclasses", "tuning", "code")
"""Panels that are recorded as they are without a selection."""
FINAL_PANELS = tuple(name for name in PANELS if name not in (*MOMENT_PANELS, "map", "inspector", "view", "ledger"))
"""Panels of the final state, which the browser completes for an earlier moment."""
MAX_INSPECTORS = 3_000
"""Largest number of inspectors at all moments together, for which all are recorded at every moment."""
INSPECTED_KINDS = (kinds.FamilyCompleted, kinds.CandidateInstantiated, kinds.ParametersProposed)
GRAPH_KINDS = (
    kinds.FamilyCompleted,
    kinds.CandidateInstantiated,
    kinds.VerdictReached,
    kinds.CertificateReplayed,
)
"""Kinds that change the inspectors of the tensors of a graph."""
CANDIDATE_KINDS = (
    kinds.VerdictReached,
    kinds.CertificateReplayed,
    kinds.CandidateBounded,
    kinds.ParametersProposed,
    kinds.KernelGenerated,
    kinds.TrialMeasured,
    kinds.TrialFailed,
    kinds.IncumbentImproved,
)
"""Kinds that change one candidate and its family; the others can change all candidates of a family."""
SUBJECT_PANELS = ("graph", "sizes", "eclasses", "code")
"""Panels that a selected family, candidate, trial or frame changes."""


@dataclass(slots=True)
class Versions:
    """Per name, the values and the moments from which they hold."""

    pool: Pool
    of: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    """Per name, the moments at which its value changed, and the numbers of the values in the pool."""

    computed: dict[str, Computed] = field(default_factory=dict[str, Computed])
    """Per name, the last value and what was read for it."""

    def compute(self, name: str, moment: int, panel: Callable[[Context], object], context: Context) -> None:
        """Add the value of a panel, if something that it read for the last value has changed."""
        known = self.computed.get(name)
        if known is None or not known.reads.hold_in(context):
            found = self.computed[name] = read_by(panel, context)
            if known is None or known.result != found.result:
                self.record(name, moment, found.result)

    def record(self, name: str, moment: int, value: object) -> None:
        """Add a value if it differs from the last one."""
        member = self.pool.add(value)
        versions = self.of.setdefault(name, [])
        if not versions or versions[-1][1] != member:
            versions.append((moment, member))

    def by_name(self) -> Iterator[int]:
        """The numbers of the values, with those of one panel and subject side by side."""
        for _, versions in sorted(self.of.items()):
            yield from (member for _, member in versions)


def moments(entries: Sequence[Entry], families: int) -> tuple[int, ...]:
    """The numbers of events at which panels are recorded; the last one is the number of all events."""
    count = len(entries)
    limit = min(MOST_MOMENTS, max(LEAST_MOMENTS, FAMILY_ROWS // max(1, families)))
    if count <= limit:
        return tuple(range(1, count + 1))
    rare = [n for n, e in enumerate(entries, 1) if type(e.event) not in TREE_KINDS]
    step, rare_step = -(-2 * count // limit), max(1, -(-2 * len(rare) // limit))
    return tuple(sorted({*range(step, count, step), *rare[::rare_step], 1, count}))


@dataclass(slots=True)
class Recorder:
    """Records the panels moment by moment."""

    search: SearchInfo
    versions: Versions
    with_graphs: frozenset[str]
    """The families and candidates whose graphs, tensors and code are recorded."""
    view: ViewState
    memo: Memo = field(default_factory=lambda: Memo(scenes=KEPT_SCENES))
    last: int = 0
    """The last moment."""
    all_inspectors: bool = False
    """Whether everything is recorded at every moment, because there is little; else after the events of its id."""
    _best: str = ""
    """The best candidate at the last moment."""
    _inspected: dict[str, Inspector] = field(default_factory=dict[str, Inspector])
    """Per id, the last inspector; to compare it is quicker than to store it again."""

    def record(self, entries: Sequence[Entry], at: Sequence[int]) -> Folds:
        """Record the panels at these moments; return the events folded."""
        folds, done, self.last = Folds(), 0, len(entries)
        inspectors = sum(isinstance(e.event, INSPECTED_KINDS) for e in entries)
        self.all_inspectors = inspectors * len(at) <= MAX_INSPECTORS
        for moment in at:
            new = entries[done:moment]
            for entry in new:
                folds.ledger.add(entry.event)
                folds.events.add(entry)
            done = moment
            view = self.view if moment == len(entries) else replace(self.view, cursor=moment)
            self._record_moment(moment, folds, view, changed_refs(new))
        for entry in entries:
            folds.tree.add(entry.event)
        final = Context.of(self.search, folds, self.view, self.memo)
        self._record_final(final)
        self._record_questions(len(entries), final)
        return folds

    def _record_moment(self, moment: int, folds: Folds, view: ViewState, changed: Changed) -> None:
        context = Context.of(self.search, folds, view, self.memo)
        compute = self.versions.compute
        for name in MOMENT_PANELS:
            compute(name, moment, PANELS[name], context)
        compute("collapsed", moment, PANELS["graph"], with_graph(context, ALL_COLLAPSED))
        self.versions.record("ledger", moment, claim_and_steering(context.ledger))
        for mode in MODES if context.ledger.trials else ():
            compute(f"tuning/{mode}", moment, _tuning, replace(context, view=replace(view, tuning=TuningView(mode))))
        self._inspect("", moment, context)
        self._record_changed(moment, context, changed)
        if moment == 1 or changed.has_certificate:
            for part in sorted(self.memo.program_scene(self.search.program).refs):
                self._inspect(part, moment, context)

    def _record_final(self, context: Context) -> None:
        """Record, for all moments, the panels that the browser completes for each of them, or that do not change."""
        for name in FINAL_PANELS:
            self.versions.record(name, 1, PANELS[name](context))
        tables = PANELS["ledger"](context)
        tables = replace(tables, reasons=replace(tables.reasons, rows=()), log=replace(tables.log, rows=(), omitted=""))
        self.versions.record("ledger/tables", 1, tables)

    def _record_changed(self, moment: int, context: Context, changed: Changed) -> None:
        """Record the families, candidates, trials and reasons that changed; in the final state, all of them."""
        events = context.events
        self._add_best(changed, context)
        graphs = changed.families | changed.candidates
        for family in changed.all_of:
            graphs.update(events.candidates_of(family))
        if self.all_inspectors:
            graphs.update(events.families, events.candidates)
        inspected = graphs | changed.trials
        if moment == self.last:
            inspected.update(events.families, events.candidates)
        if moment == self.last or self.all_inspectors:
            inspected.update(events.candidate_of_trial)
        for ref in sorted(inspected | changed.reasons):
            self._inspect(ref, moment, context)
        for ref in sorted(graphs & self.with_graphs):
            if events.has_graph(ref):
                self._record_subject(ref, moment, context, with_parts=ref in changed.graphs)
        # Why a family has no source can change with every event, and is recorded at the end.
        for ref in sorted(self.with_graphs - graphs if moment == self.last else ()):
            if events.has_graph(ref):
                self.versions.compute(f"code/{ref}", moment, PANELS["code"], selected(context, ref))
        for ref in sorted(changed.trials & events.sources.keys()):
            self.versions.compute(f"code/{ref}", moment, PANELS["code"], selected(context, ref))

    def _add_best(self, changed: Changed, context: Context) -> None:
        """Add what changes when another candidate becomes the best, and when the best one is timed again or final."""
        best = context.ledger.best
        candidate = best.candidate if best is not None else ""
        if candidate == self._best and not changed.best:
            return
        for family in {family_of(c) for c in (candidate, self._best) if c}:
            changed.all_of.add(family)
            changed.families.add(family)
        if best is not None:
            changed.trials.add(best.trial)
        self._best = candidate

    def _record_graphs(self, suffix: str, moment: int, context: Context) -> None:
        """Record the graph with collapsed kernels, and the program in its place."""
        for name, choices in (("collapsed", ALL_COLLAPSED), ("program", GraphChoices(program=True))):
            self.versions.compute(f"{name}{suffix}", moment, PANELS["graph"], with_graph(context, choices))

    def _record_questions(self, moment: int, context: Context) -> None:
        """Record the answers, which appear in the inspectors of their subjects too."""
        for question in self.search.questions.questions:
            self._inspect(question.id, moment, context)
            self._inspect(question.subject, moment, context)

    def _inspect(self, ref: str, moment: int, context: Context) -> None:
        found = inspect(ref, context)
        if found is not None and found != self._inspected.get(ref):
            self._inspected[ref] = found
            self.versions.record(f"inspector/{ref}", moment, found)

    def _record_subject(self, ref: str, moment: int, context: Context, with_parts: bool) -> None:
        """Record the panels of a family or candidate, and with its parts the inspectors of its tensors and classes."""
        shown = selected(context, ref)
        self._record_graphs(f"/{ref}", moment, shown)
        for name in SUBJECT_PANELS:
            self.versions.compute(f"{name}/{ref}", moment, PANELS[name], shown)
        if not with_parts:
            return
        graph, eclasses = (self.versions.computed[f"{name}/{ref}"].result for name in ("graph", "eclasses"))
        for kernel in graph.kernels:
            entered = with_graph(shown, GraphChoices(entered=kernel.ref))
            self.versions.compute(f"entered/{kernel.ref}", moment, PANELS["graph"], entered)
        parts = {part for panel in (graph, eclasses) if panel.scene for part in panel.scene.refs}
        parts.update(row.ref for row in eclasses.lemmas.rows)
        for part in sorted(parts):
            self._inspect(part, moment, shown)


def _tuning(context: Context) -> Tuning:
    """The panel for all subjects: a page has every chart, but not every choice of trials."""
    return replace(PANELS["tuning"](context), tops=(), axes=())


def with_graph(context: Context, choices: GraphChoices) -> Context:
    """The context with other choices in the sGraph panel."""
    return replace(context, view=replace(context.view, graph=choices))


def selected(context: Context, ref: str) -> Context:
    """The context after a selection of something that belongs to a family or candidate."""
    view = select(context.view, ref, context.events)
    subject = view.subject
    is_candidate = subject in context.events.candidates
    candidate = subject if is_candidate else best_candidate(subject, context.events, context.ledger)
    return replace(context, view=view, subject=subject, candidate=candidate, followed="")


@dataclass(slots=True)
class Changed:
    """The ids that some events concern."""

    families: set[str] = field(default_factory=set[str])
    candidates: set[str] = field(default_factory=set[str])
    trials: set[str] = field(default_factory=set[str])
    reasons: set[str] = field(default_factory=set[str])
    all_of: set[str] = field(default_factory=set[str])
    """Families all of whose candidates can have changed."""
    graphs: set[str] = field(default_factory=set[str])
    """Families and candidates that are new, or have a new verdict or certificate."""
    has_certificate: bool = False
    best: bool = False
    """Whether the best candidate was timed again, or is final."""


def changed_refs(entries: Sequence[Entry]) -> Changed:
    """The ids that these events concern."""
    changed = Changed()
    for entry in entries:
        event = entry.event
        reason = getattr(event, "reason", None)
        if isinstance(reason, kinds.Reason):
            changed.reasons.add(reason.code)
        if isinstance(event, TREE_KINDS):
            continue
        candidate, trial = getattr(event, "candidate", ""), getattr(event, "trial", "")
        families = [f for f in _families(event) if f]
        if candidate:
            changed.candidates.add(candidate)
            families.append(family_of(candidate))
        if not isinstance(event, CANDIDATE_KINDS):
            changed.all_of.update(families)
        if isinstance(event, GRAPH_KINDS):
            changed.graphs.add(candidate or getattr(event, "family", ""))
        changed.has_certificate |= isinstance(event, kinds.CertificateReplayed)
        changed.best |= isinstance(event, kinds.BaselineMeasured | kinds.ExplorationFinished)
        if trial:
            changed.trials.add(trial)
        changed.families.update(families)
    return changed


def _families(event: object) -> Iterator[str]:
    yield getattr(event, "family", "")
    yield getattr(event, "by", "")
    if isinstance(event, kinds.Steered):
        yield event.subject


def family_of(candidate: str) -> str:
    """The family of a candidate such as f1.c2."""
    return candidate.partition(".")[0]
