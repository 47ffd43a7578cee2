"""What the notebooks show is so: the figures behind their pictures and exercises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import prism_explore as px
from prism_explore.course.chapters import egraphs_step_by_step as egraphs
from prism_explore.course.chapters import from_family_to_fast as fast
from prism_explore.course.chapters import make_it_yours as yours
from prism_explore.course.chapters import same_search_two_runs as runs
from prism_explore.course.chapters import search_that_found_nothing as nothing
from prism_explore.course.chapters import ten_minutes
from prism_explore.course.chapters import you_are_the_heuristic as heuristic
from prism_explore.ir.elementwise import REAL, UNARY
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


def test_fewer_operators_reach_the_best_family_sooner_and_lose_others() -> None:
    whole, few = (
        heuristic.reached_with(heuristic.OPERATORS),
        heuristic.reached_with({"div", "matmul", "accum", "accum_rms"}),
    )

    assert (whole.families, few.families) == (3, 1)
    assert (whole.expansions, few.expansions) == (18, 8)  # the notebook says 18, and asks for at most nine
    assert heuristic.MOST_EXPANSIONS == 9
    assert heuristic.reached_with({"div"}).expansions is None
    with pytest.raises(px.PrismError, match="conv"):
        heuristic.reached_with({"conv"})


def test_the_proof_of_notebook_00_needs_whole_tiles() -> None:
    assert list(ten_minutes.conditions()) == ["64/f", "64/gx"]


@pytest.mark.parametrize("seed", range(3))
def test_each_proposed_row_has_one_false_claim_whatever_the_points(seed: int) -> None:
    found = {letter: yours.false_claims(row, seed) for letter, row in yours.PROPOSED.items()}

    assert found == {"A": ("monotone",), "B": ("range",), "C": ("definition",), "D": ("zero_at_zero",),
                     "E": ("derivative",)}  # fmt: skip


def test_no_smooth_row_of_the_engine_has_a_false_claim() -> None:
    rows = [row for row in UNARY.values() if row.domain == REAL and row.derivative and row.name != "recip"]

    assert len(rows) > 10 and {row.name: yours.false_claims(row) for row in rows} == {row.name: () for row in rows}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("definition", {"definition": "x"}),
        ("derivative", {"derivative": "1"}),
        ("monotone", {"monotone": "decreasing"}),
        ("parity", {"parity": "even"}),
        ("range", {"range": yours.Interval(-0.9, 1.0)}),
    ],
)
def test_a_claim_made_false_is_the_one_that_is_found(name: str, wrong: dict[str, object]) -> None:
    assert yours.false_claims(UNARY["tanh"]) == ()
    assert yours.false_claims(replace(UNARY["tanh"], **wrong)) == (name,)


def test_a_picture_of_a_claim_says_whether_it_is_false_and_parts_the_curves() -> None:
    for name, row in (("parity", UNARY["tanh"]), ("range", yours.PROPOSED["B"])):
        scene = yours.claim_scene(row, name)
        curve, claimed = (np.array(e.points) for e in scene.edges if e.id.startswith("line-"))
        assert ("is false" in scene.title) == (not np.allclose(curve, claimed)) == (name == "range")


def test_the_packed_arithmetic_that_leaves_a_byte_is_what_differs_from_wider_integers() -> None:
    def leaves(text: str) -> bool:
        return any(not 0 <= eval(text, {"q": q}) <= 255 for q in range(256))

    assert yours.wrapping() == {letter for letter, (text, _) in yours.PACKED.items() if leaves(text)}
