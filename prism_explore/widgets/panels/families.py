"""Families and candidates: the table of families, and the inspectors of a family and of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prism_explore.diagnose.evidence import evidence, floats_part
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import CertificateReplayed, FloatsAssessed, Reason, VerdictReached
from prism_explore.events.ledger import Ledger, Outcome, OutcomeCode, best_first, outcome
from prism_explore.widgets.panels.answers import EVIDENCE, evidence_cards, part_card
from prism_explore.widgets.panels.cards import (
    MAX_LINKS,
    RACE_TIP,
    STATUS_KIND,
    STATUS_TEXT,
    TRIAL_TIME_TIP,
    action,
    error_cell,
    race_cell,
    reason_card,
    seconds_cell,
    steering_actions,
    time_cards,
    time_details,
    trial_time_cell,
)
from prism_explore.widgets.panels.context import Context, QuestionList, graph_of
from prism_explore.widgets.panels.questions import cancel_actions, question_cards
from prism_explore.widgets.panels.sections import Action, Card, Cell, Column, Inspector, Link, Pair, Row, Table
from prism_explore.widgets.panels.tables import family_status
from prism_explore.widgets.refs import GOAL, member_ref

MAX_REASONS = 4
"""Largest number of verdicts, and of reasons, in the inspector of a family."""

_COLUMNS = (
    Column("family", "family", width_ch=7),
    Column("status", "status", width_ch=13),
    Column("choice", "you", tip="accepted, preferred or rejected by you", width_ch=8),
    Column(
        "outcome", "why not", wide=True, tip="why the family is not the best: slower, not proved, not timed, rejected"
    ),
    Column("time", "trial time (measured)", "right", tip=TRIAL_TIME_TIP, width_ch=11),
    Column("race", "final race (measured)", "right", tip=RACE_TIP, width_ch=11),
    Column(
        "floor",
        "lower bound (modelled)",
        "right",
        tip="the roofline: no kernel of it is faster in the cost model",
        width_ch=12,
    ),
    Column("candidates", "candidates", "right", tip="number proved / unknown / refuted, and the total", width_ch=12),
    Column(
        "error", "error", "right", tip="largest deviation from the float64 reference, relative to its largest value"
    ),
)
MAX_MODELLED = 200
"""Largest number of candidates whose bounds are computed for the table; each takes about 2 ms, once."""
OUTCOME_KIND: Mapping[OutcomeCode, str] = {
    "best": "badge-best",
    "rejected": "pruned-user",
    "impossible": "pruned-sound",
    "not instantiated": "frontier",
    "refuted": "refuted",
    "unknown": "unknown",
    "no verdict": "frontier",
    "unsafe": "warning",
    "slower": "trial",
    "failed": "trial-failed",
    "pending": "frontier",
    "bounded": "pruned-heuristic",
    "dominated": "pruned-heuristic",
    "not reached": "pruned-budget",
}
"""Style of the mark of an outcome."""


def families_panel(context: Context) -> Table:
    """The table of families, the best one first."""
    ledger, events = with_modelled_bounds(context), context.events
    rows: list[Row] = []
    for f in best_first(ledger):
        found = outcome(f, ledger)
        tips = (f.verdict.detail if f.verdict else "", _floats_tip(events.floats.get(f.family)))
        cells: tuple[str | Cell, ...] = (
            Cell(f.family, kind="badge-best" if f.is_best else ""),
            Cell(family_status(f), kind=STATUS_KIND[f.status], tip="\n".join(filter(None, tips))),
            f.choice or "–",
            Cell(found.short, kind=OUTCOME_KIND[found.code], tip=found.sentence),
            trial_time_cell(f.best),
            race_cell(f.best),
            seconds_cell(f.floor_s),
            Cell(f"{f.proved} / {f.unknown} / {f.refuted} of {f.candidates}", f.proved),
            error_cell(f.best.error if f.best is not None else None),
        )
        rows.append(Row(f.family, cells, "rejected" if f.choice == "rejected" else "", (f.node,)))
    return Table(_COLUMNS, tuple(rows), "No family is complete yet. Press . for one step, or Space to run the search.")


def with_modelled_bounds(context: Context) -> Ledger:
    """The ledger with the lower bounds of proved families, where no tuning has computed them, as on another machine."""
    ledger, search = context.ledger, context.search
    machine = search.machine or search.stand_in
    verdicts, candidates = context.events.verdicts, context.events.candidates
    proved = [c for c, found in verdicts.items() if found.verdict == "proved" and c in candidates]
    if machine is None or ledger.trials or search.state == "running" or len(proved) > MAX_MODELLED:
        return ledger
    least_s: dict[str, float] = {}
    for candidate in proved:
        graph, family = graph_of(candidate, context.events), candidates[candidate].family
        bound_s = None if graph is None else context.memo.lower_bound_s(graph, search.shapes, machine)
        if bound_s is not None:
            least_s[family] = min(bound_s, least_s.get(family, bound_s))
    rows = (f if f.floor_s is not None else replace(f, floor_s=least_s.get(f.family)) for f in ledger.families)
    return replace(ledger, families=tuple(rows))


def _floats_tip(assessed: FloatsAssessed | None) -> str:
    return "" if assessed is None else f"In floating point: {assessed.detail}."


def family_inspector(ref: str, context: Context) -> Inspector | None:
    """A family: its verdicts, its float safety, and the maps that the constraints forbid."""
    events, questions = context.events, context.search.questions
    if ref not in events.families:
        return None
    row = next(r for r in with_modelled_bounds(context).families if r.family == ref)
    found = outcome(row, context.ledger)
    details: list[Pair] = [
        ("candidates", f"{row.candidates}: {row.proved} proved, {row.unknown} unknown, {row.refuted} refuted"),
        ("maps forbidden", f"{row.maps_rejected:,}"),
        ("trials", f"{row.trials}, {row.failed} of them failed" if row.trials else "none"),
    ]
    if row.time is not None:
        details += time_details(row.time)
    if row.floor_s is not None:
        details.append(("lower bound (roofline)", f"{seconds_text(row.floor_s)} modelled"))
    audit = (action(f"Audit {ref}", "audit", {"id": ref}, True),)
    can_audit = row.choice == "rejected" and "audit" in questions.allowed
    return Inspector(
        ref,
        f"{ref}: a family",
        kind=STATUS_KIND[row.status],
        status=row.choice or row.status,
        description=(
            "An sGraph with unbound maps (imap, omap, fmap) and symbolic sizes. It represents many programs.",
            STATUS_TEXT[row.status],
        ),
        details=tuple(details),
        cards=(_outcome_card(found), *time_cards(row.time), *_family_cards(ref, context)),
        actions=(
            *steering_actions(ref, row.choice),
            *(audit if can_audit else ()),
            *cancel_actions(questions.about(ref)),
        ),
        links=(
            *_outcome_links(found, ref),
            Link(row.node, f"completed at {row.node}"),
            *(Link(c, c) for c in events.candidates_of(ref)),
        ),
    )


def _outcome_card(found: Outcome) -> Card:
    """Why a family is the best one, or why not, with the evidence."""
    label = "Result" if found.code == "best" else "Why not"
    kind = OUTCOME_KIND[found.code]
    if found.reason is None:
        return Card(found.short, kind, found.sentence, label, details=found.details)
    return replace(reason_card(found.reason, found.short), kind=kind, sentence=found.sentence, label=label)


def _outcome_links(found: Outcome, ref: str) -> tuple[Link, ...]:
    """The kernel, family or candidate that beat or excluded a family."""
    words = {"best": "its kernel", "slower": "beaten by", "dominated": "behind", "not reached": "the best"}
    return (Link(found.by, f"{words.get(found.code, 'see')} {found.by}"),) if found.by not in ("", ref) else ()


def _family_cards(ref: str, context: Context) -> tuple[Card, ...]:
    events, program = context.events, context.search.program
    floats = events.floats.get(ref)
    decided = [events.verdicts[c] for c in events.candidates_of(ref) if c in events.verdicts][:MAX_REASONS]
    verdicts = ((evidence(v, program, events.candidates[v.candidate].sgraph).parts[0], v.candidate) for v in decided)
    first: dict[str, Reason] = {}
    for event in events.rejected_maps.get(ref, ()):
        first.setdefault(event.reason.code, event.reason)
    return (
        *((part_card(floats_part(floats), ref),) if floats is not None else ()),
        *(part_card(part, candidate) for part, candidate in verdicts),
        *question_cards(ref, context.search.questions),
        *(reason_card(r) for r in list(first.values())[:MAX_REASONS]),
    )


def candidate_inspector(ref: str, context: Context) -> Inspector | None:
    """A candidate: the evidence for its verdict, and its times."""
    events, ledger, questions = context.events, context.ledger, context.search.questions
    event = events.candidates.get(ref)
    if event is None:
        return None
    verdict = events.verdicts.get(ref)
    trials = [t for t in ledger.trials if t.candidate == ref]
    timed = [t for t in trials if t.time_s is not None]
    fastest = min(timed, key=lambda t: t.time_s or 0.0, default=None)
    details: list[Pair] = [("maps", "; ".join(event.uses) or "no dim is partitioned")]
    details += [("condition", f"{c} is a positive integer") for c in event.conditions]
    if fastest is not None and fastest.kernel_time is not None:
        details.append(("trials", f"{len(trials)}, {len(timed)} of them timed"))
        details += time_details(fastest.kernel_time)
    certificate, floats = events.certificates.get(ref), events.floats.get(event.family)
    family = next((r for r in ledger.families if r.family == event.family), None)
    cards: list[Card] = [*time_cards(fastest.kernel_time if fastest is not None else None)]
    if bound := events.bounded.get(ref):
        cards.append(replace(reason_card(bound.reason, f"{ref} was not timed"), label="Why not"))
    elif family is not None and not trials and verdict is not None and verdict.verdict == "proved":
        cards.append(_untimed_card(ref, outcome(family, ledger)))
    if verdict is not None:
        cards += evidence_cards(evidence(verdict, context.search.program, event.sgraph, certificate, floats), ref)
    cards += [card for card in question_cards(ref, questions) if card.label != EVIDENCE]
    return Inspector(
        ref,
        f"{ref}: a candidate",
        kind=verdict.verdict if verdict else "frontier",
        status=verdict.verdict if verdict else "no verdict yet",
        description=("The sGraph of the family with its maps chosen. The sizes are symbolic.",),
        details=tuple(details),
        cards=tuple(cards),
        actions=(
            *_check_actions(ref, verdict, certificate, questions),
            *steering_actions(event.family, family.choice if family else ""),
        ),
        links=(
            Link(event.family, f"family {event.family}"),
            Link(member_ref(ref, GOAL), "e-graph of both results, frame by frame"),
            *(Link(t.trial, t.trial) for t in trials[:MAX_LINKS]),
        ),
    )


def _untimed_card(candidate: str, found: Outcome) -> Card:
    """Why a candidate was not timed: the reason of its family, or that other candidates of it were timed."""
    if found.code in ("best", "slower", "failed", "pending"):
        text = "No trial of it was proposed. Other candidates of the family were tried."
        return Card(f"{candidate} was not timed", OUTCOME_KIND["not reached"], text, "Why not")
    return replace(_outcome_card(found), title=f"{candidate}: {found.short}")


def _check_actions(
    ref: str, verdict: VerdictReached | None, certificate: CertificateReplayed | None, questions: QuestionList
) -> tuple[Action, ...]:
    """The commands that check a verdict again."""
    about = questions.about(ref)
    is_open = any(q.is_open for q in about)
    actions: list[Action] = []
    if verdict is not None and verdict.verdict == "proved" and certificate is None and "certify" in questions.allowed:
        actions.append(action(f"Certify {ref}", "certify", {"id": ref}, not is_open))
    if verdict is not None and (verdict.witness or verdict.case) and "replay" in questions.allowed:
        actions.append(action(f"Run the counterexample to {ref} again", "replay", {"id": ref}, not is_open))
    return (*actions, *cancel_actions(about))
