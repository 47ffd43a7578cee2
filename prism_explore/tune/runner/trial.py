"""One trial: compile a kernel, compare it with the float64 reference, race it against the incumbent.

The time of a trial is a ratio to the incumbent's time in the same rounds, so it means the same on every machine of one
kind. So a trial is the unit of work of a remote worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prism_explore.cost.roofline import TimeBound
from prism_explore.pipeline.stages import Kernel
from prism_explore.tune.runner.bench import Bench, CheckPassed, Failure
from prism_explore.tune.runner.machine_lock import MachineLock
from prism_explore.tune.runner.measured_limit import share_of_limit
from prism_explore.tune.runner.race import Racer, RaceTimes

CANCELLED = Failure("tune.cancelled", "stopped while waiting")


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The kernel that a trial is raced against."""

    key: str
    kernel: Kernel
    time_s: float
    """From its own trial."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A kernel that agrees with the reference, with its times."""

    error: float
    times: RaceTimes


class TrialRunner:
    """Runs trials on a bench, which keeps their kernels until `keep_only` releases them."""

    def __init__(
        self,
        bench: Bench,
        most_s: float,
        lock: MachineLock,
        clock: Callable[[], float] = time.monotonic,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Nothing is compiled yet.

        Args:
            bench: checks and times kernels.
            most_s: seconds after which an undecided race ends.
            lock: held shared while compiling, and exclusively while timing.
            clock: returns seconds.
            stop: called while waiting.
        """
        self._bench, self._lock, self._stop = bench, lock, stop
        self._racer = Racer(bench, most_s, clock, stop)
        self._kept: dict[str, CheckPassed] = {}

    def load(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        """Compile and check a kernel, unless it is already kept."""
        if key in self._kept:
            return self._kept[key]
        with self._lock.shared(self._stop) as acquired:
            found = self._bench.check(key, kernel) if acquired else CANCELLED
        if isinstance(found, CheckPassed):
            self._kept[key] = found
        return found

    def run(self, key: str, kernel: Kernel, incumbent: Incumbent | None) -> TrialResult | Failure | None:
        """Check a kernel and race it against the incumbent, or time it alone; None if the incumbent fails here."""
        if incumbent is not None and isinstance(self.load(incumbent.key, incumbent.kernel), Failure):
            return CANCELLED if self._stop() else None
        checked = self.load(key, kernel)
        if isinstance(checked, Failure):
            return checked
        with self._lock.exclusive(self._stop) as acquired:
            times = self._race(key, incumbent) if acquired else CANCELLED
        return times if isinstance(times, Failure) else TrialResult(checked.error, times)

    def rank(self, kernels: Mapping[str, Kernel]) -> tuple[tuple[str, ...], int] | None:
        """The order of kernels of nearly equal speed, see `Racer.rank`; None if they cannot be timed."""
        loaded = [key for key, kernel in kernels.items() if isinstance(self.load(key, kernel), CheckPassed)]
        with self._lock.exclusive(self._stop) as acquired:
            found = self._racer.rank(loaded) if acquired and loaded else CANCELLED
        return None if isinstance(found, Failure) else found

    def measure_again(self, key: str, kernel: Kernel, incumbent: Incumbent) -> RaceTimes | None:
        """The times of the winner of `rank`, in new rounds with the incumbent; None if it cannot be timed."""
        if any(isinstance(self.load(*k), Failure) for k in ((incumbent.key, incumbent.kernel), (key, kernel))):
            return None
        with self._lock.exclusive(self._stop) as acquired:
            found = self._racer.measure_again(key, incumbent.key, incumbent.time_s) if acquired else CANCELLED
        return None if isinstance(found, Failure) else found

    def share_of_limit(self, key: str, bound: TimeBound, is_16_bit: bool) -> float:
        """The share of the machine's limit that a kept kernel reaches; see `measured_limit.share_of_limit`."""
        with self._lock.exclusive(self._stop) as acquired:
            return share_of_limit(self._bench, key, bound, is_16_bit) if acquired else 0.0

    def _race(self, key: str, incumbent: Incumbent | None) -> RaceTimes | Failure:
        if incumbent is None:
            return self._racer.time_alone(key)
        return self._racer.race(key, incumbent.key, incumbent.time_s)

    def keep_only(self, *keys: str) -> None:
        """Release all other kernels."""
        for key in [k for k in self._kept if k not in keys]:
            self._bench.drop(key)
            del self._kept[key]

    def close(self) -> None:
        """Close the bench."""
        self._kept.clear()
        self._bench.close()
