from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from prism_explore.search import explore

DOCS = Path(__file__).resolve().parents[2] / "docs"
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(path for path in DOCS.rglob("*.md") if CELL.search(path.read_text(encoding="utf-8")))


def run_cells(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for cell in CELL.finditer(text):
        before = text[: cell.start(1)].count("\n")
        exec(compile("\n" * before + cell[1], page, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    short = partial(explore.compare_with_baselines, rounds=2)  # a page shows times; a test needs none
    monkeypatch.setattr(explore, "compare_with_baselines", short)
    run_cells(page)
