"""The status of known forms of others against the candidates that a search proves."""

from __future__ import annotations

from functools import cache

import pytest

import prism_explore as px
from benchmarks.known_forms import FILES, MIRAGE_FILES, KnownForm, mirage_forms, mirage_style_forms
from prism_explore.cost.dominance import cost_of
from prism_explore.tune.space.parameters import some_sizes
from tests.frontend.mirage.others import WORKLOADS

H100 = px.target("h100")


@cache
def forms_of(workload: str) -> tuple[KnownForm, ...]:
    return tuple(mirage_forms(workload, H100))


def test_every_saved_graph_of_multi_head_attention_is_dominated() -> None:
    found = forms_of("mha")

    assert FILES[MIRAGE_FILES["mha"]][1] == len(found)
    assert {"dominated"} == {k.status for k in found}
    assert all(" on h100 with " in k.by for k in found)


@pytest.mark.parametrize("number", [0, 1, 6, 10, 20])
def test_a_dominated_form_costs_no_less_at_any_of_its_sizes(number: int) -> None:
    step = forms_of("mha")[number].step
    assert step is not None
    ours, theirs = step.costs
    rows, _ = some_sizes(step.worse, {}, H100, most=2000)

    assert len(rows) > 20
    assert ours == cost_of(step.better, staged=True).assigned(step.assignment)
    assert ours.launches <= theirs.launches
    for row in rows:
        assert ours.traffic.rational({}) <= theirs.traffic.rational(dict(row))
        assert ours.flops.rational({}) <= theirs.flops.rational(dict(row))


def test_a_form_is_not_dominated_on_a_machine_that_no_sizes_fill() -> None:
    """No sizes fill a machine with this many cores, and the search space allows no predefined operators."""
    wide = tuple(mirage_forms("mha", H100.replace(cores=1 << 20)))

    assert {"outside"} == {k.status for k in wide}
    assert all("predefined operators" in k.by for k in wide)


STATUSES = {
    "softmax": ["ours", "dominated"],
    "RMSNorm, gated MLP": ["outside"],
    "squared relu": ["outside"],
}


@pytest.mark.parametrize("name", STATUSES)
def test_every_right_graph_of_another_workload_has_a_status_and_a_reason(name: str) -> None:
    found = list(mirage_style_forms(name))

    assert list(WORKLOADS[name][1]) == [k.name for k in found]
    assert STATUSES[name] == [k.status for k in found]
    assert all(k.by for k in found)
