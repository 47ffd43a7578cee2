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
from prism_explore.events.kinds import Event, ExplorationStarted
from prism_explore.ir.text import show
from prism_explore.session.record import Record, open_record
from prism_explore.widgets.jupyter.recorded import RecordedSession
from prism_explore.widgets.panels.context import Folds, Memo, ViewState, search_info, subject_of
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import Sections, to_data
from prism_explore.widgets.report import DOCK_PX, report_data
from tests.widgets.fakes import PRUNED, program
from tests.widgets.recordings import large, story

SAVED = Path(__file__).parents[1] / "data" / "saved" / "relu_double.prism"
EXACT = ("map", "inspector", "view", "transport", "ledger")
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


def look(selection: str, subject: str, cursor: int, root: str, map_px: int) -> dict[str, Any]:
    graph = {"collapsed": False, "entered": "", "program": False}
    view: dict[str, Any] = {
        "cursor": cursor,
        "root": root,
        "map_px": map_px,
        "closed": [],
        "map_mode": "icicle",
        "tuning": "curve",
    }
    return {"selection": selection, "subject": subject, **view, **graph}


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
    for _ in range(40):
        cursor = draw.choice((0, draw.randrange(1, len(entries)), draw.choice(report["moments"][:-1])))
        folds = Folds(entries[: cursor or None])
        refs = ["", *folds.events.nodes, *folds.events.regions]
        if (cursor or len(entries)) in report["moments"]:
            refs += [*folds.events.families, *folds.events.candidates, *folds.events.sources] * 5
        selection, root = draw.choice(refs), draw.choice(["", *folds.events.nodes])
        view = ViewState(selection, subject_of(selection, folds.events), root=root, map_px=draw.randrange(240, 1400),
                         dock_px=DOCK_PX, cursor=cursor, interactive=False)  # fmt: skip
        looks.append(look(selection, view.subject, cursor, root, view.map_px))
        expected.append(to_data(sections(search, folds, view, memo=memo)))
    for asked, answer, truth in zip(looks, browser_sections(node, tmp_path, report, looks), expected, strict=True):
        exact = (asked["cursor"] or len(entries)) in report["moments"]
        for section in Sections.__dataclass_fields__ if exact else EXACT:
            if section == "script" or (section == "inspector" and not exact and asked["selection"] == ""):
                continue
            known = _without_missing_frames(truth[section], report) if section == "inspector" else truth[section]
            assert _comparable(section, known, exact) == _comparable(section, answer[section], exact), asked


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
    if section == "filter":
        # A report has no filter.
        return None
    if section == "bookmarks":
        # A report cannot bookmark the selection.
        return {**data, "add": None}
    if section == "map":
        return {name: data[name] for name in ("summary", "mode", "scene", "reasons")}
    if section == "tuning":
        # The caption counts the trials of the subject too; a report has one for all subjects.
        return {**data, "axes": [], "tops": [], "caption": ""}
    if section == "ledger" and not exact:
        return {k: data[k] for k in ("soundness", "reasons", "log")}
    return data
