"""An attempt that would go like one that failed is not made; one that may go otherwise is."""

from __future__ import annotations

from itertools import product

import pytest

from prism_explore.ir.dims import dim
from prism_explore.verify.certificate.derivation import derive as module
from prism_explore.verify.certificate.derivation.choices import EXPANSIONS, FEW_CUTS, MANY_CUTS, Choices
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.expressions import Add, At, Call, Expr, Near, Num, Sum, Within
from prism_explore.verify.certificate.lemma import Statement, make_statement
from prism_explore.verify.normal_form.index import Var

ROW, COLUMN, K = Var("p0", dim(8)), Var("p1", dim(8)), Var("k", dim(8))
X = At("x", (ROW,))
BAND = Near(ROW, COLUMN, None, dim(0))
UNEQUAL: dict[str, tuple[Expr, Expr]] = {
    "no function and no interval": (Add(X, Num(1)), X),
    "a function with a definition": (Call("silu", X), Call("gelu", X)),
    "an absolute value": (Call("abs", X), X),
    "a band": (Add(BAND, X), X),
    "an interval of a summed axis": (Sum(K, Add(At("x", (K,)), Within(K, dim(0), dim(3)))), X),
}
"""Statements that no attempt proves."""


def attempts(statement: Statement, monkeypatch: pytest.MonkeyPatch) -> list[Choices]:
    """The choices of the attempts that are made."""
    made: list[Choices] = []
    one = module._derived

    def noted(statement: Statement, choices: Choices):
        made.append(choices)
        return one(statement, choices)

    with monkeypatch.context() as patched:
        patched.setattr(module, "_derived", noted)
        derive.__wrapped__(statement)
    return made


@pytest.mark.parametrize("name", UNEQUAL)
def test_what_is_left_out_ends_like_an_attempt_that_was_made(name: str, monkeypatch) -> None:
    statement = make_statement(*UNEQUAL[name])
    made = attempts(statement, monkeypatch)
    for expansion, cuts in product(EXPANSIONS, (*FEW_CUTS, *MANY_CUTS)):
        choices = Choices(expansion, cuts)
        assert module._derived(statement, choices) is None
        assert any(choices.would_answer_like(other) for other in made)
        assert any(other.would_answer_like(choices) for other in made), "it asks the same questions"


def test_expansions_are_tried_only_where_a_function_can_be_expanded(monkeypatch) -> None:
    plain = attempts(make_statement(*UNEQUAL["no function and no interval"]), monkeypatch)
    function = attempts(make_statement(*UNEQUAL["an absolute value"]), monkeypatch)

    assert all(c.is_any("no functions") for c in plain)
    assert {e for e in EXPANSIONS for c in function if c.is_any(e)} >= {"no functions", "functions", "order"}


def test_equal_statements_are_derived_once(monkeypatch) -> None:
    derive.cache_clear()
    made: list[Choices] = []
    monkeypatch.setattr(module, "_derived", lambda _statement, choices: made.append(choices))
    for _ in range(2):
        assert derive(make_statement(*UNEQUAL["no function and no interval"])) is None
    derive.cache_clear()

    assert len(made) == len({id(c) for c in made}) == 1
