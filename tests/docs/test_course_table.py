"""The front page lists every chapter of the course, by its title, with what one learns and how long it takes."""

import nbformat

from docs.tables import CHAPTER_ROW, ROOT

ROWS = CHAPTER_ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def chapters() -> list[tuple[str, str]]:
    """Number and title, and path, of each notebook."""
    found = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        heading = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0]
        found.append((f"{path.stem[:2]} {heading.removeprefix('# ')}", f"notebooks/{path.stem}"))
    return found


def test_each_notebook_has_a_row_in_the_readme_under_its_own_title() -> None:
    assert chapters() == [(title, path) for title, path, _, _ in ROWS]


def test_each_row_says_what_one_will_be_able_to_do_and_how_long_it_takes() -> None:
    for _, _, learned, minutes in ROWS:
        assert learned.split()[0].islower()
        assert 5 <= int(minutes) <= 60
