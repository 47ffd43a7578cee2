"""No bound is above what is exactly counted, and what is counted as written is exact.

`benchmarks/bounds.py` holds the same against every candidate that default searches prove, of every workload.
"""

import random
from functools import cache
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.cost.dominance import find_dominated
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import AccumulateRescaled, Band, Binary
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate
from tests.cost.counting import BATCH, Case, cases, counted, wrong
from tests.cost.found import known, legal_sizes, proved

some_case = st.deferred(lambda: st.sampled_from(cases()))


def test_there_are_enough_candidates_to_count():
    assert len(cases()) > 60
    assert len({c.candidate.family.program.name for c in cases()}) == 6


@settings(max_examples=150, deadline=None)
@given(some_case, st.data())
def test_bounds_of_small_searches_hold_whatever_the_numbers(case: Case, data):
    assert [] == wrong(case.candidate.sgraph, data.draw(st.sampled_from(case.sizes)), case.shapes)


# ---------------------------------------------------------------- workloads
SEARCHED = (
    "rmsnorm_linear_bare",
    "rmsnorm_mlp",
    "swiglu",
    "attention",
    "qk_norm_attention",
    "lora",
    "mlp_gelu",
    "llama_mlp",
)
"""Workloads whose default search takes a second or two."""


@cache
def sampled(name: str) -> tuple[Candidate, ...]:
    """Some of what a default search proves, of one and of two kernels."""
    rng = random.Random(name)
    found = [[c for c in proved(name) if len(c.sgraph.customs) == kernels] for kernels in (1, 2)]
    return tuple(c for of in found for c in rng.sample(of, min(15, len(of))))


@pytest.mark.parametrize("name", SEARCHED)
def test_bounds_hold_for_what_a_default_search_proves(name):
    rng = random.Random(name)

    assert {1, 2} == {len(c.sgraph.customs) for c in sampled(name)}
    for candidate in sampled(name):
        sizes = rng.choice(list(legal_sizes(candidate.sgraph, candidate.conditions)))

        assert [] == wrong(candidate.sgraph, sizes, BATCH)


def test_bounds_hold_for_the_known_forms_of_every_workload():
    rng = random.Random(0)
    kinds: set[str] = set()
    for name, graph in known().items():
        sizes = list(islice(legal_sizes(graph, graph.conditions()), 16))
        kinds |= kinds_of(graph)

        assert sizes, name
        assert [] == wrong(graph, rng.choice(sizes), BATCH), name
    assert {"online", "masked", "in a row", "split"} == kinds


def kinds_of(graph: SGraph) -> set[str]:
    inner = [n.op for _, block in graph.customs for n in block.nodes]
    told = {
        "online": any(isinstance(op, AccumulateRescaled) for op in inner),
        "masked": Binary("mask") in inner,
        "in a row": len(graph.customs) > 2,
        "split": len(graph.customs) == 2,
    }
    return {kind for kind, is_so in told.items() if is_so}


@pytest.mark.parametrize("name", ["attention", "rmsnorm_mlp"])
def test_a_dominated_candidate_of_a_default_search_costs_no_less_by_count(name):
    rng = random.Random(name)
    families = sorted({c.family.id for c in proved(name)})
    some = set(rng.sample(families, min(8, len(families))))
    found = find_dominated([c for c in proved(name) if c.family.id in some], staged=True)

    assert found
    for steps in found.values():
        for step in rng.sample(steps, min(3, len(steps))):
            sizes = rng.choice(list(legal_sizes(step.worse.sgraph, step.worse.conditions)))
            ours = {s: d.value({**BATCH, **sizes}) for s, d in step.assignment}
            one, other = counted(step.better.sgraph, ours, BATCH), counted(step.worse.sgraph, sizes, BATCH)

            assert one.loaded + one.stored <= other.loaded + other.stored
            assert one.flops <= other.flops
            assert len(one.kernels) <= len(other.kernels)


# ---------------------------------------------------------------- masks
MASKED = """sgraph
  q = input f32[s, 3]
  k = input f32[3, {t}]
  v = input f32[{t}, 3]
  e = input f32[s, {t}]
  %4 = band(rows=s, columns={t}, low={low}, high={high}, dtype=f32)
  %5 = custom(q, k, v, e, %4) grid[x=1]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[-])
    %3 = load(3, imap=[-])
    %4 = load(4, imap=[-])
    %5 = matmul(%0, %1)
    %6 = add(%5, %3)
    %7 = mask(%6, %4)
    %8 = exp(%7)
    %9 = {weighted}
    %10 = mul_scalar(%2, 3)
    %11 = matmul(%9, %10)
    %12 = store(%11, omap=[-])
  return %5"""
BANDS = {
    "causal": ("s", "-7", "0", True),
    "window": ("s", "-1", "1", True),
    "future": ("s", "2", "7", False),
    "not square": ("8", "-7", "0", False),
}


@pytest.mark.parametrize("weighted", ["mul(%8, %3)", "exp(%8)"], ids=["weighted", "plain"])
@pytest.mark.parametrize("band", BANDS)
def test_a_bias_is_not_read_where_it_is_masked_nor_values_that_no_row_sees(band, weighted):
    """The tensors along rows or columns must be read under a mask that has its diagonal; none must under others."""
    t, low, high, read = BANDS[band]
    graph = parse(MASKED.format(t=t, low=low, high=high, weighted=weighted))
    (kernel,) = counted(graph, {}, {"s": 4}).kernels

    assert isinstance(graph.nodes[4].op, Band)
    assert [] == wrong(graph, {}, {"s": 4})
    if weighted != "exp(%8)":
        assert len(kernel.looked_at[3]) < 4 * (4 if t == "s" else 8)
        assert read or len(kernel.looked_at[2]) < 3 * (4 if t == "s" else 8)
