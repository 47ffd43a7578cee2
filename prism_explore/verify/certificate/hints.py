"""Hints: expressions that are added to an e-graph so that the axioms can find a proof.

Axioms only rewrite existing terms. None of them finds that 5120 is 1024 * 5, that 1/64 is the root of 1/4096, that
1/5120 x + eps is a multiple of the sum under the other side's root, or that exp(x) is the inverse of exp(-x). Hints add
such expressions. They assert nothing: an expression is no equation, and every equation about it must be derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

from prism_explore.verify.certificate.expressions import Add, Exp, Expr, Inv, Mul, Num, Sqrt, product, walk

SMALL = 10**9
"""The largest number that is factored into primes."""


def hints(left: Expr, right: Expr) -> Iterator[Expr]:
    """Expressions that help to prove `left = right`; none where there is no root and no exponential."""
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
    """Sums on the right, times the number that may make them equal to a sum on the left."""
    wanted = dict.fromkeys(tuple(_coefficients(e)) for e in walk(left) if isinstance(e, Add))
    ratios: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for e in walk(right):
        if not isinstance(e, Add):
            continue
        mine = tuple(_coefficients(e))
        if mine not in ratios:
            ratios[mine] = [r for theirs in wanted if (r := _ratio(theirs, mine)) is not None and r > 0 and r != 1]
        yield from (Mul(Num(r), e) for r in ratios[mine])


def _ratio(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> Fraction | None:
    """The number that makes b, times it, a; None where there is none."""
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
    """A number as a square times primes, and the primes' roots as roots of their inverses."""
    odd = [Fraction(p) for p in _odd_primes(value.numerator)]
    odd += [Fraction(1, p) for p in _odd_primes(value.denominator)]
    square = value / prod(odd, start=Fraction(1))
    factors = ([square] if square != 1 else []) + odd
    if len(factors) > 1:
        yield product(map(Num, factors))
    for p in odd:
        yield Inv(Sqrt(Num(1 / p)))


def _odd_primes(n: int) -> list[int]:
    """The primes that divide a number an odd number of times; none for numbers that are not small."""
    found: list[int] = []
    p = 2
    while n <= SMALL and p * p <= n:
        times = 0
        while n % p == 0:
            n, times = n // p, times + 1
        if times % 2:
            found.append(p)
        p += 1
    return [*found, n] if 1 < n <= SMALL else found
