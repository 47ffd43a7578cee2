"""KernelSequence whose borders are not known to be in order: what holds at most sizes is not proved for all."""

import re

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.dims import dim
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Candidate, Family, Proof, Verified
from prism_explore.verify.certificate import saturation
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.certificate.derivation import intervals, term_graph
from prism_explore.verify.normal_form import size_facts
from prism_explore.verify.prover import Prover


def of(program, candidate):
    p, g = parse_program(program), parse(candidate)
    return p, Candidate("f1.c1", Family("f1", p, g), g, (), g.conditions())


def verdict(program, candidate):
    p, c = of(program, candidate)
    return Prover(p).verify(c, Journal())


BEYOND = """program p
  x = input f32[a]
  y = input f32[b]
  z = input f32[d]
  %3 = mul_scalar(y, 0)
  %4 = concat(x, %3, dim=0)
  %5 = slice(%4, dim=0, start=0, stop=d)
  %6 = sum(%5, dim=0)
  %7 = max(z, dim=0)
  %8 = add(%6, %7)
  return %8"""
WHOLE = """sgraph
  x = input f32[a]
  y = input f32[b]
  z = input f32[d]
  %3 = sum(x, dim=0)
  %4 = max(z, dim=0)
  %5 = add(%3, %4)
  return %5"""
LARGEST = """program p
  x = input f32[a]
  y = input f32[b]
  %2 = mul_scalar(y, 0)
  %3 = concat(x, %2, dim=0)
  %4 = slice(%3, dim=0, start=0, stop=a + b - 1)
  %5 = max(%4, dim=0)
  return %5"""
WITH_ZERO = """sgraph
  x = input f32[a]
  y = input f32[b]
  %2 = max(x, dim=0)
  %3 = relu(%2)
  return %3"""
QUOTIENT = """program p
  x = input f32[a]
  y = input f32[b]
  %2 = mul_scalar(x, 0)
  %3 = exp(y)
  %4 = concat(%2, %3, dim=0)
  %5 = slice(%4, dim=0, start=0, stop=a + b - 1)
  %6 = sum(%5, dim=0)
  %7 = div(%6, %6)
  return %7"""
ONE = """sgraph
  x = input f32[a]
  y = input f32[b]
  %2 = sum(x, dim=0)
  %3 = mul_scalar(%2, 0)
  %4 = add_scalar(%3, 1)
  return %4"""


@pytest.mark.parametrize(
    ("program", "candidate"),
    [(BEYOND, WHOLE), (LARGEST, WITH_ZERO), (QUOTIENT, ONE)],
    ids=["a slice that may end inside the first piece", "a piece that may be empty", "a sum that may have no summand"],
)
def test_a_law_of_pieces_is_not_used_where_their_borders_may_cross(program, candidate):
    assert not isinstance(verdict(program, candidate), Verified)


@pytest.mark.parametrize(
    ("program", "candidate"),
    [
        (BEYOND.replace("stop=d", "stop=a + b"), WHOLE),
        (LARGEST.replace("a + b - 1", "a + b"), WITH_ZERO),
        (QUOTIENT.replace("a + b - 1", "a + b"), ONE),
    ],
    ids=["sums", "maxima", "signs"],
)
def test_the_same_law_is_used_where_the_borders_are_in_order(program, candidate):
    assert isinstance(verdict(program, candidate), Verified)


@pytest.mark.usefixtures("no_results_kept")
@pytest.mark.parametrize(
    ("program", "candidate"),
    [(LARGEST, WITH_ZERO), (QUOTIENT, ONE)],
    ids=["a piece that may be empty", "a sum that may have no summand"],
)
def test_a_certificate_that_takes_every_range_for_one_with_values_is_refused(monkeypatch, program, candidate):
    _, c = of(program, candidate)
    empty = dim("b") - 1
    for module in (intervals, saturation, term_graph):
        monkeypatch.setattr(module, "is_count", lambda d, known: d == empty or size_facts.is_count(d, known))

    lemmas = certify(Verified(c, Proof("e-graph", "", ()), ()), Journal()).proof.lemmas

    (goal,) = (x for x in lemmas if x.tensor == "goal")
    assert not goal.replayed
    assert re.fullmatch("the checker objects: axis .* may have no value: no condition says that .*", goal.note)
