"""Numbers without rounding, for `plain_evaluator`: residues of two primes, and rationals with an order.

Two graphs that are equal over the real numbers with x/0 = 0 are equal here, whatever the inputs: residues obey the laws
of sums, products, quotients, roots of squares and exponentials, and so do rationals, which have an order as well. A
function without an exact value is a stand-in with what its row declares and nothing else: parity, zero, range,
direction. `NoValue` says that other inputs must be drawn.

The primes are not those of the refuter: they have 62 bits, so that two different functions are equal at random residues
with a probability of the order of 1e-18 times their degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from hashlib import blake2b
from math import floor
from typing import Any

from prism_explore.ir.elementwise import UNARY, ElementwiseFunction
from prism_explore.ir.formulas import evaluate, formula, functions
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Accumulate, Binary, Op, Reduce, RunningMax, Scalar, Unary
from tests.soundness.plain_evaluator import operators_of
from tests.verify.exact import BOTTOM, Exact, Inexact

Q = 2305843009213688159
P = 2 * Q + 1
"""Both are prime and 3 modulo 4, so that a square has the root x^((m + 1) / 4), and 2 is a square modulo P."""


class NoValue(Exception):
    """These inputs have no value that says anything: draw others."""


# ---------------------------------------------------------------- what needs an order
NEEDS_ORDER = frozenset({"max", "min", "mask", "abs", "sign", "relu", "floor", "positive"})
"""Functions that residues cannot have, because a field has no order."""
TURNS_AT_ZERO = frozenset({"is_zero", "nonzero", "to_bool", "keep", "drop"})
"""Functions that show only at a 0, which a random residue never is."""

SQUARES = frozenset({"exp", "sqrt", "rsqrt", "square"})
"""Positive functions whose residues are squares, so that the root of x*x is x."""


def needs_order(graph: SGraph) -> bool:
    """Whether some operator compares numbers, so that residues say nothing."""
    return any(map(_compares, (node.op for node in operators_of(graph))))


def has_root_of_positive(graph: SGraph) -> bool:
    """Whether a root is taken beside a positive function that is no square: of x*x, residues may find the root -x."""
    ops = [node.op for node in operators_of(graph)]
    functions_used = [op.fn for op in ops if isinstance(op, Unary)]
    takes_root = any(_spelled(fn) & {"sqrt", "rsqrt"} for fn in functions_used) or any(
        isinstance(op, Reduce | Accumulate | Scalar) and op.fn in ("rms", "pow") for op in ops
    )
    return takes_root and any(fn not in SQUARES and UNARY[fn].range.low >= 0 for fn in functions_used)


def has_logarithm(graph: SGraph) -> bool:
    """Whether a logarithm is taken somewhere: log(exp(x)) = x holds for no residue, and for few rationals."""
    return any(isinstance(node.op, Unary) and "log" in _spelled(node.op.fn) for node in operators_of(graph))


def _compares(op: Op) -> bool:
    match op:
        case Binary(fn) | Scalar(fn, _) | Reduce(fn, _) | Accumulate(fn, _):
            return fn in NEEDS_ORDER | TURNS_AT_ZERO
        case Unary(fn):
            return (
                bool(_spelled(fn) & (NEEDS_ORDER | TURNS_AT_ZERO))
                or UNARY[fn].is_step
                or fn in ("nonnegative", "is_nan")
            )
        case RunningMax():
            return True
        case _:
            return False


def _spelled(fn: str) -> frozenset[str]:
    """The functions that a function is made of, itself included."""
    row = UNARY.get(fn)
    if row is None or not row.definition:
        return frozenset((fn,))
    return frozenset((fn,)).union(*map(_spelled, functions(formula(row.definition)) - {fn}))


# ---------------------------------------------------------------- residues
@dataclass(frozen=True, slots=True)
class Residue:
    """A number modulo P and, unless it is an exponential, modulo Q, where exponents are taken."""

    p: int
    q: int | None


@dataclass(frozen=True)
class Residues:
    """Arithmetic modulo both primes; exp(x) is a power of a generator of the subgroup of order Q."""

    generator: int
    key: bytes

    def number(self, value: Fraction) -> Residue:
        """A rational."""
        return Residue(*(value.numerator * pow(value.denominator, -1, m) % m for m in (P, Q)))

    def binary(self, fn: str, x: Residue, y: Residue) -> Residue:
        """x/0 is 0."""
        match fn:
            case "add":
                return _both(lambda a, b, _: a + b, x, y)
            case "sub":
                return _both(lambda a, b, _: a - b, x, y)
            case "mul":
                return _both(lambda a, b, _: a * b, x, y)
            case "div":
                return _both(lambda a, b, m: a * pow(b, m - 2, m), x, y)
            case "keep" | "drop":
                return x if (y.p != 0) == (fn == "keep") else Residue(0, 0)
            case _:
                raise NoValue(f"{fn} of residues")

    def total(self, terms: Sequence[Residue]) -> Residue:
        """The sum."""
        return reduce(lambda a, b: self.binary("add", a, b), terms)

    def power(self, x: Residue, exponent: Fraction) -> Residue:
        """Of whole numbers and halves."""
        if exponent.denominator == 2:
            x = self.unary("sqrt", x)
        elif exponent.denominator != 1:
            raise NoValue(f"a power of {exponent}")
        return _both(lambda a, _, m: pow(a, exponent.numerator % (m - 1), m) if a else 0, x, x)

    def unary(self, fn: str, x: Residue) -> Residue:
        """A function, by its definition where it has one."""
        match fn:
            case "exp":
                if x.q is None:
                    raise NoValue("an exponential of an exponential")
                return Residue(pow(self.generator, x.q, P), None)
            case "sqrt":
                root = pow(x.p, (P + 1) // 4, P)
                if root * root % P != x.p:
                    raise NoValue("no root")
                other = None if x.q is None else pow(x.q, (Q + 1) // 4, Q)
                return Residue(root, other if other is not None and other * other % Q == x.q else None)
            case _ if UNARY[fn].definition:
                return evaluate(formula(UNARY[fn].definition), {"x": x}, self.number, self._operation)
            case _:
                return self._unknown(UNARY[fn], x)

    def _operation(self, fn: str, args: tuple[Residue, ...]) -> Residue:
        match fn, args:
            case "neg", (x,):
                return self.binary("sub", Residue(0, 0), x)
            case _, (x,):
                return self.unary(fn, x)
            case _:
                return self.binary(fn, *args)

    def _unknown(self, row: ElementwiseFunction, x: Residue) -> Residue:
        """Some function, which has the parity and the zero that the row declares."""
        if x.q is None:
            raise NoValue(f"{row.name} of an exponential")
        if x == Residue(0, 0) and (row.zero_at_zero or row.parity == "odd"):
            return x
        negated = row.parity != "" and x.p > P - x.p
        argument = (P - x.p, -x.q % Q) if negated else (x.p, x.q)
        drawn = blake2b(f"{row.name} {argument}".encode(), key=self.key, digest_size=32).digest()
        p, q = int.from_bytes(drawn[:16], "little") % P, int.from_bytes(drawn[16:], "little") % Q
        return Residue(-p % P, -q % Q) if negated and row.parity == "odd" else Residue(p, q)

    def agree(self, x: Residue, y: Residue) -> bool:
        """Whether they are equal."""
        return x.p == y.p and (x.q is None or y.q is None or x.q == y.q)


def _both(fn: Any, x: Residue, y: Residue) -> Residue:
    q = None if x.q is None or y.q is None else fn(x.q, y.q, Q) % Q
    return Residue(fn(x.p, y.p, P) % P, q)


# ---------------------------------------------------------------- rationals
class Rationals:
    """Exact rationals with an order, and with multiples of a number that goes to minus infinity for what is masked."""

    def __init__(self, has_masks: bool) -> None:
        self._has_masks = has_masks
        """Whether 0 as a divisor may be a sum of nothing but masked entries, which no claim is about."""

    def number(self, value: Fraction) -> Exact:
        """A rational."""
        return Exact(value)

    def binary(self, fn: str, x: Exact, y: Exact) -> Exact:
        """x/0 is 0."""
        match fn:
            case "add":
                return x + y
            case "sub":
                return x - y
            case "mul":
                return x * y
            case "div":
                if self._has_masks and y == 0:
                    raise NoValue("a divisor of masked entries")
                return x / y
            case "max":
                return max(x, y)
            case "min":
                return min(x, y)
            case "mask":
                return x if y != 0 else BOTTOM
            case "keep" | "drop":
                return x if (y != 0) == (fn == "keep") else Exact(0)
            case _:
                raise NotImplementedError(f"{fn}: add a case to tests/soundness/numbers.py")

    def total(self, terms: Sequence[Exact]) -> Exact:
        """The sum."""
        return reduce(lambda a, b: a + b, terms)

    def power(self, x: Exact, exponent: Fraction) -> Exact:
        """Of rationals with such a root."""
        return x**exponent

    def unary(self, fn: str, x: Exact) -> Exact:
        """A function, by its definition where it has one."""
        match fn:
            case "exp":
                return x.exp()
            case "sqrt":
                return x.root(2)
            case "floor" if not x.low:
                return Exact(floor(x.value))
            case "round" if not x.low:
                return Exact(round(x.value))
            case "log" if not x.low and x.value > 0:
                return _logarithm(x.value)
            case _ if UNARY[fn].definition:
                return evaluate(formula(UNARY[fn].definition), {"x": x}, self.number, self._operation)
            case _:
                return self._unknown(UNARY[fn], x)

    def _operation(self, fn: str, args: tuple[Exact, ...]) -> Exact:
        match fn, args:
            case "neg", (x,):
                return -x
            case _, (x,):
                return self.unary(fn, x)
            case "div", (x, y):
                return x / y
            case _:
                return self.binary(fn, *args)

    def _unknown(self, row: ElementwiseFunction, x: Exact) -> Exact:
        """Some function with the row's parity, zero, range and direction."""
        if x.low or row.is_step or float(x.value) not in row.domain:
            raise NoValue(f"{row.name} of {x}")
        low, high = max(row.range.low, -8), min(row.range.high, 8)
        if row.name == "is_nan":
            return Exact(0)
        bent = x / (1 + abs(x))
        if row.parity == "even":
            bent = bent * bent
        if row.monotone == "decreasing":
            bent = -bent
        if row.zero_at_zero or row.parity == "odd":
            return bent * Fraction(min(abs(low), abs(high)) or max(abs(low), abs(high)))
        middle, reach = Fraction(low + high) / 2, Fraction(high - low) / 2
        return Exact(middle) + bent * reach

    def agree(self, x: Exact, y: Exact) -> bool:
        """Whether they are equal, or are both minus infinity in the limit."""
        return x == y or (x.low > 0 and y.low > 0)


def _logarithm(value: Fraction) -> Exact:
    """The exponent of 64, which stands for e, where it is a sixth of a whole number."""
    for number, sign in ((value, 1), (1 / value, -1)):
        if number.denominator == 1 and number.numerator & (number.numerator - 1) == 0:
            return Exact(Fraction(sign * (number.numerator.bit_length() - 1), 6))
    raise Inexact
