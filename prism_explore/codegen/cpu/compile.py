# pyright: basic
# It writes llvmlite values, which have no types.
"""Compilation of a loop program to machine code: one function per loop nest, which a team of threads runs.

Input: a `LoopProgram` with a complete schedule. Output: machine code for this process, or assembly for another CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prism_explore.codegen.cpu.emit_nest import NestEmitter
from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory, module_text, new_module
from prism_explore.codegen.cpu.llvm.jit import JitModule, compile_to_assembly
from prism_explore.codegen.cpu.loop_ir import Buffer, LoopProgram, Statement
from prism_explore.codegen.cpu.matmul_tiling import OuterTiling, TileTiling, matmul_shape
from prism_explore.codegen.cpu.schedule import Schedule, products_of, tiling_of
from prism_explore.support.caches import memoize
from prism_explore.targets.cpus import CpuModel


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """Machine code of a program: one function per nest, and the scratch that each thread needs."""

    module: JitModule
    entries: tuple[int, ...]
    """Addresses of the functions, in order."""
    scratch_bytes: int
    """Per thread, with a cache line at its end that no function uses."""

    @property
    def machine_code(self) -> MachineCode:
        """The same for another process on this machine."""
        return MachineCode(self.module.object_code, len(self.entries), self.scratch_bytes)


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A compiled program as data."""

    object_code: bytes
    nests: int
    scratch_bytes: int

    def load(self, cpu: CpuModel) -> CompiledProgram:
        """The program as functions of this process.

        Args:
            cpu: of this machine.
        """
        module = JitModule.from_object_code(self.object_code, cpu)
        return CompiledProgram(module, _entries(module, self.nests), self.scratch_bytes)


def _entries(module: JitModule, nests: int) -> tuple[int, ...]:
    return tuple(module.address(f"nest{n}") for n in range(nests))


@memoize(256)
def compile_program(program: LoopProgram, schedule: Schedule, cpu: CpuModel) -> CompiledProgram:
    """Machine code of a program under a complete schedule. The same program is compiled once."""
    text, scratch = llvm_text(program, schedule, cpu)
    module = JitModule(text, cpu)
    return CompiledProgram(module, _entries(module, len(program.nests)), 4 * scratch)


def cross_compile(program: LoopProgram, schedule: Schedule, cpu: CpuModel, triple: str) -> str:
    """The assembly of a program for another CPU and a target triple such as `aarch64-unknown-linux-gnu`."""
    return compile_to_assembly(llvm_text(program, schedule, cpu, triple)[0], cpu, triple)


def llvm_text(
    program: LoopProgram,
    schedule: Schedule,
    cpu: CpuModel,
    triple: str = "",
    lines: Mapping[str, Mapping[Statement, int]] | None = None,
) -> tuple[str, int]:
    """LLVM text with one function per nest, and a thread's scratch in float32 elements, an unused cache line included.

    Args:
        program: the loops.
        schedule: a complete schedule.
        cpu: the CPU.
        triple: LLVM's target triple; that of this process if empty.
        lines: per nest and statement, a line that debug information names; the instructions are the same without it.
    """
    module = new_module(triple)
    layouts = {nest.name: _scratch_layout(nest.scratch, cpu.line_bytes) for nest in program.nests}
    tiles = max(size for _, size in layouts.values())
    line = cpu.line_bytes // 4
    largest = (-(-(tiles + _workspace_floats(program, schedule)) // line) + 1) * line
    shared = (*program.inputs, *program.temporaries, *program.outputs)
    for number, nest in enumerate(program.nests):
        builder = FunctionBuilder(module, f"nest{number}", len(shared) + 1, cpu)
        memory = {b: Memory(a, b.dtype) for b, a in zip(shared, builder.arguments, strict=False)}
        scratch = builder.advance(Memory(builder.arguments[-1]), builder.index_product(builder.thread, largest))
        starts, _ = layouts[nest.name]
        memory |= {b: Memory(builder.advance(scratch, starts[b]).pointer, b.dtype) for b in nest.scratch}
        memory |= {b: builder.advance(memory[b.root], b.start) for b in program.views}
        workspace = builder.advance(scratch, tiles)
        NestEmitter(builder, memory, schedule, (lines or {}).get(nest.name), workspace).emit(nest)
        builder.finish()
    return module_text(module, cpu.lanes), largest


def _workspace_floats(program: LoopProgram, schedule: Schedule) -> int:
    """The largest workspace of a product of a thread, in float32 elements."""
    tilings = [(tiling_of(c, schedule), matmul_shape(c)) for c in products_of(program)]
    return max((t.workspace_floats(s) for t, s in tilings if isinstance(t, OuterTiling | TileTiling)), default=0)


def _scratch_layout(buffers: Iterable[Buffer], line_bytes: int) -> tuple[dict[Buffer, int], int]:
    """Where each tile starts in a thread's scratch, and its size; in float32 elements, aligned to cache lines."""
    starts: dict[Buffer, int] = {}
    total = 0
    for b in buffers:
        starts[b] = total
        total += -(-b.bytes // line_bytes) * line_bytes // 4
    return starts, total
