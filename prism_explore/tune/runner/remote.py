"""Remote trials: trials that an executor's workers run in parallel.

A worker keeps a bench with the incumbent from one trial to the next. It holds the machine lock while it times kernels
(`machine_lock.py`). A trial that a worker cannot run is run in the client: the worker is on another kind of machine or
has other versions, it died, or the executor failed or was shut down. A worker's bench is a process like the client's,
and ends with the worker.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import distributions

from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse_program, show
from prism_explore.pipeline.stages import Kernel
from prism_explore.support.thread_env import AT_IMPORT
from prism_explore.targets import Target
from prism_explore.tune.runner.backend import Backend, import_named, local_machine
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.machine_lock import open_machine_lock
from prism_explore.tune.runner.trial import CANCELLED, Incumbent, TrialResult, TrialRunner

POLL_S = 0.05
"""Interval at which a waiting client checks whether it should stop."""

ANSWER_S = 600.0
"""After this time without an answer the client runs the trial: a cluster may lose all workers without an error."""

MOST_IDLE = 4
"""Idle benches that a worker process keeps: each has a process and copies of the inputs."""

_PACKAGES = ("prism-explore", "llvmlite", "numpy", "torch", "triton")


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """What a worker needs to know about a tuning run, as plain data."""

    program: str
    shapes: tuple[tuple[str, int], ...]
    target: Target
    loader: str
    bench: str
    seed: int
    race_s: float
    environment: str
    """The client's machine and versions: a worker runs trials only if its own are equal; empty if none may."""
    threads: tuple[tuple[str, str], ...]
    """The client's thread variables: Dask sets its workers' libraries to one thread."""


def settings_of(
    program: TensorProgram, shapes: Mapping[str, int], target: Target, backend: Backend, seed: int, race_s: float
) -> TrialSettings:
    """The settings of a tuning run of this process."""
    return TrialSettings(
        show(program),
        tuple(sorted(shapes.items())),
        target,
        backend.loader,
        backend.bench,
        seed,
        race_s,
        environment_of(target),
        tuple(sorted(AT_IMPORT.items())),
    )


def environment_of(target: Target) -> str:
    """This process's machine, and the versions of the packages that make and run kernels."""
    machine = local_machine(target)
    return machine and f"{machine}, {_versions()}"


@lru_cache(1)
def _versions() -> str:
    installed = {d.name: d.version for name in _PACKAGES for d in distributions(name=name)}
    return ", ".join(f"{name} {installed.get(name, 'missing')}" for name in _PACKAGES)


# ---------------------------------------------------------------- in the client
class RemoteTrials:
    """The trials that a tuning run has submitted to an executor."""

    def __init__(self, executor: Executor, settings: TrialSettings) -> None:
        """Nothing is submitted yet."""
        self._executor, self._settings = executor, settings
        self._submitted: dict[str, Future[TrialResult | Failure | None]] = {}

    def submit(self, kernel: Kernel, incumbent: Incumbent) -> None:
        """Submit a trial; kernels are identified by their source."""
        with suppress(Exception):  # an executor that was shut down raises an exception of its own
            self._submitted[kernel.source] = self._executor.submit(run_trial, kernel, incumbent, self._settings)

    def result(self, kernel: Kernel, stop: Callable[[], bool]) -> TrialResult | Failure | None:
        """Wait for the result of a trial; None if the client must run it."""
        future = self._submitted.pop(kernel.source, None)
        if future is None:
            return None
        deadline_s = time.monotonic() + ANSWER_S
        while not future.done():
            if stop() or time.monotonic() > deadline_s:
                future.cancel()
                return CANCELLED if stop() else None
            wait([future], POLL_S)
        try:
            return future.result()
        except Exception:  # a broken pool, a lost connection, or an exception of the worker
            return None

    def cancel(self) -> None:
        """Cancel the trials without a result; a worker finishes the trial that it is running."""
        for future in self._submitted.values():
            future.cancel()
        self._submitted.clear()


# ---------------------------------------------------------------- in a worker
def run_trial(kernel: Kernel, incumbent: Incumbent, settings: TrialSettings) -> TrialResult | Failure | None:
    """Run a trial in this process; None if it cannot run here, or if its result would mean something else."""
    if not settings.environment or environment_of(settings.target) != settings.environment:
        return None
    own = replace(incumbent, key=_key(incumbent.kernel))  # searches number trials from 1; several may share a worker
    with _trial_runner(settings) as runner:
        runner.keep_only(own.key)
        return runner.run(_key(kernel), kernel, own)


def _key(kernel: Kernel) -> str:
    return sha256(kernel.source.encode()).hexdigest()


class _IdleRunners:
    """The idle trial runners of this process, the most recently used last."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._runners: list[tuple[TrialSettings, TrialRunner]] = []

    def take(self, settings: TrialSettings) -> TrialRunner | None:
        """Remove and return a runner with these settings, if there is one."""
        with self._lock:
            places = [i for i, (own, _) in enumerate(self._runners) if own == settings]
            return self._runners.pop(places[-1])[1] if places else None

    def put(self, settings: TrialSettings, runner: TrialRunner) -> None:
        """Add a runner; if there are too many, close the least recently used one."""
        with self._lock:
            self._runners.append((settings, runner))
            surplus = self._runners.pop(0)[1] if len(self._runners) > MOST_IDLE else None
        if surplus is not None:
            surplus.close()


_IDLE = _IdleRunners()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.reset)  # the benches belong to the parent, and its lock may be held


@contextmanager
def _trial_runner(settings: TrialSettings) -> Generator[TrialRunner]:
    """A runner for one trial, never shared by two threads."""
    runner = _IDLE.take(settings) or _make_runner(settings)
    try:
        yield runner
    except BaseException:
        runner.close()
        raise
    _IDLE.put(settings, runner)


def _make_runner(settings: TrialSettings) -> TrialRunner:
    bench = import_named(settings.bench)(
        parse_program(settings.program),
        dict(settings.shapes),
        settings.target,
        settings.loader,
        seed=settings.seed,
        threads=dict(settings.threads),
    )
    return TrialRunner(bench, settings.race_s, open_machine_lock())
