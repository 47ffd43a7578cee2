"""Two kernels behind a split: what they are made of, that they are one kernel again, and that none is missing."""

from dataclasses import replace
from itertools import chain as chained
from itertools import combinations

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded, RegionPruned
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.split_kernels import fuse_split_kernels
from prism_explore.generate.state import operator_set
from prism_explore.instantiate import instantiate
from prism_explore.ir.analysis.split_reduction import find_split_pair
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Accumulate, BlockGraph, Custom, Load, Node, Reduce, Result, Scalar, Store
from prism_explore.pipeline.search_space import Operators, default_space
from prism_explore.pipeline.stages import Family
from tests.generate.programs import (
    MACHINE,
    attention,
    chain,
    gated_mlp,
    lora,
    rms_linear_small,
    rmsnorm_linear,
    row_dot,
    scaled_linear,
    softmax,
)
from tests.generate.pruning.test_exhaustive import is_correct, laid_out

PROGRAMS = [attention(), chain(), gated_mlp(), lora(), row_dot(), scaled_linear(), rms_linear_small(), rmsnorm_linear()]


def searched(program, **limits):
    journal = Journal()
    space = replace(default_space(program), **limits)
    return [f for f in generate(program, space, MACHINE, journal) if f is not None], journal


def two_kernels(families):
    return [f for f in families if len(f.sgraph.customs) == 2]


def kinds(graph, number):
    return [type(n.op).__name__ for n in graph.customs[number][1].nodes]


def test_attention_stores_numerator_and_denominator_and_divides_behind():
    families, journal = searched(attention())
    steps = {e.node: e.operator for e in journal.events if isinstance(e, NodeExpanded)}
    born = {e.family: steps[e.node] for e in journal.events if isinstance(e, FamilyCompleted)}
    behind = ["Load", "Load", "Accumulate", "Accumulate", "Binary", "Store"]
    flash = [f for f in two_kernels(families) if kinds(f.sgraph, 1) == behind]

    assert flash
    assert all(born[f.id].startswith("split k(") for f in flash)
    assert any(Accumulate("sum", 2) in [n.op for n in f.sgraph.customs[0][1].nodes] for f in flash)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_with_a_single_share_the_two_kernels_are_the_one_that_they_came_from(program):
    families, journal = searched(program)
    parents = {e.node: e.parent for e in journal.events if isinstance(e, NodeExpanded)}
    nodes = {e.family: e.node for e in journal.events if isinstance(e, FamilyCompleted)}
    whole = {nodes[f.id]: f.sgraph for f in families if len(f.sgraph.customs) == 1}
    table = ExpressionNumbers()

    assert two_kernels(families)
    for family in two_kernels(families):
        pair = find_split_pair(family.sgraph)
        assert pair is not None
        source, again = whole[parents[nodes[family.id]]], fuse_split_kernels(family.sgraph, pair)
        unfolded = any(isinstance(n.op, Scalar) and n.op.fn == "mul" for n in again.customs[0][1].nodes)
        assert unfolded or table.number_graph(source) == table.number_graph(again)
        assert source.output_type == again.output_type


def test_a_mean_over_the_split_axis_is_a_sum_and_one_over_the_extent():
    families, _ = searched(rms_linear_small())

    assert two_kernels(families)
    for family in two_kernels(families):
        first, second = (block for _, block in family.sgraph.customs)
        assert not [n for n in first.nodes if getattr(n.op, "fn", "") in ("mean", "rms")]
        assert "1/4" in [str(n.op.value) for n in second.nodes if isinstance(n.op, Scalar)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_families_of_one_kernel_come_first_and_are_the_same_without_splits(program):
    families, _ = searched(program)
    alone, journal = searched(program, results=0)

    assert [f.sgraph for f in alone] == [f.sgraph for f in families[: len(alone)]]
    assert two_kernels(families) == families[len(alone) :]
    assert not [e for e in journal.events if isinstance(e, NodeExpanded) and e.level == "split"]


def test_more_results_than_the_space_allows_are_a_cut():
    families, journal = searched(attention(), results=1)
    cut = [e for e in journal.events if isinstance(e, RegionPruned) and e.reason.rule == "limit.results"]

    assert cut
    assert {"exact"} == {e.counted for e in cut}
    assert {1} == {len(f.sgraph.customs[0][1].stores) for f in two_kernels(families)}


# ---------------------------------------------------------------- nothing is missing
CASES = {
    "row dot": (row_dot(), Operators((), (), ("mul",), True, ("sum",)), 2, 1),
    "scaled linear": (scaled_linear(), Operators((), (), ("mul",), True, ()), 2, 0),
    "softmax": (softmax(), Operators(("exp",), (), ("div",), False, ("sum",)), 2, 2),
}
"""Programs, operators, and how many of these each kernel has at most."""


def directly(program, operators, first, second):
    """Every right pair of kernels without loops in the first, grown one behind the other with no rule at all."""
    entries = operator_set(operators, max(t.rank for t in program.graph.types()))
    inputs = tuple(Node(i) for i in program.inputs)
    rng = np.random.default_rng(0)
    data = {i.name: rng.standard_normal([d.value({"b": 3}) for d in i.type.dims]) for i in program.inputs}
    expected = evaluate(program, data)
    some = list(chained.from_iterable(combinations(range(len(inputs)), n) for n in range(len(inputs) + 1)))

    def grown(tensors, most):
        for ops in range(1, most + 1):
            for steps in entries.sequences(tensors, ops):
                nodes = [Node(entries.entries[kind].op, args) for kind, args in steps]
                used = {a for n in nodes for a in n.args}
                sinks = [p for p in range(tensors + ops) if p not in used]
                if all(p >= tensors for p in sinks):
                    yield nodes, sinks

    for reads in some[1:]:
        for one, stored in grown(len(reads), first):
            bottom = len(inputs) - len(reads)

            def moved(n, reads=reads, bottom=bottom):
                return Node(n.op, tuple(reads[a] if a < len(reads) else a + bottom for a in n.args))

            flat = [*inputs, *map(moved, one)]
            whole = [s + bottom for s in stored]
            for more in some:
                ends = [([], [0])] if len(stored) == 1 and not more else []
                for two, sinks in chained(ends, grown(len(stored) + len(more), second)):
                    if len(sinks) != 1:
                        continue
                    place = [*whole, *more, *range(len(flat), len(flat) + len(two))]
                    nodes = (*flat, *(Node(n.op, tuple(place[a] for a in n.args)) for n in two))
                    graph = SGraph(nodes, place[sinks[0]])
                    try:
                        types = graph.types()
                    except ShapeError:
                        continue
                    if any(isinstance(n.op, Reduce) and types[n.args[0]].dims[n.op.dim].is_one for n in nodes):
                        continue  # no operator of any space
                    found = evaluate(graph, data)
                    if found.shape == expected.shape and np.allclose(found, expected):
                        yield linked(inputs, reads, one, stored, more, two, sinks[0])


def linked(inputs, reads, one, stored, more, two, sink):
    loads = [Node(Load(k)) for k in range(len(reads))]
    first = BlockGraph((), None, (*loads, *one, *(Node(Store(), (s,)) for s in stored)))
    count = len(stored)
    given = [Node(Load(k)) for k in range(count + len(more))]
    sums = [Node(Accumulate("sum"), (k,)) for k in range(count)]
    bottom = len(given)

    def moved(a):
        return bottom + a if a < count else a if a < bottom else a + count

    rest = [Node(n.op, tuple(map(moved, n.args))) for n in two]
    second = BlockGraph((), None, (*given, *sums, *rest, Node(Store(), (moved(sink),))))
    at = len(inputs)
    results = [Node(Result(k), (at,)) for k in range(1, count)]
    last = Node(Custom(second), (at, *range(at + 1, at + count), *more))
    return SGraph((*inputs, Node(Custom(first), reads), *results, last), at + count)


@pytest.mark.parametrize("name", CASES)
def test_every_right_pair_of_kernels_that_is_grown_directly_is_found_by_splitting(name):
    program, operators, first, second = CASES[name]
    space = replace(default_space(program), block=operators, block_ops=len(program.inputs) + first + second)
    table = ExpressionNumbers()

    def keys(families):
        for family in families:
            for candidate in instantiate(family, space, MACHINE, Journal()):
                if is_correct(program, candidate):
                    cuts = tuple(tuple(map(str, uses)) for uses in candidate.uses)
                    yield table.number_graph(family.sgraph), cuts, laid_out(candidate.sgraph)

    found = set(keys(f for f in generate(program, space, MACHINE, Journal()) if f and len(f.sgraph.customs) == 2))
    graphs = directly(program, operators, first, second)
    direct = set(keys(Family("f1", program, g) for g in graphs if find_split_pair(g) is not None))

    assert direct
    assert set() == direct - found
