"""A kernel that was found at numbers, with symbols in their place: proved again, or not used."""

from dataclasses import replace

import pytest
import torch

import prism_explore as px
from prism_explore.entry.torch_reuse import with_symbols
from prism_explore.frontend import trace
from prism_explore.pipeline.search_space import default_space
from tests.session.test_session import QUICK, machine

HEADS, D, N = 2, 6, 10


def heads(x, w):
    h = torch.nn.functional.silu(x @ w)
    return torch.softmax(h.reshape(x.shape[0], HEADS, 5), -1).permute(1, 0, 2)


def types(n):
    return {"x": px.T(n, D), "w": px.T(D, N)}


@pytest.fixture(scope="module")
def kernel():
    traced = trace(heads, types(7))
    space = replace(default_space(traced.program), nodes=60)
    with px.Session(traced, target=machine(), budget=QUICK, baselines=(), space=space) as sess:
        return sess.best().kernel.kernel


def test_the_kernel_is_proved_for_all_sizes_and_is_the_same_code(kernel):
    found = with_symbols(kernel, trace(heads, types("n")).program)

    assert found is not None
    assert (("n", 7),) == found.shapes
    assert kernel.source == found.source
    assert ("n",) == found.verified.candidate.sgraph.data_symbols
    assert "normal form" == found.verified.proof.method


@pytest.mark.parametrize(
    "other",
    [
        lambda x, w: torch.softmax(torch.relu(x @ w).reshape(x.shape[0], HEADS, 5), -1).permute(1, 0, 2),
        lambda x, w: heads(x, w) * x.shape[0],
    ],
)
def test_the_kernel_of_another_program_is_not_used(kernel, other):
    assert with_symbols(kernel, trace(other, types("n")).program) is None


def test_a_number_that_stands_for_several_sizes_is_not_replaced(kernel):
    wrong = replace(kernel, shapes=(("m", 3),))
    assert with_symbols(wrong, trace(heads, types("n")).program) is None

    same = trace(lambda x: x.exp() + 1, {"x": px.T("n", "m")}).program
    traced = trace(lambda x: x.exp() + 1, {"x": px.T(4, 4)})
    with px.Session(traced, target=machine(), budget=QUICK, baselines=()) as sess:
        assert with_symbols(sess.best().kernel.kernel, same) is None
