"""A call with plain tensors computes what the bound call computes, and every other call is bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import prism_explore as px
from prism_explore.frontend import bind_inputs
from prism_explore.runtime.saved_kernel import SavedKernel
from tests.session.test_session import QUICK, machine

D, N = 32, 48


class Gated(torch.nn.Module):
    """Two weights, both read as transposes."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = torch.nn.Linear(D, N, bias=False), torch.nn.Linear(D, N, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.gate(x)) * self.up(x)


class Tagged(torch.Tensor):
    """A subclass, which may have rules of its own."""


def linear(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.linear(x, w)


@pytest.fixture(scope="module", params=["function", "module"])
def saved(request: pytest.FixtureRequest) -> tuple[SavedKernel, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    code: Callable[..., Any] = linear if request.param == "function" else Gated()
    shapes = {"x": px.T("b", D), **({"w": px.T(N, D)} if request.param == "function" else {})}
    with px.Session(code, **shapes, target=machine(), at={"b": 4}, budget=QUICK, baselines=()) as sess:
        sess.run()
        kernel = sess.best().kernel
    return kernel, (torch.randn(4, D), *([torch.randn(N, D)] if request.param == "function" else []))


def plainly(kernel: SavedKernel, given: Sequence[Any]) -> Any:
    assert kernel._plain_call is not None
    return kernel._plain_call(given)


def bound(kernel: SavedKernel, given: Sequence[Any]) -> Any:
    return kernel.compiled(*bind_inputs(kernel.signature, tuple(given), {}, kernel.parameters))


def test_it_computes_what_the_bound_call_computes(saved):
    kernel, given = saved
    with torch.no_grad():
        found = plainly(kernel, given)

        torch.testing.assert_close(bound(kernel, given), found, rtol=0, atol=0)
        torch.testing.assert_close(kernel(*given), found, rtol=0, atol=0)


def test_it_reads_the_tensors_of_each_call(saved):
    kernel, (x, *others) = saved
    with torch.no_grad():
        first, second = plainly(kernel, (x, *others)), plainly(kernel, (2 * x, *others))

        torch.testing.assert_close(bound(kernel, (2 * x, *others)), second, rtol=0, atol=0)
        assert not torch.equal(first, second)


@pytest.mark.parametrize(
    "changed",
    [
        lambda x: x[:2],
        lambda x: x.double(),
        lambda x: x.t().contiguous().t(),
        lambda x: x.numpy(),
        lambda x: x.to("meta"),
        lambda x: x.as_subclass(Tagged),
    ],
    ids=["fewer rows", "another dtype", "other strides", "an array", "not in memory", "a subclass"],
)
def test_other_tensors_are_bound(saved, changed):
    kernel, (x, *others) = saved
    with torch.no_grad():
        assert plainly(kernel, (x, *others)) is not None
        assert plainly(kernel, (changed(x), *others)) is None


def test_a_call_that_records_a_gradient_is_bound(saved):
    kernel, (x, *others) = saved
    needing = x.clone().requires_grad_()

    assert plainly(kernel, (needing, *others)) is None
    kernel(needing, *others).sum().backward()
    assert needing.grad is not None
    with torch.no_grad():
        assert plainly(kernel, (needing, *others)) is not None


def test_a_missing_argument_is_named(saved):
    kernel, (x, *others) = saved

    assert plainly(kernel, (x, *others, x)) is None
    with pytest.raises(px.ShapeError, match="arguments were given"):
        kernel(x, *others, x)
