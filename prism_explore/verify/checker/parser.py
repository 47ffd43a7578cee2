"""Parser of the lemmas of a certificate: from text to trees, and from trees to axes, terms and steps.

Input is the text that the prover writes (`certificate/lemma`, `derivation/term_graph`); output is a `ParsedLemma`,
whose axes are consistent and declared. No code is shared with the prover.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from prism_explore.ir.dims import ONE, Dim, dim

Tree: TypeAlias = "str | tuple[Tree, ...]"


class CertificateError(Exception):
    """A lemma is wrong or cannot be parsed; `check` reports it."""


_TOKEN = re.compile(r'[()]|"[^"]*"|[^\s()"]+|"')
"""A bracket, a quoted text, a word, or a quote that is not closed."""


def parse(text: str) -> Tree:
    """Parse a parenthesized text; quotes stay on the words that they enclose."""
    opened: list[list[Tree]] = [[]]
    """What was read of the text, and of each bracket that is open."""
    for token in _TOKEN.findall(text):
        if token == "(":
            opened.append([])
        elif token != ")":
            opened[-1].append(token)
        elif len(opened) == 1:
            raise CertificateError("a bracket is closed that was not opened")
        else:
            items = tuple(opened.pop())
            opened[-1].append(items)
    if text.count('"') % 2:
        last = text.rindex('"')
        raise CertificateError(f"a quote is not closed: {text[last : last + 20]}")
    if len(opened) > 1:
        raise CertificateError("a bracket is not closed")
    match opened[0]:
        case [tree]:
            return tree
        case []:
            raise CertificateError("the text ends too early")
        case _:
            raise CertificateError("something follows the lemma")


@dataclass(frozen=True, slots=True)
class Term:
    """The outermost operator of an expression: its label, bound axis, indices and arguments."""

    op: str
    label: str
    axis: str
    indices: tuple[Tree, ...]
    arguments: tuple[Tree, ...]


def term_of(e: Tree) -> Term:
    """The outermost operator of an expression's tree.

    Raises:
        CertificateError: it is no expression.
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
            raise CertificateError(f"cannot read {show(e)}")


@dataclass
class ParsedLemma:
    """A parsed lemma; its axes are declared and consistent."""

    tree: Tree
    integers: tuple[Dim, ...] = ()
    """Sizes that are positive integers by the conditions of the claim."""
    extents: dict[str, Dim] = field(default_factory=dict[str, Dim])
    digits: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    renamed: list[tuple[Tree, Tree]] = field(default_factory=list[tuple[Tree, Tree]])
    hints: list[Tree] = field(default_factory=list["Tree"])
    terms: list[tuple[str, Tree]] = field(default_factory=list[tuple[str, "Tree"]])
    """Named terms; each may use earlier names."""
    steps: list[tuple[str, Tree, Tree]] = field(default_factory=list[tuple[str, "Tree", "Tree"]])
    """Steps: the name of an axiom and two terms that are equal by it."""
    left: Tree = ""
    right: Tree = ""
    named: Tree = ""
    """The name that later lemmas use for the right side, at a cut point; empty elsewhere."""

    def __post_init__(self) -> None:
        if not isinstance(self.tree, tuple) or not self.tree or self.tree[0] != "lemma":
            raise CertificateError("the text is no lemma")
        for item in self.tree[1:]:
            self._add_item(item)
        if not self.left or not self.right:
            raise CertificateError("a lemma has a left and a right side")
        self._check_digits()
        self._check_names()

    def _add_item(self, item: Tree) -> None:
        match item:
            case ("axis", str(name), str(size), *digits) if name not in self.extents and len(digits) in (0, 2):
                self.extents[name] = dim(size.strip('"'))
                if digits:
                    self.digits[name] = (str(digits[0]), str(digits[1]))
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
                    raise CertificateError(f"{show(e)} names no whole tensor")
                self.named = e
            case ("left", e) if not self.left:
                self.left = e
            case ("right", e) if not self.right:
                self.right = e
            case _:
                raise CertificateError(f"cannot read {show(item)}")

    def _check_digits(self) -> None:
        for name, (outer, inner) in self.digits.items():
            if outer not in self.extents or inner not in self.extents or outer == inner:
                raise CertificateError(f"axis {name} has digits that are no axes")
            if self.extents[outer] * self.extents[inner] != self.extents[name]:
                raise CertificateError(f"axis {name} is not as long as its digits together")
            coordinates = self.coordinates(name)
            if len(set(coordinates)) != len(coordinates):
                raise CertificateError(f"axis {name} has one digit twice")

    def _check_names(self) -> None:
        for side in (self.left, self.right, *self.hints, *(e for pair in self.renamed for e in pair)):
            self._check_declared(side)
        known: set[str] = set()
        for name, e in self.terms:
            if name in known or name in self.extents:
                raise CertificateError(f"{name} is the name of two things")
            self._check_declared(e, known)
            known.add(name)
        for _, a, b in self.steps:
            for e in (a, b):
                self._check_declared(e, known)

    @property
    def value(self) -> Tree:
        """The expression that later lemmas use for this tensor."""
        return self.named or self.right

    def coordinates(self, name: str, depth: int = 0) -> tuple[str, ...]:
        """The axes without digits that an axis consists of."""
        if name not in self.digits:
            return (name,)
        if depth > len(self.digits):
            raise CertificateError(f"axis {name} is a digit of itself")
        outer, inner = self.digits[name]
        return (*self.coordinates(outer, depth + 1), *self.coordinates(inner, depth + 1))

    def _check_declared(self, e: Tree, names: Collection[str] = ()) -> None:
        for name in self.axis_names(e, names):
            if name not in self.extents:
                raise CertificateError(f"axis {name} is not declared")

    def axis_names(self, e: Tree, names: Collection[str] = ()) -> Iterator[str]:
        """The axes in an expression, bound or free; words in `names` are terms, not axes."""
        if isinstance(e, str) and e in names:
            return
        term = term_of(e)
        if term.axis:
            yield term.axis
        for i in term.indices:
            yield from index_axes(i)
        for x in term.arguments:
            yield from self.axis_names(x, names)

    def extent_of(self, i: Tree) -> Dim:
        """The number of values of an index."""
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
                raise CertificateError(f"cannot read the index {show(i)}")


def size_of(text: str) -> Dim:
    """A size in quotes, or an offset, which may be negative."""
    return dim(text.strip('"'))


def index_axes(i: Tree) -> Iterator[str]:
    """The names of axes in an index."""
    match i:
        case "0":
            return
        case str(name):
            yield name
        case ("radix", *parts):
            for p in parts:
                yield from index_axes(p)
        case ("digit", base, str(), str(), str()) | ("moved", base, str(), str()):
            yield from index_axes(base)
        case _:
            raise CertificateError(f"cannot read the index {show(i)}")


def replaced_index(i: Tree, old: str, new: Tree) -> Tree:
    """An index with one axis replaced by another index."""
    if isinstance(i, str):
        return new if i == old else i
    return (i[0], *(replaced_index(x, old, new) for x in i[1:]))


def show(e: Tree) -> str:
    """The text of a tree, on one line."""
    return e if isinstance(e, str) else f"({' '.join(map(show, e))})"
