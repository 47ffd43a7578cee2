"""Maps of two kernels behind a split: linked, right at any legal sizes, and forbidden ones told."""

from dataclasses import replace

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateRejected
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.instantiate.constraints import CONSTRAINTS
from prism_explore.instantiate.split_maps import without_loop
from prism_explore.ir.analysis.split_reduction import find_split_pair
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, Custom, Load, Reduce, RunningMax
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Family
from tests.generate.programs import (
    MACHINE,
    attention,
    chain,
    rms_linear_small,
    rmsnorm_linear,
    row_dot,
    safe_attention,
    scaled_linear,
    shifted_sum,
    softmax,
)
from tests.instantiate.test_solve import agrees

PROGRAMS = [attention(), chain(), row_dot(), scaled_linear(), softmax(), rms_linear_small(), rmsnorm_linear(d=12, n=8)]


def candidates(program):
    space, journal = default_space(program), Journal()
    families = [f for f in generate(program, space, MACHINE, Journal()) if f and len(f.sgraph.customs) == 2]
    return [c for f in families for c in instantiate(f, space, MACHINE, journal)], journal


def legal(candidate, sizes):
    return all(d.rational(sizes).denominator == 1 for d in candidate.conditions)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_candidate_is_right_with_one_share_and_with_two(program):
    found, _ = candidates(program)

    assert found
    for candidate in found:
        graph = candidate.sgraph
        assert not graph.is_open
        assert program.graph.output_type == graph.output_type
        ones = dict.fromkeys(graph.parameters, 1)
        tried = [ones, {**ones, "s": 2}, dict.fromkeys(graph.parameters, 2), {**dict.fromkeys(ones, 2), "f": 1}]
        right = [agrees(program, graph, 4, sizes, 0) for sizes in tried if legal(candidate, {**sizes, "b": 4})]
        assert len(right) > 2, show(graph)
        assert all(right), show(graph)


def looped(candidate):
    return candidate.sgraph.customs[1][1].loop is not None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_each_choice_is_followed_by_the_same_one_that_reads_all_shares_at_once(program):
    """What choices have in common is computed once; here it is computed anew for each."""
    found, _ = candidates(program)
    expected = []
    for candidate in (c for c in found if looped(c)):
        graph = candidate.sgraph
        pair = find_split_pair(graph)
        assert pair is not None
        expected.append(graph)
        block = without_loop(graph, pair)
        if block is not None:
            nodes = [*graph.nodes]
            nodes[pair.second] = replace(nodes[pair.second], op=Custom(block))
            expected.append(replace(graph, nodes=tuple(nodes)))

    assert expected == [c.sgraph for c in found]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_second_kernel_with_a_loop_visits_as_many_shares_as_the_first_stores(program):
    some = [c for c in candidates(program)[0] if looped(c)]

    assert some
    for candidate in some:
        (_, first), (_, second) = candidate.sgraph.customs
        pair = find_split_pair(candidate.sgraph)
        assert pair is not None
        assert second.loop is not None
        assert first.grid[-1].size == second.loop.size
        for share in pair.shares:
            omap, op = first.nodes[share.store].op.omap, second.nodes[share.load].op
            assert isinstance(op, Load)
            assert omap[-1] == op.fmap
            assert op.fmap not in op.imap
            assert op.fmap not in omap[:-1]
        assert all(
            n.op.fmap is None
            for p, n in enumerate(second.nodes)
            if isinstance(n.op, Load) and p not in {s.load for s in pair.shares}
        )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_choice_has_a_second_kernel_that_takes_all_shares_at_once(program):
    found, _ = candidates(program)
    firsts = [{c.sgraph.customs[0][1] for c in found if looped(c) is kind} for kind in (True, False)]

    assert firsts[0] == firsts[1]
    assert not [
        n.op
        for c in found
        if not looped(c)
        for n in c.sgraph.customs[1][1].nodes
        if isinstance(n.op, Accumulate) or (isinstance(n.op, Load) and n.op.fmap is not None)
    ]


@pytest.mark.parametrize("program", [shifted_sum(), safe_attention()], ids=lambda p: p.name)
def test_sums_relative_to_a_running_maximum_are_split_with_it_and_scaled_once_more(program):
    found, _ = candidates(program)
    online = [c for c in found if any(isinstance(n.op, RunningMax) for n in c.sgraph.customs[0][1].nodes)]

    assert {True, False} == {looped(c) for c in online}
    for candidate in online:
        graph = candidate.sgraph
        (_, first), (_, second) = graph.customs
        rescaled = sum(isinstance(n.op, AccumulateRescaled) for n in first.nodes)
        maxima = [n for s in first.stores if isinstance((n := first.nodes[first.nodes[s].args[0]]).op, Accumulate)]
        joined = AccumulateRescaled if looped(candidate) else Reduce
        assert rescaled == len(first.stores) - 1
        assert ["max"] == [n.op.fn for n in maxima]
        assert rescaled <= sum(isinstance(n.op, joined) for n in second.nodes)
        tried = [dict.fromkeys(graph.parameters, 1), {**dict.fromkeys(graph.parameters, 1), "s": 2, "f": 2}]
        assert [agrees(program, graph, 4, sizes, 0) for sizes in tried] == [True, True], show(graph)


def test_an_axis_that_no_result_is_a_sum_over_is_told_with_a_reason():
    _, journal = candidates(attention())
    told = [e for e in journal.events if isinstance(e, CandidateRejected)]

    assert "split.whole" in {e.reason.rule for e in told}
    assert ("b<->split",) in {e.uses for e in told}
    assert all(e.reason.sentence == CONSTRAINTS[e.reason.rule] for e in told)


SCORES = """program scores
  x = input f32[1, 6, 8]
  wq = input f32[8, 8]
  wk = input f32[8, 8]
  v = input f32[1, 2, 6, 4]
  %4 = matmul(x, wq)
  %5 = reshape(%4, dims=[1, 6, 2, 4])
  %6 = permute(%5, order=[0, 2, 1, 3])
  %7 = matmul(x, wk)
  %8 = reshape(%7, dims=[1, 6, 2, 4])
  %9 = permute(%8, order=[0, 2, 3, 1])
  %10 = matmul(%6, %9)
  %11 = matmul(%10, v)
  return %11
"""
"""Scores of two heads: queries and keys are products of the same rows."""
KEYS_FIRST = """sgraph
  x = input f32[1, 6, 8]
  wq = input f32[8, 8]
  wk = input f32[8, 8]
  v = input f32[1, 2, 6, 4]
  %4 = custom(x, wk) grid[]
    %0 = load(0, imap=?)
    %1 = load(1, imap=?)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = reshape(%3, dims=[1, 6, 2, 4])
    %5 = permute(%4, order=[0, 2, 3, 1])
    %6 = store(%5, omap=?)
  %5 = custom(%4, x, wq, v) grid[]
    %0 = load(0, imap=?)
    %1 = load(1, imap=?)
    %2 = load(2, imap=?)
    %3 = load(3, imap=?)
    %4 = accum(%0)
    %5 = matmul(%1, %2)
    %6 = reshape(%5, dims=[1, 6, 2, 4])
    %7 = permute(%6, order=[0, 2, 1, 3])
    %8 = matmul(%7, %4)
    %9 = matmul(%8, %3)
    %10 = store(%9, omap=?)
  return %5
"""


def test_heads_of_rows_that_two_kernels_read_are_not_partitioned_on_one_side_only():
    program, graph = parse_program(SCORES), parse(KEYS_FIRST)

    found = list(instantiate(Family("f1", program, graph), default_space(program), MACHINE, Journal()))

    assert found
    assert all(program.graph.output_type == c.sgraph.output_type for c in found)
    for candidate in (found[0], found[-1]):
        assert agrees(program, candidate.sgraph, 4, dict.fromkeys(candidate.sgraph.parameters, 1), 0)
