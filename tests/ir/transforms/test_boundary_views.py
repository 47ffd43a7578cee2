"""What is only seen differently before a program's core, and behind it, stays outside."""

import numpy as np
import pytest

from prism_explore.ir.axes import axes_of, unchanged_axes
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Input, Lookup, MatMul, Node, Permute, Reshape, ViewOp
from prism_explore.ir.text import parse_program, show
from prism_explore.ir.transforms.boundary_views import split_boundary_views

GROUPED = parse_program("""program grouped
  q = input f32[b, 8, 4]
  k = input f32[b, 2, 4, 6]
  %2 = reshape(q, dims=[b, 2, 4, 4])
  %3 = matmul(%2, k)
  %4 = exp(%3)
  %5 = permute(%4, order=[0, 1, 3, 2])
  %6 = reshape(%5, dims=[b, 12, 4])
  return %6""")

TWICE_ALIKE = parse_program("""program twice_alike
  x = input f32[b, 6]
  %1 = reshape(x, dims=[b, 1, 6])
  %2 = exp(%1)
  %3 = reshape(x, dims=[b, 1, 6])
  %4 = add(%2, %3)
  return %4""")

ALSO_BARE = parse_program("""program also_bare
  x = input f32[b, 6]
  %1 = permute(x, order=[1, 0])
  %2 = matmul(x, %1)
  return %2""")

ONLY_VIEWS = parse_program("""program only_views
  x = input f32[b, 6]
  %1 = permute(x, order=[1, 0])
  %2 = reshape(%1, dims=[3, 2, b])
  return %2""")

IN_BETWEEN = parse_program("""program in_between
  x = input f32[b, 6]
  w = input f32[6, b]
  %2 = exp(x)
  %3 = permute(%2, order=[1, 0])
  %4 = mul(%3, w)
  return %4""")


def core(program) -> SGraph:
    """The core by itself, written by hand from what was peeled off."""
    peeled = split_boundary_views(program.graph)
    place = {p: i for i, g in enumerate(peeled.viewed_inputs) for p in g.at}
    nodes = list(peeled.inputs)
    for p in peeled.core:
        node = program.graph.nodes[p]
        nodes.append(type(node)(node.op, tuple(place[a] for a in node.args)))
        place[p] = len(nodes) - 1
    return SGraph(tuple(nodes), place[peeled.result])


def test_views_of_inputs_and_of_the_result_are_outside_and_the_rest_is_core():
    peeled = split_boundary_views(GROUPED.graph)

    assert [3, 4] == list(peeled.core)
    assert ["f32[b, 2, 4, 4]", "f32[b, 2, 4, 6]"] == [str(g.type) for g in peeled.viewed_inputs]
    assert [Permute, Reshape] == [type(v) for v in peeled.result_views]


def test_equal_views_of_one_input_are_one():
    peeled = split_boundary_views(TWICE_ALIKE.graph)

    assert [frozenset({1, 3})] == [g.at for g in peeled.viewed_inputs]
    assert [2, 4] == list(peeled.core)


@pytest.mark.parametrize("program", [ALSO_BARE, IN_BETWEEN], ids=lambda p: p.name)
def test_an_input_that_is_also_used_bare_and_a_view_in_between_stay_in_the_core(program):
    peeled = split_boundary_views(program.graph)

    assert [()] * len(program.inputs) == [g.views for g in peeled.viewed_inputs]
    assert any(isinstance(program.graph.nodes[p].op, ViewOp) for p in peeled.core)


def test_of_a_program_of_views_alone_the_last_is_left_so_that_there_is_a_core():
    assert (2,) == split_boundary_views(ONLY_VIEWS.graph).core


@pytest.mark.parametrize("program", [GROUPED, TWICE_ALIKE, ALSO_BARE, IN_BETWEEN], ids=lambda p: p.name)
def test_the_core_with_its_views_around_it_is_the_program(program):
    rng = np.random.default_rng(0)
    inputs = {i.name: rng.standard_normal([d.value({"b": 3}) for d in i.type.dims]) for i in program.inputs}
    graph = split_boundary_views(program.graph).wrap(core(program))

    assert np.allclose(evaluate(program, inputs), evaluate(graph, inputs, {}))


@pytest.mark.parametrize("program", [GROUPED, TWICE_ALIKE, ALSO_BARE, IN_BETWEEN], ids=lambda p: p.name)
def test_taking_the_views_off_gives_the_core_again(program):
    peeled = split_boundary_views(program.graph)

    assert core(program) == peeled.unwrap(peeled.wrap(core(program)))


def test_a_graph_with_other_views_around_it_has_no_core():
    peeled = split_boundary_views(GROUPED.graph)

    assert peeled.unwrap(split_boundary_views(TWICE_ALIKE.graph).wrap(core(TWICE_ALIKE))) is None
    assert peeled.unwrap(core(GROUPED)) is None


def test_inputs_of_the_core_bear_their_names():
    assert ["q", "k"] == [n.op.name for n in split_boundary_views(GROUPED.graph).inputs if isinstance(n.op, Input)]
    assert "f32[b, 2, 4, 4]" in show(core(GROUPED))


# ---------------------------------------------------------------- axes through views
def test_dims_beside_those_that_a_reshape_regroups_keep_their_axes():
    table = axes_of(GROUPED.graph)
    q, viewed = table.of[0], table.of[2]

    assert q[0] == viewed[0]
    assert q[-1] == viewed[-1]
    assert q[1] not in viewed


def test_equal_views_of_equal_axes_give_equal_axes():
    halves = parse_program("""program halves
      x = input f32[b, 6]
      y = input f32[b, 6]
      %2 = add(x, y)
      %3 = slice(x, dim=1, start=0, stop=3)
      %4 = slice(y, dim=1, start=0, stop=3)
      %5 = slice(y, dim=1, start=3, stop=6)
      return %2""")
    table = axes_of(halves.graph)

    assert table.of[3] == table.of[4]
    assert table.of[4][1] != table.of[5][1]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("b", "h", "s"), ("b", "g", "e", "s"), {"b", "s"}),
        (("b", "n"), ("b", None, "n"), {"b", "n"}),
        (("n", "b"), ("b", "n"), set()),
        (("a", "b", "c"), ("a", "c", "b"), {"a"}),
        ((None,), (), set()),
    ],
)
def test_a_reshape_keeps_the_axes_before_and_behind_what_it_regroups(before, after, expected):
    assert expected == unchanged_axes(before, after)


LOOKED_UP = parse_program("""program looked_up
  x = input f32[b, 6]
  i = input i64[n]
  t = input f32[v, 2, 3]
  %3 = reshape(t, dims=[v, 6])
  %4 = lookup(%3, i, dim=0)
  %5 = reshape(x, dims=[6, b])
  %6 = matmul(%4, %5)
  return %6""")


def test_a_lookup_of_an_input_is_one_of_its_views():
    peeled = split_boundary_views(LOOKED_UP.graph)

    assert [("x", "f32[6, b]"), ("t", "f32[n, 6]")] == [(n.op.name, str(n.op.type)) for n in peeled.inputs]
    assert (6,) == peeled.core
    core = SGraph((*peeled.inputs, Node(MatMul(), (1, 0))), 2)
    wrapped = peeled.wrap(core)
    assert show(wrapped).count("lookup") == 1
    assert peeled.unwrap(wrapped) == core
    sizes = {"x": np.random.rand(4, 6), "i": np.array([2, 0]), "t": np.random.rand(3, 2, 3)}
    np.testing.assert_allclose(evaluate(wrapped, sizes), evaluate(LOOKED_UP, sizes))


def test_a_table_that_is_looked_up_by_two_inputs_is_read_as_it_is():
    text = show(LOOKED_UP).replace("%6 = matmul(%4, %5)", "%6 = matmul(%3, %5)\n  %7 = add(%6, %6)")
    program = parse_program(text.replace("return %6", "%8 = lookup(%7, i, dim=0)\n  return %8"))

    assert any(isinstance(program.graph.nodes[p].op, Lookup) for p in split_boundary_views(program.graph).core)
