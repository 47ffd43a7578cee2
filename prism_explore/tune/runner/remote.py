"""Trials run by an executor's workers, one beside the other.

A worker that is asked for a trial keeps a bench of its own, with the rival on it, from one trial to the next. It takes
its turn at timing on its machine (`turns.py`). What it cannot answer is answered at home: it is on another kind of
machine, or has other versions, or it died, or the executor broke or was shut down. A worker's bench is a process as at
home, and ends with it.
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
from prism_explore.tune.runner.backend import Backend, here, named
from prism_explore.tune.runner.machine_lock import turns_here
from prism_explore.tune.runner.measure import Failure
from prism_explore.tune.runner.trial import CANCELLED, Raced, Rival, Track

POLL_S = 0.05
"""How often somebody who waits for an answer looks whether he should stop."""

ANSWER_S = 600.0
"""After so long without an answer a trial is run at home: a cluster may have lost all its workers and say nothing."""

MOST_IDLE = 4
"""Benches that a worker's process keeps while nobody uses them: each has a process and copies of the inputs."""

_PACKAGES = ("prism-explore", "llvmlite", "numpy", "torch", "triton")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a worker must know of a run of tuning, as plain data."""

    program: str
    shapes: tuple[tuple[str, int], ...]
    target: Target
    loader: str
    bench: str
    seed: int
    race_s: float
    place: str
    """Where a kernel, and its time, mean the same as at home; empty where nowhere."""
    threads: tuple[tuple[str, str], ...]
    """As home's: Dask tells its workers' libraries to use one."""


def setting_of(
    program: TensorProgram, shapes: Mapping[str, int], target: Target, backend: Backend, seed: int, race_s: float
) -> Setting:
    """The setting of a run of tuning whose home is here."""
    return Setting(
        show(program),
        tuple(sorted(shapes.items())),
        target,
        backend.loader,
        backend.bench,
        seed,
        race_s,
        place_of(target),
        tuple(sorted(AT_IMPORT.items())),
    )


def place_of(target: Target) -> str:
    """The machine that this process is on, and the versions of what makes and runs kernels here."""
    machine = here(target)
    return machine and f"{machine}, {_versions()}"


@lru_cache(1)
def _versions() -> str:
    installed = {d.name: d.version for name in _PACKAGES for d in distributions(name=name)}
    return ", ".join(f"{name} {installed.get(name, 'missing')}" for name in _PACKAGES)


# ---------------------------------------------------------------- at home
class Away:
    """The trials that one run of tuning has asked of an executor."""

    def __init__(self, executor: Executor, setting: Setting) -> None:
        """Nothing is asked yet."""
        self._executor, self._setting = executor, setting
        self._asked: dict[str, Future[Raced | Failure | None]] = {}

    def ask(self, kernel: Kernel, rival: Rival) -> None:
        """Have a trial run; no two have the same source."""
        with suppress(Exception):  # what an executor raises when it was shut down is its own affair
            self._asked[kernel.source] = self._executor.submit(raced, kernel, rival, self._setting)

    def answer(self, kernel: Kernel, stop: Callable[[], bool]) -> Raced | Failure | None:
        """What came of a trial, waited for; None where home must run it."""
        future = self._asked.pop(kernel.source, None)
        if future is None:
            return None
        until = time.monotonic() + ANSWER_S
        while not future.done():
            if stop() or time.monotonic() > until:
                future.cancel()
                return CANCELLED if stop() else None
            wait([future], POLL_S)
        try:
            return future.result()
        except Exception:  # of a broken pool, a lost connection, or what the worker itself raised
            return None

    def forget(self) -> None:
        """Take back what was asked and not answered; a worker ends the trial that it is at."""
        for future in self._asked.values():
            future.cancel()
        self._asked.clear()


# ---------------------------------------------------------------- in a worker
def raced(kernel: Kernel, rival: Rival, setting: Setting) -> Raced | Failure | None:
    """What comes of a kernel beside its rival here; None where that cannot be said, or would mean something else."""
    if not setting.place or place_of(setting.target) != setting.place:
        return None
    at = replace(rival, key=_key(rival.kernel))  # searches count their trials from 1, and several may ask one worker
    with _track(setting) as track:
        track.only(at.key)
        return track.trial(_key(kernel), kernel, at)


def _key(kernel: Kernel) -> str:
    return sha256(kernel.source.encode()).hexdigest()


class _Idle:
    """The benches of this process that nobody uses, the last used last; whoever needs one takes it out."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._tracks: list[tuple[Setting, Track]] = []

    def take(self, setting: Setting) -> Track | None:
        """One of this setting, if there is any."""
        with self._lock:
            places = [i for i, (of, _) in enumerate(self._tracks) if of == setting]
            return self._tracks.pop(places[-1])[1] if places else None

    def give(self, setting: Setting, track: Track) -> None:
        """Keep one; that which was not used for longest is closed, where they are too many."""
        with self._lock:
            self._tracks.append((setting, track))
            spare = self._tracks.pop(0)[1] if len(self._tracks) > MOST_IDLE else None
        if spare is not None:
            spare.close()


_IDLE = _Idle()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.reset)  # benches are their parent's, and so is who holds the lock


@contextmanager
def _track(setting: Setting) -> Generator[Track]:
    """A bench for one trial; threads never share one."""
    track = _IDLE.take(setting) or _made(setting)
    try:
        yield track
    except BaseException:
        track.close()
        raise
    _IDLE.give(setting, track)


def _made(setting: Setting) -> Track:
    bench = named(setting.bench)(
        parse_program(setting.program),
        dict(setting.shapes),
        setting.target,
        setting.loader,
        seed=setting.seed,
        threads=dict(setting.threads),
    )
    return Track(bench, setting.race_s, turns_here())
