"""Replay of a derivation's steps, without egglog and without the prover.

Input is a parsed lemma with steps. Each step must be an instance of the axiom that it names: its two terms match the
two sides of the axiom's row under one binding of the row's variables, and the side conditions hold for that binding.
Then congruence closure over all steps must make the lemma's two sides equal. Output is the list of axioms used.

`certificate/derivation/minimize` also matches patterns. The checker does not use that code, because it must be
independent of the prover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from prism_explore.verify import axioms
from prism_explore.verify.axioms import Axiom
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, Tree, parse, show
from prism_explore.verify.checker.side_conditions import holds_by_indices, is_renamed
from prism_explore.verify.checker.terms import Key, TermTable

Binding: TypeAlias = dict[str, "int | str | Fraction"]
"""The value of each variable of an axiom: a term, an axis or a name, or a number."""

_LABELLED = frozenset({"num", "size", "call"})


def check_steps(lemma: ParsedLemma) -> tuple[str, ...]:
    """Check the steps of a lemma, and that together they prove left = right; returns their axioms.

    Raises:
        CertificateError: a step is wrong, or they do not lead from one side to the other.
    """
    table = TermTable(lemma)
    rows = {a.name: a for a in axioms.AXIOMS}
    names: dict[str, int] = {}
    for name, e in lemma.terms:
        names[name] = table.intern(e, names)
    left, right = table.intern(lemma.left, {}), table.intern(lemma.right, {})
    pairs: list[tuple[int, int]] = []
    for axiom, a, b in lemma.steps:
        if axiom not in rows:
            raise CertificateError(f"no axiom is called {axiom}")
        pairs.append((table.intern(a, names), table.intern(b, names)))
        _check_step(table, rows[axiom], *pairs[-1])
    if not _are_connected(table.terms, pairs, left, right):
        raise CertificateError("the steps do not lead from the left side to the right")
    return tuple(dict.fromkeys(axiom for axiom, _, _ in lemma.steps))


# ---------------------------------------------------------------- one step
def _check_step(table: TermTable, row: Axiom, left: int, right: int) -> None:
    """Check that two terms are the two sides of an axiom, in either order."""
    failed = ""
    for a, b in ((left, right), (right, left)):
        binding: Binding = {}
        if _matches(table, _pattern(row.left), a, binding) and _matches(table, _pattern(row.right), b, binding):
            failed = next((fact for fact in row.conditions if not _holds(table, _pattern(fact), binding)), "")
            if not failed:
                return
    raise CertificateError(f"a step is no instance of {row.name}" + (f": {failed} does not hold" if failed else ""))


def _matches(table: TermTable, pattern: Tree, e: int, binding: Binding) -> bool:
    """Whether a term is an instance of a pattern; extends the binding."""
    op, label, arguments = table.terms[e]
    match pattern:
        case str(variable):
            return binding.setdefault(variable, e) == e
        case ("Num", str(variable)):
            return op == "num" and binding.setdefault(variable, Fraction(label)) == Fraction(label)
        case ("Num", value):
            return op == "num" and _value(value, binding) == Fraction(label)
        case (str(word), *parts):
            if word.lower() != op:
                return False
            term = table.operators[e]
            labels = [label] if op in _LABELLED else [term.axis] if term.axis else []
            labels += [show(i) for i in term.indices]
            for text in labels:
                first, *parts = parts
                wanted = str(first)
                if wanted.startswith('"'):
                    if wanted.strip('"') != text:
                        return False
                elif binding.setdefault(wanted, text) != text:
                    return False
            return len(parts) == len(arguments) and all(
                _matches(table, p, x, binding) for p, x in zip(parts, arguments, strict=True)
            )
        case _:
            return False


def _holds(table: TermTable, fact: Tree, binding: Binding) -> bool:
    """Whether a side condition holds."""
    lemma = table.lemma
    match fact:
        case ("independent", str(a), str(k)):
            return table.dependencies(_term(binding, a)).isdisjoint(lemma.coordinates(_name(binding, k)))
        case ("inhabited", str(k)):
            return table.is_inhabited(_name(binding, k))
        case ("extent", str(k), str(n)):
            return table.size(_term(binding, n)) == lemma.extents.get(_name(binding, k))
        case ("digits", str(k), str(outer), str(inner)):
            return lemma.digits.get(_name(binding, k)) == (_name(binding, outer), _name(binding, inner))
        case ("positive", str(a)):
            return table.sign(_term(binding, a)) == "> 0"
        case ("nonnegative", str(a)):
            return table.sign(_term(binding, a)) in ("> 0", ">= 0")
        case ("nonzero", str(a)):
            return table.sign(_term(binding, a)) in ("> 0", "!= 0")
        case ("renamed", str(a), str(b)):
            return is_renamed(table, _term(binding, a), _term(binding, b))
        case ("bit", str(a)):
            return table.is_indicator(_term(binding, a))
        case ("stated", str(name), str(a), str(b)):
            return holds_by_indices(table, name.strip('"'), _term(binding, a), _term(binding, b))
        case ("=", str(r), ("sqrt", str(p))):
            root = _value(r, binding)
            return root >= 0 and root * root == _value(p, binding)
        case ("!=", a, b):
            return _value(a, binding) != _value(b, binding)
        case (">=", a, b):
            return _value(a, binding) >= _value(b, binding)
        case ("<=", a, b):
            return _value(a, binding) <= _value(b, binding)
        case _:
            raise CertificateError(f"cannot decide {show(fact)}")


@cache
def _pattern(text: str) -> Tree:
    return parse(text)


def _term(binding: Binding, variable: str) -> int:
    found = binding.get(variable)
    if not isinstance(found, int):
        raise CertificateError(f"{variable} stands for no term")
    return found


def _name(binding: Binding, variable: str) -> str:
    found = binding.get(variable)
    if not isinstance(found, str):
        raise CertificateError(f"{variable} stands for no name")
    return found


_ARITHMETIC: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def _value(e: Tree, binding: Binding) -> Fraction:
    """The value of an expression over an axiom's numbers."""
    match e:
        case str(variable):
            found = binding.get(variable)
            if not isinstance(found, Fraction):
                raise CertificateError(f"{variable} stands for no number")
            return found
        case ("bigrat", ("from-string", str(above)), ("from-string", str(below))):
            return Fraction(int(above.strip('"')), int(below.strip('"')))
        case (str(op), a, b) if op in _ARITHMETIC:
            return _ARITHMETIC[op](_value(a, binding), _value(b, binding))
        case _:
            raise CertificateError(f"cannot work out {show(e)}")


# ---------------------------------------------------------------- all steps together
def _are_connected(terms: Sequence[Key], pairs: Sequence[tuple[int, int]], left: int, right: int) -> bool:
    """Whether left = right follows from the pairs by congruence closure."""
    parent = list(range(len(terms)))

    def find(e: int) -> int:
        while parent[e] != e:
            parent[e] = parent[parent[e]]
            e = parent[e]
        return e

    for a, b in pairs:
        parent[find(a)] = find(b)
    while True:
        seen: dict[Key, int] = {}
        changed = False
        for e, (op, label, arguments) in enumerate(terms):
            if arguments:
                equal = seen.setdefault((op, label, tuple(map(find, arguments))), e)
                if find(equal) != find(e):
                    parent[find(e)] = find(equal)
                    changed = True
        if find(left) == find(right) or not changed:
            return find(left) == find(right)
