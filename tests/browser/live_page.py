"""A widget in a browser without Jupyter: messages pass between the page and the widget of this process."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, Route

ROOT = Path(__file__).resolve().parent.parent.parent
BUNDLE = ROOT / "prism_explore" / "widgets" / "static" / "explorer.js"
ADDRESS = "http://widget.test/"
OUTPUT = f"{ADDRESS}output.html"


@dataclass(frozen=True)
class Host:
    """What a notebook puts around a widget: how it tells its theme, and what it forbids."""

    html: str = ""
    """Attributes of the html element."""
    body: str = 'data-jp-theme-light="true" style="margin:0;padding:10px;background:#fff"'
    """Attributes of the body."""
    policy: str = ""
    """The content security policy of the page."""
    sandbox: str | None = None
    """What a frame around the output may do; None for no frame."""
    shadow: bool = False
    """Whether the widget is in a shadow tree."""


LIGHT = Host()
DARK = Host(body='data-jp-theme-light="false" style="margin:0;padding:10px;background:#111"')

# As anywidget does it: the module comes as text, and is imported from a blob.
HTML = """<!doctype html><html lang="en" HTML_ATTRIBUTES><meta charset="utf-8"><title>widget</title>
<body BODY_ATTRIBUTES><div id="here"></div>
<script type="module">
const source = URL.createObjectURL(new Blob([SOURCE], { type: "text/javascript" }));
const { default: widget } = await import(source);
const listeners = new Set();
const model = {
  get: (name) => (name === "layout_name" ? LAYOUT : undefined),
  on: (event, listener) => event === "msg:custom" && listeners.add(listener),
  off: (_, listener) => listeners.delete(listener),
  send: (message) => window.toPython(JSON.stringify(message)),
};
const here = document.getElementById("here");
widget.render({ model, el: SHADOW ? here.attachShadow({ mode: "open" }) : here });
setInterval(async () => {
  for (const message of JSON.parse(await window.fromPython())) for (const tell of listeners) tell(message);
}, 30);
</script></body></html>"""


class LivePage:
    """A widget on a page. What the page sends reaches the widget, and the other way round."""

    def __init__(self, page: Page, widget: Any, host: Host = LIGHT) -> None:
        self.page = page
        self._host = host
        self._sent: deque[Any] = deque()
        widget.send = lambda content, buffers=None: self._sent.append(content)
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.expose_function("toPython", lambda text: widget._receive(widget, json.loads(text)))
        page.expose_function("fromPython", self._take)
        page.route(f"{ADDRESS}**", lambda route: self._answer(route, widget))
        page.goto(ADDRESS)

    @property
    def root(self) -> Locator:
        """The widget."""
        place = self.page if self._host.sandbox is None else self.page.frame_locator("iframe")
        return place.locator(".prism-explore")

    def _take(self) -> str:
        messages = []
        while self._sent:
            messages.append(self._sent.popleft())
        return json.dumps(messages)

    def _answer(self, route: Route, widget: Any) -> None:
        host = self._host
        if host.sandbox is not None and route.request.url != OUTPUT:
            frame = f'<iframe sandbox="{host.sandbox}" src="{OUTPUT}" title="output"></iframe>'
            style = "<style>iframe { width: 100%; height: 920px; border: 0 }</style>"
            route.fulfill(
                body=f'<!doctype html><html lang="en"><title>host</title>{style}{frame}', content_type="text/html"
            )
            return
        filled = {
            "HTML_ATTRIBUTES": host.html,
            "BODY_ATTRIBUTES": host.body,
            "LAYOUT": json.dumps(getattr(widget, "layout_name", None)),
            "SHADOW": json.dumps(host.shadow),
            # Last, because it can contain the other words.
            "SOURCE": json.dumps(BUNDLE.read_text(encoding="utf-8")).replace("</", "<\\/"),
        }
        html = HTML
        for word, value in filled.items():
            html = html.replace(word, value, 1)
        headers = {"content-security-policy": host.policy} if host.policy else {}
        route.fulfill(body=html, content_type="text/html", headers=headers)
