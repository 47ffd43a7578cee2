"""What is done with the mouse alone, on one page: separators, sliders of sizes, the brush over tuning parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.live_page import LivePage
from tests.widgets.fakes import FakeSession
from tests.widgets.recordings import story

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]


# The numbers that do not fit into their cells; a part of a pixel is enough for an ellipsis.
CUT_NUMBERS = """() => [...document.querySelectorAll("[data-panel=ledger] td.pe-right")].filter((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  const { paddingLeft, paddingRight } = getComputedStyle(cell);
  const room = cell.getBoundingClientRect().width - parseFloat(paddingLeft) - parseFloat(paddingRight);
  return text.getBoundingClientRect().width > room + 0.01;
}).map((cell) => cell.textContent)"""


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def box(element: Locator) -> dict[str, float]:
    """The place of an element, once it stays there: a picture is drawn again when its width is known."""
    found = None
    for _ in range(50):
        before, found = found, element.bounding_box()
        if found is not None and found == before:
            return dict(found)
        element.page.wait_for_timeout(200)
    pytest.fail(f"{element} has no place")


def test_separators_sizes_and_the_brush_follow_the_mouse(chromium: Browser) -> None:
    from playwright.sync_api import expect

    from prism_explore.widgets.explorer import Explorer

    session = FakeSession(story()[:-1], "paused")
    widget = Explorer(session)  # type: ignore[arg-type]
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    live = LivePage(page, widget)
    root = page.locator(".prism-explore")
    splitter = root.locator("[data-splitter=dock]")
    splitter.wait_for()
    place = box(splitter)
    middle = place["x"] + place["width"] / 2
    drag(page, (middle, place["y"] + 3), (middle, place["y"] - 97))
    assert box(splitter)["y"] == pytest.approx(place["y"] - 100, abs=12)

    root.get_by_role("tab", name="Sizes").click()
    sizes = root.locator("[data-panel=sizes]")
    slider = sizes.locator("input[type=range]:enabled").first
    slider.wait_for()
    before = slider.input_value()
    at = box(slider)
    drag(page, (at["x"] + 8, at["y"] + at["height"] / 2), (at["x"] + at["width"] - 4, at["y"] + at["height"] / 2))
    expect(slider).not_to_have_value(before)
    expect(sizes.locator(".pe-figures")).not_to_be_empty()

    root.get_by_role("tab", name="Tuning").click()
    tuning = root.locator("[data-panel=tuning]")
    tuning.get_by_role("button", name="Parameters", exact=True).click()
    low, high = (tuning.locator(f"[data-handle$='/{end}']").first for end in ("low", "high"))
    low.wait_for()
    start, end = box(low), box(high)
    x = start["x"] + start["width"] / 2
    drag(page, (x, start["y"] + start["height"] / 2), (x, (start["y"] + end["y"]) / 2))
    restrict = tuning.locator("[data-command=restrict]").first
    restrict.click()
    expect(root.locator(".pe-python").first).to_contain_text("restrict")

    name, args = session.submitted[-1]
    assert name == "restrict"
    assert args["low"] <= args["high"]

    page.set_viewport_size({"width": 960, "height": 1000})
    root.get_by_role("tab", name="Summary").click()
    expect(root.locator("[data-panel=ledger] tbody tr[data-ref]").first).to_be_visible()
    page.set_viewport_size({"width": 1400, "height": 1000})  # the cells of a wider table have more room at their sides
    page.wait_for_function(f"() => ({CUT_NUMBERS})().length === 0", timeout=5_000)
    assert live.errors == []
    page.close()
    widget.close()
