"""Minimization of the set of axioms that a derivation uses.

Input is the steps of a derivation; output is steps that use a minimal set of axioms. The steps of a normalization may
use axioms that are not needed. Here axioms act as in egglog's replay: they unite two existing terms that are instances
of both sides, up to known equalities, and add no terms. Axioms are left out one after the other as long as the others
prove both sides equal; each union that is needed becomes a step. For the longest derivations a limit ends the process.
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
"""A variable or a word; or an operator with its arguments."""
Binding: TypeAlias = "dict[str, Id | str | Fraction]"
"""The values of variables: a term, an axis or a name, a number."""

MAX_WORK = 100_000
"""The most work for one lemma, in places where a pattern is tried, about half a second; then all other axioms are kept.
Published workloads need less than a thousand."""
WORK_PER_TERM = 10
"""The work of a term of an attempt beside patterns."""
_LABELLED = frozenset({"num", "size", "call", "sum", "most"})
_ARITHMETIC = {"+": Fraction.__add__, "*": Fraction.__mul__, "/": Fraction.__truediv__}
_SIGNS = frozenset({"positive", "nonnegative", "nonzero", "bit", "independent"})


def minimize_axioms(graph: TermGraph, signs: Signs, left: Id, right: Id, steps: list[Step]) -> tuple[list[Step], bool]:
    """Steps that lead from one side to the other by a minimal set of axioms, and whether all axioms were tried.

    Not all are tried where `MAX_WORK` is reached; then fewer axioms may suffice.

    Args:
        graph: the terms of the steps; terms may be added to it.
        signs: of these terms.
        left: one side.
        right: the other.
        steps: steps that lead from one side to the other.
    """
    required, work, all_tried = frozenset[str](), 0, True
    while (names := frozenset(s.axiom for s in steps)) - required and len(names) > 1 and work < MAX_WORK:
        axiom = next(s.axiom for s in steps if s.axiom not in required)
        attempt = _Attempt(graph, signs, left, right, steps, names - {axiom}, MAX_WORK - work)
        found = attempt.steps()
        work += attempt.work
        if found is None:
            required |= {axiom}
            all_tried = all_tried and not attempt.exhausted
        else:
            steps, required, all_tried = found, frozenset[str](), True
    return steps, all_tried and (len(names) < 2 or names <= required)


class _Attempt:
    """An attempt to prove the two sides equal on the terms of some steps, with some of their axioms."""

    def __init__(
        self,
        graph: TermGraph,
        signs: Signs,
        left: Id,
        right: Id,
        steps: Sequence[Step],
        axioms: frozenset[str],
        most_work: int,
    ) -> None:
        self._graph = graph
        self._signs = signs
        self._ends = left, right
        self._closure = Closure(graph.nodes, [left, right, *(e for s in steps for e in (s.left, s.right))])
        self._steps = [s for s in steps if s.axiom in axioms]
        self._rows = [row for row in _matchable_rows() if row.name in axioms]
        self._most_work = most_work
        self.work = WORK_PER_TERM * len(self._closure)
        """How much was done, as `MAX_WORK` counts it."""

    @property
    def exhausted(self) -> bool:
        """Whether it ended because of its limit."""
        return self.work >= self._most_work

    def steps(self) -> list[Step] | None:
        """Steps that lead from one side to the other; None where these axioms do not suffice."""
        closure, known = self._closure, list(self._steps)
        for s in known:
            closure.unite(s.left, s.right, s)
        while not closure.same(*self._ends):
            instances = [Step(row.name, a, b) for row in self._rows for a, b in self._instances(row)]
            changed = False
            for s in instances:
                closure.add(s.left)
                closure.add(s.right)
                if not closure.same(s.left, s.right):
                    closure.unite(s.left, s.right, s)
                    known.append(s)
                    changed = True
            if not changed or self.exhausted:
                break
        if not closure.same(*self._ends):
            return None
        used = set(closure.explain(*self._ends))
        return [s for s in known if s in used]

    def _instances(self, row: Axiom) -> Iterator[tuple[Id, Id]]:
        """Instances of an axiom whose two sides are equal to existing terms and not yet known to be equal."""
        left, right = _parse_pattern(row.left), _parse_pattern(row.right)
        for e in self._closure.with_operator(_operator(left)):
            if self.exhausted:
                return
            for partial in self._matches(left, e, {}):
                for other, binding in self._counterparts(right, partial):
                    if self.exhausted:
                        return
                    if not self._closure.same(e, other) and self._conditions_hold(row, binding):
                        yield self._build(left, binding), self._build(right, binding)

    def _counterparts(self, pattern: Pattern, binding: Binding) -> Iterator[tuple[Id, Binding]]:
        """Existing terms that are instances of a side of an axiom."""
        if _variables(pattern) <= binding.keys():
            found = self._resolved(pattern, binding)
            if found is not None:
                yield found, dict(binding)
            return
        for e in self._closure.with_operator(_operator(pattern)):
            for more in self._matches(pattern, e, binding):
                yield e, more

    # ------------------------------------------------------------ patterns
    def _matches(self, pattern: Pattern, e: Id, binding: Binding) -> Iterator[Binding]:
        """Bindings under which a pattern matches this term, its arguments up to known equalities."""
        self.work += 1
        node = self._graph.nodes[e]
        assert isinstance(pattern, tuple), "a pattern for a term has an operator"
        parts = pattern[1:]
        if node.op in _LABELLED:
            first, *rest = parts
            labelled = self._labelled(node.op, node.label, first, binding)
            if labelled is None:
                return
            binding, parts = labelled, tuple(rest)
        yield from self._all(tuple(zip(parts, node.arguments, strict=True)), binding)

    def _all(self, pairs: tuple[tuple[Pattern, Id], ...], binding: Binding) -> Iterator[Binding]:
        if not pairs:
            yield binding
            return
        (pattern, e), rest = pairs[0], pairs[1:]
        if isinstance(pattern, str):
            known = binding.get(pattern)
            if known is None:
                yield from self._all(rest, {**binding, pattern: e})
            elif isinstance(known, int) and self._closure.same(known, e):
                yield from self._all(rest, binding)
            return
        word = _operator(pattern)
        for member in self._closure.members(e):
            if self._graph.nodes[member].op == word:
                for more in self._matches(pattern, member, binding):
                    yield from self._all(rest, more)

    def _labelled(self, op: str, label: str, pattern: Pattern, binding: Binding) -> Binding | None:
        if isinstance(pattern, tuple):
            return binding if _value(pattern, binding) == Fraction(label) else None
        if pattern.startswith('"'):
            return binding if pattern.strip('"') == label else None
        found = Fraction(label) if op == "num" else label
        return {**binding, pattern: found} if binding.get(pattern, found) == found else None

    def _resolved(self, pattern: Pattern, binding: Binding) -> Id | None:
        """An existing term that is equal to a pattern under a complete binding."""
        if isinstance(pattern, str):
            found = binding[pattern]
            return found if isinstance(found, int) else None
        label, parts = self._head(pattern, binding)
        inside = [self._resolved(p, binding) for p in parts]
        known = [e for e in inside if e is not None]
        return self._closure.find(_operator(pattern), label, known) if len(known) == len(inside) else None

    def _build(self, pattern: Pattern, binding: Binding) -> Id:
        if isinstance(pattern, str):
            found = binding[pattern]
            assert isinstance(found, int), "variables inside of terms are bound to terms"
            return found
        label, parts = self._head(pattern, binding)
        return self._graph.make(_operator(pattern), *(self._build(p, binding) for p in parts), label=label)

    def _head(self, pattern: tuple[Pattern, ...], binding: Binding) -> tuple[str, tuple[Pattern, ...]]:
        """The label of a pattern's operator, and the patterns of its arguments."""
        op = _operator(pattern)
        if op not in _LABELLED:
            return "", pattern[1:]
        first = pattern[1]
        if op == "num":
            return str(_value(first, binding)), ()
        assert isinstance(first, str), "axes and names are words"
        return first.strip('"') if first.startswith('"') else str(binding[first]), pattern[2:]

    # ------------------------------------------------------------ side conditions
    def _conditions_hold(self, row: Axiom, binding: Binding) -> bool:
        """Whether the conditions of an axiom hold for the bound terms; equal terms may be bound instead."""
        facts = [fact for text in row.conditions if isinstance(fact := _parse_pattern(text), tuple)]
        for name in [n for n, e in binding.items() if isinstance(e, int)]:
            signs = [f for f in facts if f[0] in _SIGNS and f[1] == name]
            e = binding[name]
            if signs and isinstance(e, int):
                fitting = (
                    t for t in (e, *self._closure.members(e)) if all(self._has_sign(f, t, binding) for f in signs)
                )
                found = next(fitting, None)
                if found is None:
                    return False
                binding[name] = found
        return all(f[0] in _SIGNS or self._holds(f, binding) for f in facts)

    def _has_sign(self, fact: Pattern, e: Id, binding: Binding) -> bool:
        graph, signs = self._graph, self._signs
        match fact:
            case ("independent", _, str(k)):
                return graph.dependencies(e).isdisjoint(graph.coordinates(str(binding[k])))
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

    def _holds(self, fact: Pattern, binding: Binding) -> bool:
        graph = self._graph
        match fact:
            case ("inhabited", str(k)):
                return graph.is_inhabited(str(binding[k]))
            case ("extent", str(k), str(n)):
                size, found = graph.size(graph.extents[str(binding[k])]), binding[n]
                if (
                    not isinstance(found, int)
                    or not self._closure.contains(size)
                    or not self._closure.same(size, found)
                ):
                    return False
                binding[n] = size
                return True
            case ("digits", str(k), str(outer), str(inner)):
                return graph.digits.get(str(binding[k])) == (binding[outer], binding[inner])
            case ("=", str(r), ("sqrt", p)):
                root = _value(r, binding)
                return root >= 0 and root * root == _value(p, binding)
            case ("!=", a, b):
                return _value(a, binding) != _value(b, binding)
            case (">=", a, b):
                return _value(a, binding) >= _value(b, binding)
            case ("<=", a, b):
                return _value(a, binding) <= _value(b, binding)
            case _:
                raise AssertionError(f"no condition reads {fact}")


@cache
def _matchable_rows() -> tuple[Axiom, ...]:
    """Rows whose instances are visible in terms; the others apply only where a step names them."""
    return tuple(a for a in AXIOMS if a.name not in STATED | {RENAME} and "Upto" not in a.left)


@cache
def _parse_pattern(text: str) -> Pattern:
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
    assert isinstance(pattern, tuple) and isinstance(pattern[0], str), "a pattern with an operator begins with its word"
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


def _value(pattern: Pattern, binding: Mapping[str, Id | str | Fraction]) -> Fraction:
    """The value of an expression over an axiom's numbers."""
    match pattern:
        case str(variable):
            found = binding[variable]
            assert isinstance(found, Fraction), "variables of numbers are bound to numbers"
            return found
        case ("bigrat", ("from-string", str(above)), ("from-string", str(below))):
            return Fraction(int(above.strip('"')), int(below.strip('"')))
        case (str(op), a, b) if op in _ARITHMETIC:
            return _ARITHMETIC[op](_value(a, binding), _value(b, binding))
        case _:
            raise AssertionError(f"no axiom has the number {pattern}")
