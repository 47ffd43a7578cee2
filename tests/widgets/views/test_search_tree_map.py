from __future__ import annotations

import pytest

from prism_explore.events.kinds import Event, FamilyCompleted, NodeExpanded, RegionPruned
from prism_explore.events.ledger import ledger
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.search_tree import SearchTree
from prism_explore.widgets.views.search_tree_map import MAX_MORE_ROWS, MAX_ROWS, SMALL_LEAVES, tree_scene
from tests.widgets.pictures import check
from tests.widgets.recordings import R1, UNREACHABLE, large, story


def tree(events: list[Event] | tuple[Event, ...], view: MapView | None = None, root: str = "") -> Scene:
    return tree_scene(SearchTree(events), ledger(events), view or MapView("tree"), 460.0, root)


def rows(scene: Scene) -> list[str]:
    return [s.id for s in scene.shapes if s.kind in ("tree-row", "collapsed-row")]


def failed(leaves: int) -> list[Event]:
    """A root with a family on one side, and a subtree with so many pruned regions on the other."""
    events: list[Event] = [NodeExpanded("n0", "", "", "kernel"), NodeExpanded("n1", "n0", "exp(%0)", "block")]
    events += [NodeExpanded("n2", "n0", "mul(%0, %0)", "block"), FamilyCompleted("f1", "n2", R1)]
    events += [RegionPruned(f"p{i}", "n1", f"div(%{i}, %0)", "block", UNREACHABLE) for i in range(leaves)]
    return events


def test_every_node_region_group_and_family_of_a_small_search_has_a_row_linked_to_its_parent() -> None:
    scene = tree(story())
    check(scene)
    found = rows(scene)

    assert ["n0", "n1", "n2", "n3", "n4"] == [r for r in found if r.startswith("n")]
    assert ["f1", "f2", "f3"] == [r for r in found if r.startswith("f")]
    assert {f"{r}#link" for r in found if r != "n0"} == {e.id for e in scene.edges}
    assert ("diamond", "proved") == next((s.outline, s.kind) for s in scene.shapes if s.id == "f1#glyph")


def test_a_large_subtree_without_families_is_a_triangle_with_its_size() -> None:
    scene = tree(failed(SMALL_LEAVES + 1))
    row = next(s for s in scene.shapes if s.id == "n1")

    assert "collapsed-row" == row.kind
    assert f"{SMALL_LEAVES + 1} leaves" in [t.text for t in row.texts]
    assert "triangle" == next(s.outline for s in scene.shapes if s.id == "n1#glyph")
    assert "open#n1" in {s.id for s in scene.shapes}
    assert "f1" in rows(scene)


def test_a_small_one_is_expanded_and_shares_a_row_per_reason() -> None:
    scene = tree(failed(SMALL_LEAVES))
    row = next(s for s in scene.shapes if s.id == "p0")

    assert SMALL_LEAVES == row.count
    assert "close#n1" in {s.id for s in scene.shapes}


def test_the_user_expands_and_collapses_every_node() -> None:
    view = MapView("tree").changed({"open": "n1"})
    assert "p0" in rows(tree(failed(50), view))

    view = view.changed({"close": "n0"})
    assert ["n0"] == rows(tree(failed(50), view))
    assert ["n0", "n1"] == rows(tree(failed(50), view.changed({"open": "n0"})))[:2]


def test_a_collapsed_row_says_how_many_families_it_stands_for() -> None:
    events = failed(50)
    events += [FamilyCompleted(f"f{i}", "n2", R1) for i in (2, 3)]
    row = next(s for s in tree(events, MapView("tree", closed=("n0",))).shapes if s.id == "n0")

    assert "51 leaves, 3 families" in [t.text for t in row.texts]
    assert "leads to 3 families" in row.tip


def test_zooming_shows_the_ancestors_and_the_subtree() -> None:
    scene = tree(story(), root="n3")

    assert ["n0", "n1", "n2", "n3", "n4"] == [r for r in rows(scene) if r.startswith("n")]
    assert not {"p0", "p1"} & set(rows(scene))


@pytest.mark.parametrize("nodes", [3_000, 10_000])
def test_a_large_tree_is_limited_and_counts_what_it_leaves_collapsed(nodes: int) -> None:
    events = large(nodes, families=300)
    scene = tree(events)
    check(scene)

    assert len(rows(scene)) <= MAX_ROWS + MAX_MORE_ROWS
    assert len(scene.items) < 4_000
    assert "collapsed because of the number of rows" in scene.omitted


def test_a_search_without_events_says_so() -> None:
    assert "nothing has been searched yet" == tree(()).desc


@pytest.mark.parametrize("parents", [{"n0": "n0"}, {"n0": "n1", "n1": "n0"}, {"": "", "n0": ""}])
def test_a_tree_of_a_damaged_file_has_no_circle(parents: dict[str, str]) -> None:
    made = SearchTree([NodeExpanded(node, parent, "exp(%0)", "block") for node, parent in parents.items()])

    assert [next(iter(parents))] * len(parents) == [[*made.ancestors(node)][-1] for node in parents]
