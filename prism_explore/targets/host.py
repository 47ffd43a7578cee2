"""The host CPU as a target: cache sizes from the system, peak rates measured once and stored in a file.

Each rate is the best of many bursts (and of several read patterns), because a roofline below the true peak would reject
good kernels, and other work on the machine only lowers a measured rate. A burst takes less than a millisecond, so that
some are undisturbed on a busy machine. Rounds in which threads waited for a
core are repeated, for a limited time. If too few rounds were undisturbed, `Target.source` says so, and a session that
starts a day later or more measures again and keeps the better value of each rate. `store_higher_rates` raises stored
rates that a later measurement exceeded, which every search makes that compares its kernel with torch.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from itertools import cycle, product
from math import ceil
from pathlib import Path
from typing import Any, cast

import numpy as np

from prism_explore.support.plain_data import PlainData
from prism_explore.support.user_folders import user_folder
from prism_explore.support.whole_files import write_whole
from prism_explore.targets.ceilings import (
    ROW_FLOATS,
    bf16_loop,
    core_wait_s,
    empty_loop,
    fma_loop,
    read_loops,
)
from prism_explore.targets.cpus import cores, host_cpu
from prism_explore.targets.effective_cache import last_level_caches, measure_effective_cache
from prism_explore.targets.machine import COLD_FACTOR, Target

VERSION = 5
"""Version of the measuring method; stored figures of other versions are not used."""

DISTURBED = 0.05
"""A round counts as disturbed if threads waited for a core for more than this share of it."""
QUIET_ROUNDS = 8
"""Undisturbed rounds needed before the figures are trusted."""
MOST_S = 2.0
"""After this time there are no more rounds."""
RETRY_S = 86400.0
"""Figures that are not trusted are measured again when they are older: on a busy machine every session would wait."""
BUSY = "; measured while other work ran, at least as fast as each core alone; to be measured again"
"""Appended to the source of figures that are not trusted."""

BURSTS = 2
"""Of each loop, in a round."""
BURSTS_ALONE = 32
"""Of each loop on one core."""
BURST_FLOPS = 2e8
"""Operations of one burst on each core: hundreds of microseconds."""
BURST_BYTES = 16 << 20
"""About as many bytes are read in one burst."""

CPUS = Path("/sys/devices/system/cpu")


def cache_file() -> Path:
    """The file with this user's measurements."""
    return user_folder("cache") / "host.json"


def load_or_measure(path: Path, measure: Callable[[], Target]) -> Target:
    """The host's figures from the file at `path`; if it has none for this machine, measure and store them."""
    known = stored_figures(path)
    if known is not None and (BUSY not in known.source or _age_s(path) < RETRY_S):
        return known
    fresh = measure()
    if known is not None and BUSY in fresh.source:
        fresh = _better(fresh, known)
    _write(path, fresh)
    return fresh


def store_higher_rates(measured: Target, path: Path | None = None) -> None:
    """Store the rates of `measured` that are higher than the stored ones; quoted rates are ignored."""
    where = path or cache_file()
    known = stored_figures(where)
    if known is None or not measured.measured:
        return
    better = _better(known, measured)
    if better != known:
        _write(where, better)


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def _better(a: Target, b: Target) -> Target:
    """`a` with the better value of each rate."""
    return a.replace(
        peak_flops_per_s=max(a.peak_flops_per_s, b.peak_flops_per_s),
        peak_half_flops_per_s=max(a.peak_half_flops_per_s, b.peak_half_flops_per_s),
        dram_bytes_per_s=max(a.dram_bytes_per_s, b.dram_bytes_per_s),
        launch_s=min(a.launch_s, b.launch_s),
        effective_cache_bytes=max(a.effective_cache_bytes, b.effective_cache_bytes),
    )


def stored_figures(path: Path) -> Target | None:
    """The stored figures of this machine; None if there are none, or if they are damaged."""
    found = _read(path).get(_key())
    try:
        return None if found is None else PlainData().read(Target, found)
    except (ValueError, AssertionError):
        return None


def measure_host(
    clock: Callable[[], float] = time.perf_counter,
    rounds: int = 32,
    core_wait_s: Callable[[], float] = core_wait_s,
    most_s: float = MOST_S,
    caches: tuple[int, ...] | None = None,
) -> Target:
    """Measure this machine: effective cache, memory bandwidth, arithmetic peaks, launch cost.

    Args:
        clock: returns seconds.
        rounds: number of rounds on an idle machine; up to three times as many on a busy one.
        core_wait_s: returns the seconds that threads of this process have waited for a core so far.
        most_s: seconds after which there are no more rounds.
        caches: cache sizes in bytes, nearest first; what the system reports if None.

    Returns:
        The host as a target; rates in bytes/s and flop/s, launch cost in s.
    """
    threads = cores()
    caches = caches or cache_sizes()
    effective = measure_effective_cache(caches, clock, last_level_caches(CPUS), threads)
    burst_floats = ceil(BURST_BYTES / 4 / (8 * ROW_FLOATS * threads)) * (8 * ROW_FLOATS * threads)
    parts = cycle(np.ones((ceil(COLD_FACTOR * (effective or caches[-1]) / 4 / burst_floats), burst_floats), np.float32))
    readers, fma, pairs, empty = read_loops(), fma_loop(), bf16_loop(), empty_loop()
    flops = BURST_FLOPS * threads
    best_read = best_fma = best_pairs = best_launch = float("inf")
    fastest, quiet = readers[0].name, 0
    started_s = clock()
    for number in range(3 * rounds):
        is_quiet = number >= rounds and quiet >= min(QUIET_ROUNDS, rounds)
        if is_quiet or (number > 0 and clock() - started_s > most_s):
            break
        began_s, waited_s = clock(), core_wait_s()
        for reader, _ in product(readers, range(BURSTS)):
            spent = _timed(clock, lambda reader=reader: reader.read(next(parts)))
            if spent < best_read:
                best_read, fastest = spent, reader.name
        for _ in range(BURSTS):
            best_fma = min(best_fma, _timed(clock, lambda: fma.compute(flops)))
            if pairs is not None:
                best_pairs = min(best_pairs, _timed(clock, lambda: pairs.compute(flops)))
        best_launch = min(best_launch, *(_timed(clock, lambda: empty.compute(0)) for _ in range(20)))
        quiet += core_wait_s() - waited_s <= DISTURBED * threads * (clock() - began_s)
    read_per_s, peak = 4 * burst_floats / best_read, flops / best_fma
    half_peak = 2 * peak if pairs is None else flops / best_pairs
    is_busy = quiet < min(QUIET_ROUNDS, rounds)
    if is_busy:
        *alone, launch_alone = _figures_of_one_core(clock, next(parts))
        together = read_per_s, peak, half_peak
        read_per_s, peak, half_peak = (max(a, threads * b) for a, b in zip(together, alone, strict=True))
        best_launch = min(best_launch, launch_alone)  # where cores are taken, it is the time slice of other work
    return Target(
        name="cpu",
        kind="cpu",
        peak_flops_per_s=peak,
        peak_half_flops_per_s=half_peak,
        dram_bytes_per_s=read_per_s,
        shared_memory_bytes=caches[-2:][0],
        caches_bytes=caches,
        cores=threads,
        max_blocks=1 << 16,
        max_threads=1,
        launch_s=best_launch,
        source=(
            f"measured: {cpu_model()}, {threads} cores, {host_cpu().lanes} lanes; {fastest}; "
            f"16-bit peak {'assumed twice float32' if pairs is None else f'that of {pairs.name}'}; "
            "the scratch of a block is the L2 cache of a core; "
            f"{_cache_text(effective, caches[-1])}"
            f"{BUSY if is_busy else ''}"
        ),
        measured=True,
        effective_cache_bytes=effective,
    )


def _cache_text(effective: int, reported: int) -> str:
    """What was measured of the last-level cache."""
    found = f"{effective >> 20} MiB had an effect" if effective else "its effect could not be measured"
    return f"{reported >> 20} MiB of last-level cache are reported, {found}"


def _figures_of_one_core(clock: Callable[[], float], memory: np.ndarray) -> tuple[float, float, float, float]:
    """Bytes read per second, operations per second on float32 and on 16 bits, and launch cost in s, on one thread.

    Bursts on all cores need all of them at the same moment, which is rare while other work runs.
    """
    reader, fma, pairs, empty = read_loops(1)[0], fma_loop(1), bf16_loop(1), empty_loop(1)
    unit = 8 * ROW_FLOATS
    chunks = [memory[at : at + unit] for at in range(0, min(memory.size, BURSTS_ALONE * unit), unit)]
    read_s = min(_timed(clock, lambda c=c: reader.read(c)) for c in chunks)
    fma_s = min(_timed(clock, lambda: fma.compute(BURST_FLOPS)) for _ in chunks)
    pairs_s = fma_s / 2
    if pairs is not None:
        compute = pairs.compute
        pairs_s = min(_timed(clock, lambda: compute(BURST_FLOPS)) for _ in chunks)
    launch_s = min(_timed(clock, lambda: empty.compute(0)) for _ in chunks)
    return 4 * unit / read_s, BURST_FLOPS / fma_s, BURST_FLOPS / pairs_s, launch_s


def _timed(clock: Callable[[], float], run: Callable[[], None]) -> float:
    began = clock()
    run()
    return clock() - began


# ---------------------------------------------------------------- what the system reports
def cpu_model() -> str:
    """The processor's name, as the system reports it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown processor"


def cache_sizes(cpus: Path = CPUS) -> tuple[int, ...]:
    """Data cache sizes of the first core, nearest first; common sizes if the system reports none."""
    found: dict[int, int] = {}
    for index in sorted(cpus.glob("cpu0/cache/index*")):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            level = int((index / "level").read_text())
            text = (index / "size").read_text().strip()
            unit = {"K": 10, "M": 20, "G": 30}.get(text[-1:], 0)
            found[level] = int(text.rstrip("KMG")) << unit
        except (OSError, ValueError):
            continue
    return tuple(found[level] for level in sorted(found)) if found else (32 << 10, 1 << 20, 32 << 20)


# ---------------------------------------------------------------- the file
def _key() -> str:
    return f"{cpu_model()} | {cores()} cores | version {VERSION}"


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _write(path: Path, figures: Target) -> None:
    """Replace the file atomically; if it cannot be written, nothing is stored."""
    text = json.dumps({**_read(path), _key(): PlainData().write(figures)}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{text}\n".encode())
    except OSError:
        pass
