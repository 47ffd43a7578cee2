"""Rows of which a mask keeps nothing: torch's answer, with a warning, or an error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from prism_explore.codegen import emit_cpu
from prism_explore.codegen.load import load
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.frontend import trace
from prism_explore.pipeline.stages import Candidate, Family, Kernel, Parameters, Verified
from prism_explore.runtime.masked_rows import MaskedRows
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.tune.runner.torch_code import on_program_inputs
from prism_explore.verify.prover import Prover


def kernel_of(code: Callable[..., torch.Tensor], *examples: torch.Tensor) -> SavedKernel:
    """A kernel per operator, proved, without a search."""
    traced = trace(code, dict(zip("xyzm", examples, strict=False)))
    graph = traced.program.graph
    candidate = Candidate("p", Family("p", traced.program, graph), graph, (), graph.conditions())
    verified = Prover(traced.program).verify(candidate, Journal())
    assert isinstance(verified, Verified)
    made = emit_cpu(verified, Parameters(()), {})
    assert isinstance(made, Kernel)
    return SavedKernel(made, load(made), traced.signature, traced.parameters, on_program_inputs(traced))


def softmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.masked_fill(y == 0, float("-inf")).softmax(-1)


def attention(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return scaled_dot_product_attention(x, y, z, attn_mask=m != 0)


def test_a_hidden_row_is_torch_s_and_said_and_others_run_the_kernel() -> None:
    mask = torch.ones(8, 16).tril(4)
    for code, given in (
        (softmax, (torch.randn(8, 16), mask)),
        (attention, (torch.randn(2, 8, 16), torch.randn(2, 16, 16), torch.randn(2, 16, 16), mask)),
    ):
        kernel = kernel_of(code, *given)
        torch.testing.assert_close(kernel(*given), code(*given))
        assert "excluded from the proof" in repr(kernel)

        hidden = mask.clone()
        hidden[3] = 0
        with pytest.warns(UserWarning, match="keeps nothing"):
            found = kernel(*given[:-1], hidden)
        torch.testing.assert_close(found, code(*given[:-1], hidden), equal_nan=True)
        with pytest.raises(ShapeError, match="keeps nothing of a row"):
            kernel(*(x.numpy() for x in given[:-1]), np.zeros((8, 16), np.float32))


def test_a_causal_mask_hides_no_row_and_a_shifted_one_does() -> None:
    def causal(x: torch.Tensor) -> torch.Tensor:
        return x.masked_fill(torch.ones(8, 8).tril() == 0, float("-inf")).softmax(-1)

    def strict(x: torch.Tensor) -> torch.Tensor:
        return x.masked_fill(torch.ones(8, 8).triu(1) == 0, float("-inf")).softmax(-1)

    x = torch.randn(8, 8)
    for code, is_hidden in ((causal, False), (strict, True)):
        rows = MaskedRows(trace(code, {"x": x}).program)
        assert not rows.has_arguments
        assert is_hidden == rows.are_excluded(_Any(), [x], {})


class _Any:
    """A kernel that takes all inputs."""

    def check(self, *inputs: object) -> None:
        """Nothing to refuse."""
