"""How the checker reads a certificate: text to trees, trees to numbers.

Nothing here is shared with the prover, which writes the text (`statement`). What a lemma means is
defined once more: axes without digits are coordinates, an axis with digits is the number that they
spell, a sum over an axis runs over its coordinates, and an input's element at a place is a
pseudo-random number that only depends on the place; so inputs of any size cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir import ops
from prism_explore.ir.dims import ONE, Dim, dim

Numbers: TypeAlias = npt.NDArray[Any]
Tree: TypeAlias = "str | tuple[Tree, ...]"

POINTS = 3
"""At how many random places a lemma is evaluated."""
LARGEST = 100_000
"""How many numbers one evaluation may hold."""
LOW = -1e15
"""What stands for minus infinity; small multiples of it are as low."""
TOO_LARGE = "too many numbers to evaluate it"


class Complaint(Exception):
    """What is wrong with a lemma; `checker.check` turns it into a line of its report."""


_TOKEN = re.compile(r'\s*([()]|"[^"]*"|[^\s()"]+)')


def parse(text: str) -> Tree:
    """The tree that a text in brackets spells; quotes stay on what they enclose."""
    tokens: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise Complaint(f"cannot read {text[position : position + 20]!r}")
        tokens.append(match.group(1))
        position = match.end()

    tokens.reverse()

    def tree() -> Tree:
        if not tokens:
            raise Complaint("the text ends too early")
        token = tokens.pop()
        if token != "(":
            return token
        items: list[Tree] = []
        while tokens and tokens[-1] != ")":
            items.append(tree())
        if not tokens:
            raise Complaint("a bracket is not closed")
        tokens.pop()
        return tuple(items)

    whole = tree()
    if tokens:
        raise Complaint("something follows the lemma")
    return whole


@dataclass(frozen=True, slots=True)
class Term:
    """What an operator's tree consists of: its words, indices and axis, and the expressions inside."""

    op: str
    label: str
    axis: str
    indices: tuple[Tree, ...]
    inside: tuple[Tree, ...]

    def rebuilt(self, indices: tuple[Tree, ...], inside: tuple[Tree, ...]) -> Tree:
        """The same operator over other indices and expressions."""
        match self.op:
            case "at":
                return ("at", self.label, *indices)
            case "within" | "near":
                return (self.op, *indices, *self.label.split("|"))
            case "upto":
                return (self.op, self.axis, *indices, *inside)
            case _:
                return (self.op, *((self.label or self.axis,) if self.label or self.axis else ()), *inside)


def shape(e: Tree) -> Term:
    """The parts of an expression's tree.

    Raises:
        Complaint: it is no expression.
    """
    match e:
        case ("at", str(tensor), *indices):
            return Term("at", tensor, "", tuple(indices), ())
        case ("within", i, str(low), str(high)):
            return Term("within", f"{low}|{high}", "", (i,), ())
        case ("near", row, column, str(low), str(high)):
            return Term("near", f"{low}|{high}", "", (row, column), ())
        case ("num" | "size" as op, str(label)):
            return Term(op, label, "", (), ())
        case ("call", str(fn), a):
            return Term("call", fn, "", (), (a,))
        case ("inv" | "sqrt" | "exp" | "bottom" as op, a):
            return Term(op, "", "", (), (a,))
        case ("add" | "mul" | "greater" as op, a, b):
            return Term(op, "", "", (), (a, b))
        case ("sum" | "most" as op, str(axis), a):
            return Term(op, "", axis, (), (a,))
        case ("upto", str(axis), at, a):
            return Term("upto", "", axis, (at,), (a,))
        case ("rescaled", str(axis), a, b):
            return Term("rescaled", "", axis, (), (a, b))
        case _:
            raise Complaint(f"cannot read {show(e)}")


@dataclass
class Reading:
    """A lemma as this module reads it."""

    tree: Tree
    known: tuple[Dim, ...] = ()
    """Sizes that are positive integers: the conditions of the claim that the lemma is about."""
    extents: dict[str, Dim] = field(default_factory=dict[str, Dim])
    digits: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    renamed: list[tuple[Tree, Tree]] = field(default_factory=list[tuple[Tree, Tree]])
    hints: list[Tree] = field(default_factory=list["Tree"])
    terms: list[tuple[str, Tree]] = field(default_factory=list[tuple[str, "Tree"]])
    """Names that stand for terms, each of which may use those before it."""
    steps: list[tuple[str, Tree, Tree]] = field(default_factory=list[tuple[str, "Tree", "Tree"]])
    """Names of axioms, each with two terms that are equal by it."""
    left: Tree = ""
    right: Tree = ""
    named: Tree = ""
    """What the lemmas behind this one call the right side, if it has a name."""

    def __post_init__(self) -> None:
        if not isinstance(self.tree, tuple) or not self.tree or self.tree[0] != "lemma":
            raise Complaint("the text is no lemma")
        for item in self.tree[1:]:
            match item:
                case ("axis", str(name), str(size), *cut) if name not in self.extents and len(cut) in (0, 2):
                    self.extents[name] = dim(size.strip('"'))
                    if cut:
                        self.digits[name] = (str(cut[0]), str(cut[1]))
                case ("renamed", a, b):
                    self.renamed.append((a, b))
                case ("hint", e):
                    self.hints.append(e)
                case ("let", str(name), e):
                    self.terms.append((name, e))
                case ("step", str(axiom), a, b):
                    self.steps.append((axiom.strip('"'), a, b))
                case ("named", ("at", str(), *indices) as e) if not self.named:
                    if list(indices) != [f"p{d}" if f"p{d}" in self.extents else "0" for d in range(len(indices))]:
                        raise Complaint(f"{show(e)} names no whole tensor")
                    self.named = e
                case ("left", e) if not self.left:
                    self.left = e
                case ("right", e) if not self.right:
                    self.right = e
                case _:
                    raise Complaint(f"cannot read {show(item)}")
        if not self.left or not self.right:
            raise Complaint("a lemma has a left and a right side")
        for name, (outer, inner) in self.digits.items():
            if outer not in self.extents or inner not in self.extents or outer == inner:
                raise Complaint(f"axis {name} has digits that are no axes")
            if self.extents[outer] * self.extents[inner] != self.extents[name]:
                raise Complaint(f"axis {name} is not as long as its digits together")
            coordinates = self.coordinates(name)
            if len(set(coordinates)) != len(coordinates):
                raise Complaint(f"axis {name} has one digit twice")
        for side in (self.left, self.right, *self.hints, *(e for pair in self.renamed for e in pair)):
            self._check_words(side)
        known: set[str] = set()
        for name, e in self.terms:
            if name in known or name in self.extents:
                raise Complaint(f"{name} is the name of two things")
            self._check_words(e, known)
            known.add(name)
        for _, a, b in self.steps:
            for e in (a, b):
                self._check_words(e, known)
        for a, b in self.renamed:
            self._check_renamed(a, b)

    @property
    def told(self) -> Tree:
        """What the lemmas behind this one are told."""
        return self.named or self.right

    def coordinates(self, name: str, depth: int = 0) -> tuple[str, ...]:
        """The axes without digits that an axis consists of."""
        if name not in self.digits:
            return (name,)
        if depth > len(self.digits):
            raise Complaint(f"axis {name} is a digit of itself")
        outer, inner = self.digits[name]
        return (*self.coordinates(outer, depth + 1), *self.coordinates(inner, depth + 1))

    def _check_words(self, e: Tree, names: Collection[str] = ()) -> None:
        for word in self.words(e, names):
            if word not in self.extents:
                raise Complaint(f"axis {word} is not declared")

    def words(self, e: Tree, names: Collection[str] = ()) -> Iterator[str]:
        """The names of axes in an expression, bound or free; `names` stand for terms and have none."""
        if isinstance(e, str) and e in names:
            return
        term = shape(e)
        if term.axis:
            yield term.axis
        for i in term.indices:
            yield from index_words(i)
        for x in term.inside:
            yield from self.words(x, names)

    def met(self, e: Tree) -> frozenset[str]:
        """The coordinates on which an expression depends."""
        term = shape(e)
        inside = frozenset[str]().union(*(self.met(x) for x in term.inside))
        if term.axis:
            inside -= set(self.coordinates(term.axis))
        return inside.union(c for i in term.indices for w in index_words(i) for c in self.coordinates(w))

    def _check_renamed(self, a: Tree, b: Tree) -> None:
        """That b is a with its bound axis named anew."""
        match a, b:
            case ("sum", str(old), inner), ("sum", str(new), other):
                if old in self.digits or new in self.digits or self.extents[old] != self.extents[new]:
                    raise Complaint(f"axes {old} and {new} cannot stand for one another")
                if new in self.met(inner) or self.instead(inner, old, new) != other:
                    raise Complaint(f"{show(b)} is not {show(a)} with {old} renamed to {new}")
            case _:
                raise Complaint(f"only sums have names to change, found {show(a)}")

    def instead(self, e: Tree, old: str, new: str) -> Tree:
        """An expression with one free axis named anew."""
        if isinstance(e, str) or old not in self.met(e):
            return e
        term = shape(e)
        if any(w != old and old in self.coordinates(w) for i in term.indices for w in index_words(i)):
            raise Complaint(f"{old} is a digit of another axis in {show(e)}")
        if term.axis and new in self.coordinates(term.axis):
            raise Complaint(f"{new} is already taken in {show(e)}")
        return term.rebuilt(
            tuple(replaced_index(i, old, new) for i in term.indices),
            tuple(self.instead(x, old, new) for x in term.inside),
        )

    def extent_of(self, i: Tree) -> Dim:
        """How many values an index takes."""
        match i:
            case "0":
                return ONE
            case str(name):
                return self.extents[name]
            case ("radix", *parts):
                return prod((self.extent_of(p) for p in parts), start=ONE)
            case ("digit", _, str(), str(size), str()) | ("moved", _, str(), str(size)):
                return size_of(size)
            case _:
                raise Complaint(f"cannot read the index {show(i)}")


def size_of(text: str) -> Dim:
    """A size in quotes; how far an index is moved may be below 0."""
    return dim(text.strip('"'))


def index_words(i: Tree) -> Iterator[str]:
    """The names of axes in an index."""
    match i:
        case "0":
            return
        case str(name):
            yield name
        case ("radix", *parts):
            for p in parts:
                yield from index_words(p)
        case ("digit", base, str(), str(), str()) | ("moved", base, str(), str()):
            yield from index_words(base)
        case _:
            raise Complaint(f"cannot read the index {show(i)}")


def replaced_index(i: Tree, old: str, new: Tree) -> Tree:
    """An index with one axis replaced by another index."""
    if isinstance(i, str):
        return new if i == old else i
    return (i[0], *(replaced_index(x, old, new) for x in i[1:]))


def show(e: Tree) -> str:
    """The text of a tree, on one line."""
    return e if isinstance(e, str) else f"({' '.join(map(show, e))})"


# ---------------------------------------------------------------- the numbers
@dataclass
class Evaluation:
    """Values of expressions at some points, for one choice of sizes and inputs.

    An axis of points, and one more for each sum that is open, are the axes of the arrays; a value that
    does not depend on a summed axis has no extent there, and counts as often as the axis is long.
    """

    sizes: Mapping[str, int]
    seed: int
    random: np.random.Generator
    readings: Mapping[str, Reading]
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
            raise Complaint(f"{size} is no whole number")
        return int(found)

    def points(self, names: Mapping[str, Dim]) -> dict[str, Numbers]:
        """Random values of free axes."""
        return {n: self.random.integers(0, self.extent(d), POINTS) for n, d in names.items()}

    def element(self, given: ops.Input, index: list[Numbers], anywhere: bool = False) -> Numbers:
        """A pseudo-random element of an input: a hash of where it is; `anywhere`, also outside of its dims."""
        if len(index) != given.type.rank:
            raise Complaint(f"{given.name} is read with {len(index)} indices")
        _check_room(*index)
        state = np.full(1, self.seed * 7919 + sum(map(ord, given.name)) * 104729 + 1, dtype=np.uint64)
        for place, size in zip(index, given.type.dims, strict=True):
            if not anywhere and (place.min() < 0 or place.max() >= self.extent(size)):
                raise Complaint(f"{given.name} is read outside of its dims")
            state = (state ^ (place.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
        state *= np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(32)
        return (state >> np.uint64(11)).astype(np.float64) / 2.0**53 * 1.4 - 0.65

    def side(self, e: Tree, of: Reading, at: Mapping[str, Numbers], deep: int = 1) -> Numbers:
        """The value of an expression; `at` gives the coordinates, `deep` how many axes arrays have."""
        term = shape(e)
        if term.axis:
            return self._over(term, of, at, deep)
        places = [self.place(i, of, at) for i in term.indices]
        values = [self.side(x, of, at, deep) for x in term.inside]
        _check_room(*values)
        match term.op, values:
            case "at", []:
                if term.label not in self.inputs:
                    raise Complaint(f"there is no input {term.label}")
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
                    raise Complaint(f"there is no size {term.label}")
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
            case "call", [a] if term.label in ops.UNARY:
                return ops.UNARY[term.label].numpy(a)
            case _:
                raise Complaint(f"cannot evaluate {show(e)}")

    def _over(self, term: Term, of: Reading, at: Mapping[str, Numbers], deep: int) -> Numbers:
        """The value of what runs over an axis."""
        names = of.coordinates(term.axis)
        lengths = [self.extent(of.extents[n]) for n in names]

        def value(n: int, new: list[Numbers]) -> Numbers:
            here = {**at, **dict(zip(names, new, strict=True))}
            return self.side(term.inside[n], of, here, deep + len(names))

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
                    raise Complaint(f"a loop runs over {term.axis}, which has digits")
                return self.loop(lengths[0], deep, lambda new: value(0, new), lambda new: value(1, new))
            case _:
                raise Complaint(f"cannot evaluate {term.op}")

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
            raise Complaint(TOO_LARGE)
        return body([np.arange(n).reshape(n, *([1] * (deep + k))) for k, n in enumerate(lengths)])

    def total(self, lengths: list[int], deep: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        """The sum of `body` over all values of new coordinates."""
        value = self._everywhere(lengths, deep, body)
        for k, n in reversed(list(enumerate(lengths))):
            there = value.ndim == deep + k + 1
            value = value.sum(axis=0) * (n if value.shape[0] == 1 else 1) if there else value * n
        return value

    def place(self, i: Tree, of: Reading, at: Mapping[str, Numbers]) -> Numbers:
        """The number that an index is."""
        match i:
            case "0":
                return np.zeros(1, dtype=np.int64)
            case str(name):
                if name in at:
                    return at[name]
                if name not in of.digits:
                    raise Complaint(f"axis {name} is bound nowhere")
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
                raise Complaint(f"cannot evaluate the index {show(i)}")


def _check_room(*parts: Numbers) -> None:
    """Refuse before, not after, memory is asked for."""
    if prod(np.broadcast_shapes(*(p.shape for p in parts))) > LARGEST:
        raise Complaint(TOO_LARGE)


def times(a: Numbers, b: Numbers) -> Numbers:
    """`a b`, and 0 where one is 0, however large the other."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def inverse(a: Numbers) -> Numbers:
    """`1 / a`, and 0 where a is 0."""
    zero = a == 0
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, a))
