"""Several families side by side: a row per property, a column per family, and whether they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prism_explore.events.format import count_text
from prism_explore.events.ledger import FamilyRow, outcome
from prism_explore.ir.graph import SGraph
from prism_explore.widgets.panels.cards import error_cell, race_cell, seconds_cell, trial_time_cell
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.result_card import amount, work_of_graph
from prism_explore.widgets.panels.sections import Cell, Column, Row, SideBySide, Table
from prism_explore.widgets.panels.tables import family_status
from prism_explore.widgets.views.tuning import parameters_text


@dataclass(frozen=True, slots=True)
class _Compared:
    """A family with the candidate that stands for it: that of its fastest trial, else the first proved one."""

    row: FamilyRow
    candidate: str
    graph: SGraph | None
    context: Context


def side_by_side(context: Context) -> SideBySide | None:
    """The families that the user compares; None on a page without Python, which cannot compare others."""
    if not context.view.interactive:
        return None
    rows = {f.family: f for f in context.ledger.families}
    chosen = tuple(_compared(rows[ref], context) for ref in context.view.families if ref in rows)
    if len(chosen) < 2:
        return SideBySide((), None)
    columns = (
        Column("property", "property"),
        Column("differs", "differs", width_ch=9),
        *(Column(c.row.family, c.row.family, width_ch=14) for c in chosen),
    )
    table = Table(columns, tuple(_row(label, cell, chosen) for label, cell in PROPERTIES), "")
    return SideBySide(tuple(c.row.family for c in chosen), table)


def _compared(row: FamilyRow, context: Context) -> _Compared:
    events = context.events
    candidates = events.candidates_of(row.family)
    proved = [c for c in candidates if c in events.verdicts and events.verdicts[c].verdict == "proved"]
    candidate = row.best.candidate if row.best is not None else (*proved, *candidates, "")[0]
    return _Compared(row, candidate, graph_of(candidate or row.family, events), context)


def _row(label: str, cell: Callable[[_Compared], Cell], chosen: tuple[_Compared, ...]) -> Row:
    cells = tuple(map(cell, chosen))
    differs = len({c.text for c in cells}) > 1
    return Row("", (label, "differs" if differs else "same", *cells))


# ---------------------------------------------------------------- one function per property
def _status(c: _Compared) -> Cell:
    return Cell(family_status(c.row), tip=c.row.verdict.detail if c.row.verdict is not None else "")


def _why(c: _Compared) -> Cell:
    found = outcome(c.row, c.context.ledger)
    return Cell(found.short, tip=found.sentence)


def _maps(c: _Compared) -> Cell:
    event = c.context.events.candidates.get(c.candidate)
    return Cell("–") if event is None else Cell("; ".join(event.uses) or "no dim is partitioned")


def _parameters(c: _Compared) -> Cell:
    return Cell(parameters_text(c.row.best.parameters)) if c.row.best is not None else Cell("–")


def _spread(c: _Compared) -> Cell:
    time = c.row.best.trial_time if c.row.best is not None else None
    return Cell(time.spread_text) if time is not None else Cell("–")


def _kernels(c: _Compared) -> Cell:
    return Cell("–") if c.graph is None else Cell(str(work_of_graph(c.graph, c.context.search.shapes).kernels))


def _bytes(c: _Compared) -> Cell:
    moved = work_of_graph(c.graph, c.context.search.shapes).bytes if c.graph is not None else None
    return Cell("–") if moved is None else Cell(f"{amount(moved)}B", moved)


def _flops(c: _Compared) -> Cell:
    flops = work_of_graph(c.graph, c.context.search.shapes).flops if c.graph is not None else None
    return Cell("–") if flops is None else Cell(f"{amount(flops)}FLOP", flops)


def _trials(c: _Compared) -> Cell:
    if not c.row.trials:
        return Cell("none")
    return Cell(count_text(c.row.trials, "trial", "trials") + (f", {c.row.failed} failed" if c.row.failed else ""))


PROPERTIES: tuple[tuple[str, Callable[[_Compared], Cell]], ...] = (
    ("status", _status),
    ("why not", _why),
    ("you", lambda c: Cell(c.row.choice or "–")),
    ("trial time (measured)", lambda c: trial_time_cell(c.row.best)),
    ("p20 to p80 in its trial", _spread),
    ("final race (measured)", lambda c: race_cell(c.row.best)),
    ("lower bound (modelled)", lambda c: seconds_cell(c.row.floor_s)),
    ("error", lambda c: error_cell(c.row.best.error if c.row.best is not None else None)),
    ("trials", _trials),
    ("candidate", lambda c: Cell(c.candidate or "–")),
    ("maps", _maps),
    ("tuning parameters", _parameters),
    ("kernels", _kernels),
    ("tensors moved (counted)", _bytes),
    ("operations (counted)", _flops),
    ("completed at", lambda c: Cell(c.row.node)),
)
"""The rows of the table: a label, and the cell of a family."""
