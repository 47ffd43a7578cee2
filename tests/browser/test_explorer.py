"""A person's ten minutes, driven: notebook 00 in a real JupyterLab, cell by cell, every click for real."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Lab, LabPage

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOK = ROOT / "notebooks" / "00_ten_minutes.ipynb"
PICTURE = ROOT / ".out" / "browser" / "explorer.png"


def counter(explorer: Locator, word: str) -> int:
    said = explorer.get_by_label("counts").locator("li", has_text=word).locator("strong").inner_text()
    return int(said.replace(",", ""))


def facts(page: LabPage) -> list[dict[str, object]]:
    """Kinds and subjects of the facts in the reader's own session, from the kernel."""
    code = (
        "import json; print(json.dumps([{'kind': type(e).__name__, 'action': getattr(e, 'action', ''), "
        "'subject': getattr(e, 'subject', '')} for e in small.journal.events]), end='')"
    )
    return json.loads(page.python(code))


def test_a_reader_steps_rejects_undoes_runs_to_the_end_and_reads_the_best_kernel(lab: Lab, lab_page: LabPage) -> None:
    page = lab_page.page
    lab_page.open(lab.add_notebook(NOTEBOOK))
    lab_page.choose(lab_page.cells.first)
    lab_page.shift_enter_until("small = px.Session", timeout_s=600)
    explorer = page.locator(".prism-explore").last
    explorer.scroll_into_view_if_needed()
    state = explorer.locator(".pe-state")
    expect(state).to_have_text(re.compile("^ready"))
    expect(page.locator(".prism-explore-picture").last).to_be_hidden()

    # Step: one family, and the search waits.
    explorer.get_by_label("size of one step").select_option("family")
    explorer.get_by_role("button", name="Step", exact=True).click()
    expect(state).to_have_text(re.compile("^paused"), timeout=60_000)
    expect(explorer.get_by_role("tab", name="Families")).to_be_visible()
    row = explorer.get_by_role("row").filter(has_text="f1")
    expect(row.first).to_be_visible(timeout=10_000)
    assert 1 == sum(f["kind"] == "FamilyCompleted" for f in facts(lab_page))

    # Reject it, and take that back: both are facts of the search, and the picture follows them.
    row.first.get_by_role("button", name=re.compile("reject", re.I)).click()
    expect(row.first).to_contain_text("rejected")
    explorer.get_by_role("button", name="Undo", exact=True).click()
    expect(row.first).not_to_contain_text("rejected")
    steered = [(f["action"], f["subject"]) for f in facts(lab_page) if f["kind"] == "Steered"]
    assert [("reject", "f1"), ("undo", "f1")] == steered

    # Run to the end.
    explorer.locator("[data-command=resume], [data-command=start]").click()
    expect(state).to_have_text(re.compile("^finished"), timeout=240_000)
    assert counter(explorer, "proved") >= 1
    assert counter(explorer, "refuted") == 0
    assert counter(explorer, "pruned") > 10

    # The best kernel's figures, as the picture and as Python say them.
    best = explorer.locator(".pe-best")
    expect(best).to_contain_text("measured")
    expect(best).to_contain_text("torch eager")
    best.click()
    explorer.get_by_role("tab", name="Tuning").click()
    explorer.get_by_role("tab", name="E-classes").click()
    explorer.get_by_role("tab", name="Code").click()
    code = explorer.locator("[data-panel=code]")
    code.get_by_role("button", name="CPU source").click()
    expect(code.locator(".pe-listing")).to_contain_text("parallel for")
    assert float(lab_page.python("small.best().error")) < 1e-4

    # The exercises: blank, a common mistake, the answer.
    lab_page.choose(lab_page.cells.filter(has_text="for letter, statement in"))
    cell = lab_page.shift_enter_until("00-a")
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text("not yet")
    expect(lab_page.answer(cell, 'not_claimed = {"B", "D"}')).to_contain_text("order may be another one at others")
    expect(lab_page.answer(cell, 'not_claimed = {"B", "D", "F"}')).to_contain_text("exercise 00-a: right")
    cell = lab_page.shift_enter_until("00-b")
    expect(lab_page.answer(cell, "covered = [(4, 8), (64, 64), (1, 1)]")).to_contain_text("exercise 00-b: right")
    assert (lab_page.page_errors, lab_page.console_errors) == ([], [])

    explorer.get_by_role("tab", name="Families").click()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    explorer.screenshot(path=PICTURE)
    assert PICTURE.stat().st_size > 20_000
