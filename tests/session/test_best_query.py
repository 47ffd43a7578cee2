"""`sess.best` without a call prints the answer so far and what to call next."""

import pytest

import prism_explore as px
from prism_explore.events.ledger import ledger
from prism_explore.session.best_query import BestQuery
from tests.generate.programs import rms_linear_small
from tests.widgets.recordings import story


@pytest.fixture
def asked():
    return []


@pytest.mark.parametrize(
    ("state", "events", "said"),
    [
        ("ready", (), "The search has not begun. sess.best() runs it to its end"),
        ("paused", story()[:20], "The search is paused: sess.best() runs it to its end first."),
        (
            "running",
            story()[:-1],
            "The search is running: sess.best('now') returns the kernel of f1.c1, sess.best() runs",
        ),
        ("finished", story(), "sess.best() returns the kernel of f1.c1, which is called like the program."),
        ("cancelled", story()[:20], "No kernel was timed, so sess.best() returns None."),
        ("failed", story()[:20], "The search failed; sess.failure says why."),
    ],
)
def test_printed_it_says_what_is_known_and_what_to_call_and_asks_nothing(state, events, said, asked):
    best = BestQuery(asked.append, state, lambda: ledger(events))

    assert said in repr(best)
    assert said.replace("'", "&#x27;") in best._repr_html_()
    assert asked == []


def test_a_call_asks_for_the_kernel(asked):
    BestQuery(asked.append, "ready", lambda: ledger(()))("now")

    assert asked == ["now"]


def test_the_best_of_a_session_is_printed_with_its_claim():
    sess = px.Session(rms_linear_small(), target="h100", at={"b": 4})
    assert "has not begun" in repr(sess.best)
    assert sess.state == "ready"
    sess.run()

    assert repr(sess.best).startswith(sess.claim)
    assert sess.best() is None
    assert "sess.best() returns None. sess.on_gpu() returns a Triton kernel of a proved family" in repr(sess.best)
