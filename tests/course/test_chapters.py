"""What the notebooks show is so: the figures behind their pictures and exercises."""

from __future__ import annotations

import pytest

import prism_explore as px
from prism_explore.course.chapters import egraphs_step_by_step as egraphs
from prism_explore.course.chapters import from_family_to_fast as fast
from prism_explore.course.chapters import same_search_two_runs as runs
from prism_explore.course.chapters import search_that_found_nothing as nothing
from prism_explore.course.chapters import ten_minutes
from prism_explore.course.chapters import you_are_the_heuristic as heuristic
from prism_explore.verify.axioms import AXIOMS
from prism_explore.verify.egraph.limits import NodeLimit, Saturated


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_an_egraph_of_a_product_has_a_node_per_split_of_each_set_of_factors(count: int) -> None:
    grown = egraphs.grow(egraphs.product_of(*"abcde"[:count]), egraphs.PRODUCTS)

    splits = 3**count - 2 ** (count + 1) + 1  # of all sets of at least two factors, into an ordered pair
    assert grown.frames[-1].nodes == splits + count + 1  # the factors, and the number that the product does not equal
    assert grown.stop == Saturated()


def test_only_one_axiom_lets_the_quotient_leave_the_sum() -> None:
    plain = [axiom.name for axiom in AXIOMS[:25]]
    proving = [n for n in plain if egraphs.grow(egraphs.NORM_LINEAR, (*egraphs.PRODUCTS, n)).frames[-1].is_proved]

    assert egraphs.grow(egraphs.NORM_LINEAR, egraphs.PRODUCTS).stop == Saturated()
    assert proving == ["sum of a multiple"]


def test_with_all_offered_axioms_the_egraph_exceeds_its_limit() -> None:
    assert egraphs.grow(egraphs.BIASED, egraphs.OFFERED).stop == NodeLimit(egraphs.NODES)


def test_an_unknown_axiom_is_named() -> None:
    with pytest.raises(px.PrismError, match="found wishful thinking"):
        egraphs.grow(egraphs.NORM_LINEAR, ("wishful thinking",))


def test_sizes_that_are_not_legal_have_no_time_on_the_roofline() -> None:
    shapes = {s.id: s for s in fast.sizes_on_the_roofline(16, 4, [(16, 4), (128, 8)]).shapes}

    assert "not legal" in shapes["16 4"].tip and "78 µs" in shapes["128 8"].tip
    assert shapes["128 8"].y < shapes["16 4"].y
    assert (16, 4) not in fast.modelled_times()


def test_random_searches_are_sorted_and_none_is_better_than_the_best_sizes() -> None:
    bests = fast.random_bests()

    assert list(bests) == sorted(bests) and len(bests) == fast.RANDOM_SEARCHES
    assert bests[0] >= min(fast.modelled_times().values())


def test_the_recorded_rounds_are_complete_and_dated() -> None:
    record = fast.recording()

    assert record.date == "2026-11-26" and "shared with other work" in record.machine
    for times in record.rounds.values():
        assert len({len(column) for column in times.values()}) == 1
        assert all(time_us > 0 for column in times.values() for time_us in column)


def test_each_search_that_found_nothing_has_one_guilty_restriction() -> None:
    for setting in nothing.SHORT_OF.values():
        found = [r for r in nothing.RESTRICTIONS if nothing.proved(nothing.relaxed(setting, r))]
        assert nothing.proved(setting) == 0 and len(found) == 1


def test_each_run_lacks_the_prunings_of_one_rule() -> None:
    for rule in runs.OFF:
        assert {r for r in runs.prunings() if not runs.prunings(rule).get(r)} == {rule}


def test_an_undone_decision_leaves_no_trace_in_the_state() -> None:
    assert heuristic.choices_after(("accept", "f2"), ("undo", "")) == heuristic.choices_after()
    assert heuristic.best_without(("f3",), 16) > 2 * heuristic.best_without((), 16)


def test_the_proof_of_notebook_00_needs_whole_tiles() -> None:
    assert list(ten_minutes.conditions()) == ["64/f", "64/gx"]
