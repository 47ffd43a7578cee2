"""The explorer: a Jupyter widget that shows a search and steers it.

    sess                 # shows the explorer
    sess.widget          # the same object; it can be shown several times

Everything shown is computed from the journal of the session, and every button is a method of the session. Pages
that cannot show a widget show an SVG, and terminals a text.
"""

# pyright: basic
# ipywidgets and anywidget are only partly typed.

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from prism_explore.events.kinds import ExplorationFinished
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.jupyter.commands import MAX_TEXT_CHARACTERS
from prism_explore.widgets.jupyter.compare_tab import CompareTab
from prism_explore.widgets.jupyter.live import Bridge, SessionLike
from prism_explore.widgets.jupyter.published import PublishedWidget
from prism_explore.widgets.jupyter.wire import RenderRequest
from prism_explore.widgets.panels.context import MAX_COMPARED, Context, Folds, Memo, ViewState, search_info, select
from prism_explore.widgets.panels.lineage import lineage_section, relatives
from prism_explore.widgets.panels.look import TABS, changed_view, view_line
from prism_explore.widgets.panels.panels import PANELS, compute
from prism_explore.widgets.panels.sections import Script, Sections, to_data
from prism_explore.widgets.report import report_page
from prism_explore.widgets.static_picture import WIDTH_PX, static_picture

MAX_PAGES = 8
"""Largest number of pages whose hidden panels are kept."""
MAX_SCRIPT_LINES = 200
"""Largest number of commands that are kept as lines of Python."""


class Explorer(PublishedWidget):
    """The explorer of one session; as the last line of a cell it is shown. It can show forks of the session too."""

    def __init__(self, session: SessionLike, ahead: Future[Folds] | None = None) -> None:
        """Make the explorer of a session.

        Args:
            session: the search.
            ahead: its first events, if another thread reads them; the explorer reads further ones into the result.
        """
        self._session = session
        self._next: SessionLike | None = None
        """The search to show from the next picture on; None for the same."""
        self._awaits_fork = False
        """Whether a click forked the search, so that the fork is shown when it is there."""
        self._folds = Folds()
        self._ahead = ahead
        """The first events, until they are needed."""
        self._memo = Memo(self._show_listing)
        self._view = ViewState()
        self._hidden: dict[str, frozenset[str]] = {}
        """Per page that shows the explorer, the names of the panels that it does not show now."""
        self._data: dict[str, tuple[object, object]] = {}
        """Per section, the panel that was computed last, and its data."""
        self._lines: list[tuple[str, str]] = []
        """The commands given so far: name, line of Python."""
        self._lock = threading.Lock()
        self._folding = threading.Lock()
        """Held while the events are read: by the publisher, and by a cell that shows the explorer."""
        super().__init__()
        self._compare_tab = CompareTab(self._publisher.notify_awaited)
        self._bridges: dict[int, Bridge] = {}
        """Per search that was shown, its connection; all report changes, since the path shows their states."""
        self._follow(session)

    def _follow(self, session: SessionLike) -> None:
        """Send commands to a search, and report its changes."""
        if id(session) not in self._bridges:
            self._bridges[id(session)] = Bridge(
                session, self._publisher.notify, self._publisher.notify_awaited, self._on_fork
            )
        self._bridge = self._bridges[id(session)]

    def _on_fork(self, fork: SessionLike) -> None:
        if self._awaits_fork:
            self._awaits_fork = False
            self.show(fork)
        self._publisher.notify_awaited()

    def show(self, session: SessionLike) -> None:
        """Show another search, such as a fork, in this explorer.

        Args:
            session: the search.
        """
        with self._lock:
            self._next = session
            self._follow(session)
        self._publisher.notify_awaited()

    def _show_relative(self, key: str) -> None:
        """Show the parent or a fork of the search that is shown."""
        found = relatives(self._next or self._session).get(key)
        if found is not None:
            self.show(found[0])
            self._add_line("show", f"sess = {found[1]}")

    def _switch(self) -> None:
        """Begin to show the search that `show` requested; only the thread that computes the panels calls this."""
        if self._next is None:
            return
        self._session, self._next = self._next, None
        # What was memoized is of the other search: its versions say nothing about this one.
        self._folds, self._ahead, self._memo, self._data = Folds(), None, Memo(self._show_listing), {}
        self._compare_tab.forget()
        self._view = replace(self._view, selection="", subject="", root="", cursor=0)

    # ------------------------------------------------------------ messages from the browser
    def _receive(self, _: object, content: Any, __: object = None) -> None:
        """Handle a message. It can arrive on any thread, during or after any cell, so this returns at once."""
        self._browser_context = copy_context()
        if not isinstance(content, Mapping):
            return
        match content.get("kind"):
            case "hello":
                self._hello(content.get("have"))
            case "look":
                self._change_view(content)
                if isinstance(event_id := content.get("event_id"), str):
                    self._publisher.reply({"event_id": event_id[:MAX_TEXT_CHARACTERS], "ok": True})
            case "command":
                forks = content.get("name") in ("fork", "adopt", "time_again")
                self._awaits_fork |= forks
                reply = self._bridge.handle(content)
                if reply is None:
                    return
                self._awaits_fork &= not forks or bool(reply["ok"])
                if line := reply.get("python"):
                    self._add_line(str(content.get("name")), line)
                self._publisher.reply(reply)
            case _:
                pass

    def _show_listing(self) -> None:
        """Publish a text of the Code panel that has been computed in the background."""
        with self._lock:
            code = self._view.code
            self._view = replace(self._view, code=replace(code, ready=code.ready + 1))
        self._publisher.notify_awaited()

    def _change_view(self, content: Mapping[str, Any]) -> None:
        """Change what is shown, or how wide; this has no influence on the search."""
        if isinstance(key := content.get("search"), str):
            self._show_relative(key)
            return
        with self._lock:
            before = self._view
            match content:
                case {"graph": Mapping() as graph}:
                    self._view = replace(self._view, graph=self._view.graph.after(graph))
                case {"compare": Mapping() as change}:
                    self._compare_tab.change(change)
                case {"cursor": int(cursor)} if not isinstance(cursor, bool):
                    self._view = replace(self._view, cursor=max(0, cursor))
                case {"map": Mapping() as change}:
                    self._view = replace(self._view, map=self._view.map.changed(change))
                case {"find": Mapping() as change}:
                    self._view = replace(self._view, find=self._view.find.changed(change))
                case {"sizes": Mapping() as change}:
                    self._view = replace(self._view, sizes=self._view.sizes.changed(change))
                case {"families": [*names]}:
                    ids = tuple(str(name)[:64] for name in names)[:MAX_COMPARED]
                    self._view = replace(self._view, families=ids)
                case {"filter": Mapping() as change}:
                    with suppress(ValueError):  # from a newer or a damaged page
                        self._view = replace(self._view, filter=self._view.filter.changed(change))
                case {"tab": str(tab)} if tab in TABS:
                    self._view = replace(self._view, tab=tab)
                case {"code": Mapping() as change}:
                    self._view = replace(self._view, code=self._view.code.changed(change))
                case {"egraph": Mapping() as change}:
                    self._view = replace(self._view, egraph=self._view.egraph.changed(change))
                case {"tuning": Mapping() as change}:
                    self._view = replace(self._view, tuning=self._view.tuning.changed(change))
                case {"hidden": [*names], "page": str(page)}:
                    self._hidden.pop(page[:64], None)
                    self._hidden[page[:64]] = frozenset(name for name in PANELS if name in names)
                    self._hidden = dict([*self._hidden.items()][-MAX_PAGES:])
                case {"root": str(root)}:
                    self._view = replace(self._view, root=root[:64])
                case {"map_px": int(map_px), "dock_px": int(dock_px), "dock_high_px": int(high_px)}:
                    sizes = (_clamp(240, map_px), _clamp(320, dock_px), _clamp(160, high_px))
                    self._view = replace(self._view, map_px=sizes[0], dock_px=sizes[1], dock_high_px=sizes[2])
                case _:
                    return
            line = view_line(before, self._view)
        if line:
            self._add_line(line.split("=")[0], line)
        self._publisher.notify_awaited()

    def look(self, panel: str, mode: str | None, given: Mapping[str, Any]) -> None:
        """Change what is shown; see `Session.view`.

        Raises:
            ShapeError: no such panel or mode, or a wrong value.
        """
        with self._lock:
            self._view = changed_view(self._view, panel, mode, given, self._session.journal)
        self._publisher.notify_awaited()

    def _add_line(self, command: str, line: str) -> None:
        """Keep a command as a line of Python; of consecutive selections or looks of one kind, only the last."""
        replaces = command == "select" or command.startswith("sess.view")
        with self._lock:
            if replaces and self._lines and self._lines[-1][0] == command:
                self._lines.pop()
            self._lines = [*self._lines[1 - MAX_SCRIPT_LINES :], (command, line)]

    # ------------------------------------------------------------ panels for the browser
    def _render(self, request: RenderRequest, /) -> dict[str, Any] | None:
        """The data of panels; that of a panel that did not change is the same object."""
        panels: dict[str, object] = {}
        with self._folding:
            context, lines = self._context(request.extent != "asked")
            hidden = frozenset[str]() if request.extent == "all" else self._hidden_everywhere()
            for name in PANELS:
                if request.is_stopped():
                    return None
                if name not in hidden:
                    panels[name] = compute(name, context)
        panels["script"] = Script(lines)
        for name, panel in panels.items():
            if name not in self._data or self._data[name][0] is not panel:
                self._data[name] = (panel, to_data(panel))
        return {name: self._data[name][1] for name in panels}

    def _hidden_everywhere(self) -> frozenset[str]:
        with self._lock:
            return frozenset[str].intersection(*self._hidden.values()) if self._hidden else frozenset()

    def picture(self) -> Sections:
        """Compute all panels."""
        with self._folding:
            context, lines = self._context()
            return Sections(script=Script(lines), **{name: compute(name, context) for name in PANELS})

    def _context(self, read: bool = True) -> tuple[Context, tuple[str, ...]]:
        """The input of the panels, and the lines of Python.

        Args:
            read: whether new events are read; without it, only those of a search that is shown for the first time.
        """
        with self._lock:
            self._switch()
        folds = self._current_folds(read)
        selection = self._session.selection or ""
        with self._lock:
            if selection != self._view.selection:
                self._view = select(self._view, selection, folds.events)
            view, lines = self._view, tuple(line for _, line in self._lines)
        if 0 < view.cursor < folds.events.count:
            folds = folds.before(view.cursor)
        else:
            view = replace(view, cursor=0)
        info = search_info(self._session)
        info = replace(
            info,
            # Not without the results: the state can be newer than the events that were read.
            state="running" if info.state == "finished" and self._is_end_unread() else info.state,
            count=self._folds.events.count,
            compare=self._compare_tab.section(self._session),
            lineage=lineage_section(self._session, view.cursor, "fork" in info.questions.allowed),
        )
        return Context.of(info, folds, view, self._memo), lines

    def _is_end_unread(self) -> bool:
        unread = self._session.journal.since(self._folds.events.count)
        return any(isinstance(entry.event, ExplorationFinished) for entry in unread)

    def _current_folds(self, read: bool = True) -> Folds:
        if self._ahead is not None:
            self._folds, self._ahead = self._ahead.result(), None
        if read or not self._folds.events.count:
            self._folds.extend(self._session.journal.since(self._folds.events.count))
        return self._folds

    def close(self) -> None:
        """Stop following the session, and close the connection to the browser."""
        for bridge in self._bridges.values():
            bridge.close()
        super().close()

    # ------------------------------------------------------------ without a widget
    @property
    def text(self) -> str:
        """What a terminal shows."""
        return repr(self._session)

    @property
    def page(self) -> str:
        """The report, as an HTML page."""
        return report_page(self._session)

    def svg(self) -> str:
        """The result card, the search map and the sGraph as one SVG."""
        with self._folding:
            folds = self._current_folds()
            view = select(
                ViewState(map_px=int(WIDTH_PX), interactive=False), self._session.selection or "", folds.events
            )
            return to_svg(static_picture(Context.of(search_info(self._session), folds, view, self._memo)))


def _clamp(minimum: int, px: int) -> int:
    return max(minimum, min(2400, px))
