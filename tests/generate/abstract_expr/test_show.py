"""The text of an expression has a bound, though a shared part is written as often as it is used."""

from __future__ import annotations

from prism_explore.generate.abstract_expr.polynomial import MAX_TEXT, add, call, leaf, mul, show


def test_a_part_that_is_used_twice_a_hundred_times_over_is_shown_up_to_a_bound() -> None:
    e = leaf("x", ("i",))
    for _ in range(100):
        e = mul(call("relu", e), call("tanh", e))

    assert MAX_TEXT < len(show(e)) <= 2 * MAX_TEXT


def test_a_short_expression_is_shown_whole() -> None:
    x, y = leaf("x", ("i",)), leaf("y", ("i",))
    e = call("relu", add(x, mul(y, call("tanh", x))))

    assert "…" not in show(e)
    assert all(part in show(e) for part in ("relu(", "tanh(x)", "y"))


def test_a_very_deep_expression_is_shown_without_nested_calls() -> None:
    p = leaf("x", ("b",))
    for _ in range(5_000):
        p = call("f", p)

    assert show(p) == "f(" * 5_000 + "x" + ")" * 5_000
