"""`sess.view(...)`: what the explorer shows, as arguments; and a click that changes it, as the line of Python.

One row per argument: how it is read from a view, and how a value is checked and written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded
from prism_explore.widgets.panels.context import MAX_COMPARED, FindView, SizesView, ViewState
from prism_explore.widgets.panels.filter_view import Filter
from prism_explore.widgets.panels.find_index import MAX_TEXT_CHARACTERS
from prism_explore.widgets.refs import tensor_ref
from prism_explore.widgets.views.map_view import MapMode
from prism_explore.widgets.views.tuning_view import TuningMode

TABS = (
    "map",
    "graph",
    "inspector",
    "families",
    "sizes",
    "eclasses",
    "tuning",
    "ledger",
    "questions",
    "code",
    "compare",
    "bookmarks",
)  # fmt: skip
"""The panels by name."""
MODES: Mapping[str, tuple[str, ...]] = {"map": get_args(MapMode), "tuning": get_args(TuningMode)}
"""Per panel with modes, their names."""


@dataclass(frozen=True, slots=True)
class ViewArgument:
    """An argument of `sess.view`."""

    read: Callable[[ViewState], object]
    write: Callable[[ViewState, Any, Journal], ViewState]
    """Raises ShapeError, with the allowed values."""


def _root(view: ViewState, value: object, journal: Journal) -> ViewState:
    if value != "" and not any(isinstance(e, NodeExpanded) and e.node == value for e in journal.events):
        raise ShapeError(f"root= is the id of a node such as 'n12', or '' for the full map; found {value!r}")
    return replace(view, root=str(value))


def _cursor(view: ViewState, value: object, journal: Journal) -> ViewState:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= len(journal):
        raise ShapeError(f"cursor= is a number of events up to {len(journal):,}, or 0 for now; found {value!r}")
    return replace(view, cursor=value)


def _kernel(view: ViewState, value: object, _: Journal) -> ViewState:
    if value != "" and (tensor_ref(str(value)) is None or not isinstance(value, str)):
        raise ShapeError(f"kernel= is the id of a custom kernel such as 'f2.c1/k3', or '' for all; found {value!r}")
    return replace(view, graph=view.graph.after({"entered": value}))


def _program(view: ViewState, value: object, _: Journal) -> ViewState:
    if not isinstance(value, bool):
        raise ShapeError(f"program= is True or False; found {value!r}")
    return replace(view, graph=view.graph.after({"program": value}))


def _tab(view: ViewState, value: object, _: Journal) -> ViewState:
    if value not in TABS:
        raise ShapeError(f"no panel {value!r}; there are {', '.join(TABS)}")
    return replace(view, tab=str(value), tab_request=view.tab_request + 1)


def _filter(view: ViewState, value: object, _: Journal) -> ViewState:
    if not isinstance(value, Mapping):
        raise ShapeError(f"filter= is a dict such as dict(status='proved', operator='matmul'); found {value!r}")
    try:
        return replace(view, filter=Filter().changed(cast("Mapping[str, Any]", value)))
    except ValueError as error:
        raise ShapeError(str(error)) from None


def _filter_value(view: ViewState) -> dict[str, object]:
    """The conditions in force."""
    chosen, none = view.filter, Filter()
    values = {name: getattr(chosen, name) for name in Filter.__dataclass_fields__}
    return {
        name: list(value) if name in ("status", "reason") else value
        for name, value in values.items()
        if value != getattr(none, name)
    }


def _find(view: ViewState, value: object, _: Journal) -> ViewState:
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARACTERS:
        raise ShapeError(f"find= is a text of at most {MAX_TEXT_CHARACTERS} characters; found {value!r}")
    return replace(view, find=FindView(value, 1 if value else 0, True, view.find.requests + 1))


def _sizes(view: ViewState, value: object, _: Journal) -> ViewState:
    given = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else {None: None}
    if not all(isinstance(k, str) and type(v) is int for k, v in given.items()):
        raise ShapeError(f"sizes= is a dict of values by symbol such as dict(gx=64), or {{}}; found {value!r}")
    values = cast("tuple[tuple[str, int], ...]", tuple(given.items()))
    return replace(view, sizes=SizesView(values, "", view.sizes.requests + 1))


def _brush(view: ViewState, value: object, _: Journal) -> ViewState:
    given = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else {None: None}
    tuning = view.tuning.changed({"brush": []})
    for name, pair in given.items():
        ends = list(cast("tuple[object, ...]", pair)) if isinstance(pair, tuple | list) else []
        if not isinstance(name, str) or len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
            raise ShapeError(f"brush= is a dict of intervals such as dict(gx=(8, 64)), or {{}}; found {value!r}")
        tuning = tuning.changed({"brush": [name, *ends]})
    return replace(view, tuning=tuning)


def _brush_value(view: ViewState) -> dict[str, tuple[float, float]]:
    """The intervals, with whole numbers as such."""
    whole = {n: (int(a), int(b)) for n, a, b in view.tuning.brush if a.is_integer() and b.is_integer()}
    return {n: whole.get(n, (a, b)) for n, a, b in view.tuning.brush}


def _families(view: ViewState, value: object, journal: Journal) -> ViewState:
    given = list(cast("list[object]", value)) if isinstance(value, list | tuple) else [None]
    known = {e.family for e in journal.events if isinstance(e, FamilyCompleted)}
    if not all(ref in known for ref in given) or len(given) > MAX_COMPARED:
        raise ShapeError(f"families= is a list of at most {MAX_COMPARED} ids such as ['f1', 'f2']; found {value!r}")
    return replace(view, families=tuple(str(ref) for ref in given))


ARGUMENTS: Mapping[str, ViewArgument] = {
    "root": ViewArgument(lambda view: view.root, _root),
    "cursor": ViewArgument(lambda view: view.cursor, _cursor),
    "kernel": ViewArgument(lambda view: view.graph.entered, _kernel),
    "program": ViewArgument(lambda view: view.graph.program, _program),
    "filter": ViewArgument(_filter_value, _filter),
    "find": ViewArgument(lambda view: view.find.text, _find),
    "sizes": ViewArgument(lambda view: dict(view.sizes.values), _sizes),
    "brush": ViewArgument(_brush_value, _brush),
    "families": ViewArgument(lambda view: list(view.families), _families),
    "tab": ViewArgument(lambda view: view.tab, _tab),
}


def changed_view(
    view: ViewState, panel: str, mode: str | None, given: Mapping[str, Any], journal: Journal
) -> ViewState:
    """The view after `sess.view`.

    Args:
        view: the view before.
        panel: the panel to show; empty for none.
        mode: its mode, if it has modes.
        given: further arguments by name; None for one that is left out.
        journal: the events of the search.

    Raises:
        ShapeError: no such panel or mode, or a wrong value; the message names the allowed ones.
    """
    if panel:
        view = _tab(view, panel, journal)
    if mode is not None:
        view = _mode(view, panel, mode)
    for name, value in given.items():
        if value is not None:
            view = ARGUMENTS[name].write(view, value, journal)
    return view


def _mode(view: ViewState, panel: str, mode: str) -> ViewState:
    if panel not in MODES:
        raise ShapeError(f"mode= needs a panel with modes: sess.view('map', mode='tree'); those are {', '.join(MODES)}")
    if mode not in MODES[panel]:
        raise ShapeError(f"no mode {mode!r} of {panel}; there are {', '.join(MODES[panel])}")
    return replace(view, **{panel: getattr(view, panel).changed({"mode": mode})})


def view_line(before: ViewState, after: ViewState) -> str:
    """The line of Python that changes one view into the other; empty if no argument of `sess.view` changed."""
    for panel in MODES:
        mode = getattr(after, panel).mode
        if mode != getattr(before, panel).mode:
            return f"sess.view({panel!r}, mode={mode!r})"
    changed = {n: a.read(after) for n, a in ARGUMENTS.items() if a.read(after) != a.read(before)}
    return f"sess.view({', '.join(f'{n}={v!r}' for n, v in changed.items())})" if changed else ""
