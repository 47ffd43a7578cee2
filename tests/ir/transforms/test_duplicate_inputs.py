"""Inputs that are read along two axes at once are told apart, and read twice."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.instantiate.solve import typed_blocks
from prism_explore.ir.axes import axes_of
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Custom, Load
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Verified
from prism_explore.verify.prover import Prover
from tests.generate.programs import MACHINE, rmsnorm_linear, softmax
from tests.generate.pruning.test_exhaustive import both
from tests.strategies import random_inputs


def gram() -> TensorProgram:
    b = ProgramBuilder("gram")
    x = b.input("x", "b", 4)
    return b.build(b.matmul(x, b.permute(x, 1, 0)))


def rotary() -> TensorProgram:
    b = ProgramBuilder("rotary")
    q, k, c = b.input("q", "b", 8, 4), b.input("k", "b", 8, 4), b.input("c", 8, 4)
    return b.build(b.matmul(b.binary("mul", q, c), b.permute(b.binary("mul", k, c), 0, 2, 1)))


def squared() -> TensorProgram:
    b = ProgramBuilder("squared")
    x = b.input("x", 4, 4)
    return b.build(b.matmul(x, b.unary("exp", x)))


def distances() -> TensorProgram:
    """Sums of rows with columns: all differences of two vectors that are one."""
    b = ProgramBuilder("distances")
    x = b.input("x", 6, 1)
    return b.build(b.unary("square", b.binary("sub", x, b.permute(x, 1, 0))))


SPLIT = [gram(), rotary(), squared(), distances()]


@pytest.mark.parametrize("program", SPLIT, ids=lambda p: p.name)
def test_given_the_same_tensor_for_each_copy_it_computes_the_same(program):
    made = duplicate_inputs(program)
    inputs = random_inputs(program.graph, {"b": 3})
    copied = inputs | {name: inputs[of] for name, of in made.copies.items()}

    assert made.copies
    np.testing.assert_allclose(evaluate(program, inputs), evaluate(made.program, copied))
    assert made.merge_copies(made.program.graph).types()[-1] == program.graph.output_type


def test_only_what_is_read_along_two_axes_is_told_apart():
    assert {"c_2": "c"} == duplicate_inputs(rotary()).copies
    assert ("q", "k", "c", "c_2") == tuple(i.name for i in duplicate_inputs(rotary()).program.inputs)
    assert [{}, {}] == [duplicate_inputs(p).copies for p in (rmsnorm_linear(), softmax())]
    assert not any(
        a and axes.count(a) > 1 for axes in axes_of(duplicate_inputs(rotary()).program.graph).of for a in axes
    )


def candidates(program: TensorProgram):
    space = default_space(program)
    for family in generate(program, space, MACHINE, Journal()):
        if family is not None:
            yield from instantiate(family, space, MACHINE, Journal())


@pytest.mark.parametrize("program", SPLIT, ids=lambda p: p.name)
def test_a_search_cuts_both_axes_and_every_candidate_is_proved_and_right(program):
    found = list(candidates(program))
    prover = Prover(program)
    inputs = random_inputs(program.graph, {"b": 4})

    assert found
    assert any(sum(u.grid is not None for u in uses) > 1 for c in found for uses in c.uses)
    for candidate in found:
        assert isinstance(prover.verify(candidate, Journal(), 0), Verified)
        sizes = dict.fromkeys(candidate.sgraph.parameters, 2)
        np.testing.assert_allclose(evaluate(program, inputs), evaluate(candidate.sgraph, inputs, sizes), rtol=1e-9)


def test_a_kernel_names_a_copied_tensor_once_and_loads_it_twice_with_maps_of_their_own():
    candidate = max(candidates(rotary()), key=lambda c: len(c.uses[0]))
    (node,) = (n for n in candidate.sgraph.nodes if isinstance(n.op, Custom))
    (typed,) = typed_blocks(candidate.family)
    block = node.op.block if isinstance(node.op, Custom) else None
    loads = [n.op for n in block.nodes if isinstance(n.op, Load)] if block else []

    assert len(set(node.args)) == len(node.args) == 3
    assert 2 == sum(load.operand == 2 for load in loads)
    assert 2 == len({axes for load, axes in zip(loads, typed.axes, strict=False) if load.operand == 2})


@pytest.mark.parametrize("program", [gram(), rotary(), squared(), distances()], ids=lambda p: p.name)
def test_telling_copies_apart_again_undoes_their_joining(program):
    made = duplicate_inputs(program)
    for candidate in candidates(program):
        assert made.merge_copies(made.restore_copies(candidate.sgraph)) == candidate.sgraph


def test_exhaustive_search_with_the_rules_off_finds_nothing_more():
    program = rotary()
    space = default_space(program)
    operators = replace(space.block, unary=(), binary=("mul",), reductions=(), accumulators=("plain",))
    # Off, shape.mismatch is a larger space: the two axes are as long.
    pruned, bare = both(program, operators, 5, on=frozenset({"shape.mismatch"}))

    assert pruned
    assert set() == set(bare) - set(pruned)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.booleans())
def test_powers_of_a_square_matrix_are_told_apart_and_stay_the_same(times, transposed):
    b = ProgramBuilder("powers")
    x = b.input("x", 3, 3)
    y = x
    for _ in range(times):
        y = b.matmul(b.permute(y, 1, 0) if transposed else y, x)
    program = b.build(y)
    made = duplicate_inputs(program)
    inputs = random_inputs(program.graph, {})
    copied = inputs | {name: inputs[of] for name, of in made.copies.items()}

    np.testing.assert_allclose(evaluate(program, inputs), evaluate(made.program, copied))
