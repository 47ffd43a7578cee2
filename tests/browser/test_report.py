"""A report: one HTML file, opened from the disk in a real browser, with nothing behind it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ExplorationStarted
from prism_explore.ir.text import show
from prism_explore.session.record import Record
from tests.widgets.fakes import PRUNED, program
from tests.widgets.recordings import story

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]

HOSTILE = "</script><img src=x onerror=\"document.title='hurt'\"><script>document.title='hurt'</script><!--"
CLICK_ALL = """async () => {
  const [wrong, clicked] = [[], new Set()];
  const all = () => [...document.querySelectorAll(".prism-explore [data-ref]")];
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.click();
    for (const ref of new Set(all().map((e) => e.dataset.ref))) {
      if (clicked.has(ref)) continue;
      clicked.add(ref);
      const shown = all().find((e) => e.dataset.ref === ref);
      if (!shown) continue;
      shown.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      const caption = () => document.querySelector("[data-panel=inspector] .pe-caption").textContent;
      for (let n = 0; n < 200 && caption() !== ref; n++) await new Promise((done) => setTimeout(done, 5));
      if (caption() !== ref) wrong.push(`${ref} opens ${caption()}`);
    }
  }
  return wrong;
}"""
"""Clicks every picture and row of a page, tab by tab; returns what opens something else."""


def report(tmp_path: Path) -> Path:
    journal = Journal(clock=lambda: 0.0)
    journal.append(ExplorationStarted(show(program()), "cpu", 0, {}, (), (("b", 8),)))
    for event in story()[1:-1]:
        journal.append(event)
    journal.append(
        replace(PRUNED, operator=f"matmul({HOSTILE})", reason=replace(PRUNED.reason, code="hostile", rule="hostile"))
    )
    journal.append(story()[-1])
    path = tmp_path / "report.html"
    Record(journal).report(path)
    return path


def test_a_report_opens_from_the_disk_and_everything_in_it_can_be_selected(chromium: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    path = report(tmp_path)
    page.goto(path.as_uri())
    explorer = page.locator(".prism-explore")
    inspector = explorer.locator("[data-panel=inspector]").first
    expect(inspector).to_contain_text("Result")

    explorer.get_by_role("row").filter(has_text="f1").first.click()
    expect(inspector).to_contain_text("f1: a family")
    expect(explorer.locator("[data-panel=graph]")).to_contain_text("maps are unbound")
    explorer.locator("[data-panel=graph] .pe-chip", has_text="f1.c1").first.click()
    expect(inspector).to_contain_text("f1.c1: a candidate")
    expect(inspector.locator(".pe-card").first).to_contain_text("Evidence")
    explorer.locator("[data-panel=map] g.item[data-ref=p3]").first.click()
    expect(inspector).to_contain_text("p3: a pruned subtree")
    expect(explorer.locator("[data-command=step]")).to_be_hidden()

    explorer.get_by_role("row").filter(has_text="f2").first.click()
    inspector.get_by_role("button", name="Reject f2").click()
    expect(page.locator(".prism-refused")).to_contain_text("open the saved search in a notebook")
    expect(page.locator(".prism-refused button")).to_have_text("Copy sess.reject('f2')")

    explorer.locator(".pe-moment").evaluate("s => { s.value = '12'; s.dispatchEvent(new Event('input')); }")
    expect(explorer.locator(".pe-banner")).to_contain_text("event 12 of")
    expect(explorer.locator("[data-panel=families] tr[data-ref]")).to_have_count(0)
    explorer.locator(".pe-when").click()
    expect(explorer.locator("[data-panel=families] tr[data-ref]").first).to_be_visible()
    explorer.locator("[data-panel=map] g.item[data-ref=n2]").first.dblclick()
    expect(explorer.locator("[data-panel=map]")).to_contain_text("zoomed into n2")

    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download the search").click()
    downloading.value.save_as(tmp_path / "saved.prism")
    assert Journal.load(path).entries == Journal.load(tmp_path / "saved.prism").entries
    assert [] == page.evaluate(CLICK_ALL)

    assert [path.as_uri()] == [url for url in asked if not url.startswith("blob:")]
    assert [] == errors
    context.close()


def test_an_earlier_moment_of_a_report_has_every_mode_of_the_map_and_the_filter(
    chromium: Browser, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(report(tmp_path).as_uri())
    explorer = page.locator(".prism-explore")
    the_map = explorer.locator("[data-panel=map]")
    explorer.locator(".pe-moment").evaluate("s => { s.value = '24'; s.dispatchEvent(new Event('input')); }")
    expect(explorer.locator(".pe-banner")).to_contain_text("event 24 of")

    the_map.get_by_role("button", name="Tree", exact=True).click()
    expect(the_map.locator("g.item[data-id='close#n0']")).to_be_visible()
    the_map.locator("g.item[data-id='close#n0']").click()
    expect(the_map.locator("g.item[data-id='open#n0']")).to_be_visible()
    the_map.get_by_role("button", name="Reasons", exact=True).click()
    expect(the_map.locator("g.item.k-bar").first).to_be_visible()
    the_map.get_by_role("button", name="Time", exact=True).click()
    expect(the_map.locator("g.item[data-id=later]")).to_have_count(1)

    explorer.locator(".pe-filter > summary").click()
    explorer.locator(".pe-filterform select[name=status]").select_option("pruned")
    explorer.locator(".pe-filterform").get_by_role("button", name="Add").click()
    expect(explorer.locator(".pe-filters")).to_contain_text("status: pruned")
    expect(the_map.locator("g.item[data-ref=n1]").first).to_have_class(re.compile("filtered"))
    explorer.get_by_role("tab", name="Summary").click()
    expect(explorer.locator("[data-panel=ledger]")).to_contain_text("of 24 events.")
    explorer.get_by_role("button", name="show everything").click()
    expect(explorer.locator(".pe-filters")).to_be_hidden()

    assert [] == errors
    context.close()


def test_hostile_names_are_texts_in_every_panel_and_at_every_moment(chromium: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    context = chromium.new_context()
    page = context.new_page()
    page.goto(report(tmp_path).as_uri())
    tabs = page.get_by_role("tab")
    for moment in (1, 20, 40, 1000):
        slider = page.locator(".pe-moment")
        slider.evaluate("(s, n) => { s.value = String(n); s.dispatchEvent(new Event('input')); }", moment)
        for tab in tabs.all():
            tab.click(force=True)
            assert "rmsnorm_linear on cpu" == page.title()
            assert 0 == page.locator("#prism-here img, #prism-here script").count()
    page.get_by_role("tab", name="Summary").click()
    page.get_by_role("row").filter(has_text="hostile").first.click()

    expect(page.locator("[data-panel=inspector]").first).to_contain_text(HOSTILE)
    assert "rmsnorm_linear on cpu" == page.title()
    context.close()


def test_a_damaged_report_says_so(chromium: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = report(tmp_path)
    text = path.read_text(encoding="utf-8")
    start = text.index('id="prism-report">') + len('id="prism-report">')
    path.write_text(text[: start + 200] + text[start + 260 :], encoding="utf-8")
    page = chromium.new_page()
    page.goto(path.as_uri())

    expect(page.get_by_role("alert")).to_contain_text("damaged")
    page.close()
