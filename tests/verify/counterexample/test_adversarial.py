"""Programs and candidates made to mislead the verifier; each was misjudged once."""

import random

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Candidate, Family, Refuted, Unknown, Verdict, Verified
from prism_explore.verify.prover import AUDIT_INTERVAL, Prover
from tests.verify.corpus import candidate
from tests.verify.mutate import mutants
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

X = "  x = input f32[b, n]\n"
TIMES_ZERO = f"{X}  %1 = mul_scalar(x, 0)\n  return %1"
TIMES_THREE = f"{X}  %1 = mul_scalar(x, 3)\n  return %1"
SAFE_SOFTMAX = f"""{X}  %1 = mul_scalar(x, 1500)
  %2 = max(%1, dim=1)
  %3 = sub(%1, %2)
  %4 = exp(%3)
  %5 = sum(%4, dim=1)
  %6 = div(%4, %5)
  return %6"""
MASKED = """  x = input f32[n, n]
  %1 = band(rows=n, columns=n, high=0, dtype=f32)
"""
EQUAL = {
    "a softmax whose exponentials overflow": (
        SAFE_SOFTMAX,
        f"{X}  %1 = mul_scalar(x, 1500)\n  %2 = exp(%1)\n  %3 = sum(%2, dim=1)\n  %4 = div(%2, %3)\n  return %4",
    ),
    "a softmax whose exponentials vanish": (
        SAFE_SOFTMAX,
        f"""{X}  %1 = mul_scalar(x, 1500)
  %2 = add_scalar(%1, -3000)
  %3 = exp(%2)
  %4 = sum(%3, dim=1)
  %5 = div(%3, %4)
  return %5""",
    ),
    "a division by what is 0 everywhere": (TIMES_ZERO, f"{X}  %1 = sub(x, x)\n  %2 = div(x, %1)\n  return %2"),
    "a division by a mask": (f"{MASKED}  %2 = mul(x, %1)\n  return %2", f"{MASKED}  %2 = div(x, %1)\n  return %2"),
    "the root of a mask below": (
        f"{MASKED}  %2 = mul(x, %1)\n  return %2",
        f"{MASKED}  %2 = rsqrt(%1)\n  %3 = mul(x, %2)\n  return %3",
    ),
    "a mask that is exponentiated and divided by": (
        f"{MASKED}  %2 = mask(x, %1)\n  %3 = exp(%2)\n  return %3",
        f"{MASKED}  %2 = exp(x)\n  %3 = recip(%1)\n  %4 = div(%2, %3)\n  return %4",
    ),
    "a detour over numbers that swallow the input": (
        TIMES_THREE,
        f"{X}  %1 = add_scalar(x, {7**30})\n  %2 = add_scalar(%1, -{7**30})\n  %3 = mul_scalar(%2, 3)\n  return %3",
    ),
    "a detour over numbers that swallow sixty digits": (
        TIMES_THREE,
        f"{X}  %1 = add_scalar(x, {7**99})\n  %2 = add_scalar(%1, -{7**99})\n  %3 = mul_scalar(%2, 3)\n  return %3",
    ),
    "a detour over numbers that no float holds": (
        TIMES_THREE,
        f"""{X}  %1 = add_scalar(x, 2000)
  %2 = exp(%1)
  %3 = mul_scalar(x, 3)
  %4 = add(%3, %2)
  %5 = sub(%4, %2)
  return %5""",
    ),
    "a detour over numbers with few bits left": (
        TIMES_THREE,
        f"{X}  %1 = mul_scalar(x, 3/{10**320})\n  %2 = neg(%1)\n  %3 = mul_scalar(%2, -{10**320})\n  return %3",
    ),
    "a square that vanishes": (
        TIMES_THREE,
        f"""{X}  %1 = mul_scalar(x, 1/{10**200})
  %2 = square(%1)
  %3 = div(%2, %1)
  %4 = mul_scalar(%3, {3 * 10**200})
  return %4""",
    ),
    "a constant that no float can be": (
        TIMES_THREE,
        f"{X}  %1 = mul_scalar(x, {10**400})\n  %2 = mul_scalar(%1, 3/{10**400})\n  return %2",
    ),
    "a difference that saturates and is magnified": (
        f"""{X}  %1 = mul_scalar(x, 40)
  %2 = add_scalar(%1, 60)
  %3 = neg(%2)
  %4 = sigmoid(%3)
  %5 = mul_scalar(%2, 1/4)
  %6 = exp(%5)
  %7 = mul(%4, %6)
  %8 = mul(%7, %6)
  %9 = mul(%8, %6)
  %10 = mul(%9, %6)
  return %10""",
        f"""{X}  %1 = mul_scalar(x, 40)
  %2 = add_scalar(%1, 60)
  %3 = sigmoid(%2)
  %4 = neg(%3)
  %5 = add_scalar(%4, 1)
  %6 = mul_scalar(%2, 1/4)
  %7 = exp(%6)
  %8 = mul(%5, %7)
  %9 = mul(%8, %7)
  %10 = mul(%9, %7)
  %11 = mul(%10, %7)
  return %11""",
    ),
}
UNKNOWN = {
    "a division by what is 0 everywhere": "division by a value that is always 0",
    "a detour over numbers that swallow sixty digits": "rounding on the way may be all of the difference",
    "a difference that saturates and is magnified": "the normal forms differ",
    "a detour over numbers that no float holds": "rounding on the way may be all of the difference",
}
"""Those that are not proved, and why."""


def verdict(prover: Prover, text: str) -> Verdict:
    graph = parse(f"sgraph\n{text}")
    family = Family("f1", prover.program, graph)
    return prover.verify(Candidate("f1.c1", family, graph, (), graph.conditions()), Journal())


@pytest.mark.parametrize("name", EQUAL)
def test_what_is_equal_in_real_numbers_is_not_refuted_by_floats_however_often_it_is_asked(name):
    program, text = EQUAL[name]
    prover = Prover(parse_program(f"program p\n{program}"), saturation=None)

    verdicts = [verdict(prover, text) for _ in range(3)]

    assert [verdicts[0]] * 3 == verdicts
    if isinstance(verdicts[0], Unknown):
        assert UNKNOWN.get(name, "?") in verdicts[0].limit
    else:
        assert isinstance(verdicts[0], Verified)


def test_a_wrong_candidate_that_divides_by_zero_on_the_way_is_refuted_all_the_same():
    prover = Prover(parse_program(f"program p\n{TIMES_THREE}"), saturation=None)
    found = verdict(prover, f"{X}  %1 = sub(x, x)\n  %2 = div(x, %1)\n  %3 = add(%2, x)\n  return %3")

    assert isinstance(found, Refuted)
    assert found.counterexample.found == pytest.approx(found.counterexample.expected / 3)
    assert prover.refuter.replay(found.counterexample, found.candidate.sgraph) == found.counterexample


@pytest.mark.parametrize("workload", ["rmsnorm_linear", "causal_attention"])
def test_a_verdict_is_the_same_whatever_was_asked_before(workload):
    """Every sixteenth refuted candidate is shown to the prover too, and forms are remembered: neither may matter."""
    r, program = random.Random(4), program_of(workload, tiny=True)
    bases = [sgraph_of(e, tiny=True) for e in ENTRIES if e.workload == workload]
    graphs = [g for g in (mutants(r.choice(bases), program, r) for _ in range(40)) if g is not None]
    used = Prover(program, saturation=None)
    asked = [used.verify(candidate(program, g), Journal()) for g in graphs]

    assert len(graphs) > AUDIT_INTERVAL
    for graph, before in zip(graphs[::2], asked[::2], strict=True):
        for prover in (Prover(program, saturation=None), used):
            again = prover.verify(candidate(program, graph), Journal())
            assert said(before) == said(again), show(graph)


def said(verdict: Verdict) -> object:
    match verdict:
        case Refuted():
            return verdict.counterexample
        case Verified():
            return verdict.trials, verdict.proof.method, verdict.proof.claim
        case Unknown():
            return verdict.limit
