"""Our sizes agree with sympy on sums, products, quotients and substitution."""

import sympy
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.ir.dims import dim
from prism_explore.ir.symbol_ranges import Ranges

SYMBOLS = ("b", "gx", "f")


@st.composite
def both(draw):
    """One size, made here and by sympy in the same way."""
    ours, theirs = dim(draw(st.integers(1, 6))), None
    theirs = sympy.Integer(ours.constant)
    for _ in range(draw(st.integers(0, 5))):
        other = draw(st.sampled_from((*SYMBOLS, 2, 3)))
        symbol = sympy.Symbol(other, positive=True, integer=True) if isinstance(other, str) else sympy.Integer(other)
        match draw(st.sampled_from("+-*/")):
            case "+":
                ours, theirs = ours + other, theirs + symbol
            case "-":
                ours, theirs = ours - other, theirs - symbol
            case "*":
                ours, theirs = ours * other, theirs * symbol
            case _:
                ours, theirs = ours / other, theirs / symbol
    return ours, theirs


@given(both())
def test_arithmetic_agrees(pair):
    ours, theirs = pair
    assert sympy.expand(ours.to_sympy() - theirs) == 0


@given(both(), both())
def test_two_sizes_are_equal_where_sympy_says_so(one, other):
    assert (one[0] == other[0]) == (sympy.expand(one[1] - other[1]) == 0)


@given(both(), st.fixed_dictionaries({s: st.integers(1, 9) for s in SYMBOLS}))
def test_values_agree(pair, sizes):
    ours, theirs = pair
    value = ours.rational(sizes)
    assert sympy.Rational(value.numerator, value.denominator) == theirs.subs(
        {sympy.Symbol(s, positive=True, integer=True): n for s, n in sizes.items()}
    )


def test_a_size_is_shown_as_a_formula_in_a_notebook():
    assert r"$\frac{4096}{f gx}$" == (dim(4096) / "gx" / "f")._repr_latex_()
    assert "$b + 1$" == (dim("b") + 1)._repr_latex_()


def test_ranges_are_shown_as_inequalities_in_a_notebook():
    assert r"$1 \leq b \leq 64, 2 \leq s_{1} \leq 8$" == Ranges((("b", 1, 64), ("s_1", 2, 8)))._repr_latex_()
