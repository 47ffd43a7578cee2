"""The normal form of a tensor's element: a sum of products of powers over explicit indices.

    NormalForm  =  sum of  coefficient * Term
    Term        =  sum over its bound indices of a product of  Atom ^ exponent
    Atom        =  x[i, ..] | a size | a prime | exp(Term) | (NormalForm) | f(NormalForm, ..)
                |  [low <= j - i <= high] | [low <= i < high]                  both 0 or 1
                |  max(NormalForm, ..) over bound indices | a running maximum | minus infinity where masked

A tensor's form is a function of its position p0, p1, ..; inside a custom kernel also of the block's coordinates
g0, .. and the loop's index l. Two tensors with the same form are equal for all sizes and all inputs. Bound indices have
canonical names and everything is ordered by `key`, so that equality is a comparison of two strings.

This module has the data, their signs and the printed form. Only `algebra.Algebra` builds forms; it applies the rules,
which `tests/verify/normal_form/rules.py` lists.

Values are real numbers with the total convention x/0 = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

from prism_explore.ir.dims import Dim
from prism_explore.ir.elementwise import UNARY
from prism_explore.verify.normal_form.index import Index, Keyed, Var, show_index, show_name

Number: TypeAlias = int | Fraction
"""An exact rational; an integer is always an `int`."""

Sign: TypeAlias = Literal[0, 1, 2]
"""The sign for all inputs: 2 greater than zero, 1 not less than zero, 0 unknown."""

_CLOSED: frozenset[str] = frozenset()


def number(x: Number) -> Number:
    """A number, as an `int` if it is an integer."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


class Signed(Keyed):
    """A term with a sign that follows from its structure."""

    __slots__ = ("sign",)
    sign: Sign

    def _set_sign(self, sign: Sign) -> None:
        object.__setattr__(self, "sign", sign)


@dataclass(frozen=True, slots=True, eq=False)
class Read(Signed):
    """An element of an input tensor."""

    tensor: str
    indices: tuple[Index, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*[i.free for i in self.indices])
        depth = max([i.depth for i in self.indices], default=0)
        self._set_key(f"{self.tensor!r}[{','.join([i.key for i in self.indices])}]", free, 0, depth)
        self._set_sign(0)


@dataclass(frozen=True, slots=True, eq=False)
class Size(Signed):
    """A size symbol as a number; it is a positive integer."""

    symbol: str

    def __post_init__(self) -> None:
        self._set_key(f"#{self.symbol}", _CLOSED)
        self._set_sign(2)


@dataclass(frozen=True, slots=True, eq=False)
class Prime(Signed):
    """A prime number under a root, such as the 2 in 2^1/2."""

    value: int

    def __post_init__(self) -> None:
        self._set_key(f"#{self.value}", _CLOSED)
        self._set_sign(2)


@dataclass(frozen=True, slots=True, eq=False)
class Exp(Signed):
    """The exponential of one term; its exponent as a factor is the term's coefficient."""

    term: Term

    def __post_init__(self) -> None:
        self._set_key(f"exp{{{self.term.key}}}", self.term.free, self.term.height, self.term.depth + 1)
        self._set_sign(2)


@dataclass(frozen=True, slots=True, eq=False)
class Group(Signed):
    """A sum as the base of a power whose exponent is no positive integer."""

    inner: NormalForm

    def __post_init__(self) -> None:
        self._set_key(f"{{{self.inner.key}}}", self.inner.free, self.inner.height, self.inner.depth + 1)
        self._set_sign(self.inner.sign)


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Signed):
    """A function without rules: a name, arguments and a sign.

    The functions are the symbols of `UNARY`, and `sqrt`, `root3`, `root4`, .. for roots of values that may be negative:
    the nonnegative root where the value is not negative, and elsewhere any number with √(a b) = √a √b for a > 0.
    """

    function: str
    args: tuple[NormalForm, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*(a.free for a in self.args))
        key = f"@{self.function}{{{';'.join(a.key for a in self.args)}}}"
        self._set_key(key, free, max(a.height for a in self.args), 1 + max(a.depth for a in self.args))
        row = UNARY.get(self.function)
        sign = row.sign if row is not None else ""
        self._set_sign(2 if sign == "positive" else 1 if sign == "nonnegative" else 0)


@dataclass(frozen=True, slots=True, eq=False)
class InBand(Signed):
    """1 where `low <= column - row <= high`, else 0; None is no bound.

    This is an element of a band, a tensor that is given by a formula and has no name. Its only exponent is 1.
    """

    low: Dim | None
    high: Dim | None
    row: Index
    column: Index

    def __post_init__(self) -> None:
        key = f"[{_bound(self.low)}<={self.column.key}-{self.row.key}<={_bound(self.high)}]"
        self._set_key(key, self.row.free | self.column.free)
        self._set_sign(1)


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Signed):
    """1 where `low <= index < high`, else 0: the range of one operand of a concatenation. Its only exponent is 1."""

    index: Index
    low: Dim
    high: Dim

    def __post_init__(self) -> None:
        self._set_key(f"[{self.low}<={self.index.key}<{self.high}]", self.index.free)
        self._set_sign(1)


@dataclass(frozen=True, slots=True, eq=False)
class Bottom(Signed):
    """The summand of a mask: 0 where `keep` is not 0, else a number that goes to minus infinity.

    `keep` is 0 or 1 everywhere. It is always a full term of a sum with coefficient 1, because a positive multiple goes
    to minus infinity, too.
    """

    keep: NormalForm

    def __post_init__(self) -> None:
        self._set_key(f"bottom{{{self.keep.key}}}", self.keep.free, self.keep.height, self.keep.depth + 1)
        self._set_sign(0)


@dataclass(frozen=True, slots=True, eq=False)
class MaxOperand(Keyed):
    """An operand of a maximum: a form at all values of its bound indices, all of which occur in it."""

    bound: tuple[Var, ...]
    inner: NormalForm
    order_is_stable: bool = True
    """See `Term.order_is_stable`."""

    def __post_init__(self) -> None:
        free, height = self.inner.free, self.inner.height
        if self.bound:
            free, height = free.difference(v.name for v in self.bound), height + 1
        self._set_key(f"[{','.join(v.key for v in self.bound)}]{self.inner.key}", free, height, self.inner.depth)


@dataclass(frozen=True, slots=True, eq=False)
class Max(Signed):
    """The greatest value of any operand; operands are ordered by key, none twice."""

    operands: tuple[MaxOperand, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*(p.free for p in self.operands))
        key = f"max{{{';'.join(p.key for p in self.operands)}}}"
        self._set_key(key, free, max(p.height for p in self.operands), 1 + max(p.depth for p in self.operands))
        signs = {p.inner.sign for p in self.operands}
        self._set_sign(2 if 2 in signs else 1 if 1 in signs else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Running(Signed):
    """The greatest value of `inner` for `var` from 0 up to and including `at`: a running maximum."""

    var: Var
    inner: NormalForm
    at: Index

    def __post_init__(self) -> None:
        free = self.inner.free - {self.var.name} | self.at.free
        key = f"run{{[{self.var.key}]{self.inner.key}}}@{self.at.key}"
        self._set_key(key, free, self.inner.height + 1, self.inner.depth + 1)
        self._set_sign(self.inner.sign)


def _bound(d: Dim | None) -> str:
    return "" if d is None else str(d)


Atom: TypeAlias = Read | Size | Prime | Exp | Group | Opaque | InBand | Interval | Bottom | Max | Running
Factor: TypeAlias = tuple[Atom, Number]
"""An atom and its exponent. Exponent 0 is kept where the atom may be zero: x^0 is 1 where x is not 0."""


class Summed(Signed):
    """A term or a sum of terms, with flags for what needs special rules."""

    __slots__ = ("guarded", "masked")
    guarded: bool
    """Whether an interval is a factor of it, or of the `keep` of a mask in it."""
    masked: bool
    """Whether it may be minus infinity."""

    def _set_flags(self, guarded: bool, masked: bool) -> None:
        object.__setattr__(self, "guarded", guarded)
        object.__setattr__(self, "masked", masked)


@dataclass(frozen=True, slots=True, eq=False)
class Term(Summed):
    """A product of powers, summed over its bound indices, all of which occur in it."""

    bound: tuple[Var, ...]
    factors: tuple[Factor, ...]
    """Ordered by the atoms' keys; no atom twice."""
    order_is_stable: bool = True
    """Whether renaming free indices never changes the order of the bound ones."""

    def __post_init__(self) -> None:
        words: list[str] = []
        height, depth, positive, even, guarded, masked = 0, 0, True, True, False, False
        for a, e in self.factors:
            words.append(a.key if e == 1 else f"{a.key}^{e}")
            if a.height > height:
                height = a.height
            if a.depth > depth:
                depth = a.depth
            if a.sign != 2:
                positive = False
                if not a.sign and not (isinstance(e, int) and e % 2 == 0):
                    even = False
            kind = type(a)
            guarded = guarded or kind is Interval
            if isinstance(a, Bottom):
                guarded, masked = guarded or a.keep.guarded, True
        key, free = "*".join(words), _CLOSED.union(*[a.free for a, _ in self.factors])
        if self.bound:
            key = f"S[{','.join([v.key for v in self.bound])}]{key}"
            free, height = free.difference([v.name for v in self.bound]), height + 1
        self._set_key(key, free, height, depth)
        self._set_sign(2 if positive else 1 if even else 0)
        self._set_flags(guarded, masked)


@dataclass(frozen=True, slots=True, eq=False)
class NormalForm(Summed):
    """A sum of terms with coefficients, ordered by the terms' keys; the empty sum is 0."""

    terms: tuple[tuple[Term, Number], ...]

    def __post_init__(self) -> None:
        words: list[str] = []
        height, depth, least, most, guarded, masked = 0, 0, 1, 0, False, False
        for t, c in self.terms:
            words.append(f"{c}.{t.key}")
            if t.height > height:
                height = t.height
            if t.depth > depth:
                depth = t.depth
            sign = t.sign if c > 0 else 0
            least, most = min(least, sign), max(most, sign)
            guarded = guarded or t.guarded
            masked = masked or t.masked
        self._set_key("+".join(words), _CLOSED.union(*[t.free for t, _ in self.terms]), height, depth)
        self._set_sign(0 if not least else 2 if most == 2 else 1)
        self._set_flags(guarded, masked)


UNIT = Term((), ())
NF_ZERO = NormalForm(())
NF_ONE = NormalForm(((UNIT, 1),))


def single(a: Atom) -> NormalForm:
    """An atom as a form."""
    return NormalForm(((Term((), ((a, 1),)), 1),))


def show_atom(a: Atom) -> str:
    """An atom as printed text, such as `x[p0,k1]`."""
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
        case InBand(low, high, row, column):
            below, above = "" if low is None else f"{low}<=", "" if high is None else f"<={high}"
            return f"[{below}{show_index(column)}-{show_index(row)}{above}]"
        case Interval(i, low, high):
            return f"[{low}<={show_index(i)}<{high}]"
        case Bottom(keep):
            return f"bottom({show(keep)})"
        case Max(operands):
            words = [f"max_{{{_show_bound(p.bound)}}}({show(p.inner)})" if p.bound else show(p.inner) for p in operands]
            return words[0] if len(words) == 1 else f"max({', '.join(words)})"
        case Running(v, inner, at):
            return f"max_{{{show_name(v.name)}<={show_index(at)}}}({show(inner)})"
        case _:
            assert_never(a)


def _show_bound(bound: tuple[Var, ...]) -> str:
    return ",".join(f"{show_name(v.name)}:{v.extent}" for v in bound)


def show_term(t: Term, coefficient: Number = 1) -> str:
    """A term as printed text, such as `Σ_{k1:4096} w[k1,p1] x[p0,k1]`."""
    words = [show_atom(a) + (f"^{e}" if e != 1 else "") for a, e in t.factors]
    if t.bound:
        words.insert(0, f"Σ_{{{_show_bound(t.bound)}}}")
    if coefficient == -1 and words:
        words[0] = f"-{words[0]}"
    elif coefficient != 1 or not words:
        words.insert(0, str(coefficient))
    return " ".join(words)


def show(n: NormalForm) -> str:
    """A form as one line of printed text, deterministic."""
    return " + ".join(show_term(t, c) for t, c in n.terms) or "0"
