"""The terms of a lemma, one after the other, each with the part that changed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from prism_explore.verify.certificate.readable import equation_chain, rewrites
from prism_explore.verify.normal_form.equalities import Equalities, equalities
from tests.verify.corpus import CASES, PROGRAMS

PROVED = [c for c in CASES if c.right][:8]


def found(name: str = "rms_fused") -> Equalities:
    (case,) = [c for c in CASES if c.name == name]
    return equalities(PROGRAMS[case.program], case.sgraph)


@pytest.mark.parametrize("case", PROVED, ids=lambda c: c.name)
def test_every_step_replaces_one_part_and_leaves_the_rest(case):
    equal = equalities(PROGRAMS[case.program], case.sgraph)
    seen = 0
    for tensor in equal.tensors:
        terms = rewrites(equal.derivation(tensor))
        for old, new in pairwise(terms):
            seen += 1
            before, replaced, after = new.previous
            assert new.axioms
            assert old.text == f"{before}{replaced}{after}"
            assert new.changed
            # A product in a sum's place gets parentheses, which belong to what is around the part.
            assert (before.rstrip("("), after.lstrip(")")) == (new.before.rstrip("("), new.after.lstrip(")"))
    assert seen or all(len(rewrites(equal.derivation(t))) <= 1 for t in equal.tensors)


def test_the_first_term_and_the_last_are_those_of_the_chain():
    equal = found()
    checked = 0
    for tensor in equal.tensors:
        lemma = equal.derivation(tensor)
        chain, terms = equation_chain(lemma), rewrites(lemma)
        if chain:
            checked += 1
            assert chain[0].expression == terms[0].text
            assert chain[-1].expression == terms[-1].text
            assert {a for line in chain for a in line.axioms} == {a for term in terms for a in term.axioms}
    assert checked


def test_a_lemma_of_equal_sides_has_one_term_and_an_unknown_tensor_has_none():
    equal = found()

    assert 1 == len(rewrites(equal.derivation("goal")))
    assert () == rewrites(equal.derivation("k99"))
    assert () == rewrites("")
