"""A normal form means what the program does: evaluated point by point against the interpreter.

Arbitrary programs, right and wrong. Comparing verdicts alone would be weak: a wrong normal form rarely
equals the goal, so it would go unnoticed.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.evaluate import evaluate
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.verify.algebra import Algebra, Stuck
from prism_explore.verify.index import position
from prism_explore.verify.lowering import lower
from tests.strategies import programs
from tests.verify.corpus import CASES, PROGRAMS
from tests.verify.mutate import mutate, numbers_for, smaller
from tests.verify.pointwise import Meaning, TooLong


def disagreement(graph: SGraph, r: random.Random, *, spell_out: bool = False) -> float | str:
    """The largest relative difference at some points of the result, or why there is none."""
    try:
        form = lower(graph, Algebra(spell_out=spell_out)).values[graph.output]
    except Stuck as stuck:
        return stuck.limit.split(":")[0]
    worst, compared = 0.0, 0
    for sizes in numbers_for(graph, r, 2):
        rng = np.random.default_rng(r.randrange(1 << 30))
        inputs = {i.name: rng.uniform(-1.0, 1.0, [d.value(sizes) for d in i.type.dims]) for i in graph.inputs}
        with np.errstate(all="ignore"):
            truth = evaluate(graph, inputs, sizes)
        meaning = Meaning(sizes, inputs)
        for _ in range(4):
            place = tuple(r.randrange(n) for n in truth.shape)
            if not np.isfinite(truth[place]):
                continue
            try:
                value = meaning.form(form, {position(d): i for d, i in enumerate(place)})
            except (TooLong, OverflowError):
                break
            worst = max(worst, abs(value - truth[place]) / (abs(truth[place]) + 1e-3))
            compared += 1
    return worst if compared else "nothing to compare"


def test_the_normal_forms_of_mutants_mean_what_the_mutants_compute(request):
    count = request.config.getoption("--mutants", None)
    meanings = 300 if count is None else count
    r = random.Random(11)
    bases = [smaller(c.sgraph) for c in CASES]
    tally: Counter[str] = Counter()
    while tally["compared"] < meanings:
        graph = r.choice(bases)
        try:
            for _ in range(r.choice((0, 1, 2, 3, 4))):
                graph = mutate(graph, r)
            graph.conditions()
        except Exception as error:
            assert type(error).__name__ == "ShapeError", error
            continue
        outcome = disagreement(graph, r, spell_out=r.random() < 0.3)
        if isinstance(outcome, str):
            tally[outcome] += 1
            continue
        assert outcome < 1e-6, graph
        tally["compared"] += 1
    print(dict(tally))


@settings(max_examples=80, deadline=None)
@given(programs(), st.integers(0, 1000))
def test_the_normal_forms_of_arbitrary_programs_mean_what_they_compute(program: TensorProgram, seed: int):
    outcome = disagreement(program.graph, random.Random(seed))

    assert isinstance(outcome, str) or outcome < 1e-6


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_programs_themselves_mean_what_they_compute(name):
    outcome = disagreement(smaller(PROGRAMS[name].graph), random.Random(0))

    assert isinstance(outcome, float)
    assert outcome < 1e-9


def test_the_comparison_would_notice_a_wrong_form():
    graph = smaller(PROGRAMS["rms_bare"].graph)
    algebra = Algebra()
    form = lower(graph, algebra).values[graph.output]
    sizes = {"b": 2}
    rng = np.random.default_rng(0)
    inputs = {i.name: rng.uniform(-1.0, 1.0, [d.value(sizes) for d in i.type.dims]) for i in graph.inputs}
    truth = evaluate(graph, inputs)[1, 3]

    assert Meaning(sizes, inputs).form(form, {"p0": 1, "p1": 3}) == pytest.approx(truth, rel=1e-12)
    assert Meaning(sizes, inputs).form(form, {"p0": 0, "p1": 3}) != pytest.approx(truth, rel=1e-3)
    wrong = algebra.scale(form, 2)
    assert Meaning(sizes, inputs).form(wrong, {"p0": 1, "p1": 3}) != pytest.approx(truth, rel=1e-3)
