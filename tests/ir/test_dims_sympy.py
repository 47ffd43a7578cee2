"""Our sizes agree with sympy on sums, products, quotients and substitution."""

import sympy
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.ir.dims import Dim, dim

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


def in_sympy(size: Dim):
    symbols = {s: sympy.Symbol(s, positive=True, integer=True) for s in size.symbols}
    return sympy.parse_expr(str(size).replace("^", "**"), local_dict=symbols)


@given(both())
def test_arithmetic_agrees(pair):
    ours, theirs = pair
    assert sympy.expand(in_sympy(ours) - theirs) == 0


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
