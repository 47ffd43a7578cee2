"""A search is left in the middle: cancelled while timing, or dropped."""

import gc
import time
import weakref

import pytest

import prism_explore as px
from prism_explore.events.kinds import ParametersProposed

pytestmark = pytest.mark.serial


def double(x):
    return x * 2


def tuning_session():
    """A session that has begun to time kernels."""
    sess = px.Session(double, x=px.T("b", 64), baselines=(), budget=px.Budget(trials=50, seconds=30.0))
    return sess, lambda s: any(isinstance(e, ParametersProposed) for e in s.journal.events)


def test_a_cancel_reaches_a_trial_that_is_under_way():
    sess, is_tuning = tuning_session()
    job = sess.start()
    end = time.monotonic() + 20
    while not is_tuning(sess) and time.monotonic() < end:
        time.sleep(0.005)
    began = time.monotonic()
    sess.cancel()
    assert job.wait(5)
    assert time.monotonic() - began < 2
    assert "cancelled" == sess.state
    assert "cancelled" == sess.journal.events[-1].stop
    assert "The search was cancelled" in sess.claim


def test_a_paused_session_that_nobody_holds_goes_away():
    sess, is_tuning = tuning_session()
    sess.run(until=is_tuning)
    held = weakref.ref(sess)
    del sess, is_tuning
    end = time.monotonic() + 10
    while held() is not None and time.monotonic() < end:
        time.sleep(0.1)
        gc.collect()
    assert held() is None


def test_a_dtype_that_no_kernel_is_written_for_is_refused_before_the_search():
    with pytest.raises(px.ShapeError, match=r"x is float64.*x\.float\(\)"):
        px.Session(double, x=px.T("b", 64, dtype="f64"), baselines=())
