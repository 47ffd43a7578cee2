"""The window of a comparison: a Jupyter widget that shows two searches side by side."""

# pyright: basic
# ipywidgets and anywidget are only partly typed.

from __future__ import annotations

from collections.abc import Mapping
from contextvars import copy_context
from typing import Any

import traitlets

from prism_explore.diagnose.compare_runs import RunComparison
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.jupyter.published import PublishedWidget
from prism_explore.widgets.jupyter.wire import RenderRequest
from prism_explore.widgets.panels.compare import ComparedSearches, CompareView
from prism_explore.widgets.panels.sections import to_data
from prism_explore.widgets.views.merged_map import merged_scene

STATIC_PX = 900.0
"""Width of the picture on pages that cannot show a widget."""


class CompareWindow(PublishedWidget):
    """Two searches in one window; it shows and selects, and steers neither."""

    layout_name = traitlets.Unicode("compare").tag(sync=True)

    def __init__(self, found: RunComparison) -> None:
        self._found = found
        self._searches: ComparedSearches | None = None
        self._view = CompareView()
        super().__init__()

    def _receive(self, _: object, content: Any, __: object = None) -> None:
        """Handle a message. It can arrive on any thread, during or after any cell, so this returns at once."""
        self._browser_context = copy_context()
        match content:
            case {"kind": "hello"}:
                self._hello(content.get("have"))
            case {"kind": "look", "compare": Mapping() as change}:
                self._view = self._view.changed(change)
                self._publisher.notify_awaited()
            case {"kind": "command", "event_id": str(event_id)}:
                refusal = "A comparison cannot run commands; use the explorer of one of the searches."
                self._publisher.reply({"event_id": event_id, "ok": False, "message": refusal})
            case _:
                pass

    def _render(self, _: RenderRequest, /) -> dict[str, Any]:
        if self._searches is None:
            self._searches = ComparedSearches(self._found)
        return {"compare": to_data(self._searches.section(self._view))}

    @property
    def text(self) -> str:
        """What a terminal shows."""
        return repr(self._found)

    @property
    def page(self) -> str:
        """The tables of the comparison, as HTML."""
        return self._found.html

    def svg(self) -> str:
        """The merged search map as SVG."""
        return to_svg(merged_scene(self._found.tree, self._view.kinds, STATIC_PX))
