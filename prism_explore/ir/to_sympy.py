# pyright: basic
# sympy is only partly typed, so this module is checked in basic mode.
"""Export of symbolic sizes to sympy, for its algebra and for formulas in notebooks.

Input: the terms of a `Dim`. Output: a sympy expression; its symbols are positive integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sympy import Expr

Term: TypeAlias = tuple[tuple[tuple[str, int], ...], Fraction]
"""Symbols with their exponents, and the coefficient."""


def to_sympy(terms: Iterable[Term]) -> Expr:
    """The sum of terms as a sympy expression."""
    import sympy

    total = sympy.Integer(0)
    for monomial, coefficient in terms:
        product = sympy.Rational(coefficient.numerator, coefficient.denominator)
        for symbol, exponent in monomial:
            product *= sympy.Symbol(symbol, positive=True, integer=True) ** exponent
        total += product
    return total


def to_latex(expression: Expr) -> str:
    """An expression in LaTeX, as Jupyter shows it."""
    import sympy

    return f"${sympy.latex(expression)}$"


def bounds_to_latex(bounds: Iterable[tuple[str, int, int]]) -> str:
    r"""Ranges of symbols in LaTeX, such as $1 \leq b \leq 64$.

    Args:
        bounds: per symbol, its name, least and largest value.
    """
    import sympy

    ranges = (rf"{low} \leq {sympy.latex(sympy.Symbol(symbol))} \leq {high}" for symbol, low, high in bounds)
    return f"${', '.join(ranges)}$"
