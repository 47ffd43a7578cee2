"""Sums of polynomials: their value is that of the parts, their terms are in order, and the steps prove it."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from prism_explore.ir.dims import dim
from prism_explore.verify.certificate.derivation.congruence import needed_steps
from prism_explore.verify.certificate.derivation.normalize import Normalizer
from prism_explore.verify.certificate.derivation.polynomials import Poly
from prism_explore.verify.certificate.derivation.term_graph import Step
from prism_explore.verify.certificate.expressions import At
from prism_explore.verify.certificate.lemma import Axis
from prism_explore.verify.normal_form.index import Var

NAMES = "abcdef"
COEFFICIENTS = st.dictionaries(st.integers(0, len(NAMES)), st.integers(-2, 2).filter(bool).map(Fraction), max_size=7)
"""The coefficient of each monomial: of the number 1, and of some elements."""


@given(st.lists(COEFFICIENTS, min_size=2, max_size=4))
def test_a_sum_is_the_plain_sum_and_its_steps_prove_it(parts: list[dict[int, Fraction]]) -> None:
    axis = Axis("p0", dim("b"))
    normalizer = Normalizer((axis,))
    graph, polynomials = normalizer.graph, normalizer._polynomials
    elements = [graph.intern(At(x, (Var(axis.name, axis.extent),))) for x in NAMES]

    def polynomial(part: dict[int, Fraction]) -> Poly:
        return tuple(sorted((((elements[n - 1], Fraction(1)),) if n else (), c) for n, c in part.items()))

    addends = [polynomial(p) for p in parts]
    left = reduce(graph.add, map(polynomials.to_term, addends))
    total = reduce(polynomials.add, addends)
    plain = {n: sum((p.get(n, Fraction(0)) for p in parts), Fraction(0)) for n in range(len(NAMES) + 1)}

    assert total == polynomial({n: c for n, c in plain.items() if c})
    summands = [polynomials.summand(m, c) for m, c in total]
    right = reduce(graph.add, summands) if summands else graph.zero
    assert polynomials.to_term(total) == right
    assert polynomials.normal(right) == total
    steps = [Step(axiom, a, b) for (a, b), axiom in graph.steps.items()]
    assert needed_steps(graph.nodes, steps, left, right) is not None
