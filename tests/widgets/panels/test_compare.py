"""The comparison of two searches: a click selects in both, and every difference can be found."""

from __future__ import annotations

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.diagnose.compare_runs import compare_runs
from prism_explore.events.kinds import NodeExpanded
from prism_explore.pipeline.search_space import default_space
from prism_explore.widgets.compare_window import CompareWindow
from prism_explore.widgets.jupyter.wire import RenderRequest
from prism_explore.widgets.panels.compare import MAX_ROWS, ComparedSearches, CompareView
from prism_explore.widgets.panels.sections import to_data
from tests.generate.programs import rms_linear_small
from tests.widgets.fakes import FakeSession
from tests.widgets.recordings import STARTED, story

PROGRAM = rms_linear_small()


def searched(**limits: int) -> px.Session:
    space = replace(default_space(PROGRAM), **limits)  # type: ignore[arg-type]
    sess = px.Session(PROGRAM, target="h100", at={"b": 4}, space=space)
    sess.run()
    sess.close()
    return sess


@pytest.fixture(scope="module")
def pair() -> tuple[px.Session, px.Session]:
    return searched(), searched(block_ops=6, results=0)


@pytest.fixture(scope="module")
def both(pair: tuple[px.Session, px.Session]) -> ComparedSearches:
    return ComparedSearches(px.compare(*pair))


def test_a_click_on_a_difference_selects_what_each_search_did(both: ComparedSearches) -> None:
    first = both.section(CompareView())
    assert first.steps is not None
    row = first.steps.rows[0]
    seen = both.section(CompareView().changed({"select": row.ref}))
    a, b = seen.sides

    assert seen.marked == row.ref
    assert a.inspector is not None and a.inspector.title.startswith("n")
    assert b.inspector is not None and b.inspector.title.startswith("p"), "expanded in one, pruned in the other"
    assert b.inspector.cards[0].sentence
    assert not a.inspector.actions
    assert seen.path.endswith(both.tree.steps[int(row.ref[1:])].operator)


def test_every_row_of_every_table_selects_something(both: ComparedSearches) -> None:
    section = both.section(CompareView(kinds=("other fate", "only A", "only B", "other reason", "same")))
    for table in (section.steps, section.families):
        assert table is not None and table.rows
        for row in table.rows:
            assert any(both.resolve(row.ref)), row
    for moment in section.first:
        assert any(both.resolve(moment.ref))


def test_an_id_of_one_search_finds_its_counterpart(both: ComparedSearches) -> None:
    a, b = both.contexts
    for family in b.events.families:
        there = both.counterpart(1, family)
        assert there and both.counterpart(0, there) == family
        for candidate in b.events.candidates_of(family):
            same = both.counterpart(1, candidate)
            assert a.events.candidates[same].uses == b.events.candidates[candidate].uses
    only = next(pair.rows[0] for pair in both.result.pairs if pair.rows[1] is None)
    assert only is not None
    assert both.resolve(f"a:{only.family}") == (only.family, "")
    assert "B does not have it." in [s.missing for s in both.section(CompareView(f"a:{only.family}")).sides]


@pytest.mark.parametrize("ref", ["", "m", "m-1", "m99999", "c:f1", "a:", "a:f99", "x" * 5000, "m1e3"])
def test_no_such_id_selects_nothing(both: ComparedSearches, ref: str) -> None:
    seen = both.section(CompareView().changed({"select": ref}))

    assert all(side.inspector is None or side.inspector.ref == "" for side in seen.sides)
    assert seen.marked == ""


def test_only_the_chosen_kinds_are_drawn_and_listed(both: ComparedSearches) -> None:
    view = CompareView().changed({"kinds": ["other fate", "nonsense"]})
    seen = both.section(view)

    assert seen.steps is not None and seen.scene is not None
    assert {row.cells[0].text for row in seen.steps.rows} == {"other fate"}  # type: ignore[union-attr]
    drawn = {getattr(item, "kind", "") for item in seen.scene.items if item.id.startswith("m")}
    assert "other-fate" in drawn
    assert [kind.shown for kind in seen.kinds] == [True, False, False, False, False]
    counts = both.tree.counts()
    assert [kind.count for kind in seen.kinds] == [f"{counts[kind.key]:,}" for kind in seen.kinds]  # type: ignore[index]


def test_the_map_zooms_into_a_step_and_out_again(both: ComparedSearches) -> None:
    step = both.tree.divergences[0]
    view = CompareView().changed({"root": f"m{step.number}"})
    scene = both.section(view).scene
    assert scene is not None
    block = next(item for item in scene.items if item.id == f"m{step.number}")

    assert block.w == scene.width  # type: ignore[union-attr]
    assert view.changed({"root": f"m{step.number}"}).root == -1


def test_settings_that_differ_come_first(both: ComparedSearches) -> None:
    table = both.section(CompareView()).settings
    assert table is not None
    differs = [row.cells[0].text.startswith("≠") for row in table.rows]  # type: ignore[union-attr]

    assert any(differs)
    assert differs == sorted(differs, reverse=True)


def test_families_are_side_by_side_with_the_ratio_of_their_times() -> None:
    one, other = FakeSession(story(), "finished"), FakeSession(story(), "finished")
    table = ComparedSearches(compare_runs(one, other)).section(CompareView()).families
    assert table is not None

    assert "1×" in [row.cells[-1].text for row in table.rows]  # type: ignore[union-attr]
    assert "best" in table.rows[0].cells[1].text  # type: ignore[union-attr]


def test_a_long_list_of_differences_says_how_many_are_left_out() -> None:
    root = NodeExpanded("n1", "", "inputs(x)", "kernel")
    steps = [NodeExpanded(f"n{i}", "n1", f"exp(%{i})", "block") for i in range(2, 700)]
    one, other = FakeSession([STARTED, root, *steps], "finished"), FakeSession([STARTED, root], "finished")
    both = ComparedSearches(compare_runs(one, other))
    table = both.section(CompareView()).steps
    assert table is not None
    differing = sum(step.difference != "same" for step in both.tree.divergences)

    assert differing > MAX_ROWS == len(table.rows)
    assert table.omitted.startswith(f"{differing - MAX_ROWS:,} smaller differences")


def test_hostile_names_stay_texts() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    events = [replace(e, operator=hostile) if isinstance(e, NodeExpanded) else e for e in story()]
    found = compare_runs(FakeSession(events, "finished"), FakeSession(story(), "finished"))
    section = ComparedSearches(found).section(CompareView())

    assert hostile in str(to_data(section)), "the browser makes text nodes of it"
    assert "<img" not in found.html


def test_the_window_answers_its_browser_and_steers_nothing(pair: tuple[px.Session, px.Session]) -> None:
    window = CompareWindow(px.compare(*pair))
    before = pair[0].journal.events
    window._receive(window, {"kind": "look", "compare": {"map_px": 900, "kinds": "x"}})
    window._receive(window, {"kind": "look", "compare": {"select": "m4"}})
    window._receive(window, {"kind": "command", "event_id": "1", "name": "cancel", "args": {}})
    window._receive(window, 3)

    assert window._render(RenderRequest())["compare"]["marked"] == "m4"
    assert pair[0].journal.events == before
    assert window._publisher._replies[0]["ok"] is False
    window.close()


def test_a_notebook_shows_the_window_and_a_terminal_the_text(pair: tuple[px.Session, px.Session]) -> None:
    found = px.compare(*pair)
    data, _ = found._repr_mimebundle_()

    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["image/svg+xml"].startswith("<svg")
    assert data["text/plain"] == repr(found)
    assert "3 only in A, 0 only in B" in repr(found)
