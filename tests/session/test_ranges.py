"""A symbol with a range stays a symbol; what depends on its value is a condition, and a call outside is refused."""

import numpy as np
import pytest

import prism_explore as px
from prism_explore.events.kinds import ExplorationStarted, VerdictReached
from prism_explore.ir.dims import dim
from prism_explore.ir.symbol_ranges import Ranges, parse_ranges, sizes_of
from tests.generate.programs import gate, rms_linear_small
from tests.session.test_resume import SPACE
from tests.session.test_session import QUICK, machine

RANGE = Ranges((("b", 1, 8),))


def test_a_condition_is_counted_over_the_values_of_the_range():
    held = RANGE.evaluate([dim("b") / 4, dim("4096/f")], {"f": 16})

    assert ((4,), (8,)) == held.values
    assert "at 2 of 8 values of b: 4, 8, where b/4 is whole" == str(held)


def test_conditions_that_do_not_depend_on_the_value_hold_at_all_of_them():
    assert "at every b of the range" == str(RANGE.evaluate([dim("4096/f")], {"f": 16}))


def test_two_symbols_are_counted_together():
    held = Ranges((("b", 1, 2), ("t", 2, 4))).evaluate([dim("b*t") / 4], {})

    assert ((1, 4), (2, 2), (2, 4)) == held.values


def test_too_many_values_are_not_counted():
    assert RANGE.evaluate([], {}) is not None
    assert Ranges((("b", 1, 100), ("t", 1, 100))).evaluate([], {}) is None


def test_sizes_are_read_off_shapes():
    types = [px.T("b", 4), px.T(4, "n")]

    assert {"b": 3, "n": 8} == sizes_of(types, [(3, 4), (4, 8)])
    assert {"n": 8} == sizes_of(types, [(3,), (4, 8)])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"c": (1, 4)}, "gate has no symbol 'c' to give a range; it has b"),
        ({"b": (0, 4)}, "a range is from 1 or more to no less, found 'b' from 0 to 4"),
        ({"b": (5, 4)}, "found 'b' from 5 to 4"),
    ],
)
def test_a_range_that_is_none_is_refused(given, says):
    with pytest.raises(px.ShapeError, match=says):
        parse_ranges(given, ("b",), "gate")


def test_kernels_are_tuned_within_the_range():
    assert {"b": 4} == px.Session(gate(), target="h100", ranges={"b": (1, 4)}).task.shapes
    with pytest.raises(px.ShapeError, match=r"b is 100, and was declared from 1 to 64; .*ranges=\{'b': \(1, 100\)\}"):
        px.Session(gate(), target="h100", at={"b": 100}, ranges={"b": (1, 64)})


def test_a_range_changes_no_family_and_no_verdict_and_every_proof_is_for_all_values():
    def facts(**more):
        sess = px.Session(gate(), target="h100", at={"b": 4}, **more)
        sess.run()
        sess.close()
        return sess

    ranged, plain = facts(ranges={"b": (1, 64)}), facts()
    proved = [e for e in ranged.journal.events if isinstance(e, VerdictReached) and e.verdict == "proved"]

    assert plain.journal.events[1:-1] == ranged.journal.events[1:-1]
    assert (("b", 1, 64),) == next(e.ranges for e in ranged.journal.events if isinstance(e, ExplorationStarted))
    assert all("for all positive integers b" in e.detail for e in proved)
    assert any(c.startswith("b/") for e in proved for c in e.conditions)
    assert "What is proved holds at every b from 1 to 64 at which its conditions hold." in ranged.claim
    assert "holds at every" not in plain.claim


def test_a_call_outside_the_range_is_refused_and_within_it_says_what_was_tuned_for(tmp_path):
    program = rms_linear_small()
    sess = px.Session(program, target=machine(), at={"b": 4}, space=SPACE, budget=QUICK, ranges={"b": (2, 8)})
    best = sess.best()
    sess.close()
    x, w = (np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((9, 4), (4, 8)))

    assert {(v,) for v in range(2, 9)} >= set(best.legal_values.values)
    assert (4,) in best.legal_values.values
    assert str(best.legal_values) in repr(best)
    assert (4, 8) == best(x[:4], w).shape
    with pytest.raises(px.ShapeError, match="rms_linear_small: b is 9, and was declared from 2 to 8; search again"):
        best(x, w)
    with pytest.raises(px.ShapeError, match=r"\(6, 4\)"):
        best(x[:6], w)
    assert sess.task.ranges == px.Session.load(sess.save(tmp_path / "run.prism")).task.ranges
