"""The normal form: a tensor's element as a sum of products of powers over explicit indices.

    NormalForm  =  sum of  coefficient * Term
    Term        =  sum over its bound indices of a product of  Atom ^ exponent
    Atom        =  x[i, ..] | a size | a prime | exp(Term) | (NormalForm) | f(NormalForm, ..)

What a program computes at a position is one such form over the position's indices p0, p1, ..; inside
a custom kernel also over the block's coordinates g0, .. and the loop's index l. Two tensors with the
same form are equal for all sizes and all inputs. Bound indices bear canonical names and everything is
ordered by `key`, so that equality is a comparison of two texts.

Here are the data, their signs, the table of rules and the printed form; `algebra` applies the rules.
Forms are built by `algebra.Algebra` only, which keeps them canonical.

Values are real numbers with the total convention x/0 = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

from prism_explore.verify.index import Index, Keyed, Rule, Var, show_index, show_name

Number: TypeAlias = int | Fraction
"""An exact rational; a whole one is always an `int`."""

Sign: TypeAlias = Literal[0, 1, 2]
"""What is known for all inputs: 2 greater than zero, 1 not less than zero, 0 nothing."""

_CLOSED: frozenset[str] = frozenset()
POSITIVE_FUNCTIONS = frozenset({"sigmoid"})
NONNEGATIVE_FUNCTIONS = frozenset({"relu"})


def number(x: Number) -> Number:
    """The same number, as an `int` where it is whole."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


class Signed(Keyed):
    """A term whose sign is known as far as its shape tells."""

    __slots__ = ("sign",)
    sign: Sign

    def _sign(self, sign: Sign) -> None:
        object.__setattr__(self, "sign", sign)


@dataclass(frozen=True, slots=True, eq=False)
class Read(Signed):
    """An element of an input tensor."""

    tensor: str
    indices: tuple[Index, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*(i.free for i in self.indices))
        self._know(f"{self.tensor!r}[{','.join(i.key for i in self.indices)}]", free)
        self._sign(0)


@dataclass(frozen=True, slots=True, eq=False)
class Size(Signed):
    """A size symbol as a number; it is a positive integer."""

    symbol: str

    def __post_init__(self) -> None:
        self._know(f"#{self.symbol}", _CLOSED)
        self._sign(2)


@dataclass(frozen=True, slots=True, eq=False)
class Prime(Signed):
    """A prime number under a root, such as the 2 in 2^1/2."""

    value: int

    def __post_init__(self) -> None:
        self._know(f"#{self.value}", _CLOSED)
        self._sign(2)


@dataclass(frozen=True, slots=True, eq=False)
class Exp(Signed):
    """The exponential of one term; the term's coefficient is the exponent that stands outside."""

    term: Term

    def __post_init__(self) -> None:
        self._know(f"exp{{{self.term.key}}}", self.term.free, self.term.height)
        self._sign(2)


@dataclass(frozen=True, slots=True, eq=False)
class Group(Signed):
    """A sum as the base of a power that is no natural number."""

    inner: NormalForm

    def __post_init__(self) -> None:
        self._know(f"{{{self.inner.key}}}", self.inner.free, self.inner.height)
        self._sign(self.inner.sign)


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Signed):
    """A function of which only its name, its arguments and its sign are known.

    `silu`, `sigmoid`, `relu`, `tanh`, and `pow1/2` or `pow-1/2` for roots of what may be negative.
    """

    function: str
    args: tuple[NormalForm, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*(a.free for a in self.args))
        key = f"@{self.function}{{{';'.join(a.key for a in self.args)}}}"
        self._know(key, free, max(a.height for a in self.args))
        if self.function in POSITIVE_FUNCTIONS:
            self._sign(2)
        else:
            self._sign(1 if self.function in NONNEGATIVE_FUNCTIONS else 0)


Atom: TypeAlias = Read | Size | Prime | Exp | Group | Opaque
Factor: TypeAlias = tuple[Atom, Number]
"""An atom and its exponent. Exponent 0 is kept where the atom may be zero: x^0 is 1 where x is not 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Term(Signed):
    """A product of powers, summed over its bound indices. No index is bound in vain."""

    bound: tuple[Var, ...]
    factors: tuple[Factor, ...]
    """Ordered by the atoms' keys; no atom twice."""

    def __post_init__(self) -> None:
        product = "*".join(f"{a.key}^{e}" for a, e in self.factors)
        free = _CLOSED.union(*(a.free for a, _ in self.factors))
        height = max((a.height for a, _ in self.factors), default=0)
        if self.bound:
            self._know(
                f"S[{','.join(v.key for v in self.bound)}]{product}",
                free.difference(v.name for v in self.bound),
                height + 1,
            )
        else:
            self._know(product, free, height)
        if all(a.sign == 2 for a, _ in self.factors):
            self._sign(2)
        else:
            even = all(a.sign or (isinstance(e, int) and e % 2 == 0) for a, e in self.factors)
            self._sign(1 if even else 0)


@dataclass(frozen=True, slots=True, eq=False)
class NormalForm(Signed):
    """A sum of terms with coefficients, ordered by the terms' keys; the empty sum is 0."""

    terms: tuple[tuple[Term, Number], ...]

    def __post_init__(self) -> None:
        key = "+".join(f"{c}.{t.key}" for t, c in self.terms)
        free = _CLOSED.union(*(t.free for t, _ in self.terms))
        self._know(key, free, max((t.height for t, _ in self.terms), default=0))
        if all(c > 0 and t.sign for t, c in self.terms):
            self._sign(2 if any(t.sign == 2 for t, _ in self.terms) else 1)
        else:
            self._sign(0)


UNIT = Term((), ())
NF_ZERO = NormalForm(())
NF_ONE = NormalForm(((UNIT, 1),))

_FIELD, _SUMS = "field of real numbers with x/0 = 0", "finite sums"

RULES: tuple[Rule, ...] = (
    Rule("S1", "Σ(a + b) = Σa + Σb", "A sum of sums is taken term by term.", "-", _SUMS),
    Rule(
        "S2",
        "a * Σ_k b = Σ_k a*b; Σ_j Σ_k = Σ_k Σ_j",
        "Factors move into sums, and sums into one.",
        "k does not occur in a; bound indices are renamed first",
        "distributivity over finite sums",
    ),
    Rule(
        "S3",
        "Σ_{a<A} Σ_{b<B} E = Σ_{k<A*B} E[a := Digit(k;1,A,B), b := Digit(k;A,B,1)]",
        "Summing over blocks and within blocks is summing over all.",
        "applied where a is always directly followed by b; true for every E",
        "(a, b) and k correspond one to one",
    ),
    Rule(
        "S4",
        "Σ_{k<n} E = Σ_{k1} .. Σ_{km} E[k := Radix(k1, .., km)]",
        "A sum over a number is a sum over each of its digits.",
        "the parts' extents are integers with product n",
        "k and (k1, .., km) correspond one to one",
    ),
    Rule(
        "S5",
        "Σ_{k<n} c = n * c",
        "Adding the same n times is multiplying by n.",
        "k does not occur in c",
        _SUMS,
    ),
    Rule(
        "S7",
        "(Σ_k m) * (Σ_k m)^e = (Σ_k m)^(e+1)",
        "A sum that is also the base of a power joins it.",
        "e < 0; exponent 0 is kept unless the sum is positive",
        "x * x^e = x^(e+1) for every real x, where x^0 is 1 where x is not 0",
    ),
    Rule("R1", "a + b = b + a, a*b = b*a, a*(b + c) = a*b + a*c, ..", "Real arithmetic.", "-", _FIELD),
    Rule(
        "P1",
        "a^m * a^n = a^(m+n)",
        "Exponents add; a^0 stays where a may be zero.",
        "a root's base is provably not negative; a^0 is dropped where a is provably positive",
        _FIELD,
    ),
    Rule("P2", "(x*y)^n = x^n * y^n", "A whole power of a product.", "n is whole", _FIELD),
    Rule(
        "P3",
        "(x*y)^q = x^q * y^q",
        "A root of a product.",
        "every factor is provably not negative",
        "roots of nonnegative numbers",
    ),
    Rule("P4", "N^e = N * N^(e-1)", "Whole powers of sums are multiplied out.", "e >= 1", _FIELD),
    Rule(
        "P5",
        "(g*r1 + g*r2 + ..)^q = g^q * (r1 + r2 + ..)^q",
        "A common factor leaves a power.",
        "g is a positive number, or occurs with exponents of one sign in all terms, or is provably positive; "
        "a fractional q needs g provably not negative",
        "P2, P3 and distributivity, also at zero",
    ),
    Rule(
        "E1",
        "exp(a + c*b) = exp(a) * exp(b)^c",
        "An exponential of a sum is a product.",
        "-",
        "exponential law",
    ),
    Rule("E2", "exp(t) > 0", "Exponentials may cancel.", "-", "exponential law"),
    Rule(
        "F1",
        "silu(x) = x / (1 + exp(-x)), sigmoid(x) = 1 / (1 + exp(-x))",
        "Named functions are spelled out.",
        "only where the other side spells them differently",
        "definition",
    ),
    Rule(
        "F2",
        "relu(c*p*x) = c*p*relu(x)",
        "relu lets positive factors through.",
        "c > 0, p provably not negative",
        "relu is positively homogeneous",
    ),
    Rule("F3", "relu(x) = x", "relu leaves what is not negative.", "x provably not negative", "definition"),
    Rule("F4", "f(a) = f(b)", "Equal arguments give equal values, for any function.", "a = b", "congruence"),
)
"""Rules over maxima, intervals and scans (M, C, L) join when an operator needs them."""


def show_atom(a: Atom) -> str:
    """For people, such as `x[p0,k1]`."""
    match a:
        case Read(tensor, indices):
            return f"{tensor}[{','.join(show_index(i) for i in indices)}]"
        case Size(symbol):
            return symbol
        case Prime(value):
            return str(value)
        case Exp(term):
            return f"exp({show_term(term)})"
        case Group(inner):
            return f"({show(inner)})"
        case Opaque(function, args):
            return f"{function}({', '.join(show(n) for n in args)})"
        case _:
            assert_never(a)


def show_term(t: Term, coefficient: Number = 1) -> str:
    """For people, such as `Σ_{k1:4096} w[k1,p1] x[p0,k1]`."""
    words = [show_atom(a) + (f"^{e}" if e != 1 else "") for a, e in t.factors]
    if t.bound:
        words.insert(0, f"Σ_{{{','.join(f'{show_name(v.name)}:{v.extent}' for v in t.bound)}}}")
    if coefficient == -1 and words:
        words[0] = f"-{words[0]}"
    elif coefficient != 1 or not words:
        words.insert(0, str(coefficient))
    return " ".join(words)


def show(n: NormalForm) -> str:
    """For people; one line, deterministic."""
    return " + ".join(show_term(t, c) for t, c in n.terms) or "0"
