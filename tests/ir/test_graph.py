import pytest
from hypothesis import given

from prism_explore.errors import ShapeError
from prism_explore.ir.axes import axes_of
from prism_explore.ir.axis_maps import AxisUse, grid_map, loop_map
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph, block_types, next_type, phases
from prism_explore.ir.ops import BlockGraph, Input, Node, Store
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.tensors import tensor
from prism_explore.ir.text import parse
from tests.strategies import R1, programs, r1_example, rmsnorm_linear


def block_of(text):
    graph = parse(text)
    ((position, block),) = graph.customs
    return block, tuple(graph.types()[a] for a in graph.nodes[position].args)


@pytest.mark.parametrize("name", ["%7", "%", ""])
def test_an_input_is_not_named_like_a_position(name):
    with pytest.raises(ShapeError, match="not that of a position"):
        SGraph((Node(Input(name, tensor(4))),), 0)


def test_tiles_are_the_extents_over_the_sizes_that_cut_them():
    block, operands = block_of(R1)

    found = [str(t) for t in block_types(block, operands)]

    assert ["f32[b, 24/f]", "f32[24/f]", "f32[24/f, 36/gx]"] == found[:3]
    assert "f32[b, 36/gx]" == found[10]
    assert "f32[b, 36]" == found[11]


def test_a_tensor_exists_per_iteration_once_behind_the_loop_or_always():
    block, _ = block_of(R1)

    assert ("loop",) * 5 + ("after", "loop") + ("after",) * 5 == phases(block)


def test_conditions_are_the_tile_extents_that_must_be_whole():
    assert {dim("b"), dim("24/f"), dim("36/gx")} == set(r1_example().sgraph.conditions())


def test_parameters_are_the_sizes_a_tuner_chooses():
    assert ("gx", "f") == r1_example().sgraph.parameters
    assert ("b",) == r1_example().sgraph.data_symbols


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("div(%5, %9)", "div(%4, %9)", "one operand is in the loop, the other after it"),
        ("store(%10", "store(%4", "an accumulator is missing"),
        ("accum_mean(%6, dim=1)", "accum_mean(%5, dim=1)", "takes a value from inside the loop"),
        ("matmul(%3, %2)", "matmul(%2, %3)", "inner dims differ, 36/gx against b"),
        ("omap=[1]", "omap=[2]", "omap x <-> dim 2 of 2"),
        (
            "load(2, imap=[1], fmap=0)",
            "load(2, imap=[2], fmap=0)",
            "imap x <-> dim 2 of a tensor with 2 dims",
        ),
    ],
)
def test_a_misused_value_is_refused_with_its_reason(old, new, message):
    with pytest.raises(ShapeError, match=message):
        parse(R1.replace(old, new, 1)).types()


def test_a_bias_may_be_loaded_once_and_used_behind_the_loop():
    biased = R1.replace("g = input f32[24]", "g = input f32[36]").replace("mul(%0, %1)", "neg(%0)")
    biased = biased.replace("div(%5, %9)", "add(%5, %1)").replace("load(1, imap=[-], fmap=0)", "load(1, imap=[0])")

    assert str(block_types(*block_of(biased))[10]) == "f32[b, 36/gx]"
    assert phases(block_of(biased)[0])[1] == "invariant"


def test_axes_are_named_once_and_equal_extents_stay_apart():
    table = axes_of(rmsnorm_linear(24, 24).graph)

    assert ["b", "d", "n"] == [a.name for a in table.axes]
    assert (("b", "d"), ("d",), ("d", "n")) == table.of[:3]
    assert ("b", "n") == table.of[-1]


def test_maps_follow_from_how_axes_are_cut():
    uses = (AxisUse("n", grid=0), AxisUse("d", looped=True))

    assert (None,) == grid_map(uses, ("b", "d"), 1)
    assert (1,) == grid_map(uses, ("d", "n"), 1)
    assert [1, 0, None] == [loop_map(uses, axes) for axes in (("b", "d"), ("d", "n"), ("b", "n"))]


def test_a_program_that_ignores_an_input_is_refused():
    b = ProgramBuilder("p")
    x, _ = b.input("x", 4, 4), b.input("y", 4)

    with pytest.raises(ShapeError, match="does not depend on input 'y'"):
        b.build(b.unary("exp", x))


@given(programs())
def test_an_appended_node_has_the_type_that_the_whole_graph_gives_it(program):
    nodes, types = program.graph.nodes, program.graph.types()

    assert list(types) == [next_type(nodes[:n], types[:n], node) for n, node in enumerate(nodes)]


def test_two_inputs_of_one_name_are_refused():
    b = ProgramBuilder("p")
    b.input("x", 4)

    with pytest.raises(ShapeError, match="different names, found x, x"):
        b.input("x", 4)


def test_a_zero_dim_is_refused():
    with pytest.raises(ShapeError, match="size 0"):
        tensor("b", 0)


@pytest.mark.parametrize(
    ("dims", "operator", "size"),
    [
        ("-n, m", "relu(%0)", "-n"),
        ("n, 0", "relu(%0)", "0"),
        ("n, m", "reshape(%0, dims=[-n, -m])", "-n"),
        ("n, 1", "expand(%0, dim=1, size=-n - m)", "-m - n"),
    ],
)
def test_a_dim_that_is_positive_for_no_sizes_is_refused(dims, operator, size):
    with pytest.raises(ShapeError, match=f"a dim has size {size}, which is never a positive integer"):
        parse(f"sgraph\n  x = input f32[{dims}]\n  %1 = {operator}\n  return %1").types()


def test_a_store_is_read_by_nothing():
    block, _ = block_of(R1)
    last = len(block.nodes) - 1

    with pytest.raises(ShapeError, match="reads a store"):
        BlockGraph(block.grid, block.loop, (*block.nodes, Node(Store((None,)), (last,))))
