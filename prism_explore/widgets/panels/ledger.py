"""The ledger panel: the result in sentences, what was pruned by which kind of rule, steering, and the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prism_explore.diagnose.evidence import VERDICT_SENTENCES
from prism_explore.events.claim import shown_claim
from prism_explore.events.format import programs_text
from prism_explore.events.kinds import Soundness, Steered
from prism_explore.events.ledger import THINGS, Ledger
from prism_explore.widgets.panels.cards import SOUNDNESS, action
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.panels.filters import log_entries
from prism_explore.widgets.panels.sections import Cell, Column, LedgerSection, Row, Table
from prism_explore.widgets.refs import names_graph
from prism_explore.widgets.views.marks import PRUNED_KINDS

_SOUNDNESS_COLUMNS = (
    Column("class", "kind of rule"),
    Column("region", "subtrees", "right", tip="pruned subtrees of the search tree, as in the header"),
    Column("maps", "maps", "right", tip="choices of maps that a constraint forbids"),
    Column("family", "families", "right", tip="proved families that are not tuned: another one dominates them"),
    Column("candidate", "candidates", "right", tip="not timed because of their lower bound; or without a proof"),
    Column("meaning", "meaning", wide=True),
)
MEANINGS: Mapping[Soundness, str] = {
    "sound": "Nothing is lost.",
    "heuristic": "Can prune a good program.",
    "budget": "A limit was reached.",
    "user": "Rejected by you.",
}
"""The kinds of rules in few words; `cards.SOUNDNESS` has the full sentences."""
_REASON_COLUMNS = (
    Column("code", "reason"),
    Column("rule", "rule"),
    Column("soundness", "kind of rule"),
    Column("count", "pruned", "right"),
    Column("stood", "programs", "right", tip="number of programs that the pruned parts represent, mostly an estimate"),
)
_STEERING_COLUMNS = (
    Column("action", "action"),
    Column("subject", "on"),
    Column("python", "in Python", mono=True),
    Column("note", "note"),
)
_LOG_COLUMNS = (Column("seq", "#", "right"), Column("at", "at", "right"), Column("text", "event", wide=True))


def ledger_panel(context: Context) -> LedgerSection:
    """The section of the ledger."""
    ledger = context.ledger
    return replace(
        claim_and_steering(ledger),
        soundness=_soundness_table(ledger),
        reasons=_reason_table(ledger),
        log=_log_table(context),
    )


def claim_and_steering(ledger: Ledger) -> LedgerSection:
    """The section without its counts and its log."""
    steering = ledger.steering
    nothing = Table((), (), "")
    return LedgerSection(
        shown_claim(ledger),
        nothing,
        nothing,
        _steering_table(ledger),
        nothing,
        action("Undo", "undo", {}, bool(steering.standing)),
        action("Redo", "redo", {}, bool(steering.undone)),
    )


def _soundness_table(ledger: Ledger) -> Table:
    prunings = ledger.prunings("sound", "region") + ledger.prunings("sound", "maps")
    as_claimed = f" The result counts {prunings:,} prunings: subtrees and choices of maps." if prunings else ""
    rows = [
        Row(
            "",
            (
                Cell(name, kind=PRUNED_KINDS[name], tip=meaning),
                *(_count_cell(ledger.prunings(name, what)) for what in THINGS),
                MEANINGS[name] + (as_claimed if name == "sound" else ""),
            ),
        )
        for name, meaning in SOUNDNESS.items()
    ]
    nothing = [Cell("–")] * (len(THINGS) - 1)
    unknown = (
        Cell("unknown", kind="unknown", tip=VERDICT_SENTENCES["unknown"]),
        *nothing,
        _count_cell(ledger.funnel.unknown),
        "May still be equal.",
    )
    return Table(_SOUNDNESS_COLUMNS, (*rows, Row("", unknown)), "")


def _count_cell(count: int) -> Cell:
    return Cell(f"{count:,}", count) if count else Cell("–", 0)


def _reason_table(ledger: Ledger) -> Table:
    rows = tuple(
        Row(
            c.example,
            (
                Cell(c.code, kind=PRUNED_KINDS[c.soundness], tip=c.sentence),
                c.rule,
                c.soundness,
                Cell(f"{c.count:,} {c.things}", c.count),
                Cell(programs_text(c.stood_for), c.stood_for),
            ),
        )
        for c in ledger.prune_counts
    )
    return Table(_REASON_COLUMNS, rows, "Nothing has been pruned yet.")


def _steering_table(ledger: Ledger) -> Table:
    steering = ledger.steering
    rows = [_steering_row(s) for s in steering.standing]
    rows += [replace(_steering_row(s), kind="undone") for s in reversed(steering.undone)]
    return Table(_STEERING_COLUMNS, tuple(rows), "No steering steps yet: accept or reject a family.")


def _steering_row(step: Steered) -> Row:
    ref = step.subject if names_graph(step.subject) else ""
    return Row(ref, (step.action, step.subject, step.python, step.note or "–"))


def _log_table(context: Context) -> Table:
    entries, omitted = log_entries(context)
    rows: list[Row] = []
    for entry in entries:
        line = log_line(entry.event)
        cells = (Cell(str(entry.seq), entry.seq), f"{entry.at_s:.2f} s", Cell(line.text, kind=line.kind))
        rows.append(Row(line.ref, cells))
    return Table(_LOG_COLUMNS, tuple(rows), "No events yet.", omitted)
