"""Access: axe-core finds nothing serious in the widget and the report, and Tab reaches every control."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.test_report import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent
AXE = ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
RUN = """async () => {
  const found = await axe.run(document.querySelector(".prism-explore"), {
    resultTypes: ["violations"],
    runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] },
  });
  return found.violations.map((v) => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200),
    (v.nodes[0].any[0] ?? v.nodes[0].all[0] ?? v.nodes[0].none[0])?.message ?? ""]);
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def harness() -> Iterator[str]:
    """The address of the widget on a page of its own, with recorded data in place of Python."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(ROOT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/widgets/test/harness.html?height=720"
    server.shutdown()
    server.server_close()


@pytest.fixture
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("widgets/node_modules has no axe-core: run `npm ci` in widgets/")
    return AXE.read_text(encoding="utf-8")


def tabs(page: Page) -> list[str]:
    names = page.locator("[data-tab-of]:not([hidden])").evaluate_all("tabs => tabs.map(t => t.dataset.tabOf)")
    assert len(names) >= 6
    return names


def violations(page: Page, axe: str) -> list[str]:
    """What axe finds serious, on every tab."""
    page.wait_for_selector(".prism-explore [data-ref]")
    page.evaluate(axe)
    found: list[str] = []
    for name in tabs(page):
        page.locator(f'[data-tab-of="{name}"]').evaluate("tab => tab.click()")
        page.wait_for_timeout(100)
        found += [f"{name}: {row}" for row in page.evaluate(RUN) if row[0] in SERIOUS]
    return found


@pytest.mark.parametrize(
    ("width", "zoom", "theme"), [(1400, 1, "light"), (1400, 1, "dark"), (700, 1, "dark"), (1400, 2, "light")]
)
def test_axe_finds_nothing_serious_in_the_widget(
    harness: str, chromium: Browser, axe: str, theme: str, width: int, zoom: int
) -> None:
    page = chromium.new_page(viewport={"width": width // zoom, "height": 900 // zoom}, device_scale_factor=zoom)
    page.goto(f"{harness}&theme={theme}")
    assert violations(page, axe) == []
    page.close()


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (700, "dark")])
def test_axe_finds_nothing_serious_in_a_report(
    chromium: Browser, axe: str, tmp_path: Path, theme: str, width: int
) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(report(tmp_path).as_uri())
    assert violations(page, axe) == []
    page.close()


WALKED = """() => {
  const e = document.activeElement;
  if (!e || !e.closest(".prism-explore")) return null;
  e.setAttribute("data-walked", "");
  return true;
}"""
NOT_WALKED = """() => [...document.querySelectorAll(
    ".prism-explore :is(button, select, input, textarea, summary, svg[tabindex])")]
  .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !e.hasAttribute("data-walked"))
  .map((e) => e.outerHTML.slice(0, 120))"""


def walk_rows(page: Page) -> None:
    """Choose two families, and select a trial, with the keyboard alone."""
    row = "document.activeElement.closest('tr[data-ref]')?.dataset.ref ?? ''"
    page.locator(".prism-explore").focus()
    for key in ("1", "ArrowDown", "ArrowDown", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate(row).startswith("f")
    assert page.locator('[data-panel="families"] input:checked').count() == 2
    page.locator('[data-tab-of="tuning"]').click()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(row).startswith("u"):
            break
    page.keyboard.press("Enter")
    selected = page.evaluate("document.activeElement.getAttribute('aria-selected')")
    assert (page.evaluate(row)[:1], selected) == ("u", "true")


def test_tab_reaches_every_control_and_escape_closes_the_filter(harness: str, chromium: Browser) -> None:
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.goto(harness)
    page.wait_for_selector(".prism-explore [data-ref]")
    page.locator(".prism-explore").focus()
    for _ in range(250):
        page.keyboard.press("Tab")
        if page.evaluate(WALKED) is None:
            break
    assert page.evaluate(NOT_WALKED) == []

    walk_rows(page)
    page.locator(".pe-search").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.name") == "status"
    page.keyboard.press("Escape")
    assert page.locator(".pe-filter[open]").count() == 0
    page.close()
