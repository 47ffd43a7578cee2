"""Every workload's candidates: right ones equal their programs and are proved, wrong ones differ and are refuted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

from prism_explore.events.journal import Journal
from prism_explore.frontend.workloads import WORKLOADS
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Refuted, Unknown, Verified
from prism_explore.verify.prover import Prover
from tests.verify.candidates import recorded
from tests.verify.corpus import candidate
from tests.verify.workloads import ENTRIES, OPEN, RIGHT, WRONG, Entry, program_of, sgraph_of

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


@pytest.mark.parametrize("name", dict.fromkeys(e.workload for e in ENTRIES))
def test_the_recorded_programs_are_what_torch_exports(name, golden):
    golden(f"traced/{name}", recorded(name))


def test_names_are_different():
    assert len(ENTRIES) == len({e.name for e in ENTRIES})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_candidate_is_as_right_or_wrong_as_its_row_says(entry):
    assert parse(show(sgraph_of(entry))) == sgraph_of(entry)
    assert program_of(entry.workload).graph.output_type.dims == sgraph_of(entry).output_type.dims
    assert entry.right is not differs(entry)


def test_every_workload_has_right_candidates_and_wrong_ones():
    for row in WORKLOADS:
        assert 2 <= sum(e.right for e in ENTRIES if e.workload == row.name), row.name
        assert 2 <= sum(not e.right for e in ENTRIES if e.workload == row.name), row.name


def test_every_known_form_is_there():
    forms = " ".join(e.form for e in RIGHT)

    assert [] == [f"R{n}" for n in range(1, 11) if not re.search(rf"\bR{n}\b", forms)]


# ---------------------------------------------------------------- verdicts
@cache
def prover_of(name: str) -> Prover:
    return Prover(program_of(name))


@pytest.mark.parametrize("entry", RIGHT, ids=lambda e: e.name)
def test_a_right_candidate_is_proved_at_its_published_shape(entry):
    prover = prover_of(entry.workload)
    verdict = prover.verify(candidate(prover.program, sgraph_of(entry)), Journal())

    if entry.needs:
        assert isinstance(verdict, Unknown), f"{entry.name} has a verdict now; take its row out of OPEN"
        assert verdict.limit.startswith(entry.needs)
    else:
        assert isinstance(verdict, Verified), verdict


@pytest.mark.parametrize("entry", WRONG, ids=lambda e: e.name)
def test_a_wrong_candidate_is_refuted_at_its_published_shape(entry):
    prover = prover_of(entry.workload)
    verdict = prover.verify(candidate(prover.program, sgraph_of(entry)), Journal())

    assert isinstance(verdict, Refuted), verdict


def test_what_is_still_open_is_a_candidate_that_is_right():
    assert set(OPEN) <= {e.name for e in RIGHT}
