"""The host CPU, and compilation in this process and for other CPUs."""

from __future__ import annotations

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, module_text, new_module
from prism_explore.codegen.cpu.llvm.jit import JitModule, compile_to_assembly
from prism_explore.targets.cpus import cpu_model, host_cpu


def test_the_host_has_vectors_and_threads() -> None:
    assert host_cpu().lanes in (16, 8, 4)
    assert host_cpu().threads >= 1


def test_a_module_is_compiled_for_this_process_and_for_another_cpu() -> None:
    module = new_module()
    FunctionBuilder(module, "f", 0, host_cpu()).finish()
    text = module_text(module, host_cpu().lanes)
    arm = cpu_model("neoverse-n1", "+neon", "aarch64", 2)
    other = new_module("aarch64-unknown-linux-gnu")
    FunctionBuilder(other, "f", 0, arm).finish()

    assert JitModule(text, host_cpu()).address("f")
    assert "ret" in compile_to_assembly(module_text(other, 4), arm, "aarch64-unknown-linux-gnu")
