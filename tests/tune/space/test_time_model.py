"""The time model: never below the lower bound, and its preferences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.cost.roofline import time_bound_of
from prism_explore.cost.work import work_of
from prism_explore.errors import ShapeError
from prism_explore.ir.dims import dim
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Verified
from prism_explore.targets import Target
from prism_explore.tune.space.size_table import SizeTable
from prism_explore.tune.space.time_model import TimeEstimate, compile_size, model_of, rank_correlation
from tests.tune.toys import TOY, fused, split

EVERY_FAMILY = {"fused": fused(), "fused rows": fused(rows=True), "split": split()}


def legal(verified: Verified, batch: int) -> list[dict[str, int]]:
    axes = {"gx": (1, 2, 3, 24), "gy": (1, batch), "f": (1, 2, 16), "gb": (1, batch)}
    names = verified.candidate.sgraph.parameters
    return [dict(zip(names, row, strict=True)) for row in product(*(axes[n] for n in names))]


def test_a_shape_without_a_number_is_the_callers_mistake() -> None:
    with pytest.raises(ShapeError, match="needs a number for 'b'"):
        model_of(fused().candidate, {}, TOY)


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 64))
def test_fast_evaluation_agrees_with_the_exact_one(b: int, gx: int, f: int) -> None:
    size = dim("b") * 4096 / (dim("gx") * "f") + dim("f") * "f" - 3

    assert float(size.rational({"b": b, "gx": gx, "f": f})) == pytest.approx(
        compile_size(size)({"b": b, "gx": gx, "f": f}), rel=1e-12
    )


def test_the_model_is_never_below_the_lower_bound() -> None:
    for verified in EVERY_FAMILY.values():
        floor = time_bound_of(verified.candidate, {"b": 4}, TOY)
        model = model_of(verified.candidate, {"b": 4}, TOY)
        for sizes in legal(verified, 4):
            assert floor.time_s <= model.estimate(sizes).time_s


def test_many_choices_at_once_have_the_same_estimates_as_each_alone() -> None:
    for verified in EVERY_FAMILY.values():
        model = model_of(verified.candidate, {"b": 4}, TOY)
        choices = legal(verified, 4)
        columns = np.array([list(c.values()) for c in choices]).T
        times, bytes_ = model.estimate_all(SizeTable(tuple(choices[0]), columns))

        assert [model.estimate(c) for c in choices] == [TimeEstimate(t, d) for t, d in zip(times, bytes_, strict=True)]


def test_the_model_charges_for_reading_a_large_weight_once_per_row_of_blocks() -> None:
    small_cache = TOY.replace(caches_bytes=(64, 128))
    model = model_of(fused(rows=True).candidate, {"b": 4}, small_cache)

    four, one = (model.estimate({"gx": 2, "gy": gy, "f": 1}).dram_bytes for gy in (4, 1))
    assert four > 2 * one


def test_the_model_prefers_blocks_that_fill_the_cores() -> None:
    model = model_of(fused(4096, 4096).candidate, {"b": 8}, TOY.replace(max_blocks=4096))

    assert model.estimate({"gx": 2, "f": 1}).time_s < model.estimate({"gx": 1, "f": 1}).time_s


def test_a_library_call_fills_the_cores_and_a_kernel_of_one_block_keeps_one() -> None:
    def time_s(verified: Verified, sizes: dict[str, int], cores: int) -> float:
        return model_of(verified.candidate, {"b": 4}, TOY.replace(cores=cores)).estimate(sizes).time_s

    shape = (512, 512)  # nearly all of the time is the product's, which is a library call in `split`
    assert time_s(split(*shape), {"gb": 4}, 4) == pytest.approx(time_s(split(*shape), {"gb": 4}, 1), rel=1e-3)
    assert time_s(fused(*shape), {"gx": 1, "f": 1}, 4) > 3.9 * time_s(fused(*shape), {"gx": 1, "f": 1}, 1)


def test_the_model_prefers_long_rows() -> None:
    model = model_of(fused(4096, 4096).candidate, {"b": 1}, TOY.replace(max_blocks=4096))

    assert model.estimate({"gx": 8, "f": 1}).time_s < model.estimate({"gx": 256, "f": 1}).time_s


ATTENTION = """sgraph
  q = input f32[8, 4, 128]
  k = input f32[8, 128, 4096] order(0, 2, 1)
  v = input f32[8, 4096, 128]
  %3 = custom(q, k, v) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0], fmap=2)
    %2 = load(2, imap=[0], fmap=1)
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = matmul(%4, %2)
    %6 = accum(%5)
    %7 = store(%6, omap=[0])
  return %3
"""
"""Two products that take turns."""


def test_products_that_take_turns_keep_memory_busy_only_with_tiles_that_can_wait() -> None:
    here = TOY.replace(kind="cpu", caches_bytes=(1 << 15, 1 << 20, 1 << 25), max_blocks=64, cores=2)
    sgraph = parse(ATTENTION)
    candidate = replace(fused().candidate, sgraph=sgraph, conditions=sgraph.conditions())

    def time_s(f: int, target: Target) -> float:
        return model_of(candidate, {}, target).estimate({"gx": 8, "f": f}).time_s

    (work,) = work_of(sgraph)
    assert ["once", "loop", "loop"] == [load.turn for load in work.loads]
    assert 128 * 128 * 4 == work.loads[1].tile_bytes.rational({"gx": 8, "f": 32})
    assert time_s(8, here) < 0.9 * min(time_s(1, here), time_s(4, here))  # 512 keys of 512 B are 256 KiB
    assert time_s(8, here.replace(kind="gpu")) == pytest.approx(time_s(4, here.replace(kind="gpu")), rel=0.05)
    assert {"alone"} == {load.turn for load in work_of(fused().candidate.sgraph)[0].loads}


def test_rank_correlation_is_spearman_s_with_shared_ranks() -> None:
    assert 1.0 == rank_correlation([1.0, 2.0, 30.0], [0.1, 0.2, 0.3])
    assert -1.0 == rank_correlation([1.0, 2.0, 3.0], [9.0, 4.0, 1.0])
    assert rank_correlation([1.0, 1.0, 2.0, 3.0], [5.0, 6.0, 7.0, 8.0]) == pytest.approx(3 / 10**0.5)
    assert rank_correlation([1.0, 1.0], [2.0, 3.0]) is None
    assert rank_correlation([1.0], [2.0]) is None
