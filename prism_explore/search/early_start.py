"""Start what tuning needs while the search grows: the worker that times kernels, and the one with the baselines.

A search that runs to its end will need both, and each takes seconds to start. They do not touch the journal, so the
events are the same without them. While a kernel is timed, the worker with the baselines is stopped. With two cores it
starts after the first timing: before that, the search and the first worker need both.

Where no baseline is compiled, preparing them takes a tenth of a second, and one worker does both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass

from prism_explore.frontend import Traced
from prism_explore.ir.program import TensorProgram
from prism_explore.targets import Target
from prism_explore.tune.budget import Budget
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.backend import backend_of, why_untimed
from prism_explore.tune.runner.baseline_table import BASELINES
from prism_explore.tune.runner.baseline_worker import BaselineWorker, slow_imports
from prism_explore.tune.runner.baselines import baseline_worker
from prism_explore.tune.runner.worker import Worker, start_fork_servers

BUSY_CORES = 2
"""So many cores are busy until the first kernel is timed."""


@dataclass(slots=True)
class EarlyStart:
    """The workers of one search; the caller closes them."""

    bench: Worker
    """Times kernels."""
    baselines: BaselineWorker | None
    """None where there is no torch code. Its worker is the bench where no baseline is compiled."""
    waits: bool
    """Whether the baselines start after the first timing."""
    rests: bool = True
    """Whether no process was started, or all were ended because the search is paused."""

    def start(self) -> None:
        """Start the processes in the background, unless they were started."""
        if not self.rests:
            return
        self.rests = False
        self.bench.start()
        if self._other is not None and self.waits:
            fork_server.hold()
        elif self._other is not None:
            self._other.start()

    @property
    def _other(self) -> BaselineWorker | None:
        """The worker with the baselines, where it is another one."""
        return self.baselines if self.baselines is not None and self.baselines.worker is not self.bench else None

    def _release(self) -> None:
        if self._other is not None and self.waits:
            fork_server.release()

    def rest(self) -> None:
        """End the processes; `start` or the next request starts them again."""
        self.rests = True
        self._release()
        self.bench.close()
        if self.baselines is not None:
            self.baselines.rest()

    def before_the_race(self) -> BaselineWorker | None:
        """The worker with the baselines; if the bench is another process, it ends.

        Both fill memory with copies of the inputs, the second one in the race.
        """
        self.rests = False
        self._release()
        if self._other is not None:
            self.bench.close()
        return self.baselines

    def close(self) -> None:
        """End the processes."""
        self._release()
        self.bench.close()
        if self.baselines is not None:
            self.baselines.close()


def times_here(target: Target, budget: Budget) -> bool:
    """Whether a search with this budget times kernels on this machine's CPU."""
    return target.kind == "cpu" and not why_untimed(target) and min(budget.trials, budget.seconds) > 0


def start_fork_servers_early(target: Target, budget: Budget, baselines: Collection[str]) -> None:
    """Start what the workers of searches are forked from, before they are needed.

    Tracing a program imports torch, on one core; meanwhile the others import what the workers need.

    Args:
        target: the machine.
        budget: of tuning; nothing is started where nothing will be timed.
        baselines: names of baselines.
    """
    if times_here(target, budget):
        start_fork_servers(slow_imports([b for b in BASELINES if b.name in baselines]))


def start_early(
    program: TensorProgram,
    shapes: Mapping[str, int],
    target: Target,
    reference: Traced | None,
    *,
    baselines: Sequence[str],
    seed: int,
    stop: Callable[[], bool],
) -> EarlyStart:
    """Start both workers in the background.

    Args:
        program: the program.
        shapes: values of its symbols.
        target: this machine.
        reference: torch code of the program; None if there is only a program.
        baselines: names of baselines.
        seed: of the inputs.
        stop: called while the workers are waited for.

    Returns:
        The workers.
    """
    rivals = None
    if reference is not None:
        rivals = baseline_worker(reference, program, shapes, target, baselines=baselines, seed=seed, stop=stop)
        if not rivals.compiles:
            early = EarlyStart(rivals.worker, rivals, waits=False)
            early.start()
            return early

    @contextlib.contextmanager
    def without_rivals() -> Generator[None]:
        with contextlib.nullcontext() if rivals is None else rivals.stopped():
            yield
        if rivals is not None:
            rivals.start()

    bench = Worker(program, shapes, target, backend_of(target).loader, seed=seed, stop=stop, undisturbed=without_rivals)
    early = EarlyStart(bench, rivals, target.cores <= BUSY_CORES)
    early.start()
    return early
