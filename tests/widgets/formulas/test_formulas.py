"""Formulas: parsing, simplification (which keeps the value), and MathML."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prism_explore as px
from prism_explore.events.kinds import VerdictReached
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.formulas.parse import parse_formula, product
from prism_explore.widgets.formulas.simplify import simplify
from prism_explore.widgets.formulas.tree import (
    Add,
    Call,
    Element,
    Formula,
    Number,
    Power,
    Product,
    Reduction,
    Relation,
    Symbol,
    Words,
    evaluate,
)


def value_of(name: str) -> float:
    """A positive value per name, the same in every call; log(c) has the value of bottom(c)."""
    return random.Random("bottom" if name == "log" else name).uniform(0.5, 1.5)


@pytest.fixture(scope="module")
def terms() -> tuple[str, ...]:
    """The terms of all e-classes of three searches."""
    found: dict[str, None] = {}
    for name in ("rmsnorm_linear", "attention", "lora"):
        row = px.workload(name)
        with px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100") as sess:
            sess.step(700)
            verdicts = [e for e in sess.journal.events if isinstance(e, VerdictReached)]
        found |= dict.fromkeys(term for v in verdicts for _, term, _ in v.classes)
    assert len(found) > 100
    return tuple(found)


def test_every_term_of_a_proof_is_parsed_and_keeps_its_value(terms: tuple[str, ...]) -> None:
    for term in terms:
        formula = parse_formula(term)
        assert formula is not None, term
        assert math.isclose(evaluate(formula, value_of), evaluate(simplify(formula), value_of), rel_tol=1e-9), term
        assert to_mathml(term).startswith("<math")


numbers = st.fractions(Fraction(-9), Fraction(9), max_denominator=12).filter(bool).map(Number)
atoms = st.sampled_from(("x[p0,k1]", "w[k1,p1]", "g[p1]")).map(
    lambda text: Element(text[0], text[2:-1])
) | st.sampled_from(("b", "d")).map(Symbol)
roots = st.builds(
    Power, st.fractions(Fraction(1, 9), Fraction(64), max_denominator=9).map(Number), st.sampled_from([Fraction(1, 2)])
)
exponents = st.sampled_from([Fraction(-1), Fraction(-1, 2), Fraction(1, 2), Fraction(2), Fraction(3)])


def _larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    positive = inner.map(lambda f: Call("exp", (product((Number(Fraction(1, 50)), f)),)))
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda fs: product(tuple(fs))),
        st.lists(inner, min_size=2, max_size=3).map(lambda fs: Add(tuple(fs))),
        st.builds(Power, positive, exponents),
        st.builds(Reduction, st.sampled_from(("sum", "mean")), st.just((("k1", "16"),)), inner),
    )


@given(st.recursive(numbers | atoms | roots, _larger, max_leaves=12))
def test_simplification_keeps_the_value_of_random_formulas(formula: Formula) -> None:
    try:
        value = evaluate(formula, value_of)
    except (OverflowError, ZeroDivisionError):
        return
    assert math.isclose(value, evaluate(simplify(formula), value_of), rel_tol=1e-6, abs_tol=1e-9)


def test_the_root_of_a_mean_is_one_root() -> None:
    term = "1/8000 5^1/2 (128 + 3125 Σ_{k1:4096} x[p0,k1]^2)^1/2"
    mean = Reduction("mean", (("k1", "4096"),), Power(Element("x", "p0,k1"), Fraction(2)))
    formula = parse_formula(term)

    assert formula is not None
    assert Power(Add((Number(Fraction(1, 100_000)), mean)), Fraction(1, 2)) == simplify(formula)


def test_a_factor_without_the_index_leaves_the_sum_and_a_constant_exponent_enters_exp() -> None:
    formula = parse_formula("exp(Σ_{k2:128} 2^1/2 k[k2] q[p1] (Σ_{k1:128} q[k1]^2)^-1/2)^8")
    mean = Reduction("mean", (("k1", "128"),), Power(Element("q", "k1"), Fraction(2)))

    assert formula is not None
    found = simplify(formula)
    assert isinstance(found, Call)
    assert str(Power(mean, Fraction(-1, 2))) in str(found.arguments)


def test_the_sign_of_a_root_of_a_mean_stays() -> None:
    formula = parse_formula("-1/64 (Σ_{k1:4096} x[k1])^1/2")

    assert formula is not None
    assert evaluate(simplify(formula), value_of) == pytest.approx(evaluate(formula, value_of))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2*bm > smem", Relation),
        ("least sum ≤ shared memory", Relation),
        ("result = C[e, e'] for some C", Relation),
        ("some choice of looped axes is legal", Words),
        ("cost(f1) ≤ cost(f2) for all legal sizes", Relation),
        ("Σd g·w·x/√(μd x² + 1/1000000)", Product),
    ],
)
def test_the_formulas_of_reasons_are_parsed(text: str, kind: type) -> None:
    assert isinstance(parse_formula(text), kind)
    assert to_mathml(text)


@pytest.mark.parametrize(
    "text", ["", "x·", "x·- 2", "f32(b, d) against f32(d)", "{k}: loop.pending", "b, n", "(", "a + ", "x[", "(" * 99]
)
def test_a_text_that_is_no_formula_has_no_mathml(text: str) -> None:
    assert parse_formula(text) is None
    assert to_mathml(text) == ""


@given(st.text(alphabet="abΣμ√()[]{}^·*/+-−²₁ 12<=,.'\"&%_:", max_size=40))
def test_any_text_gives_mathml_or_nothing(text: str) -> None:
    found = to_mathml(text)
    if found:
        ElementTree.fromstring(found)


def test_names_are_escaped() -> None:
    found = to_mathml("a[<img src=x onerror=alert(1)>]")

    assert "<img" not in found
    tags = {tag.tag for tag in ElementTree.fromstring(found).iter()} if found else set()
    assert all(tag.startswith("m") for tag in tags)


def test_long_decimals_end_with_an_ellipsis_and_powers_of_ten_are_powers() -> None:
    assert "0.088388…" in to_mathml("1767766952966369/20000000000000000 x[p0]")
    assert "<msup><mn>10</mn>" in to_mathml("x[p0] + 1/1000000")


@pytest.mark.parametrize(("text", "same"), [
    ("x·-2", "(-2) x"),
    ("d·-1/2·x", "d·(-1/2)·x"),
    ("x·-2^1/2", "(-1) 2^1/2 x"),
    ("Σ_{k:4} -1 x[k]", "Σ_{k:4} (-1) x[k]"),
    ("Σd -2·x", "Σd (-2) x"),
    ("x/-2", "x/(-2)"),
    ("x -2", "x + (-2)"),
])  # fmt: skip
def test_a_negative_constant_inside_a_product_is_a_factor(text: str, same: str) -> None:
    parsed, expected = parse_formula(text), parse_formula(same)

    assert parsed is not None
    assert expected is not None
    assert evaluate(expected, value_of) == pytest.approx(evaluate(parsed, value_of))


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("1/8²", Power(Number(Fraction(1, 8)), Fraction(2))),
        ("μd x²", Reduction("mean", (("d", ""),), Power(Symbol("x"), Fraction(2)))),
        ("Σd² x", Reduction("sum", (("d", ""),), Reduction("sum", (("d", ""),), Symbol("x")))),
    ],
)
def test_a_superscript_is_an_exponent_and_no_part_of_a_name(text: str, formula: Formula) -> None:
    assert parse_formula(text) == formula


def test_an_epsilon_that_was_squared_is_typeset() -> None:
    assert "<msqrt>" in to_mathml("x/√(1/1000000² + 2·μd x²·1/1000000 + μd² x⁴)")
