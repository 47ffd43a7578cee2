"""Ranked sizes: all legal ones if they are few, else the best of the time model, kernel by kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import independent_groups, legal_sizes, limits_of
from prism_explore.tune.space.ranked_sizes import ranked_sizes
from prism_explore.tune.space.time_model import model_of
from tests.tune.toys import TOY, fused

TWO = """sgraph
  x = input f32[{m}, {k}]
  w = input f32[{k}, {n}]
  %2 = custom(x) grid[x=ga, y=gb]
    %0 = load(0, imap=[0, 1])
    %1 = square(%0)
    %2 = store(%1, omap=[0, 1])
  %3 = custom(%2, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[1])
  return %3
"""
"""Two kernels, and no symbol in both."""

WIDE: Target = TOY.replace(max_blocks=1 << 20, shared_memory_bytes=1 << 40)


@lru_cache
def two(m: int, k: int, n: int) -> Candidate:
    sgraph = parse(TWO.format(m=m, k=k, n=n))
    return replace(fused().candidate, sgraph=sgraph, conditions=sgraph.conditions())


def test_symbols_that_no_kernel_and_no_limit_links_are_independent() -> None:
    alone = limits_of(fused().candidate, {"b": 4}, WIDE)

    assert [("ga", "gb"), ("gx", "f")] == [p.symbols for p in independent_groups(limits_of(two(4, 16, 24), {}, WIDE))]
    assert (alone,) == independent_groups(alone)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 12), st.integers(1, 400))
@settings(max_examples=40)
def test_they_are_legal_in_order_and_begin_with_the_best(m: int, k: int, n: int, most: int) -> None:
    candidate = two(m, k, n)
    model = model_of(candidate, {}, WIDE)
    every = {sizes: model.estimate(dict(sizes)).time_s for sizes in legal_sizes(candidate, {}, WIDE)}
    found, whole = ranked_sizes(candidate, {}, WIDE, model, most)

    assert whole == (len(every) <= most)
    assert sorted(found) == list(found)
    assert len(dict(found)) <= len(found) == len({sizes for _, sizes in found})
    assert all(every[sizes] == time_s for time_s, sizes in found)
    assert len(found) == len(every) if whole else 0 < len(found) <= max(most, 1)


def test_of_too_many_the_best_of_each_kernel_are_combined() -> None:
    candidate = two(64, 4096, 4096)
    model = model_of(candidate, {}, WIDE)
    found, whole = ranked_sizes(candidate, {}, WIDE, model, 2000)
    best = min(model.estimate(dict(sizes)).time_s for sizes in legal_sizes(candidate, {}, WIDE))

    assert not whole
    assert len(found) <= 2000
    assert found[0][0] == best
    assert {dict(sizes)["f"] for _, sizes in found} == {1 << n for n in range(13)}
    assert {dict(sizes)["gb"] for _, sizes in found} == {1 << n for n in range(13)}


def test_a_candidate_may_have_more_kernels_than_an_array_has_dims() -> None:
    kernel = """  %{0} = custom({1}) grid[x=g{0}]
    %0 = load(0, imap=[0])
    %1 = square(%0)
    %2 = store(%1, omap=[0])
"""
    kernels = "".join(kernel.format(n, f"%{n - 1}" if n > 1 else "x") for n in range(1, 71))
    sgraph = parse(f"sgraph\n  x = input f32[4, 4]\n{kernels}  return %70\n")
    candidate = replace(fused().candidate, sgraph=sgraph, conditions=sgraph.conditions())
    found, whole = ranked_sizes(candidate, {}, WIDE, model_of(candidate, {}, WIDE), 500)

    assert not whole
    assert 500 >= len(found) == len({sizes for _, sizes in found})
    assert {n for _, sizes in found for n in dict(sizes).values()} == {1, 2, 4}
