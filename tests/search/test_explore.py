"""The page of the search: from a program to proved families, without tuning."""

import pytest

import prism_explore as px
from prism_explore.events.kinds import CandidateInstantiated, ExplorationFinished, TrialMeasured, VerdictReached
from tests.strategies import rmsnorm_linear


def searched(program):
    """Level 1 alone: kernels for a GPU are not timed here, so the search ends with its proofs."""
    sess = px.Session(program, target="h100", at={"b": 8})
    sess.run()
    sess.close()
    return sess


@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("eps", [True, False])
def test_the_one_kernel_rmsnorm_linear_is_found_and_proved(weight, eps):
    sess = searched(rmsnorm_linear(4096, 4096, eps=eps, weight=weight))
    verdicts = {e.candidate: e.verdict for e in sess.journal.events if isinstance(e, VerdictReached)}
    r1 = [
        e.candidate
        for e in sess.journal.events
        if isinstance(e, CandidateInstantiated)
        and "grid[x=gx] loop[i=f]" in e.sgraph
        and "load(0, imap=[-], fmap=1)" in e.sgraph
        and f"load({2 if weight else 1}, imap=[1], fmap=0)" in e.sgraph
        and "omap=[1]" in e.sgraph
    ]

    assert r1
    assert {"proved"} == {verdicts[c] for c in r1}


def test_a_search_for_a_gpu_ends_with_its_proofs_and_says_that_nothing_was_timed():
    sess = searched(rmsnorm_linear(64, 96))

    assert not [e for e in sess.journal.events if isinstance(e, TrialMeasured)]
    assert isinstance(sess.journal.events[-1], ExplorationFinished)
    assert "no kernel has been timed" in sess.claim
    assert sess.best() is None


def test_two_searches_note_the_same_facts():
    program = rmsnorm_linear(64, 96)

    assert searched(program).journal.events == searched(program).journal.events


def test_nothing_that_was_found_for_sizes_that_differ_is_lost_when_they_coincide():
    different, equal = searched(rmsnorm_linear(64, 96)), searched(rmsnorm_linear(64, 64))

    assert len(different.families) == len(equal.families)
