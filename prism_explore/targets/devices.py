"""Which GPU is here, by the name that its driver gives it."""

from __future__ import annotations

import subprocess

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


def row_of(device: str) -> str | None:
    """The row of a device's name, such as `NVIDIA H200`; None where there is none, as for a `GB200`.

    >>> row_of("NVIDIA A100-SXM4-80GB"), row_of("NVIDIA GB200"), row_of("NVIDIA L4")
    ('a100', None, None)
    """
    words = device.replace("-", " ")
    return next((row for part, row in NAMED if f" {part} " in f" {words} "), None)


def device_here() -> str | None:
    """The first GPU's name, asked of NVIDIA's driver; None where there is no such driver."""
    try:
        found = subprocess.run(
            ASK, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = found.stdout.strip().splitlines()
    return lines[0].strip() if lines else None
