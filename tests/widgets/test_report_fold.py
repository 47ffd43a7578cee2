"""The browser half of a report computes the panels that Python computes, for any moment, zoom and selection."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, ExplorationFinished, ExplorationStarted
from prism_explore.ir.text import show
from prism_explore.session.record import Record, open_record
from prism_explore.widgets.jupyter.recorded import RecordedSession
from prism_explore.widgets.panels.context import Folds, Memo, ViewState, search_info, subject_of
from prism_explore.widgets.panels.filter_view import STATUSES, Filter
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import Sections, to_data
from prism_explore.widgets.report import DOCK_PX, report_data
from prism_explore.widgets.report_data import moments
from prism_explore.widgets.views.egraph_view import EGraphView
from prism_explore.widgets.views.map_view import MapMode, MapView
from tests.widgets.fakes import PRUNED, program
from tests.widgets.recordings import large, story

SAVED = Path(__file__).parents[1] / "data" / "saved" / "relu_double.prism"
EXACT = ("map", "inspector", "view", "transport", "ledger", "filter")
"""Sections that the browser computes, or completes, for every moment."""


def session_of(events: Sequence[Event]) -> RecordedSession:
    clock = iter(n * 0.1234567 for n in range(10**9))
    journal = Journal(clock=lambda: next(clock))
    journal.append(ExplorationStarted(show(program()), "cpu", 0, {}, (), (("b", 8),)))
    for event in events:
        journal.append(event)
    return RecordedSession(journal, Record(journal))


SESSIONS = {
    "story": lambda: session_of((*story()[1:-1], PRUNED, story()[-1])),
    "large": lambda: session_of(large(700)[1:]),
    "saved": lambda: open_record(SAVED).session_to_show(),  # pyright: ignore[reportPrivateUsage]
}


def look(view: ViewState) -> dict[str, Any]:
    """The view, as the browser has it."""
    graph = {"collapsed": False, "entered": "", "program": False}
    chosen, shown = view.filter, view.map
    return {
        "selection": view.selection,
        "subject": view.subject,
        "cursor": view.cursor,
        "root": view.root,
        "map_px": view.map_px,
        "opened": shown.opened,
        "closed": shown.closed,
        "map_mode": shown.mode,
        "map_similar": shown.similar,
        "interval": shown.interval,
        "filter": {name: getattr(chosen, name) for name in chosen.__dataclass_fields__},
        "tuning": "curve",
        "path": view.egraph.path,
        "step": view.egraph.step,
        **graph,
    }


def drawn_map(draw: random.Random, folds: Folds) -> MapView:
    """A mode of the map, with rows that are expanded and collapsed."""
    mode: MapMode = draw.choice(("icicle", "tree", "reasons", "time", "similar"))
    reasons = {(r.reason.code, r.reason.soundness, r.operator, r.level) for r in folds.events.regions.values()}
    below = [f"{code}/{soundness}" for code, soundness, _, _ in sorted(reasons)]
    below += [f"{c}/{s}/{operator.partition('(')[0]} at {level} level" for c, s, operator, level in sorted(reasons)]
    rows = [*folds.events.nodes] if mode in ("icicle", "tree") else below
    toggled = draw.sample(rows, min(len(rows), draw.randrange(12)))
    opened = tuple(toggled[::2]) if mode != "icicle" else ()
    first, last = sorted(draw.sample(range(len(folds.events.entries) + 40), 2))
    interval = draw.choice((None, (first, last)))
    return MapView(mode, opened, tuple(toggled[1::2]), similar=draw.random() < 0.4, interval=interval)


def drawn_filter(draw: random.Random, folds: Folds) -> Filter:
    """Up to two conditions of a filter."""
    codes = sorted({r.reason.code for r in folds.events.regions.values()} | {"budget.time"})
    conditions: list[dict[str, Any]] = [
        {"status": draw.sample([*STATUSES], draw.randrange(1, 4))},
        {"reason": draw.sample(codes, min(len(codes), draw.randrange(1, 3)))},
        {"operator": draw.choice(("matmul", "MUL", "x->n", "exp"))},
        {"events": sorted(draw.sample(range(len(folds.events.entries) + 5), 2))},
    ]
    chosen = Filter()
    for condition in draw.sample(conditions, draw.randrange(3)):
        chosen = chosen.changed(condition)
    return chosen


def browser_sections(node: Path, tmp_path: Path, report: Any, looks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the TypeScript computes."""
    script, asked, answer = tmp_path / "folded.mjs", tmp_path / "asked.json", tmp_path / "answer.json"
    asked.write_text(json.dumps({"report": report, "looks": looks}), encoding="utf-8")
    bundle = ["npx", "esbuild", "test/folded.js", "--bundle", "--platform=node", "--format=esm", f"--outfile={script}"]
    subprocess.run(bundle, cwd=node, check=True, capture_output=True)
    subprocess.run(["node", str(script), str(asked), str(answer)], check=True, capture_output=True)
    # JavaScript writes large floats as whole numbers.
    return json.loads(
        answer.read_text(encoding="utf-8"), parse_int=lambda text: int(text) if len(text) < 16 else float(text)
    )


@pytest.mark.parametrize("name", SESSIONS)
def test_the_browser_shows_every_moment_zoom_and_selection_as_python_does(
    node: Path, tmp_path: Path, name: str
) -> None:
    session = SESSIONS[name]()
    entries = session.journal.entries
    report, _ = report_data(session)
    draw = random.Random(5)
    search, memo = search_info(session, with_questions=False), Memo()
    looks: list[dict[str, Any]] = []
    expected: list[dict[str, Any]] = []
    for _ in range(50):
        cursor = draw.choice((0, draw.randrange(1, len(entries)), draw.choice(report["moments"][:-1])))
        folds = Folds(entries[: cursor or None])
        refs = ["", *folds.events.nodes, *folds.events.regions]
        if (cursor or len(entries)) in report["moments"]:
            refs += [*folds.events.families, *folds.events.candidates, *folds.events.sources] * 5
        selection, root = draw.choice(refs), draw.choice(("", draw.choice(["", *folds.events.nodes])))
        view = ViewState(selection, subject_of(selection, folds.events), root=root, map_px=draw.randrange(240, 1400),
                         dock_px=DOCK_PX, cursor=cursor, map=drawn_map(draw, folds), filter=drawn_filter(draw, folds),
                         interactive=False)  # fmt: skip
        looks.append(look(view))
        expected.append(to_data(sections(search, folds, view, memo=memo)))
    folds, steps = Folds(entries), EGraphView(path=True, step=1)
    paths = [path.removeprefix("path/") for path in report["timeline"] if path.startswith("path/")]
    views = [ViewState(c, c, dock_px=DOCK_PX, egraph=steps, interactive=False) for c in paths]
    answers = browser_sections(node, tmp_path, report, [*looks, *map(look, views)])
    for view, answer in zip(views, answers[len(looks) :], strict=True):
        truth, shown = to_data(sections(search, folds, view, memo=memo)), answer["eclasses"]
        path = {**truth["eclasses"]["path"], "tensors": []}
        assert {**truth["eclasses"], "modes": [], "path": path} == {**shown, "modes": []}
        assert truth["graph"] == answer["graph"]
        assert ["classes", "egraph", "path"] == [mode["name"] for mode in shown["modes"]]
    assert paths or name == "large"
    for asked, answer, truth in zip(looks, answers[: len(looks)], expected, strict=True):
        exact = (asked["cursor"] or len(entries)) in report["moments"]
        for section in Sections.__dataclass_fields__ if exact else EXACT:
            if section == "script" or (section == "inspector" and not exact and asked["selection"] == ""):
                continue
            known = _without_missing_frames(truth[section], report) if section == "inspector" else truth[section]
            assert _comparable(section, known, exact) == _comparable(section, answer[section], exact), asked


def test_at_the_end_of_a_search_the_panels_of_its_best_candidate_are_recorded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(moments, "MAX_INSPECTORS", 0)
    session = SESSIONS["saved"]()
    finished = next(e.seq for e in session.journal.entries if isinstance(e.event, ExplorationFinished)) + 1
    timeline = report_data(session)[0]["timeline"]
    (best,) = (path.removeprefix("path/") for path in timeline if path.startswith("path/"))

    assert finished in [moment for moment, _ in timeline[f"graph/{best}"]]


def _without_missing_frames(inspector: Any, report: Any) -> Any:
    """The inspector without links to frames that the report does not have."""
    if inspector is None or "links" not in inspector:
        return inspector
    has = [
        link for link in inspector["links"] if "@" not in link["ref"] or f"frame/{link['ref']}" in report["timeline"]
    ]
    return {**inspector, "links": has}


def _comparable(section: str, data: Any, exact: bool) -> Any:
    """The part of a section that has to be the same."""
    if section == "transport":
        data = {**data, "enabled": []}
        return data if exact else {k: data[k] for k in ("cursor", "phases", "counters", "status", "events")}
    if section == "bookmarks":
        # A report cannot bookmark the selection.
        return {**data, "add": None}
    if section == "map":
        return {name: data[name] for name in ("summary", "mode", "similar", "brush", "dimmed", "scene", "reasons")}
    if section == "eclasses":
        # A report has no buttons for what is not in it.
        return {**data, "modes": []}
    if section == "tuning":
        # The caption counts the trials of the subject too; a report has one for all subjects.
        return {**data, "axes": [], "tops": [], "caption": ""}
    if section == "ledger" and not exact:
        return {k: data[k] for k in ("soundness", "reasons", "log")}
    return data
