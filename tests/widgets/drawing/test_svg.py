from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.events.ledger import ledger
from prism_explore.ir.text import parse
from prism_explore.widgets.drawing.colors import DARK, LIGHT, PATTERNS, STATUS, STYLES, TEXTS, css
from prism_explore.widgets.drawing.svg import escape, to_svg
from prism_explore.widgets.scene import Scene, Shape, Text
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.graph import sgraph_scene
from prism_explore.widgets.views.pruning_reasons import reasons_scene
from prism_explore.widgets.views.saturation import saturation_scene
from prism_explore.widgets.views.tuning import tuning_scene
from tests.strategies import R1
from tests.widgets.pictures import search_map
from tests.widgets.recordings import saturation, story

SVG = "{http://www.w3.org/2000/svg}"


def every_scene() -> list[Scene]:
    verdict = next(e for e in story() if type(e).__name__ == "VerdictReached")
    return [
        sgraph_scene(parse(R1), "f1"),
        search_map(story()),
        reasons_scene(ledger(story())),
        egraph_scene(verdict),  # type: ignore[arg-type]
        saturation_scene(saturation()),
        tuning_scene(ledger(story())),
    ]


def of_text(text: str) -> Scene:
    says = (Text(5, 6, text),)
    return Scene("x", text, text, 100, 50, (Shape("s", "box", "op", 1, 2, 30, 4, texts=says, ref=text, tip=text),))


@pytest.mark.parametrize("scene", every_scene(), ids=lambda s: s.name)
def test_every_picture_is_wellformed_titled_and_described(scene: Scene) -> None:
    root = ElementTree.fromstring(to_svg(scene))

    assert f"{SVG}svg" == root.tag
    assert scene.title == root.findtext(f"{SVG}title")
    assert scene.desc == root.findtext(f"{SVG}desc")
    assert len(scene.items) == len([g for g in root.iter(f"{SVG}g") if "item" in g.get("class", "").split()])
    assert {t.text for i in scene.items for t in i.texts} == {t.text for t in root.iter(f"{SVG}text")}


@pytest.mark.parametrize("scene", every_scene(), ids=lambda s: s.name)
def test_every_picture_stands_alone(scene: Scene) -> None:
    svg = to_svg(scene).replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert "http" not in svg
    assert "<script" not in svg
    assert "@import" not in svg
    for name in re.findall(r"url\(([^)]*)\)", svg):
        assert f'id="{name.removeprefix("#")}"' in svg


@given(st.text())
def test_any_text_comes_back_as_it_was(text: str) -> None:
    root = ElementTree.fromstring(to_svg(of_text(text)))
    shown = "".join(c if c in "\t\n\r" or (ord(c) >= 0x20 and c not in "\ufffe\uffff") else "\ufffd" for c in text)
    shown = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in shown)
    lines = shown.replace("\r\n", "\n").replace("\r", "\n")

    assert lines == (root.find(f".//{SVG}text").text or "")  # type: ignore[union-attr]
    assert lines == root.findtext(f"{SVG}title", "")


def test_markup_in_a_text_stays_text() -> None:
    svg = to_svg(of_text("</text><script>\"&'alert(1)</script>"))

    assert "<script>" not in svg
    assert "&lt;script&gt;&quot;&amp;&#x27;alert(1)&lt;/script&gt;" in svg
    assert "\ufffd" == escape("\x00")


def test_what_is_selected_is_marked_wherever_it_stands() -> None:
    scene = sgraph_scene(parse(R1))
    marked = {
        g.get("data-ref")
        for g in ElementTree.fromstring(to_svg(scene, {"k3.b4"})).iter(f"{SVG}g")
        if "selected" in g.get("class", "").split()
    }

    assert {"k3.b4"} == marked
    assert "item selected" not in to_svg(scene)


def test_two_pictures_in_one_page_do_not_share_patterns() -> None:
    a, b = to_svg(search_map(story())), to_svg(search_map(story()[:20]))
    ids = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (a, b)]

    assert ids[0] and ids[1]
    assert not ids[0] & ids[1]


def test_the_same_scene_gives_the_same_bytes() -> None:
    assert to_svg(search_map(story())) == to_svg(search_map(story()))


# ---------------------------------------------------------------- colours
def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


THEMES = {"light": {**LIGHT, **STATUS}, "dark": {**DARK, **STATUS}}


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read_on_whatever_it_stands_on(theme: str) -> None:
    colours = THEMES[theme]
    for style in STYLES.values():
        ground = colours["page"] if style.fill == "none" else colours[style.fill]
        assert 4.5 <= contrast(colours[style.ink], ground), style.kind
    for ground in ("page", "surface", "tensor", "kernel", "block", "loop", "accum"):
        assert 4.5 <= contrast(colours["muted"], colours[ground]), ground
        assert 4.5 <= contrast(colours["ink"], colours[ground]), ground


@pytest.mark.parametrize("theme", THEMES)
def test_every_mark_is_outlined_so_that_it_is_seen_without_its_hue(theme: str) -> None:
    colours = THEMES[theme]
    for kind in ("proved", "unknown", "refuted", "pruned-user", "pruned-budget", "family", "trial", "trial-best"):
        assert 3 <= contrast(colours[STYLES[kind].stroke], colours["page"]), kind
        assert STYLES[kind].width >= 1


def test_no_status_is_told_by_hue_alone() -> None:
    statuses = ("proved", "unknown", "refuted")
    cuts = ("pruned-sound", "pruned-heuristic", "pruned-budget", "pruned-user")

    assert len(cuts) == len({STYLES[k].pattern for k in cuts})
    scene = search_map(story())
    assert len({s.outline for s in scene.shapes if s.kind in statuses}) == len(
        {s.kind for s in scene.shapes if s.kind in statuses}
    )
    assert {s.pattern for s in STYLES.values()} - {""} == set(PATTERNS)


def test_no_text_is_smaller_than_12_px() -> None:
    assert 12 <= min(t.size for t in TEXTS.values())


def test_the_style_sheet_knows_every_colour_it_names_in_light_and_dark() -> None:
    sheet = css()

    assert set(LIGHT) == set(DARK)
    assert set(re.findall(r"var\(--pe-([\w-]+)\)", sheet)) <= set(LIGHT) | set(STATUS)
    assert "prefers-color-scheme:dark" in sheet


def test_the_theme_of_the_explorer_holds_for_the_pictures_inside_it() -> None:
    rules = css().splitlines()

    for theme, values in (("light", LIGHT), ("dark", DARK)):
        (rule,) = [r for r in rules if f".prism-scene[data-theme='{theme}'] .prism-scene" in r]
        assert f"--pe-ink:{values['ink']};" in rule, "the picture would take the system's theme"
