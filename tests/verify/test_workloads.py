"""Every workload's candidates: right ones equal their programs and are proved, wrong ones differ and are refuted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.ir.evaluate import evaluate
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.text import parse, show
from tests.verify.workloads import ENTRIES, Entry, program_of, sgraph_of

BATCH = 6


def numbers_for(graph: SGraph, sizes: dict[str, int]) -> list[dict[str, int]]:
    """Up to two choices of small numbers for grid sizes and loop ranges, as different as can be."""
    found: list[dict[str, int]] = []
    for numbers in sorted(product((2, 3), repeat=len(graph.parameters)), key=lambda c: -len(set(c))):
        given = {**sizes, **dict(zip(graph.parameters, numbers, strict=True))}
        try:
            whole = all(d.value(given) for d in graph.conditions())
        except ShapeError:
            continue
        if whole and (not found or all(given[p] != found[0][p] for p in graph.parameters[:1])):
            found.append(given)
        if len(found) == 2:
            break
    return found


def differs(entry: Entry) -> bool:
    """Whether program and candidate differ anywhere, by the interpreter alone."""
    program, graph = program_of(entry.workload, tiny=True), sgraph_of(entry, tiny=True)
    symbols = dict.fromkeys(program.graph.data_symbols, BATCH)
    rng = np.random.default_rng(5)
    inputs = {i.name: rng.uniform(-0.9, 1.1, [d.value(symbols) for d in i.type.dims]) for i in program.inputs}
    with np.errstate(all="ignore"):
        wanted = evaluate(program, inputs)
        choices = numbers_for(graph, symbols)
        assert choices, f"{entry.name}: no small sizes fit"
        found = [evaluate(graph, inputs, numbers) for numbers in choices]
    assert np.isfinite(wanted).all()
    return any(not np.allclose(wanted, f, rtol=1e-9, atol=1e-11) for f in found)


def test_names_are_different():
    assert len(ENTRIES) == len({e.name for e in ENTRIES})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_candidate_is_as_right_or_wrong_as_its_row_says(entry):
    assert parse(show(sgraph_of(entry))) == sgraph_of(entry)
    assert program_of(entry.workload).graph.output_type.dims == sgraph_of(entry).output_type.dims
    assert entry.right is not differs(entry)
