"""Questions beside a search: answered in turn on their own thread, cancelled at a step, kept off the stop-watch."""

from __future__ import annotations

import threading
import time

import pytest

import prism_explore as px
from prism_explore.diagnose.jobs import Questions
from prism_explore.errors import ShapeError


def asked(**how) -> Questions:
    return Questions(lambda: None, **how)


def until(condition, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.005)
    return condition()


def test_questions_are_answered_in_turn_and_off_the_callers_thread():
    questions = asked()
    threads: list[str] = []

    def work(number: int):
        def answer(tick):
            tick()
            threads.append(threading.current_thread().name)
            return number

        return answer

    for number in range(3):
        questions.submit("audit", f"p{number}", f"sess.audit('p{number}')", work(number))
    assert questions.wait(5)

    assert ["q1", "q2", "q3"] == list(questions)
    assert [0, 1, 2] == [q.answer for q in questions.values()]
    assert {"prism-questions"} == set(threads)


def test_a_question_that_is_being_answered_ends_at_its_next_step_and_a_waiting_one_never_begins():
    questions = asked()
    began: list[str] = []

    def endless(tick):
        began.append("endless")
        while True:
            tick()
            time.sleep(0.001)

    questions.submit("what_if", "", "sess.what_if()", endless)
    questions.submit("audit", "p1", "sess.audit('p1')", lambda _: began.append("second"))
    questions.submit("audit", "p2", "sess.audit('p2')", lambda _: "third")
    assert until(lambda: questions["q1"].state == "running")
    questions.cancel("q2")
    questions.cancel("q1")
    assert questions.wait(5)

    assert ["cancelled", "cancelled", "answered"] == [q.state for q in questions.values()]
    assert ["endless"] == began


def test_what_a_question_raises_is_its_answer_and_the_next_one_is_still_answered():
    questions = asked()

    def fails(error):
        def work(_):
            raise error

        return work

    questions.submit("audit", "p9", "", fails(ShapeError("no region p9")))
    questions.submit("audit", "p9", "", fails(ZeroDivisionError("oh")))
    questions.submit("audit", "p9", "", lambda _: 7)
    assert questions.wait(5)

    assert ["failed", "failed", "answered"] == [q.state for q in questions.values()]
    assert ["no region p9", "ZeroDivisionError: oh", ""] == [q.failure for q in questions.values()]


def test_a_question_waits_while_kernels_are_timed():
    timing = threading.Event()
    timing.set()
    questions = asked(busy=timing.is_set)
    questions.submit("audit", "p1", "", lambda _: "done")

    assert not questions.wait(0.2)
    timing.clear()
    assert questions.wait(5)
    assert "done" == questions["q1"].answer


def test_every_change_is_told():
    told: list[str] = []
    questions = Questions(lambda: told.append(questions["q1"].state))
    questions.submit("audit", "p1", "", lambda _: 1)
    assert questions.wait(5)
    assert until(lambda: len(told) == 3)

    assert ["waiting", "answered"] == [told[0], told[-1]] or ["running", "answered"] == [told[0], told[-1]]


def test_an_unknown_question_is_named():
    with pytest.raises(KeyError, match="no question 'q1'; there are none yet"):
        asked()["q1"]


SMALL = """program small
  x = input f32[b, 16]
  w = input f32[16, 16]
  %2 = rms(x, dim=1)
  %3 = div(x, %2)
  %4 = matmul(%3, w)
  return %4"""


def test_questions_asked_while_a_search_runs_change_neither_its_facts_nor_their_own_answers():
    def begun() -> px.Session:
        session = px.Session(px.parse_program(SMALL), budget=px.Budget(trials=1))
        session.step(200)
        return session

    def proved(session: px.Session) -> bool:
        return any(f.row.proved for f in session.families.values())

    alone, asked = begun(), begun()
    alone.run(until=proved)
    regions = list(asked.pruned)[::40][:4]
    job = asked.start()
    for region in regions:
        asked.submit("audit", id=region, nodes=20)
    asked.submit("what_if", rules_off=("shape.mismatch",))
    assert until(lambda: proved(asked), 60)
    asked.pause()
    assert job.wait(60)
    assert asked.questions.wait(120)

    both = min(len(alone.journal), len(asked.journal))
    assert alone.journal.events[:both] == asked.journal.events[:both]
    # Which facts a question sees depends on when it is answered; what a region holds does not.
    for question, region in zip(asked.questions.values(), regions, strict=False):
        again = asked.audit(region, nodes=20)
        assert "answered" == question.state
        assert (again.steps, again.nodes, again.pruned_inside, again.candidates) == (
            question.answer.steps, question.answer.nodes, question.answer.pruned_inside, question.answer.candidates
        )  # fmt: skip
    alone.close()
    asked.close()
