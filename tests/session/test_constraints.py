"""Ranges of symbols written as constraints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prism_explore as px
from prism_explore.session.constraints import ranges_from_text


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("b <= 64", {"b": (1, 64)}),
        ("64 >= b", {"b": (1, 64)}),
        ("8 <= b < 65, 2*c <= 9", {"b": (8, 64), "c": (1, 4)}),
        (["b > 3", "b < 10"], {"b": (4, 9)}),
        ("b == 4", {"b": (4, 4)}),
        ("b*b <= 50", {"b": (1, 7)}),
        ((), {}),
    ],
)
def test_constraints_are_solved(text, ranges):
    assert ranges_from_text(text) == ranges


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b", "is not a comparison"),
        ("b <", "is not a constraint"),
        ("b <= c", "has b, c"),
        ("3 < 4", "has no symbol"),
        ("b >= 2", "b has no largest value"),
        ("b < 1", "no whole number from 1 on satisfies it"),
        ("2*b == 7", "no whole number from 1 on satisfies it"),
        ("b != 3", "a constraint uses <="),
        ("f(b) < 2", "a size has only symbols"),
        ("b <= 2.5", "a size has only symbols"),
        ("(b - 3)*(b - 5) >= 0, b <= 9", "not one range"),
        ([1], "It also takes constraints"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(px.ShapeError, match=message):
        ranges_from_text(text)


@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 5))
def test_the_solution_is_that_of_trying_all_values(low, more, factor):
    text = f"{low} <= {factor}*b <= {low + more}"
    values = [b for b in range(1, 200) if low <= factor * b <= low + more]

    if values:
        assert ranges_from_text(text) == {"b": (min(values), max(values))}
    else:
        with pytest.raises(px.ShapeError):
            ranges_from_text(text)


def test_a_session_takes_them():
    program = px.parse_program("program twice\n  x = input f32[b, 8]\n  %1 = add(x, x)\n  return %1")

    with px.Session(program, target="h100", at={"b": 8}, ranges="8 <= b <= 64") as sess:
        assert sess.task.ranges.bounds == (("b", 8, 64),)
