"""The arguments of a tuning run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import KW_ONLY, dataclass, field

from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Timed, Verified
from prism_explore.targets import Target
from prism_explore.tune.budget import Budget
from prism_explore.tune.database import Database
from prism_explore.tune.runner.backend import Backend
from prism_explore.tune.runner.bench import Bench
from prism_explore.tune.strategies.strategy import Strategy


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """What to tune, on which machine, within which limits."""

    verifieds: Sequence[Verified]
    """Proved candidates of one program."""
    shapes: Mapping[str, int]
    """Values of the program's own symbols."""
    target: Target
    journal: Journal
    """Receives every trial. What it already contains counts as tried."""
    _: KW_ONLY
    budget: Budget | None = None
    """When to end; `Budget()` if None."""
    seed: int = 0
    """Of inputs and random proposals. The order of trials depends on it and on their outcomes."""
    clock: Callable[[], float] = time.monotonic
    """Returns seconds, for the budget."""
    backend: Backend | None = None
    """The code generator; the target's own if None."""
    bench: Bench | None = None
    """Checks and times kernels; a worker process if None."""
    strategy: Strategy | None = None
    """What to try next; the budget's strategy if None."""
    incumbent: Timed | None = None
    """The kernel to beat, from an earlier run."""
    time_to_beat_s: float | None = None
    """Candidates whose lower bound is not below it are not tried."""
    deferred: Collection[str] = ()
    """Ids of candidates that are proposed after others with the same modelled time."""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Least and largest value of parameters, by name; sizes and schedules outside are not tried."""
    database: Database | None = None
    """Stores every trial. What it contains counts as tried, and against the budget; the fastest few trials are raced
    again, because times of different days do not compare."""
    versions: tuple[tuple[str, str], ...] = ()
    """Versions of what makes kernels; trials of other versions in the database are not used."""
    stop: Callable[[], bool] = _never
    """Called between trials and while waiting; if it returns True, the run ends."""
    executor: Executor | None = None
    """Runs trials in parallel if the budget allows several at once. It is not shut down."""
