"""Answers as cards: what an audit found, what would reopen, and what can be asked of what is selected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pytest

import prism_explore as px
from prism_explore.diagnose.jobs import Question, QuestionKind
from prism_explore.ir.ops import Custom
from prism_explore.widgets.panels.answers import answer_cards, question_inspector, short_answer
from prism_explore.widgets.panels.context import Context, Folds, Memo, QuestionList, SearchInfo, ViewState
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.sections import Action, Inspector

SMALL = """program small
  x = input f32[b, 16]
  w = input f32[16, 16]
  %2 = rms(x, dim=1)
  %3 = div(x, %2)
  %4 = matmul(%3, w)
  return %4"""


@pytest.fixture(scope="module")
def sess() -> Iterable[px.Session]:
    """A search up to its first proved family."""
    session = px.Session(px.parse_program(SMALL))
    session.run(until=lambda s: any(f.row.proved for f in s.families.values()))
    yield session
    session.close()


def seen(
    sess: px.Session, ref: str, *questions: Question, can: tuple[QuestionKind, ...] = get_args(QuestionKind)
) -> Inspector:
    search = SearchInfo(sess.program, questions=QuestionList(questions, frozenset(can)))
    found = inspect(ref, Context.of(search, Folds(sess.journal.entries), ViewState(), Memo()))
    assert found is not None
    return found


def labels(actions: Iterable[Action]) -> list[str]:
    return [a.label for a in actions if a.enabled]


def cut_by(sess: px.Session, rule: str) -> str:
    return next(p for p, handle in sess.pruned.items() if handle.reason.rule == rule)


def test_a_cut_can_be_audited_and_its_rule_asked_about_with_the_line_that_does_the_same(sess) -> None:
    region = cut_by(sess, "expr.unreachable")
    actions = seen(sess, region).actions

    assert [f"Audit {region}", "What if expr.unreachable were off"] == labels(actions)
    assert [f"sess.audit({region!r})", "sess.what_if(rules_off=('expr.unreachable',))"] == [a.python for a in actions]


def test_nothing_can_be_asked_about_a_cut_of_a_saved_search(sess) -> None:
    assert () == seen(sess, cut_by(sess, "expr.unreachable"), can=("certify", "replay")).actions


def test_an_audit_says_its_answer_on_the_region_and_on_the_question(sess) -> None:
    region = cut_by(sess, "shape.mismatch")
    found = sess.audit(region, nodes=50, candidates=10)
    asked = Question("q1", "audit", region, f"sess.audit({region!r})", "answered", found)
    card = seen(sess, region, asked).cards[-1]

    assert f"audit of {region}: {found.answer}" == card.title
    assert found.text == card.sentence
    assert ("pruned by", "shape.mismatch") in card.details
    assert (card,) == question_inspector(asked).cards
    assert short_answer(asked).startswith(f"{found.answer}: ")


def test_an_open_question_can_be_taken_back_and_is_not_asked_twice(sess) -> None:
    region = cut_by(sess, "expr.unreachable")
    asked = Question("q1", "audit", region, f"sess.audit({region!r})", "running")
    shown = seen(sess, region, asked)

    assert ["What if expr.unreachable were off", "Cancel q1"] == labels(shown.actions)
    assert "It is running" in shown.cards[-1].sentence


def test_a_what_if_counts_what_reopens_and_leads_there(sess) -> None:
    found = sess.what_if(rules_off=("expr.unreachable",))
    asked = Question("q1", "what_if", "", "sess.what_if(...)", "answered", found)
    card, adopt = answer_cards(asked)
    (row,) = (r for r in found.rows if r.rule == "expr.unreachable")

    assert f"what if: {len(found.reopened):,} subtrees reopen" == card.title
    assert "adopt" in adopt.title.lower()
    assert any(
        f"{len(row.reopened):,} of {row.regions:,} reopen" in says for rule, says in card.details if rule == row.rule
    )
    assert list(found.reopened[:24]) == [link.ref for link in question_inspector(asked).links][:24]


def test_every_family_that_a_what_if_gained_has_a_label_of_its_own(sess) -> None:
    found = sess.what_if(block_inputs=sess.task.space.block_inputs + 2, custom_kernels=2, run=True)
    cards = answer_cards(Question("q1", "what_if", "", "sess.what_if(...)", "answered", found))
    labels = [copy.label for card in cards for copy in card.copies]

    assert len(labels) > 1
    assert len({*labels}) == len(labels) == len(found.ran.gained)


def test_a_limit_that_is_none_is_refused_by_name(sess) -> None:
    with pytest.raises(px.ShapeError, match="no limit kernel_op; there are kernel_ops"):
        sess.what_if(kernel_op=3)


def test_more_shared_memory_and_a_wider_limit_are_changes_of_the_same_search(sess) -> None:
    changes = sess.what_if(shared_memory_bytes=1 << 30, block_ops=12).changes

    assert any("1,073,741,824 B" in c for c in changes)
    assert any("at most 12 operators" in c for c in changes)


def test_a_proved_candidate_is_certified_on_demand_and_shows_each_lemma(sess) -> None:
    candidate = next(c for f in sess.families.values() for c, v in f.verdicts.items() if v.verdict == "proved")
    assert f"Certify {candidate}" in labels(seen(sess, candidate).actions)
    sess.submit("certify", id=candidate)
    assert sess.questions.wait(60)
    shown = seen(sess, candidate, *sess.questions.values())

    assert f"Certify {candidate}" not in [a.label for a in shown.actions]
    (card,) = (c for c in shown.cards if c.title == "certificate")
    graph = sess.families[candidate.split(".")[0]].candidates[candidate]
    blocks = [n.op.block for n in graph.nodes if isinstance(n.op, Custom)]
    assert sum(len(b.nodes) for b in blocks) <= len(card.steps)
    assert f"{candidate}/goal@0" == card.steps[-1].ref
    lemma = next(step for step in card.steps if step.lines)
    tensor = seen(sess, lemma.ref)
    assert [lemma.lines] == [row.lines for c in tensor.cards for row in c.steps]


def test_what_was_typed_by_hand_is_refused_in_words_and_not_by_a_broken_thread(sess) -> None:
    sess.submit("audit", id="p0")
    assert sess.questions.wait(30)
    asked = list(sess.questions.values())[-1]

    assert "failed" == asked.state
    assert asked.failure.startswith("nothing to audit by the name 'p0'")
    assert asked.failure == short_answer(asked)


def test_a_sample_of_all_cuts_is_audited_with_a_click_on_a_reason(sess) -> None:
    shown = seen(sess, "expr.unreachable")
    (action,) = shown.actions

    assert ("Audit a sample of each rule", "sess.audit(sample=3)") == (action.label, action.python)
    assert () == seen(sess, "expr.unreachable", can=("certify", "replay")).actions

    found = sess.audit(sample=1, nodes=20, candidates=5)
    asked = Question("q1", "audit", "", action.python, "answered", found)
    (card,) = answer_cards(asked)

    assert found.text == card.sentence == short_answer(asked)
    assert {row.rule for row in found.rows} <= {name for name, _ in card.details}
    assert any(f"1 of {row.regions:,} audited" in says for row in found.rows for _, says in card.details)


def test_a_family_can_be_preferred_with_a_click(sess) -> None:
    family = next(iter(sess.families))
    (action,) = (a for a in seen(sess, family).actions if a.label == f"Prefer {family}")

    assert f"sess.prefer({family!r})" == action.python
    assert action.enabled
