"""The filter in the panels: hidden rows of tables, dimmed items of the map, and the section of the filter."""

from __future__ import annotations

from dataclasses import replace

from prism_explore.events import kinds
from prism_explore.events.journal import Entry
from prism_explore.events.ledger import Trial
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.event_index import MAX_LOG_ENTRIES
from prism_explore.widgets.panels.filter_view import STATUSES, Facts, Filter, passes
from prism_explore.widgets.panels.find import find_item
from prism_explore.widgets.panels.sections import Choice, FilterChip, FilterSection, MapSection, Table


def filter_panel(context: Context) -> FilterSection:
    """The conditions in force, and those that can be chosen."""
    chosen, counts = context.view.filter, context.ledger.prune_counts
    codes = {c.code: 0 for c in counts}
    for count in counts:
        codes[count.code] += count.count
    failures = sorted({t.failure.code for t in context.ledger.trials if t.failure is not None} - set(codes))
    reasons = tuple(Choice(code, f"{code} ({n:,})", "") for code, n in codes.items())
    return FilterSection(
        _chips(chosen),
        tuple(Choice(name, name, tip) for name, tip in STATUSES.items()),
        (*reasons, *(Choice(code, f"{code} (trials)", "") for code in failures)),
        chosen.status,
        chosen.reason,
        chosen.operator,
        chosen.events,
    )


def _chips(chosen: Filter) -> tuple[FilterChip, ...]:
    chips = [FilterChip("status", s, f"status: {s}") for s in chosen.status]
    chips += [FilterChip("reason", r, f"reason: {r}") for r in chosen.reason]
    chips += [FilterChip("operator", "", f"operator: {chosen.operator}")] if chosen.operator else []
    if chosen.events is not None:
        first, last = chosen.events
        chips.append(FilterChip("events", "", f"events {first:,} to {last:,}"))
    return tuple(chips)


# ---------------------------------------------------------------- the facts of objects
class FilterSource:
    """The context with the families and trials by id."""

    def __init__(self, context: Context) -> None:
        self.events = context.events
        self.chosen = context.view.filter
        self.trials = {t.trial: t for t in context.ledger.trials}
        self._families = {f.family: f for f in context.ledger.families}

    def family_status(self, ref: str) -> set[str]:
        """The statuses of a family."""
        row = self._families.get(ref)
        if row is None:
            return set()
        facts = {"best": row.is_best, "timed": row.best_s is not None, "failed": row.failed > 0}
        words: set[str] = {row.status, row.choice, *(word for word, holds in facts.items() if holds)}
        return words - {""}


def facts_of(ref: str, source: FilterSource) -> Facts | None:
    """What a filter reads of an id; None for an id that no filter concerns."""
    events = source.events
    if (node := events.nodes.get(ref)) is not None:
        status = {"expanded"} | (source.family_status(events.family_at[ref]) if ref in events.family_at else set[str]())
        return Facts(frozenset(status), frozenset(), node.operator, events.nodes.seq(ref))
    if (region := events.regions.get(ref)) is not None:
        return Facts(frozenset({"pruned"}), frozenset({region.reason.code}), region.operator, events.regions.seq(ref))
    if (family := events.families.get(ref)) is not None:
        return Facts(
            frozenset(source.family_status(ref)),
            frozenset(r.reason.code for r in events.rejected_maps.get(ref, ())),
            family.sgraph,
            events.families.seq(ref),
        )
    if (candidate := events.candidates.get(ref)) is not None:
        verdict = events.verdicts.get(ref)
        status = frozenset({verdict.verdict}) if verdict is not None else frozenset[str]()
        return Facts(status, frozenset(), candidate.sgraph, events.candidates.seq(ref))
    if (trial := source.trials.get(ref)) is not None:
        return _trial_facts(trial, source)
    return None


def _trial_facts(trial: Trial, source: FilterSource) -> Facts:
    candidate = source.events.candidates.get(trial.candidate)
    return Facts(
        frozenset({"timed"} if trial.time_s is not None else {"failed"} if trial.failure is not None else ()),
        frozenset({trial.failure.code} if trial.failure is not None else ()),
        candidate.sgraph if candidate is not None else "",
        source.events.candidate_of_trial.seq(trial.trial),
    )


def _entry_facts(entry: Entry, source: FilterSource) -> Facts:
    """What a filter reads of an event of the log."""
    match event := entry.event:
        case kinds.RegionPruned():
            status, reason, operator = {"pruned"}, event.reason, event.operator
        case kinds.NodeExpanded():
            status, reason, operator = {"expanded"}, None, event.operator
        case kinds.CandidateRejected():
            status, reason, operator = {"pruned"}, event.reason, " ".join(event.uses)
        case kinds.VerdictReached():
            status, reason, operator = {event.verdict}, None, ""
        case kinds.TrialMeasured():
            status, reason, operator = {"timed"}, None, ""
        case kinds.TrialFailed():
            status, reason, operator = {"failed"}, event.reason, ""
        case kinds.FamilyCompleted():
            status, reason, operator = source.family_status(event.family), None, event.sgraph
        case kinds.Steered():
            words = {"accept": {"accepted"}, "reject": {"rejected"}}
            status, reason, operator = words.get(event.action, set[str]()), None, ""
        case _:
            status, reason, operator = set[str](), None, ""
    return Facts(frozenset(status), frozenset({reason.code} if reason is not None else ()), operator, entry.seq)


# ---------------------------------------------------------------- in the panels
def shown_rows(table: Table, context: Context) -> Table:
    """The table without the rows that the filter excludes; a sentence counts them."""
    if not context.view.filter.is_active:
        return table
    source = FilterSource(context)
    rows = tuple(row for row in table.rows if _is_shown(row.ref, source))
    hidden = len(table.rows) - len(rows)
    sentence = f"The filter hides {hidden:,} of {len(table.rows):,} rows." if hidden else ""
    return replace(table, rows=rows, omitted=" ".join(filter(None, (table.omitted, sentence))))


def with_dimmed(section: MapSection, context: Context) -> MapSection:
    """The map with the ids that the filter dims."""
    if not context.view.filter.is_active:
        return section
    source = FilterSource(context)
    refs = dict.fromkeys(item.ref for item in section.scene.items if item.ref)
    return replace(section, dimmed=tuple(ref for ref in refs if not _is_shown(ref, source)))


def _is_shown(ref: str, source: FilterSource) -> bool:
    facts = facts_of(ref, source)
    return facts is None or passes(source.chosen, facts)


def log_entries(context: Context) -> tuple[tuple[Entry, ...], str]:
    """The entries of the log, newest first, and a sentence on those that are not listed.

    They are the last ones that the filter leaves, or those around the event that the find field shows.
    """
    history, chosen, found_item = context.events.entries, context.view.filter, find_item(context)
    total = len(history)
    if found_item is not None and found_item.kind == "event" and found_item.seq < total - MAX_LOG_ENTRIES:
        start = max(0, found_item.seq - MAX_LOG_ENTRIES // 2)
        found = tuple(reversed(history.between(start, min(total, start + MAX_LOG_ENTRIES))))
        return found, f"Events {start:,} to {start + len(found) - 1:,} of {total:,}, around the one that was found."
    if not chosen.is_active:
        found = tuple(reversed(history.last(MAX_LOG_ENTRIES)))
        earlier = total - len(found)
        return found, f"{earlier:,} earlier events are not listed; sess.journal has all {total:,}." if earlier else ""
    kept: list[Entry] = []
    source = FilterSource(context)
    for entry in reversed(history):
        if passes(chosen, _entry_facts(entry, source)):
            kept.append(entry)
            if len(kept) == MAX_LOG_ENTRIES:
                return tuple(kept), f"The last {MAX_LOG_ENTRIES} events that the filter leaves, of {total:,} events."
    return tuple(kept), f"The filter hides {total - len(kept):,} of {total:,} events."
