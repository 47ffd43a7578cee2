"""Workloads: each is traced, and its program equals torch at every batch size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from prism_explore.errors import ShapeError
from prism_explore.frontend import Traced, trace
from prism_explore.frontend.workloads import WORKLOADS, Workload, workload
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse_program, show

SMALL = {
    "b": 2,
    "d": 6,
    "n": 10,
    "s": 5,
    "t": 7,
    "h": 4,
    "g": 2,
    "r": 3,
    "e": 3,
    "m": 4,
    "c": 2,
    "window": 3,
    "heads": 4,
    "kv_heads": 2,
}
"""Different where dims differ, so that no two can be confused."""


def small(row: Workload) -> Workload:
    sizes = {k: n for k, n in SMALL.items() if k in row.sizes}
    if row.name == "transformer_block":
        sizes["d"] = 8
    return row.resized(**sizes)


def arrays(traced: Traced, row: Workload, batch: int) -> tuple[list[torch.Tensor], dict[str, np.ndarray]]:
    draw = torch.Generator().manual_seed(batch)
    numbers = dict.fromkeys(row.at, batch)
    given = [
        torch.rand([d.value(numbers) for d in row.inputs[a].dims], generator=draw, dtype=torch.float64) * 2 - 0.7
        for a in traced.arguments
    ]
    bound = traced.bind(*given)
    return given, {b.name: t.numpy() for b, t in zip(traced.bindings, bound, strict=True)}


@pytest.mark.parametrize("row", WORKLOADS, ids=lambda w: w.name)
def test_a_workload_means_what_torch_computes_at_every_batch(row):
    traced = trace(small(row).code, small(row).inputs, row.name)
    for batch in (1, 3):
        given, inputs = arrays(traced, small(row), batch)

        np.testing.assert_allclose(
            small(row).code(*given).numpy(), evaluate(traced.program, inputs), rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("row", WORKLOADS, ids=lambda w: w.name)
def test_a_workload_is_traced_at_its_published_shape_with_its_batch_symbolic(row):
    program = trace(row.code, row.inputs, row.name).program

    assert ("b",) == program.graph.data_symbols == tuple(row.at)
    assert program.graph == parse_program(show(program)).graph
    assert all(line.startswith(("", "/")) for line in program.lines)


def test_names_are_unique_and_every_row_has_a_source():
    assert len(WORKLOADS) == len({w.name for w in WORKLOADS})
    for row in WORKLOADS:
        assert row.description, row.name
        assert row.source, row.name
        assert set(row.inputs) == set(row.shapes)


def test_a_workload_takes_other_sizes_and_refuses_a_size_that_it_lacks():
    row = workload("sliding_window_attention").resized(s=12, window=3)

    assert ("b", "32", "12", "128") == tuple(map(str, row.inputs["q"].dims))
    assert {"window": 3} == row.code.keywords
    with pytest.raises(ShapeError, match="lora has no size 'window'; it has d, n, r"):
        workload("lora").resized(window=3)


def test_an_unknown_name_is_answered_with_those_that_exist():
    with pytest.raises(ShapeError, match="no workload 'doom'; there are rmsnorm_linear, "):
        workload("doom")


def test_the_programs_of_attention(golden):
    for name in ("attention", "safe_grouped_attention", "sliding_window_attention", "transformer_block"):
        row = workload(name)
        golden(f"programs/{name}", show(trace(row.code, row.inputs, name).program))
