"""Exercises of notebook 05: an axiom that is missing, and axioms that make an e-graph too large."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any

from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.errors import PrismError
from prism_explore.ir.dims import dim
from prism_explore.verify.axioms import AXIOMS
from prism_explore.verify.certificate.expressions import Add, At, Inv, Mul, sum_over
from prism_explore.verify.certificate.lemma import Statement, make_statement
from prism_explore.verify.certificate.saturation import search_problem
from prism_explore.verify.egraph.client import shared_client
from prism_explore.verify.egraph.frames import Growth, make_frames
from prism_explore.verify.egraph.limits import Limits, explain
from prism_explore.verify.normal_form.index import var

NODES = 300
"""E-nodes after which a run ends."""
PRODUCTS = ("mul commutes", "mul associates")
"""The axioms that the notebook begins with."""
OFFERED = ("add commutes", "add associates", "mul commutes", "mul associates", "distribute", "sum of a multiple")
"""The axioms to choose from in the second exercise."""
FEW = 100
"""E-nodes within which the second exercise can be proved."""

_I, _J, _K = (var(name, dim(name.upper())) for name in ("i", "j", "k"))
_X, _W, _R = At("x", (_I, _K)), At("w", (_K, _J)), Inv(At("r", (_I,)))
_G = At("g", (_K,))
_BIASES = reduce(Add, (At(name, (_J,)) for name in ("a", "b", "c", "d", "e", "f")))

ONE_ELEMENT = make_statement(Mul(Mul(_X, _R), _W), Mul(Mul(_X, _W), _R))
"""One summand: (x / r) w = (x w) / r."""
NORM_LINEAR = make_statement(sum_over(_K, Mul(Mul(_X, _R), _W)), Mul(sum_over(_K, Mul(_X, _W)), _R))
"""A norm and a linear layer: the quotient before or after the sum over k."""
BIASED = make_statement(
    Add(sum_over(_K, Mul(Mul(Mul(_X, _R), _G), _W)), _BIASES), Add(Mul(sum_over(_K, Mul(Mul(_G, _W), _X)), _R), _BIASES)
)
"""A norm with a weight and a linear layer, with six biases added to both sides."""


def product_of(*names: str) -> Statement:
    """The product of some numbers, and another number that it does not equal, so that a run ends when nothing is new.

    Args:
        names: at least two, other than z.
    """
    return make_statement(reduce(Mul, [At(name, ()) for name in names]), At("z", ()))


@lru_cache(64)
def grow(statement: Statement, axioms: tuple[str, ...], nodes: int = NODES) -> Growth:
    """The e-graph of an equation, from its two sides until they are equal, nothing is new, or a limit is reached.

    Args:
        statement: the equation.
        axioms: their names.
        nodes: e-nodes after which the run ends.

    Raises:
        PrismError: there is no such axiom, or none is named.
    """
    known = {row.name for row in AXIOMS}
    if not axioms or not set(axioms) <= known:
        unknown = ", ".join(sorted(set(axioms) - known)) or "none"
        raise PrismError(f"axioms are names of prism_explore.verify.axioms.AXIOMS, found {unknown}")
    with shared_client() as client:
        stop, steps = client.trace(search_problem(statement), Limits(8, nodes), axioms)
    return Growth("goal", "left", "right", stop, make_frames(steps))


def outcome(growth: Growth) -> str:
    """How a run ended, and the size of the e-graph then."""
    return f"{explain(growth.stop)}; {growth.frames[-1].nodes:,} e-nodes"


def _names(answer: Any) -> tuple[str, ...]:
    if not answer or isinstance(answer, str) or not all(isinstance(name, str) for name in answer):
        raise PrismError(f"an answer has names of axioms, such as ('add commutes', 'distribute'); found {answer!r}")
    return tuple(sorted(set(answer)))


def _judge_missing(answer: Any) -> Judgement:
    if not isinstance(answer, str):
        raise PrismError(f"an answer is the name of one axiom, found {answer!r}")
    grown = grow(NORM_LINEAR, (*PRODUCTS, answer))
    return Judgement(_is_proved(grown), f"with {answer}: {outcome(grown)}", {})


def _is_proved(grown: Growth) -> bool:
    return grown.frames[-1].is_proved


def _judge_tamed(answer: Any) -> Judgement:
    grown = grow(BIASED, _names(answer))
    nodes = grown.frames[-1].nodes
    return Judgement(_is_proved(grown) and nodes <= FEW, outcome(grown), {"e-nodes": nodes, "allowed": FEW})


def _is_too_large(answer: Any) -> bool:
    return grow(BIASED, _names(answer)).frames[-1].nodes > FEW


def _lacks(*needed: str) -> Callable[[Any], bool]:
    return lambda answer: not set(needed) <= set(_names(answer))


EXERCISES = (
    Exercise(
        "05-a",
        "Which axiom is missing, so that the quotient may leave the sum?",
        "the name of one axiom, such as 'distribute'",
        _judge_missing,
        (
            Mistake(
                "distribute",
                "distribute is about a sum of two terms, a (b + c). The sum over k is an operator of its own, whatever "
                "the number of its terms.",
            ),
            Mistake(
                "sum of a constant",
                "The summand is not constant: x and w depend on k. Only one factor does not.",
            ),
            Mistake("sum of a sum", "There is a product under the sum, not a sum of two terms."),
            Mistake(
                "mul associates",
                "This axiom is on already. What relates a product under a sum to a product with a sum?",
                lambda answer: answer in PRODUCTS,
            ),
            Mistake("cancel", "Nothing is divided by itself here: 1/r only moves."),
        ),
        (
            "On the right, 1/r is outside the sum over k. Does r depend on k?",
            "The axioms of sums begin with 'sum'.",
        ),
        "prism_explore.verify.axioms.sums has the axioms of sums, each with its argument",
    ),
    Exercise(
        "05-b",
        f"Which axioms prove the equation with biases, with at most {FEW} e-nodes?",
        f"a set of names out of {', '.join(OFFERED)}",
        _judge_tamed,
        (
            Mistake(
                set(OFFERED),
                "The e-graph grows too large. Both sides add the same six biases in the same order: which axioms "
                "rearrange them for nothing?",
                _is_too_large,
            ),
            Mistake(
                set(PRODUCTS),
                "Small, but the quotient does not leave the sum over k: see the first exercise.",
                _lacks("sum of a multiple"),
            ),
            Mistake(
                {"mul commutes", "sum of a multiple"},
                "Three factors have to change places under the sum. Both axioms of products are needed.",
                _lacks(*PRODUCTS),
            ),
        ),
        (
            "Begin with the axioms that proved the equation without biases.",
            "An axiom that only rearranges sums of two terms adds nodes for each order of the six biases.",
        ),
        "prism_explore.verify.certificate starts from the terms of a derivation, so axioms only merge classes",
    ),
)
