"""The search map by reason, over time, and by similar subtrees."""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded, RegionPruned
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.map import map_panel
from prism_explore.widgets.panels.sections import MapSection
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.event_lanes import EventLanes
from prism_explore.widgets.views.map_view import MODES, MapView
from prism_explore.widgets.views.reasons_map import reasons_map_scene
from prism_explore.widgets.views.search_tree import SearchTree
from prism_explore.widgets.views.similar import Patterns, similar_scene
from prism_explore.widgets.views.time_map import MAX_MARKS, time_axis, time_scene
from tests.widgets.call_counts import counted_calls
from tests.widgets.fakes import program
from tests.widgets.pictures import check
from tests.widgets.recordings import DUPLICATE, UNREACHABLE, large, story, tuning

BIG = large(10_000, families=300)


def folded(events: object) -> Folds:
    journal = Journal(clock=lambda: 0.0)
    return Folds(journal.append(e) for e in events)  # type: ignore[attr-defined]


def panel(folds: Folds, view: ViewState) -> MapSection:
    search = SearchInfo(program(), "cpu", count=folds.events.count)
    return map_panel(Context.of(search, folds, view, Memo()))


def texts(scene: Scene) -> str:
    return "\n".join(t.text for s in scene.shapes for t in s.texts)


# ---------------------------------------------------------------- by reason
def test_regions_are_grouped_by_reason_operator_and_node() -> None:
    tree = SearchTree(story())
    scene = reasons_map_scene(tree, MapView().changed({"open": "expr.unreachable/sound/exp at block level"}), 460)
    check(scene)
    shapes = {s.id: s for s in scene.shapes}

    assert "expr.unreachable" == shapes["expr.unreachable/sound"].ref
    assert sum(s.count for s in scene.shapes if s.id.count("/") == 1 and s.role == "block" and s.kind != "bar") == 15
    assert {"n0", "n1", "n2"} <= {s.ref for s in scene.shapes if s.id.startswith("expr.unreachable/sound/exp")}
    assert "budget" in texts(scene)


def test_zooming_limits_the_reasons_to_a_subtree() -> None:
    tree = SearchTree(story())
    whole, part = (reasons_map_scene(tree, MapView(), 460, root) for root in ("", "n4"))

    assert sum(s.count for s in part.shapes if s.id.endswith("/sound")) < sum(
        s.count for s in whole.shapes if s.id.endswith("/sound")
    )


# ---------------------------------------------------------------- over time
def test_every_lane_has_its_events_from_left_to_right() -> None:
    lanes = EventLanes(story())
    scene = time_scene(lanes, time_axis(lanes.count, None, 600), 600)
    check(scene)
    xs = [s.x for s in scene.shapes if s.id.startswith("trials#") and s.role == "mark"]

    assert 12 == len(xs)
    assert xs == sorted(xs)
    assert {"cross"} == {s.outline for s in scene.shapes if s.ref in ("u5", "u10")}
    assert "5 expansions, 15 prunings, 3 families, 4 verdicts, 12 trials" in scene.desc


def test_an_interval_shows_its_events_only_and_a_look_back_leaves_later_ones_out() -> None:
    lanes = EventLanes(story())
    part = time_scene(lanes, time_axis(lanes.count, (1, 5), 600), 600)
    past = time_scene(lanes.before(6), time_axis(lanes.count, None, 600), 600)

    assert "Events 1 to 6: 5 expansions, 0 prunings" in part.desc
    assert "5 expansions, 0 prunings, 0 families" in past.desc
    assert any(s.id == "later" for s in past.shapes)
    assert not any(s.id == "later" for s in part.shapes)


def test_a_lane_with_many_events_has_bars_that_count_all_of_them() -> None:
    lanes = EventLanes(BIG)
    scene = time_scene(lanes, time_axis(lanes.count, None, 460), 460)
    bars = [s for s in scene.shapes if s.id.startswith("prunings#")]

    assert lanes.lane("prunings").numbers
    assert len(lanes.lane("prunings").numbers) == sum(s.count for s in bars)
    assert len(bars) <= MAX_MARKS
    assert all(s.ref.startswith("p") for s in bars)


# ---------------------------------------------------------------- similar subtrees
def twins() -> SearchTree:
    """Two subtrees of the same shape with other operands and another order, and one that differs by a reason."""
    events = [NodeExpanded("n0", "", "", "kernel")]
    events += [NodeExpanded(f"n{i}", "n0", f"exp(%{i})", "block") for i in (1, 2, 3)]
    events += [
        RegionPruned("p1", "n1", "mul(%1, %2)", "block", UNREACHABLE),
        RegionPruned("p2", "n1", "div(%1, %2)", "block", DUPLICATE),
        RegionPruned("p3", "n2", "div(%4, %2)", "block", DUPLICATE),
        RegionPruned("p4", "n2", "mul(%2, %2)", "block", UNREACHABLE),
        RegionPruned("p5", "n3", "mul(%3, %2)", "block", UNREACHABLE),
        RegionPruned("p6", "n3", "div(%3, %2)", "block", UNREACHABLE),
    ]
    return SearchTree(events)


def test_shapes_ignore_operands_and_order_and_respect_reasons() -> None:
    patterns = Patterns(twins())

    assert {"n1", "n2"} == set(patterns.similar_to("n1"))
    assert () == patterns.similar_to("n3")
    assert {"p1", "p4", "p5"} == set(patterns.similar_to("p4"))
    assert () == patterns.similar_to("p6")
    assert () == patterns.similar_to("nothing")


def test_shapes_are_listed_with_number_and_size_and_parts_of_one_larger_shape_are_left_out() -> None:
    patterns = Patterns(twins())
    scene = similar_scene(patterns, "n2", 600)
    check(scene)
    listed = [(p.count, p.size, p.operator) for p in patterns.repeated]

    assert (2, 3, "exp") == listed[0]
    assert not any("div" in operator for _, _, operator in listed)
    assert "2 × 3" in texts(scene)
    assert ["pattern-marked"] == [s.kind for s in scene.shapes if s.ref == "n2" or s.kind == "pattern-marked"]


def test_the_occurrences_of_the_selected_shape_are_outlined_in_every_picture_of_the_tree() -> None:
    folds = folded(story())
    for mode in ("icicle", "tree"):
        found = panel(folds, ViewState(selection="p0", map=MapView(mode, similar=True)))
        marked = {s.id.removesuffix("#same") for s in found.scene.shapes if s.kind == "occurrence"}
        assert "p0" in marked
        assert "with the shape of p0" in found.summary


# ---------------------------------------------------------------- all modes
@pytest.mark.parametrize("root", ["", "n3"])
@pytest.mark.parametrize("mode", list(MODES))
def test_every_mode_has_a_title_refs_and_few_shapes_at_ten_thousand_nodes(mode: str, root: str) -> None:
    view = ViewState(map=MapView().changed({"mode": mode}), root=root, map_px=460)
    small, big = (folded([*events, *tuning(40)]) for events in (large(1_000, families=30), BIG))
    few, _ = counted_calls(lambda: panel(small, view))
    many, found = counted_calls(lambda: panel(big, view))

    assert many < 15 * few, "more than linear in the nodes"
    check(found.scene)
    assert mode == found.mode
    assert len(found.scene.items) < 4_000
    assert found.scene.refs
    assert found.scene.desc


@pytest.mark.parametrize("mode", list(MODES))
def test_every_mode_shows_an_earlier_state(mode: str) -> None:
    folds = folded(story())
    view = ViewState(map=MapView().changed({"mode": mode}), map_px=460)
    early, late = (panel(f, view).scene for f in (folds.before(8), folds))

    assert early.refs < late.refs or mode in ("similar", "reasons")
    assert early.desc != late.desc


def test_messages_that_are_not_understood_change_nothing() -> None:
    view = MapView().changed({"mode": "tree"}).changed({"open": "n1"}).changed({"interval": [2, 9]})

    assert ("tree", ("n1",), (2, 9)) == (view.mode, view.opened, view.interval)
    for wrong in ({"mode": "pie"}, {"open": 3}, {"interval": [9, 2]}, {"interval": ["a", "b"]}, {"similar": 1}, {}):
        assert view == view.changed(wrong)
    assert view.changed({"interval": []}).interval is None
    assert ((), ("n1",)) == (view.changed({"close": "n1"}).opened, view.changed({"close": "n1"}).closed)
    assert view.changed({"mode": "similar"}).similar
