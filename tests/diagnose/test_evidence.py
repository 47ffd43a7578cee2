"""What stands behind a verdict, as people read it: from a search's facts alone, live and saved."""

from __future__ import annotations

import pytest

import prism_explore as px
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    CandidateInstantiated,
    CertificateReplayed,
    ExplorationStarted,
    FamilyCompleted,
    VerdictReached,
)
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Candidate, Family
from prism_explore.session.record import Record
from prism_explore.verify.prover import DISAGREE, verify

PROGRAM = """program rms
  x = input f32[b, 64]
  w = input f32[64, 64]
  %2 = rms(x, dim=1)
  %3 = div(x, %2)
  %4 = matmul(%3, w)
  return %4"""

RIGHT = """sgraph
  x = input f32[b, 64]
  w = input f32[64, 64]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_rms(%0, dim=1)
    %5 = div(%3, %4)
    %6 = store(%5, omap=[1])
  return %2"""

WRONG = RIGHT.replace("%4 = accum_rms(%0, dim=1)", "%4 = accum_sum(%0, dim=1)")


def recorded(sgraph: str, change=lambda verdict: verdict) -> Record:
    """A search that came to one candidate, decided for real; `change` may put other words into its verdict."""
    program, graph = parse_program(PROGRAM), parse(sgraph)
    beside, journal = Journal(), Journal()
    family = Family("f1", program, graph)
    verify(program, Candidate("f1.c1", family, graph, (), graph.conditions()), beside)
    (verdict,) = beside.events
    assert isinstance(verdict, VerdictReached)
    journal.append(ExplorationStarted(show(program), "cpu", 0, {}, ()))
    journal.append(FamilyCompleted("f1", "n1", show(graph)))
    journal.append(CandidateInstantiated("f1.c1", "f1", show(graph), (), ()))
    journal.append(change(verdict))
    return Record(journal)


def test_a_proved_candidate_shows_its_claim_its_trials_and_its_certificate_line_by_line(golden):
    record = recorded(RIGHT)
    before = record.evidence("f1.c1")
    assert ["f1.c1 proved", "passed the refuter", "certificate"] == [p.title for p in before.parts]
    assert "No certificate has been made" in before.parts[2].sentence

    golden("evidence/proved", str(record.certify("f1.c1")))
    assert 1 == len(record.of(CertificateReplayed))
    assert str(record.evidence("f1.c1")) == str(record.certify("f1.c1"))
    assert 1 == len(record.of(CertificateReplayed))


def test_a_refuted_candidate_shows_a_counterexample_that_runs_again(golden):
    record = recorded(WRONG)
    golden("evidence/refuted", str(record.evidence("f1.c1")))
    again = record.replay("f1.c1")

    assert again.differs
    assert record.of(VerdictReached)[0].witness in str(again)
    _, (_, case) = record.evidence("f1.c1").parts[0].copies
    assert again.refuter == px.replay_counterexample(case).refuter


def test_an_unknown_candidate_shows_the_limit_and_how_far_both_sides_agree():
    def undecided(verdict: VerdictReached) -> VerdictReached:
        return VerdictReached(
            verdict.candidate,
            "unknown",
            "",
            "the normal forms differ",
            budget="budget.proof",
            nearest=("a b", "b a"),
            shared=(("x[p0,p1]", ("program.%0", "k0")),),
            apart=(("program.%2", "rms(x, dim=1)"),),
        )

    parts = recorded(RIGHT, undecided).evidence("f1.c1").parts

    titles = ["f1.c1 unknown", "the last values that both sides share", "the first differences"]
    assert [*titles, "the two normal forms that differ"] == [p.title for p in parts]
    assert (("%0, k0", "x[p0,p1]"),) == parts[1].rows
    assert "It may still be equal" in parts[0].remark
    assert (("budget spent", "budget.proof"),) == parts[0].rows


def test_a_disagreement_carries_the_case_that_was_saved():
    text = "disagreement of f1.c1, proved by normal form\n..."
    change = lambda v: VerdictReached(v.candidate, "unknown", "", DISAGREE, case=text)  # noqa: E731
    (part,) = recorded(RIGHT, change).evidence("f1.c1").parts

    assert "disagree" in part.title
    assert text in [copy for _, copy in part.copies]


def test_what_was_saved_shows_the_same_evidence_and_can_be_certified(tmp_path):
    record = recorded(RIGHT)
    loaded = px.load(record.journal.save(tmp_path / "run.prism"))

    assert str(record.evidence("f1.c1")) == str(loaded.evidence("f1.c1"))
    assert str(record.certify("f1.c1")) == str(loaded.certify("f1.c1"))


def test_a_candidate_that_is_not_proved_gets_no_certificate_and_a_proved_one_no_replay():
    with pytest.raises(ShapeError, match=r"f1\.c1 is refuted; only a proved candidate has a certificate"):
        recorded(WRONG).certify("f1.c1")
    with pytest.raises(ShapeError, match=r"f1\.c1 is proved, so it has no counterexample"):
        recorded(RIGHT).replay("f1.c1")
    with pytest.raises(ShapeError, match=r"no candidate 'f9\.c9'; there are f1\.c1"):
        recorded(RIGHT).evidence("f9.c9")


def test_a_file_of_an_older_version_without_counterexample_or_statements_still_shows_what_it_has():
    old = lambda v: VerdictReached(v.candidate, v.verdict, v.method, v.detail)  # noqa: E731
    (part,) = recorded(WRONG, old).evidence("f1.c1").parts
    assert ((), ()) == (part.rows, part.copies)

    record = recorded(RIGHT)
    record.journal.append(CertificateReplayed("f1.c1", (("k2", "store(%5)", "x", (), True, ""),)))
    step = record.evidence("f1.c1").parts[2].steps[0]
    assert ("k2", "by definition", ()) == (step.tensor, step.justification, step.lines)


def test_a_search_goes_on_over_a_certificate_that_was_asked_for_in_between(tmp_path):
    sess = px.Session(parse_program(PROGRAM.replace("64", "16")), budget=px.Budget(trials=1))
    sess.run(until=lambda s: any(f.row.proved for f in s.families.values()))
    proved = next(c for f in sess.families.values() for c, v in f.verdicts.items() if v.verdict == "proved")
    sess.certify(proved)
    sess.step(3)
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert sess.journal.events == loaded.journal.events
    assert str(sess.evidence(proved)) == str(loaded.evidence(proved))
    loaded.step(20)
    assert "paused" == loaded.state
    sess.close()
    loaded.close()
