"""Integer arguments as numbers: masks of ids and positions, angles, and lookups at positions plus a number."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import prism_explore as px
from prism_explore.frontend.export import trace
from prism_explore.frontend.mixed_program import Computation, evaluate_mixed, run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.analysis.value_ranges import value_ranges
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.tensors import LARGEST_READ


def ids(low, high, *shape):
    return lambda: torch.randint(low, high, shape)


def floats(*shape):
    return lambda: torch.randn(*shape)


def attention(mask, scores, values):
    return torch.softmax(scores.masked_fill(~mask, -1e9), -1) @ values


SCORES, VALUES = floats(2, 3, 5, 7), floats(2, 3, 7, 4)
WHOLE = {
    "where ids are padding": (lambda i, x: torch.where(i == 0, 0.0, x * 2), ids(0, 3, 3, 5), floats(3, 5)),
    "filled where they are": (
        lambda i, x: torch.softmax(x.masked_fill(i == 0, -INF), -1).nan_to_num(),
        ids(0, 3, 3, 5),
        floats(3, 5),
    ),
    "positions against a range": (
        lambda i, s, v: attention(i[:, None, :, None] >= torch.arange(7), s, v),
        ids(0, 9, 2, 5),
        SCORES,
        VALUES,
    ),
    "segments": (
        lambda i, j, s, v: attention(i[:, None, :, None] == j[:, None, None, :], s, v),
        ids(0, 3, 2, 5),
        ids(0, 3, 2, 7),
        SCORES,
        VALUES,
    ),
    "an additive mask": (
        lambda i, s, v: torch.softmax(s + (1.0 - i[:, None, None].float()) * -1e4, -1) @ v,
        ids(0, 2, 2, 7),
        SCORES,
        VALUES,
    ),
    "lengths": (
        lambda n, x: (x * (torch.arange(7) < n[:, None])[..., None]).sum(1) / n[:, None],
        ids(1, 7, 2),
        floats(2, 7, 4),
    ),
    "angles of positions": (lambda i, f: (i[..., None].float() * f).cos(), ids(0, 9, 2, 7), floats(8)),
    "arithmetic": (lambda i, j, x: x * (i * 2 - j + 1) + i / 3, ids(-9, 9, 2, 7), ids(-9, 9, 2, 7), floats(2, 7)),
    "extrema, differences, and remainders": (
        lambda i, j, x: x * torch.maximum(i, j) + (i - j).abs() + i % 3 + i.clamp(-2, 4) + i // 4,
        ids(-9, 9, 2, 7),
        ids(-9, 9, 2, 7),
        floats(2, 7),
    ),
    "a dim that is split, and signs": (
        lambda i, x: x.view(2, 7, 1) * i.view(2, 7, 1) + torch.relu(i).sign()[..., None],
        ids(-9, 9, 2, 7),
        floats(2, 7),
    ),
    "distances from positions": (
        lambda i, x: x.masked_fill(torch.arange(7) - i[:, :1] > 2, -1e9),
        ids(-9, 9, 2, 7),
        floats(2, 7),
    ),
    "the largest": (lambda i, x: x * i.amax(-1, keepdim=True), ids(-9, 9, 2, 7), floats(2, 7)),
    "a lookup of the next row": (lambda i, w: w[i + 2] * 2, ids(0, 8, 3, 5), floats(10, 4)),
    "a lookup along another dim": (lambda i, w: w[:, i + 1].exp(), ids(0, 3, 2, 2), floats(3, 4, 2)),
    "positions and numbers": (lambda i, w: w[i] * (i != 1)[..., None], ids(0, 8, 3, 5), floats(10, 4)),
    "a result without operators": (lambda i, x: (i.float(), x * 2), ids(-9, 9, 2, 7), floats(2, 7)),
}
INF = float("inf")


def examples(makes, seed):
    torch.manual_seed(seed)
    return [make() for make in makes]


def wide(x):
    return x.double() if x.is_floating_point() else x


@pytest.mark.parametrize("kind", [torch.int64, torch.int32], ids=["int64", "int32"])
@pytest.mark.parametrize("case", WHOLE)
def test_a_program_of_integers_is_traced_whole(case, kind):
    code, *makes = WHOLE[case]
    names = code.__code__.co_varnames

    def drawn(seed):
        return [x if x.is_floating_point() else x.to(kind) for x in examples(makes, seed)]

    traced = trace(code, dict(zip(names, drawn(0), strict=True)))
    for seed in (1, 2):
        given = [wide(x) for x in drawn(seed)]
        bound = traced.bind(*given)
        inputs = {b.name: x.numpy() for b, x in zip(traced.bindings, bound, strict=True)}
        computed = [torch.as_tensor(x) for x in evaluate_results(traced.program, inputs)]
        found = traced.signature.results(tuple(computed) if len(computed) > 1 else computed[0], given, {}, {})
        wanted = code(*given)
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)), strict=True):
            torch.testing.assert_close(b.double(), a.double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "wanted"), [(torch.int8, torch.float32), (torch.float32, torch.bfloat16), (torch.int64, torch.float32)]
)
def test_a_result_that_is_an_argument_has_the_dtype_that_it_is_cast_to(kind, wanted):
    x, y = torch.ones(3, dtype=kind), torch.ones(3)

    traced = trace(lambda x, y: (x.to(wanted), y * 2), {"x": x, "y": y})

    assert ["Computed", "Computed"] == [type(leaf).__name__ for leaf in traced.form.leaves]
    assert wanted == getattr(torch, {"f32": "float32", "bf16": "bfloat16"}[traced.program.graph.output_type.dtype])


@pytest.mark.parametrize(
    ("code", "match"),
    [
        (lambda i: i * i * 1.0, r"mul of int64, whose results may be beyond 16777216"),
        (lambda i: i.sum() * 1.0, r"sum of int64, whose results may be beyond"),
        (lambda i: i.cumsum(0) * 1.0, r"cumsum of int64, whose results may be beyond"),
        (lambda i: i + 1, "a result of dtype int64"),
    ],
)
def test_what_float32_may_not_have_exactly_is_refused(code, match):
    with pytest.raises(px.UnsupportedOperator, match=match):
        trace(code, {"i": px.T("b", dtype="i64")})


COMPUTED = {
    "clamped": (lambda i, w: F.embedding(i.clamp(0, 9), w) * 2, ids(-4, 14, 3, 5)),
    "chosen": (lambda i, w: F.embedding(torch.where(i == 3, 0, i), w) * 2, ids(0, 9, 3, 5)),
    "split into two": (lambda i, w: w[i // 8] + w[i % 8], ids(0, 64, 6)),
    "counted": (lambda i, w: F.embedding((i != 1).int().cumsum(1) + 1, w) * 2, ids(0, 3, 3, 5)),
    "a mask": (lambda i, w: w[(i > 4).long()] * 2, ids(0, 9, 3, 5)),
    "sliced, and masked": (lambda i, w: w[i[:, 1:]] * (i[:, 1:] != 0)[..., None], ids(0, 9, 3, 5)),
}


@pytest.mark.parametrize("case", COMPUTED)
def test_torch_computes_positions_and_the_rest_is_searched(case):
    code, make = COMPUTED[case]
    given = dict(zip(code.__code__.co_varnames, [make(), torch.randn(10, 4)], strict=True))

    program = trace_mixed(code, given)

    assert any(isinstance(s, Computation) for s in program.steps)
    assert not any(c.operator.startswith(("aten.embedding", "aten.index")) for c in program.calls)
    for seed in (1, 2):
        i, w = (*examples((make,), seed), torch.randn(10, 4))
        wanted = code(i, w.double()).numpy()
        tensors = program.bind(i, w)
        (found,) = evaluate_mixed(program, {name: x.numpy() for name, x in tensors.items()})
        np.testing.assert_allclose(wanted, found, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(wanted, run_mixed(program, tensors).numpy(), rtol=1e-5, atol=1e-5)


def test_chosen_experts_are_weighted_in_one_part():
    def mixture(x, g, w):
        values, chosen = torch.softmax(x @ g, -1).topk(2, -1)
        weights = [(values * (chosen == e)).sum(-1, keepdim=True) for e in range(3)]
        return sum(c * F.silu(x @ w[e]) for e, c in enumerate(weights))

    program = trace_mixed(mixture, {"x": torch.randn(5, 8), "g": torch.randn(8, 3), "w": torch.randn(3, 8, 8)})

    assert ["aten.topk.default"] == [c.operator for c in program.calls]
    assert 2 == len(program.computations)


def test_the_range_of_absolute_values_is_known():
    traced = trace(lambda i, x: x * (i - 3).abs(), {"i": px.T(4, dtype="i64"), "x": px.T(4)})
    graph = traced.program.graph

    assert (0.0, LARGEST_READ + 3.0) in value_ranges(graph.nodes, graph.types(), {})


def test_a_kernel_refuses_integers_beyond_those_that_it_reads():
    from prism_explore.codegen.cpu.load import load_plan
    from prism_explore.codegen.cpu.plan import plan
    from prism_explore.errors import PositionError
    from prism_explore.pipeline.stages import Parameters

    graph = px.parse_program("program f\n  i = input w64[4]\n  %1 = add_scalar(i, 1)\n  return %1").graph
    made = plan(graph, Parameters(()), {})
    assert not isinstance(made, str), made
    kernel = load_plan(made)

    largest = np.array([1, -LARGEST_READ, LARGEST_READ, 0])
    np.testing.assert_array_equal(largest + 1.0, kernel(largest))
    for number in (LARGEST_READ + 1, -LARGEST_READ - 1):
        with pytest.raises(PositionError, match=rf"'i' has the number {number}; kernels read integers from"):
            kernel(np.array([1, 2, 3, number]))
