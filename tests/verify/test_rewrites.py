"""Pairs of functions as people rewrite kernels: equal ones are proved, those with a subtle mistake are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from prism_explore.events.journal import Journal
from prism_explore.frontend import trace
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import tensor
from prism_explore.pipeline.stages import Refuted, Unknown, Verified
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate
from tests.verify.counterexample.adversarial import Base, run
from tests.verify.mutate import tidy
from tests.verify.mutations import CASE_KINDS, KINDS
from tests.verify.pointwise import total_functions

torch: Any = pytest.importorskip("torch")
F: Any = torch.nn.functional
Code = Callable[[Any, Any], Any]
ROW = {"dim": -1, "keepdim": True}


def row_sum(x: Any) -> Any:
    return x.sum(**ROW)


def shifted_log_sum(x: Any) -> Any:
    m = x.amax(**ROW)
    return m + torch.log(row_sum(torch.exp(x - m)))


def stable_sigmoid(x: Any) -> Any:
    z = torch.exp(-x.abs())
    return torch.where(x >= 0, 1 / (1 + z), z / (1 + z))


def welford(x: Any, n: int) -> Any:
    mean, squares = x[:, 0], 0 * x[:, 0]
    for k in range(1, n):
        d = x[:, k] - mean
        mean = mean + d / (k + 1)
        squares = squares + d * (x[:, k] - mean)
    return squares / n


def normalized(x: Any) -> Any:
    return x / row_sum(x)


EQUAL: Mapping[str, tuple[Code, Code]] = {
    "log of exp": (lambda x, y: torch.log(torch.exp(x)), lambda x, y: x * 1),
    "log of a product": (lambda x, y: torch.log(torch.exp(x) * (1 + y * y)), lambda x, y: x + torch.log(1 + y * y)),
    "log-sum-exp": (lambda x, y: torch.logsumexp(x, -1, True), lambda x, y: torch.log(row_sum(torch.exp(x)))),
    "log of softmax": (lambda x, y: torch.log(torch.softmax(x, -1)), lambda x, y: torch.log_softmax(x, -1)),
    "log_softmax by hand": (lambda x, y: torch.log_softmax(x, -1), lambda x, y: x - shifted_log_sum(x)),
    "softmax, any shift": (
        lambda x, y: torch.softmax(x, -1),
        lambda x, y: normalized(torch.exp(x - x.mean(**ROW) + 3)),
    ),
    "cross entropy": (
        lambda x, y: -row_sum(y * torch.log(torch.softmax(x, -1))),
        lambda x, y: row_sum(y) * torch.logsumexp(x, -1, True) - row_sum(x * y),
    ),
    "Kullback-Leibler": (
        lambda x, y: row_sum(torch.softmax(x, -1) * (torch.log_softmax(x, -1) - torch.log_softmax(y, -1))),
        lambda x, y: row_sum(torch.softmax(x, -1) * torch.log(torch.softmax(x, -1) / torch.softmax(y, -1))),
    ),
    "relu by where": (lambda x, y: torch.where(x > 0, x, 0.0), lambda x, y: torch.relu(x)),
    "relu by a mask": (lambda x, y: x * (x >= 0), lambda x, y: torch.relu(x)),
    "abs by where": (lambda x, y: torch.where(x > 0, x, -x), lambda x, y: x.abs()),
    "abs by sign": (lambda x, y: x * torch.sign(x), lambda x, y: torch.sqrt(x * x)),
    "max by where": (lambda x, y: torch.where(x >= y, x, y), lambda x, y: torch.maximum(x, y)),
    "min by abs": (lambda x, y: (x + y - (x - y).abs()) / 2, lambda x, y: torch.where(x < y, x, y)),
    "max times min": (lambda x, y: torch.maximum(x, y) * torch.minimum(x, y), lambda x, y: x * y),
    "max of exp": (lambda x, y: torch.maximum(torch.exp(x), torch.exp(y)), lambda x, y: torch.exp(torch.maximum(x, y))),
    "clamp by where": (
        lambda x, y: x.clamp(-1, 2),
        lambda x, y: torch.where(x < -1, -1.0, torch.where(x > 2, 2.0, x)),
    ),
    "clamp in the other order": (lambda x, y: x.clamp(max=6).clamp(min=0), lambda x, y: F.relu6(x)),
    "hardtanh by abs": (lambda x, y: F.hardtanh(x), lambda x, y: ((x + 1).abs() - (x - 1).abs()) / 2),
    "mean of a clamp": (
        lambda x, y: x.clamp(-1, 1).mean(-1),
        lambda x, y: torch.where(x > 1, 1.0, torch.where(x < -1, -1.0, x)).mean(-1),
    ),
    "De Morgan": (
        lambda x, y: torch.where(~((x > 0) & (y > 0)), x, y),
        lambda x, y: torch.where((x <= 0) | (y <= 0), x, y),
    ),
    "not of a comparison": (
        lambda x, y: torch.where(~(x > y), x, y * y),
        lambda x, y: torch.where(x <= y, x, y * y),
    ),
    "sigmoid, stable": (lambda x, y: torch.sigmoid(x), lambda x, y: stable_sigmoid(x)),
    "sigmoid by tanh": (lambda x, y: torch.sigmoid(x), lambda x, y: (1 + torch.tanh(x / 2)) / 2),
    "tanh by exp": (
        lambda x, y: torch.tanh(x),
        lambda x, y: (torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x)),
    ),
    "silu": (lambda x, y: F.silu(x), lambda x, y: x / (1 + torch.exp(-x))),
    "gelu by tanh": (
        lambda x, y: F.gelu(x, approximate="tanh"),
        lambda x, y: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))),
    ),
    "softplus, stable": (lambda x, y: F.softplus(x), lambda x, y: torch.relu(x) + torch.log1p(torch.exp(-x.abs()))),
    "softplus of -x": (lambda x, y: F.softplus(x) - F.softplus(-x), lambda x, y: x * 1),
    "logsigmoid": (lambda x, y: F.logsigmoid(x), lambda x, y: torch.log(torch.sigmoid(x))),
    "binary cross entropy": (
        lambda x, y: -(y * F.logsigmoid(x) + (1 - y) * F.logsigmoid(-x)),
        lambda x, y: x.clamp(min=0) - x * y + torch.log1p(torch.exp(-x.abs())),
    ),
    "leaky_relu by where": (lambda x, y: F.leaky_relu(x, 0.1), lambda x, y: torch.where(x > 0, x, 0.1 * x)),
    "elu by where": (lambda x, y: F.elu(x), lambda x, y: torch.where(x > 0, x, torch.exp(x) - 1)),
    "elu by relu": (lambda x, y: F.elu(x), lambda x, y: torch.relu(x) - torch.relu(1 - torch.exp(x))),
    "softshrink": (lambda x, y: F.softshrink(x, 0.5), lambda x, y: torch.sign(x) * torch.relu(x.abs() - 0.5)),
    "hardshrink": (
        lambda x, y: torch.where(x.abs() > 0.5, x, 0.0),
        lambda x, y: torch.where((x > 0.5) | (x < -0.5), x, 0.0),
    ),
    "Huber": (
        lambda x, y: torch.where(x.abs() <= 1, 0.5 * x * x, x.abs() - 0.5),
        lambda x, y: 0.5 * x.abs().clamp(max=1) ** 2 + x.abs() - x.abs().clamp(max=1),
    ),
    "sum of a selection": (lambda x, y: row_sum(torch.where(x > y, y, 0.0)), lambda x, y: row_sum((x > y) * y)),
    "variance": (
        lambda x, y: ((x - x.mean(**ROW)) ** 2).mean(-1),
        lambda x, y: (x * x).mean(-1) - x.mean(-1) ** 2,
    ),
    "variance, one value at a time": (lambda x, y: x[:, :5].var(-1, correction=0), lambda x, y: welford(x, 5)),
    "windows of a maximum": (
        lambda x, y: F.max_pool1d(x[:, None], 2)[:, 0],
        lambda x, y: torch.maximum(x[:, 0::2], x[:, 1::2]),
    ),
    "log of a sum of two": (
        lambda x, y: torch.logaddexp(x, y),
        lambda x, y: torch.maximum(x, y) + torch.log1p(torch.exp(-(x - y).abs())),
    ),
    "both triangles": (
        lambda x, y: torch.triu(x, 1) + torch.tril(x),
        lambda x, y: x * 1,
    ),
    "third of a chunk": (lambda x, y: x.chunk(4, -1)[2] * 2, lambda x, y: 2 * x.view(-1, 4, 4)[:, 2]),
    "layer norm": (
        lambda x, y: F.layer_norm(x, (16,)),
        lambda x, y: (x - x.mean(**ROW)) * torch.rsqrt((x * x).mean(**ROW) - x.mean(**ROW) ** 2 + 1e-5),
    ),
}
DIFFERENT: Mapping[str, tuple[Code, Code]] = {
    "log of a product of any signs": (lambda x, y: torch.log(x * y), lambda x, y: torch.log(x) + torch.log(y)),
    "log-sum-exp without the maximum": (
        lambda x, y: torch.logsumexp(x, -1, True),
        lambda x, y: torch.log(row_sum(torch.exp(x - x.amax(**ROW)))),
    ),
    "softmax, divided by another sum": (
        lambda x, y: torch.softmax(x, -1),
        lambda x, y: torch.exp(x - x.amax(**ROW)) / row_sum(torch.exp(x)),
    ),
    "cross entropy by the mean": (
        lambda x, y: -row_sum(y * torch.log_softmax(x, -1)),
        lambda x, y: -(y * torch.log_softmax(x, -1)).mean(**ROW),
    ),
    "leaky_relu, wrong sign": (lambda x, y: F.leaky_relu(x, 0.1), lambda x, y: torch.where(x > 0, x, -0.1 * x)),
    "max of the other one": (lambda x, y: torch.where(x > y, y, x), lambda x, y: torch.maximum(x, y)),
    "clamp, wrong bound": (
        lambda x, y: x.clamp(-0.5, 0.5),
        lambda x, y: torch.where(x < -0.5, -0.5, torch.where(x > 0.5, 0.4, x)),
    ),
    "De Morgan, wrong operator": (
        lambda x, y: torch.where(~((x > 0) & (y > 0)), x, y),
        lambda x, y: torch.where((x <= 0) & (y <= 0), x, y),
    ),
    "a comparison at the border": (lambda x, y: (x > 0) * y, lambda x, y: (x >= 0) * y),
    "sign without 0": (lambda x, y: torch.sign(x), lambda x, y: torch.where(x > 0, 1.0, -1.0)),
    "x/x": (lambda x, y: x / x, lambda x, y: x * 0 + 1),
    "sigmoid by tanh of x": (lambda x, y: torch.sigmoid(x), lambda x, y: (1 + torch.tanh(x)) / 2),
    "softplus, unstable side": (
        lambda x, y: F.softplus(x),
        lambda x, y: torch.relu(x) + torch.log1p(torch.exp(x.abs())),
    ),
    "elu without -1": (lambda x, y: F.elu(x), lambda x, y: torch.where(x > 0, x, torch.exp(x))),
    "gelu by tanh, wrong constant": (
        lambda x, y: F.gelu(x, approximate="tanh"),
        lambda x, y: 0.5 * x * (1 + torch.tanh(0.79 * (x + 0.044715 * x**3))),
    ),
    "variance, one value too few": (lambda x, y: x[:, :5].var(-1, correction=0), lambda x, y: welford(x, 4)),
    "triangles with a diagonal twice": (
        lambda x, y: torch.triu(x) + torch.tril(x),
        lambda x, y: x * 1,
    ),
    "second of a chunk": (lambda x, y: x.chunk(4, -1)[2] * 2, lambda x, y: 2 * x.view(-1, 4, 4)[:, 1]),
    "variance, unbiased": (lambda x, y: x.var(-1), lambda x, y: (x * x).mean(-1) - x.mean(-1) ** 2),
    "layer norm without epsilon": (
        lambda x, y: F.layer_norm(x, (16,)),
        lambda x, y: (x - x.mean(**ROW)) * torch.rsqrt((x * x).mean(**ROW) - x.mean(**ROW) ** 2),
    ),
    "Huber without 1/2": (
        lambda x, y: torch.where(x.abs() <= 1, 0.5 * x * x, x.abs() - 0.5),
        lambda x, y: torch.where(x.abs() <= 1, x * x, x.abs() - 0.5),
    ),
}
ONLY_UNPROVED = {"log of a product of any signs", "sign without 0", "x/x"}
"""They differ only at 0, or where a logarithm is undefined; the refuter draws no such numbers, `px.check` does."""


def traced_sides() -> Mapping[str, tuple[TensorProgram, SGraph]]:
    """Both sides of each pair; all are traced at once, because a trace takes longer than a proof."""
    pairs = {**EQUAL, **DIFFERENT}

    def every_side(x: Any, y: Any) -> list[Any]:
        return [side(x, y) for pair in pairs.values() for side in pair]

    t = tensor("b", "16")
    traced = trace(every_side, {"x": t, "y": t})
    assert traced.form is not None
    graph = traced.program.graph
    each = traced.form.in_order([tidy(graph.for_result(n)) for n in range(traced.form.count)])
    return {name: (TensorProgram("p", each[2 * n]), each[2 * n + 1]) for n, name in enumerate(pairs)}


@pytest.fixture(scope="module")
def sides() -> Mapping[str, tuple[TensorProgram, SGraph]]:
    return traced_sides()


@pytest.mark.parametrize("name", EQUAL)
def test_two_spellings_of_one_function_are_proved_equal_and_are_equal_on_numbers(name: str, sides):
    program, graph = sides[name]

    assert isinstance(Prover(program, saturation=None).verify(candidate(program, graph), Journal()), Verified)
    np.testing.assert_allclose(*values(program, graph), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_subtle_mistake_is_not_proved_and_shows_on_numbers(name: str, sides):
    program, graph = sides[name]

    verdict = Prover(program, saturation=None).verify(candidate(program, graph), Journal())
    assert isinstance(verdict, Unknown if name in ONLY_UNPROVED else Refuted)
    expected, found = values(program, graph)
    assert not np.allclose(expected, found, rtol=1e-6, atol=1e-7)


def test_no_mutant_of_a_rewrite_is_falsely_proved(sides):
    account = run([Base(name, *pair) for name, pair in sides.items()], 600, seed=3, kinds=(*KINDS, *CASE_KINDS * 5))

    assert ([], [], []) == (account.crashes, account.false, account.disagreements)
    assert account.verdicts["proved"] > 60, account.verdicts
    assert account.verdicts["refuted"] > 300, account.verdicts


def values(program: TensorProgram, graph: SGraph) -> list[np.ndarray]:
    """Both sides at numbers many of which are 0, equal, or a border of some pair."""
    r = np.random.default_rng(5)
    inputs = {
        name: np.where(r.random((9, 16)) < 0.5, r.choice([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0], (9, 16)), x)
        for name, x in (("x", r.normal(size=(9, 16))), ("y", r.normal(size=(9, 16))))
    }
    with np.errstate(all="ignore"), total_functions():
        return [np.asarray(evaluate(side, inputs)) for side in (program, graph)]
