"""The bibliography has each paper that the package, its READMEs and the course cite by its number on arXiv."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"arxiv[^\d\n]{0,20}(\d{4}\.\d{5})", re.IGNORECASE)


def cited(*paths: Path) -> set[str]:
    return {number for path in paths for number in NUMBER.findall(path.read_text(encoding="utf-8"))}


def test_the_bibliography_has_every_paper_that_is_cited() -> None:
    package = [path for path in (ROOT / "prism_explore").rglob("*") if path.suffix in {".py", ".md"}]
    texts = cited(*package, *(ROOT / "notebooks").glob("*.ipynb"), ROOT / "README.md")

    assert "2604.15272" in texts
    assert texts - cited(ROOT / "docs" / "bibliography.md") == set()
