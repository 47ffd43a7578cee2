"""A derivation that would take too much work is given up."""

from __future__ import annotations

from functools import reduce

from prism_explore.ir.dims import dim
from prism_explore.verify.certificate.derivation import term_graph
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.expressions import Add, At
from prism_explore.verify.certificate.lemma import Statement, make_statement
from prism_explore.verify.normal_form.index import Var

TERMS = 40


def reversed_sum() -> Statement:
    """The work of ordering a sum grows with the cube of its length."""
    terms = [At(f"x{n:02}", (Var("p0", dim("b")),)) for n in range(TERMS)]
    return make_statement(reduce(Add, terms), reduce(Add, reversed(terms)))


def test_a_derivation_within_the_budget_is_found() -> None:
    assert derive(reversed_sum()) is not None


def test_none_is_found_where_the_budget_ends(monkeypatch) -> None:
    monkeypatch.setattr(term_graph, "MAX_WORK", TERMS**2)

    assert derive(reversed_sum()) is None


def test_a_statement_that_is_not_derived_may_read_a_tensor_without_dims() -> None:
    x, scale = At("x", (Var("p0", dim("b")),)), At("scale", ())

    assert derive(make_statement(Add(x, scale), scale)) is None  # all kinds of cuts are tried
