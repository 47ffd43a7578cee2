"""A derivation that would take too much work is given up."""

from __future__ import annotations

from functools import reduce

import pytest

from prism_explore.ir.dims import dim
from prism_explore.verify.certificate.derivation import term_graph
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.expressions import Add, At, Expr, Mul
from prism_explore.verify.certificate.lemma import Statement, make_statement
from prism_explore.verify.normal_form.index import Var

TERMS = 40


def terms(count: int) -> list[Expr]:
    return [At(f"x{n:02}", (Var("p0", dim("b")),)) for n in range(count)]


def reversed_sum(count: int) -> Statement:
    """The number of steps grows with the square of the length: each summand passes all others."""
    return make_statement(reduce(Add, terms(count)), reduce(Add, reversed(terms(count))))


def test_a_derivation_within_the_budget_is_found() -> None:
    assert derive(reversed_sum(TERMS)) is not None


def test_none_is_found_where_the_budget_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_graph, "MAX_WORK", TERMS**2)

    assert derive(reversed_sum(TERMS + 1)) is None


@pytest.mark.parametrize(("count", "exponent"), [(14, 2), (4, 5)])
def test_a_power_of_a_sum_is_within_the_budget(count: int, exponent: int) -> None:
    whole, other = (reduce(Add, order) for order in (terms(count), terms(count)[::-1]))
    power = reduce(Mul, [whole] * exponent)

    assert derive(make_statement(power, Mul(other, reduce(Mul, [other] * (exponent - 1))))) is not None


def test_a_statement_that_is_not_derived_may_read_a_tensor_without_dims() -> None:
    x, scale = At("x", (Var("p0", dim("b")),)), At("scale", ())

    assert derive(make_statement(Add(x, scale), scale)) is None  # all kinds of cuts are tried
