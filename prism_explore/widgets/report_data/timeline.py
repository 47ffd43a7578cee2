"""Panels at many moments of a search, so that an earlier state shows only what had happened by then.

A moment is a number of events. In a search with few events each one is a moment; in a longer search the moments are
spread over the events, and over the rarer ones: those that are no step of the search tree. Per name, such as
`families` or `inspector/f1.c2`, the timeline has the values from the moments at which they changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from prism_explore.events import kinds
from prism_explore.events.journal import Entry
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import PANELS
from prism_explore.widgets.report_data.columns import TREE_KINDS
from prism_explore.widgets.report_data.pool import Member, Pool

MAX_MOMENTS = 400
"""Largest number of moments, in a search with more events than that."""
BASE_PANELS = tuple(name for name in PANELS if name not in ("map", "inspector", "view"))
"""Panels that are recorded as they are without a selection; the browser computes the map."""
SUBJECT_PANELS = ("graph", "eclasses", "code")
"""Panels that a selected family, candidate, trial or frame changes."""


@dataclass(slots=True)
class Timeline:
    """Per name, the values and the moments from which they hold."""

    pool: Pool
    versions: dict[str, list[Member]] = field(default_factory=dict[str, list[Member]])
    """Per name: moment, value, moment, value, ..."""

    def record(self, name: str, moment: int, value: object) -> None:
        """Add a value if it differs from the last one."""
        member = self.pool.add(value)
        versions = self.versions.setdefault(name, [])
        if not versions or versions[-1] != member:
            versions += (moment, member)


def moments(entries: Sequence[Entry], limit: int = MAX_MOMENTS) -> tuple[int, ...]:
    """The numbers of events at which panels are recorded; the last one is the number of all events."""
    count = len(entries)
    if count <= limit:
        return tuple(range(1, count + 1))
    rare = [n for n, e in enumerate(entries, 1) if type(e.event) not in TREE_KINDS]
    step, rare_step = -(-2 * count // limit), max(1, -(-2 * len(rare) // limit))
    return tuple(sorted({*range(step, count, step), *rare[::rare_step], 1, count}))


@dataclass(slots=True)
class Recorder:
    """Records the panels moment by moment."""

    search: SearchInfo
    timeline: Timeline
    with_graphs: frozenset[str]
    """The families and candidates whose graphs, tensors and code are recorded."""
    view: ViewState
    memo: Memo = field(default_factory=Memo)

    def record(self, entries: Sequence[Entry], at: Sequence[int]) -> Folds:
        """Record the panels at these moments; return the events folded."""
        folds, done = Folds(), 0
        for moment in at:
            new = entries[done:moment]
            for entry in new:
                folds.ledger.add(entry.event)
                folds.events.add(entry)
            done = moment
            view = self.view if moment == len(entries) else replace(self.view, cursor=moment)
            self._record_moment(moment, folds, view, changed_refs(new))
        return folds

    def _record_moment(self, moment: int, folds: Folds, view: ViewState, changed: Changed) -> None:
        context = Context.of(self.search, folds, view, self.memo)
        for name in BASE_PANELS:
            panel = PANELS[name](context)
            if name == "ledger":
                panel = replace(panel, log=replace(panel.log, rows=(), omitted=""))
            self.timeline.record(name, moment, panel)
        self._inspect("", moment, context)
        families = {ref for ref in changed.families if ref in folds.events.families}
        candidates = {ref for ref in changed.candidates if ref in folds.events.candidates}
        for family in changed.all_of:
            candidates.update(folds.events.candidates_of(family))
        for ref in (*sorted(families), *sorted(candidates), *sorted(changed.trials)):
            self._inspect(ref, moment, context)
        for ref in sorted((families | candidates) & self.with_graphs):
            self._record_subject(ref, moment, folds, view)
        for ref in sorted(changed.trials & folds.events.sources.keys()):
            self._record_panel("code", ref, moment, folds, replace(view, selection=ref))
        for ref in sorted(changed.reasons):
            self._inspect(ref, moment, context)

    def _inspect(self, ref: str, moment: int, context: Context) -> None:
        found = inspect(ref, context)
        if found is not None:
            self.timeline.record(f"inspector/{ref}", moment, found)

    def _record_subject(self, ref: str, moment: int, folds: Folds, view: ViewState) -> None:
        shown = replace(view, selection=ref, subject=ref)
        for name in SUBJECT_PANELS:
            self._record_panel(name, ref, moment, folds, shown)

    def _record_panel(self, name: str, ref: str, moment: int, folds: Folds, view: ViewState) -> None:
        context = Context.of(self.search, folds, view, self.memo)
        self.timeline.record(f"{name}/{ref}", moment, PANELS[name](context))


@dataclass(slots=True)
class Changed:
    """The ids that some events concern."""

    families: set[str] = field(default_factory=set[str])
    candidates: set[str] = field(default_factory=set[str])
    trials: set[str] = field(default_factory=set[str])
    reasons: set[str] = field(default_factory=set[str])
    all_of: set[str] = field(default_factory=set[str])
    """Families all of whose candidates can have changed."""


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
            families.append(candidate.partition(".")[0])
        elif families:
            changed.all_of.update(families)
        if trial:
            changed.trials.add(trial)
        changed.families.update(families)
    return changed


def _families(event: object) -> Iterator[str]:
    yield getattr(event, "family", "")
    yield getattr(event, "by", "")
    if isinstance(event, kinds.Steered):
        yield event.subject
