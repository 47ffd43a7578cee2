# pyright: basic
# llvmlite ships no types.
"""LLVM just-in-time compilation: the host CPU, compilation of LLVM text in this process, cross-compilation to assembly.

Input: LLVM text, and the CPU it is for. Output: machine code that is called by address, or the assembly for another
CPU. LLVM's loop vectorizer, SLP vectorizer and loop unroller are off: the vectors and unrolled loops of the text are
the ones that run.
"""

from __future__ import annotations

import os
import platform
import threading
from dataclasses import dataclass
from functools import lru_cache

import llvmlite.binding as llvm

from prism_explore.targets.amx import request_tiles

_LLVM_LOCK = threading.Lock()


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
    has_bf16_dot: bool = False
    """Whether it has `vdpbf16ps`: products of bfloat16 pairs, added to float32."""
    vector_registers: int = 16
    """How many vectors its registers hold."""
    has_two_wide_fmas: bool = False
    """Whether it is known to start two multiply-adds of 16 lanes per cycle: x86 cores with AMX do."""
    has_amx_bf16: bool = False
    """Whether it multiplies tiles of bfloat16 pairs (AMX), and this process may use the tile registers."""


@lru_cache(1)
def host_cpu() -> CpuModel:
    """The CPU of this process, and how many of its cores the process may use."""
    _initialize_native_target()
    features = llvm.get_host_cpu_features()
    lanes = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_x86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
    converts_f16 = bool(features.get("f16c")) or not is_x86
    has_bf16_dot = bool(features.get("avx512bf16") and features.get("avx512vl"))
    has_amx = bool(has_bf16_dot and features.get("amx-tile") and features.get("amx-bf16")) and request_tiles()
    return CpuModel(
        name=llvm.get_host_cpu_name(),
        features=features.flatten(),
        lanes=lanes,
        threads=cores,
        converts_f16=converts_f16,
        has_bf16_dot=has_bf16_dot,
        vector_registers=32 if features.get("avx512f") or not is_x86 else 16,
        has_two_wide_fmas=bool(features.get("avx512f") and features.get("amx-tile")),
        has_amx_bf16=has_amx,
    )


class JitModule:
    """Compiled functions. Their code lives as long as this object."""

    def __init__(self, text: str, cpu: CpuModel, symbols: dict[str, int] | None = None) -> None:
        _initialize_native_target()
        with _LLVM_LOCK:
            for name, address in (symbols or {}).items():
                llvm.add_symbol(name, address)
            module, machine = _optimize(text, cpu, llvm.get_default_triple(), "jitdefault")
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function's first instruction."""
        return self._engine.get_function_address(name)


def compile_to_assembly(text: str, cpu: CpuModel, triple: str) -> str:
    """The assembly of LLVM text for any CPU that LLVM knows."""
    _initialize_all_targets()
    with _LLVM_LOCK:
        module, machine = _optimize(text, cpu, triple, "default")
        return machine.emit_assembly(module)


def default_triple() -> str:
    """LLVM's target triple of this process."""
    _initialize_native_target()
    return llvm.get_default_triple()


def _optimize(text: str, cpu: CpuModel, triple: str, code_model: str):
    """The optimized module, and the target machine to emit it with."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=3, codemodel=code_model
    )
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module, machine


@lru_cache(1)
def _initialize_native_target() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@lru_cache(1)
def _initialize_all_targets() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
