"""Lookups: what they commute with is proved, wrong twins are refuted, and forms mean what the interpreter computes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.ir.dims import dim
from prism_explore.ir.transforms.lookups_as_inputs import lookups_as_inputs
from prism_explore.pipeline.stages import Refuted, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.counterexample.refuter import replay
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.forms import show
from prism_explore.verify.normal_form.lower_graph import POSITIONS_EXIST, lower
from prism_explore.verify.prover import Prover
from tests.verify.corpus import candidate
from tests.verify.counterexample.adversarial import Base, run
from tests.verify.lookups import LOGITS, PAIRS, SOFTMAX_OF_ROWS, graph_of, program_of
from tests.verify.mutations import KINDS, LOOKUP_KINDS
from tests.verify.normal_form.test_semantics import LARGEST_ERROR, disagreement

MUTANTS = 150


def verdict_of(name: str) -> Verified | Refuted:
    program, graph = program_of(PAIRS[name].program), graph_of(PAIRS[name].candidate)
    verdict = Prover(program, saturation=None).verify(candidate(program, graph), Journal())
    assert isinstance(verdict, Verified | Refuted), verdict
    return verdict


@pytest.mark.parametrize("name", PAIRS)
def test_equal_candidates_are_proved_and_wrong_twins_are_refuted(name):
    verdict = verdict_of(name)

    assert PAIRS[name].right == isinstance(verdict, Verified)
    if isinstance(verdict, Verified):
        assert POSITIONS_EXIST in verdict.proof.claim
        assert "lookup" in verdict.why_no_exact_trial
    else:
        program = program_of(PAIRS[name].program)
        assert verdict.counterexample == replay(verdict.counterexample, program, verdict.candidate.sgraph)


@pytest.mark.parametrize("name", [name for name, pair in PAIRS.items() if "custom" in pair.candidate])
def test_every_lemma_about_a_lookup_of_an_input_is_replayed(name):
    verdict = verdict_of(name)
    assert isinstance(verdict, Verified)

    lemmas = certify(verdict, Journal()).proof.lemmas

    assert lemmas and all(lemma.replayed for lemma in lemmas), lemmas


def test_lemmas_about_lookups_of_computed_tensors_say_that_they_are_not_stated():
    verdict = verdict_of("products of full tables")
    assert isinstance(verdict, Verified)

    notes = {lemma.tensor: lemma.note for lemma in certify(verdict, Journal()).proof.lemmas if not lemma.replayed}

    assert {"k7", "k8", "k9", "goal"} == notes.keys()
    assert all("not stated" in note for note in notes.values())


def test_a_form_has_the_position_as_an_element_of_the_integer_input():
    forms = lower(graph_of(LOGITS), Algebra()).values

    assert "t[ids[p0],p1]" == show(forms[5])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PAIRS)
def test_forms_mean_what_the_interpreter_computes(name, seed):
    for lines in (PAIRS[name].program, PAIRS[name].candidate):
        error = disagreement(graph_of(lines), random.Random(seed))

        assert isinstance(error, float), error
        assert error < LARGEST_ERROR


def test_equal_lookups_become_inputs_of_equal_names_on_both_sides():
    one, other = (graph_of(lines) for lines in (SOFTMAX_OF_ROWS, PAIRS["one kernel behind the lookup"].candidate))

    names = [[i.name for i in lookups_as_inputs(graph).inputs] for graph in (one, other)]

    assert names[0] == names[1] == ["t", "u", "w", "ids", "others", "t_at_ids_0"]


def test_the_refuter_draws_positions_of_the_smallest_dim():
    prover = Prover(program_of(LOGITS))
    pair = prover.refuter._extents.pair(graph_of(LOGITS))
    assert not isinstance(pair, str)
    instance = prover.refuter._extents.instance(pair)
    assert not isinstance(instance, str)

    assert dict(instance.shapes)["t"][0] == dict(instance.limits)["ids"] == dict(instance.limits)["others"]


def test_a_table_of_one_row_needs_no_positions():
    lines = "  %5 = slice(t, dim=0, start=0, stop=1)\n  %6 = lookup(%5, ids, dim=0)\n  return %6\n"
    program = program_of(lines)

    (limit,) = program.graph.index_limits["ids"]
    graph = graph_of(lines.replace("lookup(%5, ids", "lookup(%5, others"))
    verdict = Prover(program).verify(candidate(program, graph), Journal())

    assert dim(1) == limit
    assert isinstance(verdict, Verified), "the only position is 0"


def test_no_mutant_with_lookups_is_falsely_proved(request):
    wanted = request.config.getoption("--mutants") or MUTANTS
    bases = [Base(name, program_of(pair.program), graph_of(pair.candidate)) for name, pair in PAIRS.items()]

    account = run(bases, wanted, seed=3, kinds=(*KINDS, *LOOKUP_KINDS, *LOOKUP_KINDS))

    assert ([], [], []) == (account.crashes, account.false, account.disagreements)
    assert account.legal > wanted * 0.95
    assert account.verdicts["proved"] > wanted / 20, "mutants that stay right are needed, or the test shows nothing"
    assert account.verdicts["refuted"] > wanted / 2
    assert account.missed_share < 0.02, account.examples[:5]


def test_positions_outside_of_the_dim_are_refused_by_the_interpreter():
    from prism_explore.ir.interpreter.reference import evaluate

    graph = graph_of("  %5 = lookup(t, ids, dim=0)\n  return %5\n")
    given = {"t": np.ones((3, 6)), "u": np.ones((3, 6)), "w": np.ones((6, 4)), "others": np.zeros(2, np.int64)}

    for wrong in (-1, 3):
        with pytest.raises(ShapeError, match=f"{wrong}.* of a dim of size 3"):
            evaluate(graph, {**given, "ids": np.array([0, wrong])})
