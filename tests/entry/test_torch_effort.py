"""How the work of a build is divided among its regions."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.entry.torch_effort import FULL_SHARE, LEAST_FAMILIES, LEAST_NODES, Effort, efforts
from prism_explore.events.fastest import COMPILED, EAGER
from prism_explore.pipeline.search_space import quick_space

TWICE = px.parse_program("program twice\n  x = input f32[b, 8]\n  %1 = add(x, x)\n  return %1")
FULL = px.Budget(trials=16, seconds=10.0)


def test_equal_regions_count_together_and_nearly_equal_shares_ask_the_same_question():
    found = efforts(["a", "b", "a", "c"], [10.0, 3.0, 10.0, 2.8])

    assert 20 / 25.8 == pytest.approx(found["a"].share)
    assert 1.0 == found["a"].scale
    assert found["b"].scale == found["c"].scale == 0.5
    assert found["b"].budget(FULL) == found["c"].budget(FULL)
    assert found["b"].space(TWICE) == found["c"].space(TWICE)


def test_a_region_with_a_large_share_is_searched_as_if_it_were_alone():
    (only,) = efforts(["a"], [1.0]).values()
    full = quick_space(TWICE)

    assert replace(FULL, early_trial=False, details=False) == only.budget(FULL)
    assert (full.nodes, full.patience) == (only.space(TWICE).nodes, only.space(TWICE).patience)
    assert LEAST_NODES < only.space(TWICE).nodes_after_family < full.nodes
    assert (EAGER, COMPILED) == only.baselines((EAGER, COMPILED))
    assert "" == str(only)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.05, FULL_SHARE])
def test_less_share_is_never_more_work_and_never_none(share):
    small, large = (efforts(["a", "b"], [s, 1 - s])["a"] for s in (share, 2 * share))

    assert 1 <= small.budget(FULL).trials <= large.budget(FULL).trials <= FULL.trials
    assert 1 <= small.budget(FULL).patience <= large.budget(FULL).patience
    assert LEAST_NODES <= small.space(TWICE).nodes <= large.space(TWICE).nodes
    assert LEAST_FAMILIES <= small.space(TWICE).families <= large.space(TWICE).families
    assert small.space(TWICE).time_s <= large.space(TWICE).time_s
    assert EAGER in small.baselines((EAGER, COMPILED))


def test_a_budget_without_trials_stays_one():
    assert 0 == Effort(0.01, 1 / 16).budget(px.Budget(trials=0, seconds=0.0)).trials


def test_a_quick_search_says_for_which_share_of_the_time():
    assert "searched quickly, for 2.0% of the modelled time" == str(Effort(0.02, 1 / 16))
