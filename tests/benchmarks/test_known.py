"""What others found stands to what we prove as it is said to: ours, dominated, outside."""

from __future__ import annotations

from functools import cache

import pytest

import prism_explore as px
from benchmarks.known import FILES, SAVED, Known, saved, written
from prism_explore.cost.dominance import cost_of
from prism_explore.tune.space.parameters import some_sizes
from tests.frontend.mirage.others import WORKLOADS

H100 = px.target("h100")


@cache
def of(workload: str) -> tuple[Known, ...]:
    return tuple(saved(workload, H100))


def test_every_saved_graph_of_multi_head_attention_is_dominated_although_all_have_library_calls() -> None:
    found = of("mha")

    assert FILES[SAVED["mha"]][1] == len(found)
    assert {"dominated"} == {k.standing for k in found}
    assert all(" on h100 with " in k.by for k in found)


@pytest.mark.parametrize("number", [0, 1, 6, 10, 20])
def test_what_is_dominated_costs_no_less_with_any_of_its_numbers(number: int) -> None:
    step = of("mha")[number].step
    assert step is not None
    ours, theirs = step.costs
    rows, _ = some_sizes(step.worse, {}, H100, most=2000)

    assert len(rows) > 20
    assert ours == cost_of(step.better, staged=True).assigned(step.assignment)
    assert ours.launches <= theirs.launches
    for row in rows:
        assert ours.traffic.rational({}) <= theirs.traffic.rational(dict(row))
        assert ours.flops.rational({}) <= theirs.flops.rational(dict(row))


def test_what_is_dominated_on_one_machine_is_open_on_one_that_is_not_filled() -> None:
    """On a machine of so many cores nothing fills it, and 0 predefined operators are the restriction."""
    wide = tuple(saved("mha", H100.replace(cores=1 << 20)))

    assert {"outside"} == {k.standing for k in wide}
    assert all("predefined operators" in k.by for k in wide)


STANDINGS = {
    "softmax": ["ours", "dominated"],
    "RMSNorm, gated MLP": ["outside"],
    "squared relu": ["outside"],
}


@pytest.mark.parametrize("name", STANDINGS)
def test_right_graphs_of_other_workloads_have_a_standing_and_a_reason_each(name: str) -> None:
    found = list(written(name))

    assert list(WORKLOADS[name][1]) == [k.name for k in found]
    assert STANDINGS[name] == [k.standing for k in found]
    assert all(k.by for k in found)
