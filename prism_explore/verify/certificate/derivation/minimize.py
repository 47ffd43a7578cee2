"""Derivations by as few axioms as will do.

A procedure that brings both sides into one shape takes detours, and what it says may use axioms that its terms can
do without. Here axioms do what they do when egglog replays a derivation: they join two terms that are there and are
instances of both sides, up to what is equal already, and add none. Axioms are left out one after the other as long
as the others still make the two sides one; each join that is needed then becomes a step. In the end no
axiom of a derivation can be left out, but for the longest, which are not tried to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from prism_explore.verify.axioms import AXIOMS, Axiom
from prism_explore.verify.certificate.derivation.congruence import Closure
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import RENAME, STATED, Id, Step, TermGraph

Pattern: TypeAlias = "str | tuple[Pattern, ...]"
"""A variable or a word; or an operator and what is inside."""
Choice: TypeAlias = "dict[str, Id | str | Fraction]"
"""What variables stand for: a term, an axis or a name, a number."""

MOST_JOINS = 20_000
"""Pairs of terms that one attempt may look at; where there are more, the axiom stays."""
EFFORT = 10_000
"""Terms that all attempts of one lemma may take up, some two seconds; then the axioms that were not tried stay, too."""
_LABELLED = frozenset({"num", "size", "call", "sum", "most"})
_ARITHMETIC = {"+": Fraction.__add__, "*": Fraction.__mul__, "/": Fraction.__truediv__}
_SIGNS = frozenset({"positive", "nonnegative", "nonzero", "bit", "independent"})


def minimize_axioms(graph: TermGraph, signs: Signs, left: Id, right: Id, steps: list[Step]) -> tuple[list[Step], bool]:
    """Steps that lead from one side to the other by axioms of which none can be left out, and whether that was tried.

    It was not where `EFFORT` or `MOST_JOINS` ended it: then the axioms that are left may be more than it takes.

    Args:
        graph: the terms of the steps; terms may be added to it.
        signs: of these terms.
        left: one side.
        right: the other.
        steps: some that lead there.
    """
    stays, effort, tried = frozenset[str](), 0, True
    while (names := frozenset(s.axiom for s in steps)) - stays and len(names) > 1 and effort < EFFORT:
        axiom = next(s.axiom for s in steps if s.axiom not in stays)
        attempt = _Attempt(graph, signs, left, right, steps, names - {axiom})
        effort += attempt.size
        found = attempt.steps()
        if found is None:
            stays |= {axiom}
            tried = tried and not attempt.exhausted
        else:
            steps, stays, tried = found, frozenset[str](), True
    return steps, tried and (len(names) < 2 or names <= stays)


class _Attempt:
    """The terms of some steps, joined by some of their axioms alone."""

    def __init__(
        self, graph: TermGraph, signs: Signs, left: Id, right: Id, steps: Sequence[Step], axioms: frozenset[str]
    ) -> None:
        self._graph = graph
        self._signs = signs
        self._ends = left, right
        self._closure = Closure(graph.nodes, [left, right, *(e for s in steps for e in (s.left, s.right))])
        self._steps = [s for s in steps if s.axiom in axioms]
        self._rows = [row for row in _joinable() if row.name in axioms]
        self._left = MOST_JOINS

    @property
    def size(self) -> int:
        """How many terms there are."""
        return len(self._closure)

    @property
    def exhausted(self) -> bool:
        """Whether it ended because there were too many pairs to look at."""
        return self._left <= 0

    def steps(self) -> list[Step] | None:
        """Those that lead from one side to the other; None where these axioms do not."""
        closure, known = self._closure, list(self._steps)
        for s in known:
            closure.join(s.left, s.right, s)
        while not closure.same(*self._ends):
            met = [Step(row.name, a, b) for row in self._rows for a, b in self._instances(row)]
            grown = False
            for s in met:
                closure.add(s.left)
                closure.add(s.right)
                if not closure.same(s.left, s.right):
                    closure.join(s.left, s.right, s)
                    known.append(s)
                    grown = True
            if not grown or self._left <= 0:
                break
        if not closure.same(*self._ends):
            return None
        used = set(closure.explain(*self._ends))
        return [s for s in known if s in used]

    def _instances(self, row: Axiom) -> Iterator[tuple[Id, Id]]:
        """Both sides of an axiom, where each is equal to a term that is there, and they are not known to be equal."""
        left, right = _read(row.left), _read(row.right)
        for e in self._closure.having(_operator(left)):
            for begun in self._matches(left, e, {}):
                for other, choice in self._others(right, begun):
                    self._left -= 1
                    if self._left <= 0:
                        return
                    if not self._closure.same(e, other) and self._allowed(row, choice):
                        yield self._build(left, choice), self._build(right, choice)

    def _others(self, pattern: Pattern, choice: Choice) -> Iterator[tuple[Id, Choice]]:
        """Terms that are there and equal to a side of an axiom."""
        if _variables(pattern) <= choice.keys():
            found = self._resolved(pattern, choice)
            if found is not None:
                yield found, dict(choice)
            return
        for e in self._closure.having(_operator(pattern)):
            for more in self._matches(pattern, e, choice):
                yield e, more

    # ------------------------------------------------------------ patterns
    def _matches(self, pattern: Pattern, e: Id, choice: Choice) -> Iterator[Choice]:
        """Choices that make a pattern this term, its insides up to what is equal."""
        node = self._graph.nodes[e]
        assert isinstance(pattern, tuple), "what is looked for has an operator"
        parts = pattern[1:]
        if node.op in _LABELLED:
            first, *rest = parts
            labelled = self._labelled(node.op, node.label, first, choice)
            if labelled is None:
                return
            choice, parts = labelled, tuple(rest)
        yield from self._all(tuple(zip(parts, node.arguments, strict=True)), choice)

    def _all(self, pairs: tuple[tuple[Pattern, Id], ...], choice: Choice) -> Iterator[Choice]:
        if not pairs:
            yield choice
            return
        (pattern, e), rest = pairs[0], pairs[1:]
        if isinstance(pattern, str):
            known = choice.get(pattern)
            if known is None:
                yield from self._all(rest, {**choice, pattern: e})
            elif isinstance(known, int) and self._closure.same(known, e):
                yield from self._all(rest, choice)
            return
        word = _operator(pattern)
        for member in self._closure.like(e):
            if self._graph.nodes[member].op == word:
                for more in self._matches(pattern, member, choice):
                    yield from self._all(rest, more)

    def _labelled(self, op: str, label: str, pattern: Pattern, choice: Choice) -> Choice | None:
        if isinstance(pattern, tuple):
            return choice if _value(pattern, choice) == Fraction(label) else None
        if pattern.startswith('"'):
            return choice if pattern.strip('"') == label else None
        found = Fraction(label) if op == "num" else label
        return {**choice, pattern: found} if choice.get(pattern, found) == found else None

    def _resolved(self, pattern: Pattern, choice: Choice) -> Id | None:
        """A term that is there and equal to a pattern whose variables are chosen."""
        if isinstance(pattern, str):
            found = choice[pattern]
            return found if isinstance(found, int) else None
        label, parts = self._head(pattern, choice)
        inside = [self._resolved(p, choice) for p in parts]
        known = [e for e in inside if e is not None]
        return self._closure.find(_operator(pattern), label, known) if len(known) == len(inside) else None

    def _build(self, pattern: Pattern, choice: Choice) -> Id:
        if isinstance(pattern, str):
            found = choice[pattern]
            assert isinstance(found, int), "variables inside of terms stand for terms"
            return found
        label, parts = self._head(pattern, choice)
        return self._graph.make(_operator(pattern), *(self._build(p, choice) for p in parts), label=label)

    def _head(self, pattern: tuple[Pattern, ...], choice: Choice) -> tuple[str, tuple[Pattern, ...]]:
        """The word beside an operator, and the patterns inside."""
        op = _operator(pattern)
        if op not in _LABELLED:
            return "", pattern[1:]
        first = pattern[1]
        if op == "num":
            return str(_value(first, choice)), ()
        assert isinstance(first, str), "axes and names are words"
        return first.strip('"') if first.startswith('"') else str(choice[first]), pattern[2:]

    # ------------------------------------------------------------ side conditions
    def _allowed(self, row: Axiom, choice: Choice) -> bool:
        """Whether an axiom's conditions hold; terms that only equal others for which they do are replaced by these."""
        facts = [fact for text in row.when if isinstance(fact := _read(text), tuple)]
        for name in [n for n, e in choice.items() if isinstance(e, int)]:
            signs = [f for f in facts if f[0] in _SIGNS and f[1] == name]
            e = choice[name]
            if signs and isinstance(e, int):
                fitting = (t for t in (e, *self._closure.like(e)) if all(self._is(f, t, choice) for f in signs))
                found = next(fitting, None)
                if found is None:
                    return False
                choice[name] = found
        return all(f[0] in _SIGNS or self._holds(f, choice) for f in facts)

    def _is(self, fact: Pattern, e: Id, choice: Choice) -> bool:
        graph, signs = self._graph, self._signs
        match fact:
            case ("independent", _, str(k)):
                return graph.dependencies(e).isdisjoint(graph.coordinates(str(choice[k])))
            case ("positive", _):
                return signs.is_positive(e)
            case ("nonnegative", _):
                return signs.is_nonnegative(e)
            case ("nonzero", _):
                return signs.is_nonzero(e)
            case ("bit", _):
                return signs.is_bit(e)
            case _:
                raise AssertionError(f"no condition reads {fact}")

    def _holds(self, fact: Pattern, choice: Choice) -> bool:
        graph = self._graph
        match fact:
            case ("inhabited", str(k)):
                return graph.is_inhabited(str(choice[k]))
            case ("extent", str(k), str(n)):
                size, found = graph.size(graph.extents[str(choice[k])]), choice[n]
                if not isinstance(found, int) or not self._closure.holds(size) or not self._closure.same(size, found):
                    return False
                choice[n] = size
                return True
            case ("digits", str(k), str(outer), str(inner)):
                return graph.digits.get(str(choice[k])) == (choice[outer], choice[inner])
            case ("=", str(r), ("sqrt", p)):
                root = _value(r, choice)
                return root >= 0 and root * root == _value(p, choice)
            case ("!=", a, b):
                return _value(a, choice) != _value(b, choice)
            case (">=", a, b):
                return _value(a, choice) >= _value(b, choice)
            case ("<=", a, b):
                return _value(a, choice) <= _value(b, choice)
            case _:
                raise AssertionError(f"no condition reads {fact}")


@cache
def _joinable() -> tuple[Axiom, ...]:
    """Rows whose instances can be seen from terms; the others are joined where a step says so."""
    return tuple(a for a in AXIOMS if a.name not in STATED | {RENAME} and "Upto" not in a.left)


@cache
def _read(text: str) -> Pattern:
    """A side or a condition as a tree."""
    tokens = re.findall(r'[()]|"[^"]*"|[^\s()"]+', text)
    tokens.reverse()

    def tree() -> Pattern:
        token = tokens.pop()
        if token != "(":
            return token
        items: list[Pattern] = []
        while tokens[-1] != ")":
            items.append(tree())
        tokens.pop()
        return tuple(items)

    return tree()


def _operator(pattern: Pattern) -> str:
    assert isinstance(pattern, tuple) and isinstance(pattern[0], str), "what has an operator begins with its word"
    return pattern[0].lower()


@cache
def _variables(pattern: Pattern) -> frozenset[str]:
    """The variables of a side, those for axes, names and numbers included."""
    if isinstance(pattern, str):
        return frozenset() if pattern.startswith('"') else frozenset({pattern})
    if pattern[0] in ("bigrat", *_ARITHMETIC):
        parts = pattern[1:] if pattern[0] in _ARITHMETIC else ()
        return frozenset[str]().union(*map(_variables, parts))
    return frozenset[str]().union(*map(_variables, pattern[1:]))


def _value(pattern: Pattern, choice: Mapping[str, Id | str | Fraction]) -> Fraction:
    """The number that an expression over an axiom's numbers is."""
    match pattern:
        case str(variable):
            found = choice[variable]
            assert isinstance(found, Fraction), "variables of numbers stand for numbers"
            return found
        case ("bigrat", ("from-string", str(above)), ("from-string", str(below))):
            return Fraction(int(above.strip('"')), int(below.strip('"')))
        case (str(op), a, b) if op in _ARITHMETIC:
            return _ARITHMETIC[op](_value(a, choice), _value(b, choice))
        case _:
            raise AssertionError(f"no axiom has the number {pattern}")
