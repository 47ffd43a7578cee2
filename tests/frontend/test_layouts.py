"""Memory layouts of examples: a program is traced, compiled and called with tensors of any strides."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.errors import PrismError, ShapeError
from prism_explore.events.journal import Journal
from prism_explore.frontend import Traced, declare_symbols, trace
from prism_explore.ir.dims import dim
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType, layout_of
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Candidate, Family, Parameters, Verified
from prism_explore.tune.runner.bench import CheckPassed
from prism_explore.tune.runner.correctness import check_results, reference_cases
from prism_explore.verify.prover import Prover


def compiled(program: TensorProgram) -> Callable[..., Any]:
    """The program as a kernel per operator."""
    made = plan(program.graph, Parameters(()), {})
    assert isinstance(made, Plan), made
    return load_plan(made)


def check(code: Callable[..., Any], *examples: torch.Tensor) -> Traced:
    """Compare the compiled program with torch on the examples as they are, and on inputs drawn in their layout."""
    traced = trace(code, dict(zip("xyz", examples, strict=False)))
    run = compiled(traced.program)
    torch.testing.assert_close(run(*traced.bind(*examples)), code(*examples), rtol=1e-4, atol=1e-4)
    assert isinstance(check_results(run, reference_cases(traced.program, {}, 0)), CheckPassed)
    return traced


def rows(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 2 + 1, -1)


LAYOUTS = {
    "transposed": torch.randn(32, 16).t(),
    "columns": torch.randn(16, 64)[:, 8:40],
    "every second row": torch.randn(32, 24)[::2],
    "every third column": torch.randn(8, 48)[:, ::3],
    "expanded rows": torch.randn(1, 24).expand(16, 24),
    "expanded columns": torch.randn(16, 1).expand(16, 24),
    "one element": torch.randn(1, 1).expand(8, 16),
    "windows": torch.randn(40).unfold(0, 8, 4),
    "head of qkv": torch.randn(2, 8, 3 * 4 * 16)[..., 64:128].view(2, 8, 4, 16).transpose(1, 2),
    "one row of many": torch.randn(4, 16)[1:2],
    "unaligned": torch.randn(65)[1:].view(4, 16),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_program_runs_on_its_own_example_whatever_its_strides(name: str) -> None:
    check(rows, LAYOUTS[name])


@pytest.mark.parametrize("seed", range(6))
def test_strides_of_any_view_survive_the_text_and_the_kernel(seed: int) -> None:
    rng = random.Random(seed)
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    strides = [rng.randint(0, 9) for _ in shape]
    x = torch.randn(1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))).as_strided(shape, strides)
    traced = check(lambda x: x * 3 + 1, x)

    assert traced.program.graph == parse(show(traced.program.graph))
    assert x.unique().numel() * 4 >= traced.program.inputs[0].type.bytes.value({})


def test_attention_takes_the_heads_of_one_projection() -> None:
    q, k, v = (t.view(2, 16, 4, 16).transpose(1, 2) for t in torch.randn(2, 16, 192).split(64, -1))

    program = check(functional.scaled_dot_product_attention, q, k, v).program
    assert "f32[2, 4, 16, 16] order(0, 2, 1, 3) strides(3072, 16, 192, 1)" == str(program.inputs[0].type)


def test_a_transposed_parameter_keeps_its_layout() -> None:
    layer = nn.Linear(16, 24).requires_grad_(False)
    layer.weight = nn.Parameter(torch.randn(16, 24).t(), requires_grad=False)

    traced = trace(layer, {"input": TensorType((dim(4), dim(16)))})
    x = torch.randn(4, 16)
    torch.testing.assert_close(compiled(traced.program)(*traced.bind(x)), layer(x))


def test_other_strides_than_those_of_the_example_are_refused_in_words() -> None:
    x = torch.randn(16, 64)[:, 8:40]
    traced = trace(rows, {"x": x})

    with pytest.raises(ShapeError, match=r"strides \(64, 1\).*found \(32, 1\).*search with this tensor"):
        compiled(traced.program)(x.contiguous())


def test_a_symbolic_dim_keeps_the_gaps_of_its_example() -> None:
    q = torch.randn(2, 16, 192)[..., :64].view(2, 16, 4, 16).transpose(1, 2)
    found, _ = declare_symbols(rows, [q], {"x": {0: "b", 2: "s"}})

    assert "f32[b, 4, s, 16] order(0, 2, 1, 3) strides(192*s, 16, 192, 1)" == str(found["x"])
    assert (q.shape, q.stride()) == ((2, 4, 16, 16), found["x"].strides_at({"b": 2, "s": 16}))


def test_dense_layouts_have_an_order_and_no_strides() -> None:
    dims = (dim(2), dim(1), dim(3))
    assert ((), ()) == layout_of(dims, (2, 1, 3), (3, 77, 1))
    assert ((1, 2, 0), ()) == layout_of((dim(2), dim(4), dim(3)), (2, 4, 3), (1, 6, 2))


def test_expanded_dims_are_free_in_the_cost_of_reading() -> None:
    assert 4 * 24 == TensorType((dim(16), dim(24)), strides=(dim(0), dim(1))).bytes.value({})
    assert 4 * 16 * 24 == TensorType((dim(16), dim(24)), strides=(dim(100), dim(1))).bytes.value({})


@pytest.mark.parametrize("layers", [(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 4))])
def test_parameters_of_a_sequence_have_valid_and_recognisable_names(layers: tuple[nn.Module, ...]) -> None:
    traced = trace(nn.Sequential(*layers), {"input": TensorType((dim(3), dim(8)))})

    assert ["input", "p0_weight", "p0_bias", "p2_weight", "p2_bias"] == [i.name for i in traced.program.inputs]
    assert traced.program.graph == parse(show(traced.program.graph))


def test_an_argument_with_the_name_of_a_parameter_is_refused() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))

        def forward(self, w: torch.Tensor) -> torch.Tensor:
            return w * self.w

    with pytest.raises(ShapeError, match="'w'; rename the argument"):
        trace(Scale(), {"w": torch.randn(4)})


@pytest.mark.parametrize(
    "code",
    [
        lambda x: (x.sum() * 3 + x).exp(),
        lambda x: x.softmax(0) + x.amax(),
        lambda x: x.mean(-1) - x.max(),
    ],
)
def test_tensors_without_dims_are_reduced_and_proved(code: Callable[..., Any]) -> None:
    x = torch.randn(())
    program = check(code, x).program
    candidate = Candidate("p", Family("p", program, program.graph), program.graph, (), program.graph.conditions())

    assert isinstance(Prover(program).verify(candidate, Journal()), Verified)


@pytest.mark.parametrize(
    ("code", "x", "reason"),
    [
        (lambda x: x * 2, torch.randn(0, 4), r"'x' has the shape \(0, 4\)"),
        (lambda x: x[3:3] * 2, torch.randn(8, 4), "an empty slice"),
    ],
)
def test_sizes_of_0_are_refused_in_words(code: Callable[..., Any], x: torch.Tensor, reason: str) -> None:
    with pytest.raises(PrismError, match=reason):
        trace(code, {"x": x})
