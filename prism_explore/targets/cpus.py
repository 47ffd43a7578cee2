# pyright: basic
# llvmlite ships no types.
"""CPU architectures: one row each with what vector code needs to know, and the host as a CPU of one of them.

Code generation and the loops that measure the host's ceilings read nothing else about a CPU. To add one, add a row: its
vectors, its registers, its cache lines, and the features that a CPU must have. The first row that fits counts.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from prism_explore.targets.amx import request_tiles

_X86 = ("x86_64", "amd64")
_ARM = ("aarch64", "arm64")
_ARM_FEATURES = {"bf16": "bf16"}
"""What Linux lists in `/proc/cpuinfo` on Arm, and LLVM's name of it, where LLVM does not read it."""
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class CpuArchitecture:
    """Vectors of a kind of CPU, as one row of `ROWS`. Features have LLVM's names."""

    name: str
    machines: tuple[str, ...]
    """What systems call it, in lower case; empty for all others."""
    needs: tuple[str, ...]
    """Features that a CPU of this row has."""
    lanes: int
    """float32 lanes of a vector."""
    registers: int
    """How many vectors its registers hold."""
    f16_needs: tuple[str, ...] | None = ()
    """Features that convert float16 in hardware; None if none is known."""
    bf16_dot: str = ""
    """LLVM's name, with a place for the bits of a vector, of products of bfloat16 pairs that are added to float32."""
    bf16_rounds: tuple[tuple[int, str], ...] = ()
    """By lanes, LLVM's name of the rounding of float32 to bfloat16 that makes subnormal numbers zero."""
    bf16_needs: tuple[str, ...] = ()
    """Features of the CPUs that have `bf16_dot` and `bf16_rounds`."""
    table_lookups: tuple[tuple[int, str], ...] = ()
    """By lanes, LLVM's name of the permutation of a float32 vector by the lowest bits of 32-bit integers."""
    line_bytes: int = 64
    """A cache line."""
    cpus: str = ""
    """The beginning of LLVM's names of its CPUs."""


ROWS: tuple[CpuArchitecture, ...] = (
    CpuArchitecture(
        "AVX-512", _X86, ("avx512f",), lanes=16, registers=32, f16_needs=("f16c",),
        bf16_dot="llvm.x86.avx512bf16.dpbf16ps.{bits}", bf16_needs=("avx512bf16", "avx512vl"),
        bf16_rounds=((16, "llvm.x86.avx512bf16.cvtneps2bf16.512"), (8, "llvm.x86.avx512bf16.cvtneps2bf16.256")),
        table_lookups=((16, "llvm.x86.avx512.permvar.sf.512"), (8, "llvm.x86.avx2.permps")),
    ),
    CpuArchitecture(
        "AVX2", _X86, ("avx2", "fma"), lanes=8, registers=16, f16_needs=("f16c",),
        table_lookups=((8, "llvm.x86.avx2.permps"),),
    ),
    CpuArchitecture("SSE2", _X86, (), lanes=4, registers=16, f16_needs=("f16c",)),
    CpuArchitecture(
        "NEON, Apple", _ARM, (), lanes=4, registers=32, line_bytes=128, cpus="apple-",
        bf16_dot="llvm.aarch64.neon.bfdot.v4f32.v8bf16", bf16_needs=("bf16",),
    ),
    CpuArchitecture(
        "NEON", _ARM, (), lanes=4, registers=32,
        bf16_dot="llvm.aarch64.neon.bfdot.v4f32.v8bf16", bf16_needs=("bf16",),
    ),
    CpuArchitecture("other", (), (), lanes=4, registers=16, f16_needs=None),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CpuModel:
    """A CPU that code is generated for."""

    name: str
    """LLVM's name of it."""
    features: str
    """LLVM's feature string, such as `+avx2,+fma`."""
    lanes: int
    """float32 lanes of the widest vector: 16, 8 or 4."""
    threads: int
    """How many cores this process may use."""
    converts_f16: bool
    """Whether it converts float16 in hardware. (bfloat16 needs shifts only.)"""
    vector_registers: int
    """How many vectors its registers hold."""
    line_bytes: int
    """A cache line."""
    bf16_dot: str = ""
    """LLVM's name of its products of bfloat16 pairs, as in `CpuArchitecture`; empty if it has none."""
    bf16_rounds: tuple[tuple[int, str], ...] = ()
    """Its roundings to bfloat16, as in `CpuArchitecture`."""
    table_lookups: tuple[tuple[int, str], ...] = ()
    """Its permutations of a vector, as in `CpuArchitecture`."""
    has_two_wide_fmas: bool = False
    """Whether it is known to start two multiply-adds of 16 lanes per cycle: x86 cores with AMX do."""
    has_amx_bf16: bool = False
    """Whether it multiplies tiles of bfloat16 pairs (AMX), and this process may use the tile registers."""

    def line_elements(self, element_bytes: int) -> int:
        """How many elements of this size a cache line holds."""
        return self.line_bytes // element_bytes


def cpu_model(name: str, features: str, machine: str, threads: int) -> CpuModel:
    """A CPU by its name and features.

    Args:
        name: LLVM's name of the CPU, such as `haswell`.
        features: LLVM's feature string; all that the CPU has and a row of the table asks for.
        machine: the system's name of the architecture, such as `x86_64` or `aarch64`.
        threads: cores that may be used.

    Returns:
        The CPU, with tile registers where its features include them.

    Example:
        >>> haswell = cpu_model("haswell", "+avx2,+fma,+f16c", "x86_64", threads=2)
        >>> haswell.lanes, haswell.vector_registers
        (8, 16)
    """
    own = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    row = next(
        row
        for row in ROWS
        if (not row.machines or machine.lower() in row.machines)
        and own.issuperset(row.needs)
        and name.startswith(row.cpus)
    )
    has_bf16_dot = bool(row.bf16_dot) and own.issuperset(row.bf16_needs)
    return CpuModel(
        name=name,
        features=features,
        lanes=row.lanes,
        threads=threads,
        converts_f16=row.f16_needs is not None and own.issuperset(row.f16_needs),
        vector_registers=row.registers,
        line_bytes=row.line_bytes,
        bf16_dot=row.bf16_dot if has_bf16_dot else "",
        bf16_rounds=row.bf16_rounds if has_bf16_dot else (),
        table_lookups=row.table_lookups,
        has_two_wide_fmas=own.issuperset(("avx512f", "amx-tile")),
        has_amx_bf16=has_bf16_dot and own.issuperset(("amx-tile", "amx-bf16")),
    )


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(1)
def host_cpu() -> CpuModel:
    """The CPU of this process, and how many of its cores the process may use."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    machine = platform.machine().lower()
    features = llvm.get_host_cpu_features().flatten()
    if machine in _ARM:
        features = ",".join(filter(None, (features, *(f"+{name}" for name in arm_features(_CPUINFO)))))
    found = cpu_model(llvm.get_host_cpu_name(), features, machine, cores())
    return replace(found, has_amx_bf16=found.has_amx_bf16 and request_tiles())


def arm_features(cpuinfo: Path) -> tuple[str, ...]:
    """Features of an Arm CPU that only the system names.

    Args:
        cpuinfo: Linux' description of the CPUs.

    Returns:
        LLVM's names of those that every core has; none on other systems.
    """
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    cores = [set(line.partition(":")[2].split()) for line in lines if line.startswith("Features")]
    return tuple(llvm for linux, llvm in _ARM_FEATURES.items() if cores and all(linux in core for core in cores))
