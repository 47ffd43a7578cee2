"""Forks and comparisons in a real browser: what is clicked is shown, side by side, in light and dark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import prism_explore as px
from prism_explore.pipeline.search_space import default_space
from tests.browser.live_page import DARK, LIGHT, LivePage
from tests.generate.programs import rms_linear_small

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]
PROGRAM = rms_linear_small()


def searched(**limits: int) -> px.Session:
    space = replace(default_space(PROGRAM), **limits)  # type: ignore[arg-type]
    sess = px.Session(PROGRAM, target="h100", at={"b": 4}, space=space)
    sess.run()
    return sess


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (700, False)])
def test_a_difference_is_selected_in_both_searches_side_by_side(chromium: Browser, width: int, dark: bool) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    window = px.compare(searched(), searched(block_ops=6, results=0)).window()  # type: ignore[misc]
    live = LivePage(page, window, DARK if dark else LIGHT)
    page.locator(".pe-compare-tables tr[data-ref]").first.click()
    a, b = page.locator(".pe-compare-sides .pe-panel").all()
    a.get_by_text("a partial sGraph").wait_for()
    b.get_by_text("limit.ops").first.wait_for()
    # The map is drawn again when its width is known, so the selected block may be replaced meanwhile.
    page.wait_for_function(
        "() => document.querySelector('[data-stage=merged] .item.selected')?.getBoundingClientRect().width > 2"
    )
    boxes = a.bounding_box(), b.bounding_box()
    assert boxes[0] is not None and boxes[1] is not None
    assert abs(boxes[0]["y"] - boxes[1]["y"]) < 2 and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] + 2
    small = page.evaluate("""() => [...document.querySelectorAll(
        '.pe-compare-tools button, .pe-compare-tools input, .pe-first button')]
        .filter((e) => e.getBoundingClientRect().height < 24).map((e) => e.textContent)""")
    assert small == []
    assert live.errors == []
    page.close()
    window.close()


def test_a_click_forks_an_earlier_state_and_leads_back_and_compares(chromium: Browser) -> None:
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    sess = searched(block_ops=6, results=0)
    live = LivePage(page, sess.widget)
    page.locator(".pe-tabs [data-tab-of=compare]").wait_for()
    sess.widget._receive(sess.widget, {"kind": "look", "cursor": 60})
    page.get_by_role("button", name="Fork from here").click()
    page.locator(".pe-lineage [aria-current]").get_by_text("fork 1 at event 60").wait_for()
    page.locator(".pe-tabs [data-tab-of=compare]").click()
    page.get_by_role("button", name="Compare with its parent").click()
    page.locator(".pe-first").get_by_text("B, event 61").wait_for()
    page.locator(".pe-lineage").get_by_role("button", name="rms_linear_small", exact=True).click()
    page.get_by_text("finished · 160 events").wait_for()

    assert len(sess.forks) == 1
    assert live.errors == []
    page.close()
    sess.widget.close()
