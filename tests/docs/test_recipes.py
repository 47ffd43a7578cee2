from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from prism_explore.search import explore
from prism_explore.widgets.jupyter import display

DOCS = Path(__file__).resolve().parents[2] / "docs"
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(path for path in DOCS.rglob("*.md") if CELL.search(path.read_text(encoding="utf-8")))
SLOW = {"speed-up-a-model"}  # torch.compile is imported


def run_cells(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for cell in CELL.finditer(text):
        before = text[: cell.start(1)].count("\n")
        exec(compile("\n" * before + cell[1], page, "exec"), names)


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.stem in SLOW else []) for p in PAGES],
)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    short = partial(explore.compare_with_baselines, rounds=2)  # a page shows times; a test needs none
    monkeypatch.setattr(explore, "compare_with_baselines", short)
    monkeypatch.setattr(display, "_chosen", [])  # a page chooses how searches are shown
    run_cells(page)
