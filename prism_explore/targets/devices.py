"""Which GPU is here, by the name that its driver gives it.

NVIDIA's has a tool that tells it. AMD's writes what a chip is into files, in numbers; the name is made of them, as
torch's names of AMD's GPUs are whatever the board says and not always one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

NAMED: tuple[tuple[str, str], ...] = (
    ("A100", "a100"),
    ("H100", "h100"),
    ("H200", "h200"),
    ("B200", "b200"),
    ("MI300X", "mi300x"),
    ("RTX 4090", "rtx4090"),
)
"""A part of the driver's name, and the row of `targets.GPUS`."""

ASK = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")

NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where AMD's driver lists the processors that it knows, CPUs among them."""

_GIB = 1 << 30


def row_of(device: str) -> str | None:
    """The row of a device's name, such as `NVIDIA H200`; None where there is none, as for a `GB200`.

    >>> row_of("NVIDIA A100-SXM4-80GB"), row_of("NVIDIA GB200"), row_of("NVIDIA L4")
    ('a100', None, None)
    """
    words = device.replace("-", " ")
    return next((row for part, row in NAMED if f" {part} " in f" {words} "), None)


def device_here() -> str | None:
    """The first GPU's name, asked of NVIDIA's driver, then of AMD's; None where there is neither."""
    return _nvidia() or _amd(NODES)


def amd_name(architecture: str, compute_units: int, memory_bytes: int) -> str:
    """What a GPU of AMD's is, by what it has: an MI325X differs from an MI300X by its memory alone.

    >>> amd_name("gfx942:sramecc+:xnack-", 304, 192 << 30), amd_name("gfx90a", 104, 64 << 30)
    ('AMD Instinct MI300X', 'AMD gfx90a, 104 compute units, 64 GiB')
    """
    chip, _, _ = architecture.partition(":")
    if (chip, compute_units) == ("gfx942", 304) and memory_bytes <= 192 * _GIB:
        return "AMD Instinct MI300X"
    return f"AMD {chip}, {compute_units} compute units, {memory_bytes / _GIB:.0f} GiB"


def _nvidia() -> str | None:
    try:
        found = subprocess.run(
            ASK, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = found.stdout.strip().splitlines()
    return lines[0].strip() if lines else None


def _amd(nodes: Path) -> str | None:
    for node in sorted(nodes.glob("*"), key=lambda n: (len(n.name), n.name)):
        told = _numbers(node / "properties")
        if version := told.get("gfx_target_version", 0):  # 0 for a CPU; 90402 is gfx942
            major, minor, stepping = version // 10000, version // 100 % 100, version % 100
            units = told.get("simd_count", 0) // max(told.get("simd_per_cu", 1), 1)
            banks = (_numbers(bank / "properties") for bank in (node / "mem_banks").glob("*"))
            memory = sum(bank.get("size_in_bytes", 0) for bank in banks)
            return amd_name(f"gfx{major}{minor:x}{stepping:x}", units, memory)
    return None


def _numbers(file: Path) -> dict[str, int]:
    """Lines of a word and a number; none where the file cannot be read."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}
