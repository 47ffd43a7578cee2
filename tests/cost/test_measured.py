"""No kernel on this machine is faster than its floor; slow, because kernels are compiled and timed."""

import pytest

from prism_explore.cost.roofline import time_bound_of
from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Timed, Verified
from prism_explore.session.session import Session
from prism_explore.targets import target
from prism_explore.tune import Budget, TuneRequest, tune
from tests.strategies import rmsnorm_linear
from tests.tune.toys import rmsnorm_linear as toy_rmsnorm_linear

TOLERANCE = 1.25
"""The machine's figures are the best of some minute; on a shared machine another minute may be so much better."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "batch"),
    [(rmsnorm_linear(512, 768), 16), (toy_rmsnorm_linear(1024, 512), 4)],
    ids=["wide", "deep"],
)
def test_no_measured_time_is_below_its_floor(program, batch):
    machine = target("cpu")
    searched = Session(program, target="h100", at={"b": batch})
    searched.run()
    proved: list[Verified] = searched._progress.proved
    searched.close()
    outcomes = tune(
        TuneRequest(proved, {"b": batch}, machine, Journal(), budget=Budget(trials=8, seconds=6, patience=8, near=-1.0))
    )
    timed = [o for o in outcomes if isinstance(o, Timed)]

    assert timed
    for outcome in timed:
        floor = time_bound_of(outcome.kernel.verified.candidate, {"b": batch}, machine)
        assert 0 < floor.time_s <= outcome.time_s * TOLERANCE
