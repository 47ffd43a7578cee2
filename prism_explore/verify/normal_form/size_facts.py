"""Divisibility and order of symbolic sizes, for all positive integer values of the symbols.

Every function returns False (or None) where it cannot decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.support.caches import memoize

_LARGEST_DEGREE = 12


@memoize(65536)
def quotient(a: Dim, b: Dim) -> Dim | None:
    """The size c with `c * b = a`; None where b is a sum that does not divide a by a single term."""
    if a == b:
        return ONE
    if b.is_monomial or not a.terms:
        return a / b if a.terms else ZERO
    for n in range(len(b.terms)):
        guess = Dim(a.terms[:1]) / Dim(b.terms[n : n + 1])
        if guess * b == a:
            return guess
    return None


def divides(a: Dim, b: Dim) -> bool:
    """Whether `b / a` is an integer for all positive integers."""
    if a == b:
        return True
    q = quotient(b, a)
    return q is not None and is_whole(q)


def is_whole(d: Dim) -> bool:
    """Whether a size is an integer for all positive integers."""
    return all(c.denominator == 1 and all(e > 0 for _, e in powers) for powers, c in d.terms)


def is_integer(d: Dim | None, known: Sequence[Dim]) -> bool:
    """Whether a size is an integer multiple of 1 or of one of the known integers."""
    if d is None or is_whole(d):
        return d is not None
    multiples = (quotient(d, k) for k in known)
    return any(q is not None and is_whole(q) for q in multiples)


@memoize(65536)
def is_count(d: Dim, known: tuple[Dim, ...]) -> bool:
    """Whether a size is a positive integer for all positive integers that make the known ones positive integers.

    A range of such a size is never empty.
    """
    quotients = (quotient(d, k) for k in (ONE, *known))
    if any(q is not None and (q in known or (is_whole(q) and _all_positive(q))) for q in quotients):
        return True
    terms = [Dim((t,)) for t in d.terms]
    integer_terms = all(is_whole(t) or any(is_whole(t / k) for k in known if k.is_monomial) for t in terms)
    return integer_terms and (_all_positive(d) or at_most(ONE, d))


def _all_positive(d: Dim) -> bool:
    return bool(d.terms) and all(c > 0 for _, c in d.terms)


@memoize(65536)
def at_most(a: Dim, b: Dim) -> bool:
    """Whether `a <= b` for all positive integers.

    Method: clear denominators of b - a, replace every symbol s by 1 + s, and require nonnegative coefficients.
    """
    least: dict[str, int] = {}
    for powers, _ in (b - a).terms:
        for s, e in powers:
            least[s] = min(e, least.get(s, 0))
    total: dict[tuple[tuple[str, int], ...], Fraction] = {}
    for powers, c in (b - a).terms:
        exponents = {s: -e for s, e in least.items()}
        for s, e in powers:
            exponents[s] += e
        if sum(exponents.values()) > _LARGEST_DEGREE:
            return all(coefficient > 0 for _, coefficient in (b - a).terms)
        expanded: dict[tuple[tuple[str, int], ...], Fraction] = {(): c}
        for s, e in sorted(exponents.items()):
            expanded = {(*p, (s, k)) if k else p: x * comb(e, k) for p, x in expanded.items() for k in range(e + 1)}
        for p, x in expanded.items():
            total[p] = total.get(p, Fraction(0)) + x
    return all(x >= 0 for x in total.values())
