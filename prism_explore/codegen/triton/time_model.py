"""A model of the time of a Triton kernel on a GPU; it orders sizes and schedules before any is measured.

    time = launch + max(waves * wave, distinct bytes / memory bandwidth + latency)
    wave = max(latency of the loop, transfer, arithmetic) + a share of what does not overlap

A *wave* is the set of blocks that are resident at a time. How many those are follows from the registers and the shared
memory of a block, by the occupancy rule of the architecture. Registers are estimated from the plan's tiles: what
exceeds them spills, and multiplies the time of a wave.

The constants were fitted to kernels that were timed on an NVIDIA H100: 123 that were sampled from three programs, and
the trials of 34 tuning runs (`benchmarks/results/2026-11-27-h100-trials.jsonl`). In 30 of 35 runs the fastest of the
first five by the model takes at most 1.1 times as long as the fastest of the run; in the others 1.15 to 1.93 times.
What is modelled badly: products without tensor cores in a loop, and attention that computes the keys' norm beside the
scores. No kernel that was timed reads by TMA. Such loads are modelled as others, with the time to make descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, prod

from prism_explore.codegen.triton.plan import SCHEDULE, BlockPlan
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom, Load, MatMul, Result, Store
from prism_explore.ir.tensors import BYTES
from prism_explore.targets import Target
from prism_explore.targets.gpus import SM_80, architecture_of

LAUNCH_S = 1.8e-6
"""Of one kernel that follows another in a queue; an H100 takes 1.75 to 2.0 us for an empty one."""

MEMORY_LATENCY_S, CACHE_LATENCY_S = 8e-7, 3e-7
"""From a load to its value, from memory and from the last-level cache."""

LEAST_STEP_S = 2.5e-7
"""Of one iteration with a product on tensor cores, whatever its size."""

UNROLLED = 8
"""Iterations whose loads are in flight together in a loop without such products."""

BLOCK_BYTES_PER_S, CACHE_BYTES_PER_S = 6e10, 5e12
"""The most that one multiprocessor and all of them together read, from the last-level cache."""

MEMORY_SHARE = 0.87
"""The share of the datasheet's bandwidth that a kernel reaches; an H100's best reads reach 0.91."""

SECTOR_BYTES, LINE_BYTES = 32, 128
"""Memory is read in sectors, and best in whole lines."""

DOT_SHARE, PLAIN_SHARE = 0.25, 0.5
"""The share of the peak rate that small products reach on tensor cores, and arithmetic off them."""

ELEMENT_FLOPS = 6
"""Operations per element of an elementwise operator or a reduction."""

BASE_REGISTERS, MOST_REGISTERS, SPILL_REGISTERS = 24, 240, 100
"""Per thread: for addresses and the like; before some spill; with so many spilled ones a wave takes twice as long."""

WGMMA_ROWS, DOT_COLUMNS = 64, 8
"""From so many rows, operands of products stay in shared memory; the fewest columns of a product in one warp."""

OVERLAP_LOSS = 0.3
"""The share of the shorter of transfer and arithmetic that adds to the longer one."""

DESCRIPTOR_S = MEMORY_LATENCY_S
"""Assumed, not measured: a block writes its tensor descriptors to memory before TMA reads them."""


@dataclass(frozen=True, slots=True)
class LoadedTile:
    """A tile that a block loads."""

    in_loop: bool
    """Whether every iteration loads one."""
    is_staged: bool
    """Whether it goes to shared memory, where only `tl.dot` reads it."""
    elements: int
    element_bytes: int
    moved_bytes: float
    """From memory or the last-level cache, with what short runs waste."""


@dataclass(frozen=True)
class BlockWork:
    """What one block of a kernel does, from its plan."""

    plan: BlockPlan
    distinct_bytes: int
    """Of the operands that the kernel reads, each once."""
    is_cached: bool
    """Whether all operands are results of other kernels, which the last-level cache still has."""

    @cached_property
    def loads(self) -> tuple[LoadedTile, ...]:
        """The tiles that a block loads."""
        plan, found = self.plan, list[LoadedTile]()
        for j, node in enumerate(plan.block.nodes):
            if isinstance(node.op, Load) and j not in plan.unemitted:
                operand, elements = plan.operands[node.op.operand], prod(plan.largest_tile(j))
                size, order = BYTES[operand.dtype], operand.storage_order
                run_bytes = size * (plan.dims[j][order[-1]] if order else 1)
                moved_bytes = elements * size * _excess(run_bytes)
                found.append(LoadedTile(plan.sections[j] == "loop", plan.is_staged(j), elements, size, moved_bytes))
        return tuple(found)

    @cached_property
    def staged_bytes(self) -> int:
        """See `BlockPlan.staged_bytes`."""
        return self.plan.staged_bytes

    @cached_property
    def moved_bytes(self) -> float:
        """That one block reads."""
        return sum(t.moved_bytes * (self.plan.iterations if t.in_loop else 1) for t in self.loads)

    @cached_property
    def has_loop_dots(self) -> bool:
        """Whether the loop has products on tensor cores, whose operands Triton prefetches."""
        return self.plan.iterations > 1 and any(self.plan.sections[j] == "loop" for j in self.plan.dots)

    @cached_property
    def arithmetic(self) -> tuple[float, float, float]:
        """Operations on tensor cores, others, and elements that are in registers, products aside from operands."""
        plan, dots, others, held, largest = self.plan, 0.0, 0.0, 0.0, 0.0
        for j, node in enumerate(plan.block.nodes):
            if j in plan.unemitted or isinstance(node.op, Store | Load):
                continue
            times = plan.iterations if plan.sections[j] == "loop" else 1
            elements = prod(plan.largest_tile(j))
            if not isinstance(node.op, MatMul):
                others, largest = others + ELEMENT_FLOPS * elements * times, max(largest, elements)
            elif j in plan.dots:
                a, b = (plan.padded(plan.shapes[x]) for x in node.args)
                dots, held = dots + 2 * prod(a) * b[-1] * times, held + elements
            else:
                others, held = others + 2 * elements * times, held + elements / 4
        return dots, others, held + largest

    def registers(self, schedule: Mapping[str, int], lanes: int) -> float:
        """Estimated registers per thread, of which a warp has so many, if tiles are in registers as a whole.

        A staged tile is in registers too, if it is not copied ahead. The operands of a product of few rows are: Triton
        reads them whole from shared memory, the left one in every warp, the right one by columns.

        The compiler reads much of that in parts. For 485 kernels of the trials, compiled for sm_90, this is off by a
        factor of 1.9 (root mean square of the logarithm), mostly too high: of 72 kernels that spill it expects 64 to,
        and of the others 125. An estimate by how Triton lays out tiles is off by 1.45 in cross-validation over programs
        (49 and 27), but orders the trials worse: with it, in 26 of the 35 runs the fastest of the first five is within
        1.1 of the fastest, with this in 30. So the number also stands for what large tiles cost otherwise.
        """
        held, warps, stages = self.arithmetic[2], schedule["num_warps"], schedule["num_stages"]
        for tile in self.loads:
            if not tile.is_staged:
                held += tile.elements
            elif not (tile.in_loop and self.has_loop_dots and stages > 1):
                held += tile.elements * tile.element_bytes / 4
        of_operands = max((self._operand_registers(j, schedule) for j in self.plan.dots), default=0.0)
        return BASE_REGISTERS + held / (lanes * warps) + of_operands / lanes

    def shared_bytes(self, schedule: Mapping[str, int]) -> int:
        """Shared memory of a block: the tiles that it loads ahead, once per stage of its loop."""
        return self.staged_bytes * (schedule["num_stages"] if self.plan.iterations > 1 else 1)

    def _operand_registers(self, j: int, schedule: Mapping[str, int]) -> float:
        """Of one warp, for the operands of the product %j."""
        plan, dtype = self.plan, self.plan.types[j].dtype
        a, b = (plan.padded(plan.shapes[x]) for x in plan.block.nodes[j].args)
        if a[-2] >= WGMMA_ROWS:
            return 0.0
        size = BYTES[dtype] * (2 if dtype == "f32" and schedule["tf32_products"] else 1)  # each in two parts
        return size / 4 * a[-1] * (a[-2] + max(DOT_COLUMNS, b[-1] / schedule["num_warps"]))


def modelled_s(works: Sequence[BlockWork], schedule: Mapping[str, int], target: Target) -> float:
    """Modelled seconds of several kernels, infinite if a block's tiles exceed the shared memory; see `kernel_s`."""
    return sum(kernel_s(work, schedule, target) for work in works)


def works_of(graph: SGraph, plans: Sequence[BlockPlan], sizes: Mapping[str, int]) -> tuple[BlockWork, ...]:
    """The work of each custom kernel, which no schedule changes."""
    found: list[BlockWork] = []
    for plan in plans:
        read = {node.op.operand for node in plan.block.nodes if isinstance(node.op, Load)}
        nodes = [graph.nodes[graph.nodes[plan.position].args[o]] for o in read]
        distinct = sum(plan.operands[o].bytes.value(sizes) for o in read)
        found.append(BlockWork(plan, distinct, all(isinstance(n.op, Custom | Result) for n in nodes)))
    return tuple(found)


def kernel_s(work: BlockWork, schedule: Mapping[str, int], target: Target) -> float:
    """Modelled seconds of one kernel.

    Args:
        work: of a block.
        schedule: schedule choices; `plan.SCHEDULE` has the defaults of those that it lacks.
        target: a GPU; one that is not in the table has the occupancy rule of `sm_80`.
    """
    schedule = {**SCHEDULE, **schedule}
    plan, warps, stages = work.plan, schedule["num_warps"], schedule["num_stages"]
    shared = work.shared_bytes(schedule)
    if shared > target.shared_memory_bytes:
        return inf
    architecture = architecture_of(target.name) or SM_80
    registers = work.registers(schedule, architecture.triton[2])
    resident = architecture.occupancy(int(min(255, max(32, registers))), shared, warps).blocks
    blocks, cores = prod(plan.grid), target.cores
    together = max(1, min(resident, ceil(blocks / cores)))
    waves = blocks / (cores * together)
    waves = ceil(waves) if waves < 3 else waves

    block_bytes_per_s = min(BLOCK_BYTES_PER_S, CACHE_BYTES_PER_S / min(blocks, cores))
    transfer_s = together * work.moved_bytes / block_bytes_per_s
    arithmetic_s = together * _arithmetic_s(work, schedule, min(1.0, together * warps / 4), target)
    busy_s = max(transfer_s, arithmetic_s) + OVERLAP_LOSS * min(transfer_s, arithmetic_s)
    has_loop = plan.iterations > 1
    wave_s = max(busy_s, _loop_latency_s(work, stages)) if has_loop else busy_s + MEMORY_LATENCY_S / together
    wave_s *= 1 + max(0.0, registers - MOST_REGISTERS) / SPILL_REGISTERS
    wave_s += DESCRIPTOR_S if schedule["tma"] and plan.describable else 0.0
    read_s = min(blocks * work.moved_bytes, work.distinct_bytes) / (MEMORY_SHARE * target.dram_bytes_per_s)
    return LAUNCH_S + max(waves * wave_s, read_s + MEMORY_LATENCY_S)


def _arithmetic_s(work: BlockWork, schedule: Mapping[str, int], used: float, target: Target) -> float:
    """Seconds of one block's arithmetic on a multiprocessor of which this share is used."""
    dots, others, _ = work.arithmetic
    plain = target.full_precision_flops_per_s or target.peak_flops_per_s
    if all(work.plan.types[j].dtype != "f32" for j in work.plan.dots):
        rate = DOT_SHARE * target.peak_half_flops_per_s
    elif schedule["tf32_products"]:
        rate = DOT_SHARE * target.peak_flops_per_s / schedule["tf32_products"]
    else:
        rate = PLAIN_SHARE * plain
    return target.cores / used * (dots / rate + others / (PLAIN_SHARE * plain))


def _loop_latency_s(work: BlockWork, stages: int) -> float:
    """Seconds of the loop if its loads took no bandwidth."""
    latency_s = CACHE_LATENCY_S if work.is_cached else MEMORY_LATENCY_S
    if not any(tile.in_loop for tile in work.loads):
        return MEMORY_LATENCY_S
    if not work.has_loop_dots:
        step_s = latency_s / UNROLLED
    elif stages > 1:
        step_s = max(latency_s / (stages - 1), LEAST_STEP_S)
    else:
        step_s = max(latency_s, LEAST_STEP_S) + CACHE_LATENCY_S
    return MEMORY_LATENCY_S + work.plan.iterations * step_s


def _excess(run_bytes: int) -> float:
    """Bytes that are moved per byte of a contiguous run of this length."""
    if run_bytes >= LINE_BYTES:
        return 1.0
    if run_bytes >= SECTOR_BYTES:
        return 1.0 + OVERLAP_LOSS * (LINE_BYTES - run_bytes) / (LINE_BYTES - SECTOR_BYTES)
    return SECTOR_BYTES / run_bytes
