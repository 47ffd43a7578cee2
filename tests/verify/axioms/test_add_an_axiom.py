"""The recipe *Add an axiom* of prism_explore/verify/README.md: one row, and nothing else.

Here the row is built by the test and put at the end of the table for the time of a test.
"""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.pipeline.stages import Proof, Verified
from prism_explore.verify import axioms
from prism_explore.verify.axioms import Axiom, number
from prism_explore.verify.certificate.certify import certify, derivation
from prism_explore.verify.certificate.expressions import At, Exp, Greater
from prism_explore.verify.certificate.lemma import Statement
from prism_explore.verify.certificate.saturation import search_problem
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma
from prism_explore.verify.checker.parser import parse as parse_lemma
from prism_explore.verify.checker.replay import check_steps
from prism_explore.verify.egraph.client import EgglogClient
from prism_explore.verify.egraph.limits import Limits, Proved, Saturated
from tests.verify.axioms.soundness import holds
from tests.verify.corpus import candidate

NEW = Axiom(
    "exp of the greater",
    "(Exp (Greater a b))",
    "(Greater (Exp a) (Exp b))",
    "exp(max(a, b)) = max(exp(a), exp(b))",
    source="exp is increasing",
    argument="The exponential keeps the order of two numbers.",
)
FALSE = (
    Axiom("a root that loses the sign", "(Sqrt (Mul a a))", "a", ""),
    Axiom("exp of a product", "(Exp (Mul a b))", "(Mul (Exp a) (Exp b))", ""),
    Axiom("multiples without a sign", "(Greater (Mul a b) (Mul a c))", "(Mul a (Greater b c))", ""),
    Axiom("division by what may be 0", "(Mul a (Inv a))", f"(Num {number(1)})", "", ("(nonnegative a)",)),
    Axiom("a maximum as a sum", "(Most k a)", "(Sum k a)", ""),
)


@pytest.fixture
def with_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axioms, "AXIOMS", (*axioms.AXIOMS, NEW))


A, B = At("a", ()), At("b", ())
GOAL = search_problem(Statement((), Exp(Greater(A, B)), Greater(Exp(A), Exp(B))))
LIMITS = Limits(iterations=4, seconds=20.0)
STEP = (
    '(lemma (axis k "n") (left (exp (greater (at x k) (at y k)))) (right (greater (exp (at x k)) (exp (at y k))))'
    " (let e1 (exp (greater (at x k) (at y k)))) (let e2 (greater (exp (at x k)) (exp (at y k))))"
    f' (step "{NEW.name}" e1 e2))'
)


def test_egglog_proves_with_the_row(with_the_row: None) -> None:
    with EgglogClient() as client:
        assert client.prove(GOAL, LIMITS).stop == Proved()
        assert client.minimize(GOAL, LIMITS).axioms == (NEW.name,)


def test_egglog_does_not_prove_without_it() -> None:
    with EgglogClient() as client:
        assert client.prove(GOAL, LIMITS).stop == Saturated()


def test_the_checker_follows_a_step_by_the_row(with_the_row: None) -> None:
    assert (NEW.name,) == check_steps(ParsedLemma(parse_lemma(STEP)))


def test_the_checker_refuses_the_step_without_it() -> None:
    with pytest.raises(CertificateError, match=f"no axiom is called {NEW.name}"):
        check_steps(ParsedLemma(parse_lemma(STEP)))


def written(name: str, *, greater_first: bool) -> TensorProgram:
    b = ProgramBuilder(name)
    x, y = b.input("x", "b", 64), b.input("y", "b", 64)
    if greater_first:
        return b.build(b.unary("exp", b.binary("max", x, y)))
    return b.build(b.binary("max", b.unary("exp", x), b.unary("exp", y)))


def certificate() -> Verified:
    program, other = written("exp_of_max", greater_first=True), written("max_of_exps", greater_first=False)
    return certify(Verified(candidate(program, other.graph), Proof("e-graph", "", ()), ()), Journal())


def test_a_certificate_is_replayed_with_the_row(with_the_row: None) -> None:
    made = certificate()

    assert all(x.replayed for x in made.proof.lemmas)
    assert (NEW.name,) == made.proof.lemmas[-1].axioms
    assert NEW.equation in derivation(made)


def test_the_certificate_is_not_replayed_without_it() -> None:
    *others, goal = certificate().proof.lemmas

    assert all(x.replayed for x in others)
    assert not goal.replayed


@pytest.mark.parametrize("seed", range(25))
def test_the_generated_trial_accepts_the_row(seed: int) -> None:
    assert holds(NEW, seed)


@pytest.mark.parametrize("row", FALSE, ids=lambda row: row.name)
def test_the_generated_trial_refuses_a_false_row(row: Axiom) -> None:
    assert not all(holds(row, seed) for seed in range(25))
