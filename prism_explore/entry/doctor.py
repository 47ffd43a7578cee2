"""`px.doctor()`: which parts of the installation work, found by trying each of them.

Every row of `doctor_checks.CHECKS` is tried once: a kernel is compiled and run, a proof is replayed, a graph is laid
out. A part that is missing or broken is a row of the result, never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from prism_explore.entry.doctor_checks import CHECKS, Check, Failed, NotHere, Works

State: TypeAlias = Literal["works", "limited", "not here", "fails"]

_MARKS: dict[State, tuple[str, str]] = {
    "works": ("✓", "green"),
    "limited": ("!", "yellow"),
    "not here": ("–", "dim"),
    "fails": ("✗", "bold red"),
}
"""Per state, the mark and the style in a terminal."""
_WIDTH = 110
"""Width of the table where the output is no terminal. Units: characters."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one part."""

    part: str
    state: State
    found: str
    """The versions and figures that were found, or the error."""
    advice: str
    """What to do next; empty if nothing is to be done."""
    required: bool
    """Whether a search on this machine's CPU needs it."""
    purpose: str
    """What it is needed for."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The rows of `doctor`; prints as a table."""

    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether all parts that a search on the CPU needs work."""
        return all(row.state in ("works", "limited") for row in self.rows if row.required)

    def __getitem__(self, part: str) -> Row:
        for row in self.rows:
            if row.part == part:
                return row
        raise KeyError(f"no part {part!r}; the parts are {', '.join(row.part for row in self.rows)}")

    @property
    def summary(self) -> str:
        """One sentence."""
        failed = [row.part for row in self.rows if row.state == "fails"]
        missing = [row.part for row in self.rows if row.state == "not here"]
        head = (
            "Searches on this machine's CPU can run." if self.ok else "Searches on this machine's CPU cannot run yet."
        )
        tail = f" Failed: {', '.join(failed)}." if failed else ""
        return head + tail + (f" Not here: {', '.join(missing)}." if missing else "")

    def __rich__(self) -> Group:
        table = Table(box=None, pad_edge=False)
        for heading in ("", "part", "found", "to do"):
            table.add_column(heading, overflow="fold")
        for row in self.rows:
            mark, style = _MARKS[row.state]
            # Texts, because what was found can contain square brackets, which are markup.
            cells = (Text(mark, style), Text(row.part), Text(f"{row.state}: {row.found}"), Text(row.advice))
            table.add_row(*cells)
        return Group(table, Text(self.summary))

    def __repr__(self) -> str:
        console = Console(width=_WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("", "part", "found", "to do"))
        lines = (
            "".join(
                f"<td style='text-align:left;vertical-align:top'>{escape(text)}</td>"
                for text in (_MARKS[row.state][0], row.part, f"{row.state}: {row.found}", row.advice)
            )
            for row in self.rows
        )
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.summary)}</p>"


def doctor(checks: Sequence[Check] = CHECKS) -> Diagnosis:
    """Try each part that the package uses, and say what works, what does not, and what to do.

    It takes some seconds: it compiles and runs a small kernel, replays a proof in egglog, traces a torch function and
    compiles a Triton kernel. It changes nothing and never raises.

    Args:
        checks: the parts to try; all of them by default.

    Returns:
        One row per part. It prints as a table, in a terminal and in a notebook; `ok` says whether a search can run.

    Example:
        >>> import prism_explore as px
        >>> px.doctor(checks=()).ok
        True
    """
    return Diagnosis(tuple(_try(check) for check in checks))


def _try(check: Check) -> Row:
    try:
        outcome = check.run()
    except ImportError as error:
        outcome = NotHere(str(error))
    except Exception as error:
        outcome = Failed(f"{type(error).__name__}: {error}")
    match outcome:
        case Works(found, limits):
            return Row(check.part, "limited" if limits else "works", found, limits, check.required, check.purpose)
        case NotHere(found):
            state: State = "fails" if check.required else "not here"
        case Failed(found):
            state = "fails"
    advice = outcome.advice or check.advice
    return Row(
        check.part, state, found or "not installed", f"{advice} ({check.purpose})", check.required, check.purpose
    )
