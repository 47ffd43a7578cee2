"""A program that is too large for one search: its parts are searched, the rest stays as it is, and that is said."""

import sys

import numpy as np
import pytest

import prism_explore as px
from prism_explore.entry.large_program import fits
from prism_explore.errors import ShapeError
from prism_explore.generate.abstract_expr.size_estimate import (
    DEEPEST_EXPRESSION,
    LARGEST_EXPRESSION,
    expression_depth,
    expression_size,
)
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Input
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.transforms.partition import assemble, partition
from tests.strategies import random_inputs


def layers(count, d=8, residual=False):
    b = ProgramBuilder("layers")
    h = b.input("x", "b", d)
    weights = [b.input(f"w{n}", d, d) for n in range(count)]
    for w in weights:
        y = b.unary("silu", b.matmul(h, w))
        h = b.binary("add", h, y) if residual else y
    return b.build(h)


def with_views():
    b = ProgramBuilder("with_views")
    x, w = b.input("x", "b", 8), b.input("w", 8, 8)
    y = b.unary("silu", b.matmul(x, w))
    left, right = b.slice(y, 1, 0, 4), b.slice(y, 1, 4, 8)
    return b.build(b.unary("exp", b.binary("mul", left, right)))


@pytest.fixture(scope="module")
def forty():
    found = px.LargeProgram(layers(20), target="h100", largest=5)
    found.run()
    found.close()
    return found


def test_forty_operators_are_searched_in_parts_and_alike_parts_once(forty):
    assert 20 == len(forty.parts)
    assert 1 == len(forty.sessions)
    assert all(s.proved is not None for s in forty.parts)
    assert "layers has 40 operators" in forty.claim
    assert "one kernel for all of it was not attempted, nor any that spans two parts" in forty.claim
    assert "20 of its 20 parts were searched (1 different); 20 of them have a proved kernel, for 40 operators." in (
        forty.claim
    )


def test_the_whole_with_kernels_in_its_parts_computes_what_the_program_does(forty):
    graph = forty.graph()
    sizes = {"b": 4} | dict.fromkeys(graph.parameters, 2)
    inputs = random_inputs(graph, sizes)

    assert 20 == len(graph.customs)
    np.testing.assert_allclose(evaluate(forty.program, inputs), evaluate(graph, inputs, sizes), rtol=1e-9, atol=1e-12)


def test_what_no_kernel_holds_stays_a_predefined_operator():
    found = px.LargeProgram(with_views(), target="h100", largest=4)
    found.run()
    found.close()
    graph = found.graph()
    sizes = {"b": 4} | dict.fromkeys(graph.parameters, 2)
    inputs = random_inputs(graph, sizes)

    assert [*["predefined"] * 3, "searched"] == ["searched" if s.session else "predefined" for s in found.parts]
    assert "The other 3 operators stay predefined ones." in found.claim
    assert "  3. %4: slice; predefined" in repr(found)
    np.testing.assert_allclose(evaluate(found.program, inputs), evaluate(graph, inputs, sizes), rtol=1e-9, atol=1e-12)


def test_views_alone_are_no_part_that_is_worth_a_search():
    b = ProgramBuilder("only_views")
    x = b.input("x", "b", 8)

    assert not fits(b.build(b.permute(b.slice(x, 1, 0, 4), 1, 0)), 9)
    assert fits(with_views(), 9)
    rows = b.lookup(b.slice(x, 1, 0, 4), b.input("i", 6, dtype="i64"), 1)
    assert not fits(b.build(rows, b.unary("exp", rows)), 9)  # the first of its results is what a kernel ends with


@pytest.mark.parametrize(
    "program", [layers(3, residual=True), layers(5), with_views()], ids=["residual", "deep", "views"]
)
def test_every_operator_is_in_one_part_and_each_part_computes_its_tensor(program):
    parts = partition(program, lambda part: fits(part, 9))
    inputs = random_inputs(program.graph, {"b": 3})
    known = {n: inputs[node.op.name] for n, node in enumerate(program.graph.nodes) if isinstance(node.op, Input)}
    for part in parts:
        given = {op.name: known[n] for op, n in zip(part.program.inputs, part.operands, strict=True)}
        known[part.result] = evaluate(part.program, given)

    operators = [n for n, node in enumerate(program.graph.nodes) if node.args]
    assert operators == sorted(n for part in parts for n in part.positions)
    np.testing.assert_allclose(evaluate(program, inputs), known[program.graph.output])
    assert program.graph.nodes == assemble(program, parts, {}).nodes


def test_a_program_whose_expression_is_too_large_is_refused_as_a_whole_with_the_way_on():
    program = layers(10, residual=True)

    assert expression_size(program) <= LARGEST_EXPRESSION
    deep = ProgramBuilder("deep")
    h = deep.input("x", "b", 8)
    for n in range(8):
        y = deep.binary("div", h, deep.reduce("rms", h, 1))
        h = deep.binary("add", h, deep.unary("silu", deep.matmul(y, deep.input(f"w{n}", 8, 8))))
    with pytest.raises(
        px.ShapeError,
        match=r"deep: 40 operators make one expression of .* px\.WholeProgram\(.* px\.LargeProgram",
    ):
        px.Session(deep.build(h), target="h100")


def clamped(times: int) -> TensorProgram:
    b = ProgramBuilder("clamped")
    value = b.input("x", "b", 4)
    for _ in range(times):
        value = b.scalar("mul", b.scalar("max", b.scalar("min", value, 1), -1), 2)
    return b.build(value)


@pytest.fixture
def few_nested_calls():
    """Python's limit of nested calls, less what a notebook has below it; Hypothesis raises it for all later tests."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(800)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("few_nested_calls")
def test_the_deepest_program_is_searched_and_a_deeper_one_is_refused_with_the_way_on():
    assert DEEPEST_EXPRESSION == expression_depth(clamped(DEEPEST_EXPRESSION // 2))
    with px.Session(clamped(DEEPEST_EXPRESSION // 2), target="h100") as sess:
        sess.run()
        assert "finished" == sess.state

    with pytest.raises(
        ShapeError, match=r"of 82 functions of one another; a search takes 80 at most\. px\.WholeProgram"
    ):
        px.Session(clamped(DEEPEST_EXPRESSION // 2 + 1), target="h100")


def test_an_expression_of_uncounted_size_is_too_large():
    b = ProgramBuilder("squares")
    value = b.input("x", "b", 4)
    for _ in range(12):
        value = b.unary("square", b.binary("add", value, value))
    with pytest.raises(ShapeError, match="perhaps more than 1e\\+18 factors; a search takes 100,000 at most"):
        px.Session(b.build(value), target="h100")
