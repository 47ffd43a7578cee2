"""The parameter space: every legal choice of sizes, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.pipeline.stages import Verified
from prism_explore.targets import GPUS
from prism_explore.tune.space.parameters import (
    InIntegers,
    Limits,
    compiled_condition,
    divisors,
    legal_sizes,
    limits_of,
    schedules,
    some_sizes,
)
from tests.strategies import dims
from tests.tune.toys import TOY, fused, split

NUMBERS = st.integers(1, 12)


def is_legal(sizes: Mapping[str, int], limits: Limits) -> bool:
    """Whether sizes are within the limits on the toy target, in exact fractions."""
    extents = [d.rational(sizes) for d in limits.integers]
    return (
        all(extent.denominator == 1 and extent >= 1 for extent in extents)
        and all(d.rational(sizes) <= TOY.max_blocks for d in limits.blocks)
        and all(d.rational(sizes) <= TOY.shared_memory_bytes for d in limits.scratch)
    )


@given(dims(), st.lists(NUMBERS, min_size=8, max_size=8), st.none() | st.integers(0, 200))
def test_a_condition_in_integers_is_that_in_fractions(d: Dim, values: list[int], most: int | None) -> None:
    assume(len(d.symbols) <= len(values))
    exact = d.rational(dict(zip(d.symbols, values, strict=False)))
    expected = exact <= most if most is not None else exact.denominator == 1 and exact >= 1

    condition = InIntegers.of(d, d.symbols, most)

    assert expected == compiled_condition([condition.text])(values)
    assert expected == bool(np.all(compiled_condition([condition.text])(np.array(values)[:, None])))


def test_no_conditions_always_hold() -> None:
    assert compiled_condition([])([])


def by_hand(verified: Verified, shapes: dict[str, int], most: int) -> set[tuple[tuple[str, int], ...]]:
    """Every choice up to `most` that breaks no rule, the slow way: put it in and look at each tile."""
    found: set[tuple[tuple[str, int], ...]] = set()
    limits = limits_of(verified.candidate, shapes, TOY)
    names = verified.candidate.sgraph.parameters
    for row in product(range(1, most + 1), repeat=len(names)):
        sizes = dict(zip(names, row, strict=True))
        try:
            for d in verified.candidate.sgraph.conditions():
                d.value({**shapes, **sizes})
        except ShapeError:
            continue
        if is_legal(sizes, limits):
            found.add(tuple(sizes.items()))
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 8), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_what_is_yielded_is_legal_and_what_is_omitted_is_not(batch: int, k: int, n: int, rows: bool) -> None:
    verified = fused(k, n, rows)
    listed = list(legal_sizes(verified.candidate, {"b": batch}, TOY))

    assert by_hand(verified, {"b": batch}, 12) == set(listed)
    assert len(listed) == len(set(listed))
    assert sorted(listed) == listed


def test_sizes_are_divisors_of_any_extent() -> None:
    verified = fused(11008, 31)
    found = list(legal_sizes(verified.candidate, {"b": 1}, TOY.replace(shared_memory_bytes=1 << 20)))

    assert {1, 31} == {dict(s)["gx"] for s in found}
    assert 86 in {dict(s)["f"] for s in found}
    assert 2 * len(divisors(11008)) == len(found)


def test_a_grid_dim_that_cuts_nothing_has_one_block() -> None:
    found = {dict(s)["gb"] for s in legal_sizes(split().candidate, {"b": 6}, TOY)}

    assert {1, 2, 3, 6} == found


def test_no_more_blocks_than_the_target_takes() -> None:
    few = TOY.replace(max_blocks=4)
    found = list(legal_sizes(fused(rows=True).candidate, {"b": 4}, few))

    assert max(dict(s)["gx"] * dict(s)["gy"] for s in found) == 4


def test_accumulators_must_fit_into_the_scratch_of_a_core() -> None:
    verified = fused(16, 4096)
    limits = limits_of(verified.candidate, {"b": 4}, TOY)
    found = {dict(s)["gx"] for s in legal_sizes(verified.candidate, {"b": 4}, TOY.replace(max_blocks=4096))}

    assert 4 * 4 * (4096 // min(found)) + 4 * 4 <= 4096
    assert all(d.rational({"gx": 1, "f": 1}) > 4096 for d in limits.scratch)


def test_on_a_gpu_a_large_tile_is_refused() -> None:
    verified = fused(4096, 4096)
    found = [dict(s) for s in legal_sizes(verified.candidate, {"b": 8}, GPUS["a100"])]

    assert found
    assert all(4 * (4096 // s["f"]) * (4096 // s["gx"]) <= GPUS["a100"].shared_memory_bytes for s in found)


@given(st.integers(1, 8), st.integers(1, 24), st.integers(1, 24), st.integers(1, 40))
def test_some_sizes_are_legal_ones_from_end_to_end(batch: int, k: int, n: int, most: int) -> None:
    verified = fused(k, n)
    every = list(legal_sizes(verified.candidate, {"b": batch}, TOY))
    some, whole = some_sizes(verified.candidate, {"b": batch}, TOY, most)

    assert whole == (len(every) <= most)
    assert set(some) <= set(every)
    assert len(some) <= most
    assert bool(some) == bool(every)
    if whole:
        assert every == list(some)


def test_what_is_left_of_a_large_space_reaches_from_end_to_end() -> None:
    verified = fused(4096, 4096)
    wide = TOY.replace(max_blocks=1 << 20, shared_memory_bytes=1 << 40)
    some, whole = some_sizes(verified.candidate, {"b": 4}, wide, 40)

    assert not whole
    assert {1, 4096} <= {dict(s)["gx"] for s in some}
    assert {1, 4096} <= {dict(s)["f"] for s in some}
    assert len(some) > 8


def test_a_missing_shape_is_the_callers_mistake() -> None:
    with pytest.raises(ShapeError, match="needs a number for 'b'"):
        list(legal_sizes(fused().candidate, {}, TOY))


# ---------------------------------------------------------------- schedules
THREE = (("a", (7, 8)), ("b", (1, 2, 3)), ("c", (5,)))


def test_schedules_start_with_the_best_guess_and_move_away_from_it() -> None:
    found = list(schedules(THREE))
    changed = [sum(v != values[0] for (_, v), (_, values) in zip(s, THREE, strict=True)) for s in found]

    assert (("a", 7), ("b", 1), ("c", 5)) == found[0]
    assert sorted(changed) == changed
    assert 2 * 3 * 1 == len(set(found)) == len(found)


def test_without_choices_there_is_one_schedule() -> None:
    assert [()] == list(schedules(()))


@given(st.integers(1, 5000))
def test_divisors_are_all_divisors(n: int) -> None:
    assert tuple(d for d in range(1, n + 1) if n % d == 0) == divisors(n)
