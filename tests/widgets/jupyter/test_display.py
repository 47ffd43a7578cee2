"""The form in which a search is shown: widget, page, picture or text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prism_explore.errors import PrismError
from prism_explore.widgets.explorer import Explorer
from prism_explore.widgets.jupyter import display
from prism_explore.widgets.jupyter.display import display_mode
from tests.widgets.fakes import FakeSession
from tests.widgets.recordings import story


@pytest.fixture
def explorer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Explorer]:
    monkeypatch.setattr(display, "_chosen", [])
    monkeypatch.delenv(display.VARIABLE, raising=False)
    widget = Explorer(FakeSession(story(), "finished"))
    yield widget
    widget.close()


@pytest.mark.parametrize(
    ("mode", "types"),
    [
        ("widget", {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"}),
        ("svg", {"image/svg+xml", "text/plain"}),
        ("html", {"text/html", "text/plain"}),
        ("text", {"text/plain"}),
    ],
)
def test_a_mode_decides_what_a_cell_shows(explorer: Explorer, mode: display.Mode, types: set[str]) -> None:
    assert display_mode(mode) == mode == display_mode()
    data, _ = explorer._repr_mimebundle_()

    assert types == set(data)


def test_the_environment_sets_the_mode_at_the_start(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(display.VARIABLE, "svg")
    assert display_mode() == "svg"

    display_mode("text")
    assert display_mode() == "text"


def test_an_unknown_mode_is_refused_with_those_that_exist(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrismError, match="'png'; expected one of widget, html, svg, text"):
        display_mode("png")  # type: ignore[arg-type]
    monkeypatch.setenv(display.VARIABLE, "png")
    with pytest.raises(PrismError, match="in the environment variable PRISM_EXPLORE_DISPLAY"):
        display_mode()


def test_the_page_in_a_frame_can_reach_nothing_around_it(explorer: Explorer) -> None:
    display_mode("html")
    (html,) = (data["text/html"] for data, _ in [explorer._repr_mimebundle_()])

    assert html.startswith('<iframe sandbox="allow-scripts"')
    assert html.count("<") == 2, "the page is text of an attribute"
