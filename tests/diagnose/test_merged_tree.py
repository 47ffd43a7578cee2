"""Two search trees in one: steps are matched by their path, and every difference has its kind and its size."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.diagnose.compare_runs import first_divergence
from prism_explore.diagnose.merged_tree import MergedTree, step_label
from prism_explore.events.kinds import ExplorationStarted, FamilyCompleted, NodeExpanded, RegionPruned, TrialMeasured
from prism_explore.generate.state import label_of
from prism_explore.ir.ops import Accumulate, Permute, Reduce, Slice
from prism_explore.widgets.views.search_tree import SearchTree
from tests.widgets.recordings import DUPLICATE, GUESS, SHAPE, STARTED, large, story


def node(number, parent, operator):
    return NodeExpanded(f"n{number}", f"n{parent}" if parent else "", operator, "block")


def region(number, parent, operator, reason=SHAPE):
    return RegionPruned(f"p{number}", f"n{parent}", operator, "block", reason)


ROOT = [STARTED, node(1, 0, "inputs(x)")]


def kinds(tree):
    return {step.operator: step.difference for step in tree.steps}


# ---------------------------------------------------------------- matching
def test_ids_are_not_compared():
    one = [*ROOT, node(2, 1, "exp(%0)"), node(3, 2, "sqrt(%1)"), region(1, 3, "mul(%0, %0)")]
    other = [*ROOT, node(7, 1, "exp(%0)"), node(9, 7, "sqrt(%1)"), region(4, 9, "mul(%0, %0)")]
    tree = MergedTree(one, other)

    assert {"same"} == set(kinds(tree).values())
    assert [("n3", "n9"), ("p1", "p4")] == [(s.ref(0), s.ref(1)) for s in tree.steps[2:]]
    assert [] == tree.divergences


def test_a_step_that_one_search_expands_and_the_other_prunes_has_both_sides():
    one = [*ROOT, node(2, 1, "rms(%0, dim=1)"), node(3, 2, "div(%0, %1)")]
    other = [*ROOT, region(1, 1, "rms[1](%0)", GUESS)]
    (step,) = MergedTree(one, other).divergences

    assert ("other fate", "n2", "p1") == (step.difference, step.ref(0), step.ref(1))
    assert [1, 1] == step.leaves
    assert step.regions[1].reason == GUESS


def test_the_step_may_be_one_of_several_in_a_region():
    reason = replace(SHAPE, substitution={"exp | rms[1](%0)": "a", "add(%0, %0)": "b", "mul(%0, %0)": "c", "e": "x"})
    title = "exp | rms[1](%0); add(%0, %0); mul(%0, %0) and 2 more"
    one = [*ROOT, node(2, 1, "rms(%0, dim=1)")]
    other = [*ROOT, region(1, 1, title, reason)]
    tree = MergedTree(one, other)

    assert "other fate" == kinds(tree)["rms(%0, dim=1)"]
    assert "only B" == kinds(tree)[title], "the region has further steps, so it is a step of its own"


def test_a_region_with_a_step_less_is_the_same_region():
    one = [*ROOT, region(1, 1, "exp(%0); sqrt(%0)")]
    other = [*ROOT, node(2, 1, "sqrt(%0)"), region(1, 1, "exp(%0)")]
    tree = MergedTree(one, other)

    assert {"inputs(x)": "same", "sqrt(%0)": "other fate", "exp(%0); sqrt(%0)": "same"} == kinds(tree)


def test_the_same_region_for_another_reason():
    tree = MergedTree([*ROOT, region(1, 1, "exp(%0)")], [*ROOT, region(1, 1, "exp(%0)", DUPLICATE)])

    assert "other reason" == kinds(tree)["exp(%0)"]


def test_what_is_below_a_step_of_one_search_is_no_divergence_of_its_own():
    one = [*ROOT, node(2, 1, "exp(%0)"), node(3, 2, "sqrt(%1)"), region(1, 3, "mul(%0, %0)")]
    tree = MergedTree(one, ROOT)

    assert ["exp(%0)"] == [step.operator for step in tree.divergences]
    assert {"only A": 3} == {kind: n for kind, n in tree.counts().items() if n and kind != "same"}


@pytest.mark.parametrize("op", [Reduce("rms", 1), Accumulate("sum", 1), Permute((1, 0)), Slice(1, 0, 3)])
def test_the_text_of_a_node_becomes_the_label_of_a_region(op):
    texts = {
        Reduce: "rms(%0, dim=1)",
        Accumulate: "accum_sum(%0, dim=1)",
        Permute: "permute(%0, order=[1, 0])",
        Slice: "slice(%0, dim=1, start=0, stop=3)",
    }

    assert f"{label_of(op)}(%0)" == step_label(texts[type(op)])


# ---------------------------------------------------------------- properties
@settings(max_examples=40)
@given(st.integers(2, 60), st.integers(0, 10**6), st.integers(2, 60), st.integers(0, 10**6))
def test_every_event_of_either_search_is_in_one_step_and_the_leaves_add_up(nodes, seed, others, other_seed):
    runs = large(nodes, seed=seed), large(others, seed=other_seed)
    tree = MergedTree(*runs)
    for side, events in enumerate(runs):
        own = SearchTree(events)
        refs = {e.node if isinstance(e, NodeExpanded) else e.region for e in events if _is_step(e)}
        assert refs <= set(tree.number_of[side])
        assert all(tree.steps[tree.number_of[side][ref]].ref(side) == ref for ref in refs)
        leaves = own.leaf_counts()
        assert sum(leaves[r] for r in own.roots) == sum(tree.steps[r].leaves[side] for r in tree.roots)


@settings(max_examples=20)
@given(st.integers(2, 80), st.integers(0, 10**6))
def test_a_search_does_not_differ_from_itself(nodes, seed):
    events = large(nodes, seed=seed)
    tree = MergedTree(events, events)

    assert [] == tree.divergences
    assert len(tree.steps) == sum(map(_is_step, events))
    assert None is first_divergence(events, events)


def test_the_sides_can_be_exchanged():
    one, other = large(50, seed=1), large(40, seed=2)
    there, back = MergedTree(one, other), MergedTree(other, one)
    exchanged = {"only A": "only B", "only B": "only A"}

    assert there.counts() == {exchanged.get(kind, kind): n for kind, n in back.counts().items()}
    assert [s.size for s in there.divergences] == [s.size for s in back.divergences]


def _is_step(event):
    return isinstance(event, NodeExpanded | RegionPruned)


# ---------------------------------------------------------------- the first difference
def test_measured_times_versions_and_settings_are_no_difference():
    events = story()
    slower = [replace(e, time_s=2 * e.time_s) if isinstance(e, TrialMeasured) else e for e in events]
    slower = [replace(e, versions=(("torch", "9"),)) if isinstance(e, ExplorationStarted) else e for e in slower]

    assert None is first_divergence(events, slower)


def test_the_first_difference_has_the_number_and_the_event_of_each_side():
    events = list(story())
    place = next(n for n, e in enumerate(events) if isinstance(e, FamilyCompleted))
    found = first_divergence(events, [*events[:place], *events[place + 1 :]])

    assert (place + 1, place + 1) == found.numbers
    assert events[place] == found.events[0]
    assert events[place + 1] == found.events[1]


def test_a_search_that_ends_before_has_no_event_there():
    events = story()
    found = first_divergence(events, events[:10])

    assert (11, 10) == found.numbers
    assert None is found.events[1]
