"""Facts about sizes that hold for all values of their symbols: positive integers, and order.

Independent of the prover, which has its own in `normal_form.index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from prism_explore.ir.dims import ONE, Dim

LARGEST_DEGREE = 12
"""Differences with products of more symbols are compared by their signs only."""


def is_count(d: Dim, known: Sequence[Dim] = ()) -> bool:
    """Whether a size is a positive integer wherever the known sizes are; False where it is not proved.

    It is proved for a sum of products of symbols and positive integers, such a sum times a known size, and a product of
    two known sizes. It is also proved where each term is an integer, or an integer multiple of a known size, and the
    sum is at least 1.
    """
    quotients = (_quotient(d, by) for by in (ONE, *known))
    if any(_is_natural(q) or q in known for q in quotients if q is not None):
        return True
    for powers, c in d.terms:
        term = Dim(((powers, abs(c)),))
        if not any(_is_natural(q) for q in (_quotient(term, by) for by in (ONE, *known)) if q is not None):
            return False
    return at_most(ONE, d)


def _is_natural(d: Dim) -> bool:
    return bool(d.terms) and all(c > 0 and c.denominator == 1 and min((1, *dict(p).values())) > 0 for p, c in d.terms)


def _quotient(a: Dim, b: Dim) -> Dim | None:
    """a / b, where b is a monomial or a quotient of single terms times b is a; else None."""
    if b.is_monomial:
        return a / b
    if not a.terms:
        return None
    first = Dim(a.terms[:1])
    return next((q for t in b.terms if (q := first / Dim((t,))) * b == a), None)


def at_most(a: Dim, b: Dim) -> bool:
    """Whether a <= b for all positive integers; False where it is not proved.

    Method: clear denominators of b - a, replace every symbol by 1 + t, and require nonnegative coefficients.
    """
    difference = b - a
    lowest: dict[str, int] = {}
    for powers, _ in difference.terms:
        for s, e in powers:
            lowest[s] = min(e, lowest.get(s, 0))
    total: dict[tuple[tuple[str, int], ...], Fraction] = {}
    for powers, c in difference.terms:
        exponents = {s: dict(powers).get(s, 0) - low for s, low in lowest.items()}
        if sum(exponents.values()) > LARGEST_DEGREE:
            return all(x > 0 for _, x in difference.terms)
        grown: list[tuple[tuple[tuple[str, int], ...], Fraction]] = [((), c)]
        for s, e in sorted(exponents.items()):
            grown = [((*p, (s, n)), x * comb(e, n)) for p, x in grown for n in range(e + 1)]
        for p, x in grown:
            total[p] = total.get(p, Fraction(0)) + x
    return all(x >= 0 for x in total.values())
