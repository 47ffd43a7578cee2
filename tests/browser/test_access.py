"""Access: axe-core finds nothing serious in the widget and the report, and Tab reaches every control."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.browser.test_report import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent
AXE = ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
MINOR = ("minor",)
LAYOUT_RULES = ("target-size", "scrollable-region-focusable")
"""The rules whose result depends on where things are."""
COLOUR_RULES = ("color-contrast", "link-in-text-block")
WIDE, NARROW, ZOOMED = (1400, 900), (700, 900), (700, 450)
"""Sizes of the window in CSS pixels; the last is the first at 200 %."""
Theme = Literal["light", "dark"]
COLOURS: tuple[tuple[Theme, bool], ...] = (("light", False), ("dark", False), ("light", True), ("dark", True))
"""Themes, and whether the system forces its own colours (high contrast)."""
RUN = """async ([selector, rules]) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await axe.run(document.querySelector(selector), {
    elementRef: true,
    resultTypes: ["violations", "passes"],
    runOnly: rules.length ? { type: "rule", values: rules } : { type: "tag", values: tags },
  });
  const panels = found.passes.flatMap((v) => v.nodes.map((n) => n.element?.closest("[data-panel]")?.dataset.panel));
  return [[...new Set(panels.filter(Boolean))], found.violations.map((v) => [v.impact, v.id, v.nodes.length,
    v.nodes[0].html.slice(0, 200), (v.nodes[0].any[0] ?? v.nodes[0].all[0] ?? v.nodes[0].none[0])?.message ?? ""])];
}"""
ALL_PANELS = """
.prism-explore, .prism-explore :is(.pe-main, .pe-dock, .pe-panel, .pe-body) {
  display: block !important; height: auto !important; overflow: visible !important; position: static !important;
}
.prism-explore .pe-tabs { position: static !important; }
"""
"""The panels one below the other: colours do not depend on where things are."""


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


class Axe:
    """A page that is examined, and what was found."""

    def __init__(self, page: Page, axe: str) -> None:
        page.wait_for_selector(".prism-explore [data-ref]")
        page.evaluate(axe)
        self.page = page
        self.found: list[str] = []

    def show(self, size: tuple[int, int], theme: Theme, forced: bool = False) -> None:
        """Change the size of the window and the theme, as the notebook or the system does."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme=theme, forced_colors="active" if forced else "none")
        self.page.evaluate("light => { document.body.dataset.jpThemeLight = light; }", str(theme == "light").lower())
        background = self.page.evaluate(
            "() => getComputedStyle(document.querySelector('.prism-explore')).backgroundColor"
        )
        assert (int(re.findall(r"\d+", background)[0]) < 128) == (theme == "dark")
        self.setting = f"{size} {theme}{' forced colours' if forced else ''}"

    def examine(self, selector: str = ".prism-explore", rules: Sequence[str] = ()) -> set[str]:
        """Add what the rules find in an element, by default all rules; the panels in which a rule was met."""
        panels, found = self.page.evaluate(RUN, [selector, list(rules)])
        self.found += [f"{self.setting}, {selector}: {row}" for row in found if row[0] not in MINOR]
        return set(panels)

    def tabs(self) -> Iterator[str]:
        """Show tab by tab; the name of each."""
        names = self.page.locator("[data-tab-of]:not([hidden])").evaluate_all("all => all.map(t => t.dataset.tabOf)")
        assert len(names) >= 6
        for name in names:
            self.page.locator(f'[data-tab-of="{name}"]').evaluate("tab => tab.click()")
            yield name


@pytest.mark.parametrize("document", ["widget", "report"])
def test_axe_finds_nothing_in_any_tab_size_theme_and_contrast(
    harness: str, chromium: Browser, axe: str, tmp_path: Path, document: str
) -> None:
    page = chromium.new_page()
    page.goto(harness if document == "widget" else report(tmp_path).as_uri())
    examined = Axe(page, axe)
    for size in (WIDE, NARROW, ZOOMED):
        examined.show(size, "light")
        examined.examine()
        for name in examined.tabs():
            examined.examine(f'[data-panel="{name}"]', () if size == WIDE else LAYOUT_RULES)

    page.add_style_tag(content=ALL_PANELS)
    panels = set(page.locator("[data-panel]").evaluate_all("panels => panels.map(p => p.dataset.panel)"))
    for size in (WIDE, NARROW):
        for theme, forced in COLOURS:
            examined.show(size, theme, forced)
            assert examined.examine(rules=COLOUR_RULES) == panels

    assert examined.found == []
    page.close()


CONTROLS = "button, select, input, textarea, summary, a[href], svg[tabindex]"
NOTE_WALKED = "() => document.addEventListener('focusin', (e) => e.target.setAttribute('data-walked', ''))"
NOT_WALKED = f"""() => [...document.querySelectorAll(".prism-explore :is({CONTROLS})")]
  .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !e.hasAttribute("data-walked"))
  .map((e) => e.outerHTML.slice(0, 120))"""


def walk(page: Page, start: str) -> None:
    """Press Tab until every control after an element has had the focus."""
    page.locator(start).first.focus()
    for _ in range(10):
        left = page.evaluate(NOT_WALKED)
        if not left:
            return
        for _ in range(len(left) + 5):  # what has the focus only as one of a group takes a key, too
            page.keyboard.press("Tab")


@pytest.mark.parametrize("document", ["widget", "report"])
def test_tab_reaches_every_control_of_every_tab(harness: str, chromium: Browser, tmp_path: Path, document: str) -> None:
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.goto(harness if document == "widget" else report(tmp_path).as_uri())
    page.wait_for_selector(".prism-explore [data-ref]")
    page.evaluate(NOTE_WALKED)
    walk(page, ".prism-explore")
    assert page.evaluate(NOT_WALKED) == []
    names = page.locator("[data-tab-of]:not([hidden])").evaluate_all("all => all.map(t => t.dataset.tabOf)")
    for name in names[1:]:
        page.locator(".prism-explore").focus()
        page.keyboard.press(str(names.index(name) + 1))
        walk(page, f'[data-tab-of="{name}"]')
        assert page.evaluate(NOT_WALKED) == [], name
    page.close()


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


def test_rows_filter_find_and_help_are_used_with_the_keyboard_alone(harness: str, chromium: Browser) -> None:
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.goto(harness)
    page.wait_for_selector(".prism-explore [data-ref]")
    walk_rows(page)

    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.name") == "status"
    page.keyboard.press("Escape")
    assert page.locator(".pe-filter[open]").count() == 0
    page.keyboard.press("?")
    help = page.locator(".pe-help")
    assert help.is_visible()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.pe-help') !== null")
    page.keyboard.press("Escape")
    assert not help.is_visible()
    assert page.evaluate("document.activeElement.closest('.prism-explore') !== null")
    page.close()
