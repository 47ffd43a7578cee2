"""Programs and candidates made to mislead the verifier; each was misjudged once."""

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.stages import Candidate, Family, Refuted, Unknown
from prism_explore.ir.text import parse, parse_program
from prism_explore.verify.decide import Prover

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
EQUAL = {
    "a softmax whose exponentials overflow": (
        SAFE_SOFTMAX,
        f"{X}  %1 = mul_scalar(x, 1500)\n  %2 = exp(%1)\n  %3 = sum(%2, dim=1)\n  %4 = div(%2, %3)\n  return %4",
    ),
    "a division by what is 0 everywhere": (TIMES_ZERO, f"{X}  %1 = sub(x, x)\n  %2 = div(x, %1)\n  return %2"),
    "a detour over numbers that swallow the input": (
        TIMES_THREE,
        f"{X}  %1 = add_scalar(x, {7**30})\n  %2 = add_scalar(%1, -{7**30})\n  %3 = mul_scalar(%2, 3)\n  return %3",
    ),
    "a constant that no float can be": (
        TIMES_THREE,
        f"{X}  %1 = mul_scalar(x, {10**400})\n  %2 = mul_scalar(%1, 3/{10**400})\n  return %2",
    ),
}


def verdict(prover: Prover, candidate: str):
    graph = parse(f"sgraph\n{candidate}")
    family = Family("f1", prover.program, graph)
    return prover.verify(Candidate("f1.c1", family, graph, (), graph.conditions()), Journal())


@pytest.mark.parametrize("name", EQUAL)
def test_what_is_equal_in_real_numbers_is_not_refuted_by_floats_however_often_it_is_asked(name):
    program, candidate = EQUAL[name]
    prover = Prover(parse_program(f"program p\n{program}"), saturation=None)

    assert not any(isinstance(verdict(prover, candidate), Refuted) for _ in range(3))


def test_a_wrong_candidate_that_divides_by_zero_on_the_way_is_refuted_all_the_same():
    prover = Prover(parse_program(f"program p\n{TIMES_THREE}"), saturation=None)
    found = verdict(prover, f"{X}  %1 = sub(x, x)\n  %2 = div(x, %1)\n  %3 = add(%2, x)\n  return %3")

    assert isinstance(found, Refuted)
    assert found.witness.found == pytest.approx(found.witness.expected / 3)
    assert prover.refuter.replay(found.witness, found.candidate.sgraph) == found.witness


def test_rounding_is_told_as_the_reason():
    program, candidate = EQUAL["a detour over numbers that swallow the input"]
    found = verdict(Prover(parse_program(f"program p\n{program}"), saturation=None), candidate)

    assert isinstance(found, Unknown)
    assert "rounding" in found.limit
