"""A fork repeats the first events of a search; without new steering it continues like its parent."""

import time
from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prism_explore as px
from prism_explore.diagnose.jobs import Cancelled
from prism_explore.events.kinds import (
    ExplorationFinished,
    ParametersProposed,
    SearchForked,
    Steered,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import gate, rms_linear_small
from tests.session.test_session import machine

PROGRAM = rms_linear_small()
FEW = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
SPACE = replace(default_space(PROGRAM), block=FEW, block_ops=len(PROGRAM.inputs) + 4)
BUDGET = px.Budget(trials=3, seconds=60, near=0.0)


def session(program=PROGRAM, space=SPACE, target="h100", **more):
    return px.Session(program, target=target, at={"b": 4}, space=space, **more)


def plain():
    sess = session()
    sess.run()
    return sess


def steered():
    sess = session()
    sess.step(grain="family")
    sess.reject("f1", note="not this one")
    sess.prefer("accum_rms")
    sess.run()
    sess.undo()
    sess.run()
    return sess


def with_a_predicate():
    sess = session()
    sess.step(3)
    sess.prefer(lambda family: "rms" in str(family.graph))
    sess.run()
    return sess


def cancelled():
    sess = session()
    sess.step(grain="family")
    sess.cancel()
    return sess


def of_a_smaller_space():
    sess = session(gate(), replace(default_space(gate()), block_ops=5, results=0))
    sess.run()
    return sess


RECORDINGS = (plain, steered, with_a_predicate, of_a_smaller_space)


@pytest.fixture(scope="module")
def searches():
    found = [make() for make in RECORDINGS]
    yield found
    for sess in found:
        sess.close()


def own_events(fork):
    """The events without those that say where the search was forked."""
    return tuple(e for e in fork.journal.events if not isinstance(e, SearchForked))


# ---------------------------------------------------------------- the same events
@settings(max_examples=25)
@given(st.data())
def test_a_fork_without_new_steering_continues_with_the_events_of_its_parent(searches, data):
    parent = searches[data.draw(st.integers(0, len(searches) - 1))]
    at = data.draw(st.integers(1, len(parent.journal)))
    decided = {n for n, e in enumerate(parent.journal.events) if isinstance(e, Steered) and "picked" not in e.note}
    decided |= {p.since for p in parent._steering._predicates}
    fork = parent.fork(at)
    moment = next(e for e in fork.journal.events if isinstance(e, SearchForked)).at

    assert parent.journal.events[:moment] == own_events(fork)[:moment]
    assert moment <= max(at, parent._step_log._ends[0])
    if max(decided, default=0) < moment:
        fork.run()
        assert parent.journal.events == own_events(fork)
    fork.close()


def test_the_fork_of_a_fork_has_the_events_of_both(searches):
    parent = searches[0]
    child = parent.fork(40)
    child.step(30)
    fork = child.fork(60, note="again")
    fork.run()
    forks = [e for e in fork.journal.events if isinstance(e, SearchForked)]

    assert [(e.parent, e.fork) for e in forks] == [
        (PROGRAM.name, fork.parent.name),
        (fork.parent.name, f"{fork.parent.name}.1"),
    ]
    assert fork.name == f"{fork.parent.name}.1"
    assert parent.journal.events == own_events(fork)
    assert fork.parent.parent is parent
    assert fork in fork.parent.forks


def test_a_fork_is_steered_without_its_parent(searches):
    parent = searches[0]
    before = parent.journal.events
    fork = parent.fork(at=next(n for n, e in enumerate(before) if isinstance(e, VerdictReached)) + 1)
    family = next(iter(fork.families))
    fork.reject(family)
    fork.run()

    assert before == parent.journal.events
    assert "by you" not in parent.claim
    assert "by you" in fork.claim


# ---------------------------------------------------------------- moments
def test_a_moment_within_a_step_is_the_end_of_the_step_before_it_and_is_said(searches):
    parent = searches[0]
    steps = parent._step_log
    start, end = next((a, b) for a, b in zip(steps._starts, steps._ends, strict=True) if a)
    assert end - start > 1
    fork = parent.fork(start + 1)
    (event,) = [e for e in fork.journal.events if isinstance(e, SearchForked)]

    assert (event.at, event.requested) == (start, start + 1)
    assert len(fork.journal) == start + 1
    assert f"event {start + 1:,} lies within a step" in repr(fork)


@pytest.mark.parametrize("at", [0, -1, 10**6, "5", True, 2.0])
def test_no_such_moment_says_which_there_are(searches, at):
    with pytest.raises(px.ShapeError, match=r"at= is a number of events from 1 to"):
        searches[0].fork(at)


def test_a_search_that_has_not_begun_has_nothing_to_repeat():
    with pytest.raises(px.ShapeError, match="has not begun"):
        session().fork()


def test_a_cancelled_search_continues_in_its_fork():
    parent, whole = cancelled(), plain()
    fork = parent.fork()

    assert fork.state == "paused"
    fork.run()
    assert own_events(fork) == whole.journal.events
    assert parent.state == "cancelled"


def test_the_fork_of_a_running_search_does_not_pause_it():
    parent = session()
    parent.journal.listeners.append(lambda _: time.sleep(0.004))
    job = parent.start()
    while len(parent.journal) < 20:
        time.sleep(0.005)
    fork = parent.fork()

    assert parent.state in ("running", "finished")
    fork.run()
    job.wait()
    assert own_events(fork) == parent.journal.events
    parent.close()
    fork.close()


def test_a_fork_that_is_withdrawn_leaves_nothing(searches):
    count = len(searches[0].forks)

    def stop():
        raise Cancelled

    with pytest.raises(Cancelled):
        searches[0].fork(50, tick=stop)
    assert len(searches[0].forks) == count


# ---------------------------------------------------------------- files
def test_a_saved_fork_is_loaded_with_where_it_came_from(searches, tmp_path):
    fork = searches[1].fork(30, note="without f1")
    fork.step(10)
    path = fork.save(tmp_path / "fork.prism")
    loaded = px.Session.load(path)

    assert loaded.journal.events == fork.journal.events
    assert (loaded.name, loaded.parent) == (fork.name, None)
    assert "without f1" in repr(px.load(path))
    assert loaded.step(10) == fork.step(10)


def test_a_loaded_search_can_be_forked(searches, tmp_path):
    loaded = px.Session.load(searches[1].save(tmp_path / "run.prism"))
    last = max(n for n, e in enumerate(loaded.journal.events) if isinstance(e, Steered))
    fork = loaded.fork(last + 1)
    fork.run()

    assert own_events(fork) == searches[1].journal.events


# ---------------------------------------------------------------- times
def test_times_up_to_the_moment_are_taken_over_and_later_trials_are_timed_again():
    parent = session(target=machine(), budget=BUDGET)
    parent.run()
    timed = [n for n, e in enumerate(parent.journal.events) if isinstance(e, TrialMeasured)]
    fork = parent.fork(timed[0] + 2)
    fork.run()
    again = own_events(fork)
    until = list(takewhile(lambda e: not isinstance(e, TrialMeasured), parent.journal.events[timed[0] + 1 :]))

    assert parent.journal.events[: timed[0] + 1 + len(until) - 1] == again[: timed[0] + 1 + len(until) - 1]
    assert isinstance(again[-1], ExplorationFinished)
    trials = [e.trial for e in again if isinstance(e, ParametersProposed)]
    assert (
        len(trials) == len(set(trials)) == len([e for e in parent.journal.events if isinstance(e, ParametersProposed)])
    )
    parent.close()
    fork.close()


# ---------------------------------------------------------------- adopting a what-if
def test_what_a_what_if_gained_is_in_the_search_that_adopts_it():
    parent = session(space=replace(default_space(PROGRAM), block_ops=6, results=0))
    parent.run()
    answer = parent.what_if(results=1, run=True)
    assert answer.ran is not None
    assert answer.ran.gained
    other = parent.adopt(answer)
    other.run()
    graphs = {str(f.graph) for f in other.families.values() if f.row.status == "proved"}

    assert {str(px.parse(text)) for text in answer.ran.gained} <= graphs
    assert other.parent is parent
    assert other.task.space.results == 1
    assert other.name == f"{parent.name}.1"
    preferred = {e.subject for e in other.journal.events if isinstance(e, Steered)}
    assert {str(other.families[f].graph) for f in preferred} == {str(px.parse(t)) for t in answer.ran.gained}


def test_an_adopted_search_can_be_saved_and_loaded(tmp_path):
    parent = session(space=replace(default_space(PROGRAM), block_ops=6, results=0))
    parent.run()
    parent.questions.submit("what_if", "", "sess.what_if(block_ops=7)", lambda tick: parent.what_if(block_ops=7))
    parent.questions.wait(30)
    other = parent.adopt("q1")
    other.pause()
    other.step(20)
    loaded = px.Session.load(other.save(tmp_path / "run.prism"))

    assert loaded.journal.events == other.journal.events
    assert loaded.step(10) == other.step(10)


def test_what_cannot_be_adopted_says_why():
    parent = session()
    parent.run()
    with pytest.raises(px.ShapeError, match="no question 'q7'; there are none yet"):
        parent.adopt("q7")
    with pytest.raises(px.ShapeError, match="adopt takes a what-if"):
        parent.adopt(3)
    with pytest.raises(px.ShapeError, match="changes nothing"):
        parent.adopt(parent.what_if())


def test_a_session_has_a_name_when_other_explorers_list_it(monkeypatch):
    names = []
    monkeypatch.setattr("prism_explore.session.session.register", lambda live: names.append(live.name) or "s0")

    sess = session()
    sess.step(60)
    sess.fork(at=40)

    assert len(names) == 2
    assert all(name.startswith(PROGRAM.name) for name in names)
