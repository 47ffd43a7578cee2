"""A widget in a browser without Jupyter: messages pass between the page and the widget of this process."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route

ROOT = Path(__file__).resolve().parent.parent.parent
BUNDLE = ROOT / "prism_explore" / "widgets" / "static" / "explorer.js"
ADDRESS = "http://widget.test/"
HTML = """<!doctype html><html lang="en"><meta charset="utf-8"><title>widget</title>
<style>body { margin: 0; padding: 10px; background: BACKGROUND; }</style>
<body data-jp-theme-light="LIGHT"><div id="here"></div>
<script type="module">
import widget from "./explorer.js";
const listeners = new Set();
const model = {
  get: (name) => (name === "layout_name" ? LAYOUT : undefined),
  on: (event, listener) => event === "msg:custom" && listeners.add(listener),
  off: (_, listener) => listeners.delete(listener),
  send: (message) => window.toPython(JSON.stringify(message)),
};
widget.render({ model, el: document.getElementById("here") });
setInterval(async () => {
  for (const message of JSON.parse(await window.fromPython())) for (const tell of listeners) tell(message);
}, 30);
</script></body></html>"""


class LivePage:
    """A widget on a page. What the page sends reaches the widget, and the other way round."""

    def __init__(self, page: Page, widget: Any, dark: bool = False) -> None:
        self.page = page
        self._sent: deque[Any] = deque()
        widget.send = lambda content, buffers=None: self._sent.append(content)
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.expose_function("toPython", lambda text: widget._receive(widget, json.loads(text)))
        page.expose_function("fromPython", self._take)
        page.route(f"{ADDRESS}**", lambda route: self._answer(route, widget, dark))
        page.goto(ADDRESS)

    def _take(self) -> str:
        messages = []
        while self._sent:
            messages.append(self._sent.popleft())
        return json.dumps(messages)

    def _answer(self, route: Route, widget: Any, dark: bool) -> None:
        if route.request.url.endswith("explorer.js"):
            route.fulfill(body=BUNDLE.read_text(encoding="utf-8"), content_type="text/javascript")
            return
        html = HTML.replace("LAYOUT", json.dumps(getattr(widget, "layout_name", None)))
        html = html.replace("LIGHT", "false" if dark else "true").replace("BACKGROUND", "#111" if dark else "#fff")
        route.fulfill(body=html, content_type="text/html")
