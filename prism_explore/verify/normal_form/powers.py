"""Powers of forms: rules P1 to P6.

A power whose exponent is no positive integer has its base as an atom. Factors are pulled out of the base where this is
possible, so that they can cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import floor, gcd, lcm

from prism_explore.verify.normal_form.bound_names import check_number, without_names
from prism_explore.verify.normal_form.forms import (
    NF_ONE,
    Atom,
    Factor,
    Group,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Term,
    number,
    single,
)
from prism_explore.verify.normal_form.indicators import split_cases
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.sums import components

LARGEST_TRIAL_DIVISOR = 10_000
ROOT = "root"
"""The prefix of the name of a root of a base that may be negative; the degree follows. That of degree 2 is sqrt."""


def root_degree(function: str) -> int | None:
    """The degree of a root by its name, such as 3 of `root3`; None for any other function."""
    if function == "sqrt":
        return 2
    return int(function.removeprefix(ROOT)) if function.startswith(ROOT) else None


def power(ring: Ring, n: NormalForm, q: Number) -> NormalForm:
    """n, which is not 0 everywhere, to the power q, which is not 1."""
    if q == 0 and n.sign == 2:
        return NF_ONE
    if isinstance(q, int) and q > 0:
        if len(n.terms) == 1 and not n.terms[0][0].bound:
            return _power_of_product(ring, *n.terms[0], q)
        result = n
        for _ in range(q - 1):
            ring.spend(1)
            result = ring.mul(result, n)
        return result
    if n.guarded and len(n.terms) > 1:
        split = by_cases(ring, n, lambda piece: ring.power(piece, q))
        if split is not None:
            return split
    if not isinstance(q, int) and not n.sign:
        return _root_of_any_sign(ring, n, q)
    if len(n.terms) == 1:
        return _power_of_product(ring, *n.terms[0], q)
    g, common = content(n.terms, roots=not isinstance(q, int))
    if g == 1 and not common:
        return ring.term((), ((Group(n), q),), 1)
    outside = ring.term((), [(a, e * q) for a, e in common], 1)
    return ring.mul(ring.mul(number_power(ring, g, q), outside), ring.power(divide_out(ring, n, g, common), q))


def _root_of_any_sign(ring: Ring, n: NormalForm, q: Fraction) -> NormalForm:
    """A root of what may be negative; where laws of order are used, with its positive factors outside (rule P6)."""
    g, common = content(n.terms, roots=True) if ring.by_order else (1, ())
    positive = [(a, e) for a, e in common if a.sign == 2]
    if g == 1 and not positive:
        name = "sqrt" if q.denominator == 2 else f"{ROOT}{q.denominator}"
        return ring.power(single(Opaque(name, (n,))), q.numerator)
    outside = ring.term((), [(a, e * q) for a, e in positive], 1)
    inside = ring.power(divide_out(ring, n, g, tuple(positive)), q)
    return ring.mul(ring.mul(number_power(ring, g, q), outside), inside)


def _power_of_product(ring: Ring, t: Term, c: Number, q: Number) -> NormalForm:
    result = number_power(ring, c, q)
    for bound, factors in components(*ring.open_term(t)):
        if bound:
            inner = NormalForm(((ring.close(bound, factors), 1),))
            result = ring.mul(result, ring.term((), ((Group(inner), q),), 1))
            continue
        powers: list[Factor] = []
        for a, e in factors:
            if isinstance(q, int) or a.sign or e == 0:
                powers.append((a, e * q))
            elif ring.by_order and number(e * q) == int(e * q):
                result = ring.mul(result, ring.power(ring.apply("abs", single(a)), int(e * q)))
            else:
                powers.append((Group(NormalForm(((Term((), ((a, 2),)), 1),))), e * q / 2))
        result = ring.mul(result, ring.term((), powers, 1))
    return result


def content(
    terms: Sequence[tuple[Term, Number]], *, roots: bool, names: Iterable[str] = ()
) -> tuple[Number, tuple[Factor, ...]]:
    """The number and the factors that can be pulled out of a power of a sum (rule P5) or a maximum (rule M3).

    Args:
        terms: the summands.
        roots: whether the factors must not be negative.
        names: indices that must not occur in the factors.
    """
    coefficients = [Fraction(c) for _, c in terms]
    g = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients)))
    if not roots and has_negative_lead(terms):
        g = -g
    atoms: dict[str, Atom] = {}
    exponents_of: dict[str, list[Number]] = {}
    for t, _ in terms:
        inside = {*names, *(v.name for v in t.bound)}
        for a, e in t.factors:
            if a.free.isdisjoint(inside):
                atoms[a.key] = a
                exponents_of.setdefault(a.key, []).append(e)
    common: list[Factor] = []
    for key, exponents in exponents_of.items():
        a, everywhere = atoms[key], len(exponents) == len(terms)
        if a.sign == 2:
            least = min(exponents) if everywhere else min(*exponents, 0)
        elif everywhere and (min(exponents) > 0 or max(exponents) < 0) and (a.sign or not roots):
            least = min(exponents)
        else:
            continue
        if least:
            common.append((a, least))
    return number(g), tuple(common)


def divide_out(ring: Ring, n: NormalForm, g: Number, common: tuple[Factor, ...]) -> NormalForm:
    """n / (g * common), by subtraction of exponents; masked terms do not change."""
    total: list[tuple[Term, Number]] = []
    for t, c in n.terms:
        if t.masked:
            total.append((t, c))
            continue
        bound, factors = ring.open_term(t)
        exponents = {a.key: (a, e) for a, e in factors}
        for a, e in common:
            left = number(exponents[a.key][1] - e if a.key in exponents else -e)
            exponents[a.key] = (a, left)
            if left == 0:
                del exponents[a.key]
        total += ring.term(bound, tuple(exponents.values()), number(Fraction(c) / g)).terms
    return ring.collect(total)


def number_power(ring: Ring, c: Number, q: Number) -> NormalForm:
    """A number, positive where q is no integer, to the power q; roots of primes are atoms."""
    bits = max(c.numerator.bit_length(), c.denominator.bit_length()) - 1
    check_number(1 << min(bits * abs(floor(q)), 1 << 16))
    if isinstance(q, int):
        return ring.constant(Fraction(c) ** q)
    factors: list[Factor] = []
    for value, sign in ((Fraction(c).numerator, 1), (Fraction(c).denominator, -1)):
        factors += [(Prime(p), k * q * sign) for p, k in factorise(value)]
    return ring.term((), factors, 1)


def has_negative_lead(terms: Sequence[tuple[Term, Number]]) -> bool:
    """Whether x, and not -x, counts as the negative one of the two; independent of names if the terms differ."""
    total = sum(c for _, c in terms)
    if total or not terms:
        return total < 0
    least = min(((without_names(t.key), c) for t, c in terms), key=lambda p: p[0])
    return least[1] < 0


def factorise(value: int, largest_divisor: int = LARGEST_TRIAL_DIVISOR) -> Iterator[tuple[int, int]]:
    """Primes and their exponents, by trial division; a rest without divisors up to the largest counts as a prime."""
    p = 2
    while p * p <= value and p <= largest_divisor:
        k = 0
        while value % p == 0:
            value //= p
            k += 1
        if k:
            yield p, k
        p += 1
    if value > 1:
        yield value, 1


def by_cases(ring: Ring, n: NormalForm, f: Callable[[NormalForm], NormalForm]) -> NormalForm | None:
    """Rule F5: f of a form by cases, as f of each case; None where there are no cases."""
    cut = split_cases([n], frozenset())
    if cut is None:
        return None
    return ring.piecewise((ring.indicator(where), f(ring.collect(terms))) for where, (terms,) in cut)
