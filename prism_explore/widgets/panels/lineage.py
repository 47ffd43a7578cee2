"""Where the search that is shown was forked, and its forks; all of them can be shown in the same explorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism_explore.diagnose.jobs import Question
from prism_explore.events.format import fork_text
from prism_explore.events.kinds import SearchForked
from prism_explore.widgets.drawing.text_metrics import shorten
from prism_explore.widgets.panels.sections import LineageSection, SearchLink

MAX_NOTE_CHARACTERS = 24
"""Length of a note in a button; its tooltip has all of it."""


def lineage_section(session: Any, cursor: int, can_fork: bool) -> LineageSection:
    """The section of a search.

    Args:
        session: the search that is shown.
        cursor: the number of events that are shown; 0 for all.
        can_fork: whether the search can be forked.
    """
    path = [_link(s, s is session) for s in _with_ancestors(session)]
    origin: SearchForked | None = getattr(_with_ancestors(session)[0], "origin", None)
    if origin is not None:
        tip = f"{origin.parent} is not in this process; load its file to see it"
        path.insert(0, SearchLink("", origin.parent, tip))
    forks = tuple(_link(fork, False) for fork in getattr(session, "forks", ()))
    at = cursor if can_fork else 0
    return LineageSection(
        tuple(path) if len(path) > 1 or forks else (),
        forks,
        at,
        _status(session.questions),
    )


def relatives(session: Any) -> Mapping[str, tuple[Any, str]]:
    """By id, the searches that can be shown instead, each with the Python that leads to it."""
    found: dict[str, tuple[Any, str]] = {}
    above, line = session, "sess"
    while (above := getattr(above, "parent", None)) is not None:
        line += ".parent"
        found[_key(above)] = above, line
    for number, fork in enumerate(getattr(session, "forks", ())):
        found[_key(fork)] = fork, f"sess.forks[{number}]"
    return found


def _with_ancestors(session: Any) -> list[Any]:
    """The searches from the first one to this one."""
    found = [session]
    while (above := getattr(found[0], "parent", None)) is not None:
        found.insert(0, above)
    return found


def _link(session: Any, current: bool) -> SearchLink:
    origin: SearchForked | None = getattr(session, "origin", None)
    name, state = str(getattr(session, "name", session.program.name)), session.state
    if origin is None:
        return SearchLink(_key(session), name, f"{name}: {state}", current)
    number = origin.fork.rpartition(".")[2]
    where = f" at event {origin.at:,}" if origin.at else " with other settings"
    what = f": {shorten(origin.note, MAX_NOTE_CHARACTERS)}" if origin.note else where
    return SearchLink(_key(session), f"fork {number}{what}", f"{fork_text(origin)}\n{state}", current)


def _key(session: Any) -> str:
    return str(getattr(session, "id", "") or id(session))


def _status(questions: Mapping[str, Question]) -> str:
    """What the last fork or adoption is doing, or why it failed."""
    last = next((q for q in reversed(list(questions.values())) if q.kind in ("fork", "adopt")), None)
    if last is None:
        return ""
    if last.is_open:
        return f"{last.id}: {last.python} repeats the first events …"
    return f"{last.id}: {last.python} failed: {last.failure}" if last.state == "failed" else ""
