"""`sess.view(...)`: what the explorer shows, as arguments; and a click that changes it, as the line of Python.

One row per argument: how it is read from a view, and how a value is checked and written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded
from prism_explore.widgets.panels.context import ViewState
from prism_explore.widgets.panels.filter_view import Filter
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


ARGUMENTS: Mapping[str, ViewArgument] = {
    "root": ViewArgument(lambda view: view.root, _root),
    "cursor": ViewArgument(lambda view: view.cursor, _cursor),
    "kernel": ViewArgument(lambda view: view.graph.entered, _kernel),
    "program": ViewArgument(lambda view: view.graph.program, _program),
    "filter": ViewArgument(_filter_value, _filter),
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
