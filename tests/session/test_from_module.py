"""A search over a module as it is called on examples."""

import pytest
import torch

import prism_explore as px
from tests.session.test_session import D, Layer, N, machine


def test_examples_give_the_arguments_their_shapes():
    sess = px.Session.from_module(Layer(), torch.randn(5, D), target=machine())

    assert ["f32[5, 64]", "f32[64]"] == [str(i.type) for i in sess.program.inputs[:2]]
    assert {} == dict(sess.task.shapes)


def test_dims_become_symbols_that_are_tuned_at_the_example_s_sizes():
    sess = px.Session.from_module(Layer(), torch.randn(5, D), symbolic={"x": {0: "b"}}, target=machine())

    assert "f32[b, 64]" == str(sess.program.inputs[0].type)
    assert {"b": 5} == dict(sess.task.shapes)


def test_what_is_said_of_a_symbol_counts_before_the_example():
    sess = px.Session.from_module(Layer(), torch.randn(5, D), symbolic={"x": {-2: "b"}}, at={"b": 7}, target=machine())

    assert {"b": 7} == dict(sess.task.shapes)


def test_functions_and_dtypes_work_too():
    def product(x, w):
        return x @ w

    x, w = torch.randn(5, D).bfloat16(), torch.randn(D, N).bfloat16()
    sess = px.Session.from_module(product, x, w, symbolic={"x": {0: "b"}}, target=machine())

    assert ["bf16[b, 64]", "bf16[64, 96]"] == [str(i.type) for i in sess.program.inputs]


@pytest.mark.parametrize(
    ("symbolic", "said"),
    [
        ({"y": {0: "b"}}, r"no example of an argument 'y'; there are \(x\)"),
        ({"x": {2: "b"}}, "'x' has 2 dims; there is no dim 2 to call 'b'"),
        ({"x": {0: "b", 1: "b"}}, "'b' cannot be both 5 and 64; take two symbols"),
    ],
)
def test_what_does_not_fit_is_named(symbolic, said):
    with pytest.raises(px.ShapeError, match=said):
        px.Session.from_module(Layer(), torch.randn(5, D), symbolic=symbolic, target=machine())


def test_more_examples_than_arguments_are_refused():
    with pytest.raises(px.ShapeError, match=r"Layer takes \(x\); 2 examples were given"):
        px.Session.from_module(Layer(), torch.randn(5, D), torch.randn(5, D), target=machine())
