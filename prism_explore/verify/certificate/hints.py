"""Hints: expressions that are added to an e-graph so that the axioms can find a proof.

Axioms only rewrite existing terms, so the search does not introduce 1024 * 5 for 5120, the root of 1/4096 for 1/64, or
a multiple of the sum under the other side's root. Hints are such expressions. They assert nothing: every equation about
them must be derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt, prod

from prism_explore.verify.certificate.expressions import Add, Exp, Expr, Inv, Mul, Num, Sqrt, product, walk
from prism_explore.verify.normal_form.powers import factorise

MAX_FACTORED = 10**9
"""The largest number that is factored into primes."""


def find_hints(left: Expr, right: Expr) -> Iterator[Expr]:
    """Expressions that help to prove `left = right`; none where neither side has a root or an exponential."""
    for e in dict.fromkeys(e for side in (left, right) for e in walk(side) if isinstance(e, Exp)):
        yield Inv(Inv(e))
    if not any(isinstance(e, Sqrt) for side in (left, right) for e in walk(side)):
        return
    numbers = [e.value for side in (left, right) for e in walk(side) if isinstance(e, Num)]
    multiples = list(dict.fromkeys(_multiples(left, right)))
    yield from multiples
    numbers += [m.a.value for m in multiples if isinstance(m.a, Num)]
    for value in dict.fromkeys(n for n in numbers if n > 0 and n != 1):
        yield Sqrt(Num(value * value))
        yield from _factorizations(value)


def _multiples(left: Expr, right: Expr) -> Iterator[Mul]:
    """Sums of the right side, each times a number that may make it equal to a sum of the left side."""
    wanted = dict.fromkeys(tuple(_coefficients(e)) for e in walk(left) if isinstance(e, Add))
    ratios: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for e in walk(right):
        if not isinstance(e, Add):
            continue
        own = tuple(_coefficients(e))
        if own not in ratios:
            ratios[own] = [r for other in wanted if (r := _ratio(other, own)) is not None and r > 0 and r != 1]
        yield from (Mul(Num(r), e) for r in ratios[own])


def _ratio(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> Fraction | None:
    """The number r with a = r b; None where there is none."""
    found = {x / y for x, y in zip(a, b, strict=False) if y}
    return found.pop() if len(a) == len(b) and len(found) == 1 else None


def _coefficients(e: Expr) -> list[Fraction]:
    """The coefficients of a sum's terms, sorted."""
    if isinstance(e, Add):
        return sorted((*_coefficients(e.a), *_coefficients(e.b)))
    return [_coefficient(e)]


def _coefficient(e: Expr) -> Fraction:
    match e:
        case Num(value):
            return value
        case Mul(a, b):
            return _coefficient(a) * _coefficient(b)
        case _:
            return Fraction(1)


def _factorizations(value: Fraction) -> Iterator[Expr]:
    """A number as a square times primes, and the roots of these primes as roots of their inverses."""
    odd = [Fraction(p) for p in _odd_primes(value.numerator)]
    odd += [Fraction(1, p) for p in _odd_primes(value.denominator)]
    square = value / prod(odd, start=Fraction(1))
    factors = ([square] if square != 1 else []) + odd
    if len(factors) > 1:
        yield product(map(Num, factors))
    for p in odd:
        yield Inv(Sqrt(Num(1 / p)))


def _odd_primes(n: int) -> list[int]:
    """The primes that divide a number an odd number of times; none where it is larger than `MAX_FACTORED`."""
    return [p for p, exponent in factorise(n, isqrt(MAX_FACTORED)) if exponent % 2] if n <= MAX_FACTORED else []
