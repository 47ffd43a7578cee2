"""The host CPU: its caches from the system, its rates measured once and remembered.

A roofline drawn too low would call a good kernel impossible, so of everything measured the best
counts: the best of several read patterns, over several rounds. Other work on the machine only ever
lowers a rate. So rounds in which our threads queued for a core are followed by more; where too few were
quiet all the same, the source says so, and the next session measures again and keeps the better of each
figure. `learn` raises a remembered one when something faster was seen later.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from prism_explore.targets.ceilings import (
    ROW_FLOATS,
    cores,
    empty_canary,
    fma_canary,
    lanes,
    pairs_canary,
    read_canaries,
    waiting_s,
)
from prism_explore.targets.machine import Target

VERSION = 2
"""Of the measurement: a change in how it is done makes old files stale."""

DISTURBED = 0.05
"""Share of a round for which our threads waited for a core, above which other work disturbed it."""
QUIET = 4
"""So many quiet rounds are enough to believe the figures."""
BUSY = "; measured while other work ran, to be measured again"
"""In the source of figures that are not believed."""

BUFFER_BYTES = 256 << 20
"""What the read canaries read: several times any cache in reach of one socket."""

CPUS = Path("/sys/devices/system/cpu")


def cache_file() -> Path:
    """Where this user's measurements are remembered."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "prism_explore" / "host.json"


def remembered(path: Path, measure: Callable[[], Target]) -> Target:
    """The host as remembered at `path`; measured, and written there, where nothing fitting is."""
    known = _known(path)
    if known is not None and BUSY not in known.source:
        return known
    fresh = measure()
    if known is not None:
        fresh = _better(fresh, known)
    _write(path, fresh)
    return fresh


def learn(seen: Target, path: Path | None = None) -> None:
    """Remember the rates of `seen` where they are higher than the remembered ones."""
    where = path or cache_file()
    known = _known(where)
    if known is None or not seen.measured:
        return
    better = _better(known, seen)
    if better != known:
        _write(where, better)


def _better(kept: Target, seen: Target) -> Target:
    """A target with the better of each rate."""
    return kept.replace(
        peak_flops_per_s=max(kept.peak_flops_per_s, seen.peak_flops_per_s),
        peak_half_flops_per_s=max(kept.peak_half_flops_per_s, seen.peak_half_flops_per_s),
        dram_bytes_per_s=max(kept.dram_bytes_per_s, seen.dram_bytes_per_s),
        launch_s=min(kept.launch_s, seen.launch_s),
    )


def _known(path: Path) -> Target | None:
    """What is remembered; an old or damaged entry is as good as none."""
    found = _read(path).get(_key())
    try:
        return None if found is None else _from_plain(found)
    except (TypeError, ValueError, KeyError, AssertionError):
        return None


def measure_host(
    clock: Callable[[], float] = time.perf_counter,
    rounds: int = 8,
    waiting: Callable[[], float] = waiting_s,
) -> Target:
    """Measure this machine: best read pattern, multiply-adds on registers (bfloat16 pairs, too), cost of a launch.

    Units: bytes / s, flop / s, s

    Args:
        clock: seconds.
        rounds: how often each is measured on a quiet machine; on a busy one up to three times as often.
        waiting: seconds for which threads of this process have waited for a core so far.
    """
    threads = cores()
    caches = cache_sizes()
    floats = max(BUFFER_BYTES, 4 * caches[-1]) // 4 // (8 * ROW_FLOATS * threads) * (8 * ROW_FLOATS * threads)
    buffer = np.ones(floats, dtype=np.float32)
    readers, fma, pairs, empty = read_canaries(), fma_canary(), pairs_canary(), empty_canary()
    flops = 2e9 * threads
    best_read = best_fma = best_pairs = best_launch = float("inf")
    fastest, quiet = readers[0].name, 0
    for number in range(3 * rounds):
        if number >= rounds and quiet >= min(QUIET, rounds):
            break
        began, queued = clock(), waiting()
        for reader in readers:
            spent = _timed(clock, lambda reader=reader: reader.read(buffer))
            if spent < best_read:
                best_read, fastest = spent, reader.name
        best_fma = min(best_fma, _timed(clock, lambda: fma.spin(flops)))
        if pairs is not None:
            best_pairs = min(best_pairs, _timed(clock, lambda: pairs.spin(flops)))
        best_launch = min(best_launch, *(_timed(clock, lambda: empty.spin(0)) for _ in range(20)))
        quiet += waiting() - queued <= DISTURBED * threads * (clock() - began)
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
            f"16-bit peak {'assumed twice float32' if pairs is None else 'that of pairs of bfloat16'}; "
            "the scratch of a block is the L2 cache of a core"
            f"{'' if quiet >= min(QUIET, rounds) else BUSY}"
        ),
        measured=True,
    )


def _timed(clock: Callable[[], float], run: Callable[[], None]) -> float:
    began = clock()
    run()
    return clock() - began


# ---------------------------------------------------------------- what the system says
def cpu_model() -> str:
    """The name of the processor, as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown processor"


def cache_sizes(cpus: Path = CPUS) -> tuple[int, ...]:
    """Data caches of the first core, nearest first; common sizes where the system does not tell."""
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


def _write(path: Path, fresh: Target) -> None:
    """Replace the file only when the new one is whole; a read-only home only costs the memory."""
    text = json.dumps({**_read(path), _key(): asdict(fresh)}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError:
        pass


def _from_plain(data: Any) -> Target:
    numbers: dict[str, Any] = {**data, "caches_bytes": tuple(int(n) for n in data["caches_bytes"])}
    for name in ("peak_flops_per_s", "peak_half_flops_per_s", "dram_bytes_per_s", "launch_s"):
        numbers[name] = float(numbers[name])
    for name in ("shared_memory_bytes", "cores", "max_blocks", "max_threads"):
        numbers[name] = int(numbers[name])
    return Target(**numbers)
