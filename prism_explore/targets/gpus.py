"""GPU targets: one row per GPU, with figures from its datasheet. To add a GPU, add a row (see README.md).

Peak rates are dense tensor-core rates. The launch cost is an assumption. Nothing here is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prism_explore.targets.machine import Target

LAUNCH_S = 3e-6
"""Assumed cost of one kernel launch."""


REGISTERS_PER_LANE = 512
"""32-bit registers of a multiprocessor's quarter, per lane of a warp. All rows below have four such quarters."""

REGISTER_STEP = 8
"""Registers of a thread are allocated in multiples of this."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many blocks of one kernel are resident on a multiprocessor at a time."""

    blocks: int
    warps: int
    """Of all resident blocks together."""
    most_warps: int
    """That a multiprocessor can hold."""
    limit: Literal["registers", "shared memory", "blocks", "warps"]
    """What there is not enough of for one more block."""

    def __str__(self) -> str:
        return f"{self.blocks} blocks ({self.warps} of {self.most_warps} warps), limited by {self.limit}"


@dataclass(frozen=True, slots=True)
class Architecture:
    """A GPU architecture that Triton compiles for."""

    name: str
    triton: tuple[Literal["cuda", "hip"], int | str, int]
    """Triton's target: backend, compute capability or chip name, threads per warp."""
    shared_memory_kib: int
    """The most that one block may use."""
    total_shared_kib: int
    """Of a multiprocessor."""
    reserved_kib: int
    """Shared memory that each block takes in addition to its own."""
    most_warps: int
    """Resident on a multiprocessor."""
    most_blocks: int
    """Resident on a multiprocessor."""

    @property
    def shared_memory_bytes(self) -> int:
        """The most that one block may use, in bytes."""
        return self.shared_memory_kib << 10

    @property
    def has_tma(self) -> bool:
        """Whether one instruction copies a tile to shared memory: NVIDIA's GPUs from compute capability 9.0."""
        backend, capability, _ = self.triton
        return backend == "cuda" and int(capability) >= 90

    def occupancy(self, registers: int, shared_bytes: int, warps: int) -> Occupancy:
        """Resident blocks of a kernel, by the rule of NVIDIA's occupancy calculator.

        Args:
            registers: per thread, as the assembler reports them.
            shared_bytes: of a block.
            warps: of a block.

        Returns:
            The blocks, 0 where one block does not fit, and the scarcest resource.
        """
        allocated = max(1, -(-registers // REGISTER_STEP)) * REGISTER_STEP
        block_bytes = shared_bytes + (self.reserved_kib << 10)
        fits: dict[Literal["registers", "shared memory", "blocks", "warps"], int] = {
            "warps": self.most_warps // warps,
            "blocks": self.most_blocks,
            "registers": 4 * (REGISTERS_PER_LANE // allocated) // warps,
            "shared memory": (self.total_shared_kib << 10) // block_bytes if block_bytes else self.most_blocks,
        }
        limit = min(fits, key=lambda name: fits[name])
        return Occupancy(fits[limit], fits[limit] * warps, self.most_warps, limit)


SM_80 = Architecture("sm_80", ("cuda", 80, 32), 163, 164, 1, 64, 32)
SM_89 = Architecture("sm_89", ("cuda", 89, 32), 99, 100, 1, 48, 24)
SM_90 = Architecture("sm_90", ("cuda", 90, 32), 227, 228, 1, 64, 32)
SM_100 = Architecture("sm_100", ("cuda", 100, 32), 227, 228, 1, 64, 32)
GFX942 = Architecture("gfx942", ("hip", "gfx942", 64), 64, 64, 0, 32, 16)
"""Sources: CUDA C++ Programming Guide, technical specifications per compute capability; AMD CDNA 3 white paper and
instruction set, where a compute unit has four SIMDs of 512 registers and eight waves each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A row of the table: the figures of one GPU, and how the driver names it."""

    name: str
    """As in `target(name)`."""
    architecture: Architecture
    driver_name: str
    """The words of the driver's device name that identify this GPU."""
    f32_flops_per_s: float
    """Of products whose operands are not rounded to TF32."""
    tf32_flops_per_s: float
    half_flops_per_s: float
    """On 16-bit operands."""
    dram_bytes_per_s: float
    multiprocessors: int
    """Streaming multiprocessors, or compute units."""
    last_cache_mib: int
    memory_gib: int | None = None
    """Needed for AMD only, whose driver gives figures instead of a name; see `devices.amd_name`."""
    source: str

    @property
    def target(self) -> Target:
        """The GPU as a target."""
        shared_bytes = self.architecture.shared_memory_bytes
        return Target(
            name=self.name,
            kind="gpu",
            peak_flops_per_s=self.tf32_flops_per_s,
            peak_half_flops_per_s=self.half_flops_per_s,
            full_precision_flops_per_s=self.f32_flops_per_s,
            dram_bytes_per_s=self.dram_bytes_per_s,
            shared_memory_bytes=shared_bytes,
            caches_bytes=(shared_bytes, self.last_cache_mib << 20),
            cores=self.multiprocessors,
            max_blocks=2**31 - 1,
            max_threads=1024,
            launch_s=LAUNCH_S,
            source=f"{self.source}; launch cost assumed, 3 us",
            measured=False,
        )


ROWS: tuple[Gpu, ...] = (
    Gpu(
        name="a100",
        architecture=SM_80,
        driver_name="A100",
        f32_flops_per_s=19.5e12,
        tf32_flops_per_s=156e12,
        half_flops_per_s=312e12,
        dram_bytes_per_s=2.039e12,
        multiprocessors=108,
        last_cache_mib=40,
        source="NVIDIA A100 80GB SXM datasheet and A100 whitepaper, table 4",
    ),
    Gpu(
        name="h100",
        architecture=SM_90,
        driver_name="H100",
        f32_flops_per_s=66.9e12,
        tf32_flops_per_s=494.7e12,
        half_flops_per_s=989.4e12,
        dram_bytes_per_s=3.35e12,
        multiprocessors=132,
        last_cache_mib=50,
        source="NVIDIA H100 SXM5 datasheet and H100 whitepaper, table 2",
    ),
    Gpu(
        name="h200",
        architecture=SM_90,
        driver_name="H200",
        f32_flops_per_s=66.9e12,
        tf32_flops_per_s=494.7e12,
        half_flops_per_s=989.4e12,
        dram_bytes_per_s=4.8e12,
        multiprocessors=132,
        last_cache_mib=50,
        source="NVIDIA H200 SXM datasheet; chip as H100 SXM5",
    ),
    Gpu(
        name="b200",
        architecture=SM_100,
        driver_name="B200",
        f32_flops_per_s=75e12,
        tf32_flops_per_s=1.1e15,
        half_flops_per_s=2.25e15,
        dram_bytes_per_s=8e12,
        multiprocessors=148,
        last_cache_mib=126,
        source="NVIDIA DGX B200 datasheet, one eighth, sparse rates halved",
    ),
    Gpu(
        name="mi300x",
        architecture=GFX942,
        driver_name="MI300X",
        f32_flops_per_s=163.4e12,
        tf32_flops_per_s=653.7e12,
        half_flops_per_s=1307.4e12,
        dram_bytes_per_s=5.3e12,
        multiprocessors=304,
        last_cache_mib=256,
        memory_gib=192,
        source="AMD Instinct MI300X data sheet and CDNA 3 white paper; the last cache is the Infinity Cache",
    ),
    Gpu(
        name="rtx4090",
        architecture=SM_89,
        driver_name="RTX 4090",
        f32_flops_per_s=82.6e12,
        tf32_flops_per_s=82.6e12,
        half_flops_per_s=165.2e12,
        dram_bytes_per_s=1.008e12,
        multiprocessors=128,
        last_cache_mib=72,
        source="NVIDIA Ada GPU architecture whitepaper, appendix A",
    ),
)

GPUS: dict[str, Target] = {row.name: row.target for row in ROWS}
"""Targets by name."""

ARCHITECTURES: dict[str, Architecture] = {row.architecture.name: row.architecture for row in ROWS}
"""Architectures of these GPUs by name."""


def architecture_of(name: str) -> Architecture | None:
    """The architecture of a GPU of the table; None for another target.

    >>> architecture_of("h200").name, architecture_of("cpu")
    ('sm_90', None)
    """
    return next((row.architecture for row in ROWS if row.name == name), None)
