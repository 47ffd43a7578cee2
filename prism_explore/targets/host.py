"""The host CPU as a target: cache sizes from the system, peak rates measured once and stored in a file.

Each rate is the best of several rounds (and of several read patterns), because a roofline below the true peak would
reject good kernels, and other work on the machine only lowers a measured rate. Rounds in which threads waited for a
core are repeated, for a limited time. If too few rounds were undisturbed, `Target.source` says so, and a session that
starts ten minutes later or more measures again and keeps the better value of each rate. `store_higher_rates` raises
stored rates that a later measurement exceeded.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from prism_explore.support.plain_data import PlainData
from prism_explore.targets.ceilings import (
    ROW_FLOATS,
    bf16_loop,
    core_wait_s,
    cores,
    empty_loop,
    fma_loop,
    lanes,
    read_loops,
)
from prism_explore.targets.machine import Target

VERSION = 3
"""Version of the measuring method; stored figures of other versions are not used."""

DISTURBED = 0.05
"""A round counts as disturbed if threads waited for a core for more than this share of it."""
QUIET_ROUNDS = 4
"""Undisturbed rounds needed before the figures are trusted."""
MOST_S = 4.0
"""After this time no round is repeated."""
RETRY_S = 600.0
"""Figures that are not trusted are measured again when they are older: on a busy machine every session would wait."""
BUSY = "; measured while other work ran, to be measured again"
"""Appended to the source of figures that are not trusted."""

BUFFER_BYTES = 256 << 20
"""Size of the buffer of the read loops: several times any cache of one socket."""

CPUS = Path("/sys/devices/system/cpu")


def cache_file() -> Path:
    """The file with this user's measurements."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "prism_explore" / "host.json"


def load_or_measure(path: Path, measure: Callable[[], Target]) -> Target:
    """The host's figures from the file at `path`; if it has none for this machine, measure and store them."""
    known = stored_figures(path)
    if known is not None and (BUSY not in known.source or _age_s(path) < RETRY_S):
        return known
    fresh = measure()
    if known is not None:
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
    rounds: int = 8,
    core_wait_s: Callable[[], float] = core_wait_s,
    most_s: float = MOST_S,
) -> Target:
    """Measure this machine: memory bandwidth, arithmetic peaks, launch cost.

    Args:
        clock: returns seconds.
        rounds: number of rounds on an idle machine; up to three times as many on a busy one.
        core_wait_s: returns the seconds that threads of this process have waited for a core so far.
        most_s: seconds after which no round is repeated.

    Returns:
        The host as a target; rates in bytes/s and flop/s, launch cost in s.
    """
    threads = cores()
    caches = cache_sizes()
    floats = max(BUFFER_BYTES, 4 * caches[-1]) // 4 // (8 * ROW_FLOATS * threads) * (8 * ROW_FLOATS * threads)
    buffer = np.ones(floats, dtype=np.float32)
    readers, fma, pairs, empty = read_loops(), fma_loop(), bf16_loop(), empty_loop()
    flops = 2e9 * threads
    best_read = best_fma = best_pairs = best_launch = float("inf")
    fastest, quiet = readers[0].name, 0
    started_s = clock()
    for number in range(3 * rounds):
        if number >= rounds and (quiet >= min(QUIET_ROUNDS, rounds) or clock() - started_s > most_s):
            break
        began_s, waited_s = clock(), core_wait_s()
        for reader in readers:
            spent = _timed(clock, lambda reader=reader: reader.read(buffer))
            if spent < best_read:
                best_read, fastest = spent, reader.name
        best_fma = min(best_fma, _timed(clock, lambda: fma.compute(flops)))
        if pairs is not None:
            best_pairs = min(best_pairs, _timed(clock, lambda: pairs.compute(flops)))
        best_launch = min(best_launch, *(_timed(clock, lambda: empty.compute(0)) for _ in range(20)))
        quiet += core_wait_s() - waited_s <= DISTURBED * threads * (clock() - began_s)
    peak = flops / best_fma
    return Target(
        name="cpu",
        kind="cpu",
        peak_flops_per_s=peak,
        peak_half_flops_per_s=2 * peak if pairs is None else flops / best_pairs,
        dram_bytes_per_s=buffer.nbytes / best_read,
        shared_memory_bytes=caches[-2:][0],
        caches_bytes=caches,
        cores=threads,
        max_blocks=1 << 16,
        max_threads=1,
        launch_s=best_launch,
        source=(
            f"measured: {cpu_model()}, {threads} cores, {lanes()} lanes; {fastest}; "
            f"16-bit peak {'assumed twice float32' if pairs is None else f'that of {pairs.name}'}; "
            "the scratch of a block is the L2 cache of a core"
            f"{'' if quiet >= min(QUIET_ROUNDS, rounds) else BUSY}"
        ),
        measured=True,
    )


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
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _write(path: Path, figures: Target) -> None:
    """Replace the file atomically; if it cannot be written, nothing is stored."""
    text = json.dumps({**_read(path), _key(): PlainData().write(figures)}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError:
        pass
