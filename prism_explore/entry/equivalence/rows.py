"""The lines in which an answer is printed, as text for a terminal and as HTML for a notebook.

Formulas are MathML in HTML; the page inherits the colors of the notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill

from prism_explore.entry.equivalence.parting import BOX
from prism_explore.widgets.formulas.mathml import to_mathml

WIDTH = 110
_LABEL = 11
_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;font-size:13px;white-space:normal"
_HEADING = "text-align:left;font-weight:bold;font-size:14px;padding-bottom:4px"


@dataclass(frozen=True, slots=True)
class Row:
    """A label, and a text, a formula, or a formula with a text behind it."""

    label: str
    text: str = ""
    formula: str = ""


def as_text(headline: str, rows: Sequence[Row]) -> str:
    """The rows below the headline, wrapped."""
    return "\n".join((headline, *(_line(row) for row in rows)))


def _line(row: Row) -> str:
    text = f"{row.formula} {row.text}".strip() if row.formula else row.text
    return fill(
        text,
        WIDTH,
        initial_indent=f"  {row.label:{_LABEL}}",
        subsequent_indent=" " * (_LABEL + 2),
        break_on_hyphens=False,
        break_long_words=False,
    )


def as_html(headline: str, rows: Sequence[Row]) -> str:
    """A table with the headline as its caption."""
    body = "".join(
        f"<tr><th scope='row' style='{_CELL}'>{escape(row.label)}</th><td style='{_CELL}'>{_cell(row)}</td></tr>"
        for row in rows
    )
    return f"<table style='border:none'><caption style='{_HEADING}'>{escape(headline)}</caption>{body}</table>"


def _cell(row: Row) -> str:
    if not row.formula:
        return escape(row.text)
    # The box is no letter of a formula, so it is parsed as a name.
    typeset = to_mathml(row.formula.replace(BOX, "box")).replace("<mi>box</mi>", f"<mi>{BOX}</mi>")
    return f"{typeset or f'<code>{escape(row.formula)}</code>'} {escape(row.text)}"
