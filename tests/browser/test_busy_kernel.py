"""The explorer while a cell runs: a click is handled, though the kernel is busy."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.lab import EXECUTE, Lab, LabPage

pytestmark = [pytest.mark.serial, pytest.mark.needs_browser, pytest.mark.slow, pytest.mark.timeout(300)]

LONG_SEARCH = """
from dataclasses import replace
import prism_explore as px
row = px.workload("ntrans")
space = px.Session(row.code, inputs=row.inputs, at=row.at, target="h100").task.space
space = replace(space, rules_off=frozenset({"expr.apart", "expr.unreachable"}), nodes=10**6)
sess = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100", space=space)
sess.step(500)
"""


def test_pause_is_obeyed_while_a_cell_runs_the_search(lab: Lab, lab_page: LabPage) -> None:
    lab_page.open(lab.write_notebook("busy.ipynb", [LONG_SEARCH, "sess"]))
    lab_page.run_all()
    explorer = lab_page.page.locator(".prism-explore")
    state = explorer.locator(".pe-state")
    for _ in range(2):
        lab_page.page.evaluate(f"code => {{ window.ran = ({EXECUTE})(code); }}", "sess.run()")
        expect(state).to_have_attribute("data-state", "running", timeout=30_000)
        explorer.locator("[data-command=pause]").click()

        expect(state).to_have_attribute("data-state", "paused", timeout=10_000)
        assert lab_page.page.evaluate("async () => (await window.ran).failed") is False

    assert json.loads(lab_page.python("print(str(sess.state == 'paused').lower())"))
    assert lab_page.page_errors == []
