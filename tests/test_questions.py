"""Questions beside a search: answered in turn on their own thread, cancelled at a step, kept off the stop-watch."""

from __future__ import annotations

import threading
import time

import pytest

from prism_explore.errors import ShapeError
from prism_explore.questions import Questions


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
        questions.ask("audit", f"p{number}", f"sess.audit('p{number}')", work(number))
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

    questions.ask("what_if", "", "sess.what_if()", endless)
    questions.ask("audit", "p1", "sess.audit('p1')", lambda _: began.append("second"))
    questions.ask("audit", "p2", "sess.audit('p2')", lambda _: "third")
    assert until(lambda: questions["q1"].state == "thinking")
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

    questions.ask("audit", "p9", "", fails(ShapeError("no region p9")))
    questions.ask("audit", "p9", "", fails(ZeroDivisionError("oh")))
    questions.ask("audit", "p9", "", lambda _: 7)
    assert questions.wait(5)

    assert ["failed", "failed", "answered"] == [q.state for q in questions.values()]
    assert ["no region p9", "ZeroDivisionError: oh", ""] == [q.failure for q in questions.values()]


def test_a_question_waits_while_kernels_are_timed():
    timing = threading.Event()
    timing.set()
    questions = asked(busy=timing.is_set)
    questions.ask("audit", "p1", "", lambda _: "done")

    assert not questions.wait(0.2)
    timing.clear()
    assert questions.wait(5)
    assert "done" == questions["q1"].answer


def test_every_change_is_told():
    told: list[str] = []
    questions = Questions(lambda: told.append(questions["q1"].state))
    questions.ask("audit", "p1", "", lambda _: 1)
    assert questions.wait(5)
    assert until(lambda: len(told) == 3)

    assert ["waiting", "answered"] == [told[0], told[-1]] or ["thinking", "answered"] == [told[0], told[-1]]


def test_an_unknown_question_is_named():
    with pytest.raises(KeyError, match="no question 'q1'; there are none yet"):
        asked()["q1"]
