"""The axioms of a lemma are as few as will do: egglog does not replay it without any one of them."""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.dims import dim
from prism_explore.pipeline.stages import Proof, Verified
from prism_explore.verify.certificate.certify import (
    LEMMA_LIMITS,
    NOT_MINIMAL,
    Obligation,
    certify,
    derivation,
    obligations,
)
from prism_explore.verify.certificate.derivation import minimize
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.derivation.minimize import minimize_axioms
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import Step, TermGraph
from prism_explore.verify.certificate.lemma import Axis
from prism_explore.verify.certificate.saturation import replay_problem
from prism_explore.verify.egraph.client import Problem, shared_client
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.workloads import RIGHT, program_of, sgraph_of

AXES = (Axis("i", dim("n")),)


def lemmas_of(name: str) -> list[Obligation]:
    for case in CASES:
        if f"corpus-{case.name}" == name:
            return list(obligations(PROGRAMS[case.program], case.sgraph))
    (entry,) = (e for e in RIGHT if e.name == name)
    return list(obligations(program_of(entry.workload), sgraph_of(entry)))


SAMPLE = (
    "corpus-rms_two_kernels",
    "corpus-variance_in_one_pass",
    "corpus-attention_split_over_keys",
    "lora-R4-concat-kernels",
    "sigmoid-one-minus",
    "causal_attention-R7-split",
)


@pytest.mark.parametrize("name", SAMPLE)
def test_without_any_one_of_its_axioms_a_lemma_is_not_replayed(name: str) -> None:
    tried = set[str]()
    with shared_client() as client:
        for owed in lemmas_of(name):
            if owed.statement is None or owed.statement.is_trivial or owed.statement.text in tried:
                continue
            tried.add(owed.statement.text)
            found = derive(owed.statement)
            assert found is not None, owed.tensor
            problem = replay_problem(found)
            assert client.prove(problem, LEMMA_LIMITS, found.axioms, unite_only=True).equal, owed.tensor
            for axiom in found.axioms:
                rest = tuple(a for a in found.axioms if a != axiom)
                if rest:  # no names would be all axioms
                    assert not client.prove(problem, LEMMA_LIMITS, rest, unite_only=True).equal, (
                        owed.tensor,
                        axiom,
                    )
    assert tried


def test_a_detour_is_left_out() -> None:
    graph = TermGraph(AXES)
    a, b, c = (graph.make("size", label=s) for s in "abc")
    left, right = graph.make("add", a, graph.mul(b, c)), graph.make("add", graph.mul(b, c), a)
    turned = graph.make("add", a, graph.mul(c, b)), graph.make("add", graph.mul(c, b), a)
    detour = [Step("mul commutes", graph.mul(b, c), graph.mul(c, b)), Step("add commutes", *turned)]

    assert ([Step("add commutes", left, right)], True) == minimize_axioms(graph, Signs(graph), left, right, detour)


def test_what_is_needed_stays() -> None:
    graph = TermGraph(AXES)
    a, b, c = (graph.make("size", label=s) for s in "abc")
    left, right = graph.make("add", a, graph.mul(b, c)), graph.make("add", graph.mul(c, b), a)
    between = graph.make("add", a, graph.mul(c, b))
    steps = [Step("mul commutes", graph.mul(b, c), graph.mul(c, b)), Step("add commutes", between, right)]

    assert (steps, True) == minimize_axioms(graph, Signs(graph), left, right, steps)


@pytest.mark.usefixtures("no_results_kept")
def test_a_lemma_whose_axioms_were_not_all_tried_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimize, "MAX_WORK", 0)
    program = program_of("lora")
    (entry,) = (e for e in RIGHT if e.name == "lora-R4-concat-kernels")
    proved = Verified(candidate(program, sgraph_of(entry)), Proof("normal form", "", ()), ())

    made = certify(proved, Journal())

    long = [x for x in made.proof.lemmas if len(x.axioms) > 1]
    assert long
    assert {NOT_MINIMAL} == {x.note for x in long if x.replayed}
    assert f"({NOT_MINIMAL})" in derivation(made)
    assert "perhaps with more axioms than needed: " in derivation(made)


def test_stating_terms_again_joins_only_what_is_one() -> None:
    # egglog 13.2 joined 0 + e and e here, when each term was united with its own text.
    (owed,) = (o for o in lemmas_of("lora-R4-concat-kernels") if o.tensor == "k5")
    assert owed.statement is not None
    found = derive(owed.statement)
    assert found is not None
    facts = replay_problem(found).facts
    zero = next(s for s in found.steps if s.axiom == "add zero")
    with shared_client() as client:
        run = client.prove(
            Problem(facts, f"$t{zero.left}", f"$t{zero.right}"), LEMMA_LIMITS, ("sum of a multiple",), unite_only=True
        )
    assert not run.equal
