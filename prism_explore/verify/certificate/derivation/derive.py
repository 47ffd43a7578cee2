"""Derivations: the steps, each an instance of an axiom, that prove two expressions equal; computed without a search.

Input is a statement `left = right`; output is a list of steps, each an instance of one axiom, from the left side to the
right. Both sides are brought into one normal form (`normalize`), and every change of a term is recorded as a step.
Factors that do not depend on an axis are pulled out of its sum; products and polynomials are ordered; axes are named by
the nesting depth of their sums. The proof is the steps, not the equality of the normal forms: egglog replays them from
the axioms alone, and `checker` verifies them independently.

The decision procedure of the prover, `algebra`, is not used. Where both disagree, no derivation is found, and
`saturation` searches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import product

from prism_explore.support.caches import memoize
from prism_explore.verify.certificate.derivation.choices import EXPANSIONS, FEW_CUTS, MANY_CUTS, Choices
from prism_explore.verify.certificate.derivation.congruence import needed_steps
from prism_explore.verify.certificate.derivation.minimize import minimize_axioms
from prism_explore.verify.certificate.derivation.normalize import Normalizer
from prism_explore.verify.certificate.derivation.polynomials import DerivationFailed
from prism_explore.verify.certificate.derivation.term_graph import Derivation, Id, Step
from prism_explore.verify.certificate.lemma import CannotState, Statement

MAX_READ = 50_000
"""The most steps that are read to leave out one axiom after another, about two seconds."""


@memoize(1_024)
def derive(statement: Statement) -> Derivation | None:
    """Steps from the left side to the right side; None where none were found.

    Attempts, in order: functions are first symbols, then replaced by their definitions; from one kind of cuts to the
    next, more is split. Where two forms differ, denominators are cleared. If all attempts fail, they are repeated for
    the next merge order of digits (`Statement.next_variant`); then all of these with cuts between any two values. An
    attempt that would be like one that failed is left out.

    Args:
        statement: to derive.
    """
    attempts = [(variant, list[Choices]()) for variant in _variants(statement)]
    for cuts in (FEW_CUTS, MANY_CUTS):
        for (variant, tried), expansion, cut in product(attempts, EXPANSIONS, cuts):
            choices = Choices(expansion, cut)
            if any(map(choices.would_answer_like, tried)):
                continue
            found = _derived(variant, choices)
            if found is not None:
                return found
            tried.append(choices)
    return None


def _variants(statement: Statement) -> Iterator[Statement]:
    """The statement, and the same with other merge orders of digits."""
    with contextlib.suppress(CannotState):
        while True:
            yield statement
            if statement.next_variant is None:
                return
            statement = statement.next_variant()


def _derived(statement: Statement, choices: Choices) -> Derivation | None:
    """A derivation by one attempt."""
    normalizer = Normalizer(statement.axes, statement.integers, choices)
    graph = normalizer.graph
    with contextlib.suppress(DerivationFailed, ValueError, RecursionError):
        left, right = graph.intern(statement.left), graph.intern(statement.right)
        if not normalizer.collect_borders() and not choices.is_any("own"):
            return None
        if normalizer.normal(left) == normalizer.normal(right) or normalizer.clear_denominators(left, right):
            return _extract(normalizer, left, right)
    return None


def _extract(normalizer: Normalizer, left: Id, right: Id) -> Derivation | None:
    """The recorded steps that lead from one side to the other, with a minimal set of axioms."""
    graph = normalizer.graph
    steps = needed_steps(graph.nodes, [Step(axiom, a, b) for (a, b), axiom in graph.steps.items()], left, right)
    if steps is None:
        return None
    read = 0
    for axiom in dict.fromkeys(s.axiom for s in steps):
        read += len(steps)
        if read > MAX_READ:
            break
        steps = needed_steps(graph.nodes, [s for s in steps if s.axiom != axiom], left, right) or steps
    return graph.extract(left, right, *minimize_axioms(graph, normalizer.signs, left, right, steps))
