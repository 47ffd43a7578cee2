"""The host CPU: its caches from the system, its rates measured once and remembered.

A roofline drawn too low would call a good kernel impossible, so of everything measured the best
counts: the best of several read patterns, over several rounds. Other work on the machine only ever
lowers a rate; `learn` raises a remembered one when something faster was seen later.
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

from prism_explore.targets import Target
from prism_explore.targets.canary import (
    ROW_FLOATS,
    cores,
    empty_canary,
    fma_canary,
    lanes,
    read_canaries,
)

VERSION = 1
"""Of the measurement: a change in how it is done makes old files stale."""

BUFFER_BYTES = 256 << 20
"""What the read canaries read: several times any cache in reach of one socket."""

CPUS = Path("/sys/devices/system/cpu")


def cache_file() -> Path:
    """Where this user's measurements are remembered."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "prism_explore" / "host.json"


def remembered(path: Path, measure: Callable[[], Target]) -> Target:
    """The host as remembered at `path`; measured, and written there, where nothing fitting is."""
    found = _read(path).get(_key())
    if found is not None:
        try:
            return _from_plain(found)
        except (TypeError, ValueError, KeyError, AssertionError):
            pass  # an old or damaged entry is as good as none
    fresh = measure()
    _write(path, fresh)
    return fresh


def learn(seen: Target, path: Path | None = None) -> None:
    """Remember the rates of `seen` where they are higher than the remembered ones."""
    where = path or cache_file()
    found = _read(where).get(_key())
    if found is None or not seen.measured:
        return
    try:
        known = _from_plain(found)
    except (TypeError, ValueError, KeyError, AssertionError):
        return
    better = known.replace(
        peak_flops_per_s=max(known.peak_flops_per_s, seen.peak_flops_per_s),
        peak_half_flops_per_s=max(known.peak_half_flops_per_s, seen.peak_half_flops_per_s),
        dram_bytes_per_s=max(known.dram_bytes_per_s, seen.dram_bytes_per_s),
    )
    if better != known:
        _write(where, better)


def measure_host(clock: Callable[[], float] = time.perf_counter, rounds: int = 8) -> Target:
    """Measure this machine: best read pattern, multiply-adds on registers, the cost of a launch.

    Units: bytes / s, flop / s, s
    """
    threads = cores()
    caches = cache_sizes()
    floats = max(BUFFER_BYTES, 4 * caches[-1]) // 4 // (8 * ROW_FLOATS * threads) * (8 * ROW_FLOATS * threads)
    buffer = np.ones(floats, dtype=np.float32)
    readers, fma, empty = read_canaries(), fma_canary(), empty_canary()
    flops = 2e9 * threads
    best_read, best_fma, best_launch = float("inf"), float("inf"), float("inf")
    fastest = readers[0].name
    for _ in range(rounds):
        for reader in readers:
            spent = _timed(clock, lambda reader=reader: reader.read(buffer))
            if spent < best_read:
                best_read, fastest = spent, reader.name
        best_fma = min(best_fma, _timed(clock, lambda: fma.spin(flops)))
        best_launch = min(best_launch, *(_timed(clock, lambda: empty.spin(0)) for _ in range(20)))
    peak = flops / best_fma
    return Target(
        name="cpu",
        kind="cpu",
        peak_flops_per_s=peak,
        peak_half_flops_per_s=2 * peak,
        dram_bytes_per_s=buffer.nbytes / best_read,
        shared_memory_bytes=caches[-2:][0],
        caches_bytes=caches,
        cores=threads,
        max_blocks=1 << 16,
        max_threads=1,
        launch_s=best_launch,
        source=(
            f"measured: {cpu_model()}, {threads} cores, {lanes()} lanes; {fastest}; "
            "16-bit peak assumed twice float32; the scratch of a block is the L2 cache of a core"
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
