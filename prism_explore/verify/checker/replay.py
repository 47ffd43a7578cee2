"""The steps of a derivation, followed without egglog and without the prover.

Each step must be an instance of the axiom that it names: one pair of terms for its two sides, one choice for each
of its variables, its side conditions true of that choice. Then equals are put for equals until nothing
changes (congruence closure), and the two sides must have met. Side conditions are decided from the
terms as they are spelled; the rows of `axioms.CONDITIONS` are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from prism_explore.ir.dims import ZERO, Dim, dim
from prism_explore.verify.axioms import AXIOMS, Axiom
from prism_explore.verify.checker.parser import Complaint, Reading, Term, Tree, index_words, parse, shape, show
from prism_explore.verify.checker.side_conditions import holds, is_count, is_placed

Key: TypeAlias = tuple[str, str, tuple[int, ...]]
"""A term: its operator, what stands beside it, and the terms inside by number."""
Binding: TypeAlias = dict[str, "int | str | Fraction"]
"""What a variable of an axiom stands for: a term, an axis or a name, a number."""

_LABELLED = frozenset({"num", "size", "call"})


@dataclass
class Kernel:
    """The terms of one lemma, each with a number."""

    reading: Reading
    terms: list[Key] = field(default_factory=list[Key])
    shells: dict[int, Term] = field(default_factory=dict[int, Term])
    """The operators, as they were read."""
    _numbers: dict[Key, int] = field(default_factory=dict[Key, int])
    _met: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])

    def read(self, e: Tree, names: Mapping[str, int]) -> int:
        """The term that a tree spells, where some words stand for terms."""
        if isinstance(e, str) and e in names:
            return names[e]
        term = shape(e)
        label = term.label
        if term.op == "num":
            above, _, below = label.partition("/")
            label = str(Fraction(int(above), int(below or 1)))
        elif term.indices or term.axis:
            label = " ".join((term.axis, label, *map(show, term.indices)))
        key = term.op, label, tuple(self.read(x, names) for x in term.inside)
        if key not in self._numbers:
            self._numbers[key] = len(self.terms)
            self.shells[len(self.terms)] = term
            self.terms.append(key)
        return self._numbers[key]

    # ------------------------------------------------------------ what is known of a term
    def met(self, e: int) -> frozenset[str]:
        """The coordinates on which it depends."""
        if e not in self._met:
            term = self.shells[e]
            found = frozenset[str]().union(*(self.met(x) for x in self.terms[e][2]))
            if term.axis:
                found -= set(self.reading.coordinates(term.axis))
            words = (w for i in term.indices for w in index_words(i))
            self._met[e] = found.union(c for w in words for c in self.reading.coordinates(w))
        return self._met[e]

    def number(self, e: int) -> Fraction | None:
        """The number that it is, if it is one."""
        op, label, _ = self.terms[e]
        return Fraction(label) if op == "num" else None

    def sign(self, e: int) -> str:
        """`> 0`, `>= 0`, `!= 0`, or nothing where the spelling does not tell."""
        op, label, inside = self.terms[e]
        signs = [] if op == "exp" else [self.sign(x) for x in inside]
        match op:
            case "num":
                value = Fraction(label)
                return "> 0" if value > 0 else ">= 0" if value == 0 else "!= 0"
            case "size" | "exp":
                return "> 0"
            case "within" | "near":
                return ">= 0"
            case "call":
                return {"sigmoid": "> 0", "relu": ">= 0", "abs": ">= 0"}.get(label, "")
            case "inv":
                return signs[0]
            case "sqrt" | "upto":
                return signs[0] if signs[0] in ("> 0", ">= 0") else ""
            case "sum" | "most" if self.inhabited(self.shells[e].axis):
                return signs[0] if signs[0] in ("> 0", ">= 0") else ""
            case "sum":
                return ">= 0" if signs[0] in ("> 0", ">= 0") else ""
            case "greater":
                return "> 0" if "> 0" in signs else ">= 0" if ">= 0" in signs else ""
            case "add":
                if set(signs) <= {"> 0", ">= 0"}:
                    return "> 0" if "> 0" in signs else ">= 0"
                return ""
            case "mul":
                if set(signs) == {"> 0"}:
                    return "> 0"
                if set(signs) <= {"> 0", ">= 0"} or inside[0] == inside[1]:
                    return ">= 0"
                if self.terms[inside[1]] == ("inv", "", (inside[0],)):
                    return ">= 0"
                return "!= 0" if set(signs) <= {"> 0", "!= 0"} else ""
            case _:
                return ""

    def inhabited(self, axis: str) -> bool:
        """Whether an axis has at least one value, for all sizes that meet the conditions."""
        return is_count(self.reading.extents[axis], self.reading.known)

    def is_bit(self, e: int) -> bool:
        """Whether it is 0 or 1 everywhere: an interval, a band, or 1 minus one of them."""
        op, _, inside = self.terms[e]
        if op == "add" and self.number(inside[0]) == 1:
            other, _, parts = self.terms[inside[1]]
            return other == "mul" and self.number(parts[0]) == -1 and self.is_bit(parts[1])
        return op in ("within", "near")

    def dim(self, e: int) -> Dim | None:
        """The size that it spells, if it spells one."""
        op, label, inside = self.terms[e]
        parts = [self.dim(x) for x in inside] if op in ("add", "mul", "inv") else []
        match op, parts:
            case "num", _:
                return Dim((((), Fraction(label)),)) if Fraction(label) else ZERO
            case "size", _:
                return dim(label)
            case "inv", [Dim() as a] if a != ZERO:
                return dim(1) / a
            case "add", [Dim() as a, Dim() as b]:
                return a + b
            case "mul", [Dim() as a, Dim() as b]:
                return a * b
            case _:
                return None

    # ------------------------------------------------------------ one step
    def check(self, name: str, left: int, right: int) -> None:
        """That two terms are the two sides of an axiom.

        Raises:
            Complaint: they are not.
        """
        row = _rows().get(name)
        if row is None:
            raise Complaint(f"no axiom is called {name}")
        why = ""
        for a, b in ((left, right), (right, left)):
            choice: Binding = {}
            if self._fits(_pattern(row.left), a, choice) and self._fits(_pattern(row.right), b, choice):
                why = next((fact for fact in row.when if not self._holds(_pattern(fact), choice)), "")
                if not why:
                    return
        raise Complaint(f"a step is no instance of {name}" + (f": {why} does not hold" if why else ""))

    def _fits(self, pattern: Tree, e: int, choice: Binding) -> bool:
        op, label, inside = self.terms[e]
        match pattern:
            case str(variable):
                return choice.setdefault(variable, e) == e
            case ("Num", str(variable)):
                return op == "num" and choice.setdefault(variable, Fraction(label)) == Fraction(label)
            case ("Num", value):
                return op == "num" and _value(value, choice) == Fraction(label)
            case (str(word), *parts):
                if word.lower() != op:
                    return False
                term = self.shells[e]
                words = [label] if op in _LABELLED else [term.axis] if term.axis else []
                words += [show(i) for i in term.indices]
                for word in words:
                    first, *parts = parts
                    wanted = str(first)
                    if wanted.startswith('"'):
                        if wanted.strip('"') != word:
                            return False
                    elif choice.setdefault(wanted, word) != word:
                        return False
                return len(parts) == len(inside) and all(
                    self._fits(p, x, choice) for p, x in zip(parts, inside, strict=True)
                )
            case _:
                return False

    def _holds(self, fact: Tree, choice: Binding) -> bool:
        match fact:
            case ("independent", str(a), str(k)):
                return self.met(_term(choice, a)).isdisjoint(self.reading.coordinates(_name(choice, k)))
            case ("inhabited", str(k)):
                return self.inhabited(_name(choice, k))
            case ("extent", str(k), str(n)):
                return self.dim(_term(choice, n)) == self.reading.extents.get(_name(choice, k))
            case ("digits", str(k), str(outer), str(inner)):
                return self.reading.digits.get(_name(choice, k)) == (_name(choice, outer), _name(choice, inner))
            case ("positive", str(a)):
                return self.sign(_term(choice, a)) == "> 0"
            case ("nonnegative", str(a)):
                return self.sign(_term(choice, a)) in ("> 0", ">= 0")
            case ("nonzero", str(a)):
                return self.sign(_term(choice, a)) in ("> 0", "!= 0")
            case ("renamed", str(a), str(b)):
                return self._is_renamed(_term(choice, a), _term(choice, b))
            case ("bit", str(a)):
                return self.is_bit(_term(choice, a))
            case ("stated", str(name), str(a), str(b)):
                return holds(self, name.strip('"'), _term(choice, a), _term(choice, b))
            case ("=", str(r), ("sqrt", str(p))):
                root = _value(r, choice)
                return root >= 0 and root * root == _value(p, choice)
            case ("!=", a, b):
                return _value(a, choice) != _value(b, choice)
            case (">=", a, b):
                return _value(a, choice) >= _value(b, choice)
            case ("<=", a, b):
                return _value(a, choice) <= _value(b, choice)
            case _:
                raise Complaint(f"cannot decide {show(fact)}")

    def _is_renamed(self, a: int, b: int) -> bool:
        """Whether b is a under another name of its bound axis."""
        first, second = self.shells[a], self.shells[b]
        old, new = first.axis, second.axis
        (_, _, inside), (_, _, there) = self.terms[a], self.terms[b]
        if first.op != second.op or not old or first.indices != second.indices or len(inside) != 1:
            return False
        if self.reading.extents[old] != self.reading.extents[new]:
            return False
        return self.met(inside[0]).isdisjoint(self.reading.coordinates(new)) and is_placed(
            self, inside[0], there[0], old, new
        )

    # ------------------------------------------------------------ all steps together
    def leads(self, pairs: Sequence[tuple[int, int]], left: int, right: int) -> bool:
        """Whether left = right follows when equals are put for equals."""
        above = list(range(len(self.terms)))

        def find(e: int) -> int:
            while above[e] != e:
                above[e] = above[above[e]]
                e = above[e]
            return e

        for a, b in pairs:
            above[find(a)] = find(b)
        while True:
            seen: dict[Key, int] = {}
            changed = False
            for e, (op, label, inside) in enumerate(self.terms):
                if inside:
                    twin = seen.setdefault((op, label, tuple(map(find, inside))), e)
                    if find(twin) != find(e):
                        above[find(e)] = find(twin)
                        changed = True
            if find(left) == find(right) or not changed:
                return find(left) == find(right)


def follow(reading: Reading) -> tuple[str, ...]:
    """The axioms of a lemma's steps, each of which was checked, and which together give left = right.

    Raises:
        Complaint: a step is wrong, or they do not lead from one side to the other.
    """
    kernel = Kernel(reading)
    names: dict[str, int] = {}
    for name, e in reading.terms:
        names[name] = kernel.read(e, names)
    left, right = kernel.read(reading.left, {}), kernel.read(reading.right, {})
    pairs: list[tuple[int, int]] = []
    for axiom, a, b in reading.steps:
        pair = kernel.read(a, names), kernel.read(b, names)
        kernel.check(axiom, *pair)
        pairs.append(pair)
    if not kernel.leads(pairs, left, right):
        raise Complaint("the steps do not lead from the left side to the right")
    return tuple(dict.fromkeys(axiom for axiom, _, _ in reading.steps))


@cache
def _rows() -> Mapping[str, Axiom]:
    return {a.name: a for a in AXIOMS}


@cache
def _pattern(text: str) -> Tree:
    return parse(text)


def _term(choice: Binding, variable: str) -> int:
    found = choice.get(variable)
    if not isinstance(found, int):
        raise Complaint(f"{variable} stands for no term")
    return found


def _name(choice: Binding, variable: str) -> str:
    found = choice.get(variable)
    if not isinstance(found, str):
        raise Complaint(f"{variable} stands for no name")
    return found


_ARITHMETIC: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def _value(e: Tree, choice: Binding) -> Fraction:
    """The number that an expression over an axiom's numbers is."""
    match e:
        case str(variable):
            found = choice.get(variable)
            if not isinstance(found, Fraction):
                raise Complaint(f"{variable} stands for no number")
            return found
        case ("bigrat", ("from-string", str(above)), ("from-string", str(below))):
            return Fraction(int(above.strip('"')), int(below.strip('"')))
        case (str(op), a, b) if op in _ARITHMETIC:
            return _ARITHMETIC[op](_value(a, choice), _value(b, choice))
        case _:
            raise Complaint(f"cannot work out {show(e)}")
