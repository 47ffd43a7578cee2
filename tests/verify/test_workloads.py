"""Every workload's candidates: right ones equal their programs and are proved, wrong ones differ and are refuted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from prism_explore.ir.evaluate import evaluate
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.text import parse, show
from tests.verify.workloads import ENTRIES, Entry, program_of, sgraph_of

BATCH = 6
"""What every symbol of a program is here; 2 and 3 divide it."""


def numbers_for(graph: SGraph, sizes: Mapping[str, int], turn: int) -> dict[str, int]:
    """Numbers 2 and 3 in turns for grid sizes and loop ranges; the other one where tiles would not be whole."""
    conditions = graph.conditions()

    def grown(given: Mapping[str, int], rest: tuple[str, ...]) -> dict[str, int] | None:
        if any(d.rational(given).denominator != 1 for d in conditions if set(d.symbols) <= set(given)):
            return None
        if not rest:
            return dict(given)
        first = 2 + (len(rest) + turn) % 2
        tries = (grown({**given, rest[0]: n}, rest[1:]) for n in (first, 5 - first))
        return next((found for found in tries if found is not None), None)

    found = grown(sizes, graph.parameters)
    assert found is not None, "no small sizes fit"
    return found


def differs(entry: Entry) -> bool:
    """Whether program and candidate differ anywhere, by the interpreter alone."""
    program, graph = program_of(entry.workload, tiny=True), sgraph_of(entry, tiny=True)
    symbols = dict.fromkeys(program.graph.data_symbols, BATCH)
    rng = np.random.default_rng(5)
    inputs = {i.name: rng.uniform(-0.9, 1.1, [d.value(symbols) for d in i.type.dims]) for i in program.inputs}
    with np.errstate(all="ignore"):
        wanted = evaluate(program, inputs)
        found = [evaluate(graph, inputs, numbers_for(graph, symbols, turn)) for turn in (0, 1)]
    assert np.isfinite(wanted).all()
    return any(not np.allclose(wanted, f, rtol=1e-9, atol=1e-11) for f in found)


def test_names_are_different():
    assert len(ENTRIES) == len({e.name for e in ENTRIES})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_candidate_is_as_right_or_wrong_as_its_row_says(entry):
    assert parse(show(sgraph_of(entry))) == sgraph_of(entry)
    assert program_of(entry.workload).graph.output_type.dims == sgraph_of(entry).output_type.dims
    assert entry.right is not differs(entry)
