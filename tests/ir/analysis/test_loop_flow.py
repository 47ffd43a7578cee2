"""The loop's transitions are sound and complete: what they allow is right, what they forbid is wrong.

Random block graphs are run by the block interpreter at two loop ranges; a legal choice of looped axes
gives the same as no cutting at all.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.analysis.loop_flow import FLOW_RULES, Flow, transfer
from prism_explore.ir.axes import compute_axes
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import block_types
from prism_explore.ir.interpreter.reference import exact, run_blocks
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    BlockGraph,
    Concat,
    Expand,
    Load,
    MatMul,
    Node,
    ParallelDim,
    Permute,
    Reduce,
    Reshape,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.tensors import tensor

TENSORS = (("m", "k"), ("k", "n"), ("m", "k"), (None, "n"), ("m", None))
SCANS = ("cumsum", "reverse_cumsum")
EXTENT = {"m": 2, "k": 4, "n": 6, None: 1}


@st.composite
def blocks(draw):
    """A well-shaped block graph over a few operands, and which axis is cut: nodes, axes, looped."""
    chosen = draw(st.lists(st.integers(0, len(TENSORS) - 1), min_size=2, max_size=3, unique=True))
    nodes = [Node(Load(i, (), None)) for i in range(len(chosen))]
    axes = [TENSORS[i] for i in chosen]
    behind = [False] * len(nodes)
    for _ in range(draw(st.integers(2, 5))):
        ops = [Unary("neg"), Unary("square"), Scalar("mul", 3), Scalar("add", 1), MatMul(), Accumulate("sum")]
        ops += [Binary(fn) for fn in ("add", "sub", "mul", "div", "max", "min")]
        ops += [kind(fn, d) for kind in (Reduce, Accumulate) for fn in ("sum", "mean", "rms", "max") for d in (0, 1)]
        ops += [Accumulate("max"), Permute((1, 0)), *(Scan(fn, d) for fn in SCANS for d in (0, 1))]
        op = draw(st.sampled_from(ops))
        arity = 2 if isinstance(op, Binary | MatMul) else 1
        args = tuple(draw(st.integers(0, len(nodes) - 1)) for _ in range(arity))
        result = compute_axes(op, tuple(axes[a] for a in args))
        reduces = getattr(op, "dim", None)
        if result is None or (reduces is not None and axes[args[0]][reduces] is None):
            continue
        if isinstance(op, Accumulate) and behind[args[0]]:
            continue
        nodes.append(Node(op, args))
        axes.append(result)
        behind.append(isinstance(op, Accumulate) or any(behind[a] for a in args))
    return chosen, nodes, axes, draw(st.sampled_from("mkn"))


def states(nodes, axes, looped):
    out = []
    for position, node in enumerate(nodes):
        args = tuple(out[a] for a in node.args)
        made = transfer(node.op, args, tuple(axes[a] for a in node.args), axes[position], looped, position)
        if not isinstance(made, Flow):
            return made
        out.append(made)
    return out


def run(chosen, nodes, axes, looped, arrays):
    """The last tensor, with the loads cut along `looped` by a loop of two iterations, or uncut by one."""
    loop = ParallelDim("i", dim(2 if looped else 1))
    loads = {
        p: Node(Load(n.op.operand, (), axes[p].index(looped) if looped in axes[p] else None))
        for p, n in enumerate(nodes)
        if isinstance(n.op, Load)
    }
    body = tuple(loads.get(p, n) for p, n in enumerate(nodes))
    types = tuple(tensor(*(EXTENT[a] for a in TENSORS[i]), dtype="f64") for i in chosen)
    block = BlockGraph((), loop, (*body, Node(Store(()), (len(nodes) - 1,))))
    with np.errstate(all="ignore"):
        for d in {d for t in block_types(block, types) for d in t.dims}:
            d.value({})
        return run_blocks(block, arrays, {}, exact)


@settings(max_examples=400, deadline=None)
@given(blocks(), st.integers(0, 99))
def test_what_the_transitions_allow_is_right(made, seed):
    chosen, nodes, axes, looped = made
    known = states(nodes, axes, {looped})
    if isinstance(known, str) or transfer(Store(), (known[-1],), (axes[-1],), axes[-1], {looped}) == "store.whole":
        return
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal([EXTENT[a] for a in TENSORS[i]]) for i in chosen]

    cut, whole = run(chosen, nodes, axes, looped, arrays), run(chosen, nodes, axes, "", arrays)
    np.testing.assert_allclose(cut, whole, rtol=1e-6, atol=1e-9)


RESCALED = [AccumulateRescaled(d) for d in (None, 0, 1)]
MOVING = [Unary(fn) for fn in ("neg", "square", "sqrt", "exp", "recip", "abs")]
MOVING += [Scalar(fn, Fraction(c)) for fn, c in (("mul", -1), ("mul", 2), ("add", 1), ("pow", 2))]
MOVING += [
    MatMul(),
    Permute((1, 0)),
    Scan("cumsum", 0),
    Scan("reverse_cumsum", 1),
    *(Reduce(fn, d) for fn in ("sum", "mean") for d in (0, 1)),
]
MOVING += [Binary(fn) for fn in ("add", "sub", "mul", "div", "mask")] * 3


def applications(op, nodes, axes, known, looped):
    """Every way to apply an operator, legally, to something that moves: nodes, axes, states."""
    for args in product(range(len(nodes)), repeat=2 if isinstance(op, Binary | MatMul | AccumulateRescaled) else 1):
        if not any(known[a].depends_on_max for a in args):
            continue
        result = compute_axes(op, of := tuple(axes[a] for a in args))
        along = getattr(op, "dim", None)
        if result is None or (along is not None and of[0][along] is None):
            continue
        state = transfer(op, tuple(known[a] for a in args), of, result, {looped}, len(nodes))
        if isinstance(state, Flow):
            yield Node(op, args), result, state


@st.composite
def online(draw):
    """A block graph around two running maxima, legal throughout: nodes, axes, states, looped."""
    reduced = draw(st.sampled_from((0, 1)))
    looped = TENSORS[0][reduced]
    maximum, minus = RunningMax(reduced), Binary("sub")
    nodes = [*(Node(Load(i, (), None)) for i in range(3)), Node(maximum, (0,)), Node(maximum, (2,))]
    nodes += [Node(minus, (0, 3)), Node(minus, (2, 4)), Node(Unary("exp"), (5,)), Node(Unary("exp"), (6,))]
    axes = [*TENSORS[:3], *[compute_axes(maximum, (TENSORS[0],))] * 2, *[TENSORS[0]] * 4]
    known = states(nodes, axes, {looped})
    for _ in range(draw(st.integers(0, 5))):
        found = list(applications(draw(st.sampled_from(MOVING)), nodes, axes, known, looped))
        if found:
            for made, of in zip(draw(st.sampled_from(found)), (nodes, axes, known), strict=True):
                of.append(made)
    for op in RESCALED:
        for node, result, state in list(applications(op, nodes, axes, known, looped)):
            nodes, axes, known = [*nodes, node], [*axes, result], [*known, state]
    return nodes, axes, known, looped


@settings(max_examples=200, deadline=None)
@given(online(), st.integers(0, 99))
def test_what_moves_with_a_running_maximum_is_right_behind_the_loop(made, seed):
    nodes, axes, known, looped = made
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(0.1, 2.0, [EXTENT[a] for a in TENSORS[i]]) for i in range(3)]
    whole = [n for n, state in enumerate(known) if state.phase == "after" and state.exact]

    assert whole
    for last in whole:
        kept = [*nodes[:9], *(n for n in nodes[9 : last + 1] if not isinstance(n.op, AccumulateRescaled)), nodes[last]]
        upto = [0, 1, 2], kept, axes
        np.testing.assert_allclose(run(*upto, looped, arrays), run(*upto, "", arrays), rtol=1e-6, atol=1e-9)


def test_what_moves_along_one_of_two_dims_of_one_axis_is_not_rescaled():
    """exp(x - m) transposed, times x, is k by k: its rows move, and m would rescale its columns."""
    nodes = [Node(Load(0, (), None)), Node(RunningMax(0), (0,)), Node(Binary("sub"), (0, 1)), Node(Unary("exp"), (2,))]
    nodes += [Node(Permute((1, 0)), (3,)), Node(MatMul(), (4, 0))]
    axes = [("m", "k"), (None, "k"), ("m", "k"), ("m", "k"), ("k", "m"), ("k", "k")]

    assert "loop.moves" == states(nodes, axes, {"m"})
    assert isinstance(states(nodes[:-1], axes[:-1], {"m"})[-1], Flow)


X, W = (("m", "k"), ("k", "n"))
LOADS = [Node(Load(0, (), None)), Node(Load(1, (), None))]


@pytest.mark.parametrize(
    ("rule", "op", "args"),
    [
        ("loop.partial", Unary("exp"), (2,)),
        ("loop.partial", Binary("mul"), (2, 2)),
        ("loop.partial", Scalar("add", 1), (2,)),
        ("loop.count", Reduce("mean", 1), (0,)),
        ("loop.count", Accumulate("mean", 1), (2,)),
        ("loop.partial", Unary("square"), (3,)),
        ("loop.behind", Binary("div"), (2, 4)),
        ("loop.partial", Binary("add"), (2, 5)),
        ("loop.partial", Binary("sub"), (5, 2)),
        ("loop.partial", Binary("div"), (5, 2)),
        ("loop.partial", Binary("add"), (3, 5)),
        ("loop.partial", Binary("max"), (2, 5)),
        ("loop.partial", Binary("mask"), (3, 5)),
        ("loop.partial", Accumulate("max"), (2,)),
        ("loop.partial", Accumulate("max"), (0,)),
        ("loop.unmapped", Slice(1, dim(0), dim(2)), (0,)),
        ("loop.unmapped", Reshape((dim(8),)), (0,)),
        ("loop.unmapped", Concat(1), (0, 5)),
        ("loop.scanned", Scan("cumsum", 1), (0,)),
        ("loop.scanned", Scan("reverse_cumsum", 1), (3,)),
    ],
)
def test_what_the_transitions_forbid_is_named(rule, op, args):
    nodes = [*LOADS, Node(MatMul(), (0, 1)), Node(Accumulate("sum"), (0,)), Node(Accumulate("sum"), (2,))]
    nodes.append(Node(Load(2, (), None)))
    axes = [X, W, ("m", "n"), X, ("m", "n"), ("m", None)]
    result = compute_axes(op, tuple(axes[a] for a in args)) or (None,) * len(axes[args[0]])

    assert rule == states([*nodes, Node(op, args)], [*axes, result], {"k"})
    assert rule in FLOW_RULES


def test_a_maximum_over_the_loop_is_whole_behind_its_accumulator_and_not_before():
    nodes = [LOADS[0], Node(Reduce("max", 1), (0,))]
    axes = [X, ("m", None)]

    assert [Flow("loop", "k"), Flow("loop", "k", partial=True, largest=True)] == states(nodes, axes, {"k"})
    accumulated = states([*nodes, Node(Accumulate("max"), (1,))], [*axes, axes[1]], {"k"})
    assert Flow("after") == accumulated[-1]
    for op in (Unary("neg"), Scalar("mul", -1), Accumulate("sum"), Reduce("sum", 0)):
        assert "loop.partial" == states([*nodes, Node(op, (1,))], [*axes, axes[1]], {"k"})


@pytest.mark.parametrize("op", [Slice(0, dim(0), dim(1)), Expand(0, dim(3)), Concat(0)])
def test_a_view_of_other_axes_passes_what_the_loop_cuts(op):
    args = (0, 0) if isinstance(op, Concat) else (0,)

    assert Flow("loop", "k") == states([LOADS[0], Node(op, args)], [X, (None, "k")], {"k"})[-1]


def test_an_accumulator_must_vary_with_the_loop():
    assert "accumulate.varies" == states([*LOADS, Node(Accumulate("sum"), (1,))], [X, W, W], {"m"})


def test_two_looped_axes_never_meet_in_one_tensor():
    assert "loop.diagonal" == states(LOADS[:1], [X], {"m", "k"})
