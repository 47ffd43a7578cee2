"""Schedule choices of a CPU kernel: those of a loop program, their defaults, and the tiling that they imply.

A choice is data: a name, and its values with the default first; `codegen.parameter_text` says what each does. The names
are stored with tuned kernels, so they stay; `tiling_of` translates them to the tiling's own terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from prism_explore.codegen.cpu.loop_ir import Contract, LoopProgram, Statement
from prism_explore.codegen.cpu.matmul_tiling import (
    TILE_ROWS,
    DotTiling,
    OuterTiling,
    StreamTiling,
    TileTiling,
    Tiling,
    is_bf16_product,
    is_outer_product,
    is_tile_product,
    matmul_shape,
)
from prism_explore.codegen.cpu.passes.bf16_operands import with_bf16_operands
from prism_explore.codegen.cpu.passes.fuse_column_sums import FusedSum, can_fuse, find_column_sums
from prism_explore.codegen.cpu.passes.prefetch import has_dependent_products, tiles_to_prefetch
from prism_explore.codegen.parameter_text import SCHEDULE_TEXT
from prism_explore.targets.cpus import CpuModel

Schedule: TypeAlias = tuple[tuple[str, int], ...]

MAX_THREADS = 256
"""Bounds the scratch. More threads than cores are legal, and slow."""

ROWS = (1, 2, 3, 4, 5, 6, 8)
COLUMNS = (2, 3, 4, 5, 6, 8)
"""Values of `mr` and `nr`. Blocks that do not fit into registers are legal: they spill, which some CPUs hide."""

TILE_BLOCK_ROWS = {1: 6, 2: 2, 3: 1}
"""Per number of tiles of columns, the most tiles of rows whose sums and operands fit into the eight tile registers."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter that a tuner may choose."""

    name: str
    values: tuple[int, ...]
    """The default first."""
    if_missing: int | None = None
    """The value where a schedule names others only: what it meant before the choice existed. The default if None."""

    @property
    def description(self) -> str:
        """What it does."""
        return SCHEDULE_TEXT[self.name]


def schedule_space(program: LoopProgram, cpu: CpuModel) -> tuple[Choice, ...]:
    """The schedule choices of a program; all products with the same micro-kernel have the same values."""
    products = sorted(products_of(program), key=_work, reverse=True)
    main = next((c for c in products if matmul_shape(c).is_dot), None)
    has_stream = any(not matmul_shape(c).is_dot for c in products)
    paired = [c for c in products_of(with_bf16_operands(program)) if is_bf16_product(c)] if cpu.bf16_dot else []
    has_tiles = cpu.has_amx_bf16 and any(map(is_tile_product, paired))
    threads = tuple(dict.fromkeys((cpu.threads, max(1, cpu.threads // 2), 1)))
    space = [Choice("threads", threads), Choice("hoist", (1, 0))]
    if products:
        space.append(Choice("pack", (1, 0)))
        space.append(Choice("level", (2, 1)))
    if main:
        rows, columns = register_block(main.m.extent, cpu.vector_registers)
        space += (
            Choice("mr", _with_default(rows, ROWS)),
            Choice("nr", _with_default(columns, COLUMNS)),
            Choice("kv", (1, 2)),
            Choice("panel", (0, 1, 2) if has_tiles or _takes_outer(main, cpu) else (1, 0, 2), 1),
            Choice("kc", (0, 512, 1024)),
        )
        if outer := _outer_block(main, cpu):
            vectors, columns = outer
            space.append(Choice("outer", (vectors, 0) if _takes_outer(main, cpu) else (0, vectors), 0))
            space.append(Choice("oc", _with_default(columns, (4, 6, 8))))
    if paired:
        space.append(Choice("short", (1, 0)))
    if has_tiles:
        space += (Choice("tiles", (1, 0), 0), Choice("tn", (1, 2, 3)))
    if any(find_column_sums(n.body) for n in program.nests):
        space.append(Choice("ride", (1, 0)))
    if has_stream:
        space += (Choice("ku", (8, 4, 16)), Choice("nv", (1, 2)), Choice("ahead", (8, 16, 0, 32)))
    if any(has_dependent_products(n) and any(tiles_to_prefetch(n, cpu.line_bytes)) for n in program.nests):
        space.append(Choice("meanwhile", (4, 8, 2, 1, 0)))
    return tuple(space)


def products_of(program: LoopProgram) -> list[Contract]:
    """All tile products."""
    return [s for n in program.nests for s in n.statements if isinstance(s, Contract)]


def complete_schedule(program: LoopProgram, cpu: CpuModel, chosen: Mapping[str, int]) -> Schedule:
    """A value for every choice: the chosen one, else the default.

    Raises:
        ValueError: a name is not a choice of the program, or a value is not one of the choice's values.
    """
    space = {c.name: c for c in schedule_space(program, cpu)}
    for name, value in chosen.items():
        if name not in space:
            raise ValueError(f"schedule {name}={value}: this kernel's choices are {', '.join(space)}")
        if name == "threads" and 1 <= value <= MAX_THREADS:
            continue
        if value not in space[name].values:
            offered = ", ".join(map(str, space[name].values))
            raise ValueError(f"schedule {name}={value}: {space[name].description}; the values are {offered}")
    return tuple((c.name, chosen.get(c.name, _unnamed(c, bool(chosen)))) for c in space.values())


def tiling_of(c: Contract, schedule: Schedule) -> Tiling:
    """How a product is blocked under a schedule, clamped to its extents."""
    choice = dict(schedule)
    shape = matmul_shape(c)
    if choice.get("short") and choice.get("tiles") and is_tile_product(c):
        column_tiles = min(choice["tn"], shape.n // TILE_ROWS)
        row_tiles = min(-(-shape.m // TILE_ROWS), TILE_BLOCK_ROWS[column_tiles])
        return TileTiling(row_tiles, column_tiles, choice["level"] if choice["panel"] else 0)
    if choice.get("outer") and is_outer_product(c):
        columns = min(choice["oc"], shape.n)
        cache_level = choice["level"] if choice["panel"] else 0
        return OuterTiling(choice["outer"], columns, cache_level, max(1, choice["panel"]))
    if shape.is_dot:
        return DotTiling(
            rows=min(choice["mr"], shape.m),
            columns=min(choice["nr"], shape.n),
            k_vectors=choice["kv"],
            cache_level=choice["level"] if choice["panel"] else 0,
            line_step=max(1, choice["panel"]),
            is_bf16=bool(choice.get("short")) and is_bf16_product(c),
            k_block=_k_block(c, choice["kc"]),
        )
    return StreamTiling(
        k_unroll=min(choice["ku"], shape.k),
        n_vectors=choice["nv"],
        prefetch_rows=choice["ahead"],
        cache_level=choice["level"],
    )


def fused_sums(section: tuple[Statement, ...], schedule: Schedule) -> dict[int, FusedSum]:
    """The column sums that products of a section compute too under a schedule, by the product's position."""
    if not dict(schedule).get("ride"):
        return {}
    found = find_column_sums(section).items()
    products = ((at, c, fused) for at, fused in found if isinstance(c := section[at], Contract))
    return {at: fused for at, c, fused in products if can_fuse(c, tiling_of(c, schedule))}


def prefetch_streams(schedule: Schedule) -> int:
    """How many parts of a tile are prefetched in turn while another product runs; 0 for no such prefetch."""
    return dict(schedule).get("meanwhile", 0)


def _unnamed(c: Choice, has_others: bool) -> int:
    """The value of a choice that a schedule does not name."""
    return c.values[0] if c.if_missing is None or not has_others else c.if_missing


def _takes_outer(c: Contract, cpu: CpuModel) -> bool:
    """Whether rows in the lanes come first: for two wide multiply-adds per cycle a dot reads too many operands."""
    return cpu.has_two_wide_fmas and c.m.extent >= cpu.lanes and is_outer_product(c)


def _outer_block(c: Contract, cpu: CpuModel) -> tuple[int, int] | None:
    """Vectors of rows, and columns, of the micro-kernel with rows in the lanes; None where most lanes would be idle.

    With 16 registers LLVM spills some of the sums.
    """
    vectors = min(4, -(-c.m.extent // cpu.lanes))
    if 2 * c.m.extent <= cpu.lanes or cpu.vector_registers < 32 or not is_outer_product(c):
        return None
    return vectors, next(n for n in reversed(COLUMNS) if fits_registers(vectors, n, cpu.vector_registers))


def _with_default(default: int, others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((default, *others)))


def _k_block(c: Contract, kc: int) -> int:
    """The block of k that a choice means; 0 where it is not a part of k, or sums between blocks would be rounded."""
    k = matmul_shape(c).k
    return kc if kc and k > kc and k % kc == 0 and c.target.buffer.dtype == "f32" else 0


def _work(c: Contract) -> int:
    return prod(r.extent for r in (*c.batch, c.m, c.n, *c.k))


def fits_registers(rows: int, columns: int, registers: int) -> bool:
    """Whether the sums of a block, its operands and one vector to multiply are in registers at the same time."""
    return rows * columns + min(rows, columns) + 1 <= registers


def register_block(m: int, registers: int) -> tuple[int, int]:
    """The usual block for a target of `m` rows: as many columns, up to 4, or 8 for few rows, as fit into registers."""
    most_rows = 8 if registers >= 32 else 4
    rows = m if m <= most_rows else min(6, most_rows)
    offered = (c for c in reversed(COLUMNS) if c <= (8 if m <= 2 else 4))
    return rows, next(c for c in offered if fits_registers(rows, c, registers))
