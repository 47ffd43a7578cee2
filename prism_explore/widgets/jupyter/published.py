"""An anywidget whose panels a publisher sends: what the explorer and the window of a comparison share.

A cell that shows it has two outputs: the widget, and a static picture, which the widget hides. Where no widget runs
(a page of nbconvert without a network, GitHub, a notebook whose kernel has ended, an untrusted one), the picture is
left. One output with both types would not do: nbconvert shows the widget of a stored state even if nothing can run it.
"""

# pyright: basic
# ipywidgets and anywidget are only partly typed.

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from prism_explore.widgets.jupyter.display import display_mode, frame, picture_html
from prism_explore.widgets.jupyter.shown import SHOWN
from prism_explore.widgets.jupyter.wire import Message, Publisher, RenderRequest

COMING = {"seq": 0}
"""A snapshot without panels, while a cell computes the first ones."""


class PublishedWidget(anywidget.AnyWidget):
    """A widget that publishes the sections that `_render` computes."""

    # As text: anywidget watches a path for changes, and the watcher keeps every widget alive.
    _esm = (Path(__file__).parent.parent / "static" / "explorer.js").read_text(encoding="utf-8")
    snapshot = traitlets.Dict().tag(sync=True)
    """The last panels, stored in the notebook; the browser shows them until Python answers. Empty before they are
    computed, or `COMING` if they will be sent without a request."""
    picture_id = traitlets.Unicode().tag(sync=True)
    """The id of the pictures that the browser hides while it shows the widget."""

    def __init__(self) -> None:
        super().__init__(picture_id=uuid4().hex)
        self._browser_context = copy_context()
        """The context of the last message from the browser."""
        self._publisher = Publisher(self._render, self._send_message, self._save_snapshot)
        self.on_msg(self._receive)

    def _receive(self, _: object, content: Any, __: object = None) -> None:
        raise NotImplementedError

    def _render(self, request: RenderRequest, /) -> dict[str, Any] | None:
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What a terminal shows."""
        raise NotImplementedError

    @property
    def page(self) -> str:
        """What the display mode `html` shows."""
        raise NotImplementedError

    def svg(self) -> str:
        """The static picture."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        match display_mode():
            case "text":
                return {"text/plain": self.text}, {}
            case "svg":
                return {"text/plain": self.text, "image/svg+xml": self.svg()}, {}
            case "html":
                return {"text/plain": self.text, "text/html": frame(self.page)}, {}
            case "widget":
                data, metadata = self._widget_bundle(**kwargs)
                self._publisher.start()
                return {**data, "image/svg+xml": self.svg()}, metadata

    def _widget_bundle(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The output that shows the widget, without a picture."""
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": self.text}, metadata

    def _ipython_display_(self) -> None:
        """Show the widget and its picture as two outputs; IPython calls this before `_repr_mimebundle_`.

        It is closed when the cell has run again and shows another one.

        Raises:
            NotImplementedError: this is not the place or the mode for a widget; IPython shows the bundle instead.
        """
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        shell = get_ipython()
        if display_mode() != "widget" or not hasattr(shell, "kernel"):
            raise NotImplementedError
        SHOWN.add(self, shell)
        # The widget is shown before anything is computed, so that the browser loads the module meanwhile.
        if not self.snapshot:
            self._save_snapshot(COMING)
        data, metadata = self._widget_bundle()
        display(data, metadata=metadata, raw=True)
        self._publisher.start(send_all=True)
        display({"text/html": picture_html(self.picture_id, self.svg(), self.text)}, raw=True)

    def _hello(self, have: object) -> None:
        """Answer a browser that says which message it has."""
        self._publisher.hello(have if isinstance(have, int) and have >= 0 else 0)

    # ipykernel handles a message from the browser in the subshell from which Python sent last, which it reads from a
    # context variable. On the publisher thread that would be the main shell, which is blocked while a cell runs.
    def _send_message(self, message: Message) -> None:
        self._browser_context.copy().run(self.send, message)

    def _save_snapshot(self, snapshot: dict[str, Any]) -> None:
        self._browser_context.copy().run(setattr, self, "snapshot", snapshot)

    @property
    def is_closed(self) -> bool:
        """Whether it cannot be shown any more."""
        return self.comm is None

    def close(self) -> None:
        """Stop publishing, and close the connection to the browser."""
        self._publisher.close()
        super().close()
