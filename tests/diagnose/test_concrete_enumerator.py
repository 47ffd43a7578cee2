"""Enumeration of concrete sizes and maps, the baseline: what it finds are members of the symbolic families."""

from dataclasses import replace

import numpy as np
import pytest

from prism_explore.diagnose.concrete_enumerator import ConcreteSizes, Counts, enumerate_concrete
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.instantiate import instantiate
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.pipeline.search_space import default_space
from tests.generate.programs import (
    MACHINE,
    gate,
    rms_linear_small,
    root_mean_square,
    row_dot,
    scaled_linear,
    softmax,
)

AT = {"b": 4}
SMALL = ConcreteSizes((2, 4), (2, 4))
PROGRAMS = (rms_linear_small(), gate(), softmax(), row_dot(), scaled_linear(), root_mean_square())


def concrete(program, numbers=SMALL, space=None, **budget):
    tally = Counts()
    found = enumerate_concrete(program, space or default_space(program), MACHINE, AT, numbers, tally, **budget)
    return [g for g in found if g is not None], tally


def symbolic(program):
    """One kernel, as enumeration has it: nothing is split."""
    journal = Journal()
    space = replace(default_space(program), results=0)
    families = [f for f in generate(program, space, MACHINE, journal) if f is not None]
    return families, sum(isinstance(e, NodeExpanded) for e in journal.events)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_both_find_the_same_families_and_the_symbolic_search_visits_fewer_states(program):
    families, nodes = symbolic(program)
    _, tally = concrete(program)
    table = ExpressionNumbers()

    assert families
    assert {table.number_graph(f.sgraph.substitute(AT)) for f in families} == set(
        map(table.number_graph, tally.families.values())
    )
    assert not tally.out_of_budget
    assert nodes < tally.kept < tally.states
    assert tally.searched < tally.maps


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_concrete_graph_is_a_candidate_of_a_family_with_numbers_put_in(program):
    families, _ = symbolic(program)
    space = default_space(program)
    made = set()
    for family in families:
        for candidate in instantiate(family, space, MACHINE, Journal()):
            symbols = candidate.sgraph.parameters
            grids = [s for s in symbols if s.startswith("g")]
            made |= {candidate.sgraph.substitute({**AT, **numbers}) for numbers in _all_numbers(grids, "f" in symbols)}
    graphs, _ = concrete(program)

    assert graphs
    assert {_maps_sorted(g) for g in graphs} <= {_maps_sorted(g) for g in made}


def _all_numbers(grids, looped):
    found = [{}]
    for symbol, sizes in [*((g, SMALL.grid) for g in grids), *([("f", SMALL.loop)] if looped else [])]:
        found = [{**one, symbol: n} for one in found for n in sizes]
    return found


def _maps_sorted(graph):
    """A graph with its grid dims in one order: x and y may be exchanged."""
    (_, block) = graph.customs[0]
    cuts = []
    for p, parallel in enumerate(block.grid):
        maps = tuple(m[p] for n in block.nodes for m in [getattr(n.op, "imap", getattr(n.op, "omap", None))] if m)
        cuts.append((str(parallel.size), maps))
    body = tuple((str(type(n.op)), n.args, getattr(n.op, "fmap", None), getattr(n.op, "fn", None)) for n in block.nodes)
    return tuple(sorted(cuts, key=str)), str(block.loop), body, graph.nodes[graph.output].args


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_concrete_graph_computes_the_program(program):
    graphs, _ = concrete(program)
    rng = np.random.default_rng(0)
    inputs = {i.name: rng.uniform(0.5, 1.5, [d.value(AT) for d in i.type.dims]) for i in program.inputs}
    wanted = evaluate(program, inputs)
    for graph in graphs[:: max(1, len(graphs) // 12)]:
        np.testing.assert_allclose(wanted, evaluate(graph, inputs, {}), rtol=1e-9)


def test_more_numbers_mean_more_states_and_no_other_family():
    program = rms_linear_small()
    _, few = concrete(program, ConcreteSizes((2,), (2,)))
    _, many = concrete(program, ConcreteSizes((2, 4), (2, 4)))
    table = ExpressionNumbers()

    assert few.maps < many.maps
    assert few.kept < many.kept
    assert set(map(table.number_graph, few.families.values())) == set(map(table.number_graph, many.families.values()))


def test_a_budget_of_states_ends_it_and_is_told():
    _, tally = concrete(rms_linear_small(), states=100)

    assert tally.out_of_budget


def test_what_it_cannot_enumerate_is_said():
    program = rms_linear_small()
    with pytest.raises(ShapeError, match="b has no size"):
        list(enumerate_concrete(program, default_space(program), MACHINE, {}, SMALL, Counts()))
    with pytest.raises(ShapeError, match=r"leave the rule shape\.mismatch on"):
        concrete(program, space=replace(default_space(program), rules_off=frozenset({"shape.mismatch"})))
    with pytest.raises(ShapeError, match="one custom kernel"):
        concrete(program, space=replace(default_space(program), custom_kernels=2))
    with pytest.raises(ShapeError, match="sizes start at 2"):
        ConcreteSizes((1,), (4,))
