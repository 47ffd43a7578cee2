"""Ten thousand mutated sGraphs: none that differs from its program is ever called proved.

The judge is the block interpreter at the program's own extents, with numbers and inputs that the refuter does
not use. More with `pytest tests/verify/test_mutants.py --mutants 100000`.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.stages import Refuted, Unknown, Verified
from prism_explore.ir.text import show
from prism_explore.verify.decide import DISAGREE, Prover
from prism_explore.verify.refute import TOLERANCE
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.mutate import compare_numerically, mutants, smaller

MUTANTS = 10_000


@pytest.mark.slow
def test_no_mutant_is_falsely_proved(request, capsys):
    wanted = request.config.getoption("--mutants", None) or MUTANTS
    r = random.Random(20)
    programs = {name: TensorProgram(name, smaller(p.graph)) for name, p in PROGRAMS.items()}
    provers = {name: Prover(p) for name, p in programs.items()}
    bases = [(c.program, smaller(c.sgraph)) for c in CASES]
    tally: Counter[str] = Counter()
    limits: Counter[str] = Counter()
    while tally["legal"] < wanted:
        name, base = r.choice(bases)
        program, graph = programs[name], mutants(base, programs[name], r)
        tally["edited"] += 1
        if graph is None:
            continue
        tally["legal"] += 1
        verdict = provers[name].verify(candidate(program, graph), Journal())
        match verdict:
            case Verified():
                tally["proved"] += 1
                truth = compare_numerically(program, graph, r)
                assert truth.instances, f"proved, but could not be run:\n{show(graph)}"
                assert truth.worst < TOLERANCE, f"falsely proved ({truth.worst}):\n{show(graph)}"
            case Refuted():
                tally["refuted"] += 1
            case Unknown():
                assert verdict.limit != DISAGREE, show(graph)
                tally["unknown"] += 1
                limits[verdict.limit] += 1
    with capsys.disabled():
        print(f"\n{dict(tally)}; unknown: {dict(limits)}")

    assert tally["proved"] > wanted / 20, "mutants that stay right are needed, or the test shows nothing"
    assert tally["refuted"] > wanted / 2
