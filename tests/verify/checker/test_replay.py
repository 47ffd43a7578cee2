"""The checker's kernel: it follows right steps, and no wrong one, whatever they are called."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.dims import Dim, dim
from prism_explore.verify.axioms import AXIOMS
from prism_explore.verify.certificate.derivation.term_graph import STATED
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, parse
from prism_explore.verify.checker.replay import check_steps
from prism_explore.verify.checker.sizes import at_most, is_count
from prism_explore.verify.normal_form import size_facts

AXES = (
    '(axis p "n") (axis k "n") (axis j "n") (axis a "m") (axis b "n - m") (axis w "n" o i) (axis o "f") (axis i "n/f")'
    ' (axis q "r") (axis s "t") (axis v "r*t") (axis z "2*m") (axis c "3") (axis d "2") (axis e "4")'
)


CONDITIONS = dim("n - m"), dim("n/f")
"""What the claim says of sizes: these are positive integers."""


def lemma(axiom: str, left: str, right: str, known: tuple[Dim, ...] = CONDITIONS) -> ParsedLemma:
    text = f'(lemma {AXES} (left {left}) (right {right}) (let e1 {left}) (let e2 {right}) (step "{axiom}" e1 e2))'
    return ParsedLemma(parse(text), known)


LOW = '(bottom (near p k "-" "0"))'
TOTAL = "(sum k (mul (at x k) (exp (at y k))))"
LAST = '(at y (moved 0 "n - 1" "n"))'
PIECES = '(at x (moved a "0" "n"))', '(at x (moved b "m" "n"))'
SHIFTED = '(mul (within (moved b "m" "n") "0" "m") (at x (moved b "m" "n")))'

RIGHT: dict[str, tuple[str, str]] = {
    "interval cut": ('(within z "0" "2*m")', '(add (within z "0" "m") (within z "m" "2*m"))'),
    "intervals apart": ('(mul (within k "m" "n") (within k "0" "m"))', "(num 0)"),
    "interval of everything": ('(within k "0" "n")', "(num 1)"),
    "one value by digits": (
        '(within (radix c d e) "13" "14")',
        '(mul (mul (within c "1" "2") (within d "1" "2")) (within e "1" "2"))',
    ),
    "bands meet": ('(mul (near p k "-" "0") (near p k "1-m" "-"))', '(near p k "1-m" "0")'),
    "band cut": ('(near p k "-" "2")', '(add (near p k "-" "0") (near p k "1" "2"))'),
    "band of a constant": ('(near p (moved 0 "1" "n") "-1" "2")', '(within p "0" "3")'),
    "index of one value": (
        '(mul (at x k p) (within k "2" "3"))',
        '(mul (at x (moved 0 "2" "n") p) (within k "2" "3"))',
    ),
    "sum over a diagonal": (
        '(sum k (mul (at x k p) (near p k "1" "1")))',
        '(mul (within p "0" "n - 1") (at x (moved p "1" "n") p))',
    ),
    "sum in pieces": ("(sum k (at x k))", f"(add (sum a {PIECES[0]}) (sum b {PIECES[1]}))"),
    "maximum in pieces": ("(most k (at x k))", f"(greater (most a {PIECES[0]}) (most b {PIECES[1]}))"),
    "sum over digits": ("(sum v (at x v))", "(sum q (sum s (at x (radix q s))))"),
    "maximum over digits": ('(most v (at x (digit v "1" "r" "t")))', "(most q (most s (at x q)))"),
    "last running maximum": ('(upto k (moved 0 "n - 1" "n") (at x k))', "(most k (at x k))"),
    "rescaled sum": ("(rescaled k (at x k) (at y k))", f"(mul (exp (mul (num -1) {LAST})) {TOTAL})"),
    "maximum and an entry": ('(greater (most k (at x k)) (at x (moved a "m" "n")))', "(most k (at x k))"),
    "as low": (
        f"(most k (add (mul (num 2) (at x k)) {LOW}))",
        f"(mul (num 2) (most k (add (at x k) {LOW})))",
    ),
}


def test_every_axiom_that_is_stated_is_here() -> None:
    assert set(STATED) == set(RIGHT)
    assert set(STATED) == {a.name for a in AXIOMS if a.conditions and a.conditions[0].startswith("(stated")}


@pytest.mark.parametrize("name", RIGHT)
def test_an_instance_is_followed(name: str) -> None:
    assert (name,) == check_steps(lemma(name, *RIGHT[name]))


@pytest.mark.parametrize("name", RIGHT)
def test_it_may_be_read_from_right_to_left(name: str) -> None:
    left, right = RIGHT[name]

    assert (name,) == check_steps(lemma(name, right, left))


def test_what_an_interval_becomes_in_a_piece_is_a_number() -> None:
    left = '(sum k (mul (within k "0" "m") (at x k)))'
    first = '(mul (num 1) (at x (moved a "0" "n")))'

    assert check_steps(lemma("sum in pieces", left, f"(add (sum a {first}) (sum b {SHIFTED}))"))
    second = '(mul (num 0) (at x (moved b "m" "n")))'
    assert check_steps(lemma("sum in pieces", left, f"(add (sum a {first}) (sum b {second}))"))


def weights(of: str, total: str) -> tuple[str, str, str]:
    """Sums times whether their weights add up to something."""
    return "weights", f"(mul {total} (mul (sum k {of}) (inv (sum k {of}))))", total


WEIGHED = '(sum k (mul (near p k "-" "0") (at x k)))'


def test_weights_that_are_not_negative_are_followed() -> None:
    assert ("weights",) == check_steps(lemma(*weights('(near p k "-" "0")', WEIGHED)))


WRONG: dict[str, tuple[str, str, str]] = {
    "weights of both signs": weights("(at y k)", "(sum k (mul (at y k) (at x k)))"),
    "weights of another sum": weights('(near p k "0" "-")', WEIGHED),
    "weights that do not weigh all": weights('(near p k "-" "0")', '(add (num 1) (sum k (near p k "-" "0")))'),
    "a cut beyond the end": ("interval cut", '(within k "0" "m")', '(add (within k "0" "n") (within k "n" "m"))'),
    "a cut that may lie outside": ("interval cut", '(within k "0" "n")', '(add (within k "0" "r") (within k "r" "n"))'),
    "a cut of another index": ("interval cut", '(within z "0" "2*m")', '(add (within z "0" "m") (within k "m" "2*m"))'),
    "a cut with a gap": ("interval cut", '(within z "0" "3*m")', '(add (within z "0" "m") (within z "2*m" "3*m"))'),
    "intervals that overlap": ("intervals apart", '(mul (within k "0" "m") (within k "0" "n"))', "(num 0)"),
    "intervals of two indices": ("intervals apart", '(mul (within k "m" "n") (within j "0" "m"))', "(num 0)"),
    "most of it": ("interval of everything", '(within k "1" "n")', "(num 1)"),
    "digits in another order": (
        "one value by digits",
        '(within (radix c e) "6" "7")',
        '(mul (within e "1" "2") (within c "2" "3"))',
    ),
    "another value of a digit": (
        "one value by digits",
        '(within (radix c e) "6" "7")',
        '(mul (within c "2" "3") (within e "1" "2"))',
    ),
    "a digit beyond its extent": (
        "one value by digits",
        '(within (radix c e) "6" "7")',
        '(mul (within c "0" "1") (within e "6" "7"))',
    ),
    "two values by digits": (
        "one value by digits",
        '(within (radix c e) "6" "8")',
        '(mul (within c "1" "2") (within e "2" "3"))',
    ),
    "a digit of two values": (
        "one value by digits",
        '(within (radix c e) "6" "7")',
        '(mul (within c "1" "2") (within e "2" "4"))',
    ),
    "a digit is left out": ("one value by digits", '(within (radix c e) "6" "7")', '(within c "1" "2")'),
    "a cut with a gap between bands": ("band cut", '(near p k "-" "2")', '(add (near p k "-" "0") (near p k "2" "2"))'),
    "a cut of an empty band": ("band cut", '(near p k "-" "-1")', '(add (near p k "-" "1") (near p k "2" "-1"))'),
    "a cut of another band": ("band cut", '(near p k "-" "2")', '(add (near k p "-" "0") (near p k "1" "2"))'),
    "a cut that is not everything": ("band cut", "(num 1)", '(add (near p k "-" "0") (near p k "1" "2"))'),
    "an interval of the constant's other side": (
        "band of a constant",
        '(near p (moved 0 "1" "n") "-1" "2")',
        '(within p "0" "4")',
    ),
    "a band of no constant": ("band of a constant", '(near p k "0" "0")', '(within p "0" "1")'),
    "another value of the index": (
        "index of one value",
        '(mul (at x k p) (within k "2" "3"))',
        '(mul (at x (moved 0 "1" "n") p) (within k "2" "3"))',
    ),
    "an index of two values": (
        "index of one value",
        '(mul (at x k p) (within k "2" "4"))',
        '(mul (at x (moved 0 "2" "n") p) (within k "2" "4"))',
    ),
    "a value of another index": (
        "index of one value",
        '(mul (at x k p) (within k "2" "3"))',
        '(mul (at x k (moved 0 "2" "n")) (within k "2" "3"))',
    ),
    "a sum over more than a diagonal": (
        "sum over a diagonal",
        '(sum k (mul (at x k p) (near p k "1" "2")))',
        '(mul (within p "0" "n - 1") (at x (moved p "1" "n") p))',
    ),
    "the diagonal on the other side": (
        "sum over a diagonal",
        '(sum k (mul (at x k p) (near p k "1" "1")))',
        '(mul (within p "1" "n") (at x (moved p "-1" "n") p))',
    ),
    "a diagonal that leaves the dim": (
        "sum over a diagonal",
        '(sum k (mul (at x k p) (near p k "1" "1")))',
        '(mul (num 1) (at x (moved p "1" "n") p))',
    ),
    "a diagonal of the summed index alone": (
        "sum over a diagonal",
        '(sum k (mul (at x k p) (near k k "0" "0")))',
        "(mul (num 1) (at x k p))",
    ),
    "bands that meet in less": ("bands meet", '(mul (near p k "-" "0") (near p k "1-m" "-"))', '(near p k "0" "0")'),
    "bands of other places": ("bands meet", '(mul (near p k "-" "0") (near p j "1-m" "-"))', '(near p k "1-m" "0")'),
    "bands turned the wrong way": ("bands meet", '(mul (near p k "-" "0") (near k p "-" "0"))', '(near p k "-" "0")'),
    "pieces that overlap": ("sum in pieces", "(sum k (at x k))", f"(add (sum a {PIECES[0]}) (sum j (at x j)))"),
    "pieces in the wrong place": (
        "sum in pieces",
        "(sum k (at x k))",
        f'(add (sum a {PIECES[0]}) (sum b (at x (moved b "0" "n"))))',
    ),
    "pieces of something else": ("sum in pieces", "(sum k (at x k))", '(add (sum a (at y (moved a "0" "n"))) (num 0))'),
    "a piece that captures": (
        "sum in pieces",
        "(sum k (mul (at x k) (at y a)))",
        '(add (sum a (mul (at x (moved a "0" "n")) (at y a))) (sum b (mul (at x (moved b "m" "n")) (at y a))))',
    ),
    "digits in the wrong order": ("sum over digits", "(sum v (at x v))", "(sum q (sum s (at x (radix s q))))"),
    "one digit too few": ("sum over digits", "(sum v (at x v))", "(sum q (at x q))"),
    "the last but one": ("last running maximum", '(upto k (moved 0 "n - 2" "n") (at x k))', "(most k (at x k))"),
    "as far as we are": ("last running maximum", "(upto k p (at x k))", "(most k (at x k))"),
    "not divided by the last scale": ("rescaled sum", "(rescaled k (at x k) (at y k))", TOTAL),
    "divided by the first scale": (
        "rescaled sum",
        "(rescaled k (at x k) (at y k))",
        f"(mul (exp (mul (num -1) (at y 0))) {TOTAL})",
    ),
    "an entry of something else": ("maximum and an entry", "(greater (most k (at x k)) (at y j))", "(most k (at x k))"),
    "an entry further out": (
        "maximum and an entry",
        '(greater (most k (at x k)) (at x (moved j "m" "n + m")))',
        "(most k (at x k))",
    ),
    "two entries": (
        "maximum and an entry",
        "(greater (most k (mul (at x k) (at y k))) (mul (at x j) (at y p)))",
        "(most k (mul (at x k) (at y k)))",
    ),
    "scaled by a negative number": (
        "as low",
        f"(most k (add (mul (num -2) (at x k)) {LOW}))",
        f"(mul (num -2) (most k (add (at x k) {LOW})))",
    ),
    "masked along another axis": (
        "as low",
        '(most k (add (mul (num 2) (at x k)) (bottom (near p j "-" "0"))))',
        '(mul (num 2) (most k (add (at x k) (bottom (near p j "-" "0")))))',
    ),
    "not masked at all": (
        "as low",
        "(most k (add (mul (num 2) (at x k)) (at y k)))",
        "(mul (num 2) (most k (add (at x k) (at y k))))",
    ),
    "a multiple that depends": (
        "sum of a multiple",
        "(sum k (mul (at x k) (at y k)))",
        "(mul (at x k) (sum k (at y k)))",
    ),
    "a digit that depends": ("sum of a multiple", "(sum w (mul (at x o) (at y w)))", "(mul (at x o) (sum w (at y w)))"),
    "a division by what may be 0": ("cancel", "(mul (at x k) (inv (at x k)))", "(num 1)"),
    "a root that forgets the sign": ("root of a square", "(sqrt (mul (at x k) (at x k)))", "(at x k)"),
    "another count": ("sum of a constant", "(sum k (at x p))", "(mul (size m) (at x p))"),
    "a wrong sum of numbers": ("number sum", "(add (num 1) (num 2))", "(num 4)"),
    "a name that is taken": ("rename", "(sum k (mul (at x k) (at y j)))", "(sum j (mul (at x j) (at y j)))"),
    "a name of another length": ("rename", "(sum k (at x k))", "(sum a (at x a))"),
    "a pair that it is not": ("sum by digits", "(sum i (sum o (at x w)))", "(sum w (at x w))"),
    "a running maximum up to another place": (
        "maximum of running maxima",
        "(most j (upto k p (at x k)))",
        "(most k (at x k))",
    ),
    "another axiom's instance": ("mul commutes", "(add (at x k) (at y k))", "(add (at y k) (at x k))"),
    "no axiom": ("x = y", "(at x k)", "(at y k)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_step_that_is_no_instance_is_refused(name: str) -> None:
    with pytest.raises(CertificateError, match=r"no instance of|no axiom is called"):
        check_steps(lemma(*WRONG[name]))


def test_a_cut_is_one_where_a_condition_puts_it_inside_and_nowhere_else() -> None:
    sides = '(within k "0" "n")', '(add (within k "0" "m") (within k "m" "n"))'

    check_steps(lemma("interval cut", *sides))
    with pytest.raises(CertificateError, match="no instance of"):
        check_steps(lemma("interval cut", *sides, known=()))


@pytest.mark.parametrize("name", ["sum in pieces", "maximum in pieces"])
def test_a_piece_that_may_be_empty_is_refused(name: str) -> None:
    with pytest.raises(CertificateError, match="no instance of"):
        check_steps(lemma(name, *RIGHT[name], known=()))


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [
        ("maximum of a constant", "(most b (num 0))", "(num 0)"),
        ("maximum of a sum", "(most b (add (at x p) (at y b)))", "(add (at x p) (most b (at y b)))"),
        ("cancel", "(mul (sum b (exp (at x b))) (inv (sum b (exp (at x b)))))", "(num 1)"),
        ("cancel", "(mul (most b (exp (at x b))) (inv (most b (exp (at x b)))))", "(num 1)"),
    ],
)
def test_what_takes_a_range_with_values_is_refused_where_it_may_have_none(name: str, left: str, right: str) -> None:
    assert (name,) == check_steps(lemma(name, left, right))
    with pytest.raises(CertificateError, match="no instance of"):
        check_steps(lemma(name, left, right, known=()))


def test_right_steps_that_do_not_lead_there_are_refused() -> None:
    text = (
        f"(lemma {AXES} (left (at x k)) (right (at y k)) (let e1 (add (at x k) (at y k)))"
        ' (let e2 (add (at y k) (at x k))) (step "add commutes" e1 e2))'
    )

    with pytest.raises(CertificateError, match="the steps do not lead from the left side to the right"):
        check_steps(ParsedLemma(parse(text)))


def test_equals_are_put_for_equals_inside_of_terms() -> None:
    text = (
        f"(lemma {AXES} (left (exp (add (at x k) (at y k)))) (right (exp (add (at y k) (at x k))))"
        ' (let e1 (add (at x k) (at y k))) (let e2 (add (at y k) (at x k))) (step "add commutes" e1 e2))'
    )

    assert ("add commutes",) == check_steps(ParsedLemma(parse(text)))


SIZES = st.sampled_from([dim(t) for t in ("n", "m", "n*m", "n + m", "2*n", "4096/f", "7", "1", "n - 1", "n*n - m")])


@settings(max_examples=200, deadline=None)
@given(a=SIZES, b=SIZES, n=st.integers(1, 9), m=st.integers(1, 9), f=st.integers(1, 9))
def test_what_is_said_of_sizes_holds_for_all_numbers(a: Dim, b: Dim, n: int, m: int, f: int) -> None:
    at = {"n": n, "m": m, "f": f}

    assert not at_most(a, b) or a.rational(at) <= b.rational(at)


COUNTS = st.sampled_from([dim(t) for t in ("n - 1", "n/2", "4096/f", "n - m", "n*m/f", "1/f", "2*n - m*n", "n/(2*f)")])


@settings(max_examples=400, deadline=None)
@given(d=SIZES | COUNTS, known=st.lists(SIZES | COUNTS, max_size=2), n=st.integers(1, 9), m=st.integers(1, 9))
@pytest.mark.parametrize("says", [is_count, size_facts.is_count], ids=["checker", "prover"])
def test_what_is_said_to_be_a_count_is_a_positive_integer(
    says: Callable[[Dim, tuple[Dim, ...]], bool], d: Dim, known: list[Dim], n: int, m: int
) -> None:
    for f in range(1, 9):
        numbers = [x.rational({"n": n, "m": m, "f": f}) for x in (*known, d)]
        if says(d, tuple(known)) and all(x.denominator == 1 and x > 0 for x in numbers[:-1]):
            assert numbers[-1].denominator == 1 and numbers[-1] > 0


@pytest.mark.parametrize("says", [is_count, size_facts.is_count], ids=["checker", "prover"])
@pytest.mark.parametrize(
    ("size", "known", "count"),
    [
        ("n*m + 2", (), True),
        ("n - 1", (), False),
        ("n - 1", ("n - 1",), True),
        ("3*m*n - 3*m", ("n - 1",), True),
        ("n/f", (), False),
        ("n*m/f", ("n/f",), True),
        ("n*m/f + m", ("n/f",), True),
        ("n/f", ("n/m", "m/f"), True),
        ("n/f", ("n/m",), False),
        ("n/(f*m)", ("n/f",), False),
        ("n + m - 1", (), True),
        ("n/2", (), False),
        ("0", (), False),
    ],
)
def test_which_sizes_are_counts(
    says: Callable[[Dim, tuple[Dim, ...]], bool], size: str, known: tuple[str, ...], count: bool
) -> None:
    assert count == says(dim(size), tuple(map(dim, known)))
