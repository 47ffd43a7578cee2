"""Arithmetic in two prime fields, with a bound on how often two different functions give equal results.

The interpreter runs a graph on these numbers as it does on floats. A number is a pair of residues, modulo p and
modulo q = (p - 1) / 2. Sums, products and quotients are taken in both. exp(x) is a power of a random generator of the
subgroup of order q, with x's residue modulo q as the exponent; so exp(a + b) = exp(a) · exp(b), and the result has a
residue modulo p only. A root is the square root that is a square itself; where there is none, the inputs it depends on
are drawn again. Functions that a field does not have (relu, tanh, gelu, erf) are a keyed hash of their argument: equal
arguments give equal results, and nothing else is used. A field has no order, so no maximum, mask or absolute value.

Each number stores what the bound needs. As a quotient: the degree of its numerator, its denominators, and the
exponentials that occur in them. A polynomial of degree d with k exponentials that is not 0 is 0 at a draw with
probability at most

    d / q                                where there is no exponential
    8 d k^4 / q + q^(-1/k^2)             otherwise

If two results differ as functions, a trial misses that only where the numerator of their difference is 0, or where a
divisor is 0, even one that cancels later: x/0 is 0 there, so the quotients are not the functions whose degrees are
counted. A result therefore stores all its divisors, and the bound is the sum over these and the numerator. Two
different arguments of a hashed function are equal in both fields even less often; they are counted likewise.

Roots, r of them in a result's element, kept only where each is a square in both fields, cost a factor of at most 8^r.
Two exponents, or two denominators, count as one where their residues are the same; for different ones that has
probability of the order of d / q, which the factor 8 covers, or where no exponential occurs the second field, which
must show the two alike as well and is not counted.

Source: Mirage's test on random residues (arXiv 2405.05751, section 5), but with inputs that are independent and
uniform, which that system's are not.
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
"""Both are prime and 3 modulo 4, so a square's square root is its (m + 1) / 4-th power."""

MOST_EXPONENTIALS = 64
"""In one number; with fewer, the bound is already useless."""

Exponents: TypeAlias = frozenset[int]
"""The exponentials that occur in a polynomial, by the residues of their exponents; 0 is none."""
Below: TypeAlias = tuple[tuple[int, int, int, Exponents], ...]
"""A number's denominators: residue, power, degree and exponentials of each, sorted."""

Slips: TypeAlias = frozenset[tuple[int, int, int]]
"""Divisors and hashed arguments, which may be 0 or equal by accident: residue, degree and number of exponentials."""

_NONE: Exponents = frozenset((0,))
_NOTHING: tuple[int, Exponents] = (0, _NONE)
"""Degree and exponentials of 1."""
_EMPTY: Slips = frozenset()


class Inconclusive(Exception):
    """A graph or a draw that fields cannot evaluate; it is caught in this package."""

    def __init__(self, reason: str, depends: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.depends = depends
        """The inputs, as bits, that must be drawn again; 0 where no other draw would help."""


@dataclass(frozen=True, slots=True)
class Field:
    """What one trial draws besides its inputs: a generator of the subgroup, and the key of the hash."""

    generator: int
    key: bytes

    @staticmethod
    def draw(rng: np.random.Generator) -> Field:
        """A random generator of the subgroup of order q, and a random key."""
        while (generator := pow(int(rng.integers(2, P)), 2, P)) == 1:
            pass
        return Field(generator, rng.bytes(16))


class Residue:
    """A number of the trial, with the degrees and exponentials of the function that it is a value of."""

    __slots__ = ("below", "degree", "depends", "exponents", "field", "height", "p", "q", "roots", "slips")

    def __init__(
        self,
        field: Field,
        p: int,
        q: int | None,
        degree: int = 0,
        exponents: Exponents = _NONE,
        below: Below = (),
        roots: frozenset[int] = frozenset(),
        depends: int = 0,
        height: int = 0,
        slips: Slips = _EMPTY,
    ) -> None:
        self.field, self.p, self.q = field, p, q
        self.degree, self.exponents, self.below = degree, exponents, below
        self.roots, self.depends, self.height, self.slips = roots, depends, height, slips

    # ------------------------------------------------------------ ring
    def __add__(self, other: object) -> Residue:
        o = other if isinstance(other, Residue) else self._of(other)
        q = None if self.q is None or o.q is None else (self.q + o.q) % Q
        if self.below is o.below or self.below == o.below:
            degree = self.degree if self.degree > o.degree else o.degree
            exponents, below = self.exponents, self.below
            if o.exponents is not exponents:
                exponents = _few(exponents | o.exponents)
        else:
            below = _common(self.below, o.below)
            one, two = (_times((x.degree, x.exponents), _missing(x.below, below)) for x in (self, o))
            degree, exponents = max(one[0], two[0]), _few(one[1] | two[1])
        return self._with(o, (self.p + o.p) % P, q, degree, exponents, below)

    __radd__ = __add__

    def _with(self, o: Residue, p: int, q: int | None, degree: int, exponents: Exponents, below: Below) -> Residue:
        """A sum or product of this and another number."""
        roots, slips = self.roots, self.slips
        if o.roots and o.roots is not roots:
            roots = roots | o.roots if roots else o.roots
        if o.slips and o.slips is not slips:
            slips = slips | o.slips if slips else o.slips
        height = self.height if self.height > o.height else o.height
        return Residue(self.field, p, q, degree, exponents, below, roots, self.depends | o.depends, height, slips)

    def __neg__(self) -> Residue:
        q = None if self.q is None else -self.q % Q
        return Residue(
            self.field,
            -self.p % P,
            q,
            self.degree,
            self.exponents,
            self.below,
            self.roots,
            self.depends,
            self.height,
            self.slips,
        )

    def __sub__(self, other: object) -> Residue:
        return self + -self._of(other)

    def __rsub__(self, other: object) -> Residue:
        return self._of(other) + -self

    def __mul__(self, other: object) -> Residue:
        o = other if isinstance(other, Residue) else self._of(other)
        q = None if self.q is None or o.q is None else self.q * o.q % Q
        below = _product(self.below, o.below) if self.below and o.below else self.below or o.below
        exponents = _spread(self.exponents, o.exponents)
        return self._with(o, self.p * o.p % P, q, self.degree + o.degree, exponents, below)

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
        """Whether residues, degrees, denominators and exponentials are equal, and so all bounds."""
        return self is other or (
            isinstance(other, Residue)
            and (self.p, self.q, self.degree, self.height, self.below)
            == (other.p, other.q, other.degree, other.height, other.below)
            and (self.exponents, self.roots, self.slips) == (other.exponents, other.roots, other.slips)
        )

    def _inverse(self) -> Residue:
        """1/x, and 0 for 0."""
        q = None if self.q is None else _reciprocal(self.q, Q)
        above: tuple[int, Exponents] = _missing((), self.below)
        below: Below = ((self.p, 1, self.degree, self.exponents),)
        slips = self.slips
        if self.degree == 0 and len(self.exponents) == 1:
            (only,) = self.exponents
            above, below = (above[0], frozenset((e - only) % Q for e in above[1])), ()
        else:
            degree = max(self.degree, self.height)
            slips |= {(self.p, degree, 0 if self.exponents == _NONE else len(self.exponents))}
        p = _reciprocal(self.p, P)
        return Residue(self.field, p, q, *above, below, self.roots, self.depends, self.height, slips)

    def _of(self, other: object) -> Residue:
        if isinstance(other, Residue):
            return other
        return Residue(self.field, *_residues(Fraction(other)))  # type: ignore[arg-type]

    # ------------------------------------------------------------ functions
    def exp(self) -> Residue:
        """A power of the generator; it has no residue modulo q."""
        if self.q is None:
            raise Inconclusive("an exponential of an exponential")
        p = pow(self.field.generator, self.q, P)
        only, height = frozenset((self.q,)), max(self.height, self._whole_degree)
        return Residue(self.field, p, None, 0, only, (), self.roots, self.depends, height, self.slips)

    @property
    def _whole_degree(self) -> int:
        """Of numerator and denominators together."""
        return self.degree + sum(power * d for _, power, d, _ in self.below)

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
        degree = self._whole_degree
        return Residue(self.field, p, q, degree, _NONE, (), roots, self.depends, self.height, self.slips)

    def _hashed(self, name: str) -> Residue:
        """An unknown function: a new variable per argument."""
        if self.q is None:
            raise Inconclusive(f"{name} of an exponential")
        text = f"{name} {self.p} {self.q}".encode()
        drawn = int.from_bytes(blake2b(text, key=self.field.key, digest_size=16).digest(), "little")
        p, q = drawn % P, (drawn >> 64) % Q
        slips = self.slips | {(p, self._whole_degree, 0)}
        return Residue(self.field, p, q, 1, _NONE, (), self.roots, self.depends, self.height, slips)

    def has_own(self, row: ElementwiseFunction) -> bool:
        """Whether `elementwise` is to be used for a row: where its NumPy meaning needs more than these methods."""
        return row.name not in _BY_NUMPY

    def elementwise(self, row: ElementwiseFunction) -> Residue:
        """A function by its definition if that is inlined, else uninterpreted."""
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
    """The residues of the first number and of the last."""
    return tuple(x.p for n in (0, -1) if isinstance(x := value.item(n), Residue)) if value.size else ()


def _identical(one: Array, other: Array) -> bool:
    return all(isinstance(x, Residue) and x.is_identical(y) for x, y in zip(one.flat, other.flat, strict=True))


ALIKE = ValueEquality(_sample, _identical)


def _reciprocal(number: int, modulus: int) -> int:
    return pow(number, -1, modulus) if number else 0


@memoize(1024)
def _residues(number: Fraction) -> tuple[int, int]:
    above, below = number.numerator, number.denominator
    return above * pow(below, -1, P) % P, above * pow(below, -1, Q) % Q


# ---------------------------------------------------------------- degrees and exponentials
def _few(exponents: Exponents) -> Exponents:
    if len(exponents) > MOST_EXPONENTIALS:
        raise Inconclusive(f"more than {MOST_EXPONENTIALS} exponentials in one number")
    return exponents


def _spread(a: Exponents, b: Exponents) -> Exponents:
    """The exponentials of a product."""
    if a is _NONE or a == _NONE:
        return b
    if b is _NONE or b == _NONE:
        return a
    return _few(frozenset((x + y) % Q for x in a for y in b))


def _times(a: tuple[int, Exponents], b: tuple[int, Exponents]) -> tuple[int, Exponents]:
    if b is _NOTHING:
        return a
    return a[0] + b[0], _spread(a[1], b[1])


def _product(a: Below, b: Below) -> Below:
    powers = {key: (power, d, e) for key, power, d, e in a}
    for key, power, d, e in b:
        powers[key] = (power + powers[key][0] if key in powers else power, d, e)
    return tuple(sorted(((key, *rest) for key, rest in powers.items()), key=_by_residue))


def _common(a: Below, b: Below) -> Below:
    powers = {key: (power, d, e) for key, power, d, e in a}
    for key, power, d, e in b:
        powers[key] = (max(power, powers[key][0]) if key in powers else power, d, e)
    return tuple(sorted(((key, *rest) for key, rest in powers.items()), key=_by_residue))


def _by_residue(entry: tuple[int, int, int, Exponents]) -> int:
    return entry[0]


def _missing(has: Below, wanted: Below) -> tuple[int, Exponents]:
    """Degree and exponentials of what a numerator is multiplied by when its denominators grow."""
    if not wanted or has is wanted:
        return _NOTHING
    powers = {key: power for key, power, _, _ in has}
    total = _NOTHING
    for key, power, d, e in wanted:
        for _ in range(power - powers.get(key, 0)):
            total = _times(total, (d, e))
    return total


def error_bound(one: Residue, other: Residue) -> float:
    """How likely a trial shows these two alike where they are values of different functions, at most."""
    left = _times((one.degree, one.exponents), _missing((), other.below))
    right = _times((other.degree, other.exponents), _missing((), one.below))
    degree = max(left[0], right[0], one.height, other.height, 1)
    exponentials = len(left[1] | right[1]) if one.q is None or other.q is None else 0
    bound = _vanishes(degree, exponentials) + sum(_vanishes(d, k) for _, d, k in one.slips | other.slips)
    return min(1.0, bound * 8.0 ** len(one.roots | other.roots))


def _vanishes(degree: int, exponentials: int) -> float:
    """How likely a polynomial that is not 0 is 0 at a draw, at most."""
    if not exponentials:
        return degree / Q
    return 8 * degree * exponentials**4 / Q + Q ** (-1 / exponentials**2)
