from __future__ import annotations

from fractions import Fraction

import pytest

from prism_explore.ir.dims import dim
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    Concat,
    Expand,
    Node,
    Op,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
)
from prism_explore.ir.tensors import tensor
from prism_explore.ir.text import parse
from prism_explore.widgets.views.graph_text import describe, op_text, shape_text
from tests.strategies import R1


def test_operands_are_named_where_their_order_matters() -> None:
    assert "div %1, %2" == op_text(Node(Binary("div"), (1, 2)), {})
    assert "div x, %2" == op_text(Node(Binary("div"), (1, 2)), {1: "x"})
    assert "mul" == op_text(Node(Binary("mul"), (1, 2)), {})
    assert "+ 1e-06" == op_text(Node(Scalar("add", Fraction(1, 10**6)), (1,)), {})
    assert "× 3" == op_text(Node(Scalar("mul", Fraction(3)), (1,)), {})


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (Scalar("pow", Fraction(1, 2)), "^ 0.5"), (Scalar("max", Fraction(0)), "at least 0"),
        (Scalar("min", Fraction(6)), "at most 6"), (Binary("mask"), "mask %1, %2"), (Binary("max"), "max"),
        (Reduce("max", 1), "max dim 1"), (Accumulate("max"), "accum max"), (Accumulate("max", 1), "accum max dim 1"),
        (RunningMax(), "running max"), (RunningMax(2), "running max dim 2"),
        (AccumulateRescaled(), "accum rescaled %1, %2"), (AccumulateRescaled(1), "accum rescaled dim 1 %1, %2"),
        (Permute((1, 0)), "permute 1 0"), (Reshape((dim("b"), dim("d") / 2)), "reshape b × d/2"),
        (Expand(1, dim("t")), "repeat dim 1, t times"), (Slice(0, dim(0), dim("d")), "slice dim 0, 0 to d"),
        (Concat(1), "concat dim 1 %1, %2"), (Result(2), "result 3 of %1"),
        (Band(dim("m"), dim("s"), None, dim(0)), "band column − row ≤ 0"),
        (Band(dim("m"), dim("s"), dim("-2"), dim(3)), "band -2 ≤ column − row ≤ 3"),
    ],
)  # fmt: skip
def test_every_operator_has_words_for_people(op: Op, said: str) -> None:
    assert said == op_text(Node(op, (1, 2)), {})


def test_a_shape_has_symbolic_sizes() -> None:
    assert "b × 4096/(f·gx)" == shape_text(tensor("b", dim(4096) / "gx" / "f"))
    assert "(2 + b) × 3" == shape_text(tensor(dim("b") + 2, 3))
    assert "scalar" == shape_text(tensor())


def test_the_description_says_what_the_picture_shows() -> None:
    assert (
        "Inputs: x b × 24, g 24, w 24 × 36. Custom kernel %3: grid x = gx, for i in f; 12 operators, "
        "6 in the loop, 2 accumulators. Result: %3, b × 36."
    ) == describe(parse(R1))
