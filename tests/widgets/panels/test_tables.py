from __future__ import annotations

import pytest
from rich.console import Console

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Entry
from prism_explore.widgets import PICTURES, TABLES, picture_scene, picture_svg
from prism_explore.widgets.panels.tables import TextTable
from tests.conftest import Golden
from tests.widgets.pictures import check
from tests.widgets.recordings import saturation, story

STORY = (*story(), *saturation(3))
ENTRIES = tuple(Entry(n, 0.125 * n, e) for n, e in enumerate(STORY))


@pytest.mark.parametrize("name", TABLES)
def test_tables(golden: Golden, name: str) -> None:
    golden(f"widgets/table_{name}", TABLES[name](ENTRIES))


@pytest.mark.parametrize("name", TABLES)
def test_before_the_first_fact_a_table_says_so(name: str) -> None:
    assert TABLES[name](())


def test_columns_are_aligned_for_wide_letters_too() -> None:
    table = TextTable(("name", "count"), (("名前", "1"), ("x", "1,000")), "", ("count",))

    assert "name  count\n────  ─────\n名前      1\nx     1,000" == str(table)


def test_cells_are_one_line_and_long_ones_end_in_an_ellipsis() -> None:
    assert "a\n─\nb c" == str(TextTable(("a",), (("b\nc",),), "")).replace("───", "─").replace("a  ", "a")
    assert str(TextTable(("a",), (("x" * 500,),), "")).endswith("x…")


def test_a_terminal_of_any_width_shows_every_cell_and_square_brackets_are_text() -> None:
    table = TextTable(("name", "note"), (("f[1]", "a long note of several words"),), "")
    console = Console(width=20, color_system=None)
    with console.capture() as capture:
        console.print(table)

    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 20
    assert "f[1] a long note of several words" == " ".join(" ".join(lines[1:]).split())


def test_a_notebook_shows_a_table_whose_cells_are_text() -> None:
    table = TextTable(("name", "count"), (("<img src=x onerror=alert(1)>", "1"),), "", ("count",))

    assert "<img" not in table.html()
    assert '<td style="text-align:right">1</td>' in table.html()
    assert "<p>a &lt; b</p>" == TextTable(("name",), (), "a < b").html()


@pytest.mark.parametrize("name", [p for p in PICTURES if p != "program"] + ["f1", "f2.c1"])
def test_every_picture_can_be_had_by_name(name: str) -> None:
    check(picture_scene(STORY, name))
    assert picture_svg(ENTRIES, name).startswith("<svg ")


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_can_be_had_before_the_search_has_begun(name: str) -> None:
    scene = picture_scene((), name)

    check(scene)
    assert [t.text for s in scene.shapes for t in s.texts]


def test_an_unknown_picture_names_those_there_are() -> None:
    with pytest.raises(ShapeError, match=r"no picture 'f9'; the pictures are search, reasons, .*, f1, f2, f3"):
        picture_scene(STORY, "f9")
