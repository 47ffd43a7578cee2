from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.events.kinds import Event, FamilyCompleted, NodeExpanded, RegionPruned, Steered
from prism_explore.events.ledger import ledger
from prism_explore.widgets.scene import Scene, Shape
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.search_map import MIN_BLOCK_PX, ROW_PX, search_scene
from prism_explore.widgets.views.search_tree import SearchTree
from tests.widgets.call_counts import counted_calls
from tests.widgets.pictures import check, search_map
from tests.widgets.recordings import BUDGET, DUPLICATE, R1, REASONS, UNREACHABLE, large, story


def blocks(scene: Scene) -> list[Shape]:
    return [s for s in scene.shapes if s.role == "block"]


def by_id(scene: Scene, ident: str) -> Shape:
    return next(s for s in scene.shapes if s.id == ident)


@st.composite
def trees(draw: st.DrawFn) -> list[Event]:
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel")]
    regions = 0
    for i in range(1, draw(st.integers(1, 25))):
        events.append(NodeExpanded(f"n{i}", f"n{draw(st.integers(0, i - 1))}", f"exp(%{i})", "block"))
        for _ in range(draw(st.sampled_from((0, 0, 1, 5, 70)))):
            reason = draw(st.sampled_from(REASONS))
            events.append(RegionPruned(f"p{regions}", f"n{draw(st.integers(0, i))}", "mul(%0, %1)", "block", reason))
            regions += 1
    for f in range(draw(st.integers(0, 6))):
        nodes = sum(isinstance(e, NodeExpanded) for e in events)
        events.append(FamilyCompleted(f"f{f}", f"n{draw(st.integers(0, nodes - 1))}", R1))
    return events


@given(events=trees(), width=st.sampled_from((300.0, 960.0)))
@settings(max_examples=40, deadline=None)
def test_any_tree_is_drawn_without_overlap_and_below_its_parent(events: list[Event], width: float) -> None:
    scene = search_map(events, width=width)
    check(scene)
    rows: dict[float, list[Shape]] = {}
    for block in blocks(scene):
        rows.setdefault(block.y, []).append(block)
    for row in rows.values():
        row.sort(key=lambda s: s.x)
        for left, right in pairwise(row):
            assert left.x + left.w <= right.x + 0.01
    parents = {e.node: e.parent for e in events if isinstance(e, NodeExpanded)}
    drawn = {s.id: s for s in blocks(scene)}
    for ident, block in drawn.items():
        above = drawn.get(parents.get(ident, block.parent))
        if above is not None:
            assert above.y + ROW_PX == pytest.approx(block.y)
            assert above.x - 0.01 <= block.x and block.x + block.w <= above.x + above.w + 0.01


@given(events=trees())
@settings(max_examples=40, deadline=None)
def test_every_end_is_drawn_or_counted(events: list[Event]) -> None:
    scene = search_map(events, width=500.0)
    tree = SearchTree(events)
    total = tree.leaf_counts()["n0"]

    below = {parent for s in blocks(scene) if (parent := tree.nodes[s.id].parent if s.id in tree.nodes else s.parent)}
    whole = [s for s in blocks(scene) if s.id not in tree.nodes or s.id not in below]
    leaves = sum(s.count for s in whole if s.kind.startswith("pruned") or (s.id in tree.nodes and s.count == 1))
    counted = int(scene.omitted.split(" of ")[0].replace(",", "")) if scene.omitted else 0
    assert leaves + counted == total
    assert not scene.omitted or f"of {total:,} leaves" in scene.omitted


def test_width_is_work() -> None:
    scene = search_map(story(), width=1000)

    assert 1000 == pytest.approx(by_id(scene, "n0").w)
    per_end = 1000 / 15
    assert per_end * 12 == pytest.approx(by_id(scene, "n1").w)
    assert per_end == pytest.approx(by_id(scene, "p14").w)


def test_what_was_cut_carries_letter_pattern_and_count() -> None:
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel")]
    events += [RegionPruned(f"p{i}", "n0", "exp(%0)", "block", UNREACHABLE) for i in range(300)]
    events += [RegionPruned(f"q{i}", "n0", "exp(%0)", "block", DUPLICATE) for i in range(100)]
    events += [RegionPruned(f"r{i}", "n0", "exp(%0)", "block", BUDGET) for i in range(100)]
    scene = search_map(events, width=500)

    said = {s.texts[0].text: (s.kind, s.count, s.w) for s in blocks(scene) if s.kind != "frontier" and s.texts}
    assert ("pruned-sound", 300, pytest.approx(300)) == said["E  expr.unreachable ×300"]
    assert ("pruned-sound", 100, pytest.approx(100)) == said["D ×100"]
    assert ("pruned-budget", 100, pytest.approx(100)) == said["$ ×100"]


def test_narrow_cuts_of_one_soundness_share_a_block_that_names_all_reasons() -> None:
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel")]
    events += [RegionPruned(f"p{i}", "n0", "exp(%0)", "block", UNREACHABLE) for i in range(995)]
    events += [RegionPruned(f"q{i}", "n0", "exp(%0)", "block", r) for i, r in enumerate(REASONS[3:7])]
    scene = search_map(events, width=960)

    shared = next(s for s in blocks(scene) if s.count == 4)
    assert "pruned-sound" == shared.kind
    assert "2 × dup.canonical [sound]\n1 × mem.smem [sound]\n1 × shape.mismatch [sound]" in shared.tip
    assert shared.w >= MIN_BLOCK_PX


def test_a_node_without_anything_below_is_hollow_until_the_search_ends() -> None:
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel"), NodeExpanded("n1", "n0", "exp(%0)", "block")]

    assert "frontier" == by_id(search_map(events), "n1").kind
    assert "expanded" == by_id(search_map([*events, story()[-1]]), "n1").kind


def test_families_are_marked_by_what_was_shown_of_them() -> None:
    events = [e for e in story() if not isinstance(e, Steered)]
    scene = search_map(events)

    marks = {s.id: (s.kind, s.outline) for s in scene.shapes if s.role == "mark" and "#" not in s.id}
    assert {"f1": ("proved", "diamond"), "f2": ("unknown", "hexagon"), "f3": ("refuted", "square")} == marks
    assert "f1" == by_id(scene, "f1#best").ref


def test_steering_is_marked_and_undone() -> None:
    scene = search_map(story())

    assert "pruned-user" == by_id(scene, "f3").kind
    assert "unknown" == by_id(scene, "f2").kind
    assert "accepted by you" == by_id(scene, "f1#accepted").tip


def test_a_family_in_ten_thousand_ends_is_still_seen() -> None:
    scene = search_map(large(3000, families=30))

    marks = [s for s in scene.shapes if s.role == "mark" and "#" not in s.id]
    assert 30 == len(marks)
    centres = sorted((s.y, s.x) for s in marks)
    assert all(a[0] != b[0] or b[1] - a[1] >= 15 for a, b in pairwise(centres))


def test_families_without_room_are_counted() -> None:
    scene = search_map(large(300, families=900), width=400)
    marks = [s for s in scene.shapes if s.role == "mark" and "#" not in s.id]
    rest = by_id(scene, "families+")

    check(scene)
    assert f"{900 - len(marks):,} more families are not shown" == rest.texts[0].text


def test_zooming_makes_a_node_as_wide_as_the_picture_below_its_ancestors() -> None:
    scene = search_map(story(), width=800, root="n3")

    assert [800, 800, 800, 800] == [by_id(scene, f"n{i}").w for i in range(4)]
    assert 800 > by_id(scene, "n4").w
    assert not [s for s in blocks(scene) if s.id == "p0"]


def test_before_the_first_step_it_says_so() -> None:
    assert "nothing has been searched yet" == search_map([]).shapes[0].texts[0].text


def test_twenty_thousand_nodes_are_drawn_with_work_in_proportion_to_what_is_shown() -> None:
    calls = []
    for nodes in (5_000, 20_000):
        events = large(nodes, cuts_per_node=1)
        tree, book = SearchTree(events), ledger(events)
        count, scene = counted_calls(lambda tree=tree, book=book: search_scene(tree, book))
        calls.append(count)
        assert len(scene.items) < 3000

    assert calls[1] < 2 * calls[0]


def test_a_block_says_how_many_families_it_stands_for() -> None:
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel"), NodeExpanded("n1", "n0", "exp(%0)", "block")]
    events += [FamilyCompleted(f"f{i}", "n1", R1) for i in range(3)]
    collapsed = search_scene(SearchTree(events), ledger(events), 400.0, view=MapView(closed=("n0",)))
    leaf, root = by_id(search_map(events, width=400.0), "n1"), by_id(collapsed, "n0")

    assert ["n1  exp(%0) · 3 families"] == [t.text for t in leaf.texts]
    assert ["n0  start · 3 families"] == [t.text for t in root.texts]
    assert "leads to 3 families" in root.tip
    assert "completes f0, f1, f2" in leaf.tip
    assert "leads to" not in leaf.tip


def test_nodes_that_share_a_block_say_how_many_families_they_stand_for() -> None:
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel")]
    for i in range(1, 400):
        events += [NodeExpanded(f"n{i}", "n0", f"exp(%{i})", "block"), FamilyCompleted(f"f{i}", f"n{i}", R1)]
    shared = by_id(search_map(events, width=300.0), "n1+")

    assert ["399 nodes, 399 families"] == [t.text for t in shared.texts]
    assert "399 leaves, 399 families below them" in shared.tip
