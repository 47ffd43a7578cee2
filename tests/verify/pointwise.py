"""What a normal form means, by brute force: every sum is run, every index is a number.

Shares nothing with the rules: a second truth beside the interpreter. All points are taken at once: a value
is an array with one axis per free index variable, so that a form costs a few array operations and not a
Python loop per point.

Real functions are made total by the verifier's convention, in the interpreter as well (`total_functions`): x/0 is 0,
and the root of a negative number is some number whose square is not that number, with √(a b) = √a √b for a > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import erf, pi, prod, sqrt
from typing import Any, TypeAlias, assert_never

import numpy as np

from prism_explore.ir import elementwise
from prism_explore.ir.dims import Dim
from prism_explore.ir.interpreter import reference
from prism_explore.verify.normal_form.forms import (
    Atom,
    Bottom,
    Exp,
    Group,
    InBand,
    Interval,
    Max,
    MaxOperand,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Read,
    Running,
    Size,
    Term,
)
from prism_explore.verify.normal_form.index import Digit, Index, Looked, Moved, Radix, Var, Zero, extent, position

Array: TypeAlias = np.ndarray[Any, Any]


LARGEST_EXPONENT = 300.0


class TooLong(Exception):
    """More products than a test should wait for."""


# ---------------------------------------------------------------- total functions
def total_inverse(x: Array) -> Array:
    """1/x, and 0 where x is 0."""
    x = np.asarray(x, float)
    return np.divide(1.0, x, out=np.zeros_like(x), where=x != 0)


def total_root(x: Array, degree: int = 2) -> Array:
    """The root; of a negative number a positive one, whose only law is that positive factors may be pulled out."""
    x = np.asarray(x, float)
    return np.where(x >= 0, 1.0, 1.7) * np.abs(x) ** (1 / degree)


def total_log(x: Array) -> Array:
    """The logarithm; of what is not positive some number that obeys no law."""
    x = np.asarray(x, float)
    return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.23 * x - 0.7)


def total_power(x: Array, e: Any) -> Array:
    """x^e by the same convention."""
    exact = Fraction(e).limit_denominator(1000)
    return power(x if exact.denominator == 1 else total_root(x, exact.denominator), exact.numerator)


def power(x: Any, e: Number) -> Any:
    """With 1/0 = 0, and x^0 = 1 only where x is not 0; a root only of what is not negative."""
    x = np.asarray(x, float)
    if e == 0:
        return np.where(np.isnan(x), np.nan, np.where(x != 0, 1.0, 0.0))
    whole = e == int(e)
    with np.errstate(all="ignore"):
        raised = np.power(np.where(x == 0, 1.0, x), int(e) if whole else float(e))
    return np.where(x == 0, 0.0, raised if whole else np.where(x < 0, np.nan, raised))


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


_erf = np.vectorize(erf, otypes=[float])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "silu": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "abs": np.abs,
    "erf": _erf,
    "gelu": lambda x: x * (1 + _erf(x / sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2,
    "log": total_log,
    "positive": lambda x: (np.asarray(x) > 0).astype(float),
    "is_zero": lambda x: (np.asarray(x) == 0).astype(float),
    "sqrt": total_root,
    **{f"root{k}": lambda x, k=k: total_root(x, k) for k in range(3, 13)},
}
"""The functions that forms know by name only."""


@contextmanager
def total_functions() -> Iterator[None]:
    """The interpreter with the verifier's convention: a divisor 0 gives 0, every root is a number."""
    rows = {
        "recip": total_inverse,
        "sqrt": total_root,
        "rsqrt": lambda x: total_inverse(total_root(x)),
        "log": total_log,
        "div": lambda a, b: a * total_inverse(b),
    }
    before: list[tuple[dict[str, Any], str, Any]] = []
    for table in (elementwise.UNARY, elementwise.BINARY):
        for name in rows.keys() & table.keys():
            before.append((table, name, table[name]))
            table[name] = replace(table[name], numpy=rows[name])
    before.append((_SCALAR, "pow", _SCALAR["pow"]))
    _SCALAR["pow"] = total_power
    try:
        yield
    finally:
        for table, name, row in before:
            table[name] = row


_SCALAR: dict[str, Any] = reference._SCALAR  # type: ignore[assignment]


@contextmanager
def other_bottoms(seed: int | None) -> Iterator[None]:
    """The interpreter with another very low number at each masked place, or with minus infinity.

    What depends on which ones they are has no limit, and a softmax of nothing but masked entries is
    not defined.
    """
    row = elementwise.BINARY["mask"]

    def masked(x: Array, keep: Array) -> Array:
        low = row.numpy(x, keep)
        noise = -np.inf if seed is None else low * np.random.default_rng(seed).uniform(0.5, 1.0, low.shape)
        return np.where(keep != 0, low, noise)

    elementwise.BINARY["mask"] = replace(row, numpy=masked)
    try:
        yield
    finally:
        elementwise.BINARY["mask"] = row


# ---------------------------------------------------------------- arrays with named axes
@dataclass(frozen=True)
class Named:
    """A number for every choice of some index variables: one axis each, ordered by name."""

    names: tuple[str, ...]
    array: Array


def _aligned(values: list[Named], limit: int) -> tuple[tuple[str, ...], list[Array]]:
    """All arrays over the same axes, ready to broadcast."""
    extents = {n: size for v in values for n, size in zip(v.names, v.array.shape, strict=True)}
    names = tuple(sorted(extents))
    if prod(extents.values()) > limit:
        raise TooLong
    if all(v.names == names for v in values):
        return names, [v.array for v in values]
    return names, [
        v.array.reshape([extents[n] if n in v.names else 1 for n in names]) if v.names != names else v.array
        for v in values
    ]


def _combine(fn: Callable[[Array, Array], Array], values: list[Named], limit: int) -> Named:
    names, arrays = _aligned(values, limit)
    out = arrays[0]
    for other in arrays[1:]:
        out = fn(out, other)
    return Named(names, out)


def _exp(x: Array) -> Array:
    """No number where a float would say 0 or infinity: an exponential is neither."""
    return np.where((np.abs(x) > LARGEST_EXPONENT) & np.isfinite(x), np.nan, np.exp(x))


def _kept(x: Array) -> Array:
    """A maximum of nothing but what is masked has no value: nothing is claimed there."""
    return np.where(np.isneginf(x), np.nan, x)


def _too_long() -> Array:
    raise TooLong


class Meaning:
    """Values of normal forms at given sizes and inputs."""

    def __init__(self, sizes: Mapping[str, int], inputs: Mapping[str, Array], limit: int = 60_000) -> None:
        """`limit`: how many products one sum may have."""
        self.sizes = sizes
        self.inputs = inputs
        self.limit = limit
        self._known: dict[str, Named] = {}
        self._places: dict[str, Named] = {}

    def form(self, n: NormalForm, at: Mapping[str, int]) -> float:
        """The value at one point."""
        found = self.everywhere(n)
        return float(found.array[tuple(at[name] for name in found.names)])

    def tensor(self, n: NormalForm, shape: tuple[int, ...]) -> Array:
        """The values at every position of a tensor."""
        found = self.everywhere(n)
        where = {position(d): d for d in range(len(shape))}
        assert set(found.names) <= set(where), f"a value at {found.names} is no tensor"
        sizes = [shape[d] if position(d) in found.names else 1 for d in range(len(shape))]
        order = sorted(range(len(found.names)), key=lambda k: where[found.names[k]])
        return np.broadcast_to(np.transpose(found.array, order).reshape(sizes), shape)

    def everywhere(self, n: NormalForm) -> Named:
        """The values for every choice of the free index variables."""
        total = Named((), np.zeros(()))
        for t, c in n.terms:
            value = self.term(t)
            total = _combine(np.add, [total, Named(value.names, float(c) * value.array)], self.limit)
        return total

    def term(self, t: Term) -> Named:
        factors = [self._raised(a, e) for a, e in t.factors]
        if not factors:
            return Named((), np.ones(()))
        whole = _combine(np.multiply, factors, self.limit)
        bound = {v.name for v in t.bound}
        axes = tuple(k for k, name in enumerate(whole.names) if name in bound)
        assert len(axes) == len(bound), f"an index is bound in vain: {t.key}"
        return Named(tuple(n for n in whole.names if n not in bound), whole.array.sum(axis=axes)) if axes else whole

    def _raised(self, a: Atom, e: Number) -> Named:
        value = self.atom(a)
        if e == 1:
            return value
        if e != int(e):
            assert not (value.array < -1e-9).any(), f"a root was split although its base may be negative: {a.key}"
            return Named(value.names, power(np.where(value.array < 0, 0.0, value.array), e))
        return Named(value.names, power(value.array, e))

    def atom(self, a: Atom) -> Named:
        if a.key not in self._known:
            self._known[a.key] = self._atom(a)
        return self._known[a.key]

    def _element(self, tensor: str, indices: Sequence[Index], kind: type) -> Named:
        names, places = _aligned([self.index(i) for i in indices], self.limit)
        whole = self.inputs[tensor]
        inside = tuple(np.clip(p, 0, n - 1) for p, n in zip(places, whole.shape, strict=True))
        return Named(names, np.asarray(whole[inside], kind))

    def _atom(self, a: Atom) -> Named:
        match a:
            case Read(tensor, indices):
                return self._element(tensor, indices, float)
            case Size(symbol):
                return Named((), np.asarray(float(self.sizes[symbol])))
            case Prime(value):
                return Named((), np.asarray(float(value)))
            case Exp(term):
                return self._map(_exp, self.term(term))
            case Group(inner):
                return self.everywhere(inner)
            case Opaque(function, (arg,)):
                return self._map(FUNCTIONS[function], self.everywhere(arg))
            case InBand(low, high, row, column):
                ahead = _combine(np.subtract, [self.index(column), self.index(row)], self.limit)
                below, above = self._border(low, -np.inf), self._border(high, np.inf)
                return self._map(lambda d: ((below <= d) & (d <= above)).astype(float), ahead)
            case Interval(i, low, high):
                below, above = self._border(low, 0), self._border(high, 0)
                return self._map(lambda d: ((below <= d) & (d < above)).astype(float), self.index(i))
            case Bottom(keep):
                return self._map(lambda k: np.where(k != 0, 0.0, -np.inf), self.everywhere(keep))
            case Max(operands):
                return self._map(_kept, _combine(np.maximum, [self._operand(p) for p in operands], self.limit))
            case Running(v, inner, at):
                return self._map(_kept, self._running(v, self.everywhere(inner), self.index(at)))
            case _:
                raise AssertionError(a)

    def _border(self, d: Dim | None, otherwise: float) -> float:
        return otherwise if d is None else float(d.rational(self.sizes))

    def _operand(self, p: MaxOperand) -> Named:
        value = self.everywhere(p.inner)
        axes = tuple(value.names.index(v.name) for v in p.bound)
        names = tuple(n for k, n in enumerate(value.names) if k not in axes)
        return Named(names, value.array.max(axis=axes)) if axes else value

    def _running(self, v: Var, value: Named, at: Named) -> Named:
        along = value.names.index(v.name)
        so_far = np.maximum.accumulate(value.array, axis=along)
        others = tuple(n for n in value.names if n != v.name)
        values = [Named(others, np.take(so_far, k, axis=along)) for k in range(so_far.shape[along])]
        names, (place, *steps) = _aligned([at, *values], self.limit)
        return Named(names, np.choose(place, np.broadcast_arrays(*steps)) if len(steps) <= 32 else _too_long())

    def _map(self, fn: Callable[[Array], Array], value: Named) -> Named:
        return Named(value.names, np.asarray(fn(value.array)))

    def index(self, i: Index) -> Named:
        """The number an index is, for every choice of its variables."""
        if i.key not in self._places:
            self._places[i.key] = self._index(i)
        return self._places[i.key]

    def _index(self, i: Index) -> Named:
        match i:
            case Zero():
                return Named((), np.zeros((), int))
            case Var(name, size):
                return Named((name,), np.arange(size.value(self.sizes)))
            case Radix(parts):
                total = self.index(parts[0])
                for p in parts[1:]:
                    size = extent(p).value(self.sizes)
                    total = _combine(lambda a, b, size=size: a * size + b, [total, self.index(p)], self.limit)
                return total
            case Moved(base, by, _):
                offset = int(by.rational(self.sizes))
                return self._map(lambda x: x + offset, self.index(base))
            case Digit(base, _, size, after):
                by, wrap = after.value(self.sizes), size.value(self.sizes)
                return self._map(lambda x: x // by % wrap, self.index(base))
            case Looked(tensor, indices, _):
                return self._element(tensor, indices, int)


def evaluate_index(i: Index, at: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    """The value of an index for given values of its variables and symbols."""
    match i:
        case Zero():
            return 0
        case Var(name, _):
            return at[name]
        case Radix(parts):
            total = 0
            for p in parts:
                total = total * extent(p).value(sizes) + evaluate_index(p, at, sizes)
            return total
        case Digit(base, _, size, after):
            return evaluate_index(base, at, sizes) // after.value(sizes) % size.value(sizes)
        case Moved(base, by, _):
            return evaluate_index(base, at, sizes) + int(by.rational(sizes))
        case Looked():
            raise AssertionError("it needs the inputs")
        case _:
            assert_never(i)
