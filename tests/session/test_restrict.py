"""A range of a tuning parameter as a steering step: recorded, effective, undone, saved."""

from __future__ import annotations

from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.events.kinds import ParametersProposed, Steered, TrialMeasured
from prism_explore.events.ledger import Steering
from tests.generate.programs import rms_linear_small
from tests.session.test_resume import SPACE
from tests.session.test_session import machine
from tests.tune.test_tune import LONG, ToyBench, run
from tests.tune.toys import fused

QUICK = px.Budget(trials=3, seconds=4)


@pytest.fixture
def sess():
    made = px.Session(rms_linear_small(), target=machine(), at={"b": 4}, space=SPACE, budget=QUICK, baselines=())
    yield made
    made.close()


def proposed(sess: px.Session, since: int = 0) -> list[dict[str, int]]:
    return [dict(e.parameters) for e in sess.journal.events[since:] if isinstance(e, ParametersProposed)]


def test_the_last_restriction_of_a_parameter_counts_and_undo_returns_to_the_one_before():
    steps = [Steered("restrict", "gx", "", values=(1, 8)), Steered("restrict", "gx", "", values=(2, 4))]
    steering = Steering(tuple(steps))

    assert {"gx": (2, 4)} == steering.ranges
    assert {"gx": (1, 8)} == steering.after(Steered("undo", "gx", "")).ranges
    assert {} == dict(steering.choices)


def test_only_values_of_the_range_are_tried_sizes_and_schedules():
    outcomes, events = run(fused(), bench=ToyBench(), budget=LONG, ranges={"gx": (2, 4), "unroll": (2, 4)})
    tried = [dict(e.parameters) for e in events if isinstance(e, ParametersProposed)]
    free, everything = run(fused(), bench=ToyBench(), budget=LONG)

    assert outcomes
    assert {2, 3, 4} == {p["gx"] for p in tried}
    assert {p["unroll"] for p in tried} <= {2, 4}
    assert len(free) > len(outcomes)
    assert {1, 8} & {dict(e.parameters)["gx"] for e in everything if isinstance(e, ParametersProposed)}


def test_a_finished_search_is_tuned_again_within_the_range_and_says_so(sess: px.Session, tmp_path: Path):
    sess.run()
    name, low = "gx", 4
    assert all(p[name] < low for p in proposed(sess))
    before = len(sess.journal)
    sess.restrict(name, low, 1 << 20, note="large only")
    sess.run()
    after = proposed(sess, before)

    step = next(e for e in sess.journal.events[before:] if isinstance(e, Steered))
    assert f"sess.restrict({name!r}, {low}, {1 << 20}, note='large only')" == step.python
    assert after
    assert all(p[name] >= low for p in after if name in p)
    assert f"You restricted tuning: {name} from {low:,} to 1,048,576." in sess.claim
    again = px.Session.load(sess.save(tmp_path / "run.prism"))
    assert again.steering.ranges == sess.steering.ranges
    again.close()
    sess.undo()
    assert {} == dict(sess.steering.ranges)
    assert "You restricted" not in sess.claim


def test_what_is_no_range_or_no_parameter_is_refused(sess: px.Session):
    sess.run()
    with pytest.raises(px.ShapeError, match="no parameter 'zz' to restrict; there are "):
        sess.restrict("zz", 1, 2)
    with pytest.raises(px.ShapeError, match="found 4 to 2"):
        sess.restrict("gx", 4, 2)
    assert any(isinstance(e, TrialMeasured) for e in sess.journal.events)
    assert not sess.steering.standing
