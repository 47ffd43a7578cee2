"""A result's other readings: what exponents cancel, and what must not."""

import pytest

from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.generate.abstract_expr.equal_forms import equal_forms
from prism_explore.generate.abstract_expr.polynomial import leaf, show
from prism_explore.generate.abstract_expr.subexpression import ExpressionBuilder, Goal
from prism_explore.ir.axes import axes_of
from prism_explore.ir.ops import AccumulateRescaled, Input, RunningMax
from prism_explore.ir.program import ProgramBuilder
from prism_explore.pipeline.search_space import default_space
from tests.generate.programs import MACHINE, attention, root_mean_square, safe_attention, safe_softmax, softmax


def values(program) -> list[tuple]:
    """The readings of each tensor of a program."""
    named = axes_of(program.graph).of
    nodes = program.graph.nodes
    given = {n: leaf(op.name, named[n]) for n, op in enumerate(node.op for node in nodes) if isinstance(op, Input)}
    theory = ExpressionBuilder(frozenset(a for axes in named for a in axes if a))
    found = equal_forms(program.graph, named, theory, given, range(len(nodes)))
    return [found[n] for n in range(len(nodes))]


def of(program) -> tuple[str, ...]:
    return tuple(map(show, values(program)[program.graph.output]))


def test_a_safe_softmax_is_also_read_as_the_plain_one():
    assert of(softmax())[0] == of(safe_softmax())[1]
    assert of(attention())[0] == of(safe_attention())[1]


def divided_last():
    b = ProgramBuilder("divided_last")
    s, v = b.input("s", "b", 4), b.input("v", 4, 6)
    e = b.unary("exp", s)
    return b.build(b.binary("div", b.matmul(e, v), b.reduce("sum", e, 1)))


@pytest.mark.parametrize("program", [softmax(), attention(), root_mean_square(), divided_last()], ids=lambda p: p.name)
def test_exponents_that_a_sum_binds_do_not_cancel(program):
    assert 1 == len(of(program))


def test_a_shift_by_an_input_cancels_but_only_where_all_have_it():
    b = ProgramBuilder("shifted")
    x, m = b.input("x", "b", 4), b.input("m", "b", 1)
    e = b.unary("exp", b.binary("sub", x, m))
    alike = b.build(b.binary("div", e, b.reduce("sum", e, 1)))
    b = ProgramBuilder("once")
    x, m = b.input("x", "b", 4), b.input("m", "b", 1)
    below = b.reduce("sum", b.unary("exp", x), 1)
    once = b.build(b.binary("div", b.unary("exp", b.binary("sub", x, m)), below))

    assert of(softmax())[0] == of(alike)[1]
    assert 1 == len(of(once))


def test_families_of_both_readings_are_found_and_none_mixes_them():
    space = default_space(safe_attention())
    families = (f for f in generate(safe_attention(), space, MACHINE, Journal(clock=lambda: 0.0)) if f is not None)
    blocks = [[n.op for n in f.sgraph.customs[0][1].nodes] for f in families]
    found = [{type(op).__name__ for op in ops} | {getattr(op, "fn", "") for op in ops} for ops in blocks]
    online = [ops for ops in found if RunningMax.__name__ in ops]

    assert online
    assert all(AccumulateRescaled.__name__ in ops and "sub" in ops for ops in online)
    assert [ops for ops in found if "sub" not in ops and "max" not in ops]


def test_where_nothing_is_negated_an_exponential_alone_is_no_part_of_a_shifted_one():
    result, alone = values(safe_softmax())[-1][0], values(softmax())[1][0]

    assert Goal(result).reaches(alone)
    assert not Goal(result, negatives=False).reaches(alone)
