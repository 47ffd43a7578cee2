"""Families and candidates: the table of families, and the inspectors of a family and of a candidate."""

from __future__ import annotations

from prism_explore.diagnose.evidence import evidence, floats_part
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import CertificateReplayed, FloatsAssessed, Reason, VerdictReached
from prism_explore.widgets.panels.answers import EVIDENCE, evidence_cards, part_card
from prism_explore.widgets.panels.cards import (
    MAX_LINKS,
    STATUS_KIND,
    STATUS_TEXT,
    action,
    error_cell,
    reason_card,
    seconds_cell,
    steering_actions,
)
from prism_explore.widgets.panels.context import Context, QuestionList, best_candidate
from prism_explore.widgets.panels.questions import cancel_actions, question_cards
from prism_explore.widgets.panels.sections import Action, Card, Cell, Column, Inspector, Link, Pair, Row, Table
from prism_explore.widgets.panels.tables import family_status
from prism_explore.widgets.refs import GOAL, member_ref

MAX_REASONS = 4
"""Largest number of verdicts, and of reasons, in the inspector of a family."""

_COLUMNS = (
    Column("family", "family"),
    Column("status", "status"),
    Column("choice", "you"),
    Column("candidates", "candidates", "right", tip="number proved / unknown / refuted, and the total"),
    Column("floor", "roofline (modelled)", "right", tip="lower bound on the time, from the cost model"),
    Column("time", "best time (measured)", "right"),
    Column(
        "error", "error", "right", tip="largest deviation from the float64 reference, relative to its largest value"
    ),
    Column("verdict", "verdict", wide=True),
)


def families_panel(context: Context) -> Table:
    """The table of families."""
    ledger, events = context.ledger, context.events
    rows: list[Row] = []
    for f in ledger.families:
        verdict = events.verdicts.get(best_candidate(f.family, events, ledger))
        timed = [t for t in ledger.trials if t.family == f.family and t.time_s is not None]
        fastest = min(timed, key=lambda t: t.time_s or 0.0, default=None)
        cells: tuple[str | Cell, ...] = (
            Cell(f.family, kind="badge-best" if f.is_best else ""),
            Cell(family_status(f), kind=STATUS_KIND[f.status], tip=_floats_tip(events.floats.get(f.family))),
            Cell(f.choice or "–", kind="pruned-user" if f.choice == "rejected" else ""),
            Cell(f"{f.proved} / {f.unknown} / {f.refuted} of {f.candidates}", f.proved),
            seconds_cell(f.floor_s),
            seconds_cell(f.best_s),
            error_cell(fastest.error if fastest else None),
            Cell(verdict.detail if verdict else "–", tip=verdict.detail if verdict else ""),
        )
        rows.append(Row(f.family, cells, "rejected" if f.choice == "rejected" else ""))
    return Table(_COLUMNS, tuple(rows), "No family is complete yet. Press . for one step, or Space to run the search.")


def _floats_tip(assessed: FloatsAssessed | None) -> str:
    return "" if assessed is None else f"In floating point: {assessed.detail}."


def family_inspector(ref: str, context: Context) -> Inspector | None:
    """A family: its verdicts, its float safety, and the maps that the constraints forbid."""
    events, questions = context.events, context.search.questions
    if ref not in events.families:
        return None
    row = next(r for r in context.ledger.families if r.family == ref)
    details: list[Pair] = [
        ("candidates", f"{row.candidates}: {row.proved} proved, {row.unknown} unknown, {row.refuted} refuted"),
        ("maps forbidden", f"{row.maps_rejected:,}"),
        ("trials", f"{row.trials}, {row.failed} of them without a kernel"),
    ]
    if row.best_s is not None:
        details.append(("best time", f"{seconds_text(row.best_s)} measured"))
    if row.floor_s is not None:
        details.append(("roofline", f"{seconds_text(row.floor_s)} modelled"))
    audit = (action(f"Audit {ref}", "audit", {"id": ref}, True),)
    can_audit = row.choice == "rejected" and "audit" in questions.allowed
    return Inspector(
        ref,
        f"{ref}: a family",
        kind=STATUS_KIND[row.status],
        status=row.choice or row.status,
        description=(
            "An sGraph with open maps and symbolic sizes. It represents many programs.",
            STATUS_TEXT[row.status],
        ),
        details=tuple(details),
        cards=_family_cards(ref, context),
        actions=(
            *steering_actions(ref, row.choice),
            *(audit if can_audit else ()),
            *cancel_actions(questions.about(ref)),
        ),
        links=(Link(row.node, f"completed at {row.node}"), *(Link(c, c) for c in events.candidates_of(ref))),
    )


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
    times = [t.time_s for t in trials if t.time_s is not None]
    details: list[Pair] = [("maps", "; ".join(event.uses) or "no dim is partitioned")]
    details += [("condition", f"{c} is a positive integer") for c in event.conditions]
    if times:
        details.append(("best time", f"{seconds_text(min(times))} measured, of {len(times)} trials"))
    certificate, floats = events.certificates.get(ref), events.floats.get(event.family)
    cards: list[Card] = []
    if verdict is not None:
        cards += evidence_cards(evidence(verdict, context.search.program, event.sgraph, certificate, floats), ref)
    if bound := events.bounded.get(ref):
        cards.append(
            Card(
                bound.reason.code,
                "",
                f"It was not timed: its modelled bound {seconds_text(bound.floor_s)} is no better than the best time "
                f"{seconds_text(bound.best_s)}.",
            )
        )
    cards += [card for card in question_cards(ref, questions) if card.label != EVIDENCE]
    family = next((r for r in ledger.families if r.family == event.family), None)
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
