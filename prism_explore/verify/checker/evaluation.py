"""Values of a certificate's expressions at random points, for one choice of sizes and inputs.

The meaning of an expression is defined here once more, independent of the prover: axes without digits are coordinates,
an axis with digits is the number that they spell, a sum over an axis runs over its coordinates, and an element of an
input is a pseudo-random number that depends on its place only, so inputs of any size cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir import elementwise, ops
from prism_explore.ir.dims import Dim
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, Term, Tree, show, size_of, term_of

Numbers: TypeAlias = npt.NDArray[Any]

POINTS = 3
"""At how many random places a lemma is evaluated."""
LARGEST = 100_000
"""How many numbers one evaluation may hold."""
LOW = -1e15
"""What stands for minus infinity; small multiples of it are as low."""
TOO_LARGE = "too many numbers to evaluate it"


@dataclass
class Evaluation:
    """Values of expressions at some points, for one choice of sizes and inputs.

    An axis of points, and one more for each sum that is open, are the axes of the arrays; a value that
    does not depend on a summed axis has no extent there, and counts as often as the axis is long.
    """

    sizes: Mapping[str, int]
    seed: int
    random: np.random.Generator
    readings: Mapping[str, ParsedLemma]
    """Lemmas by tensor."""
    inputs: Mapping[str, ops.Input]
    """Inputs by name."""

    def extent(self, size: Dim) -> int:
        """A size as a number."""
        return size.value(self.sizes)

    def number(self, size: Dim) -> int:
        """A whole number that is made of sizes, and may be below 1."""
        found = size.rational(self.sizes)
        if found.denominator != 1:
            raise CertificateError(f"{size} is no whole number")
        return int(found)

    def points(self, names: Mapping[str, Dim]) -> dict[str, Numbers]:
        """Random values of free axes."""
        return {n: self.random.integers(0, self.extent(d), POINTS) for n, d in names.items()}

    def element(self, given: ops.Input, index: list[Numbers], anywhere: bool = False) -> Numbers:
        """A pseudo-random element of an input: a hash of where it is; `anywhere`, also outside of its dims."""
        if len(index) != given.type.rank:
            raise CertificateError(f"{given.name} is read with {len(index)} indices")
        _check_room(*index)
        state = np.full(1, self.seed * 7919 + sum(map(ord, given.name)) * 104729 + 1, dtype=np.uint64)
        for place, size in zip(index, given.type.dims, strict=True):
            if not anywhere and (place.min() < 0 or place.max() >= self.extent(size)):
                raise CertificateError(f"{given.name} is read outside of its dims")
            state = (state ^ (place.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
        state *= np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(32)
        return (state >> np.uint64(11)).astype(np.float64) / 2.0**53 * 1.4 - 0.65

    def side(self, e: Tree, of: ParsedLemma, at: Mapping[str, Numbers], deep: int = 1) -> Numbers:
        """The value of an expression; `at` gives the coordinates, `deep` how many axes arrays have."""
        term = term_of(e)
        if term.axis:
            return self._over(term, of, at, deep)
        places = [self.place(i, of, at) for i in term.indices]
        values = [self.side(x, of, at, deep) for x in term.arguments]
        _check_room(*values)
        match term.op, values:
            case "at", []:
                if term.label not in self.inputs:
                    raise CertificateError(f"there is no input {term.label}")
                moved = any("moved" in show(i) for i in term.indices)
                return self.element(self.inputs[term.label], places, anywhere=moved)
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
                return np.where(a != 0, 0.0, LOW)
            case "call", [a] if term.label in elementwise.UNARY:
                return elementwise.UNARY[term.label].numpy(a)
            case _:
                raise CertificateError(f"cannot evaluate {show(e)}")

    def _over(self, term: Term, of: ParsedLemma, at: Mapping[str, Numbers], deep: int) -> Numbers:
        """The value of what runs over an axis."""
        names = of.coordinates(term.axis)
        lengths = [self.extent(of.extents[n]) for n in names]

        def value(n: int, new: list[Numbers]) -> Numbers:
            here = {**at, **dict(zip(names, new, strict=True))}
            return self.side(term.arguments[n], of, here, deep + len(names))

        match term.op:
            case "sum":
                return self.total(lengths, deep, lambda new: value(0, new))
            case "most":
                return self.greatest(lengths, deep, lambda new: value(0, new))
            case "upto":
                last = self.place(term.indices[0], of, at)

                def so_far(new: list[Numbers]) -> Numbers:
                    here = self.place(term.axis, of, dict(zip(names, new, strict=True)))
                    return np.where(here <= last, value(0, new), -np.inf)

                return self.greatest(lengths, deep, so_far)
            case "rescaled":
                if len(names) != 1:
                    raise CertificateError(f"a loop runs over {term.axis}, which has digits")
                return self.loop(lengths[0], deep, lambda new: value(0, new), lambda new: value(1, new))
            case _:
                raise CertificateError(f"cannot evaluate {term.op}")

    def greatest(self, lengths: list[int], deep: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        """The greatest value of `body` for all values of new coordinates."""
        value = self._everywhere(lengths, deep, body)
        for k in reversed(range(len(lengths))):
            if value.ndim == deep + k + 1:
                value = value.max(axis=0)
        return value

    def loop(
        self,
        length: int,
        deep: int,
        value: Callable[[list[Numbers]], Numbers],
        scale: Callable[[list[Numbers]], Numbers],
    ) -> Numbers:
        """What `t = t exp(scale before - scale now) + value` leaves, from 0 on."""
        values, scales = (
            np.broadcast_to(x, (length, *x.shape[1:])) if x.ndim == deep + 1 else np.broadcast_to(x, (length, *x.shape))
            for x in (self._everywhere([length], deep, value), self._everywhere([length], deep, scale))
        )
        total = values[0]
        for n in range(1, length):
            total = times(total, np.exp(scales[n - 1] - scales[n])) + values[n]
        return total

    def _everywhere(self, lengths: list[int], deep: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        if prod(lengths) > LARGEST:
            raise CertificateError(TOO_LARGE)
        return body([np.arange(n).reshape(n, *([1] * (deep + k))) for k, n in enumerate(lengths)])

    def total(self, lengths: list[int], deep: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        """The sum of `body` over all values of new coordinates."""
        value = self._everywhere(lengths, deep, body)
        for k, n in reversed(list(enumerate(lengths))):
            there = value.ndim == deep + k + 1
            value = value.sum(axis=0) * (n if value.shape[0] == 1 else 1) if there else value * n
        return value

    def place(self, i: Tree, of: ParsedLemma, at: Mapping[str, Numbers]) -> Numbers:
        """The number that an index is."""
        match i:
            case "0":
                return np.zeros(1, dtype=np.int64)
            case str(name):
                if name in at:
                    return at[name]
                if name not in of.digits:
                    raise CertificateError(f"axis {name} is bound nowhere")
                outer, inner = of.digits[name]
                return self.place(outer, of, at) * self.extent(of.extents[inner]) + self.place(inner, of, at)
            case ("radix", *parts):
                value = np.zeros(1, dtype=np.int64)
                for p in parts:
                    value = value * self.extent(of.extent_of(p)) + self.place(p, of, at)
                return value
            case ("digit", base, str(), str(size), str(after)):
                return self.place(base, of, at) // self.extent(size_of(after)) % self.extent(size_of(size))
            case ("moved", base, str(by), str()):
                return self.place(base, of, at) + self.number(size_of(by))
            case _:
                raise CertificateError(f"cannot evaluate the index {show(i)}")


def _check_room(*parts: Numbers) -> None:
    """Refuse before, not after, memory is asked for."""
    if prod(np.broadcast_shapes(*(p.shape for p in parts))) > LARGEST:
        raise CertificateError(TOO_LARGE)


def times(a: Numbers, b: Numbers) -> Numbers:
    """`a b`, and 0 where one is 0, however large the other."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def inverse(a: Numbers) -> Numbers:
    """`1 / a`, and 0 where a is 0."""
    zero = a == 0
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, a))
