"""The model of Triton kernels: against kernels that were timed on an H100, and what must hold of any model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from prism_explore.codegen.triton import heuristics
from prism_explore.codegen.triton.heuristics import (
    CHOICES,
    Resources,
    choose_sizes,
    estimated_resources,
    ordered_choices,
    rank_sizes,
    rank_sizes_of_all,
)
from prism_explore.codegen.triton.plan import plan_kernels
from prism_explore.codegen.triton.time_model import BlockWork, kernel_s, modelled_s, works_of
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import GPUS
from tests.codegen.triton import graphs

H100 = GPUS["h100"]
TRIALS = Path(__file__).parents[3] / "benchmarks" / "results" / "2026-11-27-h100-trials.jsonl"
LEAST_TRIALS = 6
"""Of a run that is replayed."""


def modelled(trial: Mapping[str, Any]) -> float:
    graph, schedule = parse(trial["graph"]), trial["schedule"]
    sizes = {**trial["shapes"], **trial["sizes"]}
    plans = plan_kernels(graph, sizes, Parameters((), tuple(schedule.items())), H100)
    assert isinstance(plans, tuple), plans
    return modelled_s(works_of(graph, plans, sizes), schedule, H100)


@pytest.mark.slow
def test_the_fastest_of_the_first_five_is_nearly_the_fastest_of_a_tuning_run():
    runs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in TRIALS.read_text(encoding="utf-8").splitlines():
        trial = json.loads(line)
        if trial["us"] is not None:
            key = f"{trial['row']} {trial['dtype']} {trial['outcome']}"
            runs[key].append((modelled(trial), trial["us"]))
    runs = {name: sorted(found) for name, found in runs.items() if len(found) >= LEAST_TRIALS}
    losses = {name: min(us for _, us in f[:5]) / min(us for _, us in f) for name, f in runs.items()}

    assert len(runs) >= 30
    assert sum(loss <= 1.1 for loss in losses.values()) >= 0.8 * len(losses), losses
    assert max(losses.values()) < 2.5, losses


def works(numbers: Mapping[str, int]) -> tuple[BlockWork, ...]:
    graph = graphs.rmsnorm_linear(d=1024, n=1024)
    plans = plan_kernels(graph, numbers, Parameters(()))
    assert isinstance(plans, tuple), plans
    return works_of(graph, plans, numbers)


def seconds(numbers: Mapping[str, int], **schedule: int) -> float:
    return modelled_s(works(numbers), schedule, H100)


def test_a_kernel_takes_no_less_time_than_reading_its_operands():
    (work,) = works({"b": 16, "gx": 16, "f": 16})

    assert 4 * (16 * 1024 + 1024 + 1024 * 1024) == work.distinct_bytes
    assert not work.is_cached
    for warps in CHOICES["num_warps"]:
        assert kernel_s(work, {"num_warps": warps}, H100) > work.distinct_bytes / H100.dram_bytes_per_s


def test_one_block_is_slower_than_one_per_multiprocessor():
    assert seconds({"b": 16, "gx": 1, "f": 64}) > 4 * seconds({"b": 16, "gx": 64, "f": 64})


def test_tiles_beyond_the_registers_make_a_wave_slower():
    assert seconds({"b": 16, "gx": 64, "f": 1}, num_warps=1) > 2 * seconds({"b": 16, "gx": 64, "f": 1}, num_warps=8)


def test_tiles_beyond_the_shared_memory_take_infinite_time():
    small = H100.replace(shared_memory_bytes=1024)

    assert modelled_s(works({"b": 16, "gx": 16, "f": 16}), {}, small) == float("inf")


def test_a_float32_product_in_three_tf32_products_needs_registers_for_both_parts_of_its_operands():
    (work,) = works({"b": 16, "gx": 16, "f": 2})
    plain, split = (work.registers({"num_warps": 8, "num_stages": 2, "tf32_products": n}, 32) for n in (0, 3))

    assert split > plain + 64


# ---------------------------------------------------------------- what the tuner reads
def test_many_graphs_are_ranked_as_one_is_and_the_best_sizes_are_the_first():
    graph = graphs.rmsnorm_linear(d=1024, n=1024)
    (ranked,) = rank_sizes_of_all([graph], {"b": 16}, H100)
    chosen = choose_sizes(graph, {"b": 16}, H100)

    assert isinstance(chosen, Parameters)
    assert ranked == sorted(ranked, key=lambda row: row[0])
    assert rank_sizes(graph, {"b": 16}, H100, {})[0][0] == pytest.approx(ranked[0][0], rel=0.2)
    assert rank_sizes(graph, {"b": 16}, H100, {})[0][1] == chosen


def test_of_many_graphs_few_sizes_are_looked_at_until_they_are_promising():
    graph = graphs.rmsnorm_linear(d=1024, n=1024)
    close, first = rank_sizes_of_all([graph, graph], {"b": 16}, H100, most_graphs=1)

    assert len(first) <= heuristics.FIRST_SAMPLES < len(close)
    assert first[0][0] >= close[0][0]


def test_sampled_sizes_are_whole_together():
    graph = graphs.rmsnorm_linear(d=96, n=1024)
    doubled = parse(show(graph).replace("loop[i=f]", "loop[i=f*h]"))
    ranked = rank_sizes(doubled, {"b": 16}, H100, {}, most=30, descents=0)
    every = rank_sizes(doubled, {"b": 16}, H100, {}, most=10_000, descents=0)

    assert {"f", "h"} <= {*doubled.parameters}
    assert len(every) > 30  # more choices than samples
    assert {parameters for _, parameters in ranked} <= {parameters for _, parameters in every}
    assert len(ranked) > 10  # where each size is drawn alone, f * h rarely divides 96


def test_after_a_kernel_that_exceeds_a_resource_less_of_it_is_tried():
    parameters = Parameters((("gx", 16), ("f", 2)), (("num_warps", 8), ("num_stages", 2)))
    needs = estimated_resources(graphs.rmsnorm_linear(d=1024, n=1024), parameters, {"b": 16}, H100)
    (work,) = works({"b": 16, "gx": 16, "f": 2})
    assert isinstance(needs, Resources)
    most = Resources(inf, inf)

    assert needs.shared_bytes == 2 * work.staged_bytes
    assert needs.registers == work.registers({"num_warps": 8, "num_stages": 2, "tf32_products": 0}, 32)
    assert needs.fit_in(most)
    assert not needs.fit_in(most.with_less_registers(needs))
    assert not needs.fit_in(most.with_less_shared(needs))
    assert replace(needs, registers=needs.registers / 2).fit_in(most.with_less_registers(needs))
    assert replace(needs, shared_bytes=needs.shared_bytes / 2).fit_in(most.with_less_shared(needs))


def test_the_first_value_of_each_schedule_choice_is_the_one_that_is_modelled_fastest():
    numbers = {"b": 16, "gx": 64, "f": 4}
    graph = graphs.rmsnorm_linear(d=1024, n=1024)
    offered = dict(ordered_choices(graph, numbers, H100))
    first = {name: values[0] for name, values in offered.items()}
    plans = plan_kernels(graph, numbers, Parameters((), (("num_warps", 8),)))
    assert isinstance(plans, tuple)

    assert {name: sorted(values) for name, values in offered.items()} == {n: sorted(CHOICES[n]) for n in offered}
    found = works_of(graph, plans, numbers)
    least = modelled_s(found, first, H100)
    for name, values in offered.items():
        for value in values:
            assert least <= modelled_s(found, {**first, name: value}, H100)


def test_a_graph_in_the_text_of_a_trial_is_read_as_it_was_written():
    trial = json.loads(TRIALS.read_text(encoding="utf-8").splitlines()[0])

    assert parse(trial["graph"]).parameters == tuple(trial["sizes"])
