"""The explorer: one widget that follows a search, and steers it.

    sess                 # shows it
    sess.widget          # the same object, shown as often as wanted

The widget adds nothing to a search: what is drawn are folds over the session's journal, and every click
is a method of the session. Where no widget can be shown, a notebook shows an SVG, and a terminal text.
"""

# pyright: basic
# ipywidgets and anywidget are typed in part only, and this is the module that talks to them.

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.jupyter.live import Bridge, SessionLike
from prism_explore.widgets.jupyter.wire import Publisher
from prism_explore.widgets.panels.panels import Book, Look, search_of, sections, subject_after
from prism_explore.widgets.panels.sections import Sections, plain
from prism_explore.widgets.scene import Scene

LINES = 200
"""Lines of Python that are kept for copying."""
GAP_PX = 12.0
STATIC_PX = 900.0
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


class Explorer(anywidget.AnyWidget):
    """The picture of one session; show it by making it a cell's last line."""

    # As text: anywidget watches a path for changes, and the watcher keeps every widget alive.
    _esm = (Path(__file__).parent / "static" / "explorer.js").read_text(encoding="utf-8")
    snapshot = traitlets.Dict().tag(sync=True)
    """The last settled picture, kept with the notebook; the browser draws it before Python answers."""

    def __init__(self, session: SessionLike) -> None:
        super().__init__()
        self._session = session
        self._book = Book.empty()
        self._past = Book.empty()
        """The folds up to the moment of the past that was looked at last."""
        self._look = Look()
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._publisher = Publisher(self._render, self.send, self._keep)
        self._bridge = Bridge(session, self._publisher.mark)
        self.on_msg(self._heard)

    # ------------------------------------------------------------ what the browser says
    def _heard(self, _: object, content: Any, __: object = None) -> None:
        """Any thread, during or after any cell: leave a note, and return."""
        if not isinstance(content, Mapping):
            return
        match content.get("kind"):
            case "hello":
                have = content.get("have")
                self._publisher.hello(have if isinstance(have, int) and have >= 0 else 0)
            case "look":
                self._looked(content)
            case "command":
                answer = self._bridge.handle(content)
                if answer is None:
                    return
                if line := answer.get("python"):
                    self._write(line)
                self._publisher.reply(answer)
            case _:
                pass

    def _looked(self, content: Mapping[str, Any]) -> None:
        """What to show, and how wide; it changes no search."""
        with self._lock:
            match content:
                case {"collapsed": bool(collapsed)}:
                    self._look = replace(self._look, collapsed=collapsed)
                case {"cursor": int(cursor)} if not isinstance(cursor, bool):
                    self._look = replace(self._look, cursor=max(0, cursor))
                case {"root": str(root)}:
                    self._look = replace(self._look, root=root[:64])
                case {"map_px": int(wide), "dock_px": int(dock), "dock_high_px": int(high)}:
                    sizes = (_between(240, wide), _between(320, dock), _between(160, high))
                    self._look = replace(self._look, map_px=sizes[0], dock_px=sizes[1], dock_high_px=sizes[2])
                case _:
                    return
        self._publisher.mark()

    def _write(self, line: str) -> None:
        with self._lock:
            looking = "sess.select("
            if self._lines and self._lines[-1].startswith(looking) and line.startswith(looking):
                self._lines.pop()
            self._lines = [*self._lines[1 - LINES :], line]

    # ------------------------------------------------------------ what Python says
    def _render(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in _rows(self.picture())}

    def picture(self) -> Sections:
        """The whole picture as data. Only one thread at a time may ask: the publisher's, once it runs."""
        for entry in self._session.journal.since(self._book.facts.count):
            self._book.add(entry)
        selection = self._session.selection or ""
        with self._lock:
            if selection != self._look.selection:
                subject = subject_after(self._look, selection, self._book.facts)
                self._look = replace(self._look, selection=selection, subject=subject)
            look, lines = self._look, tuple(self._lines)
        book = self._book
        if 0 < look.cursor < book.facts.count:
            book = self._until(look.cursor)
        else:
            look = replace(look, cursor=0)
        return sections(search_of(self._session), book, look, lines)

    def _until(self, cursor: int) -> Book:
        """The folds over the first so many facts; going on in time costs only what is new."""
        if self._past.facts.count > cursor:
            self._past = Book.empty()
        for entry in self._session.journal.entries[self._past.facts.count : cursor]:
            self._past.add(entry)
        return self._past

    def _keep(self, snapshot: dict[str, Any]) -> None:
        self.snapshot = snapshot

    def close(self) -> None:
        """Stop following, and close the connection to the browser."""
        self._bridge.close()
        self._publisher.close()
        super().close()

    # ------------------------------------------------------------ where no widget can be shown
    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        self._publisher.start()
        return {**data, "text/plain": repr(self._session), "image/svg+xml": self.svg()}, metadata

    def svg(self) -> str:
        """The search map and the sGraph as one picture."""
        book = Book.empty()
        for entry in self._session.journal.entries:
            book.add(entry)
        selection = self._session.selection or ""
        look = Look(selection, subject_after(Look(), selection, book.facts), map_px=int(STATIC_PX))
        picture = sections(search_of(self._session), book, look)
        graph = picture.graph.scene
        return stacked([picture.map.scene] if graph is None else [picture.map.scene, graph])


def _rows(picture: Sections) -> list[tuple[str, object]]:
    return [(name, getattr(picture, name)) for name in Sections.__dataclass_fields__]


def _between(least: int, px: int) -> int:
    return max(least, min(2400, px))


def stacked(scenes: list[Scene]) -> str:
    """Pictures one below another, as one SVG."""
    y = 0.0
    parts: list[str] = []
    for scene in scenes:
        parts.append(to_svg(scene).replace("<svg ", f'<svg x="0" y="{y:g}" ', 1))
        y += scene.height + GAP_PX
    width = max(s.width for s in scenes)
    height = y - GAP_PX
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return "\n".join([head, *parts, "</svg>"])
