"""Arithmetic of integers of 8 to 64 bits that are computed of bytes: torch's numbers, also where they wrap around."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import prism_explore as px
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.errors import PrismError
from prism_explore.frontend import trace
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.pipeline.stages import Parameters

NUMBERS = st.sampled_from([0, 1, 2, 3, 7, 8, 15, 16, 100, 127, 128, 255, -1, -2, -7, -128])
BITS = st.integers(1, 8)
KINDS = st.sampled_from(["int8", "uint8", "int16", "int32", "int64"])
COMPARISONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
LEAVES = st.sampled_from(["a", "b", "c"])
UNARY = ("(-{})", "{}.abs()", "{}.sign()", "{}.view(torch.int8)", "{}.view(torch.uint8)")


def _wider(inner):
    one, two, three = st.tuples(inner), st.tuples(inner, inner), st.tuples(inner, inner, inner)
    return st.one_of(
        *(one.map(lambda x, f=form: f.format(*x)) for form in UNARY),
        st.tuples(inner, KINDS).map(lambda x: "{}.to(torch.{})".format(*x)),
        st.tuples(inner, BITS).map(lambda x: "({} >> {})".format(*x)),
        st.tuples(inner, BITS).map(lambda x: "({} << {})".format(*x)),
        st.tuples(inner, BITS).map(lambda x: f"({x[0]} & {2 ** x[1] - 1})"),
        st.tuples(inner, st.integers(-128, 255), BITS).map(lambda x: "(({} & {}) >> {})".format(*x)),
        *(
            st.tuples(inner, NUMBERS).map(lambda x, f=form: f.format(*x))
            for form in (
                *("({0} & {1})", "({1} & {0})", "({0} | {1})", "({0} ^ {1})"),
                *("({0} + {1})", "({1} - {0})", "({0} * {1})", "({0} // {1})", "({0} % {1})"),
                *("torch.fmod({0}, {1})", "torch.div({0}, {1}, rounding_mode='trunc')"),
                *("{0}.clamp(min={1})", "{0}.clamp(max={1})", "({0} > {1}).to(torch.int8)"),
            )
        ),
        *(
            two.map(lambda x, f=form: f.format(*x))
            for form in ("({} + {})", "({} - {})", "({} * {})", "torch.maximum({}, {})", "torch.minimum({}, {})")
        ),
        st.tuples(three, COMPARISONS).map(lambda x: "torch.where({0} {3} {1}, {2}, {0})".format(*x[0], x[1])),
        st.tuples(inner, NUMBERS, COMPARISONS, two).map(
            lambda x: f"torch.where({x[0]} {x[2]} {x[1]}, {x[3][0]}, {x[3][1]})"
        ),
        st.tuples(inner, NUMBERS).map(lambda x: "torch.where({0} > 5, {1}, {0})".format(*x)),
    )


EXPRESSIONS = st.recursive(LEAVES, _wider, max_leaves=5)
GENERATOR = torch.Generator().manual_seed(0)
BYTES = {
    "a": torch.arange(-128, 128).to(torch.int8),
    **{name: torch.randperm(256, generator=GENERATOR).to(torch.uint8) for name in "bc"},
    "x": torch.linspace(-2, 2, 256),
}


@settings(max_examples=120, deadline=None)
@given(EXPRESSIONS)
def test_what_is_translated_has_torch_s_numbers(text):
    code = eval(f"lambda a, b, c, x: ({text}).to(torch.float32) * x")
    try:
        wanted = code(**BYTES)
        traced = trace(code, BYTES)
    except (PrismError, RuntimeError):
        return  # torch divides no integer by 0, and converts not every number

    read = {b.name: BYTES[b.source].numpy() for b in traced.bindings}
    (found,) = np.asarray(evaluate(traced.program.graph, read)).reshape(1, -1)
    np.testing.assert_array_equal(wanted.double().numpy(), (found.astype(np.float32)).astype(np.float64))
    made = plan(traced.program.graph, Parameters(()), {})
    if not isinstance(made, str):
        np.testing.assert_array_equal(wanted, load_plan(made)(*map(torch.as_tensor, read.values())))


@pytest.mark.parametrize(
    ("code", "match"),
    [
        (lambda a, b, x: (a > 255) * x, "gt of int8 and the number 255"),
        (lambda a, b, x: torch.where(b > 3, b, -1) * x, "where of uint8 and the number -1"),
        (lambda a, b, x: (a % 128) * x, "remainder of int8 and the number 128"),
        (lambda a, b, x: (b.int() * 65793 + b.int()) * x, "mul of int32, whose results may be beyond 16777216"),
        (lambda a, b, x: a.view(torch.int16) * x[:2], "the bits of int8 read as int16"),
    ],
)
def test_what_torch_would_change_or_float32_not_have_is_refused(code, match):
    given = {"a": px.T(4, dtype="i8"), "b": px.T(4, dtype="u8"), "x": px.T(4)}

    with pytest.raises(px.UnsupportedOperator, match=match):
        trace(code, given)


def test_a_choice_by_a_condition_that_always_holds_is_one_of_both():
    def code(a, b, x):
        always = (a > 3).to(torch.int8) < 5
        return torch.where(always, b, a) * x + torch.where(always, 2, 3) * a + torch.where(~always, a, 4.0)

    given = {name: BYTES[name] for name in "abx"}
    traced = trace(code, given)

    read = {b.name: BYTES[b.source].numpy() for b in traced.bindings}
    np.testing.assert_array_equal(code(**given), np.asarray(evaluate(traced.program.graph, read)).astype(np.float32))


def test_constants_of_integers_wrap_around():
    def code(a, x):
        return ((a > 3).to(torch.int8) + 127 + 1) * x

    given = {name: BYTES[name] for name in "ax"}
    traced = trace(code, given)

    read = {b.name: BYTES[b.source].numpy() for b in traced.bindings}
    np.testing.assert_array_equal(code(**given), np.asarray(evaluate(traced.program.graph, read)).astype(np.float32))
