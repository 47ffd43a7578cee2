"""What a prover remembers from one candidate to the next changes how long a verdict takes, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.graph import SGraph
from prism_explore.verify.normal_form.algebra import Algebra, Budget, NoNormalForm
from prism_explore.verify.normal_form.lower_graph import lower
from prism_explore.verify.prover import Prover
from prism_explore.verify.verdict_events import verdict_event
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.mutate import mutants

NAMES = sorted({c.program for c in CASES})


def candidates(name: str, r: random.Random, count: int) -> list[SGraph]:
    """Right and wrong candidates of a program and mutants of them, in any order, some of them more than once."""
    bases = [c.sgraph for c in CASES if c.program == name]
    found = [r.choice(bases) if r.random() < 0.3 else mutants(r.choice(bases), PROGRAMS[name], r) for _ in range(count)]
    return [graph for graph in found if graph is not None]


def said(prover: Prover, graph: SGraph) -> tuple[VerdictReached, list[tuple[str, tuple[str, ...]]]]:
    """Everything that a verdict says, but for the ids of classes, which are names over a whole search."""
    fact = verdict_event(prover.verify(candidate(prover.program, graph), Journal()))
    return replace(fact, classes=()), [(term, members) for _, term, members in fact.classes]


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 1 << 30))
@example(name="safe_attention" if "safe_attention" in NAMES else NAMES[0], seed=1)
def test_a_verdict_does_not_depend_on_those_before_it(name: str, seed: int):
    shared = Prover(PROGRAMS[name], saturation=None, audit_interval=None)
    for graph in candidates(name, random.Random(seed), 8):
        alone = Prover(PROGRAMS[name], saturation=None, audit_interval=None)

        assert said(alone, graph) == said(shared, graph)


def spent(graph: SGraph, algebra: Algebra) -> int | str:
    """Steps until a graph is lowered, or the limit that was hit on the way."""
    algebra.restart()
    try:
        lower(graph, algebra)
    except NoNormalForm as stuck:
        return stuck.limit
    return algebra.steps


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 1 << 30),
    steps=st.sampled_from((60, 150, 10_000)),
    kept=st.sampled_from((50, 20_000)),
)
def test_what_is_remembered_costs_as_many_steps_as_it_did(name: str, seed: int, steps: int, kept: int):
    shared = Algebra(Budget(steps=steps, cache_entries=kept))
    for graph in candidates(name, random.Random(seed), 8):
        assert spent(graph, Algebra(Budget(steps=steps))) == spent(graph, shared)
