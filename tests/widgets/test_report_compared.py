"""The page of a comparison shows what the window in a notebook shows, for every selection, choice of kinds and zoom."""

from __future__ import annotations

import base64
import json
import lzma
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import prism_explore as px
from prism_explore.diagnose.compare_runs import RunComparison, compare_runs
from prism_explore.diagnose.merged_tree import DIFFERENCES
from prism_explore.errors import ShapeError
from prism_explore.widgets.panels.compare import ComparedSearches, CompareView
from prism_explore.widgets.panels.sections import to_data
from prism_explore.widgets.report import COMPARED_PX, comparison_page, report_data
from prism_explore.widgets.report_data import compared
from prism_explore.widgets.report_data.compared import compared_data
from prism_explore.widgets.report_data.pool import Pool
from tests.widgets.recordings import large, story
from tests.widgets.test_report_fold import session_of


@pytest.fixture(scope="module")
def found() -> RunComparison:
    return compare_runs(session_of((*story()[1:-1], *large(90)[1:])), session_of(story()[1:]))


def data_of(page: str) -> dict[str, Any]:
    """The data in a page."""
    packed = re.search(r'id="prism-report">([^<]*)<', page)
    assert packed is not None
    return json.loads(lzma.decompress(base64.b64decode(packed[1])))


def changes(searches: ComparedSearches, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Clicks on everything that the page has, in random order."""
    draw = random.Random(3)
    selections = sorted(data["compared"]["selections"])
    roots = [key.partition("@")[2] for key in data["compared"]["pictures"] if "@" in key]
    assert len(selections) > 30 and len(roots) > 3
    for _ in range(40):
        yield {"select": draw.choice(selections)}
        root = draw.choice(roots)
        yield {"root": root}
        yield {"root": root}
        yield {"kinds": draw.sample(DIFFERENCES, draw.randrange(len(DIFFERENCES) + 1))}
        yield {"kinds": list(CompareView().kinds)}


def test_the_page_shows_what_the_window_shows(node: Path, tmp_path: Path, found: RunComparison) -> None:
    data, searches = data_of(comparison_page(found)), ComparedSearches(found)
    asked, script = tmp_path / "asked.json", tmp_path / "compared.mjs"
    clicks = list(changes(searches, data))
    asked.write_text(json.dumps({"data": data, "changes": clicks}), encoding="utf-8")
    bundle = ["npx", "esbuild", "test/compared.js", "--bundle", "--platform=node", "--format=esm"]
    subprocess.run([*bundle, f"--outfile={script}"], cwd=node, check=True, capture_output=True)
    printed = subprocess.run(["node", str(script), str(asked)], check=True, capture_output=True, text=True)

    view = CompareView(map_px=COMPARED_PX)
    for click, answer in zip(clicks, json.loads(printed.stdout), strict=True):
        view = view.changed(click)
        assert to_data(searches.section(view)) == answer, click


def test_the_report_of_a_search_with_a_fork_has_the_comparison_with_it() -> None:
    program = px.parse_program("program twice\n  x = input f32[b, 8]\n  %1 = add(x, x)\n  return %1")
    sess = px.Session(program, target="h100", at={"b": 4})
    sess.step(12)
    sess.fork()

    assert report_data(sess)[0]["compared"]["selections"]


def test_what_a_page_leaves_out_is_counted(monkeypatch: pytest.MonkeyPatch, found: RunComparison) -> None:
    monkeypatch.setattr(compared, "MAX_SELECTED", 5)
    few = compared_data(ComparedSearches(found), Pool(), COMPARED_PX)

    assert (5, False) == (few.selected, few.is_complete)
    assert "5 steps, families and candidates can be selected" in comparison_page(found)


def test_a_report_is_written_by_a_comparison_of_px_compare(tmp_path: Path, found: RunComparison) -> None:
    saved = Path(__file__).parents[1] / "data" / "saved" / "relu_double.prism"
    page = px.compare(str(saved), str(saved)).report(tmp_path / "both.html").read_text(encoding="utf-8")

    assert "A report of two searches of" in page
    with pytest.raises(ShapeError, match="made by px"):
        found.report(tmp_path / "no.html")
