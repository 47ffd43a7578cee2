"""A newcomer's first minutes: nothing moves under the pointer, texts are readable, a dead kernel looks dead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import Lab, LabPage
from tests.browser.test_report import report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

CELLS = (
    """
import prism_explore as px
def rms_linear(x, w):
    return x / x.square().mean(-1, keepdim=True).sqrt() @ w
sess = px.Session(rms_linear, x=px.T("b", 64), w=px.T(64, 64), target="cpu", at={"b": 8})
sess.run(until=lambda s: any(f.row.proved for f in s.families.values()))
""",
    "sess",
)

TEXT_PX = """root => {
  // A label in a zoomed picture is as high as its font size times the scale on the screen.
  const sizes = [];
  for (const e of root.querySelectorAll('*')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const box = e.getBoundingClientRect();
    if (box.width < 2 || getComputedStyle(e).clipPath !== 'none' || e.closest('style, title, desc')) continue;
    const scale = e.ownerSVGElement && e.getScreenCTM ? e.getScreenCTM().a : 1;
    sizes.push([parseFloat(getComputedStyle(e).fontSize) * scale, e.textContent.trim().slice(0, 30)]);
  }
  return sizes.filter(([px]) => px < 11.99);
}"""
SMALL_TARGETS = """root => [...root.querySelectorAll('button, select, input, [role=tab]')]
  .map(e => [e, e.getBoundingClientRect()])
  .filter(([e, b]) => b.width > 1 && (b.height < 23.5 || b.width < 23.5) && e.type !== 'checkbox'
    && !e.matches('.pe-link, .pe-python, input[type=range]'))
  .map(([e, b]) => `${e.className} ${e.textContent.slice(0, 20)} ${b.width} x ${b.height}`)"""


def opened(chromium: Browser, path: Path, width: int, height: int) -> tuple[Page, Locator]:
    page = chromium.new_context(viewport={"width": width, "height": height}).new_page()
    page.goto(path.as_uri())
    explorer = page.locator(".prism-explore")
    explorer.locator(".pe-result strong").wait_for()
    return page, explorer


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (700, 900), (484, 500)])
def test_texts_are_readable_targets_are_large_and_the_winner_is_visible(
    chromium: Browser, tmp_path: Path, width: int, height: int
) -> None:
    page, explorer = opened(chromium, report(tmp_path), width, height)
    small: list[object] = []
    for tab in explorer.get_by_role("tab").all():
        if tab.is_visible() or width < 900:
            tab.evaluate("tab => tab.click()")
            page.wait_for_timeout(60)
            small += explorer.evaluate(TEXT_PX)
    header = explorer.locator(".pe-transport").bounding_box()
    winner = explorer.locator(".pe-result strong").bounding_box()

    assert small == []
    assert explorer.evaluate(SMALL_TARGETS) == []
    assert header is not None and header["height"] <= max(130, height / 4)
    assert winner is not None and 0 <= winner["x"] and winner["x"] + winner["width"] <= width
    page.context.close()


def test_tabs_that_do_not_fit_are_reached_with_a_button(chromium: Browser, tmp_path: Path) -> None:
    page, explorer = opened(chromium, report(tmp_path), 484, 700)
    last = explorer.get_by_role("tab").last
    later = explorer.get_by_role("button", name="later tabs")
    for _ in range(6):
        if later.is_visible():
            later.click()
            page.wait_for_timeout(50)
    last.click()

    assert last.get_attribute("aria-selected") == "true"
    assert not later.is_visible()
    page.context.close()


def test_separators_are_dragged_and_remembered(chromium: Browser, tmp_path: Path) -> None:
    page, explorer = opened(chromium, report(tmp_path), 1300, 900)

    def widths() -> list[int]:
        return [explorer.locator(f"[data-panel={n}]").evaluate("e => e.clientWidth") for n in ("graph", "inspector")]

    graph, inspector = widths()
    assert abs(graph - inspector) < 4
    box = explorer.locator("[data-splitter=inspector]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] - 117, box["y"] + 60, steps=4)
    page.mouse.up()
    assert widths()[1] - inspector == pytest.approx(120, abs=12)
    page.reload()
    explorer.locator(".pe-result strong").wait_for()
    assert widths()[1] - inspector == pytest.approx(120, abs=12)

    explorer.locator("[data-splitter=inspector]").dblclick()
    assert widths() == pytest.approx([graph, inspector], abs=2)
    page.context.close()


@pytest.mark.timeout(600)
def test_nothing_moves_when_a_row_changes_and_nothing_is_alive_without_its_kernel(lab: Lab, lab_page: LabPage) -> None:
    from playwright.sync_api import expect

    page = lab_page.page
    lab_page.open(lab.write_notebook("first.ipynb", CELLS))
    lab_page.run_all(timeout_s=240)
    explorer = page.locator(".prism-explore").last
    explorer.scroll_into_view_if_needed()
    row = explorer.locator("[data-panel=families] tbody tr").first
    accept, reject = (row.locator(f"[data-command={c}]") for c in ("accept", "reject"))
    before = (accept.bounding_box(), reject.bounding_box())
    reject.click()
    expect(row).to_contain_text("rejected")
    assert (accept.bounding_box(), reject.bounding_box()) == before
    explorer.get_by_role("button", name="Undo", exact=True).click()
    expect(row).not_to_contain_text("rejected")
    assert (accept.bounding_box(), reject.bounding_box()) == before

    # Keys inside the explorer are no shortcuts of the notebook: `d` twice deletes no cell, and an arrow moves a slider.
    row.focus()
    for key in ("d", "d", "y", "ArrowDown"):
        page.keyboard.press(key)
    assert page.locator(".jp-CodeCell").count() == len(CELLS)
    explorer.get_by_role("tab", name="Sizes").click()
    slider = explorer.get_by_label("b: size of the program")
    slider.focus()
    value = slider.input_value()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() == str(int(value) + 1)
    explorer.get_by_role("tab", name="Families").click()

    # Looking back, a click on reject does nothing and says why; one click leads back.
    explorer.get_by_label("show an earlier state").fill(lab_page.python("print(len(sess.journal) - 1, end='')"))
    banner = explorer.locator(".pe-banner")
    expect(banner).to_contain_text("Earlier state")
    expect(reject).to_have_attribute("title", re.compile("would change the present search"))
    banner.get_by_role("button", name="Back to now").click()
    expect(banner).to_be_hidden()
    steering = "print(len([e for e in sess.journal.events if type(e).__name__ == 'Steered']), end='')"
    assert lab_page.python(steering) == "2"

    # Cancel asks first.
    explorer.get_by_role("button", name="Cancel", exact=True).click()
    explorer.get_by_role("button", name="Keep searching").click()
    assert lab_page.python("sess.state") == "'paused'"

    # A restarted kernel: the banner says what can be done, and no command is enabled.
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(banner).to_contain_text("Run the cell that shows the explorer again", timeout=30_000)
    commands = explorer.locator("[data-command]:visible")
    assert commands.count() > 4
    for command in commands.all():
        assert command.get_attribute("aria-disabled") == "true" or command.is_disabled()
