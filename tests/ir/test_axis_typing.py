"""The typing rule of axes agrees with that of extents, and names what each operator reduces."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.ir.axes import compute_axes, matched_axes
from prism_explore.ir.axis_typing import reduced_axis, result_axes
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    Concat,
    Expand,
    MatMul,
    Permute,
    Reduce,
    RunningMax,
    Slice,
    Unary,
    compute_dims,
)

ONE = dim(1)


@st.composite
def applications(draw):
    """An operator and dims of operands that fit it."""
    dims = draw(st.lists(st.sampled_from([1, 2, 3, 5, 7]), min_size=1, max_size=4))
    along = draw(st.integers(0, len(dims) - 1))
    some = tuple(dim(1 if draw(st.booleans()) else n) for n in dims)
    whole, behind = tuple(map(dim, dims)), draw(st.integers(0, len(dims)))
    kind = draw(st.sampled_from(["unary", "binary", "matmul", "reduce", "permute", "expand", "slice", "concat"]))
    match kind:
        case "unary":
            return Unary("exp"), (whole,)
        case "binary":
            return Binary("add"), (whole, some[behind:])
        case "matmul":
            k, n = dim(11), dim(13)
            return MatMul(), ((*whole, k), (*some[behind:-1], k, n))
        case "reduce":
            return Reduce("sum", along), (whole,)
        case "permute":
            return Permute(tuple(draw(st.permutations(range(len(dims)))))), (whole,)
        case "expand":
            return Expand(along, dim(17)), ((*whole[:along], ONE, *whole[along + 1 :]),)
        case "slice":
            return Slice(along, dim(0), dim(1)), (whole,)
        case _:
            return Concat(along), (whole, whole)


@given(applications())
def test_extents_as_labels_give_the_extents_of_the_result(application):
    op, operands = application
    wanted = compute_dims(op, operands)

    def align(a: Dim, b: Dim) -> Dim:
        assert a == b or a.is_one or b.is_one
        return b if a.is_one else a

    def contract(a: Dim, b: Dim) -> None:
        assert a == b

    found = result_axes(op, operands, absent=ONE, fresh=wanted.__getitem__, align=align, contract=contract)
    assert found == wanted


@given(applications())
def test_a_reduction_leaves_out_the_extent_that_it_reduces(application):
    op, operands = application
    reduced = reduced_axis(op, operands)
    wanted = prod(compute_dims(op, operands), start=ONE)

    if isinstance(op, Reduce):
        assert wanted * reduced == prod(operands[0], start=ONE)
    else:
        assert reduced == (operands[0][-1] if isinstance(op, MatMul) else None)


@pytest.mark.parametrize(
    ("op", "operands", "result", "pairs"),
    [
        (Binary("add"), (("b", "d"), ("d",)), ("b", "d"), [("d", "d")]),
        (Binary("add"), (("b", "d"), ("n",)), None, [("d", "n")]),
        (Binary("add"), (("b", None), ("d",)), ("b", "d"), []),
        (MatMul(), (("b", "d"), ("d", "n")), ("b", "n"), [("d", "d")]),
        (MatMul(), (("b", "d"), ("k", "n")), None, [("d", "k")]),
        (MatMul(), (("d",), ("d", "n")), None, []),
        (Accumulate("sum", 1), (("b", "d"),), ("b", None), []),
        (Accumulate("sum"), (("b", "d"),), ("b", "d"), []),
        (RunningMax(1), (("b", "d"),), ("b", None), []),
        (AccumulateRescaled(1), (("b", "d"), ("b", None)), ("b", None), [("b", "b")]),
        (AccumulateRescaled(), (("b", "d"), ("b", None)), ("b", "d"), [("b", "b")]),
        (AccumulateRescaled(), (("b", None), ("b", "d")), None, [("b", "b")]),
        (AccumulateRescaled(), (("b", "d"), ("d",)), None, [("d", "d")]),
        (Slice(1, dim(0), dim(1)), (("b", "d"),), None, []),
    ],
)
def test_axes_of_a_result_and_the_pairs_that_must_be_one(op, operands, result, pairs):
    assert compute_axes(op, operands) == result
    assert list(matched_axes(op, operands)) == pairs
