"""A chapter as a student walks through it: cell by cell, its picture moved, an exercise answered wrong and then right.

Notebook 00 is walked by `test_explorer.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from prism_explore.course.chapters.kernels_inside_kernels import COLUMNS, SIZES
from prism_explore.course.frames import frames
from prism_explore.course.tiles import tile_scene
from tests.browser.lab import Lab, LabPage
from tests.browser.test_hosts import CLOSED

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow, pytest.mark.timeout(300)]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def drawn(picture: Locator) -> int:
    return picture.locator(".item").count()


def test_a_student_moves_the_egraph_and_answers_the_exercises_of_notebook_05(lab: Lab, lab_page: LabPage) -> None:
    page = lab_page.page
    lab_page.open(lab.add_notebook(NOTEBOOKS / "05_egraphs_step_by_step.ipynb"))
    lab_page.choose(lab_page.cells.first)
    first = lab_page.shift_enter_until("growing(grow(")

    # The picture: its slider by mouse and by keys, which JupyterLab must not take as its own; a class is selected.
    picture = first.locator(".prism-frames.prism-scene")
    said, slider = picture.locator(".pe-said"), picture.get_by_label("step")
    expect(said).to_contain_text("frame 0 of 2")
    before = drawn(picture)
    left = picture.locator("[data-ref$='.e8']").first
    left.click(position={"x": 12, "y": 8})
    expect(left).to_have_class(re.compile("selected"))
    slider.focus()
    for step in (1, 2):
        page.keyboard.press("ArrowRight")
        expect(picture.locator("output")).to_have_text(str(step))
    expect(picture.locator("text", has_text="both sides are in one class")).to_be_visible()
    assert drawn(picture) > before
    expect(picture.locator(".item.selected")).to_have_count(0)  # the class was merged into another one

    # Shift+Enter goes on from the slider. The first exercise: blank, a common mistake, the answer.
    cell = lab_page.shift_enter_until("05-a")
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text("not yet")
    expect(lab_page.answer(cell, 'missing = "distribute"')).to_contain_text("distribute is about a sum of two terms")
    expect(lab_page.answer(cell, 'missing = "sum of a multiple"')).to_contain_text("exercise 05-a: right")

    cell = lab_page.shift_enter_until("05-b")
    answer = 'few = {"mul commutes", "mul associates", "sum of a multiple"}'
    expect(lab_page.answer(cell, answer)).to_contain_text("exercise 05-b: right")
    lab_page.shift_enter_until("px.certify")
    assert (lab_page.page_errors, lab_page.console_errors) == ([], [])


def test_a_picture_works_without_kernel_and_server_under_a_closed_policy(chromium: Browser) -> None:
    shown = frames(
        lambda block, iteration: tile_scene(COLUMNS, {"x": block, "i": iteration}, SIZES),
        {"block": range(4), "iteration": range(8)},
    )
    page = chromium.new_page(viewport={"width": 720, "height": 500})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{CLOSED}">'
    page.set_content(f"<!doctype html>{policy}<body data-theme='dark'>{shown._repr_html_() * 2}")

    picture = page.locator(".prism-frames.prism-scene").last
    picture.get_by_label("block").fill("2")
    picture.get_by_label("iteration").fill("3")

    assert page.locator(".prism-frames.prism-scene").count() == 2
    expect(picture).to_have_attribute("data-theme", "dark")
    expect(picture.locator("text", has_text="load w[24:32, 48:72]")).to_be_visible()
    picture.get_by_role("button", name="show as a table").click()
    expect(picture.locator("caption")).to_contain_text("x = 2, i = 3")
    assert errors == []
    page.close()
