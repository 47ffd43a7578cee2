"""Right candidates are proved, wrong ones refuted with numbers, and doubt is never called a proof."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prism_explore.codegen import emit
from prism_explore.errors import ParseError, ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import SaturationStepped, VerdictReached
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import (
    Counterexample,
    Infeasible,
    Kernel,
    Parameters,
    Refuted,
    Unknown,
    Verdict,
    Verified,
)
from prism_explore.targets import target as target_of
from prism_explore.verify import prover
from prism_explore.verify.counterexample.case import Case, read_counterexample
from prism_explore.verify.counterexample.refuter import Refuter, UncertainDifference, replay
from prism_explore.verify.egraph.limits import Limits
from prism_explore.verify.normal_form.algebra import Budget
from prism_explore.verify.normal_form.forms import NormalForm
from prism_explore.verify.prover import DISAGREE, Prover, verify
from prism_explore.verify.replay import replay_counterexample
from tests.verify.corpus import CASES, MATMUL, PROGRAMS, R1_BARE, R1_FULL, candidate, graph_of

RIGHT = [c for c in CASES if c.right]
WRONG = [c for c in CASES if not c.right]


def verdict_on(program: TensorProgram, sgraph: SGraph, **given: object) -> Verdict:
    return Prover(program, **given).verify(candidate(program, sgraph), Journal())  # type: ignore[arg-type]


# ---------------------------------------------------------------- the corpus
@pytest.mark.parametrize("case", RIGHT, ids=lambda c: c.name)
def test_a_right_candidate_is_proved_for_all_sizes(case):
    verdict = verdict_on(PROGRAMS[case.program], case.sgraph)

    assert isinstance(verdict, Verified), verdict
    assert all(trial.relative_error <= 1e-12 for trial in verdict.trials)


@pytest.mark.parametrize("case", WRONG, ids=lambda c: c.name)
def test_a_wrong_candidate_is_refuted_by_numbers_that_anyone_can_run(case):
    program = PROGRAMS[case.program]
    verdict = verdict_on(program, case.sgraph)

    assert isinstance(verdict, Refuted), verdict
    assert verdict.counterexample.relative_error > 1e-7
    assert str(verdict.counterexample) == str(replay(verdict.counterexample, program, case.sgraph))


@pytest.mark.parametrize("name", ["operand_swap_U1", "division_moved_through_a_matmul_U2", "rms_lost_one_over_n_U3"])
def test_what_published_rules_accept_is_refuted_here(name):
    case = next(c for c in CASES if c.name == name)

    assert isinstance(verdict_on(PROGRAMS[case.program], case.sgraph), Refuted)


def test_the_program_equals_itself():
    for program in PROGRAMS.values():
        assert isinstance(verdict_on(program, program.graph), Verified)


# ---------------------------------------------------------------- what a proof says
def test_a_claim_states_its_quantifiers_conditions_and_convention():
    verdict = verdict_on(PROGRAMS["rms_full"], graph_of("rms_full", R1_FULL))

    assert isinstance(verdict, Verified)
    assert (
        "for all positive integers b, f, gx that make 4096/f and 4096/gx positive integers, and for all real inputs, "
        "its result equals that of rms_full, in real arithmetic with x/0 = 0"
    ) == verdict.proof.claim
    assert ("4096/f", "4096/gx") == verdict.proof.conditions
    assert "normal form" == verdict.proof.method


def test_the_classes_of_the_fused_rmsnorm(golden):
    verdict = verdict_on(PROGRAMS["rms_full"], graph_of("rms_full", R1_FULL))

    assert isinstance(verdict, Verified)
    golden("verify_classes", "\n".join(f"{c.id}: {c.term}\n    {', '.join(c.members)}" for c in verdict.proof.classes))


def test_the_results_share_a_class_and_every_tensor_is_in_one():
    program, sgraph = PROGRAMS["rms_full"], graph_of("rms_full", R1_FULL)
    verdict = verdict_on(program, sgraph)

    assert isinstance(verdict, Verified)
    members = [m for c in verdict.proof.classes for m in c.members]
    inside = sum(len(block.nodes) for _, block in sgraph.customs)
    assert len(program.graph.nodes) + len(sgraph.nodes) + inside == len(set(members)) == len(members)
    together = next(c.members for c in verdict.proof.classes if f"program.%{program.graph.output}" in c.members)
    assert {"k3", "k3.b11"} <= set(together)


def test_class_ids_stay_the_same_over_a_search():
    program = PROGRAMS["rms_bare"]
    prover, journal = Prover(program), Journal()
    first = prover.verify(candidate(program, graph_of("rms_bare", R1_BARE)), journal)
    others = [c for c in RIGHT if c.program == "rms_bare"]
    seen: dict[str, str] = {}
    for verdict in [first, *(prover.verify(candidate(program, c.sgraph), journal) for c in others), first]:
        assert isinstance(verdict, Verified)
        for c in verdict.proof.classes:
            assert c.term == seen.setdefault(c.id, c.term)
    assert [f"c{n}" for n in range(1, len(first.proof.classes) + 1)] == [c.id for c in first.proof.classes]


# ---------------------------------------------------------------- the journal
def test_a_verdict_is_noted_and_survives_saving(tmp_path):
    journal = Journal()
    for case in CASES[:14]:
        verify(PROGRAMS[case.program], candidate(PROGRAMS[case.program], case.sgraph), journal)

    assert journal.events == Journal.load(journal.save(tmp_path / "verdicts.prism")).events
    words = [e.verdict for e in journal.events if isinstance(e, VerdictReached)]
    assert ["proved" if c.right else "refuted" for c in CASES[:14]] == words


def test_the_same_seed_gives_the_same_facts_and_another_seed_other_trials():
    def facts(seed: int) -> tuple[object, ...]:
        journal = Journal()
        prover = Prover(PROGRAMS["rms_bare"])
        for case in CASES:
            if case.program == "rms_bare":
                prover.verify(candidate(PROGRAMS["rms_bare"], case.sgraph), journal, seed)
        return journal.events

    assert facts(3) == facts(3)
    assert facts(3) != facts(4)


def test_a_refutation_says_where_and_by_how_much():
    journal = Journal()
    case = next(c for c in CASES if c.name == "rms_swapped_division")
    verify(PROGRAMS["rms_bare"], candidate(PROGRAMS["rms_bare"], case.sgraph), journal)

    (event,) = journal.events
    assert isinstance(event, VerdictReached)
    assert "counterexample" == event.method
    assert event.detail.startswith("at b=4, d=6, n=8, gx=2, f=3, seed 0, element [")


# ---------------------------------------------------------------- dearer proofs
def fractions() -> TensorProgram:
    b = ProgramBuilder("fractions")
    x, y = b.input("x", "b", 8), b.input("y", "b", 8)
    parts = [b.binary("div", t, b.scalar("add", b.unary("exp", t), 1)) for t in (x, y)]
    return b.build(b.binary("add", *parts))


FRACTIONS_JOINED = """sgraph
  x = input f32[b, 8]
  y = input f32[b, 8]
  %2 = exp(x)
  %3 = exp(y)
  %4 = add_scalar(%2, 1)
  %5 = add_scalar(%3, 1)
  %6 = mul(x, %5)
  %7 = mul(y, %4)
  %8 = add(%6, %7)
  %9 = mul(%4, %5)
  %10 = div(%8, %9)
  return %10"""


def test_fractions_over_a_common_denominator_are_proved_by_clearing_it():
    verdict = verdict_on(fractions(), parse(FRACTIONS_JOINED))

    assert isinstance(verdict, Verified)
    assert "cleared denominators" == verdict.proof.method
    assert any({"program.%8", "k10"} <= set(c.members) for c in verdict.proof.classes)


def root_program() -> TensorProgram:
    b = ProgramBuilder("root_of_a_square")
    return b.build(b.unary("sqrt", b.unary("square", b.input("x", "b", 8))))


ROOT_AS_QUOTIENT = """sgraph
  x = input f32[b, 8]
  %1 = square(x)
  %2 = sqrt(%1)
  %3 = div(%1, %2)
  return %3"""
"""Equal for every real number with 0/0 = 0; the normal form does not join x² with a power of x²."""


def hidden_program() -> TensorProgram:
    b = ProgramBuilder("hidden_quotient")
    x, y = b.input("x", "b", 8), b.input("y", "b", 8)
    return b.build(b.unary("tanh", b.binary("div", x, b.scalar("add", b.unary("exp", y), 1))))


HIDDEN_TWICE = """sgraph
  x = input f32[b, 8]
  y = input f32[b, 8]
  %2 = exp(y)
  %3 = add_scalar(%2, 1)
  %4 = div(x, %3)
  %5 = mul(%4, %3)
  %6 = div(%5, %3)
  %7 = tanh(%6)
  return %7"""
"""A positive factor is multiplied and divided inside tanh, where denominators are not cleared."""


def test_what_the_normal_form_cannot_tell_is_proved_by_the_e_graph():
    journal, program = Journal(), hidden_program()
    verdict = verify(program, candidate(program, parse(HIDDEN_TWICE)), journal)

    assert isinstance(verdict, Verified)
    assert "e-graph" == verdict.proof.method
    assert all(e.subject == "f1.c1" for e in journal.events if isinstance(e, SaturationStepped))
    assert any(isinstance(e, SaturationStepped) for e in journal.events)


def test_what_the_e_graph_cannot_tell_either_is_unknown_with_its_limit():
    verdict = verdict_on(root_program(), parse(ROOT_AS_QUOTIENT), saturation=Limits(iterations=2, nodes=2000))

    assert isinstance(verdict, Unknown)
    assert verdict.limit.startswith("the normal forms differ, and the e-graph: ")


def test_without_an_e_graph_the_same_candidate_is_unknown_with_both_forms():
    verdict = verdict_on(root_program(), parse(ROOT_AS_QUOTIENT), saturation=None)

    assert isinstance(verdict, Unknown)
    assert "the normal forms differ" == verdict.limit
    assert ("(x[p0,p1]^2)^1/2", "x[p0,p1]^2 (x[p0,p1]^2)^-1/2") == verdict.nearest


def test_what_is_unknown_leaves_both_forms_in_the_journal():
    journal, program = Journal(), root_program()
    prover = Prover(program, saturation=None)
    prover.verify(candidate(program, parse(ROOT_AS_QUOTIENT)), journal)

    (fact,) = [e for e in journal.events if isinstance(e, VerdictReached)]
    assert ("unknown", ("(x[p0,p1]^2)^1/2", "x[p0,p1]^2 (x[p0,p1]^2)^-1/2")) == (fact.verdict, fact.nearest)


def test_a_spent_budget_is_unknown_and_named():
    verdict = verdict_on(
        PROGRAMS["attention"], next(c.sgraph for c in RIGHT if c.program == "attention"), budget=Budget(10)
    )

    assert isinstance(verdict, Unknown)
    assert "more than 10 steps" in verdict.limit


# ---------------------------------------------------------------- doubt
def test_a_disagreement_is_unknown_never_offered_and_can_be_replayed(monkeypatch):
    """With a prover broken on purpose, the refuter still stands."""
    program = PROGRAMS["rms_bare"]
    bad = next(c for c in CASES if c.name == "rms_of_a_tile")
    monkeypatch.setattr(NormalForm, "__eq__", lambda self, other: True)
    monkeypatch.setattr(prover.Refuter, "attempt_at_given_sizes", prover.Refuter.attempt)
    journal = Journal()
    verdict = Prover(program, audit_interval=1).verify(candidate(program, bad.sgraph), journal)

    assert isinstance(verdict, Unknown)
    assert DISAGREE == verdict.limit
    (event,) = journal.events
    assert isinstance(event, VerdictReached)
    assert ("unknown", DISAGREE, verdict.case) == (event.verdict, event.detail, event.case)

    again = replay_counterexample(event.case)
    assert (program.graph, bad.sgraph) == (again.case.program.graph, again.case.sgraph)
    assert again.disagree

    monkeypatch.undo()
    mended = replay_counterexample(event.case)
    assert not mended.disagree
    assert again.refuter == mended.refuter
    assert ("", "the normal forms differ") == (mended.proved, mended.limit[:23])


def test_a_right_candidate_replayed_as_a_case_shows_no_difference():
    program, sgraph = PROGRAMS["rms_bare"], graph_of("rms_bare", R1_BARE)
    bad = next(c for c in CASES if c.name == "rms_of_a_tile")
    counterexample = Refuter(program).attempt(bad.sgraph, 0)
    assert isinstance(counterexample, Counterexample)
    text = str(Case("f1.c1", "normal form", program, sgraph, counterexample))
    again = replay_counterexample(text)

    assert text == str(again.case)
    assert ("normal form", False) == (again.proved, again.disagree)


@pytest.mark.parametrize("text", ["", "disagreement of f1.c1", "program p\nsgraph\n"])
def test_what_is_no_case_is_refused(text):
    with pytest.raises(ParseError, match="not a case"):
        replay_counterexample(text)


def test_a_refutation_is_noted_with_a_counterexample_that_runs_again():
    program = PROGRAMS["rms_bare"]
    bad = next(c for c in CASES if c.name == "rms_of_a_tile")
    journal = Journal()
    verdict = verify(program, candidate(program, bad.sgraph), journal)
    assert isinstance(verdict, Refuted)
    (event,) = journal.events
    assert isinstance(event, VerdictReached)

    assert verdict.counterexample == read_counterexample(event.witness)
    again = replay_counterexample(str(Case("f1.c1", None, program, bad.sgraph, read_counterexample(event.witness))))
    assert again.differs
    assert verdict.counterexample == again.refuter
    assert not again.disagree
    assert event.witness in str(again)


@pytest.mark.parametrize("text", ["", "seed 0\nat b=2\nelement 0: 1 wanted, 2 found"])
def test_what_is_no_counterexample_is_refused(text):
    with pytest.raises(ParseError, match="not a counterexample"):
        read_counterexample(text)


EQUAL_EXTENTS_ONLY = """
  %2 = custom(x, w) grid[x=gx]
    $x = load(0, imap=[-])
    $w = load(1, imap=[1])
    $xw = matmul($x, $w)
    $out = store($xw, omap=[1])
  %3 = custom(%2, w) grid[x=gx]
    $x = load(0, imap=[-])
    $w = load(1, imap=[-])
    $xw = matmul($x, $w)
    $out = store($xw, omap=[-])
  return %2
"""


def test_a_candidate_that_needs_two_axes_to_be_equally_long_is_not_proved_for_the_family():
    """Its last kernel multiplies by w a second time, which only a square w allows; nobody reads that."""
    verdict = verdict_on(PROGRAMS["matmul"], graph_of("matmul", EQUAL_EXTENTS_ONLY))

    assert isinstance(verdict, Unknown)
    assert "it type-checks only because axes d and n are equally long" == verdict.limit


def test_a_wrong_axis_of_equal_extent_is_refuted():
    program = PROGRAMS["matmul"]
    twice = graph_of("matmul", EQUAL_EXTENTS_ONLY.replace("return %2", "return %3"))

    assert isinstance(verdict_on(program, twice), Refuted)


def test_a_constant_that_is_tied_to_the_extents_is_tried_at_those_extents():
    case = next(c for c in CASES if c.name == "rms_fused_sum_then_scale")
    verdict = verdict_on(PROGRAMS["rms_full"], case.sgraph)

    assert isinstance(verdict, Verified)
    assert 4096 == dict(verdict.trials[0].sizes)["d"]
    assert "a constant is tied to the given extents" == verdict.why_no_exact_trial


def test_what_is_proved_and_tied_is_not_run_at_extents_where_it_must_differ(monkeypatch):
    """One trial at the given extents is made for it, by which it might be refuted as well; none at sizes of its own."""
    case = next(c for c in CASES if c.name == "rms_fused_sum_then_scale")
    refuter = Refuter(PROGRAMS["rms_full"])
    assert refuter.constant_may_explain_difference(case.sgraph, 0)
    assert isinstance(refuter.attempt(case.sgraph, 0), UncertainDifference)
    monkeypatch.setattr(Refuter, "attempt", lambda *_: pytest.fail("it was run at sizes of its own"))
    assert isinstance(verdict_on(PROGRAMS["rms_full"], case.sgraph), Verified)


def test_what_constant_may_explain_difference_and_is_wrong_is_refuted_with_a_counterexample():
    """A mean over the axis, with the constant of half of it."""
    program = PROGRAMS["rms_full"]
    case = next(c for c in CASES if c.name == "rms_fused_sum_then_scale")
    bad = parse(show(case.sgraph).replace("1/4096", "1/2048"))
    assert Refuter(program).constant_may_explain_difference(bad, 0)
    verdict = verdict_on(program, bad)

    assert isinstance(verdict, Refuted)
    assert isinstance(Refuter(program).replay(verdict.counterexample, bad), Counterexample)


def test_a_program_without_a_finite_value_is_not_proved():
    b = ProgramBuilder("always_dividing_by_zero")
    x = b.input("x", "b", 8)
    program = b.build(b.binary("div", x, b.binary("sub", x, x)))
    verdict = verdict_on(program, program.graph)

    assert isinstance(verdict, Unknown)


def test_another_result_shape_is_unknown_and_said():
    sgraph = graph_of("rms_bare", "  %2 = matmul(x, w)\n  %3 = sum(%2, dim=1)\n  return %3")
    verdict = verdict_on(PROGRAMS["rms_bare"], sgraph)

    assert isinstance(verdict, Unknown)
    assert "the result has dims (b, 1), the program's has (b, 4096)" == verdict.limit


# ---------------------------------------------------------------- evidence
def test_a_verdict_tells_trials_on_floats_from_those_in_prime_fields():
    journal, program = Journal(), PROGRAMS["rms_bare"]
    verdict = verify(program, candidate(program, graph_of("rms_bare", R1_BARE)), journal)

    assert isinstance(verdict, Verified)
    assert ["float64", "float64", "prime fields"] == [t.arithmetic for t in verdict.trials]
    assert verdict.evidence.startswith("It survived 2 random trials in float64 (relative error ")
    assert verdict.evidence.endswith("and 1 exact trial in prime fields (error at most 4e-08).")
    (fact,) = journal.events
    assert isinstance(fact, VerdictReached)
    assert (2, 1, verdict.evidence) == (len(fact.trials), len(fact.exact), fact.evidence)
    assert "proved" not in verdict.evidence


def test_where_there_is_no_exact_trial_it_is_said_why():
    b = ProgramBuilder("largest")
    program = b.build(b.reduce("max", b.input("x", "b", 64), 1))
    verdict = verdict_on(program, program.graph)

    assert isinstance(verdict, Verified)
    assert 2 == len(verdict.trials)
    assert verdict.evidence.endswith(" No exact trial: prime fields have no max.")


def test_a_difference_in_prime_fields_alone_is_a_disagreement_too(monkeypatch):
    """With float trials that are blind and a prover that is broken."""
    program = PROGRAMS["gated_mlp"]
    bad = next(c for c in CASES if c.name == "mlp_swapped_weights")
    monkeypatch.setattr(NormalForm, "__eq__", lambda self, other: True)
    monkeypatch.setattr("prism_explore.verify.counterexample.refuter.TOLERANCE", 1e9)
    verdict = verdict_on(program, bad.sgraph)

    assert isinstance(verdict, Unknown)
    assert DISAGREE == verdict.limit
    monkeypatch.undo()
    again = replay_counterexample(verdict.case)
    assert isinstance(again.refuter, Counterexample)
    assert "prime fields" == again.refuter.arithmetic
    assert not again.disagree


def test_of_sixteen_refuted_candidates_the_prover_is_asked_about_one(monkeypatch):
    asked: list[SGraph] = []
    usual = prover.lower
    program = PROGRAMS["rms_bare"]
    bad = next(c for c in CASES if c.name == "rms_of_a_tile").sgraph
    monkeypatch.setattr(prover, "lower", lambda graph, algebra: asked.append(graph) or usual(graph, algebra))
    judge = Prover(program)
    for _ in range(33):
        assert isinstance(judge.verify(candidate(program, bad), Journal()), Refuted)

    assert [program.graph, bad, bad] == asked


# ---------------------------------------------------------------- families at other shapes
def test_a_family_is_checked_again_where_it_is_used_at_other_sizes():
    verdict = verdict_on(PROGRAMS["rms_full"], graph_of("rms_full", R1_FULL))

    assert isinstance(verdict, Verified)
    assert () == verdict.proof.broken_at({"b": 8, "gx": 64, "f": 16})
    assert ("4096/f is 4096/3, not a positive integer",) == verdict.proof.broken_at({"b": 8, "gx": 64, "f": 3})
    with pytest.raises(ShapeError, match="needs a number for 'f'"):
        verdict.proof.broken_at({"b": 8, "gx": 64})


def test_no_kernel_is_made_where_a_condition_of_the_proof_is_broken():
    verdict = verdict_on(PROGRAMS["rms_full"], graph_of("rms_full", R1_FULL))
    assert isinstance(verdict, Verified)
    target = target_of("cpu")

    assert isinstance(emit(verdict, Parameters((("gx", 64), ("f", 16))), {"b": 8}, target), Kernel)
    made = emit(verdict, Parameters((("gx", 64), ("f", 3))), {"b": 8}, target)
    assert isinstance(made, Infeasible)
    assert ("tune.illegal", "the proof needs other sizes: 4096/f is 4096/3, not a positive integer") == (
        made.code,
        made.reason,
    )


def test_what_a_proof_assumes_of_the_inputs_is_a_condition_and_in_the_claim():
    b = ProgramBuilder("masked_softmax")
    x, keep = b.input("x", "b", 64), b.input("keep", "b", 64)
    e = b.unary("exp", b.binary("mask", x, keep))
    program = b.build(b.binary("div", e, b.reduce("sum", e, 1)))
    verdict = verdict_on(program, program.graph)

    assert isinstance(verdict, Verified)
    (condition,) = verdict.proof.conditions
    assert "at least one is not masked" in condition
    assert condition in verdict.proof.claim
    assert () == verdict.proof.broken_at({"b": 4})


# ---------------------------------------------------------------- what is known where nothing is proved
def test_what_is_unknown_tells_what_both_sides_share_and_where_they_part():
    verdict = verdict_on(root_program(), parse(ROOT_AS_QUOTIENT), saturation=None)

    assert isinstance(verdict, Unknown)
    assert (("program.%2",), ("k2",)) == (verdict.shared[-1].program, verdict.shared[-1].candidate)
    assert "(x[p0,p1]^2)^1/2" == verdict.shared[-1].term
    assert (("k3", "div(%1, %2)"),) == verdict.unmatched


def test_in_a_block_tiles_stand_for_the_tensors_that_they_are_part_of():
    text = next(c.sgraph for c in CASES if c.name == "rms_fused")
    verdict = verdict_on(PROGRAMS["rms_bare"], text, budget=Budget(terms=256, steps=5000), saturation=None)
    assert isinstance(verdict, Verified)

    program = hidden_program()
    blocks = parse(
        """sgraph
  x = input f32[b, 8]
  y = input f32[b, 8]
  %2 = custom(x, y) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0])
    %2 = exp(%1)
    %3 = add_scalar(%2, 1)
    %4 = div(%0, %3)
    %5 = mul(%4, %3)
    %6 = div(%5, %3)
    %7 = tanh(%6)
    %8 = store(%7, omap=[0])
  return %2"""
    )
    verdict = verdict_on(program, blocks, saturation=None)

    assert isinstance(verdict, Unknown)
    assert any("k2.b4" in c.candidate and "program.%4" in c.program for c in verdict.shared)
    assert ["program.%5", "k2.b5"] == [name for name, _ in verdict.unmatched]


def test_a_form_that_nests_too_deep_is_a_limit_and_no_crash(monkeypatch):
    def deep(*given: object) -> object:
        raise RecursionError

    program = PROGRAMS["matmul"]
    judge = Prover(program)
    monkeypatch.setattr(prover, "lower", deep)
    monkeypatch.setattr("prism_explore.verify.normal_form.cut_points.lower", deep)
    verdict = judge.verify(candidate(program, graph_of("matmul", MATMUL)), Journal())

    assert isinstance(verdict, Unknown)
    assert "the graph is too deep" == verdict.limit


# ---------------------------------------------------------------- callers' mistakes
def test_open_maps_are_a_callers_mistake():
    open_graph = graph_of("matmul", MATMUL.replace("omap=[1]", "omap=?"))

    with pytest.raises(ShapeError, match=r"f1\.c1: maps are still open"):
        verdict_on(PROGRAMS["matmul"], open_graph)


def test_other_inputs_are_a_callers_mistake():
    with pytest.raises(ShapeError, match="has inputs x f32"):
        verdict_on(PROGRAMS["rms_full"], graph_of("rms_bare", R1_BARE))


def test_a_candidate_keeps_its_identity_through_the_verdict():
    program = PROGRAMS["matmul"]
    c = replace(candidate(program, graph_of("matmul", MATMUL)), id="f7.c2")

    assert c == verify(program, c, Journal()).candidate
    assert show(c.sgraph) == show(graph_of("matmul", MATMUL))
