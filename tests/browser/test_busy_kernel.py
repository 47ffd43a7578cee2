"""The explorer with 5,000 events: what a click costs, in counts, and whether Pause is obeyed while a cell runs."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, expect

from benchmarks.explorer_time import CLICK_S, LOOK_BACK_S, PAUSE_S
from tests.browser.lab import EXECUTE, Lab, LabPage

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow, pytest.mark.timeout(300)]

EVENTS = 5_000
SEARCH = f"""
from dataclasses import replace
import json
import prism_explore as px
row = px.workload("ntrans")
space = px.Session(row.code, inputs=row.inputs, at=row.at, target="h100").task.space
space = replace(space, rules_off=frozenset({{"expr.apart", "expr.unreachable"}}), nodes=10**6)
sess = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100", space=space)
sess.step({EVENTS})
"""
COUNTED = """
from prism_explore.widgets.explorer import Explorer
from prism_explore.widgets.panels.context import Folds
counted = {"messages": [], "read": 0}
send, add = Explorer._send_message, Folds.add
def counted_send(self, message):
    counted["messages"].append(len(json.dumps(message)))  # before the browser can show it
    send(self, message)
def counted_add(self, entry):
    counted["read"] += 1
    add(self, entry)
Explorer._send_message, Folds.add = counted_send, counted_add
"""
MAX_ELEMENTS = 15_000
MESSAGE_BYTES = 256 * 1024
CLICK_BYTES = 100 * 1024
"""More than an inspector and a graph take, less than the map and the table of families."""


def counted(lab_page: LabPage) -> dict[str, list[int] | int]:
    """What was counted since the last call."""
    text = lab_page.python("last, counted = counted, {'messages': [], 'read': 0}; print(json.dumps(last))")
    found: dict[str, list[int] | int] = json.loads(text)
    return found


def families(explorer: Locator) -> list[str]:
    refs: list[str] = explorer.locator("tr[data-ref]").evaluate_all("rows => rows.map(row => row.dataset.ref)")
    return [ref for ref in dict.fromkeys(refs) if ref.startswith("f") and "." not in ref]


def test_a_click_is_small_and_pause_is_obeyed_while_a_cell_runs(lab: Lab, lab_page: LabPage) -> None:
    lab_page.open(lab.write_notebook("busy.ipynb", [SEARCH + COUNTED, "sess"]))
    lab_page.run_all()
    page, explorer = lab_page.page, lab_page.page.locator(".prism-explore")
    explorer.locator("tr[data-ref]").first.wait_for(timeout=60_000)
    page.wait_for_timeout(2_000)  # hidden panels and sizes have been sent
    first = counted(lab_page)
    assert first["read"] == EVENTS
    assert max(first["messages"]) < MESSAGE_BYTES  # type: ignore[arg-type]
    assert page.evaluate("document.querySelectorAll('*').length") < MAX_ELEMENTS

    times_s: dict[str, list[float]] = {"click": [], "look back": [], "pause": []}
    for ref in families(explorer)[1:4]:
        times_s["click"].append(explorer.evaluate(CLICK_S, ref))
        click = counted(lab_page)
        assert click["read"] == 0
        assert 1 <= len(click["messages"]) <= 4  # type: ignore[arg-type]
        assert sum(click["messages"]) < CLICK_BYTES  # type: ignore[arg-type]
    for event in (EVENTS // 2, EVENTS // 5):
        times_s["look back"].append(explorer.evaluate(LOOK_BACK_S, event))
    assert counted(lab_page)["read"] == 0

    explorer.locator(".pe-when").click()
    state = explorer.locator(".pe-state")
    for _ in range(2):
        page.evaluate(f"code => {{ window.ran = ({EXECUTE})(code); }}", "sess.run()")
        expect(state).to_have_attribute("data-state", "running", timeout=30_000)
        times_s["pause"].append(explorer.evaluate(PAUSE_S))
        assert times_s["pause"][-1] is not None, "Pause was not obeyed within 30 s"
        assert page.evaluate("async () => (await window.ran).failed") is False

    assert lab_page.python("print(sess.state)").strip() == "paused"
    assert lab_page.page_errors == []
    print({name: [round(s, 3) for s in times] for name, times in times_s.items()})
