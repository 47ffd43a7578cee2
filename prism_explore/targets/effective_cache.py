"""How much of the last-level cache one program gets, measured by reading the same memory again and again.

A virtual machine reports the cache of its whole host, of which it has a share: 480 MB were reported where data of 32 MB
was read again as slowly as from memory. So memory of growing size is read in turn, chunk by chunk. Some chunks are
flushed from all caches after they were read. The first size at which the others are read no faster than those is the
effective cache.

One thread measures, since a chunk takes 10 us: too short to be disturbed often, even on a busy machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from prism_explore.targets.ceilings import ROW_FLOATS, flush_loop, read_loops

CHUNK_FLOATS = 8 * ROW_FLOATS
"""What is timed at once."""
FLUSHED = 8
"""Every so many chunks one is flushed."""
LEAST_FLUSHED = 16
"""Times of flushed chunks that are needed at each size."""
REUSED = 1.1
"""Memory is read again faster than flushed memory if that takes this many times as long."""
SURELY_REUSED = 1.5
"""The same in the private cache of a core; otherwise flushing has no effect here, and nothing can be measured."""


class Loop(Protocol):
    """Does something with all memory of an array, such as a `CeilingLoop`."""

    def read(self, buffer: np.ndarray, /) -> None:
        """Do it."""
        ...


def measure_effective_cache(
    caches: tuple[int, ...],
    clock: Callable[[], float],
    last_caches: int,
    cores: int,
    reader: Loop | None = None,
    flush: Loop | None = None,
) -> int:
    """The size from which on memory that is read in turn comes from memory, for all cores together.

    Two sizes in a row must show no reuse. The result is never larger than what the system reports.

    Args:
        caches: the reported sizes, nearest first, in bytes.
        clock: returns seconds.
        last_caches: number of last-level caches of these cores.
        cores: number of cores, each with the private caches of the first.
        reader: reads a chunk on one thread; the simplest of `read_loops` if None.
        flush: removes a chunk from all caches; `flush_loop` if None.

    Returns:
        Bytes; 0 if it cannot be measured here, as where no instruction flushes caches.
    """
    flush = flush or flush_loop()
    if flush is None or len(caches) < 2:
        return 0
    reader = reader or read_loops(threads=1)[0]
    reported = last_caches * caches[-1]
    memory = np.empty(caches[-1] // 4 + CHUNK_FLOATS, dtype=np.float32)
    filled, size, first = 0, caches[-2] // 2, 0
    while size <= caches[-1]:
        end = max(1, size // 4 // CHUNK_FLOATS) * CHUNK_FLOATS
        memory[filled:end] = 1.0  # the system provides memory when it is first written
        filled = max(filled, end)
        gain = _reuse_gain(memory[:end].reshape(-1, CHUNK_FLOATS), reader, flush, clock)
        if size < caches[-2]:
            if gain < SURELY_REUSED:
                return 0
        elif gain >= REUSED:
            first = 0
        elif first:
            return min(reported, last_caches * first + (cores - 1) * caches[-2])
        else:
            first = size
        size *= 2
    return reported


def _reuse_gain(chunks: np.ndarray, reader: Loop, flush: Loop, clock: Callable[[], float]) -> float:
    """How many times as long flushed chunks take as those that were read in the round before; lower quartiles."""
    again: list[float] = []
    flushed: list[float] = []
    while len(flushed) < LEAST_FLUSHED:
        for number, chunk in enumerate(chunks):
            reader.read(chunk)
            if number % FLUSHED == 0:
                flush.read(chunk)
        for number, chunk in enumerate(chunks):
            began_s = clock()
            reader.read(chunk)
            (flushed if number % FLUSHED == 0 else again).append(clock() - began_s)
    return float(np.quantile(flushed, 0.25) / np.quantile(again or flushed, 0.25))


def last_level_caches(cpus: Path) -> int:
    """The number of last-level caches of the cores that this process may use; 1 if the system reports none.

    Args:
        cpus: the system's folder with a folder per core.
    """
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    shared: set[str] = set()
    for cpu in own:
        found: dict[int, str] = {}
        for index in (cpus / f"cpu{cpu}" / "cache").glob("index*"):
            try:
                found[int((index / "level").read_text())] = (index / "shared_cpu_list").read_text().strip()
            except (OSError, ValueError):
                continue
        if found:
            shared.add(found[max(found)])
    return max(1, len(shared))
