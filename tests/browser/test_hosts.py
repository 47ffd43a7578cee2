"""The explorer under the rules of hosts that are not run here: their policies, frames, shadow trees and themes.

JupyterLab itself is in the other files of this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.live_page import Host, LivePage
from tests.widgets.fakes import FakeSession
from tests.widgets.recordings import story

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

# No code from text, no request to any server, scripts from the page and from blobs.
CLOSED = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'none'; font-src 'none'"
)


def vscode(kind: str, colors: str) -> Host:
    """The frame of VS Code for outputs: kind of theme and colours of the editor are on the body and the root."""
    body = (
        f'class="{kind}" data-vscode-theme-kind="{kind.split()[-1]}" style="background:var(--vscode-editor-background)"'
    )
    return Host(html=f'style="{colors}"', body=body, policy=CLOSED, sandbox="allow-scripts allow-same-origin")


VSCODE_DARK = "--vscode-editor-background:#1f1f1f;--vscode-foreground:#cccccc;--vscode-sideBar-background:#181818"
VSCODE_LIGHT = "--vscode-editor-background:#ffffff;--vscode-foreground:#3b3b3b;--vscode-sideBar-background:#f8f8f8"
VSCODE_CONTRAST = "--vscode-editor-background:#000000;--vscode-foreground:#ffffff;--vscode-contrastBorder:#6fc3df"

HOSTS = {
    "VS Code, dark": (vscode("vscode-dark", VSCODE_DARK), "dark"),
    "VS Code, light": (vscode("vscode-light", VSCODE_LIGHT), "light"),
    "VS Code, high contrast": (vscode("vscode-high-contrast", VSCODE_CONTRAST), "dark"),
    # The output is in a frame of another origin, without storage.
    "Colab, dark": (Host(html='theme="dark"', body='style="background:#383838"', sandbox="allow-scripts"), "dark"),
    "Colab, light": (Host(html='theme="light"', body="", sandbox="allow-scripts"), "light"),
    "marimo, dark": (Host(body='class="dark dark-theme" style="background:#181c1a"', shadow=True), "dark"),
}
"""Per host, its rules and the theme that it tells."""

CONTRAST = """root => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => numbers(color).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const { color, backgroundColor } = getComputedStyle(root);
  const [dim, bright] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}"""


@pytest.mark.parametrize("name", HOSTS)
def test_the_explorer_is_drawn_and_steered_under_the_rules_of(chromium: Browser, name: str) -> None:
    from playwright.sync_api import expect

    from prism_explore.widgets.explorer import Explorer

    host, theme = HOSTS[name]
    session = FakeSession(story()[:-1], "paused")
    widget = Explorer(session)  # type: ignore[arg-type]
    page = chromium.new_page(viewport={"width": 1200, "height": 950})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    live = LivePage(page, widget, host)
    root = live.root
    family = root.locator("[data-panel=families] tr[data-ref=f2]")
    family.click()
    expect(family).to_have_attribute("aria-selected", "true")
    root.locator(".pe-transport button", has_text="Step").click()
    expect(root.locator(".pe-foot .pe-python")).to_contain_text("sess.step")

    expect(root).to_have_attribute("data-theme", theme)
    assert root.evaluate(CONTRAST) > 7
    assert session.submitted[-1][0] == "step"
    assert [url for url in asked if not url.startswith(("http://widget.test/", "blob:"))] == []
    assert live.errors == []
    page.close()
    widget.close()
