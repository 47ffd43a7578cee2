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
from prism_explore.ir.dims import Dim, dim

Numbers: TypeAlias = npt.NDArray[Any]
Tree: TypeAlias = "str | tuple[Tree, ...]"

POINTS = 3
"""At how many random places a lemma is evaluated."""
LARGEST = 20_000_000
"""How many numbers one evaluation may hold."""
TOO_LARGE = "too many numbers to evaluate it"


class Complaint(Exception):
    """What is wrong with a lemma; `checker.check` turns it into a line of its report."""


_TOKEN = re.compile(r'\s*([()]|"[^"]*"|[^\s()"]+)')


def parse(text: str) -> Tree:
    """The tree that a text in brackets spells; quotes stay on what they enclose."""
    tokens: list[str] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise Complaint(f"cannot read {text[position : position + 20]!r}")
        tokens.append(match.group(1))
        position = match.end()

    def tree() -> Tree:
        if not tokens:
            raise Complaint("the text ends too early")
        token = tokens.pop(0)
        if token != "(":
            return token
        items: list[Tree] = []
        while tokens and tokens[0] != ")":
            items.append(tree())
        if not tokens:
            raise Complaint("a bracket is not closed")
        tokens.pop(0)
        return tuple(items)

    whole = tree()
    if tokens:
        raise Complaint("something follows the lemma")
    return whole


@dataclass
class Reading:
    """A lemma as this module reads it."""

    tree: Tree
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
        match e:
            case str(name) if name in names:
                return
            case ("at", _, *index):
                for i in index:
                    yield from _index_words(i)
            case ("sum", str(axis), a):
                yield axis
                yield from self.words(a, names)
            case ("num" | "size", str()):
                return
            case ("call", str(), a) | ("inv" | "sqrt" | "exp", a):
                yield from self.words(a, names)
            case ("add" | "mul", a, b):
                yield from self.words(a, names)
                yield from self.words(b, names)
            case _:
                raise Complaint(f"cannot read {show(e)}")

    def met(self, e: Tree) -> frozenset[str]:
        """The coordinates on which an expression depends."""
        match e:
            case ("sum", str(axis), a):
                return self.met(a) - set(self.coordinates(axis))
            case ("at", *_):
                return frozenset(c for word in self.words(e) for c in self.coordinates(word))
            case ("num" | "size", _):
                return frozenset()
            case (_, *parts):
                return frozenset[str]().union(*(self.met(x) for x in parts if isinstance(x, tuple)))
            case _:
                return frozenset()

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
        match e:
            case ("at", tensor, *index):
                if any(w != old and old in self.coordinates(w) for w in self.words(e)):
                    raise Complaint(f"{old} is a digit of another axis in {show(e)}")
                return ("at", tensor, *(replaced_index(i, old, new) for i in index))
            case ("sum", str(axis), _) if new in self.coordinates(axis):
                raise Complaint(f"{new} is already taken in {show(e)}")
            case _:
                return tuple(self.instead(x, old, new) for x in e)


def _index_words(i: Tree) -> Iterator[str]:
    match i:
        case "0":
            return
        case str(name):
            yield name
        case ("radix", *parts):
            for p in parts:
                yield from _index_words(p)
        case ("digit", base, str(), str(), str()):
            yield from _index_words(base)
        case _:
            raise Complaint(f"cannot read the index {show(i)}")


def replaced_index(i: Tree, old: str, new: str) -> Tree:
    """An index with one axis named anew."""
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

    def points(self, names: Mapping[str, Dim]) -> dict[str, Numbers]:
        """Random values of free axes."""
        return {n: self.random.integers(0, self.extent(d), POINTS) for n, d in names.items()}

    def element(self, given: ops.Input, index: list[Numbers]) -> Numbers:
        """A pseudo-random element of an input: a hash of where it is."""
        if len(index) != given.type.rank:
            raise Complaint(f"{given.name} is read with {len(index)} indices")
        _check_room(*index)
        state = np.full(1, self.seed * 7919 + sum(map(ord, given.name)) * 104729 + 1, dtype=np.uint64)
        for place, size in zip(index, given.type.dims, strict=True):
            if place.min() < 0 or place.max() >= self.extent(size):
                raise Complaint(f"{given.name} is read outside of its dims")
            state = (state ^ (place.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
        state *= np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(32)
        return (state >> np.uint64(11)).astype(np.float64) / 2.0**53 * 1.4 - 0.65

    def side(self, e: Tree, of: Reading, at: Mapping[str, Numbers], deep: int = 1) -> Numbers:
        """The value of an expression; `at` gives the coordinates, `deep` how many axes arrays have."""
        match e:
            case ("at", str(tensor), *index):
                if tensor not in self.inputs:
                    raise Complaint(f"there is no input {tensor}")
                return self.element(self.inputs[tensor], [self.place(i, of, at) for i in index])
            case ("num", str(value)):
                above, _, below = value.partition("/")
                return np.full(1, int(above) / int(below or 1))
            case ("size", str(symbol)):
                if symbol not in self.sizes:
                    raise Complaint(f"there is no size {symbol}")
                return np.full(1, float(self.sizes[symbol]))
            case ("add" | "mul" as op, a, b):
                first, second = self.side(a, of, at, deep), self.side(b, of, at, deep)
                _check_room(first, second)
                return first + second if op == "add" else first * second
            case ("inv", a):
                return inverse(self.side(a, of, at, deep))
            case ("sqrt", a):
                return np.sqrt(self.side(a, of, at, deep))
            case ("exp", a):
                return np.exp(self.side(a, of, at, deep))
            case ("call", str(fn), a) if fn in ops.UNARY:
                return ops.UNARY[fn].numpy(self.side(a, of, at, deep))
            case ("sum", str(axis), a):
                names = of.coordinates(axis)
                lengths = [self.extent(of.extents[n]) for n in names]

                def term(new: list[Numbers]) -> Numbers:
                    here = {**at, **dict(zip(names, new, strict=True))}
                    return self.side(a, of, here, deep + len(names))

                return self.total(lengths, deep, term)
            case _:
                raise Complaint(f"cannot evaluate {show(e)}")

    def total(self, lengths: list[int], deep: int, body: Callable[[list[Numbers]], Numbers]) -> Numbers:
        """The sum of `body` over all values of new coordinates."""
        if prod(lengths) > LARGEST:
            raise Complaint(TOO_LARGE)
        new = [np.arange(n).reshape(n, *([1] * (deep + k))) for k, n in enumerate(lengths)]
        value = body(new)
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
                    value = value * self.length(p, of) + self.place(p, of, at)
                return value
            case ("digit", base, str(), str(size), str(after)):
                return (
                    self.place(base, of, at) // self.extent(dim(after.strip('"'))) % self.extent(dim(size.strip('"')))
                )
            case _:
                raise Complaint(f"cannot evaluate the index {show(i)}")

    def length(self, i: Tree, of: Reading) -> int:
        """How many values an index takes."""
        match i:
            case "0":
                return 1
            case str(name):
                return self.extent(of.extents[name])
            case ("radix", *parts):
                return prod(self.length(p, of) for p in parts)
            case ("digit", _, str(), str(size), str()):
                return self.extent(dim(size.strip('"')))
            case _:
                raise Complaint(f"cannot read the index {show(i)}")


def _check_room(*parts: Numbers) -> None:
    """Refuse before, not after, memory is asked for."""
    if prod(np.broadcast_shapes(*(p.shape for p in parts))) > LARGEST:
        raise Complaint(TOO_LARGE)


def inverse(a: Numbers) -> Numbers:
    """`1 / a`, and 0 where a is 0."""
    zero = a == 0
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, a))
