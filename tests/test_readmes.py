"""READMEs name files that exist, the front page stays short, and the package README lists every folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
READMES = sorted(p for p in ROOT.rglob("README.md") if not {"node_modules", ".venv"} & set(p.relative_to(ROOT).parts))
PATHS = re.compile(
    r"(?<![\w./-])(?:[\w.-]+/)+(?:[\w.-]+\.(?:py|md|jsonl|json|txt|ipynb|toml|png))?|(?<=`)[\w]+\.py(?=`)"
)
MADE_AT_RUN_TIME = ("widgets/node_modules/", ".venv/bin/")


def named(readme: Path) -> Iterator[str]:
    """The paths that a README names, in prose, tables and links; not those of URLs."""
    text = re.sub(r"https?://\S+|arXiv\S*", "", readme.read_text(encoding="utf-8"))
    for span in re.findall(r"`([^`\n]+)`|\]\(([^)]+)\)", text):
        yield from PATHS.findall(f"`{span[0] or span[1]}`")


@pytest.mark.parametrize("readme", READMES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_path_that_a_readme_names_exists(readme: Path) -> None:
    bases = (readme.parent, ROOT, ROOT / "prism_explore", ROOT / "benchmarks")
    missing = [
        path
        for path in named(readme)
        if not path.startswith(MADE_AT_RUN_TIME)
        and not any((base / path).exists() for base in bases)
        and not any(readme.parent.rglob(path.rstrip("/")))
    ]

    assert missing == []


def test_each_claim_names_a_test() -> None:
    text = (ROOT / "prism_explore" / "README.md").read_text(encoding="utf-8")
    rows = text.partition("\n## Claims\n")[2].partition("\n## ")[0].strip().splitlines()[2:]
    cells = [row.strip("| ").split(" | ") for row in rows]

    assert rows and all(len(row) == 2 for row in cells)
    assert [claim for claim, shown_by in cells if "`tests/" not in shown_by] == []


def test_the_front_page_is_at_most_two_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_the_package_readme_shows_every_folder() -> None:
    text = (ROOT / "prism_explore" / "README.md").read_text(encoding="utf-8")
    folders = {p.parent.name for p in (ROOT / "prism_explore").glob("*/__init__.py")}

    assert {name for name in folders if not re.search(rf"^ .*\b{name}\b", text, re.MULTILINE)} == set()
