"""Tables of a journal as plain text, for terminals and golden files.

A table has headings and rows of texts. Families are listed best first, other rows in the order of the events. `str`
shortens long cells and does not depend on the width of the terminal, because the golden files need the same text
everywhere. `rich.print` fits a table to the terminal, and a notebook shows it as HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, cast

from prism_explore.events.claim import shown_claim
from prism_explore.events.format import programs_text, seconds_text
from prism_explore.events.journal import Entry
from prism_explore.events.ledger import FamilyRow, Ledger, SpaceBreakdown, Trial, best_first, ledger, outcome
from prism_explore.events.phases import seconds_per_stage
from prism_explore.support.terminal_text import terminal_text
from prism_explore.widgets.drawing.text_metrics import columns, shorten
from prism_explore.widgets.refs import is_of_program, short_name
from prism_explore.widgets.views.tuning import parameters_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MAX_CELL_CHARACTERS = 64
MAX_DATA_ROWS, MAX_DATA_LINE, MAX_DATA_CELL = 40, 120, 32
"""Of data as a text: the rows, and the characters of a line and of a cell."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts; `str` formats it."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str
    """Text for a table without rows."""
    right: tuple[str, ...] = ()
    """Headings of the columns that are aligned to the right."""

    def __str__(self) -> str:
        if not self.rows:
            return self.empty
        cells = [[terminal_text(shorten(cell, MAX_CELL_CHARACTERS), keep="") for cell in row] for row in self.rows]
        widths = [max(columns(row[i]) for row in (self.headings, *cells)) for i in range(len(self.headings))]
        lines = [self._line(self.headings, widths), self._line(["─" * w for w in widths], widths)]
        return "\n".join([*lines, *(self._line(row, widths) for row in cells)])

    def __rich__(self) -> Table | Text:
        from rich.table import Table
        from rich.text import Text

        if not self.rows:
            return Text(self.empty)
        table = Table(box=None, pad_edge=False)
        for heading in self.headings:
            table.add_column(heading, justify="right" if heading in self.right else "left", overflow="fold")
        for row in self.rows:
            # Texts, because square brackets would be markup.
            table.add_row(*(Text(terminal_text(cell)) for cell in row))
        return table

    def html(self) -> str:
        """The same table for a notebook."""
        if not self.rows:
            return f"<p>{escape(self.empty)}</p>"

        def line(tag: str, row: Sequence[str]) -> str:
            cells = zip(self.headings, row, strict=True)
            sides = ((text, "right" if heading in self.right else "left") for heading, text in cells)
            texts = "".join(f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>' for text, side in sides)
            return f"<tr>{texts}</tr>"

        body = "".join(line("td", row) for row in self.rows)
        return f"<table><thead>{line('th', self.headings)}</thead><tbody>{body}</tbody></table>"

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        parts: list[str] = []
        for cell, width, heading in zip(row, widths, self.headings, strict=True):
            padding = " " * (width - columns(cell))
            parts.append(padding + cell if heading in self.right else cell + padding)
        return "  ".join(parts).rstrip()


def family_status(row: FamilyRow) -> str:
    """The status of a family, with its float safety unless that is `safe`."""
    return row.status if row.floats in ("", "safe") else f"{row.status}, {row.floats} in floats"


def families_table(book: Ledger) -> TextTable:
    """One row per family, the best one first."""
    numbers = (
        "candidates",
        "proved",
        "unknown",
        "refuted",
        "trials",
        "trial time",
        "final race",
        "lower bound (modelled)",
    )
    rows = tuple(
        (
            f.family + (" ★" if f.is_best else ""),
            family_status(f),
            f.choice,
            f"{f.candidates:,}",
            f"{f.proved:,}",
            f"{f.unknown:,}",
            f"{f.refuted:,}",
            f"{f.trials:,}",
            _time(f.best.time_s if f.best is not None else None),
            _time(f.best.race_s if f.best is not None else None),
            _time(f.floor_s),
            outcome(f, book).short,
        )
        for f in best_first(book)
    )
    return TextTable(("family", "status", "by you", *numbers, "why not"), rows, "no family yet", numbers)


def pruned_table(book: Ledger) -> TextTable:
    """One row per rule and reason, most frequent first."""
    headings = ("reason", "rule", "soundness", "pruned", "count", "programs", "explanation", "example")
    rows = tuple(
        (c.code, c.rule, c.soundness, c.what, f"{c.count:,}", programs_text(c.stood_for), c.sentence, c.example)
        for c in book.prune_counts
    )
    return TextTable(headings, rows, "nothing was pruned", ("count", "programs"))


def trials_table(trials: Sequence[Trial], best: str) -> TextTable:
    """One row per trial.

    Args:
        trials: in the order of the rows.
        best: the id of the best one; empty for none.
    """
    numbers = ("estimate (modelled)", "trial time", "p20", "p80", "final race", "error")
    rows = tuple(
        (
            t.trial,
            t.candidate,
            parameters_text(t.parameters),
            _time(t.modelled_s),
            *((_time(k.time_s), _time(k.p20_s), _time(k.p80_s)) if (k := t.trial_time) is not None else ("", "", "")),
            _time(t.race_s),
            f"{t.error:.1e}" if t.error is not None else "",
            "best ★" if t.trial == best else "timed" if t.time_s is not None
            else f"{t.failure.code}: {t.failure.sentence}" if t.failure else "pending",
        )
        for t in trials
    )  # fmt: skip
    return TextTable(("trial", "candidate", "parameters", *numbers, "outcome"), rows, "no trial yet", numbers)


def baselines_table(book: Ledger) -> TextTable:
    """One row per baseline."""
    by = book.faster_baseline
    numbers = ("measured", "p20", "p80", "times the best")
    rows = tuple(
        (
            b.name,
            _time(b.time_s),
            _time(b.p20_s),
            _time(b.p80_s),
            f"{b.ratio:.2f} ({b.ratio_p25:.2f} to {b.ratio_p75:.2f})" if b.ratio > 0 else "",
            "faster: best() runs it" if by is not None and b == by.baseline else b.note,
        )
        for b in book.final_race
    )
    return TextTable(("baseline", *numbers, "note"), rows, "no baseline was measured", numbers)


def classes_table(book: Ledger) -> TextTable:
    """One row per e-class, for each verdict that has classes."""
    headings = ("candidate", "class", "term", "in the program", "in the candidate")
    rows = tuple(
        (
            candidate,
            ident,
            term,
            ", ".join(short_name(m) for m in members if is_of_program(m)),
            ", ".join(m for m in members if not is_of_program(m)),
        )
        for candidate, verdict in book.verdicts.items()
        for ident, term, members in verdict.classes
    )
    return TextTable(headings, rows, "no verdict has classes")


def funnel_table(book: Ledger) -> TextTable:
    """The number of nodes, families, candidates and trials that reached each stage."""
    n = book.funnel
    rows = (
        ("nodes expanded", n.expanded),
        ("subtrees pruned", n.pruned),
        ("families", n.families),
        ("choices of maps forbidden", n.maps_rejected),
        ("candidates", n.candidates),
        ("proved", n.proved),
        ("unknown", n.unknown),
        ("refuted", n.refuted),
        ("not timed, because of a modelled bound", n.bounded),
        ("trials measured", n.measured),
        ("trials without a timed kernel", n.failed),
    )
    return TextTable(("", "count"), tuple((name, f"{count:,}") for name, count in rows), "", ("count",))


def account_text(account: SpaceBreakdown) -> str:
    """How the parts add up to the full search space."""
    a = account
    text = (
        f"{a.total:,.0f} graphs, with any operator on any operands, = {a.pruned:,.0f} pruned + "
        f"{a.out_of_budget:,.0f} not searched because of a budget + {a.families:,} families + "
        f"{a.unfinished:,} expanded partial graphs + {a.invalid:,.0f} ill-formed graphs"
    )
    return f"{text}." if a.adds_up else f"{text}; but the parts do not add up."


def ledger_text(entries: Iterable[Entry]) -> str:
    """The result, the search space, the counts, what was pruned, steering, and the time per stage."""
    entries = tuple(entries)
    book = ledger(e.event for e in entries)
    classes = ", ".join(f"{count:,} {kind}" for kind, count in book.by_soundness().items()) or "none"
    times_s = seconds_per_stage(entries)
    steps = tuple((s.action, s.subject, s.python, s.note) for s in book.steering.standing)
    steering = TextTable(("by you", "subject", "python", "note"), steps, "no steering steps")
    space = tuple(book.started.space.items()) if book.started else ()
    return "\n\n".join((
        terminal_text(shown_claim(book)),
        str(TextTable(("search space", "limit"), space, "no search has started")),
        str(funnel_table(book)),
        f"Pruned: {classes}.",
        *(["Account: " + account_text(book.space_breakdown)] if book.space_breakdown else []),
        str(pruned_table(book)),
        str(steering),
        "Time: " + ", ".join(f"{stage} {seconds_text(s)}" for stage, s in times_s.items()) + ".",
    ))  # fmt: skip


def data_table(rows: Sequence[Mapping[str, object]]) -> tuple[TextTable, str]:
    """Data as a text: the first rows, the columns that fit in a line, and a sentence about all others.

    Args:
        rows: plain values by column; all rows have the same columns.
    """
    shown = [{name: _data_cell(value) for name, value in row.items()} for row in rows[:MAX_DATA_ROWS]]
    names = tuple(rows[0]) if rows else ()
    empty = [n for n in names if not any(row[n] for row in shown)]
    # A long text does not displace a number.
    by_width = sorted(names, key=lambda name: any(row[name].endswith("…") for row in shown))
    kept, line = list[str](), -2
    for name in (n for n in by_width if n not in empty):
        width = 2 + max(columns(text) for text in (name, *(row[name] for row in shown)))
        if line + width <= MAX_DATA_LINE:
            kept.append(name)
            line += width
    numbers = tuple(n for n in kept if all(isinstance(row[n], int | float | None) for row in rows[:MAX_DATA_ROWS]))
    table = TextTable(tuple(kept), tuple(tuple(row[n] for n in kept) for row in shown), "no rows", numbers)
    wide = [n for n in names if n not in kept and n not in empty]
    left_out = (
        f"{len(rows) - len(shown):,} more rows" if len(rows) > len(shown) else "",
        f"more columns: {', '.join(wide)}" if wide else "",
        f"empty columns: {', '.join(empty)}" if empty else "",
    )
    return table, "; ".join(filter(None, left_out))


def _data_cell(value: object) -> str:
    """A plain value in one short line; empty for what is absent."""
    match value:
        case None | () | {}:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case dict():
            pairs = cast("dict[str, object]", value).items()
            text = ", ".join(f"{key}={_data_cell(each)}" for key, each in pairs)
        case tuple():
            text = ", ".join(map(_data_cell, cast("tuple[object, ...]", value)))
        case _:
            text = str(value)
    return shorten(" ".join(text.split()), MAX_DATA_CELL)


def _of(table: Callable[[Ledger], TextTable]) -> Callable[[Iterable[Entry]], str]:
    return lambda entries: str(table(ledger(e.event for e in entries)))


def _all_trials(book: Ledger) -> TextTable:
    return trials_table(book.trials, book.best.trial if book.best is not None else "")


TABLES: Mapping[str, Callable[[Iterable[Entry]], str]] = {
    "families": _of(families_table),
    "pruned": _of(pruned_table),
    "ledger": ledger_text,
    "classes": _of(classes_table),
    "trials": _of(_all_trials),
    "baselines": _of(baselines_table),
}
"""Per table name, the function from the entries of a journal to the text."""


def _time(seconds: float | None) -> str:
    return "" if seconds is None else seconds_text(seconds)
