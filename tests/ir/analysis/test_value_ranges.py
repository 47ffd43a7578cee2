from functools import partial, reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.ir.analysis.value_ranges import ANY, are_whole, value_ranges
from prism_explore.ir.interpreter.reference import run
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.tensors import WHOLE_NUMBERS

STEPS = ("add", "sub", "mul", "max", "min", "floor", "trunc", "neg", "is_zero", "half", "more", "most", "sum", "matmul")


@st.composite
def programs(draw):
    """Operators on inputs of 4 by 4 whole numbers, each on results of earlier ones."""
    b = ProgramBuilder("drawn")
    made = [b.input(name, 4, 4, dtype=name) for name in ("i8", "u8", "bool")]
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=6)):
        x, y = (draw(st.sampled_from(made)) for _ in range(2))
        match step:
            case "floor" | "trunc" | "neg" | "is_zero":
                made.append(b.unary(step, x))
            case "half":
                made.append(b.scalar("mul", x, "-1/2"))
            case "more":
                made.append(b.scalar("add", x, "3/4"))
            case "most":
                made.append(b.scalar("min", x, 7))
            case "sum":
                made.append(b.binary("add", x, b.reduce("sum", x, 0)))
            case "matmul":
                made.append(b.matmul(x, y))
            case _:
                made.append(b.binary(step, x, y))
    return b.build(reduce(partial(b.binary, "add"), made))


@given(programs(), st.integers(0, 2**32))
def test_every_number_is_in_its_range_and_whole_where_it_says_so(program, seed):
    rng = np.random.default_rng(seed)
    inputs = {
        name: rng.choice([low, high, rng.integers(low, high, endpoint=True)], (4, 4)).astype(np.float64)
        for name, (low, high) in WHOLE_NUMBERS.items()
    }
    nodes, types = program.graph.nodes, program.graph.types()
    values = run(program.graph, inputs, {})
    for value, (low, high), is_whole in zip(
        values, value_ranges(nodes, types, {}), are_whole(nodes, types), strict=True
    ):
        assert low <= value.min() and value.max() <= high
        assert not is_whole or np.array_equal(value, np.round(value))


def test_a_sum_of_products_of_bytes_is_as_large_as_it_can_be():
    b = ProgramBuilder("dot")
    product = b.matmul(b.input("a", 4, 100, dtype="i8"), b.input("c", 100, 4, dtype="u8"))
    graph = b.build(product).graph

    assert value_ranges(graph.nodes, graph.types(), {})[-1] == (-128 * 255 * 100, 127 * 255 * 100)


def test_floats_can_be_any_number_and_what_is_known_of_a_result_counts():
    b = ProgramBuilder("float")
    x = b.input("x", 4)
    y = b.unary("exp", x)
    graph = b.build(b.scalar("add", y, 1)).graph

    assert value_ranges(graph.nodes, graph.types(), {}) == [ANY] * 3
    assert value_ranges(graph.nodes, graph.types(), {1: (0.0, 2.0)})[2] == (1.0, 3.0)
    assert are_whole(graph.nodes, graph.types()) == [False] * 3
