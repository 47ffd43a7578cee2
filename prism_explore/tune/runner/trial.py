"""One whole trial: compile a kernel, compare it with float64, race it against its rival where that runs too.

Its time is a ratio to the rival's in the same rounds, so it means the same on whichever machine of one kind it was
taken. That makes a trial the unit that a worker elsewhere can be asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prism_explore.pipeline.stages import Kernel
from prism_explore.tune.runner.machine_lock import Turns
from prism_explore.tune.runner.measure import Bench, Checked, Failure
from prism_explore.tune.runner.race import Race, Referee

CANCELLED = Failure("tune.cancelled", "stopped while waiting")


@dataclass(frozen=True, slots=True)
class Rival:
    """What a trial is raced against: the incumbent of its flight."""

    key: str
    kernel: Kernel
    time_s: float
    """What it took when it was timed itself."""


@dataclass(frozen=True, slots=True)
class Raced:
    """A kernel that agreed with float64, and its race."""

    error: float
    race: Race


class Track:
    """A bench on which trials are run; it keeps their kernels until it is told which it needs no more."""

    def __init__(
        self,
        bench: Bench,
        most_s: float,
        turns: Turns,
        clock: Callable[[], float] = time.monotonic,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Nothing is compiled yet.

        Args:
            bench: where kernels are compared and timed.
            most_s: seconds after which an open race ends.
            turns: compiling goes beside others, timing alone.
            clock: seconds.
            stop: asked while waiting.
        """
        self._bench, self._turns, self._stop = bench, turns, stop
        self._referee = Referee(bench, most_s, clock, stop)
        self._kept: dict[str, Checked] = {}

    def hold(self, key: str, kernel: Kernel) -> Checked | Failure:
        """Compile and compare a kernel, once for as long as it is kept."""
        if key in self._kept:
            return self._kept[key]
        with self._turns.together(self._stop) as came:
            found = self._bench.check(key, kernel) if came else CANCELLED
        if isinstance(found, Checked):
            self._kept[key] = found
        return found

    def trial(self, key: str, kernel: Kernel, rival: Rival | None) -> Raced | Failure | None:
        """What comes of a kernel, raced against its rival or alone; None where the rival does not come through here."""
        if rival is not None and isinstance(self.hold(rival.key, rival.kernel), Failure):
            return CANCELLED if self._stop() else None
        checked = self.hold(key, kernel)
        if isinstance(checked, Failure):
            return checked
        with self._turns.alone(self._stop) as came:
            race = self._race(key, rival) if came else CANCELLED
        return race if isinstance(race, Failure) else Raced(checked.error, race)

    def fastest(self, kernels: Mapping[str, Kernel]) -> tuple[tuple[str, ...], int] | None:
        """The order of kernels that are about as fast; see `Referee.fastest`. None where it cannot be told."""
        held = [key for key, kernel in kernels.items() if isinstance(self.hold(key, kernel), Checked)]
        with self._turns.alone(self._stop) as came:
            found = self._referee.fastest(held) if came and held else CANCELLED
        return None if isinstance(found, Failure) else found

    def again(self, key: str, kernel: Kernel, rival: Rival) -> Race | None:
        """The time of a kernel that won `fastest`, beside a rival that ran there, too; None where it cannot be told."""
        if any(isinstance(self.hold(*one), Failure) for one in ((rival.key, rival.kernel), (key, kernel))):
            return None
        with self._turns.alone(self._stop) as came:
            found = self._referee.again(key, rival.key, rival.time_s) if came else CANCELLED
        return None if isinstance(found, Failure) else found

    def _race(self, key: str, rival: Rival | None) -> Race | Failure:
        if rival is None:
            return self._referee.alone(key)
        return self._referee.beside(key, rival.key, rival.time_s)

    def only(self, *keys: str) -> None:
        """Forget all other kernels."""
        for key in [k for k in self._kept if k not in keys]:
            self._bench.drop(key)
            del self._kept[key]

    def close(self) -> None:
        """Give the bench back."""
        self._kept.clear()
        self._bench.close()
