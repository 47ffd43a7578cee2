"""How quick is the explorer with a large search: in Python, and in a headless Chromium in a real JupyterLab.

    .venv/bin/python benchmarks/explorer_time.py
    .venv/bin/python benchmarks/explorer_time.py --events 5000 --repeat 3 --json
    .venv/bin/python benchmarks/explorer_time.py --made-up --events 1000000 --repeat 3

The search is `ntrans` without the rules that compare abstract expressions, so that its families are many, stopped after
so many events, and saved; with `--made-up` it is a made-up journal, of which only load, first paint, click, look back,
DOM and heap are measured. Measured are, as medians of `--repeat` unless stated otherwise:

    load               px.load, in a fresh process
    load, notebook     px.load in the kernel of a notebook, where it imports the explorer too, one run
    first paint        from showing the explorer of the loaded search to a row of its table of families
    click              from a click on a family to its name in the inspector
    look back          from a move of the time slider to the earlier state
    DOM, heap          number of elements of the page; JavaScript heap after a collection
    click, searching   the click again, while the search goes on from there in the background
    pause              from a click on Pause to the state "paused", one run; again while a cell runs `sess.run()`
    click, certificate the click again, while a thread of the kernel replays one certificate again and again
    click, audit       the click again, while a thread of the kernel audits one pruned region after another
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Locator, expect, sync_playwright  # noqa: E402

from benchmarks.machine_info import run_header  # noqa: E402
from tests.browser.lab import CHROMIUM_FLAGS, EXECUTE, RUN_ALL, Lab, LabPage, running_lab  # noqa: E402
from tests.conftest import find_browser  # noqa: E402

FILE = "large.prism"
SEARCH = """
from dataclasses import replace
import prism_explore as px
row = px.workload("ntrans")
space = px.Session(row.code, inputs=row.inputs, at=row.at, target="h100").task.space
space = replace(space, rules_off=frozenset({"expr.apart", "expr.unreachable"}), nodes=10**6, families=10**6)
sess = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100", space=space)
"""
MADE_UP = """
from prism_explore.events.journal import Journal
from tests.widgets.made_up_search import made_up_search
journal = Journal()
for event in made_up_search({events}):
    journal.append(event)
journal.save({file!r})
print(len(journal))
"""
WORK = """
import itertools, threading
from prism_explore.events.journal import Journal
from prism_explore.events import kinds
from prism_explore.session.record import Record
verified = (kinds.ExplorationStarted, kinds.FamilyCompleted, kinds.CandidateInstantiated, kinds.VerdictReached)
verified = [event for event in sess.journal.events if isinstance(event, verified)]
proved = next(e.candidate for e in verified if isinstance(e, kinds.VerdictReached) and e.verdict == "proved")
regions = itertools.cycle(e.region for e in sess.journal.events if isinstance(e, kinds.RegionPruned))
def certificate():
    journal = Journal()
    for event in verified:
        journal.append(event)
    Record(journal).certify(proved)
def audit():
    sess.audit(next(regions))
def work(task):
    while not stopped.is_set():
        task()
"""
START = """
stopped = threading.Event()
worker = threading.Thread(target=work, args=({task},), daemon=True)
worker.start()
"""
STOP = """
assert worker.is_alive(), "the work beside the clicks failed"
stopped.set()
"""
LOAD = f"""
import time
import prism_explore as px
px.Session
began_s = time.perf_counter()
record = px.load({FILE!r})
print(time.perf_counter() - began_s)
"""
REPORT = f"""
import os, time
import prism_explore as px
record = px.load({FILE!r})
began_s = time.perf_counter()
path = record.report("large.html")
print(time.perf_counter() - began_s, os.path.getsize(path))
"""

UNTIL = """async (act, shown) => {
  const began = performance.now();
  act();
  while (!shown()) {
    if (performance.now() - began > 30000) return null;
    await new Promise(requestAnimationFrame);
  }
  return (performance.now() - began) / 1000;
}"""
"""Acts, and returns the seconds until something is shown, to one frame of the browser; null after 30 s."""
FIRST_PAINT_S = f"""() => ({UNTIL})({RUN_ALL}, () => document.querySelector('.prism-explore tr[data-ref]'))"""
CLICK_S = f"""(explorer, ref) => ({UNTIL})(
  () => explorer.querySelector(`tr[data-ref="${{ref}}"]`).click(),
  () => explorer.querySelector('[data-panel=inspector] .pe-caption').textContent === ref,
)"""
"""Python sends the caption of the inspector with its content."""
LOOK_BACK_S = f"""(explorer, event) => {{
  const slider = explorer.querySelector('.pe-moment');
  return ({UNTIL})(
    () => {{ slider.value = String(event); slider.dispatchEvent(new Event('input')); }},
    () => explorer.querySelector('.pe-when').textContent.startsWith(event.toLocaleString('en')),
  );
}}"""
PAUSE_S = f"""explorer => ({UNTIL})(
  () => explorer.querySelector('[data-command=pause]').click(),
  () => explorer.querySelector('.pe-state').dataset.state === 'paused',
)"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Times of the explorer with a large search.")
    parser.add_argument("--events", type=int, default=100_000, help="events of the search")
    parser.add_argument("--repeat", type=int, default=9, help="runs of what is measured several times")
    parser.add_argument("--made-up", action="store_true", help="a made-up journal instead of a search")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    path = find_browser()
    if path is None:
        parser.error("no Chromium found; `make browser` installs one")
    found: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory() as scratch, running_lab(Path(scratch)) as lab, sync_playwright() as playwright:
        search = f"{SEARCH}\nsess.step({args.events})\nsess.save({FILE!r})\nprint(len(sess.journal))"
        recorded = MADE_UP.format(events=args.events, file=FILE) if args.made_up else search
        events = int(run_python(recorded, lab.folder))
        found["events"] = events
        found["load_s"] = median(float(run_python(LOAD, lab.folder)) for _ in range(args.repeat))
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        found |= _saved_search(lab, browser, args.repeat, events)
        if not args.made_up:
            found |= report_times(lab.folder, browser, args.repeat, events)
            found |= _running_search(lab, browser, args.repeat, args.events)
        browser.close()
    if args.json:
        print(json.dumps({**run_header(), **found}, indent=1))
    else:
        print(", ".join(run_header().values()))
        for name, value in found.items():
            print(f"  {name:<24}" + ("not within 30 s" if value is None else f"{value:>12,.3f}"))


def run_python(code: str, folder: Path) -> str:
    """What a fresh process prints that runs this code."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1]


def _open(lab: Lab, browser: Browser, name: str, cells: Sequence[str]) -> LabPage:
    page = LabPage(lab, browser.new_context(viewport={"width": 1400, "height": 1000}).new_page())
    page.open(lab.write_notebook(name, cells))
    return page


def _saved_search(lab: Lab, browser: Browser, repeat: int, events: int) -> dict[str, float | None]:
    lab_page = _open(lab, browser, "saved.ipynb", ["record"])
    page = lab_page.page
    load_s = float(lab_page.python(LOAD))
    first_s = page.evaluate(FIRST_PAINT_S)
    explorer = page.locator(".prism-explore")
    click_s = [explorer.evaluate(CLICK_S, ref) for ref in _families(explorer, repeat)]
    back_s = [explorer.evaluate(LOOK_BACK_S, events * n // (repeat + 1)) for n in range(repeat, 0, -1)]
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    heap_bytes = devtools.send("Runtime.getHeapUsage")["usedSize"]
    found = {
        "load_notebook_s": load_s,
        "first_paint_s": first_s,
        "click_s": _median(click_s),
        "look_back_s": _median(back_s),
        "dom_elements": page.evaluate("document.querySelectorAll('*').length"),
        "heap_mb": heap_bytes / 1e6,
    }
    page.context.close()
    return found


def report_times(folder: Path, browser: Browser, repeat: int, events: int) -> dict[str, float | None]:
    """The times of writing a report, and of its page without Python.

    Args:
        folder: has the saved search.
        browser: opens the page.
        repeat: clicks and looks back, of which the medians are taken.
        events: number of events of the search.

    Returns:
        Per figure, its value. Units: as its name ends.
    """
    written_s, size_bytes = run_python(REPORT, folder).split()
    page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
    began_s = time.perf_counter()
    page.goto((folder / "large.html").as_uri())
    explorer = page.locator(".prism-explore")
    explorer.locator("tr[data-ref]").first.wait_for(timeout=60_000)
    opened_s = time.perf_counter() - began_s
    click_s = [explorer.evaluate(CLICK_S, ref) for ref in _families(explorer, repeat)]
    back_s = [explorer.evaluate(LOOK_BACK_S, events * n // (repeat + 1)) for n in range(repeat, 0, -1)]
    page.context.close()
    return {
        "report_s": float(written_s),
        "report_mb": int(size_bytes) / 1e6,
        "report_open_s": opened_s,
        "report_click_s": _median(click_s),
        "report_look_back_s": _median(back_s),
    }


def _running_search(lab: Lab, browser: Browser, repeat: int, events: int) -> dict[str, float | None]:
    lab_page = _open(lab, browser, "running.ipynb", [SEARCH, f"sess.step({events})", "sess"])
    lab_page.run_all(timeout_s=600)
    page, explorer = lab_page.page, lab_page.page.locator(".prism-explore")
    families = _families(explorer, repeat)
    explorer.locator("[data-command=start], [data-command=resume]").click()
    expect(explorer.locator(".pe-state")).to_have_attribute("data-state", "running", timeout=30_000)
    click_s = [explorer.evaluate(CLICK_S, ref) for ref in families]
    pause_s = explorer.evaluate(PAUSE_S)
    page.evaluate(f"() => {{ void ({EXECUTE})('sess.run()'); }}")
    expect(explorer.locator(".pe-state")).to_have_attribute("data-state", "running", timeout=30_000)
    found = {
        "click_searching_s": _median(click_s),
        "pause_s": pause_s,
        "pause_cell_runs_s": explorer.evaluate(PAUSE_S),
    }
    lab_page.python(WORK)
    for task in ("certificate", "audit"):
        lab_page.python(START.format(task=task))
        found[f"click_{task}_s"] = _median([explorer.evaluate(CLICK_S, ref) for ref in families])
        lab_page.python(STOP)
    page.context.close()
    return found


def _median(times_s: Sequence[float | None]) -> float | None:
    known = [s for s in times_s if s is not None]
    return median(known) if len(known) == len(times_s) else None


def _families(explorer: Locator, count: int) -> list[str]:
    """So many families of the table, from its first to its last row that is drawn."""
    explorer.locator("tr[data-ref]").first.wait_for(timeout=60_000)
    refs = explorer.locator("tr[data-ref]").evaluate_all("rows => rows.map(row => row.dataset.ref)")
    families = [ref for ref in dict.fromkeys(refs) if ref.startswith("f") and "." not in ref]
    return [families[n * (len(families) - 1) // max(1, count - 1)] for n in range(count)]


if __name__ == "__main__":
    main(sys.argv[1:])
