"""Arithmetic in two prime fields, with a bound on the probability that two different functions give equal results.

The interpreter runs a graph on these numbers as on floats. A number is a pair of residues, modulo p and modulo
q = (p - 1) / 2. Sums, products and quotients are computed in both fields. exp(x) is a power of a random generator of
the subgroup of order q, with the residue of x modulo q as the exponent. So exp(a + b) = exp(a) · exp(b), and an
exponential has a residue modulo p only. The root of a number is the square root that is a square itself; where it does
not exist, the inputs that it depends on are drawn again. A function without a meaning in a field (relu, tanh, gelu,
erf) is a keyed hash of its argument: equal arguments give equal results, and no other law is used. A field has no
order, so there are no maxima, masks or absolute values.

Each number stores what the bound needs, as a quotient: the degree of its numerator, its denominators, and the
exponentials that occur in them. A nonzero polynomial of degree d with k exponentials is 0 at a random point with
probability at most

    d / q                                without exponentials
    8 d k^4 / q + q^(-1/k^2)             with exponentials

If two results differ as functions, a trial does not detect it only if the numerator of their difference is 0, or if a
divisor is 0, even one that cancels later: x/0 is 0 there, so the quotients differ from the functions whose degrees are
counted. So a result stores all its divisors, and the bound is the sum over these and the numerator. Two different
arguments of a hashed function are equal in both fields with a smaller probability; it is added likewise.

If r roots occur in an element of the result, where draws are kept only if each root exists in both fields, the bound
is multiplied by 8^r. Two exponents, or two denominators, count as one if their residues are equal; for different ones
this has a probability of the order of d / q, which the factor 8 covers, or, without exponentials, the second field,
which must also show both as equal and is not counted.

Source: the random test of Mirage on residues (arXiv 2405.05751, section 5), here with independent and uniform inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from prism_explore.ir.elementwise import UNARY, ElementwiseFunction
from prism_explore.ir.formulas import evaluate, formula
from prism_explore.ir.interpreter.memoized import ValueEquality
from prism_explore.ir.interpreter.reference import Array
from prism_explore.support.caches import memoize

Q = 1073740571
P = 2 * Q + 1
"""Both are prime and 3 modulo 4, so the square root of a square is its (m + 1) / 4-th power."""

MAX_EXPONENTIALS = 64
"""The largest number of exponentials in one number; the bound is useless with fewer."""

Exponents: TypeAlias = frozenset[int]
"""The exponentials of a polynomial, by the residues of their exponents; the exponent 0 is the number 1."""
Denominators: TypeAlias = tuple[tuple[int, int, int, Exponents], ...]
"""The denominators of a number: residue, power, degree and exponentials of each, sorted by residue."""

AccidentalZeros: TypeAlias = frozenset[tuple[int, int, int]]
"""Divisors that may be 0, and hashed arguments that may be equal, by accident: residue, degree, exponential count."""

_NONE: Exponents = frozenset((0,))
_NOTHING: tuple[int, Exponents] = (0, _NONE)
"""Degree and exponentials of 1."""
_EMPTY: AccidentalZeros = frozenset()


class Inconclusive(Exception):
    """A graph or a draw that prime fields cannot evaluate; caught in this package."""

    def __init__(self, reason: str, depends: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.depends = depends
        """The inputs, as bits, that must be drawn again; 0 where no other draw can succeed."""


@dataclass(frozen=True, slots=True)
class Field:
    """The random choices of a trial besides its inputs: a generator of the subgroup, and the key of the hash."""

    generator: int
    key: bytes

    @staticmethod
    def draw(rng: np.random.Generator) -> Field:
        """A random generator of the subgroup of order q, and a random key."""
        while (generator := pow(int(rng.integers(2, P)), 2, P)) == 1:
            pass
        return Field(generator, rng.bytes(16))


class Residue:
    """A number of a trial, with the degrees and exponentials of the function of the inputs whose value it is."""

    __slots__ = (
        "accidental_zeros",
        "degree",
        "denominators",
        "depends",
        "exponents",
        "field",
        "height",
        "p",
        "q",
        "roots",
    )

    def __init__(
        self,
        field: Field,
        p: int,
        q: int | None,
        degree: int = 0,
        exponents: Exponents = _NONE,
        denominators: Denominators = (),
        roots: frozenset[int] = frozenset(),
        depends: int = 0,
        height: int = 0,
        accidental_zeros: AccidentalZeros = _EMPTY,
    ) -> None:
        self.field, self.p, self.q = field, p, q
        self.degree, self.exponents, self.denominators = degree, exponents, denominators
        self.roots, self.depends, self.height, self.accidental_zeros = roots, depends, height, accidental_zeros

    # ------------------------------------------------------------ ring
    def __add__(self, other: object) -> Residue:
        o = other if isinstance(other, Residue) else self._of(other)
        q = None if self.q is None or o.q is None else (self.q + o.q) % Q
        if self.denominators is o.denominators or self.denominators == o.denominators:
            degree = self.degree if self.degree > o.degree else o.degree
            exponents, denominators = self.exponents, self.denominators
            if o.exponents is not exponents:
                exponents = _check_count(exponents | o.exponents)
        else:
            denominators = _common(self.denominators, o.denominators)
            one, two = (_times((x.degree, x.exponents), _cofactor(x.denominators, denominators)) for x in (self, o))
            degree, exponents = max(one[0], two[0]), _check_count(one[1] | two[1])
        return self._with(o, (self.p + o.p) % P, q, degree, exponents, denominators)

    __radd__ = __add__

    def _with(
        self, o: Residue, p: int, q: int | None, degree: int, exponents: Exponents, denominators: Denominators
    ) -> Residue:
        """A sum or product of this and another number, with the data of both."""
        roots, accidental_zeros = self.roots, self.accidental_zeros
        if o.roots and o.roots is not roots:
            roots = roots | o.roots if roots else o.roots
        if o.accidental_zeros and o.accidental_zeros is not accidental_zeros:
            accidental_zeros = accidental_zeros | o.accidental_zeros if accidental_zeros else o.accidental_zeros
        height = self.height if self.height > o.height else o.height
        return Residue(
            self.field, p, q, degree, exponents, denominators, roots, self.depends | o.depends, height, accidental_zeros
        )

    def __neg__(self) -> Residue:
        q = None if self.q is None else -self.q % Q
        return Residue(
            self.field,
            -self.p % P,
            q,
            self.degree,
            self.exponents,
            self.denominators,
            self.roots,
            self.depends,
            self.height,
            self.accidental_zeros,
        )

    def __sub__(self, other: object) -> Residue:
        return self + -self._of(other)

    def __rsub__(self, other: object) -> Residue:
        return self._of(other) + -self

    def __mul__(self, other: object) -> Residue:
        o = other if isinstance(other, Residue) else self._of(other)
        q = None if self.q is None or o.q is None else self.q * o.q % Q
        denominators = (
            _product(self.denominators, o.denominators)
            if self.denominators and o.denominators
            else self.denominators or o.denominators
        )
        exponents = _product_exponents(self.exponents, o.exponents)
        return self._with(o, self.p * o.p % P, q, self.degree + o.degree, exponents, denominators)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Residue:
        return self * self._of(other)._inverse()

    def __rtruediv__(self, other: object) -> Residue:
        return self._of(other) * self._inverse()

    def __pow__(self, power: object) -> Residue:
        exponent = Fraction(power)  # type: ignore[arg-type]
        if exponent.denominator == 2:
            return self.sqrt() ** exponent.numerator
        if exponent.denominator != 1:
            raise Inconclusive(f"a power of {exponent}")
        base = self if exponent > 0 else self._inverse()
        out = self._of(1)
        for _ in range(abs(exponent.numerator)):
            out = out * base
        return out

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Residue):
            return False
        return self.p == other.p and (self.q == other.q or self.q is None or other.q is None)

    def __hash__(self) -> int:
        return hash(self.p)

    def is_identical(self, other: object) -> bool:
        """Whether residues, degrees, denominators and exponentials are equal, so that all bounds are equal."""
        return self is other or (
            isinstance(other, Residue)
            and (self.p, self.q, self.degree, self.height, self.denominators)
            == (other.p, other.q, other.degree, other.height, other.denominators)
            and (self.exponents, self.roots, self.accidental_zeros)
            == (other.exponents, other.roots, other.accidental_zeros)
        )

    def _inverse(self) -> Residue:
        """1/x; 0 where x is 0."""
        q = None if self.q is None else _reciprocal(self.q, Q)
        numerator: tuple[int, Exponents] = _cofactor((), self.denominators)
        denominators: Denominators = ((self.p, 1, self.degree, self.exponents),)
        accidental_zeros = self.accidental_zeros
        if self.degree == 0 and len(self.exponents) == 1:
            (only,) = self.exponents
            numerator, denominators = (numerator[0], frozenset((e - only) % Q for e in numerator[1])), ()
        else:
            degree = max(self.degree, self.height)
            accidental_zeros |= {(self.p, degree, 0 if self.exponents == _NONE else len(self.exponents))}
        p = _reciprocal(self.p, P)
        return Residue(
            self.field, p, q, *numerator, denominators, self.roots, self.depends, self.height, accidental_zeros
        )

    def _of(self, other: object) -> Residue:
        if isinstance(other, Residue):
            return other
        return Residue(self.field, *_residues(Fraction(other)))  # type: ignore[arg-type]

    # ------------------------------------------------------------ functions
    def exp(self) -> Residue:
        """The exponential: a power of the generator, without a residue modulo q."""
        if self.q is None:
            raise Inconclusive("an exponential of an exponential")
        p = pow(self.field.generator, self.q, P)
        only, height = frozenset((self.q,)), max(self.height, self._full_degree)
        return Residue(self.field, p, None, 0, only, (), self.roots, self.depends, height, self.accidental_zeros)

    @property
    def _full_degree(self) -> int:
        """The degree of numerator and denominators together."""
        return self.degree + sum(power * d for _, power, d, _ in self.denominators)

    def sqrt(self) -> Residue:
        """The square root that is a square.

        Raises:
            Inconclusive: there is none.
        """
        if len(self.exponents) > 1:
            raise Inconclusive("a root of exponentials")
        p, q = pow(self.p, (P + 1) // 4, P), None if self.q is None else pow(self.q, (Q + 1) // 4, Q)
        if p * p % P != self.p or (q is not None and q * q % Q != self.q):
            raise Inconclusive("no square root in the fields", self.depends)
        roots = self.roots | {self.p}
        degree = self._full_degree
        return Residue(self.field, p, q, degree, _NONE, (), roots, self.depends, self.height, self.accidental_zeros)

    def _hashed(self, name: str) -> Residue:
        """An uninterpreted function: a new variable for each argument."""
        if self.q is None:
            raise Inconclusive(f"{name} of an exponential")
        text = f"{name} {self.p} {self.q}".encode()
        drawn = int.from_bytes(blake2b(text, key=self.field.key, digest_size=16).digest(), "little")
        p, q = drawn % P, (drawn >> 64) % Q
        accidental_zeros = self.accidental_zeros | {(p, self._full_degree, 0)}
        return Residue(self.field, p, q, 1, _NONE, (), self.roots, self.depends, self.height, accidental_zeros)

    def has_own(self, row: ElementwiseFunction) -> bool:
        """Whether `elementwise` computes a row: where its NumPy formula needs functions that this class lacks."""
        return row.name not in _BY_NUMPY

    def elementwise(self, row: ElementwiseFunction) -> Residue:
        """A function by its definition if that is inlined; else uninterpreted."""
        if row.lowering == "inline":
            return evaluate(formula(row.definition), {"x": self}, self._of, _operation)
        return self._hashed(row.name)


_BY_NUMPY = frozenset(
    row.name
    for row in UNARY.values()
    if row.lowering in ("primitive", "transparent") or row.name in ("square", "rsqrt", "recip", "neg")
)


def _operation(fn: str, args: tuple[Residue, ...]) -> Residue:
    match fn, args:
        case "add", (a, b):
            return a + b
        case "sub", (a, b):
            return a - b
        case "mul", (a, b):
            return a * b
        case "div", (a, b):
            return a / b
        case "neg", (a,):
            return -a
        case "exp", (a,):
            return a.exp()
        case "sqrt", (a,):
            return a.sqrt()
        case _, (a,):
            return a.elementwise(UNARY[fn])
        case _:
            raise Inconclusive(f"{fn} in a definition")


def _sample(value: Array) -> tuple[int, ...]:
    """The residues of the first and the last number."""
    return tuple(x.p for n in (0, -1) if isinstance(x := value.item(n), Residue)) if value.size else ()


def _identical(one: Array, other: Array) -> bool:
    return all(isinstance(x, Residue) and x.is_identical(y) for x, y in zip(one.flat, other.flat, strict=True))


EQUAL_RESIDUES = ValueEquality(_sample, _identical)


def _reciprocal(number: int, modulus: int) -> int:
    return pow(number, -1, modulus) if number else 0


@memoize(1024)
def _residues(number: Fraction) -> tuple[int, int]:
    numerator, denominator = number.numerator, number.denominator
    return numerator * pow(denominator, -1, P) % P, numerator * pow(denominator, -1, Q) % Q


# ---------------------------------------------------------------- degrees and exponentials
def _check_count(exponents: Exponents) -> Exponents:
    if len(exponents) > MAX_EXPONENTIALS:
        raise Inconclusive(f"more than {MAX_EXPONENTIALS} exponentials in one number")
    return exponents


def _product_exponents(a: Exponents, b: Exponents) -> Exponents:
    """The exponentials of a product of polynomials."""
    if a is _NONE or a == _NONE:
        return b
    if b is _NONE or b == _NONE:
        return a
    return _check_count(frozenset((x + y) % Q for x in a for y in b))


def _times(a: tuple[int, Exponents], b: tuple[int, Exponents]) -> tuple[int, Exponents]:
    if b is _NOTHING:
        return a
    return a[0] + b[0], _product_exponents(a[1], b[1])


def _product(a: Denominators, b: Denominators) -> Denominators:
    powers = {key: (power, d, e) for key, power, d, e in a}
    for key, power, d, e in b:
        powers[key] = (power + powers[key][0] if key in powers else power, d, e)
    return tuple(sorted(((key, *rest) for key, rest in powers.items()), key=_by_residue))


def _common(a: Denominators, b: Denominators) -> Denominators:
    powers = {key: (power, d, e) for key, power, d, e in a}
    for key, power, d, e in b:
        powers[key] = (max(power, powers[key][0]) if key in powers else power, d, e)
    return tuple(sorted(((key, *rest) for key, rest in powers.items()), key=_by_residue))


def _by_residue(entry: tuple[int, int, int, Exponents]) -> int:
    return entry[0]


def _cofactor(has: Denominators, wanted: Denominators) -> tuple[int, Exponents]:
    """Degree and exponentials of the factor that extends a fraction from its denominators to the wanted ones."""
    if not wanted or has is wanted:
        return _NOTHING
    powers = {key: power for key, power, _, _ in has}
    total = _NOTHING
    for key, power, d, e in wanted:
        for _ in range(power - powers.get(key, 0)):
            total = _times(total, (d, e))
    return total


def error_bound(one: Residue, other: Residue) -> float:
    """A bound on the probability that two different functions have these equal values in a trial."""
    left = _times((one.degree, one.exponents), _cofactor((), other.denominators))
    right = _times((other.degree, other.exponents), _cofactor((), one.denominators))
    degree = max(left[0], right[0], one.height, other.height, 1)
    exponentials = len(left[1] | right[1]) if one.q is None or other.q is None else 0
    bound = _zero_probability(degree, exponentials) + sum(
        _zero_probability(d, k) for _, d, k in one.accidental_zeros | other.accidental_zeros
    )
    return min(1.0, bound * 8.0 ** len(one.roots | other.roots))


def _zero_probability(degree: int, exponentials: int) -> float:
    """A bound on the probability that a nonzero polynomial is 0 at a random point."""
    if not exponentials:
        return degree / Q
    return 8 * degree * exponentials**4 / Q + Q ** (-1 / exponentials**2)
