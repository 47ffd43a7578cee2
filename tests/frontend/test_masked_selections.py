"""Selections by a bool mask, read from whole tensors, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from prism_explore import T
from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend.export import exported, trace
from prism_explore.frontend.lower_aten import operator_name
from prism_explore.frontend.mixed_program import evaluate_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.interpreter.reference import evaluate


def scaled_in_place(x, y, m):
    x = x.clone()
    x[m] *= 0.5
    x[m[:, 0], 1:3] += y[0, 0, 0]
    return x


def rows_written(x, y, m):
    z = y * 2
    z[m] = F.normalize(x[m], dim=-1) + z[m].mean(0)
    return z


def of_last_dims(x, y, m):
    z = F.layer_norm(F.gelu(x[m] @ y[0].T), (5,))
    return z.mean(0), z[:, 1].sum(), z.softmax(-1).sum(0, keepdim=True)


def standardized(x, y, m):
    return (x - x[m].mean(0)) / x[m].std(0), x[m].var((0, 1)), y[m].mean((0, 1), keepdim=True)


def masked_language_model(x, y, m):
    labels = (y[..., 0] * 1000).abs().long() % 3
    return F.cross_entropy(x[m], labels[m]), F.cross_entropy(x[m], labels[m], reduction="sum") / m.sum()


CASES = {
    "in place": scaled_in_place,
    "rows written": rows_written,
    "sums": lambda x, y, m: (
        x[m].sum(),
        x[m].sum(0),
        x[:, m[0]].pow(2).mean(1),
        torch.masked_select(x[..., 0], m).sum(),
    ),
    "losses": lambda x, y, m: (
        F.mse_loss(x[m], y[m]),
        F.huber_loss(x[m], y[m], "sum"),
        (x[m] - y[m]).abs().mean(-1).mean(),
    ),
    "similarity": lambda x, y, m: 1 - F.cosine_similarity(x[m], y[m]).mean(),
    "number of elements": lambda x, y, m: (x[m].sum() / x[m].shape[0], y * x[m].size(0)),
    "equal masks": lambda x, y, m: (x[m[:, 0]] * y[m[:, 0]]).sum(0) + (x[x > 0] * y[x > 0]).sum(),
    "known mask": lambda x, y, m: (x[0] @ y[0].T)[~torch.eye(5, dtype=torch.bool)].pow(2).mean(),
    "of last dims": of_last_dims,
    "standardized": standardized,
    "masked language model": masked_language_model,
}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", CASES)
def test_what_has_a_fixed_shape_is_computed_from_whole_tensors(name):
    draw = torch.Generator().manual_seed(0)
    x, y = (torch.randn(4, 5, 3, generator=draw) for _ in range(2))
    masks = [
        torch.randn(4, 5, generator=draw) > 0,
        torch.ones(4, 5, dtype=torch.bool),
        torch.zeros(4, 5, dtype=torch.bool),
    ]
    program = trace_mixed(CASES[name], {"x": x, "y": y, "m": masks[0]})
    for m in masks:
        arguments = {k: v.numpy() for k, v in program.bind(x, y, m).items()}
        with np.errstate(all="ignore"):
            found = evaluate_mixed(program, arguments)
        wanted = CASES[name](x.double(), y.double(), m)
        for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-6, atol=1e-6)


def test_elements_that_a_mask_leaves_out_may_be_no_numbers():
    x = torch.tensor([[1.0, -2.0], [float("inf"), 3.0]])

    def code(x, m):
        y = x * 1
        y[m] = x[m].log()
        return x[m].log().sum(), y, torch.where(torch.ones(2, 2).tril(-1) > 0, x.log(), 0.0)

    m = torch.tensor([[True, False], [False, True]])
    program = trace_mixed(code, {"x": x, "m": m})
    with np.errstate(all="ignore"):
        found = evaluate_mixed(program, {k: v.numpy() for k, v in program.bind(x, m).items()})
    for got, want in zip(found, code(x, m), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6)


def test_selections_of_symbolic_sizes():
    program = trace(lambda x, m: x[m].mean(0), {"x": T("b", 3), "m": T("b", dtype="bool")}).program
    x, m = np.arange(12.0).reshape(4, 3), np.array([True, False, True, True])
    np.testing.assert_allclose(evaluate(program, {"x": x, "m": m}), x[m].mean(0))


def kept(code):
    x, m = torch.ones(4, 3), torch.ones(4, dtype=torch.bool)
    graph = exported(code, {"x": x, "m": m, "k": m}, in_parts=True).graph
    return [n for n in graph.nodes if operator_name(n.target) == "index"]


@pytest.mark.parametrize(
    "code",
    [
        lambda x, m, k: x[m] * 2,  # its shape depends on data
        lambda x, m, k: x[m].amax(0) + k[0],  # torch has none of no elements
        lambda x, m, k: x[m].cumsum(0)[-1] + k[0],
        lambda x, m, k: (x[m] * x[k]).sum(),
        lambda x, m, k: (x[m] * torch.arange(x[m].shape[0])[:, None]).sum() + k[0],
    ],
)
def test_other_uses_are_refused_with_their_line(code):
    x, m = torch.ones(4, 3), torch.ones(4, dtype=torch.bool)
    assert kept(code)
    with pytest.raises(UnsupportedOperator, match=r"torch\.where.*test_masked_selections\.py:\d+"):
        trace_mixed(code, {"x": x, "m": m, "k": m})
