"""Every search has a budget of nodes and of time; it ends there, says which one bound it, and rounds nothing to no."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.events.claim import claim
from prism_explore.events.fastest import OURS, ROOFLINE
from prism_explore.events.kinds import (
    FAMILIES_SPENT,
    FAMILY_BUDGET,
    TIME_SPENT,
    BaselineMeasured,
    FamilyCompleted,
    RegionPruned,
    VerdictReached,
)
from prism_explore.pipeline.search_space import default_space, quick_space
from prism_explore.search.explore import Progress, Steering, explore
from prism_explore.support.work_timer import WorkTimer
from tests.generate.programs import rms_linear_small

PROGRAM = rms_linear_small()


def session(**limits):
    return px.Session(PROGRAM, target="h100", at={"b": 4}, space=replace(default_space(PROGRAM), **limits))


def searched(**limits):
    sess = session(**limits)
    sess.run()
    sess.close()
    return sess


def test_a_stopwatch_counts_only_the_spans_in_which_it_runs():
    now = [0.0]
    watch = WorkTimer(10.0, lambda: now[0])

    def steps():
        for seconds in (4.0, 5.0, 2.0):
            now[0] += seconds
            yield seconds

    spent = []
    for _ in watch.during(steps()):
        now[0] += 1000.0
        spent.append((watch.spent_s, watch.is_over()))

    assert [(4.0, False), (9.0, False), (11.0, True)] == spent


def test_a_search_without_time_notes_what_it_left_and_says_so():
    sess = searched(time_s=0.0)
    left = [e for e in sess.journal.events if isinstance(e, RegionPruned) and e.reason.code == TIME_SPENT]

    assert "finished" == sess.state
    assert left
    assert {"budget"} == {e.reason.soundness for e in left}
    assert "The search stopped at its budget of time" in sess.claim
    assert not sess.families


def test_candidates_that_the_time_for_proofs_did_not_reach_are_unknown_and_never_refuted(monkeypatch):
    monkeypatch.setattr(px.Session, "_steps", lambda self: _without_time_for_proofs(self))
    sess = searched()
    verdicts = [e for e in sess.journal.events if isinstance(e, VerdictReached)]

    assert len(verdicts) > 1
    assert {("unknown", TIME_SPENT)} == {(v.verdict, v.budget) for v in verdicts}
    assert {"unknown"} == {f.row.status for f in sess.families.values()}
    assert f"the time for proofs was spent before {len(verdicts)} of them" in sess.claim
    assert "The search stopped at its budget of time" in sess.claim


def _without_time_for_proofs(sess):
    progress = Progress()
    for _ in explore(sess.task, sess.journal, Steering, progress):
        progress.proof_timer = WorkTimer(0.0)
        yield


def test_a_budget_of_nodes_is_named_too():
    assert "The search stopped at its budget of nodes" in searched(nodes=8).claim


def test_a_budget_of_families_ends_the_search_for_single_and_for_split_kernels_and_is_named():
    full, short = searched(), searched(families=1)
    left = {e.reason.code for e in short.of(RegionPruned) if e.reason.soundness == "budget"}
    kernels = [e.sgraph.count("custom(") for e in short.of(FamilyCompleted)]

    assert {FAMILIES_SPENT} == left
    assert [1, 2] == kernels and len(full.families) > 2
    assert "The search stopped at its budget of families" in short.claim
    assert FAMILY_BUDGET in short.journal.events[0].space and FAMILY_BUDGET not in full.journal.events[0].space


def test_a_quick_search_has_smaller_budgets_unless_a_space_or_a_longer_budget_is_given():
    def space(**options):
        return px.Session(PROGRAM, target="h100", **options).task.space

    full = default_space(PROGRAM)
    assert quick_space(PROGRAM) == space() == space(budget="quick") == replace(full, nodes=2_000, families=40)
    assert quick_space(PROGRAM) == space(budget=px.Budget(trials=3))
    assert full == space(budget="thorough") == space(budget=px.Budget(patience=20)) == space(space=full)


def test_a_quick_search_that_stopped_says_how_near_the_limit_it_came():
    race = [BaselineMeasured(name, 1e-3 * r, 0.0, 0.0, 9, ratio=r) for name, r in ((OURS, 1.0), (ROOFLINE, 0.8))]
    quick, other = (list(searched(**limits).journal.events[:-1]) for limits in ({"families": 1}, {"nodes": 8}))

    assert "The machine needs 80 % of the best's time" in claim([*quick, *race], "budget")
    assert "The machine needs" not in claim([*other, *race], "budget") + claim(quick, "budget")


def test_a_time_budget_that_is_not_reached_changes_no_fact_but_the_stated_one():
    first, second = searched(time_s=1000.0), searched(time_s=2000.0)

    assert len(first.journal.events) > 100
    assert first.journal.events[1:-1] == second.journal.events[1:-1]


def test_a_negative_budget_is_refused():
    with pytest.raises(px.ShapeError, match="time_s is a number from 0 on; found -1"):
        replace(default_space(PROGRAM), time_s=-1.0)
