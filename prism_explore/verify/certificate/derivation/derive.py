"""Derivations: why two expressions are equal, axiom by axiom, without a search.

Input is a statement `left = right`; output is a list of steps, each an instance of one axiom, from the left side to the
right. Both sides are brought into one normal form (`normalize`), and every change of a term is recorded as a step. A
product of sums is not multiplied out over its axes, and what does not depend on an axis leaves its sum, so every sum is
as small as it can be; products and polynomials are in order; axes are renamed by how deeply their sums are nested.
Equal normal forms prove nothing by themselves: the steps do. egglog replays them from the axioms alone, and `checker`
follows them by other means.

Nothing is shared with `algebra`, which decides; where the two disagree, no derivation is found, and `saturation`
searches.
"""

from __future__ import annotations

from prism_explore.verify.certificate.derivation.congruence import follow
from prism_explore.verify.certificate.derivation.functions import EXPANSIONS
from prism_explore.verify.certificate.derivation.minimize import minimize_axioms
from prism_explore.verify.certificate.derivation.normalize import Normalizer
from prism_explore.verify.certificate.derivation.polynomials import DerivationFailed
from prism_explore.verify.certificate.derivation.term_graph import Derivation, Id, Step
from prism_explore.verify.certificate.lemma import CannotState, Statement


def derive(statement: Statement) -> Derivation | None:
    """Steps from the left side to the right, none of which can be left out; None where none were found.

    Functions are kept by name first, then replaced by their definitions; sums are cut at the borders of their own
    intervals first, then at those of all others; and where two forms differ, denominators are cleared. If all of that
    fails, digits that were merged into one axis are kept separate: copies of a sum share some of them at times.
    """
    for expansion in EXPANSIONS:
        for cut_everywhere in (False, True):
            normalizer = Normalizer(
                statement.axes, statement.integers, expansion=expansion, cut_everywhere=cut_everywhere
            )
            graph = normalizer.graph
            try:
                left, right = graph.intern(statement.left), graph.intern(statement.right)
                if not normalizer.mark_borders() and cut_everywhere:
                    continue
                if normalizer.normal(left) == normalizer.normal(right) or normalizer.clear_denominators(left, right):
                    return _extract(normalizer, left, right)
            except (DerivationFailed, ValueError, RecursionError):
                continue
    try:
        return derive(statement.apart()) if statement.apart is not None else None
    except CannotState:
        return None


def _extract(normalizer: Normalizer, left: Id, right: Id) -> Derivation | None:
    """The recorded steps that lead from one side to the other, by axioms of which none can be left out."""
    graph = normalizer.graph
    steps = follow(graph.nodes, [Step(axiom, a, b) for (a, b), axiom in graph.steps.items()], left, right)
    if steps is None:
        return None
    for axiom in dict.fromkeys(s.axiom for s in steps):
        steps = follow(graph.nodes, [s for s in steps if s.axiom != axiom], left, right) or steps
    steps, minimal = minimize_axioms(graph, normalizer.signs, left, right, steps)
    return graph.extract(left, right, steps, minimal)
