"""Unrolled loops are found again, and their steps are equal programs."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import prism_explore as px
from prism_explore.frontend.export import exported
from prism_explore.frontend.loop_steps import LEAST_STEPS, repetition, steps_of
from prism_explore.frontend.lower_aten import operator_name
from prism_explore.frontend.mixed_program import evaluate_mixed, run_mixed
from prism_explore.frontend.mixed_trace import trace_mixed
from prism_explore.ir.transforms.partition import canonical_text


@given(st.lists(st.integers(0, 2), max_size=14), st.integers(1, 5))
def test_the_longest_repetition_is_that_of_a_plain_search(labels, longest):
    found = {
        (start, end, period)
        for period in range(1, longest + 1)
        for start in range(len(labels))
        for end in range(start + LEAST_STEPS * period, len(labels) + 1)
        if all(labels[at] == labels[at - period] for at in range(start + period, end))
    }
    best = max(found, key=lambda f: (f[1] - f[0], -f[2], -f[0]), default=(0, 0, 0))

    assert best == repetition(labels, longest)


def test_steps_begin_where_the_fewest_results_go_from_one_to_the_next():
    assert [("b",), ("a", "b"), ("a", "b"), ("a",)] == steps_of("babaaba"[:1] + "abab" + "a", 2, (2, 1))


def test_a_period_without_a_rest_has_only_steps():
    assert [("a", "b"), ("a", "b")] == steps_of("abab", 2, (1, 1))


def recurrence(x, w, u, h):
    out = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ w + h @ u)
        out.append(torch.sigmoid(h).sum(-1))
    return torch.stack(out, 1), h


def with_state_of_two(x, w, u, h):
    y = h
    for t in range(x.shape[1]):
        h = torch.sigmoid(w[0] * h + x[:, t])
        y = y * h + u[1] * torch.exp(-y)
    return y


def filled_in_place(x, w, u, h):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        h = torch.relu(h + x[:, t] * w[0]) - h
        out[:, t] = h
    return out


@pytest.mark.parametrize("code", [recurrence, with_state_of_two, filled_in_place])
def test_the_steps_of_a_loop_are_few_different_programs(code):
    generator = torch.Generator().manual_seed(0)
    args = [torch.randn(s, generator=generator) for s in ((3, 16, 4), (4, 4), (4, 4), (3, 4))]

    program = trace_mixed(code, dict(zip("xwuh", args, strict=True)), fits=lambda part: len(part.graph.nodes) < 40)

    parts = [canonical_text(c.traced.program) for c in program.computations]
    assert len(parts) >= 14
    assert len(set(parts)) <= 6
    torch.testing.assert_close(run_mixed(program, program.bind(*args)), code(*args))


def written_twice(x):
    y = torch.zeros_like(x)
    y[:, 0], y[:, -1] = x[:, 1] * 2, x[:, 0]
    y[:, 1] = y[:, 0] + y[:, 2]
    y[:, 0] = y[:, -1] + y[:, 1]
    return y


def written_in_part(x):
    y = x * 2
    y[:, 0], y[1] = y[:, 2], y[:, 0].sum()
    return y + y[:, 1:2] + y[:, 1].sum()


def written_in_rows_and_columns(x):
    y = torch.zeros_like(x)
    for k in range(3):
        y[:, k] = x[:, k].exp()
        y[k] = y[k - 1] + x[k]
    return y


@pytest.mark.parametrize("code", [written_twice, written_in_part, written_in_rows_and_columns])
def test_what_was_written_into_a_tensor_last_is_read_from_it(code):
    x = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
    program = trace_mixed(code, {"x": x})

    torch.testing.assert_close(run_mixed(program, program.bind(x)), code(x))
    (found,) = evaluate_mixed(program, {i.name: x.numpy() for i in program.inputs})
    torch.testing.assert_close(torch.from_numpy(found), code(x.double()))


@pytest.mark.parametrize("code, is_filled", [(written_twice, True), (written_in_part, False)])
def test_a_tensor_that_a_loop_fills_is_a_stack(code, is_filled):
    names = [operator_name(node.target) for node in exported(code, {"x": px.T(3, 3)}).graph.nodes]

    assert ("stack" in names, "select_scatter" in names) == (is_filled, not is_filled)
