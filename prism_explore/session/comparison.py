"""Comparison of two searches, which may be live, opened, or files; a notebook shows it as a window of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from prism_explore.diagnose.compare_runs import Run, RunComparison, compare_runs
from prism_explore.errors import ShapeError
from prism_explore.session.record import Record, open_record
from prism_explore.support.live_objects import live_names, live_object


def compare(one: Run, other: Run) -> RunComparison:
    """Compare two searches: settings, families, winners, pruned regions, and the first difference.

    A terminal prints the differences. A notebook shows a window: both search trees in one picture, with what only one
    search has, and what was expanded in one and pruned in the other; a click selects in both.

    Args:
        one: search A: a session, a saved search that `px.load` opened, its file, or the id of a live session.
        other: search B, the same.

    Returns:
        The two searches side by side.

    Raises:
        JournalVersionError: a file is no saved search.
        ShapeError: an argument is neither a search nor a file.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> one, other = (px.Session(program, target=gpu, at={"b": 4}) for gpu in ("h100", "a100"))
        >>> one.run(), other.run()
        (None, None)
        >>> str(px.compare(one, other)).startswith("1 family in both")
        True
    """
    a, b = (as_record(run) for run in (one, other))
    found = compare_runs(a.session_to_show(), b.session_to_show())
    return replace(found, window=lambda: _window(found), page=lambda: _page(found))


def as_record(run: object) -> Record:
    """A search by itself, its file, or the id of a live session.

    Raises:
        ShapeError: it is none of these.
        JournalVersionError: the file is no saved search.
    """
    match run:
        case Record():
            return run
        case str() if (live := live_object(run)) is not None:
            return live
        case str() | Path() if Path(run).is_file():
            return open_record(run)
        case str() | Path():
            there = ", ".join(f"{key} ({name})" for key, name in live_names())
            raise ShapeError(
                f"there is no file {str(run)!r}, and no live session of this id; live are {there or 'none'}"
            )
        case _ if hasattr(run, "journal"):
            return Record(run.journal)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        case _:
            raise ShapeError(f"compare takes sessions, saved searches or their files; found a {type(run).__name__}")


def _page(found: RunComparison) -> str:
    from prism_explore.widgets.report import comparison_page

    return comparison_page(found)


def _window(found: RunComparison) -> Any:
    from prism_explore.widgets.compare_window import CompareWindow

    return CompareWindow(found)
