"""Benches without a clock, which an executor's workers make by name: a kernel's time is a function of its source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from multiprocessing import parent_process
from typing import Any

from prism_explore.pipeline.stages import Kernel
from prism_explore.tune.runner.bench import Ceilings, CheckPassed, Failure, Samples
from tests.tune.toys import BACKEND

SALT = 15
"""With this seed the first kernel is right, and several trials of one batch beat the incumbent."""

WRONG_S = 1.4
"""Slower kernels are wrong, too."""


def seconds(kernel: Kernel) -> float:
    """Between 0.5 and 1.5."""
    return 0.5 + int(sha256(f"{SALT} {kernel.source}".encode()).hexdigest()[:8], 16) / (1 << 32)


class PureBench:
    """No two kernels take equally long, so that every race is decided, and in as many rounds everywhere."""

    living = 0
    """In this process."""

    def __init__(self, *_: object, threads: Mapping[str, str] | None = None, **__: object) -> None:
        self.threads = threads
        self.kernels: dict[str, Kernel] = {}
        self.raced: list[tuple[str, ...]] = []
        PureBench.living += 1

    def seconds(self, key: str) -> float:
        return seconds(self.kernels[key])

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        if seconds(kernel) > WRONG_S:
            return Failure("tune.wrong", "on request")
        self.kernels[key] = kernel
        return CheckPassed(1e-6 * seconds(kernel))

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        if tuple(keys) not in self.raced:
            self.raced.append(tuple(keys))
        return Samples({key: (self.seconds(key),) * rounds for key in keys}, (0.0,) * rounds)

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        return Failure("tune.crash", "no loops here")

    def drop(self, key: str) -> None:
        del self.kernels[key]

    def close(self) -> None:
        PureBench.living -= 1


class DeadlyBench(PureBench):
    """Takes an executor's worker with it at its third kernel."""

    checked = 0

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        self.checked += 1
        if parent_process() is not None and self.checked == 3:
            os._exit(1)
        return super().check(key, kernel)


class LostBench(PureBench):
    """No incumbent comes through in an executor's worker; a trial does."""

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        if len(key) == 64 and not self.kernels:
            return Failure("tune.crash", "no incumbent here")
        return super().check(key, kernel)


def backend(bench: type[PureBench] = PureBench) -> Any:
    """The toys' code generator with a bench of this module."""
    return replace(BACKEND, bench=f"{__name__}:{bench.__name__}")
