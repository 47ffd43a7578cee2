"""A search for a GPU, tuned without one: kernels run in Triton's interpreter, and the timer is a fake.

Run as `python -m tests.tune.on_interpreter` with TRITON_INTERPRET=1; it prints what was found as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from prism_explore.codegen import emit
from prism_explore.codegen.triton.emit import load_triton
from prism_explore.codegen.triton.launch import load
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import TrialFailed, TrialMeasured
from prism_explore.pipeline.stages import Kernel, Timed
from prism_explore.targets import target
from prism_explore.tune import Budget, TuneRequest, tune
from prism_explore.tune.runner.backend import Backend
from prism_explore.tune.runner.gpu_bench import DeviceBench, choices
from tests.tune.toys import fused, rmsnorm_linear


def load_as_it_stands(kernel: Kernel) -> Any:
    """A loader that runs the given source without comparing it."""
    return load_triton(kernel.source)


def main() -> None:
    rng = Random(0)

    def time_call(call: Callable[[], Any]) -> float:
        call()
        return rng.uniform(4e-5, 6e-5)

    shapes, gpu, journal = {"b": 3}, target("h100"), Journal()
    bench = DeviceBench(rmsnorm_linear(), shapes, gpu, partial(load, device="cpu"), device="cpu", time_call=time_call)
    outcomes = list(
        tune(
            TuneRequest(
                [fused()],
                shapes,
                gpu,
                journal,
                budget=Budget(trials=3, seconds=1e9),
                backend=Backend(emit, choices, ""),
                bench=bench,
            )
        )
    )
    timed = [o for o in outcomes if isinstance(o, Timed)]
    print(
        json.dumps(
            {
                "backends": [t.kernel.backend for t in timed],
                "errors": [t.error for t in timed],
                "times_s": [t.time_s for t in timed],
                "schedules": [dict(t.kernel.parameters.schedule) for t in timed],
                "trials": sum(isinstance(e, TrialMeasured | TrialFailed) for e in journal.events),
                "failed": [e.reason.sentence for e in journal.events if isinstance(e, TrialFailed)],
            }
        )
    )


if __name__ == "__main__":
    main()
