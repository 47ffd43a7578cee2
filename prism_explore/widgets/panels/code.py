"""The Code panel: the subject as program, sGraph, loops and generated code, and its differences from another graph.

Lines are linked to tensors. The cheap texts of a subject are all in the section; LLVM and assembly take longer, so they
are computed in the background when their tab is chosen. A difference is computed for the chosen tab.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from prism_explore.events.ledger import Trial, outcome
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Parameters
from prism_explore.support.caches import memoize
from prism_explore.widgets.panels.code_view import SLOW_TABS, TABS, Tab
from prism_explore.widgets.panels.context import Context, best_candidate, graph_of
from prism_explore.widgets.panels.sections import Code, CodeLine, CodeTab, Link
from prism_explore.widgets.panels.sizes import size_choice_of
from prism_explore.widgets.refs import family_of, is_of_program
from prism_explore.widgets.views.code_listing import Line, Listing
from prism_explore.widgets.views.tuning import parameters_text

MAX_LINES = 5_000
"""Largest number of lines of one tab that are sent."""
MAX_OTHERS = 150
"""Largest number of families that are offered for a comparison."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A graph whose code is shown."""

    ref: str
    graph: SGraph
    parameters: Parameters
    origin: str
    """Where the parameters come from."""
    stored: tuple[str, str] = ("", "")
    """Backend and source of the trial, if one is shown."""


def code_panel(context: Context) -> Code:
    """The texts of the selected trial, else of the fastest trial of the subject, else of the subject."""
    trial, events, view = _trial_with_source(context), context.events, context.view.code
    has_source = trial in events.sources
    chosen: Tab = view.tab or (_source_tab(events.sources[trial].backend) if has_source else "sgraph")
    subject = _subject(trial, context)
    title = _title(trial, context) if trial else (context.candidate or context.subject)
    caption = _trial_caption(trial, context) if has_source else _why_no_source(trial, context)
    if subject is None:
        return Code(title or "program", caption, _program_tab(context), "program", "", ())
    other = _subject("", context, view.other) if view.other and view.other != subject.ref else None
    tabs = tuple(_tab(tab, subject, other, context, tab == chosen) for tab in TABS)
    others = _others(subject.ref, context) if context.view.interactive else ()
    return Code(title, caption, tabs, chosen, other.ref if other else "", others)


def _source_tab(backend: str) -> Tab:
    return "triton" if backend == "triton" else "cpu"


def _title(trial: str, context: Context) -> str:
    candidate = context.events.candidate_of_trial.get(trial, "")
    return f"{trial} of {candidate}" + (f" ({context.followed}; no family is selected)" if context.followed else "")


def _trial_caption(trial: str, context: Context) -> str:
    event = context.events.sources[trial]
    known = next((t for t in context.ledger.trials if t.trial == trial), None)
    caption = f"{event.backend}, {parameters_text(known.parameters)}" if known else event.backend
    if known is not None and known.kernel_time is not None:
        caption += f", {known.kernel_time}" + (f"; doubtful, see {trial}" if known.kernel_time.warning else "")
    elif known is not None and known.failure is not None:
        caption += f", {known.failure.sentence}"
    return caption


def _subject(trial: str, context: Context, ref: str = "") -> _Subject | None:
    """The graph of a trial, or of an id, or of the subject, with its parameters."""
    events = context.events
    event = events.sources.get(trial)
    if not ref:
        ref = events.candidate_of_trial.get(trial, "") or context.candidate or context.subject
    elif ref in events.families:
        ref = best_candidate(ref, events, context.ledger) or ref
    graph = graph_of(ref, events)
    if graph is None:
        return None
    known: Trial | None = next((t for t in context.ledger.trials if t.trial == trial), None)
    if known is not None:
        return _Subject(
            ref, graph, _split(known.parameters, graph), f"the parameters of {trial}",
            (event.backend, event.source) if event else ("", ""),
        )  # fmt: skip
    choice = size_choice_of(ref, context)
    return _Subject(ref, graph, _split(choice.numbers, graph), choice.origin)


def _split(parameters: Sequence[tuple[str, int]], graph: SGraph) -> Parameters:
    sizes = tuple(p for p in parameters if p[0] in graph.parameters)
    return Parameters(sizes, tuple(p for p in parameters if p[0] not in (*graph.parameters, *graph.data_symbols)))


# ---------------------------------------------------------------- tabs
def _program_tab(context: Context) -> tuple[CodeTab, ...]:
    found = context.memo.listing("program", context.search.program, None, Parameters(()), (), ("", ""), None, "")
    label, tip = TABS["program"]
    return (CodeTab("program", label, tip, "", _lines(found, ""), ""),)


def _tab(tab: Tab, subject: _Subject, other: _Subject | None, context: Context, chosen: bool) -> CodeTab:
    label, tip = TABS[tab]
    if tab in SLOW_TABS and not chosen:
        return CodeTab(tab, label, tip, "", (), "" if context.view.interactive else _IN_A_NOTEBOOK)
    if tab in SLOW_TABS and not context.view.interactive:
        return CodeTab(tab, label, tip, "", (), _IN_A_NOTEBOOK)
    found = _listing(tab, subject, context)
    if found is None:
        return CodeTab(tab, label, tip, "", (), "being generated")
    caption = ", ".join(filter(None, (subject.origin if tab in _AT_SIZES else "", found.note)))
    if other is None or tab == "program" or not chosen:
        return CodeTab(tab, label, tip, caption, _lines(found, subject.ref), found.missing)
    against = _listing(tab, other, context)
    if against is None:
        return CodeTab(tab, label, tip, "", (), "being generated")
    lines, counts = _difference(against, other.ref, found, subject.ref)
    return CodeTab(tab, label, tip, counts, lines, found.missing or against.missing)


_AT_SIZES: frozenset[Tab] = frozenset({"cpu", "triton", "llvm", "assembly"})
_IN_A_NOTEBOOK = "not in a report; open the saved search in a notebook"


def _listing(tab: Tab, subject: _Subject, context: Context) -> Listing | None:
    """The lines of one tab; None while they are being computed."""
    if tab in _AT_SIZES and subject.graph.is_open:
        return Listing(missing=f"{subject.ref} has unbound maps; code is generated for its candidates")
    search = context.search
    key = (
        tab, search.program, subject.graph, subject.parameters, _shapes(subject.graph, context), subject.stored,
        search.machine, f"{search.program.name}, candidate {subject.ref}",
    )  # fmt: skip
    if tab not in SLOW_TABS:
        return context.memo.listing(*key)
    return context.memo.slow_listings.get(key, lambda: context.memo.listing(*key))


def _shapes(graph: SGraph, context: Context) -> tuple[tuple[str, int], ...]:
    known = dict(context.search.shapes)
    return tuple((s, known.get(s, 1)) for s in graph.data_symbols)


@memoize(512)
def _lines(listing: Listing, owner: str) -> tuple[CodeLine, ...]:
    shown = tuple(CodeLine(line.text, _refs(line, owner)) for line in listing.lines[:MAX_LINES])
    more = len(listing.lines) - len(shown)
    return shown if more <= 0 else (*shown, CodeLine(f"… {more:,} more lines"))


def _refs(line: Line, owner: str) -> str:
    return " ".join(n if is_of_program(n) else f"{owner}/{n}" for n in line.names)


def _difference(old: Listing, old_ref: str, new: Listing, new_ref: str) -> tuple[tuple[CodeLine, ...], str]:
    """The lines of both, marked, and the counts."""
    before, after = [line.text for line in old.lines], [line.text for line in new.lines]
    lines: list[CodeLine] = []
    removed = added = 0
    for tag, a0, a1, b0, b1 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [CodeLine(line.text, _refs(line, new_ref)) for line in new.lines[b0:b1]]
            continue
        lines += [CodeLine(line.text, _refs(line, old_ref), "-") for line in old.lines[a0:a1]]
        lines += [CodeLine(line.text, _refs(line, new_ref), "+") for line in new.lines[b0:b1]]
        removed, added = removed + a1 - a0, added + b1 - b0
    same = len(after) - added
    counts = f"{removed:,} lines only in {old_ref}, {added:,} only in {new_ref}, {same:,} in both"
    return tuple(lines[:MAX_LINES]), "no difference" if not (removed or added) else counts


def _others(ref: str, context: Context) -> tuple[Link, ...]:
    """The candidates of the same family, and the other families, each by its best candidate."""
    events, own = context.events, family_of(ref)
    siblings = [c for c in events.candidates_of(own) if c != ref]
    families = [r.family for r in context.ledger.families if r.family != own]
    listed = [Link(c, c) for c in siblings] + [Link(f, f"{f}, its best candidate") for f in families]
    return tuple(listed[:MAX_OTHERS])


# ---------------------------------------------------------------- which source
def _trial_with_source(context: Context) -> str:
    """The selected trial, which may have no source; else a trial of the subject that has one; empty if none has."""
    events, subject = context.events, context.subject
    if context.view.selection in events.candidate_of_trial:
        return context.view.selection
    candidates = events.candidates_of(subject) if subject in events.families else (subject,)
    generated = {t for c in candidates for t in events.trials_by_candidate.get(c, ()) if t in events.sources}
    timed = [t for t in context.ledger.trials if t.trial in generated and t.time_s is not None]
    if timed:
        return min(timed, key=lambda t: t.time_s or 0.0).trial
    return next((t for t in reversed(events.sources) if t in generated), "")


def _why_no_source(trial: str, context: Context) -> str:
    """Why a trial, or the subject, has no generated source."""
    if not context.subject:
        return "No source has been generated yet."
    known = next((t for t in context.ledger.trials if t.trial == trial), None)
    if known is not None:
        why = known.failure.sentence if known.failure is not None else "it is not generated yet"
        return f"{trial} of {known.candidate} has no generated source: {why}"
    return f"{context.subject} has no generated source. {_why_untimed(context)}"


def _why_untimed(context: Context) -> str:
    """Why no kernel of the subject was generated, as a sentence."""
    ledger, subject = context.ledger, context.subject
    family = next((r for r in ledger.families if r.family == family_of(subject)), None)
    if family is None:
        return f"{context.missing_text or 'No trial of it has been proposed'}."
    if subject != family.family and family.trials:
        return f"No trial of it was proposed; other candidates of {family.family} were tried."
    return f"{family.family}, {outcome(family, ledger).short}: {outcome(family, ledger).sentence}"
