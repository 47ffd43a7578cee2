"""Every notebook runs from top to bottom, in a folder of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import find_browser

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"))
IN_JUPYTERLAB = "00_ten_minutes"
"""`tests/browser/test_explorer.py` runs it cell by cell, and clicks; once is enough where there is a browser."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "path", [p for p in CHAPTERS if p.stem != IN_JUPYTERLAB or find_browser() is None], ids=lambda path: path.stem
)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    if (recordings := NOTEBOOKS / "recordings").is_dir():
        shutil.copytree(recordings, tmp_path / "recordings")
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        store_widget_state=False,  # else every widget would be stored with its whole module
        resources={"metadata": {"path": str(tmp_path)}},
    )

    client.execute()


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_picture_comes_before_the_ninth_line_of_prose(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    first_code = next(index for index, cell in enumerate(cells) if cell.cell_type == "code")
    prose = "\n".join(cell.source for cell in cells[:first_code])
    lines = [line for line in prose.splitlines() if line.strip() and not re.match("#+ ", line)]

    assert len(lines) <= 8
