from fractions import Fraction

import pytest
from hypothesis import given

from prism_explore.errors import ParseError, ShapeError
from prism_explore.ir.dims import Dim, dim, is_negative, is_only_symbols
from tests.strategies import dims, monomials, sizes


def number(d: Dim, at: dict[str, int]) -> Fraction:
    return d.rational(at)


@given(dims(), dims(), sizes)
def test_sums_products_and_differences_mean_what_arithmetic_says(a, b, at):
    assert number(a, at) + number(b, at) == number(a + b, at)
    assert number(a, at) * number(b, at) == number(a * b, at)
    assert number(a, at) - number(b, at) == number(a - b, at)


@given(dims(), monomials(), sizes)
def test_a_quotient_by_a_product_is_exact_and_undone_by_multiplying(a, m, at):
    assert number(a, at) / number(m, at) == number(a / m, at)
    assert a == a / m * m


@given(dims())
def test_a_printed_size_parses_back(d):
    assert d == dim(str(d))


@given(dims(), sizes)
def test_substituting_numbers_gives_the_number(d, at):
    assert number(d, at) == number(d.substitute(at), {})


def test_equal_sizes_are_equal_however_they_were_written():
    assert dim("4096/(gx*f)") == dim(4096) / "f" / "gx"
    assert dim("a*b + a*b") == dim(2) * "b" * "a"


def test_a_size_that_is_no_integer_says_so_with_its_numbers():
    with pytest.raises(ShapeError, match=r"size 4096/gx is 4096/3 at gx=3; it must be a positive integer"):
        dim("4096/gx").value({"gx": 3})


def test_a_symbol_without_a_number_is_named():
    with pytest.raises(ShapeError, match="needs a number for 'f'"):
        dim("4096/f").value({"gx": 3})


@pytest.mark.parametrize("text", ["4096//f", "(a", "a b", "", "a^", "2*", "a)", "$"])
def test_a_text_that_is_no_size_is_refused(text):
    with pytest.raises(ParseError, match="not a size"):
        dim(text)


def test_only_a_product_divides():
    with pytest.raises(ShapeError, match="only a product"):
        dim(8) / dim("a + b")


@given(dims(), sizes)
def test_a_size_of_symbols_only_is_a_quotient_or_an_integer(d, at):
    if is_only_symbols(d):
        assert not is_negative(d)
        assert number(d, at).denominator == 1 or d.is_monomial


@pytest.mark.parametrize("text", ["n", "n*m", "n/g", "n + m", "n - m", "n - 1"])
def test_sizes_of_symbols_only(text):
    assert is_only_symbols(dim(text))


@pytest.mark.parametrize("text", ["-n", "-n - m", "8", "2*n", "n + 1/m", "n - 2"])
def test_sizes_with_numbers_or_never_positive_are_not_of_symbols_only(text):
    assert not is_only_symbols(dim(text))
