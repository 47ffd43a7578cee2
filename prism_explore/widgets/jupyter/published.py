"""An anywidget whose panels a publisher sends: what the explorer and the window of a comparison share."""

# pyright: basic
# ipywidgets and anywidget are only partly typed.

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from prism_explore.widgets.jupyter.wire import Message, Publisher


class PublishedWidget(anywidget.AnyWidget):
    """A widget that publishes the sections that `_render` computes."""

    # As text: anywidget watches a path for changes, and the watcher keeps every widget alive.
    _esm = (Path(__file__).parent.parent / "static" / "explorer.js").read_text(encoding="utf-8")
    snapshot = traitlets.Dict().tag(sync=True)
    """The last panels, stored in the notebook; the browser shows them until Python answers."""

    def __init__(self) -> None:
        super().__init__()
        self._browser_context = copy_context()
        """The context of the last message from the browser."""
        self._publisher = Publisher(self._render, self._send_message, self._save_snapshot)
        self.on_msg(self._receive)

    def _receive(self, _: object, content: Any, __: object = None) -> None:
        raise NotImplementedError

    def _render(self, everything: bool = True, /) -> dict[str, Any]:
        raise NotImplementedError

    def _hello(self, have: object) -> None:
        """Answer a browser that says which message it has."""
        self._publisher.hello(have if isinstance(have, int) and have >= 0 else 0)

    # ipykernel handles a message from the browser in the subshell from which Python sent last, which it reads from a
    # context variable. On the publisher thread that would be the main shell, which is blocked while a cell runs.
    def _send_message(self, message: Message) -> None:
        self._browser_context.copy().run(self.send, message)

    def _save_snapshot(self, snapshot: dict[str, Any]) -> None:
        self._browser_context.copy().run(setattr, self, "snapshot", snapshot)

    def close(self) -> None:
        """Stop publishing, and close the connection to the browser."""
        self._publisher.close()
        super().close()
