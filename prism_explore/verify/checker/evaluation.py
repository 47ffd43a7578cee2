"""Values of the expressions of a certificate at random points, for one choice of sizes and inputs.

The semantics of expressions is defined here, independent of the prover. Axes without digits are coordinates; an axis
with digits is the number that they form; a sum over an axis runs over its coordinates. An element of an input is a
pseudo-random function of its position, so inputs of any size need no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir import elementwise, ops
from prism_explore.ir.dims import Dim
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, Term, Tree, show, size_of, term_of

Numbers: TypeAlias = npt.NDArray[Any]

POINTS = 3
"""The number of random points at which a lemma is evaluated."""
MAX_NUMBERS = 100_000
"""The largest number of elements of an array."""
MINUS_INFINITY = -1e15
"""Represents minus infinity; so do small multiples of it."""
TOO_LARGE = "too many numbers to evaluate it"


@dataclass
class Evaluation:
    """Values of expressions at some points, for one choice of sizes and inputs.

    The arrays have one axis for the points, and one before it for each coordinate of an enclosing sum. A value that
    does not depend on a summed coordinate has no such axis, or size 1 there; a sum multiplies it by the extent.
    """

    sizes: Mapping[str, int]
    seed: int
    random: np.random.Generator
    lemmas: Mapping[str, ParsedLemma]
    """Lemmas by tensor."""
    inputs: Mapping[str, ops.Input]
    """Inputs by name."""
    _extents: dict[Dim, int] = field(default_factory=dict[Dim, int], init=False, repr=False)
    """What `extent` found."""

    def extent(self, size: Dim) -> int:
        """A size as a number."""
        found = self._extents.get(size)
        if found is None:
            found = self._extents[size] = size.value(self.sizes)
        return found

    def number(self, size: Dim) -> int:
        """A number that is computed from sizes: an integer, perhaps below 1."""
        found = size.rational(self.sizes)
        if found.denominator != 1:
            raise CertificateError(f"{size} is no whole number")
        return int(found)

    def draw_points(self, names: Mapping[str, Dim]) -> dict[str, Numbers]:
        """Random values of axes, by their extents."""
        return {n: self.random.integers(0, self.extent(d), POINTS) for n, d in names.items()}

    def element(self, given: ops.Input, index: list[Numbers], outside_allowed: bool = False) -> Numbers:
        """A pseudo-random element of an input: a hash of where it is; `anywhere`, also outside of its dims."""
        if len(index) != given.type.rank:
            raise CertificateError(f"{given.name} is read with {len(index)} indices")
        _check_size(*index)
        state = np.full(1, self.seed * 7919 + sum(map(ord, given.name)) * 104729 + 1, dtype=np.uint64)
        for place, size in zip(index, given.type.dims, strict=True):
            unsigned = place.astype(np.uint64)  # where an index is below 0, it is the largest
            if not outside_allowed and unsigned.max() >= self.extent(size):
                raise CertificateError(f"{given.name} is read outside of its dims")
            state = (state ^ (unsigned + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
        state *= np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(32)
        found = (state >> np.uint64(11)).astype(np.float64) / 2.0**53 * 1.4 - 0.65
        return (found > 0.0).astype(np.float64) if given.type.dtype == "bool" else found

    def value(self, e: Tree, lemma: ParsedLemma, at: Mapping[str, Numbers], rank: int = 1) -> Numbers:
        """The value of an expression for values of its coordinates; `rank` is the number of axes of the arrays."""
        term = term_of(e)
        if term.axis:
            return self._binder_value(term, lemma, at, rank)
        places = [self.index_value(i, lemma, at) for i in term.indices]
        values = [self.value(x, lemma, at, rank) for x in term.arguments]
        _check_size(*values)
        match term.op, values:
            case "at", []:
                if term.label not in self.inputs:
                    raise CertificateError(f"there is no input {term.label}")
                moved = any("moved" in show(i) for i in term.indices)
                return self.element(self.inputs[term.label], places, outside_allowed=moved)
            case "within", []:
                low, high = (self.number(size_of(x)) for x in term.label.split("|"))
                return ((places[0] >= low) & (places[0] < high)).astype(np.float64)
            case "near", []:
                row, column = places
                keep = np.ones(np.broadcast_shapes(row.shape, column.shape))
                low, high = (x.strip('"') for x in term.label.split("|"))
                keep = keep if low == "-" else keep * (column - row >= self.number(size_of(low)))
                return keep if high == "-" else keep * (column - row <= self.number(size_of(high)))
            case "num", []:
                above, _, below = term.label.partition("/")
                return np.full(1, int(above) / int(below or 1))
            case "size", []:
                if term.label not in self.sizes:
                    raise CertificateError(f"there is no size {term.label}")
                return np.full(1, float(self.sizes[term.label]))
            case "add", [a, b]:
                return a + b
            case "mul", [a, _] if term.arguments[1] == ("inv", term.arguments[0]):
                return (a != 0).astype(np.float64)  # exact, so that 1 minus it is 0
            case "mul", [a, b]:
                return times(a, b)
            case "greater", [a, b]:
                return np.maximum(a, b)
            case "inv", [a]:
                return inverse(a)
            case "sqrt", [a]:
                return np.sqrt(a)
            case "exp", [a]:
                return np.exp(a)
            case "bottom", [a]:
                return np.where(a != 0, 0.0, MINUS_INFINITY)
            case "call", [a] if term.label in elementwise.UNARY:
                return elementwise.UNARY[term.label].numpy(a)
            case _:
                raise CertificateError(f"cannot evaluate {show(e)}")

    def _binder_value(self, term: Term, lemma: ParsedLemma, at: Mapping[str, Numbers], rank: int) -> Numbers:
        """The value of an operator that binds an axis."""
        names = lemma.coordinates(term.axis)
        lengths = [self.extent(lemma.extents[n]) for n in names]

        def value(n: int, new: list[Numbers]) -> Numbers:
            here = {**at, **dict(zip(names, new, strict=True))}
            return self.value(term.arguments[n], lemma, here, rank + len(names))

        match term.op:
            case "sum":
                return self.sum(lengths, rank, lambda new: value(0, new))
            case "most":
                return self.maximum(lengths, rank, lambda new: value(0, new))
            case "upto":
                last = self.index_value(term.indices[0], lemma, at)

                def so_far(new: list[Numbers]) -> Numbers:
                    here = self.index_value(term.axis, lemma, dict(zip(names, new, strict=True)))
                    return np.where(here <= last, value(0, new), -np.inf)

                return self.maximum(lengths, rank, so_far)
            case "rescaled":
                if len(names) != 1:
                    raise CertificateError(f"a loop runs over {term.axis}, which has digits")
                return self.rescaled_sum(lengths[0], rank, lambda new: value(0, new), lambda new: value(1, new))
            case _:
                raise CertificateError(f"cannot evaluate {term.op}")

    def maximum(self, lengths: list[int], rank: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        """The maximum of `body` over all values of new coordinates."""
        value = self._body_values(lengths, rank, body)
        for k in reversed(range(len(lengths))):
            if value.ndim == rank + k + 1:
                value = value.max(axis=0)
        return value

    def rescaled_sum(
        self,
        length: int,
        rank: int,
        value: Callable[[list[Numbers]], Numbers],
        scale: Callable[[list[Numbers]], Numbers],
    ) -> Numbers:
        """The final t of a loop: t = 0, then `t = t exp(previous scale - scale) + value` in each iteration."""
        values, scales = (
            np.broadcast_to(x, (length, *x.shape[1:])) if x.ndim == rank + 1 else np.broadcast_to(x, (length, *x.shape))
            for x in (self._body_values([length], rank, value), self._body_values([length], rank, scale))
        )
        total = values[0]
        for n in range(1, length):
            total = times(total, np.exp(scales[n - 1] - scales[n])) + values[n]
        return total

    def _body_values(self, lengths: list[int], rank: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        if prod(lengths) > MAX_NUMBERS:
            raise CertificateError(TOO_LARGE)
        return body([np.arange(n).reshape(n, *([1] * (rank + k))) for k, n in enumerate(lengths)])

    def sum(self, lengths: list[int], rank: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        """The sum of `body` over all values of new coordinates."""
        value = self._body_values(lengths, rank, body)
        for k, n in reversed(list(enumerate(lengths))):
            has_axis = value.ndim == rank + k + 1
            value = value.sum(axis=0) * (n if value.shape[0] == 1 else 1) if has_axis else value * n
        return value

    def index_value(self, i: Tree, lemma: ParsedLemma, at: Mapping[str, Numbers]) -> Numbers:
        """The value of an index."""
        match i:
            case "0":
                return np.zeros(1, dtype=np.int64)
            case str(name):
                if name in at:
                    return at[name]
                if name not in lemma.digits:
                    raise CertificateError(f"axis {name} is bound nowhere")
                outer, inner = lemma.digits[name]
                return self.index_value(outer, lemma, at) * self.extent(lemma.extents[inner]) + self.index_value(
                    inner, lemma, at
                )
            case ("radix", *parts):
                value = np.zeros(1, dtype=np.int64)
                for p in parts:
                    value = value * self.extent(lemma.extent_of(p)) + self.index_value(p, lemma, at)
                return value
            case ("digit", base, str(), str(size), str(after)):
                return self.index_value(base, lemma, at) // self.extent(size_of(after)) % self.extent(size_of(size))
            case ("moved", base, str(by), str()):
                return self.index_value(base, lemma, at) + self.number(size_of(by))
            case _:
                raise CertificateError(f"cannot evaluate the index {show(i)}")


def _check_size(*parts: Numbers) -> None:
    """Check the size of a broadcast before it is allocated; it is at most the product of the sizes of its parts."""
    is_small = prod(p.size for p in parts) <= MAX_NUMBERS
    if not is_small and prod(np.broadcast_shapes(*(p.shape for p in parts))) > MAX_NUMBERS:
        raise CertificateError(TOO_LARGE)


def times(a: Numbers, b: Numbers) -> Numbers:
    """`a b`; 0 where one of them is 0, even if the other is infinite."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def inverse(a: Numbers) -> Numbers:
    """`1 / a`, and 0 where a is 0."""
    zero = a == 0
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, a))
