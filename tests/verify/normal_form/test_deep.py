"""Long chains of operators: a verdict or a reason, never a crash."""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Candidate, Family, Unknown, Verified
from prism_explore.verify.certificate.certify import certify, derivation
from prism_explore.verify.normal_form.bound_names import DEEP
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.verify.prover import Prover

CHAINS = {
    "tanh": ("tanh($)",),
    "silu": ("silu($)",),
    "functions": ("square($)", "add_scalar($, 1)", "rsqrt($)", "exp($)", "sigmoid($)"),
    "maxima": ("max_scalar($, 1)", "neg($)"),
    "means": ("tanh($)", "mean($, dim=1)", "mul($, x)"),
    "views": ("slice($, dim=1, start=0, stop=7)", "concat($, x1, dim=1)", "permute($, order=[1, 0])") * 2,
    "powers": ("mul($, x)",),
    "sums": ("add($, x)",),
}


def graphs(chain: tuple[str, ...], length: int) -> tuple[TensorProgram, Candidate]:
    """A chain as a program, and in one kernel."""
    inputs = "x = input f32[8, 8]\n  x1 = input f32[8, 1]"
    whole, inside, last, first = list[str](), list[str](), "x", "%1"
    for n in range(length):
        step = chain[n % len(chain)]
        whole.append(f"%{n + 2} = {_put(step, last, 'x', 'x1')}")
        inside.append(f"%{n + 2} = {_put(step, first if n == 0 else last, '%0', '%1')}".replace("%1)", "%1)"))
        last = f"%{n + 2}"
    program = "\n  ".join(["program p", inputs, *whole, f"return {last}"])
    body = ["%0 = load(0, imap=[-])", "%1 = load(1, imap=[-])", *inside, f"%{length + 2} = store({last}, omap=[-])"]
    body[2] = f"%2 = {_put(chain[0], '%0', '%0', '%1')}"
    kernel = "\n    ".join(["%2 = custom(x, x1) grid[x=g]", *body])
    p, g = parse_program(program), parse(f"sgraph\n  {inputs}\n  {kernel}\n  return %2")
    return p, Candidate("f1.c1", Family("f1", p, g), g, (), g.conditions())


def _put(step: str, at: str, x: str, column: str) -> str:
    return step.replace("x1", column).replace(" x)", f" {x})").replace("$", at)


@pytest.mark.parametrize("length", [50, 200, 1000])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_gets_a_verdict_or_the_reason_that_it_is_too_deep(name: str, length: int) -> None:
    program, candidate = graphs(CHAINS[name], length)

    verdict = Prover(program).verify(candidate, Journal())

    if length == 50:
        assert isinstance(verdict, Verified)
    else:
        assert isinstance(verdict, Verified | Unknown)
        assert isinstance(verdict, Verified) or DEEP in verdict.limit


def test_what_is_too_deep_has_no_lemmas() -> None:
    program, candidate = graphs(CHAINS["tanh"], 200)

    found = equalities(program, candidate.sgraph)

    assert () == found.tensors
    assert () == found.lemma().frames
    assert DEEP in found.text()


@pytest.mark.parametrize("name", ["tanh", "silu", "maxima", "views", "powers", "sums"])
def test_a_certificate_of_a_program_of_forty_operators_replays(name: str) -> None:
    program, candidate = graphs(CHAINS[name], 40)
    verdict = Prover(program).verify(candidate, Journal())
    assert isinstance(verdict, Verified)

    certified = certify(verdict, Journal())

    assert [] == [x.note for x in certified.proof.lemmas if not x.replayed]
    assert "lemmas replayed" in derivation(certified)
