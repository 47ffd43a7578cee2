"""Maps of two kernels behind a split: linked, right at any legal sizes, and forbidden ones told."""

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateRejected
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.instantiate.constraints import CONSTRAINTS
from prism_explore.ir.ops import Load
from prism_explore.ir.space import default_space
from prism_explore.ir.splits import pair_of
from prism_explore.ir.text import show
from tests.generate.programs import (
    MACHINE,
    attention,
    chain,
    rms_linear_small,
    rmsnorm_linear,
    row_dot,
    scaled_linear,
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


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_the_second_kernel_visits_as_many_shares_as_the_first_stores(program):
    for candidate in candidates(program)[0]:
        (_, first), (_, second) = candidate.sgraph.customs
        pair = pair_of(candidate.sgraph)
        assert pair is not None
        assert second.loop is not None
        assert first.grid[-1].size == second.loop.size
        for load, store in pair.shares:
            omap, op = first.nodes[store].op.omap, second.nodes[load].op
            assert isinstance(op, Load)
            assert omap[-1] == op.fmap
            assert op.fmap not in op.imap
            assert op.fmap not in omap[:-1]
        assert all(
            n.op.fmap is None
            for p, n in enumerate(second.nodes)
            if isinstance(n.op, Load) and p not in dict(pair.shares)
        )


def test_an_axis_that_no_result_is_a_sum_over_is_told_with_a_reason():
    _, journal = candidates(attention())
    told = [e for e in journal.events if isinstance(e, CandidateRejected)]

    assert "split.whole" in {e.reason.rule for e in told}
    assert ("b<->split",) in {e.uses for e in told}
    assert all(e.reason.sentence == CONSTRAINTS[e.reason.rule] for e in told)
