"""The picture of a search for pages that run no widget: nbconvert, GitHub, a notebook that is not trusted."""

from __future__ import annotations

import base64
import re
import warnings
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import IPython.core.getipython
import IPython.display
import nbformat
import pytest
from ipywidgets import Widget

from prism_explore.widgets.explorer import Explorer
from prism_explore.widgets.jupyter import display
from prism_explore.widgets.panels.sections import Comparison, ResultCard
from prism_explore.widgets.static_picture import card_scene
from tests.widgets.fakes import FakeSession
from tests.widgets.recordings import large, story

SVG = "{http://www.w3.org/2000/svg}"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


def outputs(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a cell of a notebook shows for it."""
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(display, "_chosen", [])
    monkeypatch.delenv(display.VARIABLE, raising=False)
    monkeypatch.setattr(IPython.core.getipython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(IPython.display, "display", lambda data, **_: shown.append(data))
    explorer._ipython_display_()
    return shown


def svg_of(html: str) -> ElementTree.Element:
    (encoded,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    return ElementTree.fromstring(base64.b64decode(encoded))


def texts(svg: ElementTree.Element) -> str:
    return "\n".join(text.text or "" for text in svg.iter(f"{SVG}text"))


def test_nbconvert_shows_the_picture_also_with_stored_state(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nbconvert import HTMLExporter
    explorer = Explorer(FakeSession(story(), "finished"))
    shown = outputs(explorer, monkeypatch)
    state = Widget.get_manager_state(widgets=[explorer])
    cell = nbformat.v4.new_code_cell("sess", outputs=[nbformat.v4.new_output("display_data", d) for d in shown])
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {WIDGET_STATE: state}})
    page, _ = HTMLExporter().from_notebook_node(notebook)
    explorer.close()

    assert f'<script type="{WIDGET_VIEW}">' in page, "with a network the page shows the widget"
    words = texts(svg_of(page))
    assert "finished" in words
    assert "n0" in words, "the search map"
    assert "KERNEL" in words, "the sGraph"


def test_a_cell_shows_the_widget_and_then_the_picture_that_the_widget_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = Explorer(FakeSession(story(), "finished"))
    widget, picture = outputs(explorer, monkeypatch)
    explorer.close()

    assert {WIDGET_VIEW, "text/plain"} == set(widget)
    assert {"text/html"} == set(picture)
    assert f'data-prism-picture="{explorer.picture_id}"' in picture["text/html"]


def test_outside_a_notebook_there_is_one_output(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = Explorer(FakeSession(story(), "finished"))
    monkeypatch.setattr(IPython.core.getipython, "get_ipython", lambda: None)

    with pytest.raises(NotImplementedError):
        explorer._ipython_display_()
    explorer.close()


def test_the_picture_of_a_large_search_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = Explorer(FakeSession(large(1000), "finished"))
    _, picture = outputs(explorer, monkeypatch)
    explorer.close()

    assert len(picture["text/html"]) < 200_000


def test_the_card_has_the_answer_its_comparisons_and_warnings_within_its_frame() -> None:
    card = ResultCard(
        "badge-best", "best", "f1.c2", "f1.c2.t3", "99.5 us", "97 to 103 us, measured", "",
        "1 kernel instead of 3. " * 30, "The machine was busy.", "busy",
        (Comparison("torch eager", "2.04×", "203 us", ""),),
    )  # fmt: skip
    scene = card_scene(card, "attention · cpu")
    lines = [t.text for s in scene.shapes for t in s.texts]

    assert lines[:3] == ["attention · cpu", "best f1.c2 99.5 us (97 to 103 us, measured)", "2.04× torch eager, 203 us"]
    assert lines[-1] == "Warning: The machine was busy."
    assert all(0 < t.y < scene.height for s in scene.shapes for t in s.texts)
