# pyright: basic
# llvmlite ships no types.
"""LLVM just-in-time compilation: of LLVM text in this process, and to the assembly of another CPU.

Input: LLVM text, and the CPU it is for. Output: machine code that is called by address, or the assembly for another
CPU. LLVM's loop vectorizer, SLP vectorizer and loop unroller are off: the vectors and unrolled loops of the text are
the ones that run.
"""

from __future__ import annotations

import threading
from functools import lru_cache

import llvmlite.binding as llvm

from prism_explore.targets.cpus import CpuModel

_LLVM_LOCK = threading.Lock()


class JitModule:
    """Compiled functions. Their code lives as long as this object."""

    def __init__(self, text: str, cpu: CpuModel, symbols: dict[str, int] | None = None) -> None:
        _initialize_native_target()
        self.object_code = b""
        """An object file with the functions, for `from_object_code` in another process on the same machine."""
        with _LLVM_LOCK:
            for name, address in (symbols or {}).items():
                llvm.add_symbol(name, address)
            module, machine = _optimize(text, cpu, llvm.get_default_triple(), "jitdefault")
            self._engine = llvm.create_mcjit_compiler(module, machine)
            compiled: list[bytes] = []
            self._engine.set_object_cache(lambda _, code: compiled.append(code))
            self._engine.finalize_object()
            self.object_code = b"".join(compiled)

    @classmethod
    def from_object_code(cls, code: bytes, cpu: CpuModel) -> JitModule:
        """Functions that another process compiled.

        Args:
            code: its `object_code`.
            cpu: the CPU for which they are.
        """
        _initialize_native_target()
        found = cls.__new__(cls)
        found.object_code = code
        with _LLVM_LOCK:
            module, machine = _optimize("", cpu, llvm.get_default_triple(), "jitdefault")
            found._engine = llvm.create_mcjit_compiler(module, machine)
            found._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            found._engine.finalize_object()
        return found

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
