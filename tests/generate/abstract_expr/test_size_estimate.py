"""With `shape.mismatch` off dims match by size: a larger space, in which what matches by axis is as it was."""

from dataclasses import replace

import pytest

from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.generate.expander import Expander
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.instantiate import instantiate
from prism_explore.ir.ops import Accumulate, Binary, MatMul, Reduce
from prism_explore.ir.program import ProgramBuilder
from prism_explore.pipeline.search_space import Operators, Space, default_space
from tests.generate.programs import MACHINE


def square_mlp():
    """All dims of the weights have one size."""
    b = ProgramBuilder("square_mlp")
    x, up, gate = b.input("x", "b", 8), b.input("up", 8, 8), b.input("gate", 8, 8)
    return b.build(b.binary("mul", b.matmul(x, up), b.unary("silu", b.matmul(x, gate))))


def squared():
    b = ProgramBuilder("squared")
    x, w = b.input("x", "b", 8), b.input("w", 8, 8)
    return b.build(b.matmul(x, w))


def two_rows(rows="b"):
    """Sums over two axes of one size."""
    b = ProgramBuilder("two_rows")
    x, y = b.input("x", rows, 8), b.input("y", rows, 8)
    return b.build(b.binary("add", b.reduce("sum", b.unary("exp", x), 1), b.reduce("sum", b.unary("exp", y), 1)))


def candidates(program, space, table):
    """Per family, by its number in a table, how its candidates cut the axes; and the families."""
    grown = [f for f in generate(program, space, MACHINE, Journal()) if f is not None]
    return {
        table.number_graph(f.sgraph): {
            tuple(" ".join(map(str, uses)) for uses in c.uses) for c in instantiate(f, space, MACHINE, Journal())
        }
        for f in grown
    }, grown


@pytest.mark.parametrize("program", [square_mlp(), squared(), two_rows()], ids=lambda p: p.name)
def test_all_families_and_their_candidates_stay(program):
    space, table = replace(default_space(program), block_ops=8), ExpressionNumbers()
    by_axis, _ = candidates(program, space, table)
    by_size, _ = candidates(program, replace(space, rules_off=frozenset({"shape.mismatch"})), table)

    assert by_axis
    assert by_axis == {family: by_size.get(family) for family in by_axis}


def test_axes_that_an_operator_matches_by_size_are_one_from_there_on_and_cut_alike():
    off = frozenset({"shape.mismatch", "expr.unreachable", "expr.apart"})
    operators = Operators((), (), (), True, (), ("plain",))
    space = Space(Operators(), operators, block_ops=5, block_inputs=2, results=0, rules_off=off)
    table = ExpressionNumbers()
    found, grown = candidates(squared(), space, table)
    cuts = {True: set(), False: set()}
    for family in grown:
        cuts[products(family) > 1] |= found[table.number_graph(family.sgraph)]

    assert {("b<->x d<->whole",)} == cuts[True]
    assert ("b<->x d<->i n<->y",) in cuts[False]


def products(family):
    (_, block) = family.sgraph.customs[0]
    return sum(isinstance(n.op, MatMul) for n in block.nodes)


def test_a_loop_that_fits_only_when_axes_are_one_is_waited_for():
    """Sums over two axes are partial along different loops, so not added, until a later operator matches these."""
    total, plain = Reduce("sum", 1), Accumulate("sum")
    steps = (
        *((total, (0,)), (plain, (0,)), (total, (1,)), (plain, (1,))),
        *((Binary("add"), (2, 4)), (plain, (6,)), (Binary("add"), (3, 5)), (total, (8,)), (Binary("mul"), (7, 9))),
    )
    off = frozenset(RULE_NAMES) - {"map.constraint"}
    operators = Operators((), (), ("add", "mul"), False, ("sum",), ("plain",))
    space = Space(Operators(), operators, block_ops=11, block_inputs=2, results=0, rules_off=off)
    expander = Expander(two_rows(1), space, MACHINE)
    state = expander.open_kernel(expander.facts.start(""), (0, 1))
    legal = []
    for op, args in steps:
        state = expander.apply_op(state, op, args)
        legal.append({",".join(sorted(state.choices[c])) for c in state.legal})

    assert set() == legal[5]
    assert {"d"} == legal[6]
    assert {"d"} == legal[-1]
    assert expander.facts.may_store(state)


def test_the_statement_says_how_dims_match():
    program = squared()
    space = default_space(program)

    assert "same index axis" in space.describe(program)["shapes"]
    assert "sizes agree" in replace(space, rules_off=frozenset({"shape.mismatch"})).describe(program)["shapes"]
