"""Index terms mean the same number before and after every rule."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.dims import ZERO as ZERO_DIM
from prism_explore.verify.normal_form.index import (
    ZERO,
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    digit,
    digit_borders,
    extent,
    moved,
    radix,
    show_index,
    substitute,
    var,
)
from prism_explore.verify.normal_form.size_facts import at_most, divides, quotient
from tests.verify.normal_form.index_rules import RULES
from tests.verify.pointwise import evaluate_index

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
FACTORS = ("a", "b", "c", "d", 2, 3)


def raw_digit(i: Index, before: Dim, size: Dim, after: Dim) -> Index:
    """The term as written, without any rule."""
    return Digit(i, before, size, after)


@st.composite
def indices(draw: st.DrawFn, depth: int = 2) -> Index:
    """Arbitrary terms over variables u, v, w, built without rules where that is possible."""
    kind = draw(st.sampled_from(("var", "radix", "digit"))) if depth else "var"
    if kind == "var":
        total = ONE
        for f in draw(st.lists(st.sampled_from(FACTORS), min_size=1, max_size=3)):
            total = total * dim(f)
        return Var(draw(st.sampled_from("uvw")) + str(total).replace("*", "_").replace("^", "p"), total)
    if kind == "radix":
        parts = draw(st.lists(indices(depth - 1), min_size=2, max_size=3))
        return Radix(tuple(parts))
    base = draw(indices(depth - 1))
    pieces = draw(cuts(extent(base)))
    return raw_digit(base, *pieces)


@st.composite
def cuts(draw: st.DrawFn, whole: Dim) -> tuple[Dim, Dim, Dim]:
    """Three sizes whose product is the whole."""
    ((powers, coefficient),) = whole.terms
    factors = [dim(s) for s, e in powers for _ in range(e)]
    n = int(coefficient)
    factors += [dim(p) for p in (2, 3) for _ in range(8) if n % p == 0 and (n := n // p) is not None]
    out = [dim(n), ONE, ONE]
    for f in factors:
        k = draw(st.integers(0, 2))
        out[k] = out[k] * f
    return out[0], out[1], out[2]


def variables(i: Index) -> dict[str, int]:
    match i:
        case Zero():
            return {}
        case Var(name, size):
            return {name: size.value(SIZES)}
        case Radix(parts):
            return {k: v for p in parts for k, v in variables(p).items()}
        case Digit(base, _, _, _) | Moved(base, _, _):
            return variables(base)


def values(i: Index, names: dict[str, int]) -> list[int]:
    r = random.Random(len(names))
    corners = [tuple(0 for _ in names), tuple(n - 1 for n in names.values())]
    places = corners + [tuple(r.randrange(n) for n in names.values()) for _ in range(40)]
    return [evaluate_index(i, dict(zip(names, at, strict=True)), SIZES) for at in places]


@settings(max_examples=60, deadline=None)
@given(st.lists(indices(), min_size=1, max_size=3))
def test_a_number_in_mixed_radix_keeps_its_value_under_the_rules(parts):
    plain = Radix(tuple(parts)) if len(parts) > 1 else parts[0]
    names = variables(plain)

    assert extent(plain) == extent(radix(parts))
    assert values(plain, names) == values(radix(parts), names)


@settings(max_examples=60, deadline=None)
@given(indices(), st.data())
def test_a_digit_keeps_its_value_under_the_rules(base, data):
    before, size, after = data.draw(cuts(extent(base)))
    plain = raw_digit(base, before, size, after)
    names = variables(plain)

    assert size == extent(digit(base, before, size, after))
    assert values(plain, names) == values(digit(base, before, size, after), names)


@settings(max_examples=60, deadline=None)
@given(indices(), st.data())
def test_substitution_and_evaluation_commute(i, data):
    names = variables(i)
    name = data.draw(st.sampled_from(sorted(names)))
    size = next(v.extent for v in every_variable(i) if v.name == name)
    one, two, three = data.draw(cuts(size))
    put = Radix((Var("s", one), Var("t", two), Var("r", three)))
    new = {**{k: v for k, v in names.items() if k != name}, "s": one.value(SIZES), "t": two.value(SIZES)}
    new["r"] = three.value(SIZES)

    found = substitute(i, {name: radix([var("s", one), var("t", two), var("r", three)])})

    r = random.Random(0)
    for _ in range(40):
        at = {v: r.randrange(n) for v, n in new.items()}
        inside = evaluate_index(put, at, SIZES)
        assert evaluate_index(i, {**at, name: inside}, SIZES) == evaluate_index(found, at, SIZES)


def every_variable(i: Index) -> list[Var]:
    match i:
        case Var():
            return [i]
        case Radix(parts):
            return [v for p in parts for v in every_variable(p)]
        case Digit(base, _, _, _):
            return every_variable(base)
        case Moved(base, _, _):
            return every_variable(base)
        case Zero():
            return []


@settings(max_examples=60, deadline=None)
@given(indices())
def test_equal_keys_are_equal_terms_and_other_keys_are_not(i):
    assert i == substitute(i, {})
    assert i != Var("other", extent(i))
    assert hash(i) == hash(substitute(i, {}))


N, G, A = dim("n"), dim("g"), dim("a")
K = Var("k", N)
TILE = Var("p", N / G)
BLOCK = Var("x", G)

GOALS = [
    ("I1", radix([Var("u", dim(2)), Radix((Var("v", dim(3)), TILE))]), "(u,v,p)"),
    ("I1", radix([ZERO, TILE]), "p"),
    ("I2", radix([digit(K, ONE, G, N / G), digit(K, G, N / G, ONE)]), "k"),
    ("I3", digit(K, ONE, N, ONE), "k"),
    ("I3", digit(K, G, ONE, N / G), "0"),
    (
        "I4",
        digit(digit(Var("k", dim("a*b*c*d")), dim("a"), dim("b*c"), dim("d")), dim("b"), dim("c"), ONE),
        "k<a*b|c|d>",
    ),
    ("I5", digit(radix([BLOCK, TILE]), ONE, G, N / G), "x"),
    ("I5", digit(radix([BLOCK, TILE]), G, N / G, ONE), "p"),
    ("I6", digit(radix([Var("u", dim("a*b")), TILE]), A, dim("b"), N / G), "u<a|b|1>"),
    ("I6", digit(radix([BLOCK, TILE]), ONE, G * A, N / (G * A)), "(x,p<1|a|n/(a*g)>)"),
    ("I7", digit(radix([Var("u", dim("c")), K, Var("v", dim("d"))]), dim("2*c"), N / 6, dim("3*d")), "k<2|n/6|3>"),
    ("I8", moved(moved(K, A, N + A), ZERO_DIM - A, N), "k"),
    ("I8", moved(moved(K, A, N + A), A, N + A + A), "k+2*a"),
    ("I9", digit(moved(TILE, N / G * 2, N), ONE, G, N / G), "2"),
    ("I9", digit(moved(TILE, N / G * 2, N), G, N / G, ONE), "p"),
    ("I10", radix([moved(ZERO, A, N), TILE]), show_index(moved(TILE, A * N / G, N * N / G))),
    ("I10", digit(moved(radix([Var("u", dim("c")), K]), N * dim("c"), N * dim("2*c")), dim(2), dim("c"), N), "u"),
    ("I11", digit(moved(ZERO, dim(7), dim(12)), dim(3), dim(2), dim(2)), "1"),
    ("I12", digit(moved(radix([Var("u", N), Moved(ZERO, dim(0), N + 1)]), dim(0), N * N), N, N, ONE), "u"),
]


@pytest.mark.parametrize(("rule", "term", "shown"), GOALS)
def test_each_rule_reaches_its_goal(rule, term, shown):
    assert rule in {r.name for r in RULES}
    assert shown == show_index(term)


def test_borders_are_in_the_order_of_their_values_not_of_their_texts():
    whole = Var("k", dim(36))
    digits = [digit(whole, *map(dim, cut)) for cut in ((12, 3, 1), (4, 3, 3), (1, 4, 9))]

    assert tuple(map(dim, (1, 4, 12, 36))) == digit_borders(digits, dim(36))


TWINS = [
    ("I2", radix([digit(K, G, N / G, ONE), digit(K, ONE, G, N / G)]), "the digits in the wrong order"),
    ("I2", radix([digit(K, ONE, G, N / G), digit(Var("j", N), G, N / G, ONE)]), "digits of two numbers"),
    ("I5", digit(radix([BLOCK, TILE]), ONE, N / G, G), "the borders lie elsewhere"),
    ("I6", digit(radix([Var("u", N), TILE]), G, N / G, N / G), "n/g need not be an integer here"),
    ("I7", digit(radix([Var("u", dim("c")), K]), dim("b"), dim("n*c/b"), ONE), "c does not divide b"),
    ("I9", digit(moved(TILE, A, N), ONE, G, N / G), "a slice that need not start with a block"),
    ("I9", digit(moved(Var("q", N / G - 1), N / G, N), G, N / G, ONE), "a slice that is shorter than a block"),
]


@pytest.mark.parametrize(("rule", "term", "why"), TWINS)
def test_no_rule_goes_too_far(rule, term, why):
    assert "<" in show_index(term), why


def test_every_rule_has_a_goal():
    assert {r.name for r in RULES} == {rule for rule, _, _ in GOALS}


def test_a_moved_index_is_embedded_in_the_dim_that_it_is_a_place_in():
    assert "k" != moved(K, ZERO_DIM, N + A).key
    assert N + A == extent(moved(K, ZERO_DIM, N + A))
    assert 5 == evaluate_index(moved(K, A, N + A), {"k": 3}, {"a": 2, "n": 4})


def test_sizes_are_compared_only_where_it_holds_for_all_numbers():
    assert at_most(ONE, N)
    assert at_most(A, A * N)
    assert at_most(A + N, A + N * 2)
    assert not at_most(N, A)
    assert not at_most(dim(2), N)
    assert not at_most(N, N - 1)
    assert at_most(N - 1, N)
    assert at_most(ONE / N, ONE)
    assert not at_most(ONE, N / G), "a tile is at least 1 wherever the program has a meaning, which is not known here"


def test_sums_of_sizes_divide_what_they_are_a_factor_of():
    assert N == quotient((A + 2) * N, A + 2)
    assert (A + 2) == quotient((A + 2) * N, N)
    assert quotient(A * N + 1, A + 2) is None
    assert divides(A + 2, (A + 2) * N * 3)
    assert not divides(A + 2, (A + 2) / N)


def test_a_digit_of_the_wrong_extent_is_refused():
    with pytest.raises(ValueError, match="not the extent"):
        digit(K, ONE, G, ONE)


def test_divisibility_is_claimed_only_where_it_holds_for_all_numbers():
    assert divides(dim("a"), dim("6*a*b"))
    assert not divides(dim("a"), dim("b"))
    assert not divides(dim(4), dim("2*a"))
    assert not divides(dim("a"), dim("a") + dim("b"))
