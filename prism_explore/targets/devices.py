"""Detect the GPU of this machine from its driver.

NVIDIA's driver has a tool that prints the device name. AMD's driver lists figures of each chip in files. The name is
derived from those, because the name that torch reports for an AMD GPU depends on the board and may be missing.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from prism_explore.targets.gpus import ROWS

NVIDIA_COMMAND = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")

NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where AMD's driver lists the processors it knows, CPUs included."""

_GIB = 1 << 30


def row_of(device: str) -> str | None:
    """The target name for a device name; None for a device that the table lacks, such as a `GB200`.

    >>> row_of("NVIDIA A100-SXM4-80GB"), row_of("NVIDIA GB200"), row_of("NVIDIA L4")
    ('a100', None, None)
    """
    words = device.replace("-", " ")
    return next((row.name for row in ROWS if f" {row.driver_name} " in f" {words} "), None)


def device_here() -> str | None:
    """The name of the first GPU, from NVIDIA's driver or else from AMD's; None if there is neither."""
    return _nvidia() or _amd(NODES)


def amd_name(chip_name: str, compute_units: int, memory_bytes: int) -> str:
    """The name of an AMD GPU from its figures: an MI325X differs from an MI300X only in its memory.

    >>> amd_name("gfx942:sramecc+:xnack-", 304, 192 << 30), amd_name("gfx90a", 104, 64 << 30)
    ('AMD Instinct MI300X', 'AMD gfx90a, 104 compute units, 64 GiB')
    """
    chip, _, _ = chip_name.partition(":")
    for row in ROWS:
        has_chip = (row.architecture.triton[1], row.multiprocessors) == (chip, compute_units)
        if has_chip and row.memory_gib is not None and memory_bytes <= row.memory_gib * _GIB:
            return f"AMD Instinct {row.driver_name}"
    return f"AMD {chip}, {compute_units} compute units, {memory_bytes / _GIB:.0f} GiB"


def _nvidia() -> str | None:
    try:
        found = subprocess.run(
            NVIDIA_COMMAND, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = found.stdout.strip().splitlines()
    return lines[0].strip() if lines else None


def _amd(nodes: Path) -> str | None:
    for node in sorted(nodes.glob("*"), key=lambda n: (len(n.name), n.name)):
        properties = _numbers(node / "properties")
        if version := properties.get("gfx_target_version", 0):  # 0 for a CPU; 90402 is gfx942
            major, minor, stepping = version // 10000, version // 100 % 100, version % 100
            units = properties.get("simd_count", 0) // max(properties.get("simd_per_cu", 1), 1)
            banks = (_numbers(bank / "properties") for bank in (node / "mem_banks").glob("*"))
            memory_bytes = sum(bank.get("size_in_bytes", 0) for bank in banks)
            return amd_name(f"gfx{major}{minor:x}{stepping:x}", units, memory_bytes)
    return None


def _numbers(file: Path) -> dict[str, int]:
    """The lines of a file that are a word and a number; empty if the file cannot be read."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}
